//! Tables in an object store: S3, and what speaks like it.
//!
//! One request lists up to a thousand objects with their sizes and ETags, so that `which` needs no
//! more than these. Of an object to be indexed, the end is fetched, then column chunks or filters; each
//! request names the ETag, so that all bytes are of the version that was listed.

use std::path::Path;

use anyhow::Result;

use super::table::Files;

#[cfg(feature = "s3")]
pub(super) use with::{Object, list};
#[cfg(not(feature = "s3"))]
pub(super) use without::{Object, list};

#[cfg(feature = "s3")]
mod with {
    use std::io;
    use std::ops::Range;
    use std::path::PathBuf;
    use std::sync::Arc;

    use anyhow::{Context, bail};
    use bytes::Bytes;
    use futures_util::TryStreamExt;
    use object_store::aws::AmazonS3Builder;
    use object_store::path::Path as Key;
    use object_store::{GetOptions, ObjectMeta, ObjectStore};
    use tokio::runtime::{Builder, Runtime};

    use super::super::table::{self, Entry};
    use super::*;
    use crate::shared::keys::parquet::{Ranges, Source};

    struct Bucket {
        store: Box<dyn ObjectStore>,
        runtime: Runtime,
    }

    /// An object, in the version that was listed.
    #[derive(Clone)]
    pub(in super::super) struct Object {
        bucket: Arc<Bucket>,
        about: ObjectMeta,
    }

    /// The Parquet files below `s3://BUCKET/PREFIX`.
    pub(in super::super) fn list(url: &Path) -> Result<Files> {
        let text = url.to_str().context("not valid UTF-8")?;
        let (bucket, prefix) = {
            let rest = text.strip_prefix("s3://").unwrap_or(text);
            rest.split_once('/').unwrap_or((rest, ""))
        };
        if bucket.is_empty() {
            bail!("{text}: write s3://BUCKET/PREFIX");
        }
        let prefix = Key::parse(prefix.trim_end_matches('/')).with_context(|| text.to_owned())?;
        // Once per process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = AmazonS3Builder::from_env().with_bucket_name(bucket);
        let bucket_of = Arc::new(Bucket {
            store: Box::new(store.build().with_context(|| text.to_owned())?),
            runtime: Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?,
        });
        let listing = bucket_of.store.list(Some(&prefix)).try_collect::<Vec<_>>();
        let objects = bucket_of.runtime.block_on(listing);
        let mut files = Files::new();
        for about in objects.with_context(|| format!("listing {text}"))? {
            let Some(inner) = about.location.prefix_match(&prefix) else {
                continue;
            };
            let parts: Vec<_> = inner.map(|part| part.as_ref().to_owned()).collect();
            let is_hidden = |part: &String| table::is_hidden(part.as_bytes());
            if parts.iter().any(is_hidden) || !table::is_parquet(Path::new(about.location.as_ref()))
            {
                continue;
            }
            // Without an ETag nothing tells two versions apart: such an object is always listed.
            let tag = about.e_tag.as_ref().filter(|tag| tag.len() < 200);
            let version = tag.map_or(String::new(), |tag| format!("{} {tag}", about.size));
            let entry = Entry {
                path: PathBuf::from(format!("s3://{bucket}/{}", about.location)),
                size: about.size,
                // The index is for those who may read the bucket: only its owner can know.
                mode: 0o600,
                version: version.into_bytes(),
                object: Some(Object {
                    bucket: bucket_of.clone(),
                    about,
                }),
            };
            files.insert(parts.join("/").into_bytes(), entry);
        }
        Ok(files)
    }

    impl Object {
        pub(in super::super) fn source(&self, size: u64) -> io::Result<Source> {
            Source::remote(Box::new(self.clone()), size)
        }
    }

    impl Ranges for Object {
        fn get(&self, range: Range<u64>) -> io::Result<Bytes> {
            let wanted = range.end - range.start;
            let options = GetOptions {
                range: Some(range.into()),
                if_match: self.about.e_tag.clone(),
                ..GetOptions::default()
            };
            let (store, key) = (&self.bucket.store, &self.about.location);
            let get = async { store.get_opts(key, options).await?.bytes().await };
            let bytes = self
                .bucket
                .runtime
                .block_on(get)
                .map_err(io::Error::other)?;
            match bytes.len() as u64 == wanted {
                true => Ok(bytes),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}

#[cfg(not(feature = "s3"))]
mod without {
    use std::convert::Infallible;
    use std::io;

    use super::*;
    use crate::shared::keys::parquet::Source;

    /// There is none in this build.
    pub(in super::super) struct Object(Infallible);

    pub(in super::super) fn list(url: &Path) -> Result<Files> {
        anyhow::bail!(
            "{}: object stores are not in this build; build with `cargo install --path \
             crates/bloomgrove-cli --features s3`",
            url.display()
        )
    }

    impl Object {
        pub(in super::super) fn source(&self, _: u64) -> io::Result<Source> {
            match self.0 {}
        }
    }
}

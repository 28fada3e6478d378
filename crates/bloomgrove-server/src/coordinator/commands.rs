//! The changes that callers can make: checked here as far as that is possible without the sets, made by the writer, and
//! acknowledged once they are on disk. Also filters as bytes, and snapshots.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use bloomgrove::raw::codec::{Kind, params_of};
use bloomgrove::{Filter, Params, codec};
use bloomgrove_client::api::{self, Code, Key};
use bloomgrove_http::private::make_directory;
use bloomgrove_http::work::{Bulk, aside};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::change::{About, Bits, Change, Done, Upload};
use super::text::not_found;
use super::writer::Job;
use super::{Coordinator, SNAPSHOTS, now, text};
use crate::Error;

/// Up to this many keys are hashed immediately.
const FEW_KEYS: usize = 64;

impl Coordinator {
    /// Creates an empty set.
    ///
    /// # Errors
    /// If the name is taken or invalid, or the parameters are invalid or too large.
    pub async fn create(&self, wanted: api::CreateSet) -> Result<api::Set, Error> {
        let params = text::params(&wanted)?;
        self.check_filter(params.words() as u64 * 8)?;
        let name = text::name(&wanted.name)?;
        let about = About {
            tags: Some(text::tags(wanted.tags)?),
            expires: wanted.expires_in.map(text::expiry).transpose()?,
        };
        let change = Change::Create {
            name: name.clone(),
            params,
            about,
        };
        self.change(change).await?;
        self.info(&name)
    }

    /// Sets the whole filter of a set, which is created if it does not exist. With `base`, only if the set has this version,
    /// or does not exist if it is 0.
    ///
    /// # Errors
    /// If the name is invalid, there is not enough memory, or the set has another version.
    pub async fn put(
        &self,
        name: &str,
        upload: impl Into<Upload>,
        tags: Option<Vec<String>>,
        expires_in: Option<u64>,
        base: Option<u64>,
    ) -> Result<Done, Error> {
        let upload = upload.into();
        self.check_filter(upload.filter.params().words() as u64 * 8)?;
        let about = About {
            tags: tags.map(text::tags).transpose()?,
            expires: expires_in.map(text::expiry).transpose()?,
        };
        let name = text::name(name)?;
        // Compressed on another thread, not by the writer, for which all others wait.
        let (filter, message) = match upload.is_coded() {
            true => upload.into_parts()?,
            false => aside(move || upload.into_parts()).await??,
        };
        let change = Change::Put {
            name,
            filter,
            message,
            about,
            base,
        };
        self.change(change).await
    }

    /// Adds all items of a filter to a set.
    ///
    /// # Errors
    /// If there is no such set, the parameters differ, or `base` does not match.
    pub async fn merge(
        &self,
        name: &str,
        upload: impl Into<Upload>,
        base: Option<u64>,
    ) -> Result<Done, Error> {
        let Upload { filter, .. } = upload.into();
        let params = Arc::new(filter.params().clone());
        let change = Change::Or {
            name: name.into(),
            params,
            bits: aside(move || Bits::of(filter)).await?,
            base,
        };
        self.change(change).await
    }

    /// Applies a delta, a message of [`codec::delta`], to a set.
    ///
    /// # Errors
    /// If there is no such set, or its bits are not those that the delta was made from.
    pub async fn delta(
        &self,
        name: &str,
        message: Bytes,
        base: Option<u64>,
    ) -> Result<Done, Error> {
        let name = name.into();
        let change = Change::Delta {
            name,
            message,
            base,
        };
        self.change(change).await
    }

    /// The memory needed to add this many keys to a set.
    ///
    /// # Errors
    /// If there is no such set, or there are too many keys.
    pub fn bytes_of_keys(&self, name: &str, keys: usize) -> Result<u64, Error> {
        self.check_keys(keys)?;
        let catalog = self.shared.read();
        let entry = catalog.get(name).ok_or_else(|| not_found(name))?;
        let filter = entry.params.words() as u64 * 8;
        Ok(filter.min(keys as u64 * u64::from(entry.params.hashes()) * 8))
    }

    /// Adds keys to a set.
    ///
    /// # Errors
    /// If there is no such set, there are too many keys, or `base` does not match.
    pub async fn insert(
        &self,
        name: &str,
        keys: impl Into<Bulk<Vec<Key>>>,
        base: Option<u64>,
    ) -> Result<Done, Error> {
        let keys = Arc::new(keys.into());
        self.check_keys(keys.len())?;
        loop {
            let params = self
                .shared
                .read()
                .get(name)
                .map(|entry| entry.params.clone());
            let params = params.ok_or_else(|| not_found(name))?;
            let bits = bits_of(keys.clone(), params.clone()).await?;
            let change = Change::Or {
                name: name.into(),
                params,
                bits,
                base,
            };
            match self.change(change).await {
                // Its filter was replaced meanwhile by one with other parameters.
                Err(error) if error.code == Code::Incompatible => continue,
                Ok(done) => {
                    let added = &self.shared.totals.keys_added;
                    added.fetch_add(keys.len() as u64, Relaxed);
                    return Ok(done);
                }
                refused => return refused,
            }
        }
    }

    /// Changes the name, tags or expiry of a set.
    ///
    /// # Errors
    /// If there is no such set, or the new name is taken or invalid.
    pub async fn describe(&self, name: &str, wanted: api::ChangeSet) -> Result<api::Set, Error> {
        let new_name = wanted.name.as_deref().map(text::name).transpose()?;
        let expires = match wanted.expires_in {
            Some(0) => Some(0),
            seconds => seconds.map(text::expiry).transpose()?,
        };
        let shown = new_name.clone();
        let change = Change::Describe {
            name: name.into(),
            new_name,
            about: About {
                tags: wanted.tags.map(text::tags).transpose()?,
                expires,
            },
        };
        self.change(change).await?;
        self.info(shown.as_deref().unwrap_or(name))
    }

    /// Deletes a set.
    ///
    /// # Errors
    /// If there is no such set.
    pub async fn delete(&self, name: &str) -> Result<(), Error> {
        self.change(Change::Delete { name: name.into() }).await?;
        Ok(())
    }

    /// Deletes expired sets; returns how many.
    pub async fn expire(&self) -> usize {
        let due = self.shared.read().due(now());
        let mut answers = Vec::new();
        for name in due {
            // All are sent before waiting for any, so that they share commits.
            answers.push(self.submit(Change::Expire { name }).await);
        }
        let mut gone = 0;
        for answer in answers {
            let done = match answer {
                Ok(answer) => answer.await.unwrap_or_else(|_| Err(stopping())),
                Err(error) => Err(error),
            };
            match done {
                Ok(done) => gone += usize::from(done.removed),
                // It was already deleted.
                Err(error) if error.code == Code::NotFound => {}
                Err(error) => tracing::warn!("cannot delete an expired set: {error}"),
            }
        }
        gone
    }

    /// The filter of a set, and its version.
    ///
    /// # Errors
    /// If there is no such set, or there is not enough memory.
    pub fn filter(&self, name: &str) -> Result<(Filter, u64), Error> {
        // Read the version first: the bits are then at least as new.
        let entry = self.shared.read().get(name).map(|entry| entry.version);
        let version = entry.ok_or_else(|| not_found(name))?;
        Ok((self.shared.index.filter(name)?, version))
    }

    /// The memory that a filter in these bytes takes, without decoding it.
    ///
    /// # Errors
    /// If it is not a filter, or too large.
    pub fn filter_bytes(&self, bytes: &[u8]) -> Result<u64, Error> {
        let size = match Kind::of_start(bytes) {
            Some(_) => params_of(bytes)?.words() as u64 * 8,
            // A file is not compressed.
            None => bytes.len() as u64,
        };
        self.check_filter(size)?;
        Ok(size)
    }

    /// Decodes a filter: a `.grove` file, or a message.
    ///
    /// # Errors
    /// If it is neither, or too large.
    pub fn read_upload(&self, bytes: Bytes) -> Result<Upload, Error> {
        if Kind::of_start(&bytes).is_some() {
            let (filter, _) = codec::expand_within(&bytes[..], self.shared.limits.filter)?;
            return Ok(Upload::of_message(filter, bytes));
        }
        Ok(Filter::from_bytes(&bytes)?.into())
    }

    /// Writes everything to a new file in the directory `snapshots`, while serving.
    ///
    /// # Errors
    /// If writing fails.
    pub fn snapshot(&self) -> Result<api::Snapshot, Error> {
        let storage = |error: anyhow::Error| {
            let detail = format!("cannot write the snapshot: {error:#}");
            Error::new(Code::Storage, detail)
        };
        let directory = self.snapshots_directory();
        let (created, version) = (now(), self.shared.version.load(Relaxed));
        let make = || {
            make_directory(&directory)?;
            let mut file = format!("{created}-{version}.redb");
            // If there are two in the same second, keep both.
            if directory.join(&file).exists() {
                file = format!("{created}-{version}-{:08x}.redb", rand::random::<u32>());
            }
            let bytes = self.shared.store.snapshot(&directory.join(&file))?;
            Ok(api::Snapshot {
                file,
                bytes,
                created,
            })
        };
        make().map_err(storage)
    }

    /// The directory of snapshots.
    pub fn snapshots_directory(&self) -> PathBuf {
        self.shared.directory.join(SNAPSHOTS)
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    pub(super) async fn change(&self, change: Change) -> Result<Done, Error> {
        let answer = self.submit(change).await?;
        answer.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Sends a change to the writer; it is acknowledged once it is on disk.
    async fn submit(
        &self,
        change: Change,
    ) -> Result<oneshot::Receiver<Result<Done, Error>>, Error> {
        let jobs = self
            .jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (reply, answer) = oneshot::channel();
        let sent = jobs.ok_or_else(stopping)?.send(Job { change, reply }).await;
        sent.map_err(|_| stopping())?;
        Ok(answer)
    }

    pub(super) fn check_keys(&self, keys: usize) -> Result<(), Error> {
        let limit = self.shared.limits.keys;
        match keys > limit {
            true => Err(Error::new(
                Code::TooLarge,
                format!(
                    "the request has {keys} keys; the maximum is {limit}: send them in several requests"
                ),
            )),
            false => Ok(()),
        }
    }

    fn check_filter(&self, bytes: u64) -> Result<(), Error> {
        let limit = self.shared.limits.filter;
        match bytes > limit {
            true => Err(Error::new(
                Code::TooLarge,
                format!(
                    "the filter expands to {bytes} bytes; the maximum of this server is \
                     {limit} (`limits.filter` in its configuration)"
                ),
            )),
            false => Ok(()),
        }
    }
}

/// The bits of these keys: one by one, or as a filter if that is smaller.
async fn bits_of(keys: Arc<Bulk<Vec<Key>>>, params: Arc<Params>) -> Result<Bits, Error> {
    let is_long = keys.len() > FEW_KEYS;
    let work = move || {
        let count = keys.len() * params.hashes() as usize;
        if count >= params.words() {
            let mut filter = Filter::new(params.as_ref().clone())?;
            filter.insert_batch(&keys);
            return Ok(Bits::of(filter));
        }
        let mut positions = Vec::with_capacity(count);
        for key in keys.iter() {
            positions.extend_from_slice(params.probe(key).positions());
        }
        Ok(Bits::Few(positions))
    };
    match is_long {
        true => aside(work).await?,
        false => work(),
    }
}

fn stopping() -> Error {
    Error::new(Code::Busy, "the server is shutting down; try again later")
}

//! Which files a table has, with their stamps, and where its index is.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::Error;
use bloomgrove::index::Index;
use bloomgrove::raw::index::Origin;
use ignore::WalkBuilder;

use super::store::{self, Object};
use crate::shared::keys::parquet::Source;
use crate::shared::keys::{self, KeyKind};
use crate::shared::search::Complaints;
use crate::shared::stamp::Stamp;
use crate::shared::{open, walk};

/// The index of a table, in its directory.
const INDEX_NAME: &str = ".bloomgrove-lake.grove";

#[derive(clap::Args)]
pub(super) struct TableArgs {
    /// The directory with the Parquet files of the table, or s3://BUCKET/PREFIX.
    ///
    /// The table consists of all .parquet and .parq files in the directory and its subdirectories,
    /// except for hidden files and names that begin with _. For S3, credentials and the region come
    /// from environment variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
    /// AWS_ENDPOINT_URL ...), and --index must name a local file.
    #[arg(value_name = "TABLE")]
    pub(super) directory: PathBuf,
    /// Only the files listed in this file, one path per line, such as those of the current snapshot
    /// of an Iceberg or Delta table; - is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// The index, a local file [default: .bloomgrove-lake.grove in the directory]
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
}

/// A file of a table.
pub(super) struct Entry {
    /// As it is printed.
    pub(super) path: PathBuf,
    pub(super) size: u64,
    /// Who may read it.
    pub(super) mode: u32,
    /// Another content has another version: of a local file the stamp, of an object its ETag. At most
    /// 255 bytes.
    pub(super) version: Vec<u8>,
    /// None: it is a local file.
    pub(super) object: Option<Object>,
}

/// The files of a table, by their paths from its directory.
pub(super) type Files = BTreeMap<Vec<u8>, Entry>;

impl TableArgs {
    pub(super) fn index_path(&self) -> Result<PathBuf> {
        match &self.index {
            Some(index) if index.is_dir() => {
                bail!("{}: this is a directory; pass a file name", index.display())
            }
            Some(index) => Ok(index.clone()),
            None if self.is_remote() => {
                bail!(
                    "{}: pass a local file for the index with --index",
                    self.directory.display()
                )
            }
            // Or else the error would be about the index.
            None if matches!(self.directory.try_exists(), Ok(false)) => {
                bail!("{}: no such directory", self.directory.display())
            }
            None if !self.directory.is_dir() => {
                bail!(
                    "{}: not a directory; give the directory of the table",
                    self.directory.display()
                )
            }
            None => Ok(self.directory.join(INDEX_NAME)),
        }
    }

    fn is_remote(&self) -> bool {
        self.directory.as_os_str().as_bytes().starts_with(b"s3://")
    }

    /// An index in the directory may have come from anywhere, like the files.
    pub(super) fn origin(&self) -> Origin {
        match self.index {
            Some(_) => Origin::Named,
            None => Origin::Implicit,
        }
    }

    /// The index to query, if there is one.
    pub(super) fn open(&self, path: &Path) -> Result<Option<Index>, Error> {
        match open::to_query_from(path, self.origin()) {
            Ok(index) => Ok(Some(index)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every file of the table.
    pub(super) fn list(&self, complaints: &mut Complaints) -> Result<Files> {
        if self.is_remote() {
            if self.files_from.is_some() {
                bail!("--files-from is for local files");
            }
            return self.not_empty(store::list(&self.directory)?);
        }
        let about = std::fs::metadata(&self.directory);
        let about = about.with_context(|| self.directory.display().to_string())?;
        if !about.is_dir() {
            bail!(
                "{}: not a directory; give the directory of the table",
                self.directory.display()
            );
        }
        let files = match &self.files_from {
            Some(list) => self.named(list, complaints)?,
            None => self.found(complaints),
        };
        self.not_empty(files)
    }

    /// No files at all are a mistake: a directory that is not mounted, a prefix with a typing error.
    fn not_empty(&self, files: Files) -> Result<Files> {
        if !files.is_empty() {
            return Ok(files);
        }
        let what = match self.files_from {
            Some(_) => "none of the files in the list of --files-from exists",
            None => "give the directory of the table",
        };
        bail!("{}: no Parquet files; {what}", self.directory.display())
    }

    fn named(&self, list: &Path, complaints: &mut Complaints) -> Result<Files> {
        let mut files = Files::new();
        let mut lines = keys::read_all(list, KeyKind::Text)?;
        lines.retain(|line| !line.is_empty());
        if lines.is_empty() {
            bail!(
                "{}: the list of files is empty; pass one path per line",
                keys::shown(list)
            );
        }
        for line in lines {
            let path = PathBuf::from(std::ffi::OsString::from_vec(line));
            match std::fs::metadata(&path) {
                Ok(about) => {
                    let entry = Entry::new(path, &about);
                    files.insert(self.name_of(&entry.path), entry);
                }
                Err(error) => complaints.add(format_args!("{}: {error}", path.display())),
            }
        }
        Ok(files)
    }

    fn found(&self, complaints: &mut Complaints) -> Files {
        let mut builder = WalkBuilder::new(&self.directory);
        builder.standard_filters(false).hidden(true);
        builder
            .filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name().as_bytes()));
        let (found, errors) = walk::in_parallel(&builder, |entry| {
            let kind = entry.file_type();
            let is_link = kind.is_some_and(|kind| kind.is_symlink());
            let is_file = kind.is_some_and(|kind| kind.is_file());
            let about = match is_link {
                // Of a file, it is followed. A directory must be named.
                true => std::fs::metadata(entry.path())?,
                false if !is_file || !is_parquet(entry.path()) => return Ok(None),
                false => entry.metadata()?,
            };
            if is_link && about.is_dir() {
                let path = entry.path().display();
                let what = format!("{path}: links to directories are not followed");
                return Err(std::io::Error::other(what).into());
            }
            if !about.is_file() || !is_parquet(entry.path()) {
                return Ok(None);
            }
            let entry = Entry::new(entry.into_path(), &about);
            Ok(Some((self.name_of(&entry.path), entry)))
        });
        for error in errors {
            complaints.add(format_args!("{error}"));
        }
        found.into_iter().collect()
    }

    /// The path from the directory; that of a file elsewhere is absolute.
    fn name_of(&self, path: &Path) -> Vec<u8> {
        if let Ok(inner) = path.strip_prefix(&self.directory) {
            return inner.as_os_str().as_bytes().to_vec();
        }
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let path = absolute(path);
        let inner = path.strip_prefix(absolute(&self.directory));
        inner.unwrap_or(&path).as_os_str().as_bytes().to_vec()
    }

    /// Where a file is, by its name.
    pub(super) fn path_of(&self, name: &[u8]) -> PathBuf {
        self.directory.join(std::ffi::OsStr::from_bytes(name))
    }
}

impl Entry {
    fn new(path: PathBuf, about: &std::fs::Metadata) -> Self {
        Self {
            path,
            size: about.len(),
            mode: about.permissions().mode(),
            version: Stamp::of(about).to_bytes().to_vec(),
            object: None,
        }
    }

    /// Its bytes, all of one version.
    pub(super) fn source(&self) -> Result<Source> {
        match &self.object {
            Some(object) => Ok(object.source(self.size)?),
            None => Ok(Source::file(keys::open_file(&self.path)?)),
        }
    }
}

/// Such as _delta_log and _temporary; `_date=2024-01-01` is a partition.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".") || name.starts_with(b"_") && !name.contains(&b'=')
}

/// By the name of the file.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("parquet") || ending.eq_ignore_ascii_case("parq")
    })
}

fn is_missing(error: &Error) -> bool {
    let Error::Io { source, .. } = error.kind() else {
        return false;
    };
    source.kind() == std::io::ErrorKind::NotFound
}

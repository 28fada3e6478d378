//! A file of lines that is written whole or not at all.
//!
//! Everything goes to a temporary file beside it, which takes its place at the end: whoever is
//! interrupted, or has a full disk, keeps what was there before.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bloomgrove::format::content_of;
use tempfile::NamedTempFile;

pub(crate) struct WholeFile {
    target: PathBuf,
    shown: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl WholeFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let target = target(path).with_context(|| path.display().to_string())?;
        let file = beside(&target).with_context(|| format!("{}: writing", path.display()))?;
        Ok(Self {
            target,
            shown: path.to_owned(),
            file: BufWriter::new(file),
        })
    }

    /// Makes it the file; returns its size.
    pub(crate) fn finish(self) -> Result<u64> {
        let Self {
            target,
            shown,
            file,
        } = self;
        let finish = || {
            let file = file.into_inner().map_err(|error| error.into_error())?;
            file.as_file().sync_all()?;
            let size = file.as_file().metadata()?.len();
            file.persist(&target).map_err(|error| error.error)?;
            io::Result::Ok(size)
        };
        finish().with_context(|| format!("{}: writing", shown.display()))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file to replace: this, or what it links to.
fn target(path: &Path) -> Result<PathBuf> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                bail!("this is a link to a file that does not exist; name that file");
            }
            return Ok(path.to_owned());
        }
        Err(error) => return Err(error).context("looking at"),
    };
    if about.is_dir() {
        bail!("this is a folder; name a file in it");
    }
    if !about.is_file() {
        bail!("this is no ordinary file, and would be replaced by one; name another");
    }
    if content_of(path).is_ok() {
        bail!("this is a .grove file, and would be lost; remove it or name another");
    }
    fs::canonicalize(path).context("looking at")
}

fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bloomgrove-").suffix(".tmp");
    // What a new file gets here: this is subject to the umask.
    builder.permissions(fs::Permissions::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    // Or the mode of the file it replaces.
    if let Ok(about) = fs::metadata(target) {
        fs::set_permissions(file.path(), about.permissions())?;
    }
    Ok(file)
}

//! Files readable by their owner only: their contents reveal who knows what, or grant access.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use redb::{Database, DatabaseError};

use crate::disk;

/// The prefix of temporary files, which are not needed after a restart.
pub(crate) const TEMPORARY: &str = ".temporary-";

/// The cache size of redb while a database is created.
const CACHE: usize = 1 << 20;

/// Creates a data directory that only its owner can read, if it does not exist.
///
/// # Errors
/// If the system refuses.
pub fn make_directory(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Creates and fills a database that only its owner can read: completely or not at all, even if the process
/// is killed meanwhile. An existing one is left alone.
///
/// # Errors
/// If writing fails; the errors of `fill`.
pub fn make_database(path: &Path, fill: impl FnOnce(&Database) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let make = || -> Result<()> {
        let file = disk::new_beside(path, CACHE, fill)?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error.error.into());
            }
            // Another process may have been faster.
            _ => {}
        }
        disk::sync_name(path)
    };
    make().with_context(|| format!("cannot create {}", path.display()))
}

/// Opens databases instead of the file system: a simulation of disks.
type Opener = dyn Fn(&Path, redb::Builder) -> Result<Database, DatabaseError> + Send + Sync;

static OPENER: OnceLock<Box<Opener>> = OnceLock::new();

/// From now on, all databases of the process are opened by this: for simulations of disks.
#[doc(hidden)]
pub fn open_databases_by(
    opener: impl Fn(&Path, redb::Builder) -> Result<Database, DatabaseError> + Send + Sync + 'static,
) {
    // The first call wins.
    let _ = OPENER.set(Box::new(opener));
}

/// Opens an existing database with this much memory for its pages.
///
/// # Errors
/// If it does not exist, is damaged, or is open elsewhere.
pub fn open_database(path: &Path, cache: usize) -> Result<Database, DatabaseError> {
    let mut builder = Database::builder();
    builder.set_cache_size(cache);
    match OPENER.get() {
        None => builder.open(path),
        Some(opener) => opener(path, builder),
    }
}

/// Removes temporary files left behind by a process that was killed.
pub fn tidy(directory: &Path) {
    for file in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = file.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY));
        if is_ours && let Err(error) = std::fs::remove_file(file.path()) {
            tracing::warn!(%error, file = ?file.path(), "cannot remove a temporary file");
        }
    }
}

/// A warning if a file or directory is accessible to users other than its owner.
#[must_use]
pub fn is_open_to_others(path: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(path).ok()?;
        let mode = about.permissions().mode() & 0o777;
        let wanted = if about.is_dir() { "700" } else { "600" };
        // Write access is worse than read access, but neither is wanted here.
        (mode & 0o077 != 0).then(|| {
            let path = path.display();
            format!(
                "{path} is accessible to other users of this machine (mode {mode:03o}); run chmod {wanted} {path}"
            )
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Warns if files or directories are accessible to users other than their owner.
pub fn warn_if_open(paths: &[&Path]) {
    for said in paths.iter().filter_map(|path| is_open_to_others(path)) {
        tracing::warn!("{said}");
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_database_is_created_completely_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        let refused = make_database(&path, |_| anyhow::bail!("as if killed"));
        assert!(refused.is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        make_database(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), 0o600);
        let before = std::fs::read(&path).unwrap();
        make_database(&path, |_| anyhow::bail!("not called")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
        Database::open(&path).unwrap();
    }

    #[test]
    fn access_by_others_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "bg_x").unwrap();
        for (mode, open) in [(0o600, false), (0o640, true), (0o604, true), (0o400, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open_to_others(&path).is_some(), open, "{mode:o}");
        }
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let said = is_open_to_others(directory.path()).unwrap();
        assert!(said.contains("chmod 700"), "{said}");
        assert_eq!(is_open_to_others(&directory.path().join("none")), None);
    }
}

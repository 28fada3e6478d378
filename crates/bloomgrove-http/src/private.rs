//! Files for their owner only: what they hold tells who knows what, or opens doors.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use redb::{Database, DatabaseError};

use crate::disk;

/// How the names of files begin that nobody needs after a restart.
pub(crate) const TEMPORARY: &str = ".temporary-";

/// What redb may keep in memory of a database that is made.
const CACHE: usize = 1 << 20;

/// Makes a data folder if there is none: for its owner only.
///
/// # Errors
/// When the system refuses.
pub fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes a database where there is none, for its owner only, and has it filled: whole, or not at
/// all, also if the process is killed meanwhile. One that is there already is left alone.
///
/// # Errors
/// When the disk refuses; what `fill` says.
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
            // Or somebody else was faster.
            _ => {}
        }
        disk::sync_name(path)
    };
    make().with_context(|| format!("{}: making it", path.display()))
}

/// What opens databases in place of the system's files: a simulation of disks.
type Opener = dyn Fn(&Path, redb::Builder) -> Result<Database, DatabaseError> + Send + Sync;

static OPENER: OnceLock<Box<Opener>> = OnceLock::new();

/// Has all databases of the process opened by this from now on: for simulations of disks.
#[doc(hidden)]
pub fn open_databases_by(
    opener: impl Fn(&Path, redb::Builder) -> Result<Database, DatabaseError> + Send + Sync + 'static,
) {
    // The first stays.
    let _ = OPENER.set(Box::new(opener));
}

/// Opens a database that is there, with so much memory for its pages.
///
/// # Errors
/// When there is none, or it is damaged or open elsewhere.
pub fn open_database(path: &Path, cache: usize) -> Result<Database, DatabaseError> {
    let mut builder = Database::builder();
    builder.set_cache_size(cache);
    match OPENER.get() {
        None => builder.open(path),
        Some(opener) => opener(path, builder),
    }
}

/// Removes what a process that was killed has left behind.
pub fn tidy(folder: &Path) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(TEMPORARY));
        if is_ours && let Err(error) = std::fs::remove_file(file.path()) {
            tracing::warn!(%error, file = ?file.path(), "cannot be removed");
        }
    }
}

/// What to say of a file or folder that others than its owner can read or change, if they can.
#[must_use]
pub fn is_open_to_others(path: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(path).ok()?;
        let mode = about.permissions().mode() & 0o777;
        let wanted = if about.is_dir() { "700" } else { "600" };
        // Who may write may do more than who may look, but neither is wanted here.
        (mode & 0o077 != 0).then(|| {
            let path = path.display();
            format!(
                "{path} is open to others on this machine (mode {mode:03o}): chmod {wanted} {path}"
            )
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Warns of files or folders that others than their owner can read or change.
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
    fn a_database_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.redb");
        let refused = make_database(&path, |_| anyhow::bail!("killed, say"));
        assert!(refused.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        make_database(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), 0o600);
        let before = std::fs::read(&path).unwrap();
        make_database(&path, |_| anyhow::bail!("not asked")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
        Database::open(&path).unwrap();
    }

    #[test]
    fn what_is_open_to_others_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "bg_x").unwrap();
        for (mode, open) in [(0o600, false), (0o640, true), (0o604, true), (0o400, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open_to_others(&path).is_some(), open, "{mode:o}");
        }
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let said = is_open_to_others(folder.path()).unwrap();
        assert!(said.contains("chmod 700"), "{said}");
        assert_eq!(is_open_to_others(&folder.path().join("none")), None);
    }
}

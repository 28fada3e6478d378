//! Resolving the target of a write, and replacing it atomically, but only by a file of the same
//! kind.
//!
//! ```text
//!   path --(links, as `Origin` says)--> target
//!                                         |  does it contain something else? refused
//!   temporary file in its directory       v
//!                         written, synced, renamed over the target
//! ```
//!
//! Everything that replaces a file goes through here. An existing file is judged by its content,
//! never by its name: neither a mistyped output path nor a link planted in a directory may destroy
//! data.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::header;
use super::message::MessageKind as Message;
use super::{Content, content_of};
use crate::Error;

/// How many bytes of a file are read to recognize its content.
const START: u64 = 4096;

/// Who chose a path, which determines what is accepted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user named it: links are followed.
    Named,
    /// A program looks for it by default, in a directory that may have come from anywhere. It must
    /// be a regular file that no other user can write to.
    Implicit,
}

impl Origin {
    pub(super) fn look_at(self, path: &Path) -> io::Result<Metadata> {
        match self {
            Origin::Named => fs::metadata(path),
            Origin::Implicit => fs::symlink_metadata(path),
        }
    }
}

/// Opens a regular file.
pub(super) fn open_file(path: &Path, options: &OpenOptions, origin: Origin) -> Result<File, Error> {
    let refuse = |what| Err(Error::io("opening")(io::Error::other(what)));
    // Checked before opening: a pipe would block, and a device may do anything.
    let about = origin.look_at(path).map_err(Error::io("opening"))?;
    if about.is_symlink() {
        return refuse(LINK.into());
    }
    if about.is_dir() {
        return refuse("this is a directory; pass a file".into());
    }
    if !about.is_file() {
        return refuse("not a regular file".into());
    }
    #[cfg(unix)]
    if origin == Origin::Implicit {
        use std::os::unix::fs::OpenOptionsExt;
        // A link may be put there in between.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let file = options.clone().custom_flags(flags.bits() as i32).open(path);
        let file = file.map_err(Error::io("opening"))?;
        let about = file.metadata().map_err(Error::io("opening"))?;
        return match whose(&about) {
            None => Ok(file),
            Some(what) => refuse(what),
        };
    }
    options.open(path).map_err(Error::io("opening"))
}

const LINK: &str = "a symbolic link, which is followed only if the path is given explicitly";

/// Returns what is wrong with a file that was found by default, if other users could have written
/// its content or could read what we write to it.
#[cfg(unix)]
fn whose(about: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (owner, mode) = (about.uid(), about.mode() & 0o777);
    if !about.is_file() {
        return Some("not a regular file".into());
    }
    // Files of root are trusted, like everything else on the machine.
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Some(format!(
            "it belongs to another user (uid {owner}), who could falsify its content"
        ));
    }
    if mode & 0o022 != 0 {
        return Some(format!(
            "other users can write to it (mode {mode:03o}) and could falsify its content"
        ));
    }
    (about.nlink() > 1).then(|| {
        let others = about.nlink() - 1;
        format!("it has other hard links ({others}), whose content would change, too")
    })
}

/// A file being written. [`finish`](Self::finish) gives it its name. If it is dropped before that,
/// it is deleted, and the file it was to replace is unchanged.
///
/// A file of another kind is never replaced. A link is followed: the file it leads to is replaced,
/// and the link stays.
///
/// Writes are not buffered.
pub struct WholeFile {
    /// The path as the caller gave it.
    shown: PathBuf,
    target: PathBuf,
    temporary: NamedTempFile,
    rule: Rule,
}

type Test = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What may be replaced.
pub(crate) struct Rule {
    pub(crate) origin: Origin,
    /// The content to be written.
    pub(crate) wanted: &'static str,
    /// Whether a file that starts with these bytes has that content.
    pub(crate) is_such: Test,
}

impl Rule {
    /// Accepts `.grove` files of one content, including damaged ones.
    pub(crate) fn grove(content: Content, origin: Origin) -> Self {
        Self {
            origin,
            wanted: content.name(),
            is_such: Box::new(move |start| header::claimed(start) == Some(content)),
        }
    }

    /// Returns the file to replace: `path`, or the target of the link.
    fn target(&self, path: &Path) -> Result<PathBuf, Error> {
        let refuse = |what| Err(Error::io("writing")(io::Error::other(what)));
        let about = match self.origin.look_at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(about) if about.is_symlink() => refuse(
                        "a link to a file that does not exist; give the path of that file instead",
                    ),
                    // A file that has just appeared is checked again before it is replaced.
                    _ => Ok(path.to_owned()),
                };
            }
            about => about.map_err(Error::io("reading its metadata"))?,
        };
        if about.is_symlink() {
            return refuse(LINK);
        }
        if about.is_dir() {
            return refuse("this is a directory; pass a file name");
        }
        if !about.is_file() {
            return refuse("not a regular file, and would be replaced by one; choose another path");
        }
        if about.len() > 0 {
            self.check_kind(path)?;
        }
        match self.origin {
            // If a link was put there meanwhile, the rename replaces the link, not its target.
            Origin::Implicit => Ok(path.to_owned()),
            Origin::Named => fs::canonicalize(path).map_err(Error::io("resolving the path")),
        }
    }

    fn check_kind(&self, path: &Path) -> Result<(), Error> {
        let mut start = Vec::new();
        // Its owner does not matter here, since it is only read.
        open_file(path, File::options().read(true), Origin::Named)?
            .take(START)
            .read_to_end(&mut start)
            .map_err(Error::io("reading"))?;
        if (self.is_such)(&start) {
            return Ok(());
        }
        let message = Message::of_start(&start).map(Message::name);
        let grove = || content_of(path).ok().map(Content::name);
        Err(Error::WouldReplace {
            found: message.or_else(grove),
            wanted: self.wanted,
        })
    }
}

impl WholeFile {
    /// Creates a file. An existing file is replaced only if it is empty or `is_such` accepts its
    /// first bytes (up to 4096). `wanted` is the name of that content in errors, such as "a filter".
    ///
    /// # Errors
    /// [`Error::WouldReplace`] or [`Error::Io`], with the path.
    pub fn create(
        path: impl AsRef<Path>,
        wanted: &'static str,
        is_such: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let rule = Rule {
            origin: Origin::Named,
            wanted,
            is_such: Box::new(is_such),
        };
        Self::with(path.as_ref(), rule)
    }

    pub(crate) fn with(path: &Path, rule: Rule) -> Result<Self, Error> {
        let create = || {
            let target = rule.target(path)?;
            let temporary = temporary_beside(&target).map_err(Error::io("writing"))?;
            Ok((target, temporary))
        };
        let (target, temporary) = create().map_err(Error::in_file(path))?;
        Ok(Self {
            shown: path.to_owned(),
            target,
            temporary,
            rule,
        })
    }

    /// Returns the file, under its temporary name.
    pub(crate) fn as_file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Syncs the file and gives it its name. Returns the file itself, since the path may soon refer
    /// to another one.
    ///
    /// # Errors
    /// Same as for [`create`](Self::create), since another file may have appeared there meanwhile.
    /// An existing file is then unchanged.
    pub fn finish(self) -> Result<File, Error> {
        let Self {
            shown,
            target,
            temporary,
            rule,
        } = self;
        let finish = || {
            let synced = temporary.as_file().sync_all();
            synced.map_err(Error::io("writing"))?;
            rule.target(&target)?;
            let named = temporary.persist(&target).map_err(|error| error.error);
            let file = named.map_err(Error::io("writing"))?;
            // The rename itself must reach the disk, too. Not every system allows a directory to be
            // opened or synced; there the rename is as durable as possible, and the file is in
            // place either way.
            if let Ok(directory) = File::open(directory_of(&target)) {
                let _ = directory.sync_all();
            }
            Ok(file)
        };
        finish().map_err(Error::in_file(&shown))
    }

    /// Denies access to all users to whom `mode` does not grant it.
    #[cfg(unix)]
    pub(crate) fn restrict(&self, mode: u32) -> io::Result<()> {
        restrict(self.as_file(), mode)
    }
}

impl fmt::Debug for WholeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WholeFile").field(&self.shown).finish()
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The error of the temporary file would contain a name that the user has never seen.
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.temporary.as_file_mut().seek(to)
    }
}

/// Checks whether a `.grove` file of this content could be written here, as far as that can be
/// known in advance, so that long work is not done in vain.
///
/// # Errors
/// The reason why it cannot.
pub fn check_target(path: impl AsRef<Path>, content: Content) -> Result<(), Error> {
    WholeFile::with(path.as_ref(), Rule::grove(content, Origin::Named)).map(|_| ())
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bloomgrove-").suffix(".tmp");
    // The mode of new files, subject to the umask.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let directory = directory_of(path);
    let shown = directory.display();
    if !directory.exists() {
        let what = format!("the directory {shown} does not exist");
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    let temporary = builder.tempfile_in(directory).map_err(|error| {
        // Without the name of the temporary file, which the user has never seen.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or(&why);
        let what =
            format!("cannot write to the directory {shown}: {why}; choose another directory");
        io::Error::new(error.kind(), what)
    })?;
    // Or the mode of the file to be replaced.
    #[cfg(unix)]
    if let Ok(about) = fs::symlink_metadata(path)
        && about.is_file()
    {
        set_mode(temporary.as_file(), mode_of(&about))?;
    }
    Ok(temporary)
}

#[cfg(unix)]
fn mode_of(about: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(about) & 0o777
}

/// Denies access to all users to whom `mode` does not grant it.
#[cfg(unix)]
pub(super) fn restrict(file: &File, mode: u32) -> io::Result<()> {
    set_mode(file, mode_of(&file.metadata()?) & mode)
}

/// Skipped if nothing changes, because some file systems have no modes and refuse.
#[cfg(unix)]
fn set_mode(file: &File, wanted: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if mode_of(&file.metadata()?) == wanted {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(wanted))
}

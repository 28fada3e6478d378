//! Which file a path means, and replacing it: whole or not at all, and only by its like.
//!
//! ```text
//!   path --(links, as `Origin` says)--> target
//!                                         |  is there a file of another kind? refused
//!                     temporary beside it v
//!                         written, synced, renamed over the target
//! ```
//!
//! Everything that replaces a file goes through here. What is there is judged by what is in
//! it, never by its name: a mistyped output, or a link in a directory that somebody else
//! made, must not cost anybody their data.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::header;
use super::message::MessageKind as Message;
use super::{Content, content_of};
use crate::Error;

/// How much of a file is looked at to tell what it is.
const START: u64 = 4096;

/// Who chose a path, and so what may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody named it: links are followed.
    Named,
    /// Nobody named it: it is where a program always looks, in a directory that may have
    /// come from anywhere. Only a regular file that is nobody else's will do.
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
    // Before it is opened: a pipe would keep us waiting, and a device may do anything.
    let about = origin.look_at(path).map_err(Error::io("opening"))?;
    if about.is_symlink() {
        return refuse(LINK.into());
    }
    if !about.is_file() {
        return refuse("not a regular file".into());
    }
    #[cfg(unix)]
    if origin == Origin::Implicit {
        use std::os::unix::fs::OpenOptionsExt;
        // Somebody may put a link there in between.
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

const LINK: &str = "a symbolic link, which is not followed where nobody named the file";

/// What is wrong with a file that nobody named, if others could have written what is in it, or
/// would see what we write to it.
#[cfg(unix)]
fn whose(about: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let (owner, mode) = (about.uid(), about.mode() & 0o777);
    if !about.is_file() {
        return Some("not a regular file".into());
    }
    // What root wrote is to be trusted, as everything else on the machine.
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Some(format!(
            "it belongs to another user (uid {owner}), who could make it hide what is there"
        ));
    }
    if mode & 0o022 != 0 {
        return Some(format!(
            "others can write to it (mode {mode:03o}), and could make it hide what is there"
        ));
    }
    (about.nlink() > 1).then(|| {
        let others = about.nlink() - 1;
        format!("it is a hard link: a change to it would change {others} other files")
    })
}

/// A file being written. It gets its name in [`finish`](Self::finish); dropped before that, it
/// is gone, and the file it was to replace is untouched.
///
/// A file of another kind is never replaced, and a link is followed: what it leads to is
/// replaced, and the link stays.
///
/// Nothing is buffered here.
pub struct WholeFile {
    /// As it was named.
    shown: PathBuf,
    target: PathBuf,
    temporary: NamedTempFile,
    rule: Rule,
}

type Test = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// What may be replaced.
pub(crate) struct Rule {
    pub(crate) origin: Origin,
    /// What is written.
    pub(crate) wanted: &'static str,
    /// Whether a file that begins so is such a thing.
    pub(crate) is_such: Test,
}

impl Rule {
    /// `.grove` files of one content, damaged ones included.
    pub(crate) fn grove(content: Content, origin: Origin) -> Self {
        Self {
            origin,
            wanted: content.name(),
            is_such: Box::new(move |start| header::claimed(start) == Some(content)),
        }
    }

    /// The file to replace: `path`, or what it links to.
    fn target(&self, path: &Path) -> Result<PathBuf, Error> {
        let refuse = |what| Err(Error::io("writing")(io::Error::other(what)));
        let about = match self.origin.look_at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match fs::symlink_metadata(path) {
                    Ok(about) if about.is_symlink() => {
                        refuse("a link to a file that does not exist; name that file")
                    }
                    // What has come just now is looked at again before it is replaced.
                    _ => Ok(path.to_owned()),
                };
            }
            about => about.map_err(Error::io("looking at"))?,
        };
        if about.is_symlink() {
            return refuse(LINK);
        }
        if about.is_dir() {
            return refuse("a directory; name a file in it");
        }
        if !about.is_file() {
            return refuse("not a regular file, and would be replaced by one; name another");
        }
        if about.len() > 0 {
            self.check_kind(path)?;
        }
        match self.origin {
            // A rename replaces a link that was put there since, and not what it leads to.
            Origin::Implicit => Ok(path.to_owned()),
            Origin::Named => fs::canonicalize(path).map_err(Error::io("looking at")),
        }
    }

    fn check_kind(&self, path: &Path) -> Result<(), Error> {
        let mut start = Vec::new();
        // Whose it is does not matter here: it is only looked at.
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
    /// Begins a file in the place of nothing, of an empty file, or of one whose first bytes (up
    /// to 4096) are those of such a thing. `wanted` says in errors what that is: "a filter".
    ///
    /// # Errors
    /// [`Error::WouldReplace`], or [`Error::Io`], naming the file.
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
            let temporary =
                temporary_beside(&target).map_err(Error::io("creating a temporary file"))?;
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

    /// The file as it is, under whatever name.
    pub(crate) fn as_file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Makes it durable and gives it its name. Returns the file itself: by the time its name is
    /// used, that may be another's.
    ///
    /// # Errors
    /// As [`create`](Self::create): another file may have come there meanwhile. What was there
    /// stays.
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
            // The rename itself must reach the disk too. Not every system lets a directory be
            // opened or synced; there the rename is as durable as it gets, and the file is in
            // place either way.
            if let Ok(directory) = File::open(directory_of(&target)) {
                let _ = directory.sync_all();
            }
            Ok(file)
        };
        finish().map_err(Error::in_file(&shown))
    }

    /// Lets nobody read the file whom `mode` does not let.
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
        // The error of the temporary file would have a name that nobody has heard of.
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

/// Whether a `.grove` file of this content could be written here, as far as one can tell before:
/// so that long work is not done for nothing.
///
/// # Errors
/// What is in the way.
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
    // What a new file gets here: this is subject to the umask.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let directory = directory_of(path);
    // An error should not have the name of a file that nobody has heard of.
    if !directory.exists() {
        let what = format!("there is no directory {}", directory.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    let temporary = builder.tempfile_in(directory)?;
    // Or the mode of the file it replaces.
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

/// Lets nobody read or write a file whom `mode` does not let.
#[cfg(unix)]
pub(super) fn restrict(file: &File, mode: u32) -> io::Result<()> {
    set_mode(file, mode_of(&file.metadata()?) & mode)
}

/// Not asked for when nothing changes: some file systems have no modes and refuse.
#[cfg(unix)]
fn set_mode(file: &File, wanted: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if mode_of(&file.metadata()?) == wanted {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(wanted))
}

//! Adding keys to a page file.
//!
//! ```text
//!   keys --> | skipped: already in | --> Builder --sync, now and then--> durable
//!              --resume                  created with the first key
//! ```
//!
//! A file is created only when there is a key for it: a missing column, or a line that is not a
//! number, must not cost the filter that was there before. Whatever ends the work early, the keys
//! read so far are synced first.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use bloomgrove::buffered::{BufferOptions, Builder, Filter, Geometry};
use bloomgrove::format::Notes;
use bloomgrove::{Error, Key};

use crate::shared::output::complain;
use crate::shared::progress::Progress;
use crate::shared::{interrupt, units};

/// At most this many of the skipped keys are checked: each costs a read of the disk.
const LOOKS: u64 = 1000;
/// A sync visits every page. It may take this part of the time, or else it is due later.
const SYNC_SHARE: u32 = 10;

/// How a new file is made.
pub(super) struct New {
    pub(super) geometry: Geometry,
    pub(super) notes: Notes,
    pub(super) options: BufferOptions,
}

enum File {
    NotYet(Box<New>),
    Open(Box<Builder>),
    /// Finished, or given up.
    Gone,
}

/// What the keys are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Begin,
    /// To an existing file.
    Add,
    /// The keys that are durable in the file come first, and are skipped.
    Resume,
}

pub(super) struct Session {
    path: PathBuf,
    file: File,
    purpose: Purpose,
    /// Keys that were in before.
    before: u64,
    /// How many of the keys that come are in already.
    skip: u64,
    /// Keys taken in.
    added: u64,
    /// How many of them a sync has not seen yet.
    unsynced: u64,
    /// How often to sync; never, if it is zero.
    every: Duration,
    /// None if that is never.
    due: Option<Instant>,
    /// Every nth of the skipped keys is checked.
    look_every: u64,
}

/// The result of a session.
pub(super) struct Done {
    pub(super) geometry: Geometry,
    pub(super) keys: u64,
    pub(super) added: u64,
}

impl Session {
    pub(super) fn new(path: &Path, new: New, every: Duration) -> Self {
        Self::start(path, File::NotYet(Box::new(new)), Purpose::Begin, every, 0)
    }

    /// Opens a file that is not finished.
    pub(super) fn open(
        path: &Path,
        options: &BufferOptions,
        purpose: Purpose,
        every: Duration,
    ) -> Result<Self> {
        let builder = Builder::open(path, options)?;
        let before = builder.synced_keys();
        let file = File::Open(Box::new(builder));
        Ok(Self::start(path, file, purpose, every, before))
    }

    fn start(path: &Path, file: File, purpose: Purpose, every: Duration, before: u64) -> Self {
        Self {
            path: path.to_owned(),
            file,
            purpose,
            before,
            skip: if purpose == Purpose::Resume {
                before
            } else {
                0
            },
            added: 0,
            unsynced: 0,
            every,
            due: Instant::now().checked_add(every),
            look_every: (before / LOOKS).max(1),
        }
    }

    pub(super) fn added(&self) -> u64 {
        self.added
    }

    pub(super) fn is_skipping(&self) -> bool {
        self.skip > 0
    }

    pub(super) fn add<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        let skipped = self.skip.min(keys.len() as u64);
        self.check_skipped(&keys[..skipped as usize])?;
        self.skip -= skipped;
        let keys = &keys[skipped as usize..];
        if keys.is_empty() {
            return Ok(());
        }
        self.builder()?.insert_batch(keys)?;
        self.added += keys.len() as u64;
        self.unsynced += keys.len() as u64;
        self.sync_if_due()
    }

    fn sync_if_due(&mut self) -> Result<()> {
        let is_due = self.due.is_some_and(|due| Instant::now() >= due);
        if self.every.is_zero() || self.unsynced == 0 || !is_due {
            return Ok(());
        }
        let began = Instant::now();
        self.builder()?.sync()?;
        self.unsynced = 0;
        let pause = self.every.max(began.elapsed() * (SYNC_SHARE - 1));
        self.due = Instant::now().checked_add(pause);
        Ok(())
    }

    /// How long to wait until a sync may be due.
    fn until_due(&self) -> Duration {
        let left = self.due.map_or(Duration::MAX, |due| {
            due.saturating_duration_since(Instant::now())
        });
        match left.is_zero() {
            // Nothing is new; the next key is synced when it comes.
            true => self.every.max(Duration::from_millis(1)),
            false => left,
        }
    }

    /// Ensures that the skipped keys are in the file: if not, the input files are not those of the
    /// interrupted build.
    fn check_skipped<K: Key>(&self, keys: &[K]) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let filter = Filter::open(&self.path)?;
        let first = self.before - self.skip;
        for (number, key) in (first..).zip(keys) {
            if number % self.look_every == 0 && !filter.contains(key)? {
                bail!(
                    "{}: does not contain key {} of these files, so they are not the input files \
                     that it was created with; nothing was changed",
                    self.path.display(),
                    number + 1
                );
            }
        }
        Ok(())
    }

    /// The file, created if it does not exist yet.
    fn builder(&mut self) -> Result<&mut Builder> {
        if let File::NotYet(new) = &self.file {
            let New {
                geometry,
                notes,
                options,
            } = &**new;
            let builder = Builder::create_with(&self.path, geometry, options, notes)
                .map_err(|error| explained(error, geometry))?;
            self.file = File::Open(Box::new(builder));
        }
        match &mut self.file {
            File::Open(builder) => Ok(builder),
            _ => bail!("interrupted"),
        }
    }

    /// Syncs everything, and finishes the file unless it stays open.
    pub(super) fn finish(&mut self, seal: bool) -> Result<Done> {
        if self.skip > 0 {
            bail!(
                "{}: it has {}, but the input has only {}; pass all files that it was created with, \
                 in the same order; nothing was changed",
                self.path.display(),
                units::counted(self.before, "key"),
                units::grouped(self.before - self.skip),
            );
        }
        let builder = self.builder()?;
        let (geometry, keys) = (builder.geometry().clone(), builder.keys());
        // If this fails, there is still a file to report.
        builder.sync()?;
        if let File::Open(builder) = std::mem::replace(&mut self.file, File::Gone)
            && seal
        {
            builder.finish()?;
        }
        Ok(Done {
            geometry,
            keys,
            added: self.added,
        })
    }

    /// Syncs what it can, and returns what that is and how to continue; none if the work was
    /// complete anyway.
    fn rescue(&mut self) -> Option<String> {
        let mut builder = match std::mem::replace(&mut self.file, File::Gone) {
            File::Gone => return None,
            File::Open(builder) if self.added > 0 => builder,
            _ => return Some("nothing was changed".into()),
        };
        if interrupt::was_asked() && std::io::stderr().is_terminal() {
            complain(format_args!(
                "interrupted; syncing the keys read so far (press Ctrl-C again to skip this)"
            ));
        }
        let failed = builder.sync().err();
        let lost = match failed {
            Some(error) => format!("keys since the last sync may be lost ({error}); "),
            None => String::new(),
        };
        let sure = units::counted(builder.synced_keys(), "key");
        let how = match self.purpose {
            Purpose::Add => {
                "to continue, add the same files again (adding a key twice does no harm, it is only \
                 counted twice)"
            }
            _ => "to continue, run the same command with --resume",
        };
        Some(format!(
            "{lost}{} is not finished and has {sure}; {how}",
            self.path.display()
        ))
    }
}

/// The error for a file that could not be created.
fn explained(error: Error, geometry: &Geometry) -> anyhow::Error {
    let no_room = matches!(error.kind(), Error::Io { source, .. }
        if matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::FileTooLarge
            | std::io::ErrorKind::QuotaExceeded));
    match no_room {
        true => anyhow!(
            "{error}; the whole file of {} is allocated before the work begins; free some space, \
             name a file on another disk, or choose a smaller --size or a higher --fpr",
            units::size(geometry.bytes())
        ),
        false => error.into(),
    }
}

/// A session that Ctrl-C can also reach, while its owner waits for input.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Session>>);

impl Shared {
    pub(super) fn new(session: Session) -> Self {
        Self(Arc::new(Mutex::new(session)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this lives, Ctrl-C while waiting for input syncs what was read.
    pub(super) fn guard(&self, progress: &Arc<Progress>) -> interrupt::BeforeEnd {
        let (session, progress) = (self.clone(), Arc::clone(progress));
        interrupt::before_end(move || {
            // Locked to the end, so that nothing is added after the sync.
            let mut session = session.lock();
            progress.hide();
            if let Some(sure) = session.rescue() {
                complain(format_args!("interrupted; {sure}"));
                std::process::exit(130);
            }
        })
    }

    /// While this lives, keys are synced on time even if no more keys come.
    pub(super) fn sync_on_time(&self) -> OnTime {
        let (stop, stopped) = mpsc::channel();
        let session = self.clone();
        let thread = (!self.lock().every.is_zero()).then(|| {
            thread::spawn(move || {
                loop {
                    let wait = session.lock().until_due();
                    match stopped.recv_timeout(wait) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return Ok(()),
                    }
                    session.lock().sync_if_due()?;
                }
            })
        });
        OnTime { stop, thread }
    }

    /// The message for an error that ends the work, once what was read is synced.
    pub(super) fn give_up(&self, error: anyhow::Error) -> anyhow::Error {
        let mut session = self.lock();
        let asked = interrupt::was_asked();
        match session.rescue() {
            Some(sure) if asked => anyhow!("interrupted; {sure}"),
            Some(sure) if session.added > 0 => anyhow!("{error:#}; {sure}"),
            _ => error,
        }
    }
}

/// The thread of [`Shared::sync_on_time`].
pub(super) struct OnTime {
    stop: mpsc::Sender<()>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl OnTime {
    /// Ends the thread; fails if a sync has.
    pub(super) fn finish(self) -> Result<()> {
        drop(self.stop);
        match self.thread.map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            _ => Ok(()),
        }
    }
}

//! Worker threads that apply blocks to their pages.
//!
//! ```text
//!   session: hash, add to blocks  --block--> worker: read page, apply, write
//!                   ^                                       |
//!                   +---------------- block ---------------+
//! ```
//!
//! While one worker waits for the disk, another applies its block, and the session continues
//! hashing. These are plain threads, which every system has: `io_uring`, driven by one thread,
//! is no faster for pages of half a megabyte and slower for larger ones (`bench-compare disk`).
//! It would be faster for single sectors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Error;

use super::blocks::Block;
use super::file::PageFile;
use super::store::Buffer;

/// What a worker does with a block, given a buffer into which it reads the page.
pub(super) type Work =
    dyn Fn(&PageFile, &mut Buffer, &mut Block) -> Result<(), Error> + Send + Sync;

/// A block that was applied to its page.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) block: Block,
    pub(super) outcome: Result<(), Error>,
    /// How long the worker took.
    pub(super) took: Duration,
}

/// The threads, and the blocks they are working on.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: Option<Sender<Block>>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
    outstanding: usize,
}

impl Workers {
    /// Starts `count` threads, each with a buffer for one page.
    pub(super) fn start(count: usize, file: &PageFile, work: Arc<Work>) -> Result<Self, Error> {
        let (jobs, waiting) = mpsc::channel::<Block>();
        let waiting = Arc::new(Mutex::new(waiting));
        let (report, done) = mpsc::channel();
        let mut threads = Vec::with_capacity(count);
        for _ in 0..count {
            let mut buffer = Buffer::new(file.geometry().page_bytes() as usize)?;
            let (file, work) = (file.clone(), Arc::clone(&work));
            let (waiting, report) = (Arc::clone(&waiting), report.clone());
            let run = move || {
                while let Some(mut block) = next(&waiting) {
                    let began = Instant::now();
                    // The session would wait forever for a block that never came back.
                    let done =
                        catch_unwind(AssertUnwindSafe(|| work(&file, &mut buffer, &mut block)));
                    let outcome = done.unwrap_or_else(|_| Err(panicked()));
                    let took = began.elapsed();
                    let done = Done {
                        block,
                        outcome,
                        took,
                    };
                    if report.send(done).is_err() {
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("bloomgrove-pages".into());
            threads.push(thread.spawn(run).map_err(Error::io("starting a thread"))?);
        }
        Ok(Self {
            jobs: Some(jobs),
            done,
            threads,
            outstanding: 0,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.threads.len()
    }

    /// Returns the number of blocks passed to workers and not yet taken back.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub(super) fn give(&mut self, block: Block) {
        if let Some(jobs) = &self.jobs {
            // Fails only if all workers have died, which `take` reports.
            let _ = jobs.send(block);
            self.outstanding += 1;
        }
    }

    /// Returns a finished block, if there is one.
    pub(super) fn try_take(&mut self) -> Option<Done> {
        let done = self.done.try_recv().ok()?;
        self.outstanding -= 1;
        Some(done)
    }

    /// Waits for a finished block, until `deadline` if there is one. `None` once it has passed.
    pub(super) fn take(&mut self, deadline: Option<Instant>) -> Result<Option<Done>, Error> {
        let done = match deadline {
            None => self.done.recv().map_err(|_| died())?,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                match self.done.recv_timeout(left) {
                    Ok(done) => done,
                    Err(mpsc::RecvTimeoutError::Timeout) => return Ok(None),
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Err(died()),
                }
            }
        };
        self.outstanding -= 1;
        Ok(Some(done))
    }
}

fn next(waiting: &Mutex<Receiver<Block>>) -> Option<Block> {
    waiting.lock().ok()?.recv().ok()
}

fn panicked() -> Error {
    Error::io("working on pages")(std::io::Error::other("a worker thread panicked"))
}

fn died() -> Error {
    Error::io("working on pages")(std::io::Error::other("all worker threads have ended"))
}

impl Drop for Workers {
    /// Blocks already passed to workers are still applied to their pages.
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

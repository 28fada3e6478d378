//! `bloomgrove buffered probe --t-max`: keys are answered as they come, each within a time.
//!
//! ```text
//!   reader thread:  keys --> channel, then the request queue
//!   main thread:    answers, in any order --> printed in the order of the keys, and flushed
//! ```
//!
//! Input order costs no time: a key that came earlier is due earlier. The channel is short, so that
//! a reader of our output that stops also stops the reading of keys.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use anyhow::{Result, anyhow};
use bloomgrove::buffered::ProbeQueue;

use super::probe::Printer;
use crate::shared::keys::{self, KeyKind, KeysArgs};

/// Batches of keys between reading and printing.
const BATCHES: usize = 16;
/// How long to wait for answers before looking for new keys.
const PATIENCE: Duration = Duration::from_millis(100);

/// Where the keys come from.
pub(super) struct Keys {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) from: KeysArgs,
    pub(super) kind: KeyKind,
}

/// Answers the keys until there are no more.
pub(super) fn answer(keys: Keys, queue: ProbeQueue, printer: &mut Printer) -> Result<()> {
    let queue = Arc::new(queue);
    let (to, from) = sync_channel(BATCHES);
    // Not in a scope: if the output is closed, nothing waits for the input.
    let reader = {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || read(&keys, &queue, &to))
    };
    let mut waiting = Waiting::default();
    // Until the reader has ended.
    while waiting.take_keys(&from) {
        waiting.take_answers(queue.receive(PATIENCE)?, &from);
        waiting.print(printer)?;
    }
    let read = reader.join().map_err(|_| anyhow!("the reader panicked"))?;
    if let Some(mut queue) = Arc::into_inner(queue) {
        queue.close()?;
        waiting.take_answers(queue.receive(Duration::ZERO)?, &from);
    }
    waiting.print(printer)?;
    read
}

/// Keys that were read together.
type Batch = Vec<Vec<u8>>;

fn read(keys: &Keys, queue: &ProbeQueue, to: &SyncSender<Batch>) -> Result<()> {
    let mut first = 0;
    for input in &keys.inputs {
        keys::read(input, &keys.from, None, |lines| {
            // A number that is none must not be waited for.
            let hashed = lines.iter().map(|line| keys.kind.key(line));
            let hashed = hashed.collect::<Result<Batch>>()?;
            // First, so that the key of an answer is always known. Fails if nobody prints any more.
            to.send(lines.iter().map(|line| line.to_vec()).collect())?;
            queue.submit_batch(&hashed, first)?;
            first += lines.len() as u64;
            Ok(())
        })?;
    }
    Ok(())
}

/// Keys that are not printed yet, in order.
#[derive(Default)]
struct Waiting {
    keys: VecDeque<(Vec<u8>, Option<bool>)>,
    /// The tag of the first of them.
    first: u64,
}

impl Waiting {
    /// Takes the keys that have come; waits for some if none are waiting. Returns false if there
    /// will be no more.
    fn take_keys(&mut self, from: &Receiver<Batch>) -> bool {
        if self.keys.is_empty() {
            match from.recv() {
                Ok(batch) => self.add(batch),
                Err(_) => return false,
            }
        }
        loop {
            match from.try_recv() {
                Ok(batch) => self.add(batch),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn add(&mut self, batch: Batch) {
        self.keys.extend(batch.into_iter().map(|key| (key, None)));
    }

    fn take_answers(&mut self, answers: Vec<(u64, bool)>, from: &Receiver<Batch>) {
        // The keys of these answers may have come after the last look.
        from.try_iter().for_each(|batch| self.add(batch));
        for (tag, found) in answers {
            if let Some((_, answer)) = self.keys.get_mut((tag - self.first) as usize) {
                *answer = Some(found);
            }
        }
    }

    fn print(&mut self, printer: &mut Printer) -> Result<()> {
        while let Some((key, Some(found))) = self.keys.front() {
            printer.answer(key, *found)?;
            self.keys.pop_front();
            self.first += 1;
        }
        printer.output.flush()
    }
}

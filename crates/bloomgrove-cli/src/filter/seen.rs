//! `bloomgrove filter seen`: the lines of a stream that were not seen before, in this run or an
//! earlier one.
//!
//! ```text
//!   lines --> in the filter? --no--> printed and flushed --> into the filter --at the end--> saved
//! ```
//!
//! A line goes into the filter only after it was printed. So a run that fails or is killed may
//! repeat lines, but loses none.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow};
use bloomgrove::format::Notes;
use bloomgrove::raw::format::lock_to_replace;
use bloomgrove::{Filter, tune};
use serde_json::json;

use crate::shared::keys::{self, KeyKind};
use crate::shared::output::{self, Output, complain};
use crate::shared::{Outcome, interrupt, notes, open, units};

/// Print only the lines that were not seen before.
///
/// The lines are remembered in a filter, which is created if it does not exist, and saved at the
/// end and on Ctrl-C. At the filter's false-positive rate, a new line is mistaken for one seen before
/// and is not printed. Exit code: 0 if there were new lines, 1 if there were none.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tail -f app.log | grep -o 'user=[^ ]*' | bloomgrove filter seen users.grove\n  \
    bloomgrove filter seen urls.grove today.txt --items 10M > new-urls.txt")]
pub(crate) struct Args {
    /// The filter that remembers the lines
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// Files of lines; - is standard input [default: -]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// For a filter that does not exist yet: the number of distinct lines to size it for [default: 1M]
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    items: Option<u64>,
    /// For a filter that does not exist yet: how often a new line is taken for one seen before [default: 0.1%]
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    fpr: Option<f64>,
    /// Print the number of new lines instead of the lines
    #[arg(short, long)]
    count: bool,
    /// Print one JSON object per new line
    #[arg(long, conflicts_with = "count")]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    // Before a filter is created for it.
    for file in args.files.iter().filter(|file| file.as_os_str() != "-") {
        std::fs::metadata(file).with_context(|| file.display().to_string())?;
    }
    let memory = Arc::new(Mutex::new(Memory::open(&args)?));
    let lock = || memory.lock().unwrap_or_else(PoisonError::into_inner);
    let on_interrupt = Arc::clone(&memory);
    let waiting = interrupt::before_end(move || {
        // Locked to the end, so that nothing is printed after it is saved.
        let memory: MutexGuard<'_, Memory> =
            on_interrupt.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = memory.save().map(|()| memory.interrupted());
        complain(format_args!("{:#}", saved.unwrap_or_else(|error| error)));
        std::process::exit(130);
    });
    let mut output = Output::new();
    let standard = [PathBuf::from("-")];
    let files = match args.files.is_empty() {
        true => &standard[..],
        false => &args.files,
    };
    let read = files.iter().try_for_each(|file| {
        keys::read(file, &keys::KeysArgs::default(), None, |lines| {
            lock().take(lines, &args, &mut output)
        })
    });
    drop(waiting);
    let memory = lock();
    memory.save()?;
    match read {
        Err(_) if interrupt::was_asked() => return Err(memory.interrupted()),
        read => read?,
    }
    if args.count {
        output.line(memory.added)?;
    }
    output.finish()?;
    Ok(if memory.added > 0 {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

/// The filter, and what is known of it.
struct Memory {
    path: PathBuf,
    /// No other process changes it meanwhile.
    _lock: File,
    filter: Filter,
    notes: Notes,
    kind: KeyKind,
    /// How many lines there is still room for, if that is known.
    room: Option<u64>,
    added: u64,
}

impl Memory {
    fn open(args: &Args) -> Result<Self> {
        let path = &args.filter;
        if !path.exists() {
            create(
                path,
                args.items.unwrap_or(1_000_000),
                args.fpr.unwrap_or(0.001),
            )?;
        } else if args.items.is_some() || args.fpr.is_some() {
            let path = path.display();
            complain(format_args!(
                "{path}: this filter already exists, so --items and --fpr are ignored"
            ));
        }
        let lock = open::patiently(|| lock_to_replace(path))?;
        let (filter, notes) = (Filter::load(path)?, Notes::of_file(path)?);
        let items = filter.estimated_items();
        let sized_for: Option<f64> = notes::number(&notes, notes::SIZED_FOR);
        Ok(Self {
            path: path.clone(),
            _lock: lock,
            kind: notes::key_kind_of(&filter, &notes),
            room: sized_for.map(|sized_for| (sized_for - items).max(0.0) as u64),
            filter,
            notes,
            added: 0,
        })
    }

    /// Prints the lines that are new, and remembers them.
    fn take(&mut self, lines: &[&[u8]], args: &Args, output: &mut Output) -> Result<()> {
        let own: Vec<Vec<u8>>;
        let keys: Vec<&[u8]> = match self.kind {
            KeyKind::Text => lines.to_vec(),
            KeyKind::Integer => {
                let parsed = lines.iter().map(|line| self.kind.key(line));
                own = parsed.collect::<Result<_>>()?;
                own.iter().map(Vec::as_slice).collect()
            }
        };
        let mut found = vec![false; keys.len()];
        self.filter.contains_batch(&keys, &mut found);
        let (mut new, mut seen) = (Vec::new(), HashSet::new());
        for ((line, key), found) in lines.iter().zip(keys).zip(found) {
            if found || !seen.insert(key) {
                continue;
            }
            new.push(key);
            if args.json {
                output.json_line(&json!({ "key": output::json_bytes(line) }))?;
            } else if !args.count {
                output.bytes(&[line, b"\n"])?;
            }
        }
        // A slow stream is printed line by line.
        output.flush()?;
        self.filter.insert_batch(&new);
        self.added += new.len() as u64;
        if self.room.is_some_and(|room| self.added > room) {
            self.room = None;
            complain(format_args!(
                "{}: the filter contains more lines than it was sized for, so more and more new lines \
                 will be mistaken for old ones; start a new filter with a larger --items",
                self.path.display()
            ));
        }
        Ok(())
    }

    fn save(&self) -> Result<()> {
        if self.added > 0 {
            let notes = notes::with_more(&self.notes, self.added);
            self.filter.save_with(&self.path, &notes)?;
        }
        Ok(())
    }

    fn interrupted(&self) -> anyhow::Error {
        let new = units::counted(self.added, "new line");
        anyhow!("interrupted; {} remembers {new}", self.path.display())
    }
}

/// An empty filter, so that there is a file to lock, and the path is known to be writable.
fn create(path: &Path, items: u64, fpr: f64) -> Result<()> {
    let notes = Notes::new()
        .with(notes::KEYS, KeyKind::Text.name())
        .with(notes::TARGET_FPR, fpr)
        .with(notes::SIZED_FOR, items);
    let filter = Filter::new(tune::recommend(items, fpr)?.params()?)?;
    Ok(filter.save_with(path, &notes)?)
}

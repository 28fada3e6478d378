//! `bloomgrove buffered probe`: which of these keys may the filter contain?
//!
//! ```text
//!   keys --> Prober --> answers, in any order --> one bit per key of the round
//!      \-> spool: the keys as they came ------------> printed in order when the round ends
//! ```
//!
//! With `--t-max`, keys are answered as they come instead (`stream.rs`).
//!
//! A round is as many keys as there are bits in an eighth of the memory. Each round visits all
//! pages, so more memory means fewer rounds and visits.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{BufReader, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bloomgrove::buffered::{BufferOptions, Filter, Phase, Prober, QueueOptions};
use serde_json::json;
use tempfile::SpooledTempFile;

use super::{Working, check_input, kind_of, stream};
use crate::shared::keys::{self, KeyKind};
use crate::shared::output::{self, Output, complain};
use crate::shared::progress::Progress;
use crate::shared::{Outcome, units};

/// Fewer bytes of keys than this are spooled in memory.
const SMALL_SPOOL: usize = 1 << 20;
/// Work that took longer is reported on the terminal.
const LONG: Duration = Duration::from_secs(2);

/// Check many keys at once against a filter on disk.
///
/// Prints each key with "maybe" or "no", in input order, once the pages it depends on have been
/// read. A "no" is certain; a "maybe" is wrong at the filter's false-positive rate. Keys are
/// lines, or the values of a column; compressed files are decompressed; - is standard
/// input, and --t-max answers its keys while it is open. Keys that wait for their answers are kept in the temporary directory (TMPDIR), at most one
/// per byte of --memory.
///
/// Exit code: 0 if the filter may contain any of the keys, 1 if it contains none.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove buffered probe orders.grove returns.txt.gz --found > worth-a-look.txt\n  \
    tail -f new-orders.txt | bloomgrove buffered probe orders.grove - --t-max 50ms\n  \
    bloomgrove buffered probe orders.grove --key order-17 --key order-18")]
pub(crate) struct Args {
    /// The filter
    #[arg(value_name = "FILE")]
    filter: PathBuf,
    /// Files of keys
    #[arg(value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    /// Check this key, immediately and before those in files (repeatable)
    #[arg(long, value_name = "KEY")]
    key: Vec<OsString>,
    /// Print only the keys that the filter may contain, one per line
    #[arg(long, conflicts_with_all = ["absent", "count"])]
    found: bool,
    /// Print only the keys that the filter does not contain, one per line
    #[arg(long, conflicts_with = "count")]
    absent: bool,
    /// Print only how many keys are "maybe" and how many are "no"
    #[arg(long)]
    count: bool,
    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with_all = ["json", "found", "absent", "count"])]
    quiet: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: keys::KeysArgs,
    /// How to interpret keys [default: as when the filter was built]
    #[arg(long, value_name = "KIND", value_enum)]
    keys_as: Option<KeyKind>,
    /// Answer every key within this time after it was read (50ms), as long as the disk can keep up.
    ///
    /// For keys that arrive one by one on standard input. A shorter time means fewer keys per page
    /// that is read.
    #[arg(long, value_name = "TIME", value_parser = units::duration, requires = "inputs")]
    t_max: Option<Duration>,
    #[command(flatten)]
    working: Working,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if args.key.is_empty() && args.inputs.is_empty() {
        bail!("no keys given; name files of keys, - for standard input, or pass --key KEY");
    }
    if args.from.is_given() && args.inputs.is_empty() {
        bail!("--column requires files of keys");
    }
    for input in &args.inputs {
        if input != Path::new("-") && !input.exists() {
            bail!(
                "{}: no such file; name files of keys, or pass a single key with --key",
                input.display()
            );
        }
        check_input(input)?;
    }
    let filter = Filter::open_with(&args.filter, !args.working.cached)?;
    if !args.inputs.is_empty() {
        args.working.check(filter.geometry())?;
    }
    let state = filter.state()?;
    if state.phase != Phase::Finished {
        complain(format_args!(
            "{}: this filter is {}; only the {} of the last sync are certain to be found, so a \"no\" \
             is not certain for others",
            args.filter.display(),
            state.phase,
            units::counted(state.keys, "key")
        ));
    }
    let kind = kind_of(filter.notes(), args.keys_as);
    let mut printer = Printer {
        output: Output::new(),
        style: Style::of(&args),
        json: args.json,
        maybe: 0,
        no: 0,
    };
    for key in &args.key {
        let key = keys::from_argument(key.clone());
        let found = filter.contains(&kind.key(&key)?)?;
        printer.answer(&key, found)?;
    }
    let began = Instant::now();
    match args.t_max {
        Some(t_max) => {
            let options = BufferOptions {
                t_max: Some(t_max),
                ..args.working.options()
            };
            let queue = filter.probe_queue(&options, &QueueOptions::default())?;
            let keys = stream::Keys {
                inputs: args.inputs,
                from: args.from,
                kind,
            };
            stream::answer(keys, queue, &mut printer)?;
        }
        None if args.inputs.is_empty() => {}
        None => ask_all(&args, &filter, kind, &mut printer)?,
    }
    let any = printer.maybe > 0;
    let asked = printer.finish()?;
    let took = began.elapsed();
    if took > LONG && std::io::stderr().is_terminal() {
        let rate = asked as f64 / took.as_secs_f64();
        complain(format_args!(
            "{} in {:.1} s, {} keys/s",
            units::counted(asked, "key"),
            took.as_secs_f64(),
            units::grouped(rate as u64)
        ));
    }
    Ok(if any { Outcome::Yes } else { Outcome::No })
}

fn ask_all(args: &Args, filter: &Filter, kind: KeyKind, printer: &mut Printer) -> Result<()> {
    let answers = RefCell::new(Answers::default());
    let sink = |tag, found| answers.borrow_mut().take(tag, found);
    let mut options = args.working.options();
    // Including the answers.
    let least = filter.geometry().least_memory(options.workers);
    options.memory = (options.memory - options.memory / 8).max(least);
    let prober = filter.prober(&options, sink)?;
    let mut round = Round {
        prober,
        answers: &answers,
        spool: printer.style.needs_keys().then(Spool::new),
        asked: 0,
        // One bit per key.
        limit: args.working.memory.max(64),
    };
    let progress = Progress::bytes(keys::total_size(&args.inputs), "asking");
    let (began, mut asked) = (Instant::now(), 0);
    for input in &args.inputs {
        keys::read(input, &args.from, Some(&progress), |lines| {
            asked += lines.len() as u64;
            let rate = asked as f64 / began.elapsed().as_secs_f64();
            progress.say(format!("checking {} keys/s", units::grouped(rate as u64)));
            let mut rest = lines;
            while !rest.is_empty() {
                let room = (round.limit - round.asked).min(rest.len() as u64);
                let (now, later) = rest.split_at(room as usize);
                round.ask(now, kind)?;
                if round.asked == round.limit {
                    round.end(printer)?;
                }
                rest = later;
            }
            Ok(())
        })
        // An error of the filter must not be blamed on the lines just read.
        .map_err(|error| match error.downcast::<bloomgrove::Error>() {
            Ok(error) => error.into(),
            Err(error) => error,
        })?;
    }
    progress.say("finishing");
    round.end(printer)
}

/// The answers of this round.
#[derive(Default)]
struct Answers {
    maybe: u64,
    /// A bit per tag, unless only the numbers are printed.
    bits: Vec<u64>,
}

impl Answers {
    fn take(&mut self, tag: u64, found: bool) {
        self.maybe += u64::from(found);
        if let Some(word) = self.bits.get_mut(tag as usize / 64) {
            *word |= u64::from(found) << (tag % 64);
        }
    }

    fn get(&self, tag: u64) -> bool {
        self.bits[tag as usize / 64] >> (tag % 64) & 1 != 0
    }
}

/// Keys whose answers are printed together. Their tags count from 0.
struct Round<'a, S: FnMut(u64, bool)> {
    prober: Prober<S>,
    answers: &'a RefCell<Answers>,
    /// The keys, unless only the numbers matter.
    spool: Option<Spool>,
    asked: u64,
    limit: u64,
}

impl<S: FnMut(u64, bool)> Round<'_, S> {
    fn ask(&mut self, lines: &[&[u8]], kind: KeyKind) -> Result<()> {
        let first = self.asked;
        self.asked += lines.len() as u64;
        if let Some(spool) = &mut self.spool {
            spool.write(lines).context(SPOOL_TROUBLE)?;
            let words = self.asked.div_ceil(64) as usize;
            self.answers.borrow_mut().bits.resize(words, 0);
        }
        match kind {
            KeyKind::Text => self.prober.submit_batch(lines, first)?,
            KeyKind::Integer => {
                let numbers = lines.iter().map(|line| keys::number(line));
                let numbers = numbers.collect::<Result<Vec<u64>>>()?;
                self.prober.submit_batch(&numbers, first)?;
            }
        }
        Ok(())
    }

    /// Waits for all answers and prints them.
    fn end(&mut self, printer: &mut Printer) -> Result<()> {
        self.prober.flush()?;
        let mut answers = self.answers.borrow_mut();
        match &mut self.spool {
            Some(spool) => {
                let mut tag = 0;
                spool.drain(self.asked, |key| {
                    tag += 1;
                    printer.answer(key, answers.get(tag - 1))
                })?;
            }
            None => {
                printer.maybe += answers.maybe;
                printer.no += self.asked - answers.maybe;
            }
        }
        *answers = Answers::default();
        self.asked = 0;
        Ok(())
    }
}

const SPOOL_TROUBLE: &str = "keeping keys in the temporary directory (TMPDIR can name another)";

/// Keys in the order they came: their lengths, and their bytes.
struct Spool(BufWriter<SpooledTempFile>);

impl Spool {
    fn new() -> Self {
        Self(BufWriter::with_capacity(
            1 << 16,
            SpooledTempFile::new(SMALL_SPOOL),
        ))
    }

    fn write(&mut self, lines: &[&[u8]]) -> std::io::Result<()> {
        for line in lines {
            // No key is longer than what a line or a value of a column may be.
            self.0.write_all(&(line.len() as u32).to_le_bytes())?;
            self.0.write_all(line)?;
        }
        Ok(())
    }

    /// All keys, of which there are `count`; none are left.
    fn drain(&mut self, count: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.0.flush().context(SPOOL_TROUBLE)?;
        let file = self.0.get_mut();
        file.rewind().context(SPOOL_TROUBLE)?;
        let mut source = BufReader::with_capacity(1 << 16, &mut *file);
        let mut key = Vec::new();
        for _ in 0..count {
            let mut len = [0; 4];
            source.read_exact(&mut len).context(SPOOL_TROUBLE)?;
            key.resize(u32::from_le_bytes(len) as usize, 0);
            source.read_exact(&mut key).context(SPOOL_TROUBLE)?;
            each(&key)?;
        }
        file.rewind().context(SPOOL_TROUBLE)?;
        file.set_len(0).context(SPOOL_TROUBLE)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    All,
    Found,
    Absent,
    Count,
    Quiet,
}

impl Style {
    fn of(args: &Args) -> Self {
        match args {
            _ if args.found => Style::Found,
            _ if args.absent => Style::Absent,
            _ if args.count => Style::Count,
            _ if args.quiet => Style::Quiet,
            _ => Style::All,
        }
    }

    fn needs_keys(self) -> bool {
        matches!(self, Style::All | Style::Found | Style::Absent)
    }
}

pub(super) struct Printer {
    pub(super) output: Output,
    style: Style,
    json: bool,
    maybe: u64,
    no: u64,
}

impl Printer {
    pub(super) fn answer(&mut self, key: &[u8], found: bool) -> Result<()> {
        match found {
            true => self.maybe += 1,
            false => self.no += 1,
        }
        let wanted = match self.style {
            Style::All => true,
            Style::Found => found,
            Style::Absent => !found,
            Style::Count | Style::Quiet => false,
        };
        if !wanted {
            return Ok(());
        }
        if self.json {
            let line = json!({ "key": output::json_bytes(key), "maybe": found });
            return self.output.json_line(&line);
        }
        let end: &[u8] = match (self.style, found) {
            (Style::All, true) => b"\tmaybe\n",
            (Style::All, false) => b"\tno\n",
            _ => b"\n",
        };
        self.output.bytes(&[key, end])
    }

    /// Returns how many keys there were.
    fn finish(mut self) -> Result<u64> {
        if self.style == Style::Count {
            match self.json {
                true => self
                    .output
                    .json_line(&json!({ "maybe": self.maybe, "no": self.no }))?,
                false => {
                    self.output.line(format_args!("maybe\t{}", self.maybe))?;
                    self.output.line(format_args!("no\t{}", self.no))?;
                }
            }
        }
        self.output.finish()?;
        Ok(self.maybe + self.no)
    }
}

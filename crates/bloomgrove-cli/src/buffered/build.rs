//! `bloomgrove buffered build`: files of keys in, a filter larger than memory out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use bloomgrove::Error;
use bloomgrove::buffered::{Filter, Geometry, Phase};
use bloomgrove::format::{Content, Notes, content_of};
use bloomgrove::raw::format::check_target;
use serde_json::json;

use super::session::{Done, New, Purpose, Session, Shared};
use super::{INPUTS_NOTE, SIZED_NOTE, Working, check_input, info, kind_of, size};
use crate::shared::keys::{self, KeyKind};
use crate::shared::output::Output;
use crate::shared::progress::Progress;
use crate::shared::{Outcome, hashing, notes, units};

/// A filter with a higher false-positive rate than this is of little use.
const POOR: f64 = 0.1;
/// The rate that is expected where none was asked for.
const USUAL_FPR: f64 = 0.01;

/// Build a filter larger than memory, on disk, from files of keys.
///
/// Keys are buffered in memory (--memory) until enough for one page of the filter have accumulated to
/// be worth reading and writing it. Keys are lines, or the values of a column; compressed files are
/// decompressed; - is standard input.
///
/// After Ctrl-C the file contains all keys read so far, after a crash those of the last sync;
/// --resume continues from there.
#[derive(clap::Args)]
#[command(
    mut_arg("hash", |arg| arg.value_parser(hashing::WithDigest)),
    after_help = "Examples:\n  \
    bloomgrove buffered build orders.txt.gz -o orders.grove --fpr 0.1% --items 2G --memory 256MB\n  \
    bloomgrove buffered build orders.txt.gz -o orders.grove --resume\n  \
    bloomgrove buffered build jan.parquet feb.parquet --column id -o ids.grove --size 16GB"
)]
pub(crate) struct Args {
    /// Files of keys
    #[arg(required_unless_present = "add", value_name = "KEYS")]
    inputs: Vec<PathBuf>,
    /// The filter to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    size: size::Size,
    #[command(flatten)]
    working: Working,
    #[command(flatten)]
    from: keys::KeysArgs,
    /// How to interpret keys [default: text, or as in the FILE to add to]
    #[arg(long, value_name = "KIND", value_enum)]
    keys: Option<KeyKind>,
    /// Sync to disk at this interval, or less often if syncing would take more than a tenth of
    /// the time; 0 syncs only at the end
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    sync_every: Duration,
    /// Continue an interrupted build of the same KEYS
    #[arg(long, conflicts_with = "open")]
    resume: bool,
    /// Add to a FILE created with --open; without KEYS, just finish it
    #[arg(long, conflicts_with = "resume", conflicts_with_all = size::OPTIONS)]
    add: bool,
    /// Leave FILE unfinished, so that --add can add to it
    #[arg(long)]
    open: bool,
    /// Replace the filter in FILE, even if it has keys
    #[arg(long, conflicts_with_all = ["resume", "add"])]
    replace: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    args.size.check()?;
    if args.output == Path::new("-") {
        bail!("a buffered filter cannot be written to standard output; name a file");
    }
    for input in &args.inputs {
        check_input(input)?;
    }
    let (session, notes) = match (args.resume, args.add) {
        (true, _) => go_on(&args, Purpose::Resume)?,
        (_, true) => go_on(&args, Purpose::Add)?,
        _ => begin(&args)?,
    };
    let kind = kind_of(&notes, args.keys);
    let began = Instant::now();
    let session = Shared::new(session);
    let done = match add_all(&args, kind, &session) {
        Ok(done) => done,
        Err(error) => return Err(session.give_up(error)),
    };
    report(&args, &done, &notes, began.elapsed())
}

/// A file that is to be new.
fn begin(args: &Args) -> Result<(Session, Notes)> {
    let path = &args.output;
    // Fail before hours of work.
    check_target(path, Content::Paged)?;
    if !args.replace && content_of(path).is_ok() {
        check_replaceable(path)?;
    }
    let (geometry, counted) = match args.size.decided()? {
        Some(geometry) => (geometry, None),
        None => {
            // There must be room for at least one key.
            let counted = count(args)?.max(1);
            (args.size.geometry(Some(counted))?, Some(counted))
        }
    };
    let other = |page| args.size.with_page(counted, page);
    args.working.check_with(&geometry, other)?;
    let kind = args.keys.unwrap_or(KeyKind::Text);
    let notes = Notes::new().with(notes::KEYS, kind.name());
    let notes = args.size.notes(notes, counted);
    let notes = match args.open {
        true => notes,
        false => notes.with(INPUTS_NOTE, inputs(args)),
    };
    let new = New {
        geometry,
        notes: notes.clone(),
        options: args.working.options(),
    };
    Ok((Session::new(path, new, args.sync_every), notes))
}

/// Ensures that replacing an existing file would lose no keys.
fn check_replaceable(path: &Path) -> Result<()> {
    // A file that cannot be opened cannot be resumed either.
    let opened = Filter::open(path).and_then(|filter| Ok((filter.state()?, filter)));
    let Ok((state, filter)) = opened else {
        return Ok(());
    };
    check_idle(path, state.phase)?;
    if state.keys == 0 {
        return Ok(());
    }
    let (is, way) = match (state.phase, filter.notes().get(INPUTS_NOTE)) {
        (Phase::Finished, _) => ("finished", "name another file"),
        (_, Some(_)) => (
            "not finished",
            "pass --resume to continue with the same input files",
        ),
        (_, None) => ("not finished", "pass --add to add more"),
    };
    bail!(
        "{}: this filter is {is} and has {}; {way}, or pass --replace to overwrite it",
        path.display(),
        units::counted(state.keys, "key"),
    );
}

/// Ensures that no other process is building it.
fn check_idle(path: &Path, phase: Phase) -> Result<()> {
    if phase == Phase::Building {
        bail!(
            "{}: another process is building this file; wait for it to finish, or name another",
            path.display()
        );
    }
    Ok(())
}

/// What it is being built from.
fn inputs(args: &Args) -> String {
    let files = units::counted(args.inputs.len() as u64, "file");
    match args.from.is_given().then(|| args.from.lines()) {
        Some(keys) => format!("{files}, {keys}"),
        None => files,
    }
}

/// A file that is there, and not finished.
fn go_on(args: &Args, purpose: Purpose) -> Result<(Session, Notes)> {
    let path = &args.output;
    let option = match purpose {
        Purpose::Resume => "--resume",
        _ => "--add",
    };
    let filter = Filter::open(path).map_err(|error| match error.kind() {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            anyhow::anyhow!("{error}; to create it, leave out {option}")
        }
        _ => error.into(),
    })?;
    let (geometry, notes, state) = (filter.geometry(), filter.notes().clone(), filter.state()?);
    if state.phase == Phase::Finished {
        let what = match purpose {
            Purpose::Resume => format!(
                ", with {}; there is nothing to resume",
                units::counted(state.keys, "key")
            ),
            _ => {
                ", so keys can no longer be added; build a new one, with --open if you want to add \
                  keys later"
                    .to_owned()
            }
        };
        bail!("{}: this filter is finished{what}", path.display());
    }
    check_idle(path, state.phase)?;
    match (purpose, notes.get(INPUTS_NOTE)) {
        (Purpose::Resume, None) => bail!(
            "{}: this filter was created with --open, so --resume cannot know which keys it has; \
             pass --add with the files that may be missing (adding a key twice does no harm)",
            path.display()
        ),
        (Purpose::Add, Some(_)) => bail!(
            "{}: this filter was created without --open; finish it with --resume and the same \
             input files",
            path.display()
        ),
        _ => {}
    }
    if let (Some(said), Some(was)) = (args.keys, notes.get(notes::KEYS))
        && said.name() != was
    {
        bail!(
            "{}: its keys were read as {was}, not as {}; leave out --keys",
            path.display(),
            said.name()
        );
    }
    if let Some(wanted) = args.size.decided()?
        && purpose == Purpose::Resume
    {
        check_same(path, geometry, &wanted)?;
    }
    args.working.check(geometry)?;
    let session = Session::open(path, &args.working.options(), purpose, args.sync_every)?;
    Ok((session, notes))
}

/// Size options need not be repeated, but must not contradict the file.
fn check_same(path: &Path, is: &Geometry, wanted: &Geometry) -> Result<()> {
    if is == wanted {
        return Ok(());
    }
    let shown =
        |geometry: &Geometry| format!("{}, pages of {}", geometry.params(), geometry.page_bytes());
    bail!(
        "{}: it was created with other options; leave them out:\n  the file has {}\n  the options \
         give {}",
        path.display(),
        shown(is),
        shown(wanted)
    );
}

/// The number of keys, repetitions included.
fn count(args: &Args) -> Result<u64> {
    for input in &args.inputs {
        if !std::fs::metadata(input).is_ok_and(|about| about.is_file()) {
            bail!(
                "{}: this input can be read only once, so its keys cannot be counted first; pass \
                 their number with --items N, or the size of the filter with --size",
                keys::shown(input)
            );
        }
    }
    let progress = Progress::bytes(keys::total_size(&args.inputs), "counting keys");
    let mut count = 0;
    for input in &args.inputs {
        keys::read(input, &args.from, Some(&progress), |lines| {
            count += lines.len() as u64;
            Ok(())
        })?;
    }
    Ok(count)
}

fn add_all(args: &Args, kind: KeyKind, session: &Shared) -> Result<Done> {
    let progress = Arc::new(Progress::bytes(keys::total_size(&args.inputs), "adding"));
    let guard = session.guard(&progress);
    let on_time = session.sync_on_time();
    let began = Instant::now();
    let mut numbers = Vec::new();
    // An error of the filter must not be blamed on the lines just read.
    let mut failed = None;
    for input in &args.inputs {
        let read = keys::read(input, &args.from, Some(&progress), |lines| {
            let mut session = session.lock();
            let added = match kind {
                KeyKind::Text => session.add(lines),
                KeyKind::Integer => {
                    numbers.clear();
                    for line in lines {
                        numbers.push(keys::number(line)?);
                    }
                    session.add(&numbers)
                }
            };
            if let Err(error) = added {
                failed = Some(error);
                bail!("adding");
            }
            if session.is_skipping() {
                progress.say("skipping keys already added");
            } else {
                let rate = session.added() as f64 / began.elapsed().as_secs_f64();
                progress.say(format!("adding {} keys/s", units::grouped(rate as u64)));
            }
            Ok(())
        });
        read.map_err(|error| failed.take().unwrap_or(error))?;
    }
    on_time.finish()?;
    progress.say("writing buffered keys");
    let done = session.lock().finish(!args.open)?;
    drop(guard);
    Ok(done)
}

fn report(args: &Args, done: &Done, notes: &Notes, took: Duration) -> Result<Outcome> {
    let Done {
        geometry,
        keys,
        added,
    } = done;
    let bytes = std::fs::metadata(&args.output).map_or(geometry.bytes(), |about| about.len());
    let seconds = took.as_secs_f64();
    let rate = *added as f64 / seconds;
    let sized_for: Option<u64> = notes.get(SIZED_NOTE).and_then(|items| items.parse().ok());
    let mut output = Output::new();
    if args.json {
        let mut facts = info::json(geometry, *keys);
        facts["file"] = json!(args.output.to_string_lossy());
        facts["finished"] = json!(!args.open);
        facts["added"] = json!(added);
        facts["bytes_on_disk"] = json!(bytes);
        facts["memory"] = json!(args.working.memory);
        facts["sized_for"] = json!(sized_for);
        facts["seconds"] = json!(seconds);
        facts["keys_per_second"] = json!(rate);
        output.json(&facts)?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    let what = match args.resume || args.add {
        true => format!(
            "{} added, {} in all",
            units::counted(*added, "key"),
            units::grouped(*keys)
        ),
        false => units::counted(*keys, "key"),
    };
    output.line(format_args!(
        "{}: {what}, {} on disk, {} of memory, false-positive rate at most {}, {seconds:.1} s, {} \
         keys/s",
        args.output.display(),
        units::size(bytes),
        units::size(args.working.memory),
        units::percent(geometry.expected_fpr(*keys)),
        units::grouped(rate as u64),
    ))?;
    if args.open {
        output.line("note: the filter is not finished; --add adds to it")?;
    }
    if sized_for.is_none() && geometry.expected_fpr(*keys) > POOR {
        output.line("note: too small for this many keys; rebuild it with a larger --size")?;
    }
    // With --size, the rate may still be fine.
    let target = notes::number(notes, notes::TARGET_FPR).unwrap_or(USUAL_FPR);
    if let Some(items) = sized_for
        && geometry.expected_fpr(*keys) > geometry.expected_fpr(items).max(target) * 1.1
    {
        output.line(format_args!(
            "note: the filter was sized for {} but contains {}; rebuild it with --items {keys}",
            units::counted(items, "key"),
            units::grouped(*keys)
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

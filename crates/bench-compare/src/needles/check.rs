//! Whether `which` and `grep` answer as ripgrep does, also while the files change.
//!
//! ```text
//!   a copy of the corpus -- interrupted builds -- queries -- edits -- queries -- edits -- queries ...
//! ```
//!
//! Of every query, the files of `which` are compared with `rg -l -z`, and the lines of `grep -n` with
//! `rg -n -z`, sorted. Nothing may be missing, and nothing may be there in addition.

use std::cmp::Ordering;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Result;
use super::corpus::{Corpus, Kind, files_below};
use super::queries::{KINDS, Questions};
use super::tools::{Query, Tools, output, rg, sorted_lines};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to search
    #[arg(value_enum, default_values_t = [Kind::Logs, Kind::Source, Kind::Prose])]
    corpora: Vec<Kind>,
    /// The number of queries for each corpus
    #[arg(long, default_value_t = 1000)]
    queries: usize,
    /// The size of each corpus
    #[arg(long, value_parser = bloomgrove_units::bytes, default_value = "12MB")]
    size: u64,
    /// The number of files in each corpus, at most
    #[arg(long, default_value_t = 150)]
    files: u64,
    /// The number of times that files are edited, renamed, truncated and deleted
    #[arg(long, default_value_t = 8)]
    edits: usize,
    /// The number of builds of the index that are interrupted
    #[arg(long, default_value_t = 10)]
    interrupts: usize,
    /// Of the queries and edits
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    shared: super::Shared,
}

/// How answers differed from those of ripgrep.
#[derive(Default)]
struct Tally {
    /// Builds of the index that did not end by themselves.
    interrupted: u64,
    queries: [u64; KINDS.len()],
    found: [u64; KINDS.len()],
    lines: u64,
    missing_lines: u64,
    extra_lines: u64,
    missing_files: u64,
    extra_files: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let tools = args.shared.tools()?;
    let mut reports = Vec::new();
    let mut differences = 0;
    for &kind in &args.corpora {
        let corpus = Corpus::find(kind, &args.shared.directory(), args.size, args.files)?;
        let root = corpus.root.with_extension("check");
        copy(&corpus.root, &root)?;
        let tally = check(args, &tools, &root)?;
        fs::remove_dir_all(&root)?;
        differences +=
            tally.missing_lines + tally.extra_lines + tally.missing_files + tally.extra_files;
        reports.push((corpus, tally));
    }
    match args.shared.json {
        true => print_json(&reports),
        false => print(args, &reports),
    }
    match differences {
        0 => Ok(()),
        _ => Err(format!("{differences} lines and files differ").into()),
    }
}

fn check(args: &Args, tools: &Tools, root: &Path) -> Result<Tally> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let tally = Mutex::new(Tally::default());
    let index = root.join(".bloomgrove.grove");
    let mut questions = Questions::new(root, 400, random.random())?;
    let start = Instant::now();
    output(&mut tools.which(&questions.draw(0), root))?;
    let build = start.elapsed();
    for _ in 0..args.interrupts {
        fs::remove_file(&index)?;
        let after = build.mul_f64(random.random());
        let stopped = interrupt(tools, &questions.draw(0), root, after)?;
        tally.lock().map_err(|error| error.to_string())?.interrupted += u64::from(stopped);
        compare(tools, root, 0, &questions.draw(0), &tally)?;
    }
    let rounds = args.edits + 1;
    for round in 0..rounds {
        if round > 0 {
            let marks = edit(root, &mut random)?;
            // The first of them alone, so that one process brings the index up to date.
            for mark in marks {
                let query = Query {
                    pattern: mark,
                    fixed: true,
                    word: true,
                    ignore_case: false,
                };
                compare(tools, root, 0, &query, &tally)?;
            }
            questions = Questions::new(root, 400, random.random())?;
        }
        let share = args.queries * (round + 1) / rounds - args.queries * round / rounds;
        let queries: Vec<(usize, Query)> = (0..share)
            .map(|i| i % KINDS.len())
            .map(|kind| (kind, questions.draw(kind)))
            .collect();
        in_pairs(&queries, |(kind, query)| {
            compare(tools, root, *kind, query, &tally)
        })?;
        let so_far = tally.lock().map_err(|error| error.to_string())?;
        eprintln!(
            "{}: {} queries, {} lines, {} missing, {} extra",
            root.display(),
            so_far.queries.iter().sum::<u64>(),
            so_far.lines,
            so_far.missing_lines + so_far.missing_files,
            so_far.extra_lines + so_far.extra_files
        );
    }
    Ok(tally.into_inner().map_err(|error| error.to_string())?)
}

/// Two at a time: a process waits for the other while it starts, reads and ends.
fn in_pairs<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = Mutex::new(items.iter());
    let work = || -> std::result::Result<(), String> {
        loop {
            let item = next.lock().map_err(|error| error.to_string())?.next();
            let Some(item) = item else { return Ok(()) };
            work(item).map_err(|error| error.to_string())?;
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    Ok(())
}

/// Starts to build the index, and presses Ctrl-C. Returns whether that was in time.
fn interrupt(tools: &Tools, query: &Query, root: &Path, after: Duration) -> Result<bool> {
    let mut child = tools
        .which(query, root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::sleep(after);
    // It may have ended already.
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    let status = child.wait()?;
    Ok(!matches!(status.code(), Some(0 | 1)))
}

fn compare(
    tools: &Tools,
    root: &Path,
    kind: usize,
    query: &Query,
    tally: &Mutex<Tally>,
) -> Result<()> {
    let lines =
        |mut command: Command| output(&mut command).map(|output| sorted_lines(&output.stdout));
    let (ours, theirs) = (
        lines(tools.grep(query, root))?,
        lines(rg(query, "-n", root))?,
    );
    let (our_files, their_files) = (
        lines(tools.which(query, root))?,
        lines(rg(query, "-l", root))?,
    );
    let (missing_lines, extra_lines) = difference(&theirs, &ours);
    let (missing_files, extra_files) = difference(&their_files, &our_files);
    if missing_lines + extra_lines + missing_files + extra_files > 0 {
        eprintln!(
            "DIFFERENT {query:?}: lines: {missing_lines} missing, {extra_lines} extra; \
             files: {missing_files} missing, {extra_files} extra"
        );
    }
    let mut tally = tally.lock().map_err(|error| error.to_string())?;
    tally.queries[kind] += 1;
    // Output without a line is one empty line.
    tally.found[kind] += u64::from(theirs.len() > 1);
    tally.lines += theirs.len() as u64 - 1;
    tally.missing_lines += missing_lines;
    tally.extra_lines += extra_lines;
    tally.missing_files += missing_files;
    tally.extra_files += extra_files;
    Ok(())
}

/// How many of the sorted lines are only in the first, and how many only in the second.
fn difference(first: &[Vec<u8>], second: &[Vec<u8>]) -> (u64, u64) {
    let (mut a, mut b) = (0, 0);
    let mut only = (0, 0);
    while a < first.len() && b < second.len() {
        match first[a].cmp(&second[b]) {
            Ordering::Less => (only.0, a) = (only.0 + 1, a + 1),
            Ordering::Greater => (only.1, b) = (only.1 + 1, b + 1),
            Ordering::Equal => (a, b) = (a + 1, b + 1),
        }
    }
    (
        only.0 + (first.len() - a) as u64,
        only.1 + (second.len() - b) as u64,
    )
}

/// Changes files in every way there is; returns words that only the changed ones contain.
fn edit(root: &Path, random: &mut Xoshiro256PlusPlus) -> Result<Vec<String>> {
    let files = files_below(root)?;
    let mut marks = Vec::new();
    for change in 0..10 {
        let path = &files[random.random_range(0..files.len())];
        let is_packed = path
            .extension()
            .is_some_and(|ending| ending == "gz" || ending == "zst");
        let mark = format!("mark{:016x}", random.random::<u64>());
        if !path.exists() {
            // One of the changes before has deleted or renamed it.
            continue;
        }
        match change {
            0 => fs::remove_file(path)?,
            1 => fs::rename(path, renamed(path, &mark))?,
            // Where another file was before.
            2 => fs::rename(
                path,
                files
                    .iter()
                    .find(|other| other.extension() == path.extension())
                    .unwrap_or(path),
            )?,
            3 => fs::write(
                path.with_file_name(format!("{mark}.txt")),
                format!("new {mark}\n"),
            )?,
            _ if is_packed => {}
            // Truncated, to half and to nothing.
            4 => fs::OpenOptions::new()
                .write(true)
                .open(path)?
                .set_len(fs::metadata(path)?.len() / 2)?,
            5 => fs::write(path, "")?,
            // Of the same length, in the middle.
            6 | 7 => {
                let mut text = fs::read(path)?;
                let at = text.len() / 2;
                let end = text.len().min(at + mark.len());
                text[at..end].copy_from_slice(&mark.as_bytes()[..end - at]);
                fs::write(path, text)?;
            }
            _ => writeln!(
                fs::OpenOptions::new().append(true).open(path)?,
                "\nappended {mark}"
            )?,
        }
        // Others are gone, or were never written.
        if change == 3 || change > 5 && !is_packed {
            marks.push(mark);
        }
    }
    Ok(marks)
}

fn renamed(path: &Path, mark: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{mark}-{name}"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for file in files_below(from)? {
        let copy = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(copy.parent().ok_or("no parent")?)?;
        fs::copy(&file, copy)?;
    }
    Ok(())
}

fn print(args: &Args, reports: &[(Corpus, Tally)]) {
    println!(
        "\n### Answers compared with ripgrep ({} rounds of edits)\n",
        args.edits
    );
    println!(
        "| corpus | files | MB | queries | found | lines | missing lines / files | extra lines / files | builds interrupted |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (corpus, tally) in reports {
        println!(
            "| {:?} | {} | {:.0} | {} | {} | {} | {} / {} | {} / {} | {} |",
            corpus.kind,
            corpus.files,
            corpus.bytes as f64 / 1e6,
            tally.queries.iter().sum::<u64>(),
            tally.found.iter().sum::<u64>(),
            tally.lines,
            tally.missing_lines,
            tally.missing_files,
            tally.extra_lines,
            tally.extra_files,
            tally.interrupted
        );
    }
    println!(
        "\n| queries that found something | {} |",
        reports
            .iter()
            .map(|(corpus, _)| format!("{:?}", corpus.kind))
            .collect::<Vec<_>>()
            .join(" | ")
    );
    println!("|---|{}", "---|".repeat(reports.len()));
    for (at, kind) in KINDS.iter().enumerate() {
        let shares = reports
            .iter()
            .map(|(_, tally)| format!("{} of {}", tally.found[at], tally.queries[at]));
        println!("| {kind} | {} |", shares.collect::<Vec<_>>().join(" | "));
    }
}

fn print_json(reports: &[(Corpus, Tally)]) {
    let report = reports.iter().map(|(corpus, tally)| {
        let kinds = KINDS.iter().enumerate();
        let kinds = kinds.map(|(at, kind)| json!({ "kind": kind, "queries": tally.queries[at], "found": tally.found[at] }));
        json!({ "corpus": format!("{:?}", corpus.kind), "files": corpus.files, "bytes": corpus.bytes,
                "lines": tally.lines, "missing_lines": tally.missing_lines, "extra_lines": tally.extra_lines,
                "missing_files": tally.missing_files, "extra_files": tally.extra_files, "interrupted": tally.interrupted,
                "kinds": kinds.collect::<Vec<_>>() })
    });
    println!("{:#}", json!(report.collect::<Vec<_>>()));
}

//! How long questions take: the first one, which makes the index, and later ones.
//!
//! Every program answers the same question before the next is asked, in every turn; medians count.
//! Answers are compared with ripgrep's: ours stop the run if they differ. codesearch skips compressed
//! files, so it is compared on the plain ones, with an index of those. It seems to skip large files,
//! too; where its answer differs, its time does not count.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use regex::Regex;
use rustix::fs::{Advice, fadvise};
use serde_json::json;

use super::Result;
use super::corpus::{Corpus, Kind, files_below, text_of};
use super::tools::{Query, Tools, cindex, csearch, rg, timed, ugrep};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The size of the logs, decompressed
    #[arg(long, value_parser = bloomgrove_units::bytes, default_value = "223MB")]
    size: u64,
    /// The number of log files
    #[arg(long, default_value_t = 5000)]
    files: u64,
    /// The number of turns; the median counts
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// The number of turns for the first question, which reads everything
    #[arg(long, default_value_t = 5)]
    first_turns: usize,
    /// Drop files from the page cache before every run
    #[arg(long)]
    cold: bool,
    /// Do not build an index of n-grams
    #[arg(long)]
    no_ngrams: bool,
    /// The number of small files to compare with their index; 0 for none
    #[arg(long, default_value_t = 100_000)]
    walk: u64,
    #[command(flatten)]
    shared: super::Shared,
}

/// A row of a table: the median seconds of several programs for one task.
struct Row {
    task: String,
    /// In the order of [`PROGRAMS`], if it was measured.
    seconds: [Option<f64>; PROGRAMS.len()],
}

const PROGRAMS: [&str; 6] = [
    "bloomgrove",
    "rg -z",
    "ugrep -z",
    "bloomgrove, plain files",
    "bloomgrove --trust, plain files",
    "codesearch, plain files",
];
const TRUSTING: usize = 4;
const CODESEARCH: usize = 5;

struct Bench<'a> {
    args: &'a Args,
    tools: Tools,
    corpus: Corpus,
    plain: PathBuf,
    /// That of codesearch.
    trigrams: PathBuf,
    random: Xoshiro256PlusPlus,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let directory = args.shared.directory();
    let corpus = Corpus::find(Kind::Logs, &directory, args.size, args.files)?;
    let mut bench = Bench {
        args,
        tools: args.shared.tools()?,
        plain: corpus.root.join("plain"),
        trigrams: directory.join("codesearch.index"),
        random: Xoshiro256PlusPlus::seed_from_u64(20),
        corpus,
    };
    let mut rows = vec![bench.first()?];
    rows.extend(bench.later()?);
    let plain_bytes = files_below(&bench.plain)?
        .iter()
        .map(|file| Ok(fs::metadata(file)?.len()))
        .sum::<Result<u64>>()?;
    let mut sizes = vec![
        (
            "tokens",
            bench.index_size(".bloomgrove.grove")? as f64 / bench.corpus.bytes as f64,
        ),
        (
            "codesearch's trigrams, of the plain files",
            fs::metadata(&bench.trigrams)?.len() as f64 / plain_bytes as f64,
        ),
    ];
    if !args.no_ngrams {
        rows.extend(bench.ngrams()?);
        sizes.push((
            "4-grams",
            bench.index_size(".bloomgrove-ngrams")? as f64 / bench.corpus.bytes as f64,
        ));
    }
    if args.walk > 0 {
        rows.extend(bench.walk(&directory)?);
    }
    match args.shared.json {
        true => print_json(&bench, &rows, &sizes),
        false => print(&bench, &rows, &sizes),
    }
    Ok(())
}

impl Bench<'_> {
    /// A question that no file answers: every file must be read, or excluded.
    fn absent(&mut self) -> Query {
        literal(format!("absent{:016x}", self.random.random::<u64>()))
    }

    /// Questions about one request in a random file below `root`.
    fn questions(&mut self, root: &Path) -> Result<Vec<(&'static str, Query)>> {
        let files = files_below(root)?;
        let request = Regex::new(r"/v1/orders/(\d+) HTTP/1.1. (\d+) \d+ms req=([0-9a-f]{16})")?;
        let found = loop {
            let text =
                String::from_utf8(text_of(&files[self.random.random_range(0..files.len())])?)?;
            let all: Vec<[String; 3]> = request
                .captures_iter(&text)
                .map(|found| found.extract().1.map(String::from))
                .collect();
            if !all.is_empty() {
                break all[self.random.random_range(0..all.len())].clone();
            }
        };
        let [order, status, id] = found;
        let case = Query {
            ignore_case: true,
            ..literal(id.to_uppercase())
        };
        let regex = Query {
            fixed: false,
            word: false,
            ..literal(format!(r"(GET|POST|PUT|DELETE) /v1/\w+/\d+ .* req={id}\b"))
        };
        Ok(vec![
            ("one token", literal(id)),
            ("absent token", self.absent()),
            (
                "phrase",
                literal(format!("orders/{order} HTTP/1.1\" {status}")),
            ),
            ("one token, -i", case),
            ("regex with a token", regex),
        ])
    }

    fn timed(&self, mut command: Command) -> Result<(Vec<Vec<u8>>, f64)> {
        if self.args.cold {
            for root in [&self.corpus.root, &self.trigrams] {
                forget(root)?;
            }
        }
        timed(&mut command)
    }

    fn first(&mut self) -> Result<Row> {
        let mut all: [Vec<f64>; PROGRAMS.len()] = Default::default();
        for _ in 0..self.args.first_turns.max(1) {
            let query = self.absent();
            let root = &self.corpus.root;
            for index in [
                root.join(".bloomgrove.grove"),
                self.plain.join(".bloomgrove.grove"),
                self.trigrams.clone(),
            ] {
                // It may not exist yet.
                let _ = fs::remove_file(index);
            }
            let commands = [
                self.tools.which(&query, root),
                rg(&query, "-l", root),
                ugrep(&query, root),
                self.tools.which(&query, &self.plain),
                // The first time, it has nothing to trust.
                cindex(&self.trigrams, &self.plain),
            ];
            for (program, command) in [0, 1, 2, 3, CODESEARCH].into_iter().zip(commands) {
                all[program].push(self.timed(command)?.1);
            }
        }
        rustix::fs::sync();
        Ok(Row::new("first question", all))
    }

    fn later(&mut self) -> Result<Vec<Row>> {
        let mut rows: Vec<(&str, [Vec<f64>; PROGRAMS.len()])> = Vec::new();
        for _ in 0..self.args.turns.max(1) {
            let root = self.corpus.root.clone();
            let plain = self.plain.clone();
            let questions = self
                .questions(&root)?
                .into_iter()
                .zip(self.questions(&plain)?);
            for (at, ((task, everywhere), (_, in_plain))) in questions.enumerate() {
                let commands = [
                    self.tools.which(&everywhere, &root),
                    rg(&everywhere, "-l", &root),
                    ugrep(&everywhere, &root),
                    self.tools.which(&in_plain, &plain),
                    self.tools.which_with(&["--trust"], &in_plain, &plain),
                    csearch(&in_plain, &self.trigrams),
                ];
                if at >= rows.len() {
                    rows.push((task, Default::default()));
                }
                let mut answers = Vec::new();
                for (all, command) in rows[at].1.iter_mut().zip(commands) {
                    let (answer, seconds) = self.timed(command)?;
                    all.push(seconds);
                    answers.push(answer);
                }
                if answers[0] != answers[1] {
                    return Err(format!("{everywhere:?}: the answers differ").into());
                }
                if answers[TRUSTING] != answers[3] {
                    return Err(format!("{in_plain:?}: the index is not right").into());
                }
                if answers[CODESEARCH] != answers[3] {
                    eprintln!(
                        "{in_plain:?}: codesearch lists other files; its time does not count"
                    );
                    rows[at].1[CODESEARCH].pop();
                }
            }
        }
        Ok(rows
            .into_iter()
            .map(|(task, all)| Row::new(task, all))
            .collect())
    }

    /// Parts of words, which only an index of n-grams can find.
    fn ngrams(&mut self) -> Result<Vec<Row>> {
        let root = self.corpus.root.clone();
        let which = |tools: &Tools, query: &Query| {
            tools.which_with(&["--extract", "ngrams=4"], query, &root)
        };
        let _ = fs::remove_file(self.index_path(".bloomgrove-ngrams").unwrap_or_default());
        let query = self.absent();
        let first = [
            vec![self.timed(which(&self.tools, &query))?.1],
            vec![self.timed(rg(&query, "-l", &root))?.1],
        ];
        let mut later: [Vec<f64>; 2] = Default::default();
        for _ in 0..self.args.turns.max(1) {
            let id = self.questions(&root)?.swap_remove(0).1.pattern;
            let query = Query {
                word: false,
                ..literal(id[3..13].to_owned())
            };
            let (ours, seconds) = self.timed(which(&self.tools, &query))?;
            later[0].push(seconds);
            let (theirs, seconds) = self.timed(rg(&query, "-l", &root))?;
            later[1].push(seconds);
            if ours != theirs {
                return Err(format!("{query:?}: the answers differ").into());
            }
        }
        let row = |task, [ours, theirs]: [Vec<f64>; 2]| {
            Row::new(task, [ours, theirs, vec![], vec![], vec![], vec![]])
        };
        Ok(vec![
            row("first question, 4-grams", first),
            row("10 characters within a word, 4-grams", later),
        ])
    }

    /// Many small files, none of which has changed: against listing them by name only, and with a look
    /// at each.
    fn walk(&mut self, directory: &Path) -> Result<[Row; 2]> {
        let root = directory.join(format!("walk-{}", self.args.walk));
        if !root.join(".complete").exists() {
            for file in 0..self.args.walk {
                let directory = root.join(format!("{:03}", file / 250));
                if file % 250 == 0 {
                    fs::create_dir_all(&directory)?;
                }
                fs::write(
                    directory.join(format!("{file:06}.log")),
                    format!("request {file} accepted\n"),
                )?;
            }
            fs::write(root.join(".complete"), "")?;
        }
        let query = self.absent();
        timed(&mut self.tools.which(&query, &root))?;
        let mut names: [Vec<f64>; PROGRAMS.len()] = Default::default();
        let mut stamps: [Vec<f64>; PROGRAMS.len()] = Default::default();
        for _ in 0..self.args.turns.max(1) {
            let query = self.absent();
            let mut files = Command::new("rg");
            files.args(["--no-config", "--no-ignore", "--files"]);
            let trusting = self.tools.which_with(&["--trust"], &query, &root);
            let mut find = Command::new("find");
            names[0].push(timed(&mut self.tools.which(&query, &root))?.1);
            names[1].push(timed(files.arg(&root))?.1);
            names[TRUSTING].push(timed(&mut { trusting })?.1);
            stamps[0].push(*names[0].last().ok_or("no time")?);
            stamps[1].push(timed(find.arg(&root).args(["-size", "+1G"]))?.1);
        }
        let files = self.args.walk;
        Ok([
            Row::new(
                format!("{files} small files, nothing changed (rg --files)"),
                names,
            ),
            Row::new(
                format!("{files} small files, nothing changed (find -size)"),
                stamps,
            ),
        ])
    }

    fn index_path(&self, start: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.corpus.root).ok()?;
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(start.as_bytes()))
        })
    }

    fn index_size(&self, start: &str) -> Result<u64> {
        let path = self.index_path(start).ok_or("the index is missing")?;
        Ok(fs::metadata(path)?.len())
    }
}

fn literal(pattern: String) -> Query {
    Query {
        pattern,
        fixed: true,
        word: true,
        ignore_case: false,
    }
}

/// Drops files from the page cache, those of indexes too.
fn forget(path: &Path) -> Result<()> {
    let one =
        |path: &Path| -> Result<()> { Ok(fadvise(File::open(path)?, 0, None, Advice::DontNeed)?) };
    if path.is_file() {
        return one(path);
    }
    if path.is_dir() {
        for directory in [path, &path.join("plain")] {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                if path.is_file() {
                    one(&path)?;
                }
            }
        }
        files_below(path)?.iter().try_for_each(|path| one(path))?;
    }
    Ok(())
}

impl Row {
    fn new(task: impl Into<String>, all: [Vec<f64>; PROGRAMS.len()]) -> Self {
        Self {
            task: task.into(),
            seconds: all.map(median),
        }
    }

    /// How many times as long the other program took.
    fn over(&self, ours: usize, other: usize) -> Option<f64> {
        Some(self.seconds[other]? / self.seconds[ours]?)
    }
}

fn median(mut all: Vec<f64>) -> Option<f64> {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

fn print(bench: &Bench<'_>, rows: &[Row], sizes: &[(&str, f64)]) {
    println!(
        "\n### {} logs, {:.0} MB, {} ({}; {}; median of {} turns)\n",
        bench.corpus.files,
        bench.corpus.bytes as f64 / 1e6,
        if bench.args.cold {
            "not in the page cache"
        } else {
            "in the page cache"
        },
        crate::machine(),
        bench.tools.versions(),
        bench.args.turns
    );
    println!(
        "| seconds | {} | over rg | over ugrep | over codesearch | trusting, over codesearch |",
        PROGRAMS.join(" | ")
    );
    println!("|---|{}---|---|---|---|", "---|".repeat(PROGRAMS.len()));
    let shown = |value: Option<f64>, digits: usize| {
        value.map_or(String::new(), |value| format!("{value:.digits$}"))
    };
    for row in rows {
        let seconds = row.seconds.map(|seconds| shown(seconds, 3)).join(" | ");
        let over = [(0, 1), (0, 2), (3, CODESEARCH), (TRUSTING, CODESEARCH)]
            .map(|(ours, other)| shown(row.over(ours, other), 1))
            .join(" | ");
        println!("| {} | {seconds} | {over} |", row.task);
    }
    println!("\n| index | % of the text |");
    println!("|---|---|");
    for (index, share) in sizes {
        println!("| {index} | {:.1} |", share * 100.0);
    }
}

fn print_json(bench: &Bench<'_>, rows: &[Row], sizes: &[(&str, f64)]) {
    let rows = rows.iter().map(|row| {
        let seconds = PROGRAMS
            .iter()
            .zip(row.seconds)
            .map(|(program, seconds)| (program.to_string(), json!(seconds)));
        json!({ "task": row.task, "seconds": seconds.collect::<serde_json::Map<_, _>>() })
    });
    let sizes = sizes
        .iter()
        .map(|(index, share)| json!({ "index": index, "share": share }));
    let report = json!({ "machine": crate::machine(), "versions": bench.tools.versions(), "files": bench.corpus.files,
                         "bytes": bench.corpus.bytes, "cold": bench.args.cold, "turns": bench.args.turns,
                         "rows": rows.collect::<Vec<_>>(), "indexes": sizes.collect::<Vec<_>>() });
    println!("{report:#}");
}

//! `experiments PAPER [FIGURE]...`: runs the experiments of a paper, prints our measurements next to
//! the published ones, and writes tables and plots.

use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use comfy_table::{CellAlignment, presets};
use experiments::{Progress, Report, bloofi, bloom_tree, buffered, provenance, sampling};

/// Set by Ctrl-C: a run stops before its next step, so that its temporary files are removed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Reproduce the experiments of the papers that Bloomgrove implements.
///
/// Prints each figure next to the published numbers, and writes a CSV file and an SVG plot for it.
/// Seeds are fixed: costs are the same on every machine, times are not.
#[derive(Parser)]
#[command(
    name = "experiments",
    version,
    after_help = "Exit code: 0 done, 2 error, 130 interrupted.\n\
                  Every paper has --help with an example."
)]
struct CommandLine {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// List the papers and their figures
    List,
    /// Bloofi, a tree over many filters: figures 1 to 16
    Bloofi(Bloofi),
    /// Sampling and reconstructing sets from filters: tables 2 to 6, figures 1 to 15
    Sampling(Sampling),
    /// Buffered filters on disk: figures 1, 3 and 4, and claims of the text
    Buffered(Buffered),
    /// BloomTree, a tree that takes fewer bytes to send: table III, figures 2, 4, 6 and 8 to 18
    Bloomtree(BloomTree),
    /// Provenance across sites (Bloofi paper, section 4): an index of sites against querying all sites
    ///
    /// Generates one day of events at many sites, traces documents over real connections, checks every
    /// answer against the complete data, and compares the cost with that of querying all sites.
    Provenance(Provenance),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p experiments -- bloofi\n  \
    cargo run --release -p experiments -- bloofi fig05 --full --out bloofi-full")]
struct Bloofi {
    #[command(flatten)]
    selection: Selection,
    /// Go up to N = 100,000 as in the paper: needs 3 GB of memory and half an hour
    #[arg(long)]
    full: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p experiments -- sampling\n  \
    cargo run --release -p experiments -- sampling table5 calibration --out quality")]
struct Sampling {
    #[command(flatten)]
    selection: Selection,
    /// Draw 10,000 samples per point as in the paper, and test more sets
    #[arg(long)]
    full: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p experiments -- buffered\n  \
    cargo run --release -p experiments -- buffered growth large --full --dir /mnt/ssd\n  \
    cargo build --release -p bloomgrove-cli && cargo run --release -p experiments -- buffered semi-join semi-join-time")]
struct Buffered {
    #[command(flatten)]
    selection: Selection,
    /// Use a billion keys, a filter of 16 GB and tables of scale factor 10: needs an hour and 20 GB of disk space
    #[arg(long)]
    full: bool,
    /// Directory for the filter files, on the disk to measure; they are removed at the end
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p experiments -- bloomtree\n  \
    cargo run --release -p experiments -- bloomtree table3 table3-wire --full --out bloomtree-full")]
struct BloomTree {
    #[command(flatten)]
    selection: Selection,
    /// Use ten million items instead of one million: takes several times as long
    #[arg(long)]
    full: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo run --release -p experiments -- provenance\n  \
    cargo run --release -p experiments -- provenance traces depth --full --out provenance-full")]
struct Provenance {
    #[command(flatten)]
    selection: Selection,
    /// Use a million events and up to a thousand sites: needs 3 GB of memory and 15 minutes
    #[arg(long)]
    full: bool,
    /// False-positive rate of the filters in `traces`, `depth` and `sites`
    #[arg(long, value_name = "RATE", default_value = "0.001", value_parser = rate)]
    fpr: f64,
}

#[derive(Args)]
struct Selection {
    /// Figures and tables to reproduce, by the names that `list` prints [default: all]
    figures: Vec<String>,
    /// Output directory [default: named after the paper, in docs/papers if that exists]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| 0.0 < *rate && *rate < 1.0);
    rate.ok_or_else(|| "use a rate above 0 and below 1, such as 0.01 or 1e-4".to_owned())
}

fn main() -> ExitCode {
    let paper = CommandLine::parse().paper;
    // Without a handler Ctrl-C ends the process at once, and filter files may remain.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Relaxed) {
            std::process::exit(130);
        }
    });
    match run(paper) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "experiments: {error:#}");
            ExitCode::from(if INTERRUPTED.load(Relaxed) { 130 } else { 2 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn run(paper: Paper) -> Result<()> {
    match paper {
        Paper::List => list(),
        Paper::Bloofi(args) => {
            let effort = match args.full {
                true => bloofi::Effort::FULL,
                false => bloofi::Effort::DEFAULT,
            };
            reproduce("bloofi", &args.selection, |ids, progress| {
                bloofi::run(ids, effort, progress)
            })
        }
        Paper::Sampling(args) => {
            let effort = match args.full {
                true => sampling::Effort::FULL,
                false => sampling::Effort::DEFAULT,
            };
            reproduce("sampling", &args.selection, |ids, progress| {
                sampling::run(ids, effort, progress)
            })
        }
        Paper::Buffered(args) => {
            let effort = match args.full {
                true => buffered::Effort::FULL,
                false => buffered::Effort::DEFAULT,
            };
            reproduce("buffered", &args.selection, |ids, progress| {
                buffered::run(ids, effort, &args.dir, progress)
            })
        }
        Paper::Bloomtree(args) => {
            let effort = match args.full {
                true => bloom_tree::Effort::FULL,
                false => bloom_tree::Effort::DEFAULT,
            };
            reproduce("bloomtree", &args.selection, |ids, progress| {
                bloom_tree::run(ids, effort, progress)
            })
        }
        Paper::Provenance(args) => {
            let effort = match args.full {
                true => provenance::Effort::FULL,
                false => provenance::Effort::DEFAULT,
            };
            let effort = provenance::Effort {
                fpr: args.fpr,
                ..effort
            };
            reproduce("provenance", &args.selection, |ids, progress| {
                provenance::run(ids, effort, progress)
            })
        }
    }
}

fn list() -> Result<()> {
    let papers: [(&str, &[(&str, &str)]); 6] = [
        ("bloofi", &bloofi::FIGURES),
        ("sampling", &sampling::FIGURES),
        ("buffered", &buffered::FIGURES),
        ("buffered", &buffered::ON_REQUEST),
        ("bloomtree", &bloom_tree::FIGURES),
        ("provenance", &provenance::FIGURES),
    ];
    let rows = papers.iter().flat_map(|(paper, figures)| {
        let row = |(id, title): &(&str, &str)| [*paper, *id, *title].map(str::to_owned).to_vec();
        figures.iter().map(row)
    });
    let rows: Vec<_> = rows.collect();
    let mut output = BufWriter::new(stdout().lock());
    table(&mut output, &["paper", "figure", "shows"], &rows)?;
    Ok(output.flush()?)
}

/// Runs an experiment and publishes its report; on a terminal, shows the current step.
fn reproduce(
    paper: &str,
    selection: &Selection,
    run: impl FnOnce(&[String], &mut Progress<'_>) -> Result<Report>,
) -> Result<()> {
    let visible = stderr().is_terminal();
    let mut progress = |step: &str| {
        if visible {
            // Progress that cannot be shown is not worth ending the run for.
            let _ = write!(stderr(), "\r\x1b[K{step} ...");
        }
        ensure!(
            !INTERRUPTED.load(Relaxed),
            "interrupted; nothing was written"
        );
        Ok(())
    };
    let report = run(&selection.figures, &mut progress);
    if visible {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let out = match &selection.out {
        Some(out) => out.clone(),
        None => default_directory(paper),
    };
    publish(&report?, &out)
}

/// Next to the page about the paper in a checkout, otherwise in the current directory.
fn default_directory(paper: &str) -> PathBuf {
    let pages = Path::new("docs/papers");
    let parent = if pages.is_dir() { pages } else { Path::new("") };
    parent.join(paper)
}

fn publish(report: &Report, directory: &Path) -> Result<()> {
    let mut output = BufWriter::new(stdout().lock());
    for picture in &report.pictures {
        writeln!(output, "{}: {}", picture.id, picture.title)?;
        writeln!(output, "{}", picture.text)?;
    }
    for found in &report.tables {
        writeln!(output, "{}: {}", found.id, found.title)?;
        table(&mut output, &found.head, &found.rows)?;
        writeln!(output)?;
    }
    for figure in &report.figures {
        let (head, rows) = figure.table();
        let (id, title, y) = (figure.id, figure.title, figure.y.name);
        writeln!(output, "{id}: {title} ({y})")?;
        table(&mut output, &head, &rows)?;
        writeln!(output)?;
    }
    if !report.claims.is_empty() {
        let claims = report.claims.iter().map(|claim| {
            vec![
                claim.what.clone(),
                format!("{}", claim.paper),
                format!("{:.3}", claim.ours),
                format!("{:.3}", claim.ours / claim.paper),
            ]
        });
        let head = ["published in the text", "paper", "ours", "ratio"];
        table(&mut output, &head, &claims.collect::<Vec<_>>())?;
        writeln!(output)?;
    }
    for picture in &report.pictures {
        writeln!(output, "wrote {}", picture.save(directory)?.display())?;
    }
    for table in &report.tables {
        writeln!(output, "wrote {}", table.save(directory)?.display())?;
    }
    for figure in &report.figures {
        let [table, plot] = figure.save(directory)?;
        writeln!(output, "wrote {}, {}", table.display(), plot.display())?;
    }
    Ok(output.flush()?)
}

/// Rows under headings; columns of numbers are aligned to the right.
fn table(output: &mut impl Write, head: &[impl ToString], rows: &[Vec<String>]) -> io::Result<()> {
    let mut table = comfy_table::Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(head.iter().map(ToString::to_string));
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        let is_number = |cell: &String| {
            cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        };
        column.set_padding((0, 2));
        if rows.iter().all(|row| is_number(&row[i])) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.to_string().lines() {
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}

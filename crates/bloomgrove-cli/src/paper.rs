//! `bloomgrove paper ...`: the experiments of the papers, run again.

use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};

use anyhow::Result;
use bloomgrove_experiments::{
    Progress, Report, bloofi, bloom_tree, buffered, provenance, sampling,
};
use clap::Subcommand;

use crate::output::Output;
use crate::{Outcome, interrupt, units};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List the papers and their figures
    List,
    /// Bloofi, the tree over many filters: figures 1 to 16
    Bloofi(BloofiArgs),
    /// Sampling and reconstruction from filters: tables 2 to 6, figures 1 and 3 to 15
    Sampling(SamplingArgs),
    /// Buffered filters on disk: figures 1, 3 and 4, and what the text says
    Buffered(BufferedArgs),
    /// BloomTree, a tree to be sent in fewer bytes: table III, figures 2, 4, 6 and 8 to 18
    Bloomtree(BloomTreeArgs),
    /// Provenance across sites, by an index and by asking all of them: the Bloofi paper, section 4
    Provenance(ProvenanceArgs),
}

/// Run the experiments of the Bloofi paper, print what comes out beside what was
/// published, and write a CSV file and a plot for each figure.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove paper bloofi\n  \
    bloomgrove paper bloofi fig05 --full --out bloofi-full")]
pub(crate) struct BloofiArgs {
    #[command(flatten)]
    shared: Args,
    /// Go up to N = 100,000 as the paper does: takes 2 GB of memory and several minutes
    #[arg(long)]
    full: bool,
}

/// Run the experiments of the sampling paper, print what comes out beside what was
/// published, and write a CSV file for each table and figure and a plot for each figure.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove paper sampling\n  \
    bloomgrove paper sampling table5 calibration --out quality")]
pub(crate) struct SamplingArgs {
    #[command(flatten)]
    shared: Args,
    /// Draw 10,000 samples for each point as the paper does, and judge more sets
    #[arg(long)]
    full: bool,
}

/// Run the experiments of the paper on buffered filters, print what comes out beside what was
/// published, and write a CSV file for each table and figure and a plot for each figure.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove paper buffered\n  \
    bloomgrove paper buffered growth large --full --folder /mnt/ssd")]
pub(crate) struct BufferedArgs {
    #[command(flatten)]
    shared: Args,
    /// A billion keys, and a filter of 16 GB: takes an hour and 20 GB of disk
    #[arg(long)]
    full: bool,
    /// Where to make the filter files, which are removed afterwards: on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

/// Run the experiments of the BloomTree paper, print what comes out beside what was
/// published, and write a CSV file for each table and figure and a plot for each figure.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove paper bloomtree\n  \
    bloomgrove paper bloomtree table3 table3-wire --full --out bloomtree-full")]
pub(crate) struct BloomTreeArgs {
    #[command(flatten)]
    shared: Args,
    /// Ten million items in place of a million: takes several times as long
    #[arg(long)]
    full: bool,
}

/// Make up a day of a federation of sites, trace documents through it over real connections, compare
/// every answer with the whole, print what it took beside asking all sites, and write a CSV file for
/// each table and figure and a plot for each figure.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove paper provenance\n  \
    bloomgrove paper provenance traces depth --full --out provenance-full")]
pub(crate) struct ProvenanceArgs {
    #[command(flatten)]
    shared: Args,
    /// A million events, and up to a thousand sites: takes 3 GB of memory and a quarter of an hour
    #[arg(long)]
    full: bool,
    /// False positives of the filters in `traces`, `depth` and `sites`
    #[arg(long, value_name = "RATE", default_value = "0.001", value_parser = units::rate)]
    fpr: f64,
}

#[derive(clap::Args)]
struct Args {
    /// Which figures, as `paper list` names them [default: all]
    figures: Vec<String>,
    /// Where to write [default: a folder with the paper's name, in docs/papers if there is one]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::List => list(),
        Verb::Bloofi(args) => {
            let effort = match args.full {
                true => bloofi::Effort::FULL,
                false => bloofi::Effort::DEFAULT,
            };
            run_paper("bloofi", &args.shared, |ids, progress| {
                bloofi::run(ids, effort, progress)
            })
        }
        Verb::Sampling(args) => {
            let effort = match args.full {
                true => sampling::Effort::FULL,
                false => sampling::Effort::DEFAULT,
            };
            run_paper("sampling", &args.shared, |ids, progress| {
                sampling::run(ids, effort, progress)
            })
        }
        Verb::Buffered(args) => {
            let effort = match args.full {
                true => buffered::Effort::FULL,
                false => buffered::Effort::DEFAULT,
            };
            run_paper("buffered", &args.shared, |ids, progress| {
                buffered::run(ids, effort, &args.folder, progress)
            })
        }
        Verb::Bloomtree(args) => {
            let effort = match args.full {
                true => bloom_tree::Effort::FULL,
                false => bloom_tree::Effort::DEFAULT,
            };
            run_paper("bloomtree", &args.shared, |ids, progress| {
                bloom_tree::run(ids, effort, progress)
            })
        }
        Verb::Provenance(args) => {
            let effort = match args.full {
                true => provenance::Effort::FULL,
                false => provenance::Effort::DEFAULT,
            };
            let effort = provenance::Effort {
                fpr: args.fpr,
                ..effort
            };
            run_paper("provenance", &args.shared, |ids, progress| {
                provenance::run(ids, effort, progress)
            })
        }
    }
}

fn list() -> Result<Outcome> {
    let mut output = Output::new();
    let papers: [(&str, &[(&str, &str)]); 5] = [
        ("bloofi", &bloofi::FIGURES),
        ("sampling", &sampling::FIGURES),
        ("buffered", &buffered::FIGURES),
        ("bloomtree", &bloom_tree::FIGURES),
        ("provenance", &provenance::FIGURES),
    ];
    let rows = papers.iter().flat_map(|(paper, figures)| {
        let row = |(id, title): &(&str, &str)| {
            vec![(*paper).to_owned(), (*id).to_owned(), (*title).to_owned()]
        };
        figures.iter().map(row)
    });
    output.table(&["paper", "figure", "shows"], &rows.collect::<Vec<_>>())?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// Runs the figures asked for, telling what is being done where somebody watches.
fn run_paper(
    paper: &str,
    args: &Args,
    run: impl FnOnce(&[String], &mut Progress<'_>) -> Result<Report>,
) -> Result<Outcome> {
    let visible = stderr().is_terminal();
    let mut progress = |step: &str| {
        if visible {
            // If nobody can be told, there is nobody to tell.
            let _ = write!(stderr(), "\r\x1b[K{step} ...");
        }
        interrupt::check()
    };
    let report = run(&args.figures, &mut progress);
    if visible {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let folder = args.out.clone().unwrap_or_else(|| default_folder(paper));
    publish(&report?, &folder)
}

/// Beside the page about the paper in a checkout, else here.
fn default_folder(paper: &str) -> PathBuf {
    let pages = Path::new("docs/papers");
    let parent = if pages.is_dir() { pages } else { Path::new("") };
    parent.join(paper)
}

fn publish(report: &Report, folder: &Path) -> Result<Outcome> {
    let mut output = Output::new();
    for picture in &report.pictures {
        output.line(format_args!(
            "{}: {}\n{}",
            picture.id, picture.title, picture.text
        ))?;
    }
    for table in &report.tables {
        let head: Vec<&str> = table.head.iter().map(String::as_str).collect();
        output.line(format_args!("{}: {}", table.id, table.title))?;
        output.table(&head, &table.rows)?;
        output.line("")?;
    }
    for figure in &report.figures {
        let (head, rows) = figure.table();
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let (id, title, y) = (figure.id, figure.title, figure.y.name);
        output.line(format_args!("{id}: {title} ({y})"))?;
        output.table(&head, &rows)?;
        output.line("")?;
    }
    if !report.claims.is_empty() {
        let rows: Vec<_> = report
            .claims
            .iter()
            .map(|claim| {
                vec![
                    claim.what.clone(),
                    format!("{}", claim.paper),
                    format!("{:.3}", claim.ours),
                    format!("{:.3}", claim.ours / claim.paper),
                ]
            })
            .collect();
        output.table(&["published in the text", "paper", "ours", "ratio"], &rows)?;
        output.line("")?;
    }
    for picture in &report.pictures {
        output.line(format_args!("wrote {}", picture.save(folder)?.display()))?;
    }
    for table in &report.tables {
        output.line(format_args!("wrote {}", table.save(folder)?.display()))?;
    }
    for figure in &report.figures {
        let [table, picture] = figure.save(folder)?;
        output.line(format_args!(
            "wrote {}, {}",
            table.display(),
            picture.display()
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

//! `which` and `grep` over real haystacks, against ripgrep, ugrep and codesearch.
//!
//! * `check`: `logs, source, prose` x eight kinds of queries: are the answers ripgrep's, also while
//!   files change and builds of the index are interrupted ([`check`])?
//! * `time`: the first question and later ones, warm and cold; the size of the index; the time to
//!   compare 100,000 files with it ([`time`]).
//! * `grams`: what an index of n-grams or sparse n-grams takes ([`grams`]).

mod check;
mod corpus;
mod grams;
mod queries;
mod time;
mod tools;

use std::error::Error;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Compare answers with those of ripgrep
    Check(check::Args),
    /// Measure the time of questions, and the size of indexes
    Time(time::Args),
    /// Count the words, n-grams and sparse n-grams of texts
    Grams(grams::Args),
}

#[derive(clap::Args)]
struct Shared {
    /// The program to measure [default: target/dist/bloomgrove or target/release/bloomgrove]
    #[arg(long, value_name = "FILE")]
    bloomgrove: Option<PathBuf>,
    /// Where corpora are made, and found again [default: a temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl Shared {
    fn tools(&self) -> Result<tools::Tools> {
        tools::Tools::find(self.bloomgrove.as_deref())
    }

    fn directory(&self) -> PathBuf {
        let usual = || std::env::temp_dir().join("bloomgrove-needles");
        self.directory.clone().unwrap_or_else(usual)
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.verb {
        Verb::Check(args) => check::run(args),
        Verb::Time(args) => time::run(args),
        Verb::Grams(args) => grams::run(args),
    }
}

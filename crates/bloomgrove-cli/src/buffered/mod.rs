//! `bloomgrove buffered ...`: filters larger than memory, in files of pages.

mod build;
mod info;
mod probe;
mod session;
mod size;
mod stream;

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove::buffered::{BufferOptions, Geometry, Phase, Strategy};
use bloomgrove::format::{Notes, content_of};
use clap::Subcommand;

use crate::shared::keys::{self, KeyKind};
use crate::shared::{Outcome, notes, units};

#[derive(Subcommand)]
pub(crate) enum Verb {
    Build(Box<build::Args>),
    Probe(probe::Args),
    Info(info::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(*args),
        Verb::Probe(args) => probe::run(args),
        Verb::Info(args) => info::run(args),
    }
}

/// The note with the number of keys that a filter was sized for.
const SIZED_NOTE: &str = "sized-for";
/// The note with what it is being built from. A file created with --open has none, as --resume
/// cannot know what was added to it.
const INPUTS_NOTE: &str = "inputs";

// A comment here would become the help of the command.
#[derive(clap::Args)]
struct Working {
    /// The total memory for buffers
    #[arg(long, value_name = "SIZE", default_value = "32MB", value_parser = units::bytes)]
    memory: u64,
    /// Threads that read and write pages
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = units::within::<u16>(1..=64))]
    workers: u16,
    /// Which pages are read and written when the memory is full
    #[arg(long, value_enum, default_value = "longest")]
    strategy: StrategyArg,
    /// Use the system's page cache instead of direct I/O
    #[arg(long)]
    cached: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum StrategyArg {
    /// The page with the most buffered keys: best on solid-state disks
    Longest,
    /// Any page that has used up its equal share of the memory
    Equal,
    /// All pages, in order: for hard disks
    Sweep,
}

impl Working {
    fn options(&self) -> BufferOptions {
        BufferOptions {
            memory: self.memory,
            workers: self.workers.into(),
            direct: !self.cached,
            strategy: match self.strategy {
                StrategyArg::Longest => Strategy::Longest,
                StrategyArg::Equal => Strategy::Equal,
                StrategyArg::Sweep => Strategy::Sweep,
            },
            ..BufferOptions::default()
        }
    }

    /// Ensures that the memory is enough for an existing filter.
    fn check(&self, geometry: &Geometry) -> Result<()> {
        self.check_with(geometry, |_| None)
    }

    /// Ensures that the memory is enough; `other` makes the same filter with pages of another size.
    fn check_with(
        &self,
        geometry: &Geometry,
        other: impl Fn(u64) -> Option<Geometry>,
    ) -> Result<()> {
        let workers = usize::from(self.workers);
        let least = geometry.least_memory(workers);
        if self.memory >= least {
            return Ok(());
        }
        let mut ways = vec![format!("pass --memory {}", enough(least))];
        // Larger pages are fewer, and smaller ones take less to work on: either may help.
        let needs = (12..=26).filter_map(|power| {
            let page = 1u64 << power;
            Some((page, other(page)?.least_memory(workers)))
        });
        let near = |page: u64| page.ilog2().abs_diff(geometry.page_bytes().ilog2());
        let fitting = needs.clone().filter(|&(_, need)| need <= self.memory);
        if let Some((page, _)) = fitting.min_by_key(|&(page, _)| near(page)) {
            ways.push(format!("use {}", pages_of(page, geometry)));
        } else if let Some((page, need)) = needs.min_by_key(|&(_, need)| need)
            && need < least / 2
        {
            let memory = enough(need);
            ways.push(format!(
                "--memory {memory} and {}",
                pages_of(page, geometry)
            ));
        }
        if geometry.least_memory(1) <= self.memory {
            ways.push("pass --workers 1".into());
        }
        bail!(
            "{} of memory is not enough for {} of {} and {}; {}",
            units::size(self.memory),
            units::counted(geometry.pages(), "page"),
            units::size(geometry.page_bytes()),
            units::counted(self.workers.into(), "worker"),
            ways.join(", or ")
        );
    }
}

/// Checks an input before any work is done.
pub(super) fn check_input(input: &Path) -> Result<()> {
    if input == Path::new("-") {
        return Ok(());
    }
    let about = std::fs::metadata(input).with_context(|| keys::shown(input))?;
    if about.is_dir() {
        bail!(
            "{}: this is a directory; name the files in it",
            input.display()
        );
    }
    if about.is_file() {
        std::fs::File::open(input).with_context(|| keys::shown(input))?;
        if let Ok(content) = content_of(input) {
            bail!("{}: contains {content}, not keys", input.display());
        }
    }
    Ok(())
}

/// The option for pages of another size.
fn pages_of(page: u64, geometry: &Geometry) -> String {
    let size = match page {
        page if page >= 1 << 20 => format!("{}MiB", page >> 20),
        page => format!("{}KiB", page >> 10),
    };
    let what = match page > geometry.page_bytes() {
        true => "larger",
        false => "smaller",
    };
    format!("{what} pages with --page {size}")
}

/// This much or a little more, as people write it.
fn enough(bytes: u64) -> String {
    match bytes {
        10_000_000.. => format!("{}MB", bytes.div_ceil(1_000_000)),
        _ => format!("{}kB", bytes.div_ceil(1000)),
    }
}

/// How keys are interpreted: as given, or else as when the filter was built.
fn kind_of(notes: &Notes, said: Option<KeyKind>) -> KeyKind {
    said.or(notes::key_kind(notes)).unwrap_or(KeyKind::Text)
}

/// What a phase means to a user.
fn in_words(phase: Phase, notes: &Notes) -> String {
    let can_resume = notes.get(INPUTS_NOTE).is_some();
    let words = match phase {
        Phase::Synced if can_resume => "unfinished; build --resume continues",
        Phase::Synced => "unfinished; build --add adds keys",
        Phase::Interrupted if can_resume => {
            "interrupted; keys since the last sync may be missing; build --resume continues"
        }
        Phase::Interrupted => {
            "interrupted; keys since the last sync may be missing; build --add adds them again"
        }
        Phase::Building => "being built by another process",
        _ => return phase.to_string(),
    };
    words.to_owned()
}

//! `bloomgrove site`: a site of a federation, and what is said to one.
//!
//! ```text
//!   run.rs       the site itself: settings from flags and environment
//!   record.rs    events: one by flags, many from a file
//!   import.rs    files of RDF and PROV-JSON
//!   ask.rs       lineage, SPARQL, how the site is
//!   generate.rs  events to try it with
//! ```

mod ask;
#[cfg(feature = "server")]
mod generate;
mod import;
mod record;
#[cfg(feature = "server")]
mod run;

use anyhow::Result;
use bloomgrove_client::{Seal, Site};

use crate::shared::Outcome;
use crate::shared::connect::{self, Remote};
use crate::shared::output::Output;

/// Keep what happens to documents here, and let a coordinator know which documents are known
///
/// Without a verb it is the site itself: it records events (over HTTP, or by the verbs below, which
/// talk to it), answers what it knows, and publishes a Bloom filter of all ids to the coordinator,
/// whole once and then what changed. It works while the coordinator is away, and catches up.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        bloomgrove site --name galway --data galway-data --coordinator http://127.0.0.1:7117\n  \
        bloomgrove site record bundled --in 'invoice 1' --in 'invoice 2' --out 'november'\n  \
        bloomgrove site import runs/*.ttl\n  \
        bloomgrove trace 'november'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[cfg(feature = "server")]
    #[command(flatten)]
    flags: run::Flags,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Record what happened to documents
    Record(record::Record),
    /// Take in files of RDF or PROV-JSON
    Import(import::Import),
    /// Say what the site itself knows of documents
    Lineage(ask::Lineage),
    /// Ask the site's triples in SPARQL
    Sparql(ask::Sparql),
    /// Say how the site is
    Info(ask::Info),
    /// Make a secret, by which a federation keeps its ids from the coordinator
    Secret,
    /// Make up events of a federation, to try it with
    #[cfg(feature = "server")]
    Generate(generate::Generate),
}

impl Args {
    /// Whether this is a site, which hears signals by itself.
    pub(crate) fn is_site(&self) -> bool {
        self.verb.is_none()
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let ended = match args.verb {
        #[cfg(feature = "server")]
        None => run::run(args.flags),
        #[cfg(not(feature = "server"))]
        None => crate::serve::missing("a site"),
        Some(Verb::Record(args)) => record::run(args),
        Some(Verb::Import(args)) => import::run(args),
        Some(Verb::Lineage(args)) => ask::lineage(args),
        Some(Verb::Sparql(args)) => ask::sparql(args),
        Some(Verb::Info(args)) => ask::info(args),
        Some(Verb::Secret) => secret(),
        #[cfg(feature = "server")]
        Some(Verb::Generate(args)) => generate::run(args),
    };
    ended.map_err(connect::ask_for_key)
}

fn secret() -> Result<Outcome> {
    let mut output = Output::new();
    // Alone on its line, so that it can go straight into a file.
    output.line(Seal::new_secret()?)?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The site that verbs talk to.
fn open(site: connect::Site) -> Result<(Remote, Site)> {
    let remote = site.open()?;
    let site = Site::new(remote.client.clone());
    Ok((remote, site))
}

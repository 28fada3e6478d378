//! `bloomgrove site`: a site of a federation, and commands for one.
//!
//! ```text
//!   run.rs       the site itself: settings from flags and environment
//!   record.rs    events: one by flags, many from a file
//!   import.rs    files of RDF and PROV-JSON
//!   query.rs     lineage, SPARQL, status
//!   generate.rs  synthetic events
//! ```

#[cfg(feature = "server")]
mod generate;
mod import;
mod query;
mod record;
#[cfg(feature = "server")]
mod run;

use anyhow::Result;
use bloomgrove_client::{IdCipher, Site};

use crate::shared::Outcome;
use crate::shared::connect::{self, Remote};
use crate::shared::deferred::Deferred;
use crate::shared::output::Output;

/// Run a site, which records what happens to documents and tells a coordinator which ones it knows.
///
/// Without a subcommand, this runs the site itself. It records events (over HTTP, or through the subcommands
/// below), answers queries about them, and publishes a Bloom filter of all ids to the coordinator:
/// complete at first, then only changes. It keeps working while the coordinator is unreachable, and
/// catches up later.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        bloomgrove site --name galway --data galway-data --coordinator http://127.0.0.1:7117\n  \
        bloomgrove site record bundled --in 'invoice 1' --in 'invoice 2' --out 'november'\n  \
        bloomgrove site import runs/*.ttl\n  \
        bloomgrove trace 'november'"
)]
#[cfg_attr(
    not(feature = "server"),
    command(
        about = "Record what happens to documents at a site (running one is not in this build)"
    )
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Deferred<Verb>>,
    #[cfg(feature = "server")]
    #[command(flatten)]
    flags: run::Flags,
    #[cfg(not(feature = "server"))]
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _ignored: Vec<std::ffi::OsString>,
}

#[derive(clap::Subcommand)]
enum Verb {
    Record(record::Record),
    Import(import::Import),
    Lineage(query::Lineage),
    Sparql(query::Sparql),
    Info(query::Info),
    /// Create a secret that hides a federation's ids from the coordinator
    #[command(after_help = "Example:\n  bloomgrove site secret > federation.secret")]
    Secret,
    #[cfg(feature = "server")]
    Generate(generate::Generate),
}

impl Args {
    /// Whether this is a site, which handles signals itself.
    pub(crate) fn is_site(&self) -> bool {
        self.verb.is_none()
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let ended = match args.verb.map(|verb| *verb.0) {
        #[cfg(feature = "server")]
        None => run::run(args.flags),
        #[cfg(not(feature = "server"))]
        None => crate::shared::missing(
            "`bloomgrove site` cannot run a site in this build (its subcommands work)",
        ),
        Some(Verb::Record(args)) => record::run(args),
        Some(Verb::Import(args)) => import::run(args),
        Some(Verb::Lineage(args)) => query::lineage(args),
        Some(Verb::Sparql(args)) => query::sparql(args),
        Some(Verb::Info(args)) => query::info(args),
        Some(Verb::Secret) => secret(),
        #[cfg(feature = "server")]
        Some(Verb::Generate(args)) => generate::run(args),
    };
    ended.map_err(connect::ask_for_key)
}

fn secret() -> Result<Outcome> {
    let mut output = Output::new();
    // Alone on its line, so that it can go straight into a file.
    output.line(IdCipher::new_secret()?)?;
    output.finish()?;
    Ok(Outcome::Yes)
}

/// The site that verbs talk to.
fn open(site: connect::Site) -> Result<(Remote, Site)> {
    let remote = site.open()?;
    let site = Site::new(remote.client.clone());
    Ok((remote, site))
}

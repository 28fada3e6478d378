//! `bloomgrove serve`: the coordinator; and `bloomgrove serve key`, which creates access keys for it.

mod demo;
mod flags;

use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow};
use bloomgrove_http::access::{Access, KeyEntry, Role, hash_of, new_key};
use bloomgrove_http::listen::runtime;
use bloomgrove_http::observe::logs;
use bloomgrove_server::Server;

use serde_json::json;

use self::demo::DemoSites;
use self::flags::Flags;
use crate::shared::Outcome;
use crate::shared::output::Output;

/// Run a server of sets, which clients query over HTTP to find those that contain a key.
///
/// All data is in one directory (--data). The server listens on this machine only; to listen on
/// other addresses it needs access keys (`bloomgrove serve key`). A flag overrides its environment
/// variable, which overrides the configuration file. On SIGTERM or Ctrl-C, the server completes the
/// requests in progress and exits.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        bloomgrove serve --demo\n  \
        bloomgrove serve --data /var/lib/bloomgrove --memory 4GiB\n  \
        bloomgrove serve --config /etc/bloomgrove/bloomgrove.toml --log-format json"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(clap::Subcommand)]
enum Verb {
    Key(KeyArgs),
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if let Some(Verb::Key(args)) = args.verb {
        return make_key(args);
    }
    let (mut config, names_data) = args.flags.config()?;
    let demo = config.demo;
    // A demo leaves nothing behind, unless --data is given.
    let passing = match demo && !names_data {
        true => Some(tempfile::tempdir().context("creating a temporary directory for the demo")?),
        false => None,
    };
    if let Some(folder) = &passing {
        // Within it: the server creates its own directory so that only its owner can read it.
        config.data = folder.path().join("data");
    }
    let sites = match demo {
        true => Some(DemoSites::of(&mut config)?),
        false => None,
    };
    logs::start(&config.log).map_err(|error| anyhow!(error))?;
    let runtime = runtime().context("starting the server's threads")?;
    let result = runtime.block_on(async {
        let server = Server::bind(config).await?;
        let urls = server.urls();
        run_with(server, sites, || announce(&urls, demo, passing.is_some())).await
    });
    // Everything acknowledged is on disk; queries still running have no reader any more.
    runtime.shutdown_background();
    result.map(|()| Outcome::Yes)
}

/// Runs the server and its sites; `announce` is called once everything has started.
async fn run_with(
    server: Server,
    sites: Option<DemoSites>,
    announce: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (stop, mut ready) = (server.stopper(), server.ready());
    let stopped = stop.subscribe();
    let port = server.addresses().first().map_or(0, SocketAddr::port);
    let started = async {
        let sites = match sites {
            Some(sites) => Some(sites.bind(port).await?),
            None => None,
        };
        // Not if the server has failed.
        if ready.wait_for(|ready| *ready).await.is_err() {
            return Ok(());
        }
        announce()?;
        match sites {
            Some(sites) => sites.run(stopped).await,
            None => Ok(()),
        }
    };
    let started = async {
        let ended = started.await;
        if ended.is_err() {
            stop.send_replace(true);
        }
        ended
    };
    let served = async {
        let ended = bloomgrove_server::run(server).await;
        // However it ended, stop the sites, too.
        stop.send_replace(true);
        ended
    };
    let (served, started) = tokio::join!(served, started);
    served.and(started)
}

fn announce(urls: &[String], demo: bool, passing: bool) -> Result<()> {
    let mut output = Output::new();
    for url in urls {
        output.line(format_args!("listening on {url}"))?;
    }
    if demo {
        let tries = bloomgrove_server::demo::examples().join(", ");
        output.line(format_args!("open it in a browser; try the keys {tries}"))?;
        let tries = bloomgrove_server::demo::traces().join(", ");
        output.line(format_args!(
            "a dozen sites run with it; try tracing the documents {tries}"
        ))?;
    }
    if passing {
        output.line("changes are lost when it exits; to keep them, pass --data DIR")?;
    }
    output.finish()
}

/// Create an access key and its entry for the configuration file.
///
/// The key is shown only once: the server stores its SHA-256 hash. Clients send it as
/// `Authorization: Bearer KEY`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove serve key --role admin\n  \
    bloomgrove serve key --role write --prefix galway/ --name galway")]
struct KeyArgs {
    /// read, write or admin; each includes the ones before it
    #[arg(long)]
    role: Role,
    /// For a write key: it may change only sets whose names begin with this [default: all]
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    prefix: String,
    /// The owner's name, for the log [default: the role and a number]
    #[arg(long)]
    name: Option<String>,
    /// Print the key and its entry as JSON
    #[arg(long)]
    json: bool,
}

fn make_key(args: KeyArgs) -> Result<Outcome> {
    let key = new_key().map_err(|error| anyhow!(error))?;
    let sha256 = hash_of(&key);
    let usual = || format!("{}-{}", args.role, sha256.get(..6).unwrap_or_default());
    let name = args.name.unwrap_or_else(usual);
    let entry = KeyEntry::new(&name, args.role, sha256, &args.prefix);
    Access::new(std::slice::from_ref(&entry)).map_err(|error| anyhow!(error))?;
    let mut output = Output::new();
    if args.json {
        output.json(&json!({ "key": key, "entry": entry.to_toml() }))?;
        output.finish()?;
        return Ok(Outcome::Yes);
    }
    output.line("The access key (it is shown only once):\n")?;
    output.line(format_args!("  {key}\n"))?;
    let flag = [&entry.name, entry.role.to_string().as_str(), &entry.sha256].join(":");
    let prefix = match entry.prefix.as_str() {
        "" => String::new(),
        prefix => format!(":{prefix}"),
    };
    output.line("To accept it, pass this option to `bloomgrove serve` or `bloomgrove site`:\n")?;
    output.line(format_args!("  --key '{flag}{prefix}'\n"))?;
    output.line("Or add this entry to the configuration file:\n")?;
    output.line(entry.to_toml())?;
    output.finish()?;
    Ok(Outcome::Yes)
}

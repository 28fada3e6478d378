//! `bloomgrove serve`: the coordinator; and `bloomgrove serve key`, which makes keys for it.

mod demo;
mod flags;

use anyhow::{Context, Result, anyhow};
use bloomgrove_http::access::{Access, KeyEntry, Role, hash_of, new_key};
use bloomgrove_http::listen::runtime;
use bloomgrove_http::observe::logs;
use bloomgrove_server::Server;

use self::demo::DemoSites;
use self::flags::Flags;
use crate::shared::Outcome;
use crate::shared::output::Output;

/// Keep sets and answer over HTTP which of them hold a key
///
/// One program, one folder of data. It listens on this machine only, and elsewhere once there
/// are keys (`bloomgrove serve key`). A flag wins over its environment variable, and that over
/// the configuration file. SIGTERM or Ctrl-C: requests under way are finished.
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
    /// Make a key, and the entry of the configuration file that lets it in
    Key(KeyArgs),
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    if let Some(Verb::Key(args)) = args.verb {
        return make_key(args);
    }
    let (mut config, names_data) = args.flags.config()?;
    let demo = config.demo;
    // A demo leaves nothing behind, unless it is told where.
    let passing = match demo && !names_data {
        true => Some(tempfile::tempdir().context("a folder for the demo")?),
        false => None,
    };
    if let Some(folder) = &passing {
        config.data = folder.path().into();
    }
    let sites = match demo {
        true => Some(DemoSites::of(&mut config)?),
        false => None,
    };
    logs::start(&config.log).map_err(|error| anyhow!(error))?;
    let runtime = runtime().context("threads for the server")?;
    let result = runtime.block_on(async {
        let server = Server::bind(config).await?;
        let mut output = Output::new();
        for url in server.urls() {
            output.line(format_args!("listening on {url}"))?;
        }
        if demo {
            let tries = bloomgrove_server::demo::examples().join(", ");
            output.line(format_args!("open it in a browser; keys to try: {tries}"))?;
            let tries = bloomgrove_server::demo::traces().join(", ");
            output.line(format_args!(
                "a dozen sites are beside it; documents to trace: {tries}"
            ))?;
        }
        if passing.is_some() {
            output.line("what you change is gone when it ends; --data DIR keeps it")?;
        }
        output.finish()?;
        match sites {
            Some(sites) => sites.beside(server).await,
            None => bloomgrove_server::run(server).await,
        }
    });
    // What is on disk is complete; nobody waits for questions that are still worked on.
    runtime.shutdown_background();
    result.map(|()| Outcome::Yes)
}

/// Make a key, and the entry of the configuration file that lets it in
///
/// The key is shown this once: the server keeps only its SHA-256. Clients send it as
/// `Authorization: Bearer KEY`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove serve key --role admin\n  \
    bloomgrove serve key --role write --prefix galway/ --name galway")]
struct KeyArgs {
    /// read, write or admin; each includes those before it
    #[arg(long)]
    role: Role,
    /// Of a write key: how the names of the sets begin that it may change [default: all]
    #[arg(long, default_value = "", hide_default_value = true)]
    prefix: String,
    /// Whose it is: for the log [default: the role and a number]
    #[arg(long)]
    name: Option<String>,
}

fn make_key(args: KeyArgs) -> Result<Outcome> {
    let key = new_key().map_err(|error| anyhow!(error))?;
    let sha256 = hash_of(&key);
    let usual = || format!("{}-{}", args.role, sha256.get(..6).unwrap_or_default());
    let name = args.name.unwrap_or_else(usual);
    let entry = KeyEntry::new(&name, args.role, sha256, &args.prefix);
    Access::new(std::slice::from_ref(&entry)).map_err(|error| anyhow!(error))?;
    let mut output = Output::new();
    output.line("The key, shown this once:\n")?;
    output.line(format_args!("  {key}\n"))?;
    let flag = [&entry.name, entry.role.to_string().as_str(), &entry.sha256].join(":");
    let prefix = match entry.prefix.as_str() {
        "" => String::new(),
        prefix => format!(":{prefix}"),
    };
    output.line("What lets it in, as an option of `bloomgrove serve` or `bloomgrove site`:\n")?;
    output.line(format_args!("  --key '{flag}{prefix}'\n"))?;
    output.line("Or as an entry in the configuration file of the server:\n")?;
    output.line(entry.to_toml())?;
    output.finish()?;
    Ok(Outcome::Yes)
}

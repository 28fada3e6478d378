//! `bloomgrove remote add`: filters, built here and sent compressed.
//!
//! ```text
//!   files --all processors--> filters --compressed--> several requests at once --> server
//! ```
//!
//! The server acknowledges a set once it is on disk; requests in flight at the same time share the
//! wait.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bloomgrove::Filter;
use bloomgrove::codec;
use bloomgrove::index::Index;
use bloomgrove_client::api::{Code, MEDIA_MESSAGE, Updated};
use bloomgrove_client::{Client, Error, PutOptions};
use serde_json::json;
use tokio::task::JoinHandle;

use super::change::seconds;
use crate::shared::connect::Remote;
use crate::shared::output::{Output, complain};
use crate::shared::progress::Progress;
use crate::shared::read_sets::SetArgs;
use crate::shared::sizing::{is_overfull, sets_have};
use crate::shared::sources::{self, Source, SourceKind};
use crate::shared::{Outcome, interrupt, parallel, units};

/// Requests in flight at once, and their bytes.
const AHEAD: usize = 16;
const AHEAD_BYTES: usize = 32 << 20;

/// Add sets to a server.
///
/// Each file is a set and each of its lines a key; --extract and --column choose other keys, such as
/// words or the values of a column. Compressed files are decompressed. A .grove file is a filter, or an index, all of whose sets are added. Directories are read recursively,
/// except for hidden files and indexes.
///
/// Filters are built on this machine, and only they are sent. Without --items or --bits, each filter
/// is as large as its set needs for --fpr. A set is reported once it is safely on the server's
/// disk.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote add logs/ --prefix logs/\n  \
    bloomgrove remote add orders.parquet --column customer_id --tag orders --replace")]
pub(super) struct Add {
    #[command(flatten)]
    sets: SetArgs,
    /// The name of the set, if there is only one
    #[arg(long, conflicts_with = "prefix")]
    name: Option<String>,
    /// Prefix every set name with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Tag every set with this (repeatable)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Expire the sets this long from now: 30min, 24h
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    expires: Option<Duration>,
    /// Replace existing sets instead of failing
    #[arg(long)]
    replace: bool,
    /// Print one JSON object per set
    #[arg(long)]
    json: bool,
}

pub(super) fn add(remote: &Remote, args: Add) -> Result<Outcome> {
    let (mut sources, complete) = sources::find(&args.sets.paths);
    sources::rename_only(&mut sources, args.name)?;
    let sizing = args.sets.size.sizing()?;
    let how = args.sets.how(sizing);
    let mut adding = Adding {
        remote,
        prefix: args.prefix.unwrap_or_default(),
        options: PutOptions {
            tags: args.tag,
            expires_in: args.expires.map(seconds),
            base: (!args.replace).then_some(0),
        },
        json: args.json,
        ahead: VecDeque::new(),
        bytes: 0,
        output: Output::new(),
        complete,
        overfull: 0,
    };
    let progress = Progress::bytes(sources.iter().map(|source| source.size).sum(), "adding");
    let read = |source: &Source| match source.kind {
        SourceKind::Index => source.check_keys(&how).map(|()| None),
        _ => coded(&source.filter(&how, &progress)?).map(Some),
    };
    let taken = parallel::each(&sources, read, |source, coded| {
        match coded {
            Ok(Some(coded)) => adding.send(&source.name, coded)?,
            Ok(None) => adding.send_index(source)?,
            Err(_) if interrupt::was_asked() => {}
            Err(error) => {
                complain(format_args!("{error:#}"));
                adding.complete = false;
            }
        }
        Ok(())
    });
    // Finish the requests in flight, even if something failed.
    let sent = adding.finish(0);
    drop(progress);
    taken.and(sent)?;
    if interrupt::was_asked() {
        bail!("interrupted; the sets reported as added are on the server");
    }
    if adding.overfull > 0 {
        complain(format_args!(
            "{} more keys than made for, and will often be named by mistake: add them with more \
             --items or --bits",
            sets_have(adding.overfull)
        ));
    }
    adding.output.finish()?;
    Ok(Outcome::of(adding.complete))
}

/// A filter, ready to be sent.
struct Coded {
    message: Vec<u8>,
    overfull: bool,
}

fn coded(filter: &Filter) -> Result<Coded> {
    let mut message = Vec::new();
    codec::compress(filter, &mut message)?;
    Ok(Coded {
        message,
        overfull: is_overfull(filter),
    })
}

struct Adding<'r> {
    remote: &'r Remote,
    prefix: String,
    options: PutOptions,
    json: bool,
    /// Requests that are not acknowledged yet, in order.
    ahead: VecDeque<Sent>,
    /// In all of them.
    bytes: usize,
    output: Output,
    complete: bool,
    overfull: u64,
}

struct Sent {
    name: String,
    bytes: usize,
    answer: JoinHandle<Result<(Updated, bool), Error>>,
}

impl Adding<'_> {
    fn send(&mut self, name: &[u8], coded: Coded) -> Result<()> {
        let Ok(name) = std::str::from_utf8(name) else {
            complain(format_args!(
                "{}: names on a server must be UTF-8 text; give another name with --name",
                String::from_utf8_lossy(name)
            ));
            self.complete = false;
            return Ok(());
        };
        let name = format!("{}{name}", self.prefix);
        self.overfull += u64::from(coded.overfull);
        self.finish(AHEAD - 1)?;
        let bytes = coded.message.len();
        let work = put(
            self.remote.client.clone(),
            name.clone(),
            coded.message,
            self.options.clone(),
        );
        self.bytes += bytes;
        self.ahead.push_back(Sent {
            name,
            bytes,
            answer: self.remote.start(work),
        });
        Ok(())
    }

    fn send_index(&mut self, source: &Source) -> Result<()> {
        let index = Index::open(&source.path)?;
        let mut names: Vec<&[u8]> = index.sets().map(|set| set.name()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            interrupt::check()?;
            let filter = index.filter(name);
            let filter = filter.with_context(|| source.path.display().to_string())?;
            self.send(name, coded(&filter)?)?;
        }
        Ok(())
    }

    /// Waits until no more than this many are in flight, and reports those that arrived.
    fn finish(&mut self, left: usize) -> Result<()> {
        while self.ahead.len() > left || self.bytes > AHEAD_BYTES {
            let Some(sent) = self.ahead.pop_front() else {
                break;
            };
            self.bytes -= sent.bytes;
            match self.remote.wait_for(sent.answer)? {
                Ok((updated, made)) => {
                    let done = if made { "added" } else { "replaced" };
                    match self.json {
                        true => self
                            .output
                            .json_line(&json!({ done: sent.name, "version": updated.version }))?,
                        false => self.output.line(format_args!("{done} {}", sent.name))?,
                    }
                    // Ctrl-C must not lose it.
                    self.output.flush()?;
                }
                Err(error) if is_of_one_set(&error) => {
                    complain(format_args!("{}: {error}", sent.name));
                    self.complete = false;
                }
                Err(error) => return Err(error).context(sent.name),
            }
        }
        Ok(())
    }
}

/// Whether other sets may still succeed.
fn is_of_one_set(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(
            Code::Invalid
                | Code::Exists
                | Code::Forbidden
                | Code::Incompatible
                | Code::SendWhole
                | Code::TooLarge
        )
    ) || matches!(error, Error::Invalid { .. })
}

/// Sends one set, unless it exists and must stay.
async fn put(
    client: Client,
    name: String,
    message: Vec<u8>,
    options: PutOptions,
) -> Result<(Updated, bool), Error> {
    let put = client.put_bytes(&name, MEDIA_MESSAGE, message, &options);
    put.await.map_err(|error| match error.code() {
        Some(Code::Exists) => Error::Invalid {
            what: format!(
                "a set named {name} already exists; --replace replaces it, and `remote update` \
                 adds to it"
            ),
        },
        _ => error,
    })
}

//! The `bloomgrove` command. Each noun has a file or directory, `shared/` has what nouns share; this file parses the
//! command line, runs a verb and turns its end into an exit code.

mod buffered;
mod filter;
mod hash;
mod index;
mod remote;
mod sample;
mod serve;
mod shared;
mod site;
mod trace;
mod tree;
mod tune;
mod verify;
mod which;

use std::process::ExitCode;

use bloomgrove::format::Content;
use clap::{Parser, Subcommand};

use crate::shared::{Outcome, interrupt, output};

/// Bloom filters, alone and by the hundred thousand: which of my sets contain this item?
#[derive(Parser)]
#[command(
    name = "bloomgrove",
    version,
    after_help = "Exit code: 0 found or done, 1 not found, 2 error, 130 interrupted.\n\
                  Every verb has --help with an example."
)]
struct Args {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Subcommand)]
enum Noun {
    /// Say which files may hold a key, keeping an index beside them
    Which(which::Args),
    /// Build, ask, inspect and combine single filters
    #[command(subcommand)]
    Filter(filter::Verb),
    /// Build, ask and change indexes of many sets
    #[command(subcommand)]
    Index(index::Verb),
    /// Ask, fill and look after a server: the same verbs, for sets that it has
    Remote(Box<remote::Args>),
    /// Build and ask filters larger than memory, on disk
    #[command(subcommand)]
    Buffered(buffered::Verb),
    /// Build, ask, send and combine BloomTrees
    #[command(subcommand)]
    Tree(Box<tree::Verb>),
    /// Draw members of a filter at random, given the names that may be in it
    Sample(Box<sample::Sample>),
    /// List all members of a filter, given the names that may be in it
    Reconstruct(Box<sample::Reconstruct>),
    /// Keep sets and answer over HTTP which of them hold a key
    Serve(Box<serve::Args>),
    /// Keep what happens to documents, and let a coordinator know which are known here
    Site(Box<site::Args>),
    /// Say where a document comes from, across all sites
    Trace(Box<trace::Args>),
    /// Check that files are as they were written: of every kind, also those of servers and sites
    Verify(verify::Args),
    /// Measure the hash families
    #[command(subcommand)]
    Hash(hash::Verb),
    /// Find the right size and kind
    #[command(subcommand)]
    Tune(tune::Verb),
}

fn main() -> ExitCode {
    let args = Args::parse();
    // A server or a site finishes what is under way, and hears signals by itself.
    let is_server = match &args.noun {
        Noun::Serve(_) => true,
        Noun::Site(args) => args.is_site(),
        _ => false,
    };
    if !is_server {
        interrupt::catch();
    }
    let result = match args.noun {
        Noun::Which(args) => which::run(args),
        Noun::Filter(verb) => filter::run(verb),
        Noun::Index(verb) => index::run(verb),
        Noun::Remote(args) => remote::run(*args),
        Noun::Buffered(verb) => buffered::run(verb),
        Noun::Tree(verb) => tree::run(*verb),
        Noun::Sample(args) => sample::run(*args),
        Noun::Reconstruct(args) => sample::reconstruct(*args),
        Noun::Serve(args) => serve::run(*args),
        Noun::Site(args) => site::run(*args),
        Noun::Trace(args) => trace::run(*args),
        Noun::Verify(args) => verify::run(args),
        Noun::Hash(verb) => hash::run(verb),
        Noun::Tune(verb) => tune::run(verb),
    };
    match result {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Incomplete) => ExitCode::from(2),
        // Whoever read our output has seen enough.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(format_args!("{error:#}{}", way_out(&error)));
            ExitCode::from(if interrupt::was_asked() { 130 } else { 2 })
        }
    }
}

/// Of a file of another kind than asked for, who can tell what is in it.
fn way_out(error: &anyhow::Error) -> String {
    let found = error.chain().find_map(|error| {
        let error: &bloomgrove::Error = error.downcast_ref()?;
        match error.kind() {
            bloomgrove::Error::WrongContent { found, .. } => Some(*found),
            _ => None,
        }
    });
    let noun = match found {
        Some(found) if found == Content::Filter.name() => "filter",
        Some(found) if found == Content::Index.name() => "index",
        Some(found) if found == Content::Names.name() => "sample",
        Some(found) if found == Content::Paged.name() => "buffered",
        Some(found) if found == Content::Tree.name() => "tree",
        _ => return String::new(),
    };
    format!("; `bloomgrove {noun} info` says what is in it")
}

//! The `bloomgrove` command. Each noun has a file or directory, `shared/` has what nouns share; this file parses the
//! command line, runs a verb and turns its end into an exit code.
//!
//! | file | contains |
//! |---|---|
//! | `lib.rs` | nouns, exit codes; a library, so that the Python package has the command as well |
//! | `main.rs` | the program |
//! | `which/`, `grep.rs` | the files, and the lines, that match; the search itself is `shared/search/` |
//! | `filter/` | one file per verb; `combine.rs` has union, intersect and fold, `wire.rs` compress, expand, delta and apply |
//! | `index/` | `build.rs`, `add.rs`; `take_in.rs` sets on their way into an index; `change.rs` remove, update and compact, `info.rs` info and verify, `stale.rs` what has become of the files of sets |
//! | `sample/` | `draw.rs` is sample, `reconstruct.rs` reconstruct, `index.rs` sample index and info; `expression.rs` what FILTER means, `names.rs` what NAMES means, `explain.rs` what --explain says |
//! | `serve.rs` | `bloomgrove serve` and `serve key`; `serve/flags.rs` its options, `serve/demo.rs` the sites of `--demo` |
//! | `remote/` | the same verbs against a server: `which.rs`, `add.rs`, `update.rs`, `change.rs`, `look.rs`, `members.rs`, `sites.rs` |
//! | `site/` | `run.rs` is the site itself, `record.rs`, `import.rs`, `query.rs` (lineage, sparql, info) and `generate.rs` its verbs |
//! | `trace/` | `bloomgrove trace`: `mod.rs` asks, `encrypted.rs` encrypts and decrypts ids, `print.rs` is the table |
//! | `any.rs` | `bloomgrove info` and `bloomgrove check`: which command a file is for |
//! | `verify.rs` | `bloomgrove verify`: any file of ours, also stores, snapshots and logs |
//! | `bloofi/` | `change.rs` has add, remove and update, `shape.rs` rebuild and widen; `sets.rs` sets on their way into a tree |
//! | `bloom_sample_tree/` | one file per verb; `method.rs` the tree and the paper's baselines behind one name each |
//! | `bloom_tree/` | one file per verb; `combine.rs` has intersect and union, `wire.rs` compress and expand |
//! | `buffered/` | one file per verb; `size.rs` how large and hashed how, `session.rs` keys on their way in: skipped, synced, kept when it is cut off; `stream.rs` is `probe --t-max` |
//! | `semi_join/` | the rows of one table whose key may be in another; its `mod.rs` has the table of files |
//! | `hash/` | `quality.rs` is `hash test`, `derivation.rs` is `hash derivation` |
//! | `tune/` | `tune size`, `tune accuracy`, `tune bloom-tree`; `tune wire` in `wire/`: `attempt.rs` is `--try`, `table.rs` the CSV file |
//! | `shell.rs` | `completions` and `man`, generated from the definitions of all commands |
//! | `shared/` | what several commands use: keys from files, sources of sets, sizes, notes, opening, connections, output. A command imports from here and from its own noun only (`tests/tool/commands.rs`); `shared/mod.rs` has the table |

mod any;
mod bloofi;
mod bloom_sample_tree;
mod bloom_tree;
mod buffered;
mod filter;
mod grep;
mod hash;
mod index;
mod lake;
mod remote;
mod sample;
mod semi_join;
#[cfg(feature = "server")]
mod serve;
#[cfg(not(feature = "server"))]
#[path = "without_server.rs"]
mod serve;
mod shared;
mod shell;
mod site;
mod trace;
mod tune;
mod verify;
mod which;

use std::ffi::OsString;
use std::io;

use bloomgrove::format::Content;
use clap::{CommandFactory, Parser, Subcommand};

use crate::shared::deferred::Deferred;
use crate::shared::{Outcome, interrupt, open, output};

/// Bloom filters, alone and by the hundred thousand: which of my sets contain this key?
#[derive(Parser)]
#[command(
    name = "bloomgrove",
    version,
    after_help = "Exit code: 0 found or done, 1 not found, 2 error, 130 interrupted.\n\
                  Every command has --help with an example."
)]
struct Args {
    #[command(subcommand)]
    noun: Noun,
}

#[derive(Subcommand)]
enum Noun {
    Which(Box<which::Args>),
    Grep(Box<grep::Args>),
    /// Build, query, inspect and combine single filters
    #[command(subcommand)]
    Filter(Deferred<filter::Verb>),
    /// Build, query and change indexes of many sets
    #[command(subcommand)]
    Index(Deferred<index::Verb>),
    /// Find the Parquet files of a table that may contain a value
    #[command(subcommand)]
    Lake(Deferred<lake::Verb>),
    Remote(Box<remote::Args>),
    /// Build and query filters larger than memory, on disk
    #[command(subcommand)]
    Buffered(Deferred<buffered::Verb>),
    SemiJoin(Box<semi_join::Args>),
    Sample(Box<sample::Sample>),
    Reconstruct(Box<sample::Reconstruct>),
    /// Build, query, change and draw Bloofi trees of many sets
    #[command(subcommand)]
    Bloofi(Deferred<bloofi::Verb>),
    /// Build BloomSampleTrees, and sample or list the items of a filter with them
    #[command(subcommand)]
    BloomSampleTree(Deferred<bloom_sample_tree::Verb>),
    /// Build, query, compress and combine BloomTrees
    #[command(subcommand)]
    BloomTree(Deferred<bloom_tree::Verb>),
    Serve(Box<serve::Args>),
    Site(Box<site::Args>),
    Trace(Box<trace::Args>),
    Info(any::Info),
    Check(any::Check),
    Verify(verify::Args),
    /// Measure the hash families
    #[command(subcommand)]
    Hash(Deferred<hash::Verb>),
    /// Choose the size and kind of a filter
    #[command(subcommand)]
    Tune(Deferred<tune::Verb>),
    Completions(shell::Completions),
    Man(shell::Man),
}

/// Runs a command line, of which the first word is the name of the program, and returns its exit code.
///
/// A command line that cannot be parsed, `--help` and `--version` end the process.
pub fn run_words(words: impl IntoIterator<Item = OsString>) -> u8 {
    let args = Args::parse_from(words);
    // Servers and sites handle signals themselves, to finish the requests in progress.
    let is_server = match &args.noun {
        Noun::Serve(_) => true,
        Noun::Site(args) => args.is_site(),
        _ => false,
    };
    if !is_server {
        interrupt::catch();
    }
    exit_code(run(args.noun))
}

/// What a command has printed, and its exit code.
#[derive(Debug)]
pub struct Captured {
    /// The exit code.
    pub code: u8,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error.
    pub err: Vec<u8>,
}

/// Runs a command line like [`run_words`], but returns what it prints, and never ends the process. Only for
/// commands that print from one thread, take no input and end soon: nothing can interrupt them.
pub fn run_captured(words: impl IntoIterator<Item = OsString>) -> Captured {
    let (code, [out, err]) = output::captured(|| match Args::try_parse_from(words) {
        Ok(args) => exit_code(run(args.noun)),
        Err(error) => {
            output::complain(format_args!("{}", error.to_string().trim_end()));
            2
        }
    });
    Captured { code, out, err }
}

/// Reports the error of a command, and returns its exit code.
fn exit_code(outcome: anyhow::Result<Outcome>) -> u8 {
    match outcome {
        Ok(Outcome::Yes) => 0,
        Ok(Outcome::No) => 1,
        Ok(Outcome::Incomplete) => 2,
        Err(error) => {
            match output::unwritten_in(&error) {
                // The reader of our output has closed it.
                Some(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
                Some(error) => output::complain(format_args!("{error}")),
                None => output::complain(format_args!("{error:#}{}", way_out(&error))),
            }
            if interrupt::was_asked() { 130 } else { 2 }
        }
    }
}

fn run(noun: Noun) -> anyhow::Result<Outcome> {
    match noun {
        Noun::Which(args) => which::run(*args),
        Noun::Grep(args) => grep::run(*args),
        Noun::Filter(verb) => filter::run(*verb.0),
        Noun::Index(verb) => index::run(*verb.0),
        Noun::Lake(verb) => lake::run(*verb.0),
        Noun::Remote(args) => remote::run(*args),
        Noun::Buffered(verb) => buffered::run(*verb.0),
        Noun::SemiJoin(args) => semi_join::run(*args),
        Noun::Bloofi(verb) => bloofi::run(*verb.0),
        Noun::BloomSampleTree(verb) => bloom_sample_tree::run(*verb.0),
        Noun::BloomTree(verb) => bloom_tree::run(*verb.0),
        Noun::Sample(args) => sample::run(*args),
        Noun::Reconstruct(args) => sample::reconstruct(*args),
        Noun::Serve(args) => serve::run(*args),
        Noun::Site(args) => site::run(*args),
        Noun::Trace(args) => trace::run(*args),
        Noun::Info(args) => run(Args::parse_from(args.words()?).noun),
        Noun::Check(args) => run(Args::parse_from(args.words()?).noun),
        Noun::Verify(args) => verify::run(args),
        Noun::Hash(verb) => hash::run(*verb.0),
        Noun::Tune(verb) => tune::run(*verb.0),
        Noun::Completions(args) => shell::completions(&args, Args::command()),
        Noun::Man(args) => shell::man(&args, Args::command()),
    }
}

/// The command that helps: for a file of the wrong kind the one that shows what it contains, for an
/// unknown set the one that lists them.
fn way_out(error: &anyhow::Error) -> String {
    let mut errors = error
        .chain()
        .filter_map(|error| error.downcast_ref::<bloomgrove::Error>());
    let way_out = errors.find_map(|error| match error.kind() {
        bloomgrove::Error::WrongContent { found, .. } => {
            let content = Content::ALL
                .iter()
                .find(|content| content.to_string() == *found)?;
            let noun = open::noun(*content);
            Some(format!("; `bloomgrove {noun} info` shows what it contains"))
        }
        bloomgrove::Error::UnknownSet { .. } => Some(open::LIST_SETS.to_owned()),
        bloomgrove::Error::Incompatible { .. } => {
            Some(" (`bloomgrove filter build --like OTHER` does)".to_owned())
        }
        _ => None,
    });
    way_out.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Placeholders = BTreeMap<String, BTreeMap<String, Vec<String>>>;

    fn collect(command: &clap::Command, path: &str, found: &mut Placeholders) {
        for arg in command.get_arguments() {
            let (Some(long), Some(names)) = (arg.get_long(), arg.get_value_names()) else {
                continue;
            };
            if arg.get_action().takes_values() {
                let places = found.entry(long.to_owned()).or_default();
                let places = places.entry(names[0].to_string()).or_default();
                places.push(path.to_owned());
            }
        }
        for verb in command.get_subcommands() {
            collect(verb, &format!("{path} {}", verb.get_name()), found);
        }
    }

    #[test]
    fn an_option_has_the_same_placeholder_in_all_commands() {
        // These mean different things in different commands.
        let differ = [
            "output", "from", "hashes", "depth", "key", "keys", "bits", "base", "in",
        ];
        let mut found = Placeholders::new();
        let mut command = Args::command();
        command.build();
        collect(&command, "bloomgrove", &mut found);
        for (option, places) in found {
            let alike = places.len() == 1 || differ.contains(&option.as_str());
            assert!(alike, "--{option}: {places:#?}");
        }
    }
}

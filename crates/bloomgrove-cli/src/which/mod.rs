//! `bloomgrove which KEY PATH...`: the files that contain it.
//!
//! The index and the search are in [`crate::shared::search`]; this is the command line, and what
//! it prints.

mod answer;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bloomgrove::Collector;
use bloomgrove_keys::{Extraction, Needed};

use crate::shared::keys::{self, KeyKind, Keys, KeysArgs};
use crate::shared::output::{Output, complain};
use crate::shared::search::{self, Chosen, Complaints, QueryArgs, RefreshOptions, Sought};
use crate::shared::{Outcome, units};

/// Find the files that contain a string.
///
/// Lists the files in which KEY occurs as whole words: what `rg -l -z -w -F KEY` lists. With -e, KEY
/// is a regular expression. Compressed files (gzip, zstd, xz, bzip2) are decompressed, and every
/// file in a tar or zip archive is searched separately, listed as ARCHIVE:FILE. Directories are
/// searched recursively, except for hidden files, symbolic links and .grove files. Binary files are
/// searched up to their first NUL byte.
///
/// The first run reads every file and stores its words as Bloom filters in .bloomgrove.grove, next
/// to the files. Later runs read only files that are new or have changed (judged by size, timestamps and inode),
/// and those that may contain the words of KEY. The answer is exact; --maybe lists what the index
/// says, without reading the files.
///
/// .bloomgrove.grove is used only if it is a regular file that you or root own, that nobody else
/// can write to, and that has no other hard link. Anything else of that name is left alone.
/// A file given with --index is used without these checks.
///
/// Exit code: 0 if any file contains any of the keys, 1 if none does, 2 if something could not
/// be read (with --quiet, 0 as soon as a file contains a key).
#[derive(clap::Args)]
#[command(
    mut_arg("extract", keys::of_tokens),
    override_usage = "bloomgrove which [OPTIONS] KEY PATH...\n       \
                      bloomgrove which [OPTIONS] -e PATTERN PATH...\n       \
                      bloomgrove which [OPTIONS] --keys-from FILE PATH...",
    after_help = "Examples:\n  \
        bloomgrove which order-4711 logs/\n  \
        bloomgrove which -i -e 'time(d)? ?out' logs/\n  \
        bloomgrove which 4711 orders/*.parquet --column customer_id\n  \
        bloomgrove which --keys-from wanted.txt logs/ archive/*.gz"
)]
pub(crate) struct Args {
    /// The text (unless -e or --keys-from is given), then files and directories
    #[arg(required = true, value_name = "KEY PATH")]
    words: Vec<OsString>,
    /// Search for every line of this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "regexp")]
    keys_from: Option<PathBuf>,
    #[command(flatten)]
    query: QueryArgs,
    /// Find only whole words, also with -e; without -e, this is the default
    #[arg(short, long = "word-regexp")]
    word: bool,
    /// Find the text within words, too
    #[arg(long, conflicts_with = "word")]
    no_word: bool,
    #[command(flatten)]
    keys: KeysArgs,
    #[command(flatten)]
    chosen: Chosen,
    /// The false-positive rate: the share of the other files that a query for one word also reads
    /// [default: that of the existing index, or 1%]
    #[arg(long, value_parser = units::rate, value_name = "RATE")]
    fpr: Option<f64>,
    /// List the files that may contain the text, without reading them
    #[arg(long)]
    maybe: bool,
    /// Read every file again, even those that look unchanged
    #[arg(long)]
    refresh: bool,
    /// List the files (the default; for those used to grep)
    #[arg(short = 'l', long, hide = true)]
    files_with_matches: bool,
    /// KEY is literal text (the default; for those used to grep)
    #[arg(short = 'F', long, hide = true, conflicts_with = "regexp")]
    fixed_strings: bool,
    /// Print the number of files instead of their names
    #[arg(short, long)]
    count: bool,
    /// End each name with a NUL byte instead of a line feed, for xargs -0
    #[arg(short = '0', long, conflicts_with_all = ["json", "count"])]
    null: bool,
    /// Print nothing; only set the exit code
    #[arg(short, long, conflicts_with_all = ["json", "count"])]
    quiet: bool,
    /// Print one JSON object per key
    #[arg(long)]
    json: bool,
    /// Report on standard error what was read and what was already indexed
    #[arg(long)]
    explain: bool,
}

/// One of the things to find.
struct Question {
    /// As it was given.
    key: Vec<u8>,
    needed: Needed,
    sought: Sought,
}

pub(crate) fn run(mut args: Args) -> Result<Outcome> {
    let mut words = std::mem::take(&mut args.words);
    let given = match &args.keys_from {
        Some(file) => keys::read_all(file, KeyKind::Text)?,
        None if !args.query.regexp.is_empty() => Vec::new(),
        None => vec![keys::from_argument(words.remove(0))],
    };
    if let Some(fpr) = args.fpr {
        // Before anything is read or written.
        Collector::new(fpr)?;
    }
    if words.is_empty() {
        bail!("no files to search; usage: bloomgrove which KEY PATH...");
    }
    let paths: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();
    if let [key] = &given[..] {
        search::check_order("which KEY", key, &paths)?;
    }
    let keys = args.keys.keys(Extraction::Tokens);
    let questions = questions(&args, given, &keys)?;

    let mut complaints = Complaints::default();
    if args.keys_from.is_none() && paths.len() > 1 {
        complaints.if_missing = " (to search for several keys, use --keys-from)";
    }
    let homes = search::find(&paths, &args.chosen, &keys, &mut complaints)?;
    let options = RefreshOptions {
        keys: &keys,
        fpr: args.fpr,
        save: !args.chosen.no_save,
        trust: !args.refresh,
        explain: args.explain,
    };
    let mut indexes = Vec::new();
    for home in &homes {
        indexes.push(search::refresh(home, &options, &mut complaints)?);
    }

    let mut output = Output::new();
    let mut any = false;
    for question in &questions {
        if args.explain {
            complain(format_args!("candidates contain: {}", question.needed));
        }
        let files = answer::files(
            question,
            &indexes,
            &keys,
            args.maybe,
            args.explain,
            &mut complaints,
        )?;
        any |= !files.is_empty();
        answer::print(&mut output, &args, &question.key, &files)?;
        if args.quiet && any {
            break;
        }
    }
    output.finish()?;
    complaints.finish();
    Ok(match (any, complaints.is_empty()) {
        (true, false) if args.quiet => Outcome::Yes,
        (_, false) => Outcome::Incomplete,
        (true, true) => Outcome::Yes,
        (false, true) => Outcome::No,
    })
}

fn questions(args: &Args, given: Vec<Vec<u8>>, keys: &Keys) -> Result<Vec<Question>> {
    let regexps = &args.query.regexp;
    if !keys.extraction.is_searched() {
        if !regexps.is_empty() || args.query.is_given() || args.word || args.no_word {
            bail!(
                "the keys of these files are {keys}, which are found as a whole; remove -e, -i, -S, \
                 -w, -x and --no-word, which are for words (--extract tokens)"
            );
        }
        let question = |key: Vec<u8>| Question {
            needed: Needed::Key(key.clone()),
            sought: Sought::Key(key.clone()),
            key,
        };
        return Ok(given.into_iter().map(question).collect());
    }
    if args.keys_from.is_none() && given.iter().any(Vec::is_empty) {
        bail!("the key is empty; pass the text to search for");
    }
    let question = |key: &[u8], patterns: Vec<String>, fixed: bool| -> Result<Question> {
        let query = args.query.query(
            patterns,
            fixed,
            if fixed { !args.no_word } else { args.word },
        );
        let needed = query.needed(&keys.extraction)?;
        if needed.is_unknown() && !args.maybe {
            complain(format_args!(
                "the index cannot narrow the search for {:?}, so every file is read{}",
                String::from_utf8_lossy(key),
                match keys.extraction {
                    Extraction::Tokens => {
                        " (it contains only whole words; --extract ngrams=4 indexes parts of words)"
                    }
                    _ => "",
                }
            ));
        }
        Ok(Question {
            key: key.to_vec(),
            needed,
            sought: Sought::Pattern(query.matcher()?),
        })
    };
    if !regexps.is_empty() {
        return Ok(vec![question(
            regexps.join(" or ").as_bytes(),
            regexps.clone(),
            false,
        )?]);
    }
    let text = |key: &Vec<u8>| match std::str::from_utf8(key) {
        Ok(text) => question(key, vec![text.to_owned()], true),
        Err(_) => bail!(
            "{:?} is not valid UTF-8; bytes can be searched with -e '(?-u)\\xFF'",
            String::from_utf8_lossy(key)
        ),
    };
    given.iter().map(text).collect()
}

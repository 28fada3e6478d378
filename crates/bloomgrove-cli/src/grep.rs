//! `bloomgrove grep PATTERN PATH...`: the lines that match, as ripgrep prints them, from the files
//! and blocks that can match.
//!
//! The index and the search are in [`crate::shared::search`], printing is ripgrep's own. Candidates
//! are searched on all processors, and printed in the order of their paths.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove_keys::{Extraction, Needed};
use grep_printer::{
    ColorSpecs, JSONBuilder, StandardBuilder, SummaryBuilder, SummaryKind, default_color_specs,
};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder};
use termcolor::{Ansi, NoColor, WriteColor};

use crate::shared::keys::{self, KeysArgs};
use crate::shared::output::{Output, complain, is_gone};
use crate::shared::search::{
    self, Candidate, Chosen, Complaints, QueryArgs, RefreshOptions, Search,
};
use crate::shared::{Outcome, interrupt, parallel, units};

/// Print the lines that match a pattern.
///
/// Finds and prints what `rg -z PATTERN` does, but reads only the files that can match, and of
/// large files only the blocks of 8 MiB that can. The word index that `which` keeps next to the files
/// determines what can match (see `bloomgrove which --help`); it is updated first.
///
/// The index contains only whole words. It can narrow the search if every match contains at least
/// one complete word, as for `user 4711 `, `\berror\b`, `status=(500|503) ` and, with -w, every literal
/// string. For parts of words, every file is read, unless --extract ngrams=4
/// is given: that index takes about six times the space.
///
/// Exit code: 0 if a line matches, 1 if none does, 2 if something could not be read.
#[derive(clap::Args)]
#[command(
    mut_arg("extract", keys::of_tokens),
    // Lines are searched by tokens or n-grams only.
    mut_arg("column", |arg| arg.hide(true)),
    mut_arg("delimiter", |arg| arg.hide(true)),
    override_usage = "bloomgrove grep [OPTIONS] PATTERN PATH...\n       \
                      bloomgrove grep [OPTIONS] -e PATTERN PATH...",
    after_help = "Examples:\n  \
        bloomgrove grep -w 7f3a9c2e-41d0-4c55-9d0e-6a1f0b8c7d21 logs/\n  \
        bloomgrove grep -i 'connection (reset|refused) by' logs/ -C2\n  \
        bloomgrove grep -c -w ERROR logs/"
)]
pub(crate) struct Args {
    /// The regular expression (unless -e is given), then files and directories
    #[arg(required = true, value_name = "PATTERN PATH")]
    words: Vec<OsString>,
    #[command(flatten)]
    query: QueryArgs,
    /// The pattern is literal text, not a regular expression
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Find only whole words
    #[arg(short, long = "word-regexp")]
    word: bool,
    /// Print the lines that do not match; every file is read
    #[arg(short = 'v', long)]
    invert_match: bool,
    /// Print the number of matching lines of each file
    #[arg(short, long)]
    count: bool,
    /// Print the paths of files that match
    #[arg(short = 'l', long, conflicts_with = "count")]
    files_with_matches: bool,
    /// Print only the parts of lines that match
    #[arg(short, long)]
    only_matching: bool,
    /// Print line numbers [default: if the output is a terminal]
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    line_number: bool,
    /// Do not print line numbers
    #[arg(short = 'N', long)]
    no_line_number: bool,
    /// Do not print paths
    #[arg(short = 'I', long)]
    no_filename: bool,
    /// Print the path of each line [default: unless a single file is searched]
    #[arg(short = 'H', long, conflicts_with = "no_filename")]
    with_filename: bool,
    /// Print paths above their lines [default: if the output is a terminal]
    #[arg(long)]
    heading: bool,
    /// Print this many lines after each match
    #[arg(short = 'A', long, value_name = "LINES", value_parser = units::count)]
    after_context: Option<u64>,
    /// Print this many lines before each match
    #[arg(short = 'B', long, value_name = "LINES", value_parser = units::count)]
    before_context: Option<u64>,
    /// Print this many lines before and after each match
    #[arg(short = 'C', long, value_name = "LINES", value_parser = units::count)]
    context: Option<u64>,
    /// Stop after this many matching lines of each file
    #[arg(short, long, value_name = "COUNT", value_parser = units::count)]
    max_count: Option<u64>,
    /// When to use colors
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: When,
    /// End paths with a NUL byte, for xargs -0
    #[arg(short = '0', long)]
    null: bool,
    /// Print nothing; only set the exit code
    #[arg(short, long)]
    quiet: bool,
    /// Print ripgrep's JSON Lines
    #[arg(long, conflicts_with_all = ["count", "files_with_matches", "only_matching"])]
    json: bool,
    #[command(flatten)]
    keys: KeysArgs,
    #[command(flatten)]
    chosen: Chosen,
    /// Report on standard error what was read and what was already indexed
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

pub(crate) fn run(mut args: Args) -> Result<Outcome> {
    let mut words = std::mem::take(&mut args.words);
    let patterns = match args.query.regexp.is_empty() {
        false => args.query.regexp.clone(),
        true => match words.remove(0).into_string() {
            Ok(pattern) => vec![pattern],
            Err(pattern) => bail!(
                "{:?} is not valid UTF-8; write bytes as (?-u)\\xFF",
                pattern.to_string_lossy()
            ),
        },
    };
    if words.is_empty() {
        bail!("no files to search; usage: bloomgrove grep PATTERN PATH...");
    }
    let paths: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();
    if let [pattern] = &patterns[..] {
        search::check_order("grep PATTERN", pattern.as_bytes(), &paths)?;
    }
    let keys = args.keys.keys(Extraction::Tokens);
    if !keys.extraction.is_searched() {
        bail!(
            "`grep` supports only --extract tokens and --extract ngrams=N; for {keys}, use `bloomgrove \
             which`"
        );
    }
    let query = args.query.query(patterns, args.fixed_strings, args.word);
    let matcher = query.matcher()?;
    let needed = match args.invert_match {
        true => Needed::UNKNOWN,
        false => query.needed(&keys.extraction)?,
    };

    let mut complaints = Complaints::default();
    let homes = search::find(&paths, &args.chosen, &keys, &mut complaints)?;
    let options = RefreshOptions {
        keys: &keys,
        fpr: None,
        save: !args.chosen.no_save,
        trust: true,
        explain: args.explain,
    };
    let mut indexes = Vec::new();
    // Where every file is read anyway, the index is of no use.
    let fresh = |home| search::refresh(home, &options, &mut complaints);
    match needed.is_unknown() {
        true => {}
        false => indexes = homes.iter().map(fresh).collect::<Result<_>>()?,
    }
    let candidates: Vec<Candidate<'_>> = match needed.is_unknown() {
        true => homes.iter().flat_map(search::all).collect(),
        false => indexes
            .iter()
            .flat_map(|index| search::candidates(index, &needed))
            .collect(),
    };
    if args.explain {
        let of = homes.iter().map(|home| home.files.len() as u64).sum();
        complain(format_args!("candidates contain: {needed}"));
        complain(format_args!(
            "{} of {} may match",
            units::grouped(candidates.len() as u64),
            units::counted(of, "file")
        ));
    }
    let style = Style::new(&args, &paths, matcher);
    let mut output = Output::new();
    let mut any = false;
    let search = |candidate: &Candidate<'_>| style.search(candidate);
    parallel::each(&candidates, search, |candidate, found| {
        match found {
            Ok(found) => {
                for printed in found {
                    let separator = style.separator.filter(|_| any).unwrap_or(b"");
                    output.bytes(&[separator, &printed])?;
                    any = true;
                }
            }
            Err(error) if is_gone(&error) => {}
            Err(error) => complaints.add_file(&candidate.wanted.path, &error),
        }
        Ok(())
    })?;
    output.finish()?;
    complaints.finish();
    interrupt::check()?;
    Ok(match (any, complaints.is_empty()) {
        (true, false) if args.quiet => Outcome::Yes,
        (_, false) => Outcome::Incomplete,
        (true, true) => Outcome::Yes,
        (false, true) => Outcome::No,
    })
}

/// How matches are searched and printed.
struct Style {
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    search: Search,
    kind: Kind,
    standard: StandardBuilder,
    summary: SummaryBuilder,
    color: bool,
    /// What stands between the lines of two files.
    separator: Option<&'static [u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lines,
    Summary,
    Json,
}

impl Style {
    fn new(args: &Args, paths: &[PathBuf], matcher: RegexMatcher) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let color = match args.color {
            When::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none(),
            When::Always => true,
            When::Never => false,
        };
        let lines = |given: Option<u64>| given.or(args.context).unwrap_or(0) as usize;
        let (before, after) = (lines(args.before_context), lines(args.after_context));
        let kind = match () {
            () if args.json => Kind::Json,
            () if args.count || args.files_with_matches || args.quiet => Kind::Summary,
            () => Kind::Lines,
        };
        let has_lines = kind == Kind::Lines;
        let numbered = args.line_number || is_terminal && has_lines || args.json;
        let is_single = matches!(paths, [only] if !only.is_dir());
        let with_path = args.with_filename || !args.no_filename && !is_single;
        let heading = args.heading || is_terminal;
        let mut searcher = SearcherBuilder::new();
        searcher
            .line_number(numbered && !args.no_line_number)
            .invert_match(args.invert_match)
            .max_matches(args.max_count);
        if has_lines || args.json {
            searcher.before_context(before).after_context(after);
        }
        let colors = ColorSpecs::new(&default_color_specs());
        let mut standard = StandardBuilder::new();
        standard
            .color_specs(colors.clone())
            .heading(heading)
            .path(with_path)
            .only_matching(args.only_matching)
            .separator_search(None)
            .separator_context(Some(b"--".to_vec()))
            .path_terminator(args.null.then_some(0));
        let mut summary = SummaryBuilder::new();
        summary
            .kind(match () {
                () if args.quiet => SummaryKind::QuietWithMatch,
                () if args.files_with_matches => SummaryKind::PathWithMatch,
                () => SummaryKind::Count,
            })
            .color_specs(colors)
            .path(with_path || args.files_with_matches)
            .exclude_zero(true)
            .path_terminator(args.null.then_some(0));
        Self {
            matcher,
            searcher,
            search: Search {
                context: (before, after),
                whole: args.json,
            },
            kind,
            standard,
            summary,
            color,
            separator: match has_lines {
                true if heading && with_path => Some(b"\n"),
                true if before + after > 0 => Some(b"--\n"),
                _ => None,
            },
        }
    }

    /// What is printed for each text of a candidate that matches.
    fn search(&self, candidate: &Candidate<'_>) -> Result<Vec<Vec<u8>>> {
        let mut searcher = candidate.searcher(&mut self.searcher.clone());
        let mut found = Vec::new();
        let searched = candidate.each_text(self.search, &mut |path, text| {
            interrupt::check()?;
            let printed = match self.color {
                true => {
                    let mut printed = Ansi::new(Vec::new());
                    let matched = self.print(&mut searcher, path, text, &mut printed)?;
                    matched.then(|| printed.into_inner())
                }
                false => {
                    let mut printed = NoColor::new(Vec::new());
                    let matched = self.print(&mut searcher, path, text, &mut printed)?;
                    matched.then(|| printed.into_inner())
                }
            };
            found.extend(printed);
            Ok(true)
        });
        match searched {
            Err(error) if found.is_empty() => Err(error),
            // What was found before the damage is printed, and the damage is reported.
            Err(error) => {
                complain(format_args!("{error:#}"));
                Ok(found)
            }
            Ok(()) => Ok(found),
        }
    }

    /// Returns whether anything matched.
    fn print(
        &self,
        searcher: &mut Searcher,
        path: &Path,
        text: &mut dyn Read,
        printed: impl WriteColor,
    ) -> Result<bool> {
        let matcher = &self.matcher;
        Ok(match self.kind {
            Kind::Lines => {
                let mut printer = self.standard.build(printed);
                let mut sink = printer.sink_with_path(matcher, path);
                searcher.search_reader(matcher, text, &mut sink)?;
                sink.has_match()
            }
            Kind::Summary => {
                let mut printer = self.summary.build(printed);
                let mut sink = printer.sink_with_path(matcher, path);
                searcher.search_reader(matcher, text, &mut sink)?;
                sink.has_match()
            }
            Kind::Json => {
                let mut printer = JSONBuilder::new().build(printed);
                let mut sink = printer.sink_with_path(matcher, path);
                searcher.search_reader(matcher, text, &mut sink)?;
                sink.has_match()
            }
        })
    }
}

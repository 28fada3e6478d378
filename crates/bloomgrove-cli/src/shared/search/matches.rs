//! Searching candidates with ripgrep's libraries, so that the answer is ripgrep's.
//!
//! Of a file in blocks, only those that may match are read. The others are replaced by as many
//! empty lines, so that line numbers are right: a pattern that matches an empty line needs no
//! keys, and then no block is left out.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use grep_printer::{SummaryBuilder, SummaryKind};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use termcolor::NoColor;

use super::candidates::{Block, Candidate, Extents};
use super::parts::{Bytes, shown};
use crate::shared::interrupt;
use crate::shared::keys::{self, Keys, text, unpack};

/// What a file is searched for.
pub(crate) enum Sought {
    Pattern(RegexMatcher),
    /// One of the keys of a file.
    Key(Vec<u8>),
}

/// How much is read around matches.
#[derive(Clone, Copy, Default)]
pub(crate) struct Search {
    /// Lines before and after a match.
    pub(crate) context: (usize, usize),
    /// Blocks that cannot match are read, too: positions in the file are reported.
    pub(crate) whole: bool,
}

impl Candidate<'_> {
    /// How a file is searched: if it was named, as text, otherwise up to its first NUL byte.
    pub(crate) fn searcher(&self, builder: &mut SearcherBuilder) -> Searcher {
        builder.binary_detection(match self.wanted.is_named {
            true => BinaryDetection::convert(0),
            false => BinaryDetection::quit(0),
        });
        builder.build()
    }

    /// Calls `each` on every text that may match, with the path to print, until it returns false.
    pub(crate) fn each_text(
        &self,
        search: Search,
        each: &mut dyn FnMut(&Path, &mut dyn Read) -> Result<bool>,
    ) -> Result<()> {
        let path = &self.wanted.path;
        let read = match &self.extents {
            Extents::Blocks(blocks) => {
                let file = File::open(path).context("opening");
                file.and_then(|file| {
                    let mut text = Blocks::new(&file, blocks, search, self.wanted.is_named);
                    each(path, &mut text).map(|_| ())
                })
            }
            extents => unpack::each_text(path, None, &mut |member, text| {
                let last = match (extents, &member) {
                    (Extents::Members(wanted), Some(member)) => {
                        let ordinal = |one: &(u64, Vec<u8>)| one.0;
                        if wanted
                            .binary_search_by_key(&member.ordinal, ordinal)
                            .is_err()
                        {
                            return Ok(true);
                        }
                        wanted.last().map(ordinal) == Some(member.ordinal)
                    }
                    _ => false,
                };
                let shown = shown(path, member.as_ref().map(|member| member.name));
                Ok(each(&shown, text)? && !last)
            }),
        };
        read.with_context(|| path.display().to_string())
    }

    /// The texts of the file that match, by the paths to print.
    pub(crate) fn matching(&self, sought: &Sought, keys: &Keys) -> Result<Vec<std::path::PathBuf>> {
        let matcher = match sought {
            Sought::Pattern(matcher) => matcher,
            Sought::Key(key) if keys.extraction.is_in_table() => {
                return self.has_value(key, keys);
            }
            Sought::Key(key) => return self.has_key(key, keys),
        };
        let mut searcher = self.searcher(&mut SearcherBuilder::new());
        let mut matching = Vec::new();
        self.each_text(Search::default(), &mut |path, text| {
            interrupt::check()?;
            // Only the printer knows that a match in a binary file does not count.
            let mut printer = SummaryBuilder::new()
                .kind(SummaryKind::QuietWithMatch)
                .build(NoColor::new(io::sink()));
            let mut sink = printer.sink(matcher);
            searcher.search_reader(matcher, text, &mut sink)?;
            if sink.has_match() {
                matching.push(path.to_owned());
            }
            Ok(true)
        })?;
        Ok(matching)
    }

    fn has_key(&self, key: &[u8], keys: &Keys) -> Result<Vec<std::path::PathBuf>> {
        let mut matching = Vec::new();
        self.each_text(Search::default(), &mut |path, source| {
            let extracted =
                text::extract(
                    text::decoded(source),
                    &keys.extraction,
                    &mut |found| match found == key {
                        true => Err(Enough.into()),
                        false => Ok(()),
                    },
                );
            match extracted {
                Err(error) if error.is::<Enough>() => matching.push(path.to_owned()),
                read => drop(read?),
            }
            Ok(true)
        })?;
        Ok(matching)
    }

    fn has_value(&self, key: &[u8], keys: &Keys) -> Result<Vec<std::path::PathBuf>> {
        let path = &self.wanted.path;
        let read = keys::read_by(path, keys, None, |values| match values.contains(&key) {
            true => Err(Enough.into()),
            false => Ok(()),
        });
        match read {
            Err(error) if error.is::<Enough>() => Ok(vec![path.clone()]),
            read => read.map(|()| Vec::new()),
        }
    }
}

/// Not an error: what was sought has been found.
#[derive(Debug)]
struct Enough;

impl std::fmt::Display for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("found")
    }
}

impl std::error::Error for Enough {}

/// A file, of which only some blocks are read.
struct Blocks<'f> {
    file: &'f File,
    rest: std::vec::IntoIter<Block>,
    current: Current<'f>,
}

enum Current<'f> {
    Read(Bytes<'f>),
    /// Empty lines in place of a block.
    Skipped(u64),
}

impl<'f> Blocks<'f> {
    fn new(file: &'f File, blocks: &[Block], search: Search, is_named: bool) -> Self {
        let mut blocks = blocks.to_vec();
        // A search up to the first NUL byte must find it.
        if let Some(binary) = blocks
            .iter()
            .position(|block| block.is_binary)
            .filter(|_| !is_named)
        {
            blocks[binary].may_match = true;
            blocks.truncate(binary + 1);
        }
        if search.whole {
            blocks.iter_mut().for_each(|block| block.may_match = true);
        }
        let matching: Vec<usize> = (0..blocks.len())
            .filter(|&at| blocks[at].may_match)
            .collect();
        for at in matching {
            let (before, after) = search.context;
            let (earlier, later) = blocks.split_at_mut(at);
            read_lines(earlier.iter_mut().rev(), before as u64);
            read_lines(later.iter_mut().skip(1), after as u64);
        }
        Self {
            file,
            rest: blocks.into_iter(),
            current: Current::Skipped(0),
        }
    }
}

/// Marks as many blocks as have these lines.
fn read_lines<'b>(blocks: impl Iterator<Item = &'b mut Block>, mut lines: u64) {
    for block in blocks {
        if lines == 0 {
            break;
        }
        block.may_match = true;
        lines = lines.saturating_sub(block.lines);
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.current {
                Current::Read(bytes) => bytes.read(buffer)?,
                Current::Skipped(lines) => {
                    let len = buffer
                        .len()
                        .min(usize::try_from(*lines).unwrap_or(usize::MAX));
                    buffer[..len].fill(b'\n');
                    *lines -= len as u64;
                    len
                }
            };
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(block) = self.rest.next() else {
                return Ok(0);
            };
            self.current = match block.may_match {
                true => Current::Read(Bytes {
                    file: self.file,
                    at: block.start,
                    end: block.end,
                }),
                false => Current::Skipped(block.lines),
            };
        }
    }
}

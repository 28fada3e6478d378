//! Questions drawn from a corpus: most of them find something.

use std::path::Path;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use regex::Regex;

use super::Result;
use super::corpus::{files_below, text_of};
use super::tools::Query;

/// What kinds there are; each is drawn equally often.
pub(crate) const KINDS: [&str; 8] = [
    "present token",
    "absent token",
    "phrase",
    "substring",
    "token, -i",
    "regex",
    "alternatives",
    "regex, -i",
];

/// Draws questions from some of the texts of a corpus.
pub(crate) struct Questions {
    texts: Vec<String>,
    word: Regex,
    random: Xoshiro256PlusPlus,
}

impl Questions {
    /// From at most `files` texts.
    pub(crate) fn new(root: &Path, files: usize, seed: u64) -> Result<Self> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let all = files_below(root)?;
        let mut texts = Vec::new();
        for _ in 0..files.min(4 * all.len()) {
            let text = text_of(&all[random.random_range(0..all.len())])?;
            let text = match text.starts_with(b"\xff\xfe") {
                true => String::from_utf16_lossy(
                    &text
                        .chunks_exact(2)
                        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                        .collect::<Vec<_>>(),
                ),
                false => String::from_utf8_lossy(&text).into_owned(),
            };
            // What cannot be an argument is not asked for.
            let text = text.replace(['\0', '\r', '\u{fffd}', '\u{feff}'], " ");
            if text.contains(char::is_alphanumeric) {
                texts.push(text);
            }
        }
        match texts.is_empty() {
            true => Err(format!("{}: no text to draw questions from", root.display()).into()),
            false => Ok(Self {
                texts,
                word: Regex::new(r"\w+")?,
                random,
            }),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end.max(1))
    }

    /// A line that has a word.
    fn line(&mut self) -> String {
        loop {
            let text = self.below(self.texts.len());
            let start = self.below(self.texts[text].len());
            let bytes = self.texts[text].as_bytes();
            let from = bytes[..start]
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |at| at + 1);
            let to = bytes[start..]
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(bytes.len(), |at| start + at);
            let line = &self.texts[text][from.min(to)..to];
            // An argument may be 128 KiB long.
            if line.len() < 4000 && self.word.is_match(line) {
                return line.to_owned();
            }
        }
    }

    fn word(&mut self) -> String {
        let line = self.line();
        let count = self.word.find_iter(&line).count();
        let at = self.below(count);
        let found = self.word.find_iter(&line).nth(at);
        found.map_or(line.clone(), |found| found.as_str().to_owned())
    }

    /// The next question, of a kind of [`KINDS`].
    pub(crate) fn draw(&mut self, kind: usize) -> Query {
        let mut query = Query {
            pattern: String::new(),
            fixed: true,
            word: true,
            ignore_case: false,
        };
        query.pattern = match kind {
            0 => self.word(),
            1 => format!("absent{}", self.random.random::<u64>()),
            2 => {
                let line = self.line();
                let bounds: Vec<usize> = self
                    .word
                    .find_iter(&line)
                    .flat_map(|word| [word.start(), word.end()])
                    .collect();
                let from = self.below(bounds.len() - 1);
                let to = from + 1 + self.below(8.min(bounds.len() - 1 - from));
                query.word = self.below(2) == 0;
                line[bounds[from]..bounds[to]].to_owned()
            }
            3 => {
                query.word = false;
                let line: Vec<char> = self.line().chars().collect();
                let from = self.below(line.len());
                let to = line.len().min(from + 3 + self.below(12));
                line[from..to].iter().collect()
            }
            4 => {
                query.ignore_case = true;
                let word = self.word();
                let upper = self.below(2) == 0;
                if upper {
                    word.to_uppercase()
                } else {
                    word.to_lowercase()
                }
            }
            5 => {
                (query.fixed, query.word) = (false, false);
                let len = 5 + self.below(55);
                let line: String = self.line().chars().take(len).collect();
                let digits = ["[0-9]+", r"\d+", ".*"][self.below(3)];
                let mut pattern = String::new();
                for part in line.split_inclusive(|c: char| c.is_ascii_digit()) {
                    let text = part.trim_end_matches(|c: char| c.is_ascii_digit());
                    pattern += &regex::escape(text);
                    if text.len() < part.len() && !pattern.ends_with(digits) {
                        pattern += digits;
                    }
                }
                pattern
            }
            6 => {
                query.fixed = false;
                query.word = self.below(2) == 0;
                format!("({}|{})", self.word(), self.word())
            }
            _ => {
                (query.fixed, query.word, query.ignore_case) = (false, false, true);
                format!(r"\b{}\s+\w+", self.word())
            }
        };
        // A blank question matches nearly every line: slow, and the same every time.
        match query.pattern.trim().is_empty() {
            true => self.draw(kind),
            false => query,
        }
    }
}

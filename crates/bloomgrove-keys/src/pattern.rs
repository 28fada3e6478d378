//! From a pattern to the keys that every match needs.
//!
//! ```text
//!   order \d+ (failed|was lost)\b
//!     |  parse                                 the syntax tree of the regex crate
//!     v
//!   order_ ? _failed|   order_ ? _was_lost|   sequences: characters, unknown parts, edges
//!     |  cut                                   complete tokens, or n-grams
//!     v
//!   any of (failed, all of (was, lost))
//! ```
//!
//! A match consists of one of the sequences. A token of a sequence is needed if it is bounded on
//! both sides by something that is certainly not a word character: `order` is not, because a text
//! may contain `reorder 7 failed`. With `--word-regexp`, a match is
//! bounded at both ends.
//!
//! Everything here errs on one side: what cannot be decided is an unknown part, and a part that is
//! unknown needs no keys.
//!
//! Cost: limited by [`LIMIT`]; a pattern with more alternatives is taken apart, and its parts are
//! analysed separately.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::chars::{fold, word};
use crate::{Error, Extraction, Needed};

/// The maximum number of sequences that a part of a pattern may have.
const LIMIT: usize = 4096;
/// The maximum that combining two parts, each with alternatives, may lead to.
const PRODUCT: usize = 64;
/// Classes with at most this many characters, folded, are alternatives.
const CLASS: usize = 8;
/// Longer sequences are cut: what comes after is not needed for a good answer.
const SYMBOLS: usize = 512;
/// How often a counted repetition is unrolled.
const UNROLLED: u32 = 8;

/// What is searched for in texts, as `grep` has it.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// The alternatives, each parsed.
    alternatives: Vec<Hir>,
    /// Whether a match begins and ends at a word boundary.
    word: bool,
    /// Whether a match is a whole line.
    line: bool,
}

/// How patterns are interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternOptions {
    /// Patterns are literal strings, not regular expressions.
    pub fixed_strings: bool,
    /// Ignore case, as `(?i)` does.
    pub ignore_case: bool,
    /// A match must begin and end at a word boundary.
    pub word: bool,
    /// A match must be a whole line.
    pub line: bool,
}

impl Pattern {
    /// Parses patterns, of which any may match.
    ///
    /// # Errors
    /// [`Error::Pattern`] if one is not a regular expression.
    pub fn new<P: AsRef<str>>(patterns: &[P], options: PatternOptions) -> Result<Self, Error> {
        let parse = |pattern: &P| match options.fixed_strings {
            true => parse(&regex_syntax::escape(pattern.as_ref()), options.ignore_case),
            false => parse(pattern.as_ref(), options.ignore_case),
        };
        Ok(Self {
            alternatives: patterns.iter().map(parse).collect::<Result<_, _>>()?,
            word: options.word,
            line: options.line,
        })
    }

    /// A literal string that occurs as whole words: what `grep -F -w` finds.
    pub fn words(text: &str) -> Self {
        let alternatives = vec![Hir::literal(text.as_bytes())];
        Self {
            alternatives,
            word: true,
            line: false,
        }
    }

    /// A regular expression.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it is not one.
    pub fn regex(pattern: &str) -> Result<Self, Error> {
        Self::new(&[pattern], PatternOptions::default())
    }

    /// The keys that a text must contain for the pattern to match in it.
    ///
    /// Only tokens and n-grams say something about parts of lines; all other extractions are
    /// queried by key, and nothing is known here.
    pub fn needed(&self, extraction: &Extraction) -> Needed {
        let cut: Cut<'_> = match extraction {
            Extraction::Tokens => &tokens_of,
            Extraction::Ngrams(n) => &|sequence| ngrams_of(sequence, usize::from(n.get())),
            _ => return Needed::UNKNOWN,
        };
        let end = match self.word || self.line {
            true => Part::of(Symbol::Edge),
            false => Part::of(Symbol::Unknown),
        };
        let alternatives = self.alternatives.iter().map(|hir| {
            let inner = Part::new(hir, cut);
            end.clone().then(inner, cut).then(end.clone(), cut)
        });
        Needed::any(
            alternatives
                .map(|part| part.needed(cut))
                .collect::<Vec<_>>(),
        )
    }
}

fn parse(pattern: &str, ignore_case: bool) -> Result<Hir, Error> {
    // As ripgrep parses: lines are searched, which need not be valid UTF-8.
    let mut parser = regex_syntax::ParserBuilder::new()
        .multi_line(true)
        .utf8(false)
        .case_insensitive(ignore_case)
        .build();
    let parsed = parser.parse(pattern);
    parsed.map_err(|error| Error::Pattern {
        message: error.to_string(),
    })
}

/// A part of a text that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    /// This character, folded.
    Char(char),
    /// One or more characters that are not word characters.
    Separator,
    /// A position with a word character on at most one side.
    Edge,
    /// Anything, or nothing.
    Unknown,
}

type Sequence = Vec<Symbol>;
/// The keys in a sequence.
type Cut<'c> = &'c dyn Fn(&[Symbol]) -> Vec<Needed>;

/// What is known of a part of a pattern: a match is one of these sequences, and meets a condition.
#[derive(Clone, Debug)]
struct Part {
    sequences: Vec<Sequence>,
    also: Vec<Needed>,
}

impl Part {
    fn of(symbol: Symbol) -> Self {
        Self {
            sequences: vec![vec![symbol]],
            also: Vec::new(),
        }
    }

    fn empty() -> Self {
        Self {
            sequences: vec![Vec::new()],
            also: Vec::new(),
        }
    }

    fn new(hir: &Hir, cut: Cut<'_>) -> Self {
        match hir.kind() {
            HirKind::Empty => Self::empty(),
            HirKind::Literal(literal) => literal_of(&literal.0),
            HirKind::Class(class) => class_of(class),
            HirKind::Look(look) => look_of(*look),
            HirKind::Repetition(repetition) => Self::repeated(repetition, cut),
            HirKind::Capture(capture) => Self::new(&capture.sub, cut),
            HirKind::Concat(parts) => parts.iter().fold(Self::empty(), |all, part| {
                all.then(Self::new(part, cut), cut)
            }),
            HirKind::Alternation(parts) => {
                Self::either(parts.iter().map(|part| Self::new(part, cut)).collect(), cut)
            }
        }
    }

    fn repeated(repetition: &Repetition, cut: Cut<'_>) -> Self {
        let once = Self::new(&repetition.sub, cut);
        let is_separator = once
            .sequences
            .iter()
            .all(|one| one[..] == [Symbol::Separator]);
        let (min, max) = (repetition.min, repetition.max);
        if max == Some(0) {
            return Self::empty();
        }
        if min == 0 {
            return match is_separator || max == Some(1) {
                true => Self::either(vec![Self::empty(), once], cut),
                false => Self::of(Symbol::Unknown),
            };
        }
        // A separator stands for several already.
        if is_separator {
            return once;
        }
        let mut all = once.clone();
        for _ in 1..min.min(UNROLLED) {
            all = all.then(once.clone(), cut);
        }
        if max == Some(min) && min <= UNROLLED {
            return all;
        }
        // Exactly that often, or more: then the last one is at the end.
        let more = all
            .clone()
            .then(Self::of(Symbol::Unknown), cut)
            .then(once, cut);
        match min <= UNROLLED {
            true => Self::either(vec![all, more], cut),
            false => more,
        }
    }

    fn then(mut self, mut next: Self, cut: Cut<'_>) -> Self {
        let (left, right) = (self.sequences.len(), next.sequences.len());
        if left * right > PRODUCT.max(left).max(right) {
            self.forget_sequences(cut);
            next.sequences
                .iter_mut()
                .for_each(|one| one.insert(0, Symbol::Unknown));
            self.sequences = next.sequences;
        } else {
            let joined = self.sequences.iter().flat_map(|left| {
                let join = move |right: &Sequence| join(left, right);
                next.sequences.iter().map(join)
            });
            self.sequences = joined.collect();
        }
        self.also.append(&mut next.also);
        self
    }

    fn either(mut parts: Vec<Self>, cut: Cut<'_>) -> Self {
        let total: usize = parts.iter().map(|part| part.sequences.len()).sum();
        if total > LIMIT || parts.iter().any(|part| !part.also.is_empty()) {
            let any = Needed::any(parts.iter().map(|part| part.loosely_needed(cut)));
            return Self {
                sequences: vec![vec![Symbol::Unknown]],
                also: vec![any],
            };
        }
        let sequences = parts
            .iter_mut()
            .flat_map(|part| std::mem::take(&mut part.sequences));
        Self {
            sequences: sequences.collect(),
            also: Vec::new(),
        }
    }

    /// Keeps what the sequences say as a condition, and begins anew.
    fn forget_sequences(&mut self, cut: Cut<'_>) {
        let needed = self.loosely_needed(cut);
        *self = Self {
            sequences: vec![vec![Symbol::Unknown]],
            also: vec![needed],
        };
    }

    /// The condition, whatever stands before and after.
    fn loosely_needed(&self, cut: Cut<'_>) -> Needed {
        let loose = |one: &Sequence| {
            let ends = [Symbol::Unknown];
            [&ends[..], one, &ends].concat()
        };
        let any = Needed::any(
            self.sequences
                .iter()
                .map(|one| Needed::all(cut(&loose(one)))),
        );
        Needed::all(self.also.iter().cloned().chain([any]))
    }

    fn needed(&self, cut: Cut<'_>) -> Needed {
        let any = Needed::any(self.sequences.iter().map(|one| Needed::all(cut(one))));
        Needed::all(self.also.iter().cloned().chain([any]))
    }
}

fn join(left: &Sequence, right: &Sequence) -> Sequence {
    let mut joined = left.clone();
    if joined.len() < SYMBOLS {
        joined.extend(right);
    } else if joined.last() != Some(&Symbol::Unknown) {
        joined.push(Symbol::Unknown);
    }
    joined
}

fn literal_of(bytes: &[u8]) -> Part {
    let symbols = match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().map(|c| Symbol::Char(fold(c))).collect(),
        // Bytes that become a character only together with their neighbours.
        Err(_) => vec![Symbol::Unknown],
    };
    Part {
        sequences: vec![symbols],
        also: Vec::new(),
    }
}

fn class_of(class: &Class) -> Part {
    // A class without members matches nothing at all; it may as well be unknown.
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) if class.is_ascii() => class
            .iter()
            .map(|range| (range.start() as char, range.end() as char))
            .collect(),
        Class::Bytes(_) => return Part::of(Symbol::Unknown),
    };
    let mut folded: Vec<char> = Vec::new();
    // Few enough characters to look at each of them, those equal except for case included.
    let few: usize = ranges
        .iter()
        .map(|&(start, end)| end as usize - start as usize + 1)
        .sum();
    if few > 4 * CLASS {
        return match has_no_word(&ranges) {
            true => Part::of(Symbol::Separator),
            false => Part::of(Symbol::Unknown),
        };
    }
    for c in ranges.iter().flat_map(|&(start, end)| start..=end) {
        if !folded.contains(&fold(c)) {
            folded.push(fold(c));
        }
    }
    match folded[..] {
        [] => Part::of(Symbol::Unknown),
        _ if folded.len() > 1 && has_no_word(&ranges) => Part::of(Symbol::Separator),
        _ if folded.len() > CLASS => Part::of(Symbol::Unknown),
        _ => Part {
            sequences: folded.into_iter().map(|c| vec![Symbol::Char(c)]).collect(),
            also: Vec::new(),
        },
    }
}

fn has_no_word(ranges: &[(char, char)]) -> bool {
    // The members of \w are far too many to be tested one by one.
    let class = ranges
        .iter()
        .map(|&(start, end)| regex_syntax::hir::ClassUnicodeRange::new(start, end));
    let mut class = regex_syntax::hir::ClassUnicode::new(class);
    let Ok(words) = parse(r"\w", false) else {
        return false;
    };
    if let HirKind::Class(Class::Unicode(words)) = words.kind() {
        class.intersect(words);
        return class.ranges().is_empty();
    }
    false
}

fn look_of(look: Look) -> Part {
    match look {
        // A line feed separates tokens, and so do the ends of a text.
        Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => {
            Part::of(Symbol::Edge)
        }
        Look::WordUnicode
        | Look::WordStartUnicode
        | Look::WordEndUnicode
        | Look::WordStartHalfUnicode
        | Look::WordEndHalfUnicode => Part::of(Symbol::Edge),
        // Where letters beyond ASCII are not words, a word boundary may be within a token.
        _ => Part::empty(),
    }
}

/// The complete tokens of a sequence.
fn tokens_of(sequence: &[Symbol]) -> Vec<Needed> {
    let is_word = |symbol: &Symbol| matches!(symbol, Symbol::Char(c) if word(*c).is_some());
    let bounds = |symbol: Option<&Symbol>| match symbol {
        Some(Symbol::Separator | Symbol::Edge) => true,
        Some(Symbol::Char(c)) => word(*c).is_none(),
        Some(Symbol::Unknown) | None => false,
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < sequence.len() {
        if !is_word(&sequence[at]) {
            at += 1;
            continue;
        }
        let len = sequence[at..]
            .iter()
            .take_while(|symbol| is_word(symbol))
            .count();
        let before = at.checked_sub(1).and_then(|before| sequence.get(before));
        if bounds(before) && bounds(sequence.get(at + len)) {
            tokens.push(key_of(&sequence[at..at + len]));
        }
        at += len;
    }
    tokens
}

/// The n-grams of a sequence.
fn ngrams_of(sequence: &[Symbol], n: usize) -> Vec<Needed> {
    let is_char = |symbol: &Symbol| matches!(symbol, Symbol::Char(_));
    // An edge is between characters.
    let sequence: Vec<Symbol> = sequence
        .iter()
        .copied()
        .filter(|&one| one != Symbol::Edge)
        .collect();
    let windows = sequence
        .windows(n)
        .filter(|window| window.iter().all(is_char));
    windows.map(key_of).collect()
}

fn key_of(symbols: &[Symbol]) -> Needed {
    let chars = symbols.iter().filter_map(|symbol| match symbol {
        Symbol::Char(c) => Some(*c),
        _ => None,
    });
    Needed::Key(chars.collect::<String>().into_bytes())
}

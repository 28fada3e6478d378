//! The names that may be in a filter: which of them are, a filter can only be asked.
//!
//! ```text
//!   range      0..10_000_000                  nothing is held
//!   integers   3, 17, 204, ...                about 17 bits each (`integers`)
//!   texts      ada, alan, barbara, ...        the text, and half a byte each (`lines`)
//!                 |        |        |
//!   rank          0        1        2         names are numbered, and found by number
//! ```
//!
//! A namespace is made of parts: names that come into use later are a part of their own, so
//! that the numbers of the others stay. Parts are merged as they pile up, lists with lists and ranges
//! with those they follow or, while they are short, with lists: so they stay few.
//!
//! Lists must be sorted and free of repetitions. That is checked, because a name that is there
//! twice would be drawn twice as often, and it needs no memory.
//!
//! Source: Sengupta et al. (sampling), sections 3.2 and 5.2.

mod grow;
mod integers;
mod key;
mod lines;
mod part;

pub(in crate::sample) use integers::Integers;
pub(in crate::sample) use key::Keys;
pub(in crate::sample) use lines::Lines;
pub(in crate::sample) use part::Part;

use std::fmt;
use std::ops::Range;
use std::path::Path;

use lines::Disorder;

use crate::hash::Key;
use crate::params::probe::Positions;
use crate::{Error, Family, Params};

/// A name: what was, or may have been, put into a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// Of a range or a list of integers.
    Integer(u64),
    /// Of a list of texts; it need not be UTF-8.
    Text(Vec<u8>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Integer(number) => number.fmt(f),
            Name::Text(text) => String::from_utf8_lossy(text).fmt(f),
        }
    }
}

/// How a name becomes the key that the filter was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// An integer, as the 8 little-endian bytes of a `u64`.
    Binary,
    /// An integer, as its decimal digits.
    Decimal,
    /// A text, as it is.
    Text,
}

/// A part of a namespace: names that came together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// All integers of a range.
    Range(Range<u64>),
    /// So many integers of a list.
    Integers(u64),
    /// So many texts.
    Texts(u64),
}

/// A set of names, each with a number from 0 on, its rank.
///
/// ```
/// use bloomgrove::sample::Namespace;
///
/// let ids = Namespace::range(0..1_000_000)?;
/// let mut users = Namespace::occupied(0..2_200_000_000, [17, 204, 9_000_001])?;
/// users.add(Namespace::integers([18, 204])?)?;
/// assert_eq!((ids.len(), users.len()), (1_000_000, 4));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Namespace {
    spelling: Spelling,
    /// Where integers may lie that are not in use yet.
    bounds: Option<Range<u64>>,
    parts: Vec<Part>,
    /// The rank of each part's first name, and of the first beyond the last.
    starts: Vec<u64>,
}

impl Namespace {
    /// All integers of a range.
    ///
    /// # Errors
    /// [`Error::Namespace`] when there is none in it.
    pub fn range(names: Range<u64>) -> Result<Self, Error> {
        if names.is_empty() {
            return Err(Error::namespace(format!(
                "there is no number in {}..{}; the end comes after the last one",
                names.start, names.end
            )));
        }
        Ok(Self::of_parts(Spelling::Binary, vec![Part::Range(names)]))
    }

    /// A rising list of integers.
    ///
    /// # Errors
    /// [`Error::Namespace`] when it is empty, not sorted, or has one twice.
    pub fn integers(names: impl IntoIterator<Item = u64>) -> Result<Self, Error> {
        let mut builder = integers::Builder::default();
        for (i, name) in names.into_iter().enumerate() {
            if name == u64::MAX {
                // Ranges, whose end is not in them, could not hold it.
                return Err(Error::namespace("the largest integer may be 2^64 - 2"));
            }
            builder.push(name).map_err(|last| {
                Error::namespace(format!(
                    "line {} is {name}, and comes after {last}; {}",
                    i + 1,
                    order(name == last, "by value (sort -n -u)")
                ))
            })?;
        }
        let integers = builder.finish()?;
        if integers.len() == 0 {
            return Err(Error::namespace("the list is empty"));
        }
        Ok(Self::of_parts(
            Spelling::Binary,
            vec![Part::Integers(integers)],
        ))
    }

    /// Those integers of a range that are in use, rising; more may come with
    /// [`add`](Self::add).
    ///
    /// # Errors
    /// As [`integers`](Self::integers), and when one is outside the range.
    pub fn occupied(
        within: Range<u64>,
        names: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        let mut namespace = Self::integers(names)?;
        namespace.bounds = Some(within);
        namespace.check_bounds(&namespace)?;
        Ok(namespace)
    }

    /// A sorted list of texts, one to a line.
    ///
    /// # Errors
    /// [`Error::Namespace`] when it is empty, not sorted by bytes, or has a line twice.
    pub fn texts(text: Vec<u8>) -> Result<Self, Error> {
        Self::of_lines(Lines::of_text(text)?)
    }

    /// A sorted list of texts, one to a line, in a file. Above 256 MB the file is not read but
    /// mapped, and must not be changed in place while the namespace lives.
    ///
    /// # Errors
    /// As [`texts`](Self::texts), and when the file cannot be read.
    pub fn text_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::of_lines(Lines::of_file(path)?).map_err(Error::in_file(path))
    }

    fn of_lines(lines: Result<Lines, Disorder>) -> Result<Self, Error> {
        let lines = lines.map_err(|disorder| {
            let shown = |line: &[u8]| {
                let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
                text.escape_debug().to_string()
            };
            Error::namespace(format!(
                "line {} is \"{}\", and comes after \"{}\"; {}",
                disorder.line,
                shown(&disorder.after),
                shown(&disorder.before),
                order(
                    disorder.before == disorder.after,
                    "of texts by bytes (LC_ALL=C sort -u)"
                )
            ))
        })?;
        if lines.len() == 0 {
            return Err(Error::namespace("the list is empty"));
        }
        Ok(Self::of_parts(Spelling::Text, vec![Part::Lines(lines)]))
    }

    pub(in crate::sample) fn of_parts(spelling: Spelling, parts: Vec<Part>) -> Self {
        let mut namespace = Self {
            spelling,
            bounds: None,
            parts,
            starts: Vec::new(),
        };
        namespace.count();
        namespace
    }

    fn count(&mut self) {
        let lens = self.parts.iter().scan(0u64, |at, part| {
            *at = at.saturating_add(part.len());
            Some(*at)
        });
        self.starts = std::iter::once(0).chain(lens).collect();
    }

    /// The same names, as the decimal digits that a filter built from lines of text was given.
    ///
    /// # Errors
    /// [`Error::Namespace`] for texts, which have one spelling only.
    pub fn in_decimal(mut self) -> Result<Self, Error> {
        if self.spelling == Spelling::Text {
            return Err(Error::namespace("texts cannot be spelled as integers"));
        }
        self.spelling = Spelling::Decimal;
        Ok(self)
    }

    /// How names become keys.
    pub fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// How many names there are.
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Never: a namespace has at least one name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held in memory or mapped.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// What it is made of.
    pub fn forms(&self) -> Vec<Form> {
        let form = |part: &Part| match part {
            Part::Range(range) => Form::Range(range.clone()),
            Part::Integers(integers) => Form::Integers(integers.len()),
            Part::Lines(lines) => Form::Texts(lines.len()),
        };
        self.parts.iter().map(form).collect()
    }

    /// The name of a rank.
    ///
    /// # Panics
    /// If there are not that many names.
    pub fn name(&self, rank: u64) -> Name {
        let (part, rank) = self.place(rank);
        self.parts[part].name(rank)
    }

    /// The rank of an integer, if it is in the namespace.
    pub(in crate::sample) fn rank_of(&self, number: u64) -> Option<u64> {
        self.ranked(|part| part.rank_of(number))
    }

    /// The rank of a text, if it is in the namespace.
    pub(in crate::sample) fn rank_of_text(&self, text: &[u8]) -> Option<u64> {
        self.ranked(|part| part.rank_of_text(text))
    }

    fn ranked(&self, find: impl Fn(&Part) -> Option<u64>) -> Option<u64> {
        let parts = self.parts.iter().zip(&self.starts);
        parts
            .filter_map(|(part, start)| Some(start + find(part)?))
            .next()
    }

    pub(in crate::sample) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The rank of the first name of a part.
    pub(in crate::sample) fn start_of(&self, part: usize) -> u64 {
        self.starts[part]
    }

    /// The part of a rank, and the rank in it.
    #[inline]
    pub(in crate::sample) fn place(&self, rank: u64) -> (usize, u64) {
        if self.parts.len() == 1 {
            return (0, rank);
        }
        let part = self.starts.partition_point(|&start| start <= rank) - 1;
        (part, rank - self.starts[part])
    }

    /// The smallest range that all integers are in; None for texts.
    pub fn span(&self) -> Option<Range<u64>> {
        if self.spelling == Spelling::Text {
            return None;
        }
        let first = self.parts.iter().map(|part| part.integer(0)).min()?;
        let last = self
            .parts
            .iter()
            .map(|part| part.integer(part.len() - 1))
            .max()?;
        // A damaged file may have a list that does not rise.
        Some(first..last.saturating_add(1).max(first))
    }

    /// For each part, the ranks of its names that lie in `within`; all without it.
    ///
    /// # Errors
    /// [`Error::Namespace`] for texts.
    pub(in crate::sample) fn windows(
        &self,
        within: Option<&Range<u64>>,
    ) -> Result<Vec<Range<u64>>, Error> {
        let parts = self.parts.iter().zip(&self.starts);
        let Some(within) = within else {
            return Ok(parts
                .map(|(part, start)| *start..start + part.len())
                .collect());
        };
        if self.spelling == Spelling::Text {
            return Err(Error::namespace(
                "a range of integers cannot restrict a list of texts",
            ));
        }
        let window = |(part, start): (&Part, &u64)| {
            let low = part.below(within.start);
            start + low..start + part.below(within.end).max(low)
        };
        Ok(parts.map(window).collect())
    }

    /// That filters of these parameters can have been given such names.
    pub(in crate::sample) fn check_family(&self, params: &Params) -> Result<(), Error> {
        match (params.family(), self.spelling) {
            (Family::Affine(_), Spelling::Text | Spelling::Decimal) => Err(Error::namespace(
                "the filter hashes integers by affine functions, and these names are texts; \
                 give a range or a list of integers",
            )),
            _ => Ok(()),
        }
    }

    /// How many parts are lists, in which a name has to be sought.
    pub(in crate::sample) fn lists(&self) -> usize {
        let is_list = |part: &&Part| !matches!(part, Part::Range(_));
        self.parts.iter().filter(is_list).count()
    }

    pub(in crate::sample) fn bounds(&self) -> Option<&Range<u64>> {
        self.bounds.as_ref()
    }

    pub(in crate::sample) fn set_bounds(&mut self, bounds: Range<u64>) {
        self.bounds = Some(bounds);
    }

    /// The first two positions of a name.
    pub(in crate::sample) fn positions(&self, rank: u64, params: &Params) -> (u64, u64) {
        let mut found = (0, 0);
        let mut of = |bytes: &[u8]| found = Positions::new(params, bytes).first_two(params);
        self.with_keys(&[rank], |keys| match keys {
            Keys::Binary(keys) => keys[0].with_bytes(&mut of),
            Keys::Decimal(keys) => keys[0].with_bytes(&mut of),
            Keys::Text(keys) => keys[0].with_bytes(&mut of),
        });
        found
    }

    fn check_bounds(&self, names: &Namespace) -> Result<(), Error> {
        let (Some(bounds), Some(span)) = (&self.bounds, names.span()) else {
            return Ok(());
        };
        if bounds.start <= span.start && span.end <= bounds.end {
            return Ok(());
        }
        Err(Error::namespace(format!(
            "names from {} to {} do not all lie in {}..{}",
            span.start,
            span.end.saturating_sub(1),
            bounds.start,
            bounds.end
        )))
    }
}

/// What to do about a list that is out of order.
fn order(repeated: bool, how: &str) -> String {
    match repeated {
        true => format!("a name may be there only once: sort the list {how}"),
        false => format!("sort the list {how}"),
    }
}

#[cfg(test)]
mod tests;

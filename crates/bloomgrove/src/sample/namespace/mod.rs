//! Namespaces: the names that may be in a filter.
//!
//! ```text
//!   range      0..10_000_000                  nothing is stored
//!   integers   3, 17, 204, ...                about 17 bits each (`integers`)
//!   texts      ada, alan, barbara, ...        the text plus half a byte each (`lines`)
//!                 |        |        |
//!   rank          0        1        2         names are numbered and looked up by number
//! ```
//!
//! A filter cannot list its items, only test a given name; a namespace supplies the names to
//! test.
//!
//! A namespace is made of parts. Names added later form a new part, so the numbers of the
//! others stay the same. Parts are merged as they accumulate, so there are never many: lists
//! with lists, and ranges with adjacent ranges or, while they are short, with lists.
//!
//! Lists must be sorted and free of duplicates. This is checked, because a name that appears
//! twice would be drawn twice as often, and because the check needs no memory.
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

/// A name: what was, or may have been, inserted into a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// From a range or a list of integers.
    Integer(u64),
    /// From a list of strings; it need not be UTF-8.
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

/// How a name is converted to the key that was inserted into the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// An integer as the 8 little-endian bytes of a `u64`.
    Binary,
    /// An integer as its decimal digits.
    Decimal,
    /// A text, unchanged.
    Text,
}

/// A part of a namespace: names that were added together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// All integers of a range.
    Range(Range<u64>),
    /// A list of integers, with its length.
    Integers(u64),
    /// A list of strings, with its length.
    Texts(u64),
}

/// A set of names, numbered from 0. The number of a name is its rank.
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
    /// The range that all integers must be in, including those added later.
    bounds: Option<Range<u64>>,
    parts: Vec<Part>,
    /// The rank of each part's first name, followed by the total number of names.
    starts: Vec<u64>,
}

impl Namespace {
    /// Creates a namespace of all integers of a range.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the range is empty.
    pub fn range(names: Range<u64>) -> Result<Self, Error> {
        if names.is_empty() {
            return Err(Error::namespace(format!(
                "{}..{} contains no integers; the end is exclusive and must be greater than the \
                 start",
                names.start, names.end
            )));
        }
        Ok(Self::of_parts(Spelling::Binary, vec![Part::Range(names)]))
    }

    /// Creates a namespace from an ascending list of integers.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the list is empty, not sorted, or contains duplicates.
    pub fn integers(names: impl IntoIterator<Item = u64>) -> Result<Self, Error> {
        let mut builder = integers::Builder::default();
        for (i, name) in names.into_iter().enumerate() {
            if name == u64::MAX {
                // A range excludes its end, so it could not contain this integer.
                return Err(Error::namespace(
                    "2^64 - 1 cannot be a name; the largest integer allowed is 2^64 - 2",
                ));
            }
            builder.push(name).map_err(|last| {
                Error::namespace(format!(
                    "line {} is {name}, but the line before it is {last}; {}",
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

    /// Creates a namespace of those integers of a range that are in use, in ascending order;
    /// more can be added with [`add`](Self::add).
    ///
    /// # Errors
    /// As for [`integers`](Self::integers), and if an integer is outside the range.
    pub fn occupied(
        within: Range<u64>,
        names: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        let mut namespace = Self::integers(names)?;
        namespace.bounds = Some(within);
        namespace.check_bounds(&namespace)?;
        Ok(namespace)
    }

    /// Creates a namespace from a sorted list of strings, one per line.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the list is empty, not sorted by bytes, or contains duplicates.
    pub fn texts(text: Vec<u8>) -> Result<Self, Error> {
        Self::of_lines(Lines::of_text(text)?)
    }

    /// Creates a namespace from a file with a sorted list of strings, one per line. A file larger
    /// than 256 MB is mapped instead of read, and must not be changed in place while the
    /// namespace exists.
    ///
    /// # Errors
    /// As for [`texts`](Self::texts), and if the file cannot be read.
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
                "line {} is \"{}\", but the line before it is \"{}\"; {}",
                disorder.line,
                shown(&disorder.after),
                shown(&disorder.before),
                order(
                    disorder.before == disorder.after,
                    "by bytes (LC_ALL=C sort -u)"
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

    /// Returns the same names, spelled as decimal digits, as in a filter built from lines of
    /// text.
    ///
    /// # Errors
    /// [`Error::Namespace`] for strings, which have only one spelling.
    pub fn in_decimal(mut self) -> Result<Self, Error> {
        if self.spelling == Spelling::Text {
            return Err(Error::namespace(
                "strings cannot be spelled as decimal integers",
            ));
        }
        self.spelling = Spelling::Decimal;
        Ok(self)
    }

    /// Returns how names are converted to keys.
    pub fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// Returns the number of names.
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns false: a namespace has at least one name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the size in bytes, in memory or mapped.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// Returns the form of each part.
    pub fn forms(&self) -> Vec<Form> {
        let form = |part: &Part| match part {
            Part::Range(range) => Form::Range(range.clone()),
            Part::Integers(integers) => Form::Integers(integers.len()),
            Part::Lines(lines) => Form::Texts(lines.len()),
        };
        self.parts.iter().map(form).collect()
    }

    /// Returns the name with this rank.
    ///
    /// # Panics
    /// If there are not that many names.
    pub fn name(&self, rank: u64) -> Name {
        let (part, rank) = self.place(rank);
        self.parts[part].name(rank)
    }

    /// Returns the rank of an integer, if it is in the namespace.
    pub(in crate::sample) fn rank_of(&self, number: u64) -> Option<u64> {
        self.ranked(|part| part.rank_of(number))
    }

    /// Returns the rank of a string, if it is in the namespace.
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

    /// Returns the rank of the first name of a part.
    pub(in crate::sample) fn start_of(&self, part: usize) -> u64 {
        self.starts[part]
    }

    /// Returns the part that contains a rank, and the rank within that part.
    #[inline]
    pub(in crate::sample) fn place(&self, rank: u64) -> (usize, u64) {
        if self.parts.len() == 1 {
            return (0, rank);
        }
        let part = self.starts.partition_point(|&start| start <= rank) - 1;
        (part, rank - self.starts[part])
    }

    /// Returns the smallest range that contains all integers; `None` for strings.
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
        // In a damaged file, a list may not be ascending.
        Some(first..last.saturating_add(1).max(first))
    }

    /// Returns, for each part, the ranks of its names that are in `within`, or all of them
    /// without it.
    ///
    /// # Errors
    /// [`Error::Namespace`] for strings.
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
                "a range of integers cannot restrict a list of strings",
            ));
        }
        let window = |(part, start): (&Part, &u64)| {
            let low = part.below(within.start);
            start + low..start + part.below(within.end).max(low)
        };
        Ok(parts.map(window).collect())
    }

    /// Checks that filters with these parameters can contain such names.
    pub(in crate::sample) fn check_family(&self, params: &Params) -> Result<(), Error> {
        match (params.family(), self.spelling) {
            (Family::Affine(_), Spelling::Text | Spelling::Decimal) => Err(Error::namespace(
                "the filter uses affine functions, which hash integers only, but these names are \
                 strings; pass a range or a list of integers",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the number of parts that are lists, in which a name must be searched for.
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

    /// Returns the first two positions of a name.
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
            "the names from {} to {} are not all within {}..{}",
            span.start,
            span.end.saturating_sub(1),
            bounds.start,
            bounds.end
        )))
    }
}

/// Returns advice on how to fix a list that is out of order.
fn order(repeated: bool, how: &str) -> String {
    match repeated {
        true => format!("a name may appear only once: sort the list {how}"),
        false => format!("sort the list {how}"),
    }
}

#[cfg(test)]
mod tests;

//! Adding names to a namespace.

use std::ops::Range;

use super::integers::Builder;
use super::lines::push_line;
use super::{Integers, Lines, Namespace, Part, Spelling};
use crate::Error;

/// Ranges with at most this many names become lists when they are merged.
const LISTED: u64 = 1 << 16;

/// The result of adding names.
pub(in crate::sample) struct Growth {
    /// The number of parts, from the first, that are unchanged.
    pub(in crate::sample) kept: usize,
    /// The parts that follow them; empty if no name is new.
    pub(in crate::sample) fresh: Namespace,
    /// The number of new names.
    pub(in crate::sample) added: u64,
}

impl Namespace {
    /// Adds names and returns how many are new; names already present are skipped. The ranks of
    /// names may change.
    ///
    /// # Errors
    /// [`Error::Namespace`] if the result would mix integers and strings, or if a name is outside
    /// the range of [`occupied`](Self::occupied).
    pub fn add(&mut self, more: Namespace) -> Result<u64, Error> {
        let growth = self.grown(more)?;
        let added = growth.added;
        self.apply(growth);
        Ok(added)
    }

    /// Returns the result of adding more names.
    pub(in crate::sample) fn grown(&self, more: Namespace) -> Result<Growth, Error> {
        if (self.spelling == Spelling::Text) != (more.spelling == Spelling::Text) {
            return Err(Error::namespace(
                "a namespace cannot contain both integers and strings",
            ));
        }
        self.check_bounds(&more)?;
        let mut fresh = Vec::new();
        for part in more.parts {
            fresh.extend(self.fresh(part)?);
        }
        let added = fresh.iter().map(Part::len).sum();
        // Parts of similar size are merged, so each name moves about log N times in total.
        let mut kept = self.parts.len();
        while let Some(last) = fresh.last() {
            let own = kept.checked_sub(1).map(|at| &self.parts[at]);
            let one = match &fresh[..] {
                [.., one, _] => one,
                _ => match own {
                    Some(one) => one,
                    None => break,
                },
            };
            if 2 * last.len() < one.len() {
                break;
            }
            let Some(merged) = merge(one, last)? else {
                break;
            };
            fresh.pop();
            if fresh.pop().is_none() {
                kept -= 1;
            }
            fresh.push(merged);
        }
        Ok(Growth {
            kept,
            fresh: Namespace::of_parts(self.spelling, fresh),
            added,
        })
    }

    pub(in crate::sample) fn apply(&mut self, growth: Growth) {
        self.parts.truncate(growth.kept);
        self.parts.extend(growth.fresh.parts);
        self.count();
    }

    /// Returns the names of a part that are not in this namespace.
    fn fresh(&self, part: Part) -> Result<Vec<Part>, Error> {
        let known = |number: &u64| self.rank_of(*number).is_some();
        match part {
            Part::Range(range) if self.parts.iter().all(|p| matches!(p, Part::Range(_))) => {
                Ok(self.without_ranges(range))
            }
            Part::Lines(lines) => {
                let mut text = Vec::new();
                for line in lines
                    .from(0)
                    .filter(|line| self.rank_of_text(line).is_none())
                {
                    push_line(&mut text, line);
                }
                let lines = lines_of(text)?;
                Ok((lines.len() > 0)
                    .then_some(Part::Lines(lines))
                    .into_iter()
                    .collect())
            }
            integers => {
                let all = (0..integers.len()).map(|rank| integers.integer(rank));
                let fresh = all.filter(|number| !known(number));
                Ok(listed(fresh)?.into_iter().collect())
            }
        }
    }

    /// Returns the names of a range that are in none of our ranges.
    fn without_ranges(&self, range: Range<u64>) -> Vec<Part> {
        let mut left = vec![range];
        for part in &self.parts {
            let Part::Range(taken) = part else { continue };
            left = left
                .into_iter()
                .flat_map(|range| {
                    let before = range.start..range.end.min(taken.start);
                    let after = range.start.max(taken.end)..range.end;
                    [before, after]
                })
                .filter(|range| !range.is_empty())
                .collect();
        }
        left.into_iter().map(Part::Range).collect()
    }
}

fn listed(numbers: impl Iterator<Item = u64>) -> Result<Option<Part>, Error> {
    let mut builder = Builder::default();
    for number in numbers {
        // They come from one ascending list or from two merged ones, unless a file is damaged.
        builder.push(number).map_err(|_| out_of_order())?;
    }
    let list = builder.finish()?;
    Ok((list.len() > 0).then_some(Part::Integers(list)))
}

/// Merges two parts into one; `None` if they differ in kind, or are ranges that are not
/// adjacent and too long for a list.
fn merge(one: &Part, other: &Part) -> Result<Option<Part>, Error> {
    match (one, other) {
        (Part::Range(one), Part::Range(other)) if one.end == other.start => {
            Ok(Some(Part::Range(one.start..other.end)))
        }
        (Part::Range(_), Part::Range(_) | Part::Integers(_))
        | (Part::Integers(_), Part::Range(_))
            if one.len() + other.len() <= LISTED =>
        {
            let numbers = |part| (0..Part::len(part)).map(move |rank| part.integer(rank));
            listed(merged(numbers(one), numbers(other)))
        }
        (Part::Integers(one), Part::Integers(other)) => {
            let numbers = |list| (0..Integers::len(list)).map(move |rank| list.get(rank));
            listed(merged(numbers(one), numbers(other)))
        }
        (Part::Lines(one), Part::Lines(other)) => {
            let mut text = Vec::with_capacity(one.text().len() + other.text().len());
            for line in merged(one.from(0), other.from(0)) {
                push_line(&mut text, line);
            }
            lines_of(text).map(|lines| Some(Part::Lines(lines)))
        }
        _ => Ok(None),
    }
}

fn lines_of(text: Vec<u8>) -> Result<Lines, Error> {
    Lines::of_text(text)?.map_err(|_| out_of_order())
}

fn out_of_order() -> Error {
    Error::namespace("a list of names is out of order")
}

/// Merges two ascending sequences.
fn merged<T: Ord>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b < a => other.next(),
        (Some(_), _) => one.next(),
        _ => other.next(),
    })
}

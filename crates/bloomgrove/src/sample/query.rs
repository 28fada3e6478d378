//! Queries: a filter, or filters joined by "and" and "or".
//!
//! ```text
//!   A & B    a name that both A and B accept: as accurate as the filter of the common bits
//!   A | B    a name that A or B accepts: more accurate than the filter of all bits, which
//!            also accepts names with some bits from A and the others from B
//! ```
//!
//! Each name is tested against the filters themselves. In addition, a query stores one filter's
//! worth of words: the bits that a member's first positions can be on. They lead to the
//! candidates.
//!
//! The expected number of members is the n items that are in the set plus the false positives
//! among the other M - n names (Sengupta et al., section 5.4, for one filter).

use std::fmt;

use super::namespace::Keys;
use crate::bits::{self, Words};
use crate::tune::math;
use crate::{Error, Filter, Key, Params};

/// A filter or an expression of filters, to draw from or to reconstruct.
///
/// ```
/// use bloomgrove::{Filter, Params, sample::Query};
///
/// let params = Params::for_items(1000, 0.01)?;
/// let [mut a, mut b] = [Filter::new(params.clone())?, Filter::new(params)?];
/// a.insert_batch(&[1u64, 2, 3]);
/// b.insert_batch(&[3u64, 4]);
///
/// let both = Query::of(&a).and(Query::of(&b))?;
/// assert!(both.contains(&3u64) && !both.contains(&4u64));
/// let either = Query::of(&a).or(Query::of(&b))?;
/// assert!(either.contains(&1u64) && either.contains(&4u64));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Query<'f> {
    params: Params,
    node: Node<'f>,
    /// A member's positions are all among these bits.
    words: Bits<'f>,
    expected: Expected,
}

#[derive(Debug)]
enum Node<'f> {
    Filter(Filter<&'f [u64]>),
    And(Box<(Node<'f>, Node<'f>)>),
    Or(Box<(Node<'f>, Node<'f>)>),
}

enum Bits<'f> {
    Borrowed(&'f [u64]),
    Owned(Words),
}

impl AsRef<[u64]> for Bits<'_> {
    fn as_ref(&self) -> &[u64] {
        match self {
            Bits::Borrowed(words) => words,
            Bits::Owned(words) => words.as_ref(),
        }
    }
}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({} words)", self.as_ref().len())
    }
}

/// What can be expected from the bits, independent of the namespace.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// Items in the set.
    items: f64,
    /// Items of the operands that are false positives.
    mistaken: f64,
    /// Items of all operands together.
    known: f64,
    /// The probability that any other name is accepted.
    fpr: f64,
    ones: u64,
}

/// The estimated number of names that a query accepts, and how many of them were inserted. It
/// is computed from the bits, before any name is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The number of names of the namespace that are accepted.
    pub members: f64,
    /// The number of those that were inserted, if the namespace contains all inserted names.
    pub items: f64,
    /// `items / members`: the probability that a member drawn is an item. NaN if no members are
    /// expected, or if every bit is set, in which case the filter says nothing about its items.
    pub accuracy: f64,
}

impl Estimate {
    /// Scales the estimate to a share of the names.
    pub(in crate::sample) fn times(self, share: f64) -> Self {
        Self {
            members: self.members * share,
            items: self.items * share,
            accuracy: self.accuracy,
        }
    }
}

impl<'f> Query<'f> {
    /// Creates a query for the members of one filter.
    pub fn of<S: AsRef<[u64]>>(filter: &'f Filter<S>) -> Self {
        let words = filter.words();
        let params = filter.params().clone();
        let items = filter.estimated_items();
        Self {
            params,
            node: Node::Filter(filter.into()),
            words: Bits::Borrowed(words),
            expected: Expected {
                items,
                mistaken: 0.0,
                known: items,
                fpr: filter.expected_fpr(),
                ones: filter.count_ones(),
            },
        }
    }

    /// Returns a query for the members of both queries.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the parameters differ, [`Error::OutOfMemory`].
    pub fn and(self, other: Query<'f>) -> Result<Self, Error> {
        self.params.check_equal(&other.params)?;
        let (a, b) = (self.expected, other.expected);
        let either = self.items_of(bits::or_count(self.words(), other.words()));
        let common = match a.items + b.items - either {
            // Two full filters: as far as can be told, all items of the smaller.
            unknown if unknown.is_nan() => a.items.min(b.items),
            common => common.clamp(0.0, a.items.min(b.items)),
        };
        let alone = |items: f64, fpr: f64| {
            let alone = (items - common) * fpr;
            if alone.is_nan() { 0.0 } else { alone }
        };
        let mistaken = a.mistaken.min(b.mistaken) + alone(a.items, b.fpr) + alone(b.items, a.fpr);
        let known = a.known + b.known - common;
        self.join(other, bits::and_assign, Node::And, |_, fpr| Expected {
            items: common,
            mistaken,
            known,
            fpr,
            ones: 0,
        })
    }

    /// Returns a query for the members of either query.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the parameters differ, [`Error::OutOfMemory`].
    pub fn or(self, other: Query<'f>) -> Result<Self, Error> {
        self.params.check_equal(&other.params)?;
        let (a, b) = (self.expected, other.expected);
        let by_both = bits::and_count(self.words(), other.words());
        let both = self.params.fill(by_both).powi(self.params.hashes() as i32);
        self.join(other, bits::or_assign, Node::Or, |either, _| Expected {
            // At least as many as in one operand; if an operand is an intersection, it has more
            // bits than its items would set.
            items: either.min(a.items + b.items).max(a.items.max(b.items)),
            mistaken: a.mistaken + b.mistaken,
            known: either.min(a.known + b.known).max(a.known.max(b.known)),
            fpr: (a.fpr + b.fpr - both).clamp(0.0, 1.0),
            ones: 0,
        })
    }

    fn join(
        self,
        other: Query<'f>,
        combine: fn(&mut [u64], &[u64]),
        node: fn(Box<(Node<'f>, Node<'f>)>) -> Node<'f>,
        expect: impl FnOnce(f64, f64) -> Expected,
    ) -> Result<Self, Error> {
        // The operand that owns its words provides them; those of the other are dropped.
        let (mut words, with) = match (self.words, other.words) {
            (Bits::Owned(words), with) | (with, Bits::Owned(words)) => (words, with),
            (Bits::Borrowed(words), with) => (Words::copy_of(words)?, with),
        };
        combine(words.as_mut(), with.as_ref());
        let filter = Filter::from_words(self.params.clone(), words.as_ref())?;
        let ones = filter.count_ones();
        let expected = expect(filter.estimated_items(), filter.expected_fpr());
        Ok(Self {
            params: self.params,
            node: node(Box::new((self.node, other.node))),
            words: Bits::Owned(words),
            expected: Expected { ones, ..expected },
        })
    }

    /// Returns the same query, borrowed.
    pub(in crate::sample) fn reborrow(&self) -> Query<'_> {
        Query {
            params: self.params.clone(),
            node: self.node.reborrow(),
            words: Bits::Borrowed(self.words.as_ref()),
            expected: self.expected,
        }
    }

    /// Returns the parameters that all filters share.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns whether the key is a member.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.node.contains(key)
    }

    /// Returns the expected number of members and items among `names` names.
    pub fn estimate(&self, names: u64) -> Estimate {
        let all = names as f64;
        let Expected {
            items,
            mistaken,
            known,
            fpr,
            ones,
        } = self.expected;
        if ones == 0 {
            return Estimate {
                members: 0.0,
                items: 0.0,
                accuracy: f64::NAN,
            };
        }
        let known_items = items.is_finite();
        let items = items.min(all);
        let others = (all - known.min(all)).max(0.0);
        let members = (items + mistaken + others * fpr).min(all);
        Estimate {
            members,
            items,
            accuracy: match known_items {
                true => items / members,
                false => f64::NAN,
            },
        }
    }

    /// Returns the share of bits that a member's positions can be on.
    pub fn fill(&self) -> f64 {
        self.params.fill(self.expected.ones)
    }

    /// Returns the number of those bits.
    pub(in crate::sample) fn ones(&self) -> u64 {
        self.expected.ones
    }

    pub(in crate::sample) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(in crate::sample) fn contains_keys(&self, keys: Keys, found: &mut Vec<bool>) {
        match keys {
            Keys::Binary(keys) => self.node.contains_batch(keys, found),
            Keys::Decimal(keys) => self.node.contains_batch(keys, found),
            Keys::Text(keys) => self.node.contains_batch(keys, found),
        }
    }

    fn items_of(&self, ones: u64) -> f64 {
        let (params, fill) = (&self.params, self.params.fill(ones));
        math::items_for_fill(params.bits(), params.hashes(), fill)
    }
}

impl<'f> From<&'f Query<'_>> for Query<'f> {
    fn from(query: &'f Query<'_>) -> Self {
        query.reborrow()
    }
}

impl<'f, S: AsRef<[u64]>> From<&'f Filter<S>> for Query<'f> {
    fn from(filter: &'f Filter<S>) -> Self {
        Self::of(filter)
    }
}

impl Node<'_> {
    fn reborrow(&self) -> Node<'_> {
        fn both<'p>(pair: &'p (Node<'_>, Node<'_>)) -> Box<(Node<'p>, Node<'p>)> {
            Box::new((pair.0.reborrow(), pair.1.reborrow()))
        }
        match self {
            Node::Filter(filter) => Node::Filter(filter.into()),
            Node::And(pair) => Node::And(both(pair)),
            Node::Or(pair) => Node::Or(both(pair)),
        }
    }

    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        match self {
            Node::Filter(filter) => filter.contains(key),
            Node::And(both) => both.0.contains(key) && both.1.contains(key),
            Node::Or(both) => both.0.contains(key) || both.1.contains(key),
        }
    }

    fn contains_batch<K: Key>(&self, keys: &[K], found: &mut Vec<bool>) {
        let (both, op): (_, fn(bool, bool) -> bool) = match self {
            Node::Filter(filter) => {
                found.clear();
                found.resize(keys.len(), false);
                return filter.contains_batch(keys, found);
            }
            Node::And(both) => (both, |a, b| a & b),
            Node::Or(both) => (both, |a, b| a | b),
        };
        both.0.contains_batch(keys, found);
        let mut other = Vec::new();
        both.1.contains_batch(keys, &mut other);
        for (found, other) in found.iter_mut().zip(other) {
            *found = op(*found, other);
        }
    }
}

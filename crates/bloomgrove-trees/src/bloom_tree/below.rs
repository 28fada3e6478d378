//! The filters of a level below set bits, in order, with their contexts.
//!
//! ```text
//!   level 2    0 1 1               ones: 2
//!                | \
//!   level 3     101 011            one step of the walk is one of these: all filters below it have the
//!               | |  ||            same context, its ones and those of the filter above it: (2, 2)
//!   level 4     a b  cd
//! ```
//!
//! The root, which is not a context, is read word by word. A step divides nothing and looks up nothing
//! in the shape, and the filters below it are read or written together: coding them takes hardly longer
//! than finding them.

use std::ops::Range;

use super::{TreeShape, field};

/// A walk along the filters above a level.
pub(super) struct Filters<'a> {
    words: &'a [u64],
    /// The bits of a filter above the level, of one of the level, and of one two levels above.
    width: u64,
    bits: u64,
    over_bits: u64,
    /// How many filters of the level are in one step at most: they fit into a word.
    most: u64,
    /// Where the next filter above is, and the end of the last.
    next: u64,
    end: u64,
    /// The bits of the current filter above that have not been visited, and how many they are.
    above: u64,
    unread: u64,
    context: (u32, u32),
    /// Where the next filter of the level is.
    below: u64,
    /// Where the filter above the current one is, and how many filters below it are left. If there is
    /// none, or it is the root, they never end.
    over: u64,
    left: u64,
    /// Whether the filters above are not the root.
    counted: bool,
}

/// Filters side by side below one filter: those below its set bits.
#[derive(Clone, Copy)]
pub(super) struct Siblings {
    /// Where the first place is, whether there is a filter or not, and the bits of all places.
    pub(super) start: u64,
    pub(super) span: u64,
    bits: u64,
    /// Which places have a filter.
    above: u64,
    pub(super) context: (u32, u32),
}

impl Siblings {
    /// Where each filter is in the bits of all.
    #[inline(always)]
    pub(super) fn offsets(self) -> impl Iterator<Item = u64> {
        let mut left = self.above;
        std::iter::from_fn(move || {
            let place = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            Some(u64::from(place) * self.bits)
        })
    }
}

impl<'a> Filters<'a> {
    /// Those below the filters above whose numbers are in `parents`, in the words of a tree that is
    /// complete down to these.
    pub(super) fn below(
        shape: &TreeShape,
        words: &'a [u64],
        level: usize,
        parents: Range<u64>,
    ) -> Self {
        let width = width_above(shape, level);
        let bits = shape.levels()[level].bits;
        let end = shape.start(level - 1) + parents.end * width;
        let mut filters = Self {
            words,
            width,
            bits,
            over_bits: 0,
            most: (64 / bits).min(32),
            next: shape.start(level - 1) + parents.start * width,
            end: end.min(shape.start(level)),
            above: 0,
            unread: 0,
            context: (0, 0),
            below: bits_below(shape, level, &parents).start,
            over: 0,
            left: u64::MAX,
            counted: level > 1,
        };
        if level > 2 {
            let bits = shape.levels()[level - 2].bits;
            filters.over_bits = bits;
            filters.over = shape.offset(level - 2, parents.start / bits);
            filters.left = bits - parents.start % bits;
            filters.context.1 = field(words, filters.over, bits).count_ones();
        }
        filters
    }
}

impl Iterator for Filters<'_> {
    type Item = Siblings;

    /// The next places that have a filter.
    #[inline(always)]
    fn next(&mut self) -> Option<Siblings> {
        loop {
            if self.unread == 0 {
                if self.next >= self.end {
                    return None;
                }
                if self.left == 0 {
                    self.over += self.over_bits;
                    self.left = self.over_bits;
                    self.context.1 = field(self.words, self.over, self.over_bits).count_ones();
                }
                self.left -= 1;
                // Only the last word of the root is shorter.
                self.unread = self.width.min(self.end - self.next);
                self.above = field(self.words, self.next, self.unread);
                self.next += self.width;
                if self.counted {
                    self.context.0 = self.above.count_ones();
                }
            }
            let places = self.unread.min(self.most);
            let siblings = Siblings {
                start: self.below,
                span: places * self.bits,
                bits: self.bits,
                above: self.above & ((1 << places) - 1),
                context: self.context,
            };
            self.unread -= places;
            self.above >>= places;
            self.below += siblings.span;
            if siblings.above != 0 {
                return Some(siblings);
            }
        }
    }
}

/// The bits of a filter above a level. The root, which is not a context, is read word by word.
fn width_above(shape: &TreeShape, level: usize) -> u64 {
    match level {
        1 => 64,
        _ => shape.levels()[level - 1].bits,
    }
}

/// How many filters, or words of the root, there are above a level.
pub(super) fn parents(shape: &TreeShape, level: usize) -> u64 {
    let width = width_above(shape, level);
    shape.level_bits(level - 1).div_ceil(width)
}

/// The bits of a level below these filters above it.
pub(super) fn bits_below(shape: &TreeShape, level: usize, parents: &Range<u64>) -> Range<u64> {
    let (start, end) = (shape.start(level), shape.start(level + 1));
    let width = width_above(shape, level) * shape.levels()[level].bits;
    let at = |parent: u64| start.saturating_add(parent.saturating_mul(width)).min(end);
    at(parents.start)..at(parents.end)
}

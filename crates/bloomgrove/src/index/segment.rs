//! A segment: filters of equal parameters in one layout, with their labels.
//!
//! ```text
//!   labels   id name ones | id name ones | ...     by slot
//!   live     1 0 1 1 ...                           a bit for each slot
//!   body     the bits, in one of the layouts
//! ```
//!
//! A segment in memory can take and lose filters; one in a mapped file can only lose them,
//! by their bit in `live`.

use super::file::Home;
use super::flat::Flat;
use super::labels::{Label, Labels, New, Set};
use super::loose::Loose;
use super::sealed::Sealed;
use super::sliced::Sliced;
use super::store::{Batch, Work};
use super::tree::Tree;
use crate::bits::{self, Words};
use crate::{Error, Filter, Params};

/// How the filters of an index lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// One after the other, each asked in turn: for few filters, or very large ones.
    Loose,
    /// A row for each bit position: for dense filters.
    Flat,
    /// Blocks of 64 filters with a summary: for sparse filters.
    Sliced,
    /// As sliced, without the empty words: a fifth of the memory, and nothing can be added.
    Sealed,
    /// The [`Tree`] of the Bloofi paper, with its defaults: for comparison, and never chosen
    /// by the planner. In memory only; in a file its filters lie loose.
    Tree,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 5] = [
        Shape::Loose,
        Shape::Flat,
        Shape::Sliced,
        Shape::Sealed,
        Shape::Tree,
    ];

    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Loose => "loose",
            Shape::Flat => "flat",
            Shape::Sliced => "sliced",
            Shape::Sealed => "sealed",
            Shape::Tree => "tree",
        }
    }
}

#[derive(Debug)]
pub(super) enum Body {
    Loose(Loose),
    Flat(Flat),
    Sliced(Sliced),
    Sealed(Sealed),
    Tree(Box<Tree>),
}

#[derive(Debug)]
pub(super) struct Segment {
    rows: usize,
    body: Body,
    labels: Labels,
    live: Vec<u64>,
    len: usize,
    /// Set bits of all live filters.
    ones: u64,
    /// Slots whose filter is gone, to be used again.
    free: Vec<usize>,
    /// Whether filters can be added.
    open: bool,
    /// Where it lies in the file it was opened from.
    home: Option<Home>,
}

impl Segment {
    /// An empty one, in memory.
    pub(super) fn new(params: &Params, shape: Shape) -> Result<Self, Error> {
        let rows = params.bits() as usize;
        let body = match shape {
            Shape::Loose => Body::Loose(Loose::new(rows)),
            Shape::Flat => Body::Flat(Flat::new(rows)),
            Shape::Sliced => Body::Sliced(Sliced::new(rows)?),
            Shape::Sealed => Body::Sealed(Sealed::build(rows, 0, |_, _| {})?),
            Shape::Tree => Body::Tree(Box::new(Tree::new(params.clone(), Default::default())?)),
        };
        Ok(Self {
            rows,
            body,
            labels: Labels::new(),
            live: Vec::new(),
            len: 0,
            ones: 0,
            free: Vec::new(),
            open: shape != Shape::Sealed,
            home: None,
        })
    }

    /// One in a mapped file. `live` has a bit for each label.
    pub(super) fn mapped(
        params: &Params,
        body: Body,
        labels: Labels,
        live: Vec<u64>,
        home: Home,
    ) -> Self {
        let mut segment = Self {
            rows: params.bits() as usize,
            body,
            labels,
            len: bits::count(&live) as usize,
            ones: 0,
            live,
            free: Vec::new(),
            open: false,
            home: Some(home),
        };
        segment.ones = segment.slots().map(|slot| segment.label(slot).ones()).sum();
        segment
    }

    pub(super) fn shape(&self) -> Shape {
        match self.body {
            Body::Loose(_) => Shape::Loose,
            Body::Flat(_) => Shape::Flat,
            Body::Sliced(_) => Shape::Sliced,
            Body::Sealed(_) => Shape::Sealed,
            Body::Tree(_) => Shape::Tree,
        }
    }

    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    pub(super) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(super) fn live(&self) -> &[u64] {
        &self.live
    }

    /// How many filters are live.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many slots there are, live or not.
    pub(super) fn slot_count(&self) -> usize {
        self.labels.all().len()
    }

    pub(super) fn home(&self) -> Option<Home> {
        self.home
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Set bits of all live filters.
    pub(super) fn ones(&self) -> u64 {
        self.ones
    }

    pub(super) fn bytes(&self) -> u64 {
        match &self.body {
            Body::Loose(body) => body.bytes(),
            Body::Flat(body) => body.bytes(),
            Body::Sliced(body) => body.bytes(),
            Body::Sealed(body) => body.bytes(),
            Body::Tree(body) => body.bytes(),
        }
    }

    /// The live slots, rising.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        bits::ones(&self.live).map(|slot| slot as usize)
    }

    pub(super) fn label(&self, slot: usize) -> &Label {
        &self.labels.all()[slot]
    }

    pub(super) fn set(&self, slot: usize) -> Set<'_> {
        self.labels.set(slot)
    }

    /// Calls `each(word, bits)` for the slots whose filter has all positions, of those in
    /// `live`, until it says false.
    #[inline]
    pub(super) fn search(
        &self,
        positions: &[u64],
        live: &[u64],
        each: impl FnMut(usize, u64) -> bool,
    ) -> Work {
        match &self.body {
            Body::Loose(body) => body.search(positions, live, each),
            Body::Flat(body) => body.search(positions, live, each),
            Body::Sliced(body) => body.search(positions, live, each),
            Body::Sealed(body) => body.search(positions, live, each),
            Body::Tree(body) => search_tree(body, positions, live, each),
        }
    }

    /// For every key of a batch: `each(key, word, bits)`, in the order of keys.
    pub(super) fn search_many(
        &self,
        batch: Batch<'_>,
        live: &[u64],
        scratch: &mut Vec<(u32, u32)>,
        mut each: impl FnMut(usize, usize, u64),
    ) {
        match &self.body {
            Body::Sliced(body) => body.search_many(batch, live, scratch, each),
            Body::Sealed(body) => body.search_many(batch, live, scratch, each),
            body => {
                if let Body::Flat(body) = body {
                    body.prefetch(batch.positions);
                }
                for (key, positions) in batch.keys().enumerate() {
                    self.search(positions, live, |word, found| {
                        each(key, word, found);
                        true
                    });
                }
            }
        }
    }

    /// Takes in a filter, and says at which slot.
    pub(super) fn add(&mut self, filter: &[u64], new: New<'_>) -> Result<usize, Error> {
        let slot = self.free.last().copied().unwrap_or(self.slot_count());
        // What may fail comes first, and harms nothing when it does.
        match &mut self.body {
            Body::Loose(body) => body.put(slot, filter)?,
            Body::Flat(body) => body.reach(slot)?,
            Body::Sliced(body) => body.reach(slot)?,
            Body::Tree(body) => put_in_tree(body, slot, filter)?,
            Body::Sealed(_) => {}
        }
        self.labels.put(slot, new)?;
        match &mut self.body {
            Body::Flat(body) => body.set(slot, bits::ones(filter)),
            Body::Sliced(body) => body.set(slot, bits::ones(filter)),
            Body::Loose(_) | Body::Sealed(_) | Body::Tree(_) => {}
        }
        self.free.pop();
        if self.live.len() <= slot / 64 {
            self.live.push(0);
        }
        bits::set(&mut self.live, slot as u64);
        self.len += 1;
        self.ones += new.ones;
        Ok(slot)
    }

    pub(super) fn remove(&mut self, slot: usize) -> Result<(), Error> {
        if self.open {
            match &mut self.body {
                Body::Loose(body) => body.remove(slot)?,
                Body::Flat(body) => body.clear(slot),
                Body::Sliced(body) => body.clear(slot),
                Body::Tree(body) => {
                    body.remove(slot as u32);
                }
                Body::Sealed(_) => {}
            }
            self.free.push(slot);
        }
        bits::clear(&mut self.live, slot as u64);
        self.len -= 1;
        self.ones -= self.label(slot).ones();
        Ok(())
    }

    /// Sets bits of a filter, in a segment that is open.
    pub(super) fn set_bits(
        &mut self,
        slot: usize,
        positions: impl Iterator<Item = u64>,
    ) -> Result<(), Error> {
        let mut fresh: Vec<u64> = positions
            .filter(|&position| !self.get(slot, position))
            .collect();
        fresh.sort_unstable();
        fresh.dedup();
        let added = fresh.len() as u64;
        let fresh = fresh.into_iter();
        match &mut self.body {
            Body::Loose(body) => body.set(slot, fresh),
            Body::Flat(body) => body.set(slot, fresh),
            Body::Sliced(body) => body.set(slot, fresh),
            Body::Tree(body) => {
                let mut words = Words::zeroed(self.rows.div_ceil(64))?;
                fresh.for_each(|position| {
                    bits::set(words.as_mut(), position);
                });
                body.update(
                    slot as u32,
                    &Filter::from_words(body.params().clone(), words)?,
                )?;
            }
            Body::Sealed(_) => {}
        }
        self.labels.set_ones(slot, self.label(slot).ones() + added);
        self.ones += added;
        Ok(())
    }

    /// Is this bit of a filter set? (A sealed one is asked by [`filter`](Self::filter).)
    fn get(&self, slot: usize, position: u64) -> bool {
        match &self.body {
            Body::Loose(body) => bits::get(body.filter(slot), position),
            Body::Flat(body) => body.get(slot, position),
            Body::Sliced(body) => body.get(slot, position),
            Body::Tree(body) => bits::get(tree_words(body, slot), position),
            Body::Sealed(_) => false,
        }
    }

    /// The bits of one filter.
    pub(super) fn filter(&self, slot: usize) -> Result<Words, Error> {
        let mut words = Words::zeroed(self.rows.div_ceil(64))?;
        match &self.body {
            Body::Loose(body) => words.as_mut().copy_from_slice(body.filter(slot)),
            Body::Tree(body) => words.as_mut().copy_from_slice(tree_words(body, slot)),
            Body::Sealed(body) => {
                let mut block = Words::zeroed(self.rows)?;
                body.block(slot / 64, block.as_mut());
                gather(words.as_mut(), |row| {
                    let word = block.as_ref().get(row).copied().unwrap_or(0);
                    word >> (slot % 64) & 1
                });
            }
            _ => gather(words.as_mut(), |row| {
                u64::from(row < self.rows && self.get(slot, row as u64))
            }),
        }
        Ok(words)
    }

    /// 64 slots as one word for each position: what is not live is zero.
    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        match &self.body {
            Body::Loose(body) => body.block(block, out),
            Body::Flat(body) => body.block(block, out),
            Body::Sliced(body) => body.block(block, out),
            Body::Sealed(body) => body.block(block, out),
            Body::Tree(body) => {
                let empty = vec![0; self.rows.div_ceil(64)];
                let slots = (block * 64..self.slot_count()).take(64);
                let filters: Vec<&[u64]> = slots
                    .map(|slot| match tree_words(body, slot) {
                        [] => &*empty,
                        words => words,
                    })
                    .collect();
                bits::weave(&filters, out, 1, 0);
            }
        }
        if self.live[block] != !0 {
            out.iter_mut().for_each(|word| *word &= self.live[block]);
        }
    }

    /// Calls `each` with every live filter, 64 of them in memory at a time.
    pub(super) fn each_filter(
        &self,
        mut each: impl FnMut(usize, &[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Body::Loose(body) = &self.body {
            return self
                .slots()
                .try_for_each(|slot| each(slot, body.filter(slot)));
        }
        let words = self.rows.div_ceil(64);
        let mut rows = Words::zeroed(self.rows)?;
        let mut arrays = Words::zeroed(64 * words)?;
        for block in (0..self.live.len()).filter(|&block| self.live[block] != 0) {
            self.block(block, rows.as_mut());
            let mut parts: Vec<&mut [u64]> = arrays.as_mut().chunks_exact_mut(words).collect();
            bits::unweave(rows.as_ref(), 1, 0, &mut parts);
            for place in bits::ones(&self.live[block..=block]) {
                each(block * 64 + place as usize, parts[place as usize])?;
            }
        }
        Ok(())
    }

    /// The same filters in another layout, in memory; slots stay.
    pub(super) fn convert(&self, params: &Params, shape: Shape) -> Result<Self, Error> {
        let mut other = Self::new(params, shape)?;
        let blocks = self.live.len();
        if shape == Shape::Tree {
            // Filter by filter, below.
        } else if shape == Shape::Sealed {
            other.body = Body::Sealed(Sealed::build(self.rows, blocks, |block, out| {
                self.block(block, out);
            })?);
        } else {
            let mut rows = Words::zeroed(self.rows)?;
            for block in 0..blocks {
                self.block(block, rows.as_mut());
                let rows = rows.as_ref();
                match &mut other.body {
                    Body::Loose(body) => {
                        body.put_block(rows, (self.slot_count() - block * 64).min(64))?;
                    }
                    Body::Flat(body) => body.put_block(block, rows)?,
                    Body::Sliced(body) => body.put_block(block, rows)?,
                    Body::Sealed(_) | Body::Tree(_) => {}
                }
            }
        }
        if let Body::Tree(body) = &mut other.body {
            self.each_filter(|slot, words| put_in_tree(body, slot, words))?;
        }
        for slot in 0..self.slot_count() {
            let set = self.set(slot);
            let label = self.label(slot);
            let new = New {
                id: set.id(),
                slice: label.slice(),
                ones: label.ones(),
                name: set.name(),
                tag: set.tag(),
            };
            other.labels.put(slot, new)?;
        }
        other.free = (0..self.slot_count())
            .filter(|&slot| !bits::get(&self.live, slot as u64))
            .collect();
        other.live = self.live.clone();
        (other.len, other.ones) = (self.len, self.ones);
        Ok(other)
    }

    /// What must hold of the bits, as far as the layout can tell: for `verify` and tests.
    pub(super) fn check(&self, params: &Params) -> Result<(), String> {
        match &self.body {
            Body::Sliced(body) if !body.is_exact() => {
                return Err("the summary does not say what the blocks hold".into());
            }
            Body::Sealed(body) => body.check()?,
            Body::Tree(body) => body.assert_invariants(),
            _ => {}
        }
        let mut wrong = None;
        let mut ones = 0;
        let look = self.each_filter(|slot, words| {
            let filter = Filter::from_words(params.clone(), words)?;
            ones += filter.count_ones();
            if filter.count_ones() != self.label(slot).ones() {
                wrong.get_or_insert(slot);
            }
            Ok(())
        });
        look.map_err(|error| error.to_string())?;
        if let Some(slot) = wrong {
            let name = self.set(slot).name().escape_ascii();
            return Err(format!("{name} has not as many bits as its label says"));
        }
        if ones != self.ones || self.len as u64 != bits::count(&self.live) {
            return Err("its counts are wrong".into());
        }
        Ok(())
    }
}

/// Fills words with the bit that `bit` gives for each row.
fn gather(words: &mut [u64], bit: impl Fn(usize) -> u64) {
    for (at, word) in words.iter_mut().enumerate() {
        *word = (0..64).fold(0, |word, place| word | bit(at * 64 + place) << place);
    }
}

/// The bits of a leaf; none if it is gone.
fn tree_words(tree: &Tree, slot: usize) -> &[u64] {
    tree.words(slot as u32).unwrap_or(&[])
}

fn put_in_tree(tree: &mut Tree, slot: usize, words: &[u64]) -> Result<(), Error> {
    let filter = Filter::from_words(tree.params().clone(), words)?;
    tree.insert(slot as u32, &filter)?;
    Ok(())
}

fn search_tree(
    tree: &Tree,
    positions: &[u64],
    live: &[u64],
    mut each: impl FnMut(usize, u64) -> bool,
) -> Work {
    let mut found = Vec::new();
    let tested = tree.search(positions, &mut found);
    for slot in found {
        let (at, bit) = (slot as usize / 64, 1 << (slot % 64));
        if live.get(at).is_some_and(|live| live & bit != 0) && !each(at, bit) {
            break;
        }
    }
    // Nodes that do not match mostly fail at their first bit.
    Work {
        tested,
        words: tested,
    }
}

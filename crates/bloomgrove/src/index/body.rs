//! The bits of a segment in one of the layouts: what each of them can do, in one place.

use std::ops::Range;

use super::flat::{self, Flat};
use super::loose::Loose;
use super::sealed::Sealed;
use super::sliced::{self, Sliced};
use super::tree::Tree;
use super::work::{Batch, Work};
use crate::bits::{self, Words};
use crate::format::Store;
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

/// Copies of a body's parts with room for another filter.
#[derive(Debug)]
pub(super) enum Room {
    /// For this slot.
    Flat(usize, flat::Panel),
    Sliced(sliced::Room),
}

impl Body {
    /// An empty one, in memory.
    pub(super) fn new(params: &Params, shape: Shape) -> Result<Self, Error> {
        let rows = params.bits() as usize;
        Ok(match shape {
            Shape::Loose => Body::Loose(Loose::new(rows)),
            Shape::Flat => Body::Flat(Flat::new(rows)),
            Shape::Sliced => Body::Sliced(Sliced::new(rows)?),
            Shape::Sealed => Body::Sealed(Sealed::build(rows, 0, |_, _| {})?),
            Shape::Tree => Body::Tree(Box::new(Tree::new(params.clone(), Default::default())?)),
        })
    }

    /// Of `slots` slots that come in blocks: `fetch(block, out)` gives a word for each
    /// position.
    pub(super) fn of_blocks(
        params: &Params,
        shape: Shape,
        slots: usize,
        mut fetch: impl FnMut(usize, &mut [u64]),
    ) -> Result<Self, Error> {
        let (rows, blocks) = (params.bits() as usize, slots.div_ceil(64));
        if shape == Shape::Sealed {
            return Ok(Body::Sealed(Sealed::build(rows, blocks, fetch)?));
        }
        let mut body = Self::new(params, shape)?;
        let mut words = Words::zeroed(rows)?;
        for block in 0..blocks {
            fetch(block, words.as_mut());
            let (words, count) = (words.as_ref(), (slots - block * 64).min(64));
            match &mut body {
                Body::Loose(body) => body.put_block(words, count)?,
                Body::Flat(body) => body.put_block(block, words)?,
                Body::Sliced(body) => body.put_block(block, words)?,
                Body::Tree(tree) => {
                    let mut filters = Loose::new(rows);
                    filters.put_block(words, count)?;
                    for slot in 0..count {
                        put_in_tree(tree, block * 64 + slot, filters.filter(slot))?;
                    }
                }
                Body::Sealed(_) => {}
            }
        }
        Ok(body)
    }

    pub(super) fn shape(&self) -> Shape {
        match self {
            Body::Loose(_) => Shape::Loose,
            Body::Flat(_) => Shape::Flat,
            Body::Sliced(_) => Shape::Sliced,
            Body::Sealed(_) => Shape::Sealed,
            Body::Tree(_) => Shape::Tree,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Body::Loose(body) => body.bytes(),
            Body::Flat(body) => body.bytes(),
            Body::Sliced(body) => body.bytes(),
            Body::Sealed(body) => body.bytes(),
            Body::Tree(body) => body.bytes(),
        }
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
        match self {
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
        match self {
            Body::Sliced(body) => return body.search_many(batch, live, scratch, each),
            Body::Sealed(body) => return body.search_many(batch, live, scratch, each),
            Body::Flat(body) => body.prefetch(batch.positions),
            Body::Loose(_) | Body::Tree(_) => {}
        }
        for (key, positions) in batch.keys().enumerate() {
            self.search(positions, live, |word, found| {
                each(key, word, found);
                true
            });
        }
    }

    /// Puts a filter at a slot that has none, which may be one behind the last. If it fails,
    /// nothing has changed.
    pub(super) fn put(&mut self, slot: usize, filter: &[u64]) -> Result<(), Error> {
        match self {
            Body::Loose(body) => body.put(slot, filter)?,
            Body::Flat(body) => {
                body.reach(slot)?;
                body.set(slot, bits::ones(filter));
            }
            Body::Sliced(body) => {
                body.reach(slot)?;
                body.set(slot, bits::ones(filter));
            }
            Body::Tree(body) => put_in_tree(body, slot, filter)?,
            Body::Sealed(_) => {}
        }
        Ok(())
    }

    /// Makes room for a filter at a slot, which may be one behind the last. Copies that this needs
    /// can be made before ([`room`](Self::room)).
    pub(super) fn reach(&mut self, slot: usize) -> Result<(), Error> {
        match self {
            Body::Loose(body) => body.reach(slot),
            Body::Flat(body) => body.reach(slot),
            Body::Sliced(body) => body.reach(slot),
            Body::Tree(_) | Body::Sealed(_) => Ok(()),
        }
    }

    /// Copies with room for a filter at this slot, where a layout has to be copied to grow.
    pub(super) fn room(&self, slot: usize) -> Result<Option<Room>, Error> {
        Ok(match self {
            Body::Flat(body) => body.room(slot)?.map(|panel| Room::Flat(slot, panel)),
            Body::Sliced(body) => body.room(slot)?.map(Room::Sliced),
            Body::Loose(_) | Body::Tree(_) | Body::Sealed(_) => None,
        })
    }

    /// Takes what [`room`](Self::room) made; gives back what is no longer used.
    pub(super) fn take_room(&mut self, room: Room) -> Room {
        match (self, room) {
            (Body::Flat(body), Room::Flat(slot, panel)) => {
                Room::Flat(slot, body.take_room(slot, panel))
            }
            (Body::Sliced(body), Room::Sliced(room)) => Room::Sliced(body.take_room(room)),
            // Of another layout: of no use any more.
            (_, room) => room,
        }
    }

    /// Puts the words `from..to` of a filter at a slot that has been [reached](Self::reach); all of
    /// them at once where they lie together. Returns where to go on.
    pub(super) fn fill(
        &mut self,
        slot: usize,
        filter: &mut Words,
        words: Range<usize>,
    ) -> Result<usize, Error> {
        let all = filter.as_ref().len();
        match self {
            Body::Loose(body) => body.take(slot, std::mem::replace(filter, Words::zeroed(0)?)),
            Body::Tree(body) => put_in_tree(body, slot, filter.as_ref())?,
            Body::Flat(_) | Body::Sliced(_) => {
                let first = words.start as u64 * 64;
                let ones = bits::ones(&filter.as_ref()[words.clone()]);
                let ones: Vec<u64> = ones.map(|bit| first + bit).collect();
                self.set(slot, &ones)?;
                return Ok(words.end);
            }
            Body::Sealed(_) => {}
        }
        Ok(all)
    }

    /// Takes the filter of a slot away, so that whatever comes there starts empty.
    pub(super) fn clear(&mut self, slot: usize, rows: usize) -> Result<(), Error> {
        self.clear_rows(slot, 0..rows).map(drop)
    }

    /// Clears these bits of a filter, or takes all of it away where it lies by itself; its memory is
    /// returned, since freeing it takes time.
    pub(super) fn clear_rows(
        &mut self,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<Option<Store>, Error> {
        match self {
            Body::Loose(body) => return body.remove(slot).map(Some),
            Body::Flat(body) => body.clear(slot, rows),
            Body::Sliced(body) => body.clear(slot, rows),
            Body::Tree(body) => {
                body.remove(slot as u32);
            }
            Body::Sealed(_) => {}
        }
        Ok(None)
    }

    /// Sets these bits of a filter.
    pub(super) fn set(&mut self, slot: usize, positions: &[u64]) -> Result<(), Error> {
        let each = positions.iter().copied();
        match self {
            Body::Loose(body) => body.set(slot, each),
            Body::Flat(body) => body.set(slot, each),
            Body::Sliced(body) => body.set(slot, each),
            Body::Tree(body) => {
                let mut words = Words::zeroed(body.params().words())?;
                each.for_each(|position| {
                    bits::set(words.as_mut(), position);
                });
                let filter = Filter::from_words(body.params().clone(), words)?;
                body.update(slot as u32, &filter)?;
            }
            Body::Sealed(_) => {}
        }
        Ok(())
    }

    /// Is this bit of a filter set? Not for a sealed one, which has no single bits.
    pub(super) fn get(&self, slot: usize, position: u64) -> bool {
        match self {
            Body::Loose(body) => bits::get(body.filter(slot), position),
            Body::Flat(body) => body.get(slot, position),
            Body::Sliced(body) => body.get(slot, position),
            Body::Tree(body) => bits::get(tree_words(body, slot), position),
            Body::Sealed(_) => false,
        }
    }

    /// The bits of one filter of `rows` bits.
    pub(super) fn filter(&self, slot: usize, rows: usize) -> Result<Words, Error> {
        let mut words = Words::zeroed(rows.div_ceil(64))?;
        match self {
            Body::Loose(body) => words.as_mut().copy_from_slice(body.filter(slot)),
            Body::Tree(body) => words.as_mut().copy_from_slice(tree_words(body, slot)),
            Body::Flat(_) | Body::Sliced(_) => gather(words.as_mut(), rows, |row| {
                u64::from(self.get(slot, row as u64))
            }),
            Body::Sealed(body) => {
                let mut block = Words::zeroed(rows)?;
                body.block(slot / 64, block.as_mut());
                gather(words.as_mut(), rows, |row| {
                    block.as_ref()[row] >> (slot % 64) & 1
                });
            }
        }
        Ok(words)
    }

    /// Some words of one filter. Not for a sealed one.
    pub(super) fn copy(&self, slot: usize, words: Range<usize>, rows: usize, out: &mut [u64]) {
        match self {
            Body::Loose(body) => out.copy_from_slice(&body.filter(slot)[words]),
            Body::Tree(body) => out.copy_from_slice(&tree_words(body, slot)[words]),
            Body::Flat(_) | Body::Sliced(_) => {
                let first = words.start * 64;
                gather(out, rows - first, |row| {
                    u64::from(self.get(slot, (first + row) as u64))
                });
            }
            Body::Sealed(_) => {}
        }
    }

    /// 64 slots as one word for each position.
    pub(super) fn block(&self, block: usize, out: &mut [u64]) {
        match self {
            Body::Loose(body) => body.block(block, out),
            Body::Flat(body) => body.block(block, out),
            Body::Sliced(body) => body.block(block, out),
            Body::Sealed(body) => body.block(block, out),
            Body::Tree(body) => {
                let empty = vec![0; out.len().div_ceil(64)];
                let filters: Vec<&[u64]> = (block * 64..block * 64 + 64)
                    .map(|slot| match tree_words(body, slot) {
                        [] => &*empty,
                        words => words,
                    })
                    .collect();
                bits::weave(&filters, out, 1, 0);
            }
        }
    }

    /// What must hold of the bits, as far as the layout can tell.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match self {
            Body::Sliced(body) if !body.is_exact() => {
                Err("the summary does not say what the blocks hold")
            }
            Body::Sealed(body) => body.check(),
            Body::Tree(body) => {
                body.assert_invariants();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Fills words with the bit that `bit` gives for each row.
fn gather(words: &mut [u64], rows: usize, bit: impl Fn(usize) -> u64) {
    for (at, word) in words.iter_mut().enumerate() {
        let rows = at * 64..rows.min(at * 64 + 64);
        *word = rows.fold(0, |word, row| word | bit(row) << (row % 64));
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

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
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 4] = [Shape::Loose, Shape::Flat, Shape::Sliced, Shape::Sealed];

    /// The name used on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Loose => "loose",
            Shape::Flat => "flat",
            Shape::Sliced => "sliced",
            Shape::Sealed => "sealed",
        }
    }
}

#[derive(Debug)]
pub(super) enum Body {
    Loose(Loose),
    Flat(Flat),
    Sliced(Sliced),
    Sealed(Sealed),
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
            Body::Sealed(_) => {}
        }
        self.labels.put(slot, new)?;
        match &mut self.body {
            Body::Flat(body) => body.set(slot, bits::ones(filter)),
            Body::Sliced(body) => body.set(slot, bits::ones(filter)),
            Body::Loose(_) | Body::Sealed(_) => {}
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
    pub(super) fn set_bits(&mut self, slot: usize, positions: impl Iterator<Item = u64>) {
        let mut added = 0;
        for position in positions {
            if self.get(slot, position) {
                continue;
            }
            added += 1;
            let one = std::iter::once(position);
            match &mut self.body {
                Body::Loose(body) => body.set(slot, one),
                Body::Flat(body) => body.set(slot, one),
                Body::Sliced(body) => body.set(slot, one),
                Body::Sealed(_) => {}
            }
        }
        self.labels.set_ones(slot, self.label(slot).ones() + added);
        self.ones += added;
    }

    /// Is this bit of a filter set? (A sealed one is asked by [`filter`](Self::filter).)
    fn get(&self, slot: usize, position: u64) -> bool {
        match &self.body {
            Body::Loose(body) => bits::get(body.filter(slot), position),
            Body::Flat(body) => body.get(slot, position),
            Body::Sliced(body) => body.get(slot, position),
            Body::Sealed(_) => false,
        }
    }

    /// The bits of one filter.
    pub(super) fn filter(&self, slot: usize) -> Result<Words, Error> {
        let mut words = Words::zeroed(self.rows.div_ceil(64))?;
        match &self.body {
            Body::Loose(body) => words.as_mut().copy_from_slice(body.filter(slot)),
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
            return self.slots().try_for_each(|slot| each(slot, body.filter(slot)));
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
        if shape == Shape::Sealed {
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
                    Body::Sealed(_) => {}
                }
            }
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

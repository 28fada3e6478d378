//! Filling an index with many sets before it is queried.
//!
//! ```text
//!   64 filters    -->  the words of one block, while it is cached
//!   all blocks    -->  the summary, once at the end: a word of it for 64 blocks at a time
//! ```
//!
//! Every bit of a filter that is added to a sliced index by itself is also a bit of the summary, which is too large for a
//! cache: that takes as long as all the rest.

use std::collections::HashSet;

use super::Index;
use super::change::duplicate;
use super::directory::Place;
use super::labels::{NO_SLICE, New, SetId};
use crate::{Error, Filter};

/// An index that is being filled.
///
/// ```
/// use bloomgrove::{Filter, Params};
/// use bloomgrove::index::{Builder, Index};
///
/// let mut filter = Filter::new(Params::for_items(100, 0.01)?)?;
/// filter.insert("apple");
/// let mut builder = Builder::new(Index::mixed());
/// builder.add_all(&[("north", &filter), ("south", &filter)])?;
/// assert_eq!(builder.finish().count("apple"), 2);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Builder(Index);

impl Builder {
    /// Starts with the sets of this index.
    pub fn new(index: Index) -> Self {
        Self(index)
    }

    /// Adds sets. Best are multiples of 64 with equal parameters.
    ///
    /// # Errors
    /// Same as for [`Index::add`]. A name that exists, or occurs twice, changes nothing; after another error, some sets
    /// may have been added.
    pub fn add_all<N: AsRef<[u8]>, S: AsRef<[u64]>>(
        &mut self,
        sets: &[(N, &Filter<S>)],
    ) -> Result<(), Error> {
        let index = &mut self.0;
        let mut names = HashSet::with_capacity(sets.len());
        for (name, _) in sets {
            let name = name.as_ref();
            if index.directory().id(name).is_some() || !names.insert(name) {
                return Err(duplicate(name));
            }
        }
        let mut rest = sets;
        while let Some((_, first)) = rest.first() {
            let params = first.params();
            let (class, segment) = index.open_segment(params)?;
            let same = rest
                .iter()
                .take_while(|(_, filter)| filter.params() == params);
            // The shape is considered whenever the number of filters is a power of two.
            let len = index.classes[class].segments[segment].len();
            let until = (len + 1).next_power_of_two() - len;
            let (now, later) = rest.split_at(same.count().min(until));
            index.append(class, segment, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Returns the index.
    pub fn finish(mut self) -> Index {
        for class in &mut self.0.classes {
            class
                .segments
                .iter_mut()
                .for_each(|segment| segment.summarize());
        }
        self.0
    }
}

impl Index {
    /// Adds sets with the parameters of a class to an open segment, whose summary lacks them afterwards.
    fn append<N: AsRef<[u8]>, S: AsRef<[u64]>>(
        &mut self,
        class: usize,
        segment: usize,
        sets: &[(N, &Filter<S>)],
    ) -> Result<(), Error> {
        let SetId(first) = self.fresh_id()?;
        let words: Vec<&[u64]> = sets.iter().map(|(_, filter)| filter.words()).collect();
        let labels = (first..).zip(sets).map(|(id, (name, filter))| New {
            id: SetId(id),
            slice: NO_SLICE,
            ones: filter.count_ones(),
            name: name.as_ref(),
            tag: &[],
        });
        let labels: Vec<New<'_>> = labels.collect();
        let place = |slot| Place {
            class,
            segment,
            slot,
        };
        let slot = self.segment_mut(place(0)).append(&words, &labels)?;
        for (slot, new) in (slot..).zip(&labels) {
            self.list(new.name, new.id, NO_SLICE, place(slot));
        }
        self.replan(place(slot));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    /// The filter of a set: every other one has few items, and some have other parameters.
    fn filter(set: u64) -> Filter {
        let bits = if set % 50 == 7 { 2000 } else { 3000 };
        let mut filter = Filter::new(Params::builder(bits, 3).build().unwrap()).unwrap();
        (0..set % 2 * 20 + 1).for_each(|item| _ = filter.insert(&(set << 32 | item)));
        filter
    }

    #[test]
    fn sets_added_together_are_those_added_one_by_one() {
        let filters: Vec<Filter> = (0..5000).map(filter).collect();
        let sets: Vec<_> = (0..)
            .zip(&filters)
            .map(|(set, filter)| (format!("set {set}"), filter))
            .collect();
        // Up to 64 blocks, and more.
        for (count, together) in [(1, 1), (700, 63), (700, 64), (3000, 700), (5000, 64)] {
            let sets = &sets[..count];
            let mut singly = Index::mixed();
            for (name, filter) in sets {
                singly.add(name, filter).unwrap();
            }
            let mut builder = Builder::new(Index::mixed());
            for sets in sets.chunks(together) {
                builder.add_all(sets).unwrap();
            }
            let index = builder.finish();
            for (class, segment) in index.all_segments() {
                segment.check(&class.params).unwrap();
            }
            let shapes = |index: &Index| -> Vec<_> {
                let segments = index.all_segments();
                segments.map(|(_, segment)| segment.shape()).collect()
            };
            assert_eq!(shapes(&index), shapes(&singly));
            for (set, (name, filter)) in sets.iter().enumerate().step_by(7) {
                let id = |index: &Index| index.get(name).unwrap().id();
                assert_eq!(id(&index), id(&singly));
                assert!(index.filter(name).unwrap() == **filter, "{name}");
                let names = |index: &Index| -> HashSet<Vec<u8>> {
                    let found = index.which(&((set as u64) << 32));
                    found.iter().map(|set| set.name().to_vec()).collect()
                };
                assert!(names(&index).contains(name.as_bytes()));
                assert_eq!(names(&index), names(&singly), "{name}");
            }
        }
    }

    #[test]
    fn a_name_that_exists_changes_nothing() {
        let filter = filter(0);
        let mut builder = Builder::new(Index::mixed());
        builder.add_all(&[("b", &filter)]).unwrap();
        for names in [["a", "b"], ["c", "c"]] {
            let sets = names.map(|name| (name, &filter));
            let refused = builder.add_all(&sets);
            assert!(matches!(refused, Err(Error::DuplicateSet { .. })));
        }
        builder.add_all::<&str, Vec<u64>>(&[]).unwrap();
        assert_eq!(builder.finish().len(), 1);
    }
}

//! A Bloofi tree of named filters: the contents of a file, and what the command line works on.
//!
//! ```text
//!   "oslo" --slots--> 4 --tree--> its leaf          which sets? --tree--> 4 --names--> "oslo"
//! ```
//!
//! The names are our addition; the paper's filters have numbers, like those of [`Bloofi`]. Slots of
//! removed sets are reused.

use std::collections::HashMap;

use super::{Bloofi, BloofiOptions, BulkOrder, Drawing};
use bloomgrove::{Error, Filter, Params, Probe};

/// Sets by name in a [`Bloofi`] tree, which can be saved to a file.
///
/// ```
/// use bloomgrove_trees::bloofi::{BloofiOptions, NamedBloofi};
/// use bloomgrove::{Filter, Params};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("fruit.grove");
///
/// let params = Params::for_items(100, 0.01)?;
/// let mut sets = NamedBloofi::new(params.clone(), BloofiOptions::default())?;
/// for word in ["apple", "pear", "plum"] {
///     let mut filter = Filter::new(params.clone())?;
///     filter.insert(word);
///     sets.insert(word, &filter)?;
/// }
/// sets.save(&path)?;
///
/// let sets = NamedBloofi::load(&path)?;
/// let mut found = Vec::new();
/// let checked = sets.search(&params.probe("pear"), &mut found);
/// assert_eq!(found, [b"pear"]);
/// assert!(checked <= sets.tree().node_count() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NamedBloofi {
    pub(super) tree: Bloofi,
    /// By slot; empty for slots that are free.
    pub(super) names: Vec<Vec<u8>>,
    slots: HashMap<Vec<u8>, u32>,
    free: Vec<u32>,
}

impl NamedBloofi {
    /// A tree without sets.
    ///
    /// # Errors
    /// Those of [`Bloofi::new`].
    pub fn new(params: Params, options: BloofiOptions) -> Result<Self, Error> {
        Self::of_tree(Bloofi::new(params, options)?, Vec::new())
    }

    /// Builds a tree of many sets at once, like [`Bloofi::bulk`].
    ///
    /// # Errors
    /// [`Error::DuplicateSet`] for a duplicate name, [`Error::Incompatible`] for a filter with
    /// other parameters, [`Error::Params`] for an invalid order, [`Error::OutOfMemory`].
    pub fn bulk<S: AsRef<[u64]>>(
        params: Params,
        options: BloofiOptions,
        sets: impl IntoIterator<Item = (Vec<u8>, Filter<S>)>,
        order: BulkOrder,
    ) -> Result<Self, Error> {
        let mut names = Vec::new();
        let filters = (0..).zip(sets).map(|(slot, (name, filter))| {
            names.push(name);
            (slot, filter)
        });
        let tree = Bloofi::bulk(params, options, filters, order)?;
        Self::of_tree(tree, names)
    }

    /// A tree with slots from 0 on, and their names.
    pub(super) fn of_tree(tree: Bloofi, names: Vec<Vec<u8>>) -> Result<Self, Error> {
        let mut slots = HashMap::with_capacity(names.len());
        for (name, slot) in names.iter().zip(0..) {
            if slots.insert(name.clone(), slot).is_some() {
                return Err(duplicate(name));
            }
        }
        Ok(Self {
            tree,
            names,
            slots,
            free: Vec::new(),
        })
    }

    /// The tree itself.
    pub fn tree(&self) -> &Bloofi {
        &self.tree
    }

    /// The name of a slot of the tree.
    pub fn name(&self, slot: u32) -> Option<&[u8]> {
        let name = self.names.get(slot as usize)?;
        self.tree.contains_slot(slot).then_some(name)
    }

    /// The names of all sets, in the order of the leaves.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.tree.slots().into_iter();
        slots.map(|slot| &*self.names[slot as usize])
    }

    /// The filter of a set.
    ///
    /// # Errors
    /// [`Error::UnknownSet`].
    pub fn filter(&self, name: &[u8]) -> Result<Filter<&[u64]>, Error> {
        let filter = self.tree.filter(self.slot(name)?);
        filter.ok_or_else(|| unknown(name))
    }

    fn slot(&self, name: &[u8]) -> Result<u32, Error> {
        let slot = self.slots.get(name).copied();
        slot.ok_or_else(|| unknown(name))
    }

    /// Appends to `found` the names of the sets that may contain the key, in the order of the
    /// leaves, and returns how many nodes were checked.
    ///
    /// # Panics
    /// If the probe has other [`Params`].
    pub fn search<'t>(&'t self, probe: &Probe, found: &mut Vec<&'t [u8]>) -> u64 {
        let mut slots = Vec::new();
        let checked = self.tree.search(self.tree.positions_of(probe), &mut slots);
        found.extend(slots.iter().map(|&slot| &*self.names[slot as usize]));
        checked
    }

    /// Adds a set; like all changes, returns how many nodes were accessed.
    ///
    /// # Errors
    /// [`Error::DuplicateSet`], [`Error::Incompatible`], [`Error::OutOfMemory`]; nothing has
    /// changed then.
    pub fn insert<S: AsRef<[u64]>>(
        &mut self,
        name: impl Into<Vec<u8>>,
        filter: &Filter<S>,
    ) -> Result<u64, Error> {
        let name = name.into();
        if self.slots.contains_key(&name) {
            return Err(duplicate(&name));
        }
        let (slot, accessed) = self.add(filter)?;
        self.names[slot as usize] = name.clone();
        self.slots.insert(name, slot);
        Ok(accessed)
    }

    /// Adds a filter that has no name yet.
    fn add<S: AsRef<[u64]>>(&mut self, filter: &Filter<S>) -> Result<(u32, u64), Error> {
        let slot = self.free.last().copied();
        let slot = slot.unwrap_or(self.names.len() as u32);
        // Free slots are reused first, so there is a number.
        let accessed = self.tree.insert(slot, filter)?.unwrap_or(0);
        if self.free.pop().is_none() {
            self.names.push(Vec::new());
        }
        Ok((slot, accessed))
    }

    /// Replaces the filter of a set, and moves it to where that belongs: an insertion and a removal.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::Incompatible`], [`Error::OutOfMemory`]; nothing has changed
    /// then.
    pub fn replace<S: AsRef<[u64]>>(
        &mut self,
        name: &[u8],
        filter: &Filter<S>,
    ) -> Result<u64, Error> {
        let old = self.slot(name)?;
        let (new, inserted) = self.add(filter)?;
        let removed = self.take_out(old);
        self.names[new as usize] = name.to_vec();
        self.slots.insert(name.to_vec(), new);
        Ok(inserted + removed)
    }

    /// Adds the bits of a filter to those of a set, in place (Algorithm 5).
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::Incompatible`].
    pub fn update<S: AsRef<[u64]>>(
        &mut self,
        name: &[u8],
        filter: &Filter<S>,
    ) -> Result<u64, Error> {
        let slot = self.slot(name)?;
        let accessed = self.tree.update(slot, filter)?;
        accessed.ok_or_else(|| unknown(name))
    }

    /// Renames a set.
    ///
    /// # Errors
    /// [`Error::UnknownSet`], [`Error::DuplicateSet`].
    pub fn rename(&mut self, name: &[u8], new: impl Into<Vec<u8>>) -> Result<(), Error> {
        let (slot, new) = (self.slot(name)?, new.into());
        if self.slots.contains_key(&new) {
            return Err(duplicate(&new));
        }
        self.slots.remove(name);
        self.names[slot as usize] = new.clone();
        self.slots.insert(new, slot);
        Ok(())
    }

    /// Removes a set.
    ///
    /// # Errors
    /// [`Error::UnknownSet`].
    pub fn remove(&mut self, name: &[u8]) -> Result<u64, Error> {
        let slot = self.slots.remove(name).ok_or_else(|| unknown(name))?;
        Ok(self.take_out(slot))
    }

    fn take_out(&mut self, slot: u32) -> u64 {
        self.names[slot as usize] = Vec::new();
        self.free.push(slot);
        self.tree.remove(slot).unwrap_or(0)
    }

    /// Like [`Bloofi::rebuild`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the tree is then unchanged.
    pub fn rebuild(&mut self, order: BulkOrder) -> Result<(), Error> {
        self.tree.rebuild(order)
    }

    /// Like [`Bloofi::widen`]: `keys` fills an empty filter for each set.
    ///
    /// # Errors
    /// What `keys` returns, and [`Error::OutOfMemory`]; the tree is then unchanged.
    pub fn widen(
        &mut self,
        params: Params,
        mut keys: impl FnMut(&[u8], &mut Filter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let names = &self.names;
        self.tree
            .widen(params, |slot, filter| keys(&names[slot as usize], filter))
    }

    /// Like [`Bloofi::draw`], with the names of the sets.
    pub fn draw(&self) -> Drawing<'_> {
        let name = |slot: u32| String::from_utf8_lossy(&self.names[slot as usize]).into_owned();
        self.tree.draw().names(name)
    }
}

fn unknown(name: &[u8]) -> Error {
    Error::UnknownSet {
        name: String::from_utf8_lossy(name).into_owned(),
    }
}

fn duplicate(name: &[u8]) -> Error {
    Error::DuplicateSet {
        name: String::from_utf8_lossy(name).into_owned(),
    }
}

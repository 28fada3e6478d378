//! Many sets: which of them contain this key?
//!
//! ```text
//!   Index --- class (filters of equal parameters; most indexes have one)
//!               |-- segment in a mapped file   flat, sliced or sealed; can only lose filters
//!               |-- segment in a mapped file
//!               `-- segment in memory          takes what is added
//!
//!   key --hash once--> k positions --> every segment --> slots --> labels: id, name, tag
//! ```
//!
//! An [`Index`] contains named filters and queries all of them together. The shape in which they
//! are stored is chosen from their density and number ([`choose_shape`]): [`Shape::Sliced`] for
//! sparse filters, [`Shape::Flat`] for dense ones, [`Shape::Loose`] for a few, and
//! [`Shape::Sealed`] on request. An [`IndexFile`] is an index on disk, which is opened as a memory
//! map and grows at its end. A [`SharedIndex`] can be queried by many threads while it changes. The
//! tree of the Bloofi paper is in the crate `bloomgrove-trees`.
//!
//! Source: Crainiceanu (Bloofi) for the problem, the tree, and moving windows. The shapes are not
//! from the paper; each module cites its source.
//!
//! Cost of a query for one key among N sets with k hashes: between N k / 4096 and N k / 64 words
//! read. Memory: the filters, and 1/64 more if they are sliced. `docs/bench/index.md` has
//! measurements.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Index`: classes of equal `Params`, each made of segments |
//! | `answers.rs` | the answers for many keys, and their order |
//! | `query.rs` | queries: which, which_many, count, any, at_least; `View`, `Scope`, `Figures` |
//! | `change.rs` | add, remove, replace, rename, slices |
//! | `bulk.rs` | `Builder`: filling an index before it is queried |
//! | `update.rs` | adding to a set: insert, update, missing bits |
//! | `arrange.rs` | merge, rearrange, seal; changing the shape |
//! | `directory.rs` | maps names and numbers to places |
//! | `labels.rs` | name, tag, number and slice of each filter; `Set`, `SetId` |
//! | `segment.rs` | filters in one shape, with their labels |
//! | `body.rs` | `Shape`; what each shape can do |
//! | `loose.rs`, `flat.rs`, `sliced.rs`, `sealed.rs` | the shapes; the first is the naive scan |
//! | `planner.rs` | which shape, and why |
//! | `work.rs` | the work of a query; batches of keys |
//! | `shared.rs`, `staged.rs` | `SharedIndex`: many readers and one writer; changes in parts |
//! | `file/mod.rs` | `IndexFile`: commits, and when segments are merged and files rewritten |
//! | `file/change.rs` | its changes, one by one |
//! | `file/whole.rs` | opening, saving and verifying an index |
//! | `file/pack.rs`, `file/manifest.rs` | reading and writing segments, with bounded memory; the manifest in bytes |

mod answers;
mod arrange;
mod body;
mod bulk;
mod change;
mod directory;
pub(crate) mod file;
mod flat;
mod keys;
mod labels;
mod loose;
mod planner;
mod query;
mod sealed;
mod segment;
mod shared;
mod sliced;
mod staged;
mod update;
mod work;

pub use answers::Answers;
pub use arrange::Duplicates;
pub use body::Shape;
pub use bulk::Builder;
pub use file::IndexFile;
pub(crate) use file::check_file;
pub use labels::{Set, SetId};
pub use planner::{ShapeChoice, choose_shape};
pub use query::{Figures, Scope, View};
pub use shared::SharedIndex;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use directory::{Directory, Place};
use segment::Segment;

use crate::format::Notes;
use crate::{Error, Filter, Params};

/// Many named sets, stored as filters and queried together.
///
/// ```
/// use bloomgrove::{Filter, Params};
/// use bloomgrove::index::Index;
///
/// let params = Params::for_items(100, 0.01)?;
/// let mut index = Index::new(params.clone());
/// for (site, item) in [("north", "apple"), ("south", "pear")] {
///     let mut filter = Filter::new(params.clone())?;
///     filter.insert(item);
///     index.add(site, &filter)?;
/// }
/// let names: Vec<_> = index.which("pear").iter().map(|set| set.name()).collect();
/// assert_eq!(names, [b"south"]);
///
/// index.insert("north", "pear")?;
/// assert_eq!(index.count("pear"), 2);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Debug)]
pub struct Index {
    classes: Vec<Class>,
    /// Whether filters with any parameters may be added.
    mixed: bool,
    notes: Notes,
    /// The shape, unless the planner chooses it.
    fixed: Option<Shape>,
    len: usize,
    next_id: u64,
    /// Unique to this index and to the current meaning of its slots. A scope with another epoch is
    /// stale.
    epoch: u64,
    /// Created on first use: queries do not need it.
    directory: OnceLock<Directory>,
}

/// Filters with equal parameters.
#[derive(Debug)]
struct Class {
    params: Params,
    segments: Vec<Segment>,
}

impl Index {
    /// Creates an empty index for filters with these parameters. Others are rejected.
    pub fn new(params: Params) -> Self {
        let mut index = Self::mixed();
        index.mixed = false;
        index.classes.push(Class {
            params,
            segments: Vec::new(),
        });
        index
    }

    /// Creates an empty index for filters with any parameters. Each distinct [`Params`] costs a
    /// query about as much as one more filter, so there should be few distinct sizes
    /// ([`Collector::in_steps`](crate::Collector::in_steps)).
    pub fn mixed() -> Self {
        Self {
            classes: Vec::new(),
            mixed: true,
            notes: Notes::new(),
            fixed: None,
            len: 0,
            next_id: 0,
            epoch: fresh_epoch(),
            directory: OnceLock::new(),
        }
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether filters with any parameters may be added.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Iterates over the parameters of its filters. There is only one, unless the index is mixed.
    pub fn params(&self) -> impl Iterator<Item = &Params> {
        self.classes.iter().map(|class| &class.params)
    }

    /// Iterates over all sets, by segment. A set that consists of slices appears once per slice.
    pub fn sets(&self) -> impl Iterator<Item = Set<'_>> {
        self.all_segments()
            .flat_map(|(_, segment)| segment.slots().map(|slot| segment.set(slot)))
    }

    /// Returns the set with this name.
    ///
    /// # Errors
    /// [`Error::UnknownSet`] if there is none.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Result<Set<'_>, Error> {
        let name = name.as_ref();
        let place = self.directory().newest(name);
        place
            .map(|place| self.at(place))
            .ok_or_else(|| unknown(name))
    }

    /// Returns the filter of a set; if the set consists of slices, their union.
    ///
    /// # Errors
    /// [`Error::UnknownSet`]; [`Error::Incompatible`] if slices differ in parameters;
    /// [`Error::OutOfMemory`].
    pub fn filter(&self, name: impl AsRef<[u8]>) -> Result<Filter, Error> {
        let name = name.as_ref();
        let id = self.directory().id(name).ok_or_else(|| unknown(name))?;
        let mut whole: Option<Filter> = None;
        for (_, place) in self.directory().places(id) {
            let class = &self.classes[place.class];
            let words = class.segments[place.segment].filter(place.slot)?;
            let filter = Filter::from_words(class.params.clone(), words)?;
            match &mut whole {
                None => whole = Some(filter),
                Some(whole) => whole.union_with(&filter)?,
            }
        }
        whole.ok_or_else(|| unknown(name))
    }

    /// Returns the notes stored with the index.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Sets the notes, which are saved with the index.
    pub fn set_notes(&mut self, notes: Notes) {
        self.notes = notes;
    }

    /// Returns the size of all bits and summaries in bytes, without names and labels.
    pub fn bytes(&self) -> u64 {
        self.all_segments()
            .map(|(_, segment)| segment.bytes())
            .sum()
    }

    /// Describes each segment.
    pub fn segments(&self) -> Vec<SegmentInfo<'_>> {
        let info = |(class, segment): (&'_ Class, &Segment)| -> (Shape, usize, u64, f64) {
            let density = planner::density(&class.params, segment.len(), segment.ones());
            (segment.shape(), segment.len(), segment.bytes(), density)
        };
        self.all_segments()
            .map(|(class, segment)| {
                let (shape, sets, bytes, density) = info((class, segment));
                SegmentInfo {
                    params: &class.params,
                    shape,
                    sets,
                    bytes,
                    density,
                    in_file: segment.home().is_some(),
                    choice: choose_shape(&class.params, segment.len(), density),
                }
            })
            .collect()
    }

    fn all_segments(&self) -> impl Iterator<Item = (&Class, &Segment)> {
        self.classes
            .iter()
            .flat_map(|class| class.segments.iter().map(move |segment| (class, segment)))
    }

    fn at(&self, place: Place) -> Set<'_> {
        self.classes[place.class].segments[place.segment].set(place.slot)
    }

    fn directory(&self) -> &Directory {
        self.directory.get_or_init(|| Directory::of(self))
    }

    /// Panics if any invariant is violated. For tests.
    #[doc(hidden)]
    pub fn assert_invariants(&self) {
        let fresh = Directory::of(self);
        assert_eq!(fresh.len(), self.len, "the number of sets");
        let filters: usize = self.all_segments().map(|(_, segment)| segment.len()).sum();
        assert_eq!(fresh.filters(), filters, "two filters have the same number");
        if let Some(directory) = self.directory.get() {
            assert!(*directory == fresh, "the directory is out of date");
        }
        for (class, segment) in self.all_segments() {
            if let Err(what) = segment.check(&class.params) {
                panic!("{} segment: {what}", segment.shape().name());
            }
        }
        assert!(self.sets().all(|set| set.id().0 < self.next_id));
    }
}

/// A part of an index that is stored in one shape.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentInfo<'a> {
    /// The parameters of its filters.
    pub params: &'a Params,
    /// Their shape.
    pub shape: Shape,
    /// The number of filters.
    pub sets: usize,
    /// The size of their bits and summary in bytes.
    pub bytes: u64,
    /// The share of bits that are set.
    pub density: f64,
    /// Whether it is in a mapped file.
    pub in_file: bool,
    /// The shape that the planner would choose, and why.
    pub choice: ShapeChoice,
}

/// Returns a number that no index has had.
fn fresh_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

fn unknown(name: &[u8]) -> Error {
    Error::UnknownSet {
        name: name.escape_ascii().to_string(),
    }
}

//! Many sets: which of them hold x?
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
//! [`Index`] holds named filters and answers for all of them at once. The layout of the
//! bits is chosen from their density and number ([`choose_shape`]): [`Shape::Sliced`] for sparse
//! filters, [`Shape::Flat`] for dense ones, one by one for a few; [`Shape::Sealed`] on
//! request. [`IndexFile`] keeps an index on disk, where it opens through a memory map and
//! grows at its end. The tree of the Bloofi paper is in the crate `bloomgrove-trees`.
//!
//! Source: Crainiceanu (Bloofi) for the question, the tree, and moving windows.
//! The layouts are not the paper's; each says where it comes from.
//!
//! Cost of a key among N sets with k hashes: between N k / 4096 and N k / 64 words read.
//! Memory: the filters, and 1/64 more when sliced. `docs/bench/index.md` has figures.
//!
//! | file | contains |
//! |---|---|
//! | `mod.rs` | `Index`: classes of equal `Params`, each made of segments |
//! | `ask.rs` | which, which_many, count, any, at_least; `View`, `Scope`, `Figures` |
//! | `change.rs` | add, remove, replace, rename, slices |
//! | `update.rs` | adding to a set: insert, update, bits that are missing |
//! | `arrange.rs` | merge, rearrange, seal; moving to another layout |
//! | `directory.rs` | from names and numbers to places |
//! | `labels.rs` | name, tag, number and slice of each filter; `Set`, `SetId` |
//! | `segment.rs` | filters in one layout with their labels |
//! | `body.rs` | `Shape`; what each layout can do, in one place |
//! | `loose.rs`, `flat.rs`, `sliced.rs`, `sealed.rs` | the layouts; the first is the naive scan |
//! | `planner.rs` | which layout, and why |
//! | `work.rs` | what an answer took; keys asked for together |
//! | `shared.rs`, `staged.rs` | `SharedIndex`: many readers beside a writer; changes in parts |
//! | `file/mod.rs` | `IndexFile`: commit, when segments are merged and files written anew |
//! | `file/change.rs` | its changes, one by one |
//! | `file/whole.rs` | opening, saving and verifying an index |
//! | `file/pack.rs`, `file/manifest.rs` | segments to and from a file, with bounded memory; the manifest in bytes |

mod arrange;
mod ask;
mod body;
mod change;
mod directory;
pub(crate) mod file;
mod flat;
mod labels;
mod loose;
mod planner;
mod sealed;
mod segment;
mod shared;
mod sliced;
mod staged;
mod update;
mod work;

pub use arrange::Duplicates;
pub use ask::{Answers, Figures, Scope, View};
pub use body::Shape;
pub use file::IndexFile;
pub(crate) use file::check_file;
pub use labels::{Set, SetId};
pub use planner::{ShapeChoice, choose_shape};
pub use shared::SharedIndex;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use directory::{Directory, Place};
use segment::Segment;

use crate::format::Notes;
use crate::{Error, Filter, Params};

/// Named sets as filters, asked all at once.
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
    /// Whether filters of any parameters may be added.
    mixed: bool,
    notes: Notes,
    /// The layout, unless the planner chooses.
    fixed: Option<Shape>,
    len: usize,
    next_id: u64,
    /// Another one whenever slots get another meaning, and for every index: a scope made
    /// before, or of another index, is of no use then.
    epoch: u64,
    /// Made when first needed: asking does not need it.
    directory: OnceLock<Directory>,
}

/// Filters of equal parameters.
#[derive(Debug)]
struct Class {
    params: Params,
    segments: Vec<Segment>,
}

impl Index {
    /// An empty index for filters of these parameters. Others are refused.
    pub fn new(params: Params) -> Self {
        let mut index = Self::mixed();
        index.mixed = false;
        index.classes.push(Class {
            params,
            segments: Vec::new(),
        });
        index
    }

    /// An empty index for filters of any parameters. Each different [`Params`] costs a
    /// query about as much as one filter more: sizes should come in a few steps
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

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether filters of any parameters may be added.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// The parameters of its filters: one, unless it is mixed.
    pub fn params(&self) -> impl Iterator<Item = &Params> {
        self.classes.iter().map(|class| &class.params)
    }

    /// All sets, by segment; a set made of slices once for each.
    pub fn sets(&self) -> impl Iterator<Item = Set<'_>> {
        self.all_segments()
            .flat_map(|(_, segment)| segment.slots().map(|slot| segment.set(slot)))
    }

    /// The set of this name, or [`Error::UnknownSet`].
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Result<Set<'_>, Error> {
        let name = name.as_ref();
        let place = self.directory().newest(name);
        place
            .map(|place| self.at(place))
            .ok_or_else(|| unknown(name))
    }

    /// A set's filter; of a set made of slices, their union.
    ///
    /// # Errors
    /// [`Error::UnknownSet`]; [`Error::Incompatible`] when slices differ in parameters;
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

    /// The notes kept with the index.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Keeps these notes with the index: they are saved with it.
    pub fn set_notes(&mut self, notes: Notes) {
        self.notes = notes;
    }

    /// Bytes of all bits, with summaries; names and labels not counted.
    pub fn bytes(&self) -> u64 {
        self.all_segments()
            .map(|(_, segment)| segment.bytes())
            .sum()
    }

    /// What lies where: one for each segment.
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

    /// Panics if anything is not as it should be: for tests.
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

/// A part of an index that lies in one layout.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentInfo<'a> {
    /// The parameters of its filters.
    pub params: &'a Params,
    /// Their layout.
    pub shape: Shape,
    /// How many filters.
    pub sets: usize,
    /// Bytes of their bits, with summary.
    pub bytes: u64,
    /// The share of bits that are set.
    pub density: f64,
    /// Whether it lies in a mapped file.
    pub in_file: bool,
    /// What the planner would choose, and why.
    pub choice: ShapeChoice,
}

/// A number that no index has had.
fn fresh_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

fn unknown(name: &[u8]) -> Error {
    Error::UnknownSet {
        name: name.escape_ascii().to_string(),
    }
}

//! The number of items in each filter of a tree: section 5.3 and appendix B.

use super::TreeShape;
use super::walk::{Place, Visit, Way};
use bloomgrove::Error;
use bloomgrove::Key;

/// How many of `keys` are in each filter, by level. The keys must be distinct. For analysis: takes
/// four bytes per filter, which is far more than the tree itself.
///
/// ```
/// use bloomgrove_trees::bloom_tree::{TreeShape, loads};
///
/// let shape = TreeShape::for_items(1000, 1.0, &[4, 4], &[4, 2, 2])?;
/// let loads = loads(&shape, &(0..1000u64).collect::<Vec<_>>())?;
/// assert_eq!(loads[0], [1000]);
/// // Four per root bit on average, as in appendix B.4.
/// let mean = loads[1].iter().sum::<u32>() as f64 / loads[1].len() as f64;
/// assert!((3.9..=4.0).contains(&mean));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn loads<K: Key>(shape: &TreeShape, keys: &[K]) -> Result<Vec<Vec<u32>>, Error> {
    let zeroed = |level| {
        let filters = shape.filters(level);
        let too_large = || Error::OutOfMemory {
            bytes: filters.saturating_mul(4),
        };
        let filters = usize::try_from(filters).map_err(|_| too_large())?;
        let mut loads = Vec::new();
        loads.try_reserve_exact(filters).map_err(|_| too_large())?;
        loads.resize(filters, 0u32);
        Ok(loads)
    };
    let mut count = Count {
        loads: (0..shape.depth()).map(zeroed).collect::<Result<_, _>>()?,
        roots: Vec::new(),
        again: false,
    };
    for key in keys {
        count.loads[0][0] += 1;
        count.roots.clear();
        key.with_bytes(|bytes| Way::new(shape, bytes).visit(&mut count));
    }
    Ok(count.loads)
}

struct Count {
    loads: Vec<Vec<u32>>,
    /// The root bits of this key whose subtrees have been counted: a key that has a bit twice descends
    /// from it twice, but is one item.
    roots: Vec<u64>,
    again: bool,
}

impl Visit for Count {
    fn root(&mut self, _: u64) -> bool {
        true
    }

    fn filter(&mut self, place: Place) -> bool {
        if place.level == 1 {
            self.again = self.roots.contains(&place.filter);
            self.roots.push(place.filter);
        }
        if !self.again {
            self.loads[place.level][place.filter as usize] += 1;
        }
        true
    }
}

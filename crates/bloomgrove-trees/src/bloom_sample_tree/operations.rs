//! The cost of an operation, in the units of the sampling paper.

use std::ops::AddAssign;

use bloomgrove::Filter;

/// The cost of operations, in the paper's units. Each operation adds to it, so one value can be used
/// for many of them.
///
/// ```
/// use bloomgrove_trees::bloom_sample_tree::{Operations, dictionary_attack};
/// use bloomgrove::{Filter, Params};
///
/// let filter = Filter::new(Params::for_items(10, 0.01)?)?;
/// let mut work = Operations::default();
/// dictionary_attack(&filter, 0..1000, &mut work, |_| {});
/// dictionary_attack(&filter, 0..500, &mut work, |_| {});
/// assert_eq!(work.memberships, 1500);
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Filters intersected with the query.
    pub intersections: u64,
    /// Names tested with the query.
    pub memberships: u64,
    /// Nodes of a tree that were entered.
    pub nodes: u64,
}

impl AddAssign for Operations {
    fn add_assign(&mut self, more: Self) {
        self.intersections += more.intersections;
        self.memberships += more.memberships;
        self.nodes += more.nodes;
    }
}

/// How many names are tested at once: their answers stay in the nearest cache.
const BATCH: usize = 256;

/// Calls `each` for each of `names` that the query accepts, in order.
pub(super) fn members<S: AsRef<[u64]>>(
    query: &Filter<S>,
    names: impl IntoIterator<Item = u64>,
    work: &mut Operations,
    mut each: impl FnMut(u64),
) {
    let mut names = names.into_iter();
    let (mut batch, mut found) = ([0; BATCH], [false; BATCH]);
    loop {
        let mut len = 0;
        // Check the batch first: a name taken from the iterator must be stored.
        for (place, name) in batch.iter_mut().zip(&mut names) {
            *place = name;
            len += 1;
        }
        if len == 0 {
            return;
        }
        query.contains_batch(&batch[..len], &mut found[..len]);
        work.memberships += len as u64;
        for (&name, _) in batch[..len].iter().zip(&found).filter(|(_, found)| **found) {
            each(name);
        }
    }
}

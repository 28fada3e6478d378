//! What one key may take of what all share: sets and their memory, sizes, sites.
//!
//! A key with a prefix may fill what is below it, and no more: without bounds, one of them could take the
//! memory for all sets, or all [kinds](super::prepare) of parameters that a server takes, and lock
//! others out. Keys without a prefix are for who runs all of it.
//!
//! Every trace names the sites that are silent, and asks those whose sets are named: who could register
//! sites without end would make every trace incomplete, and slow. So below the prefix of a key there
//! are few; keys without a prefix are for who runs all of it.

use std::sync::Arc;

use bloomgrove_client::api::{Code, sets_of_site};
use tokio::sync::MutexGuard;

use super::Coordinator;
use super::catalog::Catalog;
use super::change::Grown;
use crate::Error;

/// Sites whose sets begin with the prefix of one key.
const MOST_BELOW: usize = 16;

/// What sets below a prefix may take together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How the names of the sets begin.
    pub prefix: String,
    /// How many sets.
    pub sets: u64,
    /// Bytes of memory.
    pub bytes: u64,
    /// How many different parameters.
    pub kinds: usize,
}

/// Changes of a batch that are not in the catalog yet: names, and what each adds.
pub(super) type Pending = [(Arc<str>, u64)];

/// Whether a set fits into the quotas that it falls under.
pub(super) fn check(grown: &Grown<'_>, catalog: &Catalog, pending: &Pending) -> Result<(), Error> {
    for tally in catalog.tallies(grown.name) {
        let Quota {
            prefix,
            sets,
            bytes,
            kinds,
        } = &tally.quota;
        let (is_new, more) = grown.below(prefix);
        let waiting = pending.iter().filter(|(name, _)| name.starts_with(prefix));
        let waiting_bytes: u64 = waiting.clone().map(|(_, bytes)| bytes).sum();
        let what = if is_new && tally.sets + waiting.count() as u64 >= *sets {
            format!("{sets} sets")
        } else if more > 0 && tally.bytes.saturating_add(waiting_bytes + more) > *bytes {
            format!("{bytes} bytes")
        } else if tally.kinds_with(grown.params) > *kinds {
            format!("{kinds} different parameters")
        } else {
            continue;
        };
        return Err(Error::new(
            Code::Forbidden,
            format!(
                "the quota of sets below {prefix:?} is {what}; delete some, reuse the parameters of an \
                 existing set, or raise the quota of the key in the server's configuration"
            ),
        ));
    }
    Ok(())
}

impl Coordinator {
    /// Whether a key of this prefix may register this site. What is returned is to be kept until it is
    /// registered: new sites are let in one after the other, since the next would not be counted
    /// before the last is on disk.
    ///
    /// # Errors
    /// There are too many below the prefix already, and this is none of them.
    pub async fn room_for_site(
        &self,
        name: &str,
        prefix: &str,
    ) -> Result<Option<MutexGuard<'_, ()>>, Error> {
        if prefix.is_empty() || self.shared.read().sites.contains_key(name) {
            return Ok(None);
        }
        let one_at_a_time = self.newcomers.lock().await;
        let catalog = self.shared.read();
        let sites = catalog.sites.keys();
        let below = sites.filter(|site| sets_of_site(site).starts_with(prefix));
        if below.take(MOST_BELOW).count() == MOST_BELOW && !catalog.sites.contains_key(name) {
            let detail = format!(
                "there are {MOST_BELOW} sites below {prefix:?} already, which is as many as a key of \
                 this prefix may have; remove those that are gone (DELETE /v1/sites/NAME), or \
                 register {name:?} with a key of its own"
            );
            return Err(Error::new(Code::Forbidden, detail));
        }
        drop(catalog);
        Ok(Some(one_at_a_time))
    }
}

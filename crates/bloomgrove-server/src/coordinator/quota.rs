//! Quotas of access keys: sets and their memory, parameters, sites.
//!
//! A key with a prefix may only create so much below it: otherwise one of them could use up the memory for all sets, or all
//! [kinds](super::prepare) of parameters that a server allows, and lock out others. Keys without a prefix are for the
//! operator.
//!
//! Every trace lists sites that are offline, and queries those whose sets match: a client that could register any number of
//! sites could make every trace incomplete and slow. So there are few below the prefix of a key.

use std::sync::Arc;

use bloomgrove_client::api::{Code, sets_of_site};
use tokio::sync::MutexGuard;

use super::Coordinator;
use super::catalog::Catalog;
use super::change::Grown;
use crate::Error;

/// Maximum number of sites below the prefix of one key.
const MOST_BELOW: usize = 16;

/// What all sets below a prefix together may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The prefix of their names.
    pub prefix: String,
    /// Maximum number of sets.
    pub sets: u64,
    /// Maximum number of bytes.
    pub bytes: u64,
    /// Maximum number of different parameters.
    pub kinds: usize,
}

/// Changes of a batch that are not in the catalog yet: names, and the memory that each adds.
pub(super) type Pending = [(Arc<str>, u64)];

/// Whether a set fits into the quotas that apply to it.
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
                "the quota for sets whose names start with {prefix:?} is {what}; delete some, use the parameters of an \
                 existing set, or raise the quota of the key in the server's configuration"
            ),
        ));
    }
    Ok(())
}

impl Coordinator {
    /// Whether a key with this prefix may register this site. Keep what is returned until the site is registered: new sites are
    /// admitted one after another, since the next one would not be counted before the last is on disk.
    ///
    /// # Errors
    /// If there are already too many sites below the prefix, and this is not one of them.
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
                "there are already {MOST_BELOW} sites below {prefix:?}, the maximum for a key with \
                 this prefix; remove obsolete ones (DELETE /v1/sites/NAME), or \
                 register {name:?} with its own key"
            );
            return Err(Error::new(Code::Forbidden, detail));
        }
        drop(catalog);
        Ok(Some(one_at_a_time))
    }
}

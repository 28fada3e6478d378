//! How many sites one key may register.
//!
//! Every trace names the sites that are silent, and asks those whose sets are named: who could register
//! sites without end would make every trace incomplete, and slow. So below the prefix of a key there
//! are few; keys without a prefix are for who runs all of it.

use bloomgrove_client::api::{Code, sets_of_site};
use tokio::sync::MutexGuard;

use super::Coordinator;
use super::refusal::Refusal;

/// Sites whose sets begin with the prefix of one key.
const MOST_BELOW: usize = 16;

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
    ) -> Result<Option<MutexGuard<'_, ()>>, Refusal> {
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
            return Err(Refusal::new(Code::Forbidden, detail));
        }
        drop(catalog);
        Ok(Some(one_at_a_time))
    }
}

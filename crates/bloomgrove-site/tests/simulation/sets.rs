//! Sets of clients at the coordinator: what was acknowledged is found, until it is deleted or replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bloomgrove::{Filter, raw::tune};
use bloomgrove_client::api::{CreateSet, Key, WhichQuery};

use crate::world::World;

/// Keys that each set certainly contains.
pub(crate) type Sets = BTreeMap<String, BTreeSet<String>>;

fn filter(keys: &BTreeSet<String>) -> Filter {
    let mut filter = Filter::new(tune::standard(40, 0.001).unwrap().params().unwrap()).unwrap();
    for key in keys {
        filter.insert(key);
    }
    filter
}

impl World {
    /// A client changes a set.
    pub(crate) async fn change_set(self: &Arc<Self>) {
        let (name, client) = (format!("client/{}", self.below(2)), self.client());
        let key = format!("key {}", self.act(0));
        let known = self.inner().sets.get(&name).cloned();
        let more = BTreeSet::from([key.clone()]);
        match self.below(6) {
            0 => {
                let wanted = CreateSet {
                    name: name.clone(),
                    items: Some(40),
                    ..CreateSet::default()
                };
                if client.create(&wanted).await.is_ok() {
                    self.inner().sets.insert(name, BTreeSet::new());
                }
            }
            1 => {
                self.inner().sets.remove(&name);
                if client.put_filter(&name, &filter(&more)).await.is_ok() {
                    self.inner().sets.insert(name, more);
                }
            }
            2 => {
                self.inner().sets.remove(&name);
                let _ = client.remove(&name).await;
            }
            3 => {
                let Ok((old, version)) = client.filter(&name).await else {
                    return;
                };
                let mut new = Filter::to_owned(&old).unwrap();
                new.insert(&key);
                let sent = client.send_delta(&name, &old, &new, Some(version)).await;
                if let (Ok(_), Some(mut keys)) = (sent, known) {
                    keys.extend(more);
                    self.inner().sets.insert(name, keys);
                }
            }
            _ => {
                let sent = client.insert(&name, vec![Key::from(&*key)], None).await;
                if let (Ok(_), Some(mut keys)) = (sent, known) {
                    keys.extend(more);
                    self.inner().sets.insert(name, keys);
                }
            }
        }
    }

    /// All that was acknowledged is found.
    pub(crate) async fn check_sets(self: &Arc<Self>) {
        let sets = self.inner().sets.clone();
        let of = |(name, keys): (&String, &BTreeSet<String>)| -> Vec<(String, String)> {
            keys.iter().map(|key| (name.clone(), key.clone())).collect()
        };
        let wanted: Vec<(String, String)> = sets.iter().flat_map(of).collect();
        if wanted.is_empty() {
            return;
        }
        let question = WhichQuery {
            keys: wanted.iter().map(|(_, key)| Key::from(&**key)).collect(),
            ..WhichQuery::default()
        };
        let Ok(which) = self.client().which(&question).await else {
            return;
        };
        for ((name, key), answer) in wanted.iter().zip(which.answers) {
            if !answer.sets.iter().flatten().any(|found| found == name) {
                self.wrong(format!("{key} was acknowledged, and is not in {name}"));
            }
        }
    }
}

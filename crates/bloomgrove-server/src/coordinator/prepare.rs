//! What each change does: checked against the current state, and turned into writes and a change in memory.
//!
//! ```text
//!   command --prepare--> writes for the store, an effect on memory, an answer
//! ```
//!
//! Every change of bits gets a new version, from one counter for all sets, so that no two states ever have the same. An
//! update names the version it builds on:
//!
//! ```text
//!   base        the set was          then
//!   none        anything             applied
//!   = version                        applied
//!   < version   not replaced since   applied: setting bits twice is harmless, and so are repeated
//!                                    updates and updates of several writers
//!   < version   replaced since       rejected: it was made for other bits
//!   > version                        rejected: something in between is missing
//! ```
//!
//! A whole filter with a base replaces that version and no other.

use std::sync::Arc;

use bloomgrove::index::Index;
use bloomgrove::raw::codec::delta_fingerprints;
use bloomgrove::{Filter, codec};
use bloomgrove_client::api::Code;

use super::catalog::{Catalog, Effect, Entry, Stored};
use super::change::{About, Bits, Change, DENSE, Done, Prepared, message_of};
use super::gaps;
use super::sites::{MOST_SITES, taken, too_many};
use super::store::{Record, SiteRecord, Write};
use super::text::{exists, not_found};
use crate::Error;

/// Bits that were set since the whole filter was stored may take this many bytes, or as many as that filter, before it is
/// stored again.
const MOST_DELTA_BYTES: u64 = 4096;
const MOST_DELTAS: u64 = 1000;
/// Maximum number of different parameters: each makes every query slower.
const MOST_KINDS: usize = 1000;

/// The state that a change is checked against.
pub(super) struct Present<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) index: &'a Index,
    /// Seconds since 1970.
    pub(super) now: u64,
    /// The version for a change of bits.
    pub(super) version: u64,
}

impl Present<'_> {
    pub(super) fn prepare(&self, change: Change) -> Result<Prepared, Error> {
        match change {
            Change::Create {
                name,
                params,
                about,
            } => {
                if self.catalog.get(&name).is_some() {
                    return Err(exists(&name));
                }
                let filter = Filter::new(params)?;
                let message = message_of(&filter)?;
                self.put(name, filter, message, about)
            }
            Change::Put {
                name,
                filter,
                message,
                about,
                base,
            } => {
                self.check_whole(&name, base)?;
                self.put(name, filter, message, about)
            }
            Change::Or {
                name,
                params,
                bits,
                base,
            } => {
                let entry = self.entry(&name)?;
                entry.params.check_equal(&params)?;
                check_base(&name, entry, base)?;
                self.or(name.clone(), entry, bits)
            }
            Change::Delta {
                name,
                message,
                base,
            } => self.delta(name, &message, base),
            Change::Describe {
                name,
                new_name,
                about,
            } => self.redescribe(name, new_name, about),
            Change::Delete { name } => {
                let entry = self.entry(&name)?;
                Ok(self.remove(name.clone(), entry))
            }
            Change::Site { name, site } => self.site(name, site),
            Change::Expire { name } => match self.catalog.get(&name) {
                Some(entry) if entry.expires.is_some_and(|at| at <= self.now) => {
                    Ok(self.remove(name.clone(), entry))
                }
                Some(entry) => Ok(Prepared::nothing(entry)),
                None => Err(not_found(&name)),
            },
        }
    }

    fn site(&self, name: Arc<str>, site: Option<SiteRecord>) -> Result<Prepared, Error> {
        let sites = &self.catalog.sites;
        let known = sites.get(&name).map(|known| &known.record);
        if site.is_none() && known.is_none() {
            let detail = format!("there is no site {name}");
            return Err(Error::new(Code::NotFound, detail));
        }
        if known.is_none() && sites.len() >= MOST_SITES {
            return Err(too_many());
        }
        // A site that moved keeps its access key.
        if let (Some(new), Some(old)) = (&site, sites.get(&name))
            && new.key != old.record.key
            && old.holds_its_name()
        {
            return Err(taken(&name));
        }
        let done = Done {
            version: self.version,
            made: known.is_none(),
            removed: site.is_none(),
            ..Done::default()
        };
        let is_new = known != site.as_ref();
        Ok(Prepared {
            writes: match is_new {
                true => vec![Write::Site(name.clone(), site.clone())],
                false => Vec::new(),
            },
            effect: is_new.then_some(Effect::Site(name, site)),
            done,
        })
    }

    fn entry(&self, name: &str) -> Result<&Entry, Error> {
        let entry = self.catalog.get(name);
        entry.ok_or_else(|| not_found(name))
    }

    /// Whether a whole filter may replace the current one: what was acknowledged since the version that the client knows would
    /// be lost.
    fn check_whole(&self, name: &str, base: Option<u64>) -> Result<(), Error> {
        let now = self.catalog.get(name).map(|entry| entry.version);
        match (base, now) {
            (None, _) | (Some(0), None) => Ok(()),
            (Some(base), Some(now)) if base == now => Ok(()),
            (Some(0), Some(_)) => Err(exists(name)),
            (Some(base), now) => {
                let detail = match now {
                    Some(now) => format!(
                        "{name} is now at version {now}, not {base}; merge into it, or retry with \
                         base={now}"
                    ),
                    None => format!(
                        "there is no set named {name} whose version {base} could be replaced; retry \
                         without a base"
                    ),
                };
                Err(Error {
                    version: now,
                    ..Error::new(Code::Changed, detail)
                })
            }
        }
    }

    /// A whole filter, and its message.
    fn put(
        &self,
        name: Arc<str>,
        filter: Filter,
        message: Vec<u8>,
        about: About,
    ) -> Result<Prepared, Error> {
        let old = self.catalog.get(&name);
        let params = self.catalog.share(filter.params());
        let is_new_kind = Arc::strong_count(&params) == 1;
        if is_new_kind && self.catalog.kinds() >= MOST_KINDS {
            return Err(Error::invalid(format!(
                "the sets on this server already use {MOST_KINDS} different combinations of parameters, \
                 which is the maximum; use those of an existing set"
            )));
        }
        let mut entry = Entry {
            id: old.map_or(self.version, |old| old.id),
            params,
            ones: filter.count_ones(),
            tags: old.map(|old| old.tags.clone()).unwrap_or_default(),
            version: self.version,
            whole: self.version,
            created: old.map_or(self.now, |old| old.created),
            changed: self.now,
            expires: old.and_then(|old| old.expires),
            stored: Stored {
                filter_bytes: message.len() as u64,
                ..Stored::default()
            },
        };
        about.tell(&mut entry);
        let done = Done {
            version: self.version,
            changed_bits: entry.ones,
            made: old.is_none(),
            removed: false,
        };
        let writes = vec![
            Write::Set(entry.id, record(&name, &entry)),
            Write::Filter(entry.id, message),
        ];
        let effect = match old {
            None => Effect::Add(name, filter, entry),
            Some(_) => Effect::Replace(name, filter, entry),
        };
        Ok(Prepared {
            writes,
            effect: Some(effect),
            done,
        })
    }

    /// Bits to set.
    fn or(&self, name: Arc<str>, entry: &Entry, bits: Bits) -> Result<Prepared, Error> {
        let positions = match bits {
            Bits::Few(positions) => positions,
            Bits::Many(filter) => {
                let mut union = self.index.filter(name.as_bytes())?;
                let before = union.count_ones();
                union.union_with(&filter)?;
                return self.whole(name, entry, union, before);
            }
        };
        let index = self.index;
        let positions = index.missing_bits(name.as_bytes(), positions)?;
        if positions.is_empty() {
            return Ok(Prepared::nothing(entry));
        }
        let mut bytes = self.now.to_le_bytes().to_vec();
        gaps::put(&mut bytes, &positions);
        let mut entry = entry.clone();
        (entry.version, entry.changed) = (self.version, self.now);
        entry.ones += positions.len() as u64;
        entry.stored.deltas += 1;
        entry.stored.delta_bytes += bytes.len() as u64;
        let full = entry.stored.filter_bytes.max(MOST_DELTA_BYTES);
        let writes = if entry.stored.delta_bytes > full || entry.stored.deltas > MOST_DELTAS {
            let mut filter = index.filter(name.as_bytes())?;
            set_all(&mut filter, &positions)?;
            let message = message_of(&filter)?;
            entry.stored = Stored {
                filter_bytes: message.len() as u64,
                ..Stored::default()
            };
            vec![
                Write::Set(entry.id, record(&name, &entry)),
                Write::Filter(entry.id, message),
            ]
        } else {
            vec![Write::Delta {
                id: entry.id,
                version: self.version,
                bytes,
            }]
        };
        Ok(Prepared {
            writes,
            done: Done {
                version: self.version,
                changed_bits: positions.len() as u64,
                ..Done::default()
            },
            effect: Some(Effect::SetBits(name, positions, entry)),
        })
    }

    /// A filter with all bits of the old one: it does not count as replaced, so other updates still apply.
    fn whole(
        &self,
        name: Arc<str>,
        entry: &Entry,
        union: Filter,
        ones_before: u64,
    ) -> Result<Prepared, Error> {
        let changed_bits = union.count_ones() - ones_before;
        if changed_bits == 0 {
            return Ok(Prepared::nothing(entry));
        }
        let whole = entry.whole;
        let message = message_of(&union)?;
        let mut prepared = self.put(name.clone(), union, message, About::default())?;
        prepared.done.changed_bits = changed_bits;
        if let Some(Effect::Replace(_, _, entry)) = &mut prepared.effect {
            entry.whole = whole;
            prepared.writes[0] = Write::Set(entry.id, record(&name, entry));
        }
        Ok(prepared)
    }

    /// A delta: rejected unless it was made from these bits; no change if it was applied before.
    fn delta(&self, name: Arc<str>, message: &[u8], base: Option<u64>) -> Result<Prepared, Error> {
        let entry = self.entry(&name)?;
        check_base(&name, entry, base)?;
        let old = self.index.filter(name.as_bytes())?;
        let mut new = old.to_owned()?;
        match codec::apply(&mut new, message) {
            Ok(_) => {}
            Err(error @ bloomgrove::Error::OtherVersion { found, .. }) => {
                if delta_fingerprints(message)?.1 == found {
                    return Ok(Prepared::nothing(entry));
                }
                let mut error = Error::from(error);
                error.version = Some(entry.version);
                return Err(error);
            }
            Err(error) => return Err(error.into()),
        }
        let mut union = old.to_owned()?;
        union.union_with(&new)?;
        if union == new {
            // It only sets bits, like the deltas of growing sets.
            let (before, after) = (old.count_ones(), new.count_ones());
            if after - before < new.params().bits() / DENSE {
                let words = old.words().iter().zip(new.words());
                let fresh: Vec<u64> = words.map(|(old, new)| new & !old).collect();
                let fresh = Filter::from_words(new.params().clone(), fresh)?;
                return self.or(name, entry, Bits::Few(fresh.ones().collect()));
            }
            return self.whole(name, entry, new, before);
        }
        let changed_bits = union.count_ones() * 2 - old.count_ones() - new.count_ones();
        let message = message_of(&new)?;
        let mut prepared = self.put(name, new, message, About::default())?;
        prepared.done.changed_bits = changed_bits;
        Ok(prepared)
    }

    fn redescribe(
        &self,
        name: Arc<str>,
        new_name: Option<Arc<str>>,
        about: About,
    ) -> Result<Prepared, Error> {
        let mut entry = self.entry(&name)?.clone();
        let new = new_name.unwrap_or_else(|| name.clone());
        if new != name && self.catalog.get(&new).is_some() {
            return Err(exists(&new));
        }
        about.tell(&mut entry);
        entry.changed = self.now;
        if new != name {
            // There may have been another set with this name, whose versions clients know.
            (entry.version, entry.whole) = (self.version, self.version);
        }
        Ok(Prepared {
            writes: vec![Write::Set(entry.id, record(&new, &entry))],
            done: Done {
                version: entry.version,
                ..Done::default()
            },
            effect: Some(Effect::Describe(name, new, entry)),
        })
    }

    fn remove(&self, name: Arc<str>, entry: &Entry) -> Prepared {
        Prepared {
            writes: vec![Write::Remove(entry.id)],
            effect: Some(Effect::Remove(name)),
            done: Done {
                version: entry.version,
                removed: true,
                ..Done::default()
            },
        }
    }
}

fn check_base(name: &str, entry: &Entry, base: Option<u64>) -> Result<(), Error> {
    let now = entry.version;
    let detail = match base {
        Some(base) if base > now => format!(
            "the update builds on version {base} of {name}, but the server has version {now}: the versions \
             in between are missing; send the whole filter"
        ),
        Some(base) if base < entry.whole => format!(
            "the update builds on version {base} of {name}, but the filter was replaced at version \
             {}; send the whole filter",
            entry.whole
        ),
        _ => return Ok(()),
    };
    Err(Error {
        version: Some(now),
        ..Error::new(Code::SendWhole, detail)
    })
}

fn record(name: &str, entry: &Entry) -> Record {
    Record {
        name: name.to_owned(),
        tags: entry.tags.clone(),
        version: entry.version,
        whole: entry.whole,
        created: entry.created,
        changed: entry.changed,
        expires: entry.expires,
    }
}

/// Sets bits of a filter.
pub(super) fn set_all(filter: &mut Filter, positions: &[u64]) -> Result<(), bloomgrove::Error> {
    let mut words = vec![0u64; filter.params().words()];
    for &position in positions {
        words[(position / 64) as usize] |= 1 << (position % 64);
    }
    let more = Filter::from_words(filter.params().clone(), words)?;
    filter.union_with(&more)
}

//! Changes: commands for the writer, and their results.

use std::sync::Arc;

use bloomgrove::{Filter, Params, codec};

use super::catalog::{Catalog, Effect, Entry, size_of_set};
use super::store::{SiteRecord, Write};
use crate::Error;

/// If more than one in this many bits is set, the union is stored instead of the change.
pub(super) const DENSE: u64 = 64;
/// A requested change.
#[derive(Debug)]
pub(super) enum Change {
    /// A new, empty set.
    Create {
        name: Arc<str>,
        params: Params,
        about: About,
    },
    /// A whole filter, for a new or an existing set.
    Put {
        name: Arc<str>,
        filter: Filter,
        /// The same, as stored.
        message: Vec<u8>,
        about: About,
        /// The version that the set must have; 0 if it must not exist.
        base: Option<u64>,
    },
    /// Bits to set.
    Or {
        name: Arc<str>,
        params: Arc<Params>,
        bits: Bits,
        base: Option<u64>,
    },
    /// A delta between two versions of the bits.
    Delta {
        name: Arc<str>,
        message: bytes::Bytes,
        base: Option<u64>,
    },
    /// Another name, other tags, another expiry.
    Describe {
        name: Arc<str>,
        new_name: Option<Arc<str>>,
        about: About,
    },
    Delete {
        name: Arc<str>,
    },
    /// A site is registered or removed.
    Site {
        name: Arc<str>,
        site: Option<SiteRecord>,
    },
    /// Deletes a set if it has expired.
    Expire {
        name: Arc<str>,
    },
}

/// A whole filter for a set, and its message if it was uploaded as one: the store keeps it unchanged.
#[derive(Debug)]
pub struct Upload {
    pub(super) filter: Filter,
    message: Option<bytes::Bytes>,
}

impl From<Filter> for Upload {
    fn from(filter: Filter) -> Self {
        Self {
            filter,
            message: None,
        }
    }
}

impl Upload {
    /// A filter that was uploaded as these bytes.
    pub(super) fn of_message(filter: Filter, message: bytes::Bytes) -> Self {
        // If it is badly compressed, it is compressed again.
        let most = filter.params().words() * 8 + 1024;
        let message = Some(message).filter(|message| message.len() <= most);
        Self { filter, message }
    }

    pub(super) fn is_coded(&self) -> bool {
        self.message.is_some()
    }

    /// The filter, and what is stored: compressed here unless it was uploaded so.
    pub(super) fn into_parts(self) -> Result<(Filter, Vec<u8>), Error> {
        let message = match self.message {
            Some(message) => message.into(),
            None => message_of(&self.filter)?,
        };
        Ok((self.filter, message))
    }
}

/// A filter as stored.
pub(super) fn message_of(filter: &Filter) -> Result<Vec<u8>, Error> {
    let mut message = Vec::new();
    codec::compress(filter, &mut message)?;
    Ok(message)
}

/// Properties of a set; None leaves them unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) tags: Option<Vec<String>>,
    /// Seconds since 1970; 0 for never.
    pub(super) expires: Option<u64>,
}

/// Bits to set.
#[derive(Debug)]
pub(super) enum Bits {
    Few(Vec<u64>),
    Many(Filter),
}

impl Bits {
    pub(super) fn of(filter: Filter) -> Self {
        match filter.count_ones() < filter.params().bits() / DENSE {
            true => Bits::Few(filter.ones().collect()),
            false => Bits::Many(filter),
        }
    }
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The new version of the set.
    pub version: u64,
    /// Number of bits changed.
    pub changed_bits: u64,
    /// Whether the set was created.
    pub made: bool,
    /// Whether the set was removed.
    pub removed: bool,
}

/// A change that was checked and can be made.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) writes: Vec<Write>,
    pub(super) effect: Option<Effect>,
    pub(super) done: Done,
}

impl Prepared {
    pub(super) fn nothing(entry: &Entry) -> Self {
        Self {
            writes: Vec::new(),
            effect: None,
            done: Done {
                version: entry.version,
                ..Done::default()
            },
        }
    }
}

impl Change {
    /// The sets that it concerns.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let (name, other) = match self {
            Change::Describe { name, new_name, .. } => (name, new_name.as_ref()),
            Change::Create { name, .. }
            | Change::Put { name, .. }
            | Change::Or { name, .. }
            | Change::Delta { name, .. }
            | Change::Delete { name }
            // The name of a site, not of a set; if a set has the same name, one of them waits.
            | Change::Site { name, .. }
            | Change::Expire { name } => (name, None),
        };
        [Some(name), other].into_iter().flatten()
    }

    /// The size of the largest filter that it reads or writes as a whole.
    pub(super) fn filter_bytes(&self, catalog: &Catalog) -> u64 {
        let old = |name: &str| catalog.get(name).map(|entry| &*entry.params);
        let (name, new) = match self {
            Change::Create { name, params, .. } => (name, Some(params)),
            Change::Put { name, filter, .. } => (name, Some(filter.params())),
            Change::Or {
                name,
                bits: Bits::Many(_),
                ..
            }
            | Change::Delta { name, .. }
            | Change::Delete { name }
            | Change::Expire { name } => (name, None),
            Change::Or { .. } | Change::Describe { .. } | Change::Site { .. } => return 0,
        };
        let words = [old(name), new].into_iter().flatten().map(Params::words);
        words.max().unwrap_or(0) as u64 * 8
    }

    /// The set that it creates or enlarges, if any, as far as memory is concerned.
    pub(super) fn grown<'a>(&'a self, catalog: &'a Catalog) -> Option<Grown<'a>> {
        let (name, new_name, params, about) = match self {
            Change::Create {
                name,
                params,
                about,
            } => (name, name, Some(params), about),
            Change::Put {
                name,
                filter,
                about,
                ..
            } => (name, name, Some(filter.params()), about),
            Change::Describe {
                name,
                new_name,
                about,
            } => (name, new_name.as_ref().unwrap_or(name), None, about),
            Change::Or { .. }
            | Change::Delta { .. }
            | Change::Delete { .. }
            | Change::Site { .. }
            | Change::Expire { .. } => return None,
        };
        let old = catalog.get(name);
        let params = params.or(old.map(|old| &*old.params))?;
        let tags = about.tags.as_ref().or(old.map(|old| &old.tags));
        Some(Grown {
            name: new_name,
            params,
            bytes: size_of_set(new_name, params, tags.map_or(&[], Vec::as_slice)),
            old: old.map(|old| (name, size_of_set(name, &old.params, &old.tags))),
        })
    }
}

/// A set after the change.
#[derive(Debug)]
pub(super) struct Grown<'a> {
    pub(super) name: &'a Arc<str>,
    pub(super) params: &'a Params,
    /// Its memory after the change, by [`size_of_set`].
    pub(super) bytes: u64,
    /// Its current name and memory.
    old: Option<(&'a Arc<str>, u64)>,
}

impl Grown<'_> {
    /// The difference to now, below a prefix: whether it is new there, and how many bytes more.
    pub(super) fn below(&self, prefix: &str) -> (bool, u64) {
        let old = self.old.filter(|(name, _)| name.starts_with(prefix));
        let bytes = self.bytes.saturating_sub(old.map_or(0, |(_, bytes)| bytes));
        (old.is_none(), bytes)
    }
}

impl About {
    pub(super) fn tell(self, entry: &mut Entry) {
        if let Some(tags) = self.tags {
            entry.tags = tags;
        }
        if let Some(at) = self.expires {
            entry.expires = Some(at).filter(|&at| at != 0);
        }
    }
}

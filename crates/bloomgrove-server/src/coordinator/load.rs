//! Reading the store at the start: one thread reads, others expand filters, one lays them out.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use bloomgrove::index::{Builder, Index};
use bloomgrove::{Filter, codec};

use super::Limits;
use super::catalog::{Catalog, Entry, Noted, Stored};
use super::gaps;
use super::prepare::set_all;
use super::store::{Loaded, Store};

/// Sets that are passed between threads together: as many, or as many bytes of messages. Few, since each can be large.
const TOGETHER: usize = 64;
const BYTES_TOGETHER: usize = 1 << 20;
/// Maximum number of such batches in each queue between threads.
const AHEAD: usize = 2;

/// A set that is ready for the catalog.
struct Ready {
    name: Arc<str>,
    filter: Filter,
    entry: Entry,
}

/// The contents of the store.
pub(super) struct Memory {
    pub(super) index: Index,
    pub(super) catalog: Catalog,
    /// The version most recently assigned.
    pub(super) version: u64,
}

/// Reads the store.
pub(super) fn load(store: &Store, limits: &Limits) -> Result<Memory> {
    let mut index = Builder::new(Index::mixed());
    let mut catalog = Catalog::new(&limits.quotas);
    let (found, to_expand) = mpsc::sync_channel::<Vec<Loaded>>(AHEAD);
    let (expanded, ready) = mpsc::sync_channel::<Vec<Result<Ready>>>(AHEAD);
    // Dropped with the last receiver, so that the reader notices.
    let to_expand = Arc::new(Mutex::new(to_expand));
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let version = std::thread::scope(|scope| {
        let reader = scope.spawn(move || -> Result<u64> {
            let (mut batch, mut bytes) = (Vec::new(), 0);
            // If there is no receiver any more, the receiver reports why.
            let send = |batch| found.send(batch).ok().context("stopped");
            let version = store.load(|set| {
                bytes += set.filter.len();
                batch.push(set);
                if batch.len() < TOGETHER && bytes < BYTES_TOGETHER {
                    return Ok(());
                }
                bytes = 0;
                send(std::mem::take(&mut batch))
            })?;
            send(batch)?;
            Ok(version)
        });
        for _ in 0..threads {
            let (to_expand, expanded) = (to_expand.clone(), expanded.clone());
            scope.spawn(move || {
                loop {
                    let sets = to_expand
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv();
                    let Ok(sets) = sets else { break };
                    let sets = sets.into_iter().map(expand).collect();
                    if expanded.send(sets).is_err() {
                        break;
                    }
                }
            });
        }
        drop((expanded, to_expand));
        for batch in &ready {
            let mut sets = Vec::with_capacity(batch.len());
            for set in batch {
                let Ready {
                    name,
                    filter,
                    mut entry,
                } = set?;
                entry.params = catalog.share(filter.params());
                catalog.insert(name.clone(), entry);
                sets.push((name, filter));
            }
            let sets: Vec<_> = sets
                .iter()
                .map(|(name, filter)| (name.as_bytes(), filter))
                .collect();
            index.add_all(&sets)?;
        }
        drop(ready);
        reader
            .join()
            .map_err(|_| anyhow::anyhow!("internal error while reading the store"))?
    })?;
    // Last, since the times of heartbeats are counted from here.
    for (name, site) in store.sites()? {
        catalog.note(Noted::Site(name.into(), Some(site)));
    }
    if catalog.bytes() > limits.memory {
        // They were accepted under another limit, and a server that does not start helps no one.
        tracing::warn!(
            bytes = catalog.bytes(),
            limit = limits.memory,
            "the sets take more memory than is allowed; new ones will be rejected"
        );
    }
    Ok(Memory {
        index: index.finish(),
        catalog,
        version,
    })
}

/// Whether a set can be read.
pub(super) fn check(set: Loaded) -> Result<()> {
    expand(set).map(drop)
}

fn expand(set: Loaded) -> Result<Ready> {
    let Loaded {
        id,
        record,
        filter: message,
        deltas,
    } = set;
    let damaged = || {
        format!(
            "cannot read the set {} from the store, which is damaged; start a new data directory \
             from a snapshot (`--restore`)",
            record.name
        )
    };
    // What is in the store was within the limits when it was written.
    let (mut filter, _) = codec::expand_within(&message[..], u64::MAX).with_context(damaged)?;
    let mut entry = Entry {
        id,
        params: Arc::new(filter.params().clone()),
        ones: 0,
        tags: record.tags.clone(),
        version: record.version,
        whole: record.whole,
        created: record.created,
        changed: record.changed,
        expires: record.expires,
        stored: Stored {
            filter_bytes: message.len() as u64,
            deltas: deltas.len() as u64,
            delta_bytes: deltas.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        },
    };
    let mut all = Vec::new();
    for (version, bytes) in &deltas {
        let (time, positions) = bytes.split_first_chunk().with_context(damaged)?;
        all.extend(gaps::take(positions, filter.params().bits()).with_context(damaged)?);
        entry.version = entry.version.max(*version);
        entry.changed = entry.changed.max(u64::from_le_bytes(*time));
    }
    if !all.is_empty() {
        set_all(&mut filter, &all)?;
    }
    entry.ones = filter.count_ones();
    let name = record.name.as_str().into();
    Ok(Ready {
        name,
        filter,
        entry,
    })
}

//! The race: every contender takes its turn in every round, so that noise affects all of
//! them; the best round of each counts.

use std::hint::black_box;
use std::time::Instant;

use crate::rivals::{self, BenchKey, Entry, FB, FB_GROUP};

/// What is measured for each contender, in this order.
pub(crate) const MEASURES: [&str; 3] = ["insert", "hit", "miss"];

/// Absent keys are made from counters that no present key uses.
const ABSENT: u64 = 1 << 40;

pub(crate) struct Setup {
    pub(crate) items: usize,
    pub(crate) queries: usize,
    pub(crate) rounds: usize,
    pub(crate) fpr_queries: usize,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) bits_per_key: f64,
    pub(crate) fpr: f64,
    /// Nanoseconds per key, best round.
    pub(crate) nanos: [f64; 3],
    /// The speedup over FB, and over FB* (the best fastbloom for each measure).
    pub(crate) over_fb: [f64; 3],
    pub(crate) over_best_fb: [f64; 3],
}

pub(crate) fn run<K: BenchKey>(setup: &Setup) -> Vec<Row> {
    let mut entries = rivals::all::<K>(setup.items);
    let mut nanos = vec![[f64::INFINITY; 3]; entries.len()];
    insert(setup, &mut entries, &mut nanos);
    query(setup, &mut entries, &mut nanos);
    let fpr = rates(setup, &mut entries);

    let best_fb: [f64; 3] = std::array::from_fn(|measure| {
        nanos[FB_GROUP]
            .iter()
            .map(|nanos| nanos[measure])
            .fold(f64::INFINITY, f64::min)
    });
    entries
        .iter()
        .zip(fpr)
        .zip(&nanos)
        .map(|((entry, fpr), own)| Row {
            name: entry.name,
            bits_per_key: entry.contender.bits() as f64 / setup.items as f64,
            fpr,
            nanos: *own,
            over_fb: std::array::from_fn(|m| nanos[FB][m] / own[m]),
            over_best_fb: std::array::from_fn(|m| best_fb[m] / own[m]),
        })
        .collect()
}

/// Runs `each` on all entries, beginning with a different one in each round.
fn in_turn<K>(round: usize, entries: &mut [Entry<K>], mut each: impl FnMut(usize, &mut Entry<K>)) {
    let len = entries.len();
    for i in 0..len {
        let i = (i + round) % len;
        each(i, &mut entries[i]);
    }
}

fn timed(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / count as f64
}

/// Small: whole builds, several times. Large: one build, in chunks; the best chunk
/// counts, and all chunks use memory that has been touched before.
fn insert<K: BenchKey>(setup: &Setup, entries: &mut [Entry<K>], nanos: &mut [[f64; 3]]) {
    let chunk = setup.items.min(1_000_000);
    let builds = if setup.items <= chunk {
        setup.rounds.min(9)
    } else {
        1
    };
    let mut spent = vec![0.0; entries.len()];
    for build in 0..builds {
        in_turn(build, entries, |_, entry| entry.contender.clear());
        spent.fill(0.0);
        for (round, start) in (0..setup.items).step_by(chunk).enumerate() {
            let end = (start + chunk).min(setup.items);
            let keys: Vec<K> = (start..end).map(|i| K::make(i as u64)).collect();
            in_turn(build + round, entries, |i, entry| {
                let own = timed(keys.len(), || entry.contender.insert(&keys));
                spent[i] += own * keys.len() as f64;
                if !entry.contender.is_static() {
                    nanos[i][0] = nanos[i][0].min(own);
                }
            });
        }
        in_turn(build, entries, |i, entry| {
            let own = timed(1, || entry.contender.finish());
            if entry.contender.is_static() {
                nanos[i][0] = nanos[i][0].min((spent[i] + own) / setup.items as f64);
            }
        });
    }
}

fn query<K: BenchKey>(setup: &Setup, entries: &mut [Entry<K>], nanos: &mut [[f64; 3]]) {
    let small = setup.items <= 1_000_000;
    for round in 0..setup.rounds {
        let from = rivals::scatter(round as u64);
        let present: Vec<K> = (0..setup.queries as u64)
            .map(|i| K::make(rivals::scatter(from ^ i) % setup.items as u64))
            .collect();
        let absent: Vec<K> = (0..setup.queries as u64)
            .map(|i| K::make(ABSENT + round as u64 * setup.queries as u64 + i))
            .collect();
        in_turn(round, entries, |i, entry| {
            let filter = &mut entry.contender;
            if small {
                // In-cache figures: bring this filter back into the cache before timing.
                black_box(filter.count(&absent));
            }
            let mut found = 0;
            let hit = timed(setup.queries, || found = filter.count(black_box(&present)));
            assert_eq!(found, setup.queries, "{} lost a key", entry.name);
            let miss = timed(setup.queries, || found = filter.count(black_box(&absent)));
            assert!(
                black_box(found) < setup.queries / 20,
                "{} accepts too many absent keys",
                entry.name
            );
            nanos[i][1] = nanos[i][1].min(hit);
            nanos[i][2] = nanos[i][2].min(miss);
        });
    }
}

fn rates<K: BenchKey>(setup: &Setup, entries: &mut [Entry<K>]) -> Vec<f64> {
    let mut accepted = vec![0; entries.len()];
    let chunk = 1 << 20;
    for start in (0..setup.fpr_queries).step_by(chunk) {
        let end = (start + chunk).min(setup.fpr_queries);
        let keys: Vec<K> = (start..end)
            .map(|i| K::make(2 * ABSENT + i as u64))
            .collect();
        in_turn(0, entries, |i, entry| {
            accepted[i] += entry.contender.count(&keys)
        });
    }
    accepted
        .iter()
        .map(|&count| count as f64 / setup.fpr_queries as f64)
        .collect()
}

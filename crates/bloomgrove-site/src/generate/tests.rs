use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::Xxh3;

use super::*;

const SMALL: Workload = Workload {
    sites: 30,
    events: 20_000,
    seed: 8,
    labels: true,
    day: "2026-11-16",
};

/// The same on other machines and with other versions of libraries: examples and figures rely on it.
#[test]
fn the_events_are_the_same_every_time() {
    let mut hash = Xxh3::new();
    for (site, event) in SMALL.events() {
        hash.update(&site.to_le_bytes());
        hash.update(&serde_json::to_vec(&event).unwrap());
    }
    assert_eq!(hash.digest(), 0x5847_8632_43e0_828f);
}

#[test]
fn another_seed_makes_other_events() {
    let other = Workload { seed: 9, ..SMALL };
    let same = SMALL
        .events()
        .zip(other.events())
        .filter(|(one, other)| one == other);
    assert_eq!(same.count(), 0);
}

#[test]
fn every_event_can_be_recorded() {
    let mut ids = HashSet::new();
    for (site, event) in SMALL.events() {
        assert!(site < SMALL.sites);
        let (id, _) = crate::event::triples(&event, "").unwrap();
        assert!(ids.insert(id));
        assert!(event.label.is_some_and(|label| !label.is_empty()));
    }
    assert_eq!(ids.len(), 20_000);
}

/// Every input is known at the site at that time: made there, or received from where it was sent.
#[test]
fn sites_work_on_what_they_have() {
    let mut known = HashSet::new();
    let mut made = HashSet::new();
    let mut sent: HashMap<(u32, u32, Vec<u32>), u64> = HashMap::new();
    let (mut last, mut pairs) = (0, 0);
    for step in SMALL.steps() {
        assert!(step.time >= last && step.time < 86_400_000);
        last = step.time;
        match (step.kind, step.peer) {
            (EventKind::Received, Some(peer)) => {
                let parcel = (peer, step.site, step.inputs.clone());
                let count = sent.get_mut(&parcel).filter(|count| **count > 0);
                *count.expect("it was sent before") -= 1;
                pairs += 1;
                known.extend(step.inputs.iter().map(|&input| (step.site, input)));
            }
            (EventKind::Sent, Some(peer)) => {
                assert_ne!(peer, step.site);
                *sent
                    .entry((step.site, peer, step.inputs.clone()))
                    .or_default() += 1;
            }
            (_, peer) => assert_eq!(peer, None),
        }
        for &input in &step.inputs {
            assert!(known.contains(&(step.site, input)), "{step:?}");
        }
        for &output in &step.outputs {
            // It did not exist before, so nothing can be its own ancestor.
            assert!(made.insert(output));
            known.insert((step.site, output));
        }
    }
    assert!(pairs > 3000, "{pairs}");
}

#[test]
fn names_are_cities_and_then_numbers() {
    let names: Vec<String> = [0, 11, 12, 999, 1000]
        .map(|number| SMALL.site(number))
        .into();
    assert_eq!(
        names,
        ["bergen", "quito", "site-013", "site-1000", "site-1001"]
    );
    assert!(SMALL.document(7).starts_with("urn:uuid:"));
    assert_ne!(SMALL.document(7), SMALL.event(7));
    let name = SMALL.document_name(42);
    assert!(name.ends_with(" 0042"), "{name}");
}

#[test]
fn one_site_and_no_events_are_fine() {
    let alone = Workload {
        sites: 1,
        events: 500,
        ..SMALL
    };
    assert!(
        alone
            .steps()
            .all(|step| step.site == 0 && step.peer.is_none())
    );
    assert_eq!(alone.steps().count(), 500);
    let idle = Workload { events: 0, ..SMALL };
    assert_eq!(idle.events().count(), 0);
    let pair = Workload {
        sites: 2,
        events: 500,
        ..SMALL
    };
    assert!(pair.steps().any(|step| step.kind == EventKind::Received));
}

#[test]
fn few_sites_are_busy_and_most_parcels_go_to_partners() {
    let workload = Workload {
        sites: 200,
        events: 100_000,
        ..SMALL
    };
    let mut work = vec![0u64; 200];
    let mut parcels: HashMap<(u32, u32), u64> = HashMap::new();
    for step in workload.steps() {
        work[step.site as usize] += 1;
        if let (EventKind::Sent, Some(peer)) = (step.kind, step.peer) {
            *parcels.entry((step.site, peer)).or_default() += 1;
        }
    }
    work.sort_unstable();
    assert!(work[199] > 3 * work[100] && work[0] > 50, "{work:?}");
    let mut to_partners = 0;
    for site in 0..200 {
        let mut sent: Vec<u64> = (0..200)
            .filter_map(|peer| parcels.get(&(site, peer)).copied())
            .collect();
        sent.sort_unstable();
        to_partners += sent.iter().rev().take(4).sum::<u64>();
    }
    let all: u64 = parcels.values().sum();
    assert!(to_partners * 100 > all * 85, "{to_partners} of {all}");
}

/// Histories are long enough to be worth tracing, and no document has nearly everything in its history.
#[test]
fn histories_are_long_and_yet_bounded() {
    let workload = Workload {
        sites: 200,
        events: 200_000,
        ..SMALL
    };
    let ancestry = Ancestry::new(workload.steps());
    let documents = ancestry.documents();
    let sampled = (0..documents).step_by(20);
    let mut all: Vec<History> = sampled.map(|document| ancestry.history(document)).collect();
    let mut column = |of: fn(&History) -> u64| {
        all.sort_unstable_by_key(of);
        let values: Vec<u64> = all.iter().map(of).collect();
        let at = |share: usize| values[(values.len() - 1) * share / 1000];
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        (at(500), mean, at(990), at(1000))
    };
    let ancestors = column(|history| history.ancestors);
    let steps = column(|history| history.steps);
    let sites = column(|history| history.sites);
    println!("{documents} documents: ancestors {ancestors:?}, steps {steps:?}, sites {sites:?}");
    assert!(
        (1..=10).contains(&ancestors.0) && (3.0..20.0).contains(&ancestors.1) && ancestors.3 < 1000
    );
    assert!((2..=6).contains(&steps.0) && (15..=100).contains(&steps.3));
    assert!((2..=8).contains(&sites.0) && sites.2 < 40);
}

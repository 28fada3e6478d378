use std::time::Duration;

use bloomgrove_client::api::{Event, EventKind};

use super::*;
use crate::event;
use crate::publish::{Window, timestamp};

const HOUR: u64 = 3600;
/// 2026-11-16T09:00:00Z.
const NINE: u64 = 1_794_819_600;

fn spec(windows: bool) -> FilterSpec {
    let hours = |hours| Duration::from_secs(hours * HOUR);
    FilterSpec {
        site: "galway".into(),
        window: windows.then(|| Window {
            length: hours(1),
            keep: hours(3),
        }),
        expect: 40,
        fpr: 0.001,
        cipher: None,
    }
}

fn open(directory: &Path, windows: bool, now: u64) -> Records {
    Records::open(directory, spec(windows), 1_000_000, now).unwrap()
}

fn made(document: &str) -> Vec<Triple> {
    let event = Event {
        id: Some(format!("urn:event:{document}")),
        kind: EventKind::Created,
        outputs: vec![document.into()],
        time: Some(timestamp(NINE)),
        ..Event::default()
    };
    event::triples(&event, "").unwrap().1
}

/// Which of these ids are in each set, by the labels of sets.
fn found(records: &Records, ids: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut sets = records.sets();
    let names = sets.names();
    let mut found = Vec::new();
    for name in names.iter().rev() {
        let filter = sets.filter(name);
        let held = ids.iter().filter(|id| filter.contains(**id));
        let label = name.strip_prefix("galway/ids/").unwrap();
        found.push((label.to_owned(), held.map(|id| (*id).to_owned()).collect()));
    }
    // Nothing was acknowledged.
    assert!(
        names
            .iter()
            .all(|name| sets.next(name, NINE).unwrap().base().is_none())
    );
    found
}

fn said(of: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let strings = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    of.iter()
        .map(|(label, ids)| ((*label).to_owned(), strings(ids)))
        .collect()
}

#[test]
fn ids_are_in_the_windows_in_which_they_were_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let all = ["a", "b", "c", "urn:event:a"];
    let wanted = said(&[
        ("2026-11-16T09", &["a", "b", "urn:event:a"]),
        ("2026-11-16T10", &["a", "urn:event:a"]),
        ("2026-11-16T11", &["c"]),
    ]);
    {
        let records = open(directory.path(), true, NINE);
        let new = records.add(made("a"), NINE).unwrap();
        assert_eq!(new.links, 1);
        records.add(made("b"), NINE + HOUR - 1).unwrap();
        // Nothing new, but recorded in another window: once.
        assert_eq!(
            records.add(made("a"), NINE + HOUR).unwrap(),
            Added::default()
        );
        assert_eq!(records.log.next(), 3);
        assert_eq!(
            records.add(made("a"), NINE + HOUR).unwrap(),
            Added::default()
        );
        assert_eq!(records.log.next(), 3);
        records.add(made("c"), NINE + 2 * HOUR).unwrap();
        assert_eq!(found(&records, &all), wanted);
        assert_eq!(records.sets().ids(), 6);
    }
    let now = NINE + 2 * HOUR;
    assert_eq!(found(&open(directory.path(), true, now), &all), wanted);
    // Three hours after its end a window has expired.
    let late = NINE + 4 * HOUR;
    let records = open(directory.path(), true, late);
    assert_eq!(found(&records, &all), wanted[1..]);
    assert_eq!(records.sets().ids(), 6);
    assert!(records.sets().expire(late).is_empty());
    assert_eq!(
        records.sets().expire(late + HOUR),
        ["galway/ids/2026-11-16T10"]
    );
    assert_eq!(found(&records, &all), wanted[2..]);
    // The triples have not.
    assert_eq!(records.store.len(), open_later(directory, records));
}

fn open_later(directory: tempfile::TempDir, records: Records) -> u64 {
    drop(records);
    open(directory.path(), false, NINE).store.len()
}

/// What was acknowledged is known again after a restart, and later ids are sent as a delta.
#[test]
fn what_was_acknowledged_is_recalled() {
    let directory = tempfile::tempdir().unwrap();
    let set = "galway/ids/all";
    let records = open(directory.path(), false, NINE);
    records.add(made("a"), NINE).unwrap();
    let message = records.sets().next(set, NINE).unwrap();
    records.add(made("b"), NINE).unwrap();
    let note = records.sets().acknowledge(&message, 7, Some(1)).unwrap();
    assert_eq!((note.version, note.position, note.ids), (7, 1, 2));
    let delta = records.sets().next(set, NINE).unwrap();
    assert_eq!(delta.base(), Some(7));
    let bytes = serde_json::to_vec(&note).unwrap();
    records.log.note_published(set, Some(&bytes)).unwrap();
    drop(records);

    let records = open(directory.path(), false, NINE);
    assert_eq!(records.sets().version(set), Some((7, Some(1))));
    assert_eq!(records.sets().pending(), 2);
    let again = records.sets().next(set, NINE).unwrap();
    assert_eq!(again.base(), Some(7));
    assert_eq!(again.bytes().unwrap(), delta.bytes().unwrap());
    records.sets().acknowledge(&again, 8, Some(1)).unwrap();
    assert!(records.sets().next(set, NINE).is_none());
    drop(records);

    // Notes of another rate or cipher, or of a log that was reset, do not apply.
    let mut other = spec(false);
    other.fpr = 0.01;
    let records = Records::open(directory.path(), other, 1000, NINE).unwrap();
    assert_eq!(records.sets().next(set, NINE).unwrap().base(), None);
    let mut ahead = note;
    ahead.position = 3;
    let bytes = serde_json::to_vec(&ahead).unwrap();
    records.log.note_published(set, Some(&bytes)).unwrap();
    drop(records);
    let records = open(directory.path(), false, NINE);
    assert_eq!(records.sets().next(set, NINE).unwrap().base(), None);
}

#[test]
fn a_filter_grows_with_its_ids_while_running_and_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..300).map(|n| format!("doc {n}")).collect();
    let bits = {
        let records = open(directory.path(), false, NINE);
        for name in &names {
            records.add(made(name), NINE).unwrap();
        }
        records.sets().published()[0].bits
    };
    let records = open(directory.path(), false, NINE);
    assert_eq!(records.sets().published()[0].bits, bits);
    assert!(bits > 600 * 14);
    let sets = records.sets();
    let filter = sets.filter("galway/ids/all");
    assert!(names.iter().all(|name| filter.contains(name)));
    let strangers = (0..10_000u64).filter(|n| filter.contains(&format!("stranger {n}")));
    assert!(strangers.count() < 40);
}

/// A batch that was written though it seemed to have failed is added with the next.
#[test]
fn what_memory_has_missed_is_taken_in() {
    let directory = tempfile::tempdir().unwrap();
    let records = open(directory.path(), false, NINE);
    records.add(made("a"), NINE).unwrap();
    records
        .log
        .append(NINE, &store::to_text(&made("b")))
        .unwrap();
    records.add(made("c"), NINE).unwrap();
    assert_eq!(records.sets().position(), 3);
    assert_eq!(
        found(&records, &["a", "b", "c"]),
        said(&[("all", &["a", "b", "c"])])
    );
    let triples = records.store.len();
    drop(records);
    assert_eq!(open(directory.path(), false, NINE).store.len(), triples);
}

/// A set that expired because the clock was ahead has all its ids once the clock is right again: with only those recorded
/// since, it would replace the complete one.
#[test]
fn a_clock_that_was_ahead_leaves_no_id_out() {
    let directory = tempfile::tempdir().unwrap();
    let (ahead, label) = (NINE + 1000 * HOUR, "2026-11-16T09");
    let names: Vec<String> = (0..100).map(|n| format!("doc {n}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let in_label = |records: &Records| {
        let found = found(records, &all);
        let mut found = found.into_iter().filter(|(name, _)| name == label);
        found.next().map_or(0, |(_, ids)| ids.len())
    };
    let records = open(directory.path(), true, NINE);
    for name in &names[..50] {
        records.add(made(name), NINE).unwrap();
    }
    assert_eq!(in_label(&records), 50);
    // All of it was published.
    let position = records.sets().position();
    records.settled(position).unwrap();
    // Expired while nothing is recorded; then something is.
    assert_eq!(
        records.settle(ahead).unwrap(),
        [format!("galway/ids/{label}")]
    );
    assert_eq!(in_label(&records), 0);
    records.add(made(&names[50]), NINE + 1).unwrap();
    assert_eq!(in_label(&records), 51);
    assert_eq!(records.sets().pending(), 102);
    // Recorded while the clock was ahead, and nothing since.
    records.add(made(&names[51]), ahead).unwrap();
    records.settle(ahead).unwrap();
    assert_eq!(in_label(&records), 0);
    assert!(records.settle(NINE + 2).unwrap().is_empty());
    assert_eq!(in_label(&records), 51);
    drop(records);

    // From the start on; and expired between two checks of the clock.
    let records = open(directory.path(), true, ahead);
    assert_eq!(in_label(&records), 0);
    records.add(made(&names[52]), NINE + 3).unwrap();
    assert_eq!(in_label(&records), 52);
    records.sets().expire(ahead);
    let entry = records.log.next();
    records
        .sets()
        .insert(entry, NINE + 3, NINE + 3, ["nowhere"])
        .unwrap();
    assert_eq!(in_label(&records), 0);
}

/// While a large batch is added, the filters remain accessible, and what is sent meanwhile is not taken for the whole
/// batch.
#[test]
fn a_large_batch_does_not_keep_others_from_the_filters() {
    let directory = tempfile::tempdir().unwrap();
    let records = open(directory.path(), false, NINE);
    let triples: Vec<Triple> = (0..30_000)
        .flat_map(|n| made(&format!("doc {n}")))
        .collect();
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| records.add(triples, NINE).unwrap());
        let mut seen = false;
        while !adding.is_finished() && !seen {
            let mut sets = records.sets();
            if sets.ids() > 0 && sets.position() == 0 {
                let message = sets.next("galway/ids/all", NINE).unwrap();
                let note = sets.acknowledge(&message, 1, None).unwrap();
                assert_eq!((note.position, note.ids), (0, sets.ids()));
                seen = true;
            }
            drop(sets);
            std::thread::yield_now();
        }
        assert!(seen, "nobody came in between");
    });
    assert_eq!(records.sets().position(), 1);
}

/// Notes on sets of other windows do not apply to the current ones; they are obsolete.
#[test]
fn sets_of_other_windows_are_outdated() {
    let directory = tempfile::tempdir().unwrap();
    let records = open(directory.path(), true, NINE);
    records.add(made("a"), NINE).unwrap();
    let set = records.sets().names().remove(0);
    let message = records.sets().next(&set, NINE).unwrap();
    let note = records.sets().acknowledge(&message, 7, Some(1)).unwrap();
    let bytes = serde_json::to_vec(&note).unwrap();
    records.log.note_published(&set, Some(&bytes)).unwrap();
    drop(records);

    let with = |change: &dyn Fn(&mut Window)| {
        let mut other = spec(true);
        other.window.iter_mut().for_each(change);
        Records::open(directory.path(), other, 1000, NINE).unwrap()
    };
    let same = with(&|_| {});
    assert_eq!(same.sets().version(&set), Some((7, Some(1))));
    assert!(same.sets().outdated().is_empty());
    drop(same);
    // Kept for longer: the coordinator has to be informed.
    let longer = with(&|window| window.keep *= 2);
    assert_eq!(longer.sets().next(&set, NINE).unwrap().base(), None);
    assert!(longer.sets().outdated().is_empty());
    drop(longer);
    let days = with(&|window| window.length *= 24);
    assert_eq!(days.sets().names(), ["galway/ids/2026-11-16"]);
    assert_eq!(days.sets().outdated(), [set.as_str()]);
    // It is known until it is removed.
    assert!(days.sets().expire(NINE).is_empty());
    days.sets().dropped(&set);
    assert!(days.sets().outdated().is_empty());
    drop(days);
    // The same name for another window.
    let two = with(&|window| window.length *= 2);
    let name = two.sets().names().remove(0);
    assert_eq!(two.sets().next(&name, NINE).unwrap().base(), None);
}

/// What was never published is in a window that is kept, whatever the clock said when it was recorded.
#[test]
fn what_was_recorded_by_a_clock_behind_is_published() {
    let directory = tempfile::tempdir().unwrap();
    let (behind, late) = (NINE - 1000 * HOUR, NINE + 5 * HOUR);
    let records = open(directory.path(), true, behind);
    records.add(made("a"), behind).unwrap();
    records.add(made("b"), behind + HOUR).unwrap();
    assert!(!records.sets().has_expired(behind));
    // The clock is corrected.
    records.settle(NINE).unwrap();
    let in_nine = said(&[("2026-11-16T09", &["a", "b"])]);
    assert_eq!(found(&records, &["a", "b"]), in_nine);
    assert_eq!(records.sets().pending(), 4);
    // Once is enough.
    let entries = records.log.next();
    records.settle(NINE + 1).unwrap();
    assert_eq!(records.log.next(), entries);
    drop(records);
    // At the next start, too; and if the coordinator was unreachable for as long as windows are kept.
    let records = open(directory.path(), true, NINE + 2);
    records.settle(NINE + 2).unwrap();
    assert_eq!(found(&records, &["a", "b"]), in_nine);
    records.settle(late).unwrap();
    let in_late = said(&[("2026-11-16T14", &["a", "b"])]);
    assert_eq!(found(&records, &["a", "b"]), in_late);
    // What was published expires, and the coordinator is told that there was something.
    let position = records.sets().position();
    records.settled(position).unwrap();
    drop(records);
    let records = open(directory.path(), true, late + 10 * HOUR);
    records.settle(late + 10 * HOUR).unwrap();
    assert_eq!(found(&records, &["a", "b"]), []);
    assert_eq!(records.log.next(), position);
    assert!(records.sets().has_expired(late + 10 * HOUR));
}

/// With a clock far ahead, a set would have to be kept for longer than a coordinator allows.
#[test]
fn a_set_of_a_window_to_come_is_not_kept_for_longer_than_others() {
    let directory = tempfile::tempdir().unwrap();
    let records = open(directory.path(), true, NINE);
    records.add(made("a"), NINE + 10_000_000 * HOUR).unwrap();
    let set = records.sets().names().remove(0);
    let message = records.sets().next(&set, NINE).unwrap();
    assert_eq!(message.expires_in, Some(4 * HOUR));
}

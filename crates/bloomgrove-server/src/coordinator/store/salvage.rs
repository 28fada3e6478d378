//! Recovering what is readable of a damaged store, and listing the sets that are not.
//!
//! ```text
//!   a set is kept      if its record, its filter and all of its deltas are intact
//!   it is dropped      otherwise; if deltas are lost, all sets between their neighbours are dropped
//! ```
//!
//! A set without one of its deltas would deny keys that it contains, so it is kept completely or not at all. The new store
//! has another number and other versions, like one that is restored from a snapshot: sites find out at their next
//! heartbeat, and send their sets whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use bloomgrove_http::disk::{Damaged, Examined, Head, Pages, replace_damaged};
use bloomgrove_http::private::tidy;

use super::snapshot::{delta, filter, rebuild, set, site};
use super::{FILE, Record, STORE};
use crate::coordinator::load;

/// Maximum number of names that are listed.
const NAMED: usize = 100;

/// Checks a store without writing to it; returns its version and its number.
///
/// # Errors
/// [`Damaged`], with the names of unreadable sets; or if it is not a store, or in use.
pub(super) fn check(path: &Path) -> Result<(u64, u64)> {
    let pages = Pages::open(path)?;
    let examined = pages.examine(&STORE)?;
    let mut faults = faults(path, &examined);
    let (version, store) = (examined.number("version"), examined.number("store"));
    if let (true, Some(version), Some(store)) = (faults.is_empty(), version, store) {
        return Ok((version, store));
    }
    faults.extend(survey(&pages, &examined)?.told());
    Err(Damaged::of(faults))
}

fn faults(path: &Path, examined: &Examined) -> Vec<String> {
    let mut faults = examined.faults.clone();
    match (examined.number("version"), examined.number("store")) {
        (Some(version), Some(store)) => faults.extend(Head::missed(path, store, version)),
        _ => faults.push("`meta` does not contain the version and the number of the store".into()),
    }
    faults
}

/// What is readable of a store.
#[derive(Debug, Default)]
struct Survey {
    /// Intact sets.
    kept: BTreeSet<u64>,
    /// Names of damaged sets.
    dropped: Vec<String>,
    /// Number of damaged sets whose names are lost, too.
    nameless: u64,
    sites: u64,
    /// Number of lost registrations of sites; at least one if unknown.
    lost_sites: u64,
}

impl Survey {
    fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        if !self.dropped.is_empty() {
            let (count, named) = (self.dropped.len(), self.dropped.len().min(NAMED));
            let names = self.dropped[..named].join(", ");
            let more = match count - named {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            told.push(format!("unreadable sets ({count}): {names}{more}"));
        }
        if self.nameless > 0 {
            told.push(format!(
                "unreadable sets whose names are lost, too: {}",
                self.nameless
            ));
        }
        if self.lost_sites > 0 {
            told.push(format!(
                "sites whose registration is unreadable: {}; they are queried again after their \
                 next heartbeat",
                self.lost_sites
            ));
        }
        told
    }
}

fn survey(pages: &Pages, examined: &Examined) -> Result<Survey> {
    let mut records: BTreeMap<u64, Record> = BTreeMap::new();
    examined.rows(pages, "sets", |row| {
        records.extend(row.and_then(set));
        Ok(())
    })?;
    let (mut filters, mut torn) = (BTreeSet::new(), false);
    let same = examined.rows(pages, "filters", |row| {
        torn |= row.is_none();
        filters.extend(row.and_then(filter).map(|(id, _)| id));
        Ok(())
    })?;
    // Where deltas are lost, the sets they belonged to are known from those before and after.
    let (mut suspects, mut before, mut hole) = (Vec::new(), 0, false);
    let whole = examined.rows(pages, "deltas", |row| {
        match row.and_then(delta) {
            Some((id, ..)) => {
                if std::mem::take(&mut hole) {
                    suspects.push(before..=id);
                }
                before = id;
            }
            None => hole = true,
        }
        Ok(())
    })?;
    if hole {
        suspects.push(before..=u64::MAX);
    }
    // Some vanished, or are outdated, and it is unknown which.
    if whole == Some(false) && suspects.is_empty() || same == Some(false) && !torn {
        suspects.push(0..=u64::MAX);
    }
    let mut survey = Survey::default();
    for (id, record) in &records {
        let is_suspect = suspects.iter().any(|suspects| suspects.contains(id));
        match filters.contains(id) && !is_suspect {
            true => _ = survey.kept.insert(*id),
            false => survey.dropped.push(record.name.clone()),
        }
    }
    survey.dropped.sort_unstable();
    let without = filters
        .iter()
        .filter(|id| !records.contains_key(id))
        .count() as u64;
    let missing = examined.entries("sets").unwrap_or(0);
    survey.nameless = without.max(missing.saturating_sub(records.len() as u64));
    let whole = examined.rows(pages, "sites", |row| {
        survey.sites += u64::from(row.and_then(site).is_some());
        Ok(())
    })?;
    if whole != Some(true) {
        let written = examined.entries("sites").unwrap_or(0);
        survey.lost_sites = written.saturating_sub(survey.sites).max(1);
    }
    Ok(survey)
}

/// Replaces a damaged store by a new one with what is readable, keeping the damaged file
/// under another name. Returns what was done; nothing if the store is not damaged.
///
/// # Errors
/// If the store is in use, nothing in it is readable, or writing fails.
pub fn salvage(directory: &Path) -> Result<Vec<String>> {
    let path = directory.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let salvage = || -> Result<Vec<String>> {
        let nothing = "nothing in it is readable; restore a snapshot into a new data directory";
        let pages = Pages::open(&path).context(nothing)?;
        let examined = pages.examine(&STORE)?;
        let mut told = faults(&path, &examined);
        if told.is_empty() {
            return Ok(told);
        }
        tidy(directory);
        let survey = survey(&pages, &examined)?;
        if examined.is_hopeless(&STORE) {
            return Err(Damaged::of(told).context(nothing));
        }
        told.extend(survey.told());
        let noted = Head::noted(&path).unwrap_or(0);
        let new = rebuild(&pages, &examined, &path, noted, |id| {
            survey.kept.contains(&id)
        })?;
        let kept = replace_damaged(new, &path)?;
        told.push(format!(
            "recovered {} sets and {} sites; the damaged file was kept as {}",
            survey.kept.len(),
            survey.sites,
            kept.display()
        ));
        Ok(told)
    };
    salvage().with_context(|| path.display().to_string())
}

/// Checks a store or a snapshot, and expands every set; returns the number of its sets and sites.
///
/// # Errors
/// [`Damaged`]; or if it is not a store, or in use.
pub(in crate::coordinator) fn verify(path: &Path) -> Result<(u64, u64)> {
    check(path)?;
    let pages = Pages::open(path)?;
    let examined = pages.examine(&STORE)?;
    let mut records = BTreeMap::new();
    examined.rows(&pages, "sets", |row| {
        records.extend(row.and_then(set));
        Ok(())
    })?;
    let mut deltas: BTreeMap<u64, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    examined.rows(&pages, "deltas", |row| {
        if let Some((id, version, bytes)) = row.and_then(delta) {
            deltas
                .entry(id)
                .or_default()
                .push((version, bytes.to_vec()));
        }
        Ok(())
    })?;
    let sets = records.len() as u64;
    examined.rows(&pages, "filters", |row| {
        let Some((id, filter)) = row.and_then(filter) else {
            return Ok(());
        };
        let record = records.remove(&id);
        let record = record.with_context(|| format!("filter {id} belongs to no set"))?;
        load::check(super::Loaded {
            id,
            record,
            filter: filter.to_vec(),
            deltas: deltas.remove(&id).unwrap_or_default(),
        })
    })?;
    if let Some(record) = records.values().next() {
        let what = format!("the filter of {} is missing", record.name);
        return Err(Damaged::of(vec![what]));
    }
    Ok((sets, examined.entries("sites").unwrap_or(0)))
}

//! Recovering what is readable of a damaged log.
//!
//! Every entry with a valid checksum is kept, in order, with a new number; the others are reported. What the coordinator
//! has acknowledged is forgotten, so all sets are rebuilt and sent whole.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_http::access::new_key;
use bloomgrove_http::disk::{Damaged, Examined, Head, Pages, new_beside, replace_damaged};
use bloomgrove_http::private::tidy;
use redb::{Database, Durability};

use super::{CACHE, FILE, KIND, LOG, fill, mark, put, split};
use crate::store;

/// Bytes of entries per transaction.
const CHUNK: usize = 8 << 20;

/// Checks a log without writing to it; returns the number of its entries, and its key.
///
/// # Errors
/// [`Damaged`]; or if the log belongs to another site or is in use.
pub(super) fn check(path: &Path, site: Option<&str>) -> Result<(u64, String)> {
    let pages = Pages::open(path)?;
    let examined = pages.examine(&KIND)?;
    if let (Some(site), Some(name)) = (site, examined.text("name"))
        && name != site
    {
        bail!(
            "this is the data directory of the site {name:?}, not of {site:?}; use that name, or \
             choose another directory"
        );
    }
    let mut faults = faults(path, &examined);
    if let (true, Some(next), Some(key)) = (
        faults.is_empty(),
        examined.entries("log"),
        examined.text("key"),
    ) {
        return Ok((next, key.to_owned()));
    }
    faults.extend(told(&pages, &examined)?);
    Err(Damaged::of(faults))
}

fn faults(path: &Path, examined: &Examined) -> Vec<String> {
    let mut faults = examined.faults.clone();
    match (
        examined.text("key"),
        examined.entries("log"),
        examined.text("name"),
    ) {
        (Some(key), Some(next), Some(_)) => faults.extend(Head::missed(path, mark(key), next)),
        _ => faults.push("`meta` does not contain the name and the key of the site".into()),
    }
    faults
}

/// Which entries cannot be read, if any.
fn told(pages: &Pages, examined: &Examined) -> Result<Option<String>> {
    let (mut lost, mut next) = (Vec::new(), 0);
    let mut miss = |from: u64, to: u64| match to - from {
        0 => {}
        1 => lost.push(from.to_string()),
        _ => lost.push(format!("{from} to {}", to - 1)),
    };
    examined.rows(pages, "log", |row| {
        if let Some((key, _)) = row
            && let Ok(number) = key.try_into().map(u64::from_le_bytes)
            && number >= next
        {
            miss(next, number);
            next = number + 1;
        }
        Ok(())
    })?;
    match examined.entries("log") {
        Some(entries) => miss(next, entries.max(next)),
        None => lost.push(format!("possibly others from {next} on")),
    }
    let lost = (!lost.is_empty()).then(|| lost.join(", "));
    Ok(lost.map(|lost| format!("unreadable entries of the log: {lost}")))
}

/// Replaces a damaged log by a new one with what is readable, keeping the damaged file under another name. Returns what
/// was done; nothing if the log is not damaged.
///
/// # Errors
/// If the log is in use, nothing in it is readable, or writing fails.
pub(crate) fn salvage(directory: &Path, site: &str) -> Result<Vec<String>> {
    let path = directory.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let salvage = || -> Result<Vec<String>> {
        let nothing = "nothing in it is readable; restore a backup of the data directory";
        let pages = Pages::open(&path).context(nothing)?;
        let examined = pages.examine(&KIND)?;
        let mut said = faults(&path, &examined);
        if said.is_empty() {
            return Ok(said);
        }
        if examined.is_hopeless(&KIND) {
            return Err(Damaged::of(said).context(nothing));
        }
        tidy(directory);
        said.extend(told(&pages, &examined)?);
        let name = examined.text("name").unwrap_or(site);
        let key = match examined.text("key") {
            Some(key) => key.to_owned(),
            None => {
                said.push("the coordinator's access key is lost; a new one was created".into());
                new_key().map_err(anyhow::Error::msg)?
            }
        };
        let mut entries = 0;
        let new = new_beside(&path, CACHE, |database| {
            fill(database, name, &key)?;
            entries = copy(&pages, &examined, database)?;
            Ok(())
        })?;
        // It has the same key, and fewer entries than were recorded.
        Head::forget(&path)?;
        let kept = replace_damaged(new, &path)?;
        Head::open(&path, mark(&key), entries)?;
        said.push(format!(
            "recovered {entries} entries; the damaged file was kept as {}",
            kept.display()
        ));
        Ok(said)
    };
    salvage().with_context(|| path.display().to_string())
}

/// Copies all readable entries; returns their number.
fn copy(pages: &Pages, from: &Examined, to: &Database) -> Result<u64> {
    let (mut waiting, mut bytes, mut next) = (Vec::new(), 0, 0);
    let mut write = |entries: &mut Vec<Vec<u8>>, durability| -> Result<()> {
        let mut write = to.begin_write()?;
        write.set_durability(durability)?;
        put(&write, LOG, |log| {
            for entry in entries.drain(..) {
                log.insert(next, &entry)?;
                next += 1;
            }
            Ok(())
        })?;
        Ok(write.commit()?)
    };
    from.rows(pages, "log", |row| {
        if let Some((_, entry)) = row {
            bytes += entry.len();
            waiting.push(entry.to_vec());
            if bytes > CHUNK {
                bytes = 0;
                write(&mut waiting, Durability::None)?;
            }
        }
        Ok(())
    })?;
    write(&mut waiting, Durability::Immediate)?;
    Ok(next)
}

/// Checks the log of a site without writing to it, reading every triple; returns the name of the site and the number
/// of entries.
///
/// # Errors
/// If it is damaged, not a log, or in use.
pub fn verify(path: &Path) -> Result<(String, u64)> {
    let (entries, _) = check(path, None)?;
    let pages = Pages::open(path)?;
    let examined = pages.examine(&KIND)?;
    examined.rows(&pages, "log", |row| {
        let (_, triples) = row
            .and_then(|(_, entry)| split(entry))
            .context("the entry is truncated")?;
        store::from_text(triples).map(drop)
    })?;
    Ok((
        examined.text("name").unwrap_or_default().to_owned(),
        entries,
    ))
}

//! What of a damaged log can be kept.
//!
//! Every entry whose checksum is right is kept, in its order, under new numbers; the others are named.
//! What the coordinator has acknowledged is forgotten, so all sets are made anew and sent whole.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bloomgrove_http::access::new_key;
use bloomgrove_http::disk::{Damaged, Examined, Head, Pages, new_beside, replace_damaged};
use bloomgrove_http::private::tidy;
use redb::{Database, Durability};

use super::{CACHE, FILE, KIND, LOG, fill, mark, put, split};
use crate::store;

/// Bytes of entries that are written in one transaction.
const CHUNK: usize = 8 << 20;

/// Looks through a log without writing to it: how many entries it has, and its key.
///
/// # Errors
/// [`Damaged`]; a log of another site, one that is in use.
pub(super) fn check(path: &Path, site: Option<&str>) -> Result<(u64, String)> {
    let pages = Pages::open(path)?;
    let examined = pages.examine(&KIND)?;
    if let (Some(site), Some(name)) = (site, examined.text("name"))
        && name != site
    {
        bail!(
            "this is the data directory of the site {name:?}, and not of {site:?}; name the site so, \
             or take another directory"
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
        _ => faults.push("`meta` does not say whose it is".into()),
    }
    faults
}

/// Which entries cannot be read, if there are such.
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
        None => lost.push(format!("perhaps some from {next} on")),
    }
    let lost = (!lost.is_empty()).then(|| lost.join(", "));
    Ok(lost.map(|lost| format!("entries of the log that cannot be read: {lost}")))
}

/// Makes a log of what can be read of a damaged one, in its place; the damaged file is kept under
/// another name. Says what was done; nothing, if the log is not damaged.
///
/// # Errors
/// A log that is in use, or of which nothing can be read; a disk that refuses.
pub(crate) fn salvage(directory: &Path, site: &str) -> Result<Vec<String>> {
    let path = directory.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let salvage = || -> Result<Vec<String>> {
        let nothing = "nothing of it can be read; put back a copy of the data directory";
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
                said.push("the key for the coordinator is lost; there is a new one".into());
                new_key().map_err(anyhow::Error::msg)?
            }
        };
        let mut entries = 0;
        let new = new_beside(&path, CACHE, |database| {
            fill(database, name, &key)?;
            entries = copy(&pages, &examined, database)?;
            Ok(())
        })?;
        // It has the same key, and fewer entries than were noted.
        Head::forget(&path)?;
        let kept = replace_damaged(new, &path)?;
        Head::open(&path, mark(&key), entries)?;
        said.push(format!(
            "kept {entries} entries; the damaged file is {}",
            kept.display()
        ));
        Ok(said)
    };
    salvage().with_context(|| path.display().to_string())
}

/// Copies all entries that can be read; says how many.
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

/// Checks the log of a site, without writing to it, and reads every triple; says the name of the site
/// and how many entries there are.
///
/// # Errors
/// What is damaged; what is not a log, or in use by a site.
pub fn verify(path: &Path) -> Result<(String, u64)> {
    let (entries, _) = check(path, None)?;
    let pages = Pages::open(path)?;
    let examined = pages.examine(&KIND)?;
    examined.rows(&pages, "log", |row| {
        let (_, triples) = row
            .and_then(|(_, entry)| split(entry))
            .context("cut short")?;
        store::from_text(triples).map(drop)
    })?;
    Ok((
        examined.text("name").unwrap_or_default().to_owned(),
        entries,
    ))
}

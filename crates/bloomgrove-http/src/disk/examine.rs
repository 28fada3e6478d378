//! Checking all contents of a file before it is used.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::checksum::{self, Account};
use super::layout::{Slot, Table};
use super::pages::{Pages, Row};

/// What a file of some kind must contain.
#[derive(Debug)]
pub struct Kind {
    /// What it is called, for messages.
    pub what: &'static str,
    /// Its tables, apart from `meta`.
    pub tables: &'static [&'static str],
    /// The format number that `meta` must contain.
    pub format: u64,
}

/// The newest readable state of a file, and what is wrong with it.
#[derive(Debug)]
pub struct Examined {
    tables: BTreeMap<String, Table>,
    meta: BTreeMap<String, Vec<u8>>,
    /// What is wrong, for people; empty if the file is intact.
    pub faults: Vec<String>,
    /// Whether some pages cannot be read.
    torn: bool,
}

impl Pages {
    /// Reads and checks everything that is in use.
    ///
    /// # Errors
    /// If the file is of another kind or format, or the disk cannot be read. Damage is not an error here, but
    /// reported.
    pub fn examine(&self, kind: &Kind) -> Result<Examined> {
        let mut newest: Option<Examined> = None;
        let mut fault = self.fault;
        for slot in &self.slots {
            let mut examined = self.examine_slot(*slot)?;
            if examined.torn {
                // An unfinished commit leaves this behind; the one before it counts.
                newest.get_or_insert(examined);
                fault = None;
                continue;
            }
            examined.check(kind)?;
            examined.faults.extend(fault.map(String::from));
            return Ok(examined);
        }
        let mut newest = match newest {
            Some(newest) => newest,
            None => bail!("the file has no commit slot"),
        };
        newest.check(kind)?;
        Ok(newest)
    }

    fn examine_slot(&self, slot: Slot) -> Result<Examined> {
        let (tables, whole) = self.tables(&slot, true)?;
        let mut examined = Examined {
            tables,
            meta: BTreeMap::new(),
            faults: Vec::new(),
            torn: !whole,
        };
        if !whole {
            examined.faults.push("the list of tables is damaged".into());
        }
        let mut accounts = BTreeMap::new();
        for (name, table) in &examined.tables {
            let mut found = Found::default();
            self.rows(table, |row| {
                match row {
                    Row::Lost(offset) => found.pages.push(offset),
                    Row::Entry(key, value) => match checksum::split(name, key, value) {
                        Some((payload, sum)) => {
                            found.account.add(sum);
                            if name == "meta" {
                                let key = String::from_utf8_lossy(key).into_owned();
                                examined.meta.insert(key, payload.to_vec());
                            }
                        }
                        None => found.bad += 1,
                    },
                }
                Ok(())
            })?;
            examined.torn |= !found.pages.is_empty();
            accounts.insert(name.clone(), found);
        }
        for (name, found) in accounts {
            examined.compare(&name, &found);
        }
        let (system, mut whole) = self.tables(&slot, false)?;
        for table in system.values() {
            self.rows(table, |row| {
                whole &= matches!(row, Row::Entry(..));
                Ok(())
            })?;
        }
        if !whole {
            let fault = "redb's internal tables are damaged; the entries may be intact";
            examined.faults.push(fault.into());
            examined.torn = true;
        }
        Ok(examined)
    }
}

/// What was found in a table.
#[derive(Debug, Default)]
struct Found {
    account: Account,
    /// Entries with a wrong checksum.
    bad: u64,
    /// Offsets of damaged pages.
    pages: Vec<u64>,
}

impl Examined {
    fn compare(&mut self, table: &str, found: &Found) {
        let mut say = |what: String| self.faults.push(format!("`{table}`: {what}"));
        if found.bad > 0 {
            say(format!("entries with a wrong checksum: {}", found.bad));
        }
        for page in &found.pages {
            say(format!("the page at byte {page} is damaged"));
        }
        if table == "meta" || found.bad > 0 || !found.pages.is_empty() {
            return;
        }
        let told = self.meta.get(table).map(|told| Account::from_bytes(told));
        match told.flatten() {
            Some(told) if told == found.account => {}
            Some(told) => {
                let (is, was) = (found.account.entries, told.entries);
                let what = match is == was {
                    true => {
                        format!("it has {is} entries, but they are not the ones that were written")
                    }
                    false => format!("it has {is} entries, but {was} were written"),
                };
                self.faults.push(format!("`{table}`: {what}"));
            }
            None => say("`meta` has no totals for it".into()),
        }
    }

    /// Checks that the file is of this kind.
    fn check(&mut self, kind: &Kind) -> Result<()> {
        let Kind {
            what,
            tables,
            format,
        } = kind;
        if !self.torn && self.is_hopeless(kind) {
            bail!("not a {what}: none of the expected tables exist");
        }
        match self.number("format") {
            Some(found) if found == *format => {}
            Some(found) => bail!(
                "written in format {found}, but this build reads format {format}; use another \
                 version of bloomgrove"
            ),
            // Format 1 had no checksums.
            None if !self.torn
                && self.meta.is_empty()
                && self.faults.len() == self.tables.len() =>
            {
                bail!(
                    "written in a format from before the first release, or by another program; \
                     this build reads format {format}"
                )
            }
            None => self
                .faults
                .push("`meta` does not contain the format".into()),
        }
        for table in *tables {
            if !self.tables.contains_key(*table) {
                self.faults.push(format!("`{table}` is missing"));
            }
        }
        Ok(())
    }

    /// Whether the file is intact.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether not even the tables of this kind were found.
    #[must_use]
    pub fn is_hopeless(&self, kind: &Kind) -> bool {
        kind.tables
            .iter()
            .all(|table| !self.tables.contains_key(*table))
    }

    /// A number in `meta`.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        checksum::number(self.meta.get(key)?)
    }

    /// A text in `meta`.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.meta.get(key)?).ok()
    }

    /// The number of entries that a table should have.
    #[must_use]
    pub fn entries(&self, table: &str) -> Option<u64> {
        Some(Account::from_bytes(self.meta.get(table)?)?.entries)
    }

    /// Calls `each` with the key and payload of every entry of a table, and with none where some are lost.
    /// Returns whether these are all entries that were written, if `meta` has totals.
    ///
    /// # Errors
    /// If the disk cannot be read; the errors of `each`.
    pub fn rows(
        &self,
        pages: &Pages,
        table: &str,
        mut each: impl FnMut(Option<(&[u8], &[u8])>) -> Result<()>,
    ) -> Result<Option<bool>> {
        let mut account = Account::default();
        let Some(place) = self.tables.get(table) else {
            each(None)?;
            return Ok(None);
        };
        pages.rows(place, |row| match row {
            Row::Entry(key, value) => match checksum::split(table, key, value) {
                Some((payload, sum)) => {
                    account.add(sum);
                    each(Some((key, payload)))
                }
                None => each(None),
            },
            Row::Lost(_) => each(None),
        })?;
        let told = self
            .meta
            .get(table)
            .and_then(|told| Account::from_bytes(told));
        Ok(told.map(|told| told == account))
    }
}

//! Everything in a file, looked through before anybody relies on it.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::layout::{Slot, Table};
use super::pages::{Pages, Row};
use super::seal::{self, Account};

/// What a file of some kind must have.
#[derive(Debug)]
pub struct Kind {
    /// What it is called.
    pub what: &'static str,
    /// Its tables, besides `meta`.
    pub tables: &'static [&'static str],
    /// The number that `meta` must have as its format.
    pub format: u64,
}

/// What the newest readable state of a file says, and what is wrong with it.
#[derive(Debug)]
pub struct Examined {
    tables: BTreeMap<String, Table>,
    meta: BTreeMap<String, Vec<u8>>,
    /// What is wrong, for people; nothing, if all is as it was written.
    pub faults: Vec<String>,
    /// Some pages cannot be read.
    torn: bool,
}

impl Pages {
    /// Reads all that is in use and checks it.
    ///
    /// # Errors
    /// A file of another kind or format; a disk that cannot be read. What is damaged is not an error
    /// here, but told.
    pub fn examine(&self, kind: &Kind) -> Result<Examined> {
        let mut newest: Option<Examined> = None;
        let mut fault = self.fault;
        for slot in &self.slots {
            let mut examined = self.examine_slot(*slot)?;
            if examined.torn {
                // A commit that was never finished leaves this behind, and the one before it counts.
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
            None => bail!("without a commit slot"),
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
                    Row::Entry(key, value) => match seal::split(name, key, value) {
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

/// What was found of a table.
#[derive(Debug, Default)]
struct Found {
    account: Account,
    /// Entries whose checksum is wrong.
    bad: u64,
    /// Where pages are damaged.
    pages: Vec<u64>,
}

impl Examined {
    fn compare(&mut self, table: &str, found: &Found) {
        let mut say = |what: String| self.faults.push(format!("`{table}`: {what}"));
        if found.bad > 0 {
            say(format!("{} entries have a wrong checksum", found.bad));
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
                    true => format!("{is} entries, but not those that were written"),
                    false => format!("{is} entries, and {was} were written"),
                };
                self.faults.push(format!("`{table}`: {what}"));
            }
            None => say("`meta` does not say what is in it".into()),
        }
    }

    /// That it is of this kind.
    fn check(&mut self, kind: &Kind) -> Result<()> {
        let Kind {
            what,
            tables,
            format,
        } = kind;
        if !self.torn && self.is_hopeless(kind) {
            bail!("not a {what}: none of its tables is there");
        }
        match self.number("format") {
            Some(found) if found == *format => {}
            Some(found) => bail!(
                "written in format {found}, and this build reads format {format}; use another \
                 build of bloomgrove"
            ),
            // The first had no checksums.
            None if !self.torn
                && self.meta.is_empty()
                && self.faults.len() == self.tables.len() =>
            {
                bail!(
                    "written in a format from before the first release, or by another program; \
                     this build reads format {format}"
                )
            }
            None => self.faults.push("`meta` does not say its format".into()),
        }
        for table in *tables {
            if !self.tables.contains_key(*table) {
                self.faults.push(format!("`{table}` is missing"));
            }
        }
        Ok(())
    }

    /// Whether all is as it was written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether not even the tables of this kind are found.
    #[must_use]
    pub fn is_hopeless(&self, kind: &Kind) -> bool {
        kind.tables
            .iter()
            .all(|table| !self.tables.contains_key(*table))
    }

    /// A number that it says of itself.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        seal::number(self.meta.get(key)?)
    }

    /// A text that it says of itself.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.meta.get(key)?).ok()
    }

    /// How many entries a table should have.
    #[must_use]
    pub fn entries(&self, table: &str) -> Option<u64> {
        Some(Account::from_bytes(self.meta.get(table)?)?.entries)
    }

    /// Calls `each` with all entries of a table, key and payload, and with none where some are lost.
    /// Whether these are all that were written, if `meta` can tell.
    ///
    /// # Errors
    /// A disk that cannot be read; what `each` says.
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
            Row::Entry(key, value) => match seal::split(table, key, value) {
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

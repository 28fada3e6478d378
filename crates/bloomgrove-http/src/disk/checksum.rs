//! Entries with checksums, and totals per table.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use anyhow::{Context, Result};
use redb::{
    AccessGuard, Key, ReadTransaction, ReadableTable, Table, TableDefinition, TableHandle,
    WriteTransaction,
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Damaged;

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Length of a checksum in bytes.
const SUM: usize = 8;

/// The number of entries of a table, and the sum of their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub(super) entries: u64,
    pub(super) sum: u64,
}

impl Account {
    /// The number of entries.
    #[must_use]
    pub fn entries(self) -> u64 {
        self.entries
    }

    pub(super) fn add(&mut self, checksum: u64) {
        self.entries = self.entries.wrapping_add(1);
        self.sum = self.sum.wrapping_add(checksum);
    }

    fn subtract(&mut self, checksum: u64) {
        self.entries = self.entries.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(checksum);
    }

    fn to_bytes(self) -> [u8; 16] {
        let [entries, sum] = [self.entries, self.sum].map(u64::to_le_bytes);
        std::array::from_fn(|i| if i < 8 { entries[i] } else { sum[i - 8] })
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (entries, sum) = bytes.split_at_checked(8)?;
        Some(Self {
            entries: number(entries)?,
            sum: number(sum)?,
        })
    }
}

/// Decodes a u64.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The checksum of an entry, which covers the table, the key and the payload.
pub(super) fn checksum(table: &str, key: &[u8], payload: &[u8]) -> u64 {
    let place = [table.as_bytes(), &[0], key].concat();
    xxh3_64_with_seed(payload, xxh3_64(&place))
}

/// Splits a value into payload and checksum, if the checksum is right.
pub(super) fn split<'a>(table: &str, key: &[u8], value: &'a [u8]) -> Option<(&'a [u8], u64)> {
    let (payload, sum) = value.split_at_checked(value.len().checked_sub(SUM)?)?;
    let sum = number(sum)?;
    (checksum(table, key, payload) == sum).then_some((payload, sum))
}

/// The payload of an entry, if its checksum is right; the key as redb stores it.
///
/// # Errors
/// [`Damaged`] if it is not.
pub fn verified<'a, K: Key>(
    definition: TableDefinition<'_, K, &'static [u8]>,
    key: &K::SelfType<'_>,
    value: &'a [u8],
) -> Result<&'a [u8]> {
    let table = definition.name();
    match split(table, K::as_bytes(key).as_ref(), value) {
        Some((payload, _)) => Ok(payload),
        None => Err(wrong(table, key)),
    }
}

fn wrong(table: &str, key: impl std::fmt::Debug) -> anyhow::Error {
    Damaged::one(format!(
        "the checksum of entry {key:?} of `{table}` is wrong"
    ))
}

/// A table opened for writing, with its totals.
#[derive(Debug)]
pub struct Ledger<'t, K: Key + 'static> {
    table: Table<'t, K, &'static [u8]>,
    before: Account,
    account: Account,
}

impl<K: Key + 'static> Ledger<'_, K> {
    /// The totals of the table.
    #[must_use]
    pub fn account(&self) -> Account {
        self.account
    }

    /// Inserts an entry, or replaces it.
    ///
    /// # Errors
    /// If writing fails; [`Damaged`] if the replaced entry is.
    pub fn insert<'k>(&mut self, key: impl Borrow<K::SelfType<'k>>, payload: &[u8]) -> Result<()> {
        let key = key.borrow();
        let place = K::as_bytes(key).as_ref().to_vec();
        let sum = checksum(self.table.name(), &place, payload);
        let mut value = Vec::with_capacity(payload.len() + SUM);
        value.extend_from_slice(payload);
        value.extend_from_slice(&sum.to_le_bytes());
        let name = self.table.name().to_owned();
        let old = self.table.insert(key, value.as_slice())?;
        forget(&mut self.account, &name, &place, old)?;
        self.account.add(sum);
        Ok(())
    }

    /// Removes an entry, if it exists.
    ///
    /// # Errors
    /// If writing fails; [`Damaged`] if the entry is.
    pub fn remove<'k>(&mut self, key: impl Borrow<K::SelfType<'k>>) -> Result<()> {
        let key = key.borrow();
        let place = K::as_bytes(key).as_ref().to_vec();
        let name = self.table.name().to_owned();
        let old = self.table.remove(key)?;
        forget(&mut self.account, &name, &place, old)
    }

    /// Removes all entries of a range.
    ///
    /// # Errors
    /// If writing fails; [`Damaged`] if one of them is.
    pub fn remove_all<'k, Q>(&mut self, range: impl RangeBounds<Q> + 'k) -> Result<()>
    where
        Q: Borrow<K::SelfType<'k>> + 'k,
    {
        let name = self.table.name().to_owned();
        let (account, mut damaged) = (&mut self.account, None);
        self.table.retain_in(range, |key, value| {
            match split(&name, K::as_bytes(&key).as_ref(), value) {
                Some((_, sum)) => account.subtract(sum),
                None => damaged = Some(wrong(&name, &key)),
            }
            false
        })?;
        damaged.map_or(Ok(()), Err)
    }
}

fn forget(
    account: &mut Account,
    table: &str,
    place: &[u8],
    old: Option<AccessGuard<'_, &'static [u8]>>,
) -> Result<()> {
    if let Some(old) = old {
        let (_, sum) = split(table, place, old.value()).ok_or_else(|| wrong(table, place))?;
        account.subtract(sum);
    }
    Ok(())
}

/// The table `meta`: numbers and texts, and the totals of all other tables.
#[derive(Debug)]
pub struct Meta<'t>(Ledger<'t, &'static str>);

impl<'t> Meta<'t> {
    /// Opens it for writing.
    ///
    /// # Errors
    /// If writing fails.
    pub fn open(write: &'t WriteTransaction) -> Result<Self> {
        Ok(Self(Ledger {
            table: write.open_table(META)?,
            before: Account::default(),
            account: Account::default(),
        }))
    }

    /// Reads a value.
    ///
    /// # Errors
    /// [`Damaged`]; also if there is no such value.
    pub fn read(read: &ReadTransaction, key: &str) -> Result<Vec<u8>> {
        let value = read.open_table(META)?.get(key)?;
        let value = value.with_context(|| format!("`meta` has no {key}"))?;
        Ok(verified(META, &key, value.value())?.to_vec())
    }

    /// Reads a number.
    ///
    /// # Errors
    /// [`Damaged`]; also if there is no such number.
    pub fn read_number(read: &ReadTransaction, key: &str) -> Result<u64> {
        number(&Self::read(read, key)?).with_context(|| format!("{key} is not a number"))
    }

    /// Reads the totals of a table.
    ///
    /// # Errors
    /// [`Damaged`]; also if there are none.
    pub fn read_account(read: &ReadTransaction, table: &str) -> Result<Account> {
        let account = Account::from_bytes(&Self::read(read, table)?);
        account.with_context(|| format!("`meta` has no totals for `{table}`"))
    }

    /// Sets a value.
    ///
    /// # Errors
    /// If writing fails.
    pub fn set(&mut self, key: &str, value: &[u8]) -> Result<()> {
        self.0.insert(key, value)
    }

    /// Opens a table, which must be [closed](Self::close).
    ///
    /// # Errors
    /// If reading fails; [`Damaged`].
    pub fn ledger<K: Key + 'static>(
        &self,
        write: &'t WriteTransaction,
        definition: TableDefinition<'_, K, &'static [u8]>,
    ) -> Result<Ledger<'t, K>> {
        let told = self.0.table.get(definition.name())?;
        let account = match told {
            Some(told) => {
                let told = verified(META, &definition.name(), told.value())?;
                Account::from_bytes(told).ok_or_else(|| wrong("meta", definition.name()))?
            }
            // A new table.
            None => Account::default(),
        };
        Ok(Ledger {
            table: write.open_table(definition)?,
            before: account,
            account,
        })
    }

    /// Closes a table and stores its totals.
    ///
    /// # Errors
    /// If writing fails.
    pub fn close<K: Key + 'static>(&mut self, ledger: Ledger<'t, K>) -> Result<()> {
        // A new table has no totals yet.
        if ledger.account == ledger.before && ledger.account != Account::default() {
            return Ok(());
        }
        let name = ledger.table.name().to_owned();
        self.set(&name, &ledger.account.to_bytes())
    }
}

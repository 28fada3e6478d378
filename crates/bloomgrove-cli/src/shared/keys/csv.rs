//! Keys from a column of a CSV or TSV file.
//!
//! The first record is the header; every other record must have as many fields, or reading fails
//! with the line number: a shifted field would be a wrong key. Quotes are as in RFC 4180. An empty
//! field is not a key, quoted or not, and neither is a blank line: databases do not reliably
//! distinguish the two when they export.
//!
//! An unclosed quote swallows the rest of the file, which the parser takes for one last long
//! field. So we append a record. If it does not come out at the end, a quote has swallowed it.

use std::io::{self, Read};

use anyhow::{Context, Result, anyhow, bail};
use csv::ByteRecord;

use super::column::{Batch, listed};
use super::{Column, Each, LONGEST};
use crate::shared::{interrupt, units};

/// What is appended to the file: a record of one field. No separator can occur in it, since those are
/// ASCII characters, and no file has it by chance as its last record.
const END: &[u8] = b"\n\xff\xfe\xf5\xc0\xc1\n";
/// Records between two checks for Ctrl-C.
const PATIENCE: u64 = 1 << 12;

pub(super) fn read(source: impl Read, delimiter: u8, column: &Column, each: Each) -> Result<()> {
    let mut records = Records::new(source, delimiter);
    let header: Vec<String> = match records.next()? {
        Some(header) => header
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
        None => bail!("the file is empty; a CSV file must begin with a header"),
    };
    let chosen = column.choose(&header, false)?;
    let mut batch = Batch::default();
    let mut count = 0;
    while let Some(record) = records.next()? {
        if record.len() != header.len() {
            let found = units::counted(record.len() as u64, "field");
            bail!(
                "line {} has {found}, but the header has {}: {}",
                records.line(),
                header.len(),
                listed(&header)
            );
        }
        let field = &record[chosen];
        if !field.is_empty() {
            let push = batch.push(each, |bytes| {
                bytes.extend_from_slice(field);
                Ok(())
            });
            push.with_context(|| format!("up to line {}", records.line()))?;
        }
        count += 1;
        if count % PATIENCE == 0 {
            interrupt::check()?;
        }
    }
    batch.hand_on(each)
}

struct Records<R> {
    reader: csv::Reader<Guarded<R>>,
    record: ByteRecord,
}

impl<R: Read> Records<R> {
    fn new(source: R, delimiter: u8) -> Self {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            // The lengths are compared here, where the header is known.
            .flexible(true)
            .delimiter(delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(Guarded::new(source));
        Self {
            reader,
            record: ByteRecord::new(),
        }
    }

    fn next(&mut self) -> Result<Option<&ByteRecord>> {
        let start = self.reader.position().line();
        let read = self.reader.read_byte_record(&mut self.record);
        let source = self.reader.get_mut();
        let start = start + u64::from(source.carriage_returns && start > 1);
        if source.unbroken > LONGEST {
            bail!(
                "the record at line {start} is longer than {} MiB; is a quote not closed?",
                LONGEST >> 20
            );
        }
        source.unbroken = 0;
        let end = source.end;
        let more = read.map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => anyhow!(error).context("reading"),
            other => anyhow!("line {start}: {other:?}"),
        })?;
        if end.is_some_and(|end| self.reader.position().byte() >= end) {
            if more && self.record.len() == 1 && self.record[0] == *END.trim_ascii() {
                return Ok(None);
            }
            bail!("the quoted field in the record at line {start} is never closed");
        }
        Ok(more.then_some(&self.record))
    }

    /// The line at which the record just read begins.
    fn line(&self) -> u64 {
        // The parser has read the line feed after the record, unless there was a carriage
        // return: that ends the record already.
        let after = self.reader.position().line();
        let inside = memchr::memchr_iter(b'\n', self.record.as_slice()).count() as u64;
        let feed = u64::from(!self.reader.get_ref().carriage_returns);
        after.saturating_sub(inside + feed).max(1)
    }
}

/// The bytes of the file and then [`END`], as long as records are short enough.
struct Guarded<R> {
    source: R,
    /// How many bytes have been read.
    total: u64,
    /// How many of them since the last record.
    unbroken: usize,
    /// Whether lines end with carriage return and line feed: the first one tells.
    carriage_returns: bool,
    first_line: bool,
    last: u8,
    /// How many bytes there are with [`END`], once that is known.
    end: Option<u64>,
    /// What of [`END`] has not been read.
    rest: &'static [u8],
}

impl<R> Guarded<R> {
    fn new(source: R) -> Self {
        Self {
            source,
            total: 0,
            unbroken: 0,
            carriage_returns: false,
            first_line: true,
            last: 0,
            end: None,
            rest: END,
        }
    }
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unbroken > LONGEST {
            return Err(io::Error::other("a record is too long"));
        }
        if self.end.is_none() {
            let read = self.source.read(buffer)?;
            if let (true, Some(feed)) = (self.first_line, memchr::memchr(b'\n', &buffer[..read])) {
                let before = feed.checked_sub(1).map_or(self.last, |at| buffer[at]);
                (self.carriage_returns, self.first_line) = (before == b'\r', false);
            }
            self.total += read as u64;
            self.unbroken += read;
            if read > 0 || buffer.is_empty() {
                self.last = buffer[..read].last().copied().unwrap_or(self.last);
                return Ok(read);
            }
            self.end = Some(self.total + END.len() as u64);
        }
        self.rest.read(buffer)
    }
}

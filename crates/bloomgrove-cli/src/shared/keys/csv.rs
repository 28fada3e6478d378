//! Keys from a column of a CSV or TSV file.
//!
//! The first record is the header; every other record must have as many fields, or reading fails
//! with the line number: a shifted field would be a wrong key. Quotes are as in RFC 4180. An empty
//! field is not a key, quoted or not, and neither is a blank line: databases do not reliably
//! distinguish the two when they export.
//!
//! An unclosed quote swallows the rest of the file, which the parser takes for one last long
//! field. So we append a record. If it does not come out at the end, a quote has swallowed it.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

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
    let (mut records, header) = Records::open(source, delimiter)?;
    let chosen = column.choose(&header, false)?;
    let mut batch = Batch::default();
    while let Some(record) = records.next_of(&header)? {
        let field = &record[chosen];
        if !field.is_empty() {
            let push = batch.push(each, |bytes| {
                bytes.extend_from_slice(field);
                Ok(())
            });
            push.with_context(|| format!("up to line {}", records.line()))?;
        }
    }
    batch.hand_on(each)
}

/// The records of a table after its header.
pub(crate) struct Records<R> {
    reader: csv::Reader<Guarded<R>>,
    record: ByteRecord,
    count: u64,
    /// Where the last record begins and ends.
    range: Range<u64>,
}

impl<R: Read> Records<R> {
    /// Reads the header, too.
    pub(crate) fn open(source: R, delimiter: u8) -> Result<(Self, Vec<String>)> {
        let mut records = Self::new(source, delimiter);
        let Some(header) = records.next()? else {
            bail!("the file is empty; a CSV file must begin with a header");
        };
        let names = header.iter().map(|name| String::from_utf8_lossy(name));
        let names = names.map(Cow::into_owned).collect();
        Ok((records, names))
    }

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
            count: 0,
            range: 0..0,
        }
    }

    /// The next record, which must have as many fields as the header.
    pub(crate) fn next_of(&mut self, header: &[String]) -> Result<Option<&ByteRecord>> {
        self.count += 1;
        if self.count.is_multiple_of(PATIENCE) {
            interrupt::check()?;
        }
        if self.next()?.is_none() {
            return Ok(None);
        }
        if self.record.len() != header.len() {
            let found = units::counted(self.record.len() as u64, "field");
            bail!(
                "line {} has {found}, but the header has {}: {}",
                self.line(),
                header.len(),
                listed(header)
            );
        }
        Ok(Some(&self.record))
    }

    /// The last record as it is in the file, without its end of line.
    pub(crate) fn raw(&self) -> &[u8] {
        let source = self.reader.get_ref();
        let at = |byte: u64| (byte - source.start) as usize;
        let raw = &source.recent[at(self.range.start)..at(self.range.end)];
        // Blank lines before the record, and what the parser leaves of the end of the one before.
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let start = raw.iter().position(|byte| !is_end(byte)).unwrap_or(0);
        let end = raw.iter().rposition(|byte| !is_end(byte));
        &raw[start..end.map_or(start, |end| end + 1)]
    }

    /// How its lines end.
    pub(crate) fn line_end(&self) -> &'static [u8] {
        match self.reader.get_ref().carriage_returns {
            true => b"\r\n",
            false => b"\n",
        }
    }

    fn next(&mut self) -> Result<Option<&ByteRecord>> {
        let start = self.reader.position().line();
        self.range.start = self.reader.position().byte();
        self.reader.get_mut().needed_from = self.range.start;
        let read = self.reader.read_byte_record(&mut self.record);
        self.range.end = self.reader.position().byte();
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
    pub(crate) fn line(&self) -> u64 {
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
    /// The bytes read lately, from the byte `start` on; those before `needed_from` may go.
    recent: Vec<u8>,
    start: u64,
    needed_from: u64,
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
            recent: Vec::new(),
            start: 0,
            needed_from: 0,
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        let done = self.needed_from.saturating_sub(self.start) as usize;
        self.recent.drain(..done.min(self.recent.len()));
        self.start = self.needed_from.max(self.start);
        self.recent.extend_from_slice(bytes);
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
            self.remember(&buffer[..read]);
            self.total += read as u64;
            self.unbroken += read;
            if read > 0 || buffer.is_empty() {
                self.last = buffer[..read].last().copied().unwrap_or(self.last);
                return Ok(read);
            }
            self.end = Some(self.total + END.len() as u64);
        }
        let read = self.rest.read(buffer)?;
        self.remember(&buffer[..read]);
        Ok(read)
    }
}

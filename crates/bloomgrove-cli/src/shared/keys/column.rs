//! Which column contains the keys, and batches of its values.
//!
//! A column is named as in its file. If no column has that name, a number counts them from 1, so
//! that files with a useless header can be read, too.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use super::{BLOCK, Each, ends_in};

/// The error for a wrong name lists at most this many columns.
const LISTED: usize = 50;

// A comment here would become the help of the command: this is what it takes to name a
// column of keys on the command line.
#[derive(clap::Args, Clone)]
pub(crate) struct Column {
    /// Take the keys from this column of .csv, .tsv and .parquet files, by name or
    /// number (#3).
    ///
    /// A column named 3 or #3 takes precedence over the third. Nested columns are written with dots
    /// (address.city); each element of a list is a key. Empty CSV fields and Parquet nulls are
    /// skipped. CSV files must have a header; standard input is read as CSV. Integers become keys
    /// in decimal (42), dates as 2024-02-29, timestamps as 2024-02-29T12:00:00.500Z, UUIDs with
    /// hyphens in lower case; floating-point columns cannot be used.
    #[arg(long = "column", id = "column", value_name = "NAME", required = false)]
    name: String,
    /// The field separator of CSV files [default: comma, or tab for .tsv]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, requires = "column")]
    delimiter: Option<u8>,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}", self.name)
    }
}

pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("this cannot be a field separator".into()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("give one character, such as ; or |, or \\t for a tab".into()),
    }
}

/// How keys are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Lines,
    /// Records of fields with this separator.
    Separated(u8),
    Parquet,
}

impl Format {
    /// By the name of the file, as nothing else distinguishes a CSV file from lines.
    pub(crate) fn of(path: &Path, column: Option<&Column>) -> Result<Self> {
        let endings = ["gz", "zst", "zstd", "xz", "bz2"];
        let packed = endings.iter().any(|end| ends_in(path, end));
        let stem = path.with_extension("");
        let inner = if packed { &stem } else { path };
        let Some(column) = column else {
            return Ok(match ends_in(path, "parquet") {
                true => Format::Parquet,
                false => Format::Lines,
            });
        };
        if ends_in(inner, "parquet") {
            if packed {
                bail!("compressed Parquet files cannot be read; decompress the file first");
            }
            if column.delimiter.is_some() {
                bail!("--delimiter does not apply to Parquet files");
            }
            Ok(Format::Parquet)
        } else if let Some(delimiter) = column.delimiter {
            Ok(Format::Separated(delimiter))
        } else if ends_in(inner, "tsv") {
            Ok(Format::Separated(b'\t'))
        } else if ends_in(inner, "csv") || path == Path::new("-") {
            Ok(Format::Separated(b','))
        } else {
            bail!(
                "--column applies to .csv, .tsv and .parquet files; if this file is delimited \
                 text with a header, pass its separator with --delimiter"
            )
        }
    }
}

impl Column {
    pub(crate) fn named(name: String) -> Self {
        Self {
            name,
            delimiter: None,
        }
    }

    /// The same, in text with this separator if one is given.
    pub(crate) fn separated(self, delimiter: Option<u8>) -> Self {
        Self { delimiter, ..self }
    }

    /// Its name, and the separator if one was given.
    pub(super) fn described(&self) -> String {
        match self.delimiter {
            Some(delimiter) => format!("{} (delimiter {:?})", self.name, delimiter as char),
            None => self.name.clone(),
        }
    }

    /// The place of the column among those called `names`. Where columns can be `nested`, the name
    /// of an outer one is enough if it contains only one.
    pub(crate) fn choose(&self, names: &[String], nested: bool) -> Result<usize> {
        let places = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..names.len()).filter(|&at| fits(&names[at])).collect()
        };
        let mut found = places(&|name| name == self.name);
        if found.is_empty() && nested {
            let outer = format!("{}.", self.name);
            found = places(&|name| name.starts_with(&outer));
        }
        match found[..] {
            [at] => return Ok(at),
            [] => {}
            _ => {
                let which: Vec<String> = found
                    .iter()
                    .map(|&at| format!("#{} ({})", at + 1, names[at]))
                    .collect();
                bail!(
                    "{} columns are called {:?}; pass --column {}",
                    found.len(),
                    self.name,
                    which.join(" or ")
                );
            }
        }
        let number = self.name.strip_prefix('#').unwrap_or(&self.name);
        match number.parse::<usize>() {
            Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
            _ => bail!(
                "no column {:?}; the columns are {}",
                self.name,
                listed(names)
            ),
        }
    }
}

/// The names, in their order, quoted where necessary.
pub(crate) fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let odd = |name: &str| name.is_empty() || name.contains([',', '"']) || name.trim() != name;
    let mut shown: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|name| match odd(name) {
            true => format!("{name:?}"),
            false => name.clone(),
        })
        .collect();
    if names.len() > LISTED {
        shown.push(format!("and {} more", names.len() - LISTED));
    }
    shown.join(", ")
}

/// A batch of keys: their bytes one after the other, and where each ends.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    /// Adds the key that `write` appends, and passes all on when there are enough.
    pub(super) fn push(
        &mut self,
        each: Each,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len());
        if self.bytes.len() >= BLOCK || self.ends.len() >= BLOCK / 16 {
            self.hand_on(each)?;
        }
        Ok(())
    }

    pub(super) fn hand_on(&mut self, each: Each) -> Result<()> {
        let mut start = 0;
        let keys: Vec<&[u8]> = self
            .ends
            .iter()
            .map(|&end| &self.bytes[std::mem::replace(&mut start, end)..end])
            .collect();
        each(&keys)?;
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> Column {
        Column {
            name: name.into(),
            delimiter: None,
        }
    }

    #[test]
    fn names_come_before_numbers_and_outer_names_stand_for_a_single_inner_one() {
        let names = [
            "id",
            "2",
            "tags.list.element",
            "a.b",
            "a.c",
            "id2",
            "x",
            "x",
        ];
        let names = names.map(String::from);
        for (name, place) in [
            ("id", Some(0)),
            ("2", Some(1)),
            ("#2", Some(1)),
            ("#1", Some(0)),
            ("6", Some(5)),
            ("tags", Some(2)),
            ("tags.list", Some(2)),
            ("a.b", Some(3)),
            ("a", None),
            ("x", None),
            ("#7", Some(6)),
            ("0", None),
            ("#9", None),
            ("", None),
            ("ID", None),
        ] {
            let found = column(name).choose(&names, true);
            assert_eq!(found.as_ref().ok(), place.as_ref(), "{name}: {found:?}");
        }
        assert!(column("tags").choose(&names, false).is_err());
    }

    #[test]
    fn the_name_of_the_file_says_how_it_is_read() {
        for (path, format) in [
            ("a.csv", Some(Format::Separated(b','))),
            ("A.CSV.GZ", Some(Format::Separated(b','))),
            ("a.tsv.zst", Some(Format::Separated(b'\t'))),
            ("-", Some(Format::Separated(b','))),
            ("a.parquet", Some(Format::Parquet)),
            ("a.parquet.gz", None),
            ("a.txt", None),
            ("csv", None),
        ] {
            let found = Format::of(Path::new(path), Some(&column("id"))).ok();
            assert_eq!(found, format, "{path}");
        }
        let no_column = |path| Format::of(Path::new(path), None).unwrap();
        assert_eq!(no_column("a.csv"), Format::Lines);
        assert_eq!(no_column("a.parquet"), Format::Parquet);
    }
}

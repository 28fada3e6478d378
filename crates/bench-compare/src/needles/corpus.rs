//! The haystacks: logs, source code and prose, made once from a seed and found again by later runs.
//!
//! ```text
//!   DIR/logs-223000000-5000/plain/00/000.log      three fifths
//!                           gz/00/000.log.gz      a fifth
//!                           zst/00/000.log.zst    a fifth
//!   DIR/source-SIZE-.../    copied from the sources of crates that Cargo has downloaded
//!   DIR/prose-SIZE-.../     text with a Zipf distribution, in the encodings that are found in practice
//! ```
//!
//! A corpus is made under another name and renamed when it is complete.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Request ids, IP addresses, UUIDs and JSON; a fifth of the files is .gz, a fifth .zst
    Logs,
    /// The sources of crates that Cargo has downloaded
    Source,
    /// Words with a Zipf distribution
    Prose,
}

/// A directory of files to search.
pub(crate) struct Corpus {
    pub(crate) kind: Kind,
    pub(crate) root: PathBuf,
    pub(crate) files: u64,
    /// Bytes of text, decompressed.
    pub(crate) bytes: u64,
}

impl Corpus {
    /// Finds a corpus in `directory`, or makes it.
    pub(crate) fn find(kind: Kind, directory: &Path, bytes: u64, files: u64) -> Result<Self> {
        let name = format!("{kind:?}-{bytes}-{files}").to_lowercase();
        let root = directory.join(&name);
        let report = directory.join(format!("{name}.txt"));
        if !report.exists() {
            let partial = directory.join(format!("{name}.partial"));
            for old in [&partial, &root] {
                if old.exists() {
                    fs::remove_dir_all(old)?;
                }
            }
            eprintln!("making {}", root.display());
            fs::create_dir_all(&partial)?;
            let mut maker = Maker::new(&partial, bytes, files);
            match kind {
                Kind::Logs => maker.logs()?,
                Kind::Source => maker.source()?,
                Kind::Prose => maker.prose()?,
            }
            fs::rename(&partial, &root)?;
            fs::write(&report, format!("{} {}", maker.made, maker.bytes))?;
        }
        let report = fs::read_to_string(report)?;
        let (files, bytes) = report.split_once(' ').ok_or("a damaged report")?;
        Ok(Self {
            kind,
            root,
            files: files.parse()?,
            bytes: bytes.parse()?,
        })
    }
}

/// All files in and below a directory that are not hidden, sorted.
pub(crate) fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type()?;
            match kind.is_dir() {
                true => directories.push(entry.path()),
                false if kind.is_file() => found.push(entry.path()),
                false => {}
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The text of a file, decompressed.
pub(crate) fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = fs::read(path)?;
    let mut text = Vec::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => {
            io::copy(
                &mut flate2::read::MultiGzDecoder::new(&bytes[..]),
                &mut text,
            )?;
        }
        Some("zst") => text = zstd::decode_all(&bytes[..])?,
        _ => text = bytes,
    }
    Ok(text)
}

struct Maker<'d> {
    root: &'d Path,
    /// What is wanted.
    limit: u64,
    files: u64,
    /// What was made.
    made: u64,
    bytes: u64,
    random: Xoshiro256PlusPlus,
}

impl<'d> Maker<'d> {
    fn new(root: &'d Path, limit: u64, files: u64) -> Self {
        Self {
            root,
            limit,
            files: files.max(1),
            made: 0,
            bytes: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(20),
        }
    }

    /// Writes a text to `folder`/00/000`ending`, compressed as its ending says.
    fn write(&mut self, folder: &str, ending: &str, text: &[u8]) -> Result<()> {
        let directory = self
            .root
            .join(folder)
            .join(format!("{:02}", self.made / 200));
        fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{:06}.{ending}", self.made));
        let packed = match ending.rsplit('.').next() {
            Some("gz") => {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                packed.write_all(text)?;
                packed.finish()?
            }
            Some("zst") => zstd::encode_all(text, 3)?,
            _ => text.to_vec(),
        };
        fs::write(path, packed)?;
        self.made += 1;
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn below(&mut self, end: u32) -> u32 {
        self.random.random_range(0..end)
    }

    /// How long the next file should be: half to one and a half times the average.
    fn next_len(&mut self) -> usize {
        (self.limit / self.files * u64::from(50 + self.below(101)) / 100) as usize
    }

    fn logs(&mut self) -> Result<()> {
        let mut second = 0;
        for file in 0..self.files {
            let len = self.next_len();
            let mut text = String::new();
            while text.len() < len {
                second += u64::from(self.below(2));
                self.log_line(second, &mut text);
            }
            let (folder, ending) = match file % 5 {
                1 => ("gz", "log.gz"),
                3 => ("zst", "log.zst"),
                _ => ("plain", "log"),
            };
            self.write(folder, ending, text.as_bytes())?;
        }
        Ok(())
    }

    /// Requests in two formats, and messages without ids.
    fn log_line(&mut self, second: u64, text: &mut String) {
        use std::fmt::Write;
        let (minute, hour, day) = (second / 60, second / 3600, second / 86400);
        let milli = self.below(1000);
        let (user, order) = (self.below(90_000), self.below(10_000_000));
        let (request, trace) = (self.random.random::<u64>(), self.random.random::<u128>());
        let [a, b] = [self.below(256), self.below(256)];
        let method = ["GET", "GET", "POST", "PUT", "DELETE"][self.below(5) as usize];
        let status = [200, 200, 200, 201, 304, 404, 500, 503][self.below(8) as usize];
        let host = ["api", "cart", "auth", "search"][self.below(4) as usize];
        let uuid = format!("{trace:032x}");
        let uuid = [
            &uuid[..8],
            &uuid[8..12],
            &uuid[12..16],
            &uuid[16..20],
            &uuid[20..],
        ]
        .join("-");
        let time = format!(
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{milli:03}Z",
            1 + day / 28 % 12,
            1 + day % 28,
            hour % 24,
            minute % 60,
            second % 60
        );
        let line = match self.below(10) {
            0..5 => write!(
                text,
                "{time} INFO {host}-{} 10.{a}.{b}.7 \"{method} /v1/orders/{order} HTTP/1.1\" {status} {milli}ms req={request:016x}",
                milli % 8
            ),
            5..8 => write!(
                text,
                "{{\"time\":\"{time}\",\"level\":\"info\",\"service\":\"{host}\",\"trace\":\"{uuid}\",\"user\":\"u-{user}\",\
                 \"ip\":\"10.{a}.{b}.7\",\"status\":{status},\"message\":\"order {order} accepted\"}}"
            ),
            8 => write!(
                text,
                "{time} ERROR {host}-{} connection refused by 10.{a}.{b}.7:5432, retry in {milli} ms",
                milli % 8
            ),
            _ => write!(
                text,
                "    at com.example.{host}.Handler.handle(Handler.java:{})",
                milli / 4
            ),
        };
        line.expect("a string takes all text");
        text.push('\n');
    }

    /// Every file that is not larger than what is left, in the order of their names.
    fn source(&mut self) -> Result<()> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let registry = home.ok_or("no home directory")?.join("registry/src");
        let mut crates = Vec::new();
        for one in
            fs::read_dir(&registry).map_err(|error| format!("{}: {error}", registry.display()))?
        {
            for one in fs::read_dir(one?.path())? {
                crates.push(one?.path());
            }
        }
        crates.sort_unstable_by_key(|path| path.file_name().map(ToOwned::to_owned));
        // Not only crates whose names begin with the same letter.
        crates.shuffle(&mut self.random);
        for one in &crates {
            let Some(parent) = one.parent() else { continue };
            for file in files_below(one)? {
                let len = fs::metadata(&file)?.len();
                let to = self.root.join(file.strip_prefix(parent)?);
                if self.made >= self.files || self.bytes + len > self.limit || to.exists() {
                    continue;
                }
                fs::create_dir_all(to.parent().ok_or("no parent")?)?;
                fs::copy(&file, &to)?;
                self.made += 1;
                self.bytes += len;
            }
        }
        Ok(())
    }

    fn prose(&mut self) -> Result<()> {
        let words = self.words(20_000);
        for file in 0..self.files {
            let len = self.next_len();
            let mut text = String::new();
            while text.len() < len {
                self.sentence(&words, &mut text);
            }
            // One file in twenty is UTF-16, one has a byte-order mark, one is Latin-1.
            let bytes = match file % 20 {
                3 => {
                    let wide = std::iter::once(0xfeff).chain(text.encode_utf16());
                    wide.flat_map(u16::to_le_bytes).collect()
                }
                7 => ["\u{feff}", &text].concat().into_bytes(),
                11 => text
                    .chars()
                    .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                    .collect(),
                _ => text.into_bytes(),
            };
            self.write("text", "txt", &bytes)?;
        }
        Ok(())
    }

    /// Words of one to four syllables, frequent ones first and short.
    fn words(&mut self, count: usize) -> Vec<String> {
        const SYLLABLES: [&str; 40] = [
            "the", "an", "or", "in", "to", "re", "con", "ver", "ti", "ment", "al", "er", "is",
            "ma", "no", "pre", "sub", "ing", "est", "ly", "ca", "do", "fi", "gre", "ho", "ju",
            "ki", "lo", "mu", "ne", "pa", "qui", "ro", "sa", "ü", "é", "ß", "σ", "ſ", "wo",
        ];
        let mut words: Vec<String> = Vec::new();
        while words.len() < count {
            let syllables = 1 + words.len().checked_ilog(30).unwrap_or(0) + self.below(2);
            let word = (0..syllables).map(|_| SYLLABLES[self.below(40) as usize]);
            words.push(word.collect());
        }
        words
    }

    fn sentence(&mut self, words: &[String], text: &mut String) {
        for at in 0..5 + self.below(20) {
            // The n-th word with a probability of about 1 / n.
            let share = self.random.random::<f64>();
            let word = &words[((words.len() as f64).powf(share) - 1.0) as usize];
            match at {
                0 => text.extend(word.chars().flat_map(char::to_uppercase)),
                _ => text.push_str(word),
            }
            text.push_str(match self.below(40) {
                0 => ", ",
                1 => " – ",
                2 => "’s ",
                3 => " “",
                4 => "” ",
                5 => "\r\n",
                6 => "-",
                _ => " ",
            });
        }
        text.push_str(".\n");
    }
}

//! What keys of which kind an index of a text would contain, and what it would take: words, n-grams, and
//! sparse n-grams.
//!
//! A sparse n-gram is a piece of text whose first and last pair of bytes have a larger hash than every
//! pair between them (ClickHouse's `sparse_grams`, GitHub's code search). There are at most two per byte,
//! of any length; a query needs few of them, and long ones are rare. Each file is taken by itself, as the
//! index does, in lower case.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

use super::Result;
use super::corpus::{Corpus, Kind, files_below, text_of};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The size of each corpus
    #[arg(long, value_parser = bloomgrove_units::bytes, default_value = "40MB")]
    size: u64,
    /// The number of files in each corpus, at most
    #[arg(long, default_value_t = 900)]
    files: u64,
    #[command(flatten)]
    shared: super::Shared,
}

const KINDS: [&str; 5] = [
    "words",
    "3-grams",
    "4-grams",
    "sparse, 3 to 16 bytes",
    "sparse, 4 to 16 bytes",
];
/// Bits of a filter per key, at a false-positive rate of 1%.
const BITS: f64 = 9.59;

pub(crate) fn run(args: &Args) -> Result<()> {
    println!("\n| corpus | MB | {} |", KINDS.join(" | "));
    println!("|---|---|{}", "---|".repeat(KINDS.len()));
    for kind in [Kind::Logs, Kind::Source, Kind::Prose] {
        let corpus = Corpus::find(kind, &args.shared.directory(), args.size, args.files)?;
        let (mut bytes, mut keys) = (0, [0; KINDS.len()]);
        for file in files_below(&corpus.root)? {
            let text = text_of(&file)?.to_ascii_lowercase();
            bytes += text.len();
            for (kind, sum) in keys.iter_mut().enumerate() {
                *sum += distinct(kind, &text);
            }
        }
        let share =
            |keys: usize| format!("{:.1}%", keys as f64 * BITS / 8.0 / bytes as f64 * 100.0);
        println!(
            "| {kind:?} | {:.0} | {} |",
            bytes as f64 / 1e6,
            keys.map(share).join(" | ")
        );
    }
    Ok(())
}

fn distinct(kind: usize, text: &[u8]) -> usize {
    let mut seen = HashSet::new();
    let mut take = |piece: &[u8]| {
        seen.insert(xxh3_64(piece));
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    for line in text.split(|&byte| byte == b'\n') {
        match kind {
            0 => line.split(|&byte| !is_word(byte)).for_each(&mut take),
            1 => line.windows(3).for_each(&mut take),
            2 => line.windows(4).for_each(&mut take),
            3 => sparse(line, 3, &mut take),
            _ => sparse(line, 4, &mut take),
        }
    }
    seen.len()
}

/// Calls `take` on every sparse n-gram of a line that has `least` to 16 bytes.
fn sparse(line: &[u8], least: usize, take: &mut impl FnMut(&[u8])) {
    // Pairs that may still begin one, in descending order of their hashes.
    let mut open: Vec<(usize, u64)> = Vec::new();
    for (at, pair) in line.windows(2).enumerate() {
        let hash = xxh3_64(pair);
        while let Some(&(start, larger)) = open.last() {
            let piece = &line[start..at + 2];
            if (least..=16).contains(&piece.len()) {
                take(piece);
            }
            if larger > hash {
                break;
            }
            open.pop();
            if larger == hash {
                break;
            }
        }
        open.push((at, hash));
    }
}

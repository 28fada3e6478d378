//! Compressing bits: size compared with entropy, and speed of compressing and expanding, by density
//! and model, compared with general compressors on the same bytes; then whole filters, and deltas.
//!
//! Each contender takes its turn in every round; the best round of each counts. The slow ones run in
//! the first round only.

use std::hint::black_box;
use std::io::{Read, Write};
use std::time::Instant;

use bloomgrove::codec;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Model, compress_with};
use bloomgrove::{Error, Filter, Layout, Params};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of bits to code
    #[arg(long, default_value_t = 100_000_000)]
    bits: u64,
    /// The shares of set bits
    #[arg(long, default_values_t = [0.0001, 0.001, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.7, 0.9, 0.99])]
    density: Vec<f64>,
    /// The number of keys in the filters
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Leave out zstd 19 and gzip 6
    #[arg(long)]
    quick: bool,
    /// Leave out the filters and deltas
    #[arg(long)]
    bits_only: bool,
}

/// A compression method, and its results.
struct Contender {
    name: &'static str,
    code: Code,
    bytes: usize,
    /// Best seconds for compressing and for expanding.
    best: [f64; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum Code {
    Ours(Model),
    Zstd(i32),
    Gzip,
}

impl Code {
    fn is_slow(self) -> bool {
        matches!(self, Code::Zstd(19) | Code::Gzip)
    }

    fn compress(self, filter: &Filter) -> Vec<u8> {
        let plain = || filter.words().iter().flat_map(|word| word.to_le_bytes());
        let mut out = Vec::new();
        match self {
            Code::Ours(model) => {
                let done = compress_with(filter, model, &Notes::new(), &mut out);
                done.expect("writing to memory cannot fail");
            }
            Code::Zstd(level) => {
                let plain: Vec<u8> = plain().collect();
                out = zstd::bulk::compress(&plain, level).expect("writing to memory cannot fail");
            }
            Code::Gzip => {
                let plain: Vec<u8> = plain().collect();
                let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::new(6));
                gzip.write_all(&plain)
                    .expect("writing to memory cannot fail");
                out = gzip.finish().expect("writing to memory cannot fail");
            }
        }
        out
    }

    /// Decompresses, and returns whether the result is the same.
    fn expand(self, coded: &[u8], filter: &Filter) -> bool {
        let len = filter.words().len() * 8;
        let plain = match self {
            Code::Ours(_) => {
                return black_box(codec::expand(coded)).is_ok_and(|found| found == *filter);
            }
            Code::Zstd(_) => zstd::bulk::decompress(coded, len).unwrap_or_default(),
            Code::Gzip => {
                let mut plain = Vec::with_capacity(len);
                let done = flate2::read::GzDecoder::new(coded).read_to_end(&mut plain);
                done.map(|_| plain).unwrap_or_default()
            }
        };
        let (words, _) = black_box(&plain).as_chunks();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        words.eq(filter.words().iter().copied())
    }
}

fn race(filter: &Filter, args: &Args) -> Vec<Contender> {
    let mut contenders = vec![
        ("framed", Code::Ours(Model::Framed)),
        ("static", Code::Ours(Model::Static)),
        ("adaptive", Code::Ours(Model::Adaptive)),
        ("zstd 3", Code::Zstd(3)),
    ];
    if !args.quick {
        contenders.extend([("zstd 19", Code::Zstd(19)), ("gzip 6", Code::Gzip)]);
    }
    let mut contenders: Vec<_> = contenders
        .into_iter()
        .map(|(name, code)| Contender {
            name,
            code,
            bytes: 0,
            best: [f64::INFINITY; 2],
        })
        .collect();
    for round in 0..args.rounds {
        for contender in &mut contenders {
            if round > 0 && contender.code.is_slow() {
                continue;
            }
            let start = Instant::now();
            let coded = contender.code.compress(black_box(filter));
            let there = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let same = contender.code.expand(&coded, filter);
            let back = start.elapsed().as_secs_f64();
            assert!(same, "{} does not round-trip", contender.name);
            contender.bytes = coded.len();
            contender.best[0] = contender.best[0].min(there);
            contender.best[1] = contender.best[1].min(back);
        }
    }
    contenders
}

/// The entropy of the bits of a filter, in bytes.
fn entropy(filter: &Filter) -> f64 {
    let bits = filter.params().bits() as f64;
    let ones = filter.count_ones() as f64;
    let worth = |share: f64| {
        if share > 0.0 {
            -share * share.log2()
        } else {
            0.0
        }
    };
    (worth(ones / bits) + worth(1.0 - ones / bits)) * bits / 8.0
}

fn row(first: &str, filter: &Filter, contender: &Contender) {
    let plain = filter.words().len() as f64 * 8.0;
    let speed = contender.best.map(|seconds| plain / 1e6 / seconds);
    println!(
        "| {first} | {} | {} | {:.2} | {:+.3} | {:.0} / {:.0} |",
        contender.name,
        contender.bytes,
        contender.bytes as f64 / plain * 100.0,
        (contender.bytes as f64 / entropy(filter) - 1.0) * 100.0,
        speed[0],
        speed[1],
    );
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    println!(
        "\n### {} bits, one core ({}; best of {} interleaved rounds; one round for zstd 19 and gzip)\n",
        args.bits,
        crate::machine(),
        args.rounds
    );
    println!(
        "| density | coder | bytes | % of original | % over entropy | MB/s of original, compress / expand |"
    );
    println!("|---|---|---|---|---|---|");
    for &density in &args.density {
        let filter = random(args.bits, density)?;
        for contender in race(&filter, args) {
            row(&format!("{density}"), &filter, &contender);
        }
    }
    if args.bits_only {
        return Ok(());
    }
    filters(args)?;
    deltas(args)
}

fn random(bits: u64, density: f64) -> Result<Filter, Error> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let below = (density * 2f64.powi(32)) as u32;
    let mut words = bloomgrove::raw::bits::Words::zeroed(bits.div_ceil(64) as usize)?;
    for bit in 0..bits {
        if random.next_u32() < below {
            words.as_mut()[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }
    Filter::from_words(Params::builder(bits, 1).build()?, words)
}

/// Filters of about the same rate: the smallest one, and others with fewer hashes and more bits.
fn filters(args: &Args) -> Result<(), Error> {
    println!(
        "\n### Filters of {} keys, false-positive rate 1 %\n",
        args.items
    );
    println!(
        "| filter | coder | bytes | % of original | % over entropy | MB/s of original, compress / expand | bits / key before | after |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let items = args.items as f64;
    let keys: Vec<u64> = (0..args.items).collect();
    let with_hashes = |hashes: u32| {
        // (1 - e^(-k n / m))^k = 0.01
        let fill = 0.01f64.powf(1.0 / f64::from(hashes));
        let bits = -f64::from(hashes) * items / (1.0 - fill).ln();
        Params::builder(bits.ceil() as u64, hashes).build()
    };
    let blocked = Params::builder((args.items * 10).next_multiple_of(512), 7)
        .layout(Layout::Blocked)
        .build()?;
    for (name, params) in [
        ("7 hashes", with_hashes(7)?),
        ("3 hashes", with_hashes(3)?),
        ("2 hashes", with_hashes(2)?),
        ("1 hash", with_hashes(1)?),
        ("blocked, 7 hashes", blocked),
    ] {
        let mut filter = Filter::new(params)?;
        filter.insert_batch(&keys);
        for contender in race(&filter, args) {
            let plain = filter.words().len() as f64 * 8.0;
            let speed = contender.best.map(|seconds| plain / 1e6 / seconds);
            println!(
                "| {name} | {} | {} | {:.2} | {:+.3} | {:.0} / {:.0} | {:.2} | {:.2} |",
                contender.name,
                contender.bytes,
                contender.bytes as f64 / plain * 100.0,
                (contender.bytes as f64 / entropy(&filter) - 1.0) * 100.0,
                speed[0],
                speed[1],
                filter.params().bits() as f64 / items,
                contender.bytes as f64 * 8.0 / items,
            );
        }
    }
    Ok(())
}

/// The cost of more keys, sent as a delta.
fn deltas(args: &Args) -> Result<(), Error> {
    println!(
        "\n### Deltas of a filter for {} keys at 1 %, with nine tenths of them inserted before\n",
        args.items
    );
    println!(
        "| new keys | bits changed | bytes of the delta | % over entropy | bits / new key | bytes of the filter | MB/s of the filter, compress / apply |"
    );
    println!("|---|---|---|---|---|---|---|");
    let old_keys: Vec<u64> = (0..args.items / 10 * 9).collect();
    let mut old = Filter::new(Params::for_items(args.items, 0.01)?)?;
    old.insert_batch(&old_keys);
    for new in [1, 10, 100, 1000, 10_000, 100_000] {
        let mut now = old.to_owned()?;
        now.insert_batch(&(args.items..args.items + new).collect::<Vec<u64>>());
        let mut best = [f64::INFINITY; 2];
        let mut message = Vec::new();
        for _ in 0..args.rounds {
            message.clear();
            let start = Instant::now();
            codec::delta(&old, &now, &mut message)?;
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            let mut there = old.to_owned()?;
            let start = Instant::now();
            codec::apply(&mut there, &message[..])?;
            best[1] = best[1].min(start.elapsed().as_secs_f64());
            assert!(there == now, "a delta does not round-trip");
        }
        let changed: Vec<u64> = old
            .words()
            .iter()
            .zip(now.words())
            .map(|(a, b)| a ^ b)
            .collect();
        let changed = Filter::from_words(old.params().clone(), &changed[..])?.to_owned()?;
        let plain = old.words().len() as f64 * 8.0;
        println!(
            "| {new} | {} | {} | {:+.2} | {:.1} | {plain} | {:.0} / {:.0} |",
            changed.count_ones(),
            message.len(),
            (message.len() as f64 / entropy(&changed) - 1.0) * 100.0,
            message.len() as f64 * 8.0 / new as f64,
            plain / 1e6 / best[0],
            plain / 1e6 / best[1],
        );
    }
    Ok(())
}

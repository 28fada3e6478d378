//! Which of N sets contain a key: the layouts against each other, against the faithful tree,
//! and against a scan of our filters and of fastbloom's.
//!
//! The sets are those of Table 1 of the Bloofi paper (100,992 bits, 7 hashes; 100 items, or as
//! many as the density requires). Every contender takes its turn in every round, with keys that
//! were not queried before; the best round of each counts.

use std::hint::black_box;
use std::time::Instant;

use bloomgrove::index::{Index, Shape, choose_shape};
use bloomgrove::{Error, Family, Filter, Layout, Params};
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions};
use fastbloom::BloomFilter;
use serde_json::json;

use crate::rivals::scatter;

const BITS: u64 = 100_992;
const HASHES: u32 = 7;
/// Absent keys are made from counters that no present key uses.
const ABSENT: u64 = 1 << 40;
/// How long a contender's turn may take, in nanoseconds.
const TURN: f64 = 50e6;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The numbers of sets
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    sets: Vec<u64>,
    /// The percentage of bits set; above 1, only up to 10,000 sets are measured
    #[arg(long, value_delimiter = ',', default_values_t = [0.69, 7.0, 30.0, 50.0])]
    density: Vec<f64>,
    /// The number of rounds; the best counts
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// The number of keys per turn, unless they take too long
    #[arg(long, default_value_t = 20_000)]
    keys: u64,
    /// Filters as Parquet files have them, with eight bits of a key in one block of 256
    #[arg(long)]
    split_block: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl Args {
    fn params(&self) -> Result<Params, Error> {
        match self.split_block {
            false => Params::builder(BITS, HASHES).build(),
            true => Params::builder(BITS / 256 * 256, 8)
                .layout(Layout::SplitBlock)
                .family(Family::Xxh64)
                .build(),
        }
    }
}

/// The contenders, in the order of the tables.
enum Contender {
    /// The search as the paper prints it.
    Tree(Box<Bloofi>),
    /// The tree of the previous contender, with the search that prefetches.
    TreeAhead,
    Fastbloom(Vec<BloomFilter>),
    One(Index),
    Many,
}

struct Row {
    name: String,
    bytes: u64,
    /// Present, absent.
    nanos: [f64; 2],
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut report = Vec::new();
    for &density in &args.density {
        for &sets in &args.sets {
            if density > 1.0 && sets > 10_000 {
                continue;
            }
            // (1 - 1/m)^(k n) of the bits remain clear.
            let hashes = f64::from(args.params()?.hashes());
            let items = (-(BITS as f64) / hashes * (1.0 - density / 100.0).ln()).round();
            let (rows, real) = race(sets, items as u64, args)?;
            let params = args.params()?;
            let chosen = choose_shape(&params, sets as usize, real).shape;
            if args.json {
                report.push(to_json(sets, items as u64, real, chosen, &rows));
            } else {
                print(sets, items as u64, real, chosen, &rows);
            }
        }
    }
    if args.json {
        let report = json!({ "machine": crate::machine(), "races": report });
        println!("{report:#}");
    }
    Ok(())
}

fn race(sets: u64, items: u64, args: &Args) -> Result<(Vec<Row>, f64), Error> {
    let params = args.params()?;
    let mut tree = Bloofi::new(params.clone(), BloofiOptions::default())?;
    let mut others: Vec<BloomFilter> = Vec::new();
    let shapes = [Shape::Loose, Shape::Flat, Shape::Sliced];
    let mut indexes = Vec::new();
    for shape in shapes {
        let mut index = Index::new(params.clone());
        index.rearrange(Some(shape))?;
        indexes.push(index);
    }
    let mut ones = 0;
    for set in 0..sets {
        let keys: Vec<u64> = (set * items..(set + 1) * items).collect();
        let mut filter = Filter::new(params.clone())?;
        filter.insert_batch(&keys);
        ones += filter.count_ones();
        tree.insert(set as u32, &filter)?;
        let mut other = BloomFilter::with_num_bits(BITS as usize)
            .seed(&1)
            .hashes(HASHES);
        other.insert_all(&keys);
        others.push(other);
        for index in &mut indexes {
            index.add(set.to_string(), &filter)?;
        }
    }
    let real = ones as f64 / (sets * BITS) as f64;
    let mut sealed = Index::new(params);
    sealed.merge(&indexes[2], bloomgrove::index::Duplicates::Refuse)?;
    sealed.rearrange(Some(Shape::Sealed))?;
    indexes.push(sealed);

    let mut contenders = vec![
        ("faithful tree".to_owned(), Contender::Tree(Box::new(tree))),
        ("tree, level by level".to_owned(), Contender::TreeAhead),
        ("scan, fastbloom".to_owned(), Contender::Fastbloom(others)),
    ];
    let all = [Shape::Loose, Shape::Flat, Shape::Sliced, Shape::Sealed];
    for (shape, index) in all.into_iter().zip(indexes) {
        let name = match shape {
            Shape::Loose => "scan, ours".to_owned(),
            shape => shape.to_string().to_owned(),
        };
        contenders.push((name, Contender::One(index)));
        contenders.push((format!("{shape}, many keys"), Contender::Many));
    }
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|(name, contender)| Row {
            name: name.clone(),
            bytes: contender.bytes(),
            nanos: [f64::INFINITY; 2],
        })
        .collect();
    let mut counter = 0;
    // Slow contenders are queried for fewer keys.
    let mut counts = vec![20; contenders.len()];
    for round in 0..=args.rounds {
        for i in 0..contenders.len() {
            let i = (i + round) % contenders.len();
            for absent in [false, true] {
                let keys: Vec<u64> = (0..counts[i])
                    .map(|_| {
                        counter += 1;
                        if absent {
                            ABSENT + counter
                        } else {
                            scatter(counter) % (sets * items)
                        }
                    })
                    .collect();
                let start = Instant::now();
                let found = ask(&contenders, i, &keys);
                let nanos = start.elapsed().as_nanos() as f64 / keys.len() as f64;
                assert!(absent || found >= keys.len(), "{} lost a set", rows[i].name);
                if round > 0 {
                    let best = &mut rows[i].nanos[usize::from(absent)];
                    *best = best.min(nanos);
                } else {
                    counts[i] = ((TURN / nanos) as u64).clamp(20, args.keys);
                }
            }
        }
    }
    Ok((rows, real))
}

impl Contender {
    fn bytes(&self) -> u64 {
        match self {
            Contender::Tree(tree) => tree.bytes(),
            Contender::Fastbloom(filters) => filters
                .iter()
                .map(|filter| filter.num_bits() as u64 / 8)
                .sum(),
            Contender::One(index) => index.bytes(),
            Contender::Many | Contender::TreeAhead => 0,
        }
    }
}

/// Queries contender `i` for all keys; returns how many sets were found.
fn ask(contenders: &[(String, Contender)], i: usize, keys: &[u64]) -> usize {
    match &contenders[i].1 {
        Contender::Tree(tree) => ask_tree(tree, keys, Bloofi::find_matches),
        Contender::TreeAhead => match &contenders[i - 1].1 {
            Contender::Tree(tree) => ask_tree(tree, keys, Bloofi::search),
            _ => 0,
        },
        Contender::Fastbloom(filters) => keys
            .iter()
            .map(|key| {
                let hash = filters[0].source_hash(key);
                let holds = |filter: &&BloomFilter| filter.contains_hash(hash);
                filters.iter().filter(holds).count()
            })
            .sum(),
        Contender::One(index) => keys
            .iter()
            .map(|key| black_box(index.which(key)).len())
            .sum(),
        Contender::Many => match &contenders[i - 1].1 {
            Contender::One(index) => {
                let answers = index.which_many(keys);
                answers.iter().map(|sets| sets.len()).sum()
            }
            _ => 0,
        },
    }
}

fn ask_tree(
    tree: &Bloofi,
    keys: &[u64],
    search: impl Fn(&Bloofi, &[u64], &mut Vec<u32>) -> u64,
) -> usize {
    let mut found = Vec::new();
    let mut count = 0;
    for key in keys {
        found.clear();
        search(tree, tree.params().probe(key).positions(), &mut found);
        count += black_box(&found).len();
    }
    count
}

fn print(sets: u64, items: u64, density: f64, chosen: Shape, rows: &[Row]) {
    println!(
        "\n### {sets} sets of {items} items, {:.2} % of the bits set ({})\n",
        density * 100.0,
        crate::machine()
    );
    println!("| layout | bytes / filters | ns/key present | absent | x tree, present | absent |");
    println!("|---|---|---|---|---|---|");
    let raw = (sets * BITS / 8) as f64;
    for row in rows {
        let bytes = match row.bytes {
            0 => String::new(),
            bytes => format!("{:.3}", bytes as f64 / raw),
        };
        let [present, absent] = row.nanos;
        let [over, over_absent] = [0, 1].map(|i| rows[0].nanos[i] / row.nanos[i]);
        println!(
            "| {} | {bytes} | {present:.0} | {absent:.0} | {over:.1} | {over_absent:.1} |",
            row.name
        );
    }
    println!("\n{}", verdict(chosen, rows));
}

/// The planner's choice against the best.
fn verdict(chosen: Shape, rows: &[Row]) -> String {
    let of = |shape: Shape, many: bool| {
        let name = match (shape, many) {
            (Shape::Loose, false) => "scan, ours".to_owned(),
            (shape, false) => shape.to_string().to_owned(),
            (shape, true) => format!("{shape}, many keys"),
        };
        let row = rows.iter().find(|row| row.name == name);
        row.map_or([f64::INFINITY; 2], |row| row.nanos)
    };
    let over = |many: bool, absent: usize| {
        let all = [Shape::Loose, Shape::Flat, Shape::Sliced];
        let best = all.map(|shape| of(shape, many)[absent]);
        of(chosen, many)[absent] / best.into_iter().fold(f64::INFINITY, f64::min)
    };
    format!(
        "The planner chooses {}: {:.2} / {:.2} times the best for one key (present / absent), \
         {:.2} / {:.2} for many.",
        chosen,
        over(false, 0),
        over(false, 1),
        over(true, 0),
        over(true, 1),
    )
}

fn to_json(sets: u64, items: u64, density: f64, chosen: Shape, rows: &[Row]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({ "layout": row.name, "bytes": row.bytes, "present": row.nanos[0],
                    "absent": row.nanos[1] })
        })
        .collect();
    json!({ "sets": sets, "items": items, "density": density, "planned": chosen.to_string(),
            "rows": rows })
}

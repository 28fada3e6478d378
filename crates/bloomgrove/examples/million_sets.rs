//! A million sets in one index: how long it takes to build, save, open and query.
//!
//! `cargo run --release -p bloomgrove --example million_sets [SETS] [ITEMS]`

use std::error::Error;
use std::time::Instant;

use bloomgrove::index::{Index, IndexFile};
use bloomgrove::{Filter, Params};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let sets: u64 = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let items: u64 = args.next().map_or(Ok(20), |text| text.parse())?;
    // One false positive for every other key.
    let params = Params::for_items(items, 0.5 / sets as f64)?;
    println!("{sets} sets of {items} keys, {params}");

    let start = Instant::now();
    let mut index = Index::new(params.clone());
    for set in 0..sets {
        let mut filter = Filter::new(params.clone())?;
        let keys: Vec<u64> = (set * items..(set + 1) * items).collect();
        filter.insert_batch(&keys);
        index.add(format!("set-{set}"), &filter)?;
    }
    let raw = sets as f64 * params.bits() as f64 / 8.0;
    println!("build  {:8.2?}", start.elapsed());
    println!(
        "memory {:.3} of the filters ({:.0} MB), {}",
        index.bytes() as f64 / raw,
        raw / 1e6,
        index.segments()[0].shape
    );

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("million.grove");
    let start = Instant::now();
    index.save(&path)?;
    let size = std::fs::metadata(&path)?.len();
    println!(
        "save   {:8.2?}, {:.0} MB",
        start.elapsed(),
        size as f64 / 1e6
    );
    drop(index);

    let start = Instant::now();
    let index = Index::open(&path)?;
    println!("open   {:8.2?}, {} sets", start.elapsed(), index.len());
    let start = Instant::now();
    let first = index.which(&4711u64);
    let own = format!("set-{}", 4711 / items);
    assert!(first.iter().any(|set| set.name() == own.as_bytes()));
    println!("first query {:.2?}, {} sets", start.elapsed(), first.len());

    let keys: Vec<u64> = (0..2000).map(|i| i * 7919 % (sets * items)).collect();
    let start = Instant::now();
    let named: usize = keys.iter().map(|key| index.which(key).len()).sum();
    println!(
        "one by one {:.2?} per key",
        start.elapsed() / keys.len() as u32
    );
    let start = Instant::now();
    let answers = index.which_many(&keys);
    println!(
        "many       {:.2?} per key",
        start.elapsed() / keys.len() as u32
    );
    assert_eq!(answers.iter().map(|sets| sets.len()).sum::<usize>(), named);
    for (key, mut sets) in keys.iter().zip(answers.iter()) {
        let own = format!("set-{}", key / items);
        assert!(sets.any(|set| set.name() == own.as_bytes()));
    }
    let expected = index.view().expected_false();
    let wrong = (named - keys.len()) as f64 / keys.len() as f64;
    println!("false positives {wrong:.2} sets per key, {expected:.2} expected");
    drop(answers);
    drop(first);
    drop(index);

    let mut file = IndexFile::open(&path)?;
    let mut filter = Filter::new(params)?;
    filter.insert("new");
    let start = Instant::now();
    file.add("one more", &filter)?;
    println!(
        "add    {:8.2?} (including the first lookup of names)",
        start.elapsed()
    );
    let start = Instant::now();
    file.commit()?;
    println!("commit {:8.2?}", start.elapsed());
    Ok(())
}

//! Measures how long a filter in a file takes to open and to answer its first queries.
//!
//! `cargo run --release -p bloomgrove --example open_time -- FILTER`. For a cold start, drop
//! the page cache during the pause (as root: `sysctl vm.drop_caches=3`).

use std::io::Read;
use std::time::Instant;

use bloomgrove::MappedFilter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: open_time FILTER")?;
    println!("press Enter when ready");
    std::io::stdin().read_exact(&mut [0])?;

    let start = Instant::now();
    let filter = MappedFilter::map(&path)?;
    let opened = start.elapsed();
    let found = (0..10u64).filter(|key| filter.contains(key)).count();
    let answered = start.elapsed();

    println!("{} bits opened in {opened:?}", filter.params().bits());
    println!("10 keys answered after {answered:?} ({found} found)");
    Ok(())
}

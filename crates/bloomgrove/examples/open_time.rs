//! How long a filter in a file takes to open and to answer for the first time.
//!
//! `cargo run --release -p bloomgrove --example open_time -- FILTER`. To see it cold, put
//! the file out of the page cache in the pause (as root: `sysctl vm.drop_caches=3`).

use std::io::Read;
use std::time::Instant;

use bloomgrove::MappedFilter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which filter?")?;
    println!("press return when ready");
    std::io::stdin().read_exact(&mut [0])?;

    let start = Instant::now();
    let filter = MappedFilter::map(&path)?;
    let opened = start.elapsed();
    let found = (0..10u64).filter(|key| filter.contains(key)).count();
    let answered = start.elapsed();

    println!("{} bits opened in {opened:?}", filter.params().bits());
    println!("10 keys answered by {answered:?} ({found} found)");
    Ok(())
}

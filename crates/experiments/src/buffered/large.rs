//! A filter much larger than its buffers, against single random reads of the same file and
//! a plain filter in a memory map: not in the paper.
//!
//! The last two query one key at a time until a time limit, and are extrapolated. The map contains
//! no keys: an empty filter can be saved without memory for its bits, and a query reads one line of
//! it whether the bits are set or not. At first, none of it is in memory.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use bloomgrove::buffered::{Filter, Geometry, Strategy};
use bloomgrove::{Layout, MappedFilter, Params};

use super::setup::{Contender, Keys, Scratch, Task, cell, gigabytes};
use super::table;
use crate::memory::{available, begin_anew, forget, resident};
use crate::{Progress, Report};

const HASHES: u32 = 8;
/// The share of the available memory that an empty filter may allocate: the system may refuse
/// more, even if it is never used.
const SHARE: f64 = 0.75;

/// A contender that queries one key at a time: probes per second, and peak megabytes.
struct Asked {
    rate: f64,
    resident: Option<f64>,
}

pub(super) fn run(task: Task<'_>, progress: &mut Progress<'_>) -> Result<Report> {
    let effort = task.effort;
    let scratch = task.scratch()?;
    let head = [
        "filter",
        "on disk, MB",
        "buffers, MB",
        "build, s",
        "probe, s",
        "built, M / s",
        "probed, M / s",
        "GB written",
        "GB read",
        "resident, MB",
        "false positives, %",
    ];
    let mut table = table("large", &head);
    let keys = effort.large_keys;
    let geometry = Geometry::builder(task.bytes(effort.large), HASHES)
        .page_bytes(effort.megabyte / 2)
        .build()?;
    let million = |keys: u64| keys as f64 / 1e6;
    let shown = format!(
        "{} MB on disk, {} MB of buffers, {:.0} M keys",
        effort.large,
        effort.large_memory,
        million(keys)
    );
    progress(&shown)?;
    let options = task.options(effort.large_memory, Strategy::Longest);
    let contender = Contender::Buffered(geometry, options);
    let run = contender.run(&scratch, Keys::both(keys))?;
    table.rows.push(vec![
        format!(
            "buffered, {:.0} + {:.0} M keys",
            million(keys),
            million(keys)
        ),
        effort.large.to_string(),
        effort.large_memory.to_string(),
        format!("{:.1}", run.build),
        format!("{:.1}", run.probe),
        format!("{:.2}", million(keys) / run.build),
        format!("{:.2}", million(keys) / run.probe),
        gigabytes(run.written),
        gigabytes(run.read),
        cell(run.resident),
        format!("{:.5}", 100.0 * run.fpr),
    ]);
    let mut slow = |name: &str, asked: Option<Asked>| {
        let number = |number: Option<f64>, digits: usize| {
            number.map_or(String::new(), |number| format!("{number:.digits$}"))
        };
        let rate = asked.as_ref().map(|asked| asked.rate);
        let row = vec![
            name.to_owned(),
            effort.large.to_string(),
            "0".to_owned(),
            String::new(),
            number(rate.map(|rate| keys as f64 / rate), 0),
            String::new(),
            number(rate.map(|rate| rate / 1e6), 4),
            String::new(),
            String::new(),
            cell(asked.and_then(|asked| asked.resident)),
            String::new(),
        ];
        table.rows.push(row);
    };
    progress("the same file, single random reads")?;
    slow(
        "the same file, single random reads (extrapolated)",
        Some(single(task, &scratch)?),
    );
    scratch.clear();
    progress("a plain filter in a cold memory map")?;
    match map(task, &scratch)? {
        (Some(asked), true) => slow(
            "a plain filter, cold memory map (extrapolated)",
            Some(asked),
        ),
        (Some(asked), false) => slow(
            "a plain filter, memory map, not cold (extrapolated)",
            Some(asked),
        ),
        (None, _) => slow("a plain filter, memory map: too large to create here", None),
    }
    Ok(Report {
        tables: vec![table],
        ..Report::default()
    })
}

/// Calls `each` with scattered numbers until the time limit; returns the calls per second.
fn until(task: Task<'_>, mut each: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    let mut done = 0u64;
    while start.elapsed().as_secs_f64() < task.effort.patience {
        for _ in 0..16 {
            each(done.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
            done += 1;
        }
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

fn single(task: Task<'_>, scratch: &Scratch) -> Result<Asked> {
    begin_anew();
    let filter = Filter::open(scratch.file())?;
    let keys = task.effort.large_keys;
    let rate = until(task, |number| {
        // Every other key is present.
        let key = number % (2 * keys);
        let found = filter.contains(&key)?;
        ensure!(found || key >= keys, "key {key} was lost");
        Ok(())
    })?;
    Ok(Asked {
        rate,
        resident: resident(),
    })
}

/// None if memory is too small for it; also returns whether it was cold.
fn map(task: Task<'_>, scratch: &Scratch) -> Result<(Option<Asked>, bool)> {
    let bytes = task.bytes(task.effort.large);
    let needed = bytes as f64 / f64::from(1 << 20);
    if available().is_none_or(|available| needed > SHARE * available) {
        return Ok((None, false));
    }
    let params = Params::builder(bytes * 8, HASHES)
        .layout(Layout::Blocked)
        .build()?;
    bloomgrove::Filter::new(params)?.save(scratch.file())?;
    let cold = forget(&scratch.file());
    begin_anew();
    let filter = MappedFilter::map(scratch.file())?;
    let rate = until(task, |number| {
        ensure!(
            !black_box(filter.contains(&number)),
            "an empty filter accepted a key"
        );
        Ok(())
    })?;
    let asked = Asked {
        rate,
        resident: resident(),
    };
    Ok((Some(asked), cold))
}

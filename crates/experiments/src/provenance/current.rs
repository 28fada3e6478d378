//! The cost of keeping the coordinator current over a day: the bytes of the filters that sites send.
//!
//! Each site has one filter, sized at the beginning for all ids of the day at a false-positive rate
//! of 1 in 1000. At regular intervals, every site with new ids sends one of the following: the whole
//! filter, the same compressed, or what has changed since the last time, compressed. For comparison,
//! the table has the size of the ids themselves, 16 bytes each, which would disclose all of them to
//! the coordinator.

use std::collections::HashSet;

use anyhow::Result;
use bloomgrove::{Filter, codec, raw::tune};
use bloomgrove_site::generate::{Step, Workload};

use super::{Effort, figure, table};
use crate::{Progress, Report};

/// The false-positive rate of the filters.
const FPR: f64 = 0.001;
/// Minutes between two pushes.
const PERIODS: [u64; 3] = [1, 10, 60];
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60;

/// The bytes that one site sends, by method.
#[derive(Clone, Copy, Default)]
struct Sent {
    pushes: u64,
    raw: u64,
    coded: u64,
    deltas: u64,
}

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    progress("a day's events")?;
    let workload = Workload {
        sites: effort.sites,
        events: effort.events,
        ..Workload::default()
    };
    let days = days(&workload);
    let head = [
        "minutes between pushes",
        "pushes",
        "whole filters, MB",
        "compressed filters, MB",
        "deltas, MB",
        "deltas, KB per site, mean",
        "deltas, KB, busiest site",
        "deltas, bytes per id",
        "ids as 16 bytes, MB",
        "deltas / whole filters",
    ];
    let mut table = table("current", &head);
    let mut figure = figure("current-push", ("minutes", true), ("MB", true));
    let ids: u64 = days.iter().map(|day| day.len() as u64).sum();
    for period in PERIODS {
        progress(&format!("a push every {period} minutes"))?;
        let mut all = Vec::new();
        for day in &days {
            all.push(site_day(&workload, day, period)?);
        }
        let sum = |of: fn(&Sent) -> u64| all.iter().map(of).sum::<u64>();
        let (raw, coded) = (sum(|sent| sent.raw), sum(|sent| sent.coded));
        let deltas = sum(|sent| sent.deltas);
        let busiest = all.iter().map(|sent| sent.deltas).max().unwrap_or(0);
        let mb = |bytes: u64| bytes as f64 / 1e6;
        table.rows.push(vec![
            period.to_string(),
            sum(|sent| sent.pushes).to_string(),
            format!("{:.1}", mb(raw)),
            format!("{:.1}", mb(coded)),
            format!("{:.2}", mb(deltas)),
            format!("{:.1}", deltas as f64 / 1e3 / all.len().max(1) as f64),
            format!("{:.1}", busiest as f64 / 1e3),
            format!("{:.2}", deltas as f64 / ids.max(1) as f64),
            format!("{:.1}", mb(16 * ids)),
            format!("{:.4}", deltas as f64 / raw.max(1) as f64),
        ]);
        let x = period as f64;
        figure.add("whole filters", x, mb(raw));
        figure.add("compressed filters", x, mb(coded));
        figure.add("deltas", x, mb(deltas));
    }
    Ok(Report {
        tables: vec![table],
        figures: vec![figure],
        ..Report::default()
    })
}

/// An id as a number: documents are even, events odd.
type Id = u64;

/// By site: when it first saw which id, in order of time.
fn days(workload: &Workload) -> Vec<Vec<(u64, Id)>> {
    let mut known = vec![HashSet::new(); workload.sites as usize];
    let mut days = vec![Vec::new(); workload.sites as usize];
    for step in workload.steps() {
        let Step {
            inputs, outputs, ..
        } = &step;
        let documents = inputs.iter().chain(outputs).map(|&one| 2 * u64::from(one));
        let site = step.site as usize;
        for id in documents.chain([2 * step.number + 1]) {
            if known[site].insert(id) {
                days[site].push((step.time / MINUTE, id));
            }
        }
    }
    days
}

fn site_day(workload: &Workload, day: &[(u64, Id)], period: u64) -> Result<Sent> {
    let mut sent = Sent::default();
    let params = tune::standard(day.len().max(1) as u64, FPR)?.params()?;
    let mut now = Filter::new(params)?;
    let mut last = now.to_owned()?;
    let mut rest = day;
    let mut message = Vec::new();
    for end in (period..=DAY).step_by(period as usize) {
        let (new, later) = rest.split_at(rest.partition_point(|(minute, _)| *minute < end));
        rest = later;
        if new.is_empty() {
            continue;
        }
        for &(_, id) in new {
            let name = match id % 2 {
                0 => workload.document((id / 2) as u32),
                _ => workload.event(id / 2),
            };
            now.insert(name.as_str());
        }
        sent.pushes += 1;
        sent.raw += 8 * now.words().len() as u64;
        message.clear();
        sent.coded += codec::compress(&now, &mut message)?;
        message.clear();
        sent.deltas += codec::delta(&last, &now, &mut message)?;
        last = now.to_owned()?;
    }
    Ok(sent)
}

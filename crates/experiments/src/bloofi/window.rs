//! A moving window, which the introduction of the paper mentions: each site has one filter per period,
//! and to forget the oldest period is to delete its filters from the tree.
//!
//! Compared with one filter per site that is only updated, and so forgets nothing.

use anyhow::Result;
use bloomgrove::{Filter, Params};
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions, BulkOrder};

use super::{Effort, FIGURES, Setup};
use crate::paper::table;
use crate::{Progress, Report};

const SITES: u32 = 1000;
/// Periods in the window.
const KEPT: u32 = 4;
/// How often it moves.
const MOVES: u32 = 20;
/// Elements of one site and period: the window has as many per site as a filter of Table 1.
const ELEMENTS: u64 = 25;
/// Periods whose keys are queried after their end.
const SHOWN: u32 = 4;
const SEARCHES: u64 = 1000;

/// The elements of one site in one period.
fn keys(site: u32, period: u32) -> Vec<u64> {
    let first = (u64::from(period) * u64::from(SITES) + u64::from(site)) * ELEMENTS;
    (first..first + ELEMENTS).collect()
}

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "moves",
        "filters in the tree",
        "nodes accessed per insert",
        "per delete",
        "filters checked per search",
        "the same, rebuilt",
        "the same, one growing filter per site",
        "expired keys reported, %",
        "the same, one growing filter per site, %",
    ];
    let mut rows = table(&FIGURES, "window", &head);
    let sites = SITES.min(effort.most_filters);
    let setup = Setup::default();
    let params = Params::builder(setup.bits, setup.hashes).seed(1).build()?;
    let options = BloofiOptions::default().split_full(true);
    let mut window = Bloofi::new(params.clone(), options)?;
    let mut growing = Bloofi::new(params.clone(), options)?;
    for period in 0..=MOVES + KEPT - 1 {
        progress(&format!("window, period {period}"))?;
        let (mut inserted, mut deleted) = (0, 0);
        for site in 0..sites {
            let mut filter = Filter::new(params.clone())?;
            filter.insert_batch(&keys(site, period));
            inserted += window.insert(period * sites + site, &filter)?.unwrap_or(0);
            if growing.update(site, &filter)?.is_none() {
                growing.insert(site, &filter)?;
            }
            if let Some(oldest) = period.checked_sub(KEPT) {
                deleted += window.remove_as_printed(oldest * sites + site).unwrap_or(0);
            }
        }
        // The window is full from period KEPT - 1 on.
        let Some(moves) = (period + 1).checked_sub(KEPT) else {
            continue;
        };
        if moves % SHOWN != 0 {
            continue;
        }
        let current = |i: u64| (period - (i % u64::from(KEPT)) as u32, i);
        let cost = |tree: &Bloofi| {
            let probe = |i| params.probe(&nth(sites, current(i)));
            let checks = |i| tree.search(probe(i).positions(), &mut Vec::new());
            (0..SEARCHES).map(checks).sum::<u64>() as f64 / SEARCHES as f64
        };
        // Keys of the first period, which has expired once the window has moved.
        let expired = |tree: &Bloofi| {
            let is_found = |&i: &u64| !tree.which(&params.probe(&nth(sites, (0, i)))).is_empty();
            100.0 * (0..SEARCHES).filter(is_found).count() as f64 / SEARCHES as f64
        };
        let each = |sum: u64| format!("{:.2}", sum as f64 / f64::from(sites));
        let mut row = vec![
            moves.to_string(),
            window.len().to_string(),
            each(inserted),
            if moves == 0 {
                String::new()
            } else {
                each(deleted)
            },
            format!("{:.2}", cost(&window)),
        ];
        let filters = window
            .slots()
            .into_iter()
            .filter_map(|slot| Some((slot, window.filter(slot)?)));
        let rebuilt = Bloofi::bulk(params.clone(), options, filters, BulkOrder::Fast)?;
        row.push(format!("{:.2}", cost(&rebuilt)));
        row.push(format!("{:.2}", cost(&growing)));
        row.extend([&window, &growing].map(|tree| match moves {
            0 => String::new(),
            _ => format!("{:.1}", expired(tree)),
        }));
        rows.rows.push(row);
    }
    Ok(Report {
        tables: vec![rows],
        ..Report::default()
    })
}

/// Some key of a period.
fn nth(sites: u32, (period, i): (u32, u64)) -> u64 {
    let site = (i * 7919 % u64::from(sites)) as u32;
    keys(site, period)[(i % ELEMENTS) as usize]
}

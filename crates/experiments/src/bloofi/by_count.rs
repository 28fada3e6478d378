//! Figures 5, 6 and 7: what grows with the number of filters.

use anyhow::Result;

use super::{Built, Effort, Setup, figure, ideal};
use crate::paper::claim;
use crate::{Progress, Report};

const COUNTS: [u32; 7] = [100, 300, 1000, 3000, 10_000, 30_000, 100_000];

/// N, and the search cost with and without the no-split rule of section 3.4.
const PUBLISHED: [(u32, f64, f64); 2] = [(10_000, 103.16, 111.27), (100_000, 885.66, 969.80)];

const NO_SPLIT: &str = "incremental, no-split rule";

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("fig05", x, ("filters checked per search", true));
    let mut time = figure("fig06", x, ("milliseconds per search", true));
    let mut change = figure("fig07", x, ("nodes accessed", false));
    let mut claims = Vec::new();
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let at = f64::from(filters);
        let setup = Setup {
            filters,
            ..Setup::default()
        };
        progress(&format!("N = {filters}: every filter in turn"))?;
        cost.add("every filter in turn", at, at);
        time.add("every filter in turn", at, setup.scan_time()?);
        let no_split = Setup {
            split_full: false,
            ..setup.clone()
        };
        let kinds = [
            ("incremental", Built::Incremental, &setup),
            (NO_SPLIT, Built::Incremental, &no_split),
            ("after updates", Built::AfterUpdates, &setup),
            ("bulk, the paper's", Built::Bulk, &setup),
            ("bulk, ours", Built::BulkFast, &no_split),
        ];
        for (name, built, setup) in kinds {
            if built == Built::Bulk && filters > effort.most_chained {
                continue;
            }
            progress(&format!("N = {filters}: {name}"))?;
            let mean = setup.average(built, effort.runs)?;
            cost.add(name, at, mean.search_cost);
            time.add(name, at, mean.search_time);
            if name == "incremental" {
                change.add("insert", at, mean.insert);
                change.add("delete", at, mean.delete);
                change.add("update", at, mean.update);
                if filters == 1000 {
                    claims.push(claim(
                        "fig05",
                        "probf of the root, N = 1000",
                        0.993,
                        mean.root_fpr,
                    ));
                }
                if filters == 100_000 {
                    let what = "minutes to build, N = 100,000 (Java, 2010)";
                    claims.push(claim("fig05", what, 15.0, mean.build_seconds / 60.0));
                }
            } else if name == NO_SPLIT {
                change.add("insert, no-split rule", at, mean.insert);
            }
        }
        cost.add("ideal, 4 children each", at, ideal(4.0, filters));
        let order = setup.order as f64;
        change.add("2 d log_2d N", at, ideal(2.0 * order, filters) - 1.0);
    }
    for (filters, with, without) in PUBLISHED {
        let value = |name| cost.value(name, f64::from(filters));
        let names = [(NO_SPLIT, with), ("incremental", without)];
        for (name, paper) in names {
            if let Some(ours) = value(name) {
                let what = format!("search cost, N = {filters}, {name}");
                claims.push(claim("fig05", &what, paper, ours));
            }
        }
    }
    Ok(Report {
        figures: vec![cost, time, change],
        claims,
        ..Report::default()
    })
}

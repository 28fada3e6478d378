//! Not in the paper: similar sets, for which the order of construction matters.
//!
//! The paper's sets share no elements, or few, so their order makes no difference. Here they come
//! in groups of five that draw from the same elements, in random order.

use anyhow::Result;

use super::{Built, Data, Effort, Setup, figure};
use crate::{Progress, Report};

const COUNTS: [u32; 4] = [300, 1000, 3000, 10_000];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("filters N", true);
    let mut cost = figure("similar-cost", x, ("filters checked per search", true));
    let mut build = figure("similar-build", x, ("seconds to build", true));
    for filters in COUNTS.into_iter().filter(|&n| n <= effort.most_filters) {
        let kinds = [
            ("incremental", Built::Incremental),
            ("bulk, the paper's", Built::Bulk),
            ("bulk, ours", Built::BulkFast),
        ];
        for (name, built) in kinds {
            if built == Built::Bulk && filters > effort.most_chained {
                continue;
            }
            progress(&format!("N = {filters}: {name}"))?;
            let setup = Setup {
                filters,
                data: Data::Similar,
                ..Setup::default()
            };
            let mean = setup.average(built, effort.runs)?;
            cost.add(name, f64::from(filters), mean.search_cost);
            build.add(name, f64::from(filters), mean.build_seconds);
        }
    }
    Ok(Report {
        figures: vec![cost, build],
        ..Report::default()
    })
}

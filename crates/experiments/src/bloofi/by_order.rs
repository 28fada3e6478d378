//! Figures 8, 9 and 10: the effect of the order of the tree; and the search time, which the paper
//! describes.

use anyhow::Result;

use super::{Built, Effort, Setup, figure, ideal};
use crate::{Progress, Report};

const ORDERS: [usize; 7] = [2, 3, 4, 5, 6, 8, 10];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let x = ("order d", false);
    let mut cost = figure("fig08", x, ("filters checked per search", false));
    let mut time = figure("order-time", x, ("milliseconds per search", false));
    let mut storage = figure("fig09", x, ("megabytes", false));
    let mut change = figure("fig10", x, ("nodes accessed", false));
    for order in ORDERS {
        let at = order as f64;
        let setup = Setup {
            order,
            ..Setup::default()
        };
        let kinds = [
            ("incremental", Built::Incremental),
            ("after updates", Built::AfterUpdates),
            ("bulk, the paper's", Built::Bulk),
            ("bulk, the paper's, not sorted", Built::BulkUnsorted),
            ("bulk, ours", Built::BulkFast),
        ];
        let trees = kinds.map(|(_, built)| (setup.clone(), built));
        let step = format!("d = {order}: all trees in turn");
        let means = Setup::compare(&trees, effort.runs, || progress(&step))?;
        for ((name, built), mean) in kinds.into_iter().zip(means) {
            cost.add(name, at, mean.search_cost);
            time.add(name, at, mean.search_time);
            storage.add(name, at, mean.storage / 1e6);
            if built == Built::Incremental {
                time.add("incremental, as printed", at, mean.printed_time);
                change.add("insert", at, mean.insert);
                change.add("delete, our shortcut", at, mean.delete);
                let delete = setup.printed_delete(built, effort.runs)?;
                change.add("delete, as printed", at, delete);
                change.add("update", at, mean.update);
            }
        }
        let full = 2.0 * at;
        cost.add("ideal, 2d children each", at, ideal(full, setup.filters));
        let leaves = f64::from(setup.filters) * setup.bits as f64 / 8e6;
        storage.add("filters alone", at, leaves);
    }
    Ok(Report {
        figures: vec![cost, time, storage, change],
        ..Report::default()
    })
}

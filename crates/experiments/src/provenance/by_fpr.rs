//! Empty answers by the size of the filters.

use anyhow::Result;
use bloomgrove_site::generate::Workload;

use super::federation::{Federation, Sampled, Sums};
use super::{Effort, figure, table};
use crate::{Progress, Report};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let workload = Workload {
        sites: effort.sites,
        events: effort.fpr_events,
        ..Workload::default()
    };
    let head = [
        "false-positive rate",
        "filters, KB per site",
        "documents",
        "not exact",
        "ids queried",
        "messages",
        "empty answers",
        "% empty answers",
        "% of broadcast's messages",
        "bytes",
    ];
    let mut table = table("fpr", &head);
    let mut empty = figure(
        "fpr-empty",
        ("false-positive rate", true),
        ("requests", true),
    );
    let mut sizes = figure(
        "fpr-bytes",
        ("false-positive rate", true),
        ("KB per site", false),
    );
    for &rate in effort.rates {
        let federation = Federation::new(workload, rate, progress)?;
        let size = federation.filter_bytes() as f64 / 1e3 / f64::from(effort.sites);
        sizes.add("filters", rate, size);
        for sampled in Sampled::ALL {
            progress(&format!("rate {rate}: {}", sampled.name()))?;
            let mut sums = Sums::default();
            for (document, _) in federation.sample(sampled, effort.fpr_documents) {
                sums.add(&federation.trace(document, None, false)?);
            }
            let empty_answers = sums.mean(|sums| sums.empty_answers);
            let ids = sums.mean(|sums| sums.all_questions) / f64::from(effort.sites);
            table.rows.push(vec![
                rate.to_string(),
                format!("{size:.1}"),
                sampled.name().to_owned(),
                sums.wrong.to_string(),
                format!("{ids:.1}"),
                format!("{:.1}", sums.mean(|sums| sums.messages)),
                format!("{empty_answers:.2}"),
                format!("{:.1}", 100.0 * sums.empty_answers / sums.messages.max(1.0)),
                format!("{:.2}", sums.share()),
                format!("{:.0}", sums.mean(|sums| sums.bytes)),
            ]);
            // Zero cannot be drawn on a logarithmic axis.
            if empty_answers > 0.0 {
                empty.add(sampled.name(), rate, empty_answers);
            }
        }
    }
    Ok(Report {
        tables: vec![table],
        figures: vec![empty, sizes],
        ..Report::default()
    })
}

//! The cost of a trace by the number of sites, each with the same number of events.

use anyhow::Result;
use bloomgrove_site::generate::Workload;

use super::federation::{Federation, Sampled, Sums};
use super::{Effort, figure, table};
use crate::{Progress, Report, Stroke};

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let head = [
        "sites",
        "documents",
        "not exact",
        "sites with data",
        "rounds",
        "messages",
        "empty answers",
        "broadcast's messages",
        "% of broadcast's messages",
        "traces within 5 %, %",
        "bytes",
        "ms",
        "ms in the index",
    ];
    let mut table = table("sites", &head);
    let mut figure = figure("sites-messages", ("sites", true), ("messages", true));
    for &sites in effort.site_counts {
        let workload = Workload {
            sites,
            events: effort.site_events * u64::from(sites),
            ..Workload::default()
        };
        let federation = Federation::new(workload, effort.fpr, progress)?;
        for (color, sampled) in Sampled::ALL.into_iter().enumerate() {
            progress(&format!("{sites} sites: {}", sampled.name()))?;
            let mut sums = Sums::default();
            for (document, _) in federation.sample(sampled, effort.documents) {
                sums.add(&federation.trace(document, None, false)?);
            }
            let messages = sums.mean(|sums| sums.messages);
            let broadcast = sums.mean(|sums| sums.all_messages);
            table.rows.push(vec![
                sites.to_string(),
                sampled.name().to_owned(),
                sums.wrong.to_string(),
                format!("{:.1}", sums.mean(|sums| sums.sites)),
                format!("{:.1}", sums.mean(|sums| sums.rounds)),
                format!("{messages:.1}"),
                format!("{:.2}", sums.mean(|sums| sums.empty_answers)),
                format!("{broadcast:.0}"),
                format!("{:.2}", sums.share()),
                format!("{:.1}", sums.within()),
                format!("{:.0}", sums.mean(|sums| sums.bytes)),
                format!("{:.2}", sums.mean(|sums| sums.milliseconds)),
                format!("{:.2}", sums.mean(|sums| sums.index_milliseconds)),
            ]);
            let x = f64::from(sites);
            let (index, all) = (
                format!("{}: index", sampled.name()),
                format!("{}: broadcast", sampled.name()),
            );
            figure.draw(&index, color, Stroke::Solid, x, messages);
            figure.draw(&all, color, Stroke::Dashed, x, broadcast);
        }
    }
    Ok(Report {
        tables: vec![table],
        figures: vec![figure],
        ..Report::default()
    })
}

//! Traces in a large federation: exactness, cost and depth.

use anyhow::Result;
use bloomgrove_site::generate::Workload;

use super::federation::{Federation, Sampled, Sums};
use super::{Effort, figure, table};
use crate::{Figure, Progress, Report};

/// The fewest ancestors of each group of the figure.
const FIRST: [u64; 7] = [0, 1, 3, 10, 30, 100, 300];
const DEPTHS: [Option<u32>; 5] = [Some(1), Some(2), Some(4), Some(8), None];

pub(super) fn run(effort: Effort, progress: &mut Progress<'_>) -> Result<Report> {
    let workload = Workload {
        sites: effort.sites,
        events: effort.events,
        ..Workload::default()
    };
    let federation = Federation::new(workload, effort.fpr, progress)?;
    let head = [
        "documents",
        "method",
        "traces",
        "not exact",
        "nodes",
        "sites with data",
        "rounds",
        "messages",
        "empty answers",
        "% of broadcast's messages",
        "traces within 5 %, %",
        "lookups",
        "% of broadcast's lookups",
        "bytes",
        "% of broadcast's bytes",
        "ms",
        "ms in the index",
    ];
    let mut traces = table("traces", &head);
    let mut points = Vec::new();
    for sampled in Sampled::ALL {
        let documents = federation.sample(sampled, effort.documents);
        let mut sums = Sums::default();
        for (count, &(document, ancestors)) in documents.iter().enumerate() {
            if count % 10 == 0 {
                progress(&format!("{}: trace {count}", sampled.name()))?;
            }
            let traced = federation.trace(document, None, false)?;
            sums.add(&traced);
            let cost = &traced.trace.cost;
            points.push(Point {
                ancestors,
                messages: cost.requests as f64,
                empty_answers: cost.empty_answers as f64,
                broadcast: cost.broadcast.requests as f64,
            });
        }
        let estimated = [
            sums.mean(|sums| sums.all_messages),
            sums.mean(|sums| sums.all_questions),
            sums.mean(|sums| sums.all_bytes),
        ];
        traces.rows.push(row(sampled, "index", &sums));
        traces.rows.push(estimated_row(sampled, &sums, estimated));
        let mut asked = Sums::default();
        for (count, &(document, _)) in documents.iter().take(effort.broadcasts).enumerate() {
            progress(&format!("{}: broadcast {count}", sampled.name()))?;
            asked.add(&federation.trace(document, None, true)?);
        }
        traces.rows.push(row(sampled, "broadcast", &asked));
        let mut same = Sums::default();
        for &(document, _) in documents.iter().take(effort.broadcasts) {
            same.add(&federation.trace(document, None, false)?);
        }
        traces
            .rows
            .push(row(sampled, "index (same documents)", &same));
    }
    let depth = depths(&federation, effort, progress)?;
    Ok(Report {
        tables: vec![traces, depth],
        figures: vec![shares(&points)],
        ..Report::default()
    })
}

/// A trace of the figure.
struct Point {
    ancestors: u64,
    messages: f64,
    empty_answers: f64,
    broadcast: f64,
}

/// Groups traces by the number of ancestors; shows the cost of false positives separately.
fn shares(points: &[Point]) -> Figure {
    let mut figure = figure("traces-share", ("ancestors + 1", true), ("%", true));
    let ends = FIRST.iter().skip(1).copied().chain([u64::MAX]);
    for (first, end) in FIRST.into_iter().zip(ends) {
        let found = points
            .iter()
            .filter(|point| (first..end).contains(&point.ancestors));
        let found: Vec<&Point> = found.collect();
        let sum = |of: fn(&Point) -> f64| found.iter().map(|point| of(point)).sum::<f64>();
        let broadcast = sum(|point| point.broadcast);
        if broadcast == 0.0 {
            continue;
        }
        let x = sum(|point| point.ancestors as f64) / found.len() as f64 + 1.0;
        let messages = sum(|point| point.messages);
        let known = messages - sum(|point| point.empty_answers);
        figure.add("all messages", x, 100.0 * messages / broadcast);
        figure.add("without empty answers", x, 100.0 * known / broadcast);
    }
    figure
}

fn row(sampled: Sampled, asked: &str, sums: &Sums) -> Vec<String> {
    let percent = |part: f64, all: f64| format!("{:.2}", 100.0 * part / all.max(1.0));
    vec![
        sampled.name().to_owned(),
        asked.to_owned(),
        sums.traces.to_string(),
        sums.wrong.to_string(),
        format!("{:.1}", sums.mean(|sums| sums.nodes)),
        format!("{:.1}", sums.mean(|sums| sums.sites)),
        format!("{:.1}", sums.mean(|sums| sums.rounds)),
        format!("{:.1}", sums.mean(|sums| sums.messages)),
        format!("{:.2}", sums.mean(|sums| sums.empty_answers)),
        format!("{:.2}", sums.share()),
        format!("{:.1}", sums.within()),
        format!("{:.1}", sums.mean(|sums| sums.questions)),
        percent(sums.questions, sums.all_questions),
        format!("{:.0}", sums.mean(|sums| sums.bytes)),
        percent(sums.bytes, sums.all_bytes),
        format!("{:.2}", sums.mean(|sums| sums.milliseconds)),
        format!("{:.2}", sums.mean(|sums| sums.index_milliseconds)),
    ]
}

/// The cost of a broadcast, as estimated by the coordinator for the same traces.
fn estimated_row(sampled: Sampled, sums: &Sums, estimated: [f64; 3]) -> Vec<String> {
    let [messages, questions, bytes] = estimated;
    let mut row = row(sampled, "broadcast, estimated", sums);
    for (place, text) in [
        (3, String::new()),
        (7, format!("{messages:.1}")),
        (8, String::new()),
        (9, "100.00".to_owned()),
        (10, String::new()),
        (11, format!("{questions:.1}")),
        (12, "100.00".to_owned()),
        (13, format!("{bytes:.0}")),
        (14, "100.00".to_owned()),
        (15, String::new()),
        (16, String::new()),
    ] {
        row[place] = text;
    }
    row
}

fn depths(
    federation: &Federation,
    effort: Effort,
    progress: &mut Progress<'_>,
) -> Result<crate::Table> {
    let head = [
        "documents",
        "depth limit",
        "not exact",
        "nodes",
        "rounds",
        "messages",
        "empty answers",
        "% of broadcast's messages",
        "bytes",
        "ms",
    ];
    let mut table = table("depth", &head);
    for sampled in Sampled::ALL {
        let documents = federation.sample(sampled, effort.documents);
        for depth in DEPTHS {
            let shown = depth.map_or("all".to_owned(), |depth| depth.to_string());
            progress(&format!("{}: depth {shown}", sampled.name()))?;
            let mut sums = Sums::default();
            for &(document, _) in &documents {
                sums.add(&federation.trace(document, depth, false)?);
            }
            table.rows.push(vec![
                sampled.name().to_owned(),
                shown,
                sums.wrong.to_string(),
                format!("{:.1}", sums.mean(|sums| sums.nodes)),
                format!("{:.1}", sums.mean(|sums| sums.rounds)),
                format!("{:.1}", sums.mean(|sums| sums.messages)),
                format!("{:.2}", sums.mean(|sums| sums.empty_answers)),
                format!("{:.2}", sums.share()),
                format!("{:.0}", sums.mean(|sums| sums.bytes)),
                format!("{:.2}", sums.mean(|sums| sums.milliseconds)),
            ]);
        }
    }
    Ok(table)
}

//! A trace as a table, nearest first.

use anyhow::Result;
use bloomgrove_client::api::{Direction, Trace, TraceNode};

use crate::shared::output::{Output, complain};
use crate::shared::units;

/// The table shows at most this many characters of a text.
const SHOWN: usize = 48;
/// And at most this many sites per row.
const SITES: usize = 3;

pub(super) fn table(trace: &Trace) -> Result<()> {
    let mut output = Output::new();
    let mut nodes: Vec<&TraceNode> = trace.nodes.iter().collect();
    // In order of time, as far as it is known.
    nodes.sort_by_key(|node| (node.distance, node.node.time.clone(), node.node.id.clone()));
    let rows: Vec<[String; 6]> = nodes.into_iter().map(row).collect();
    if !rows.is_empty() {
        let head = ["links", "what", "id", "label", "time", "known at"];
        // Empty columns are left out.
        let used: Vec<usize> = (0..head.len())
            .filter(|&column| rows.iter().any(|row| !row[column].is_empty()))
            .collect();
        let head: Vec<&str> = used.iter().map(|&column| head[column]).collect();
        let pick = |row: &[String; 6]| used.iter().map(|&column| row[column].clone()).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(pick).collect();
        output.table(&head, &rows)?;
    }
    output.finish()
}

fn row(node: &TraceNode) -> [String; 6] {
    let TraceNode {
        node,
        distance,
        sites,
    } = node;
    let text = |text: &Option<String>| shortened(text.as_deref().unwrap_or_default());
    let what = match (&node.kind, &node.peer) {
        (Some(kind), Some(peer)) if kind == "sent" => format!("sent to {peer}"),
        (Some(kind), Some(peer)) if kind == "received" => format!("received from {peer}"),
        (Some(kind), _) => kind.clone(),
        (None, _) => String::new(),
    };
    let mut known: Vec<&str> = sites.iter().take(SITES).map(String::as_str).collect();
    let more = format!("{} more", sites.len().saturating_sub(SITES));
    if sites.len() > SITES {
        known.push(&more);
    }
    [
        distance.to_string(),
        shortened(&what),
        clean(&node.id),
        text(&node.label),
        text(&node.time),
        known.join(", "),
    ]
}

/// Without control characters, which the terminal would interpret.
fn clean(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(clean).collect()
}

/// Both ends of a long text. Ids are never shortened, so that they can be copied.
fn shortened(text: &str) -> String {
    let chars: Vec<char> = clean(text).chars().collect();
    if chars.len() <= SHOWN {
        return chars.into_iter().collect();
    }
    let half = SHOWN / 2;
    let (start, end) = (&chars[..half], &chars[chars.len() - (SHOWN - half - 1)..]);
    start.iter().chain(['…'].iter()).chain(end).collect()
}

/// The cost, on standard error.
pub(super) fn cost(trace: &Trace) {
    let cost = &trace.cost;
    let what = match trace.direction {
        Direction::Ancestors => "back",
        Direction::Descendants => "forward",
    };
    if trace.nodes.is_empty() {
        let what = match trace.complete {
            true => "no site knows it",
            false => "not found, but the trace is incomplete",
        };
        complain(format_args!(
            "{what} ({} of {} queried, {:.0} ms); recent events may not be published yet",
            trace.sites.len(),
            units::counted(cost.sites, "site"),
            cost.milliseconds
        ));
        return;
    }
    let farthest = trace.nodes.iter().map(|node| node.distance).max();
    complain(format_args!(
        "{}, {}, up to {} {what}; {} of {} queried in {}, {:.0} ms",
        units::counted(trace.nodes.len() as u64, "node"),
        units::counted(trace.links.len() as u64, "link"),
        units::counted(u64::from(farthest.unwrap_or(0)), "link"),
        trace.sites.len(),
        units::counted(cost.sites, "site"),
        units::counted(cost.rounds, "round"),
        cost.milliseconds,
    ));
    let all = &cost.broadcast;
    if all.requests > 0 {
        complain(format_args!(
            "{} instead of {} for a broadcast ({:.1}%), {} transferred instead of {}",
            units::counted(cost.requests, "message"),
            units::grouped(all.requests),
            100.0 * cost.requests as f64 / all.requests as f64,
            units::size(cost.bytes_sent + cost.bytes_received),
            units::size(all.bytes),
        ));
    }
}

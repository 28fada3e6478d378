//! Counts for Prometheus: what the process counts as it runs, and what the site knows of itself.

use bloomgrove_client::api::SiteStatus;
use bloomgrove_server::observe::metrics::{counted, one};

/// The answer to `GET /metrics`.
pub(super) fn render(status: &SiteStatus) -> String {
    let mut text = counted();
    let pending: u64 = status.sets.iter().map(|set| set.pending).sum();
    let gauges = [
        ("triples", "Triples in memory.", status.triples as f64),
        ("ids", "Ids of documents and events.", status.ids as f64),
        (
            "log_bytes",
            "Bytes of the log on disk.",
            status.bytes_on_disk as f64,
        ),
        ("sets", "Sets that are published.", status.sets.len() as f64),
        (
            "pending_ids",
            "Ids that the coordinator does not have yet.",
            pending as f64,
        ),
        (
            "uptime_seconds",
            "Seconds since the site started.",
            status.uptime,
        ),
    ];
    for (name, help, value) in gauges {
        one(
            &mut text,
            &format!("bloomgrove_site_{name}"),
            "gauge",
            help,
            value,
        );
    }
    let Some(coordinator) = &status.coordinator else {
        return text;
    };
    one(
        &mut text,
        "bloomgrove_site_in_touch",
        "gauge",
        "Whether the coordinator took what was last sent.",
        f64::from(u8::from(coordinator.in_touch)),
    );
    let counters = [
        ("whole", "Whole filters that were sent.", coordinator.whole),
        (
            "whole_bytes",
            "Bytes of whole filters.",
            coordinator.whole_bytes,
        ),
        ("deltas", "Deltas that were sent.", coordinator.deltas),
        ("delta_bytes", "Bytes of deltas.", coordinator.delta_bytes),
    ];
    for (name, help, value) in counters {
        let name = format!("bloomgrove_site_{name}_total");
        one(&mut text, &name, "counter", help, value as f64);
    }
    text
}

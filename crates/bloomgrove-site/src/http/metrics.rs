//! Metrics for Prometheus: those of the process, and those of the site.

use bloomgrove_client::api::SiteStatus;
use bloomgrove_http::observe::metrics::{add, of_process};

/// The response to `GET /metrics`.
pub(super) fn render(status: &SiteStatus) -> String {
    let mut text = of_process();
    let pending: u64 = status.sets.iter().map(|set| set.pending).sum();
    let (pending, sets) = (pending as f64, status.sets.len() as f64);
    let disk = status.bytes_on_disk as f64;
    let gauges = [
        ("triples", "Triples in memory.", status.triples as f64),
        ("ids", "Ids of documents and events.", status.ids as f64),
        ("log_bytes", "Bytes of the log on disk.", disk),
        ("sets", "Published sets.", sets),
        (
            "pending_ids",
            "Ids that the coordinator does not have yet.",
            pending,
        ),
        (
            "uptime_seconds",
            "Seconds since the site started.",
            status.uptime,
        ),
    ];
    add(&mut text, "bloomgrove_site_", "gauge", &gauges);
    let Some(coordinator) = &status.coordinator else {
        return text;
    };
    let connected = (
        "connected",
        "Whether the coordinator accepted what was last sent.",
        f64::from(u8::from(coordinator.connected)),
    );
    add(&mut text, "bloomgrove_site_", "gauge", &[connected]);
    let (whole, bytes) = (coordinator.whole, coordinator.whole_bytes);
    let counters = [
        ("whole_total", "Whole filters sent.", whole),
        ("whole_bytes_total", "Bytes of whole filters sent.", bytes),
        ("deltas_total", "Deltas sent.", coordinator.deltas),
        (
            "delta_bytes_total",
            "Bytes of deltas sent.",
            coordinator.delta_bytes,
        ),
    ];
    let counters = counters.map(|(name, help, value)| (name, help, value as f64));
    add(&mut text, "bloomgrove_site_", "counter", &counters);
    text
}

//! Metrics for Prometheus: those of the process, and those of the coordinator.

use bloomgrove_client::api::Status;
use bloomgrove_http::observe::metrics::{add, of_process};
use metrics::describe_counter;

/// Traces, by whether they are complete.
pub(crate) const TRACES: &str = "bloomgrove_traces_total";
/// Requests sent to sites by traces.
pub(crate) const SITE_REQUESTS: &str = "bloomgrove_site_requests_total";
/// Requests that failed, after which a trace did not query the site again.
pub(crate) const SITE_FAILURES: &str = "bloomgrove_site_failures_total";

/// Describes these metrics once they are recorded.
pub(crate) fn describe() {
    describe_counter!(TRACES, "Traces, by whether they are complete.");
    describe_counter!(SITE_REQUESTS, "Requests sent to sites by traces.");
    describe_counter!(
        SITE_FAILURES,
        "Trace requests that failed; the site was not queried again in that trace."
    );
}

/// The response to `GET /metrics`.
pub(crate) fn render(status: &Status) -> String {
    let mut text = of_process();
    let totals = &status.totals;
    let counters = [
        ("keys_queried_total", "Keys queried.", totals.keys_queried),
        (
            "sets_listed_total",
            "Sets listed in answers.",
            totals.sets_listed,
        ),
        ("changes_total", "Changes made and on disk.", totals.changes),
        ("commits_total", "Commits to disk.", totals.commits),
        ("keys_added_total", "Keys added.", totals.keys_added),
    ];
    let counters = counters.map(|(name, help, value)| (name, help, value as f64));
    add(&mut text, "bloomgrove_", "counter", &counters);
    let bytes = status.bytes as f64;
    let limit = status.memory_limit as f64;
    let store = status.store_bytes as f64;
    let gauges = [
        ("sets", "Number of sets.", status.sets as f64),
        ("filter_bytes", "Bytes of all filters in memory.", bytes),
        (
            "filter_bytes_limit",
            "Maximum number of bytes of all filters.",
            limit,
        ),
        ("store_bytes", "Bytes of the store on disk.", store),
        (
            "version",
            "The version most recently assigned to a set.",
            status.version as f64,
        ),
        (
            "uptime_seconds",
            "Seconds since the server started.",
            status.uptime,
        ),
    ];
    add(&mut text, "bloomgrove_", "gauge", &gauges);
    text
}

#[cfg(test)]
mod tests {
    use bloomgrove_client::api::Totals;

    use super::*;

    #[test]
    fn figures_of_the_coordinator_follow_those_of_the_process() {
        let text = render(&Status {
            program: String::new(),
            uptime: 1.5,
            sets: 3,
            bytes: 4096,
            memory_limit: 1 << 30,
            store_bytes: 8192,
            version: 7,
            segments: Vec::new(),
            totals: Totals {
                keys_queried: 11,
                ..Totals::default()
            },
            cpu_seconds: 0.0,
            resident_bytes: None,
            examples: Vec::new(),
            traces: Vec::new(),
        });
        for line in [
            "bloomgrove_keys_queried_total 11",
            "bloomgrove_sets 3",
            "bloomgrove_filter_bytes_limit 1073741824",
            "bloomgrove_uptime_seconds 1.5",
            "# TYPE process_cpu_seconds_total counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}

//! Metrics in the text format of Prometheus.
//!
//! What happens while the server runs (requests, connections) is counted by the `metrics` crate, once for the
//! whole process. What the system knows about the process, and what a server knows about itself ([`add`]), is
//! collected when metrics are requested.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::process;

/// Requests, by route, method and status.
pub(crate) const REQUESTS: &str = "bloomgrove_http_requests_total";
/// Seconds from the end of a request's headers to the start of its response.
pub(crate) const SECONDS: &str = "bloomgrove_http_request_seconds";
/// Requests in progress.
pub(crate) const IN_PROGRESS: &str = "bloomgrove_http_requests_in_progress";
/// Open connections.
pub(crate) const CONNECTIONS: &str = "bloomgrove_connections";
/// Connections rejected because there were too many.
pub(crate) const REJECTED: &str = "bloomgrove_connections_rejected_total";

/// Upper bounds in seconds: from a single key in a small index to the longest that a request may take.
const BUCKETS: [f64; 16] = [
    25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3,
    1.0, 5.0, 30.0,
];

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts counting; once for the whole process, further calls do nothing.
pub fn start() {
    recorder();
}

fn recorder() -> Option<&'static PrometheusHandle> {
    let start = || {
        let builder = PrometheusBuilder::new().set_buckets(&BUCKETS).ok()?;
        // Fails if the embedding program has installed another recorder, which then counts.
        let handle = builder.install_recorder().ok()?;
        describe_counter!(REQUESTS, "Requests by route, method and status.");
        describe_histogram!(
            SECONDS,
            "Seconds from the end of a request's headers to the start of its response."
        );
        describe_gauge!(IN_PROGRESS, "Requests in progress.");
        describe_gauge!(CONNECTIONS, "Open connections.");
        describe_counter!(
            REJECTED,
            "Connections rejected because there were too many."
        );
        Some(handle)
    };
    RECORDER.get_or_init(start).as_ref()
}

/// Aggregates measurements now and then, so that they do not accumulate while no metrics are requested. Never
/// returns: run it alongside the server, and abort it with the server.
pub async fn aggregate() {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        if let Some(recorder) = recorder() {
            recorder.run_upkeep();
        }
    }
}

/// The metrics of this process: what was counted while it ran, and the resources it uses. The media type is
/// [`MEDIA`].
#[must_use]
pub fn of_process() -> String {
    let mut text = recorder().map(PrometheusHandle::render).unwrap_or_default();
    let seconds = process::cpu_seconds();
    let cpu = (
        "cpu_seconds_total",
        "Processor time of all threads.",
        seconds,
    );
    add(&mut text, "process_", "counter", &[cpu]);
    for (name, help, value) in [
        (
            "resident_memory_bytes",
            "Resident memory.",
            process::resident_bytes(),
        ),
        (
            "open_fds",
            "Open files and connections.",
            process::open_files(),
        ),
    ] {
        if let Some(value) = value {
            add(
                &mut text,
                "process_",
                "gauge",
                &[(name, help, value as f64)],
            );
        }
    }
    text
}

/// The media type of metrics.
pub const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Adds metrics of one type (`counter`, `gauge`) whose names start with `prefix`: name, help, value.
pub fn add(text: &mut String, prefix: &str, kind: &str, figures: &[(&str, &str, f64)]) {
    for (name, help, value) in figures {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n{prefix}{name} {value}"
        );
    }
}

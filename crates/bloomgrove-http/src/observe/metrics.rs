//! Counts and times in the text format of Prometheus.
//!
//! What happens as the server runs (requests, connections) is counted by the `metrics` crate,
//! once for the whole process. What the system knows of the process, and what a server knows of
//! itself ([`add`]), is written at the time of asking.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::process;

/// Requests, by route, method and status.
pub(crate) const REQUESTS: &str = "bloomgrove_http_requests_total";
/// Seconds from the end of a request's head to the beginning of its answer.
pub(crate) const SECONDS: &str = "bloomgrove_http_request_seconds";
/// Requests that are under way.
pub(crate) const UNDER_WAY: &str = "bloomgrove_http_requests_under_way";
/// Connections that are open.
pub(crate) const CONNECTIONS: &str = "bloomgrove_connections";
/// Connections that were refused because there were too many.
pub(crate) const REFUSED: &str = "bloomgrove_connections_refused_total";

/// Upper ends in seconds: from a single key in a small index to the longest a request may take.
const BUCKETS: [f64; 16] = [
    25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3,
    1.0, 5.0, 30.0,
];

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Begin to count; once for the whole process, further calls do nothing.
pub fn start() {
    recorder();
}

fn recorder() -> Option<&'static PrometheusHandle> {
    let start = || {
        let builder = PrometheusBuilder::new().set_buckets(&BUCKETS).ok()?;
        // Fails when the program that this is a part of counts by other means: then those count.
        let handle = builder.install_recorder().ok()?;
        describe_counter!(REQUESTS, "Requests by route, method and status.");
        describe_histogram!(
            SECONDS,
            "Seconds from the end of a request's head to the beginning of its answer."
        );
        describe_gauge!(UNDER_WAY, "Requests that are under way.");
        describe_gauge!(CONNECTIONS, "Connections that are open.");
        describe_counter!(REFUSED, "Connections refused because there were too many.");
        Some(handle)
    };
    RECORDER.get_or_init(start).as_ref()
}

/// Sums up now and then what was measured, so that it does not pile up when nobody asks.
/// Never ends: run it beside the server, and abort it with it.
pub async fn sum_up() {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        if let Some(recorder) = recorder() {
            recorder.run_upkeep();
        }
    }
}

/// What was counted and measured in this process as it ran, and what it takes of the machine; its type
/// is [`MEDIA`].
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

/// The type of what is served.
pub const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Adds figures of one kind (`counter`, `gauge`) whose names begin with `prefix`: name, help, value.
pub fn add(text: &mut String, prefix: &str, kind: &str, figures: &[(&str, &str, f64)]) {
    for (name, help, value) in figures {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n{prefix}{name} {value}"
        );
    }
}

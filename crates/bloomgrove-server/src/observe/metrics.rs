//! Counts and times in the text format of Prometheus.
//!
//! What happens as the server runs (requests, connections) is counted by the `metrics` crate,
//! once for the whole process. What the coordinator counts itself ([`Status`]) and what the
//! system knows of the process is written at the time of asking.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

use bloomgrove_client::api::Status;
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

/// Traces, by whether they found everything.
pub(crate) const TRACES: &str = "bloomgrove_traces_total";
/// Questions of traces to sites.
pub(crate) const SITE_REQUESTS: &str = "bloomgrove_site_requests_total";
/// Those after which a site was not asked any more.
pub(crate) const SITE_FAILURES: &str = "bloomgrove_site_failures_total";

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
        describe_counter!(TRACES, "Traces, by whether they found everything.");
        describe_counter!(SITE_REQUESTS, "Questions of traces to sites.");
        describe_counter!(
            SITE_FAILURES,
            "Questions of traces after which a site was not asked any more."
        );
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

/// The answer to `GET /metrics`; its type is [`MEDIA`].
#[must_use]
pub fn render(status: &Status) -> String {
    let mut text = recorder().map(PrometheusHandle::render).unwrap_or_default();
    let totals = &status.totals;
    let counters = [
        (
            "keys_asked_total",
            "Keys that were asked for.",
            totals.keys_asked,
        ),
        (
            "sets_named_total",
            "Sets that were named in answers.",
            totals.sets_named,
        ),
        ("changes_total", "Changes that are on disk.", totals.changes),
        (
            "commits_total",
            "Times that the disk was waited for.",
            totals.commits,
        ),
        (
            "keys_added_total",
            "Keys that were added.",
            totals.keys_added,
        ),
    ];
    for (name, help, value) in counters {
        one(
            &mut text,
            &format!("bloomgrove_{name}"),
            "counter",
            help,
            value as f64,
        );
    }
    let gauges = [
        ("sets", "Sets.", status.sets as f64),
        (
            "filter_bytes",
            "Bytes of all filters in memory.",
            status.bytes as f64,
        ),
        (
            "filter_bytes_limit",
            "Bytes that filters may take.",
            status.memory_limit as f64,
        ),
        (
            "store_bytes",
            "Bytes of the store on disk.",
            status.store_bytes as f64,
        ),
        (
            "version",
            "The version that was last given to a set.",
            status.version as f64,
        ),
        (
            "uptime_seconds",
            "Seconds since the server started.",
            status.uptime,
        ),
    ];
    for (name, help, value) in gauges {
        one(
            &mut text,
            &format!("bloomgrove_{name}"),
            "gauge",
            help,
            value,
        );
    }
    one(
        &mut text,
        "process_cpu_seconds_total",
        "counter",
        "Processor time of all threads.",
        process::cpu_seconds(),
    );
    let process = [
        (
            "process_resident_memory_bytes",
            "Resident memory.",
            process::resident_bytes(),
        ),
        (
            "process_open_fds",
            "Open files and connections.",
            process::open_files(),
        ),
    ];
    for (name, help, value) in process {
        if let Some(value) = value {
            one(&mut text, name, "gauge", help, value as f64);
        }
    }
    text
}

/// The type of what [`render`] makes.
pub const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

fn one(text: &mut String, name: &str, kind: &str, help: &str, value: f64) {
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
    );
}

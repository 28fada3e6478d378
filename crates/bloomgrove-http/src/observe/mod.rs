//! What the server reports about itself: logs, metrics, health.
//!
//! | file | reports |
//! |---|---|
//! | `logs.rs` | one line per event, as text or JSON |
//! | `request.rs` | each request: the caller, the path, the duration, its id |
//! | `metrics.rs` | counters and durations for Prometheus |
//! | `process.rs` | the resources that the process uses |
//! | `health.rs` | `/livez` and `/readyz` |

pub mod health;
pub mod logs;
pub mod metrics;
pub mod process;
pub mod request;

//! What the server shows of itself: logs, metrics, whether it is well.
//!
//! | file | shows |
//! |---|---|
//! | `logs.rs` | a line for each event, as text or JSON |
//! | `request.rs` | who asked what, how long it took, under which id |
//! | `metrics.rs` | counts and times for Prometheus |
//! | `process.rs` | what the process takes of the machine |
//! | `health.rs` | `/livez` and `/readyz` |

pub mod health;
pub mod logs;
pub mod metrics;
pub mod process;
pub mod request;

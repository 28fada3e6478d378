//! The foundation of Bloomgrove's servers, whatever they serve.
//!
//! ```text
//!   connections    listen, tls
//!        |
//!   every request  front: observe (ids, log), guard and access (access keys), limit and budget
//!        |
//!   handlers       extract: what was sent;  work: long tasks on threads;  Error: why it failed
//!        |
//!   the disk       disk, private: redb files that detect damage, readable by their owner only
//! ```
//!
//! | To | use |
//! |---|---|
//! | listen, and shut down gracefully | [`listen::Listeners`], [`listen::until_signals`] |
//! | put access keys, limits and logs in front of your handlers | [`front::before`] |
//! | report an error | [`Error`]: an [`api::Problem`](bloomgrove_client::api::Problem) on the wire |
//! | work for longer than a request may block a thread | [`work::Places`] |
//! | check a file before opening it | [`disk`] |
//!
//! Not for: anything that knows what is served. That belongs in the crates above.
//!
//! | file | contents |
//! |---|---|
//! | `listen.rs`, `listen/`, `tls.rs` | connections: limits on their number and speed, TLS, graceful shutdown; `listen/listeners.rs` runs a server from binding its addresses to shutdown |
//! | `front.rs` | what is in front of every handler, in order; the shortcut to it |
//! | `observe/` | `request.rs` request ids and the log of requests, `logs.rs`, `metrics.rs`, `health.rs`, `process.rs` |
//! | `guard.rs`, `access.rs` | authentication; what an access key permits |
//! | `limit.rs` | bodies that are too large or too slow |
//! | `budget.rs` | the memory that requests use, from body to response |
//! | `extract.rs` | what handlers receive: the caller, query parameters, JSON bodies |
//! | `work.rs` | tasks of a millisecond or more, on threads, in turns |
//! | `error.rs` | `Error`, the one error type; a `Problem` on the wire |
//! | `settings.rs`, `config.rs` | settings declared once, read from flags, environment and file, and a sample file; the settings for limits, certificates and logs |
//! | `private.rs` | files readable by their owner only, created completely or not at all |
//! | `disk/` | redb files that detect damage: `checksum.rs` entries with checksums and totals per table, `pages.rs` and `layout.rs` pages read without redb, `examine.rs` checking all of it, `head.rs` the newest version recorded in a separate file |

pub mod access;
pub mod budget;
pub mod config;
pub mod disk;
mod error;
pub mod extract;
pub mod front;
pub mod guard;
pub mod limit;
pub mod listen;
pub mod observe;
pub mod private;
pub mod settings;
pub mod tls;
pub mod work;

pub use error::Error;

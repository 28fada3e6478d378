//! What every server of Bloomgrove stands on, whatever it serves.
//!
//! ```text
//!   connections    listen, tls
//!        |
//!   every request  front: observe (ids, the log), guard and access (keys), limit and budget
//!        |
//!   handlers       extract: what was sent;  work: what takes long, on threads;  Error: why not
//!        |
//!   the disk       disk, private: files of redb that notice damage, for their owner only
//! ```
//!
//! | You want | Use |
//! |---|---|
//! | to listen, and to end in order | [`listen::Listeners`], [`listen::until_signals`] |
//! | keys, limits and logs before handlers of yours | [`front::before`] |
//! | to say no | [`Error`]: an [`api::Problem`](bloomgrove_client::api::Problem) on the wire |
//! | to work longer than a request may block a thread | [`work::Places`] |
//! | a file that is checked before it is opened | [`disk`] |
//!
//! Not for: anything that knows what is served. That is in the crates above.
//!
//! | file | contains |
//! |---|---|
//! | `listen.rs`, `listen/`, `tls.rs` | connections: how many, how slow, TLS, waiting for the last at the end; `listen/listeners.rs` a server from its addresses to its end |
//! | `front.rs` | what stands before every handler, in its order |
//! | `observe/` | `request.rs` ids and the log of requests, `logs.rs`, `metrics.rs`, `health.rs`, `process.rs` |
//! | `guard.rs`, `access.rs` | who asks; what a key allows |
//! | `limit.rs` | bodies that are too large, too slow |
//! | `budget.rs` | the memory that requests hold, from body to answer |
//! | `extract.rs` | what handlers get: who calls, queries, bodies of JSON |
//! | `work.rs` | what takes milliseconds or more, on threads, in turns |
//! | `error.rs` | `Error`: why not, inside; a `Problem` on the wire |
//! | `settings.rs`, `config.rs` | settings declared once, from flags, environment and file, and the sample file of them; limits, certificates and logs that can be set |
//! | `private.rs` | files for their owner only, made whole or not at all |
//! | `disk/` | files of redb that notice damage: `seal.rs` entries with checksums and what a table has in all, `pages.rs` and `layout.rs` the pages read without redb, `examine.rs` all of it checked, `head.rs` the newest version noted beside |

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

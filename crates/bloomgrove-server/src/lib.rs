//! The coordinator: a server that knows which sets contain what.
//!
//! ```text
//!   every request  bloomgrove_http: connections, TLS, access keys, limits, ids and the log
//!        |
//!   paths          http: parse, call, render;  page: for people
//!        |
//!   commands       coordinator: sets, queries, changes, independent of HTTP
//!                  trace: queries to the sites of a federation
//! ```
//!
//! [`Server`] combines the parts; `bloomgrove serve` runs one. To embed it in another program:
//!
//! ```
//! use bloomgrove_server::{Config, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let directory = tempfile::tempdir()?;
//! let config = Config {
//!     data: directory.path().into(),
//!     listen: vec!["127.0.0.1:0".parse()?],
//!     ..Config::default()
//! };
//! let server = Server::bind(config).await?;
//! let address = server.addresses()[0];
//! let stop = server.stopper();
//! let running = tokio::spawn(server.run());
//! // ... send requests to http://{address}/ ...
//! # let _ = address;
//! stop.send_replace(true);
//! running.await??;
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `serve.rs` | `Server`: binds, reads the store, serves, shuts down |
//! | `http/` | one file per group of paths; `extract.rs` what handlers receive, `metrics.rs` metrics, `problems.rs` and `mod.rs` the OpenAPI document |
//! | `trace/` | the lineage of documents across all sites, see below |
//! | `page/`, `demo.rs` | the page at `/`: `search.js` and related files find the sets that contain a key, `trace.js`, `graph.js` and `drawing.js` show where a document comes from; demo data |
//! | `config.rs`, `config/` | the settings and their defaults; `config/key.rs` access keys and the quotas of their prefixes |

pub mod config;
pub mod coordinator;
pub mod demo;
pub mod http;
pub mod page;
mod serve;
pub mod trace;

pub use bloomgrove_http::Error;
pub use config::Config;
pub use serve::{Server, run};

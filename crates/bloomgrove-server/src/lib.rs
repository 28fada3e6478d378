//! The coordinator: a server that knows which sets hold what.
//!
//! ```text
//!   every request  bloomgrove_http: connections, TLS, keys, limits, ids and the log
//!        |
//!   paths          http: parse, call, render;  page: for people
//!        |
//!   commands       coordinator: sets, questions, changes; nothing in it knows HTTP
//!                  trace: questions to the sites of a federation
//! ```
//!
//! [`Server`] puts the parts together; `bloomgrove serve` runs one. In a program of one's own:
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
//! // ... ask http://{address}/ ...
//! # let _ = address;
//! stop.send_replace(true);
//! running.await??;
//! # Ok(())
//! # }
//! ```
//!
//! | file | contains |
//! |---|---|
//! | `serve.rs` | `Server`: binds, reads the store, serves, ends in order |
//! | `http/` | one file per group of paths; `extract.rs` what handlers get of the coordinator, `metrics.rs` its figures, `problems.rs` and `mod.rs` the OpenAPI document |
//! | `trace/` | the lineage of documents across all sites, see below |
//! | `page/`, `demo.rs` | the page at `/`: `search.js` and its neighbours ask which sets, `trace.js`, `graph.js` and `drawing.js` where a document comes from; data to explore |
//! | `config.rs`, `config/` | what can be set, and what it is when it is not; `config/key.rs` keys and the quotas of their prefixes |

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

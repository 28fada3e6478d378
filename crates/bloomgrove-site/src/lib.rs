//! A site of a federation: it records what happens to documents, and lets a coordinator know which documents it knows,
//! without revealing more.
//!
//! ```text
//!   events, RDF, PROV-JSON            queries: lineage, SPARQL
//!        |  event, import                   ^
//!        v                                  |
//!      triples --> log (disk) --> store (memory)
//!                                           |
//!                     ids --> publish: filters, by window --> the coordinator
//! ```
//!
//! | To | use |
//! |---|---|
//! | run a site | [`Site`], [`SiteConfig`], as `bloomgrove site serve` does |
//! | record and query in the same process | [`Handle`], from [`Site::handle`] |
//! | record and query from elsewhere | [`bloomgrove_client::Site`] |
//!
//! ```
//! use bloomgrove_client::api::{Event, LineageQuery, Start};
//! use bloomgrove_site::{Site, SiteConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let directory = tempfile::tempdir()?;
//! let config = SiteConfig {
//!     name: "galway".into(),
//!     data: directory.path().into(),
//!     listen: vec!["127.0.0.1:0".parse()?],
//!     ..SiteConfig::default()
//! };
//! let site = Site::bind(config).await?;
//! let (handle, stop) = (site.handle(), site.stopper());
//! let running = tokio::spawn(site.run());
//!
//! let outputs = vec!["invoice 4711".into()];
//! handle.record(vec![Event { outputs, ..Event::default() }]).await?;
//! let ids = vec![Start { id: "invoice 4711".into(), depth: None }];
//! let lineage = handle.lineage(LineageQuery { ids, ..Default::default() }).await?;
//! assert_eq!(lineage.links.len(), 1);
//!
//! stop.send_replace(true);
//! running.await??;
//! # Ok(())
//! # }
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `site.rs`, `config.rs` | `Site`: binds, serves, publishes, shuts down; its settings |
//! | `handle.rs` | `Handle`: every command and query, in the same process |
//! | `http/` | the same over HTTP |
//! | `id.rs`, `vocabulary.rs` | ids as IRIs; terms of PROV-O and our own |
//! | `event.rs` | events as triples, and which ones are invalid |
//! | `import/` | documents as triples: `rdf.rs` what oxigraph parses, `prov_json.rs`, `qualified.rs` links stated in other forms, `blank.rs` nodes without names, `guard.rs` limits, `wrong.rs` errors |
//! | `records.rs` | disk, memory and filters, in this order; `log.rs` the disk (redb), `log/salvage.rs` recovery of a damaged log, `store.rs` the memory (oxigraph) |
//! | `lineage.rs` | what can be reached from ids through the site's own links |
//! | `sparql.rs` | read-only queries with limits on time, memory and size |
//! | `sparql/meter.rs`, `dataset.rs`, `rewrite.rs` | counting the memory of a query; the triples it sees; rewriting it so that all memory is counted |
//! | `publish/` | `window.rs` sets by time, `spec.rs` and `filters.rs` the filters and what is acknowledged, `push.rs` the loop that keeps the coordinator up to date |
//! | `generate/` | made-up events: `events.rs` what happens, `draw.rs` random choices, `ancestry.rs` the length of histories |
//! | `demo.rs` | a dozen sites for `serve --demo` |

pub mod config;
pub mod demo;
pub mod event;
pub mod generate;
mod handle;
mod http;
pub mod id;
pub mod import;
mod lineage;
mod log;
mod publish;
mod records;
mod site;
mod sparql;
mod stack;
mod store;
pub mod vocabulary;

pub use bloomgrove_http::Error;
pub use config::{CoordinatorConfig, SiteConfig};
pub use handle::{Handle, MOST_AT_A_TIME};
pub use log::verify;
pub use publish::{Window, set_name, timestamp};
pub use site::{Site, run};

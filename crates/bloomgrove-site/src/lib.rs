//! A site of a federation: it records what happens to documents, and lets a coordinator know which
//! documents it knows, without telling more.
//!
//! ```text
//!   events, RDF, PROV-JSON            questions: lineage, SPARQL
//!        |  event, import                   ^
//!        v                                  |
//!      triples --> log (disk) --> store (memory)
//!                                           |
//!                     ids --> publish: filters, by window --> the coordinator
//! ```
//!
//! | You want | Use |
//! |---|---|
//! | to run a site | [`Site`], [`SiteConfig`]; `bloomgrove site serve` does |
//! | to record and ask in the same program | [`Handle`], from [`Site::handle`] |
//! | to record and ask from elsewhere | [`bloomgrove_client::Site`] |
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
//! | file | contains |
//! |---|---|
//! | `site.rs`, `config.rs` | `Site`: binds, serves, publishes, ends in order; what can be set |
//! | `handle.rs` | `Handle`: every command and question, in the process |
//! | `http/` | the same over HTTP |
//! | `id.rs`, `vocabulary.rs` | ids as IRIs; terms of PROV-O and ours |
//! | `event.rs` | events as triples, and which cannot be |
//! | `import/` | documents of others as triples: `rdf.rs` what oxigraph reads, `prov_json.rs`, `qualified.rs` links said in other ways, `blank.rs` nodes without names, `guard.rs` what is too much, `wrong.rs` what is said then |
//! | `records.rs` | disk, memory and filters, in this order; `log.rs` the disk (redb), `log/salvage.rs` what of a damaged log can be kept, `store.rs` the memory (oxigraph) |
//! | `lineage.rs` | what can be reached from ids by the site's own links |
//! | `sparql.rs` | read-only queries, within time, memory and size |
//! | `sparql/meter.rs`, `dataset.rs`, `rewrite.rs` | what a query holds, counted; the triples it sees; what makes the rest count |
//! | `publish/` | `window.rs` sets by time, `plan.rs` and `filters.rs` what each holds and what of it is acknowledged, `push.rs` the loop that keeps the coordinator current |
//! | `generate/` | made-up events: `events.rs` what happens, `draw.rs` how it is drawn, `shape.rs` how far histories reach |
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

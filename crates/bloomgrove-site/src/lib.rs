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
//! use bloomgrove_client::api::{Event, LineageRequest, Start};
//! use bloomgrove_site::{Site, SiteConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let folder = tempfile::tempdir()?;
//! let config = SiteConfig {
//!     name: "galway".into(),
//!     data: folder.path().into(),
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
//! let lineage = handle.lineage(LineageRequest { ids, ..Default::default() }).await?;
//! assert_eq!(lineage.links.len(), 1);
//!
//! stop.send_replace(true);
//! running.await??;
//! # Ok(())
//! # }
//! ```

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

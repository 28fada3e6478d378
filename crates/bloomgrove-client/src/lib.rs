//! A client for Bloomgrove coordinators and sites.
//!
//! | To | use |
//! |---|---|
//! | query, fill and manage a server | [`Client`] |
//! | record events at one site of a federation, or query it | [`Site`] |
//! | hide document ids from the coordinator | [`IdCipher`] |
//! | build or read HTTP bodies: one type per request and response | [`api`] |
//!
//! ```no_run
//! use bloomgrove::{Filter, Params};
//! use bloomgrove_client::Client;
//! use bloomgrove_client::api::WhichQuery;
//!
//! # async fn query() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:7117")?;
//!
//! let mut galway = Filter::new(Params::for_items(1000, 0.01)?)?;
//! galway.insert_batch(&["heron", "gull"]);
//! client.put_filter("site/galway", &galway).await?;
//!
//! let keys = vec!["heron".into(), "crane".into()];
//! let which = client.which(&WhichQuery { keys, ..Default::default() }).await?;
//! assert!(which.answers[0].sets.iter().flatten().any(|name| name == "site/galway"));
//! # Ok(())
//! # }
//! ```
//!
//! The server uses the same types, so client and server cannot disagree about a field.

pub mod api;
mod builder;
mod cipher;
mod client;
pub mod clock;
mod error;
pub mod iri;
pub mod rdf;
mod short;
mod site;

pub use builder::{Carried, Carrier, ClientBuilder, host_of, is_loopback_host, normalize};
pub use cipher::IdCipher;
pub use client::{Client, ListQuery, Listing, PutOptions};
pub use error::Error;
pub use short::{LONGEST_DETAIL, quote, shorten};
pub use site::{Site, Traffic};

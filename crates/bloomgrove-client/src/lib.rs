//! Talks to a Bloomgrove coordinator.
//!
//! | You want | Use |
//! |---|---|
//! | to ask, to fill and to look after a server | [`Client`] |
//! | to record and ask at one site of a federation | [`Site`] |
//! | to keep ids from the coordinator | [`Seal`] |
//! | what is said over HTTP, one type for each request and answer | [`api`] |
//!
//! ```no_run
//! use bloomgrove::{Filter, Params};
//! use bloomgrove_client::Client;
//! use bloomgrove_client::api::WhichRequest;
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:7117")?;
//!
//! let mut galway = Filter::new(Params::for_items(1000, 0.01)?)?;
//! galway.insert_batch(&["heron", "gull"]);
//! client.put_filter("site/galway", &galway).await?;
//!
//! let keys = vec!["heron".into(), "crane".into()];
//! let which = client.which(&WhichRequest { keys, ..Default::default() }).await?;
//! assert!(which.answers[0].sets.iter().flatten().any(|name| name == "site/galway"));
//! # Ok(())
//! # }
//! ```
//!
//! The server speaks the same types, so that what one of them says the other understands.

pub mod api;
mod builder;
mod client;
pub mod clock;
mod error;
pub mod iri;
pub mod rdf;
mod seal;
mod short;
mod site;

pub use builder::{Carried, Carrier, ClientBuilder, host_of, is_loopback_host, normalize};
pub use client::{Client, ListRequest, Listing, PutOptions};
pub use error::Error;
pub use seal::Seal;
pub use short::{LONGEST_DETAIL, quote, shorten};
pub use site::{Site, Traffic};

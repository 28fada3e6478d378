//! A site within the same process: everything that HTTP offers, without HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bloomgrove_client::Client;
use bloomgrove_http::access::Access;
use bloomgrove_http::budget::Budget;
use bloomgrove_http::front::{self, Front};
use bloomgrove_http::guard::Guard;
use bloomgrove_http::work::{Places, processors};

use bloomgrove_client::api::{
    Code, Event, Imported, Lineage, LineageQuery, MOST_LINKS, Recorded, SiteStatus,
};
use bloomgrove_client::clock::now;
use bloomgrove_http::Error;
use bytes::Bytes;
use oxigraph::sparql::CancellationToken;

use crate::config::SiteConfig;
use crate::event;
use crate::http;
use crate::import::{self, Format};
use crate::log;
use crate::publish::push::{About, Publisher};
use crate::publish::spec::FilterSpec;
use crate::publish::timestamp;
use crate::records::Records;
use crate::sparql::{self, Wanted};

/// Maximum number of events, or of ids to start from, in one request.
pub const MOST_AT_A_TIME: usize = 10_000;

/// A running site, or one about to run. Clones refer to the same site.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    records: Arc<Records>,
    publisher: Option<Arc<Publisher>>,
    started: Instant,
    /// Separate places for each kind of work: a query that cannot be aborted does not delay recording, and a
    /// slow disk does not delay queries.
    queries: Places,
    imports: Places,
    lineages: Places,
    writes: Places,
    /// Time limit for a query.
    time: Duration,
}

impl Handle {
    /// Reads the log of a site whose URL is `url`, and publishes through `client`. It does not serve or
    /// publish yet: a [`Site`](crate::Site) does, or a simulation of one.
    ///
    /// # Errors
    /// If the data directory cannot be used.
    #[doc(hidden)]
    pub fn open(config: &SiteConfig, url: String, client: Option<Client>) -> Result<Self> {
        let spec = FilterSpec {
            site: config.name.clone(),
            window: config.window,
            expect: config.expect,
            fpr: config.fpr,
            cipher: config.cipher.clone(),
        };
        let (site, started) = (&config.name, Instant::now());
        if config.salvage {
            for line in log::salvage(&config.data, site)? {
                tracing::warn!("salvage: {line}");
            }
        }
        let records = Arc::new(Records::open(&config.data, spec, config.triples, now())?);
        let (triples, seconds) = (records.store.len(), started.elapsed().as_secs_f64());
        tracing::info!(site, triples, seconds, "log loaded");
        let publisher = client.map(|client| {
            let about = About {
                name: config.name.clone(),
                url,
                key: records.log.key().to_owned(),
                period: config.period,
            };
            Arc::new(Publisher::new(records.clone(), client, about))
        });
        // The rest of the time is for sending the response.
        let time = config.limits.request_time.mul_f64(0.8);
        Ok(Self::new(site.clone(), records, publisher, time))
    }

    /// Its HTTP routes, without access keys.
    #[doc(hidden)]
    pub fn router(&self, config: &SiteConfig) -> Front {
        front::before(
            http::router(self.clone()),
            Guard::new(Access::open()),
            &config.limits,
            Budget::new(config.limits.memory),
            config.log.slow,
        )
    }

    fn new(
        name: String,
        records: Arc<Records>,
        publisher: Option<Arc<Publisher>>,
        time: Duration,
    ) -> Self {
        let threads = processors();
        Self(Arc::new(Inner {
            name,
            records,
            publisher,
            started: Instant::now(),
            queries: Places::new(threads),
            imports: Places::new(threads),
            lineages: Places::new(2 * threads),
            // While one is written, the next is prepared.
            writes: Places::new(2),
            time,
        }))
    }

    /// The name of the site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Closes the log; nothing can be recorded any more.
    pub(crate) fn close(&self) {
        self.0.records.log.close();
    }

    /// The access key for the coordinator.
    pub(crate) fn key(&self) -> &str {
        self.0.records.log.key()
    }

    pub(crate) fn publisher(&self) -> Option<&Arc<Publisher>> {
        self.0.publisher.as_ref()
    }

    /// Records events, all of them or none; when this returns, they are on disk.
    ///
    /// # Errors
    /// `invalid` for invalid events, `too_large` for too many, `storage` and `memory` if there is no
    /// space.
    pub async fn record(&self, events: Vec<Event>) -> Result<Recorded, Error> {
        at_most(events.len(), "events")?;
        let records = self.0.records.clone();
        self.0
            .writes
            .run(move || {
                let now = now();
                let time = timestamp(now);
                let (mut ids, mut triples) = (Vec::with_capacity(events.len()), Vec::new());
                for (place, event) in events.iter().enumerate() {
                    let (id, more) = event::triples(event, &time).map_err(|error| {
                        let detail = format!("event {}: {error}; nothing was recorded", place + 1);
                        Error::new(Code::Invalid, detail)
                    })?;
                    ids.push(id);
                    triples.extend(more);
                }
                let added = records.add(triples, now)?;
                Ok(Recorded {
                    ids,
                    triples: added.triples,
                })
            })
            .await?
    }

    /// Imports a document, all of it or nothing; when this returns, it is on disk. Relative IRIs are resolved
    /// against `base`.
    ///
    /// # Errors
    /// `invalid` if the document is invalid, `storage` and `memory` if there is no space.
    pub async fn import(
        &self,
        format: Format,
        document: Bytes,
        base: Option<String>,
    ) -> Result<Imported, Error> {
        let records = self.0.records.clone();
        self.0
            .imports
            .run(move || {
                let triples =
                    import::read_from(&document, format, base.as_deref()).map_err(|error| {
                        Error::new(Code::Invalid, format!("{error}; nothing was imported"))
                    })?;
                let read = triples.len() as u64;
                let added = records.add(triples, now())?;
                Ok(Imported {
                    read,
                    triples: added.triples,
                    links: added.links,
                })
            })
            .await?
    }

    /// What the site knows about some ids.
    ///
    /// # Errors
    /// `too_large` if there are too many ids or links.
    pub async fn lineage(&self, query: LineageQuery) -> Result<Lineage, Error> {
        at_most(query.ids.len(), "ids")?;
        if let Some(links) = query.links
            && !(1..=MOST_LINKS).contains(&links)
        {
            let detail = format!("`links` is {links}; it must be from 1 to {MOST_LINKS}");
            return Err(Error::new(Code::Invalid, detail));
        }
        let records = self.0.records.clone();
        self.0.lineages.run(move || records.lineage(&query)).await
    }

    /// The answer to a SPARQL query in the format that `accept` prefers, and its media type.
    ///
    /// # Errors
    /// `invalid` if it is not a read-only query, `timeout` and `too_large` if it exceeds a limit.
    pub async fn sparql(
        &self,
        query: String,
        accept: &str,
    ) -> Result<(Vec<u8>, &'static str), Error> {
        let wanted = Wanted::of(accept)?;
        let (records, deadline) = (self.0.records.clone(), Instant::now() + self.0.time);
        let cancel = CancellationToken::new();
        // Also if the client has disconnected.
        let ended = CancelOnDrop(cancel.clone());
        let work = self.0.queries.run(move || {
            sparql::query(
                &records.store,
                &query,
                wanted,
                cancel,
                deadline,
                sparql::LARGEST_ANSWER,
            )
        });
        let in_time = tokio::time::timeout_at(deadline.into(), work).await;
        drop(ended);
        in_time.map_err(|_| {
            let detail = "the query took too long; make it more specific, or use LIMIT";
            Error::new(Code::Timeout, detail)
        })??
    }

    /// The status of the site.
    #[must_use]
    pub fn status(&self) -> SiteStatus {
        let Inner { name, records, .. } = &*self.0;
        let sets = records.sets();
        SiteStatus {
            name: name.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            triples: records.store.len(),
            ids: sets.ids(),
            bytes_on_disk: records.log.bytes(),
            uptime: self.0.started.elapsed().as_secs_f64(),
            encrypts_ids: records.encrypts_ids(),
            coordinator: self.0.publisher.as_ref().map(|own| own.status()),
            sets: sets.published(),
        }
    }

    /// Publishes immediately what is new, without waiting for the period to end; does nothing without a
    /// coordinator.
    ///
    /// # Errors
    /// `busy` if the coordinator did not accept all of it.
    pub async fn publish(&self) -> Result<(), Error> {
        let Some(publisher) = &self.0.publisher else {
            return Ok(());
        };
        let done = publisher.round().await;
        done.map_err(|error| Error::new(Code::Busy, format!("not published: {error:#}")))
    }
}

struct CancelOnDrop(CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn at_most(count: usize, what: &str) -> Result<(), Error> {
    match count > MOST_AT_A_TIME {
        true => Err(Error::new(
            Code::TooLarge,
            format!(
                "the request has {count} {what}; the maximum is {MOST_AT_A_TIME}: send them in several requests"
            ),
        )),
        false => Ok(()),
    }
}

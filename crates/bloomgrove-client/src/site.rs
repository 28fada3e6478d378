//! A client for one site of a federation: recording events and querying what it knows.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};

use crate::api::{Event, Imported, Lineage, LineageQuery, RecordEvents, Recorded, SiteStatus};
use crate::{Client, Error};

/// A connection to a site. Clones share their connections.
///
/// ```no_run
/// use bloomgrove_client::api::{Event, EventKind};
/// use bloomgrove_client::{Client, Site};
///
/// # async fn record() -> Result<(), bloomgrove_client::Error> {
/// let site = Site::new(Client::new("http://127.0.0.1:7118")?);
/// let event = Event {
///     kind: EventKind::Derived,
///     inputs: vec!["urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff".into()],
///     outputs: vec!["report 2026".into()],
///     ..Event::default()
/// };
/// site.record(vec![event]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Site(Client);

/// Bytes of a query and of its answer, excluding headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the query.
    pub sent: u64,
    /// Bytes of the answer.
    pub received: u64,
}

impl Site {
    /// The site at the address of this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(Client {
            peer: "site",
            ..client
        })
    }

    /// Records events, all of them or none; when this returns, they are on disk.
    ///
    /// # Errors
    /// Like every method: [`Error::Transport`] if the site cannot be reached, [`Error::Problem`] if it
    /// refuses, [`Error::Answer`] if its response is not one of a site.
    pub async fn record(&self, events: Vec<Event>) -> Result<Recorded, Error> {
        let request = self.0.request(Method::POST, "/v1/events");
        self.0.json(request.json(&RecordEvents { events })).await
    }

    /// Imports a document in RDF or PROV-JSON of this media type, all of it or nothing.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn import(&self, media: &str, document: Vec<u8>) -> Result<Imported, Error> {
        self.import_from(media, document, None).await
    }

    /// Like [`import`](Self::import), resolving relative IRIs against `base`.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn import_from(
        &self,
        media: &str,
        document: Vec<u8>,
        base: Option<&str>,
    ) -> Result<Imported, Error> {
        let request = self.0.request(Method::POST, "/v1/import");
        let request = request.query(&base.map(|base| [("base", base)]));
        let request = request.header(CONTENT_TYPE, media).body(document);
        self.0.json(request).await
    }

    /// What the site knows about these ids.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage(&self, query: &LineageQuery) -> Result<Lineage, Error> {
        Ok(self.lineage_counted(query).await?.0)
    }

    /// Like [`lineage`](Self::lineage), also returning the number of bytes transferred.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage_counted(&self, query: &LineageQuery) -> Result<(Lineage, Traffic), Error> {
        let body = serde_json::to_vec(query)
            .map_err(|error| Error::invalid(format!("cannot encode the query: {error}")))?;
        let sent = body.len() as u64;
        let body = self.lineage_bytes(body).await?;
        let traffic = Traffic {
            sent,
            received: body.len() as u64,
        };
        let lineage =
            serde_json::from_slice(&body).map_err(|error| self.0.answer(200, error.to_string()))?;
        Ok((lineage, traffic))
    }

    /// Like [`lineage`](Self::lineage), for a query in JSON; the answer is not decoded.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage_bytes(&self, query: Vec<u8>) -> Result<Vec<u8>, Error> {
        let request = self.0.request(Method::POST, "/v1/lineage");
        let request = request.header(CONTENT_TYPE, "application/json").body(query);
        let response = self.0.send(request).await?;
        self.0.body(response, self.0.answer_limit).await
    }

    /// The answer to a SPARQL query, in the media type `accept`.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn sparql(&self, query: &str, accept: &str) -> Result<Vec<u8>, Error> {
        let request = self.0.request(Method::POST, "/v1/sparql");
        let request = request
            .header(CONTENT_TYPE, "application/sparql-query")
            .header(ACCEPT, accept)
            .body(query.to_owned());
        let response = self.0.send(request).await?;
        self.0.body(response, self.0.answer_limit).await
    }

    /// The status of the site.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn status(&self) -> Result<SiteStatus, Error> {
        self.0.json(self.0.request(Method::GET, "/v1/status")).await
    }
}

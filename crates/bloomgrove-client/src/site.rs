//! A site of a federation, from here: record what happened, ask what it knows.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};

use crate::api::{Event, Imported, Lineage, LineageRequest, RecordEvents, Recorded, SiteStatus};
use crate::{Client, Error};

/// A site. Copies share their connections.
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

/// Bytes of a question and of its answer, without headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Of the question.
    pub sent: u64,
    /// Of the answer.
    pub received: u64,
}

impl Site {
    /// The site at the address of this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// Records events, all or none; they are on disk then.
    ///
    /// # Errors
    /// As every method: [`Error::Transport`] if the site is not reached, [`Error::Problem`] if it
    /// refuses, [`Error::Answer`] if it answers what no site does.
    pub async fn record(&self, events: Vec<Event>) -> Result<Recorded, Error> {
        let request = self.0.request(Method::POST, "/v1/events");
        self.0.json(request.json(&RecordEvents { events })).await
    }

    /// Takes in a document of RDF or PROV-JSON of this media type, all or nothing.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn import(&self, media: &str, document: Vec<u8>) -> Result<Imported, Error> {
        self.import_from(media, document, None).await
    }

    /// As [`import`](Self::import); relative IRIs are relative to `base`.
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

    /// What the site knows of these ids.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage(&self, question: &LineageRequest) -> Result<Lineage, Error> {
        Ok(self.lineage_counted(question).await?.0)
    }

    /// As [`lineage`](Self::lineage), and how many bytes it took.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage_counted(
        &self,
        question: &LineageRequest,
    ) -> Result<(Lineage, Traffic), Error> {
        let body = serde_json::to_vec(question)
            .map_err(|error| Error::invalid(format!("the question cannot be written: {error}")))?;
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

    /// As [`lineage`](Self::lineage), of a question as JSON. The answer is not looked into.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn lineage_bytes(&self, question: Vec<u8>) -> Result<Vec<u8>, Error> {
        let request = self.0.request(Method::POST, "/v1/lineage");
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .body(question);
        let response = self.0.send(request).await?;
        self.0.body(response, self.0.answer_limit).await
    }

    /// The answer to a SPARQL query, as the media type `accept` has it.
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

    /// How the site is.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub async fn status(&self) -> Result<SiteStatus, Error> {
        self.0.json(self.0.request(Method::GET, "/v1/status")).await
    }
}

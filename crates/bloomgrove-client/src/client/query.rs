//! Queries: which sets contain a key, what is in sets, the status of the server.

use reqwest::Method;

use super::{Client, in_path};
use crate::Error;
use crate::api::{
    Answer, Estimate, EstimateQuery, Key, Picture, ReconstructQuery, Reconstruction, RegisterSite,
    Registered, Sample, SampleQuery, SiteList, Snapshot, Snapshots, Status, Trace, TraceQuery,
    Which, WhichQuery,
};

impl Client {
    /// Finds the sets that may contain each of the keys, and returns one answer per key.
    ///
    /// # Errors
    /// Like every method: [`Error::Transport`] if the server cannot be reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if its response is not one of a Bloomgrove server.
    pub async fn which(&self, query: &WhichQuery) -> Result<Which, Error> {
        let which: Which = self
            .json(self.request(Method::POST, "/v1/which").json(query))
            .await?;
        let (answers, keys) = (which.answers.len(), query.keys.len());
        if answers != keys {
            return Err(self.answer(200, format!("{answers} answers to {keys} keys")));
        }
        Ok(which)
    }

    /// Finds the sets that may contain this key.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn which_one(&self, key: impl Into<Key>) -> Result<Answer, Error> {
        let keys = vec![key.into()];
        let query = WhichQuery {
            keys,
            ..WhichQuery::default()
        };
        let mut which = self.which(&query).await?;
        Ok(which.answers.remove(0))
    }

    /// Estimates how many items are in an expression such as `galway & (pune | quito)`.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn estimate(&self, expression: impl Into<String>) -> Result<Estimate, Error> {
        let query = EstimateQuery {
            expression: expression.into(),
        };
        self.json(self.request(Method::POST, "/v1/estimate").json(&query))
            .await
    }

    /// Draws members of an expression at random.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn sample(&self, query: &SampleQuery) -> Result<Sample, Error> {
        self.json(self.request(Method::POST, "/v1/sample").json(query))
            .await
    }

    /// Lists all members of an expression.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn reconstruct(&self, query: &ReconstructQuery) -> Result<Reconstruction, Error> {
        self.json(self.request(Method::POST, "/v1/reconstruct").json(query))
            .await
    }

    /// The status of the server.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn status(&self) -> Result<Status, Error> {
        self.json(self.request(Method::GET, "/v1/status")).await
    }

    /// All sets, as at most this many cells.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn picture(&self, cells: u64) -> Result<Picture, Error> {
        let request = self.request(Method::GET, "/v1/picture");
        self.json(request.query(&[("cells", cells)])).await
    }

    /// Traces where documents come from, or what was made from them, across all sites.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn trace(&self, query: &TraceQuery) -> Result<Trace, Error> {
        self.json(self.request(Method::POST, "/v1/trace").json(query))
            .await
    }

    /// All sites registered at the coordinator.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn sites(&self) -> Result<SiteList, Error> {
        self.json(self.request(Method::GET, "/v1/sites")).await
    }

    /// Registers a site at the coordinator, or repeats its heartbeat.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn register_site(
        &self,
        name: &str,
        site: &RegisterSite,
    ) -> Result<Registered, Error> {
        let path = format!("/v1/sites/{}", in_path(name)?);
        self.json(self.request(Method::PUT, &path).json(site)).await
    }

    /// Removes a site from the coordinator; its sets stay.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn remove_site(&self, name: &str) -> Result<(), Error> {
        let path = format!("/v1/sites/{}", in_path(name)?);
        self.send(self.request(Method::DELETE, &path)).await?;
        Ok(())
    }

    /// Writes a snapshot of everything that the server stores.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.json(self.request(Method::POST, "/v1/snapshots")).await
    }

    /// The server's snapshots.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn snapshots(&self) -> Result<Snapshots, Error> {
        self.json(self.request(Method::GET, "/v1/snapshots")).await
    }

    /// Whether the server accepts requests; it does not while it starts or stops.
    ///
    /// # Errors
    /// [`Error::Transport`] if it cannot be reached, in which case its state is unknown.
    pub async fn is_ready(&self) -> Result<bool, Error> {
        let sent = self.request(Method::GET, "/readyz").send().await;
        let response = sent.map_err(|source| self.transport(source))?;
        Ok(response.status().is_success())
    }

    /// The server's metrics, in the format of Prometheus.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn metrics(&self) -> Result<String, Error> {
        self.text("/metrics").await
    }

    /// The server's OpenAPI document.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn openapi(&self) -> Result<String, Error> {
        self.text("/openapi.json").await
    }

    async fn text(&self, path: &str) -> Result<String, Error> {
        let response = self.send(self.request(Method::GET, path)).await?;
        let body = self.body(response, self.answer_limit).await?;
        String::from_utf8(body).map_err(|_| self.answer(200, "the response is not text"))
    }
}

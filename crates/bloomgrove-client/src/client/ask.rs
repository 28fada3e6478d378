//! Questions: which sets hold a key, what is in sets, how the server is.

use reqwest::Method;

use super::{Client, in_path};
use crate::Error;
use crate::api::{
    Answer, Estimate, EstimateRequest, Key, Picture, ReconstructRequest, Reconstruction,
    RegisterSite, Registered, Sample, SampleRequest, SiteList, Snapshot, Snapshots, Status, Trace,
    TraceRequest, Which, WhichRequest,
};

impl Client {
    /// Which sets may hold each of the keys. There is an answer to every key.
    ///
    /// # Errors
    /// As every method: [`Error::Transport`] if the server is not reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if it answers what no Bloomgrove server does.
    pub async fn which(&self, question: &WhichRequest) -> Result<Which, Error> {
        let which: Which = self
            .json(self.request(Method::POST, "/v1/which").json(question))
            .await?;
        let (answers, keys) = (which.answers.len(), question.keys.len());
        if answers != keys {
            return Err(self.answer(200, format!("{answers} answers to {keys} keys")));
        }
        Ok(which)
    }

    /// Which sets may hold this key.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn which_one(&self, key: impl Into<Key>) -> Result<Answer, Error> {
        let keys = vec![key.into()];
        let question = WhichRequest {
            keys,
            ..WhichRequest::default()
        };
        let mut which = self.which(&question).await?;
        Ok(which.answers.remove(0))
    }

    /// About how many items an expression such as `galway & (pune | quito)` holds.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn estimate(&self, expression: impl Into<String>) -> Result<Estimate, Error> {
        let question = EstimateRequest {
            expression: expression.into(),
        };
        self.json(self.request(Method::POST, "/v1/estimate").json(&question))
            .await
    }

    /// Members of an expression at random.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn sample(&self, question: &SampleRequest) -> Result<Sample, Error> {
        self.json(self.request(Method::POST, "/v1/sample").json(question))
            .await
    }

    /// All members of an expression.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn reconstruct(
        &self,
        question: &ReconstructRequest,
    ) -> Result<Reconstruction, Error> {
        self.json(self.request(Method::POST, "/v1/reconstruct").json(question))
            .await
    }

    /// How the server is.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn status(&self) -> Result<Status, Error> {
        self.json(self.request(Method::GET, "/v1/status")).await
    }

    /// All sets as a picture of at most so many cells.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn picture(&self, cells: u64) -> Result<Picture, Error> {
        let request = self.request(Method::GET, "/v1/picture");
        self.json(request.query(&[("cells", cells)])).await
    }

    /// Where documents come from, or what has become of them, across all sites.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn trace(&self, question: &TraceRequest) -> Result<Trace, Error> {
        self.json(self.request(Method::POST, "/v1/trace").json(question))
            .await
    }

    /// All sites that the coordinator knows.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn sites(&self) -> Result<SiteList, Error> {
        self.json(self.request(Method::GET, "/v1/sites")).await
    }

    /// Makes a site known to the coordinator, or says that it is still there.
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

    /// Has the coordinator forget a site; its sets stay.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn remove_site(&self, name: &str) -> Result<(), Error> {
        let path = format!("/v1/sites/{}", in_path(name)?);
        self.send(self.request(Method::DELETE, &path)).await?;
        Ok(())
    }

    /// Has the server write a copy of all that it knows.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.json(self.request(Method::POST, "/v1/snapshots")).await
    }

    /// The copies that the server has written.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn snapshots(&self) -> Result<Snapshots, Error> {
        self.json(self.request(Method::GET, "/v1/snapshots")).await
    }

    /// Whether the server is there and takes requests. While it starts or stops it is not.
    ///
    /// # Errors
    /// [`Error::Transport`] if it is not reached; then nobody knows.
    pub async fn is_ready(&self) -> Result<bool, Error> {
        let sent = self.request(Method::GET, "/readyz").send().await;
        let response = sent.map_err(|source| self.transport(source))?;
        Ok(response.status().is_success())
    }

    /// What the server counts and measures, as Prometheus reads it.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn metrics(&self) -> Result<String, Error> {
        self.text("/metrics").await
    }

    /// All of this as an OpenAPI document.
    ///
    /// # Errors
    /// As [`which`](Self::which).
    pub async fn openapi(&self) -> Result<String, Error> {
        self.text("/openapi.json").await
    }

    async fn text(&self, path: &str) -> Result<String, Error> {
        let response = self.send(self.request(Method::GET, path)).await?;
        let body = self.body(response, self.answer_limit).await?;
        String::from_utf8(body).map_err(|_| self.answer(200, "it is no text"))
    }
}

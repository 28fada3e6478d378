//! Filters up and down, whole and as what changed; keys.

use bloomgrove::{Filter, codec};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};

use super::Client;
use crate::Error;
use crate::api::{AddItems, Key, MEDIA_MESSAGE, Updated};

/// What is said of a set when its filter is sent.
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    /// Its labels.
    pub tags: Vec<String>,
    /// Seconds until it goes by itself.
    pub expires_in: Option<u64>,
    /// The version of the set that the filter replaces, so that nothing that was added since is lost; 0
    /// if there must be no such set. Any version by default.
    pub base: Option<u64>,
}

/// Room for what a message has beside bits.
const AROUND: u64 = 1 << 20;

impl Client {
    /// Sends the whole filter of a set, which is made, or has its filter replaced.
    ///
    /// # Errors
    /// As every method: [`Error::Transport`] if the server is not reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if it answers what no Bloomgrove server does.
    pub async fn put_filter<S: AsRef<[u64]>>(
        &self,
        name: &str,
        filter: &Filter<S>,
    ) -> Result<Updated, Error> {
        let (updated, _) = self
            .put_filter_with(name, filter, &PutOptions::default())
            .await?;
        Ok(updated)
    }

    /// As [`put_filter`](Self::put_filter), with tags and an end; says also whether the set was
    /// made.
    ///
    /// # Errors
    /// As [`put_filter`](Self::put_filter).
    pub async fn put_filter_with<S: AsRef<[u64]>>(
        &self,
        name: &str,
        filter: &Filter<S>,
        options: &PutOptions,
    ) -> Result<(Updated, bool), Error> {
        let mut message = Vec::new();
        codec::compress(filter, &mut message)?;
        self.put_bytes(name, MEDIA_MESSAGE, message, options).await
    }

    /// As [`put_filter_with`](Self::put_filter_with), of bytes that are a message or a `.grove`
    /// file.
    ///
    /// # Errors
    /// As [`put_filter`](Self::put_filter).
    pub async fn put_bytes(
        &self,
        name: &str,
        media: &str,
        bytes: Vec<u8>,
        options: &PutOptions,
    ) -> Result<(Updated, bool), Error> {
        let mut query: Vec<(&str, String)> = Vec::new();
        query.extend(options.tags.iter().map(|tag| ("tag", tag.clone())));
        query.extend(
            options
                .expires_in
                .map(|time| ("expires_in", time.to_string())),
        );
        query.extend(options.base.map(|base| ("base", base.to_string())));
        let request = self.about(Method::PUT, name, "/filter")?.query(&query);
        let request = request.header(CONTENT_TYPE, media).body(bytes);
        let response = self.send(request).await?;
        let made = response.status() == StatusCode::CREATED;
        Ok((self.read(response).await?, made))
    }

    /// Adds all that a filter holds to a set of equal parameters.
    ///
    /// With `base`, only if the set has not had its whole filter replaced since that version.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `incompatible` for other parameters, `send_whole` if the
    /// set is not what `base` says.
    pub async fn merge<S: AsRef<[u64]>>(
        &self,
        name: &str,
        filter: &Filter<S>,
        base: Option<u64>,
    ) -> Result<Updated, Error> {
        let mut message = Vec::new();
        codec::compress(filter, &mut message)?;
        self.merge_bytes(name, message, base).await
    }

    /// Sends only what turns `old`, which the server has, into `new`.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `send_whole` if the server has something else; then
    /// [`put_filter`](Self::put_filter) helps.
    pub async fn send_delta<S: AsRef<[u64]>, T: AsRef<[u64]>>(
        &self,
        name: &str,
        old: &Filter<S>,
        new: &Filter<T>,
        base: Option<u64>,
    ) -> Result<Updated, Error> {
        let mut message = Vec::new();
        codec::delta(old, new, &mut message)?;
        self.merge_bytes(name, message, base).await
    }

    /// As [`merge`](Self::merge) or [`send_delta`](Self::send_delta), of a message.
    ///
    /// # Errors
    /// As these.
    pub async fn merge_bytes(
        &self,
        name: &str,
        message: Vec<u8>,
        base: Option<u64>,
    ) -> Result<Updated, Error> {
        let request = self.about(Method::POST, name, "/filter")?.query(&on(base));
        let request = request.header(CONTENT_TYPE, MEDIA_MESSAGE).body(message);
        self.json(request).await
    }

    /// Adds keys to a set.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `too_large` for more keys than the server takes at once.
    pub async fn insert(
        &self,
        name: &str,
        keys: Vec<Key>,
        base: Option<u64>,
    ) -> Result<Updated, Error> {
        let request = self.about(Method::POST, name, "/items")?.query(&on(base));
        self.json(request.json(&AddItems { keys })).await
    }

    /// The filter of a set, and its version: the `base` of the next update.
    ///
    /// # Errors
    /// [`Error::Filter`] if what comes is no whole filter, or a larger one than allowed.
    pub async fn filter(&self, name: &str) -> Result<(Filter, u64), Error> {
        let (message, version) = self.filter_bytes(name).await?;
        let (filter, _) = codec::expand_within(&message[..], self.filter_limit)?;
        Ok((filter, version))
    }

    /// As [`filter`](Self::filter), as a message. It is not looked into.
    ///
    /// # Errors
    /// [`Error::Answer`] if it is larger than allowed.
    pub async fn filter_bytes(&self, name: &str) -> Result<(Vec<u8>, u64), Error> {
        let response = self.send(self.about(Method::GET, name, "/filter")?).await?;
        let version = response.headers().get("x-bloomgrove-version");
        let version = version.and_then(|value| value.to_str().ok()?.parse().ok());
        let version = version.ok_or_else(|| {
            let status = response.status().as_u16();
            self.answer(status, "the filter comes without its version")
        })?;
        let limit = self.filter_limit.saturating_add(AROUND);
        Ok((self.body(response, limit).await?, version))
    }
}

fn on(base: Option<u64>) -> Option<[(&'static str, u64); 1]> {
    base.map(|base| [("base", base)])
}

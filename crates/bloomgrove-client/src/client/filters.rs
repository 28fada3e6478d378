//! Uploading and downloading filters, whole or as deltas; adding keys.

use bloomgrove::{Filter, codec};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};

use super::Client;
use crate::Error;
use crate::api::{AddItems, Key, MEDIA_MESSAGE, Updated};

/// The properties of a set whose filter is uploaded.
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    /// Its tags.
    pub tags: Vec<String>,
    /// Seconds until it expires.
    pub expires_in: Option<u64>,
    /// The version of the set that the filter replaces, so that no later change is lost; 0 if the set must
    /// not exist yet. Any version by default.
    pub base: Option<u64>,
}

/// The most bytes of a message apart from its bits.
const AROUND: u64 = 1 << 20;

impl Client {
    /// Uploads the whole filter of a set, creating the set or replacing its filter.
    ///
    /// # Errors
    /// Like every method: [`Error::Transport`] if the server cannot be reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if its response is not one of a Bloomgrove server.
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

    /// Like [`put_filter`](Self::put_filter), with tags and an expiry; also returns whether the set was
    /// created.
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

    /// Like [`put_filter_with`](Self::put_filter_with), for the bytes of a message or a `.grove` file.
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

    /// Adds all items of a filter to a set with equal parameters.
    ///
    /// With `base`, only if the whole filter of the set has not been replaced since that version.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `incompatible` if the parameters differ, `send_whole` if the set does
    /// not match `base`.
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

    /// Sends only the changes from `old`, which the server has, to `new`.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `send_whole` if the server has another version; then use
    /// [`put_filter`](Self::put_filter).
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

    /// Like [`merge`](Self::merge) or [`send_delta`](Self::send_delta), for a message.
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
    /// [`Error::Problem`] with the code `too_large` if there are more keys than the server accepts at once.
    pub async fn insert(
        &self,
        name: &str,
        keys: Vec<Key>,
        base: Option<u64>,
    ) -> Result<Updated, Error> {
        let request = self.about(Method::POST, name, "/items")?.query(&on(base));
        self.json(request.json(&AddItems { keys })).await
    }

    /// Downloads the filter of a set, with its version: the `base` of the next update.
    ///
    /// # Errors
    /// [`Error::Filter`] if the response is not a whole filter, or one that is larger than allowed.
    pub async fn filter(&self, name: &str) -> Result<(Filter, u64), Error> {
        let (message, version) = self.filter_bytes(name).await?;
        let (filter, _) = codec::expand_within(&message[..], self.filter_limit)?;
        Ok((filter, version))
    }

    /// Like [`filter`](Self::filter), but returns the message without decoding it.
    ///
    /// # Errors
    /// [`Error::Answer`] if it is larger than allowed.
    pub async fn filter_bytes(&self, name: &str) -> Result<(Vec<u8>, u64), Error> {
        let response = self.send(self.about(Method::GET, name, "/filter")?).await?;
        let version = response.headers().get("x-bloomgrove-version");
        let version = version.and_then(|value| value.to_str().ok()?.parse().ok());
        let version = version.ok_or_else(|| {
            let status = response.status().as_u16();
            self.answer(status, "the filter was sent without its version")
        })?;
        let limit = self.filter_limit.saturating_add(AROUND);
        Ok((self.body(response, limit).await?, version))
    }
}

fn on(base: Option<u64>) -> Option<[(&'static str, u64); 1]> {
    base.map(|base| [("base", base)])
}

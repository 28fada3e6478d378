//! Listing, creating, changing and removing sets.

use std::vec;

use reqwest::Method;

use super::Client;
use crate::Error;
use crate::api::{ChangeSet, CreateSet, Set, SetList};

/// Which sets to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only sets whose names start with this prefix.
    pub prefix: Option<String>,
    /// Only sets with this tag.
    pub tag: Option<String>,
    /// Only sets whose names come after this one.
    pub after: Option<String>,
    /// Maximum number of sets per page; the server has a default and an upper limit.
    pub limit: Option<u64>,
}

impl Client {
    /// A page of the sets, by name.
    ///
    /// # Errors
    /// Like every method: [`Error::Transport`] if the server cannot be reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if its response is not one of a Bloomgrove server.
    pub async fn list(&self, wanted: &ListQuery) -> Result<SetList, Error> {
        let mut query: Vec<(&str, String)> = Vec::new();
        let texts = [
            ("prefix", &wanted.prefix),
            ("tag", &wanted.tag),
            ("after", &wanted.after),
        ];
        for (name, text) in texts {
            query.extend(text.clone().map(|text| (name, text)));
        }
        query.extend(wanted.limit.map(|limit| ("limit", limit.to_string())));
        self.json(self.request(Method::GET, "/v1/sets").query(&query))
            .await
    }

    /// All sets, by name, fetched page by page.
    pub fn list_all(&self, wanted: ListQuery) -> Listing<'_> {
        Listing {
            client: self,
            wanted: Some(wanted),
            page: Vec::new().into_iter(),
        }
    }

    /// Creates an empty set.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `exists` if there is already a set with this name.
    pub async fn create(&self, set: &CreateSet) -> Result<Set, Error> {
        self.json(self.request(Method::POST, "/v1/sets").json(set))
            .await
    }

    /// The properties of a set.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `not_found` if there is no set with this name.
    pub async fn set(&self, name: &str) -> Result<Set, Error> {
        self.json(self.about(Method::GET, name, "")?).await
    }

    /// Changes the name, tags or expiry of a set.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `not_found`, or `exists` if the new name is taken.
    pub async fn change(&self, name: &str, change: &ChangeSet) -> Result<Set, Error> {
        self.json(self.about(Method::PATCH, name, "")?.json(change))
            .await
    }

    /// Removes a set.
    ///
    /// # Errors
    /// [`Error::Problem`] with the code `not_found` if there is no set with this name.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let response = self.send(self.about(Method::DELETE, name, "")?).await?;
        self.body(response, self.answer_limit).await.map(|_| ())
    }
}

/// All sets, one after another: see [`Client::list_all`].
#[derive(Debug)]
pub struct Listing<'c> {
    client: &'c Client,
    /// What to request next; none after the last page.
    wanted: Option<ListQuery>,
    page: vec::IntoIter<Set>,
}

impl Listing<'_> {
    /// The next set; none after the last.
    ///
    /// Sets created or removed meanwhile may be listed or not. Each set is listed at most once, unless it is
    /// renamed.
    ///
    /// # Errors
    /// As [`Client::list`].
    pub async fn next(&mut self) -> Result<Option<Set>, Error> {
        loop {
            if let Some(set) = self.page.next() {
                return Ok(Some(set));
            }
            let Some(wanted) = &mut self.wanted else {
                return Ok(None);
            };
            let list = self.client.list(wanted).await?;
            match list.next {
                // Otherwise a server that repeats a page would be queried for ever.
                Some(next) if Some(&next) <= wanted.after.as_ref() => {
                    let what = format!("the page after {next:?} names itself as the next page");
                    return Err(self.client.answer(200, what));
                }
                Some(next) => wanted.after = Some(next),
                None => self.wanted = None,
            }
            self.page = list.sets.into_iter();
        }
    }
}

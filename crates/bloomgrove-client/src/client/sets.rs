//! Sets: listed, made, changed, removed.

use std::vec;

use reqwest::Method;

use super::Client;
use crate::Error;
use crate::api::{ChangeSet, CreateSet, Set, SetList};

/// Which sets to list.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Only sets whose names begin so.
    pub prefix: Option<String>,
    /// Only sets with this tag.
    pub tag: Option<String>,
    /// Only sets behind this name.
    pub after: Option<String>,
    /// At most so many at a time; the server has a default and a limit.
    pub limit: Option<u64>,
}

impl Client {
    /// A page of the sets, by name.
    ///
    /// # Errors
    /// As every method: [`Error::Transport`] if the server is not reached, [`Error::Problem`] if
    /// it refuses, [`Error::Answer`] if it answers what no Bloomgrove server does.
    pub async fn list(&self, wanted: &ListRequest) -> Result<SetList, Error> {
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

    /// All sets, by name, a page at a time.
    pub fn list_all(&self, wanted: ListRequest) -> Listing<'_> {
        Listing {
            client: self,
            wanted: Some(wanted),
            page: Vec::new().into_iter(),
        }
    }

    /// Makes an empty set.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `exists` if there is one of this name.
    pub async fn create(&self, set: &CreateSet) -> Result<Set, Error> {
        self.json(self.request(Method::POST, "/v1/sets").json(set))
            .await
    }

    /// A set as it is.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `not_found` if there is none of this name.
    pub async fn set(&self, name: &str) -> Result<Set, Error> {
        self.json(self.about(Method::GET, name, "")?).await
    }

    /// Gives a set another name, other tags, another end.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `not_found`, or `exists` for the new name.
    pub async fn change(&self, name: &str, change: &ChangeSet) -> Result<Set, Error> {
        self.json(self.about(Method::PATCH, name, "")?.json(change))
            .await
    }

    /// Removes a set.
    ///
    /// # Errors
    /// [`Error::Problem`] of the code `not_found` if there is none of this name.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let response = self.send(self.about(Method::DELETE, name, "")?).await?;
        self.body(response, self.answer_limit).await.map(|_| ())
    }
}

/// All sets, one after the other: see [`Client::list_all`].
#[derive(Debug)]
pub struct Listing<'c> {
    client: &'c Client,
    /// What to ask for next; none after the last page.
    wanted: Option<ListRequest>,
    page: vec::IntoIter<Set>,
}

impl Listing<'_> {
    /// The next set; none after the last.
    ///
    /// Sets that come and go meanwhile may be listed or not; each is listed at most once, unless
    /// it is renamed.
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
                // A server that stands still would be asked for ever.
                Some(next) if Some(&next) <= wanted.after.as_ref() => {
                    let what = format!("the page after {next:?} is said to be followed by itself");
                    return Err(self.client.answer(200, what));
                }
                Some(next) => wanted.after = Some(next),
                None => self.wanted = None,
            }
            self.page = list.sets.into_iter();
        }
    }
}

//! What may be a name, a tag, parameters, a time; and that there is a set of a name, or none.

use std::sync::Arc;

use bloomgrove::{Derivation, Family, Layout, Params, tune};
use bloomgrove_client::{api, api::Code, quote};

use super::now;
use crate::Error;

const MOST_NAME: usize = 500;
const MOST_TAG: usize = 100;
const MOST_TAGS: usize = 32;
/// A hundred years.
const LATEST: u64 = 100 * 366 * 24 * 3600;

/// That there is no such set.
pub(super) fn not_found(name: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no set called {name}"))
}

/// That there is such a set already.
pub(super) fn exists(name: &str) -> Error {
    let detail = format!(
        "there is a set called {name} already; update or replace that, or take another name"
    );
    Error::new(Code::Exists, detail)
}

/// The name of a new set.
pub(super) fn name(name: &str) -> Result<Arc<str>, Error> {
    plain("a name", name, MOST_NAME)?;
    // In a path they stand for directories, whoever reads it: clients and proxies take them away.
    if name == "." || name == ".." {
        return Err(Error::invalid(format!(
            "{name:?} cannot be the name of a set"
        )));
    }
    Ok(name.into())
}

/// Labels, sorted, each once.
pub(super) fn tags(mut tags: Vec<String>) -> Result<Vec<String>, Error> {
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > MOST_TAGS {
        let detail = format!("{} tags, and a set has {MOST_TAGS} at most", tags.len());
        return Err(Error::invalid(detail));
    }
    for tag in &tags {
        plain("a tag", tag, MOST_TAG)?;
    }
    Ok(tags)
}

pub(super) fn plain(what: &str, text: &str, most: usize) -> Result<(), Error> {
    let wrong = if text.is_empty() {
        "is empty".to_owned()
    } else if text.len() > most {
        format!("has {} bytes, and {most} are the most", text.len())
    } else if let Some(control) = text.chars().find(|c| c.is_control()) {
        format!("has the control character {control:?} in it")
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("{what} {wrong}")))
}

/// When a set goes, in seconds since 1970.
pub(super) fn expiry(seconds: u64) -> Result<u64, Error> {
    match seconds {
        1..=LATEST => Ok(now() + seconds),
        _ => Err(Error::invalid(format!(
            "expires_in is {seconds}; it is a number of seconds from 1 to {LATEST}"
        ))),
    }
}

/// Parameters as wanted, or for the items wanted.
pub(super) fn params(wanted: &api::CreateSet) -> Result<Params, Error> {
    match (&wanted.params, wanted.items, wanted.fpr) {
        (Some(params), None, None) => written(params),
        (None, Some(0), _) => Err(Error::invalid("a set is made for 1 item at least")),
        (None, Some(items), fpr) => {
            // Steps, so that sets share parameters. Blocked filters of one size lie as well
            // as standard ones, but are less exact: there is no single filter to be fast here.
            let plan = tune::standard(tune::step(items), fpr.unwrap_or(0.01))?;
            Ok(plan.params()?)
        }
        _ => Err(Error::invalid(
            "say how large the set is: either `items` (and `fpr`), or `params` with `bits` and \
             `hashes`",
        )),
    }
}

fn written(params: &api::Params) -> Result<Params, Error> {
    let mut builder = Params::builder(params.bits, params.hashes);
    builder = match params.layout.as_deref() {
        None | Some("standard") => builder.layout(Layout::Standard),
        Some("blocked") => builder.layout(Layout::Blocked),
        Some(other) => return Err(unknown("layout", other, "standard or blocked")),
    };
    builder = match params.family.as_deref() {
        None | Some("xxh3") => builder.family(Family::Xxh3),
        Some("xxh3-128") => builder.family(Family::Xxh3Wide),
        Some("murmur3") => builder.family(Family::Murmur3),
        Some("md5") => builder.family(Family::Md5),
        Some(other) => {
            let known = "xxh3, xxh3-128, murmur3 or md5; upload a filter to have another";
            return Err(unknown("family", other, known));
        }
    };
    builder = match params.derivation.as_deref() {
        None | Some("independent") => builder.derivation(Derivation::Independent),
        Some("kirsch-mitzenmacher") => builder.derivation(Derivation::KirschMitzenmacher),
        Some(other) => {
            return Err(unknown(
                "derivation",
                other,
                "independent or kirsch-mitzenmacher",
            ));
        }
    };
    Ok(builder.seed(params.seed.unwrap_or(0)).build()?)
}

fn unknown(what: &str, found: &str, known: &str) -> Error {
    let found = quote(found);
    Error::invalid(format!("there is no {what} {found}; it is {known}"))
}

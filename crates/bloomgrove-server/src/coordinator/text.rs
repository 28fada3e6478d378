//! Checks of names, tags, parameters and times; errors about existing and missing sets.

use std::sync::Arc;

use bloomgrove::{Derivation, Family, Layout, Params, raw::tune};
use bloomgrove_client::{api, api::Code, quote};

use super::now;
use crate::Error;

const MOST_NAME: usize = 500;
const MOST_TAG: usize = 100;
const MOST_TAGS: usize = 32;
/// A hundred years.
const LATEST: u64 = 100 * 366 * 24 * 3600;

/// There is no such set.
pub(super) fn not_found(name: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no set named {name}"))
}

/// There is already such a set.
pub(super) fn exists(name: &str) -> Error {
    let detail =
        format!("a set named {name} already exists; update or replace it, or choose another name");
    Error::new(Code::Exists, detail)
}

/// The name of a new set.
pub(super) fn name(name: &str) -> Result<Arc<str>, Error> {
    plain("a name", name, MOST_NAME)?;
    // In a path they mean directories: clients and proxies remove them.
    if name == "." || name == ".." {
        return Err(Error::invalid(format!(
            "{name:?} cannot be the name of a set"
        )));
    }
    Ok(name.into())
}

/// Tags, sorted, without duplicates.
pub(super) fn tags(mut tags: Vec<String>) -> Result<Vec<String>, Error> {
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > MOST_TAGS {
        let detail = format!("there are {} tags; the maximum is {MOST_TAGS}", tags.len());
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
        format!("is {} bytes long; the maximum is {most}", text.len())
    } else if let Some(control) = text.chars().find(|c| c.is_control()) {
        format!("contains the control character {control:?}")
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("{what} {wrong}")))
}

/// When a set expires, in seconds since 1970.
pub(super) fn expiry(seconds: u64) -> Result<u64, Error> {
    match seconds {
        1..=LATEST => Ok(now() + seconds),
        _ => Err(Error::invalid(format!(
            "expires_in is {seconds}; it must be a number of seconds from 1 to {LATEST}"
        ))),
    }
}

/// The requested parameters, or those for the requested number of items.
pub(super) fn params(wanted: &api::CreateSet) -> Result<Params, Error> {
    match (&wanted.params, wanted.items, wanted.fpr) {
        (Some(params), None, None) => written(params),
        (None, Some(0), _) => Err(Error::invalid("`items` must be at least 1")),
        (None, Some(items), fpr) => {
            // In steps, so that sets share parameters. Blocked filters of one size can be laid out like standard ones, but are less
            // accurate, and there is no single filter here that has to be fast.
            let plan = tune::standard(tune::step(items), fpr.unwrap_or(0.01))?;
            Ok(plan.params()?)
        }
        _ => Err(Error::invalid(
            "specify the size of the set: either `items` (and `fpr`), or `params` with `bits` and \
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
            let known = "xxh3, xxh3-128, murmur3 or md5; for another one, upload a filter";
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
    Error::invalid(format!("unknown {what} {found}; use {known}"))
}

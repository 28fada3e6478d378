//! The values at a path of each line of JSON.
//!
//! ```text
//!   path items.id:  {"items": [{"id": "a"}, {"id": 7}]}  -->  a, 7
//! ```
//!
//! Every element of a list is followed. A string is its own key; numbers and booleans are keys as
//! JSON writes them. Null, objects, and lines without the path have no key; blank lines are skipped.

use serde_json::Value;

use crate::Error;

pub(crate) fn each_value<E: From<Error>>(
    line: &[u8],
    number: u64,
    path: &str,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| Error::Json {
        line: number,
        message: format!("error at column {}", error.column()),
    })?;
    walk(&value, path, each)
}

fn walk<E>(
    value: &Value,
    path: &str,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::Array(elements) => elements.iter().try_for_each(|one| walk(one, path, each)),
        Value::Object(fields) if !path.is_empty() => {
            // A field may have a dot in its name: the longest name that fits.
            let ends = path
                .match_indices('.')
                .map(|(at, _)| at)
                .chain([path.len()]);
            let found = ends
                .filter_map(|end| Some((end, fields.get(&path[..end])?)))
                .next_back();
            match found {
                Some((end, inner)) => walk(inner, path.get(end + 1..).unwrap_or(""), each),
                None => Ok(()),
            }
        }
        _ if !path.is_empty() => Ok(()),
        Value::String(text) => each(text.as_bytes()),
        Value::Number(number) => each(number.to_string().as_bytes()),
        Value::Bool(is) => each(if *is { b"true" } else { b"false" }),
        Value::Null | Value::Object(_) => Ok(()),
    }
}

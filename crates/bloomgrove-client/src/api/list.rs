//! Lists that are read only up to their maximum length: a longer one is rejected before it takes memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Maximum length of lists that are expected to be short; handlers check a stricter limit, with a better
/// message.
pub(super) const SHORT: usize = 100_000;

/// The start of the error about a longer list.
pub const TOO_LONG: &str = "a list of more than";

/// Reads a list of at most `MOST` elements.
///
/// # Errors
/// If it is longer, with a message that starts with [`TOO_LONG`].
pub fn at_most<'de, const MOST: usize, T, D>(from: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct List<const MOST: usize, T>(PhantomData<T>);

    impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for List<MOST, T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut elements = Vec::new();
            while let Some(element) = list.next_element()? {
                if elements.len() == MOST {
                    let what = format!("{TOO_LONG} {MOST} elements; send them in parts");
                    return Err(de::Error::custom(what));
                }
                elements.push(element);
            }
            Ok(elements)
        }
    }

    from.deserialize_seq(List::<MOST, T>(PhantomData))
}

/// Like [`at_most`], for a list that may be omitted.
pub(super) fn at_most_if_any<'de, const MOST: usize, T, D>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Wrapped<const MOST: usize, T>(Vec<T>);

    impl<'de, const MOST: usize, T: Deserialize<'de>> Deserialize<'de> for Wrapped<MOST, T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            at_most::<MOST, T, D>(from).map(Self)
        }
    }

    let list = Option::<Wrapped<MOST, T>>::deserialize(from)?;
    Ok(list.map(|Wrapped(list)| list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Request {
        #[serde(deserialize_with = "at_most::<3, _, _>")]
        one: Vec<u8>,
        #[serde(default, deserialize_with = "at_most_if_any::<2, _, _>")]
        two: Option<Vec<u8>>,
    }

    #[test]
    fn lists_that_are_too_long_are_rejected() {
        let read = |text: &str| serde_json::from_str::<Request>(text);
        let (one, two) = (vec![1, 2, 3], Some(vec![4, 5]));
        assert_eq!(
            read(r#"{"one": [1, 2, 3], "two": [4, 5]}"#).unwrap(),
            Request { one, two }
        );
        assert_eq!(read(r#"{"one": [], "two": null}"#).unwrap().two, None);
        assert_eq!(read(r#"{"one": []}"#).unwrap().two, None);
        for long in [
            r#"{"one": [1, 2, 3, 4]}"#,
            r#"{"one": [], "two": [1, 2, 3]}"#,
        ] {
            let error = read(long).unwrap_err().to_string();
            assert!(error.contains("more than"), "{error}");
        }
    }
}

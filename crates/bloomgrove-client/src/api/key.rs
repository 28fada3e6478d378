//! How a key is written in JSON: text as a string, other keys as an object that names their type.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A key: `"text"`, `{"u64": 42}` or `{"base64": "AAH/"}`.
///
/// The number 42 and the string `42` are different keys, so a bare number is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Text: its UTF-8 bytes.
    Text(String),
    /// An integer: its eight bytes, little-endian.
    U64(u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl bloomgrove::Key for Key {
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Key::Text(text) => with(text.as_bytes()),
            Key::U64(number) => with(&number.to_le_bytes()),
            Key::Bytes(bytes) => with(bytes),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key::Text(text.to_owned())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Key::Text(text)
    }
}

impl From<u64> for Key {
    fn from(number: u64) -> Self {
        Key::U64(number)
    }
}

impl From<Vec<u8>> for Key {
    /// Bytes that are valid UTF-8 become text: the key is the same, and its JSON is shorter.
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Key::Text(text),
            Err(error) => Key::Bytes(error.into_bytes()),
        }
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Key::Text(text) => to.serialize_str(text),
            Key::U64(number) => to.collect_map([("u64", number)]),
            Key::Bytes(bytes) => to.collect_map([("base64", STANDARD.encode(bytes))]),
        }
    }
}

// By hand: an untagged enum would copy every key once more, and its errors do not say what is wrong.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(KeyVisitor)
    }
}

/// The most keys in one request, however a server is configured: reading stops there.
pub const MOST_KEYS: usize = 1_000_000;

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a key: \"text\", {{\"u64\": 42}} or {{\"base64\": \"AAH/\"}}"
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Key, E> {
        Ok(Key::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Key, E> {
        Ok(Key::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Key, A::Error> {
        let kind: Option<String> = map.next_key()?;
        let key = match kind.as_deref() {
            Some("u64") => Key::U64(map.next_value()?),
            Some("base64") => {
                let text: String = map.next_value()?;
                let bytes = STANDARD.decode(&text);
                Key::Bytes(bytes.map_err(|error| de::Error::custom(format!("base64: {error}")))?)
            }
            Some(other) => return Err(de::Error::unknown_field(other, &["u64", "base64"])),
            None => return Err(de::Error::invalid_length(0, &self)),
        };
        match map.next_key::<String>()? {
            None => Ok(key),
            Some(_) => Err(de::Error::custom(
                "a key has exactly one of \"u64\" and \"base64\"",
            )),
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use utoipa::openapi::schema::{AdditionalProperties, Object, OneOf, Schema, Type};
    use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};
    use utoipa::{PartialSchema, ToSchema};

    use super::Key;

    impl PartialSchema for Key {
        fn schema() -> RefOr<Schema> {
            let one = |name: &str, value: Object| {
                Object::builder()
                    .property(name, value)
                    .required(name)
                    .additional_properties(Some(AdditionalProperties::FreeForm(false)))
                    .build()
            };
            let number = Object::builder()
                .schema_type(Type::Integer)
                .minimum(Some(0))
                .format(Some(SchemaFormat::Custom("uint64".into())))
                .build();
            let bytes = Object::builder()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Byte)))
                .build();
            OneOf::builder()
                .description(Some("Text, an integer, or bytes."))
                .item(Object::with_type(Type::String))
                .item(one("u64", number))
                .item(one("base64", bytes))
                .into()
        }
    }

    impl ToSchema for Key {
        fn name() -> Cow<'static, str> {
            "Key".into()
        }
    }
}

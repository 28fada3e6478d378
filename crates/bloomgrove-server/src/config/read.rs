//! How the values of a configuration file are written: numbers, or text with a unit.

use std::fmt;
use std::time::Duration;

use bloomgrove_http::config::Amount;
use bloomgrove_units as units;
use serde::de::{self, Deserializer, Visitor};

/// Text that `parse` understands, or a bare number, which is given to it as text.
struct Text<T> {
    parse: fn(&str) -> Result<T, String>,
    expecting: &'static str,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        (self.parse)(text).map(Some).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }
}

pub(super) fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_any(Text {
        parse: units::bytes,
        expecting: "a number of bytes such as \"64MiB\"",
    })
}

pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    from.deserialize_any(Text {
        parse: units::count,
        expecting: "a whole number",
    })
}

pub(super) fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Amount>, D::Error> {
    from.deserialize_any(Text {
        parse: str::parse,
        expecting: "an amount of memory such as \"4GiB\" or \"50%\"",
    })
}

pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    from.deserialize_any(Text {
        parse: units::duration,
        expecting: "a length of time such as \"30s\"",
    })
}

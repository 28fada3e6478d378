//! The type of a column in an index, and in a message.

use std::fmt;

use super::values::{Bytes, Number, Spelling};

/// Six bytes for an index: how values are stored, what they mean, the scale or the digits of a
/// second, whether they are local times, and the length. FORMAT section 21.
impl Spelling {
    pub(crate) fn to_bytes(self) -> [u8; 6] {
        let (stored, len) = match self {
            Spelling::Bool => (0, 0),
            Spelling::Int32(_) => (1, 0),
            Spelling::Int64(_) => (2, 0),
            Spelling::Bytes(_) => (3, 0),
            Spelling::FixedBytes(_, len) => (4, len),
        };
        let (meaning, digits, local) = match self {
            Spelling::Bool => (0, 0, false),
            Spelling::Int32(number) | Spelling::Int64(number) => match number {
                Number::Signed => (0, 0, false),
                Number::Unsigned => (1, 0, false),
                Number::Decimal { scale } => (2, scale as u8, false),
                Number::Date => (3, 0, false),
                Number::Timestamp { per_second, utc } => (4, per_second.ilog10() as u8, !utc),
            },
            Spelling::Bytes(bytes) | Spelling::FixedBytes(bytes, _) => match bytes {
                Bytes::Plain => (0, 0, false),
                Bytes::Decimal { scale } => (2, scale as u8, false),
                Bytes::Uuid => (5, 0, false),
            },
        };
        let [low, high] = len.to_le_bytes();
        [stored, meaning, digits, u8::from(local), low, high]
    }

    pub(crate) fn from_bytes(bytes: [u8; 6]) -> Option<Self> {
        let [stored, meaning, digits, local, low, high] = bytes;
        let scale = usize::from(digits);
        let number = match meaning {
            0 => Some(Number::Signed),
            1 => Some(Number::Unsigned),
            2 => Some(Number::Decimal { scale }),
            3 => Some(Number::Date),
            4 => Some(Number::Timestamp {
                per_second: 10i64.checked_pow(u32::from(digits))?,
                utc: local == 0,
            }),
            _ => None,
        };
        let text = match meaning {
            0 => Some(Bytes::Plain),
            2 => Some(Bytes::Decimal { scale }),
            5 => Some(Bytes::Uuid),
            _ => None,
        };
        let spelling = match stored {
            0 => Spelling::Bool,
            1 => Spelling::Int32(number?),
            2 => Spelling::Int64(number?),
            3 => Spelling::Bytes(text?),
            4 => Spelling::FixedBytes(text?, u16::from_le_bytes([low, high])),
            _ => return None,
        };
        // Only what we write: a scale or a unit beyond those would overflow.
        let is_ours = spelling.to_bytes() == bytes && scale <= 38;
        (is_ours && (meaning != 4 || matches!(digits, 3 | 6 | 9))).then_some(spelling)
    }
}

impl Spelling {
    /// How a value is written in a query, where its type does not tell.
    pub(crate) fn example(self) -> Option<&'static str> {
        let [_, meaning, ..] = self.to_bytes();
        match meaning {
            2 => Some("12.50"),
            3 => Some("2026-11-17"),
            4 => Some("2026-11-17T08:30:00Z"),
            5 => Some("6a1f0b8c-41d0-4c55-9d0e-7f3a9c2e7d21"),
            _ => None,
        }
    }

    /// Whether equal values have equal texts in both columns. Text may be anything.
    pub(crate) fn is_written_like(self, other: Self) -> bool {
        let form = |spelling: Self| {
            let [_, meaning, digits, local, ..] = spelling.to_bytes();
            match (spelling, meaning) {
                (Spelling::Bytes(Bytes::Plain) | Spelling::FixedBytes(Bytes::Plain, _), _) => None,
                (Spelling::Bool, _) => Some((9, 0, 0)),
                // Integers, and decimals without digits.
                (_, 0..=2) => Some((0, digits, 0)),
                // Every unit writes an instant in the same way.
                (_, 4) => Some((4, 0, local)),
                _ => Some((meaning, digits, local)),
            }
        };
        match (form(self), form(other)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }
}

/// As a message names it.
impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spelling::Bool => "true or false",
            Spelling::Int32(Number::Signed) | Spelling::Int64(Number::Signed) => "integers",
            Spelling::Int32(Number::Unsigned) | Spelling::Int64(Number::Unsigned) => {
                "unsigned integers"
            }
            Spelling::Int32(Number::Decimal { .. })
            | Spelling::Int64(Number::Decimal { .. })
            | Spelling::Bytes(Bytes::Decimal { .. })
            | Spelling::FixedBytes(Bytes::Decimal { .. }, _) => "decimals",
            Spelling::Int32(Number::Date) | Spelling::Int64(Number::Date) => "dates",
            Spelling::Int32(Number::Timestamp { .. })
            | Spelling::Int64(Number::Timestamp { .. }) => "timestamps",
            Spelling::Bytes(Bytes::Uuid) | Spelling::FixedBytes(Bytes::Uuid, _) => "UUIDs",
            Spelling::Bytes(Bytes::Plain) | Spelling::FixedBytes(Bytes::Plain, _) => "text",
        })
    }
}

//! From the text of a query to the value that it means in a column, in both of its forms: the text of
//! the key (`values.rs`), and the bytes as they are stored, which Parquet's own filters hash.
//!
//! A query may spell a value in other ways than we would: `007`, `12.5` in a column with two digits,
//! a UUID in capitals or without hyphens, a space instead of the T of a timestamp. A text that is no
//! value of the column's type is in no row.

use jiff::civil;

use super::values::{self, Bytes, Number, Spelling};

/// A value that a column may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// The text of its key; none if that is not certain.
    pub(crate) key: Option<Vec<u8>>,
    /// As it is stored; likewise.
    pub(crate) stored: Option<Vec<u8>>,
}

impl Spelling {
    /// Whether the bytes of every value as it is stored are certain.
    pub(crate) fn is_stored_in_one_way(self) -> bool {
        !matches!(
            self,
            Spelling::Bool | Spelling::Bytes(Bytes::Decimal { .. })
        )
    }

    /// The value that a text means, if it means one.
    pub(crate) fn parse(self, text: &[u8]) -> Option<Value> {
        match self {
            Spelling::Bytes(Bytes::Plain) | Spelling::FixedBytes(Bytes::Plain, _) => Some(Value {
                key: Some(text.to_vec()),
                stored: Some(text.to_vec()),
            }),
            _ => {
                let text = std::str::from_utf8(text).ok()?.trim();
                self.parse_text(text).or_else(|| self.parse_distant(text))
            }
        }
    }

    /// A time beyond the years 0 to 9999, which are all that the calendar of the crate has room for, or
    /// an instant in a column of dates or local times: it may be anywhere.
    fn parse_distant(self, text: &str) -> Option<Value> {
        let (Spelling::Int32(number) | Spelling::Int64(number)) = self else {
            return None;
        };
        let is_time = matches!(number, Number::Date | Number::Timestamp { .. });
        let is_local = !matches!(number, Number::Timestamp { utc: true, .. });
        let is_distant = text.strip_prefix(['+', '-']).is_some_and(|rest| {
            let year = rest.bytes().take_while(u8::is_ascii_digit).count();
            year >= 4 && rest[year..].starts_with('-')
        });
        let is_instant = text.parse::<jiff::Timestamp>().is_ok();
        (is_time && (is_distant || is_local && is_instant)).then_some(Value {
            key: None,
            stored: None,
        })
    }

    fn parse_text(self, text: &str) -> Option<Value> {
        let mut key = Vec::new();
        let stored = match self {
            Spelling::Bool => {
                let value = text.to_ascii_lowercase().parse().ok()?;
                values::bool(&value, &mut key).ok()?;
                None
            }
            Spelling::Int32(number) => {
                let value = number.parse(text)?;
                let value = match number {
                    Number::Unsigned => u32::try_from(value).ok()?.cast_signed(),
                    _ => i32::try_from(value).ok()?,
                };
                number.write_32(value, &mut key).ok()?;
                Some(value.to_le_bytes().to_vec())
            }
            Spelling::Int64(number) => {
                let value = number.parse(text)?;
                let value = match number {
                    Number::Unsigned => u64::try_from(value).ok()?.cast_signed(),
                    _ => i64::try_from(value).ok()?,
                };
                number.write_64(value, &mut key).ok()?;
                Some(value.to_le_bytes().to_vec())
            }
            Spelling::Bytes(bytes) => {
                bytes.write(&bytes.parse(text, 16)?, &mut key).ok()?;
                None
            }
            Spelling::FixedBytes(bytes, len) => {
                let stored = bytes.parse(text, usize::from(len))?;
                bytes.write(&stored, &mut key).ok()?;
                Some(stored)
            }
        };
        Some(Value {
            key: Some(key),
            stored,
        })
    }
}

impl Number {
    fn parse(self, text: &str) -> Option<i128> {
        match self {
            // A column may have been of another type before: 7.00 is 7, and midnight is a date.
            Number::Signed | Number::Unsigned => decimal(text, 0),
            Number::Decimal { scale } => decimal(text, scale),
            Number::Date => {
                let seconds = timestamp(text, 1, true)?;
                (seconds % 86_400 == 0).then_some(seconds / 86_400)
            }
            Number::Timestamp { per_second, utc } => timestamp(text, per_second, utc),
        }
    }
}

impl Bytes {
    /// In `len` bytes, the highest first.
    fn parse(self, text: &str, len: usize) -> Option<Vec<u8>> {
        match self {
            Bytes::Plain => Some(text.as_bytes().to_vec()),
            Bytes::Decimal { scale } => {
                let number = decimal(text, scale)?;
                let mut bytes: Vec<u8> = number.to_le_bytes().to_vec();
                let sign = if number < 0 { 0xff } else { 0 };
                // What is cut off must say nothing.
                if bytes.iter().skip(len).any(|&byte| byte != sign) {
                    return None;
                }
                bytes.resize(len, sign);
                let is_negative = bytes.last().is_some_and(|&high| high >= 0x80);
                bytes.reverse();
                (is_negative == (number < 0)).then_some(bytes)
            }
            Bytes::Uuid => {
                let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
                let (pairs, rest) = digits.as_chunks::<2>();
                let byte = |pair: &[u8; 2]| {
                    let digit = |digit: u8| (digit as char).to_digit(16);
                    Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
                };
                let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
                bytes.filter(|bytes| bytes.len() == 16 && rest.is_empty())
            }
        }
    }
}

/// `12.5` with two digits of scale is 1250. More digits than the scale has must be zeros.
fn decimal(text: &str, scale: usize) -> Option<i128> {
    if !text.is_ascii() {
        return None;
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let (kept, rest) = part.split_at(part.len().min(scale));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = whole.trim_start_matches(['-', '+']);
    if !is_digits(part) || rest.bytes().any(|byte| byte != b'0') || !is_digits(unsigned) {
        return None;
    }
    format!("{whole}{kept:0<scale$}").parse().ok()
}

/// Days since 1 January 1970.
fn days(date: civil::Date) -> Option<i64> {
    let span = date.since(civil::date(1970, 1, 1)).ok()?;
    Some(i64::from(span.get_days()))
}

/// A time without an offset is that of the column. One with an offset is an instant, which a column of
/// local times does not have.
fn timestamp(text: &str, per_second: i64, utc: bool) -> Option<i128> {
    let nanos = match text.parse::<jiff::Timestamp>() {
        Ok(instant) => utc.then(|| instant.as_nanosecond())?,
        Err(_) => {
            let time: civil::DateTime = text.parse().ok()?;
            let seconds = i128::from(days(time.date())?) * 86_400
                + i128::from(time.hour()) * 3600
                + i128::from(time.minute()) * 60
                + i128::from(time.second());
            seconds * 1_000_000_000 + i128::from(time.subsec_nanosecond())
        }
    };
    let unit = i128::from(1_000_000_000 / per_second);
    (nanos % unit == 0).then_some(nanos / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(spelling: Spelling, text: &str) -> Option<String> {
        let value = spelling.parse(text.as_bytes())?;
        Some(
            value
                .key
                .map_or("?".into(), |key| String::from_utf8(key).unwrap()),
        )
    }

    #[test]
    fn a_value_has_one_key_however_it_is_spelled() {
        let timestamp = |per_second| {
            Spelling::Int64(Number::Timestamp {
                per_second,
                utc: true,
            })
        };
        let decimal = Number::Decimal { scale: 2 };
        let uuid = Spelling::FixedBytes(Bytes::Uuid, 16);
        for (spelling, text, wanted) in [
            (Spelling::Int64(Number::Signed), "007", Some("7")),
            (Spelling::Int64(Number::Signed), " -7 ", Some("-7")),
            (Spelling::Int64(Number::Signed), "7.0", Some("7")),
            (Spelling::Int64(Number::Signed), "7.5", None),
            (Spelling::Int64(Number::Signed), "+7", Some("7")),
            (Spelling::Int32(Number::Signed), "3000000000", None),
            (
                Spelling::Int32(Number::Unsigned),
                "3000000000",
                Some("3000000000"),
            ),
            (Spelling::Int64(Number::Unsigned), "-1", None),
            (Spelling::Int32(decimal), "12.5", Some("12.50")),
            (Spelling::Int64(decimal), "-0.050", Some("-0.05")),
            (Spelling::Int64(decimal), "0.005", None),
            (Spelling::Int64(decimal), "1e3", None),
            (Spelling::Int64(decimal), "1.é", None),
            (Spelling::Int64(Number::Decimal { scale: 1 }), "1.é", None),
            (
                Spelling::FixedBytes(Bytes::Decimal { scale: 2 }, 5),
                "-12",
                Some("-12.00"),
            ),
            (
                Spelling::FixedBytes(Bytes::Decimal { scale: 0 }, 1),
                "128",
                None,
            ),
            (
                Spelling::FixedBytes(Bytes::Decimal { scale: 0 }, 1),
                "-128",
                Some("-128"),
            ),
            (
                Spelling::Int32(Number::Date),
                "2024-02-29",
                Some("2024-02-29"),
            ),
            (
                Spelling::Int32(Number::Date),
                "1969-12-31",
                Some("1969-12-31"),
            ),
            (Spelling::Int32(Number::Date), "2023-02-29", None),
            (Spelling::Int32(Number::Date), "-5", None),
            (Spelling::Int32(Number::Date), "+10000-01-01", Some("?")),
            (
                Spelling::Int32(Number::Date),
                "2024-02-29T00:00:00Z",
                Some("2024-02-29"),
            ),
            (Spelling::Int32(Number::Date), "2024-02-29 01:00:00", None),
            (
                timestamp(1_000),
                "2024-02-29T12:00:00+02:00",
                Some("2024-02-29T10:00:00Z"),
            ),
            (timestamp(1_000), "2024-02-29", Some("2024-02-29T00:00:00Z")),
            (
                Spelling::Int64(Number::Timestamp {
                    per_second: 1_000,
                    utc: false,
                }),
                "2024-02-29T12:00:00Z",
                Some("?"),
            ),
            (
                timestamp(1_000),
                "2024-02-29 12:00:00.5",
                Some("2024-02-29T12:00:00.500Z"),
            ),
            (timestamp(1_000), "2024-02-29T12:00:00.0005Z", None),
            (
                timestamp(1_000_000_000),
                "1969-12-31T23:59:59.999999999Z",
                Some("1969-12-31T23:59:59.999999999Z"),
            ),
            (
                uuid,
                "0123ABCD-4567-89ab-cdef-0123456789AB",
                Some("0123abcd-4567-89ab-cdef-0123456789ab"),
            ),
            (uuid, "0123abcd", None),
            (Spelling::Bool, "TRUE", Some("true")),
            (
                Spelling::Bytes(Bytes::Plain),
                " as it is ",
                Some(" as it is "),
            ),
        ] {
            assert_eq!(
                key(spelling, text).as_deref(),
                wanted,
                "{spelling:?} {text}"
            );
        }
    }

    #[test]
    fn the_stored_bytes_are_those_of_the_format() {
        let stored =
            |spelling: Spelling, text: &str| spelling.parse(text.as_bytes()).unwrap().stored;
        assert_eq!(
            stored(Spelling::Int32(Number::Signed), "-2"),
            Some(vec![0xfe, 0xff, 0xff, 0xff])
        );
        assert_eq!(
            stored(Spelling::Int64(Number::Signed), "2").unwrap().len(),
            8
        );
        let decimal = Spelling::FixedBytes(Bytes::Decimal { scale: 1 }, 3);
        assert_eq!(stored(decimal, "-0.2"), Some(vec![0xff, 0xff, 0xfe]));
        assert_eq!(
            stored(Spelling::Bytes(Bytes::Decimal { scale: 1 }), "1"),
            None
        );
        assert_eq!(stored(Spelling::Bool, "true"), None);
    }
}

//! How the values of a column are written as keys: as people write them in a query.
//!
//! | type | key |
//! |---|---|
//! | text, binary, JSON, ... | the bytes |
//! | integers of every size | `42`, `-7` |
//! | decimals | `12.50`, all digits of the scale |
//! | booleans | `true`, `false` |
//! | dates | `2024-02-29` |
//! | timestamps | `2024-02-29T12:00:00Z`, with 3, 6 or 9 digits of a second if it has a fraction; without Z if they are local |
//! | UUIDs | `0123abcd-...`, lower case with hyphens |
//!
//! One instant has one text, whatever the unit of the column. Other types are rejected: a float has
//! several spellings (1e6, 1000000, 1000000.0), and a query with another one would be a false
//! negative.

use std::io::Write;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::schema::types::ColumnDescriptor;
use anyhow::{Result, bail};
use jiff::{Span, civil};

/// How the values are stored in the file, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Spelling {
    Bool,
    Int32(Number),
    Int64(Number),
    Bytes(Bytes),
    /// And how many bytes each value has.
    FixedBytes(Bytes, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Signed,
    Unsigned,
    Decimal { scale: usize },
    Date,
    Timestamp { per_second: i64, utc: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bytes {
    Plain,
    Decimal { scale: usize },
    Uuid,
}

impl Spelling {
    pub(crate) fn of(column: &ColumnDescriptor) -> Result<Self> {
        let refused = || {
            let physical = column.physical_type();
            let meaning = match (column.logical_type_ref(), column.converted_type()) {
                (Some(logical), _) => format!("{logical:?} ({physical})"),
                (None, ConvertedType::NONE) => physical.to_string(),
                (None, converted) => format!("{converted} ({physical})"),
            };
            let advice = match physical {
                Type::FLOAT | Type::DOUBLE => {
                    ", as a float can be written in many ways; convert it to an integer or text"
                }
                Type::INT96 => "; convert this old timestamp to one of 64 bits, or to text",
                _ => "; convert it to an integer or text",
            };
            bail!("{meaning} columns cannot be used as keys{advice}")
        };
        let len = u16::try_from(column.type_length()).unwrap_or(0);
        if column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY {
            let is_decimal = matches!(Meaning::of(column), Meaning::Number(_));
            if len == 0 || is_decimal && len > 16 {
                return refused();
            }
        }
        Ok(match (column.physical_type(), Meaning::of(column)) {
            (Type::BOOLEAN, Meaning::Plain) => Spelling::Bool,
            (Type::INT32, Meaning::Plain) => Spelling::Int32(Number::Signed),
            (Type::INT64, Meaning::Plain) => Spelling::Int64(Number::Signed),
            (Type::INT32, Meaning::Number(Number::Timestamp { .. })) => return refused(),
            (Type::INT32, Meaning::Number(number)) => Spelling::Int32(number),
            (Type::INT64, Meaning::Number(Number::Date)) => return refused(),
            (Type::INT64, Meaning::Number(number)) => Spelling::Int64(number),
            (Type::BYTE_ARRAY, Meaning::Plain) => Spelling::Bytes(Bytes::Plain),
            (Type::FIXED_LEN_BYTE_ARRAY, Meaning::Plain) => Spelling::FixedBytes(Bytes::Plain, len),
            (Type::BYTE_ARRAY, Meaning::Number(Number::Decimal { scale })) => {
                Spelling::Bytes(Bytes::Decimal { scale })
            }
            (Type::FIXED_LEN_BYTE_ARRAY, Meaning::Number(Number::Decimal { scale })) => {
                Spelling::FixedBytes(Bytes::Decimal { scale }, len)
            }
            (Type::FIXED_LEN_BYTE_ARRAY, Meaning::Uuid) => Spelling::FixedBytes(Bytes::Uuid, len),
            _ => return refused(),
        })
    }
}

/// What the file says about the values, in its new words or else its old ones.
enum Meaning {
    Plain,
    Number(Number),
    Uuid,
    Other,
}

impl Meaning {
    fn of(column: &ColumnDescriptor) -> Self {
        let integer = |signed| {
            Meaning::Number(match signed {
                true => Number::Signed,
                false => Number::Unsigned,
            })
        };
        // Beyond the digits of an i128 nothing can be left of the point.
        let decimal = |scale: i32| match usize::try_from(scale) {
            Ok(scale @ 0..=38) => Meaning::Number(Number::Decimal { scale }),
            _ => Meaning::Other,
        };
        let instant = |per_second, utc| Meaning::Number(Number::Timestamp { per_second, utc });
        match column.logical_type_ref() {
            Some(LogicalType::Integer(about)) => return integer(about.is_signed),
            Some(LogicalType::Decimal(about)) => return decimal(about.scale),
            Some(LogicalType::Date) => return Meaning::Number(Number::Date),
            Some(LogicalType::Timestamp(about)) => {
                let per_second = match about.unit {
                    TimeUnit::MILLIS => 1_000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                };
                return instant(per_second, about.is_adjusted_to_u_t_c);
            }
            Some(LogicalType::Uuid) => return Meaning::Uuid,
            Some(
                LogicalType::String
                | LogicalType::Enum
                | LogicalType::Json
                | LogicalType::Bson
                | LogicalType::Geometry(_)
                | LogicalType::Geography(_)
                | LogicalType::Unknown,
            ) => return Meaning::Plain,
            Some(_) => return Meaning::Other,
            None => {}
        }
        match column.converted_type() {
            ConvertedType::NONE
            | ConvertedType::UTF8
            | ConvertedType::ENUM
            | ConvertedType::JSON
            | ConvertedType::BSON => Meaning::Plain,
            ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => integer(true),
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => integer(false),
            ConvertedType::DECIMAL => decimal(column.type_scale()),
            ConvertedType::DATE => Meaning::Number(Number::Date),
            ConvertedType::TIMESTAMP_MILLIS => instant(1_000, true),
            ConvertedType::TIMESTAMP_MICROS => instant(1_000_000, true),
            _ => Meaning::Other,
        }
    }
}

pub(crate) fn bool(value: &bool, key: &mut Vec<u8>) -> Result<()> {
    Ok(write!(key, "{value}")?)
}

impl Number {
    pub(crate) fn write_32(self, value: i32, key: &mut Vec<u8>) -> Result<()> {
        match self {
            // What is unsigned in the file has only been read as if it were not.
            Number::Unsigned => Ok(write!(key, "{}", value.cast_unsigned())?),
            Number::Date => date(i64::from(value), key),
            _ => self.write_64(i64::from(value), key),
        }
    }

    pub(crate) fn write_64(self, value: i64, key: &mut Vec<u8>) -> Result<()> {
        match self {
            Number::Signed => Ok(write!(key, "{value}")?),
            Number::Unsigned => Ok(write!(key, "{}", value.cast_unsigned())?),
            Number::Decimal { scale } => decimal(i128::from(value), scale, key),
            Number::Date => date(value, key),
            Number::Timestamp { per_second, utc } => timestamp(value, per_second, utc, key),
        }
    }
}

impl Bytes {
    pub(crate) fn write(self, value: &[u8], key: &mut Vec<u8>) -> Result<()> {
        match self {
            Bytes::Plain => key.extend_from_slice(value),
            Bytes::Decimal { scale } => {
                return decimal(unscaled(value)?, scale, key);
            }
            Bytes::Uuid => {
                if value.len() != 16 {
                    bail!("a UUID of {} bytes", value.len());
                }
                for (at, byte) in value.iter().enumerate() {
                    let hyphen = if matches!(at, 4 | 6 | 8 | 10) {
                        "-"
                    } else {
                        ""
                    };
                    write!(key, "{hyphen}{byte:02x}")?;
                }
            }
        }
        Ok(())
    }
}

/// The digits of a decimal that is stored as bytes.
pub(crate) fn unscaled(value: &[u8]) -> Result<i128> {
    if value.len() > 16 {
        bail!(
            "a decimal of {} bytes; at most 16 are supported",
            value.len()
        );
    }
    // The first byte is the highest, and has the sign.
    let sign = value
        .first()
        .map_or(0, |&first| i128::from(first.cast_signed() >> 7));
    Ok(value
        .iter()
        .fold(sign, |n, &byte| n << 8 | i128::from(byte)))
}

fn decimal(number: i128, scale: usize, key: &mut Vec<u8>) -> Result<()> {
    if scale == 0 {
        return Ok(write!(key, "{number}")?);
    }
    let sign = if number < 0 { "-" } else { "" };
    let unit = 10u128.pow(scale as u32);
    let (whole, part) = (number.unsigned_abs() / unit, number.unsigned_abs() % unit);
    Ok(write!(key, "{sign}{whole}.{part:0scale$}")?)
}

fn timestamp(value: i64, per_second: i64, utc: bool, key: &mut Vec<u8>) -> Result<()> {
    let (second, part) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    date(second.div_euclid(86_400), key)?;
    let second = second.rem_euclid(86_400);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    write!(key, "T{hour:02}:{minute:02}:{:02}", second % 60)?;
    // As many digits as it takes, in threes.
    match part * (1_000_000_000 / per_second) {
        0 => {}
        nanos if nanos % 1_000_000 == 0 => write!(key, ".{:03}", nanos / 1_000_000)?,
        nanos if nanos % 1_000 == 0 => write!(key, ".{:06}", nanos / 1_000)?,
        nanos => write!(key, ".{nanos:09}")?,
    }
    if utc {
        key.push(b'Z');
    }
    Ok(())
}

/// The date this many days after 1 January 1970, in the proleptic Gregorian calendar.
fn date(days: i64, key: &mut Vec<u8>) -> Result<()> {
    // It repeats every 400 years, so that all of them can be told from those after 1970.
    const CYCLE: i64 = 146_097;
    let (cycles, days) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let date = civil::date(1970, 1, 1).checked_add(Span::new().days(days))?;
    let (year, month, day) = (
        cycles * 400 + i64::from(date.year()),
        date.month(),
        date.day(),
    );
    match year {
        0..=9999 => write!(key, "{year:04}-{month:02}-{day:02}")?,
        _ => write!(key, "{year:+05}-{month:02}-{day:02}")?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>) -> Result<()>) -> String {
        let mut key = Vec::new();
        write(&mut key).unwrap();
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (10_957, "2000-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_782, "2024-02-29"),
            (-25_508, "1900-03-01"),
            (-25_509, "1900-02-28"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "+10000-01-01"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
        ] {
            assert_eq!(written(|key| date(days, key)), text);
        }
        // Every day follows the day before: 800 years of them.
        let mut last = written(|key| date(-200_000, key));
        for days in -199_999..100_000 {
            let next = written(|key| date(days, key));
            let (_, day) = next.rsplit_once('-').unwrap();
            let (_, day_before) = last.rsplit_once('-').unwrap();
            let one_more = format!("{:02}", day_before.parse::<u32>().unwrap() + 1);
            assert!(
                next > last && (day == one_more || day == "01"),
                "{last} {next}"
            );
            last = next;
        }
        for days in [i64::from(i32::MIN), i64::from(i32::MAX)] {
            written(|key| date(days, key));
        }
    }

    #[test]
    fn one_instant_has_one_text_in_every_unit() {
        let cases = [
            (1_709_208_000_500, 1_000, "2024-02-29T12:00:00.500Z"),
            (1_709_208_000_500_000, 1_000_000, "2024-02-29T12:00:00.500Z"),
            (
                1_709_208_000_500_000_000,
                1_000_000_000,
                "2024-02-29T12:00:00.500Z",
            ),
            (
                1_709_208_000_000_001,
                1_000_000,
                "2024-02-29T12:00:00.000001Z",
            ),
            (1_709_208_000_000, 1_000, "2024-02-29T12:00:00Z"),
            (-1, 1_000_000_000, "1969-12-31T23:59:59.999999999Z"),
        ];
        for (value, per_second, text) in cases {
            assert_eq!(written(|key| timestamp(value, per_second, true, key)), text);
        }
        let extremes = [i64::MIN, i64::MAX];
        for (value, per_second) in extremes
            .into_iter()
            .flat_map(|v| [(v, 1_000), (v, 1_000_000_000)])
        {
            written(|key| timestamp(value, per_second, false, key));
        }
        assert_eq!(
            written(|key| timestamp(0, 1_000, false, key)),
            "1970-01-01T00:00:00"
        );
    }

    #[test]
    fn decimals_keep_their_scale_and_sign() {
        for (number, scale, text) in [
            (0, 0, "0"),
            (-42, 0, "-42"),
            (1250, 2, "12.50"),
            (-5, 2, "-0.05"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            assert_eq!(written(|key| decimal(number, scale, key)), text);
        }
        let bytes = |value: &[u8]| written(|key| Bytes::Decimal { scale: 0 }.write(value, key));
        assert_eq!(bytes(&[0xff]), "-1");
        assert_eq!(bytes(&[0x00, 0xff]), "255");
        assert_eq!(bytes(&[0x80, 0x00]), "-32768");
        assert_eq!(bytes(&[]), "0");
        assert_eq!(bytes(&[0xff; 16]), "-1");
    }
}

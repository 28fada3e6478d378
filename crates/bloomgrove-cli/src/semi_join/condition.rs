//! Conditions on rows: `COLUMN OP VALUE`, compared by the type of the column.
//!
//! | column | VALUE | compared |
//! |---|---|---|
//! | integers, decimals | `42`, `-0.5` | as exact numbers, whatever the scale of each |
//! | floats | `0.5`, `1e6` | as floats; NaN matches nothing |
//! | dates | `1995-03-15` | as dates |
//! | timestamps | `1995-03-15T12:00:00Z`, or a date | as instants; without a zone, UTC |
//! | booleans | `true`, `false` | false before true |
//! | UUIDs | with hyphens | as bytes |
//! | text, binary | anything | byte by byte |
//! | CSV | a number without quotes | as exact numbers; a field that is not a number is an error |
//! | CSV | anything else | byte by byte, which suits ISO dates |
//!
//! A null or an empty CSV field matches no condition, as in SQL.

use std::cmp::Ordering;
use std::str::FromStr;

use ::parquet::basic::Type;
use ::parquet::schema::types::ColumnDescriptor;
use anyhow::{Context, Result, bail};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::shared::keys::parquet::values::{Bytes, Number, Spelling};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// What they are written as; where two begin alike, the longer one comes first.
const OPS: [(&str, Op); 7] = [
    ("!=", Op::NotEqual),
    ("<>", Op::NotEqual),
    ("<=", Op::AtMost),
    (">=", Op::AtLeast),
    ("<", Op::Less),
    (">", Op::Greater),
    ("=", Op::Equal),
];

impl Op {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Op::Equal => order.is_eq(),
            Op::NotEqual => order.is_ne(),
            Op::Less => order.is_lt(),
            Op::AtMost => order.is_le(),
            Op::Greater => order.is_gt(),
            Op::AtLeast => order.is_ge(),
        }
    }
}

/// A condition as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) text: String,
    pub(super) column: String,
    op: Op,
    value: String,
    quoted: bool,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a condition as COLUMN OP VALUE, with one of = != < <= > >=";
        let trimmed = text.trim();
        let (column, rest) = match trimmed.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
            None => {
                let at = trimmed.find(['=', '<', '>', '!']).ok_or_else(wrong)?;
                trimmed.split_at(at)
            }
        };
        let rest = rest.trim_start();
        let found = OPS
            .iter()
            .find_map(|(sign, op)| Some((*op, rest.strip_prefix(sign)?)));
        let (op, value) = found.ok_or_else(wrong)?;
        let (value, quoted) = match unquoted(value.trim()) {
            Some(inner) => (inner, true),
            None => (value.trim().to_owned(), false),
        };
        let column = column.trim().to_owned();
        if column.is_empty() || value.is_empty() && !quoted {
            return Err(format!("{}; an empty VALUE is written ''", wrong()));
        }
        Ok(Self {
            text: text.to_owned(),
            column,
            op,
            value,
            quoted,
        })
    }
}

/// The text between single quotes, where two of them stand for one, as in SQL.
fn unquoted(value: &str) -> Option<String> {
    let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inner.replace("''", "'"))
}

/// A condition for a column of a known type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test {
    op: Op,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// In units of the column; `exact` is false if it lies between this one and the next.
    Number {
        floor: i128,
        exact: bool,
    },
    Float(f64),
    Bytes(Vec<u8>),
    /// For text in which numbers are written.
    Written(Decimal),
}

impl Condition {
    /// The test of a column of a Parquet file.
    pub(super) fn for_column(&self, column: &ColumnDescriptor) -> Result<Test> {
        let value = self.value_for(column);
        Ok(Test {
            op: self.op,
            value: value.with_context(|| format!("condition {:?}", self.text))?,
        })
    }

    fn value_for(&self, column: &ColumnDescriptor) -> Result<Value> {
        if matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE) {
            let float = match column.physical_type() {
                // The nearest number that the column can have.
                Type::FLOAT => self.value.parse::<f32>().map(f64::from),
                _ => self.value.parse(),
            };
            let float = float.with_context(|| format!("{:?} is not a number", self.value))?;
            return Ok(Value::Float(float));
        }
        let Ok(spelling) = Spelling::of(column) else {
            bail!(
                "column {} has a type that cannot be compared; use another column",
                column.path().string()
            );
        };
        Ok(match spelling {
            Spelling::Bool => {
                let Ok(value) = self.value.parse::<bool>() else {
                    bail!("{:?} is neither true nor false", self.value);
                };
                number(value.into())
            }
            Spelling::Int32(about) | Spelling::Int64(about) => self.number_for(about)?,
            Spelling::Bytes(about) | Spelling::FixedBytes(about, _) => match about {
                Bytes::Plain => Value::Bytes(self.value.clone().into_bytes()),
                Bytes::Decimal { scale } => self.decimal()?.at(scale),
                Bytes::Uuid => Value::Bytes(self.uuid()?),
            },
        })
    }

    fn number_for(&self, about: Number) -> Result<Value> {
        Ok(match about {
            Number::Signed | Number::Unsigned => self.decimal()?.at(0),
            Number::Decimal { scale } => self.decimal()?.at(scale),
            Number::Date => {
                let date = self.value.parse::<jiff::civil::Date>();
                let date =
                    date.with_context(|| format!("{:?} is not a date (1995-03-15)", self.value))?;
                number(nanoseconds(
                    date.to_datetime(jiff::civil::Time::midnight()),
                )?)
                .per(DAY)
            }
            Number::Timestamp { per_second, utc } => {
                let wrong = || {
                    let value = &self.value;
                    format!("{value:?} is not a time (1995-03-15T12:00:00Z) or date")
                };
                let zoned = self.value.parse::<jiff::Timestamp>();
                let nanoseconds = match (zoned, self.value.parse::<DateTime>()) {
                    (Ok(_), _) if !utc => {
                        bail!("the times of this column have no zone; leave it out")
                    }
                    (Ok(time), _) => time.as_nanosecond(),
                    (_, civil) => nanoseconds(civil.with_context(wrong)?)?,
                };
                number(nanoseconds).per(1_000_000_000 / i128::from(per_second))
            }
        })
    }

    fn decimal(&self) -> Result<Decimal> {
        Decimal::parse(self.value.as_bytes())
            .with_context(|| format!("{:?} is not a number such as 42 or -0.5", self.value))
    }

    fn uuid(&self) -> Result<Vec<u8>> {
        let digits: String = self.value.chars().filter(|&c| c != '-').collect();
        let bytes = u128::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| digits.len() == 32);
        let bytes = bytes.with_context(|| format!("{:?} is not a UUID", self.value))?;
        // The first digit is the highest.
        let mut bytes = bytes.to_le_bytes().to_vec();
        bytes.reverse();
        Ok(bytes)
    }

    /// The test of a column of text without a type.
    pub(super) fn for_text(&self) -> Test {
        let decimal = Decimal::parse(self.value.as_bytes()).filter(|_| !self.quoted);
        Test {
            op: self.op,
            value: match decimal {
                Some(decimal) => Value::Written(decimal),
                None => Value::Bytes(self.value.clone().into_bytes()),
            },
        }
    }
}

const DAY: i128 = 86_400_000_000_000;

fn number(floor: i128) -> Value {
    Value::Number { floor, exact: true }
}

impl Value {
    /// A number in units that are this many times as large.
    fn per(self, unit: i128) -> Self {
        match self {
            Value::Number { floor, exact } => Value::Number {
                floor: floor.div_euclid(unit),
                exact: exact && floor.rem_euclid(unit) == 0,
            },
            other => other,
        }
    }
}

fn nanoseconds(time: DateTime) -> Result<i128> {
    Ok(time.to_zoned(TimeZone::UTC)?.timestamp().as_nanosecond())
}

impl Test {
    /// Whether a number holds, in the units of the column.
    #[inline]
    pub(super) fn number(&self, found: i128) -> bool {
        match self.value {
            Value::Number { floor, exact } => {
                let order = found.cmp(&floor);
                self.op.holds(match order {
                    Ordering::Equal if !exact => Ordering::Less,
                    order => order,
                })
            }
            _ => false,
        }
    }

    pub(super) fn float(&self, found: f64) -> bool {
        match self.value {
            Value::Float(value) => found
                .partial_cmp(&value)
                .is_some_and(|order| self.op.holds(order)),
            _ => false,
        }
    }

    pub(super) fn bytes(&self, found: &[u8]) -> bool {
        match &self.value {
            Value::Bytes(value) => self.op.holds(found.cmp(value)),
            _ => false,
        }
    }

    /// Whether a field of text holds.
    pub(super) fn field(&self, found: &[u8]) -> Result<bool> {
        let Value::Written(value) = &self.value else {
            return Ok(self.bytes(found));
        };
        let Some(found) = Decimal::parse(found.trim_ascii()) else {
            let found = String::from_utf8_lossy(found);
            bail!("{found:?} is not a number; to compare text, write the value in single quotes");
        };
        Ok(self.op.holds(found.cmp(value)))
    }
}

/// A number with all its digits: `unscaled` / 10^`scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decimal {
    unscaled: i128,
    scale: u32,
}

/// The most digits of which every number fits into an i128.
const DIGITS: usize = 38;

impl Decimal {
    fn parse(text: &[u8]) -> Option<Self> {
        let (sign, digits) = match text {
            [b'-', rest @ ..] => (-1, rest),
            [b'+', rest @ ..] => (1, rest),
            rest => (1, rest),
        };
        let (mut unscaled, mut scale, mut count) = (0i128, None, 0);
        for byte in digits {
            match byte {
                b'0'..=b'9' if count < DIGITS => {
                    unscaled = unscaled * 10 + i128::from(byte - b'0');
                    scale = scale.map(|scale| scale + 1);
                    count += 1;
                }
                b'.' if scale.is_none() => scale = Some(0),
                _ => return None,
            }
        }
        (count > 0).then_some(Self {
            unscaled: sign * unscaled,
            scale: scale.unwrap_or(0),
        })
    }

    /// In units of a column with this many digits after the point.
    fn at(self, scale: usize) -> Value {
        let scale = scale as u32;
        match scale.checked_sub(self.scale) {
            // What is too large to be written so is beyond every value of the column.
            Some(more) => number(self.unscaled.saturating_mul(10i128.pow(more))),
            None => number(self.unscaled).per(10i128.pow(self.scale - scale)),
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        let parts = |number: &Self| {
            let unit = 10i128.pow(number.scale);
            let part = number.unscaled.rem_euclid(unit);
            let part = part * 10i128.pow(DIGITS as u32 - number.scale);
            (number.unscaled.div_euclid(unit), part)
        };
        parts(self).cmp(&parts(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn conditions_are_a_column_an_operator_and_a_value() {
        for (text, column, op, value, quoted) in [
            ("a = 1", "a", Op::Equal, "1", false),
            ("a<=1", "a", Op::AtMost, "1", false),
            ("a <> 'it''s'", "a", Op::NotEqual, "it's", true),
            ("a != ''", "a", Op::NotEqual, "", true),
            ("b.c >= 1995-01-01", "b.c", Op::AtLeast, "1995-01-01", false),
            ("\"x=y\" > z w", "x=y", Op::Greater, "z w", false),
        ] {
            let found = condition(text);
            assert_eq!(
                (found.column.as_str(), found.op, found.value.as_str()),
                (column, op, value)
            );
            assert_eq!(found.quoted, quoted, "{text}");
        }
        for text in ["", "a", "= 1", "a =", "a ! 1", "\"a = 1"] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains("COLUMN OP VALUE"), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_are_compared_exactly_whatever_their_scales() {
        let order = [
            "-2", "-1.5", "-1.25", "-1", "0", "0.0001", "0.5", "1", "1.5",
        ];
        let parsed = order.map(|text| Decimal::parse(text.as_bytes()).unwrap());
        for (i, a) in parsed.iter().enumerate() {
            for (j, b) in parsed.iter().enumerate() {
                assert_eq!(a.cmp(b), i.cmp(&j), "{} {}", order[i], order[j]);
                // The same as values of a column with two digits after the point.
                if a.scale <= 2 {
                    let test = |op| Test { op, value: b.at(2) };
                    let value = a.unscaled * 10i128.pow(2 - a.scale);
                    for (_, op) in OPS {
                        assert_eq!(test(op).number(value), op.holds(i.cmp(&j)));
                    }
                }
            }
        }
        for text in ["", ".", "-", "1.2.3", "1e3", "x", &"9".repeat(39)] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_field_of_text_is_a_number_if_the_value_is_one() {
        assert!(condition("a > 9").for_text().field(b"10").unwrap());
        assert!(!condition("a > '9'").for_text().field(b"10").unwrap());
        assert!(condition("a = 1").for_text().field(b"1.00").unwrap());
        let error = condition("a > 9").for_text().field(b"ten").unwrap_err();
        assert!(error.to_string().contains("single quotes"), "{error}");
        let dates = condition("a >= 1995-01-01").for_text();
        assert!(dates.field(b"1995-01-02").unwrap() && !dates.field(b"1994-12-31").unwrap());
    }
}

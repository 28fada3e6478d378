//! Which keys a text must contain for a pattern to match in it.

/// A condition on the keys of a text: if it does not hold, the pattern does not match.
///
/// ```
/// use bloomgrove_keys::{Extraction, Needed, Pattern};
///
/// let pattern = Pattern::regex(r"order \d+ (failed|was lost)\b")?;
/// let needed = pattern.needed(&Extraction::Tokens);
/// assert_eq!(needed.to_string(), "any of (failed, all of (was, lost))");
/// # Ok::<(), bloomgrove_keys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Needed {
    /// This key.
    Key(Vec<u8>),
    /// All of these conditions. Without any, nothing is known: every text may match.
    All(Vec<Needed>),
    /// At least one of these conditions. Without any, no text matches.
    Any(Vec<Needed>),
}

impl Needed {
    /// Nothing is known: every text may match.
    pub const UNKNOWN: Self = Self::All(Vec::new());

    /// Whether nothing is known, so that every text must be read.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::All(all) if all.is_empty())
    }

    pub(crate) fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for condition in conditions {
            match condition {
                Self::All(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        dedup(&mut flat);
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(flat) => Self::All(flat),
        }
    }

    pub(crate) fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for condition in conditions {
            match condition {
                unknown if unknown.is_unknown() => return Self::UNKNOWN,
                Self::Any(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        dedup(&mut flat);
        match <[Self; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(flat) => Self::Any(flat),
        }
    }

    /// Appends the keys of the condition, from left to right.
    pub fn keys<'a>(&'a self, keys: &mut Vec<&'a [u8]>) {
        match self {
            Self::Key(key) => keys.push(key),
            Self::All(inner) | Self::Any(inner) => inner.iter().for_each(|one| one.keys(keys)),
        }
    }

    /// Whether a text may match, given which keys it may contain.
    pub fn may_match(&self, contains: &mut impl FnMut(&[u8]) -> bool) -> bool {
        match self {
            Self::Key(key) => contains(key),
            Self::All(inner) => inner.iter().all(|one| one.may_match(contains)),
            Self::Any(inner) => inner.iter().any(|one| one.may_match(contains)),
        }
    }
}

fn dedup(conditions: &mut Vec<Needed>) {
    let mut seen = std::collections::HashSet::new();
    conditions.retain(|one| seen.insert(one.clone()));
}

impl std::fmt::Display for Needed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |f: &mut std::fmt::Formatter<'_>, lead: &str, all: &[Needed]| {
            write!(f, "{lead} (")?;
            for (at, one) in all.iter().enumerate() {
                write!(f, "{}{one}", if at == 0 { "" } else { ", " })?;
            }
            f.write_str(")")
        };
        match self {
            Self::Key(key) => write!(f, "{}", String::from_utf8_lossy(key)),
            unknown if unknown.is_unknown() => f.write_str("anything"),
            Self::All(all) => list(f, "all of", all),
            Self::Any(any) => list(f, "any of", any),
        }
    }
}

//! Checks before a query is parsed, for anything that could make the parser recurse without bound.
//!
//! | in a query | cost |
//! |---|---|
//! | nested brackets | one level of the stack each, when parsed, optimised and evaluated |
//! | sequences of operators: `a+a+a`, `{} UNION {}`, `a/a/a` | one level each, once parsed |
//! | `f(f(f(x)))`, `!(!(x))` | the parser tries the inner part twice, at every level |
//! | triple patterns | one level each, when evaluated; and the time for ordering them |
//!
//! Depending on the context, the parser reads `<` as the start of an IRI or as *less than*, and what follows as a comment
//! or a text or neither. Here it is an IRI whenever it can be one; and so that the parser cannot read it differently,
//! comments are removed, and `#` and `'` in IRIs are escaped.

use bloomgrove_client::api::LONGEST_ID;

/// Maximum number of open brackets.
pub(super) const DEEPEST: usize = 100;
/// Maximum number of these that follow a function or `!`.
const DEEPEST_CALLS: usize = 16;
/// Maximum number of brackets and operators.
pub(super) const MOST_JOINTS: usize = 1000;
/// Maximum number of tokens in a list `(1 2 3)`.
const LONGEST_LIST: usize = 4000;
/// Maximum number of triple patterns and groups: the time for choosing a join order grows with
/// the fourth power of their number, and cannot be aborted.
pub(super) const MOST_PATTERNS: usize = 120;

/// The query in the form that is safe for the parser.
///
/// # Errors
/// Which limit it exceeds.
pub(super) fn check(query: &str) -> Result<String, String> {
    let mut scan = Scan::default();
    let mut clean = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '#' => {
                rest = &rest[rest.find(['\n', '\r']).unwrap_or(rest.len())..];
                continue;
            }
            '"' | '\'' => text(rest, first),
            // In a name; before anything else, the parser stops.
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '<' => match iri(rest) {
                Some(end) => {
                    scan.iri(&rest[..end])?;
                    let escaped = rest[..end].replace('#', "\\u0023");
                    clean.push_str(&escaped.replace('\'', "\\u0027"));
                    rest = &rest[end..];
                    continue;
                }
                None => 1,
            },
            c => c.len_utf8(),
        };
        match end == first.len_utf8() {
            true => scan.take(first)?,
            false => scan.one_more()?,
        }
        clean.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    Ok(clean)
}

/// Length of an IRI that starts here, if one can.
fn iri(rest: &str) -> Option<usize> {
    let no_iri = |c: char| c <= ' ' || "<>\"{}|^`".contains(c);
    let end = 1 + rest[1..].find(no_iri)?;
    (rest[end..].starts_with('>') && end <= LONGEST_ID).then_some(end + 1)
}

/// Length of a text that starts here, with one or three quotes. A short one ends at the end of its line.
fn text(rest: &str, quote: char) -> usize {
    let three = quote.to_string().repeat(3);
    let long = rest.starts_with(&three);
    let close = if long { &three } else { &three[..1] };
    let mut at = close.len();
    while let Some(next) = rest.get(at..).and_then(|rest| rest.chars().next()) {
        if rest[at..].starts_with(close) {
            return at + close.len();
        }
        if !long && matches!(next, '\n' | '\r') {
            return at;
        }
        at += next.len_utf8();
        if next == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

/// What is open, and totals.
#[derive(Default)]
struct Scan {
    /// For each open bracket: how often its content may be tried twice, and whether it is round.
    open: Vec<(usize, bool)>,
    calls: usize,
    /// Tokens, IRIs and texts since the last bracket, operator or comma.
    run: usize,
    joints: usize,
    /// Whether there was a `!` since the last bracket.
    not: bool,
    /// Whether the last character was part of a name.
    name: bool,
}

impl Scan {
    fn take(&mut self, c: char) -> Result<(), String> {
        match c {
            '{' | '(' | '[' => {
                let calls = usize::from(self.not) + usize::from(self.name && c == '(');
                self.open.push((calls, c == '('));
                self.calls += calls;
                self.not = false;
                self.joint()?;
                if self.open.len() > DEEPEST {
                    return Err(format!(
                        "the query has more than {DEEPEST} nested brackets; flatten it"
                    ));
                }
                if self.calls > DEEPEST_CALLS {
                    return Err(format!(
                        "the query has more than {DEEPEST_CALLS} nested functions or \
                         negations; name some of them with BIND"
                    ));
                }
            }
            '}' | ')' | ']' => {
                self.calls -= self.open.pop().map_or(0, |(calls, _)| calls);
                self.not = false;
                self.run = 0;
            }
            '!' => {
                self.not = true;
                self.joint()?;
            }
            '+' | '-' | '*' | '/' | '|' | '&' | '^' | '=' | '<' | '>' => self.joint()?,
            ',' => self.run = 0,
            _ => self.one_more()?,
        }
        if !c.is_whitespace() {
            self.name = c.is_alphanumeric() || matches!(c, '_' | ':' | '-');
        }
        Ok(())
    }

    /// What may be an IRI, or something between *less than* and *greater than*.
    fn iri(&mut self, iri: &str) -> Result<(), String> {
        let (before, calls) = (self.open.len(), self.calls);
        let mut inside = Self {
            open: self.open.clone(),
            calls,
            not: self.not,
            ..Self::default()
        };
        let brackets = iri.chars().filter(|c| "()[]!".contains(*c));
        for c in brackets {
            if inside.open.len() == before && matches!(c, ')' | ']') {
                // One of the IRI, or one of the query, which then counts for longer than it is open.
                continue;
            }
            inside.name = true;
            inside.take(c)?;
        }
        // What it leaves open stays counted.
        (self.open, self.calls) = (inside.open, inside.calls);
        self.joints += inside.joints;
        self.name = true;
        self.one_more()
    }

    /// One more element of a list, if this is one: the parser's time grows with the square of their number.
    fn one_more(&mut self) -> Result<(), String> {
        self.run += 1;
        match self.run > LONGEST_LIST && self.open.last().is_some_and(|(_, round)| *round) {
            true => Err(
                "the query contains a list that is too long; split the query, or use VALUES".into(),
            ),
            false => Ok(()),
        }
    }

    fn joint(&mut self) -> Result<(), String> {
        self.run = 0;
        self.joints += 1;
        match self.joints > MOST_JOINTS {
            true => Err(format!(
                "the query has more than {MOST_JOINTS} brackets and operators; split it, or \
                 use VALUES"
            )),
            false => Ok(()),
        }
    }
}

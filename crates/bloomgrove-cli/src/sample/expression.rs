//! What FILTER means: a file, or filters joined by `&` and `|`.
//!
//! ```text
//!   either  =  both  { "|" both }
//!   both    =  one   { "&" one }           binds tighter
//!   one     =  file  |  "file"  |  ( either )
//! ```
//!
//! A name of a file goes on to the next operator, spaces inside it included; one that has an
//! operator in it stands in double quotes. What is the name of a file as a whole, is that file.

use std::ffi::OsStr;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::sample::Query;
use bloomgrove::{Error, MappedFilter, Params};

use crate::filter::KEYS_NOTE;
use crate::filter::check::{VERIFIED_ALWAYS, kind_of};
use crate::keys::KeyKind;

/// Operations on operations, and filters in all: nobody writes so many by hand, and no stack
/// has to hold more.
const DEEPEST: usize = 100;
const MOST: usize = 1000;

/// Filters, and how they are joined.
pub(super) struct Expression {
    /// As it was written.
    shown: String,
    filters: Vec<Opened>,
    tree: Tree,
}

struct Opened {
    path: PathBuf,
    filter: MappedFilter,
    /// How its keys were read, and whether it says so itself.
    kind: KeyKind,
    noted: bool,
}

#[derive(Debug, PartialEq)]
enum Tree {
    Filter(usize),
    And(Box<(Tree, Tree)>),
    Or(Box<(Tree, Tree)>),
}

impl Expression {
    /// Opens the filters of an expression. Small ones are checked: a damaged filter would
    /// say no to names that are in.
    pub(super) fn open(written: &OsStr) -> Result<Self> {
        let shown = written.to_string_lossy().into_owned();
        let (tree, paths) = match written.to_str() {
            Some(text) if !Path::new(written).exists() => parse(text)?,
            _ => (Tree::Filter(0), vec![PathBuf::from(written)]),
        };
        let mut filters: Vec<Opened> = Vec::new();
        for path in paths {
            let opened = Opened::new(path)?;
            if let Some(first) = filters.first() {
                first.check_equal(&opened)?;
            }
            filters.push(opened);
        }
        Ok(Self {
            shown,
            filters,
            tree,
        })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// What is asked about; all filters have equal parameters.
    pub(super) fn query(&self) -> Result<Query<'_>, Error> {
        self.tree.query(&self.filters)
    }

    /// The filter, if it is only one.
    pub(super) fn only(&self) -> Option<&MappedFilter> {
        match self.tree {
            Tree::Filter(at) => Some(&self.filters[at].filter),
            _ => None,
        }
    }

    /// A file of these parameters.
    pub(super) fn first_file(&self) -> &Path {
        &self.filters[0].path
    }

    pub(super) fn params(&self) -> &Params {
        self.filters[0].filter.params()
    }

    /// Bytes of all filters.
    pub(super) fn bytes(&self) -> u64 {
        self.filters.len() as u64 * self.params().words() as u64 * 8
    }

    /// How keys were read when the filters were built.
    pub(super) fn kind(&self) -> KeyKind {
        self.filters[0].kind
    }

    /// Whether a filter says so itself.
    pub(super) fn kind_is_noted(&self) -> bool {
        self.filters.iter().any(|opened| opened.noted)
    }
}

impl Opened {
    fn new(path: PathBuf) -> Result<Self> {
        if !path.exists() && path.to_string_lossy().contains([' ', '!']) {
            bail!(
                "{}: no such file; filters are joined by & and |, with ( and ), and there is no \
                 other operator",
                path.display()
            );
        }
        let size = std::fs::metadata(&path).map_or(0, |about| about.len());
        // Of what is no filter, mapping says what it is.
        let filter = MappedFilter::map(&path)?;
        if size <= VERIFIED_ALWAYS {
            bloomgrove::verify(&path)?;
        }
        let notes = Notes::of_file(&path)?;
        Ok(Self {
            kind: kind_of(&filter, &notes),
            noted: notes.get(KEYS_NOTE).is_some(),
            path,
            filter,
        })
    }

    fn check_equal(&self, other: &Self) -> Result<()> {
        let (one, two) = (self.path.display(), other.path.display());
        if self.filter.params() != other.filter.params() {
            let error = Error::Incompatible {
                left: Box::new(self.filter.params().clone()),
                right: Box::new(other.filter.params().clone()),
            };
            bail!("{one} and {two}: {error}");
        }
        if self.kind != other.kind {
            bail!(
                "the keys of {one} were read as {}, and those of {two} as {}; they cannot be \
                 asked together",
                self.kind.name(),
                other.kind.name()
            );
        }
        Ok(())
    }
}

impl Tree {
    fn query<'f>(&self, filters: &'f [Opened]) -> Result<Query<'f>, Error> {
        match self {
            Tree::Filter(at) => Ok(Query::of(&filters[*at].filter)),
            Tree::And(both) => both.0.query(filters)?.and(both.1.query(filters)?),
            Tree::Or(both) => both.0.query(filters)?.or(both.1.query(filters)?),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Sign(char),
    File(String),
    End,
}

/// The files of an expression, each once, and how they are joined.
fn parse(text: &str) -> Result<(Tree, Vec<PathBuf>)> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?.into_iter().peekable(),
        files: Vec::new(),
        operands: 0,
    };
    let tree = parser.either(0)?;
    match parser.next() {
        (_, Token::End) => {}
        (at, Token::Sign(')')) => parser.fail(at, "this ) closes nothing")?,
        (at, _) => parser.fail(at, "an & or | is missing before this")?,
    }
    Ok((tree, parser.files))
}

/// The tokens, each with the number of its first character, counted from 1.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let sign = |c: &char| matches!(c, '&' | '|' | '(' | ')' | '"');
        let token = match chars[at] {
            ' ' => {
                at += 1;
                continue;
            }
            '"' => {
                let rest = &chars[at + 1..];
                let Some(len) = rest.iter().position(|&c| c == '"') else {
                    bail!("in {text}, at character {}: this \" has no end", at + 1);
                };
                at += len + 2;
                Token::File(rest[..len].iter().collect())
            }
            c if sign(&c) => {
                at += 1;
                Token::Sign(c)
            }
            _ => {
                at += chars[at..].iter().take_while(|c| !sign(c)).count();
                let name: String = chars[start..at].iter().collect();
                Token::File(name.trim_end().to_owned())
            }
        };
        tokens.push((start + 1, token));
    }
    tokens.push((chars.len() + 1, Token::End));
    Ok(tokens)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Peekable<IntoIter<(usize, Token)>>,
    files: Vec<PathBuf>,
    /// How many there are so far, the same file counted each time.
    operands: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> (usize, Token) {
        self.tokens.next().unwrap_or((0, Token::End))
    }

    fn take(&mut self, sign: char) -> bool {
        let wanted = Token::Sign(sign);
        self.tokens.next_if(|(_, token)| *token == wanted).is_some()
    }

    fn fail<T>(&self, at: usize, what: &str) -> Result<T> {
        bail!("in {}, at character {at}: {what}", self.text)
    }

    fn either(&mut self, depth: usize) -> Result<Tree> {
        let mut tree = self.both(depth)?;
        while self.take('|') {
            tree = Tree::Or(Box::new((tree, self.both(depth)?)));
        }
        Ok(tree)
    }

    fn both(&mut self, depth: usize) -> Result<Tree> {
        let mut tree = self.one(depth)?;
        while self.take('&') {
            tree = Tree::And(Box::new((tree, self.one(depth)?)));
        }
        Ok(tree)
    }

    fn one(&mut self, depth: usize) -> Result<Tree> {
        let (at, token) = self.next();
        match token {
            Token::File(name) => {
                let path = PathBuf::from(name);
                let known = self.files.iter().position(|file| *file == path);
                let number = known.unwrap_or(self.files.len());
                if known.is_none() {
                    self.files.push(path);
                }
                self.operands += 1;
                match self.operands > MOST {
                    true => self.fail(at, "these are too many filters"),
                    false => Ok(Tree::Filter(number)),
                }
            }
            Token::Sign('(') if depth == DEEPEST => self.fail(at, "too many ( inside one another"),
            Token::Sign('(') => {
                let tree = self.either(depth + 1)?;
                match self.take(')') {
                    true => Ok(tree),
                    false => self.fail(at, "this ( is not closed"),
                }
            }
            Token::Sign(sign) => self.fail(at, &format!("a filter is missing before this {sign}")),
            Token::End => self.fail(at, "a filter is missing at the end"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression with all its parentheses, files by their names.
    fn shown(text: &str) -> String {
        fn show(tree: &Tree, files: &[PathBuf]) -> String {
            let both = |pair: &(Tree, Tree), sign| {
                format!("({}{sign}{})", show(&pair.0, files), show(&pair.1, files))
            };
            match tree {
                Tree::Filter(at) => files[*at].display().to_string(),
                Tree::And(pair) => both(pair, '&'),
                Tree::Or(pair) => both(pair, '|'),
            }
        }
        match parse(text) {
            Ok((tree, files)) => show(&tree, &files),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn and_binds_tighter_and_names_go_on_to_the_next_operator() {
        for (text, tree) in [
            ("a", "a"),
            (" my users.grove ", "my users.grove"),
            ("a&b|c", "((a&b)|c)"),
            ("a | b & c", "(a|(b&c))"),
            ("(a | b) & c & a", "(((a|b)&c)&a)"),
            ("\"r&d (1)\" & x", "(r&d (1)&x)"),
            ("((a))", "a"),
        ] {
            assert_eq!(shown(text), tree);
        }
        assert_eq!(parse("a & b & a").unwrap().1.len(), 2);
    }

    #[test]
    fn errors_name_the_place() {
        for (text, part) in [
            ("", "character 1: a filter is missing at the end"),
            ("a &", "character 4: a filter is missing at the end"),
            ("a & & b", "character 5: a filter is missing before this &"),
            ("(a | b", "character 1: this ( is not closed"),
            ("a)", "character 2: this ) closes nothing"),
            ("(a) b", "character 5: an & or | is missing"),
            ("a & \"b", "character 5: this \" has no end"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
        assert!(shown(&"(".repeat(200)).contains("too many ("));
        let many: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
        assert!(shown(&many.join("|")).contains("too many filters"));
    }
}

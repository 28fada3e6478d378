//! The syntax of a query: names of filters, joined by `&` and `|`.
//!
//! ```text
//!   either  =  both  { "|" both }
//!   both    =  one   { "&" one }           binds tighter
//!   one     =  name  |  "name"  |  ( either )
//! ```
//!
//! A name extends to the next operator and may contain spaces. A name that contains an operator
//! is written in double quotes.
//!
//! Cost: one pass over the text. A rejected text leaves nothing allocated, and the limits below
//! bound the stack.

use super::Query;
use crate::{Error, Filter};

/// Limits on nesting depth and on the number of filters, far above what anyone writes by hand.
const DEEPEST: usize = 100;
const MOST: usize = 1000;

/// An expression: names of filters and how they are joined.
///
/// ```
/// use bloomgrove::{Filter, Params, raw::sample::Expression};
///
/// let expression = Expression::parse("galway & (pune | quito)")?;
/// assert_eq!(expression.names(), ["galway", "pune", "quito"]);
///
/// let params = Params::for_items(1000, 0.01)?;
/// let mut galway = Filter::new(params.clone())?;
/// galway.insert_batch(&["heron", "gull"]);
/// let mut quito = Filter::new(params.clone())?;
/// quito.insert("heron");
///
/// let filters = [galway, Filter::new(params)?, quito];
/// let query = expression.query(&filters)?;
/// assert!(query.contains("heron") && !query.contains("gull"));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    names: Vec<String>,
    tree: Tree,
}

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    /// The index of a name.
    Name(usize),
    And(Box<(Tree, Tree)>),
    Or(Box<(Tree, Tree)>),
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`Error::Expression`] says what is wrong, and at which character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parser = Parser {
            text,
            tokens: Tokens::new(text),
            ahead: None,
            names: Vec::new(),
            operands: 0,
        };
        let tree = parser.either(0)?;
        match parser.next()? {
            (_, Token::End) => {}
            (at, Token::Sign(')')) => return Err(parser.error(at, "this ) has no matching (")),
            (at, _) => return Err(parser.error(at, "expected & or | before this")),
        }
        Ok(Self {
            names: parser.names,
            tree,
        })
    }

    /// Creates an expression that is a single name, whatever characters it contains.
    pub fn of_name(name: impl Into<String>) -> Self {
        Self {
            names: vec![name.into()],
            tree: Tree::Name(0),
        }
    }

    /// Returns the names in the expression, without repetition, in order of first appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether the expression is a single name without operations.
    pub fn is_one_name(&self) -> bool {
        matches!(self.tree, Tree::Name(_))
    }

    /// Returns the number of operations. A query allocates at most one filter's worth of words
    /// for each.
    pub fn operations(&self) -> usize {
        fn count(tree: &Tree) -> usize {
            match tree {
                Tree::Name(_) => 0,
                Tree::And(both) | Tree::Or(both) => 1 + count(&both.0) + count(&both.1),
            }
        }
        count(&self.tree)
    }

    /// Builds the query over these filters, one for each of the [`names`](Self::names).
    ///
    /// # Errors
    /// [`Error::Incompatible`] if their parameters differ, [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If there are fewer filters than names.
    pub fn query<'f, S: AsRef<[u64]>>(&self, filters: &'f [Filter<S>]) -> Result<Query<'f>, Error> {
        assert!(
            filters.len() >= self.names.len(),
            "{} filters for {} names",
            filters.len(),
            self.names.len()
        );
        self.tree.query(filters)
    }
}

impl Tree {
    fn query<'f, S: AsRef<[u64]>>(&self, filters: &'f [Filter<S>]) -> Result<Query<'f>, Error> {
        match self {
            Tree::Name(number) => Ok(Query::of(&filters[*number])),
            Tree::And(both) => both.0.query(filters)?.and(both.1.query(filters)?),
            Tree::Or(both) => both.0.query(filters)?.or(both.1.query(filters)?),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'t> {
    Sign(char),
    Name(&'t str),
    End,
}

/// Yields tokens one at a time, so a long text with an error near its start is cheap to reject.
struct Tokens<'t> {
    rest: &'t str,
    /// The number of the next character, starting at 1.
    at: usize,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text, at: 1 }
    }

    /// Takes the first `bytes` bytes of the remaining text.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.at += taken.chars().count();
        self.rest = rest;
        taken
    }

    /// Returns the next token and the number of its first character; no token if a quote is not
    /// closed.
    fn next(&mut self) -> (usize, Option<Token<'t>>) {
        let spaces = self.rest.len() - self.rest.trim_start_matches(' ').len();
        self.take(spaces);
        let start = self.at;
        let token = match self.rest.chars().next() {
            None => Token::End,
            Some('"') => match self.rest[1..].find('"') {
                None => return (start, None),
                Some(len) => Token::Name(&self.take(len + 2)[1..=len]),
            },
            Some(sign) if is_sign(sign) => {
                self.take(1);
                Token::Sign(sign)
            }
            Some(_) => {
                let len = self.rest.find(is_sign).unwrap_or(self.rest.len());
                Token::Name(self.take(len).trim_end())
            }
        };
        (start, Some(token))
    }
}

fn is_sign(c: char) -> bool {
    matches!(c, '&' | '|' | '(' | ')' | '"')
}

struct Parser<'t> {
    text: &'t str,
    tokens: Tokens<'t>,
    /// A token that was peeked at but not consumed.
    ahead: Option<(usize, Token<'t>)>,
    names: Vec<String>,
    /// The number of operands so far, counting repeated names each time.
    operands: usize,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Result<(usize, Token<'t>), Error> {
        if let Some(token) = self.ahead.take() {
            return Ok(token);
        }
        match self.tokens.next() {
            (at, Some(token)) => Ok((at, token)),
            (at, None) => Err(self.error(at, "this \" is not closed")),
        }
    }

    fn take(&mut self, sign: char) -> Result<bool, Error> {
        let (at, token) = self.next()?;
        let is_it = token == Token::Sign(sign);
        if !is_it {
            self.ahead = Some((at, token));
        }
        Ok(is_it)
    }

    fn error(&self, at: usize, what: impl Into<String>) -> Error {
        Error::Expression {
            text: self.text.to_owned(),
            at,
            what: what.into(),
        }
    }

    fn either(&mut self, depth: usize) -> Result<Tree, Error> {
        let mut tree = self.both(depth)?;
        while self.take('|')? {
            tree = Tree::Or(Box::new((tree, self.both(depth)?)));
        }
        Ok(tree)
    }

    fn both(&mut self, depth: usize) -> Result<Tree, Error> {
        let mut tree = self.one(depth)?;
        while self.take('&')? {
            tree = Tree::And(Box::new((tree, self.one(depth)?)));
        }
        Ok(tree)
    }

    fn one(&mut self, depth: usize) -> Result<Tree, Error> {
        let (at, token) = self.next()?;
        match token {
            Token::Name(name) => {
                self.operands += 1;
                if self.operands > MOST {
                    return Err(self.error(at, "too many filters"));
                }
                let known = self.names.iter().position(|other| other == name);
                let number = known.unwrap_or(self.names.len());
                if known.is_none() {
                    self.names.push(name.to_owned());
                }
                Ok(Tree::Name(number))
            }
            Token::Sign('(') if depth == DEEPEST => Err(self.error(at, "too many nested (")),
            Token::Sign('(') => {
                let tree = self.either(depth + 1)?;
                match self.take(')')? {
                    true => Ok(tree),
                    false => Err(self.error(at, "this ( is not closed")),
                }
            }
            Token::Sign(sign) => Err(self.error(at, format!("expected a name before this {sign}"))),
            Token::End => Err(self.error(at, "expected a name, but the expression ends here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders the expression fully parenthesized.
    fn shown(text: &str) -> String {
        fn show(tree: &Tree, names: &[String]) -> String {
            let both = |pair: &(Tree, Tree), sign| {
                format!("({}{sign}{})", show(&pair.0, names), show(&pair.1, names))
            };
            match tree {
                Tree::Name(number) => names[*number].clone(),
                Tree::And(pair) => both(pair, '&'),
                Tree::Or(pair) => both(pair, '|'),
            }
        }
        match Expression::parse(text) {
            Ok(expression) => show(&expression.tree, &expression.names),
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
            ("göl | 海", "(göl|海)"),
        ] {
            assert_eq!(shown(text), tree);
        }
    }

    #[test]
    fn every_name_is_there_once() {
        let operations = |text| Expression::parse(text).unwrap().operations();
        assert_eq!((operations("a"), operations("a & (b | a) & c")), (0, 3));
        let expression = Expression::parse("b & a & b | \"a\"").unwrap();
        assert_eq!(expression.names(), ["b", "a"]);
        assert!(!expression.is_one_name());
        let one = Expression::of_name("r&d");
        assert_eq!(one.names(), ["r&d"]);
        assert_eq!(Expression::parse("\"r&d\"").unwrap(), one);
        assert!(one.is_one_name());
    }

    #[test]
    fn errors_name_the_place() {
        for (text, part) in [
            ("", "the expression is empty"),
            (
                "a &",
                "character 4: expected a name, but the expression ends here",
            ),
            ("a & & b", "character 5: expected a name before this &"),
            ("(a | b", "character 1: this ( is not closed"),
            ("a)", "character 2: this ) has no matching ("),
            ("(a) b", "character 5: expected & or |"),
            ("a & \"b", "character 5: this \" is not closed"),
            ("göl & )", "character 7: expected a name before this )"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
        assert!(shown(&"(".repeat(200)).contains("too many nested ("));
        let many: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
        assert!(shown(&many.join("|")).contains("too many filters"));
    }

    #[test]
    fn a_long_text_is_not_told_back_whole() {
        let message = shown(&"ö(".repeat(100_000));
        assert!(message.len() < 1000, "{} bytes", message.len());
        assert!(
            message.contains("character 2: expected & or |"),
            "{message}"
        );
    }
}

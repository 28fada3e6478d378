//! Checks before a document is parsed, for anything that could make the parser need a disproportionate amount of time or
//! memory.
//!
//! | format | possible attack |
//! |---|---|
//! | Turtle, TriG, RDF/XML | a long prefix, kept once for each of a million open brackets |
//! | RDF/XML | a long language tag, kept once for each text |
//! | RDF/XML | entities made of entities, each ten times as long as the one before: `DOCTYPE` is not accepted |
//! | RDF/XML | an XML literal in which every element gets all namespaces around it |
//! | JSON-LD | a context of terms that are each defined by the next: recursion, and IRIs that grow |
//! | JSON-LD | many contexts, or one that belongs to a term: each copies all contexts around it |
//!
//! These scans know just enough of each grammar to distinguish brackets from text. In a malformed document they may lose
//! track; then the parser stops at the same place.

use std::cell::RefCell;
use std::fmt;

use bloomgrove_client::api::LONGEST_ID;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{Allowance, DEEPEST, Format, WrongDocument};

/// Maximum number of terms in a JSON-LD context.
const MOST_TERMS: usize = 2000;
/// Maximum number of terms in all contexts of a document.
const MOST_TERMS_IN_ALL: usize = 5000;
/// Maximum number of contexts in a document: each may start with a copy of all those around it.
const MOST_CONTEXTS: usize = 500;
/// Maximum number of terms in all contexts of a document, times their bytes: each may be a prefix of the next.
const MOST_TERMS_TIMES_BYTES: usize = 256 << 20;
/// Maximum length of a language tag, in bytes.
const LONGEST_LANGUAGE: usize = 100;

/// Checks whether a document is safe to parse.
pub(super) fn check(document: &[u8], format: Format) -> Result<(), WrongDocument> {
    match format {
        // No nesting, no abbreviations.
        Format::NTriples | Format::NQuads => Ok(()),
        Format::Turtle | Format::TriG => turtle(document, format),
        Format::RdfXml => xml(document),
        Format::JsonLd => json_ld(document),
        // Parsed by serde_json, which has its own limit.
        Format::ProvJson => Ok(()),
    }
}

fn turtle(document: &[u8], format: Format) -> Result<(), WrongDocument> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = document.get(at) {
        let rest = &document[at + 1..];
        at += 1 + match byte {
            b'\\' => 1,
            b'#' => position(rest, |byte| byte == b'\n' || byte == b'\r'),
            b'<' => {
                let end = position(rest, |byte| byte == b'>' || byte == b'<' || byte <= b' ');
                if end > LONGEST_ID {
                    return Err(WrongDocument::Long(end));
                }
                end
            }
            b'"' | b'\'' => string(rest, byte),
            b'[' | b'(' | b'{' => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(WrongDocument::Deep(format));
                }
                0
            }
            b']' | b')' | b'}' => {
                depth = depth.saturating_sub(1);
                0
            }
            _ => 0,
        };
    }
    Ok(())
}

/// Number of bytes up to the first match, or all.
fn position(bytes: &[u8], found: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .position(|&byte| found(byte))
        .unwrap_or(bytes.len())
}

/// Number of bytes of a string after its first quote, including the last; with one or three quotes.
fn string(rest: &[u8], quote: u8) -> usize {
    let long = [quote, quote];
    let (mut at, end): (usize, &[u8]) = match rest.starts_with(&long) {
        true => (2, &[quote, quote, quote]),
        false => (0, &[quote]),
    };
    while at < rest.len() && !rest[at..].starts_with(end) {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + end.len()).min(rest.len())
}

fn xml(document: &[u8]) -> Result<(), WrongDocument> {
    if find(document, b"parseType=\"Triple\"").is_some() {
        return Err(WrongDocument::Quoted);
    }
    // Also in comments and texts: this must not recognise a DOCTYPE in fewer places than the parser does.
    let is_doctype = |three: &[u8]| three.eq_ignore_ascii_case(b"<!d");
    if document.windows(3).any(is_doctype) {
        return Err(WrongDocument::Doctype);
    }
    let mut literals = Literals::new(document.len());
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(begin) = find(&document[at..], b"<") {
        let rest = &document[at + begin..];
        at += begin;
        let skipped = [
            (&b"<!--"[..], &b"-->"[..]),
            (b"<![CDATA[", b"]]>"),
            (b"<?", b"?>"),
        ]
        .into_iter()
        .find(|(open, _)| rest.starts_with(open));
        if let Some((_, close)) = skipped {
            at += find(rest, close).map_or(rest.len(), |end| end + close.len());
            continue;
        }
        let mut about = Tag::default();
        let end = tag(rest, &mut about)?;
        if rest.starts_with(b"</") {
            depth = depth.saturating_sub(1);
            literals.close(depth);
        } else if !rest.starts_with(b"<!") {
            literals.open(depth, &about)?;
            if !rest[..end].ends_with(b"/>") {
                depth += 1;
                if depth > DEEPEST {
                    return Err(WrongDocument::Deep(Format::RdfXml));
                }
            }
        }
        at += end;
    }
    Ok(())
}

/// The relevant properties of a tag.
#[derive(Default)]
struct Tag {
    /// Bytes of the namespaces it declares.
    namespaces: usize,
    /// Whether its content is, or may be, an XML literal.
    literal: bool,
}

/// Counts the size of XML literals: the parser writes all namespaces into each of their elements.
struct Literals {
    allowance: Allowance,
    /// Bytes of all namespaces so far, whether in scope or not.
    namespaces: usize,
    /// The depth of the current literal.
    inside: Option<usize>,
}

impl Literals {
    const fn new(document: usize) -> Self {
        Self {
            allowance: Allowance::new(document),
            namespaces: 0,
            inside: None,
        }
    }

    fn open(&mut self, depth: usize, tag: &Tag) -> Result<(), WrongDocument> {
        self.namespaces += tag.namespaces;
        match self.inside {
            Some(literal) if depth == literal + 1 => self.allowance.take(self.namespaces)?,
            None if tag.literal => self.inside = Some(depth),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, depth: usize) {
        self.inside = self.inside.filter(|literal| depth > *literal);
    }
}

/// Number of bytes of a tag, whose attributes are checked.
fn tag(rest: &[u8], about: &mut Tag) -> Result<usize, WrongDocument> {
    let mut at = 0;
    let mut name = 0;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'>' => return Ok(at + 1),
            b'"' | b'\'' => {
                let value = position(&rest[at + 1..], |other| other == byte);
                let text = &rest[at + 1..at + 1 + value];
                if find(&rest[name..at], b"parseType").is_some()
                    && !matches!(text, b"Resource" | b"Collection")
                {
                    about.literal = true;
                }
                if find(&rest[name..at], b"xml:lang").is_some() && value > LONGEST_LANGUAGE {
                    let what = format!("an xml:lang is {value} bytes long");
                    return Err(WrongDocument::syntax(Format::RdfXml, None, what));
                }
                let names_space = find(&rest[name..at], b"xmlns").is_some()
                    || find(&rest[name..at], b"xml:base").is_some();
                if names_space && value > LONGEST_ID {
                    return Err(WrongDocument::Long(value));
                }
                if names_space {
                    about.namespaces += at - name + value;
                }
                at += value + 2;
                name = at;
            }
            _ => at += 1,
        }
    }
    Ok(rest.len())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|&byte| byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn json_ld(document: &[u8]) -> Result<(), WrongDocument> {
    let wrong = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_slice(document);
    let read = Contexts {
        inside: None,
        begins: false,
        all: &RefCell::default(),
        wrong: &wrong,
    }
    .deserialize(&mut json)
    .and_then(|()| json.end());
    match (read, wrong.into_inner()) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(wrong)) => Err(wrong),
        (Err(error), None) => Err(wrong_json(&error, Format::JsonLd)),
    }
}

/// The error of serde_json as ours.
pub(super) fn wrong_json(error: &serde_json::Error, format: Format) -> WrongDocument {
    let what = error.to_string();
    if what.starts_with("recursion limit exceeded") {
        return WrongDocument::Deep(format);
    }
    let place = (error.line() > 0).then(|| (error.line() as u64, error.column() as u64));
    let what = what.split(" at line ").next().unwrap_or_default();
    WrongDocument::syntax(format, place, what)
}

/// Totals of all contexts.
#[derive(Default)]
struct All {
    contexts: usize,
    terms: usize,
    bytes: usize,
}

/// Walks through JSON and only counts contexts and terms.
#[derive(Clone, Copy)]
struct Contexts<'a> {
    /// The terms of the current context.
    inside: Option<&'a RefCell<usize>>,
    /// Whether the next value is a context, or a list of contexts.
    begins: bool,
    all: &'a RefCell<All>,
    wrong: &'a RefCell<Option<WrongDocument>>,
}

impl Contexts<'_> {
    fn refuse<E: serde::de::Error>(&self, wrong: WrongDocument) -> E {
        let error = E::custom(&wrong);
        self.wrong.borrow_mut().get_or_insert(wrong);
        error
    }

    fn context<E: serde::de::Error>(&self) -> Result<(), E> {
        self.all.borrow_mut().contexts += usize::from(self.begins);
        match self.all.borrow().contexts > MOST_CONTEXTS {
            true => Err(self.refuse(WrongDocument::Contexts(MOST_CONTEXTS))),
            false => Ok(()),
        }
    }

    /// Counts the bytes of terms and their definitions.
    fn bytes<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let mut all = self.all.borrow_mut();
        all.bytes = all.bytes.saturating_add(bytes);
        match all.bytes.saturating_mul(all.terms) > MOST_TERMS_TIMES_BYTES {
            true => Err(self.refuse(WrongDocument::Terms(all.terms))),
            false => Ok(()),
        }
    }

    fn term<E: serde::de::Error>(&self, terms: &RefCell<usize>) -> Result<(), E> {
        *terms.borrow_mut() += 1;
        self.all.borrow_mut().terms += 1;
        self.bytes(0)?;
        if *terms.borrow() > MOST_TERMS {
            return Err(self.refuse(WrongDocument::Terms(MOST_TERMS)));
        }
        match self.all.borrow().terms > MOST_TERMS_IN_ALL {
            true => Err(self.refuse(WrongDocument::Terms(MOST_TERMS_IN_ALL))),
            false => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Contexts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Contexts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.context()
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match self.inside {
            Some(_) if text.len() > LONGEST_ID => Err(self.refuse(WrongDocument::Long(text.len()))),
            Some(_) => self.bytes(text.len()),
            None => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.context()?;
        while let Some(key) = entries.next_key::<String>()? {
            let is_context = key == "@context";
            if let Some(terms) = self.inside {
                self.bytes(key.len())?;
                self.term(terms)?;
                if is_context {
                    return Err(self.refuse(WrongDocument::Scoped));
                }
            }
            let terms = RefCell::new(0);
            let inside = match is_context {
                true => Some(&terms),
                false => self.inside,
            };
            entries.next_value_seed(Contexts {
                inside,
                begins: is_context,
                ..self
            })?;
        }
        Ok(())
    }
}

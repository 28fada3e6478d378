//! PROV-JSON: the W3C member submission of 24 April 2013, as triples of PROV-O.
//!
//! ```text
//! { "prefix": { "ex": "http://example.org/" },
//!   "entity": { "ex:e2": { "prov:label": "two" } },         ex:e2 a prov:Entity ; rdfs:label "two" .
//!   "wasDerivedFrom": { "_:d1": {
//!       "prov:generatedEntity": "ex:e2",
//!       "prov:usedEntity": "ex:e1" } } }                    ex:e2 prov:wasDerivedFrom ex:e1 .
//! ```
//!
//! Bundles are merged; the prefixes of a bundle apply within it. Of the other attributes of relations only the time of a
//! generation and the type of a derivation are used; records of an unknown kind are ignored.

use std::collections::HashMap;

use bloomgrove_client::api::{LONGEST_ID, Relation};
use bloomgrove_client::{quote, shorten};
use oxigraph::model::vocab::{rdf, rdfs, xsd};
use oxigraph::model::{Literal, NamedNode, NamedNodeRef, Term, Triple};
use serde_json::{Map, Value};

use super::blank::Blanks;
use super::guard::wrong_json;
use super::{Allowance, Format, WrongDocument, bytes};
use crate::vocabulary::{ASSOCIATED, ATTRIBUTED, ENDED, GENERATED, PROV, STARTED};

/// Records of things: their section, and their type.
const THINGS: [(&str, &str); 3] = [
    ("entity", "http://www.w3.org/ns/prov#Entity"),
    ("activity", "http://www.w3.org/ns/prov#Activity"),
    ("agent", "http://www.w3.org/ns/prov#Agent"),
];

/// Records of relations: their section, the two ends, and the property between them.
const RELATIONS: [(&str, &str, &str, &str); 15] = [
    (
        "wasGeneratedBy",
        "prov:entity",
        "prov:activity",
        Relation::GeneratedBy.iri(),
    ),
    ("used", "prov:activity", "prov:entity", Relation::Used.iri()),
    (
        "wasDerivedFrom",
        "prov:generatedEntity",
        "prov:usedEntity",
        Relation::DerivedFrom.iri(),
    ),
    (
        "wasInformedBy",
        "prov:informed",
        "prov:informant",
        Relation::InformedBy.iri(),
    ),
    (
        "wasStartedBy",
        "prov:activity",
        "prov:trigger",
        Relation::StartedBy.iri(),
    ),
    (
        "wasEndedBy",
        "prov:activity",
        "prov:trigger",
        Relation::EndedBy.iri(),
    ),
    (
        "wasInfluencedBy",
        "prov:influencee",
        "prov:influencer",
        Relation::InfluencedBy.iri(),
    ),
    (
        "specializationOf",
        "prov:specificEntity",
        "prov:generalEntity",
        Relation::SpecializationOf.iri(),
    ),
    (
        "hadMember",
        "prov:collection",
        "prov:entity",
        Relation::Member.iri(),
    ),
    (
        "wasAttributedTo",
        "prov:entity",
        "prov:agent",
        ATTRIBUTED.as_str(),
    ),
    (
        "wasAssociatedWith",
        "prov:activity",
        "prov:agent",
        ASSOCIATED.as_str(),
    ),
    (
        "actedOnBehalfOf",
        "prov:delegate",
        "prov:responsible",
        "http://www.w3.org/ns/prov#actedOnBehalfOf",
    ),
    (
        "wasInvalidatedBy",
        "prov:entity",
        "prov:activity",
        "http://www.w3.org/ns/prov#wasInvalidatedBy",
    ),
    (
        "alternateOf",
        "prov:alternate1",
        "prov:alternate2",
        "http://www.w3.org/ns/prov#alternateOf",
    ),
    (
        "mentionOf",
        "prov:specificEntity",
        "prov:generalEntity",
        "http://www.w3.org/ns/prov#mentionOf",
    ),
];

/// Special kinds of derivations.
const DERIVATIONS: [(&str, &str); 3] = [
    (
        "http://www.w3.org/ns/prov#Revision",
        Relation::RevisionOf.iri(),
    ),
    (
        "http://www.w3.org/ns/prov#Quotation",
        Relation::QuotedFrom.iri(),
    ),
    (
        "http://www.w3.org/ns/prov#PrimarySource",
        Relation::PrimarySource.iri(),
    ),
];

type Prefixes = HashMap<String, String>;

/// The triples of a document.
pub(super) fn read(document: &[u8]) -> Result<Vec<Triple>, WrongDocument> {
    let json: Value =
        serde_json::from_slice(document).map_err(|error| wrong_json(&error, Format::ProvJson))?;
    let mut reader = Reader {
        blanks: Blanks::new(document),
        triples: Vec::new(),
        allowance: Allowance::new(document.len()),
    };
    let known = [("prov", PROV), ("xsd", "http://www.w3.org/2001/XMLSchema#")];
    let known = known.map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned()));
    reader.bundle(&json, "the document", &known.into())?;
    Ok(reader.triples)
}

fn wrong(what: impl Into<String>) -> WrongDocument {
    WrongDocument::syntax(Format::ProvJson, None, what)
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, WrongDocument> {
    let what = || wrong(format!("{} is not an object {{...}}", shorten(what, 80)));
    value.as_object().ok_or_else(what)
}

/// A value, or all values of an array.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}

struct Reader {
    blanks: Blanks,
    triples: Vec<Triple>,
    allowance: Allowance,
}

impl Reader {
    fn bundle(&mut self, json: &Value, name: &str, outer: &Prefixes) -> Result<(), WrongDocument> {
        let sections = object(json, name)?;
        let mut prefixes = outer.clone();
        if let Some(declared) = sections.get("prefix") {
            for (prefix, iri) in object(declared, "prefix")? {
                let iri = iri
                    .as_str()
                    .ok_or_else(|| wrong(format!("the prefix {} is not a text", quote(prefix))))?;
                if iri.len() > LONGEST_ID {
                    return Err(WrongDocument::Long(iri.len()));
                }
                prefixes.insert(prefix.clone(), iri.to_owned());
            }
        }
        for (section, records) in sections {
            let thing = THINGS.iter().find(|(name, _)| name == section);
            let relation = RELATIONS.iter().find(|(name, ..)| name == section);
            if thing.is_none() && relation.is_none() && section != "bundle" {
                continue;
            }
            for (id, record) in object(records, section)? {
                if section == "bundle" {
                    for bundle in each(record) {
                        self.bundle(bundle, id, &prefixes)?;
                    }
                    continue;
                }
                for record in each(record) {
                    let record = object(record, id)?;
                    if let Some((_, class)) = thing {
                        self.thing(id, class, record, &prefixes)?;
                    } else if let Some(row) = relation {
                        self.relation(row, record, &prefixes)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn thing(
        &mut self,
        id: &str,
        class: &str,
        record: &Map<String, Value>,
        prefixes: &Prefixes,
    ) -> Result<(), WrongDocument> {
        let subject = self.name(id, prefixes)?;
        let class = NamedNodeRef::new_unchecked(class);
        self.say(&subject, rdf::TYPE.into_owned(), class.into())?;
        for (attribute, values) in record {
            let time = matches!(attribute.as_str(), "prov:startTime" | "prov:endTime");
            let property = match attribute.as_str() {
                "prov:label" => rdfs::LABEL.into_owned(),
                "prov:type" => rdf::TYPE.into_owned(),
                "prov:startTime" => STARTED.into_owned(),
                "prov:endTime" => ENDED.into_owned(),
                "prov:location" => NamedNode::new_unchecked(format!("{PROV}atLocation")),
                attribute => self.name(attribute, prefixes)?,
            };
            for value in each(values) {
                let value = match value {
                    Value::String(text) if time => time_of(text),
                    value => self.value(value, prefixes)?,
                };
                self.say(&subject, property.clone(), value)?;
            }
        }
        Ok(())
    }

    fn relation(
        &mut self,
        (section, effect, cause, property): &(&str, &str, &str, &str),
        record: &Map<String, Value>,
        prefixes: &Prefixes,
    ) -> Result<(), WrongDocument> {
        let effects = self.ends(record, effect, prefixes)?;
        let causes = self.ends(record, cause, prefixes)?;
        let mut property = *property;
        if *section == "wasDerivedFrom" {
            for value in record.get("prov:type").map(each).unwrap_or_default() {
                if let Term::NamedNode(class) = self.value(value, prefixes)? {
                    let own = DERIVATIONS.iter().find(|(name, _)| class.as_str() == *name);
                    property = own.map_or(property, |(_, property)| property);
                }
            }
        }
        for effect in &effects {
            for cause in &causes {
                let property = NamedNodeRef::new_unchecked(property).into_owned();
                self.say(effect, property, cause.clone().into())?;
            }
            if *section == "wasGeneratedBy"
                && let Some(Value::String(time)) = record.get("prov:time")
            {
                self.say(effect, GENERATED.into_owned(), time_of(time))?;
            }
        }
        Ok(())
    }

    /// The names at one end of a relation; none if it is omitted.
    fn ends(
        &mut self,
        record: &Map<String, Value>,
        end: &str,
        prefixes: &Prefixes,
    ) -> Result<Vec<NamedNode>, WrongDocument> {
        let mut names = Vec::new();
        for value in record.get(end).map(each).unwrap_or_default() {
            // Some tools write references like values.
            let text = value.as_str().or_else(|| value.get("$")?.as_str());
            let text = text.ok_or_else(|| wrong(format!("{end} is not a name")))?;
            names.push(self.name(text, prefixes)?);
        }
        Ok(names)
    }

    /// The IRI of a qualified name.
    fn name(&mut self, text: &str, prefixes: &Prefixes) -> Result<NamedNode, WrongDocument> {
        if let Some(label) = text.strip_prefix("_:") {
            return Ok(self.blanks.name(label));
        }
        let (prefix, local) = text.split_once(':').unwrap_or(("default", text));
        let iri = match prefixes.get(prefix) {
            Some(begin) if begin.len() + local.len() > LONGEST_ID => {
                return Err(WrongDocument::Long(begin.len() + local.len()));
            }
            Some(begin) => format!("{begin}{local}"),
            // Not allowed, but it occurs: an IRI instead of a name.
            None if local.starts_with("//") || prefix == "urn" => text.to_owned(),
            None => {
                return Err(wrong(format!(
                    "the prefix of {} is not declared in \"prefix\"",
                    quote(text)
                )));
            }
        };
        if iri.len() > LONGEST_ID {
            return Err(WrongDocument::Long(iri.len()));
        }
        NamedNode::new(&iri)
            .map_err(|error| wrong(format!("<{}> is not an IRI: {error}", shorten(&iri, 80))))
    }

    fn value(&mut self, value: &Value, prefixes: &Prefixes) -> Result<Term, WrongDocument> {
        let plain = |value: &Value| match value {
            Value::String(text) => Some(Literal::new_simple_literal(text)),
            Value::Bool(truth) => Some(Literal::from(*truth)),
            Value::Number(number) => Some(match number.as_i64() {
                Some(number) => Literal::from(number),
                None => Literal::new_typed_literal(number.to_string(), xsd::DOUBLE),
            }),
            _ => None,
        };
        if let Some(literal) = plain(value) {
            return Ok(literal.into());
        }
        let no_value = || {
            wrong(format!(
                "{} is not a value",
                shorten(&value.to_string(), 80)
            ))
        };
        let text = value.get("$").and_then(plain).ok_or_else(no_value)?;
        let text = text.value();
        if let Some(language) = value.get("lang").and_then(Value::as_str) {
            let literal = Literal::new_language_tagged_literal(text, language);
            let literal = literal.map_err(|error| {
                wrong(format!(
                    "{} is not a language tag: {error}",
                    quote(language)
                ))
            })?;
            return Ok(literal.into());
        }
        let Some(class) = value.get("type") else {
            return Ok(Literal::new_simple_literal(text).into());
        };
        let class = class.as_str().ok_or_else(no_value)?;
        if matches!(class, "prov:QUALIFIED_NAME" | "xsd:QName") {
            return Ok(self.name(text, prefixes)?.into());
        }
        let class = self.name(class, prefixes)?;
        Ok(Literal::new_typed_literal(text, class).into())
    }

    fn say(
        &mut self,
        subject: &NamedNode,
        property: NamedNode,
        object: Term,
    ) -> Result<(), WrongDocument> {
        let triple = Triple::new(subject.clone(), property, object);
        self.allowance.take(bytes(&triple))?;
        self.triples.push(triple);
        Ok(())
    }
}

fn time_of(text: &str) -> Term {
    Literal::new_typed_literal(text, xsd::DATE_TIME).into()
}

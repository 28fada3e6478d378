//! Events as triples: what is checked before an event is recorded, and what is then in the store.
//!
//! ```text
//!              inputs     outputs    peer
//! created      none       some       -
//! derived      some       some       -
//! bundled      some       one        -
//! split        one        some       -
//! sent         some       none       yes
//! received     some       none       yes
//! ```
//!
//! [`vocabulary`](crate::vocabulary) has the terms. A triple that is stated twice is stored once, so recording
//! an event again changes nothing.

use std::collections::HashSet;
use std::fmt;

use bloomgrove_client::api::{Event, EventKind};
use bloomgrove_client::quote;
use jiff::civil::Date;
use oxigraph::model::vocab::{rdf, rdfs, xsd};
use oxigraph::model::{Literal, NamedNode, NamedNodeRef, Term, Triple};
use rand::RngExt;

use crate::id::{WrongId, iri};
use crate::vocabulary::{ACTIVITY, AGENT, ENDED, PEER};

/// Maximum number of inputs, and of outputs, of an event.
pub const MOST_DOCUMENTS: usize = 1000;
/// Maximum length of a label, an agent or a peer, in bytes.
pub const LONGEST_TEXT: usize = 1000;
/// Maximum length of a time, in bytes: enough for nanoseconds and a time zone.
const LONGEST_TIME: usize = 64;

const GENERATED_BY: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#wasGeneratedBy");
const USED: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/ns/prov#used");
const TRANSFERRED: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:transferredBy");

/// Why an event cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrongEvent {
    /// An id in it is invalid.
    Id(WrongId),
    /// The number of its inputs or outputs does not match its kind.
    Documents {
        /// Its kind.
        kind: EventKind,
        /// Number of inputs.
        inputs: usize,
        /// Number of outputs.
        outputs: usize,
    },
    /// A document is both an input and an output, or the event itself.
    Loop(String),
    /// It has this many inputs or outputs, which are too many.
    TooMany(usize),
    /// A transfer has no peer.
    NoPeer(EventKind),
    /// An event that is not a transfer has a peer.
    Peer(EventKind),
    /// A text is too long.
    TooLong {
        /// The field.
        what: &'static str,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The time is invalid, or has no time zone.
    Time(String),
}

impl fmt::Display for WrongEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(wrong) => write!(f, "{wrong}"),
            Self::Documents {
                kind,
                inputs,
                outputs,
            } => write!(
                f,
                "an event of the kind `{}` needs {}; this one has {} and {}",
                name(*kind),
                match kind {
                    EventKind::Created => "outputs and no inputs",
                    EventKind::Derived => "inputs and outputs",
                    EventKind::Bundled => "inputs and exactly one output",
                    EventKind::Split => "exactly one input, and outputs",
                    EventKind::Sent | EventKind::Received => "inputs and no outputs",
                },
                counted(*inputs, "input"),
                counted(*outputs, "output"),
            ),
            Self::Loop(id) => write!(
                f,
                "{id} would be its own ancestor: a document cannot be both an input and an output of an \
                 event, nor the event itself; use a new id for what was made"
            ),
            Self::TooMany(count) => write!(
                f,
                "an event has {count} inputs or outputs; at most {MOST_DOCUMENTS} are allowed: record \
                 several events"
            ),
            Self::NoPeer(kind) => write!(
                f,
                "an event of the kind `{}` needs a peer: the site at the other end",
                name(*kind)
            ),
            Self::Peer(kind) => write!(
                f,
                "an event of the kind `{}` cannot have a peer; remove it, or use the kind `sent` or `received`",
                name(*kind)
            ),
            Self::TooLong { what, bytes } => write!(
                f,
                "the {what} is {bytes} bytes long; the maximum is {LONGEST_TEXT}"
            ),
            Self::Time(time) => write!(
                f,
                "{} is not a time with a time zone, such as 2026-11-16T09:30:00Z or \
                 2026-11-16T10:30:00.5+01:00",
                quote(time)
            ),
        }
    }
}

impl std::error::Error for WrongEvent {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Id(wrong) => Some(wrong),
            _ => None,
        }
    }
}

impl From<WrongId> for WrongEvent {
    fn from(wrong: WrongId) -> Self {
        Self::Id(wrong)
    }
}

fn counted(number: usize, thing: &str) -> String {
    match number {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        more => format!("{more} {thing}s"),
    }
}

/// The name of a kind on the wire.
#[must_use]
pub const fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Created => "created",
        EventKind::Derived => "derived",
        EventKind::Bundled => "bundled",
        EventKind::Split => "split",
        EventKind::Sent => "sent",
        EventKind::Received => "received",
    }
}

/// Our RDF type for events of this kind.
#[must_use]
pub const fn class(kind: EventKind) -> NamedNodeRef<'static> {
    NamedNodeRef::new_unchecked(match kind {
        EventKind::Created => "urn:x-bloomgrove:Created",
        EventKind::Derived => "urn:x-bloomgrove:Derived",
        EventKind::Bundled => "urn:x-bloomgrove:Bundled",
        EventKind::Split => "urn:x-bloomgrove:Split",
        EventKind::Sent => "urn:x-bloomgrove:Sent",
        EventKind::Received => "urn:x-bloomgrove:Received",
    })
}

/// The id of an event (a new one if it has none) and its triples; its time is `now` if it has none.
///
/// # Errors
/// What is wrong with the event.
pub fn triples(event: &Event, now: &str) -> Result<(String, Vec<Triple>), WrongEvent> {
    check(event)?;
    let id = event.id.clone().unwrap_or_else(random_id);
    let subject = iri(&id)?;
    let transfer = matches!(event.kind, EventKind::Sent | EventKind::Received);
    let mut triples = Vec::with_capacity(6 + event.inputs.len() + event.outputs.len());
    let mut say = |property: NamedNodeRef<'_>, object: Term| {
        triples.push(Triple::new(subject.clone(), property, object));
    };
    say(rdf::TYPE, ACTIVITY.into());
    say(rdf::TYPE, class(event.kind).into());
    let time = event.time.as_deref().unwrap_or(now);
    say(
        ENDED,
        Literal::new_typed_literal(time, xsd::DATE_TIME).into(),
    );
    for (property, text) in [
        (rdfs::LABEL, &event.label),
        (AGENT, &event.agent),
        (PEER, &event.peer),
    ] {
        if let Some(text) = text {
            say(property, Literal::new_simple_literal(text).into());
        }
    }
    let mut link = |effect: NamedNode, property: NamedNodeRef<'_>, cause: NamedNode| {
        triples.push(Triple::new(effect, property, cause));
    };
    for input in &event.inputs {
        match transfer {
            true => link(iri(input)?, TRANSFERRED, subject.clone()),
            false => link(subject.clone(), USED, iri(input)?),
        }
    }
    for output in &event.outputs {
        link(iri(output)?, GENERATED_BY, subject.clone());
    }
    Ok((id, triples))
}

/// Checks everything but the ids, which are checked when they are converted.
fn check(event: &Event) -> Result<(), WrongEvent> {
    let kind = event.kind;
    let (inputs, outputs) = (event.inputs.len(), event.outputs.len());
    let fits = match kind {
        EventKind::Created => inputs == 0 && outputs > 0,
        EventKind::Derived => inputs > 0 && outputs > 0,
        EventKind::Bundled => inputs > 0 && outputs == 1,
        EventKind::Split => inputs == 1 && outputs > 0,
        EventKind::Sent | EventKind::Received => inputs > 0 && outputs == 0,
    };
    if !fits {
        return Err(WrongEvent::Documents {
            kind,
            inputs,
            outputs,
        });
    }
    let most = inputs.max(outputs);
    if most > MOST_DOCUMENTS {
        return Err(WrongEvent::TooMany(most));
    }
    let transfer = matches!(kind, EventKind::Sent | EventKind::Received);
    match (transfer, event.peer.as_deref()) {
        (true, None | Some("")) => return Err(WrongEvent::NoPeer(kind)),
        (false, Some(_)) => return Err(WrongEvent::Peer(kind)),
        _ => {}
    }
    for (what, text) in [
        ("label", &event.label),
        ("agent", &event.agent),
        ("peer", &event.peer),
    ] {
        if let Some(text) = text
            && text.len() > LONGEST_TEXT
        {
            let bytes = text.len();
            return Err(WrongEvent::TooLong { what, bytes });
        }
    }
    let begins: HashSet<&str> = event.inputs.iter().map(String::as_str).collect();
    let both = event.outputs.iter().find(|id| begins.contains(id.as_str()));
    let itself = event.id.as_ref().filter(|id| {
        begins.contains(id.as_str()) || event.outputs.iter().any(|output| output == *id)
    });
    if let Some(id) = both.or(itself) {
        return Err(WrongEvent::Loop(id.clone()));
    }
    if let Some(time) = &event.time
        && !is_time(time)
    {
        return Err(WrongEvent::Time(time.chars().take(LONGEST_TIME).collect()));
    }
    Ok(())
}

/// `urn:uuid:` and a random UUID: version 4 of RFC 9562.
fn random_id() -> String {
    uuid(rand::rng().random())
}

/// A number as a `urn:uuid:` of version 4, which fixes six of its bits.
pub(crate) fn uuid(number: u128) -> String {
    let number = number & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{number:032x}");
    format!(
        "urn:uuid:{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// Whether a text is an `xsd:dateTime` with a time zone. Midnight is `00:00:00`, not `24:00:00`.
#[must_use]
pub fn is_time(text: &str) -> bool {
    text.len() <= LONGEST_TIME && read_time(text).is_some()
}

fn read_time(text: &str) -> Option<()> {
    let (date, rest) = text.split_once('T')?;
    let mut parts = date.strip_prefix('-').unwrap_or(date).splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    // A year of more than four digits must not start with 0, so that each year has one spelling.
    if year.len() < 4 || year.len() > 9 || (year.len() > 4 && year.starts_with('0')) {
        return None;
    }
    let year = digits(year)?;
    let (month, day) = (two(month, 1..=12)?, two(day, 1..=31)?);
    // The calendar repeats every 400 years, also before year 0.
    Date::new((2000 + year % 400) as i16, month as i8, day as i8).ok()?;
    let zone = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    if zone != "Z" {
        let (hours, minutes) = zone[1..].split_once(':')?;
        let (hours, minutes) = (two(hours, 0..=14)?, two(minutes, 0..=59)?);
        (hours < 14 || minutes == 0).then_some(())?;
    }
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    fraction.is_none_or(is_digits).then_some(())?;
    let mut parts = clock.splitn(3, ':');
    two(parts.next()?, 0..=23)?;
    two(parts.next()?, 0..=59)?;
    two(parts.next()?, 0..=59)?;
    Some(())
}

fn digits(text: &str) -> Option<u32> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

fn two(text: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
    digits(text).filter(|number| text.len() == 2 && range.contains(number))
}

#[cfg(test)]
mod tests;

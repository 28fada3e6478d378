//! The triples of a site as the evaluator sees them, each of which is counted.

use std::convert::Infallible;
use std::iter::empty;

use oxigraph::model::{NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef};
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};

use super::meter::{Held, LONGEST_TEXT, Meter, Stop, bytes};
use super::rewrite::weight;
use crate::store::Snapshot;

/// The triples of a site at one point in time. All of them are in the default graph.
pub(super) struct Triples<'a> {
    pub(super) snapshot: &'a Snapshot<'a>,
    pub(super) meter: Meter,
}

type Quad = Result<InternalQuad<Held>, Infallible>;

impl<'a> QueryableDataset<'a> for Triples<'a> {
    type InternalTerm = Held;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&Held>,
        predicate: Option<&Held>,
        object: Option<&Held>,
        graph_name: Option<Option<&Held>>,
    ) -> impl Iterator<Item = Quad> + use<'a> {
        self.meter.check_time();
        let (Some(None), Some(by_subject), Some(by_predicate)) = (
            graph_name,
            subject.map_or(Some(None), |held| node(held.term()).map(Some)),
            predicate.map_or(Some(None), |held| name(held.term()).map(Some)),
        ) else {
            // Another graph, or a literal where none is possible.
            return Box::new(empty()) as Box<dyn Iterator<Item = Quad>>;
        };
        let by_object = object.map(|held| TermRef::from(held.term()));
        let quads = self.snapshot.matching(by_subject, by_predicate, by_object);
        let meter = self.meter.clone();
        let own = [subject.cloned(), predicate.cloned(), object.cloned()];
        Box::new(quads.map(move |quad| {
            meter.check_time();
            let term = |at: usize, term: Term| match &own[at] {
                Some(held) => held.clone(),
                None => meter.term(term),
            };
            Ok(InternalQuad {
                subject: term(0, quad.subject.into()),
                predicate: term(1, quad.predicate.into()),
                object: term(2, quad.object),
                graph_name: None,
            })
        }))
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<Held, Infallible>> + use<'a> {
        empty()
    }

    fn contains_internal_graph_name(&self, _: &Held) -> Result<bool, Infallible> {
        Ok(false)
    }

    fn internalize_term(&self, term: Term) -> Result<Held, Infallible> {
        let weight = weight(&term);
        // Numbers and times as the store has them: "01" is "1".
        let term = Term::from(ExpressionTerm::from(term));
        Ok(self.meter.term_that_weighs(term, weight))
    }

    fn externalize_term(&self, held: Held) -> Result<Term, Infallible> {
        Ok(held.term().clone())
    }

    fn externalize_expression_term(&self, held: Held) -> Result<ExpressionTerm, Infallible> {
        self.meter.check_time();
        bounded(held.term());
        Ok(held.term().clone().into())
    }

    fn internalize_expression_term(&self, term: ExpressionTerm) -> Result<Held, Infallible> {
        let term = Term::from(term);
        bounded(&term);
        Ok(self.meter.term(term))
    }
}

/// Stops the query if a text is longer than allowed in expressions.
pub(super) fn bounded(term: &Term) {
    if bytes(term) > LONGEST_TEXT {
        Meter::stop(Stop::Text);
    }
}

fn node(term: &Term) -> Option<NamedOrBlankNodeRef<'_>> {
    match term {
        Term::NamedNode(node) => Some(node.into()),
        Term::BlankNode(node) => Some(node.into()),
        _ => None,
    }
}

fn name(term: &Term) -> Option<NamedNodeRef<'_>> {
    match term {
        Term::NamedNode(node) => Some(node.as_ref()),
        _ => None,
    }
}

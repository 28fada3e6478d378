//! Rewrites a query so that all memory it uses is counted ([`super::meter`]).
//!
//! The answer stays the same. Rows of terms are counted anyway; the rest is made to count:
//!
//! | in a query | what would not be counted | what is done |
//! |---|---|---|
//! | `UNION`, `VALUES`, subqueries | rows without terms, multiplied by joins | a hidden variable in each row |
//! | `GROUP BY` | what each aggregate keeps for each group | a hidden key that weighs as much |
//! | `GROUP_CONCAT`, `MIN`, `SUM(DISTINCT ...)` | the texts that they keep | each text is counted on input |
//! | `CONCAT`, `REPLACE` | texts that double again and again | their input is limited |
//! | `REGEX`, `REPLACE` | a pattern that is as expensive as its text is long | both are limited together |
//! | `ORDER BY f(?x)` | `f`, for each of n log n comparisons | is bound to a variable first |
//!
//! This also detects whether a query contacts another server, and counts its patterns.

use std::collections::HashSet;
use std::mem::take;

use oxigraph::model::{Literal, NamedNode, NamedNodeRef, Term, Variable};
use oxigraph::sparql::SparqlEvaluator;
use spargebra::Query;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression,
};
use spargebra::term::TriplePattern;

use super::dataset::bounded;
use super::guard::MOST_PATTERNS;
use super::meter::{LONGEST_TEXT, Meter, Stop, bytes};

/// The type of literals whose value is the weight of their clones.
const WEIGHT: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:weight");
/// `TEXT(x)` is x if its text is short enough.
const TEXT: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:text");
/// `MATCHED(x, pattern, replacement)` is x if the pattern may be matched against it.
const MATCHED: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:matched");
/// `KEPT(x, separator)` is x, which stays counted from then on.
const KEPT: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:kept");
/// `CHOSEN(x)` is x, whose text stays counted from then on: one of many may be kept.
const CHOSEN: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:x-bloomgrove:chosen");

/// What a group keeps for each of its aggregates, apart from texts.
const AGGREGATE: usize = 400;
/// What a value takes in the set of known values, apart from its text.
const SEEN: usize = 100;
/// Maximum number of arguments of all `CONCAT` in a query: while one is evaluated, the texts of all may exist.
const MOST_PARTS: usize = 64;
/// Maximum of the bytes of a text times the cost of its pattern per byte.
const MOST_STEPS: usize = 1 << 30;

/// The weight of a clone of this term, if it represents weight.
pub(super) fn weight(term: &Term) -> usize {
    match term {
        Term::Literal(literal) if literal.datatype() == WEIGHT => {
            literal.value().parse().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Rewrites the query, and returns the number of its variables.
///
/// # Errors
/// What in it is not supported.
pub(super) fn rewrite(query: &mut Query) -> Result<usize, String> {
    let mut rewriter = Rewriter::default();
    let mut top = match query {
        Query::Construct {
            template, pattern, ..
        } => {
            template.iter().for_each(|triple| rewriter.names(triple));
            pattern
        }
        Query::Select { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. } => pattern,
    };
    // The outermost SELECT returns its own variables, and no others.
    while let GraphPattern::Slice { inner, .. }
    | GraphPattern::Distinct { inner }
    | GraphPattern::Reduced { inner }
    | GraphPattern::Project { inner, .. } = top
    {
        top = inner;
    }
    rewriter.pattern(top)?;
    Ok(rewriter.names.len())
}

/// Adds the functions that rewritten queries call.
pub(super) fn with_functions(evaluator: SparqlEvaluator, meter: &Meter) -> SparqlEvaluator {
    let (kept, chosen, matched) = (meter.clone(), meter.clone(), meter.clone());
    evaluator
        .with_custom_function(TEXT.into_owned(), |args| {
            args.iter().for_each(bounded);
            args.first().cloned()
        })
        .with_custom_function(MATCHED.into_owned(), move |args| {
            matched.check_time();
            if steps(args) > MOST_STEPS {
                Meter::stop(Stop::Pattern);
            }
            args.iter().for_each(bounded);
            args.first().cloned()
        })
        .with_custom_function(KEPT.into_owned(), move |args| {
            kept.hold(SEEN + args.iter().map(bytes).sum::<usize>());
            args.first().cloned()
        })
        .with_custom_function(CHOSEN.into_owned(), move |args| {
            chosen.hold(args.first().map_or(0, bytes).saturating_sub(SEEN));
            args.first().cloned()
        })
}

/// An upper bound for the steps of matching a pattern against a text, and for the bytes of the replacement.
fn steps(args: &[Term]) -> usize {
    let text = |at: usize| match args.get(at) {
        Some(Term::Literal(literal)) => literal.value(),
        _ => "",
    };
    let pattern = text(1);
    // `{1000}` is expanded a thousand times, and nested ones multiply.
    let repeated = pattern.split('{').skip(1).map(|rest| {
        let numbers = rest.split('}').next().unwrap_or_default().split(',');
        let largest = numbers.filter_map(|n| n.trim().parse::<usize>().ok()).max();
        largest.unwrap_or(1).max(1)
    });
    let states = repeated.fold(pattern.len() + 1, usize::saturating_mul);
    // A replacement may refer to the matched text once per two bytes.
    let written = (text(2).len() + 1).saturating_mul(MOST_STEPS / (16 * LONGEST_TEXT));
    (text(0).len() + 1).saturating_mul(states.max(written))
}

#[derive(Default)]
struct Rewriter {
    names: HashSet<String>,
    hidden: usize,
    parts: usize,
    patterns: usize,
}

impl Rewriter {
    fn pattern(&mut self, pattern: &mut GraphPattern) -> Result<(), String> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                self.patterns(patterns.len().max(1))?;
                patterns.iter().for_each(|triple| self.names(triple));
            }
            GraphPattern::Path {
                subject, object, ..
            } => {
                self.patterns(1)?;
                self.name(subject);
                self.name(object);
            }
            GraphPattern::Join { left, right } | GraphPattern::Minus { left, right } => {
                self.pattern(left)?;
                self.pattern(right)?;
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => {
                self.pattern(left)?;
                self.pattern(right)?;
                expression.as_mut().map_or(Ok(()), |e| self.expression(e))?;
            }
            GraphPattern::Filter { expr, inner } => {
                self.pattern(inner)?;
                self.expression(expr)?;
            }
            GraphPattern::Union { .. } => {
                self.union(pattern)?;
                self.mark(pattern, 0);
            }
            GraphPattern::Values { variables, .. } => {
                self.patterns(1)?;
                variables.iter().for_each(|variable| self.name(variable));
                self.mark(pattern, 0);
            }
            GraphPattern::Project { inner, variables } => {
                variables.iter().for_each(|variable| self.name(variable));
                self.pattern(inner)?;
                self.mark(pattern, 0);
            }
            GraphPattern::Graph { name, inner } => {
                self.name(name);
                self.pattern(inner)?;
            }
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                self.name(variable);
                self.pattern(inner)?;
                self.expression(expression)?;
            }
            GraphPattern::OrderBy { inner, expression } => {
                self.pattern(inner)?;
                for order in expression {
                    let (OrderExpression::Asc(by) | OrderExpression::Desc(by)) = order;
                    self.expression(by)?;
                    if !matches!(by, Expression::Variable(_)) {
                        let variable = self.extend(inner, take_expression(by));
                        *by = Expression::Variable(variable);
                    }
                }
            }
            GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => self.pattern(inner)?,
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => {
                variables.iter().for_each(|variable| self.name(variable));
                self.group(inner, variables, aggregates)?;
            }
            GraphPattern::Service { .. } => {
                return Err(
                    "the query contacts another server (SERVICE), which is not supported".into(),
                );
            }
            #[allow(
                unreachable_patterns,
                reason = "a feature of spargebra that others may enable"
            )]
            _ => return Err("the query contains an unsupported pattern".into()),
        }
        Ok(())
    }

    fn patterns(&mut self, more: usize) -> Result<(), String> {
        self.patterns += more;
        match self.patterns > MOST_PATTERNS {
            true => Err(format!(
                "the query has more than {MOST_PATTERNS} triple patterns and groups; split it, \
                 or use VALUES"
            )),
            false => Ok(()),
        }
    }

    /// The patterns of one `UNION` of any length, which is marked once.
    fn union(&mut self, pattern: &mut GraphPattern) -> Result<(), String> {
        match pattern {
            GraphPattern::Union { left, right } => {
                self.union(left)?;
                self.union(right)
            }
            other => self.pattern(other),
        }
    }

    fn group(
        &mut self,
        inner: &mut Box<GraphPattern>,
        keys: &mut Vec<Variable>,
        aggregates: &mut [(Variable, AggregateExpression)],
    ) -> Result<(), String> {
        let mut visible = Vec::new();
        inner.on_in_scope_variable(|variable| visible.push(variable.clone()));
        self.pattern(inner)?;
        for (variable, aggregate) in &mut *aggregates {
            self.name(variable);
            match aggregate {
                // Hidden values must not make rows distinct.
                AggregateExpression::CountSolutions { distinct: true } => {
                    visible.sort();
                    visible.dedup();
                    **inner = GraphPattern::Project {
                        inner: Box::new(take(inner)),
                        variables: visible.clone(),
                    };
                }
                AggregateExpression::CountSolutions { distinct: false } => {}
                AggregateExpression::FunctionCall {
                    name,
                    expr,
                    distinct,
                } => {
                    self.expression(expr)?;
                    let variable = matches!(expr, Expression::Variable(_));
                    match name {
                        AggregateFunction::GroupConcat { separator } => {
                            let separator = separator.clone().map(Literal::from);
                            call(KEPT, expr, separator.map(Expression::from));
                        }
                        AggregateFunction::Count if *distinct && variable => {}
                        _ if *distinct => call(KEPT, expr, None),
                        AggregateFunction::Count
                        | AggregateFunction::Sum
                        | AggregateFunction::Avg => {}
                        _ => call(CHOSEN, expr, None),
                    }
                }
            }
        }
        if !keys.is_empty() {
            let weight = AGGREGATE * (aggregates.len() + 1);
            keys.push(self.mark(inner, weight));
        }
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expression) -> Result<(), String> {
        match expression {
            Expression::NamedNode(_) | Expression::Literal(_) => {}
            Expression::Variable(variable) | Expression::Bound(variable) => self.name(variable),
            Expression::Or(left, right)
            | Expression::And(left, right)
            | Expression::Equal(left, right)
            | Expression::SameTerm(left, right)
            | Expression::Greater(left, right)
            | Expression::GreaterOrEqual(left, right)
            | Expression::Less(left, right)
            | Expression::LessOrEqual(left, right)
            | Expression::Add(left, right)
            | Expression::Subtract(left, right)
            | Expression::Multiply(left, right)
            | Expression::Divide(left, right) => {
                self.expression(left)?;
                self.expression(right)?;
            }
            Expression::UnaryPlus(inner)
            | Expression::UnaryMinus(inner)
            | Expression::Not(inner) => self.expression(inner)?,
            Expression::Exists(pattern) => self.pattern(pattern)?,
            Expression::If(condition, then, otherwise) => {
                self.expression(condition)?;
                self.expression(then)?;
                self.expression(otherwise)?;
            }
            Expression::In(one, list) => {
                self.expression(one)?;
                list.iter_mut().try_for_each(|e| self.expression(e))?;
            }
            Expression::Coalesce(list) => list.iter_mut().try_for_each(|e| self.expression(e))?,
            Expression::FunctionCall(function, args) => {
                args.iter_mut().try_for_each(|e| self.expression(e))?;
                self.function(function, args)?;
            }
        }
        Ok(())
    }

    fn function(&mut self, function: &Function, args: &mut [Expression]) -> Result<(), String> {
        match function {
            Function::Concat => {
                self.parts += args.len();
                if self.parts > MOST_PARTS {
                    return Err(format!(
                        "the query joins more than {MOST_PARTS} texts with CONCAT; split it"
                    ));
                }
                args.iter_mut().for_each(|arg| call(TEXT, arg, None));
            }
            Function::Regex | Function::Replace => {
                let replacement = matches!(function, Function::Replace);
                let [text, others @ ..] = args else {
                    return Ok(());
                };
                let others = &others[..others.len().min(1 + usize::from(replacement))];
                let simple =
                    |e: &Expression| matches!(e, Expression::Variable(_) | Expression::Literal(_));
                if !others.iter().all(simple) {
                    return Err("the pattern and the replacement of REGEX and REPLACE must \
                                each be a text or a variable; name it with BIND"
                        .into());
                }
                call(MATCHED, text, others.iter().cloned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives each row a hidden value of this weight, and returns its variable.
    fn mark(&mut self, pattern: &mut GraphPattern, weight: usize) -> Variable {
        let weight = Literal::new_typed_literal(weight.to_string(), WEIGHT);
        self.extend(pattern, weight.into())
    }

    fn extend(&mut self, pattern: &mut GraphPattern, expression: Expression) -> Variable {
        self.hidden += 1;
        // No query can contain this name.
        let variable = Variable::new_unchecked(format!("hidden {}", self.hidden));
        self.name(&variable);
        *pattern = GraphPattern::Extend {
            inner: Box::new(take(pattern)),
            variable: variable.clone(),
            expression,
        };
        variable
    }

    fn names(&mut self, triple: &TriplePattern) {
        self.name(&triple.subject);
        self.name(&triple.predicate);
        self.name(&triple.object);
    }

    /// Counts variables, including blank nodes.
    fn name(&mut self, term: &impl ToString) {
        let term = term.to_string();
        if term.starts_with(['?', '_']) {
            self.names.insert(term);
        }
    }
}

/// Replaces the expression by `function(expression, others...)`.
fn call(
    function: NamedNodeRef<'_>,
    expression: &mut Expression,
    others: impl IntoIterator<Item = Expression>,
) {
    let mut args = vec![take_expression(expression)];
    args.extend(others);
    let function = Function::Custom(NamedNode::from(function));
    *expression = Expression::FunctionCall(function, args);
}

fn take_expression(expression: &mut Expression) -> Expression {
    std::mem::replace(expression, Expression::Coalesce(Vec::new()))
}

//! The sampling paper's own methods, under their names.
//!
//! They ask for integers, of one filter. What they are good and bad at, the library says beside
//! them; here a tree is built in memory for the one question.

use std::ops::Range;

use anyhow::{Result, bail};
use bloomgrove::sample::{Form, Name, Options, Spelling};
use bloomgrove::{MappedFilter, tune};
use bloomgrove_trees::bloom_sample_tree::{
    Bits, BloomSampleTree, Costs, HashInvert, Operations, Threshold, dictionary_attack,
    dictionary_sample,
};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::json;

use super::Question;
use super::explain::Facts;
use crate::shared::units;

/// Bits that HashInvert draws without finding a member before it gives up.
const TRIES: u64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    Tree,
    HashInvert,
    Dictionary,
}

impl Paper {
    pub(super) fn name(self) -> &'static str {
        match self {
            Paper::Tree => "tree",
            Paper::HashInvert => "hash-invert",
            Paper::Dictionary => "dictionary",
        }
    }

    /// Whether its samples are.
    pub(super) fn is_uniform(self) -> bool {
        self == Paper::Dictionary
    }
}

/// The names asked about.
pub(super) enum Integers {
    Range(Range<u64>),
    /// Rising.
    List(Vec<u64>),
}

impl Integers {
    /// The names of a question, if they are integers and the method can have them.
    pub(super) fn of(question: &Question, paper: Paper) -> Result<Self> {
        let namespace = question.held.namespace();
        if namespace.spelling() != Spelling::Binary {
            bail!(
                "--method {} is for integers, and these names are asked as text; filters of \
                 integers are built with `bloomgrove filter build --keys integer`",
                paper.name()
            );
        }
        if question.expression.only().is_none() {
            bail!(
                "--method {} asks one filter; make one of several with `bloomgrove filter \
                 intersect` or `filter union`",
                paper.name()
            );
        }
        let within = question.within.clone().unwrap_or(0..u64::MAX);
        if let [Form::Range(range)] = &namespace.forms()[..] {
            let start = range.start.max(within.start);
            return Ok(Integers::Range(start..range.end.min(within.end).max(start)));
        }
        if paper == Paper::HashInvert {
            bail!("--method hash-invert is for a range of integers, and this is a list");
        }
        let numbers = (0..namespace.len()).filter_map(|rank| match namespace.name(rank) {
            Name::Integer(number) => within.contains(&number).then_some(number),
            Name::Text(_) => None,
        });
        let mut numbers: Vec<u64> = numbers.collect();
        // Those that came into use later are behind the others.
        numbers.sort_unstable();
        Ok(Integers::List(numbers))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Integers::Range(range) => range.end - range.start,
            Integers::List(list) => list.len() as u64,
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Integers::Range(range) => Box::new(range.clone()),
            Integers::List(list) => Box::new(list.iter().copied()),
        }
    }

    /// From the first to the last.
    fn span(&self) -> Range<u64> {
        match self {
            Integers::Range(range) => range.clone(),
            Integers::List(list) => match (list.first(), list.last()) {
                (Some(first), Some(last)) => *first..last.saturating_add(1),
                _ => 0..0,
            },
        }
    }
}

/// Draws by one of the methods; none if no member was found.
pub(super) fn sample(
    question: &Question,
    paper: Paper,
    names: &Integers,
    options: &Options,
    facts: &mut Facts,
) -> Result<Vec<u64>> {
    let Some(filter) = question.expression.only() else {
        return Ok(Vec::new());
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut work = Operations::default();
    let mut drawn = Vec::new();
    match paper {
        Paper::Tree => {
            let tree = tree(filter, names, options.memory, facts)?;
            while (drawn.len() as u64) < options.draws
                && let Some(name) = tree.sample(filter, Threshold::Safe, &mut random, &mut work)?
            {
                drawn.push(name);
            }
        }
        Paper::HashInvert => {
            let invert = HashInvert::new(filter, names.span())?;
            while (drawn.len() as u64) < options.draws {
                // A bit drawn may have no member among the names.
                let mut tries = 0..TRIES;
                match tries.find_map(|_| invert.sample(&mut random, &mut work)) {
                    Some(name) => drawn.push(name),
                    None => break,
                }
            }
        }
        Paper::Dictionary => {
            while (drawn.len() as u64) < options.draws
                && let Some(name) = dictionary_sample(filter, names.iter(), &mut random, &mut work)
            {
                drawn.push(name);
            }
        }
    }
    facts.operations(work, Some(drawn.len() as u64));
    Ok(drawn)
}

/// All members, by one of the methods; rising, except by inversion.
pub(super) fn reconstruct(
    question: &Question,
    paper: Paper,
    names: &Integers,
    memory: u64,
    facts: &mut Facts,
) -> Result<Vec<u64>> {
    let Some(filter) = question.expression.only() else {
        return Ok(Vec::new());
    };
    let mut work = Operations::default();
    let mut found = Vec::new();
    let each = |name: u64| found.push(name);
    match paper {
        Paper::Tree => {
            let tree = tree(filter, names, memory, facts)?;
            tree.reconstruct(filter, Threshold::Safe, &mut work, each)?;
        }
        Paper::HashInvert => {
            let from = match filter.fill() > 0.5 {
                true => Bits::Unset,
                false => Bits::Set,
            };
            HashInvert::new(filter, names.span())?.reconstruct(from, &mut work, each)?;
        }
        Paper::Dictionary => dictionary_attack(filter, names.iter(), &mut work, each),
    }
    facts.operations(work, None);
    Ok(found)
}

/// A tree as deep as the costs on this machine make best (section 5.4 of the paper), or as
/// fits the memory.
fn tree(
    filter: &MappedFilter,
    names: &Integers,
    memory: u64,
    facts: &mut Facts,
) -> Result<BloomSampleTree> {
    let params = filter.params();
    let costs = Costs::measure(params)?;
    let leaf = tune::leaf_size(costs.intersection, costs.membership);
    let span = names.span();
    let best = tune::tree_depth(names.len(), leaf).min((span.end - span.start).ilog2());
    let node = params.words() as u64 * 8 + 64;
    let fits = |depth: u32| {
        let complete = (2u64 << depth).saturating_sub(1);
        let pruned = names.len().saturating_mul(u64::from(depth) + 1);
        complete.min(pruned).saturating_mul(node) <= memory
    };
    let depth = (0..=best).rev().find(|&depth| fits(depth)).unwrap_or(0);
    let tree = match names {
        Integers::Range(range) => BloomSampleTree::complete(params, range.clone(), depth)?,
        Integers::List(list) => BloomSampleTree::pruned(params, span, depth, list.iter().copied())?,
    };
    let short = match depth < best {
        true => format!("; {best} levels would be best, and take more memory"),
        false => String::new(),
    };
    facts.line(
        "tree",
        format!(
            "{} below the root, leaves of {}, {}{short}",
            units::counted(depth.into(), "level"),
            units::counted(names.len() >> depth, "name"),
            units::size(tree.bytes()),
        ),
    );
    facts.field(
        "tree",
        json!({ "depth": depth, "best_depth": best, "bytes": tree.bytes(),
                "intersection_nanos": costs.intersection,
                "membership_nanos": costs.membership }),
    );
    Ok(tree)
}

/// What to say to somebody who wants an index used and has none.
pub(super) fn needs_index(question: &Question) -> String {
    format!(
        "--method index needs an index of names: build one with `bloomgrove sample index {} \
         --for {} -o FILE` and give it as --namespace",
        question.written,
        question.expression.first_file().display(),
    )
}

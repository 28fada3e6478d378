//! The tree, and the two methods that the paper compares it with, for the same names.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::format::Notes;
use bloomgrove::{Error, Family, MappedFilter};
use bloomgrove_trees::bloom_sample_tree::{
    Bits, BloomSampleTree, HashInvert, Operations, Threshold, dictionary_attack, dictionary_sample,
};
use rand::Rng;
use serde_json::{Value, json};

use crate::shared::keys::KeyKind;
use crate::shared::output::complain;
use crate::shared::{Outcome, notes, open, units};

/// Bits that HashInvert draws without finding a member before it gives up.
const TRIES: u64 = 100_000;

// A doc comment here would become the help of the command.
#[derive(clap::Args)]
pub(super) struct Question {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// The filter: of integers, and with the parameters of the tree
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// Which of the paper's methods to use
    #[arg(long, value_enum, default_value = "tree")]
    method: Method,
    /// When to skip a part of the tree: "safe" loses no members, "common-bit" skips a part that has no
    /// bit in common with the filter, a number skips a part with fewer estimated members (the paper's
    /// rule, which loses many) [default: safe]
    #[arg(long, value_name = "RULE", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// Report the paper's counters on standard error, or in the JSON
    #[arg(long)]
    pub(super) costs: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    /// Search the tree
    Tree,
    /// HashInvert: find names from the bits, by inverting affine hash functions
    HashInvert,
    /// DictionaryAttack: test every name of the tree
    Dictionary,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::Tree => "tree",
            Method::HashInvert => "hash-invert",
            Method::Dictionary => "dictionary",
        }
    }
}

fn threshold(text: &str) -> Result<Threshold, String> {
    match text {
        "safe" => Ok(Threshold::Safe),
        "common-bit" => Ok(Threshold::NoCommonBit),
        number => match number.parse() {
            Ok(least) if least >= 0.0 && f64::is_finite(least) => Ok(Threshold::Estimate(least)),
            _ => Err("use safe, common-bit, or a number of members such as 0.5".into()),
        },
    }
}

/// The tree and the filter of a query, opened.
pub(super) struct Opened {
    tree: BloomSampleTree,
    filter: MappedFilter,
    shown: String,
    method: Method,
    threshold: Threshold,
    pub(super) work: Operations,
}

impl Question {
    pub(super) fn open(&self) -> Result<Opened> {
        if self.threshold.is_some() && self.method != Method::Tree {
            bail!(
                "--threshold requires --method tree; it does not apply to {}",
                self.method.name()
            );
        }
        let tree = BloomSampleTree::load(&self.tree)?;
        let filter = filter_for(&tree, &self.tree, &self.filter)?;
        if self.method == Method::HashInvert && tree.is_pruned() {
            bail!(
                "{}: --method hash-invert requires a complete tree, but this one is pruned",
                self.tree.display()
            );
        }
        if self.method == Method::HashInvert
            && !matches!(filter.params().family(), Family::Affine(_))
        {
            bail!(
                "--method hash-invert requires a filter built with --hash affine; this one uses {}",
                filter.params().family()
            );
        }
        Ok(Opened {
            tree,
            filter,
            shown: self.filter.display().to_string(),
            method: self.method,
            threshold: self.threshold.unwrap_or(Threshold::Safe),
            work: Operations::default(),
        })
    }
}

/// A filter that can be queried together with a tree.
fn filter_for(tree: &BloomSampleTree, tree_path: &Path, path: &Path) -> Result<MappedFilter> {
    let filter = MappedFilter::map(path)?;
    open::check(path, false)?;
    let (tree_path, shown) = (tree_path.display(), path.display());
    if notes::key_kind(&Notes::of_file(path)?) == Some(KeyKind::Text) {
        bail!("{shown}: contains text keys, but the names of {tree_path} are integers");
    }
    if tree.params() != filter.params() {
        bail!(
            "{tree_path} was built for filters with other parameters than {shown}:\n  the tree has {}\n  \
             the filter has {}\nbuild a tree for this filter with `bloomgrove bloom-sample-tree build NAMES \
             --for {shown} -o FILE`",
            tree.params(),
            filter.params(),
        );
    }
    Ok(filter)
}

impl Opened {
    pub(super) fn method(&self) -> &'static str {
        self.method.name()
    }

    /// Whether every member is drawn with the same probability.
    pub(super) fn is_uniform(&self) -> bool {
        self.method == Method::Dictionary
    }

    /// Draws members; fewer only if none was found.
    pub(super) fn sample(&mut self, draws: u64, random: &mut impl Rng) -> Result<Vec<u64>, Error> {
        let Self {
            tree, filter, work, ..
        } = self;
        let mut drawn = Vec::new();
        let invert = match self.method {
            Method::HashInvert => Some(HashInvert::new(filter, tree.names())?),
            _ => None,
        };
        while (drawn.len() as u64) < draws {
            let name = match (self.method, &invert) {
                // A bit drawn may have no member among the names.
                (_, Some(invert)) => (0..TRIES).find_map(|_| invert.sample(random, work)),
                (Method::Tree, None) => tree.sample(filter, self.threshold, random, work)?,
                (_, None) => dictionary_sample(filter, tree.iter(), random, work),
            };
            match name {
                Some(name) => drawn.push(name),
                None => break,
            }
        }
        Ok(drawn)
    }

    /// All members; in ascending order, except by inversion.
    pub(super) fn reconstruct(&mut self) -> Result<Vec<u64>, Error> {
        let Self {
            tree, filter, work, ..
        } = self;
        let mut found = Vec::new();
        let each = |name: u64| found.push(name);
        match self.method {
            Method::Tree => tree.reconstruct(filter, self.threshold, work, each)?,
            Method::HashInvert => {
                let from = match filter.fill() > 0.5 {
                    true => Bits::Unset,
                    false => Bits::Set,
                };
                HashInvert::new(filter, tree.names())?.reconstruct(from, work, each)?;
            }
            Method::Dictionary => dictionary_attack(filter, tree.iter(), work, each),
        }
        Ok(found)
    }

    /// Reports that no member was found.
    pub(super) fn no_member(&self) -> Outcome {
        let perhaps = match self.threshold {
            Threshold::Estimate(_) => "; this --threshold loses members, --threshold safe does not",
            _ => "",
        };
        complain(format_args!(
            "{}: none of the {} of the tree is a member{perhaps}",
            self.shown,
            units::counted(self.tree.len(), "name")
        ));
        Outcome::No
    }

    /// The paper's counters, per draw or in total.
    pub(super) fn report_costs(&self, draws: Option<u64>) {
        let each = draws.unwrap_or(1).max(1) as f64;
        let per = if draws.is_some() { " per sample" } else { "" };
        let mean = |count: u64, thing: &str| match count as f64 / each {
            mean if mean < 10.0 && draws.is_some() => format!("{mean:.1} {thing}s"),
            mean => units::counted(mean.round() as u64, thing),
        };
        complain(format_args!(
            "{}: {} tested, {} intersected, {} entered{per}",
            self.method(),
            mean(self.work.memberships, "name"),
            mean(self.work.intersections, "filter"),
            mean(self.work.nodes, "node"),
        ));
    }

    pub(super) fn costs_json(&self) -> Value {
        json!({
            "names_tested": self.work.memberships,
            "intersections": self.work.intersections,
            "nodes_entered": self.work.nodes,
        })
    }
}

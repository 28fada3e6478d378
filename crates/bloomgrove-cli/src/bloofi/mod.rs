//! `bloomgrove bloofi`: many sets in one file, as the tree of the Bloofi paper.

mod build;
mod change;
mod draw;
mod info;
mod sets;
mod shape;
mod which;

use std::fs::File;
use std::path::Path;

use anyhow::Result;
use bloomgrove::format::Notes;
use bloomgrove::raw::format::lock_to_replace;
use bloomgrove_trees::bloofi::{BulkOrder, NamedBloofi};

use crate::shared::{Outcome, open};

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    Build(build::Args),
    Which(which::Args),
    Add(change::Add),
    Remove(change::Remove),
    Update(change::Update),
    Rebuild(shape::Rebuild),
    Widen(shape::Widen),
    Info(info::Args),
    Draw(draw::Args),
}

pub(crate) fn run(verb: Verb) -> Result<Outcome> {
    match verb {
        Verb::Build(args) => build::run(args),
        Verb::Which(args) => which::run(args),
        Verb::Add(args) => change::add(args),
        Verb::Remove(args) => change::remove(args),
        Verb::Update(args) => change::update(args),
        Verb::Rebuild(args) => shape::rebuild(args),
        Verb::Widen(args) => shape::widen(args),
        Verb::Info(args) => info::run(args),
        Verb::Draw(args) => draw::run(args),
    }
}

/// How a whole tree is built.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Bulk {
    /// From the leaves up, with similar sets together; similarity is found by sampling
    Packed,
    /// From the leaves up, in the order of the sets
    Given,
    /// The paper's method: a chain of nearest neighbors; takes time quadratic in the number of sets
    Chain,
}

impl From<Bulk> for BulkOrder {
    fn from(bulk: Bulk) -> Self {
        match bulk {
            Bulk::Packed => BulkOrder::Fast,
            Bulk::Given => BulkOrder::Given,
            Bulk::Chain => BulkOrder::PaperChain,
        }
    }
}

/// A tree to be changed, with its file locked against other changes.
struct Changing<'p> {
    path: &'p Path,
    tree: NamedBloofi,
    notes: Notes,
    _lock: File,
}

impl<'p> Changing<'p> {
    fn open(path: &'p Path) -> Result<Self> {
        let lock = open::patiently(|| lock_to_replace(path))?;
        Ok(Self {
            path,
            tree: NamedBloofi::load(path)?,
            notes: Notes::of_file(path)?,
            _lock: lock,
        })
    }

    fn save(&self) -> Result<()> {
        Ok(self.tree.save_with(self.path, &self.notes)?)
    }
}

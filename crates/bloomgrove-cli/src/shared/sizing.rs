//! How large the filters of many sets are: the options of `index build` and `remote add`.

use anyhow::Result;
use bloomgrove::index::IndexFile;
use bloomgrove::{Collector, Filter, Params, tune};

use super::{notes, units};

/// The default false-positive rate of filters.
pub(crate) const USUAL_FPR: f64 = 0.001;
/// False answers per query over all sets of an index, and the rates that lead to.
const FALSE_ANSWERS: f64 = 0.1;
const MOST_FPR: f64 = 0.01;
const LEAST_FPR: f64 = 1e-9;
/// Filters are sized to be half full; a much fuller one has more keys than it was sized for.
pub(crate) const OVERFULL: f64 = 0.75;

// A comment here would become the help of the command.
#[derive(Clone, clap::Args)]
pub(crate) struct SizeArgs {
    /// The false-positive rate: how often a set without the key is listed [default: 0.1%]
    #[arg(long, value_name = "RATE", value_parser = units::rate, conflicts_with = "bits")]
    fpr: Option<f64>,
    /// Make every filter large enough for this many keys
    #[arg(long, value_name = "COUNT", value_parser = units::count, conflicts_with = "bits")]
    items: Option<u64>,
    /// Make every filter this large, in bits (1e7) or bytes (32MB); requires --hashes
    #[arg(long, value_name = "BITS", value_parser = units::bits, requires = "hashes")]
    bits: Option<u64>,
    /// The number of bits that each key sets
    #[arg(long, value_name = "COUNT", requires = "bits", value_parser = units::within::<u32>(1..=64))]
    hashes: Option<u32>,
}

impl SizeArgs {
    /// Whether none was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.fpr.is_none() && self.items.is_none() && self.bits.is_none()
    }

    /// What they mean; fails before anything is read or written.
    pub(crate) fn sizing(&self) -> Result<Sizing> {
        self.sizing_at(USUAL_FPR)
    }

    /// The same for this number of sets that are queried together, and whose answers nobody checks:
    /// what a user notices is how many of them are false.
    pub(crate) fn sizing_for(&self, sets: usize) -> Result<Sizing> {
        let fpr = FALSE_ANSWERS / sets.max(1) as f64;
        self.sizing_at(fpr.clamp(LEAST_FPR, MOST_FPR))
    }

    fn sizing_at(&self, usual: f64) -> Result<Sizing> {
        if let (Some(bits), Some(hashes)) = (self.bits, self.hashes) {
            return Ok(Sizing::Equal(Params::builder(bits, hashes).build()?));
        }
        if let Some(items) = self.items {
            // The same for everything that may be combined one day.
            let fpr = self.fpr.unwrap_or(USUAL_FPR);
            return Ok(Sizing::Equal(tune::recommend(items, fpr)?.params()?));
        }
        let fpr = self.fpr.unwrap_or(usual);
        Collector::new(fpr)?;
        Ok(Sizing::Own(fpr))
    }
}

pub(crate) enum Sizing {
    /// All filters have these parameters.
    Equal(Params),
    /// Each as large as its set needs at this rate, in steps.
    Own(f64),
}

impl Sizing {
    /// That of the filters of an index.
    pub(crate) fn of(file: &IndexFile) -> Result<Self> {
        match file.params().next() {
            Some(params) if !file.is_mixed() => Ok(Sizing::Equal(params.clone())),
            _ => notes::fpr(file.notes(), USUAL_FPR).map(Sizing::Own),
        }
    }
}

/// Whether a filter has more keys than it was sized for. (An index among the
/// sources has a placeholder of a single bit.)
pub(crate) fn is_overfull(filter: &Filter) -> bool {
    filter.fill() > OVERFULL && filter.params().bits() > 1
}

/// The subject of a warning about overfull sets.
pub(crate) fn sets_have(sets: u64) -> String {
    match sets {
        1 => "1 set has".to_owned(),
        sets => format!("{} sets have", units::grouped(sets)),
    }
}

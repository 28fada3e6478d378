//! Items back out of a filter: draw members of a namespace, or list them all.

mod baselines;
mod operations;
mod tree;

pub use baselines::{Bits, HashInvert, dictionary_attack, dictionary_sample};
pub use operations::Operations;
pub use tree::{Costs, SampleTree, Threshold, estimate_common};

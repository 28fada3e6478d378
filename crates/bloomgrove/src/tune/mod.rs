//! The size and layout of a filter, with the reason for the choice.
//!
//! ```text
//!   items, rate --> standard: k = about log2(1/p), m = -k n / ln(1 - p^(1/k))
//!               \-> blocked:  the smallest m and k whose line-by-line rate is <= p
//!                      |
//!                      +--> blocked if it costs at most 10% more bits, else standard
//! ```
//!
//! | target | standard | blocked | cost |
//! |---|---|---|---|
//! | 1e-1 | 4.81 bits/key | 4.86 | + 1% |
//! | 1e-2 | 9.62 | 10.10 | + 5% |
//! | 1e-3 | 14.43 | 15.73 | + 9% |
//! | 1e-4 | 19.23 | 22.13 | + 15% |
//!
//! (`bloomgrove tune size --items 1000000 --fpr ...` prints these.)
//!
//! Source: Spyropoulos (Bloom filters), sections 4 and 6.

pub(crate) mod math;
pub(crate) mod sampling;
pub(crate) mod size;

pub use sampling::{accuracy, bits_for_accuracy};
pub use size::{Recommendation, choose, recommend};

//! The experiments of the papers, run again with our own code.
//!
//! One directory per paper, one file per group of figures. The command `experiments`
//! (`main.rs`) runs them, prints what was measured beside what was published, and writes a
//! CSV file and a plot for each figure. Seeds are fixed, so costs come out the same
//! everywhere; times are those of the machine.
//!
//! A new paper adds a directory here and an arm in `main.rs`.

pub mod bloofi;
pub mod bloom_tree;
pub mod buffered;
mod figure;
pub mod memory;
mod paper;
mod plot;
pub mod provenance;
pub mod sampling;

pub use figure::{Axis, Claim, Figure, Picture, Report, Series, Stroke, Table};
pub use paper::Progress;

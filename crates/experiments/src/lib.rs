//! The experiments of the papers, reproduced with our code.
//!
//! One directory per paper, one file per group of figures. The command `experiments`
//! (`main.rs`) runs them, prints our measurements next to the published ones, and writes a
//! CSV file and a plot for each figure. Seeds are fixed, so costs are the same on every machine;
//! times are those of the machine.
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

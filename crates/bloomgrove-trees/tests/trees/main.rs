//! The published trees through their public interface, and what concerns files of every kind.

#[path = "../../../bloomgrove/tests/support/mod.rs"]
mod support;

mod bloom_tree;
mod hostile;
mod replace;
mod sample_tree;
mod tree_files;

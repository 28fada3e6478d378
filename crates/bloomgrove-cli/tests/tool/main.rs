//! The tool, run as its users run it: everything that needs no server.

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/table.rs"]
mod table;
#[path = "../support/parquet.rs"]
mod written;

mod any;
mod bloofi;
mod bloom_sample_tree;
mod bloom_tree;
mod buffered;
mod buffered_errors;
mod buffered_stream;
mod columns;
mod commands;
mod compress;
mod crash;
mod filter;
mod grep;
mod index;
mod lake;
mod parquet;
mod parquet_damage;
mod replace;
mod sample;
mod sample_errors;
mod sample_faults;
mod sample_index;
mod semi_join;
mod semi_join_errors;
mod shell;
mod stale;
mod stream;
mod tune;
mod which;
mod words;

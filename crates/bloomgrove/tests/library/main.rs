//! The library through its public interface: a file per subject.

#[path = "../support/mod.rs"]
mod support;

mod arrows;
mod buffered;
mod buffered_crash;
mod buffered_file;
mod codec;
mod codec_format;
mod golden;
mod index;
mod index_file;
mod index_laws;
mod laws;
mod name_index;
mod rates;
mod sample;
mod sample_laws;
mod shared_index;
mod uniform;

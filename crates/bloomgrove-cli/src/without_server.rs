//! What a build without the `server` feature says when a server or a site is wanted.

use std::ffi::OsString;

use anyhow::Result;

use crate::shared::{Outcome, missing};

/// Run a server of sets (not in this build).
///
/// This bloomgrove was built without its server, which takes as long to compile as the rest. To install the full
/// program from source: cargo install --path crates/bloomgrove-cli --features server
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _ignored: Vec<OsString>,
}

pub(crate) fn run(_: Args) -> Result<Outcome> {
    missing("`bloomgrove serve` is not in this build")
}

//! `bloomgrove completions` and `bloomgrove man`: generated from the definition of the command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::Shell;

use crate::shared::Outcome;
use crate::shared::output::Output;

/// Print a completion script for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove completions bash > ~/.local/share/bash-completion/completions/bloomgrove\n  \
    bloomgrove completions fish > ~/.config/fish/completions/bloomgrove.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the man pages, one per command, to a directory.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The directory; it is created if necessary
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn completions(args: &Completions, mut command: Command) -> Result<Outcome> {
    // Into memory first: the generator panics where writing fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "bloomgrove", &mut script);
    let mut output = Output::new();
    output.bytes(&[&script])?;
    output.finish()?;
    Ok(Outcome::Yes)
}

pub(crate) fn man(args: &Man, command: Command) -> Result<Outcome> {
    let shown = || args.directory.display().to_string();
    if args.directory.is_file() {
        bail!(
            "{}: this is a file; pass a directory for the man pages",
            shown()
        );
    }
    std::fs::create_dir_all(&args.directory).with_context(shown)?;
    clap_mangen::generate_to(command, &args.directory).with_context(shown)?;
    Ok(Outcome::Yes)
}

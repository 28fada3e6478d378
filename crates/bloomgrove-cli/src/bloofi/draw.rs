//! `bloomgrove bloofi draw`: the tree as a picture.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove_trees::bloofi::NamedBloofi;

use crate::shared::output::Output;
use crate::shared::whole_file::{self, Form};
use crate::shared::{Outcome, units};

/// Draw a Bloofi tree.
///
/// Each set is a leaf, and each node above it the union of its children; the darker a node, the more
/// of its bits are set. The file extension determines the format: .svg, or .dot or .gv for
/// Graphviz. Without a file, the drawing is text.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi draw sites.bloofi.grove -o sites.svg")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// The file to write; without it, text goes to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw at most this many children per node, and note how many were left out
    #[arg(long, default_value_t = 8, value_name = "COUNT", value_parser = units::many)]
    children: usize,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let tree = NamedBloofi::load(&args.tree)?;
    let drawing = tree.draw().most_children(args.children);
    let ending = |path: &Path| {
        path.extension()
            .map(|end| end.to_string_lossy().into_owned())
    };
    let Some(path) = &args.output else {
        let mut output = Output::new();
        output.line(drawing.to_text().trim_end())?;
        output.finish()?;
        return Ok(Outcome::Yes);
    };
    let (form, picture) = match ending(path).as_deref() {
        Some("svg") => (Form::Svg, drawing.to_svg()),
        Some("dot" | "gv") => (Form::Dot, drawing.to_dot()),
        _ => bail!(
            "{}: unknown format; name a file with the extension .svg, .dot or .gv",
            path.display()
        ),
    };
    whole_file::write(path, form, &picture)?;
    Ok(Outcome::Yes)
}

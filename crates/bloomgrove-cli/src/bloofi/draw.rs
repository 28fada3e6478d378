//! `bloomgrove bloofi draw`: the tree as a picture.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove_trees::bloofi::NamedBloofi;

use crate::shared::Outcome;
use crate::shared::output::Output;
use crate::shared::whole_file::{self, Form};

/// Draw a Bloofi tree.
///
/// Every set is a leaf, and every node above it the union of its children; the darker a node, the more of
/// its bits are set. The form is that of the file's ending, .svg or .dot (Graphviz); without a file, text.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove bloofi draw sites.bloofi.grove -o sites.svg")]
pub(crate) struct Args {
    /// The tree
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// Where to draw; text on standard output if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw this many children of each node, and say how many more there are
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
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
            "{}: name a file ending in .svg or .dot; the ending decides the form",
            path.display()
        ),
    };
    whole_file::write(path, form, &picture)?;
    Ok(Outcome::Yes)
}

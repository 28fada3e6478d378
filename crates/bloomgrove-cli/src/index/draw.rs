//! `bloomgrove index draw`: the sets as the tree of the Bloofi paper.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::Filter;
use bloomgrove::index::Index;
use bloomgrove_trees::bloofi::{Bloofi, BloofiOptions};

use crate::shared::output::{Output, complain};
use crate::shared::whole_file::{self, Form};
use crate::shared::{Outcome, open, units};

/// Draw the sets of an index as a tree, as the Bloofi paper does.
///
/// Every set is a leaf, every node above the union of what lies below it, and similar sets
/// lie together; the darker a node, the more of its bits are set. The form is that of the
/// file's ending, .svg or .dot (Graphviz); without a file, text.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove index draw sites.grove -o sites.svg")]
pub(crate) struct Args {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Where to draw; text on standard output if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Nodes have this many children to twice as many
    #[arg(long, default_value_t = 2)]
    order: usize,
    /// Of each node, draw this many children, and say how many more there are
    #[arg(long, default_value_t = 8, value_name = "COUNT")]
    children: usize,
    /// Draw no more sets than this
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    most: usize,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let (index, _) = open::to_ask(&args.index)?;
    let (tree, names) = tree(&index, &args)?;
    let name = |slot: u32| names[slot as usize].clone();
    let drawing = tree.draw().names(name).most_children(args.children);
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
            "{}: name a file ending in .svg or .dot, so that its form is known",
            path.display()
        ),
    };
    whole_file::write(path, form, &picture)?;
    Ok(Outcome::Yes)
}

/// The tree of the sets that have the commonest parameters.
fn tree(index: &Index, args: &Args) -> Result<(Bloofi, Vec<String>)> {
    let segments = index.segments_info();
    let count = |params| -> usize {
        let same = segments.iter().filter(|segment| segment.params == params);
        same.map(|segment| segment.sets).sum()
    };
    let Some(params) = index.params().max_by_key(|params| count(*params)) else {
        bail!("{}: there are no sets to draw", args.index.display());
    };
    let mut tree = Bloofi::new(params.clone(), BloofiOptions::default().order(args.order))?;
    let mut names = Vec::new();
    let (mut other_sizes, mut too_many) = (0, 0);
    let mut sets: Vec<_> = index.sets().collect();
    sets.sort_unstable_by_key(|set| (set.id(), set.slice()));
    sets.dedup_by_key(|set| set.id());
    for set in sets {
        let filter: Filter = index.filter(set.name())?;
        if filter.params() != params {
            other_sizes += 1;
            continue;
        }
        if names.len() == args.most {
            too_many += 1;
            continue;
        }
        tree.insert(names.len() as u32, &filter)?;
        names.push(String::from_utf8_lossy(set.name()).into_owned());
    }
    if names.is_empty() {
        bail!("{}: there are no sets to draw", args.index.display());
    }
    if other_sizes > 0 {
        complain(format_args!(
            "{} not drawn: filters of different sizes have no tree together; index build --items \
             makes them equal",
            units::counted(other_sizes, "set")
        ));
    }
    if too_many > 0 {
        complain(format_args!(
            "{} not drawn: more than --most {}",
            units::counted(too_many, "set"),
            args.most
        ));
    }
    Ok((tree, names))
}

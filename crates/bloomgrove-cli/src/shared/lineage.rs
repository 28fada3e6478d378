//! Which documents to follow, and in which direction: what `trace` and `site lineage` share.

use bloomgrove_client::api::Direction;

use super::units;

// A comment here would become the help of the command.
#[derive(clap::Args)]
pub(crate) struct LineageArgs {
    /// The documents (or events), by their ids
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Follow links forward (what was made from them) instead of back (what they were made from)
    #[arg(short = 'D', long)]
    descendants: bool,
    /// Follow at most this many links from the nearest of them [default: unlimited]
    #[arg(long, value_name = "LINKS", value_parser = units::within::<u32>(0..=u32::MAX.into()))]
    pub(crate) depth: Option<u32>,
}

impl LineageArgs {
    pub(crate) fn direction(&self) -> Direction {
        match self.descendants {
            true => Direction::Descendants,
            false => Direction::Ancestors,
        }
    }
}

//! `bloomgrove remote update`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::MappedFilter;
use bloomgrove::format::{Content, content_of};
use bloomgrove::raw::codec::Kind;

use serde_json::json;

use super::change::{report, warn_if_overfull};
use crate::shared::connect::Remote;
use crate::shared::{Outcome, message_file, units};

/// Merge filters into a set, or apply deltas.
///
/// A file is a filter (.grove), a compressed filter (`filter compress`), or a delta (`filter
/// delta`) from the version on the server. Filters must have the same parameters as the set.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove remote update site/galway today.grove\n  \
    bloomgrove remote update site/galway tuesday.delta --base 1041")]
pub(super) struct Update {
    /// The set
    #[arg(value_name = "SET")]
    set: String,
    /// Filters or deltas
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The version that the first file was made from; fails if the set has been replaced since
    #[arg(long, value_name = "VERSION", value_parser = units::count)]
    base: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(remote: &Remote, args: Update) -> Result<Outcome> {
    let (client, mut base) = (&remote.client, args.base);
    let mut changed = 0;
    let mut version = None;
    for path in &args.files {
        let shown = || path.display().to_string();
        let updated = match message_file::kind_of(path)? {
            Some(Kind::Filter | Kind::Delta) => {
                let message = std::fs::read(path).with_context(shown)?;
                remote.wait(client.merge_bytes(&args.set, message, base))
            }
            Some(other) => bail!("{}: this is {}, not a filter", shown(), other.name()),
            None if content_of(path).is_ok_and(|content| content == Content::Filter) => {
                let filter = MappedFilter::map(path)?;
                remote.wait(client.merge(&args.set, &filter, base))
            }
            None => {
                std::fs::metadata(path).with_context(shown)?;
                bail!(
                    "{}: neither a filter nor a delta; to add the keys of a file, use `remote insert {} \
                 --keys-from`",
                    shown(),
                    args.set
                )
            }
        };
        let updated = updated.with_context(shown)?;
        changed += updated.changed_bits;
        version = Some(updated.version);
        base = args.base.and(version);
    }
    warn_if_overfull(remote, &args.set)?;
    let value = json!({ "set": args.set, "changed_bits": changed, "version": version });
    let bits = units::counted(changed, "bit");
    report(
        args.json,
        &value,
        format_args!("updated {}: {bits} changed", args.set),
    )
}

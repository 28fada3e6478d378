//! `bloomgrove index remove`, `index update` and `index compact`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bloomgrove::index::{IndexFile, Shape};
use bloomgrove::{Error, MappedFilter};

use clap::ArgGroup;
use serde_json::json;

use crate::shared::keys::KeyKind;
use crate::shared::output::{self, Output, complain};
use crate::shared::sizing::{OVERFULL, USUAL_FPR};
use crate::shared::stamp::{self, FileTag};
use crate::shared::update::UpdateArgs;
use crate::shared::{Outcome, notes, open, units};

/// Remove sets from an index.
///
/// With --before, removes every time slice before that one; a set is removed with its last
/// slice. Exit code: 0 if all sets were found, 2 if one was not (the others are removed).
#[derive(clap::Args)]
#[command(group = ArgGroup::new("which").args(["sets", "prefix", "before"]).required(true).multiple(true),
    override_usage = "bloomgrove index remove [OPTIONS] INDEX SET...\n       \
                      bloomgrove index remove [OPTIONS] INDEX --prefix TEXT\n       \
                      bloomgrove index remove [OPTIONS] INDEX --before SLICE",
    after_help = "Examples:\n  \
    bloomgrove index remove sites.grove oslo.txt\n  \
    bloomgrove index remove sites.grove --prefix 2025/\n  \
    bloomgrove index remove sites.grove --before 20261101")]
pub(crate) struct Remove {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Names of sets
    #[arg(value_name = "SET")]
    sets: Vec<OsString>,
    /// Remove all sets whose name begins with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<OsString>,
    /// Remove all slices before this one
    #[arg(long, value_name = "SLICE", value_parser = units::count)]
    before: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Add keys or a filter to a set, or rename it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove index update sites.grove oslo.txt doc-00042 doc-00043\n  \
    bloomgrove index update sites.grove oslo.txt --keys-from new.txt\n  \
    bloomgrove index update sites.grove oslo.txt --rename bergen.txt")]
pub(crate) struct Update {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    #[command(flatten)]
    update: UpdateArgs,
}

/// Rewrite an index without the space that is no longer used.
///
/// This happens automatically when more space is unused than used.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  bloomgrove index compact sites.grove --seal")]
pub(crate) struct Compact {
    /// The index
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Compress the sets that the index has now, if that saves memory (about 80% when 1% of the bits are set); sets
    /// added later are stored uncompressed until the next `compact --seal`
    #[arg(long, conflicts_with = "layout")]
    seal: bool,
    /// Use this layout instead of the automatic choice; auto restores it
    #[arg(long, value_enum)]
    layout: Option<LayoutArg>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LayoutArg {
    Auto,
    Loose,
    Flat,
    Sliced,
    Sealed,
}

pub(crate) fn remove(args: Remove) -> Result<Outcome> {
    let mut file = open::to_change(&args.index)?;
    let mut output = Output::new();
    let mut complete = true;
    let mut removed = Vec::new();
    let slices = match args.before {
        Some(before) => Some(file.expire(before)?),
        None => None,
    };
    let mut names: Vec<Vec<u8>> = args.sets.into_iter().map(OsString::into_vec).collect();
    if let Some(prefix) = &args.prefix {
        let sets = file
            .sets()
            .filter(|set| set.name().starts_with(prefix.as_bytes()));
        let mut found: Vec<Vec<u8>> = sets.map(|set| set.name().to_vec()).collect();
        // A set of several slices is there several times.
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            let (index, prefix) = (args.index.display(), prefix.to_string_lossy());
            complain(format_args!(
                "{index}: no set has a name that begins with {prefix}"
            ));
        }
        names.extend(found);
    }
    for name in names {
        match file.remove(&name) {
            Ok(_) => removed.push(name),
            Err(error @ Error::UnknownSet { .. }) => {
                let way_out = open::LIST_SETS;
                complain(format_args!("{}: {error}{way_out}", args.index.display()));
                complete = false;
            }
            Err(error) => return Err(error.into()),
        }
    }
    // Reported once it is committed.
    file.commit()?;
    if args.json {
        let removed: Vec<_> = removed
            .iter()
            .map(|name| output::json_bytes(name))
            .collect();
        output.json(&json!({ "removed": removed, "slices": slices }))?;
    } else {
        if let Some(slices) = slices {
            let slices = units::counted(slices as u64, "slice");
            output.line(format_args!("removed {slices}"))?;
        }
        for name in removed {
            output.bytes(&[b"removed ", &name, b"\n"])?;
        }
    }
    output.finish()?;
    Ok(Outcome::of(complete))
}

pub(crate) fn update(args: Update) -> Result<Outcome> {
    let update = &args.update;
    update.check()?;
    let mut file = open::to_change(&args.index)?;
    let kind = notes::key_kind(file.notes()).unwrap_or(KeyKind::Text);
    let mut name = update.set.clone().into_vec();
    let mut count = 0;
    // Fail before any file is read.
    if let Err(error) = file.get(&name) {
        let way_out = open::LIST_SETS;
        bail!("{}: {error}{way_out}", args.index.display());
    }
    update.keys.each(None, |lines| {
        count += lines.len() as u64;
        for line in lines {
            file.insert(&name, &kind.key(line)?)?;
        }
        Ok(())
    })?;
    if let Some(filter) = &update.filter {
        file.update(&name, &MappedFilter::map(filter)?)?;
    }
    let old = name.clone();
    if let Some(new) = &update.rename {
        let new = new.clone().into_vec();
        // The set is still of the file that it was read from.
        let base = stamp::base_of(&args.index).with_context(|| args.index.display().to_string())?;
        let tag = file.get(&name)?.tag().to_vec();
        file.rename(&name, &new)?;
        if let Some(tag) = FileTag::from_bytes(&tag) {
            let place = tag.place(&name, &base);
            let mut moved = FileTag::placed(tag.stamp, &place, &new, &base);
            moved.part = tag.part;
            file.set_tag(&new, moved.to_bytes())?;
        }
        name = new;
    }
    file.commit()?;
    warn_of_rate(&file, &name)?;
    update.report((&old, &name), count, Default::default())?;
    Ok(Outcome::Yes)
}

/// Warns if a set has so many keys that the index no longer has its false-positive rate.
fn warn_of_rate(file: &IndexFile, name: &[u8]) -> Result<()> {
    let filter = file.filter(name)?;
    let wanted = match file.is_mixed() {
        true => notes::fpr(file.notes(), USUAL_FPR)?,
        // Filters of one size are sized for the largest set.
        false => OVERFULL.powi(filter.params().hashes() as i32),
    };
    let rate = filter.fill().powi(filter.params().hashes() as i32);
    if rate > 2.0 * wanted {
        complain(format_args!(
            "{} now has more keys than its filter was sized for: its false-positive rate is {}, not \
             {}; add it again from all its keys with `index add --replace`",
            String::from_utf8_lossy(name),
            units::percent(rate),
            units::percent(wanted)
        ));
    }
    Ok(())
}

pub(crate) fn compact(args: Compact) -> Result<Outcome> {
    let mut file = open::to_change(&args.index)?;
    let before = std::fs::metadata(&args.index).map_or(0, |about| about.len());
    let layout = match (args.seal, args.layout) {
        (true, _) => Some(LayoutArg::Sealed),
        (false, layout) => layout,
    };
    if let Some(layout) = layout {
        file.set_shape(match layout {
            LayoutArg::Auto => None,
            LayoutArg::Loose => Some(Shape::Loose),
            LayoutArg::Flat => Some(Shape::Flat),
            LayoutArg::Sliced => Some(Shape::Sliced),
            LayoutArg::Sealed => Some(Shape::Sealed),
        });
    }
    let bits = file.bytes();
    file.compact()?;
    if args.seal {
        // The planner decides about what is added later.
        file.set_shape(None);
        if file.bytes() > bits {
            complain(format_args!(
                "sealing saves no memory with filters as dense as these; the layout was not \
                 changed"
            ));
            file.rearrange(None)?;
            file.compact()?;
        } else {
            file.commit()?;
        }
    }
    let after = std::fs::metadata(&args.index).map_or(0, |about| about.len());
    let layouts = super::info::layouts(&file);
    let mut output = Output::new();
    if args.json {
        let file = args.index.to_string_lossy();
        output.json(
            &json!({ "file": file, "bytes": after, "bytes_before": before, "layouts": layouts }),
        )?;
    } else {
        output.line(format_args!(
            "{}: {}, was {}; {layouts}",
            args.index.display(),
            units::size(after),
            units::size(before),
        ))?;
    }
    output.finish()?;
    Ok(Outcome::Yes)
}

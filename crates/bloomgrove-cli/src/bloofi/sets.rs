//! Reads the sets of a tree on all processors, with equal parameters for all filters.

use anyhow::{Context, Result, bail};
use bloomgrove::codec;
use bloomgrove::index::Index;
use bloomgrove::{Error, Filter, MappedFilter, Params};

use crate::shared::output::complain;
use crate::shared::progress::Progress;
use crate::shared::read_sets::How;
use crate::shared::sizing::{self, Sizing};
use crate::shared::sources::{Source, SourceKind};
use crate::shared::{interrupt, parallel};

/// The parameters of all filters of a tree: those requested, those of the filters among the
/// sources, or large enough for the largest set.
pub(super) fn params(size: &sizing::SizeArgs, sources: &[Source], how: &mut How) -> Result<Params> {
    let fpr = match size.sizing()? {
        Sizing::Equal(params) => return Ok(params),
        Sizing::Own(fpr) => fpr,
    };
    for source in sources {
        if let Some(params) = params_of(source)? {
            // An option that would have no effect is an error.
            if !size.is_empty() {
                bail!(
                    "--fpr does not apply here: {} determines the size of the filters",
                    source.path.display()
                );
            }
            return Ok(params);
        }
    }
    how.sizing = Sizing::Own(fpr);
    let progress = Progress::bytes(total(sources), "counting");
    let mut largest: Option<Params> = None;
    let count = |source| Source::filter(source, how, &progress);
    parallel::each(sources, count, |_, filter| {
        // A source that cannot be read is reported when its keys are read.
        if let Ok(filter) = filter {
            let larger = |params: &Params| params.bits() >= filter.params().bits();
            if !largest.as_ref().is_some_and(larger) {
                largest = Some(filter.params().clone());
            }
        }
        Ok(())
    })?;
    interrupt::check()?;
    largest.context("no sets to build a tree from")
}

/// The parameters that a source determines; for an index, those of most of its sets.
fn params_of(source: &Source) -> Result<Option<Params>> {
    let shown = || source.path.display().to_string();
    Ok(match source.kind {
        SourceKind::Keys | SourceKind::Stream => None,
        SourceKind::Filter => Some(MappedFilter::map(&source.path)?.params().clone()),
        SourceKind::Message => {
            let message = std::fs::read(&source.path).with_context(shown)?;
            let (filter, _) =
                codec::expand_within(&message[..], codec::LIMIT).with_context(shown)?;
            Some(filter.params().clone())
        }
        SourceKind::Index => {
            let index = Index::open(&source.path)?;
            let segments = index.segments();
            let sets = |params: &Params| -> usize {
                let same = segments.iter().filter(|segment| segment.params == params);
                same.map(|segment| segment.sets).sum()
            };
            index.params().max_by_key(|params| sets(params)).cloned()
        }
    })
}

fn total(sources: &[Source]) -> u64 {
    sources.iter().map(|source| source.size).sum()
}

/// Reads all sources, and passes their sets to `take` in order. Returns false if one could not be
/// read or `take` rejected it; each is reported, and all sets whose parameters differ from the
/// tree's are reported together. `duplicate` is what to do about a name that exists.
pub(super) fn read(
    sources: &[Source],
    how: &How,
    duplicate: &str,
    mut take: impl FnMut(Vec<u8>, Filter) -> Result<(), Error>,
) -> Result<bool> {
    let progress = Progress::bytes(total(sources), "reading sets");
    let mut complete = true;
    let mut failed = |what: std::fmt::Arguments<'_>| {
        complain(what);
        complete = false;
    };
    let (mut unequal, mut example) = (0, String::new());
    let read = |source: &Source| match source.kind {
        SourceKind::Index => sets_of(source, how),
        _ => Ok(vec![(source.name.clone(), source.filter(how, &progress)?)]),
    };
    parallel::each(sources, read, |source, sets| {
        match sets {
            Ok(sets) => {
                for (name, filter) in sets {
                    let shown = String::from_utf8_lossy(&name).into_owned();
                    let file = source.path.display();
                    match (take(name, filter), source.kind) {
                        (Ok(()), _) => {}
                        (Err(Error::Incompatible { left, right }), _) => {
                            unequal += 1;
                            example = format!("{shown} has {right}\n  the tree has {left}");
                        }
                        (Err(Error::DuplicateSet { name }), _) => failed(format_args!(
                            "{file}: a set named {name} already exists; {duplicate}"
                        )),
                        (Err(error), SourceKind::Index) => {
                            failed(format_args!("{file}: {shown}: {error}"));
                        }
                        (Err(error), _) => failed(format_args!("{file}: {error}")),
                    }
                }
            }
            Err(_) if interrupt::was_asked() => {}
            Err(error) => failed(format_args!("{error:#}")),
        }
        Ok(())
    })?;
    if interrupt::was_asked() {
        bail!("interrupted; nothing was changed");
    }
    if unequal > 0 {
        failed(format_args!(
            "{} other filter parameters than the tree, and cannot be added to it:\n  {example}\n\
             add the files of keys instead, or build filters with the parameters of the tree",
            sizing::sets_have(unequal),
        ));
    }
    Ok(complete)
}

/// The sets of an index; a set made of slices becomes one filter.
fn sets_of(source: &Source, how: &How) -> Result<Vec<(Vec<u8>, Filter)>> {
    source.check_keys(how)?;
    let index = Index::open(&source.path)?;
    let mut sets: Vec<_> = index.sets().collect();
    sets.sort_unstable_by_key(|set| (set.id(), set.slice()));
    sets.dedup_by_key(|set| set.id());
    let filters = sets.iter().map(|set| {
        let filter = index.filter(set.name())?;
        Ok((set.name().to_vec(), filter))
    });
    filters.collect()
}

//! Querying the indexes and printing their answers.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::refresh::Fresh;
use crate::shared::keys;
use crate::shared::output::{self, Output, complain};

pub(super) struct Style {
    pub(super) verify: bool,
    pub(super) count: bool,
    pub(super) quiet: bool,
    pub(super) json: bool,
    /// There is more than one key, so each line begins with its key.
    pub(super) many: bool,
}

/// Keys per batch: their answers are kept in memory.
const CHUNK: usize = 10_000;

/// Prints the answers; returns whether there were any, and whether all files that `verify`
/// had to read could be read.
pub(super) fn print(
    output: &mut Output,
    style: &Style,
    keys: &[Vec<u8>],
    indexes: &[Fresh],
) -> Result<(bool, bool)> {
    let (mut any, mut complete) = (false, true);
    for keys in keys.chunks(CHUNK) {
        let mut answers: Vec<Vec<&Path>> = vec![Vec::new(); keys.len()];
        for index in indexes {
            for (answer, found) in answers.iter_mut().zip(index.which_many(keys).iter()) {
                let paths = found.iter().filter_map(|set| index.paths.get(set.name()));
                answer.extend(paths.map(PathBuf::as_path));
            }
        }
        if style.verify {
            complete &= keep_true(keys, &mut answers);
        }
        for (key, mut files) in keys.iter().zip(answers) {
            files.sort_unstable();
            files.dedup();
            any |= !files.is_empty();
            print_one(output, style, key, &files)?;
        }
    }
    Ok((any, complete))
}

fn print_one(output: &mut Output, style: &Style, key: &[u8], files: &[&Path]) -> Result<()> {
    if style.quiet {
        return Ok(());
    }
    if style.json {
        let mut line = json!({ "key": output::json_bytes(key), "count": files.len() });
        if !style.count {
            line["files"] = files
                .iter()
                .map(|file| output::json_bytes(file.as_os_str().as_bytes()))
                .collect();
        }
        return output.json_line(&line);
    }
    let lead: &[&[u8]] = if style.many { &[key, b"\t"] } else { &[] };
    if style.count {
        output.bytes(lead)?;
        return output.line(files.len());
    }
    for file in files {
        output.bytes(lead)?;
        output.bytes(&[file.as_os_str().as_bytes(), b"\n"])?;
    }
    Ok(())
}

/// Reads every file found and drops the false positives. Returns false if a file could not be
/// read: its answers stay, since they may be right.
fn keep_true(keys: &[Vec<u8>], answers: &mut [Vec<&Path>]) -> bool {
    let mut asked: BTreeMap<&Path, HashSet<&[u8]>> = BTreeMap::new();
    for (key, files) in keys.iter().zip(answers.iter()) {
        for file in files {
            asked.entry(file).or_default().insert(key);
        }
    }
    let mut complete = true;
    let mut wrong: HashSet<(&Path, &[u8])> = HashSet::new();
    for (file, mut missing) in asked {
        let read = keys::read(file, None, None, |lines| {
            for line in lines {
                missing.remove::<[u8]>(line);
            }
            Ok(())
        });
        match read {
            Ok(()) => wrong.extend(missing.into_iter().map(|key| (file, key))),
            Err(error) => {
                complain(format_args!("{error:#}"));
                complete = false;
            }
        }
    }
    for (key, files) in keys.iter().zip(answers) {
        files.retain(|file| !wrong.contains(&(*file, key.as_slice())));
    }
    complete
}

//! Finding the files for one question, and printing them.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::{Args, Question};
use crate::shared::keys::Keys;
use crate::shared::output::{self, Output, complain};
use crate::shared::search::{Candidate, Complaints, Fresh, candidates};
use crate::shared::{parallel, units};

/// The files that contain what was asked for, sorted; with `maybe`, those that may.
pub(super) fn files(
    question: &Question,
    indexes: &[Fresh<'_>],
    keys: &Keys,
    maybe: bool,
    explain: bool,
    complaints: &mut Complaints,
) -> Result<Vec<PathBuf>> {
    let all: Vec<Candidate<'_>> = indexes
        .iter()
        .flat_map(|index| candidates(index, &question.needed))
        .collect();
    if explain {
        let of = indexes.iter().map(Fresh::files).sum::<usize>();
        complain(format_args!(
            "{} of {} may match",
            units::grouped(all.len() as u64),
            units::counted(of as u64, "file")
        ));
    }
    let mut files: Vec<PathBuf> = Vec::new();
    if maybe {
        files.extend(all.iter().flat_map(Candidate::shown));
    } else {
        let search = |candidate: &Candidate<'_>| candidate.matching(&question.sought, keys);
        parallel::each(&all, search, |candidate, found| {
            match found {
                Ok(found) => files.extend(found),
                // Deleted since it was listed.
                Err(error) if output::is_gone(&error) => {}
                Err(error) => complaints.add_file(&candidate.wanted.path, &error),
            }
            Ok(())
        })?;
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

pub(super) fn print(output: &mut Output, args: &Args, key: &[u8], files: &[PathBuf]) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    if args.json {
        let mut line = json!({ "key": output::json_bytes(key), "count": files.len() });
        if !args.count {
            line["files"] = files
                .iter()
                .map(|file| output::json_bytes(file.as_os_str().as_bytes()))
                .collect();
        }
        return output.json_line(&line);
    }
    // With more than one key, each line begins with its key.
    let lead: &[&[u8]] = match args.keys_from.is_some() {
        true => &[key, b"\t"],
        false => &[],
    };
    if args.count {
        output.bytes(lead)?;
        return output.line(files.len());
    }
    let end: &[u8] = if args.null { b"\0" } else { b"\n" };
    for file in files {
        output.bytes(lead)?;
        output.bytes(&[file.as_os_str().as_bytes(), end])?;
    }
    Ok(())
}

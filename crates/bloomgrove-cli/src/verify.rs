//! `bloomgrove verify`: is a file as it was written?

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use bloomgrove::Error;
use bloomgrove::raw::codec;
use serde_json::json;

use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, message_file, units};

/// Check files for damage.
///
/// Checks every byte of any Bloomgrove file: filters, indexes, trees, buffered filters, name indexes,
/// messages, a server's store and snapshots, and a site's log. Nothing is changed. Exit code:
/// 0 if all files are undamaged, 2 if not.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  bloomgrove verify bloomgrove-data/store.redb bloomgrove-data/snapshots/*"
)]
pub(crate) struct Args {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let mut output = Output::new();
    let mut outcome = Outcome::Yes;
    for file in &args.files {
        match verify(file) {
            Ok(what) if args.json => {
                let file = file.to_string_lossy();
                output.json_line(&json!({ "file": file, "undamaged": true, "content": what }))?;
            }
            Ok(what) => output.line(format_args!("{}: {what}, undamaged", file.display()))?,
            Err(error) if args.json => {
                let (file, error) = (file.to_string_lossy(), format!("{error:#}"));
                output.json_line(&json!({ "file": file, "undamaged": false, "error": error }))?;
                outcome = Outcome::Incomplete;
            }
            Err(error) => {
                output.flush()?;
                // Some errors have the name already.
                let (name, said) = (file.display().to_string(), format!("{error:#}"));
                match said.starts_with(&name) {
                    true => complain(format_args!("{said}")),
                    false => complain(format_args!("{name}: {said}")),
                }
                outcome = Outcome::Incomplete;
            }
        }
    }
    output.finish()?;
    Ok(outcome)
}

/// What a file contains, in words, if it is undamaged.
fn verify(path: &Path) -> Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        bail!(message_file::not_a_file(&about));
    }
    if let Some(what) = verify_database(path)? {
        return Ok(what);
    }
    if let Some(kind) = message_file::kind_of(path)? {
        let file = std::io::BufReader::new(File::open(path)?);
        codec::check(file, kind)?;
        return Ok(kind.name().to_owned());
    }
    let report = bloomgrove_trees::verify(path).map_err(|error| match error.kind() {
        // Messages and databases have been recognized above.
        Error::NotGrove { empty: false } => anyhow!("not a Bloomgrove file"),
        _ => error.into(),
    })?;
    let sections = units::counted(report.sections.len() as u64, "section");
    Ok(sections)
}

/// What a file of a server or a site is, or `None` if it is neither.
#[cfg(feature = "server")]
fn verify_database(path: &Path) -> Result<Option<String>> {
    use bloomgrove_http::disk;
    if !disk::is_redb(path)? {
        return Ok(None);
    }
    Ok(Some(if disk::has_table(path, "log")? {
        let (site, entries) = bloomgrove_site::verify(path)?;
        let entries = units::counted(entries, "entry");
        format!("the log of the site {site}: {entries}")
    } else {
        let (sets, sites) = bloomgrove_server::coordinator::verify(path)?;
        let (sets, sites) = (units::counted(sets, "set"), units::counted(sites, "site"));
        format!("a server's store: {sets} and {sites}")
    }))
}

#[cfg(not(feature = "server"))]
fn verify_database(path: &Path) -> Result<Option<String>> {
    use std::io::Read;
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    match start == *b"redb" {
        true => crate::shared::missing("this build cannot check the files of servers and sites"),
        false => Ok(None),
    }
}

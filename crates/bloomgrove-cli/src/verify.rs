//! `bloomgrove verify`: is a file as it was written?

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bloomgrove::codec;

use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, message_file, units};

/// Check every byte of any file of bloomgrove.
///
/// Filters, indexes, trees, buffered filters, indexes of names and compressed files; of a server
/// its store and its snapshots; of a site its log. Nothing is written. Exit code 0 if all are as they
/// were written, 2 if not.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  bloomgrove verify bloomgrove-data/store.redb bloomgrove-data/snapshots/*"
)]
pub(crate) struct Args {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: Args) -> Result<Outcome> {
    let mut output = Output::new();
    let mut outcome = Outcome::Yes;
    for file in &args.files {
        match verify(file) {
            Ok(what) => output.line(format_args!("{}: {what}", file.display()))?,
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

/// What a file is, in words, if it is as it was written.
fn verify(path: &Path) -> Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        bail!("not a regular file");
    }
    if let Some(what) = verify_database(path)? {
        return Ok(what);
    }
    if let Some(kind) = message_file::kind_of(path)? {
        let file = std::io::BufReader::new(File::open(path)?);
        codec::check(file, kind)?;
        return Ok(format!("{}, all as written", kind.name()));
    }
    let report = bloomgrove_trees::verify(path)?;
    let sections = units::counted(report.sections.len() as u64, "section");
    Ok(format!("{sections}, all as written"))
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
        format!("the log of the site {site}: {entries} entries, all as written")
    } else {
        let (sets, sites) = bloomgrove_server::coordinator::verify(path)?;
        let (sets, sites) = (units::counted(sets, "set"), units::counted(sites, "site"));
        format!("a server's store: {sets} and {sites}, all as written")
    }))
}

#[cfg(not(feature = "server"))]
fn verify_database(path: &Path) -> Result<Option<String>> {
    use std::io::Read;
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    match start == *b"redb" {
        true => crate::serve::missing("checking the files of servers and sites"),
        false => Ok(None),
    }
}

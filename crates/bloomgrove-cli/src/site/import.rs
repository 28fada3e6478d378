//! `bloomgrove site import`: files of RDF and PROV-JSON.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use bloomgrove_client::rdf::Format;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::open;
use crate::shared::output::{Output, complain};
use crate::shared::{Outcome, connect, units};

/// Import files of RDF (PROV-O) or PROV-JSON, each atomically.
///
/// The file extension determines the format: .ttl, .nt, .nq, .trig, .jsonld, .rdf, .provjson, and
/// .json, which is PROV-JSON. Importing a file twice changes nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bloomgrove site import run-1.ttl run-2.ttl\n  \
    bloomgrove site import export.json --format prov-json")]
pub(super) struct Import {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// turtle, n-triples, n-quads, trig, json-ld, rdf-xml or prov-json [default: by the file's name]
    #[arg(long, value_name = "FORMAT", value_parser = by_its_name)]
    format: Option<Format>,
    /// The base of relative IRIs [default: the file, as file://...]
    #[arg(long, value_name = "IRI")]
    base: Option<String>,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    site: connect::Site,
}

pub(super) fn run(args: Import) -> Result<Outcome> {
    let (remote, site) = open(args.site)?;
    let mut output = Output::new();
    let mut outcome = Outcome::Yes;
    for path in &args.files {
        let import = || -> Result<_> {
            let document = std::fs::read(path)?;
            let format = match args.format {
                Some(format) => format,
                None => by_name(path)?,
            };
            let base = args.base.clone().or_else(|| address(path));
            let import = site.import_from(format.media(), document, base.as_deref());
            remote.wait(import)
        };
        match import().with_context(|| path.display().to_string()) {
            Ok(imported) if args.json => {
                let mut value = serde_json::to_value(&imported)?;
                value["file"] = path.display().to_string().into();
                output.json_line(&value)?;
            }
            Ok(imported) => output.line(format_args!(
                "{}: {}, {} new, {} of them links",
                path.display(),
                units::counted(imported.read, "triple"),
                units::grouped(imported.triples),
                units::grouped(imported.links)
            ))?,
            // The other files can still be imported, unless the site is unreachable.
            Err(error)
                if error
                    .downcast_ref::<bloomgrove_client::Error>()
                    .is_none_or(is_the_files) =>
            {
                complain(format_args!("{error:#}"));
                outcome = Outcome::Incomplete;
            }
            Err(error) => return Err(error),
        }
    }
    output.finish()?;
    Ok(outcome)
}

/// What is written as its bytes in the IRI of a file.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'/')
    .remove(b'_')
    .remove(b'~');

/// The file as an IRI.
fn address(path: &Path) -> Option<String> {
    let path = std::fs::canonicalize(path).ok()?;
    let path = utf8_percent_encode(path.to_str()?, ENCODED);
    Some(format!("file://{path}"))
}

fn is_the_files(error: &bloomgrove_client::Error) -> bool {
    use bloomgrove_client::api::Code;
    matches!(error.code(), Some(Code::Invalid | Code::TooLarge))
}

/// `turtle`, `rdf-xml` and so on.
fn by_its_name(text: &str) -> Result<Format, String> {
    let name = |format: Format| format.name().to_lowercase().replace('/', "-");
    let found = Format::ALL.into_iter().find(|format| name(*format) == text);
    found.ok_or_else(|| format!("choose one of {}", Format::ALL.map(name).join(", ")))
}

fn by_name(path: &Path) -> Result<Format> {
    let end = path.extension().and_then(|end| end.to_str());
    end.and_then(Format::from_extension).ok_or_else(|| {
        anyhow!(
            "cannot tell the format from the extension; pass --format, for example --format turtle"
        )
    })
}

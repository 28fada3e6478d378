//! Published provenance, if available: the directory in `BLOOMGROVE_PROV_DATA`. Documents that exist both as Turtle (or TriG)
//! and as PROV-JSON under the same name must yield the same links; runs of workflows must yield lineages.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::*;

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn data() -> Option<Vec<PathBuf>> {
    let Some(directory) = std::env::var_os("BLOOMGROVE_PROV_DATA") else {
        println!("skipped: set BLOOMGROVE_PROV_DATA to a directory of PROV documents");
        return None;
    };
    let mut found = Vec::new();
    files(Path::new(&directory), &mut found);
    Some(found)
}

fn ends_with(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|end| end == extension)
}

#[test]
fn published_documents_say_the_same_in_both_forms() {
    let Some(found) = data() else { return };
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let turtle: BTreeMap<String, &PathBuf> = found
        .iter()
        .filter(|path| ends_with(path, "ttl") || ends_with(path, "trig"))
        .map(|path| (stem(path), path))
        .collect();
    let (mut compared, mut linked, mut all_links, mut merged) = (0, 0, 0, 0);
    let mut differing = Vec::new();
    for path in found.iter().filter(|path| ends_with(path, "json")) {
        let name = stem(path);
        let Some(twin) = turtle.get(&name) else {
            continue;
        };
        let one = links(&read(&std::fs::read(path).unwrap(), Format::ProvJson).unwrap());
        let other = links(&read(&std::fs::read(twin).unwrap(), Format::TriG).unwrap());
        // The names of blank nodes contain the hash of the document.
        let plain = |links: BTreeSet<String>| -> BTreeSet<String> {
            let begins = |line: &String| line.contains(":blank:");
            links.into_iter().filter(|line| !begins(line)).collect()
        };
        let (one, other) = (plain(one), plain(other));
        compared += 1;
        linked += usize::from(!one.is_empty());
        all_links += one.len();
        // Two records with one id are one node in RDF, so it is lost which ends belong together; PROV forbids them, and the documents
        // that try it are called scruffy.
        if name.starts_with("scruffy") && one != other && one.is_subset(&other) {
            merged += 1;
        } else if one != other {
            differing.push(format!("{name}: PROV-JSON {one:#?}, Turtle {other:#?}"));
        }
    }
    println!(
        "{compared} documents compared, {linked} with links, {all_links} links, {merged} that RDF cannot say"
    );
    assert!(compared > 300, "{compared}");
    assert!(merged <= 4, "{merged}");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn published_runs_give_lineages() {
    let Some(found) = data() else { return };
    let runs = found
        .iter()
        .filter(|path| path.ends_with("workflowrun.prov.ttl"));
    let (mut count, mut triples, mut all_links, mut longest) = (0, 0, 0, Vec::new());
    for path in runs {
        let bytes = std::fs::read(path).unwrap();
        // They refer to themselves as <>, without a base.
        let base = format!("http://example.org/{count}");
        let read = read_from(&bytes, Format::Turtle, Some(&base)).unwrap();
        count += 1;
        triples += read.len();
        let mut causes: HashMap<String, Vec<String>> = HashMap::new();
        for triple in &read {
            let up = [Relation::GeneratedBy, Relation::Used].map(Relation::iri);
            if up.contains(&triple.predicate.as_str()) {
                let (effect, cause) = (triple.subject.to_string(), triple.object.to_string());
                causes.entry(effect).or_default().push(cause);
            }
        }
        all_links += links(&read).len();
        let reach = |start: &String| {
            let mut seen = BTreeSet::from([start]);
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                next.extend(
                    causes
                        .get(at)
                        .into_iter()
                        .flatten()
                        .filter(|to| seen.insert(to)),
                );
            }
            seen.len() - 1
        };
        longest.push(causes.keys().map(reach).max().unwrap_or(0));
    }
    longest.sort_unstable();
    println!("{count} runs, {triples} triples, {all_links} links; longest lineages {longest:?}");
    assert_eq!(count, 49);
    // One of the files is empty.
    assert!(longest[0] == 0 && longest[1] > 0);
}

#[test]
fn published_documents_that_are_malformed_are_refused() {
    let Some(found) = data() else { return };
    let bad = found.iter().filter(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let directory = path
            .parent()
            .is_some_and(|directory| directory.ends_with("malformed"));
        directory && (name.starts_with("bad_") || name.starts_with("not_") || name == "empty")
    });
    let mut count = 0;
    for path in bad {
        let extension = path.extension().unwrap().to_string_lossy();
        let format = Format::from_extension(&extension).unwrap();
        let read = read(&std::fs::read(path).unwrap(), format);
        println!(
            "{}: {:?}",
            path.display(),
            read.as_ref().map(Vec::len).map_err(ToString::to_string)
        );
        count += usize::from(read.is_err());
    }
    assert!(count > 0);
}

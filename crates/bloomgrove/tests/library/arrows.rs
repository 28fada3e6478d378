//! The modules of the library know each other one way only.
//!
//! A module is a folder or file of `src`. It knows another if its code, tests and comments apart, names it as
//! `crate::other`, or something that `lib.rs` takes from there. `raw` shows what others have, and is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// All `.rs` files below a folder that are not tests, each with the module it belongs to.
fn sources(folder: &Path, module: Option<&str>, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = module.unwrap_or(&name).to_owned();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            sources(&path, Some(&module), found);
        } else {
            found.push((module, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The code alone: no comments, and nothing from the first test on.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that follow this prefix, one or several in braces.
fn names_after(text: &str, prefix: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        text.trim_start()
            .chars()
            .take_while(|&c| is_word(c))
            .collect()
    };
    let mut names = Vec::new();
    for part in text.split(prefix).skip(1) {
        let Some(list) = part.strip_prefix('{') else {
            names.push(word(part));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    names.push(word(&list[start..at]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    names.push(word(&list[start..at]));
                    start = at + 1;
                }
                _ => {}
            }
        }
    }
    names
}

fn arrows() -> Arrows {
    let mut sources_found = Vec::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&src, None, &mut sources_found);
    let lib = code(&std::fs::read_to_string(src.join("lib.rs")).unwrap());
    let modules: BTreeSet<String> = sources_found
        .iter()
        .map(|(module, _)| module.clone())
        .collect();
    let mut home = BTreeMap::new();
    for module in &modules {
        for name in names_after(&lib, &format!("pub use {module}::")) {
            home.insert(name, module.clone());
        }
    }
    let mut arrows = Arrows::new();
    for (module, text) in sources_found {
        if module == "lib" || module == "raw" {
            continue;
        }
        for name in names_after(&code(&text), "crate::") {
            let other = home.get(&name).unwrap_or(&name);
            if *other != module && modules.contains(other) {
                arrows
                    .entry(module.clone())
                    .or_default()
                    .insert(other.clone());
            }
        }
    }
    arrows
}

/// A way from a module back to itself, if there is one.
fn cycle(arrows: &Arrows) -> Option<Vec<String>> {
    fn search(arrows: &Arrows, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        let at = way[way.len() - 1].clone();
        for next in arrows.get(&at).into_iter().flatten() {
            if let Some(start) = way.iter().position(|module| module == next) {
                way.drain(..start);
                way.push(next.clone());
                return true;
            }
            if done.contains(next) {
                continue;
            }
            way.push(next.clone());
            if search(arrows, way, done) {
                return true;
            }
            way.pop();
        }
        done.insert(at);
        false
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|module| {
        let mut way = vec![module.clone()];
        search(arrows, &mut way, &mut done).then_some(way)
    })
}

#[test]
fn no_module_is_known_by_one_that_it_knows() {
    let arrows = arrows();
    // It sees arrows at all: these two, of which one is by a name of `lib.rs`.
    assert!(arrows["index"].contains("format") && arrows["filter"].contains("params"));
    assert_eq!(cycle(&arrows), None, "{arrows:#?}");
}

#[test]
fn a_cycle_is_found() {
    let arrow = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let arrows = Arrows::from([arrow("a", "b"), arrow("b", "c"), arrow("c", "b")]);
    let found = cycle(&arrows).unwrap();
    assert_eq!(found, ["b", "c", "b"]);
}

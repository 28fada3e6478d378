//! How the source of the command line is arranged.

use std::fs;
use std::path::Path;

/// Commands share code through `shared/` alone: outside of `lib.rs` nothing else of the crate is
/// named by its path. (A command may use the files of its own noun, by `super`.)
#[test]
fn no_command_imports_another() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = 0;
    for entry in walkdir::WalkDir::new(&src) {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|ending| ending != "rs") || path.ends_with("lib.rs") {
            continue;
        }
        files += 1;
        for (number, line) in (1..).zip(fs::read_to_string(&path).unwrap().lines()) {
            for (_, named) in line
                .match_indices("crate::")
                .map(|(at, _)| line.split_at(at))
            {
                let shown = path.strip_prefix(&src).unwrap().display();
                assert!(
                    named.starts_with("crate::shared::") || named.starts_with("crate::shared;"),
                    "{shown}:{number}: {line}"
                );
            }
        }
    }
    assert!(files > 50, "{files} files looked at");
}

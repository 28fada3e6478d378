//! How the source of this crate is arranged.

use std::fs;
use std::path::Path;

/// Memory of others is touched in one file; everything else is checked by the compiler.
#[test]
fn only_one_file_allows_unsafe_code() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allows = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        text.contains("allow(unsafe_code)")
    };
    let files = fs::read_dir(src).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|path| allows(path)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].ends_with("ffi.rs"), "{files:?}");
}

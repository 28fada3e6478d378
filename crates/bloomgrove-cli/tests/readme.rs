//! The README's commands, run at the root of the repository, must print what it says.

#[test]
fn the_readme_tells_the_truth() {
    // Commands run in the current folder; no other test shares this process.
    std::env::set_current_dir("../..").unwrap();
    // What the last run has made would not be replaced.
    for made in ["oslo.pages.grove", "both.pages.grove"] {
        let _ = std::fs::remove_file(made);
    }
    trycmd::TestCases::new().case("README.md");
}

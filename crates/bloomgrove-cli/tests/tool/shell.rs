//! Completions and man pages: for every shell, and for every command.

use std::process::{Command, Stdio};

use crate::support::Shop;

#[test]
fn completions_of_every_shell_name_every_noun() {
    let shop = Shop::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = shop.run(&format!("completions {shell}")).ends(0).out;
        for noun in ["which", "index", "remote", "completions"] {
            assert!(script.contains(noun), "{shell}: {noun}");
        }
    }
    shop.run("completions tcsh").fails_with(&["tcsh", "fish"]);

    // The one shell that is everywhere reads its script without a complaint.
    let script = shop.run("completions bash").ends(0).out;
    shop.write("script", &script);
    let read = Command::new("bash")
        .arg("-n")
        .arg(shop.path("script"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
}

/// What writes a file, a script or a format of its own.
const WITHOUT_JSON: [&str; 5] = [
    "bloomgrove-bloofi-draw",
    "bloomgrove-completions",
    "bloomgrove-man",
    "bloomgrove-site-secret",
    "bloomgrove-site-sparql",
];

#[test]
fn every_command_has_a_man_page_and_json() {
    let shop = Shop::new();
    shop.run("man pages/man1").ends(0);
    for (noun, verb) in [("index", "which"), ("filter", "build"), ("remote", "add")] {
        let page = format!("pages/man1/bloomgrove-{noun}-{verb}.1");
        let page = std::fs::read_to_string(shop.path(&page)).unwrap();
        assert!(
            page.contains(".SH NAME") && page.contains("Example"),
            "{page}"
        );
    }
    // As many as the help names.
    let help = shop.run("--help").ends(0).out;
    let nouns = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap());
    let mut count = 0;
    for noun in nouns.filter(|noun| *noun != "help") {
        let page = shop.path(format!("pages/man1/bloomgrove-{noun}.1"));
        assert!(page.exists(), "{noun}");
        count += 1;
    }
    assert!(count > 12, "{count} nouns");

    // A page of a verb names no other pages below it.
    let pages = std::fs::read_dir(shop.path("pages/man1")).unwrap();
    for page in pages.map(|page| page.unwrap().path()) {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.file_stem().unwrap().to_str().unwrap();
        let has_verbs = text.contains(".SH SUBCOMMANDS");
        if !has_verbs && !WITHOUT_JSON.contains(&name) {
            assert!(text.contains("\\-\\-json"), "{name} has no --json");
        }
    }

    shop.write("file", "");
    shop.run("man file/man1").fails_with(&["file/man1"]);
}

//! `bloomgrove info` and `bloomgrove check` recognize every kind of file.

use crate::support::Shop;

#[test]
fn every_kind_of_file_is_recognized() {
    let shop = Shop::new();
    shop.write("in/a.txt", "apple\npear\n");
    shop.write("ids.txt", "1\n2\n3\n");
    for line in [
        "filter build in/a.txt -o f.grove",
        "filter build ids.txt -o ids.grove --keys integer",
        "index build in -o i.grove",
        "buffered build in/a.txt -o b.grove --items 100",
        "bloom-tree build in/a.txt -o t.grove",
        "bloom-tree compress t.grove -o t.msg",
        "bloofi build in -o o.grove",
        "sample index 0..100 --for ids.grove -o n.grove",
        "bloom-sample-tree build 0..100 --for ids.grove -o s.grove",
    ] {
        shop.run(line).ends(0);
    }
    let kinds = [
        ("f.grove", "maybe", "no"),
        ("b.grove", "maybe", "no"),
        ("t.grove", "maybe", "no"),
        ("t.msg", "maybe", "no"),
        ("i.grove", "a.txt", ""),
        ("o.grove", "a.txt", ""),
    ];
    for (file, found, absent) in kinds {
        let said = shop.run(&format!("check {file} apple")).ends(0);
        assert!(said.out.contains(found), "{file}: {said:?}");
        let said = shop.run(&format!("check {file} cherry")).ends(1);
        assert!(said.out.contains(absent), "{file}: {said:?}");
        shop.run(&format!("check {file} cherry pear -q")).ends(0);
        shop.run(&format!("check {file}")).fails_with(&["no key"]);
    }
    for file in ["n.grove", "s.grove"] {
        shop.run(&format!("check {file} apple"))
            .fails_with(&[file, "names"]);
    }
    let files = kinds.map(|(file, ..)| file);
    for file in files.iter().chain(&["n.grove", "s.grove"]) {
        let plain = shop.run(&format!("info {file}")).ends(0);
        assert!(!plain.out.is_empty(), "{file}");
        let json = shop.run(&format!("info {file} --json")).ends(0);
        crate::support::json(&json);
    }

    shop.run("filter compress f.grove -o f.msg").ends(0);
    shop.run("info f.msg").fails_with(&["f.msg", "expand"]);
    shop.run("info in/a.txt").fails_with(&["in/a.txt"]);
    shop.run("info none.grove").fails_with(&["none.grove"]);
    shop.run("info f.grove --sets").fails_with(&["--sets"]);
}

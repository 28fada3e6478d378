//! What commands write over: only its like, by content; and nothing at all through a link that
//! nobody named.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::Shop;

/// The index that `which` keeps is never written, nor read, through a link.
#[test]
fn which_follows_no_link_to_its_index() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.write("other/b.txt", "plum\n");
    shop.run("which plum other").ends(0);
    shop.run("filter build other/b.txt -o f.grove").ends(0);
    shop.write("text", "the work of a day\n");
    shop.write("text.grove", "the work of a day\n");
    // An empty file may be a lock or a mark.
    shop.write("empty", "");
    let index = shop.path("data/.bloomgrove.grove");
    for to in [
        "text",
        "text.grove",
        "empty",
        "f.grove",
        "other/.bloomgrove.grove",
        "nothing",
    ] {
        let before = fs::read(shop.path(to)).ok();
        symlink(shop.path(to), &index).unwrap();
        for options in ["", "--refresh", "--fpr 2%"] {
            let said = shop.run(&format!("which apple data {options}")).ends(0);
            assert_eq!(said.out, "data/a.txt\n");
            assert!(said.err.contains("symbolic link"), "{}", said.err);
            assert!(said.err.contains("left alone"), "{}", said.err);
        }
        assert_eq!(fs::read(shop.path(to)).ok(), before, "{to}");
        assert!(fs::symlink_metadata(&index).unwrap().is_symlink());
        fs::remove_file(&index).unwrap();
    }
    // Named, a link is followed: what it leads to is replaced, and the link stays.
    shop.run("which apple data --index real.grove").ends(0);
    symlink("real.grove", shop.path("link.grove")).unwrap();
    let said = shop.run("which apple data --index link.grove").ends(0);
    assert_eq!(said.err, "");
    assert!(
        fs::symlink_metadata(shop.path("link.grove"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn which_trusts_only_an_index_of_its_own() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.shell("umask 002; chmod 664 data/a.txt; $BLOOMGROVE which apple data")
        .ends(0);
    let index = shop.path("data/.bloomgrove.grove");
    let mode = |mode| fs::set_permissions(&index, fs::Permissions::from_mode(mode)).unwrap();
    // Where a group may write, the index of the group's files is still one's own.
    let said = shop.run("which --explain apple data").ends(0);
    assert!(said.err.contains("1 file indexed"), "{}", said.err);
    let before = fs::read(&index).unwrap();
    let left_alone = |part: &str| {
        let said = shop.run("which apple data").ends(0);
        assert_eq!(said.out, "data/a.txt\n");
        assert!(said.err.contains(part), "{}", said.err);
        assert_eq!(fs::read(&index).unwrap(), before);
    };
    mode(0o664);
    left_alone("other users can write to it (mode 664)");
    mode(0o644);
    fs::hard_link(&index, shop.path("backup")).unwrap();
    left_alone("hard link");
    fs::remove_file(shop.path("backup")).unwrap();
    let said = shop.run("which apple data").ends(0);
    assert_eq!(said.err, "");
    // Somebody built an index there, of whatever.
    shop.run("index build data/a.txt -o y.grove").ends(0);
    fs::rename(shop.path("y.grove"), &index).unwrap();
    let before = fs::read(&index).unwrap();
    let said = shop.run("which apple data").ends(0);
    assert!(
        said.err.contains("not an index made by `which` or `grep`"),
        "{}",
        said.err
    );
    assert_eq!(fs::read(&index).unwrap(), before);
    // Or it is a pipe.
    fs::remove_file(&index).unwrap();
    shop.shell("mkfifo data/.bloomgrove.grove").ends(0);
    let said = shop.run("which apple data").ends(0);
    assert_eq!(said.out, "data/a.txt\n");
    assert!(said.err.contains("not a regular file"), "{}", said.err);
}

/// Names that look like our leftovers do not make them ours.
#[test]
fn which_removes_nothing_that_it_has_not_written() {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\n");
    shop.run("filter build data/a.txt -o data/.bloomgrove-filter.tmp")
        .ends(0);
    shop.write("data/.bloomgrove-mine.tmp", "the work of a day\n");
    shop.write(
        "data/.bloomgrove-mine2.tmp/index.grove",
        "the work of a day\n",
    );
    shop.write("data/.bloomgrove-mine3.tmp/more", "the work of a day\n");
    shop.run("index build data/a.txt -o left.grove").ends(0);
    fs::create_dir(shop.path("data/.bloomgrove-left2.tmp")).unwrap();
    fs::copy(
        shop.path("left.grove"),
        shop.path("data/.bloomgrove-left1.tmp"),
    )
    .unwrap();
    fs::copy(
        shop.path("left.grove"),
        shop.path("data/.bloomgrove-left2.tmp/index.grove"),
    )
    .unwrap();
    shop.shell("touch -d '3 days ago' data/.bloomgrove-*.tmp data/.bloomgrove-*.tmp/*")
        .ends(0);
    shop.run("which apple data").ends(0);
    let mut left: Vec<String> = fs::read_dir(shop.path("data"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            ".bloomgrove-filter.tmp",
            ".bloomgrove-mine.tmp",
            ".bloomgrove-mine2.tmp",
            ".bloomgrove-mine3.tmp",
            ".bloomgrove.grove",
            "a.txt"
        ]
    );
    assert!(shop.path("data/.bloomgrove-mine2.tmp/index.grove").exists());
}

/// Every command with an output, onto every kind of file that there is.
#[test]
fn a_command_replaces_only_its_like() {
    let shop = Shop::new();
    shop.write("a.txt", "1\n2\n3\n");
    shop.write("b.txt", "1\n2\n3\n4\n");
    shop.write("t.csv", "k,v\n1,2\n");
    for (name, file) in [("a", "a.txt"), ("b", "b.txt")] {
        shop.run(&format!(
            "filter build {file} -o {name}.grove --items 100 --layout standard --keys integer"
        ))
        .ends(0);
        shop.run(&format!("bloom-tree build {file} -o {name}.tree"))
            .ends(0);
    }
    shop.run("filter delta a.grove b.grove -o ab.delta").ends(0);
    shop.run("filter compress a.grove -o a.msg").ends(0);
    shop.run("bloofi build a.txt b.txt -o i.grove --items 100")
        .ends(0);
    // Each kind once; `twice` says whether it replaces its like.
    let commands: &[(&str, &str)] = &[
        ("filter", "filter build a.txt -o OUT"),
        ("filter", "filter union a.grove b.grove -o OUT"),
        ("filter", "filter fold a.grove -o OUT"),
        ("filter", "filter expand a.msg -o OUT"),
        ("filter", "filter apply a.grove ab.delta -o OUT"),
        ("message", "filter compress a.grove -o OUT"),
        ("delta", "filter delta a.grove b.grove -o OUT"),
        ("tree", "bloom-tree build a.txt -o OUT"),
        ("coded tree", "bloom-tree compress a.tree -o OUT"),
        ("index", "index build a.txt b.txt -o OUT"),
        ("names", "sample index 0..100 --for a.grove -o OUT"),
        (
            "paged",
            "buffered build a.txt -o OUT --items 1000 --replace",
        ),
        ("bloofi", "bloofi build a.txt b.txt -o OUT"),
        (
            "sample tree",
            "bloom-sample-tree build 0..100 --for a.grove -o OUT",
        ),
        ("svg", "bloofi draw i.grove -o OUT.svg"),
        ("dot", "bloofi draw i.grove -o OUT.dot"),
        ("csv", "tune wire --items 1000 --fpr 1% --csv OUT"),
        ("lines", "reconstruct a.grove --namespace 0..10 -o OUT"),
        ("rows", "semi-join t.csv k t.csv k -o OUT"),
    ];
    let out = |command: &str| {
        command
            .split("OUT")
            .nth(1)
            .unwrap_or("")
            .split(' ')
            .next()
            .unwrap()
            .to_owned()
    };
    let run = |command: &str, name: &str| shop.run(&command.replace("OUT", name));
    let mut made: Vec<(&str, Vec<u8>)> = vec![
        ("text", b"the work of a day\n".to_vec()),
        (
            "picture",
            b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(),
        ),
        ("table", b"day,work\nmonday,much\n".to_vec()),
    ];
    for (kind, command) in commands {
        let file = format!("new{}", out(command));
        run(command, "new").ends(0);
        made.push((kind, fs::read(shop.path(&file)).unwrap()));
        fs::remove_file(shop.path(&file)).unwrap();
    }
    for (kind, command) in commands {
        let file = format!("old{}", out(command));
        for (there, bytes) in &made {
            fs::write(shop.path(&file), bytes).unwrap();
            let said = run(command, "old");
            let context = format!("{command} over {there}: {said:?}");
            if kind == there && !["lines", "rows"].contains(kind) {
                assert_eq!(said.code, Some(0), "{context}");
                continue;
            }
            assert_eq!(said.code, Some(2), "{context}");
            assert!(said.err.contains(&file), "{context}");
            let refusals = ["would be overwritten", "already exists"];
            let is_refused = refusals.iter().any(|part| said.err.contains(part));
            assert!(is_refused, "{context}");
            assert_eq!(&fs::read(shop.path(&file)).unwrap(), bytes, "{context}");
        }
        fs::remove_file(shop.path(&file)).unwrap();
    }
    // Lines are anybody's, so it must be said.
    shop.write("old", "the work of a day\n");
    let command = "reconstruct a.grove --namespace 0..10 -o old";
    shop.run(command).fails_with(&["old", "--replace"]);
    shop.run(&format!("{command} --replace")).ends(0);
    shop.run("reconstruct a.grove --namespace 0..10 -o a.grove --replace")
        .fails_with(&["this file is a filter", "would be overwritten"]);
    assert!(
        fs::read_to_string(shop.path("old"))
            .unwrap()
            .starts_with("1\n2\n3\n")
    );
}

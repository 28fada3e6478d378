//! `bloomgrove buffered`: what goes wrong says what, where and the way out, and damages nothing.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Shop, lines};
use bloomgrove::buffered::{Filter, Phase};

fn keys(range: std::ops::Range<u32>) -> String {
    lines(range.map(|i| format!("key-{i}")))
}

/// Ten thousand keys, and a filter of them.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("in.txt", keys(0..10_000));
    shop.run("buffered build in.txt -o f.grove --size 1MB")
        .ends(0);
    shop
}

#[test]
fn options_that_make_no_filter() {
    let shop = Shop::new();
    shop.write("in.txt", keys(0..10_000));
    let before = shop.names();
    for (options, parts) in [
        ("--size 0", &["0 bytes", "--size 256MB"][..]),
        ("--size 1EB", &["EB", "unknown unit", "1GiB"]),
        ("--size many", &["many", "--size"]),
        (
            "--size 1000000TB",
            &["cannot be larger than", "smaller --size"],
        ),
        ("--size 1.5B", &["1.5B", "write bytes as"]),
        (
            "--size 1MB --fpr 1%",
            &["--size", "--fpr", "cannot be used"],
        ),
        ("--hashes 3", &["--size"]),
        ("--size 1MB --hashes 65", &["--hashes", "from 1 to 64"]),
        (
            "--size 1MB --page 1000",
            &["1,000", "multiple of 4,096", "such as 4KiB"],
        ),
        ("--size 1MB --page 1MB", &["976KiB or 980KiB"]),
        (
            "--size 4GiB --page 2GiB",
            &["2,147,483,648", "multiple of 4,096", "up to 1,073,741,824"],
        ),
        ("--size 1MB --hash affine", &["affine", "another --hash"]),
        ("--size 1MB --sip-key 00", &["--sip-key", "siphash"]),
        ("--fpr 200%", &["200%", "below 1"]),
        (
            "--fpr 1e-300 --items 1G",
            &["no filter meets these requirements"],
        ),
        ("--size 1MB --workers 0", &["--workers"]),
        ("--size 1MB --memory lots", &["lots", "--memory"]),
        ("--size 1MB --sync-every often", &["often", "60s"]),
        ("--size 1MB --add", &["--add", "cannot be used", "--size"]),
        (
            "--resume --replace",
            &["--resume", "cannot be used", "--replace"],
        ),
        (
            "--resume",
            &["x.grove", "No such file", "leave out --resume"],
        ),
        ("--add", &["x.grove", "No such file", "leave out --add"]),
        ("--keys integer", &["in.txt", "key-0", "not an integer"]),
        ("--column id", &["in.txt", "--column"]),
    ] {
        shop.run(&format!("buffered build in.txt -o x.grove {options}"))
            .fails_with(parts);
        assert_eq!(shop.names(), before, "{options}");
    }
    shop.run("buffered build -o x.grove").fails_with(&["KEYS"]);
}

#[test]
fn too_little_memory_says_what_would_do() {
    let shop = shop();
    shop.run("buffered build in.txt -o x.grove --size 256MB --memory 1500kB")
        .fails_with(&[
            "1.5 MB of memory is not enough for 489 pages of 524.3 kB and 3 workers",
            "pass --memory 1782kB",
            "smaller pages with --page 256KiB",
            "--workers 1",
        ]);
    shop.run("buffered build in.txt -o x.grove --size 256MB --page 4096 --memory 4MB")
        .fails_with(&["pass --memory", "larger pages with --page 32KiB"]);
    shop.run("buffered build in.txt -o x.grove --size 1TB --memory 4MB")
        .fails_with(&["pass --memory", "and larger pages with --page"]);
    assert_eq!(shop.names(), ["f.grove", "in.txt"]);
    // What it says is right.
    for options in [
        "--memory 1782kB",
        "--memory 1500kB --page 256KiB",
        "--memory 1500kB --workers 1",
    ] {
        let line = format!("buffered build in.txt -o x.grove --size 256MB --replace {options}");
        shop.run(&line).ends(0);
    }
    shop.run("buffered probe x.grove in.txt --memory 10kB")
        .fails_with(&["10.0 kB of memory is not enough", "pass --memory"]);
    // A single key needs none of it.
    shop.run("buffered probe x.grove --key key-1 --memory 10kB")
        .ends(0);
}

#[test]
fn keys_that_cannot_be_counted_or_read() {
    let shop = shop();
    for options in ["", "--fpr 1%"] {
        shop.run(&format!("buffered build - -o x.grove {options}"))
            .fails_with(&["standard input", "counted", "--items", "--size"]);
    }
    for (inputs, parts) in [
        ("none.txt", &["none.txt", "No such file"][..]),
        ("in.txt none.txt", &["none.txt", "No such file"]),
        (".", &["directory"]),
        (
            "f.grove",
            &["f.grove", "contains a buffered filter", "not keys"],
        ),
    ] {
        shop.run(&format!("buffered build {inputs} -o x.grove --size 1MB"))
            .fails_with(parts);
    }
    assert_eq!(shop.names(), ["f.grove", "in.txt"]);
    // A wrong column costs nobody the filter that was there; nor does a line that is no key.
    let whole = std::fs::read(shop.path("f.grove")).unwrap();
    shop.write("a.csv", "id,name\n1,a\n");
    shop.run("buffered build a.csv --column nothing -o f.grove --items 10 --replace")
        .fails_with(&["a.csv", "nothing", "id, name"]);
    shop.run("buffered build in.txt --keys integer -o f.grove --items 10 --replace")
        .fails_with(&["in.txt", "not an integer"]);
    assert!(std::fs::read(shop.path("f.grove")).unwrap() == whole);

    // What came before a bad line is kept.
    shop.write("good.txt", "1\n2\n3\n");
    shop.write("bad.txt", "4\nfive\n");
    shop.run("buffered build good.txt bad.txt --keys integer -o n.grove --items 10")
        .fails_with(&[
            "bad.txt",
            "five",
            "n.grove is not finished and has 4 keys",
            "--resume",
        ]);
    shop.write("bad.txt", "4\n5\n");
    shop.run("buffered build good.txt bad.txt --keys text -o n.grove --resume")
        .fails_with(&["n.grove", "read as integer", "leave out --keys"]);
    shop.run("buffered build good.txt bad.txt -o n.grove --resume --items 11M")
        .fails_with(&[
            "created with other options",
            "the file has",
            "the options give",
        ]);
    shop.run("buffered build good.txt bad.txt -o n.grove --resume --items 10")
        .ends(0);
    let said = shop
        .run("buffered probe n.grove good.txt bad.txt --count")
        .ends(0);
    assert_eq!(said.out, "maybe\t5\nno\t0\n");
}

#[test]
fn files_that_are_something_else() {
    let shop = shop();
    shop.run("filter build in.txt -o plain.grove").ends(0);
    let text = std::fs::read(shop.path("in.txt")).unwrap();
    shop.run("buffered build in.txt -o in.txt --size 1MB")
        .fails_with(&["in.txt", "not a buffered filter", "choose another name"]);
    assert!(std::fs::read(shop.path("in.txt")).unwrap() == text);
    shop.run("buffered build in.txt -o plain.grove --size 1MB")
        .fails_with(&[
            "plain.grove",
            "this file is a filter",
            "choose another name",
        ]);
    for verb in ["info", "probe --key a", "probe --count in.txt"] {
        let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
        shop.run(&format!("buffered {verb} plain.grove {rest}"))
            .fails_with(&["plain.grove", "contains a filter", "bloomgrove filter info"]);
        shop.run(&format!("buffered {verb} in.txt {rest}"))
            .fails_with(&["in.txt", "not a .grove file"]);
        shop.run(&format!("buffered {verb} none.grove {rest}"))
            .fails_with(&["none.grove", "No such file"]);
    }
    for line in [
        "filter info f.grove",
        "filter check f.grove key-1",
        "which key-1 f.grove",
    ] {
        shop.run(line).fails_with(&[
            "f.grove",
            "`bloomgrove buffered info` shows what it contains",
        ]);
    }
    shop.run("buffered probe f.grove")
        .fails_with(&["no keys given", "--key"]);
    shop.run("buffered probe f.grove key-1")
        .fails_with(&["key-1", "no such file", "--key"]);
}

#[test]
fn finished_files_take_no_more() {
    let shop = shop();
    for (option, advice) in [
        ("--add", ", so keys can no longer be added; build a new one"),
        ("--resume", ", with 10,000 keys; there is nothing to resume"),
    ] {
        shop.run(&format!("buffered build in.txt -o f.grove {option}"))
            .fails_with(&["f.grove: this filter is finished", advice]);
    }
    shop.write("few.txt", keys(0..10));
    shop.run("buffered build few.txt -o f.grove --size 1MB")
        .fails_with(&["f.grove", "finished and has 10,000 keys", "--replace"]);
    // But may be replaced, as may be one in which no key is sure.
    shop.run("buffered build few.txt -o f.grove --size 1MB --open --replace")
        .ends(0);
    shop.run("buffered build few.txt -o f.grove --size 1MB")
        .fails_with(&["not finished and has 10 keys", "--add", "--replace"]);
    // Whatever has been added to it, nobody knows which keys to skip.
    shop.run("buffered build in.txt -o f.grove --resume")
        .fails_with(&["f.grove", "--resume cannot know", "--add"]);
    shop.run("buffered build few.txt -o f.grove --size 1MB --replace")
        .ends(0);
    shop.write("empty.txt", "");
    shop.run("buffered build empty.txt -o e.grove --open")
        .ends(0);
    shop.run("buffered build empty.txt -o e.grove").ends(0);
    shop.run("buffered probe e.grove in.txt -q").ends(1);
}

#[test]
fn a_file_being_built_by_another_process() {
    let shop = Shop::new();
    shop.write("in.txt", keys(0..10_000));
    let mut child = shop
        .command(&["buffered", "build", "-", "-o", "f.grove", "--size", "1MB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys(0..10_000).as_bytes()).unwrap();
    let phase = || {
        let filter = Filter::open(shop.path("f.grove"))?;
        filter.state().map(|state| state.phase)
    };
    while !phase().is_ok_and(|phase| phase == Phase::Building) {
        std::thread::sleep(Duration::from_millis(1));
    }
    for option in ["--size 1MB", "--size 1MB --replace", "--add", "--resume"] {
        shop.run(&format!("buffered build in.txt -o f.grove {option}"))
            .fails_with(&["f.grove", "another process", "wait for it to finish"]);
    }
    let said = shop.run("buffered info f.grove").ends(0);
    assert!(
        said.out.contains("being built by another process"),
        "{}",
        said.out
    );
    let said = shop.run("buffered probe f.grove --key nothing").ends(1);
    assert!(
        said.err
            .contains("being built; only the 0 keys of the last sync"),
        "{}",
        said.err
    );
    drop(input);
    assert!(child.wait().unwrap().success());
    let said = shop.run("buffered probe f.grove in.txt --count").ends(0);
    assert_eq!(
        (said.out.as_str(), said.err.as_str()),
        ("maybe\t10000\nno\t0\n", "")
    );
}

#[test]
fn disks_that_are_full_or_fail_midway() {
    let shop = shop();
    // The whole file must fit before the work begins.
    shop.shell(
        "trap '' XFSZ; ulimit -f 104; exec $BLOOMGROVE buffered build in.txt -o x.grove --size 1MB",
    )
    .fails_with(&[
        "x.grove",
        "too large",
        "the whole file of 1.0 MB",
        "on another disk",
    ]);
    assert_eq!(shop.names(), ["f.grove", "in.txt"]);
    // Here it has, but most of its pages cannot be written; no sector is cut in two.
    shop.run("buffered build in.txt -o x.grove --size 1MB --page 4096 --open")
        .ends(0);
    shop.write("more.txt", keys(10_000..20_000));
    shop.shell(
        "trap '' XFSZ; ulimit -f 104; exec $BLOOMGROVE buffered build more.txt -o x.grove --add",
    )
    .fails_with(&[
        "x.grove",
        "too large",
        "may be lost",
        "is not finished and has 10,000 keys",
        "add the same files again",
    ]);
    let said = shop.run("buffered probe x.grove in.txt --count").ends(0);
    assert_eq!(said.out, "maybe\t10000\nno\t0\n");
    shop.run("buffered build more.txt -o x.grove --add").ends(0);
    let said = shop
        .run("buffered probe x.grove in.txt more.txt --count")
        .ends(0);
    assert_eq!(said.out, "maybe\t20000\nno\t0\n");
    // Where answers go, and where keys wait for them.
    shop.shell("$BLOOMGROVE buffered probe f.grove in.txt > /dev/full")
        .fails_with(&["No space left"]);
    let many = keys(0..100_000);
    shop.write("many.txt", &many);
    shop.shell("TMPDIR=$PWD/none exec $BLOOMGROVE buffered probe f.grove many.txt")
        .fails_with(&["temporary directory", "TMPDIR"]);
}

#[test]
fn what_may_only_be_read() {
    let shop = shop();
    shop.run("buffered build in.txt -o /proc/x.grove --size 1MB")
        .fails_with(&["/proc/x.grove"]);
    shop.run("buffered build in.txt -o x.grove --size 1MB --open")
        .ends(0);
    shop.shell("chmod a-w x.grove").ends(0);
    shop.run("buffered probe x.grove in.txt -q").ends(0);
    let said = shop.run("buffered build in.txt -o x.grove --add");
    // Root may write anything.
    if said.code != Some(0) {
        said.fails_with(&["x.grove", "Permission denied"]);
    }
}

#[test]
fn damage_is_found_when_its_page_is_read() {
    let shop = shop();
    let mut bytes = std::fs::read(shop.path("f.grove")).unwrap();
    let at = bytes.len() - 300_000;
    bytes[at] ^= 1;
    shop.write("f.grove", bytes);
    let parts = ["f.grove: damaged", "page", "does not match", "rebuild it"];
    shop.run("buffered probe f.grove in.txt --count")
        .fails_with(&parts);
    shop.run("buffered info f.grove --verify")
        .fails_with(&parts);
    // And it can be built again.
    shop.run("buffered info f.grove").ends(0);
    shop.run("buffered build in.txt -o f.grove --size 1MB --replace")
        .ends(0);
    shop.run("buffered info f.grove --verify").ends(0);
}

//! `bloomgrove which`: the right files, and an index that is never stale.

use crate::support::Shop;

/// Files whose times lie in the past, as after any ordinary pause: their index is
/// trusted at once.
fn shop() -> Shop {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\npear\n");
    shop.write("data/b.txt", "pear\nplum\n");
    shop.write("data/deep/c.txt", "cherry\n");
    shop
}

/// Waits until file times are older than the coarsest clock, so that what is indexed
/// now counts as settled.
fn settle() {
    std::thread::sleep(std::time::Duration::from_millis(2100));
}

#[test]
fn names_the_files_that_contain_a_key() {
    let shop = shop();
    assert_eq!(
        shop.run("which pear data").ends(0).out,
        "data/a.txt\ndata/b.txt\n"
    );
    assert_eq!(
        shop.run("which cherry data").ends(0).out,
        "data/deep/c.txt\n"
    );
    assert_eq!(
        shop.run("which cherry data/").ends(0).out,
        "data/deep/c.txt\n"
    );
    assert_eq!(shop.run("which quince data").ends(1).out, "");
    assert_eq!(shop.run("which -q pear data").ends(0).out, "");
    assert_eq!(shop.run("which -c pear data").ends(0).out, "2\n");
    assert!(shop.path("data/.bloomgrove.grove").exists());
    let said = shop.run("which --json pear data").ends(0);
    assert_eq!(
        said.out,
        "{\"key\":\"pear\",\"count\":2,\"files\":[\"data/a.txt\",\"data/b.txt\"]}\n"
    );
}

#[test]
fn single_files_share_the_index_of_their_directory() {
    let shop = shop();
    assert_eq!(
        shop.run("which pear data/a.txt").ends(0).out,
        "data/a.txt\n"
    );
    assert_eq!(shop.run("which plum data/a.txt").ends(1).out, "");
    settle();
    shop.run("which plum data/a.txt").ends(1);
    let said = shop
        .run("which --explain plum data/a.txt data/b.txt")
        .ends(0);
    assert_eq!(said.out, "data/b.txt\n");
    assert!(
        said.err.contains("1 file indexed, 1 to read"),
        "{}",
        said.err
    );
    // The whole directory still has all, and a file asked alone is not lost to it.
    assert_eq!(
        shop.run("which pear data").ends(0).out,
        "data/a.txt\ndata/b.txt\n"
    );
    assert_eq!(
        shop.run("which cherry data").ends(0).out,
        "data/deep/c.txt\n"
    );
}

#[test]
fn many_keys_from_a_file_or_standard_input() {
    let shop = shop();
    shop.write("wanted", "plum\nquince\npear\r\n");
    let expected = "plum\tdata/b.txt\npear\tdata/a.txt\npear\tdata/b.txt\n";
    assert_eq!(
        shop.run("which --keys-from wanted data").ends(0).out,
        expected
    );
    let said = shop.run_with_input("which --keys-from - data", b"plum\nquince\npear\n");
    assert_eq!(said.ends(0).out, expected);
    let said = shop.run("which --keys-from wanted -c data").ends(0);
    assert_eq!(said.out, "plum\t1\nquince\t0\npear\t2\n");
}

#[test]
fn the_index_follows_the_files() {
    let shop = shop();
    settle();
    shop.run("which pear data").ends(0);
    let said = shop.run("which --explain pear data").ends(0);
    assert!(
        said.err.contains("3 files indexed, 0 to read"),
        "{}",
        said.err
    );

    // Changed, without a change in size.
    shop.write("data/a.txt", "grape\npear\n");
    let said = shop.run("which --explain grape data").ends(0);
    assert_eq!(said.out, "data/a.txt\n");
    assert!(
        said.err.contains("2 files indexed, 1 to read"),
        "{}",
        said.err
    );
    shop.run("which apple data").ends(1);

    // Changed at once after it was read: the clock alone could not tell.
    for i in 0..20 {
        shop.write("data/a.txt", format!("key-{i:02}\n"));
        let said = shop.run(&format!("which key-{i:02} data")).ends(0);
        assert_eq!(said.out, "data/a.txt\n");
    }

    // With its old times put back.
    let script =
        "cp -p data/b.txt old && printf 'pear\\nkiwi\\n' > data/b.txt && touch -r old data/b.txt";
    shop.shell(script).ends(0);
    assert_eq!(shop.run("which kiwi data").ends(0).out, "data/b.txt\n");

    // New, gone, renamed.
    shop.write("data/new.txt", "fresh\n");
    std::fs::remove_file(shop.path("data/b.txt")).unwrap();
    std::fs::rename(shop.path("data/deep"), shop.path("data/moved")).unwrap();
    assert_eq!(shop.run("which fresh data").ends(0).out, "data/new.txt\n");
    shop.run("which kiwi data").ends(1);
    assert_eq!(
        shop.run("which cherry data").ends(0).out,
        "data/moved/c.txt\n"
    );
}

#[test]
fn an_index_that_is_trusted_does_not_notice_changes_and_survives_them() {
    let shop = shop();
    let big = "filler line\n".repeat(2 << 20);
    shop.write("data/big.txt", format!("{big}needle\n"));
    settle();
    // There is none yet: then it is made.
    let said = shop.run("which --trust pear data").ends(0);
    assert_eq!(said.out, "data/a.txt\ndata/b.txt\n");
    shop.write("data/new.txt", "pear\n");
    shop.write("data/big.txt", "needle\n");
    std::fs::remove_file(shop.path("data/a.txt")).unwrap();
    for (options, pear) in [
        ("--trust", "data/b.txt\n"),
        ("", "data/b.txt\ndata/new.txt\n"),
    ] {
        let said = shop.run(&format!("which {options} pear data")).ends(0);
        assert_eq!(said.out, pear, "{options}");
        // Its blocks are not where the index says.
        let said = shop.run(&format!("grep {options} -wn needle data")).ends(0);
        assert_eq!(said.out, "data/big.txt:1:needle\n", "{options}");
    }
    // A directory in an index of several, and not the other.
    shop.write("more/d.txt", "pear\n");
    settle();
    shop.run("which pear data more --index all.grove").ends(0);
    let said = shop.run("which --trust pear more --index all.grove");
    assert_eq!(said.ends(0).out, "more/d.txt\n");
    shop.run("which --trust --no-save pear data").ends(2);
}

#[test]
fn another_rate_builds_the_index_again() {
    let shop = shop();
    settle();
    shop.run("which pear data").ends(0);
    let said = shop.run("which --explain pear data --fpr 10%").ends(0);
    let all = "0 files indexed, 3 to read";
    assert!(said.err.contains(all), "{}", said.err);
    // Unless asked, the rate of the index is as good as any.
    let said = shop.run("which --explain pear data").ends(0);
    assert!(said.err.contains("3 files indexed"), "{}", said.err);
    let said = shop.run("which --explain pear data --refresh").ends(0);
    assert!(said.err.contains(all), "{}", said.err);
}

#[test]
fn answers_are_exact_unless_maybe_is_enough() {
    let shop = Shop::new();
    for i in 0..40 {
        let keys: String = (0..200).map(|j| format!("{i}-{j}\n")).collect();
        shop.write(&format!("data/{i}.txt"), keys);
    }
    let keys: String = (0..200).map(|i| format!("absent{i}\n")).collect();
    shop.write("wanted", keys + "7-7\n");
    let said = shop
        .run("which --keys-from wanted --fpr 30% --maybe data")
        .ends(0);
    let named = said.out.lines().count();
    assert!((1800..3000).contains(&named), "{named} of 8000 at 30%");
    let said = shop.run("which --keys-from wanted data").ends(0);
    assert_eq!(said.out, "7-7\tdata/7.txt\n");
}

#[test]
fn packed_files_hidden_files_and_filters() {
    let shop = shop();
    shop.shell("gzip data/a.txt && $BLOOMGROVE filter build data/b.txt -o data/b.grove")
        .ends(0);
    shop.write("data/.hidden", "secret\n");
    shop.write("data/.folder/x.txt", "secret\n");
    assert_eq!(shop.run("which apple data").ends(0).out, "data/a.txt.gz\n");
    assert_eq!(
        shop.run("which pear data").ends(0).out,
        "data/a.txt.gz\ndata/b.txt\n"
    );
    shop.run("which secret data").ends(1);
    // Named, a hidden file is meant.
    assert_eq!(
        shop.run("which secret data/.hidden").ends(0).out,
        "data/.hidden\n"
    );
}

#[test]
fn an_index_elsewhere_or_nowhere() {
    let shop = shop();
    assert_eq!(
        shop.run("which plum data --no-save").ends(0).out,
        "data/b.txt\n"
    );
    assert!(!shop.path("data/.bloomgrove.grove").exists());
    assert_eq!(
        shop.run("which plum data --index x.grove").ends(0).out,
        "data/b.txt\n"
    );
    assert!(!shop.path("data/.bloomgrove.grove").exists());
    assert!(shop.path("x.grove").exists());
    assert_eq!(
        shop.run("which plum data/b.txt --index x.grove")
            .ends(0)
            .out,
        "data/b.txt\n"
    );
    // A filter is not an index, and is not replaced by one; nor is a file of keys.
    shop.run("filter build data/a.txt -o f.grove").ends(0);
    for (index, part) in [
        ("f.grove", "contains a filter"),
        ("data/a.txt", "data/a.txt: not an index"),
        ("data", "data: this is a directory"),
    ] {
        let before = std::fs::read(shop.path(index)).ok();
        shop.run(&format!("which plum data --index {index}"))
            .fails_with(&[
                part,
                ", so it cannot be used with --index; pass another file name",
            ]);
        assert_eq!(std::fs::read(shop.path(index)).ok(), before);
    }
    // Where no index can be, the answer is still given.
    std::fs::create_dir(shop.path("data/.bloomgrove.grove")).unwrap();
    let said = shop.run("which plum data").ends(0);
    assert_eq!(said.out, "data/b.txt\n");
    assert!(said.err.contains("left alone"), "{}", said.err);
}

#[test]
fn a_damaged_index_is_built_again_and_a_newer_one_is_left_alone() {
    let shop = shop();
    settle();
    shop.run("which pear data").ends(0);
    let index = shop.path("data/.bloomgrove.grove");
    let good = std::fs::read(&index).unwrap();
    for at in (0..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        std::fs::write(&index, &bad).unwrap();
        let said = shop.run("which pear data");
        if bad[8] == 1 && bad[9] == 0 {
            assert_eq!(said.ends(0).out, "data/a.txt\ndata/b.txt\n", "byte {at}");
        }
    }
    for len in (0..good.len()).step_by(53) {
        std::fs::write(&index, &good[..len]).unwrap();
        let said = shop.run("which pear data").ends(0);
        assert_eq!(said.out, "data/a.txt\ndata/b.txt\n", "cut at {len}");
    }
    let mut newer = good;
    newer[8] = 2;
    std::fs::write(&index, &newer).unwrap();
    let said = shop.run("which pear data").ends(0);
    assert_eq!(said.out, "data/a.txt\ndata/b.txt\n");
    assert!(said.err.contains("format version 2"), "{}", said.err);
    assert_eq!(std::fs::read(&index).unwrap(), newer);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_answered() {
    let shop = shop();
    shop.write("data/broken.gz", b"\x1f\x8b\x08 and no more");
    let said = shop.run("which pear data missing").ends(2);
    assert_eq!(said.out, "data/a.txt\ndata/b.txt\n");
    assert!(
        said.err.contains("missing") && said.err.contains("broken.gz"),
        "{}",
        said.err
    );
    assert_eq!(shop.run("which -q pear data missing").ends(0).out, "");
    let said = shop
        .shell("mkfifo pipe && $BLOOMGROVE which pear pipe")
        .ends(2);
    assert!(said.err.contains("not a regular file"), "{}", said.err);
    // A key copied from a file with carriage returns.
    shop.write("dos.txt", "one\r\ntwo\r\n");
    let said = shop.run_args(&["which", "two\r", "dos.txt"]).ends(0);
    assert_eq!(said.out, "dos.txt\n");
    shop.run("which pear").fails_with(&["no files to search"]);
    shop.run("which").ends(2);
}

#[test]
fn no_line_of_any_file_is_ever_missed() {
    let shop = Shop::new();
    // Sizes around powers of two, empty files, empty lines, bytes of every kind.
    let mut all = Vec::new();
    for (i, count) in [0, 1, 2, 63, 64, 65, 1000, 5000].into_iter().enumerate() {
        let mut file = Vec::new();
        for j in 0..count {
            let key: Vec<u8> = format!("{i}-{j}-")
                .into_bytes()
                .into_iter()
                .chain((0..j % 7).map(|k| (128 + 31 * k + j) as u8))
                .filter(|byte| !matches!(byte, b'\n' | b'\r'))
                .collect();
            file.extend_from_slice(&key);
            file.push(b'\n');
            all.push((key, format!("data/{i}")));
        }
        shop.write(&format!("data/{i}"), file);
    }
    let wanted: Vec<u8> = all
        .iter()
        .flat_map(|(key, _)| [key.as_slice(), b"\n"].concat())
        .collect();
    shop.write("wanted", wanted);
    let output = shop
        .command(&[
            "which",
            "--extract",
            "lines",
            "--maybe",
            "--keys-from",
            "wanted",
            "data",
        ])
        .output()
        .unwrap();
    let lines: std::collections::HashSet<&[u8]> = output.stdout.split(|&b| b == b'\n').collect();
    for (key, file) in &all {
        let line = [key.as_slice(), b"\t", file.as_bytes()].concat();
        assert!(
            lines.contains(line.as_slice()),
            "{}",
            String::from_utf8_lossy(&line)
        );
    }
}

/// Runs that write the same index at once must each answer from what they read.
#[test]
fn runs_at_once_miss_nothing() {
    let shop = Shop::new();
    for i in 0..12 {
        shop.write(&format!("data/{i}"), "shared\n");
    }
    for _ in 0..25 {
        let _ = std::fs::remove_file(shop.path("data/.bloomgrove.grove"));
        let runs: Vec<_> = (0..4)
            .map(|run| {
                let files: Vec<String> = (0..3).map(|i| format!("data/{}", run * 3 + i)).collect();
                let mut args = vec!["which", "-c", "shared"];
                args.extend(files.iter().map(String::as_str));
                let mut command = shop.command(&args);
                command.stdout(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            assert_eq!(output.stdout, b"3\n");
        }
    }
}

#[test]
fn the_index_is_as_private_as_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let shop = shop();
    let mode = |name: &str| {
        std::fs::metadata(shop.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let set = |name: &str, mode: u32| {
        std::fs::set_permissions(shop.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for name in ["data/a.txt", "data/b.txt", "data/deep/c.txt"] {
        set(name, 0o644);
    }
    shop.shell("umask 022; $BLOOMGROVE which pear data").ends(0);
    assert_eq!(mode("data/.bloomgrove.grove"), 0o644);
    set("data/deep/c.txt", 0o440);
    shop.run("which pear data").ends(0);
    assert_eq!(mode("data/.bloomgrove.grove"), 0o640);
    set("data/b.txt", 0o600);
    shop.run("which pear data").ends(0);
    assert_eq!(mode("data/.bloomgrove.grove"), 0o600);
}

#[test]
fn paths_before_the_key_are_an_error_that_says_so() {
    let shop = Shop::new();
    std::fs::create_dir(shop.path("data")).unwrap();
    shop.write("data/a.txt", "plum\n");
    for line in ["which data plum", "grep data plum"] {
        let said = shop.run(line).ends(2);
        assert!(said.err.contains("the paths come last"), "{}", said.err);
    }
    // Not if the key is one: a directory may have the name of a word.
    shop.write("data/a.txt", "data\n");
    shop.run("which data data").ends(0);
}

//! `bloomgrove sample` and `reconstruct`: damage, Ctrl-C, closed pipes, full disks.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Said, Shop, sevens};

#[test]
fn damage_is_found_before_names_are_asked() {
    let shop = sevens();
    shop.run("sample index 0..7000 --for sevens.grove -o names.grove")
        .ends(0);
    for (name, line) in [
        ("sevens.grove", "sample sevens.grove --namespace 0..7000"),
        ("names.grove", "sample sevens.grove --namespace names.grove"),
    ] {
        let whole = std::fs::read(shop.path(name)).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() - 128 - 64] ^= 4;
        shop.write(name, damaged);
        shop.run(line).fails_with(&[name, "damaged"]);
        shop.write(name, whole);
    }
    shop.run("sample sevens.grove --namespace names.grove")
        .ends(0);
}

/// Sends Ctrl-C to a command that would run for years.
fn interrupt(shop: &Shop, args: &[&str]) -> Said {
    let child = shop
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn interrupted_work_leaves_nothing_behind() {
    let shop = sevens();
    let before = shop.names();
    let endless = "0..10_000_000_000_000_000";
    let line = ["reconstruct", "sevens.grove", "--namespace", endless];
    let said = interrupt(&shop, &[&line[..], &["-o", "out.txt"]].concat()).ends(130);
    for part in ["hours", "interrupted; nothing was changed"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    let said = interrupt(&shop, &line).ends(130);
    assert!(
        said.err.contains("the list is not complete"),
        "{}",
        said.err
    );
    let list = ["sample", "sevens.grove", "--method", "list"];
    let list = [&list[..], &["--namespace", endless]].concat();
    interrupt(&shop, &list).ends(130);
    let index = [
        "sample",
        "index",
        "0..4G",
        "--for",
        "sevens.grove",
        "-o",
        "n.grove",
    ];
    let said = interrupt(&shop, &index).ends(130);
    assert!(said.err.contains("interrupted"), "{}", said.err);
    assert_eq!(shop.names(), before);
}

#[test]
fn a_closed_pipe_and_a_full_disk_are_noticed() {
    let shop = sevens();
    let said = shop.shell(
        "($BLOOMGROVE reconstruct sevens.grove --namespace 0..7000; echo $? >code) | head -1; cat code",
    );
    assert_eq!((said.out.as_str(), said.err.as_str()), ("0\n0\n", ""));
    shop.shell("$BLOOMGROVE reconstruct sevens.grove --namespace 0..7000 > /dev/full")
        .fails_with(&["No space left"]);
    shop.shell(
        "trap '' XFSZ; ulimit -f 1; exec $BLOOMGROVE reconstruct sevens.grove --namespace 0..7000 -o x",
    )
    .fails_with(&["x: writing", "too large"]);
    assert!(!shop.path("x").exists());
}

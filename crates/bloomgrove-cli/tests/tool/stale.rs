//! `bloomgrove index which` when its files are no longer what they were: never a wrong "no" without
//! a word.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::{Said, Shop, json};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

fn built() -> Shop {
    let shop = Shop::new();
    shop.write("data/a.txt", "apple\npear\n");
    shop.write("data/b.txt", "pear\nplum\n");
    shop.write("data/deep/c.txt", "cherry\n");
    shop.run("index build data -o x.grove --fpr 1e-9").ends(0);
    shop
}

#[track_caller]
fn silent(said: Said) -> String {
    assert_eq!(said.err, "");
    said.out
}

#[track_caller]
fn warns(said: Said, parts: &[&str]) -> String {
    for part in parts {
        assert!(said.err.contains(part), "no {part:?} in {:?}", said.err);
    }
    said.out
}

#[test]
fn files_are_not_read_again_by_another_column() {
    let shop = Shop::new();
    shop.write("data/a.csv", "id,customer\n1,ann\n");
    shop.run("index build data --column customer -o x.grove")
        .ends(0);
    shop.write("data/a.csv", "id,customer\n1,ann\n2,bob\n");
    let said = shop.run("index sync x.grove data --column id").ends(2);
    assert!(
        said.err
            .contains("the keys of this index are column=customer"),
        "{}",
        said.err
    );
    shop.run("index sync x.grove data --column customer")
        .ends(0);
    assert_eq!(
        silent(shop.run("index which x.grove bob").ends(0)),
        "a.csv\n"
    );
    let said = shop.run("index sync x.grove nowhere").ends(2);
    assert!(said.err.contains("no such directory"), "{}", said.err);
}

#[test]
fn changed_deleted_and_new_files_are_told() {
    let shop = built();
    let asked = |key: &str, code| shop.run(&format!("index which x.grove {key}")).ends(code);
    assert_eq!(silent(asked("pear", 0)), "a.txt\nb.txt\n");
    assert_eq!(silent(asked("quince", 1)), "");

    shop.write("data/a.txt", "quince\nkiwi\n");
    fs::remove_file(shop.path("data/b.txt")).unwrap();
    shop.write("data/new.txt", "quince\n");
    let parts = [
        "1 of its 3 files has changed since it was indexed and is listed for every key (a.txt)",
        "1 of its 3 files has been deleted and is not listed (b.txt)",
        "1 file is not in the index and was not searched (new.txt)",
        "--trust",
    ];
    assert_eq!(warns(asked("quince", 0), &parts), "a.txt\n");
    assert_eq!(warns(asked("plum", 0), &parts), "a.txt\n");
    assert_eq!(warns(asked("cherry", 0), &parts), "a.txt\ndeep/c.txt\n");
    let said = shop.run("index which x.grove plum --json").ends(0);
    assert_eq!(
        said.out,
        "{\"key\":\"plum\",\"count\":1,\"sets\":[\"a.txt\"],\"changed\":[\"a.txt\"],\
         \"deleted\":[\"b.txt\"],\"not_searched\":1}\n"
    );
    let said = shop.run("index which x.grove -c pear plum cherry").ends(0);
    assert_eq!(said.out, "pear\t1\nplum\t1\ncherry\t2\n");
    let said = shop
        .run("index which x.grove --at-least 2 pear plum")
        .ends(0);
    assert_eq!(said.out, "a.txt\t2\n");
    let said = shop
        .run("index which x.grove --at-least 1 pear --json")
        .ends(0);
    assert_eq!(
        said.out,
        "{\"set\":\"a.txt\",\"keys\":1,\"changed\":true}\n"
    );
    // Of other sets, nothing is looked at.
    let said = shop.run("index which x.grove cherry --prefix deep").ends(0);
    assert_eq!(silent(said), "deep/c.txt\n");

    // As it was built.
    let said = shop.run("index which x.grove --trust pear").ends(0);
    assert_eq!(silent(said), "a.txt\nb.txt\n");
    let said = shop.run("index which x.grove --trust quince").ends(1);
    assert_eq!(silent(said), "");

    // And put right.
    shop.run("index add x.grove data --replace").ends(0);
    shop.run("index remove x.grove b.txt").ends(0);
    assert_eq!(silent(asked("quince", 0)), "a.txt\nnew.txt\n");
    assert_eq!(silent(asked("plum", 1)), "");
}

/// What looks the same to a careless eye.
#[test]
fn no_disguise_hides_a_change() {
    let shop = built();
    for (script, key, listed) in [
        // The same size, and the old time of modification.
        (
            "cp -p data/a.txt old; printf 'apple\\nkiwi\\n' > data/a.txt; touch -r old data/a.txt",
            "kiwi",
            "a.txt\n",
        ),
        // Two files that change places.
        (
            "cp -p data/b.txt data/a.tmp; mv data/b.txt data/b.tmp; mv data/a.tmp data/b.txt; \
             rm data/b.tmp",
            "grape",
            "a.txt\nb.txt\n",
        ),
        // A directory where a file was.
        (
            "rm data/deep/c.txt; mkdir data/deep/c.txt",
            "grape",
            "a.txt\nb.txt\ndeep/c.txt\n",
        ),
    ] {
        shop.shell(script).ends(0);
        let said = shop.run(&format!("index which x.grove {key}")).ends(0);
        assert_eq!(warns(said, &["changed"]), listed, "{script}");
    }
}

#[test]
fn an_index_moves_with_its_files_and_does_not_answer_without_them() {
    let shop = built();
    fs::create_dir(shop.path("moved")).unwrap();
    fs::rename(shop.path("data"), shop.path("moved/data")).unwrap();
    shop.run("index which x.grove pear").fails_with(&[
        "x.grove",
        "none of the 3 files that it was built from",
        "--trust",
    ]);
    let said = shop.run("index which x.grove pear --trust").ends(0);
    assert_eq!(said.out, "a.txt\nb.txt\n");
    fs::rename(shop.path("x.grove"), shop.path("moved/x.grove")).unwrap();
    // Wherever one stands.
    let said = shop.run("index which moved/x.grove pear").ends(0);
    assert_eq!(silent(said), "a.txt\nb.txt\n");
    let said = shop
        .shell("cd moved/data/deep; $BLOOMGROVE index which ../../x.grove pear")
        .ends(0);
    assert_eq!(silent(said), "a.txt\nb.txt\n");
    // Through a link, too.
    let said = shop
        .shell("ln -s moved/x.grove link.grove; $BLOOMGROVE index which link.grove cherry")
        .ends(0);
    assert_eq!(silent(said), "deep/c.txt\n");
    // Files elsewhere are known by where they are.
    fs::create_dir(shop.path("far")).unwrap();
    shop.run("index build moved/data -o far/y.grove").ends(0);
    fs::rename(shop.path("far/y.grove"), shop.path("y.grove")).unwrap();
    let said = shop.run("index which y.grove pear").ends(0);
    assert_eq!(silent(said), "a.txt\nb.txt\n");
}

#[test]
fn every_verb_keeps_the_stamps() {
    let shop = built();
    shop.write("other/d.txt", "damson\n");
    shop.run("index add x.grove other/d.txt --name d").ends(0);
    shop.run("index update x.grove b.txt banana").ends(0);
    shop.run("index update x.grove a.txt --rename z").ends(0);
    shop.run("index compact x.grove").ends(0);
    // Merged into an index in another directory.
    fs::create_dir(shop.path("else")).unwrap();
    shop.run("index build x.grove -o else/m.grove").ends(0);
    // The filter of a file that is gone is still a set, and so is a slice.
    shop.run("filter build other/d.txt -o f.grove").ends(0);
    shop.run("index add else/m.grove f.grove").ends(0);
    fs::remove_file(shop.path("f.grove")).unwrap();
    shop.write("day", "monday\n");
    shop.run("index add else/m.grove day --name days --slice 1")
        .ends(0);
    fs::remove_file(shop.path("day")).unwrap();
    for index in ["x.grove", "else/m.grove"] {
        let asked = |key: &str| shop.run(&format!("index which {index} {key}")).ends(0);
        assert_eq!(silent(asked("apple")), "z\n");
        assert_eq!(silent(asked("banana")), "b.txt\n");
        let extra = if index == "x.grove" { "d\n" } else { "d\nf\n" };
        assert_eq!(silent(asked("damson")), extra);
    }
    assert_eq!(
        silent(shop.run("index which else/m.grove monday").ends(0)),
        "days\n"
    );
    shop.write("data/a.txt", "changed\n");
    shop.write("other/d.txt", "changed\n");
    for index in ["x.grove", "else/m.grove"] {
        let said = shop.run(&format!("index which {index} nothing")).ends(0);
        assert_eq!(
            warns(said, &["2 of its 4 files have changed", "(d, z)"]),
            "d\nz\n",
            "{index}"
        );
    }
    // What `which` keeps for itself has the same stamps.
    shop.run("which pear data").ends(0);
    let said = shop.run("index which data/.bloomgrove.grove pear").ends(0);
    assert_eq!(silent(said), "b.txt\n");
    fs::remove_file(shop.path("data/b.txt")).unwrap();
    let said = shop.run("index which data/.bloomgrove.grove pear").ends(1);
    assert_eq!(warns(said, &["has been deleted"]), "");
}

#[test]
fn a_file_that_is_written_while_it_is_read_counts_as_changed() {
    let shop = Shop::new();
    shop.write("data/other", "plum\n");
    let said = shop
        .shell(
            "(i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done; \
             until [ -e read ]; do sleep 0.01; done; echo last) \
             > data/log & sleep 0.05; $BLOOMGROVE index build data -o x.grove; touch read; wait",
        )
        .ends(0);
    assert!(said.out.contains("2 sets"), "{}", said.out);
    let said = shop.run("index which x.grove last").ends(0);
    assert_eq!(warns(said, &["1 of its 2 files has changed"]), "log\n");
}

/// Random changes to random files, against an oracle that knows what is in them.
#[test]
fn random_changes_never_give_a_wrong_answer_without_a_word() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(17);
    let keys: Vec<String> = (0..24).map(|i| format!("key-{i:02}")).collect();
    for round in 0..12 {
        let shop = Shop::new();
        let name = |i: usize| format!("{}{i:02}", ["", "one/", "one/two/"][i % 3]);
        // All of the same size, so that only times and inodes tell.
        let content = |rng: &mut Xoshiro256PlusPlus| -> BTreeSet<String> {
            (0..3)
                .map(|_| keys[rng.random_range(0..keys.len())].clone())
                .collect()
        };
        let text = |keys: &BTreeSet<String>| {
            let lines: String = keys.iter().map(|key| format!("{key}\n")).collect();
            format!("{lines:#<24}")
        };
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for i in 0..12 {
            let keys = content(&mut rng);
            shop.write(&format!("data/{}", name(i)), text(&keys));
            files.insert(name(i), keys);
        }
        shop.run("index build data -o x.grove --fpr 1e-9").ends(0);
        let indexed = files.clone();
        for _ in 0..rng.random_range(0..6) {
            let all: Vec<String> = files.keys().cloned().collect();
            let file = &all[rng.random_range(0..all.len())];
            let at = shop.path(format!("data/{file}"));
            let keys = content(&mut rng);
            match rng.random_range(0..7) {
                0 => fs::write(&at, text(&keys)).unwrap(),
                // With the time of the old one.
                1 => {
                    let time = fs::metadata(&at).unwrap().modified().unwrap();
                    fs::write(&at, text(&keys)).unwrap();
                    let open = fs::File::options().write(true).open(&at).unwrap();
                    open.set_modified(time).unwrap();
                }
                // Replaced by another, as editors do.
                2 => {
                    let time = fs::metadata(&at).unwrap().modified().unwrap();
                    shop.write("data/.swap", text(&keys));
                    let open = fs::File::options()
                        .write(true)
                        .open(shop.path("data/.swap"));
                    open.unwrap().set_modified(time).unwrap();
                    fs::rename(shop.path("data/.swap"), &at).unwrap();
                }
                3 => {
                    fs::remove_file(&at).unwrap();
                    files.remove(file);
                    continue;
                }
                // Renamed, to a new name or over another file.
                4 | 5 => {
                    let to = match rng.random() {
                        true => format!("renamed-{}", rng.random_range(0..9)),
                        false => all[rng.random_range(0..all.len())].clone(),
                    };
                    fs::rename(&at, shop.path(format!("data/{to}"))).unwrap();
                    let moved = files.remove(file).unwrap();
                    files.insert(to, moved);
                    continue;
                }
                _ => {
                    let new = format!("one/new-{}", rng.random_range(0..9));
                    shop.write(&format!("data/{new}"), text(&keys));
                    files.insert(new, keys);
                    continue;
                }
            }
            files.insert(file.clone(), keys);
        }
        let new = files.keys().filter(|file| !indexed.contains_key(*file));
        let new = new.count();
        for key in &keys {
            let said = shop.run(&format!("index which x.grove --json {key}"));
            let answer = json(&said);
            let sets: BTreeSet<&str> = answer["sets"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect();
            for (file, content) in &indexed {
                let now = files.get(file);
                let context = format!("round {round}, {key} in {file}: {said:?}");
                if now.is_some_and(|keys| keys.contains(key)) {
                    assert!(sets.contains(file.as_str()), "{context}");
                }
                if now.is_none() {
                    assert!(!sets.contains(file.as_str()), "{context}");
                    assert!(said.err.contains("deleted"), "{context}");
                }
                if now.is_some_and(|now| now != content) {
                    assert!(said.err.contains("changed"), "{context}");
                }
            }
            assert_eq!(answer["not_searched"].as_u64().unwrap_or(0), new as u64);
            assert_eq!(said.err.contains("not searched"), new > 0);
            assert_eq!(said.code, Some(i32::from(sets.is_empty())));
        }
    }
}

use super::*;

fn entry(name: &str, role: Role, key: &str, prefix: &str) -> KeyEntry {
    KeyEntry::new(name, role, hash_of(key), prefix)
}

#[test]
fn each_role_includes_the_ones_before() {
    let access = Access::new(&[
        entry("page", Role::Read, "r", ""),
        entry("galway", Role::Write, "w", "site/galway"),
        entry("boss", Role::Admin, "a", ""),
    ])
    .unwrap();
    for (key, write_inside, write_outside, administer) in [
        ("r", false, false, false),
        ("w", true, false, false),
        ("a", true, true, true),
    ] {
        let caller = access.who(Some(key)).unwrap();
        assert!(caller.may_read().is_ok());
        assert_eq!(caller.may_write("site/galway/1").is_ok(), write_inside);
        assert_eq!(caller.may_write("site/cork/1").is_ok(), write_outside);
        assert_eq!(caller.may_administer().is_ok(), administer);
    }
    assert_eq!(access.who(None).unwrap_err(), no_key());
    assert_eq!(access.who(Some("x")).unwrap_err(), unknown_key());
    assert_eq!(access.who(Some("")).unwrap_err(), unknown_key());
}

#[test]
fn without_keys_everything_is_allowed() {
    let access = Access::new(&[]).unwrap();
    assert!(access.is_open());
    let anybody = access.who(None).unwrap();
    assert!(anybody.may_write("any").is_ok() && anybody.may_administer().is_ok());
}

#[test]
fn wrong_entries_are_named() {
    let good = entry("one", Role::Read, "1", "");
    for (bad, word) in [
        (entry("", Role::Read, "2", ""), "needs a name"),
        (entry("one", Role::Read, "2", ""), "same name"),
        (entry("two", Role::Read, "1", ""), "same hash"),
        (
            entry("two", Role::Read, "2", "site/"),
            "for write keys only",
        ),
        (
            KeyEntry {
                sha256: "zz".repeat(32),
                ..entry("two", Role::Read, "2", "")
            },
            "64 hexadecimal",
        ),
    ] {
        let error = Access::new(&[good.clone(), bad]).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn keys_on_the_command_line() {
    let hash = hash_of("1");
    assert_eq!(hash.len(), 64);
    let read: KeyEntry = format!("page:read:{hash}").parse().unwrap();
    assert_eq!(read, entry("page", Role::Read, "1", ""));
    let write: KeyEntry = format!("x:write:{hash}:site:1").parse().unwrap();
    assert_eq!(write.prefix, "site:1");
    assert!("page:read".parse::<KeyEntry>().is_err());
    assert!(format!("page:root:{hash}").parse::<KeyEntry>().is_err());
}

#[test]
fn an_entry_is_read_as_it_was_written() {
    for prefix in ["", "site/galway/", "a \"quoted\" \\ prefix\n"] {
        let written = entry("the 'one'", Role::Write, "1", prefix);
        #[derive(Deserialize)]
        struct File {
            keys: Vec<KeyEntry>,
        }
        let file: File = toml::from_str(&written.to_toml()).unwrap();
        assert_eq!(file.keys, [written]);
    }
}

#[test]
fn new_keys_differ_and_are_known_by_their_hash() {
    let (one, two) = (new_key().unwrap(), new_key().unwrap());
    assert_ne!(one, two);
    let access = Access::new(&[entry("one", Role::Admin, &one, "")]).unwrap();
    assert_eq!(access.who(Some(&one)).unwrap().name(), "one");
    assert!(access.who(Some(&two)).is_err());
}

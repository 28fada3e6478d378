#[path = "../../../bloomgrove-http/tests/support/damage.rs"]
mod damage;

use super::*;
use damage::damage;

fn entries(log: &Log, from: u64) -> Vec<(u64, u64, String)> {
    let mut all = Vec::new();
    log.scan(from, |number, seconds, text| {
        all.push((number, seconds, String::from_utf8(text.to_vec())?));
        Ok(())
    })
    .unwrap();
    all
}

#[test]
fn what_is_appended_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("new/data");
    let key = {
        let log = Log::open(&data, "galway").unwrap();
        assert_eq!(log.next(), 0);
        assert_eq!(log.append(7, b"one").unwrap(), 0);
        assert_eq!(log.append(u64::MAX, b"").unwrap(), 1);
        log.note_published("galway/ids/all", Some(b"{}")).unwrap();
        log.note_published("galway/ids/old", Some(b"{}")).unwrap();
        log.note_published("galway/ids/old", None).unwrap();
        log.key().to_owned()
    };
    let log = Log::open(&data, "galway").unwrap();
    assert_eq!((log.next(), log.key()), (2, key.as_str()));
    assert!(key.starts_with("bg_"));
    let all = [(0, 7, "one".to_owned()), (1, u64::MAX, String::new())];
    assert_eq!(entries(&log, 0), all);
    assert_eq!(entries(&log, 1), all[1..]);
    let published = log.published().unwrap();
    assert_eq!(
        published.into_keys().collect::<Vec<_>>(),
        ["galway/ids/all"]
    );
    assert!(log.bytes() > 0);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// An existing directory may be accessible to others; the log is not. A file left by a process that was killed while creating
/// the log is not a log.
#[test]
fn a_new_log_is_whole_and_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    let left = directory.path().join(".temporary-x");
    std::fs::write(&left, "").unwrap();
    let log = Log::open(directory.path(), "galway").unwrap();
    let mode = std::fs::metadata(&log.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!left.exists());
}

#[test]
fn what_is_no_log_of_this_site_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let path = data.join("site.redb");
    let refusal = |site: &str| format!("{:#}", Log::open(data, site).unwrap_err());
    {
        let _log = Log::open(data, "galway").unwrap();
        assert!(refusal("galway").contains("another process"));
    }
    assert!(refusal("pune").contains("of the site \"galway\""));
    let good = std::fs::read(&path).unwrap();
    for bad in [&b""[..], b"nonsense", &good[..good.len() / 2], &good[..100]] {
        std::fs::write(&path, bad).unwrap();
        assert!(
            refusal("galway").contains("damaged"),
            "{}",
            refusal("galway")
        );
        assert_eq!(std::fs::read(&path).unwrap(), bad);
    }
    std::fs::write(&path, &good).unwrap();
    {
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        let format = 3u64.to_le_bytes();
        Meta::open(&write).unwrap().set("format", &format).unwrap();
        write.commit().unwrap();
    }
    assert!(refusal("galway").contains("format 3"));
}

/// After a write that seemed to have failed the log is closed; reopening it shows whether it did.
#[test]
fn a_log_that_was_closed_goes_on_and_tells_what_was_missed() {
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(directory.path(), "galway").unwrap();
    log.append(1, b"one").unwrap();
    *log.slot() = None;
    assert_eq!(entries(&log, 0).len(), 1);
    *log.slot() = None;
    log.note_published("a", Some(b"{}")).unwrap();
    *log.slot() = None;
    assert_eq!(log.append(2, b"two").unwrap(), 1);
    // Written, but reported as failed.
    *log.slot() = None;
    log.next.store(1, Relaxed);
    assert!(matches!(log.append(3, b"three"), Err(AppendError::Behind)));
    assert_eq!(entries(&log, 1), [(1, 2, "two".to_owned())]);
    assert_eq!(log.append(3, b"three").unwrap(), 2);
    // A note in between does not hide it, either.
    *log.slot() = None;
    log.next.store(2, Relaxed);
    log.note_published("a", Some(b"{}")).unwrap();
    assert!(matches!(log.append(3, b"three"), Err(AppendError::Behind)));
    // Not available while it cannot be opened.
    *log.slot() = None;
    let (path, away) = (&log.path, directory.path().join("away"));
    std::fs::rename(path, &away).unwrap();
    assert!(matches!(
        log.append(4, b"four"),
        Err(AppendError::Storage(_))
    ));
    assert!(!path.exists());
    std::fs::rename(&away, path).unwrap();
    assert_eq!(log.append(4, b"four").unwrap(), 3);
    // Another file in its place is not written to.
    *log.slot() = None;
    std::fs::remove_file(path).unwrap();
    drop(Log::open(directory.path(), "galway").unwrap());
    assert!(matches!(
        log.append(5, b"five"),
        Err(AppendError::Storage(_))
    ));
    log.close();
    assert!(matches!(
        log.append(5, b"five"),
        Err(AppendError::Storage(_))
    ));
    Log::open(directory.path(), "galway").unwrap();
}

/// The contents of a log.
type Said = (Vec<(u64, u64, String)>, BTreeMap<String, Vec<u8>>, String);

fn said(log: &Log) -> Said {
    (
        entries(log, 0),
        log.published().unwrap(),
        log.key().to_owned(),
    )
}

fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Directories left by a site that was shut down, and by one that was killed; their contents.
fn clean_and_killed(many: u64) -> (tempfile::TempDir, tempfile::TempDir, Said) {
    let (clean, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = Log::open(clean.path(), "galway").unwrap();
    let text = |n: u64| format!("<urn:a:{n}> <urn:b> <urn:c:{n}> .\n").repeat(1 + n as usize % 9);
    for n in 0..many {
        log.append(n, text(n).as_bytes()).unwrap();
        if n % 3 != 0 {
            continue;
        }
        let set = format!("galway/ids/{}", n % 10);
        log.note_published(&set, Some(format!("{{\"version\":{n}}}").as_bytes()))
            .unwrap();
    }
    let said = said(&log);
    copy(clean.path(), killed.path());
    drop(log);
    (clean, killed, said)
}

fn trials(usual: u64) -> u64 {
    let said = std::env::var("BLOOMGROVE_TRIALS").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_damaged_log_is_refused_or_says_all_and_what_is_salvaged_is_right() {
    for (many, usual) in [(30, 300), (200, 200)] {
        let (clean, killed, wanted) = clean_and_killed(many);
        for (from, first) in [(&clean, 0), (&killed, 1 << 32)] {
            let good = std::fs::read(from.path().join(FILE)).unwrap();
            let (mut right, mut refused, mut saved) = (0, 0, 0);
            for seed in first..first + trials(usual) {
                let mut bytes = good.clone();
                let what = damage(&mut bytes, seed);
                let directory = tempfile::tempdir().unwrap();
                copy(from.path(), directory.path());
                let path = directory.path().join(FILE);
                std::fs::write(&path, &bytes).unwrap();
                match Log::open(directory.path(), "galway") {
                    Ok(log) => {
                        let found = said(&log);
                        assert!(
                            (&found.0, &found.2) == (&wanted.0, &wanted.2),
                            "{seed}: {what}"
                        );
                        // A note may be an earlier one of its set: it costs a whole filter.
                        for (set, note) in &found.1 {
                            let note: BTreeMap<String, u64> = serde_json::from_slice(note).unwrap();
                            let label = (note["version"] % 10).to_string();
                            assert!(set.ends_with(&label), "{seed}: {what}");
                        }
                        right += 1;
                        continue;
                    }
                    Err(error) => {
                        let told = format!("{error:#}");
                        assert!(told.contains("--salvage"), "{told}");
                        assert_eq!(std::fs::read(&path).unwrap(), bytes, "it was written to");
                        refused += 1;
                    }
                }
                let Ok(told) = salvage(directory.path(), "galway") else {
                    assert_eq!(std::fs::read(&path).unwrap(), bytes);
                    continue;
                };
                saved += 1;
                let told = told.join("\n");
                let log = Log::open(directory.path(), "galway").unwrap();
                let (kept, published, _) = said(&log);
                assert!(published.is_empty());
                let mut all = wanted.0.iter();
                for (_, seconds, text) in &kept {
                    // In order.
                    assert!(all.any(|one| (one.1, &one.2) == (*seconds, text)), "{what}");
                }
                let lost = kept.len() < wanted.0.len();
                let named = told.contains("unreadable") || told.contains("was acknowledged");
                assert!(named || !lost, "seed {seed}: {what}: {told}");
                assert_eq!(
                    std::fs::read(path.with_extension("damaged-1")).unwrap(),
                    bytes
                );
            }
            println!("right {right}, refused {refused}, of which salvaged {saved}");
            assert!(right > 0 && refused > 0 && saved > 0);
        }
    }
}

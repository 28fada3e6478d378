use super::*;

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
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
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

/// A folder that was there may be open to others; the log is not. What was left by a process that
/// was killed while it made the log is no log.
#[test]
fn a_new_log_is_whole_and_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let left = folder.path().join(".temporary-x");
    std::fs::write(&left, "").unwrap();
    let log = Log::open(folder.path(), "galway").unwrap();
    let mode = std::fs::metadata(&log.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!left.exists());
}

#[test]
fn what_is_no_log_of_this_site_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let path = data.join("site.redb");
    let refusal = |site: &str| format!("{:#}", Log::open(data, site).unwrap_err());
    {
        let _log = Log::open(data, "galway").unwrap();
        assert!(refusal("galway").contains("another process has this data folder open"));
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
        write
            .open_table(META)
            .unwrap()
            .insert("format", "2")
            .unwrap();
        write.commit().unwrap();
    }
    assert!(refusal("galway").contains("format 2"));
}

/// After a write that seemed to have failed the log is closed; what opening it again shows decides.
#[test]
fn a_log_that_was_closed_goes_on_and_tells_what_was_missed() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::open(folder.path(), "galway").unwrap();
    log.append(1, b"one").unwrap();
    *log.slot() = None;
    assert_eq!(entries(&log, 0).len(), 1);
    *log.slot() = None;
    log.note_published("a", Some(b"{}")).unwrap();
    *log.slot() = None;
    assert_eq!(log.append(2, b"two").unwrap(), 1);
    // Written, and not known to be.
    *log.slot() = None;
    log.next.store(1, Relaxed);
    assert!(matches!(log.append(3, b"three"), Err(AppendError::Behind)));
    assert_eq!(entries(&log, 1), [(1, 2, "two".to_owned())]);
    assert_eq!(log.append(3, b"three").unwrap(), 2);
    // Nor does a note hide it that comes in between.
    *log.slot() = None;
    log.next.store(2, Relaxed);
    log.note_published("a", Some(b"{}")).unwrap();
    assert!(matches!(log.append(3, b"three"), Err(AppendError::Behind)));
    // Not there while it cannot be opened.
    *log.slot() = None;
    let (path, away) = (&log.path, folder.path().join("away"));
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
    drop(Log::open(folder.path(), "galway").unwrap());
    assert!(matches!(
        log.append(5, b"five"),
        Err(AppendError::Storage(_))
    ));
    log.close();
    assert!(matches!(
        log.append(5, b"five"),
        Err(AppendError::Storage(_))
    ));
    Log::open(folder.path(), "galway").unwrap();
}

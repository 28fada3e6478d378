//! What a file may replace: only one of its kind, whatever its name, and never through a link that
//! was not named.

use std::fs;
use std::io::Write;
use std::path::Path;

use bloomgrove::buffered;
use bloomgrove::format::{Content, content_of};
use bloomgrove::index::Index;
use bloomgrove::raw::format::{WholeFile, check_target};
use bloomgrove::raw::index::{Origin, create_from, open_checked, open_from, restrict};
use bloomgrove::sample::{NameIndex, NameIndexOptions, Namespace};
use bloomgrove::{Error, Filter, Params, codec};
use bloomgrove_trees::bloofi::{BloofiOptions, NamedBloofi};
use bloomgrove_trees::bloom_sample_tree::BloomSampleTree;
use bloomgrove_trees::bloom_tree::{self, BloomTree};

fn params() -> Params {
    Params::for_items(10, 0.1).unwrap()
}

/// Every way to write a `.grove` file over another.
fn write(content: Content, path: &Path) -> Result<(), Error> {
    match content {
        Content::Filter => Filter::new(params())?.save(path),
        Content::Index => Index::mixed().save(path),
        Content::Names => {
            let names = Namespace::range(0..100)?;
            NameIndex::build(&params(), names, NameIndexOptions::default())?.save(path)
        }
        Content::Paged => {
            let plan = buffered::Geometry::for_items(1000, 0.01)?;
            buffered::Builder::create(path, &plan, &buffered::BufferOptions::default())?
                .finish()?;
            Ok(())
        }
        Content::Bloofi => NamedBloofi::new(params(), BloofiOptions::default())?.save(path),
        Content::BloomSampleTree => BloomSampleTree::complete(&params(), 0..9, 1)?.save(path),
        _ => {
            let shape = bloom_tree::TreeShape::new(&[(100, 1), (4, 1)])?;
            BloomTree::new(shape)?.save(path)
        }
    }
}

#[test]
fn only_a_file_of_the_same_content_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.grove");
    let mut message = Vec::new();
    codec::compress(&Filter::new(params()).unwrap(), &mut message).unwrap();
    for &content in Content::ALL {
        for &other in Content::ALL {
            let _ = fs::remove_file(&path);
            write(other, &path).unwrap();
            let before = fs::read(&path).unwrap();
            let done = write(content, &path);
            let checked = check_target(&path, content);
            if content == other {
                done.unwrap();
                checked.unwrap();
                continue;
            }
            for error in [done.unwrap_err(), checked.unwrap_err()] {
                let message = error.to_string();
                for part in [
                    "x.grove",
                    &other.to_string(),
                    &content.to_string(),
                    "would be overwritten",
                ] {
                    assert!(message.contains(part), "{message}");
                }
            }
            assert_eq!(fs::read(&path).unwrap(), before);
        }
        // Only the name says .grove.
        let newer = {
            let mut bytes = before(content);
            bytes[8] = 2;
            bytes
        };
        for bytes in [&b"a text"[..], b"\x89GROVE\r\n", &message, &newer] {
            fs::write(&path, bytes).unwrap();
            let error = write(content, &path).unwrap_err();
            assert!(
                matches!(error.kind(), Error::WouldReplace { .. }),
                "{error}"
            );
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        // Empty, or of this content but damaged: nothing is lost.
        let damaged = {
            let mut bytes = before(content);
            bytes[60] ^= 1;
            bytes
        };
        for bytes in [&b""[..], &damaged] {
            fs::write(&path, bytes).unwrap();
            write(content, &path).unwrap();
            assert_eq!(content_of(&path).unwrap(), content);
        }
    }
}

fn before(content: Content) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.grove");
    write(content, &path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn what_came_while_a_file_was_written_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("list.csv");
    let begin = || {
        let mut file =
            WholeFile::create(&path, "a list", |start| start.starts_with(b"id,")).unwrap();
        file.write_all(b"id,\n1,\n").unwrap();
        file
    };
    let file = begin();
    fs::write(&path, "the work of a day").unwrap();
    let error = file.finish().unwrap_err();
    assert!(
        matches!(error.kind(), Error::WouldReplace { .. }),
        "{error}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"the work of a day");
    fs::remove_file(&path).unwrap();
    begin().finish().unwrap();
    begin().finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"id,\n1,\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Links, pipes and other users' files in place of an index that was not named.
#[test]
#[cfg(unix)]
fn an_index_that_was_not_named_is_a_regular_file_of_the_user() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let own = path("own.grove");
    let create = || create_from(&own, &Index::mixed(), Origin::Implicit, Some(0o666));
    let refused = |part: &str| {
        for error in [
            open_checked(&own, Origin::Implicit)
                .map(|_| ())
                .unwrap_err(),
            open_from(&own, Origin::Implicit).map(|_| ()).unwrap_err(),
        ] {
            assert!(error.to_string().contains(part), "{error}");
        }
    };
    Index::mixed().save(path("index")).unwrap();
    fs::write(path("text"), "the work of a day").unwrap();
    fs::set_permissions(path("index"), fs::Permissions::from_mode(0o644)).unwrap();

    for to in ["index", "text", "nothing", "."] {
        symlink(path(to), &own).unwrap();
        refused("symbolic link");
        let error = create().unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        fs::remove_file(&own).unwrap();
    }
    assert!(!path("nothing").exists());
    assert_eq!(fs::read(path("text")).unwrap(), b"the work of a day");

    fs::hard_link(path("index"), &own).unwrap();
    refused("hard link");
    fs::remove_file(&own).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&own).status();
    assert!(made.unwrap().success());
    refused("not a regular file");
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    refused("this is a directory");
    fs::remove_dir(&own).unwrap();

    // A file that we create is one that we trust, whatever mode was requested.
    drop(create().unwrap());
    open_checked(&own, Origin::Implicit).unwrap();
    for mode in [0o664, 0o646, 0o666] {
        fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
        refused("other users can write");
    }
    fs::set_permissions(&own, fs::Permissions::from_mode(0o644)).unwrap();
    restrict(&open_from(&own, Origin::Implicit).unwrap(), 0o640).unwrap();
    assert_eq!(
        fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o640
    );
    // Only root can give a file away.
    if std::os::unix::fs::chown(&own, Some(12345), None).is_ok() {
        refused("another user (uid 12345)");
    }
}

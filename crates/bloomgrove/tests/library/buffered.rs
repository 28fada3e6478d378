//! Buffered filters: no key is ever lost, rates are those of theory, and what cannot be done is
//! said.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use crate::support::{assert_rate, scatter};
use bloomgrove::buffered::{
    BufferOptions, Builder, Filter, Geometry, Phase, QueueOptions, Strategy,
};
use bloomgrove::{Affine, Derivation, Error, Family, Layout, verify};

const STRATEGIES: [Strategy; 3] = [Strategy::Longest, Strategy::Equal, Strategy::Sweep];
const ABSENT: u64 = 1 << 40;

fn memory(bytes: u64) -> BufferOptions {
    BufferOptions {
        memory: bytes,
        ..BufferOptions::default()
    }
}

/// Six bits for a key, in pages of this size.
fn pages_of(page_bytes: u64, bytes: u64) -> Geometry {
    let builder = Geometry::builder(bytes, 6).page_bytes(page_bytes);
    builder.build().unwrap()
}

fn build(path: &Path, geometry: &Geometry, options: &BufferOptions, keys: std::ops::Range<u64>) {
    let mut builder = Builder::create(path, geometry, options).unwrap();
    let keys: Vec<u64> = keys.map(scatter).collect();
    for keys in keys.chunks(1000) {
        builder.insert_batch(keys).unwrap();
    }
    builder.finish().unwrap();
}

/// What a prober says of keys, by their place.
fn probe(filter: &Filter, options: &BufferOptions, keys: impl Iterator<Item = u64>) -> Vec<bool> {
    let mut found = Vec::new();
    let mut prober = filter
        .prober(options, |tag, yes| {
            let tag = tag as usize;
            if found.len() <= tag {
                found.resize(tag + 1, None);
            }
            assert_eq!(found[tag].replace(yes), None, "answered twice");
        })
        .unwrap();
    for (tag, key) in keys.enumerate() {
        prober.submit(&key, tag as u64).unwrap();
    }
    prober.finish().unwrap();
    found
        .into_iter()
        .map(|answer| answer.expect("every probe is answered"))
        .collect()
}

fn every_geometry() -> Vec<Geometry> {
    let builder = |pages: u64, page: u64| Geometry::builder(pages * page, 4).page_bytes(page);
    let mut geometries: Vec<_> = [(1, 4096), (1, 1 << 20), (7, 8192), (300, 4096), (16, 65536)]
        .into_iter()
        .flat_map(|(pages, page)| {
            let blocked = builder(pages, page);
            let standard = blocked.clone().layout(Layout::Standard);
            let double = standard.clone().derivation(Derivation::KirschMitzenmacher);
            [blocked, standard, double]
        })
        .collect();
    for family in [
        Family::Xxh3Wide,
        Family::Murmur3,
        Family::Md5,
        Family::SipHash { key: [7; 16] },
    ] {
        geometries.push(builder(9, 8192).family(family));
    }
    for entry in 3..=8 {
        geometries.push(builder(9, 8192).entry_bytes(entry).seed(5));
    }
    geometries
        .into_iter()
        .map(|geometry| geometry.build().unwrap())
        .collect()
}

#[test]
fn inserted_keys_are_always_found_and_both_ways_of_asking_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    for geometry in every_geometry() {
        let mut pages = Vec::new();
        for (round, strategy) in STRATEGIES.into_iter().enumerate() {
            let mut options = memory(3 * geometry.page_bytes() + geometry.pages() * 900 + 4000);
            options.strategy = strategy;
            options.direct = round != 1;
            build(&path, &geometry, &options, 0..6000);
            let filter = Filter::open(&path).unwrap();
            assert_eq!(*filter.geometry(), geometry);
            let state = filter.state().unwrap();
            assert_eq!((state.phase, state.keys), (Phase::Finished, 6000));
            let asked = || {
                (0..6000)
                    .map(scatter)
                    .chain((0..2000).map(|i| scatter(ABSENT + i)))
            };
            let answers = probe(&filter, &options, asked());
            assert_eq!(answers.len(), 8000);
            assert!(
                answers[..6000].iter().all(|&yes| yes),
                "{geometry:?} {strategy:?}"
            );
            for (key, &yes) in asked().zip(&answers).skip(5500) {
                assert_eq!(filter.contains(&key).unwrap(), yes);
            }
            verify(&path).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            pages.push(bytes[bytes.len() - geometry.bytes() as usize..].to_vec());
        }
        // The bits are those of the keys, whatever the way they took.
        assert!(pages[0] == pages[1] && pages[1] == pages[2], "{geometry:?}");
    }
}

#[test]
fn rates_are_those_of_a_filter_in_memory_for_any_number_of_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let (items, queries) = (2_000_000, 3_000_000);
    for pages in [1, 16, 128, 1024] {
        for layout in [Layout::Standard, Layout::Blocked] {
            let geometry = Geometry::builder(4 << 20, 5)
                .page_bytes((4 << 20) / pages)
                .layout(layout)
                .build()
                .unwrap();
            let options = memory(16 << 20);
            build(&path, &geometry, &options, 0..items);
            let filter = Filter::open(&path).unwrap();
            let mut hits = 0;
            let mut prober = filter
                .prober(&options, |_, yes| hits += u64::from(yes))
                .unwrap();
            for key in 0..queries {
                prober.submit(&scatter(ABSENT + key), key).unwrap();
            }
            prober.finish().unwrap();
            let (bits, hashes) = (geometry.params().bits(), geometry.params().hashes());
            let theory = match layout {
                Layout::Blocked => bloomgrove::raw::math::blocked_fpr(bits, hashes, items),
                _ => bloomgrove::raw::math::standard_fpr(bits, hashes, items),
            };
            let what = format!("{pages} pages, {layout:?}");
            assert_rate(hits, queries, geometry.expected_fpr(items), &what);
            // Entries are long enough not to show.
            assert!(geometry.expected_fpr(items) / theory < 1.02, "{what}");
        }
    }
}

#[test]
fn short_entries_cost_what_the_geometry_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let (items, queries) = (1_000_000, 4_000_000);
    let geometry = Geometry::builder(8 << 20, 8)
        .page_bytes(1 << 19)
        .entry_bytes(3)
        .build()
        .unwrap();
    build(&path, &geometry, &memory(8 << 20), 0..items);
    let filter = Filter::open(&path).unwrap();
    let mut hits = 0;
    let mut prober = filter
        .prober(&memory(8 << 20), |_, yes| hits += u64::from(yes))
        .unwrap();
    for key in 0..queries {
        prober.submit(&scatter(ABSENT + key), key).unwrap();
    }
    prober.finish().unwrap();
    let expected = geometry.expected_fpr(items);
    assert!(expected > 0.003, "{expected}");
    assert_rate(hits, queries, expected, "entries of three bytes");
}

#[test]
fn keys_can_be_added_until_the_file_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = pages_of(1 << 16, 1 << 20);
    let options = memory(1 << 20);
    let state = || Filter::open(&path).unwrap().state().unwrap();
    let mut builder = Builder::create(&path, &geometry, &options).unwrap();
    assert_eq!((state().phase, state().keys), (Phase::Synced, 0));
    builder.insert("one").unwrap();
    assert_eq!((state().phase, state().keys), (Phase::Building, 0));
    builder.sync().unwrap();
    assert_eq!((state().phase, state().keys), (Phase::Synced, 1));
    builder.insert("two").unwrap();
    assert_eq!((builder.keys(), builder.synced_keys()), (2, 1));
    drop(builder);
    assert_eq!((state().phase, state().keys), (Phase::Interrupted, 1));
    let mut builder = Builder::open(&path, &options).unwrap();
    assert_eq!(builder.keys(), 1);
    builder.insert("three").unwrap();
    builder.finish().unwrap();
    assert_eq!((state().phase, state().keys), (Phase::Finished, 2));
    let filter = Filter::open(&path).unwrap();
    assert!(filter.contains("one").unwrap() && filter.contains("three").unwrap());
    let error = Builder::open(&path, &options).unwrap_err();
    assert!(matches!(error.kind(), Error::Finished), "{error}");
}

#[test]
fn probing_while_building_sees_every_synced_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = pages_of(1 << 18, 4 << 20);
    let mut builder = Builder::create(&path, &geometry, &memory(1 << 20)).unwrap();
    let (synced, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for reader in 0..3u64 {
            let (path, synced, done) = (&path, &synced, &done);
            scope.spawn(move || {
                let filter = Filter::open(path).unwrap();
                let mut rounds = 0;
                while !done.load(SeqCst) || rounds == 0 {
                    let sure = synced.load(SeqCst);
                    let keys = (0..sure).filter(|key| key % 3 == reader).map(scatter);
                    assert!(
                        probe(&filter, &memory(1 << 20), keys)
                            .iter()
                            .all(|&yes| yes)
                    );
                    for key in (0..sure).rev().take(20) {
                        assert!(filter.contains(&scatter(key)).unwrap());
                    }
                    rounds += 1;
                }
            });
        }
        for key in 0..300_000 {
            builder.insert(&scatter(key)).unwrap();
            if key % 20_000 == 19_999 {
                builder.sync().unwrap();
                synced.store(key + 1, SeqCst);
            }
        }
        done.store(true, SeqCst);
    });
    builder.finish().unwrap();
    verify(&path).unwrap();
}

#[test]
fn what_cannot_be_done_is_said_and_damages_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = pages_of(4096, 1 << 20);
    let params = |geometry: Result<Geometry, Error>| match geometry {
        Err(Error::Params { what }) => what,
        other => panic!("{other:?}"),
    };
    // A page size that does not divide, or is none.
    let bytes = 1 << 20;
    assert!(params(Geometry::builder(bytes, 6).page_bytes(12288).build()).contains("12,288"));
    assert!(params(Geometry::builder(3000, 6).page_bytes(1000).build()).contains("4,096"));
    assert!(params(Geometry::builder(0, 6).build()).contains("0 bytes"));
    assert!(params(Geometry::builder(bytes, 6).page_bytes(0).build()).contains("pages of 0"));
    assert!(params(Geometry::builder(bytes, 6).entry_bytes(2).build()).contains("3 to 8"));
    assert!(params(Geometry::builder(1 << 62, 6).page_bytes(1 << 30).build()).contains("bits"));
    let affine = Family::Affine(Affine::seeded(10_007, 6, 1).unwrap());
    let standard = Geometry::builder(bytes, 6).layout(Layout::Standard);
    assert!(params(standard.family(affine).build()).contains("affine"));

    // Too little memory: for the blocks, for the pages. The file is not even made.
    let error = Builder::create(&path, &geometry, &memory(50_000)).unwrap_err();
    let Error::Budget {
        given: 50_000,
        least,
    } = *error.kind()
    else {
        panic!("{error}");
    };
    assert!(!path.exists());
    build(&path, &geometry, &memory(least), 0..50_000);
    let before = std::fs::read(&path).unwrap();
    let filter = Filter::open(&path).unwrap();
    let error = filter.prober(&memory(least - 1), |_, _| ()).unwrap_err();
    assert!(matches!(error.kind(), Error::Budget { .. }), "{error}");
    let error = Builder::create(&path, &geometry, &memory(least - 1)).unwrap_err();
    assert!(matches!(error.kind(), Error::Budget { .. }), "{error}");

    // No disk has room for this.
    let huge = pages_of(1 << 30, 1 << 44);
    let error = Builder::create(&path, &huge, &memory(8 << 30)).unwrap_err();
    assert!(matches!(error.kind(), Error::Io { .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(std::fs::read(&path).unwrap() == before);

    // Somebody else is at it.
    let mut builder = Builder::create(&path, &geometry, &memory(1 << 20)).unwrap();
    builder.insert("key").unwrap();
    builder.sync().unwrap();
    for error in [
        Builder::open(&path, &memory(1 << 20)).unwrap_err(),
        Builder::create(&path, &geometry, &memory(1 << 20)).unwrap_err(),
    ] {
        assert!(matches!(error.kind(), Error::Busy), "{error}");
    }
    drop(builder);
    assert!(Filter::open(&path).unwrap().contains("key").unwrap());

    // A file that may only be read can be asked, and nothing else.
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).unwrap();
    assert!(Filter::open(&path).unwrap().contains("key").unwrap());
    match Builder::open(&path, &memory(1 << 20)) {
        Err(error) => assert!(matches!(error.kind(), Error::Io { .. }), "{error}"),
        // Root may write anything.
        Ok(builder) => drop(builder),
    }

    // Other files.
    let other = folder.path().join("other.grove");
    bloomgrove::Filter::new(bloomgrove::Params::for_items(10, 0.1).unwrap())
        .unwrap()
        .save(&other)
        .unwrap();
    let error = Filter::open(&other).unwrap_err();
    assert!(
        matches!(error.kind(), Error::WrongContent { .. }),
        "{error}"
    );
    let error = bloomgrove::Filter::load(&path).unwrap_err();
    assert!(
        matches!(error.kind(), Error::WrongContent { .. }),
        "{error}"
    );
}

#[test]
fn blocks_that_have_waited_too_long_are_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = pages_of(1 << 16, 1 << 20);
    build(&path, &geometry, &memory(1 << 20), 0..1000);
    let filter = Filter::open(&path).unwrap();
    let mut options = memory(1 << 20);
    options.t_max = Some(Duration::from_millis(5));
    let answered = AtomicU64::new(0);
    let mut prober = filter
        .prober(&options, |_, yes| {
            assert!(yes);
            answered.fetch_add(1, SeqCst);
        })
        .unwrap();
    assert_eq!(prober.next_deadline(), None);
    for key in 0..100 {
        prober.submit(&scatter(key), key).unwrap();
    }
    assert!(prober.next_deadline().is_some());
    let began = std::time::Instant::now();
    while answered.load(SeqCst) < 100 {
        prober.poll().unwrap();
        std::thread::sleep(Duration::from_millis(1));
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(prober.next_deadline(), None);
    assert!(prober.finish().unwrap().flushes >= 10);
}

/// Nobody closes the queue: every answer comes by itself, and from several threads.
#[test]
fn a_queue_answers_by_itself_and_says_how_long_it_took() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    let geometry = pages_of(1 << 16, 2 << 20);
    build(&path, &geometry, &memory(1 << 20), 0..50_000);
    let filter = Filter::open(&path).unwrap();
    for t_max in [1, 30] {
        let t_max = Duration::from_millis(t_max);
        let mut options = memory(1 << 20);
        options.t_max = Some(t_max);
        let mut queueing = QueueOptions::default();
        (queueing.time_every, queueing.requests) = (1, 500);
        let mut queue = filter.probe_queue(&options, &queueing).unwrap();
        let mut found = vec![None; 60_000];
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let queue = &queue;
                scope.spawn(move || {
                    let keys: Vec<u64> = (0..60_000).filter(|key| key % 3 == thread).collect();
                    for &key in &keys[1..] {
                        queue.submit(&scatter(key), key).unwrap();
                    }
                    queue.submit_batch(&[scatter(keys[0])], keys[0]).unwrap();
                });
            }
            let mut answered = 0;
            while answered < 60_000 {
                for (tag, yes) in queue.receive(Duration::from_secs(60)).unwrap() {
                    assert_eq!(found[tag as usize].replace(yes), None);
                    answered += 1;
                }
            }
        });
        assert!(found[..50_000].iter().all(|&yes| yes == Some(true)));
        let yes = found[50_000..]
            .iter()
            .filter(|&&yes| yes == Some(true))
            .count();
        assert!(yes < 200, "{yes} of 10,000 absent keys");
        assert_eq!(queue.open(), 0);
        let times = queue.latencies();
        assert_eq!(times.total.probes, 60_000);
        assert!(times.total.max >= times.block.max && times.block.p50 <= times.block.p99);
        // Once more, and not in vain: what is on its way is answered when the queue is closed.
        queue.submit(&scatter(1), 1).unwrap();
        queue.close().unwrap();
        assert_eq!(queue.receive(Duration::ZERO).unwrap(), [(1, true)]);
        assert!(queue.receive(Duration::ZERO).unwrap().is_empty());
        assert!(queue.submit(&scatter(1), 1).is_err());
    }
}

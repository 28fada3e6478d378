//! Files written by version 1, kept for ever: they must read as they did, and the
//! same values must write the same bytes.
//!
//! A file is made once, with `BLOOMGROVE_WRITE_GOLDEN=1 cargo test --test golden`,
//! and only for a name that has none yet.

use std::path::{Path, PathBuf};

use bloomgrove::format::Notes;
use bloomgrove::index::{Shelf, ShelfWriter};
use bloomgrove::{Affine, Derivation, Family, Filter, Layout, MappedFilter, Params};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn filled(params: Params) -> Filter {
    let mut filter = Filter::new(params).unwrap();
    for key in ["", "ada", "grace", "barbara"] {
        filter.insert(key);
    }
    filter.insert_batch(&(0..20u64).collect::<Vec<_>>());
    filter
}

/// Every layout, family and derivation, by the name of its file.
fn filters() -> Vec<(&'static str, Filter)> {
    let standard = |family| Params::builder(1000, 5).family(family);
    let key = *b"0123456789abcdef";
    let affine = Affine::new(&[(1, 0), (5, 4)], 10).unwrap();
    [
        ("v1-standard-xxh3.grove", standard(Family::Xxh3).seed(42)),
        ("v1-standard-xxh3-128.grove", standard(Family::Xxh3Wide)),
        (
            "v1-standard-murmur3.grove",
            standard(Family::Murmur3).seed(7),
        ),
        ("v1-standard-md5.grove", standard(Family::Md5)),
        (
            "v1-standard-siphash.grove",
            standard(Family::SipHash { key }),
        ),
        (
            "v1-kirsch-mitzenmacher.grove",
            standard(Family::Xxh3).derivation(Derivation::KirschMitzenmacher),
        ),
        (
            "v1-affine.grove",
            Params::builder(10, 2).family(Family::Affine(affine)),
        ),
        (
            "v1-blocked-8.grove",
            Params::builder(1024, 8).layout(Layout::Blocked),
        ),
        (
            "v1-blocked-11.grove",
            Params::builder(1536, 11).layout(Layout::Blocked),
        ),
        (
            "v1-blocked-5.grove",
            Params::builder(1024, 5).layout(Layout::Blocked),
        ),
        // Large enough that its bits begin on a page.
        ("v1-page.grove", Params::builder(40_000, 3)),
    ]
    .map(|(name, builder)| (name, filled(builder.build().unwrap())))
    .into()
}

fn notes() -> Notes {
    Notes::new().with("items", 24).with("keys", "text")
}

fn write_shelf(path: &Path) {
    let mut shelf = ShelfWriter::create_with(path, &notes()).unwrap();
    for (name, filter) in filters().iter().take(3) {
        shelf.add(name.as_bytes(), &[1, 2, 3], filter).unwrap();
    }
    shelf.finish().unwrap();
}

/// Compares what is written now with the golden file, or makes it when asked to.
fn compare(name: &str, write: impl Fn(&Path)) {
    let golden = golden(name);
    if std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some() && !golden.exists() {
        write(&golden);
    }
    let folder = tempfile::tempdir().unwrap();
    let now = folder.path().join(name);
    write(&now);
    let (old, new) = (std::fs::read(golden).unwrap(), std::fs::read(now).unwrap());
    assert!(old == new, "{name}: the same value writes other bytes now");
}

#[test]
fn values_write_the_golden_bytes() {
    for (name, filter) in filters() {
        compare(name, |path| filter.save_with(path, &notes()).unwrap());
    }
    compare("v1-shelf.grove", write_shelf);
}

#[test]
fn golden_bytes_read_as_the_values() {
    for (name, filter) in filters() {
        let path = golden(name);
        assert!(Filter::load(&path).unwrap() == filter, "{name}");
        assert!(MappedFilter::map(&path).unwrap() == filter, "{name}");
        assert_eq!(Notes::of_file(&path).unwrap(), notes());
        bloomgrove::verify(&path).unwrap();
    }
    let shelf = Shelf::map(golden("v1-shelf.grove")).unwrap();
    assert_eq!(shelf.entries().len(), 3);
    for (entry, (name, filter)) in shelf.entries().iter().zip(filters()) {
        assert_eq!(entry.name(), name.as_bytes());
        assert_eq!(entry.tag(), [1, 2, 3]);
        assert!(*entry.filter() == filter);
        assert!(entry.is_sound());
    }
    bloomgrove::verify(golden("v1-shelf.grove")).unwrap();
}

/// Reads a golden file at the offsets FORMAT.md states, without our reader.
#[test]
fn the_format_document_tells_the_truth() {
    let file = std::fs::read(golden("v1-blocked-8.grove")).unwrap();
    let int = |at: usize, len: usize| {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(&file[at..at + len]);
        u64::from_le_bytes(bytes)
    };
    let sum = |from: usize, to: usize| xxhash_rust::xxh3::xxh3_64(&file[from..to]);

    // Section 2: the file header.
    assert_eq!(file[0..8], *b"\x89GROVE\r\n");
    assert_eq!(int(8, 2), 1, "version");
    assert_eq!(int(10, 2), 1, "content: a filter");
    assert_eq!(int(12, 4), 0, "flags");
    assert!(file[16..56].iter().all(|&byte| byte == 0));
    assert_eq!(int(56, 8), sum(0, 56));

    // Section 3: the heads, one behind the other.
    let mut at = 64;
    let mut heads = Vec::new();
    let mut sections = Vec::new();
    loop {
        assert_eq!(file[at..at + 4], *b"SECT");
        let (kind, offset, len) = (int(at + 4, 2), int(at + 8, 8), int(at + 16, 8));
        let payload = offset as usize..(offset + len) as usize;
        assert_eq!(int(at + 6, 2), 0, "flags");
        assert_eq!(offset % 64, 0);
        assert_eq!(int(at + 24, 8), sum(payload.start, payload.end));
        assert!(file[at + 32..at + 56].iter().all(|&byte| byte == 0));
        assert_eq!(int(at + 56, 8), sum(at, at + 56));
        if kind == 0xffff {
            // Section 8: the end.
            assert_eq!(len, 16);
            assert_eq!(int(payload.start, 8), sections.len() as u64);
            let heads_sum = xxhash_rust::xxh3::xxh3_64(&heads);
            assert_eq!(int(payload.start + 8, 8), heads_sum);
            assert_eq!(file.len(), payload.end.next_multiple_of(64));
            break;
        }
        heads.extend_from_slice(&file[at + 56..at + 64]);
        at = payload.end.next_multiple_of(64);
        sections.push((kind, payload));
    }
    let payload = |kind: u64| {
        let found = sections.iter().find(|(other, _)| *other == kind);
        found.unwrap().1.clone()
    };

    // Section 4: the parameters.
    let params = payload(1).start;
    assert_eq!(payload(1).len(), 56);
    assert_eq!(int(params, 8), 1024, "bits");
    assert_eq!(int(params + 8, 4), 8, "hashes");
    assert_eq!(int(params + 12, 1), 1, "layout: blocked");
    assert_eq!(int(params + 13, 1), 0, "derivation: independent");
    assert_eq!(int(params + 14, 1), 0, "family: xxh3");
    assert_eq!(int(params + 16, 8), 0, "seed");

    // Section 5: the bits. "ada" is in, by the arithmetic of section 9.
    let bits = payload(2).start;
    assert_eq!(payload(2).len(), 1024 / 8);
    let lo = xxhash_rust::xxh3::xxh3_64(b"ada");
    let hi = lo.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let line = (u128::from(lo) * 2) >> 64;
    for lane in 0..8 {
        let place = hi >> (10 + 6 * lane) & 63;
        let word = int(bits + line as usize * 64 + lane as usize * 8, 8);
        assert_eq!(word >> place & 1, 1, "lane {lane}");
    }

    // Section 6: the notes.
    assert_eq!(file[payload(3)], *b"items=24\nkeys=text\n");
}

/// Section 9, by hand: every bit of every key in every layout and derivation.
#[test]
fn the_format_document_tells_which_bits_a_key_sets() {
    let scale = |hash: u64, n: u64| ((u128::from(hash) * u128::from(n)) >> 64) as u64;
    let golden_ratio = 0x9e37_79b9_7f4a_7c15u64;
    let remix = |mut x: u64| {
        for c in [0xff51_afd7_ed55_8ccdu64, 0xc4ce_b9fe_1a85_ec53] {
            x = (x ^ x >> 33).wrapping_mul(c);
        }
        x ^ x >> 33
    };
    let standard = |lo: u64, hi: u64| -> Vec<u64> {
        let mut x = lo;
        (0..5)
            .map(|_| {
                let position = scale(x, 1000);
                x = x.rotate_left(23).wrapping_add(hi | 1);
                position
            })
            .collect()
    };
    let double = |lo: u64, hi: u64| -> Vec<u64> {
        let step = u128::from(remix(hi));
        (0..5)
            .map(|i| ((u128::from(lo) + i * step) % 1000) as u64)
            .collect()
    };
    let blocked = |lo: u64, hi: u64| -> Vec<u64> {
        let line = scale(lo, 3);
        (0..11)
            .map(|i| {
                let lane = ((hi >> 61) + i) % 8;
                let g = if i < 8 {
                    hi
                } else {
                    (hi ^ hi >> 32).wrapping_mul(golden_ratio)
                };
                line * 512 + lane * 64 + (g >> (10 + 6 * lane)) % 64
            })
            .collect()
    };
    type Positions<'a> = &'a dyn Fn(u64, u64) -> Vec<u64>;
    let files: [(&str, u64, Positions<'_>); 3] = [
        ("v1-standard-xxh3.grove", 42, &standard),
        ("v1-kirsch-mitzenmacher.grove", 0, &double),
        ("v1-blocked-11.grove", 0, &blocked),
    ];
    let keys: Vec<Vec<u8>> = ["", "ada", "grace", "barbara"]
        .map(|key| key.as_bytes().to_vec())
        .into_iter()
        .chain((0..20u64).map(|key| key.to_le_bytes().to_vec()))
        .collect();
    for (name, seed, positions) in files {
        let mut bits = std::collections::BTreeSet::new();
        for key in &keys {
            let lo = xxhash_rust::xxh3::xxh3_64_with_seed(key, seed);
            bits.extend(positions(lo, lo.wrapping_mul(golden_ratio)));
        }
        let filter = Filter::load(golden(name)).unwrap();
        assert_eq!(
            filter.ones().collect::<Vec<_>>(),
            Vec::from_iter(bits),
            "{name}"
        );
    }
}

/// Section 7, by hand: the catalogue of a shelf.
#[test]
fn the_format_document_tells_what_is_on_a_shelf() {
    let file = std::fs::read(golden("v1-shelf.grove")).unwrap();
    let int = |at: usize, len: usize| {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(&file[at..at + len]);
        u64::from_le_bytes(bytes)
    };
    let mut payloads = std::collections::BTreeMap::new();
    let mut at = 64;
    while int(at + 4, 2) != 0xffff {
        let (offset, len) = (int(at + 8, 8) as usize, int(at + 16, 8) as usize);
        payloads.insert(int(at + 4, 2), offset);
        at = (offset + len).next_multiple_of(64);
    }
    let (bits, catalog) = (payloads[&2], payloads[&4]);
    assert_eq!(int(catalog, 8), 3, "count");
    let mut at = catalog + 8;
    for (name, filter) in filters().iter().take(3) {
        let (names, tags, params) = (int(at, 4), int(at + 4, 4), int(at + 8, 4));
        assert_eq!((names, tags, params), (name.len() as u64, 3, 56));
        assert_eq!(int(at + 12, 4), 0);
        let start = bits + int(at + 16, 8) as usize * 8;
        assert_eq!((start - bits) % 64, 0);
        let words = &file[start..start + filter.words().len() * 8];
        assert_eq!(int(at + 24, 8), xxhash_rust::xxh3::xxh3_64(words));
        for (i, word) in filter.words().iter().enumerate() {
            assert_eq!(words[i * 8..][..8], word.to_le_bytes());
        }
        let text = at + 32;
        assert_eq!(file[text..text + name.len()], *name.as_bytes());
        assert_eq!(file[text + name.len()..][..3], [1, 2, 3]);
        assert_eq!(int(text + name.len() + 3, 8), filter.params().bits());
        at = (text + name.len() + 3 + 56 - catalog).next_multiple_of(8) + catalog;
    }
}

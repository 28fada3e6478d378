//! Files written by version 1, kept for ever: they must read as they did, and the
//! same values must write the same bytes.
//!
//! A file is made once, with `BLOOMGROVE_WRITE_GOLDEN=1 cargo test --test golden`,
//! and only for a name that has none yet.

use std::path::{Path, PathBuf};

use bloomgrove::format::Notes;
use bloomgrove::index::{Index, IndexFile, Shape};
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
        (
            "v1-split-block.grove",
            Params::builder(768, 8)
                .layout(Layout::SplitBlock)
                .family(Family::Xxh64),
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

/// Indexes in every layout, by the name of their file: 70 sets, which is one block of 64 and
/// a part of another, with names, tags and a slice.
fn indexes() -> Vec<(&'static str, Index)> {
    let params = Params::builder(200, 3).seed(1).build().unwrap();
    let layouts = [
        ("v1-index-loose.grove", Shape::Loose),
        ("v1-index-flat.grove", Shape::Flat),
        ("v1-index-sliced.grove", Shape::Sliced),
        ("v1-index-sealed.grove", Shape::Sealed),
    ];
    let index = |shape| {
        let mut index = Index::new(params.clone());
        for i in 0..69u64 {
            let mut filter = Filter::new(params.clone()).unwrap();
            filter.insert_batch(&[i, i + 1000]);
            index
                .add_tagged(format!("set-{i}"), [i as u8], &filter)
                .unwrap();
        }
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert("slice");
        index.add_slice("window", 7, &filter).unwrap();
        index.rearrange(Some(shape)).unwrap();
        index.set_notes(notes());
        index
    };
    layouts.map(|(name, shape)| (name, index(shape))).into()
}

/// An index that was changed twice after it was written.
fn write_grown(path: &Path) {
    let mut index = Index::mixed();
    index.set_notes(notes());
    for (name, filter) in filters().iter().take(3) {
        index.add_tagged(name, [1, 2, 3], filter).unwrap();
    }
    let mut file = IndexFile::create(path, &index).unwrap();
    file.add("more", &filters()[3].1).unwrap();
    file.commit().unwrap();
    file.remove(filters()[0].0).unwrap();
    file.insert("more", "key").unwrap();
    file.commit().unwrap();
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
    for (name, index) in indexes() {
        compare(name, |path| index.save(path).unwrap());
    }
    compare("v1-index-grown.grove", write_grown);
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
    for (name, wanted) in indexes() {
        let path = golden(name);
        bloomgrove::verify(&path).unwrap();
        let index = Index::open(&path).unwrap();
        assert_eq!(*index.notes(), notes());
        assert_eq!(index.len(), 70);
        let shapes: Vec<Shape> = index.segments().iter().map(|info| info.shape).collect();
        assert!(
            name.contains(&shapes[0].to_string()) && shapes.len() == 1,
            "{shapes:?}"
        );
        for set in wanted.sets() {
            let read = index.get(set.name()).unwrap();
            let facts =
                |set: bloomgrove::index::Set<'_>| (set.id(), set.tag().to_vec(), set.slice());
            assert_eq!(facts(read), facts(set));
            let filter = wanted.filter(set.name()).unwrap();
            assert!(index.filter(set.name()).unwrap() == filter, "{name}");
        }
        assert_eq!(index.which("slice")[0].name(), b"window");
    }
    let path = golden("v1-index-grown.grove");
    bloomgrove::verify(&path).unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!((index.len(), index.params().count()), (3, 4));
    assert_eq!(index.which("key").len(), 1);
    assert!(index.get(filters()[0].0).is_err());
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

/// Sections 7, 10, 11 and 12, by hand: an index, found from the end of its file.
#[test]
fn the_format_document_tells_what_is_in_an_index() {
    for (name, index) in indexes() {
        let file = std::fs::read(golden(name)).unwrap();
        let int = |at: usize, len: usize| {
            let mut bytes = [0; 8];
            bytes[..len].copy_from_slice(&file[at..at + len]);
            u64::from_le_bytes(bytes)
        };
        let at = |at: usize| int(at, 8) as usize;
        let sum = |from: usize, to: usize| xxhash_rust::xxh3::xxh3_64(&file[from..to]);
        assert_eq!(int(10, 2), 2, "content: an index");

        // Section 12: the commit is the last 128 bytes.
        let commit = file.len() - 128;
        assert_eq!((int(commit + 4, 2), at(commit + 16)), (6, 32));
        let manifest_head = at(commit + 64);
        assert_eq!(at(commit + 72), 0, "number of commits before");
        assert_eq!(at(commit + 80), 3, "bits, labels, manifest");
        let mut heads = Vec::new();
        let mut head = 64;
        while head < commit {
            heads.extend_from_slice(&file[head + 56..head + 64]);
            head = (at(head + 8) + at(head + 16)).next_multiple_of(64);
        }
        assert_eq!(int(commit + 88, 8), xxhash_rust::xxh3::xxh3_64(&heads));

        // Section 11: the manifest.
        assert_eq!(int(manifest_head + 4, 2), 5);
        let manifest = at(manifest_head + 8);
        assert_eq!(
            (at(manifest), at(manifest + 8)),
            (70, 70),
            "next number, sets"
        );
        assert_eq!(int(manifest + 16, 4), 0, "not mixed");
        assert_eq!((int(manifest + 24, 4), int(manifest + 28, 4)), (1, 1));
        assert_eq!(at(manifest + 32), notes_len());
        assert_eq!(at(manifest + 40), 56, "length of the parameters");
        assert_eq!(at(manifest + 48), 200, "their bits");
        let segment = manifest + 48 + 56;
        assert_eq!((int(segment, 4), at(segment + 8)), (0, 70), "class, slots");
        let shape = int(segment + 4, 4);
        let (labels, bits) = (at(segment + 16), at(segment + 24));
        let (first, second) = (at(segment + 32), at(segment + 40));
        assert_eq!(at(segment + 48), 0, "all slots are live");
        assert_eq!(int(labels + 4, 2), 4);
        assert_eq!(int(bits + 4, 2), 2);

        // Section 10: the labels.
        let labels = at(labels + 8);
        let text = labels + 70 * 40;
        for (slot, set) in index.sets().enumerate() {
            let label = labels + slot * 40;
            assert_eq!(int(label, 8), u64::from(set.id()));
            assert_eq!(int(label + 8, 8), set.slice().unwrap_or(u64::MAX));
            let ones = index.filter(set.name()).unwrap().count_ones();
            assert_eq!(int(label + 16, 8), ones);
            let (name, tag) = (int(label + 32, 4) as usize, int(label + 36, 4) as usize);
            let at = text + at(label + 24);
            assert_eq!(file[at..at + name], *set.name());
            assert_eq!(file[at + name..at + name + tag], *set.tag());
        }

        // Section 7: the bits. Is bit `row` of the filter at `slot` set?
        let len = at(bits + 16);
        let bits = at(bits + 8);
        let word = |i: usize| int(bits + i * 8, 8);
        let lone = |row: usize, slot: usize| match shape {
            1 => word(slot * 8 + row / 64) >> (row % 64) & 1,
            // Two blocks are two words of each row.
            2 => word(row * 2 + slot / 64) >> (slot % 64) & 1,
            3 => word(slot / 64 * 200 + row) >> (slot % 64) & 1,
            4 => {
                // 32 blocks or fewer: rank and blocks of a row share a word.
                let line = word(row);
                let block = slot / 64;
                if line >> block & 1 == 0 {
                    return 0;
                }
                let before = (line & ((1 << block) - 1)).count_ones() as u64;
                let index = ((line >> 32) + before) as usize;
                let codes = 200;
                let code = word(codes + index / 4) >> (index % 4 * 16) & 0xffff;
                let full = if code >> 15 == 0 {
                    1 << (code & 63) | 1 << (code >> 6 & 63)
                } else {
                    let bases = codes + first.div_ceil(4);
                    let overflow = bases + first.div_ceil(4096);
                    word(overflow + (word(bases + index / 4096) + (code & 0x7fff)) as usize)
                };
                full >> (slot % 64) & 1
            }
            _ => panic!("unknown layout"),
        };
        for (slot, set) in index.sets().enumerate() {
            let filter = index.filter(set.name()).unwrap();
            for row in 0..200 {
                let wanted = filter.words()[row / 64] >> (row % 64) & 1;
                assert_eq!(lone(row, slot), wanted, "{name} row {row} slot {slot}");
            }
        }
        match shape {
            1 => assert_eq!(len, 70 * 64),
            2 => {
                let widest = ((1usize << 25) / 200).clamp(1, 1024);
                assert_eq!((first, second, len), (widest, 2, 200 * 2 * 8));
            }
            3 => {
                // Two blocks: two bits to a row of the summary.
                assert_eq!((first, second), (2, 0));
                let summary = 400;
                assert_eq!(len, (summary + 8) * 8);
                for row in 0..200 {
                    let said = word(summary + row / 32) >> (row % 32 * 2) & 3;
                    let held = u64::from(word(row) != 0) | u64::from(word(200 + row) != 0) << 1;
                    assert_eq!(said, held);
                }
            }
            _ => {
                let words = 200 + first.div_ceil(4) + first.div_ceil(4096) + second;
                assert_eq!(len, words * 8);
            }
        }
        assert_eq!(
            int(manifest_head + 24, 8),
            sum(manifest, manifest + at(manifest_head + 16))
        );
    }
}

fn notes_len() -> usize {
    "items=24\nkeys=text\n".len()
}

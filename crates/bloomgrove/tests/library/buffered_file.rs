//! Files of buffered filters: golden bytes, FORMAT.md by hand, and bytes from anywhere.

use std::path::{Path, PathBuf};

use bloomgrove::buffered::{BufferOptions, Builder, Filter, Geometry, Phase};
use bloomgrove::format::Notes;
use bloomgrove::{Layout, verify};
use xxhash_rust::xxh3::xxh3_64;

const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
/// Of the files made here: head, two states, pages.
const STATES: usize = 4096;
const PAGES: usize = 3 * 4096;

fn options() -> BufferOptions {
    BufferOptions {
        memory: 1 << 20,
        ..BufferOptions::default()
    }
}

fn geometry(layout: Layout) -> Geometry {
    Geometry::builder(3 * 4096, 3)
        .page_bytes(4096)
        .layout(layout)
        .seed(42)
        .build()
        .unwrap()
}

fn keys() -> Vec<Vec<u8>> {
    let texts = ["", "ada", "grace", "barbara"].map(|key| key.as_bytes().to_vec());
    let numbers = (0..20u64).map(|key| key.to_le_bytes().to_vec());
    texts.into_iter().chain(numbers).collect()
}

fn write(path: &Path, layout: Layout, finish: bool) {
    let notes = Notes::new().with("items", 24).with("keys", "text");
    let mut builder = Builder::create_with(path, &geometry(layout), &options(), &notes).unwrap();
    builder.insert_batch(&keys()).unwrap();
    match finish {
        true => drop(builder.finish().unwrap()),
        false => builder.sync().unwrap(),
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn files() -> [(&'static str, Layout, bool); 3] {
    [
        ("v1-buffered-blocked.grove", Layout::Blocked, true),
        ("v1-buffered-standard.grove", Layout::Standard, true),
        ("v1-buffered-unfinished.grove", Layout::Blocked, false),
    ]
}

#[test]
fn golden_files_go_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let now = folder.path().join("now.grove");
    for (name, layout, finish) in files() {
        let path = golden(name);
        if std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some() && !path.exists() {
            write(&path, layout, finish);
        }
        write(&now, layout, finish);
        let [old, new] = [&path, &now].map(|path| std::fs::read(path).unwrap());
        assert!(old == new, "{name}: the same value writes other bytes now");
        verify(&path).unwrap();
        let filter = Filter::open(&path).unwrap();
        assert_eq!(*filter.geometry(), geometry(layout));
        assert_eq!(filter.notes().get("items"), Some("24"));
        assert_eq!(*filter.notes(), Notes::of_file(&path).unwrap());
        let state = filter.state().unwrap();
        let phase = if finish {
            Phase::Finished
        } else {
            Phase::Synced
        };
        assert_eq!((state.phase, state.keys), (phase, 24));
        for key in keys() {
            assert!(filter.contains(&key).unwrap(), "{name}");
        }
    }
}

/// Reads a golden file at the offsets that FORMAT.md states, without our reader.
#[test]
fn the_format_document_tells_every_bit() {
    let scale = |hash: u64, n: u64| ((u128::from(hash) * u128::from(n)) >> 64) as u64;
    let remix = |mut x: u64| {
        for c in [0xff51_afd7_ed55_8ccdu64, 0xc4ce_b9fe_1a85_ec53] {
            x = (x ^ x >> 33).wrapping_mul(c);
        }
        x ^ x >> 33
    };
    for (name, layout, finish) in files() {
        let file = std::fs::read(golden(name)).unwrap();
        let int = |at: usize, len: usize| {
            let mut bytes = [0; 8];
            bytes[..len].copy_from_slice(&file[at..at + len]);
            u64::from_le_bytes(bytes)
        };
        assert_eq!(int(10, 2), 4, "content: a buffered filter");
        // The sections, and the geometry.
        let mut at = 64;
        for kind in [1, 3, 8] {
            assert_eq!(file[at..at + 4], *b"SECT");
            assert_eq!(int(at + 4, 2), kind);
            let (offset, len) = (int(at + 8, 8) as usize, int(at + 16, 8) as usize);
            if kind == 8 {
                assert_eq!(len, 32);
                assert_eq!((int(offset, 8), int(offset + 8, 8)), (3, 4096));
                assert_eq!((int(offset + 16, 4), int(offset + 20, 4)), (4, 4096));
            }
            at = (offset + len).next_multiple_of(64);
        }
        assert!(file[at..STATES].iter().all(|&byte| byte == 0));
        assert_eq!(file.len(), PAGES + 3 * 4096);

        // The states: number 1 when made, 2 when the first key came, 3 when synced.
        for (state, number) in [(STATES, 2), (STATES + 4096, 3)] {
            assert_eq!(file[state..state + 8], *b"GRVSTATE");
            assert_eq!(int(state + 8, 8), number);
            let sum = [&file[state..state + 56], &file[state + 64..state + 4096]].concat();
            assert_eq!(int(state + 56, 8), xxh3_64(&sum));
        }
        let state = STATES + 4096;
        assert_eq!((int(STATES + 16, 8), int(STATES + 24, 4)), (0, 1));
        assert_eq!(
            (int(state + 16, 8), int(state + 24, 4)),
            (24, if finish { 2 } else { 0 })
        );
        assert_eq!(int(state + 64, 8), 0b111, "all pages have been written");

        // The pages, bit by bit.
        let mut wanted = vec![0u8; 3 * 4096];
        for key in keys() {
            let lo = xxhash_rust::xxh3::xxh3_64_with_seed(&key, 42);
            let hi = lo.wrapping_mul(GOLDEN_RATIO);
            let page = scale(lo, 3) as usize;
            let lo = remix(hi >> 32);
            let hi = lo.wrapping_mul(GOLDEN_RATIO);
            let mut x = lo;
            for i in 0..3u64 {
                let position = match layout {
                    Layout::Blocked => {
                        let lane = ((hi >> 61) + i) % 8;
                        scale(lo, 63) * 512 + lane * 64 + (hi >> (10 + 6 * lane)) % 64
                    }
                    _ => {
                        let position = scale(x, 63 * 512);
                        x = x.rotate_left(23).wrapping_add(hi | 1);
                        position
                    }
                } as usize;
                wanted[page * 4096 + position / 8] |= 1 << (position % 8);
            }
        }
        for page in 0..3 {
            let sector = &mut wanted[page * 4096..][..4096];
            let number = (page as u64 + 1).wrapping_mul(GOLDEN_RATIO);
            let sum = xxh3_64(&sector[..4032]) ^ number;
            sector[4032..4040].copy_from_slice(&sum.to_le_bytes());
        }
        assert!(file[PAGES..] == wanted, "{name}");
    }
}

fn samples() -> Vec<Vec<u8>> {
    let names = files().map(|(name, ..)| golden(name));
    names.map(|path| std::fs::read(path).unwrap()).into()
}

fn use_everything(path: &Path) {
    let _ = verify(path);
    let Ok(filter) = Filter::open(path) else {
        return;
    };
    let _ = filter.state();
    let _ = (filter.contains("ada"), filter.contains("no"));
    if let Ok(mut prober) = filter.prober(&options(), |_, _| ()) {
        let _ = prober.submit("ada", 7);
        let _ = prober.finish();
    }
    if let Ok(mut builder) = Builder::open(path, &options()) {
        let _ = builder.insert("more");
        let _ = builder.finish();
    }
}

/// Makes the sums of states and pages right, so that what is behind them is reached.
fn reseal(bytes: &mut [u8]) {
    crate::support::reseal(bytes);
    for state in [STATES, STATES + 4096] {
        if let Some(state) = bytes.get_mut(state..state + 4096) {
            let sum = xxh3_64(&[&state[..56], &state[64..]].concat());
            state[56..64].copy_from_slice(&sum.to_le_bytes());
        }
    }
    for (number, sector) in (1..).zip(
        bytes
            .get_mut(PAGES..)
            .unwrap_or(&mut [])
            .chunks_exact_mut(4096),
    ) {
        let sum = xxh3_64(&sector[..4032]) ^ GOLDEN_RATIO.wrapping_mul(number);
        sector[4032..4040].copy_from_slice(&sum.to_le_bytes());
    }
}

#[test]
fn extreme_values_in_every_field_are_an_error_or_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.grove");
    let values = [0, 8, u64::from(u32::MAX), 1 << 61];
    for sample in &samples()[1..] {
        let fields = (0..640)
            .chain(STATES..STATES + 96)
            .chain(STATES + 4096..STATES + 4192);
        let fields = fields.chain(PAGES + 4000..PAGES + 4096);
        for at in fields.step_by(4) {
            for mut bytes in crate::support::extremes(sample, at, &values) {
                reseal(&mut bytes);
                std::fs::write(&path, bytes).unwrap();
                use_everything(&path);
            }
        }
    }
}

#[test]
fn any_damage_is_an_error_or_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.grove");
    let samples = samples();
    bolero::check!()
        .with_type::<(u8, bool, u16, Vec<(u16, u8)>)>()
        .with_iterations(2000)
        .for_each(|(which, sealed, cut, edits)| {
            let mut bytes = samples[usize::from(*which) % samples.len()].clone();
            for (at, value) in edits.iter().take(8) {
                let at = usize::from(*at) % bytes.len();
                bytes[at] = *value;
            }
            if which % 5 == 0 {
                bytes.truncate(usize::from(*cut) % bytes.len());
            }
            if *sealed {
                reseal(&mut bytes);
            }
            std::fs::write(&path, bytes).unwrap();
            use_everything(&path);
        });
}

#[test]
fn every_flipped_bit_of_a_finished_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.grove");
    let sample = &samples()[0];
    for at in (0..sample.len()).step_by(3) {
        let mut bytes = sample.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        match verify(&path) {
            Err(_) => {}
            // The state before the last one counts, and says that there is one that does not.
            Ok(report) => {
                let last = STATES + 4096..PAGES;
                assert!(last.contains(&at) && report.unfinished > 0, "byte {at}");
            }
        }
    }
    for len in 0..sample.len() {
        if len % 7 == 0 || len % 4096 < 3 {
            std::fs::write(&path, &sample[..len]).unwrap();
            assert!(Filter::open(&path).is_err(), "{len} bytes");
        }
    }
}

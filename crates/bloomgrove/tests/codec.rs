//! Messages: filters and deltas of every kind come back, nothing else does, and none is much
//! longer than its entropy.

mod support;

use std::path::{Path, PathBuf};

use bloomgrove::codec::{self, Kind, Model};
use bloomgrove::format::Notes;
use bloomgrove::{Error, Filter, Params};
use proptest::prelude::*;
use support::{every_kind, scatter};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MODELS: [Model; 3] = [Model::Framed, Model::Static, Model::Adaptive];

fn filled(params: &Params, keys: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert_batch(&(0..keys).map(scatter).collect::<Vec<_>>());
    filter
}

fn compressed(filter: &Filter, model: Model, notes: &Notes) -> Vec<u8> {
    let mut message = Vec::new();
    let bytes = codec::compress_with(filter, model, notes, &mut message).unwrap();
    assert_eq!(bytes, message.len() as u64);
    message
}

fn delta_of(old: &Filter, new: &Filter, model: Model) -> Vec<u8> {
    let mut message = Vec::new();
    codec::delta_with(old, new, model, &Notes::new(), &mut message).unwrap();
    message
}

fn same(filter: &Filter) -> Filter {
    filter.to_owned().unwrap()
}

/// The bytes that Shannon allows for the bits of a filter.
fn entropy(filter: &Filter) -> f64 {
    let (bits, ones) = (filter.params().bits() as f64, filter.ones().count() as f64);
    let worth = |share: f64| {
        if share > 0.0 {
            -share * share.log2()
        } else {
            0.0
        }
    };
    (worth(ones / bits) + worth(1.0 - ones / bits)) * bits / 8.0
}

#[test]
fn filters_of_every_kind_come_back() {
    let notes = Notes::new().with("keys", "integer").with("inserted", 7);
    for params in every_kind(20_000, 5) {
        for keys in [0, 1, 100, 2000, 100_000] {
            let filter = filled(&params, keys);
            for model in MODELS {
                let message = compressed(&filter, model, &notes);
                let (found, said) = codec::expand_within(&message[..], 1 << 20).unwrap();
                assert!(found == filter, "{params} {keys} {model:?}");
                assert_eq!(said, notes);
            }
        }
    }
}

#[test]
fn deltas_of_every_kind_come_back() {
    for params in every_kind(20_000, 5) {
        let (small, large) = (filled(&params, 1000), filled(&params, 1100));
        let other = filled(&params, 3000);
        // Added, taken away, nothing, nearly all.
        for (old, new) in [
            (&small, &large),
            (&large, &small),
            (&small, &small),
            (&small, &other),
        ] {
            for model in MODELS {
                let message = delta_of(old, new, model);
                let mut filter = same(old);
                codec::apply(&mut filter, &message[..]).unwrap();
                assert!(filter == *new);
            }
        }
    }
}

#[test]
fn a_delta_is_refused_by_any_other_version() {
    let params = Params::builder(20_000, 5).build().unwrap();
    let [old, new, third] = [1000, 1100, 1200].map(|keys| filled(&params, keys));
    let message = delta_of(&old, &new, Model::Framed);
    let mut filter = same(&third);
    let error = codec::apply(&mut filter, &message[..]).unwrap_err();
    assert!(matches!(error, Error::OtherVersion { .. }), "{error}");
    assert!(filter == third);
    // Twice, too.
    let mut filter = same(&old);
    codec::apply(&mut filter, &message[..]).unwrap();
    let error = codec::apply(&mut filter, &message[..]).unwrap_err();
    assert!(matches!(error, Error::OtherVersion { .. }), "{error}");
    assert!(filter == new);

    let elsewhere = filled(&Params::builder(20_000, 4).build().unwrap(), 1000);
    let mut filter = same(&elsewhere);
    let error = codec::apply(&mut filter, &message[..]).unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    let error = codec::delta(&old, &elsewhere, Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");

    let error = codec::expand(&message[..]).unwrap_err().to_string();
    assert!(error.contains("holds a delta"), "{error}");
    let whole = compressed(&old, Model::Framed, &Notes::new());
    let error = codec::apply(&mut filter, &whole[..]).unwrap_err();
    assert!(error.to_string().contains("holds a compressed filter"));
    assert_eq!(Kind::of_start(&whole), Some(Kind::Filter));
}

/// Small messages of every kind, model and kind of frame, with what they stand for.
fn samples() -> Vec<(Vec<u8>, Option<Filter>, Filter)> {
    let notes = Notes::new().with("a", 1);
    let mut samples = Vec::new();
    for (bits, keys) in [(1000, 0), (1000, 30), (2000, 60), (1000, 700), (3000, 10)] {
        let params = Params::builder(bits, 2).build().unwrap();
        let filter = filled(&params, keys);
        let more = filled(&params, keys + 20);
        for model in MODELS {
            samples.push((compressed(&filter, model, &notes), None, same(&filter)));
            samples.push((
                delta_of(&filter, &more, model),
                Some(same(&filter)),
                same(&more),
            ));
        }
    }
    samples
}

/// What a message makes of a filter, if it is a delta, or by itself.
fn receive(message: &[u8], old: Option<&Filter>) -> Result<Filter, Error> {
    let Some(old) = old else {
        return codec::expand_within(message, 1 << 20).map(|(filter, _)| filter);
    };
    let mut filter = same(old);
    let done = codec::apply(&mut filter, message);
    if done.is_err() {
        assert!(filter == *old, "a delta that failed has changed something");
    }
    done.map(|_| filter)
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    for (message, old, new) in samples() {
        assert!(message.len() < 500, "{}", message.len());
        assert!(receive(&message, old.as_ref()).unwrap() == new);
        for len in 0..message.len() {
            let error = receive(&message[..len], old.as_ref()).unwrap_err();
            assert!(matches!(error, Error::Message { .. }), "{error}");
        }
        for bit in 0..message.len() * 8 {
            let mut bytes = message.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(receive(&bytes, old.as_ref()).is_err(), "bit {bit}");
        }
        let longer = [&message[..], &message[..]].concat();
        assert!(receive(&longer, old.as_ref()).is_err());
    }
}

/// The parts of a message without their sums, found as FORMAT.md says; the last one is the end.
fn parts(message: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let start = at;
        let tag = message[at];
        at += if start == 0 { 6 } else { 1 };
        let mut numbers = Vec::new();
        for _ in 0..if start > 0 && tag == 0 { 2 } else { 1 } {
            let mut number = 0usize;
            for place in 0.. {
                number |= usize::from(message[at] & 0x7f) << (7 * place);
                at += 1;
                if message[at - 1] < 0x80 {
                    break;
                }
            }
            numbers.push(number);
        }
        if let [len] = numbers[..] {
            at += len;
        }
        parts.push(message[start..at].to_vec());
        at += 4;
    }
    parts
}

/// A message of these parts, with right sums.
fn sealed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut sum = 0;
    let mut message = Vec::new();
    for part in parts {
        sum = xxh3_64_with_seed(part, sum);
        message.extend(part);
        message.extend((sum as u32).to_le_bytes());
    }
    message
}

#[test]
fn the_sums_are_as_the_format_says() {
    for (message, ..) in samples() {
        assert_eq!(sealed(&parts(&message)), message);
    }
}

/// Damage behind right checksums: what the frames themselves say.
#[test]
fn any_bytes_behind_right_sums_are_an_error_or_an_answer() {
    let samples = samples();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>)>()
        .with_iterations(20_000)
        .for_each(|(which, edits)| {
            let (message, old, _) = &samples[usize::from(*which) % samples.len()];
            let mut parts = parts(message);
            for (at, value) in edits.iter().take(8) {
                let which = usize::from(*at) % parts.len();
                let part = &mut parts[which];
                let at = usize::from(*at) / 7 % part.len();
                part[at] = *value;
            }
            let _ = receive(&sealed(&parts), old.as_ref());
            // The old one is not asked for: it is the damage to the rest that counts.
            let _ = codec::expand_within(&sealed(&parts)[..], 1 << 20);
        });
}

#[test]
fn any_bytes_are_an_error_or_an_answer() {
    let filter = filled(&Params::builder(1000, 2).build().unwrap(), 20);
    let starts: Vec<Vec<u8>> = samples().into_iter().map(|(bytes, ..)| bytes).collect();
    bolero::check!()
        .with_type::<(u8, u8, Vec<u8>)>()
        .with_iterations(5000)
        .for_each(|(which, cut, bytes)| {
            let start = &starts[usize::from(*which) % starts.len()];
            let cut = usize::from(*cut) % start.len();
            for message in [bytes.clone(), [&start[..cut], bytes].concat()] {
                let _ = codec::expand_within(&message[..], 1 << 20);
                let _ = codec::apply(&mut same(&filter), &message[..]);
            }
        });
}

/// A head that claims bits nobody has is refused before room is made for them.
#[test]
fn claims_are_refused() {
    let message = compressed(
        &filled(&Params::builder(1000, 2).build().unwrap(), 20),
        Model::Framed,
        &Notes::new(),
    );
    let original = parts(&message);
    // Magic, version, kind, length; then the number of eights, and the bytes of `bits` there are.
    assert_eq!(original[0][7..11], [7, 0b11, 0xe8, 0x03]);
    for (power, large) in [(40, true), (47, true), (48, true), (49, false), (60, false)] {
        let mut parts = original.clone();
        let bits: [u8; 8] = (1u64 << power).to_le_bytes();
        let at = bits.iter().position(|&byte| byte != 0).unwrap();
        parts[0].splice(8..11, [1 << at, bits[at]]);
        parts[0][6] -= 1;
        let error = codec::expand(&sealed(&parts)[..]).unwrap_err();
        match large {
            true => assert!(matches!(error, Error::TooLarge { .. }), "{error}"),
            false => assert!(matches!(error, Error::Message { .. }), "{error}"),
        }
    }
    // The limit is in the error, and passing what it says will do.
    let error = codec::expand_within(&message[..], 127).unwrap_err();
    assert!(matches!(
        error,
        Error::TooLarge {
            bytes: 128,
            limit: 127
        }
    ));
    assert!(codec::expand_within(&message[..], 128).is_ok());
}

#[test]
fn sizes_are_within_half_a_percent_of_the_entropy() {
    for (bits, hashes, keys) in [
        (10_000_000, 1, 100_500u64),
        (10_000_000, 1, 1_053_000),
        (10_000_000, 2, 1_783_000),
        (10_000_000, 7, 990_000),
        (40_000_000, 1, 2_000_000),
    ] {
        let params = Params::builder(bits, hashes).build().unwrap();
        let filter = filled(&params, keys);
        for model in MODELS {
            let bytes = compressed(&filter, model, &Notes::new()).len() as f64;
            let over = bytes / entropy(&filter);
            assert!(over < 1.005, "{bits} {hashes} {keys} {model:?}: {over}");
        }
    }
}

#[test]
fn deltas_cost_the_entropy_of_what_changed() {
    let params = Params::for_items(1_000_000, 0.01).unwrap();
    let old = filled(&params, 900_000);
    for keys in [902_000, 910_000, 950_000] {
        let new = filled(&params, keys);
        let words: Vec<u64> = old
            .words()
            .iter()
            .zip(new.words())
            .map(|(a, b)| a ^ b)
            .collect();
        let changed = Filter::from_words(params.clone(), &words[..]).unwrap();
        let bytes = delta_of(&old, &new, Model::Framed).len() as f64;
        let over = bytes / entropy(&changed.to_owned().unwrap());
        assert!(over < 1.01, "{keys}: {over}");
    }
}

/// A reader that gives a byte at a time, and a writer that fails midway.
#[test]
fn slow_readers_and_failing_writers_are_fine() {
    struct Drops<'a>(&'a [u8]);
    impl std::io::Read for Drops<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let len = room.len().min(1);
            std::io::Read::read(&mut self.0, &mut room[..len])
        }
    }
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_sub(bytes.len());
            match self.0 {
                0 => Err(std::io::Error::other("full")),
                _ => Ok(bytes.len()),
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let filter = filled(&Params::builder(100_000, 2).build().unwrap(), 3000);
    let message = compressed(&filter, Model::Framed, &Notes::new());
    assert!(codec::expand(Drops(&message)).unwrap() == filter);
    let error = codec::compress(&filter, Full(message.len() / 2)).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_two_versions_meet(
        bits in 1u64..5000,
        old in prop::collection::vec(any::<u64>(), 0..200),
        new in prop::collection::vec(any::<u64>(), 0..200),
        model in 0usize..3,
    ) {
        let params = Params::builder(bits, 2).build().unwrap();
        let [old, new] = [old, new].map(|keys| {
            let mut filter = Filter::new(params.clone()).unwrap();
            filter.insert_batch(&keys);
            filter
        });
        let message = delta_of(&old, &new, MODELS[model]);
        prop_assert!(receive(&message, Some(&old)).unwrap() == new);
        let message = compressed(&new, MODELS[model], &Notes::new());
        prop_assert!(receive(&message, None).unwrap() == new);
    }
}

/// Messages written by version 1, kept for ever. Made once, with
/// `BLOOMGROVE_WRITE_GOLDEN=1 cargo test --test codec`, and only for a name that has none yet.
#[test]
fn golden_messages_stay_as_they_are() {
    let golden = |name: &str| -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name)
    };
    let notes = Notes::new().with("keys", "integer");
    let compare = |name: &str, message: &[u8]| {
        let path = golden(name);
        if std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some() && !path.exists() {
            std::fs::write(&path, message).unwrap();
        }
        let kept = std::fs::read(path).unwrap();
        assert!(kept == message, "{name}: the same value writes other bytes");
        kept
    };
    // By gaps, by gaps of zeros, by bytes, plain, all zero.
    for (frame, keys) in [
        ("gaps", 900),
        ("flipped", 80_000),
        ("bytes", 8000),
        ("plain", 13_900),
        ("zeros", 0),
    ] {
        let params = Params::builder(20_001, 1).seed(9).build().unwrap();
        let filter = filled(&params, keys);
        for model in MODELS {
            let message = compressed(&filter, model, &notes);
            let kept = compare(&format!("v1-filter-{frame}-{}.msg", model.name()), &message);
            let (found, said) = codec::expand_within(&kept[..], 1 << 20).unwrap();
            assert!(found == filter);
            assert_eq!(said, notes);
        }
    }
    let params = Params::for_items(2000, 0.01).unwrap();
    let (old, new) = (filled(&params, 1000), filled(&params, 1050));
    let kept = compare("v1-delta.msg", &delta_of(&old, &new, Model::Framed));
    let mut filter = same(&old);
    codec::apply(&mut filter, &kept[..]).unwrap();
    assert!(filter == new);
}

/// What FORMAT.md section 15 says of plain numbers, densities, tables, gaps, bytes and the arithmetic
/// code, written down a second time from there, without the reader and as simply as can be.
mod by_the_format {
    pub(super) struct Table(Vec<u64>);

    impl Table {
        fn of_weights(weights: &[u64]) -> Self {
            let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
            let parts = (1u128 << 20) - weights.len() as u128;
            let mut table: Vec<u64> = weights
                .iter()
                .map(|&weight| 1 + (u128::from(weight) * parts / sum) as u64)
                .collect();
            let heaviest = weights.iter().max().unwrap();
            let at = weights.iter().position(|w| w == heaviest).unwrap();
            table[at] += (1 << 20) - table.iter().sum::<u64>();
            Table(table)
        }

        pub(super) fn of_bytes(chance: u64) -> Self {
            let weight = |byte: u32| {
                let mut weight = 1u128 << 62;
                for bit in 0..8 {
                    let set = bit < byte.count_ones();
                    let chance = if set { chance } else { (1 << 32) - chance };
                    weight = (weight * u128::from(chance)) >> 32;
                }
                weight.max(1) as u64
            };
            Table::of_weights(&(0..256).map(weight).collect::<Vec<_>>())
        }

        pub(super) fn of_gaps(chance: u64) -> (u32, Self) {
            let low = (0..40).rev().find(|&low| chance << low <= 1 << 29);
            let low = low.unwrap_or(0);
            let mut empty = u128::from((1 << 32) - chance) << 31;
            (0..low).for_each(|_| empty = (empty * empty) >> 63);
            let mut beyond = 1u128 << 63;
            let mut weights = Vec::new();
            for _ in 0..255 {
                let further = (beyond * empty) >> 63;
                weights.push((beyond - further).max(1) as u64);
                beyond = further;
            }
            weights.push(beyond.max(1) as u64);
            (low, Table::of_weights(&weights))
        }
    }

    pub(super) fn chance(step: u64) -> u64 {
        (32 + step % 32) << (step / 32)
    }

    pub(super) fn number(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return value;
            }
        }
        unreachable!()
    }

    /// The decoder that the description of the encoder implies.
    pub(super) struct Code<'a> {
        bytes: &'a [u8],
        range: u64,
        /// The code, less L.
        above: u64,
    }

    impl<'a> Code<'a> {
        pub(super) fn new(bytes: &'a [u8]) -> Self {
            let mut code = Code {
                bytes,
                range: u64::MAX,
                above: 0,
            };
            code.above = code.four() << 32 | code.four();
            code
        }

        fn four(&mut self) -> u64 {
            let Some((four, rest)) = self.bytes.split_first_chunk::<4>() else {
                return 0;
            };
            self.bytes = rest;
            u32::from_le_bytes(*four).into()
        }

        pub(super) fn symbol(&mut self, table: &Table) -> u64 {
            let scale = self.range >> 20;
            let (mut start, mut symbol) = (0, 0);
            while self.above >= scale * (start + table.0[symbol]) {
                start += table.0[symbol];
                symbol += 1;
            }
            self.above -= scale * start;
            self.range = scale * table.0[symbol];
            if self.range < 1 << 32 {
                self.range <<= 32;
                self.above = self.above << 32 | self.four();
            }
            symbol as u64
        }
    }
}

/// The golden messages, read by the second reader.
#[test]
fn the_format_is_enough_to_read_a_message() {
    use by_the_format::{Code, Table, chance, number};
    for (frame, keys) in [("gaps", 900), ("flipped", 80_000), ("bytes", 8000)] {
        for model in ["framed", "static"] {
            let name = format!("tests/golden/v1-filter-{frame}-{model}.msg");
            let message = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
            let parts = parts(&message);
            let [head, notes, bits, _] = &parts[..] else {
                panic!("{} parts", parts.len());
            };
            assert_eq!(head[..6], [0x89, 0x47, 0x0d, 0x0a, 1, 1]);
            assert_eq!((notes[0], &notes[2..]), (1, &b"keys=integer\n"[..]));

            let mut head = &head[6..];
            assert_eq!(number(&mut head) as usize, head.len());
            let mut params = Vec::new();
            let (eights, mut head) = head.split_first().unwrap();
            for _ in 0..*eights {
                let there = head[0];
                head = &head[1..];
                for bit in 0..8 {
                    params.push(0);
                    if there >> bit & 1 == 1 {
                        *params.last_mut().unwrap() = head[0];
                        head = &head[1..];
                    }
                }
            }
            assert_eq!(u64::from_le_bytes(params[..8].try_into().unwrap()), 20_001);
            assert_eq!(head[0] & 7, u8::from(model == "static"));
            assert!((20..=26).contains(&head[1]));
            let mut plan = &head[2..];

            let mut coded = &bits[1..];
            assert_eq!((bits[0], number(&mut coded) as usize), (2, coded.len()));
            let kind = coded[0];
            coded = &coded[1..];
            let step = match model {
                "framed" => number(&mut coded),
                _ => number(&mut plan),
            };
            let mut words = vec![0u64; 20_001usize.div_ceil(64)];
            if kind & 7 == 3 {
                let table = Table::of_bytes(chance(step));
                let mut code = Code::new(coded);
                for byte in 0..20_001usize.div_ceil(8) {
                    words[byte / 8] |= code.symbol(&table) << (byte % 8 * 8);
                }
            } else {
                let (low_bits, table) = Table::of_gaps(chance(step));
                let len = number(&mut coded) as usize;
                let (high, low) = coded.split_at(len);
                let mut code = Code::new(high);
                let mut read = 0;
                let mut take = |count: u32| {
                    (0..count).fold(0, |value, bit| {
                        let place = read;
                        read += 1;
                        value | u64::from(low[place / 8] >> (place % 8) & 1) << bit
                    })
                };
                let mut at = 0;
                loop {
                    let mut gap = code.symbol(&table);
                    if gap == 255 {
                        gap += take(32);
                    }
                    at += (gap << low_bits) | take(low_bits);
                    if at == 20_001 {
                        break;
                    }
                    words[(at / 64) as usize] |= 1 << (at % 64);
                    at += 1;
                }
            }
            if kind & 8 != 0 {
                (0..20_001).for_each(|bit| words[bit / 64] ^= 1 << (bit % 64));
            }
            let params = Params::builder(20_001, 1).seed(9).build().unwrap();
            assert!(words == filled(&params, keys).words(), "{frame} {model}");
        }
    }
}

//! Messages: filters and deltas of every kind come back, nothing else does, and none is much
//! longer than its entropy.

use std::path::{Path, PathBuf};

use crate::support::{every_kind, filled, parts, sealed};
use bloomgrove::codec;
use bloomgrove::format::Notes;
use bloomgrove::raw::codec::{Kind, Model, compress_with, delta_with};
use bloomgrove::{Error, Filter, Params};
use proptest::prelude::*;

const MODELS: [Model; 3] = [Model::Framed, Model::Static, Model::Adaptive];

fn compressed(filter: &Filter, model: Model, notes: &Notes) -> Vec<u8> {
    let mut message = Vec::new();
    let bytes = compress_with(filter, model, notes, &mut message).unwrap();
    assert_eq!(bytes, message.len() as u64);
    message
}

fn delta_of(old: &Filter, new: &Filter, model: Model) -> Vec<u8> {
    let mut message = Vec::new();
    delta_with(old, new, model, &Notes::new(), &mut message).unwrap();
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
    assert!(error.contains("contains a delta"), "{error}");
    let whole = compressed(&old, Model::Framed, &Notes::new());
    let error = codec::apply(&mut filter, &whole[..]).unwrap_err();
    assert!(error.to_string().contains("contains a compressed filter"));
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

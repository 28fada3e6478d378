//! Bits in frames: round trips of every density, length and model; sizes compared with the
//! entropy.

use proptest::prelude::*;

use super::bits::{BitDecoder, BitEncoder, Framing, Model, entropy};
use crate::Error;

const MODELS: [Model; 3] = [Model::Framed, Model::Static, Model::Adaptive];

/// Returns `bits` bits, each set with probability `p`; the same seed gives the same bits.
fn random_bits(bits: u64, p: f64, seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut words = vec![0; bits.div_ceil(64) as usize];
    for at in 0..bits {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let coin = crate::hash::mix(state) >> 11;
        if (coin as f64) < p * (1u64 << 53) as f64 {
            words[(at / 64) as usize] |= 1 << (at % 64);
        }
    }
    words
}

fn encode(framing: &Framing, words: &[u64]) -> Vec<Vec<u8>> {
    let mut encoder = BitEncoder::new(framing.clone());
    let frames = words.chunks(framing.frame_words()).map(|frame| {
        let mut coded = Vec::new();
        encoder.frame(frame, &mut coded);
        coded
    });
    frames.collect()
}

fn decode(framing: &Framing, frames: &[Vec<u8>], words: usize) -> Result<Vec<u64>, Error> {
    let mut decoder = BitDecoder::new(framing.clone());
    let mut found = vec![0; words];
    for (coded, frame) in frames.iter().zip(found.chunks_mut(framing.frame_words())) {
        decoder.frame(coded, frame)?;
    }
    Ok(found)
}

/// Encodes and decodes; returns the number of bytes.
fn there_and_back(model: Model, bits: u64, words: &[u64]) -> usize {
    let framing = Framing::new(model, bits, crate::bits::count(words));
    let mut spelled = Vec::new();
    framing.write(&mut spelled);
    assert_eq!(Framing::read(&mut &spelled[..], bits).unwrap(), framing);
    let frames = encode(&framing, words);
    assert_eq!(frames.len() as u64, framing.frames());
    let found = decode(&framing, &frames, words.len()).unwrap();
    assert!(found == words, "{model:?}, {bits} bits");
    spelled.len() + frames.iter().map(Vec::len).sum::<usize>()
}

#[test]
fn every_length_and_density_comes_back() {
    for bits in [0, 1, 2, 7, 8, 9, 63, 64, 65, 1000, (1 << 20) + 77] {
        for p in [0.0, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 1.0] {
            for model in MODELS {
                there_and_back(model, bits, &random_bits(bits, p, bits ^ p.to_bits()));
            }
        }
    }
}

/// Densities that change from frame to frame and within one: every kind of frame in one stream,
/// including frames where the model is wrong.
#[test]
fn changing_densities_come_back() {
    let densities = [0.5, 0.0, 0.001, 1.0, 0.2, 0.999, 0.03, 0.5, 0.9];
    let part = (1 << 20) + (1 << 18);
    let words: Vec<u64> = densities
        .iter()
        .enumerate()
        .flat_map(|(i, &p)| random_bits(part, p, i as u64))
        .collect();
    let bits = words.len() as u64 * 64;
    let [framed, one, adaptive] = MODELS.map(|model| there_and_back(model, bits, &words));
    assert!(
        framed < one && adaptive < framed,
        "{framed} {one} {adaptive}"
    );
}

#[test]
fn sizes_are_close_to_the_entropy() {
    for (p, bits, most) in [
        (0.01, 10_000_000, 1.005),
        (0.05, 10_000_000, 1.005),
        (0.1, 10_000_000, 1.005),
        (0.3, 10_000_000, 1.005),
        (0.5, 10_000_000, 1.005),
        (0.7, 10_000_000, 1.005),
        (0.99, 10_000_000, 1.005),
        (0.001, 20_000_000, 1.01),
        (0.0001, 100_000_000, 1.01),
    ] {
        let words = random_bits(bits, p, 9);
        let ones = crate::bits::count(&words);
        let least = entropy(ones, bits) * bits as f64 / 8.0;
        for model in MODELS {
            let share = there_and_back(model, bits, &words) as f64 / least;
            println!("{p} {model:?} {share:.5}");
            assert!(share < most, "{p} {model:?}: {share}");
        }
    }
}

proptest! {
    #[test]
    fn any_bits_come_back(
        words in prop::collection::vec(any::<u64>(), 0..200),
        thin in 0u32..6,
        flip: bool,
        cut in 0u64..64,
    ) {
        let mut words = words;
        for word in &mut words {
            for step in 0..thin {
                *word &= word.rotate_left(7 * step + 11);
            }
            if flip {
                *word = !*word;
            }
        }
        let mut bits = words.len() as u64 * 64;
        if let Some(last) = words.last_mut() {
            *last &= u64::MAX >> cut;
            bits -= cut;
        }
        for model in MODELS {
            there_and_back(model, bits, &words);
        }
    }

    #[test]
    fn any_frame_is_bits_or_an_error(
        head in prop::collection::vec(any::<u8>(), 2..6),
        kind in 0u8..16,
        coded in prop::collection::vec(any::<u8>(), 0..300),
        bits in 1u64..5000,
    ) {
        let framings = [
            Framing::read(&mut &head[..], bits).ok(),
            Some(Framing::new(Model::Framed, bits, bits / 3)),
            Some(Framing::new(Model::Static, bits, bits / 30)),
            Some(Framing::new(Model::Adaptive, bits, bits / 3)),
        ];
        let coded = [&[kind], &coded[..]].concat();
        for framing in framings.into_iter().flatten() {
            let words = bits.div_ceil(64) as usize;
            if let Ok(found) = decode(&framing, std::slice::from_ref(&coded), words) {
                let beyond = found[words - 1].checked_shr((bits % 64) as u32);
                prop_assert!(bits.is_multiple_of(64) || beyond == Some(0));
            }
        }
    }
}

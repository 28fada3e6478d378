//! One body, run against every backend and compared with loops over single bits.

use super::*;
use crate::hash::{Digest, Start};

fn random_words(seed: u64, len: usize, density: u32) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(crate::hash::GOLDEN);
        crate::hash::mix(state)
    };
    (0..len)
        .map(|_| (0..density).fold(u64::MAX, |word, _| word & next()))
        .collect()
}

fn bit(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 == 1
}

fn naive_count(a: &[u64], b: &[u64], op: impl Fn(bool, bool) -> bool) -> u64 {
    (0..a.len() * 64)
        .filter(|&i| op(bit(a, i), bit(b, i)))
        .count() as u64
}

fn check_backend(backend: Backend) {
    for (case, len) in [0, 1, 3, 4, 7, 8, 9, 31, 64, 257].into_iter().enumerate() {
        let a = random_words(case as u64, len, 1);
        let b = random_words(case as u64 + 100, len, 2);

        type Op = (fn(u64, u64) -> u64, fn(bool, bool) -> bool);
        let ops: [Op; 4] = [
            (|x, y| x & y, |x, y| x & y),
            (|x, y| x & !y, |x, y| x & !y),
            (|x, y| x | y, |x, y| x | y),
            (|x, y| x ^ y, |x, y| x ^ y),
        ];
        for (on_words, on_bits) in ops {
            assert_eq!(
                backend.count(&a, &b, on_words),
                naive_count(&a, &b, on_bits)
            );
            let mut changed = a.clone();
            backend.assign(&mut changed, &b, on_words);
            for i in 0..len * 64 {
                assert_eq!(bit(&changed, i), on_bits(bit(&a, i), bit(&b, i)));
            }
        }
    }
    for hashes in 1..=16 {
        let lines = 5;
        let hash = random_words(u64::from(hashes), 200, 1);
        let slots: Vec<Slot> = hash
            .iter()
            .map(|&hash| Slot {
                line: hash % lines,
                hash,
            })
            .collect();
        let (inside, outside) = slots.split_at(40);
        let mut words = vec![0; lines as usize * LINE_WORDS];
        backend.insert_lines(&mut words, hashes, inside, |&slot| slot);

        let mut naive = vec![0; words.len()];
        for slot in inside {
            for i in 0..hashes {
                set(
                    &mut naive,
                    slot.line * LINE_BITS + Pattern::position(slot.hash, i),
                );
            }
        }
        assert_eq!(words, naive, "{hashes} hashes");

        for slots in [inside, outside] {
            let mut found = vec![false; slots.len()];
            backend.contains_lines(&words, hashes, slots, |&slot| slot, &mut found);
            for (slot, found) in slots.iter().zip(found) {
                let line = slot.line * LINE_BITS;
                let expected =
                    (0..hashes).all(|i| get(&words, line + Pattern::position(slot.hash, i)));
                assert_eq!(found, expected);
            }
        }
    }
}

/// A walk from a simple generator, whose positions a test can list independently.
#[derive(Clone, Copy)]
struct Steps(u64);

impl Walk for Steps {
    fn next(&mut self, bits: u64) -> u64 {
        self.0 = crate::hash::remix(self.0.wrapping_add(1));
        self.0 % bits
    }
}

/// Filters on either side of `is_far` and of `is_close`, any number of hashes, present and absent keys.
fn check_walks(backend: Backend) {
    let sizes = [64, 1000, 40_000, 8 << 20, (32 << 20) + 64];
    let hashes = [1, 2, 3, 4, 7, 8, 9, 11, 12, 20, 64];
    for (bits, hashes) in sizes.into_iter().flat_map(|b| hashes.map(|h| (b, h))) {
        let size = Size { bits, hashes };
        let naive = |words: &[u64], key: u64| {
            let mut walk = Steps(key);
            (0..hashes).all(|_| get(words, walk.next(bits)))
        };
        for count in [0u64, 1, 31, 32, 33, 64, 200] {
            let keys: Vec<u64> = (0..count).map(|i| i << 32 | bits).collect();
            let mut words = vec![0; bits.div_ceil(64) as usize];
            backend.insert_walks(&mut words, size, &keys, |&key| Steps(key));
            let mut expected = vec![0; words.len()];
            for &key in &keys {
                let mut walk = Steps(key);
                (0..hashes).for_each(|_| _ = set(&mut expected, walk.next(bits)));
            }
            assert!(
                words == expected,
                "{bits} bits, {hashes} hashes, {count} keys"
            );

            // Present keys, absent keys, and a mix of both.
            let absent: Vec<u64> = (0..count).map(|i| i << 32 | 7).collect();
            let mixed: Vec<u64> = keys
                .iter()
                .zip(&absent)
                .flat_map(|(&a, &b)| [a, b])
                .collect();
            for keys in [&keys, &absent, &mixed] {
                let mut found = vec![true; keys.len()];
                backend.contains_walks(&words, size, keys, |&key| Steps(key), &mut found);
                for (&key, found) in keys.iter().zip(found) {
                    assert_eq!(found, naive(&words, key), "{bits} bits, {hashes} hashes");
                }
            }
        }
    }
}

/// How a block of keys is tested depends on how many keys of the one before are present.
#[test]
fn long_batches_find_keys_wherever_they_are_among_absent_ones() {
    let steps = |&key: &u64| Steps(key);
    for hashes in [1, 6, 8, 9] {
        let bits = 1_000_003;
        let size = Size { bits, hashes };
        let present: Vec<u64> = (0..10_000).map(crate::hash::remix).collect();
        let absent: Vec<u64> = (10_000..20_000).map(crate::hash::remix).collect();
        let mut words = vec![0; bits.div_ceil(64) as usize];
        Backend::Scalar.insert_walks(&mut words, size, &present, steps);
        let mut keys = [&present[..], &absent, &present].concat();
        for (i, &key) in absent.iter().enumerate().step_by(19) {
            keys[i] = key;
        }
        for backend in Backend::all() {
            let mut found = vec![false; keys.len()];
            backend.contains_walks(&words, size, &keys, steps, &mut found);
            for (&key, found) in keys.iter().zip(found) {
                let mut walk = Steps(key);
                let expected = (0..hashes).all(|_| get(&words, walk.next(bits)));
                assert_eq!(found, expected, "{hashes} hashes");
            }
        }
    }
}

#[test]
fn a_single_key_sets_and_finds_the_bits_of_its_walk() {
    let Some(fast) = Fast::new() else { return };
    for bits in [1, 63, 64, 65, 1000, 40_000] {
        for hashes in [1, 5, 6, 7, 8, 20, 64] {
            let size = Size { bits, hashes };
            let mut words = vec![0; bits.div_ceil(64) as usize];
            let mut expected = words.clone();
            for hash in (0..40).map(crate::hash::remix) {
                let mut walk = Independent::start(Digest::of_hash(hash), bits);
                let positions: Vec<u64> = (0..hashes).map(|_| walk.next(bits)).collect();
                assert!(positions.iter().all(|&position| position < bits));

                let found = contains_walk(fast, &words, size, hash);
                assert_eq!(found, positions.iter().all(|&p| get(&expected, p)));
                let mut fresh = false;
                positions
                    .iter()
                    .for_each(|&p| fresh |= set(&mut expected, p));
                assert_eq!(insert_walk(fast, &mut words, size, hash), fresh);
                assert!(words == expected, "{bits} bits, {hashes} hashes");
            }
        }
    }
}

#[test]
fn a_single_key_sets_and_finds_its_pattern() {
    let Some(fast) = Fast::new() else { return };
    for lines in [1, 3, 40] {
        for hashes in 1..=16 {
            let bits = lines * LINE_BITS;
            let size = Size { bits, hashes };
            let mut words = vec![0; bits as usize / 64];
            let mut expected = words.clone();
            for hash in (0..100).map(crate::hash::remix) {
                let slot = crate::hash::slot(Digest::of_hash(hash), lines);
                let pattern = Pattern::new(slot.hash, hashes);
                let line = &mut expected.as_chunks_mut().0[slot.line as usize];
                let found = contains_line(fast, &words, size, hash);
                assert_eq!(found, pattern.is_in(line));
                let fresh = insert_line(fast, &mut words, size, hash);
                assert_eq!(fresh, pattern.add_to(line));
                assert!(words == expected, "{lines} lines, {hashes} hashes");
            }
        }
    }
}

#[test]
fn a_single_key_never_leaves_the_words() {
    let Some(fast) = Fast::new() else { return };
    let panics = |task: &dyn Fn() -> bool| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(task)).is_err()
    };
    for (len, bits) in [(0, 0), (1, 0), (0, 1), (1, 65), (7, 512)] {
        let (words, size) = (vec![0; len], Size { bits, hashes: 6 });
        assert!(panics(&|| contains_walk(fast, &words, size, 7)));
        assert!(panics(&|| insert_walk(fast, &mut words.clone(), size, 7)));
        assert!(panics(&|| contains_line(fast, &words, size, 7)));
        assert!(panics(&|| insert_line(fast, &mut words.clone(), size, 7)));
    }
}

/// Parts of all sizes, the last one partial, and keys that cluster in one of them.
#[test]
fn parts_set_the_bits_that_walks_set() {
    let spread: Vec<u64> = (0..3000).map(|i| i << 32 | 5).collect();
    let crowded = vec![17; 3000];
    for (bits, shift) in [(1000, 6), (40_000, 8), (100_003, 12), (100_003, 20)] {
        let size = Size { bits, hashes: 3 };
        for (keys, at_a_time) in [(&spread, 3000), (&spread, 700), (&crowded, 1000)] {
            let mut expected = vec![0; bits.div_ceil(64) as usize];
            for &key in keys {
                let mut walk = Steps(key);
                (0..3).for_each(|_| _ = set(&mut expected, walk.next(bits)));
            }
            for backend in Backend::all() {
                let mut words = vec![0; expected.len()];
                let parts = parts::Parts::new(size, shift, at_a_time).unwrap();
                backend.insert_by_parts(&mut words, size, keys, |&key| Steps(key), parts);
                assert!(words == expected, "{bits} bits, parts of 2^{shift}");
            }
        }
    }
}

#[test]
fn parts_are_for_many_keys_and_large_filters() {
    let size = |megabytes: u64| Size {
        bits: megabytes << 23,
        hashes: 3,
    };
    assert!(parts::Parts::that_pay(size(64), 2_000_000).is_some());
    assert!(parts::Parts::that_pay(size(64), 1_000_000).is_none());
    assert!(parts::Parts::that_pay(size(16), 2_000_000).is_none());
    assert!(parts::Parts::that_pay(size(512), 50_000_000).is_none());
}

#[test]
fn every_backend_agrees_with_single_bits() {
    for backend in Backend::all() {
        check_backend(backend);
        check_walks(backend);
    }
}

#[test]
fn the_public_functions_do_what_they_are_called() {
    let (a, b) = ([0b1100, 1], [0b1010, 1]);
    assert_eq!((count(&a), and_count(&a, &b)), (3, 2));
    assert_eq!((or_count(&a, &b), hamming(&a, &b)), (4, 2));
    let change = |assign: fn(&mut [u64], &[u64])| {
        let mut changed = a;
        assign(&mut changed, &b);
        changed
    };
    assert_eq!(change(and_assign), [0b1000, 1]);
    assert_eq!(change(or_assign), [0b1110, 1]);
    assert_eq!(change(xor_assign), [0b0110, 0]);
    assert_eq!(change(and_not_assign), [0b0100, 0]);
}

#[test]
fn ones_lists_exactly_the_set_bits() {
    let words = random_words(7, 20, 3);
    let expected: Vec<u64> = (0..1280).filter(|&i| get(&words, i)).collect();
    assert_eq!(ones(&words).collect::<Vec<_>>(), expected);
    assert_eq!(ones(&[]).count(), 0);
}

#[test]
fn a_pattern_sets_distinct_lanes_up_to_eight_hashes() {
    for hash in random_words(3, 1000, 1) {
        for hashes in 1..=8 {
            let bits: u32 = Pattern::new(hash, hashes)
                .lanes()
                .iter()
                .map(|word| word.count_ones())
                .sum();
            assert_eq!(bits, hashes);
        }
    }
}

#[test]
fn words_are_zero_and_aligned_small_and_large() {
    for len in [0, 1, 9, 1 << 18, (1 << 18) + 1] {
        let words = Words::zeroed(len).unwrap();
        assert_eq!(words.as_ref().len(), len);
        assert_eq!(words.as_ref().as_ptr() as usize % 64, 0);
        assert!(words.as_ref().iter().all(|&word| word == 0));
    }
}

#[test]
fn more_words_than_any_machine_has_is_an_error() {
    for len in [usize::MAX, usize::MAX / 8, 1 << 57] {
        assert!(matches!(
            Words::zeroed(len),
            Err(crate::Error::OutOfMemory { .. })
        ));
    }
}

/// The words that `common` calls back with, after checking their order.
fn common_columns(
    backend: Backend,
    words: &[u64],
    width: usize,
    rows: Rows<'_, impl Later>,
    masks: &[u64],
) -> Vec<u64> {
    let mut found = vec![0; width];
    let mut last = None;
    let read = backend.common(words, width, rows, masks, |at, bits| {
        assert!(last.is_none_or(|last| last < at), "in order, each once");
        assert_ne!(bits, 0);
        (found[at], last) = (bits, Some(at));
        true
    });
    assert!(read <= words.len() as u64);
    found
}

#[test]
fn common_columns_are_those_that_every_row_has() {
    for backend in Backend::all() {
        for width in [1, 2, 7, 8, 9, 16, 25, 64, 65, 130] {
            // Three rows of ones and a few sparse ones, so that chunks end early.
            let words: Vec<u64> = (0..10)
                .flat_map(|row| random_words(row, width, 1 + row as u32 % 4))
                .collect();
            let masks = random_words(77, width, 0);
            for rows in [
                &[3u64][..],
                &[0, 4],
                &[1, 1, 5],
                &[0, 1, 2, 4, 5, 6, 8, 9],
                &[],
            ] {
                // What is prefetched makes no difference.
                let found = common_columns(backend, &words, width, Rows::alone(rows), &masks);
                for later in [&[7, 2][..], &[]] {
                    let rows = Rows::before(rows, later);
                    let same = common_columns(backend, &words, width, rows, &masks);
                    assert_eq!(same, found);
                }
                for i in 0..width * 64 {
                    let all = |row: &u64| bit(&words[*row as usize * width..], i);
                    let wanted = bit(&masks, i) && rows.iter().all(all);
                    assert_eq!(bit(&found, i), wanted, "width {width}, column {i}");
                }
                // And it stops when told to.
                let mut calls = 0;
                backend.common(&words, width, Rows::alone(rows), &masks[..], |_, _| {
                    calls += 1;
                    false
                });
                assert!(calls <= 1);
            }
        }
    }
}

#[test]
fn weaving_and_back_is_what_single_bits_say() {
    for rows in [1usize, 63, 64, 65, 200, 1000] {
        for count in [0, 1, 5, 63, 64] {
            let arrays: Vec<Vec<u64>> = (0..count)
                .map(|i| {
                    let mut words = random_words(i as u64, rows.div_ceil(64), 1);
                    if rows % 64 != 0 {
                        words[rows / 64] &= (1 << (rows % 64)) - 1;
                    }
                    words
                })
                .collect();
            let refs: Vec<&[u64]> = arrays.iter().map(Vec::as_slice).collect();
            for (width, column) in [(1, 0), (3, 1)] {
                let mut matrix = vec![!0; rows * width];
                weave(&refs, &mut matrix, width, column);
                for row in 0..rows {
                    let word = matrix[row * width + column];
                    for place in 0..64 {
                        let wanted = arrays.get(place).is_some_and(|array| bit(array, row));
                        assert_eq!(word >> place & 1 == 1, wanted);
                    }
                    if width == 3 {
                        assert_eq!(matrix[row * width], !0, "other columns stay");
                    }
                }
                let mut back = vec![vec![7; rows.div_ceil(64)]; 64];
                let mut refs: Vec<&mut [u64]> = back.iter_mut().map(Vec::as_mut_slice).collect();
                unweave(&matrix, width, column, &mut refs);
                assert_eq!(back[..count], arrays[..]);
                assert!(back[count..].iter().flatten().all(|&word| word == 0));
            }
        }
    }
}

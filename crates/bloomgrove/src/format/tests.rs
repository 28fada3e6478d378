//! Damage to each header field in turn, with the checksum as it was and with a corrected one, and
//! the error that results.

use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, Filter, MappedFilter, Params, verify};

fn sample() -> (tempfile::TempDir, std::path::PathBuf, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.grove");
    let mut filter = Filter::new(Params::for_items(100, 0.01).unwrap()).unwrap();
    filter.insert_batch(&(0..100u64).collect::<Vec<_>>());
    filter.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (folder, path, bytes)
}

/// Returns the error from opening and verifying the changed bytes.
fn error_of(path: &std::path::Path, bytes: &[u8]) -> Error {
    std::fs::write(path, bytes).unwrap();
    match MappedFilter::map(path) {
        Err(error) => error,
        Ok(_) => verify(path).expect_err("the damage must be detected"),
    }
}

/// Corrects the checksum of the 64 bytes at `start`.
fn reseal(bytes: &mut [u8], start: usize) {
    let sum = xxh3_64(&bytes[start..start + 56]);
    bytes[start + 56..start + 64].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn every_header_field_is_checked() {
    let (_folder, path, good) = sample();
    // Offset, length, expected error, and expected error once the checksum is corrected.
    let fields = [
        (0, 8, "not a .grove file", "not a .grove file"),
        (8, 2, "format version", "format version"),
        (10, 2, "checksum", "unknown content"),
        (12, 4, "checksum", "reserved"),
        (16, 40, "checksum", "reserved"),
        (56, 8, "checksum", ""),
        (64, 4, "no section starts", "no section starts"),
        (64 + 4, 2, "checksum", "unknown kind"),
        (64 + 6, 2, "checksum", "reserved"),
        (64 + 8, 8, "checksum", "invalid offset"),
        (64 + 16, 8, "checksum", "the file ends before that"),
        (64 + 24, 8, "checksum", "does not match"),
        (64 + 32, 24, "checksum", "reserved"),
        (64 + 56, 8, "checksum", ""),
    ];
    for (offset, len, plain, resealed) in fields {
        let mut bad = good.clone();
        bad[offset..offset + len].fill(0xee);
        let message = error_of(&path, &bad).to_string();
        assert!(message.contains(plain), "at {offset}: {message}");
        assert!(message.contains("sample.grove"), "{message}");
        if !resealed.is_empty() {
            reseal(&mut bad, offset / 64 * 64);
            let message = error_of(&path, &bad).to_string();
            assert!(message.contains(resealed), "at {offset}: {message}");
        }
    }
}

#[test]
fn every_flipped_bit_of_the_file_is_noticed() {
    let (_folder, path, good) = sample();
    for i in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[i] ^= 1 << bit;
            error_of(&path, &bad);
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let (_folder, path, good) = sample();
    for len in 0..good.len() {
        error_of(&path, &good[..len]);
    }
    // A file whose bits begin at a page boundary: through that page and beyond.
    let large = Filter::new(Params::builder(100_000, 3).build().unwrap()).unwrap();
    large.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for len in 0..2 * 4096 {
        error_of(&path, &whole[..len]);
    }
    let mut longer = good.clone();
    longer.push(0);
    let message = error_of(&path, &longer).to_string();
    assert!(message.contains("after it"), "{message}");
}

#[test]
fn a_claim_of_2_to_the_60_bits_allocates_nothing() {
    let (_folder, path, good) = sample();
    let params = 128;
    let mut bad = good.clone();
    bad[params..params + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
    let sum = xxh3_64(&bad[params..params + 56]);
    bad[64 + 24..64 + 32].copy_from_slice(&sum.to_le_bytes());
    reseal(&mut bad, 64);
    // The END includes the checksums of the heads: correct it as well, so that only the size is
    // wrong.
    let message = error_of(&path, &bad).to_string();
    assert!(message.contains("end section"), "{message}");
    let bad = with_end_resealed(bad);
    let message = error_of(&path, &bad).to_string();
    assert!(
        message.contains("1,152,921,504,606,846,976 bits"),
        "{message}"
    );

    // A size that is valid, but larger than the file.
    let mut bad = good;
    bad[params..params + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let sum = xxh3_64(&bad[params..params + 56]);
    bad[64 + 24..64 + 32].copy_from_slice(&sum.to_le_bytes());
    reseal(&mut bad, 64);
    let bad = with_end_resealed(bad);
    let message = error_of(&path, &bad).to_string();
    assert!(message.contains("words given for a filter of"), "{message}");
}

/// Rewrites the END, following the heads as FORMAT.md describes.
fn with_end_resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let u64_at =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (mut at, mut sums) = (64, Vec::new());
    while bytes[at + 4..at + 6] != [0xff, 0xff] {
        sums.extend_from_slice(&bytes[at + 56..at + 64]);
        let end = u64_at(&bytes, at + 8) + u64_at(&bytes, at + 16);
        at = end.next_multiple_of(64) as usize;
    }
    let payload = u64_at(&bytes, at + 8) as usize;
    bytes[payload + 8..payload + 16].copy_from_slice(&xxh3_64(&sums).to_le_bytes());
    let sum = xxh3_64(&bytes[payload..payload + 16]);
    bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
    reseal(&mut bytes, at);
    bytes
}

#[test]
fn after_a_failed_write_nothing_is_published() {
    use super::{Content, Kind, Writer};
    let (_folder, path, good) = sample();
    let mut writer = Writer::create(&path, Content::Filter).unwrap();
    writer.begin(Kind::Bits, 64).unwrap();
    writer.append(&[1; 64]).unwrap();
    writer.failed(std::io::Error::other("the disk is full"));
    // There is room again, but the content of the file is now unknown.
    assert!(writer.append(&[2; 64]).is_err());
    assert!(writer.end().is_err());
    assert!(writer.finish().is_err());
    assert_eq!(std::fs::read(&path).unwrap(), good);
}

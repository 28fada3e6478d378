use super::*;
use crate::Affine;

fn affine(pairs: usize) -> Family {
    Family::Affine(Affine::new(&vec![(3, 1); pairs], 1009).unwrap())
}

#[test]
fn impossible_parameters_are_refused_with_the_reason() {
    let builder = Params::builder;
    let cases = [
        (builder(0, 3), "0 bits"),
        (builder(MAX_BITS + 1, 3), "bits; a filter has"),
        (builder(100, 0), "0 hashes"),
        (builder(100, 65), "65 hashes"),
        (builder(100, 3).layout(Layout::Blocked), "multiple of 512"),
        (builder(512, 17).layout(Layout::Blocked), "at most 16"),
        (
            builder(512, 8)
                .layout(Layout::Blocked)
                .derivation(Derivation::KirschMitzenmacher),
            "derivation",
        ),
        (
            builder(512, 3).layout(Layout::Blocked).family(affine(3)),
            "standard layout",
        ),
        (builder(100, 3).family(affine(2)), "2 pairs"),
        (builder(100, 2).family(affine(2)).seed(1), "seed"),
        (
            builder(100, 2)
                .family(affine(2))
                .derivation(Derivation::KirschMitzenmacher),
            "derivation",
        ),
        (
            builder(100, 2)
                .family(Family::SipHash { key: [0; 16] })
                .seed(1),
            "seed",
        ),
    ];
    for (builder, part) in cases {
        let message = builder.build().unwrap_err().to_string();
        assert!(message.contains(part), "{message:?} should say {part:?}");
    }
}

#[test]
fn bytes_and_back_for_every_family() {
    let families = [
        Family::Xxh3,
        Family::Xxh3Wide,
        Family::Murmur3,
        Family::Md5,
        Family::SipHash { key: [7; 16] },
        affine(5),
    ];
    let mut fingerprints = Vec::new();
    for family in families {
        let params = Params::builder(4096, 5).family(family).build().unwrap();
        assert_eq!(Params::from_bytes(&params.to_bytes()), Ok(params.clone()));
        fingerprints.push(params.fingerprint());
    }
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), 6, "fingerprints are distinct");
}

#[test]
fn every_byte_of_the_spelling_counts() {
    for family in [Family::Xxh3, affine(2)] {
        let params = Params::builder(1024, 2).family(family).build().unwrap();
        let bytes = params.to_bytes();
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[i] ^= 1 << bit;
                assert_ne!(Params::from_bytes(&other).as_ref(), Ok(&params));
            }
            assert!(Params::from_bytes(&bytes[..i]).is_err());
        }
    }
}

#[test]
fn messages_do_not_print_the_siphash_key() {
    let params = Params::builder(64, 2)
        .family(Family::SipHash {
            key: *b"top secret key!!",
        })
        .build()
        .unwrap();
    let text = params.to_string();
    assert!(text.contains("siphash key #"), "{text}");
    for text in [
        text,
        format!("{params:?}"),
        format!("{:?}", params.family()),
    ] {
        // Neither as text nor as numbers: "top" is 116, 111, 112.
        assert!(
            !text.contains("top") && !text.contains("116, 111"),
            "{text}"
        );
    }
}

//! Reconstruction and sampling against the dictionary attack: every name asked of the filter.

use std::collections::HashSet;
use std::ops::ControlFlow;

use bloomgrove::sample::{
    Method, Name, NameIndex, NameIndexOptions, Names, Namespace, Query, Reconstruction,
    SampleOptions, Sampler, Way,
};
use bloomgrove::{Affine, Derivation, Error, Family, Filter, Layout, Params};
use proptest::prelude::*;

/// Every family, derivation and layout; affine functions modulo a prime, as printed, and with
/// common factors.
fn all_params() -> impl Strategy<Value = Params> {
    let hashed = (
        prop_oneof![
            Just(Family::Xxh3),
            Just(Family::Xxh3Wide),
            Just(Family::Murmur3),
            Just(Family::Md5),
            Just(Family::SipHash { key: [7; 16] })
        ],
        prop_oneof![
            Just((Layout::Standard, Derivation::Independent)),
            Just((Layout::Standard, Derivation::KirschMitzenmacher)),
            Just((Layout::Blocked, Derivation::Independent))
        ],
        1u64..40,
        1u32..6,
        any::<u64>(),
    )
        .prop_map(|(family, (layout, derivation), size, hashes, seed)| {
            let bits = match layout {
                Layout::Blocked => size.div_ceil(4) * 512,
                _ => size * 97,
            };
            let seed = if matches!(family, Family::SipHash { .. }) {
                0
            } else {
                seed
            };
            Params::builder(bits, hashes)
                .family(family)
                .layout(layout)
                .derivation(derivation)
                .seed(seed)
                .build()
                .unwrap()
        });
    let affine = (1u64..40, 1u32..6, any::<u64>(), 0..3).prop_map(|(size, hashes, seed, kind)| {
        let bits = size * 97;
        let functions = match kind {
            0 => Affine::seeded(10_007, hashes, seed).unwrap(),
            1 => Affine::new(&pairs(hashes, seed, bits), bits).unwrap(),
            _ => Affine::new(&pairs(hashes, seed, 720), 720).unwrap(),
        };
        let family = Family::Affine(functions);
        Params::builder(bits, hashes)
            .family(family)
            .build()
            .unwrap()
    });
    prop_oneof![3 => hashed, 2 => affine]
}

fn pairs(hashes: u32, seed: u64, modulus: u64) -> Vec<(u64, u64)> {
    (0..u64::from(hashes))
        .map(|i| {
            let a = crate::support::scatter(seed ^ i) % (modulus - 1) + 1;
            (a, crate::support::scatter(seed ^ i << 32) % modulus)
        })
        .collect()
}

/// A range, a range from elsewhere, a list, a grown list, and one of texts where it may be.
fn namespace(kind: u8, len: u64) -> Namespace {
    let spread = |i: u64| i * 7 + i % 5;
    match kind {
        0 => Namespace::range(0..len).unwrap(),
        1 => Namespace::range(12_345..12_345 + len).unwrap(),
        2 => Namespace::integers((0..len).map(spread)).unwrap(),
        3 => {
            let mut names =
                Namespace::occupied(0..1 << 40, (0..len).step_by(2).map(spread)).unwrap();
            names
                .add(Namespace::integers((1..len).step_by(4).map(spread)).unwrap())
                .unwrap();
            names
                .add(Namespace::integers((0..len).map(spread)).unwrap())
                .unwrap();
            names
        }
        4 => Namespace::range(0..len).unwrap().in_decimal().unwrap(),
        _ => {
            let mut lines: Vec<String> = (0..len).map(|i| format!("name {i}")).collect();
            lines.sort();
            Namespace::texts(lines.join("\n").into_bytes()).unwrap()
        }
    }
}

fn contains(query: &Query, names: &Namespace, name: &Name) -> bool {
    match name {
        Name::Integer(number) => match names.spelling() {
            bloomgrove::sample::Spelling::Decimal => query.contains(&number.to_string()),
            _ => query.contains(number),
        },
        Name::Text(text) => query.contains(text),
    }
}

/// The oracle.
fn attack(query: &Query, names: &Namespace) -> Vec<Name> {
    let all = (0..names.len()).map(|rank| names.name(rank));
    let mut members: Vec<Name> = all.filter(|name| contains(query, names, name)).collect();
    members.sort();
    members
}

fn sorted(mut names: Vec<Name>) -> Vec<Name> {
    names.sort();
    names
}

/// Inserts names until a share `fill` of the bits is set.
fn filled(params: &Params, names: &Namespace, fill: f64, seed: u64) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    for i in 0..names.len() {
        if filter.fill() >= fill {
            break;
        }
        let rank = crate::support::scatter(seed ^ i) % names.len();
        match names.name(rank) {
            Name::Integer(number) if names.spelling() == bloomgrove::sample::Spelling::Decimal => {
                filter.insert(&number.to_string())
            }
            Name::Integer(number) => filter.insert(&number),
            Name::Text(text) => filter.insert(&text),
        };
    }
    filter
}

fn ways(query_is_affine: bool) -> Vec<Way> {
    Way::ALL
        .into_iter()
        .filter(|&way| way != Way::Invert || query_is_affine)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Recall and precision 1, by every way, with every index, from 1 to 90% fill.
    #[test]
    fn reconstruction_equals_the_dictionary_attack(
        params in all_params(),
        kind in 0u8..6,
        len in prop_oneof![2u64..50, 1000u64..4000],
        fill in 0.01f64..0.9,
        seed in any::<u64>(),
        lean in any::<bool>(),
        memory in prop_oneof![Just(4096u64), Just(1 << 20)],
    ) {
        let affine = matches!(params.family(), Family::Affine(_));
        let kind = if affine { kind % 4 } else { kind };
        let names = namespace(kind, len);
        let filter = filled(&params, &names, fill, seed);
        let query = Query::of(&filter);
        let wanted = attack(&query, &names);
        let options = NameIndexOptions { memory, second: !lean };
        let index = NameIndex::build(&params, namespace(kind, len), options).unwrap();
        prop_assert_eq!(NameIndex::size(&params, &names, options).unwrap(), index.bytes());
        for way in ways(affine) {
            let options = crate::support::listed_by(way);
            let found = Reconstruction::with(&filter, &index, &options).unwrap();
            prop_assert_eq!(&sorted(found.names().unwrap()), &wanted, "{:?}", way);
        }
        let planned = Reconstruction::new(&filter, &names).unwrap();
        prop_assert_eq!(&sorted(planned.names().unwrap()), &wanted);
        // Whatever is drawn is a member, whichever way.
        let members: HashSet<&Name> = wanted.iter().collect();
        for method in Method::ALL.into_iter().filter(|&m| m != Method::Invert || affine) {
            let options = SampleOptions {
                method: Some(method),
                seed,
                memory: 4096,
                ..SampleOptions::default()
            };
            let drawn = Sampler::with(&filter, &index, &options).and_then(|mut s| s.draw(20));
            match drawn {
                Ok(drawn) => prop_assert!(drawn.iter().all(|name| members.contains(name))),
                Err(Error::NoMember { .. }) => prop_assert!(wanted.is_empty()),
                Err(Error::OutOfMemory { .. }) => prop_assert!(wanted.len() > 512),
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
    }

    /// Of expressions and inside a range too.
    #[test]
    fn expressions_have_exactly_their_members(
        params in all_params(),
        kind in 0u8..4,
        fills in (0.01f64..0.6, 0.01f64..0.6, 0.01f64..0.6),
        seed in any::<u64>(),
        within in proptest::option::of((0u64..20_000, 1u64..20_000)),
    ) {
        let names = namespace(kind, 2000);
        let affine = matches!(params.family(), Family::Affine(_));
        let index = NameIndex::build(&params, namespace(kind, 2000), NameIndexOptions::default()).unwrap();
        let [a, b, c] = [(fills.0, 1), (fills.1, 2), (fills.2, 3)]
            .map(|(fill, salt)| filled(&params, &names, fill, seed ^ salt));
        let of = |filter| Query::of(filter);
        let queries = [
            of(&a).and(of(&b)).unwrap(),
            of(&a).or(of(&b)).unwrap(),
            of(&a).or(of(&b)).unwrap().and(of(&c)).unwrap(),
            of(&c).or(of(&a).and(of(&b)).unwrap()).unwrap(),
        ];
        for (i, query) in queries.into_iter().enumerate() {
            let naive = |name: &u64| match i {
                0 => a.contains(name) && b.contains(name),
                1 => a.contains(name) || b.contains(name),
                2 => (a.contains(name) || b.contains(name)) && c.contains(name),
                _ => c.contains(name) || (a.contains(name) && b.contains(name)),
            };
            let inside = |name: &u64| within.is_none_or(|(from, len)| (from..from + len).contains(name));
            let numbers = (0..names.len()).map(|rank| match names.name(rank) {
                Name::Integer(number) => number,
                Name::Text(_) => unreachable!(),
            });
            let mut wanted: Vec<u64> = numbers.filter(|n| naive(n) && inside(n)).collect();
            wanted.sort_unstable();
            let options = SampleOptions {
                seed,
                threads: Some(1),
                within: within.map(|(from, len)| from..from + len),
                ..SampleOptions::default()
            };
            let query = &query;
            for way in ways(affine) {
                let options = SampleOptions { way: Some(way), ..options.clone() };
                let found = Reconstruction::with(query, &index, &options).unwrap();
                prop_assert_eq!(&found.integers().unwrap(), &wanted, "{:?} {}", way, i);
            }
            match Sampler::with(query, &index, &options).and_then(|mut s| s.draw_distinct(1 << 20)) {
                Ok(all) => {
                    let mut all: Vec<u64> = all.into_iter().map(|name| match name {
                        Name::Integer(number) => number,
                        Name::Text(_) => unreachable!(),
                    }).collect();
                    all.sort_unstable();
                    prop_assert_eq!(&all, &wanted);
                }
                Err(Error::NoMember { .. }) => prop_assert!(wanted.is_empty()),
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
    }
}

#[test]
fn the_order_does_not_depend_on_the_threads() {
    let params = Params::for_items(2000, 0.01).unwrap();
    let index = NameIndex::build(
        &params,
        Namespace::range(0..2_000_000).unwrap(),
        NameIndexOptions::default(),
    )
    .unwrap();
    let mut filter = Filter::new(params).unwrap();
    filter.insert_batch(
        &(0..2000u64)
            .map(|i| crate::support::scatter(i) % 2_000_000)
            .collect::<Vec<_>>(),
    );
    for names in [Names::from(&index), Names::from(index.namespace())] {
        let list = |threads| {
            let options = SampleOptions {
                threads: Some(threads),
                ..SampleOptions::default()
            };
            let mut all = Vec::new();
            let mut last = 0;
            let work = Reconstruction::with(&filter, names, &options)
                .unwrap()
                .run(|found| {
                    all.extend(found.names());
                    last = found.done;
                    assert!(found.done <= found.pieces);
                    ControlFlow::Continue(())
                });
            (all, work, last)
        };
        let one = list(1);
        assert!(one.0.len() > 2000);
        assert_eq!(one, list(2));
        assert_eq!(one, list(5));
    }
    let mut seen = 0;
    Reconstruction::new(&filter, index.namespace())
        .unwrap()
        .run(|found| {
            seen += found.names().len();
            ControlFlow::Break(())
        });
    assert!(seen < 10_000);
}

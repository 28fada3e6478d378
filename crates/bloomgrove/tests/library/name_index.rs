//! Indexes of names in files: what is written is read, grown files are as good as new ones, and
//! damage is an error or an answer.

use std::path::{Path, PathBuf};

use bloomgrove::sample::{
    Name, NameIndex, NameIndexOptions, Namespace, Reconstruction, SampleOptions, Sampler, Way,
};
use bloomgrove::{Affine, Error, Family, Filter, Params, verify};

fn quiet() -> impl FnMut(u64, u64) -> Result<(), Error> {
    |_, _| Ok(())
}

fn texts(names: std::ops::Range<u64>) -> Namespace {
    let lines: Vec<String> = names.map(|i| format!("name {i:05}")).collect();
    Namespace::texts(lines.join("\n").into_bytes()).unwrap()
}

fn params() -> Params {
    Params::builder(700, 3).build().unwrap()
}

/// A filter of some names of every kind.
fn filter(params: &Params) -> Filter {
    let mut filter = Filter::new(params.clone()).unwrap();
    filter.insert_batch(&[3u64, 17, 204, 900, 1_000_000_007]);
    filter.insert("name 00017");
    filter
}

/// Each form alone, and one made of several parts.
fn namespaces() -> Vec<(&'static str, Namespace)> {
    let list = |step: u64| (0..400u64).map(move |i| i * step);
    let mut grown = Namespace::range(0..300).unwrap();
    grown
        .add(Namespace::integers(list(7).take(100)).unwrap())
        .unwrap();
    vec![
        ("range", Namespace::range(100..1000).unwrap()),
        (
            "decimal",
            Namespace::range(0..500).unwrap().in_decimal().unwrap(),
        ),
        (
            "list",
            Namespace::occupied(0..1 << 40, list(5_000_003)).unwrap(),
        ),
        ("texts", texts(0..300)),
        ("grown", grown),
    ]
}

fn members(index: &NameIndex, filter: &Filter) -> Vec<Name> {
    let mut all = Reconstruction::new(filter, index).unwrap().names().unwrap();
    all.sort();
    all
}

#[test]
fn what_is_saved_opens_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let [saved, built] = ["saved", "built"].map(|name| folder.path().join(name));
    let filter = filter(&params());
    for ((name, names), (_, again)) in namespaces().into_iter().zip(namespaces()) {
        for options in [
            NameIndexOptions::default(),
            NameIndexOptions {
                second: false,
                ..NameIndexOptions::default()
            },
        ] {
            let ours = match name {
                "range" => Namespace::range(100..1000).unwrap(),
                _ => {
                    namespaces()
                        .into_iter()
                        .find(|(other, _)| *other == name)
                        .unwrap()
                        .1
                }
            };
            let index = NameIndex::build(&params(), ours, options).unwrap();
            index.save(&saved).unwrap();
            // Built with hardly any memory, it is the same file.
            let tight = NameIndexOptions {
                memory: 1000,
                ..options
            };
            NameIndex::build_to(&built, &params(), &names, tight, &mut quiet()).unwrap();
            assert_eq!(
                std::fs::read(&saved).unwrap(),
                std::fs::read(&built).unwrap(),
                "{name}"
            );
            verify(&saved).unwrap();
            let mut bytes = Vec::new();
            index.write_to(&mut bytes).unwrap();
            assert!(bytes == std::fs::read(&saved).unwrap(), "{name}");
            let back = NameIndex::from_bytes(&bytes).unwrap();
            assert_eq!(members(&back, &filter), members(&index, &filter), "{name}");
            let opened = NameIndex::open(&saved).unwrap();
            assert_eq!(opened.namespace().len(), again.len());
            assert_eq!(opened.params(), index.params());
            assert_eq!(opened.has_second(), options.second);
            assert_eq!(
                members(&opened, &filter),
                members(&index, &filter),
                "{name}"
            );
            for rank in 0..again.len() {
                assert_eq!(opened.namespace().name(rank), again.name(rank));
            }
        }
    }
}

#[test]
fn names_added_to_a_file_are_found_with_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.grove");
    let functions = Affine::seeded(2_000_003, 3, 1).unwrap();
    let affine = Params::builder(5000, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let hashed = Params::builder(5000, 3).build().unwrap();
    for params in [affine, hashed] {
        let first = Namespace::occupied(0..2_000_000, [1, 1000, 1999]).unwrap();
        let options = NameIndexOptions::default();
        NameIndex::build_to(&path, &params, &first, options, &mut quiet()).unwrap();
        let mut all = vec![1, 1000, 1999];
        let mut in_memory = NameIndex::build(&params, first, options).unwrap();
        for round in 0..30u64 {
            let mut more: Vec<u64> = (0..round * 7)
                .map(|i| crate::support::scatter(round << 32 | i) % 2_000_000)
                .collect();
            more.push(1000);
            more.sort_unstable();
            more.dedup();
            let new = more.iter().filter(|name| !all.contains(*name)).count() as u64;
            let names = || Namespace::integers(more.iter().copied()).unwrap();
            let added = NameIndex::add_to(&path, names(), 1 << 20, &mut quiet()).unwrap();
            assert_eq!(added, new);
            assert_eq!(in_memory.add(names()).unwrap(), new);
            all.extend(&more);
            all.sort_unstable();
            all.dedup();
        }
        verify(&path).unwrap();
        let opened = NameIndex::open(&path).unwrap();
        assert_eq!(opened.namespace().len(), all.len() as u64);
        let mut filter = Filter::new(params.clone()).unwrap();
        filter.insert_batch(&all[..all.len() / 2]);
        let wanted: Vec<u64> = all
            .iter()
            .copied()
            .filter(|name| filter.contains(name))
            .collect();
        for index in [&opened, &in_memory] {
            for way in [Way::Scan, Way::Index] {
                let list =
                    Reconstruction::with(&filter, index, &crate::support::listed_by(way)).unwrap();
                assert_eq!(list.integers().unwrap(), wanted);
            }
        }
        let outside = Namespace::integers([3_000_000]).unwrap();
        let error = NameIndex::add_to(&path, outside, 1 << 20, &mut quiet()).unwrap_err();
        assert!(error.to_string().contains("0..2000000"), "{error}");
    }
}

/// Merged again and again, the file stays within a few times what is in use.
#[test]
fn a_file_that_grows_for_long_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.grove");
    let first = Namespace::integers([0]).unwrap();
    NameIndex::build_to(
        &path,
        &params(),
        &first,
        NameIndexOptions::default(),
        &mut quiet(),
    )
    .unwrap();
    let mut largest = 0;
    for round in 1..60u64 {
        let names = (0..10_000).map(|i| round * 10_000 + i);
        let more = Namespace::integers(names).unwrap();
        NameIndex::add_to(&path, more, 1 << 30, &mut quiet()).unwrap();
        let size = std::fs::metadata(&path).unwrap().len();
        let used = NameIndex::open(&path).unwrap().bytes();
        largest = largest.max((size as f64 / (used + (1 << 20)) as f64 * 100.0) as u64);
    }
    assert!((101..400).contains(&largest), "{largest}%");
    verify(&path).unwrap();
    let index = NameIndex::open(&path).unwrap();
    assert_eq!(index.namespace().len(), 59 * 10_000 + 1);
}

#[test]
fn a_build_that_is_broken_off_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.grove");
    let names = Namespace::range(0..100_000).unwrap();
    let options = NameIndexOptions::default();
    let mut stop = |_, _| Err(Error::Interrupted);
    let built = NameIndex::build_to(&path, &params(), &names, options, &mut stop);
    assert!(matches!(built.unwrap_err().kind(), Error::Interrupted));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // And growing leaves the index as it was.
    NameIndex::build_to(&path, &params(), &names, options, &mut quiet()).unwrap();
    let before = NameIndex::open(&path).unwrap().namespace().len();
    let more = Namespace::range(50_000..200_000).unwrap();
    let added = NameIndex::add_to(&path, more, 1 << 20, &mut stop);
    assert!(matches!(added.unwrap_err().kind(), Error::Interrupted));
    assert_eq!(NameIndex::open(&path).unwrap().namespace().len(), before);
    verify(&path).unwrap();
    let more = Namespace::range(50_000..200_000).unwrap();
    assert_eq!(
        NameIndex::add_to(&path, more, 1 << 20, &mut quiet()).unwrap(),
        100_000
    );
    verify(&path).unwrap();
}

#[test]
fn wrong_files_and_wrong_parameters_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter.grove");
    filter(&params()).save(&path).unwrap();
    let error = NameIndex::open(&path).unwrap_err();
    assert!(
        matches!(error.kind(), Error::WrongContent { .. }),
        "{error}"
    );
    let names = Namespace::range(0..1000).unwrap();
    let index = NameIndex::build(&params(), names, NameIndexOptions::default()).unwrap();
    let other = filter(&Params::builder(800, 3).build().unwrap());
    let error = Sampler::new(&other, &index).unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    let functions = Affine::seeded(2_000_003, 3, 1).unwrap();
    let affine = Params::builder(5000, 3)
        .family(Family::Affine(functions))
        .build()
        .unwrap();
    let error = NameIndex::build(&affine, texts(0..10), NameIndexOptions::default()).unwrap_err();
    assert!(error.to_string().contains("integers"), "{error}");
}

/// Small files of every form, one of them grown.
fn samples() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    let params = Params::builder(70, 2).build().unwrap();
    let list = Namespace::occupied(0..1 << 40, (0..600).map(|i| i * 999)).unwrap();
    let names = [Namespace::range(5..40).unwrap(), list, texts(0..10)];
    let mut samples = Vec::new();
    for names in names {
        NameIndex::build_to(
            &path,
            &params,
            &names,
            NameIndexOptions::default(),
            &mut quiet(),
        )
        .unwrap();
        samples.push(std::fs::read(&path).unwrap());
    }
    NameIndex::add_to(&path, texts(8..14), 1 << 20, &mut quiet()).unwrap();
    samples.push(std::fs::read(&path).unwrap());
    samples
}

fn use_everything(path: &Path) {
    let _ = verify(path);
    let Ok(mut index) = NameIndex::open(path) else {
        return;
    };
    let Ok(mut filter) = Filter::new(index.params().clone()) else {
        return;
    };
    filter.insert(&10u64);
    filter.insert("name 00003");
    for way in [None, Some(Way::Scan), Some(Way::Index)] {
        let options = SampleOptions {
            way,
            threads: Some(1),
            ..SampleOptions::default()
        };
        if let Ok(list) = Reconstruction::with(&filter, &index, &options) {
            let _ = list.names();
        }
    }
    if let Ok(mut sampler) = Sampler::new(&filter, &index) {
        let _ = sampler.draw(5);
    }
    let _ = (index.bytes(), index.add(Namespace::integers([10]).unwrap()));
}

#[test]
fn damaged_files_are_an_error_or_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.grove");
    let values = [0, 1, 256, 257, u64::from(u32::MAX), 1 << 47, u64::MAX];
    for sample in samples() {
        // Of long payloads only some words.
        let step = if sample.len() > 8000 { 20 } else { 4 };
        for at in (64..sample.len() - 8).step_by(step) {
            for mut bytes in crate::support::extremes(&sample, at, &values) {
                crate::support::reseal(&mut bytes);
                std::fs::write(&path, bytes).unwrap();
                use_everything(&path);
            }
        }
    }
    let samples = samples();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>)>()
        .with_iterations(3000)
        .for_each(|(which, edits)| {
            let bytes =
                crate::support::edited(&samples[usize::from(*which) % samples.len()], edits);
            std::fs::write(&path, bytes).unwrap();
            use_everything(&path);
        });
}

#[test]
fn files_cut_anywhere_are_as_they_were_and_every_flipped_bit_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.grove");
    let samples = samples();
    let (before, grown) = (&samples[2], &samples[3]);
    for len in 0..grown.len() {
        std::fs::write(&path, &grown[..len]).unwrap();
        let names = NameIndex::open(&path).map(|index| index.namespace().len());
        match len {
            _ if len < before.len() => assert!(names.is_err(), "{len} bytes"),
            _ => assert_eq!(names.unwrap(), 10, "{len} bytes"),
        }
    }
    let last = grown.len() - 128;
    for at in 0..grown.len() {
        let mut bytes = grown.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        match verify(&path) {
            Err(_) => {}
            Ok(report) => assert!(at >= last && report.unfinished > 0, "byte {at}"),
        }
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Files of every released version are read for ever, and values write the same bytes.
#[test]
fn golden_files_go_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let now = folder.path().join("now.grove");
    for (name, names) in namespaces() {
        let path = golden(&format!("v1-names-{name}.grove"));
        let write = |path: &Path| {
            let options = NameIndexOptions::default();
            NameIndex::build_to(path, &params(), &names, options, &mut quiet()).unwrap();
        };
        if std::env::var_os("BLOOMGROVE_WRITE_GOLDEN").is_some() && !path.exists() {
            write(&path);
        }
        write(&now);
        let [old, new] = [&path, &now].map(|path| std::fs::read(path).unwrap());
        assert!(old == new, "{name}: the same value writes other bytes now");
        verify(&path).unwrap();
        let index = NameIndex::open(&path).unwrap();
        assert_eq!(index.namespace().len(), names.len());
        let fresh = NameIndex::open(&now).unwrap();
        let filter = filter(&params());
        assert_eq!(members(&index, &filter), members(&fresh, &filter), "{name}");
    }
}

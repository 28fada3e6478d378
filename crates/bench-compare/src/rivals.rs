//! One interface to all contenders, ours and other crates'.

use std::hash::{BuildHasher, Hash};

use bloomgrove::{Family, Filter, Layout, tune};
use xorf::Filter as _;

/// The false-positive rate that every contender is built for.
pub(crate) const TARGET: f64 = 0.01;

/// A key in the form that each crate requires.
pub(crate) trait BenchKey: Copy + bloomgrove::Key + Hash + 'static {
    fn make(i: u64) -> Self;
    fn xxh3(&self) -> u64;
    fn rapid(&self) -> u64;
    fn parquet_insert(&self, filter: &mut parquet::bloom_filter::Sbbf);
    fn parquet_check(&self, filter: &parquet::bloom_filter::Sbbf) -> bool;
}

/// Keys that look random and never repeat: a bijection of the counter.
pub(crate) fn scatter(i: u64) -> u64 {
    let mut z = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn xxh3(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

fn rapid(bytes: &[u8]) -> u64 {
    rapidhash::v3::rapidhash_v3_inline::<true, false, false>(
        bytes,
        &rapidhash::v3::DEFAULT_RAPID_SECRETS,
    )
}

impl BenchKey for u64 {
    fn make(i: u64) -> Self {
        scatter(i)
    }
    #[inline(always)]
    fn xxh3(&self) -> u64 {
        xxh3(&self.to_le_bytes())
    }
    #[inline(always)]
    fn rapid(&self) -> u64 {
        rapid(&self.to_le_bytes())
    }
    fn parquet_insert(&self, filter: &mut parquet::bloom_filter::Sbbf) {
        filter.insert(self)
    }
    fn parquet_check(&self, filter: &parquet::bloom_filter::Sbbf) -> bool {
        filter.check(self)
    }
}

/// A UUID as text: 36 bytes.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Text([u8; 36]);

impl bloomgrove::Key for Text {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(&self.0)
    }
}

impl BenchKey for Text {
    fn make(i: u64) -> Self {
        let bits = u128::from(scatter(i)) << 64 | u128::from(scatter(!i));
        let hex = format!("{bits:032x}");
        let text = format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        );
        Self(text.as_bytes().try_into().expect("36 bytes"))
    }
    #[inline(always)]
    fn xxh3(&self) -> u64 {
        xxh3(&self.0)
    }
    #[inline(always)]
    fn rapid(&self) -> u64 {
        rapid(&self.0)
    }
    fn parquet_insert(&self, filter: &mut parquet::bloom_filter::Sbbf) {
        filter.insert(&self.0[..])
    }
    fn parquet_check(&self, filter: &parquet::bloom_filter::Sbbf) -> bool {
        filter.check(&self.0[..])
    }
}

/// One filter in the race.
pub(crate) trait Contender<K> {
    fn clear(&mut self);
    fn insert(&mut self, keys: &[K]);
    /// How many of `keys` it accepts.
    fn count(&mut self, keys: &[K]) -> usize;
    fn bits(&self) -> u64;
    /// Builds a static filter, from the keys inserted before.
    fn finish(&mut self) {}
    /// Whether it is built in one step, so that its insert time is that of the whole build.
    fn is_static(&self) -> bool {
        false
    }
}

pub(crate) struct Entry<K> {
    pub(crate) name: &'static str,
    pub(crate) contender: Box<dyn Contender<K>>,
}

/// The first two are FB and the start of the FB* group (see `FB_GROUP`).
pub(crate) const FB: usize = 0;
/// fastbloom with each of the hashers; FB* is the best of them per measure.
pub(crate) const FB_GROUP: std::ops::Range<usize> = 0..4;

pub(crate) fn all<K: BenchKey>(items: usize) -> Vec<Entry<K>> {
    let fb = || fastbloom::BloomFilter::with_false_pos(TARGET);
    let entry = |name, contender| Entry { name, contender };
    let ours = |layout| {
        let plan = tune::choose(items as u64, TARGET, Some(layout), Some(Family::Xxh3));
        Filter::new(plan.and_then(|plan| plan.params()).expect("a filter")).expect("memory")
    };
    vec![
        entry(
            "fastbloom (default)",
            Box::new(Fast(fb().seed(&42).expected_items(items))),
        ),
        entry(
            "fastbloom + foldhash",
            Box::new(Fast(
                fb().hasher(foldhash::fast::FixedState::default())
                    .expected_items(items),
            )),
        ),
        entry(
            "fastbloom + xxh3",
            Box::new(FastHashed(
                fb().seed(&42).expected_items(items),
                |key: &K| key.xxh3(),
            )),
        ),
        entry(
            "fastbloom + rapidhash",
            Box::new(FastHashed(
                fb().seed(&42).expected_items(items),
                |key: &K| key.rapid(),
            )),
        ),
        entry(
            "bloomfilter",
            Box::new(Plain(
                bloomfilter::Bloom::new_for_fp_rate_with_seed(
                    items,
                    TARGET,
                    &std::array::from_fn(|i| i as u8),
                )
                .expect("a filter"),
            )),
        ),
        entry(
            "growable-bloom-filter",
            Box::new(Growable(growable_bloom_filter::GrowableBloom::new(
                TARGET, items,
            ))),
        ),
        entry("parquet Sbbf", Box::new(Parquet::new(items))),
        entry(
            "sbbf-rs-safe + xxh3",
            // 11 bits per key is the smallest integer with which it reaches 1 %.
            Box::new(SplitBlock(sbbf_rs_safe::Filter::new(11, items))),
        ),
        entry("xorf BinaryFuse8 + xxh3", Box::<Fuse>::default()),
        entry(
            "bloomgrove standard",
            Box::new(Single(ours(Layout::Standard))),
        ),
        entry(
            "bloomgrove standard, batch",
            Box::new(Batch::new(ours(Layout::Standard))),
        ),
        entry(
            "bloomgrove blocked",
            Box::new(Single(ours(Layout::Blocked))),
        ),
        entry(
            "bloomgrove blocked, batch",
            Box::new(Batch::new(ours(Layout::Blocked))),
        ),
    ]
}

struct Fast<S>(fastbloom::BloomFilter<S>);
impl<K: BenchKey, S: BuildHasher> Contender<K> for Fast<S> {
    fn clear(&mut self) {
        self.0.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.insert(key);
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.0.contains(*key)).count()
    }
    fn bits(&self) -> u64 {
        self.0.num_bits() as u64
    }
}

/// fastbloom with hashes computed by `F`, a closure, which is inlined.
struct FastHashed<F>(fastbloom::BloomFilter, F);
impl<K: BenchKey, F: Fn(&K) -> u64> Contender<K> for FastHashed<F> {
    fn clear(&mut self) {
        self.0.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.insert_hash((self.1)(key));
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter()
            .filter(|key| self.0.contains_hash((self.1)(key)))
            .count()
    }
    fn bits(&self) -> u64 {
        self.0.num_bits() as u64
    }
}

struct Plain<K>(bloomfilter::Bloom<K>);
impl<K: BenchKey> Contender<K> for Plain<K> {
    fn clear(&mut self) {
        self.0.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.set(key);
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.0.check(*key)).count()
    }
    fn bits(&self) -> u64 {
        self.0.len()
    }
}

struct Growable(growable_bloom_filter::GrowableBloom);
impl<K: BenchKey> Contender<K> for Growable {
    fn clear(&mut self) {
        self.0.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.insert(key);
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.0.contains(*key)).count()
    }
    fn bits(&self) -> u64 {
        // It does not report its size.
        0
    }
}

struct Parquet(parquet::bloom_filter::Sbbf, usize);
impl Parquet {
    fn new(items: usize) -> Self {
        let filter = parquet::bloom_filter::Sbbf::new_with_ndv_fpp(items as u64, TARGET);
        Self(filter.expect("a filter"), items)
    }
}
impl<K: BenchKey> Contender<K> for Parquet {
    fn clear(&mut self) {
        *self = Self::new(self.1);
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            key.parquet_insert(&mut self.0);
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| key.parquet_check(&self.0)).count()
    }
    fn bits(&self) -> u64 {
        self.0.num_blocks() as u64 * 256
    }
}

struct SplitBlock(sbbf_rs_safe::Filter);
impl<K: BenchKey> Contender<K> for SplitBlock {
    fn clear(&mut self) {
        self.0.reset();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.insert_hash(key.xxh3());
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter()
            .filter(|key| self.0.contains_hash(key.xxh3()))
            .count()
    }
    fn bits(&self) -> u64 {
        self.0.as_bytes().len() as u64 * 8
    }
}

#[derive(Default)]
struct Fuse {
    hashes: Vec<u64>,
    filter: Option<xorf::BinaryFuse8>,
}
impl<K: BenchKey> Contender<K> for Fuse {
    fn clear(&mut self) {
        *self = Self::default();
    }
    fn insert(&mut self, keys: &[K]) {
        self.hashes.extend(keys.iter().map(BenchKey::xxh3));
    }
    fn finish(&mut self) {
        let hashes = std::mem::take(&mut self.hashes);
        self.filter = Some(xorf::BinaryFuse8::try_from(&hashes).expect("distinct keys"));
    }
    fn count(&mut self, keys: &[K]) -> usize {
        let filter = self.filter.as_ref().expect("finished");
        keys.iter()
            .filter(|key| filter.contains(&key.xxh3()))
            .count()
    }
    fn bits(&self) -> u64 {
        self.filter
            .as_ref()
            .map_or(0, |filter| filter.len() as u64 * 8)
    }
    fn is_static(&self) -> bool {
        true
    }
}

/// Ours, one key at a time.
struct Single(Filter);
impl<K: BenchKey> Contender<K> for Single {
    fn clear(&mut self) {
        self.0.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        for key in keys {
            self.0.insert(key);
        }
    }
    fn count(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.0.contains(*key)).count()
    }
    fn bits(&self) -> u64 {
        self.0.params().bits()
    }
}

/// Ours, in batches; the answers are written out and counted, as a caller would.
struct Batch {
    filter: Filter,
    found: Vec<bool>,
}
impl Batch {
    fn new(filter: Filter) -> Self {
        Self {
            filter,
            found: vec![false; 1 << 17],
        }
    }
}
impl<K: BenchKey> Contender<K> for Batch {
    fn clear(&mut self) {
        self.filter.clear();
    }
    fn insert(&mut self, keys: &[K]) {
        self.filter.insert_batch(keys);
    }
    fn count(&mut self, keys: &[K]) -> usize {
        self.found.resize(keys.len().max(self.found.len()), false);
        let found = &mut self.found[..keys.len()];
        self.filter.contains_batch(keys, found);
        found.iter().map(|&yes| usize::from(yes)).sum()
    }
    fn bits(&self) -> u64 {
        self.filter.params().bits()
    }
}

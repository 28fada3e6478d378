//! Demo data: what twelve sites received in two weeks, the same on every machine.
//!
//! ```text
//! galway/orders/2026-11-03        site / kind / day: 12 x 6 x 14 = 1008 sets
//! tags: europe, orders            the region of the site, and the kind
//! keys: doc-00042 ...             60 to 2000 of 20,000 documents
//! ```
//!
//! A few documents are known almost everywhere and most of them hardly anywhere (Zipf's law), and every document has a site
//! where it occurs more often than elsewhere. So there are keys for which the answer is one set, a few neighbours, or a
//! third of all sets.
//!
//! Only integers are drawn and compared, so the sets are the same on every machine.

use std::collections::HashSet;

use bloomgrove::{Error, Filter, Params};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

const SITES: [(&str, &str); 12] = [
    ("bergen", "europe"),
    ("cadiz", "europe"),
    ("dakar", "africa"),
    ("galway", "europe"),
    ("hobart", "oceania"),
    ("izmir", "asia"),
    ("kyoto", "asia"),
    ("lagos", "africa"),
    ("lima", "americas"),
    ("oslo", "europe"),
    ("pune", "asia"),
    ("quito", "americas"),
];
/// Each with the number of items that its filters are sized for.
const KINDS: [(&str, u64); 6] = [
    ("claims", 125),
    ("invoices", 1000),
    ("letters", 500),
    ("offers", 250),
    ("orders", 2000),
    ("permits", 500),
];
const DAYS: std::ops::RangeInclusive<u32> = 1..=14;
const DOCUMENTS: u64 = 20_000;
/// Low enough that a search over all sets lists a wrong one in one of ten cases.
const FPR: f64 = 1e-4;
/// The document of rank r is drawn with a probability proportional to 1 / (r + this).
const FLATTENING: u64 = 150;
const SEED: u64 = 10;

/// A set of the demo.
#[derive(Debug)]
pub struct DemoSet {
    /// Its name, such as `galway/orders/2026-11-03`.
    pub name: String,
    /// The region of its site, and its kind.
    pub tags: Vec<String>,
    /// Its keys.
    pub filter: Filter,
}

/// All sets of the demo, by name.
///
/// # Errors
/// Each can fail for lack of memory.
pub fn sets() -> impl Iterator<Item = Result<DemoSet, Error>> {
    let popularity = Popularity::new();
    places().map(move |place| {
        let mut filter = Filter::new(Params::for_items(place.capacity, FPR)?)?;
        for document in place.documents(&popularity) {
            filter.insert(key(document).as_str());
        }
        Ok(DemoSet {
            name: place.name(),
            tags: vec![place.region.to_owned(), place.kind.to_owned()],
            filter,
        })
    })
}

/// The name of the first set, which identifies a directory with the demo.
pub fn first_name() -> String {
    places()
        .next()
        .map(|place| place.name())
        .unwrap_or_default()
}

/// Keys worth trying: one in a few sets, one in many, one in none.
pub fn examples() -> Vec<String> {
    ["doc-00042", "doc-09042", "doc-99999"]
        .map(str::to_owned)
        .to_vec()
}

/// Documents of the demo sites worth tracing: one with a long history at several sites, and one with a short history.
pub fn traces() -> Vec<String> {
    ["claim 2122", "offer 1452"].map(str::to_owned).to_vec()
}

fn key(document: u64) -> String {
    format!("doc-{document:05}")
}

/// What one site received of one kind on one day.
struct Place {
    number: u64,
    site: u64,
    site_name: &'static str,
    region: &'static str,
    kind: &'static str,
    capacity: u64,
    day: u32,
}

fn places() -> impl Iterator<Item = Place> {
    let sites = (0..).zip(SITES);
    let all = sites.flat_map(|(site, (site_name, region))| {
        KINDS.into_iter().flat_map(move |(kind, capacity)| {
            DAYS.map(move |day| Place {
                number: 0,
                site,
                site_name,
                region,
                kind,
                capacity,
                day,
            })
        })
    });
    (0..)
        .zip(all)
        .map(|(number, place)| Place { number, ..place })
}

impl Place {
    fn name(&self) -> String {
        format!("{}/{}/2026-11-{:02}", self.site_name, self.kind, self.day)
    }

    /// Distinct documents: half to all of what the filter is sized for.
    fn documents(&self, popularity: &Popularity) -> HashSet<u64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED << 32 | self.number);
        let count = random.random_range(self.capacity / 2..=self.capacity);
        let mut documents = HashSet::new();
        while (documents.len() as u64) < count {
            let mut rank = popularity.draw(&mut random);
            // Two of three are documents whose home is here.
            if random.random_range(0..3u32) > 0 {
                rank = (rank - rank % SITES.len() as u64 + self.site) % DOCUMENTS;
            }
            // 7919 and 20,000 are coprime, so every rank has its own number.
            documents.insert((rank * 7919 + 5285) % DOCUMENTS);
        }
        documents
    }
}

/// Ranks by weight, as running sums.
struct Popularity(Vec<u64>);

impl Popularity {
    fn new() -> Self {
        let weights = (0..DOCUMENTS).map(|rank| 1_000_000_000 / (rank + FLATTENING));
        Self(
            weights
                .scan(0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        let total = *self.0.last().expect("the demo has documents");
        let point = random.random_range(0..total);
        self.0.partition_point(|&sum| sum <= point) as u64
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn all() -> Vec<DemoSet> {
        sets().map(|set| set.unwrap()).collect()
    }

    fn named<'a>(all: &'a [DemoSet], key: &str) -> Vec<&'a str> {
        let found = all.iter().filter(|set| set.filter.contains(key));
        found.map(|set| set.name.as_str()).collect()
    }

    /// Also on another machine, and after a change of a library: screenshots and examples count
    /// on it.
    #[test]
    fn the_sets_are_the_same_every_time() {
        let (all, again) = (all(), all());
        let words = all.iter().flat_map(|set| set.filter.words());
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(xxh3_64(&bytes), 0xb6a7_ffc4_294e_098c);
        for (one, other) in all.iter().zip(&again) {
            assert_eq!(one.name, other.name);
            assert_eq!(one.filter.words(), other.filter.words());
        }
    }

    #[test]
    fn the_examples_are_in_a_few_in_many_and_in_no_set() {
        let all = all();
        let [few, many, none] = <[String; 3]>::try_from(examples()).unwrap();
        let few = named(&all, &few);
        assert_eq!(few.len(), 13);
        assert!(few.contains(&"galway/orders/2026-11-06"));
        assert!((200..400).contains(&named(&all, &many).len()));
        assert_eq!(named(&all, &none), [""; 0]);
        // The answers are right, not only frequent: the keys were drawn for these sets.
        let popularity = Popularity::new();
        for place in places() {
            let drawn = place.documents(&popularity).contains(&42);
            assert_eq!(
                few.contains(&place.name().as_str()),
                drawn,
                "{}",
                place.name()
            );
        }
    }

    #[test]
    fn there_are_many_small_sets_of_few_sizes() {
        let all = all();
        assert_eq!(all.len(), 1008);
        assert!(all.windows(2).all(|two| two[0].name < two[1].name));
        let galway = all
            .iter()
            .find(|set| set.name == "galway/orders/2026-11-03");
        assert_eq!(galway.unwrap().tags, ["europe", "orders"]);
        let bytes: usize = all.iter().map(|set| set.filter.words().len() * 8).sum();
        assert!(bytes < 2_000_000, "{bytes}");
        let sizes: HashSet<u64> = all.iter().map(|set| set.filter.params().bits()).collect();
        assert_eq!(sizes.len(), 5);
        for set in &all {
            let fill = set.filter.fill();
            assert!((0.2..0.55).contains(&fill), "{}: {fill}", set.name);
        }
    }

    #[test]
    fn every_document_drawn_is_found() {
        let popularity = Popularity::new();
        for (place, set) in places().zip(sets()).step_by(97) {
            let set = set.unwrap();
            let documents = place.documents(&popularity);
            assert!((60..=2000).contains(&documents.len()), "{}", set.name);
            for document in documents {
                assert!(set.filter.contains(key(document).as_str()), "{}", set.name);
            }
        }
    }
}

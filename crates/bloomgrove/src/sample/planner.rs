//! The planner: how to find the members, and why.
//!
//! ```text
//!   a draw by     examines                        and tests
//!   probing       M / members names               all of them
//!   the index     fill M / members entries        those whose second bit is set
//!   inversion     fill M / members numbers        all of them, if p is near M
//!   a list        nothing, once all members are known: fill M or M names in total
//! ```
//!
//! The number of members is estimated from the fill (`query`). If the estimate is far off,
//! because other names were inserted into the filter or its hashes are weak, a sampler detects
//! this and lists the members instead.

use super::candidates::{Domain, index_of, inverse_of};
use super::{Estimate, Names, Namespace, Query, SampleOptions, Spelling};
use crate::numbers::Grouped;
use crate::{Error, Family};

/// How a sampler finds members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Draws random names until one is a member.
    Probe,
    /// Draws random names on set bits, using a [`NameIndex`](super::NameIndex).
    Index,
    /// Draws random names on set bits, by inverting the first affine function.
    Invert,
    /// Lists all members, and draws from the list.
    List,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Method::Probe, Method::Index, Method::Invert, Method::List];

    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Probe => "probe",
            Method::Index => "index",
            Method::Invert => "invert",
            Method::List => "list",
        }
    }
}

display_as_name!(Method);

/// How all members are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// Tests every name.
    Scan,
    /// Tests the names on set bits, using a [`NameIndex`](super::NameIndex).
    Index,
    /// Tests the names on set bits, found by inverting the first affine function.
    Invert,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 3] = [Way::Scan, Way::Index, Way::Invert];

    /// Returns the name used on the command line and in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Scan => "scan",
            Way::Index => "index",
            Way::Invert => "invert",
        }
    }
}

display_as_name!(Way);

/// The plan of a sampler or a reconstruction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// How members are drawn; for a reconstruction, always [`Method::List`].
    pub method: Method,
    /// How members are listed, if they are.
    pub way: Way,
    /// The number of names.
    pub names: u64,
    /// The expected number of members and items.
    pub estimate: Estimate,
    /// The number of candidates to examine, per draw or for the whole list.
    pub looks: f64,
    /// The number of names to test, per draw or for the whole list.
    pub tests: f64,
    /// The memory needed in bytes, not counting filters, names and index.
    pub bytes: u64,
    /// The reason for the choice, as text.
    pub why: String,
}

/// Costs in nanoseconds on one machine (`bench-compare sample` shows them); only their ratios
/// matter. Drawing a name at random:
const PROBED: f64 = 2.0;
/// Reading an entry of an index at random, which is a cache miss, and reading one of a bucket
/// in order:
const LOOKED_UP: f64 = 25.0;
const WALKED: f64 = 6.0;
/// Computing a number by inverting the hash, at random and in order:
const INVERTED: f64 = 20.0;
const LISTED: f64 = 12.0;

/// Finding a number in a part that is a list:
const SOUGHT: f64 = 100.0;

/// Testing a name in a batch, and in a scan. Finding a text means skipping over others.
fn test_costs(spelling: Spelling) -> (f64, f64) {
    match spelling {
        Spelling::Binary => (12.0, 8.0),
        Spelling::Decimal => (35.0, 20.0),
        Spelling::Text => (150.0, 25.0),
    }
}

/// The candidates examined and the tests that one way needs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    looks: f64,
    tests: f64,
    nanos: f64,
}

impl Cost {
    fn new(looks: f64, look: f64, tests: f64, test: f64) -> Self {
        Self {
            looks,
            tests,
            nanos: looks * look + tests * test,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            looks: self.looks * factor,
            tests: self.tests * factor,
            nanos: self.nanos * factor,
        }
    }
}

/// The facts on which the choice depends.
pub(super) struct Facts<'q> {
    query: &'q Query<'q>,
    names: u64,
    /// The number of index entries examined, if there is an index, and whether it stores second
    /// positions.
    indexed: Option<(f64, bool)>,
    /// The number of values that inversion tries per name, including those it yields no integer
    /// for.
    inverted: Option<f64>,
    estimate: Estimate,
    /// The cost of one test, in a batch and in a scan.
    test: (f64, f64),
    /// The cost of finding a number among the names.
    sought: f64,
}

impl<'q> Facts<'q> {
    pub(super) fn new(query: &'q Query<'q>, names: Names, domain: &Domain) -> Self {
        let index = index_of(names);
        // This assumes that items are spread evenly over the names.
        let share = domain.len as f64 / domain.namespace.len() as f64;
        let inverted = inverse_of(query).zip(domain.span.as_ref());
        let inverted = inverted.map(|(inverse, span)| match domain.len {
            0 => 1.0,
            names => inverse.looks(span) * query.params().bits() as f64 / names as f64,
        });
        Self {
            query,
            names: domain.len,
            indexed: index.map(|index| {
                let live = index.live_share(query.fill());
                (index.namespace().len() as f64 * live, index.has_second())
            }),
            test: test_costs(domain.namespace.spelling()),
            sought: SOUGHT * domain.namespace.lists() as f64,
            inverted,
            estimate: expected(query, domain.namespace).times(share),
        }
    }

    /// Returns the cost of going through all candidates.
    fn list(&self, way: Way) -> Option<Cost> {
        let (names, fill) = (self.names as f64, self.query.fill());
        Some(match way {
            Way::Scan => Cost::new(names, 0.0, names, self.test.1),
            Way::Index => {
                let (looks, second) = self.indexed?;
                let candidates = names * fill;
                // Members are always tested, other names only if their second bit happens to be
                // set.
                let members = self.estimate.members.min(candidates);
                let tests = match second {
                    true => members + (candidates - members) * fill,
                    false => candidates,
                };
                Cost::new(looks, WALKED, tests, self.test.0)
            }
            Way::Invert => {
                let looks = names * fill * self.inverted?;
                Cost::new(looks, LISTED + self.sought, names * fill, self.test.0)
            }
        })
    }

    /// Returns the cost of one draw.
    fn draw(&self, method: Method) -> Option<Cost> {
        let members = self.estimate.members.max(f64::MIN_POSITIVE);
        let way = match method {
            Method::Probe => {
                let names = self.names as f64;
                return Some(Cost::new(names, PROBED, names, self.test.0).times(1.0 / members));
            }
            Method::Index => Way::Index,
            Method::Invert => Way::Invert,
            Method::List => return None,
        };
        let all = self.list(way)?;
        let look = match way {
            Way::Index => LOOKED_UP,
            _ => INVERTED + self.sought,
        };
        Some(Cost::new(all.looks, look, all.tests, self.test.0).times(1.0 / members))
    }

    fn cheapest_list(&self) -> (Way, Cost) {
        let ways = Way::ALL.into_iter();
        let costs = ways.filter_map(|way| Some((way, self.list(way)?)));
        costs
            .min_by(|a, b| a.1.nanos.total_cmp(&b.1.nanos))
            .unwrap_or((Way::Scan, Cost::new(0.0, 0.0, 0.0, 0.0)))
    }

    /// Checks that a way is available, and otherwise says why not.
    fn check(&self, way: Way) -> Result<(), Error> {
        match way {
            Way::Index if self.indexed.is_none() => Err(Error::Closed {
                what: "there is no index of these names; build one and pass it instead of them"
                    .into(),
            }),
            Way::Invert if self.inverted.is_none() => Err(Error::Closed {
                what: format!(
                    "only affine functions can be inverted, and this filter's family is {}",
                    self.query.params().family().name()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Plans how to list all members.
    pub(super) fn plan_list(&self, wanted: Option<Way>) -> Result<Plan, Error> {
        let (way, cost) = match wanted {
            Some(way) => {
                self.check(way)?;
                (way, self.list(way).unwrap_or(self.cheapest_list().1))
            }
            None => self.cheapest_list(),
        };
        let why = match (wanted, way) {
            (Some(_), _) => "as requested".to_owned(),
            (None, Way::Scan) if self.indexed.is_none() => {
                let other = match self.inverted {
                    Some(_) => "inverting the hash would examine more numbers",
                    None => "with an index of the names, only those on set bits would be examined",
                };
                format!("no cheaper way is available: {other}")
            }
            (None, Way::Scan) => {
                "testing every name is cheaper than looking up those on set bits".into()
            }
            (None, way) => format!(
                "{} of the bits are set, and only names on them are examined{}",
                share(self.query.fill()),
                if way == Way::Index {
                    ", using the index"
                } else {
                    ", by inverting the hash"
                }
            ),
        };
        Ok(self.plan(Method::List, way, cost, 0, why))
    }

    /// Plans how to draw.
    pub(super) fn plan_draws(&self, options: &SampleOptions) -> Result<Plan, Error> {
        let draws = options.draws.max(1) as f64;
        let (way, list) = self.cheapest_list();
        let list_bytes = (self.estimate.members * 8.0) as u64;
        let drawn = [Method::Probe, Method::Index, Method::Invert];
        if let Some(method) = options.method {
            let needed = match method {
                Method::Probe | Method::List => Way::Scan,
                Method::Index => Way::Index,
                Method::Invert => Way::Invert,
            };
            self.check(needed)?;
            let (cost, bytes) = match self.draw(method) {
                Some(cost) => (cost, 0),
                None => (list.times(1.0 / draws), list_bytes),
            };
            return Ok(self.plan(method, way, cost, bytes, "as requested".into()));
        }
        let (method, cost) = drawn
            .into_iter()
            .filter_map(|method| Some((method, self.draw(method)?)))
            .min_by(|a, b| a.1.nanos.total_cmp(&b.1.nanos))
            .unwrap_or((Method::Probe, list));
        // Listing must be at least twice as cheap: it takes memory, and its cost is certain.
        if 2.0 * list.nanos < draws * cost.nanos && list_bytes <= options.memory {
            let why = format!(
                "listing all members is cheaper than {} by {}",
                match options.draws {
                    1 => "one draw".to_owned(),
                    draws => format!("{} draws", Grouped(draws)),
                },
                method.name()
            );
            return Ok(self.plan(Method::List, way, list.times(1.0 / draws), list_bytes, why));
        }
        let why = match method {
            Method::Probe if cost.looks < 1.5 => "nearly every name is a member".to_owned(),
            Method::Probe => format!("about one name in {:.0} is a member", cost.looks),
            _ => format!(
                "{} of the bits are set, and only names on them are drawn",
                share(self.query.fill())
            ),
        };
        Ok(self.plan(method, way, cost, 0, why))
    }

    fn plan(&self, method: Method, way: Way, cost: Cost, bytes: u64, why: String) -> Plan {
        Plan {
            method,
            way,
            names: self.names,
            estimate: self.estimate,
            looks: cost.looks,
            tests: cost.tests,
            bytes,
            why,
        }
    }
}

/// Returns the expected number of members and items. Affine functions distinguish names only
/// below their modulus: of the names with the same remainder, either all are accepted or none.
fn expected(query: &Query, namespace: &Namespace) -> Estimate {
    let names = namespace.len();
    let modulus = match query.params().family() {
        Family::Affine(functions) => functions.modulus(),
        _ => u64::MAX,
    };
    if names <= modulus {
        return query.estimate(names);
    }
    let alike = names as f64 / modulus as f64;
    let one = query.estimate(modulus);
    Estimate {
        members: one.members * alike,
        accuracy: one.accuracy / alike,
        ..one
    }
}

fn share(fill: f64) -> String {
    format!("{:.3}%", fill * 100.0)
}

//! Which candidate to recommend, and why.

use bloomgrove::raw::numbers::Counted;

use super::{Candidate, Goal, Structure};

/// Fewer hashes are worth this share of the bytes.
const FEWER_WORTH: f64 = 0.01;
/// This many times less memory is worth this share of the bytes.
const MEMORY_TIMES: u64 = 8;
const MEMORY_WORTH: f64 = 0.03;

/// The best candidate that is possible, or one that accesses fewer bits or needs far less memory and
/// is nearly as good.
pub(super) fn choose(candidates: &[Candidate], goal: Goal) -> Option<usize> {
    let possible = || (0..candidates.len()).filter(|&at| candidates[at].is_possible());
    let best = &candidates[possible().next()?];
    let near = |at: &usize, share: f64| {
        let candidate = &candidates[*at];
        match goal {
            Goal::Fpr(_) => candidate.wire_bytes as f64 <= best.wire_bytes as f64 * (1.0 + share),
            // Bytes are proportional to the logarithm of the rate.
            Goal::Bytes(_) => candidate.fpr.ln() <= best.fpr.ln() * (1.0 - share),
        }
    };
    let nearest = possible().filter(|at| near(at, FEWER_WORTH));
    let chosen = nearest.min_by_key(|&at| candidates[at].hashes)?;
    let most = candidates[chosen].memory_bytes / MEMORY_TIMES;
    let lighter = |at: &usize| near(at, MEMORY_WORTH) && candidates[*at].memory_bytes <= most;
    Some(possible().find(lighter).unwrap_or(chosen))
}

/// A sentence: how much better the candidate is than a standard filter, and why not the others.
pub(super) fn why(candidates: &[Candidate], best: usize, goal: Goal) -> String {
    let best = &candidates[best];
    let first = |wanted: fn(&Structure) -> bool| {
        candidates
            .iter()
            .find(|candidate| wanted(&candidate.structure))
    };
    let standard = first(|structure| matches!(structure, Structure::Standard(_)));
    let tree = first(|structure| matches!(structure, Structure::Tree(_)));
    let versus = |other: &Candidate| match goal {
        Goal::Fpr(_) => {
            let more = other.wire_bytes as f64 / best.wire_bytes as f64 - 1.0;
            match more >= 0.0 {
                true => format!("takes {:.1}% more bytes", more * 100.0),
                false => format!("takes only {:.1}% fewer bytes", -more * 100.0),
            }
        }
        Goal::Bytes(_) => {
            let times = other.fpr / best.fpr;
            match times >= 1.0 {
                true => format!("accepts {times:.2} times as many absent keys"),
                false => format!("accepts only {:.2} times fewer absent keys", 1.0 / times),
            }
        }
    };
    let mut parts = Vec::new();
    let mut others = Vec::new();
    if let (Structure::Compressed(params), Some(standard)) = (&best.structure, standard) {
        let (hashes, usual) = (u64::from(params.hashes()), standard.hashes);
        let bit = if hashes < usual { 0 } else { 1 };
        let hashes = Counted(hashes, "hash");
        parts.push(format!(
            "with {hashes} instead of {usual}, most bits are {bit}, so it compresses well"
        ));
    }
    match &best.structure {
        Structure::Standard(_) => parts.push("nothing else here is better by 1%".to_owned()),
        _ => others.extend(standard.map(|other| format!("a standard filter {}", versus(other)))),
    }
    match (&best.structure, tree) {
        (Structure::Tree(_), _) => {
            let other = |other: &&Candidate| {
                matches!(other.structure, Structure::Compressed(_)) && other.is_possible()
            };
            let other = candidates.iter().find(other);
            others.extend(other.map(|other| {
                let hashes = Counted(other.hashes, "hash");
                format!("a compressed filter with {hashes} {}", versus(other))
            }));
        }
        (_, Some(tree)) => {
            let mut about = Vec::new();
            if tree.hashes != best.hashes {
                about.push(format!("{} per key", Counted(tree.hashes, "hash")));
            }
            let times = tree.memory_bytes / best.memory_bytes.max(1);
            if times >= MEMORY_TIMES {
                about.push(format!("{times} times the memory"));
            }
            let about = match about.is_empty() {
                true => String::new(),
                false => format!(" ({})", about.join(", ")),
            };
            others.push(format!("the best BloomTree{about} {}", versus(tree)));
        }
        (_, None) => {}
    }
    if !others.is_empty() {
        parts.push(others.join(", and "));
    }
    let better = candidates.iter().take_while(|other| *other != best);
    let mut barred = better.filter_map(|other| other.excluded.as_ref().map(|why| (other, why)));
    if let Some((other, why)) = barred.next() {
        parts.push(format!(
            "a {} with {} would be better still, but {why}",
            other.structure.name(),
            Counted(other.hashes, "hash")
        ));
    }
    parts.join("; ")
}

//! Pareto fronts: points that cannot be improved in one objective without losing in another.
//!
//! ```text
//!   bytes
//!     |  o                     o  the front: no point is better in both
//!     |    o    x
//!     |      o     x           x  dominated: some o is below it and to its left
//!     |         o      x
//!     +------------------ rate
//! ```
//!
//! A point is a slice of numbers, one per objective, all to be minimized; there may be any number of
//! objectives.
//!
//! Source: Fu and Biersack (BloomTree), section 6.2, Eq. 15. It calls a point dominated only if another
//! is better in every objective; here, as usual, it is if another is better in one and worse in none.
//! Its third objective, the tree's size relative to a standard filter of the same rate, follows from
//! the other two and falls with each of them, so it does not change the front.

/// Whether `a` is better than `b` in some objective and worse in none.
///
/// ```
/// use bloomgrove_trees::bloom_tree::pareto::dominates;
///
/// assert!(dominates(&[1.0, 2.0], &[1.0, 3.0]));
/// assert!(!dominates(&[1.0, 3.0], &[2.0, 2.0]));
/// assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]));
/// ```
pub fn dominates(a: &[f64], b: &[f64]) -> bool {
    let worse = a.iter().zip(b).any(|(a, b)| a > b);
    let better = a.iter().zip(b).any(|(a, b)| a < b);
    better && !worse
}

/// The indexes of the points that no other dominates, in ascending order of the first objective. Of
/// equal points, the first counts.
pub fn front<P: AsRef<[f64]>>(points: &[P]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    // A point that dominates another comes before it in this order.
    order.sort_by(|&a, &b| compare(points[a].as_ref(), points[b].as_ref()));
    let mut front: Vec<usize> = Vec::new();
    for at in order {
        let point = points[at].as_ref();
        let beaten = front.iter().any(|&other| {
            let other = points[other].as_ref();
            other == point || dominates(other, point)
        });
        if !beaten {
            front.push(at);
        }
    }
    front
}

/// Objective by objective, the first that differs decides.
fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let differ = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    differ
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

/// How far `front` lags behind `other`: the smallest x for which every point of `other` has one of
/// `front` that is at most x worse in each objective. 0 or less if `front` misses nothing of `other`.
///
/// For logarithms it is a ratio: `lag(..).exp() - 1.0 <= 0.02` means that nothing of `other` is better
/// than `front` by more than 2%.
pub fn lag<P: AsRef<[f64]>, Q: AsRef<[f64]>>(front: &[P], other: &[Q]) -> f64 {
    let behind = |point: &[f64]| {
        let worst = |mine: &[f64]| {
            let worse = mine.iter().zip(point).map(|(mine, theirs)| mine - theirs);
            worse.fold(f64::NEG_INFINITY, f64::max)
        };
        let each = front.iter().map(|mine| worst(mine.as_ref()));
        each.fold(f64::INFINITY, f64::min)
    };
    let all = other.iter().map(|point| behind(point.as_ref()));
    all.fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn the_front_is_what_nobody_dominates() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for objectives in 1..=4 {
            // Few values, so that some are equal.
            let points: Vec<Vec<f64>> = (0..200)
                .map(|_| {
                    let value = |_| f64::from(random.random_range(0..12u32));
                    (0..objectives).map(value).collect()
                })
                .collect();
            let front = front(&points);
            for (i, point) in points.iter().enumerate() {
                let beaten = points.iter().any(|other| dominates(other, point));
                let kept = front.iter().any(|&at| points[at] == *point);
                assert_eq!(kept, !beaten, "{objectives} objectives, {point:?}");
                let copies = front.iter().filter(|&&at| points[at] == *point).count();
                assert!(copies <= 1, "{point:?} occurs {copies} times");
                assert!(!front.contains(&i) || points.iter().position(|p| p == point) == Some(i));
            }
            let firsts: Vec<f64> = front.iter().map(|&at| points[at][0]).collect();
            assert!(firsts.is_sorted());
        }
    }

    #[test]
    fn a_front_lags_by_what_it_misses() {
        let whole = [[1.0, 4.0], [2.0, 2.0], [4.0, 1.0]];
        assert_eq!(lag(&whole, &whole), 0.0);
        // Without its middle, the nearest is 2 worse in one objective.
        assert_eq!(lag(&[whole[0], whole[2]], &whole), 2.0);
        assert_eq!(lag(&whole, &[whole[0]]), 0.0);
        // Better everywhere: ahead.
        assert_eq!(lag(&[[0.5, 0.5]], &whole), -0.5);
        assert_eq!(lag::<[f64; 2], _>(&[], &whole), f64::INFINITY);
    }

    #[test]
    fn the_papers_third_objective_changes_no_front() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let two: Vec<[f64; 2]> = (0..500)
            .map(|_| {
                [
                    random.random_range(0.001..0.9),
                    random.random_range(0.1..9.0),
                ]
            })
            .collect();
        let three: Vec<[f64; 3]> = two
            .iter()
            .map(|&[fpr, bits]| [fpr, bits, bits / (fpr.ln() / 0.6185f64.ln())])
            .collect();
        assert_eq!(front(&two), front(&three));
    }
}

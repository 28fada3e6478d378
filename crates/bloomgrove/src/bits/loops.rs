//! The loops themselves, inlined into each backend so that each compiles them
//! with its own instruction set. Plain safe Rust: with AVX2 on, the compiler
//! turns the counts into byte shuffles.

#[inline(always)]
pub(super) fn count_by(a: &[u64], b: &[u64], op: impl Fn(u64, u64) -> u64) -> u64 {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| u64::from(op(x, y).count_ones()))
        .sum()
}

#[inline(always)]
pub(super) fn assign_by(a: &mut [u64], b: &[u64], op: impl Fn(u64, u64) -> u64) {
    for (x, &y) in a.iter_mut().zip(b) {
        *x = op(*x, y);
    }
}

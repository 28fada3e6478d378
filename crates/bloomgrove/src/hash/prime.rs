//! Primes of up to 64 bits, for the affine family and for prime sizes.

/// Returns whether `n` is prime. Exact: with these twelve bases, the Miller-Rabin test is
/// deterministic for every n below 2^64.
pub(crate) fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for base in BASES {
        if n.is_multiple_of(base) {
            return n == base;
        }
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&base| {
        let mut x = power(base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = multiply(x, x, n);
            x == n - 1
        })
    })
}

/// Returns the first prime that is at least `n`, or `None` above the largest 64-bit prime.
pub fn first_prime_from(n: u64) -> Option<u64> {
    (n..=u64::MAX).find(|&candidate| is_prime(candidate))
}

fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    base %= modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base, modulus);
        }
        base = multiply(base, base, modulus);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_trial_division() {
        for n in 0..20_000u64 {
            let naive = n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0);
            assert_eq!(is_prime(n), naive, "{n}");
        }
    }

    #[test]
    fn knows_large_primes_and_the_composites_that_fool_weaker_tests() {
        for prime in [(1 << 61) - 1, 18_446_744_073_709_551_557] {
            assert!(is_prime(prime));
        }
        for composite in [
            3_215_031_751,
            3_474_749_660_383,
            341_550_071_728_321,
            u64::MAX,
        ] {
            assert!(!is_prime(composite));
        }
    }

    #[test]
    fn the_first_prime_from_a_number() {
        assert_eq!(first_prime_from(0), Some(2));
        assert_eq!(first_prime_from(24), Some(29));
        assert_eq!(first_prime_from(29), Some(29));
        assert_eq!(first_prime_from(u64::MAX), None);
    }
}

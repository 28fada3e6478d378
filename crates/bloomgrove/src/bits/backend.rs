//! One loop, compiled twice.
//!
//! ```text
//!                         run(|| loop)
//!                        /            \
//!        the loop as written      the loop inside a function with
//!        (any machine)            AVX2, BMI and popcnt enabled
//! ```
//!
//! A closure that is inlined into a function with more instructions enabled is compiled with
//! those instructions. So every loop is plain Rust, written once, and only this file deals with
//! instruction sets.

/// The instruction set to run a loop with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Backend {
    /// The target's baseline; always available.
    Scalar,
    /// AVX2 and the instructions that come with it.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

impl Backend {
    /// Returns the fastest backend of this machine.
    #[inline]
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::new() {
            return Backend::Avx2(avx2);
        }
        Backend::Scalar
    }

    /// Returns all backends of this machine, for tests.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        match Self::best() {
            Backend::Scalar => vec![Backend::Scalar],
            #[cfg(target_arch = "x86_64")]
            best => vec![Backend::Scalar, best],
        }
    }

    /// Runs `task`, which must be a closure marked `#[inline(always)]` that calls only
    /// functions marked the same: whatever is not inlined is compiled for the baseline.
    #[inline(always)]
    pub(super) fn run<R>(self, task: impl FnOnce() -> R) -> R {
        self.call(
            #[inline(always)]
            |(), (), ()| task(),
            (),
            (),
            (),
        )
    }

    /// Like [`run`](Self::run), with three arguments that stay in registers. The captures of a
    /// closure go through memory, which is noticeable for a single key: 1 ns of 13.
    #[inline(always)]
    pub(super) fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
        match self {
            Backend::Scalar => task(a, b, c),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(avx2) => avx2.call(task, a, b, c),
        }
    }
}

/// Proof that this machine has the instructions: only [`Avx2::new`] creates one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline]
    fn new() -> Option<Self> {
        // Four feature checks in the standard library cost as much as a probe, so the result is
        // cached.
        static THERE: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
        });
        THERE.then_some(Self(()))
    }

    #[inline(always)]
    fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<A, B, C, R>(task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
            task(a, b, c)
        }
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { featured(task, a, b, c) }
    }
}

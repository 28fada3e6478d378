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

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The instruction set to run a loop with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Backend {
    /// The target's baseline; always available.
    Scalar,
    /// AVX2 and the instructions that come with it.
    #[cfg(target_arch = "x86_64")]
    Avx2(Fast),
}

impl Backend {
    /// Returns the fastest backend of this machine.
    #[inline]
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(fast) = Fast::new() {
            return Backend::Avx2(fast);
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
        match self {
            Backend::Scalar => task(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(fast) => fast.call(
                #[inline(always)]
                |(), (), ()| task(),
                (),
                (),
                (),
            ),
        }
    }
}

/// Proof that this machine has the instructions that single keys are compiled with: only [`Fast::new`]
/// creates one. On x86-64 they are those of [`Backend::Avx2`], elsewhere the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fast(());

#[cfg(not(target_arch = "x86_64"))]
impl Fast {
    pub(crate) fn new() -> Option<Self> {
        Some(Self(()))
    }

    #[inline(always)]
    pub(super) fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
        task(a, b, c)
    }
}

#[cfg(target_arch = "x86_64")]
impl Fast {
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        // Four feature checks in the standard library cost as much as a probe, so the result is
        // cached; in a `LazyLock`, it would take twice as many instructions to read.
        static THERE: AtomicU8 = AtomicU8::new(UNKNOWN);
        const UNKNOWN: u8 = 0;
        const NO: u8 = 1;
        const YES: u8 = 2;
        #[cold]
        #[inline(never)]
        fn detect() -> u8 {
            let there = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            let found = if there { YES } else { NO };
            THERE.store(found, Relaxed);
            found
        }
        let found = match THERE.load(Relaxed) {
            UNKNOWN => detect(),
            known => known,
        };
        (found == YES).then_some(Self(()))
    }

    /// Calls `task`, which must be a closure as for [`Backend::run`], with three arguments that stay in
    /// registers: the captures of a closure go through memory.
    #[inline(always)]
    pub(super) fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn featured<A, B, C, R>(task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
            task(a, b, c)
        }
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { featured(task, a, b, c) }
    }
}

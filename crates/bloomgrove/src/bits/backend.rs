//! One loop, compiled three times.
//!
//! ```text
//!                               run(|| loop)
//!                     /              |               \
//!        the loop as written     the loop inside a function with more instructions
//!        (any machine)           AVX2, BMI, popcnt     these and AVX-512
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
    Avx2(Avx2),
    /// AVX-512 as processors have it that do not slow down for it: from Ice Lake and Zen 4 on.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Backend {
    /// Returns the fastest backend of this machine.
    #[inline]
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        match Level::of_machine() {
            Level::AVX512 => return Backend::Avx512(Avx512(())),
            Level::AVX2 => return Backend::Avx2(Avx2(())),
            _ => {}
        }
        Backend::Scalar
    }

    /// Returns all backends of this machine, for tests.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        match Self::best() {
            Backend::Scalar => vec![Backend::Scalar],
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(_) => vec![Backend::Scalar, Backend::Avx2(Avx2(()))],
            #[cfg(target_arch = "x86_64")]
            best => vec![Backend::Scalar, Backend::Avx2(Avx2(())), best],
        }
    }

    /// Runs `task`, which must be a closure marked `#[inline(always)]` that calls only
    /// functions marked the same: whatever is not inlined is compiled for the baseline.
    #[inline(always)]
    pub(super) fn run<R>(self, task: impl FnOnce() -> R) -> R {
        match self {
            Backend::Scalar => task(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(avx2) => avx2.call(
                #[inline(always)]
                |(), (), ()| task(),
                (),
                (),
                (),
            ),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(avx512) => avx512.call(
                #[inline(always)]
                |(), (), ()| task(),
                (),
                (),
                (),
            ),
        }
    }

    /// Like [`run`](Self::run) for a single key: with three arguments that stay in registers, as
    /// the captures of a closure go through memory.
    #[inline(always)]
    pub(super) fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
        match self {
            Backend::Scalar => plain(task, a, b, c),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(avx2) => avx2.call(task, a, b, c),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(avx512) => avx512.call(task, a, b, c),
        }
    }
}

/// Not inlined, so that the caller's registers are there for the other backends.
#[inline(never)]
fn plain<A, B, C, R>(task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
    task(a, b, c)
}

/// Which instructions this machine has.
#[cfg(target_arch = "x86_64")]
struct Level;

#[cfg(target_arch = "x86_64")]
impl Level {
    const UNKNOWN: u8 = 0;
    const BASELINE: u8 = 1;
    const AVX2: u8 = 2;
    const AVX512: u8 = 3;

    #[inline]
    fn of_machine() -> u8 {
        // The feature checks of the standard library cost as much as a probe, so the result is
        // cached; in a `LazyLock`, it would take twice as many instructions to read.
        static LEVEL: AtomicU8 = AtomicU8::new(Level::UNKNOWN);
        #[cold]
        #[inline(never)]
        fn detect() -> u8 {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq");
            let level = match (avx2, avx512) {
                (false, _) => Level::BASELINE,
                (true, false) => Level::AVX2,
                (true, true) => Level::AVX512,
            };
            LEVEL.store(level, Relaxed);
            level
        }
        match LEVEL.load(Relaxed) {
            Self::UNKNOWN => detect(),
            known => known,
        }
    }
}

/// Defines the proof that this machine has some instructions: only [`Backend::best`] creates one.
#[cfg(target_arch = "x86_64")]
macro_rules! proof {
    ($name:ident, $features:literal) => {
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name(());

        impl $name {
            #[inline(always)]
            fn call<A, B, C, R>(self, task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
                #[target_feature(enable = $features)]
                fn featured<A, B, C, R>(task: impl FnOnce(A, B, C) -> R, a: A, b: B, c: C) -> R {
                    task(a, b, c)
                }
                // SAFETY: `self` exists, so the processor has the instructions.
                unsafe { featured(task, a, b, c) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
proof!(Avx2, "avx2,bmi1,bmi2,popcnt");
#[cfg(target_arch = "x86_64")]
proof!(
    Avx512,
    "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq"
);

//! Keys: anything with one portable encoding in bytes.

/// A key: bytes, text, or an integer as its little-endian bytes.
///
/// `usize` is omitted on purpose: its width depends on the machine, and a filter must mean the
/// same everywhere. Two values with the same bytes are the same key: `"a"`, `b"a"` and `97u8`
/// are one key, `5u32` and `5u64` are two (except for the affine family, which reads integers).
///
/// ```
/// use bloomgrove::{Filter, Params};
///
/// let mut filter = Filter::new(Params::for_items(100, 0.01)?)?;
/// filter.insert("text");
/// filter.insert(&7u64);
/// assert!(filter.contains(b"text"));
/// assert!(filter.contains(&7u64.to_le_bytes()));
/// # Ok::<(), bloomgrove::Error>(())
/// ```
pub trait Key {
    /// Calls `with` on the bytes of this key.
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R;
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Key for $int {
            #[inline(always)]
            fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
                with(&self.to_le_bytes())
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

impl Key for [u8] {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(self)
    }
}

impl<const N: usize> Key for [u8; N] {
    // Separate from the slice implementation, so that the hash is compiled for this length.
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(self)
    }
}

impl Key for str {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(self.as_bytes())
    }
}

impl Key for String {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(self.as_bytes())
    }
}

impl Key for Vec<u8> {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        with(self)
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline(always)]
    fn with_bytes<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(with)
    }
}

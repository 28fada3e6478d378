//! Words in memory, which can be changed, or in a mapped file, which cannot.

use super::MappedWords;
use crate::Error;
use crate::bits::Words;

#[derive(Debug)]
pub(crate) enum Store {
    Owned(Words),
    Mapped(MappedWords),
}

impl Store {
    pub(crate) fn zeroed(len: usize) -> Result<Self, Error> {
        Words::zeroed(len).map(Store::Owned)
    }

    /// Returns the words for modification; `None` if they are in a mapped file.
    #[inline]
    pub(crate) fn owned(&mut self) -> Option<&mut [u64]> {
        match self {
            Store::Owned(words) => Some(words.as_mut()),
            Store::Mapped(_) => None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.as_ref().len() as u64 * 8
    }
}

impl AsRef<[u64]> for Store {
    #[inline(always)]
    fn as_ref(&self) -> &[u64] {
        match self {
            Store::Owned(words) => words.as_ref(),
            Store::Mapped(words) => words.as_ref(),
        }
    }
}

//! What answering takes: the work done, and the keys asked for together.

/// What answering took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Filters (of a tree: nodes) that were tested, 64 at a time where they lie so.
    pub(super) tested: u64,
    /// Words of 64 bits that were read.
    pub(super) words: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.tested += other.tested;
        self.words += other.words;
    }
}

/// Several keys' positions, one key's behind the other's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) positions: &'a [u64],
    pub(super) hashes: usize,
}

impl<'a> Batch<'a> {
    /// Looks at blocks that may have all positions of a key: `look(block, positions)` says
    /// which of its filters do, and those that do are handed to `each(key, block, found)`.
    pub(super) fn look_at(
        self,
        candidates: &[(u32, u32)],
        look: impl Fn(usize, &[u64]) -> u64,
        mut each: impl FnMut(usize, usize, u64),
    ) {
        for &(key, block) in candidates {
            let (key, block) = (key as usize, block as usize);
            let found = look(block, &self.positions[key * self.hashes..][..self.hashes]);
            if found != 0 {
                each(key, block, found);
            }
        }
    }

    pub(super) fn keys(self) -> impl Iterator<Item = &'a [u64]> {
        self.positions.chunks_exact(self.hashes)
    }
}

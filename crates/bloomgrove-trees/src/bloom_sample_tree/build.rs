//! Building: every name is hashed once, into its leaf; the other nodes are ORs.
//!
//! ```text
//!   slots   0 | 1 2 | 3 4 5 6        level by level, so that a level's filters are one
//!          root        leaves        slice of words, and their parents' the slice before
//! ```
//!
//! Leaves share no words, so all processors fill them in parallel; then, level by level and again in
//! parallel, each parent becomes the OR of its halves. The paper (section 5.2) inserts every name at
//! every level instead, which hashes it depth + 1 times.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Span;
use super::nodes::{Below, Node, Nodes};
use bloomgrove::Key;
use bloomgrove::raw::bits;
use bloomgrove::raw::hash::each_position;
use bloomgrove::{Error, MAX_HASHES, Params};

/// The fewest words that justify a thread.
const WORDS_PER_THREAD: usize = 1 << 14;
/// Pieces per thread, so that all threads finish at about the same time.
const PIECES_PER_THREAD: usize = 16;

/// The nodes of a tree, level by level, before their filters are filled.
pub(super) struct Frame {
    nodes: Nodes,
    /// Where each level begins.
    starts: Vec<usize>,
}

/// The complete tree: every name of the span.
pub(super) fn complete(params: &Params, span: &Span) -> Result<Nodes, Error> {
    Ok(Frame::complete(params, span)?.hashed(params, span))
}

/// The tree of these names, which are in ascending order and within the span.
pub(super) fn pruned(params: &Params, span: &Span, names: &[u64]) -> Result<Nodes, Error> {
    Ok(Frame::pruned(params, span, names)?.hashed(params, span))
}

impl Frame {
    /// The nodes of the complete tree.
    pub(super) fn complete(params: &Params, span: &Span) -> Result<Self, Error> {
        let too_large = || Error::OutOfMemory { bytes: u64::MAX };
        let leaves = usize::try_from(span.leaves()).map_err(|_| too_large())?;
        let count = leaves.checked_mul(2).ok_or_else(too_large)? - 1;
        let mut nodes = Nodes::with_room(params, count)?;
        for slot in 0..leaves - 1 {
            let halves = [2 * slot + 1, 2 * slot + 2].map(NonZeroUsize::new);
            nodes.push(Node::new(0, Below::Halves(halves)));
        }
        for leaf in 0..span.leaves() {
            let range = span.range(span.depth, leaf);
            nodes.push(Node::new(range.end - range.start, Below::Range));
        }
        let starts = (0..=span.depth).map(|level| (1 << level) - 1).collect();
        Ok(Self { nodes, starts })
    }

    /// The nodes of the tree of these names, which are in ascending order and within the span.
    pub(super) fn pruned(params: &Params, span: &Span, names: &[u64]) -> Result<Self, Error> {
        let (mut numbers, mut runs) = (Vec::new(), Vec::new());
        let mut rest = names;
        while let Some(&first) = rest.first() {
            let leaf = span.leaf(first);
            let end = span.range(span.depth, leaf).end;
            let (run, others) = rest.split_at(rest.partition_point(|&name| name < end));
            numbers.push(leaf);
            runs.push(run);
            rest = others;
        }
        // The numbers of the nodes that exist, level by level from the leaves up.
        let mut levels = vec![Vec::new(); span.depth as usize + 1];
        for level in levels.iter_mut().rev() {
            let above = numbers
                .chunk_by(|a, b| a / 2 == b / 2)
                .map(|pair| pair[0] / 2);
            let above = above.collect();
            *level = std::mem::replace(&mut numbers, above);
        }

        let count = levels.iter().map(Vec::len).sum();
        let mut nodes = Nodes::with_room(params, count)?;
        let mut starts = Vec::new();
        // In a level in order, the halves are in order, too.
        let mut next = 1;
        for pair in levels.windows(2) {
            starts.push(nodes.len());
            let mut below = pair[1].iter().peekable();
            for &number in &pair[0] {
                let mut half = |number: u64| {
                    below.next_if_eq(&&number)?;
                    let slot = NonZeroUsize::new(next);
                    next += 1;
                    slot
                };
                let halves = [half(2 * number), half(2 * number + 1)];
                nodes.push(Node::new(0, Below::Halves(halves)));
            }
        }
        starts.push(nodes.len());
        for run in runs {
            nodes.push(Node::new(run.len() as u64, Below::Names(run.to_vec())));
        }
        Ok(Self { nodes, starts })
    }

    /// Where the leaves begin.
    fn leaves(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// How many leaves there are.
    pub(super) fn leaf_count(&self) -> usize {
        self.nodes.len() - self.leaves()
    }

    /// The filters and nodes of the leaves.
    pub(super) fn leaves_mut(&mut self) -> (&mut [u64], &mut [Node]) {
        let (leaves, width) = (self.leaves(), self.nodes.width());
        let (words, list) = self.nodes.all_mut();
        (&mut words[leaves * width..], &mut list[leaves..])
    }

    /// Hashes every name into its leaf, and combines the leaves.
    fn hashed(mut self, params: &Params, span: &Span) -> Nodes {
        let width = params.words();
        let (words, list) = self.leaves_mut();
        let pieces = Pieces::of(words.len(), list.len());
        let leaf_words = words.chunks_mut(width * pieces.size);
        let leaf_nodes = list.chunks_mut(pieces.size);
        pieces.each(
            leaf_words.zip(leaf_nodes).zip(0u64..),
            |((words, nodes), piece)| {
                let numbers = piece * pieces.size as u64..;
                for ((words, node), number) in words.chunks_exact_mut(width).zip(nodes).zip(numbers)
                {
                    // Not by `leaf_names`: a chain costs 3 to 5 % of the whole build.
                    node.least = match &node.below {
                        Below::Names(names) => insert_all(params, words, names.iter().copied()),
                        _ => insert_all(params, words, span.range(span.depth, number)),
                    };
                    node.ones = bits::count(words);
                }
            },
        );
        self.joined()
    }

    /// Makes every node above the filled leaves the OR of its halves.
    pub(super) fn joined(mut self) -> Nodes {
        let width = self.nodes.width();
        let mut end = self.leaves();
        let (words, list) = self.nodes.all_mut();
        for &start in self.starts.iter().rev().skip(1) {
            let (words, lower_words) = words.split_at_mut(end * width);
            let (nodes, lower_nodes) = list.split_at_mut(end);
            let pieces = Pieces::of((end - start) * width, end - start);
            let level_words = words[start * width..].chunks_mut(width * pieces.size);
            let level_nodes = nodes[start..].chunks_mut(pieces.size);
            pieces.each(level_words.zip(level_nodes), |(words, nodes)| {
                for (words, node) in words.chunks_exact_mut(width).zip(nodes) {
                    for half in node.halves().map(|slot| slot - end) {
                        bits::or_assign(words, &lower_words[half * width..(half + 1) * width]);
                        node.names += lower_nodes[half].names;
                        node.least = node.least.min(lower_nodes[half].least);
                    }
                    node.ones = bits::count(words);
                }
            });
            end = start;
        }
        self.nodes
    }
}

impl Node {
    /// The names of a leaf: those that it lists, or all of its range.
    pub(super) fn leaf_names(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let (range, listed) = match &self.below {
            Below::Names(names) => (0..0, &names[..]),
            _ => (range, &[][..]),
        };
        range.chain(listed.iter().copied())
    }
}

/// Inserts names into a filter. Returns the fewest distinct bits that one of them sets: below k for
/// a name with two equal positions.
pub(super) fn insert_all(
    params: &Params,
    words: &mut [u64],
    names: impl Iterator<Item = u64>,
) -> u32 {
    let mut least = params.hashes() as usize;
    let mut distinct = [0; MAX_HASHES as usize];
    for name in names {
        let mut len = 0;
        name.with_bytes(|bytes| {
            each_position(params, bytes, |position| {
                bits::set(words, position);
                if !distinct[..len].contains(&position) {
                    distinct[len] = position;
                    len += 1;
                }
                true
            })
        });
        least = least.min(len);
    }
    least as u32
}

/// A level divided into pieces, for as many threads as it justifies.
struct Pieces {
    threads: usize,
    /// Nodes in a piece.
    size: usize,
}

impl Pieces {
    fn of(words: usize, nodes: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (words / WORDS_PER_THREAD).clamp(1, processors);
        Self {
            threads,
            size: (nodes / (threads * PIECES_PER_THREAD)).max(1),
        }
    }

    /// Runs `work` for every piece; each thread continues with the next one when it is done.
    fn each<T>(&self, pieces: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
        let pieces = Mutex::new(pieces);
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let run = || {
            while let Some(piece) = next() {
                work(piece);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                // If the system creates no more threads, the existing ones do all the work.
                let _ = thread::Builder::new().spawn_scoped(scope, run);
            }
            run();
        });
    }
}

//! Which edges close a cycle, and the distance of each block from the start.

/// A walk along all edges: finds those that close a cycle, and an order in which all others go
/// forward.
pub(super) struct Walk {
    pub(super) turned: Vec<bool>,
    pub(super) order: Vec<usize>,
    /// When each block was reached.
    pub(super) seen: Vec<usize>,
}

impl Walk {
    pub(super) fn new(blocks: usize, edges: &[(usize, usize)], starts: &[usize]) -> Self {
        let mut from = vec![Vec::new(); blocks];
        for (edge, &(a, b)) in edges.iter().enumerate() {
            if a != b {
                from[a].push((edge, b));
            }
        }
        let mut turned = vec![false; edges.len()];
        let mut left = Vec::with_capacity(blocks);
        let mut seen = vec![usize::MAX; blocks];
        let mut done = vec![false; blocks];
        let mut next = 0;
        // No recursion: chains may be long.
        for start in starts.iter().copied().chain(0..blocks) {
            if seen[start] != usize::MAX {
                continue;
            }
            seen[start] = next;
            next += 1;
            let mut path = vec![(start, 0)];
            while let Some((block, tried)) = path.last_mut() {
                let Some(&(edge, to)) = from[*block].get(*tried) else {
                    done[*block] = true;
                    left.push(*block);
                    path.pop();
                    continue;
                };
                *tried += 1;
                if seen[to] == usize::MAX {
                    seen[to] = next;
                    next += 1;
                    path.push((to, 0));
                } else if !done[to] {
                    turned[edge] = true;
                }
            }
        }
        left.reverse();
        Self {
            turned,
            order: left,
            seen,
        }
    }
}

/// The longest path to each block from a block without incoming edges.
pub(super) fn levels(walk: &Walk, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut from = vec![Vec::new(); walk.order.len()];
    for (&(a, b), &turned) in edges.iter().zip(&walk.turned) {
        if a != b {
            let (a, b) = if turned { (b, a) } else { (a, b) };
            from[a].push(b);
        }
    }
    let mut level = vec![0; walk.order.len()];
    for &block in &walk.order {
        for &to in &from[block] {
            level[to] = level[to].max(level[block] + 1);
        }
    }
    level
}

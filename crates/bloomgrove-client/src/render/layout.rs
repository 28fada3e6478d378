//! Where the parts of a picture go: a layered drawing of a directed graph.
//!
//! ```text
//!   level 0     1        2          blocks in columns, every edge from left to right
//!    [a] ---- [b] ---- [d]          (but one of each cycle), each as early as it can be
//!       \               /
//!        `---- . ------'            an edge past a column goes through a bend in it
//! ```
//!
//! Four steps, each as simple as it can be: edges that close a cycle are turned round (found by a
//! walk from the starts on); levels are the longest way from a start; each column is ordered by
//! the mean place of its neighbours, there and back some times, and the order with the fewest
//! crossings is kept; in this order, each block goes as near to the mean height of its neighbours
//! as the others let it, by least squares.
//!
//! The same graph gives the same drawing. Cost: V + E and the bends, times the logarithm for
//! sorting, times a fixed number of rounds. Edges that would need more than `MOST_BENDS` bends are
//! drawn straight across, and no longer care what they cross.

/// Bends of all edges together at most.
const MOST_BENDS: usize = 20_000;
/// How often columns are ordered, and then moved.
const ORDER_ROUNDS: usize = 10;
const MOVE_ROUNDS: usize = 24;
/// Above and below each block, and each bend.
const BLOCK_ROOM: f64 = 9.0;
const BEND_ROOM: f64 = 8.0;
/// Between columns: as steep as the edges there need it.
const NARROWEST: f64 = 44.0;
const WIDEST: f64 = 150.0;
const STEEPNESS: f64 = 0.14;

/// What takes up room. Edges meet it `port` below its top, on the left at its side, on the right at
/// its `face`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) width: f64,
    pub(super) face: f64,
    pub(super) height: f64,
    pub(super) port: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// The upper left corner of each block.
    pub(super) corners: Vec<Point>,
    /// The points that each edge passes, from its first to its second end; none for those that end
    /// where they begin.
    pub(super) routes: Vec<Vec<Point>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An edge, and how much room it needs between two columns if it goes from one to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) room: f64,
}

/// Which way edges go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Right,
    Left,
}

/// Places blocks, with edges all one way as far as can be. Cycles are entered at the `starts`, in
/// their order.
pub(super) fn place(blocks: &[Block], ties: &[Tie], starts: &[usize], way: Way) -> Placed {
    if blocks.is_empty() {
        return Placed::default();
    }
    let edges: Vec<(usize, usize)> = ties.iter().map(|tie| (tie.from, tie.to)).collect();
    let walk = Walk::new(blocks.len(), &edges, starts);
    let level = levels(&walk, &edges);
    let mut grid = Grid::new(blocks, &edges, &walk, &level);
    grid.order();
    grid.shift();
    grid.draw(blocks, ties, &level, way)
}

/// A walk along all edges: which of them close a cycle, and an order in which all others go
/// forward.
struct Walk {
    turned: Vec<bool>,
    order: Vec<usize>,
    /// When each block was come upon.
    seen: Vec<usize>,
}

impl Walk {
    fn new(blocks: usize, edges: &[(usize, usize)], starts: &[usize]) -> Self {
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

/// The longest way to each block from where none leads to.
fn levels(walk: &Walk, edges: &[(usize, usize)]) -> Vec<usize> {
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

/// Blocks and bends in columns, from top to bottom. Those numbered beyond the blocks are bends.
struct Grid {
    columns: Vec<Vec<usize>>,
    /// Above and below the port.
    room: Vec<(f64, f64)>,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The bends of each edge, by level.
    bends: Vec<Vec<usize>>,
    /// The height of each port.
    y: Vec<f64>,
    blocks: usize,
}

impl Grid {
    fn new(blocks: &[Block], edges: &[(usize, usize)], walk: &Walk, level: &[usize]) -> Self {
        let most = level.iter().copied().max().unwrap_or(0);
        let mut by_walk: Vec<usize> = (0..blocks.len()).collect();
        by_walk.sort_by_key(|&block| walk.seen[block]);
        let mut grid = Self {
            columns: vec![Vec::new(); most + 1],
            room: blocks
                .iter()
                .map(|one| (one.port + BLOCK_ROOM, one.height - one.port + BLOCK_ROOM))
                .collect(),
            before: vec![Vec::new(); blocks.len()],
            after: vec![Vec::new(); blocks.len()],
            bends: Vec::with_capacity(edges.len()),
            y: Vec::new(),
            blocks: blocks.len(),
        };
        for block in by_walk {
            grid.columns[level[block]].push(block);
        }
        for &(a, b) in edges {
            let (a, b) = if level[a] <= level[b] { (a, b) } else { (b, a) };
            let mut bends = Vec::new();
            let between = (level[b] - level[a]).saturating_sub(1);
            if a != b && grid.room.len() - grid.blocks + between <= MOST_BENDS {
                let mut last = a;
                for column in level[a] + 1..level[b] {
                    let bend = grid.room.len();
                    grid.room.push((BEND_ROOM, BEND_ROOM));
                    grid.before.push(Vec::new());
                    grid.after.push(Vec::new());
                    grid.columns[column].push(bend);
                    grid.join(last, bend);
                    bends.push(bend);
                    last = bend;
                }
                grid.join(last, b);
            }
            grid.bends.push(bends);
        }
        grid
    }

    fn join(&mut self, left: usize, right: usize) {
        self.after[left].push(right);
        self.before[right].push(left);
    }

    /// Orders each column by the mean place of the neighbours in the column beside it.
    fn order(&mut self) {
        let mut place = vec![0; self.room.len()];
        number(&self.columns, &mut place);
        let mut best = (self.crossings(&place), self.columns.clone());
        for round in 0..ORDER_ROUNDS {
            if best.0 == 0 {
                break;
            }
            let forward = round % 2 == 0;
            let all = self.columns.len();
            for step in 1..all {
                let (column, beside) = match forward {
                    true => (step, step - 1),
                    false => (all - 1 - step, all - step),
                };
                let scale = self.columns[beside].len() as f64 / self.columns[column].len() as f64;
                let near = if forward { &self.before } else { &self.after };
                let mut keyed: Vec<(f64, usize)> = self.columns[column]
                    .iter()
                    .map(|&cell| {
                        let own = place[cell] as f64 * scale;
                        (
                            mean(&near[cell], |one| place[one] as f64).unwrap_or(own),
                            cell,
                        )
                    })
                    .collect();
                keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
                for (at, (_, cell)) in keyed.into_iter().enumerate() {
                    self.columns[column][at] = cell;
                    place[cell] = at;
                }
            }
            let crossings = self.crossings(&place);
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    /// How many pairs of edges cross: pairs between two columns whose ends are in opposite orders,
    /// counted by a tree of sums.
    fn crossings(&self, place: &[usize]) -> u64 {
        let mut all = 0;
        for (column, next) in self.columns.iter().zip(self.columns.iter().skip(1)) {
            let mut sums = vec![0_u64; next.len() + 1];
            let mut passed = 0;
            for &cell in column {
                let mut ends: Vec<usize> = self.after[cell].iter().map(|&to| place[to]).collect();
                ends.sort_unstable();
                for &end in &ends {
                    let mut at = end + 1;
                    let mut above = 0;
                    while at > 0 {
                        above += sums[at];
                        at &= at - 1;
                    }
                    all += passed - above;
                }
                for &end in &ends {
                    let mut at = end + 1;
                    while at < sums.len() {
                        sums[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                    passed += 1;
                }
            }
        }
        all
    }

    /// Moves everything up and down towards its neighbours, in the order that it has.
    fn shift(&mut self) {
        self.y = vec![0.0; self.room.len()];
        for column in 0..self.columns.len() {
            let tall: f64 = self.columns[column]
                .iter()
                .map(|&cell| self.room[cell].0 + self.room[cell].1)
                .sum();
            let mut top = -tall / 2.0;
            for &cell in &self.columns[column] {
                self.y[cell] = top + self.room[cell].0;
                top += self.room[cell].0 + self.room[cell].1;
            }
        }
        let all = self.columns.len();
        for round in 0..MOVE_ROUNDS {
            for step in 0..all {
                let forward = round % 2 == 0;
                let column = if forward { step } else { all - 1 - step };
                // In the end both sides count.
                let both = round + 2 >= MOVE_ROUNDS;
                let wishes: Vec<(f64, f64)> = self.columns[column]
                    .iter()
                    .map(|&cell| {
                        let y = |one: usize| self.y[one];
                        let before = mean(&self.before[cell], y).filter(|_| forward || both);
                        let after = mean(&self.after[cell], y).filter(|_| !forward || both);
                        let weight = if cell < self.blocks { 1.0 } else { 2.0 };
                        match (before, after) {
                            (Some(one), Some(other)) => ((one + other) / 2.0, weight),
                            (Some(one), None) | (None, Some(one)) => (one, weight),
                            (None, None) => (self.y[cell], 0.1),
                        }
                    })
                    .collect();
                self.settle(column, &wishes);
            }
        }
    }

    /// Gives each of a column the height it wishes for, as far as they do not overlap: least
    /// squares in a given order, by pooling neighbours that are in each other's way.
    fn settle(&mut self, column: usize, wishes: &[(f64, f64)]) {
        struct Pool {
            sum: f64,
            weight: f64,
            cells: usize,
        }
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(wishes.len());
        let mut pools: Vec<Pool> = Vec::new();
        for (at, (&cell, &(wish, weight))) in self.columns[column].iter().zip(wishes).enumerate() {
            if at > 0 {
                offset += self.room[self.columns[column][at - 1]].1 + self.room[cell].0;
            }
            offsets.push(offset);
            let mut pool = Pool {
                sum: (wish - offset) * weight,
                weight,
                cells: 1,
            };
            while let Some(above) = pools.last() {
                if above.sum / above.weight <= pool.sum / pool.weight {
                    break;
                }
                pool.sum += above.sum;
                pool.weight += above.weight;
                pool.cells += above.cells;
                pools.pop();
            }
            pools.push(pool);
        }
        let mut cells = self.columns[column].iter().zip(&offsets);
        for pool in &pools {
            for (&cell, offset) in cells.by_ref().take(pool.cells) {
                self.y[cell] = pool.sum / pool.weight + offset;
            }
        }
    }

    /// Heights and columns as points.
    fn draw(&self, blocks: &[Block], ties: &[Tie], level: &[usize], way: Way) -> Placed {
        let tops = (0..self.blocks).map(|block| self.y[block] - blocks[block].port);
        let bends = self.y[self.blocks..].iter().copied();
        let top = tops
            .clone()
            .chain(bends.clone())
            .fold(f64::INFINITY, f64::min);
        let bottoms = tops.zip(blocks).map(|(top, block)| top + block.height);
        let bottom = bottoms.chain(bends).fold(f64::NEG_INFINITY, f64::max);
        let (sides, width) = self.sides(blocks, ties, level, way);
        let corners: Vec<Point> = (0..self.blocks)
            .map(|block| Point {
                x: sides[level[block]].0,
                y: self.y[block] - blocks[block].port - top,
            })
            .collect();
        let route = |(at, tie): (usize, &Tie)| {
            if tie.from == tie.to {
                return Vec::new();
            }
            // From the left end to the right one.
            let turned = (level[tie.from] > level[tie.to]) == (way == Way::Right);
            let (first, last) = match turned {
                true => (tie.to, tie.from),
                false => (tie.from, tie.to),
            };
            let point = |x: f64, cell: usize| Point {
                x,
                y: self.y[cell] - top,
            };
            let mut points = vec![
                point(corners[first].x + blocks[first].face, first),
                point(sides[level[first]].1, first),
            ];
            let mut across: Vec<[Point; 2]> = self.bends[at]
                .iter()
                .zip(level[first].min(level[last]) + 1..)
                .map(|(&bend, level)| [point(sides[level].0, bend), point(sides[level].1, bend)])
                .collect();
            if way == Way::Left {
                across.reverse();
            }
            points.extend(across.into_iter().flatten());
            points.push(point(corners[last].x, last));
            points.dedup();
            if turned {
                points.reverse();
            }
            points
        };
        Placed {
            routes: ties.iter().enumerate().map(route).collect(),
            width,
            height: bottom - top,
            corners,
        }
    }

    /// Where each column begins and ends, and the width of all.
    fn sides(
        &self,
        blocks: &[Block],
        ties: &[Tie],
        level: &[usize],
        way: Way,
    ) -> (Vec<(f64, f64)>, f64) {
        let mut room = vec![NARROWEST; self.columns.len()];
        for tie in ties {
            let first = level[tie.from].min(level[tie.to]);
            if level[tie.from].abs_diff(level[tie.to]) == 1 {
                room[first] = room[first].max(tie.room);
            }
        }
        let mut x = 0.0;
        let mut sides = Vec::with_capacity(self.columns.len());
        for (column, room) in self.columns.iter().zip(room) {
            let own = column.iter().filter(|&&cell| cell < self.blocks);
            let wide = own.map(|&block| blocks[block].width).fold(0.0, f64::max);
            sides.push((x, x + wide));
            let steepest = column
                .iter()
                .flat_map(|&cell| self.after[cell].iter().map(move |&to| (cell, to)))
                .map(|(cell, to)| (self.y[cell] - self.y[to]).abs())
                .fold(0.0, f64::max);
            x += wide + (NARROWEST + steepest * STEEPNESS).min(WIDEST).max(room);
        }
        let width = sides.last().map_or(0.0, |side| side.1);
        if way == Way::Left {
            for side in &mut sides {
                *side = (width - side.1, width - side.0);
            }
        }
        (sides, width)
    }
}

fn number(columns: &[Vec<usize>], place: &mut [usize]) {
    for column in columns {
        for (at, &cell) in column.iter().enumerate() {
            place[cell] = at;
        }
    }
}

fn mean(cells: &[usize], of: impl Fn(usize) -> f64) -> Option<f64> {
    (!cells.is_empty())
        .then(|| cells.iter().map(|&cell| of(cell)).sum::<f64>() / cells.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    const BLOCK: Block = Block {
        width: 100.0,
        face: 100.0,
        height: 40.0,
        port: 20.0,
    };

    fn drawn(blocks: &[Block], edges: &[(usize, usize)], starts: &[usize], way: Way) -> Placed {
        let tie = |&(from, to): &(usize, usize)| Tie {
            from,
            to,
            room: 0.0,
        };
        let ties: Vec<Tie> = edges.iter().map(tie).collect();
        place(blocks, &ties, starts, way)
    }

    fn levels_of(placed: &Placed) -> Vec<usize> {
        let mut columns: Vec<i64> = placed.corners.iter().map(|one| one.x as i64).collect();
        columns.sort_unstable();
        columns.dedup();
        placed
            .corners
            .iter()
            .map(|one| columns.binary_search(&(one.x as i64)).unwrap())
            .collect()
    }

    #[test]
    fn a_chain_is_a_straight_line() {
        let placed = drawn(&[BLOCK; 4], &[(0, 1), (1, 2), (2, 3)], &[0], Way::Right);
        assert_eq!(levels_of(&placed), [0, 1, 2, 3]);
        assert!(placed.corners.iter().all(|one| one.y.abs() < 1e-6));
        assert_eq!(placed.height, 40.0);
    }

    #[test]
    fn edges_past_a_column_leave_room_for_what_is_in_it() {
        let placed = drawn(&[BLOCK; 3], &[(0, 1), (1, 2), (0, 2)], &[0], Way::Right);
        assert_eq!(levels_of(&placed), [0, 1, 2]);
        let middle = placed.corners[1];
        for point in &placed.routes[2] {
            let beside = point.x >= middle.x && point.x <= middle.x + BLOCK.width;
            let within = point.y > middle.y && point.y < middle.y + BLOCK.height;
            assert!(!(beside && within), "{point:?} in {middle:?}");
        }
    }

    #[test]
    fn needless_crossings_are_undone() {
        // Two sources whose targets come in the wrong order.
        let placed = drawn(
            &[BLOCK; 5],
            &[(4, 0), (4, 1), (0, 3), (1, 2)],
            &[4],
            Way::Right,
        );
        let above = |a: usize, b: usize| placed.corners[a].y < placed.corners[b].y;
        assert_eq!(above(0, 1), above(3, 2));
    }

    #[test]
    fn cycles_and_loops_are_drawn_too() {
        let placed = drawn(
            &[BLOCK; 3],
            &[(0, 1), (1, 2), (2, 0), (1, 1)],
            &[1],
            Way::Right,
        );
        assert_eq!(levels_of(&placed), [2, 0, 1]);
        let first = placed.routes[0].first().unwrap();
        let last = placed.routes[0].last().unwrap();
        assert!(first.x > last.x, "the edge that closes the cycle goes back");
        assert!(placed.routes[3].is_empty());
    }

    #[test]
    fn large_graphs_take_no_time() {
        let blocks = vec![BLOCK; 3000];
        let start = Instant::now();
        let edges: Vec<_> = (1..3000)
            .flat_map(|to| [(to / 3, to), (to / 2, to)])
            .collect();
        assert!(drawn(&blocks, &edges, &[0], Way::Right).height > 10_000.0);
        // A chain that jumps: each edge across half of it would need a million bends.
        let edges: Vec<_> = (1..3000)
            .flat_map(|to| [(to - 1, to), (to / 2, to)])
            .collect();
        assert!(drawn(&blocks, &edges, &[0], Way::Right).width > 300_000.0);
        assert!(
            start.elapsed() < Duration::from_secs(8),
            "{:?}",
            start.elapsed()
        );
    }

    proptest! {
        #[test]
        fn no_blocks_overlap_and_routes_join_them(
            sizes in prop::collection::vec((20.0..200.0, 20.0..90.0), 1..30),
            ends in prop::collection::vec((0..1000_usize, 0..1000_usize), 0..60),
            start in 0..1000_usize,
            left in any::<bool>(),
        ) {
            let blocks: Vec<_> = sizes
                .iter()
                .map(|&(width, height)| Block { width, height, face: width / 2.0, port: height / 3.0 })
                .collect();
            let edges: Vec<_> =
                ends.iter().map(|(a, b)| (a % blocks.len(), b % blocks.len())).collect();
            let way = if left { Way::Left } else { Way::Right };
            let placed = drawn(&blocks, &edges, &[start % blocks.len()], way);
            let all: Vec<_> = blocks.iter().zip(&placed.corners).collect();
            for (at, (one, a)) in all.iter().enumerate() {
                prop_assert!(a.x >= 0.0 && a.x + one.width <= placed.width + 1e-6);
                prop_assert!(a.y >= -1e-6 && a.y + one.height <= placed.height + 1e-6);
                for (other, b) in &all[..at] {
                    let apart = a.x + one.width <= b.x + 1e-6
                        || b.x + other.width <= a.x + 1e-6
                        || a.y + one.height <= b.y + 1e-6
                        || b.y + other.height <= a.y + 1e-6;
                    prop_assert!(apart, "{a:?} {one:?} {b:?} {other:?}");
                }
            }
            for (&(a, b), route) in edges.iter().zip(&placed.routes) {
                if a == b {
                    prop_assert!(route.is_empty());
                    continue;
                }
                for (end, block) in [(route.first(), a), (route.last(), b)] {
                    let end = end.unwrap();
                    let corner = placed.corners[block];
                    prop_assert!((end.y - corner.y - blocks[block].port).abs() < 1e-6);
                    let side = [corner.x, corner.x + blocks[block].face];
                    prop_assert!(side.iter().any(|x| (end.x - x).abs() < 1e-6));
                }
            }
        }
    }
}

//! A layered drawing of a directed graph.
//!
//! ```text
//!   level 0     1        2          blocks in columns, every edge from left to right
//!    [a] ---- [b] ---- [d]          (except one per cycle), each as far left as possible
//!       \               /
//!        `---- . ------'            an edge that skips a column has a bend in it
//! ```
//!
//! Four steps, each as simple as possible. Edges that close a cycle are reversed (found by a walk from the starts); levels are
//! the longest path from a start; each column is ordered by the mean position of its neighbours, back and forth several
//! times, and the order with the fewest crossings is kept; in this order, each block is placed as near to the mean height of
//! its neighbours as the others permit, by least squares.
//!
//! The same graph always yields the same drawing. Cost: V + E plus the number of bends, times a logarithm for sorting, times a
//! fixed number of rounds. Edges beyond a total of `MOST_BENDS` bends are drawn straight, whatever they cross.

#[cfg(test)]
mod tests;
mod walk;

use walk::{Walk, levels};

/// Maximum number of bends of all edges.
const MOST_BENDS: usize = 20_000;
/// How often columns are ordered, and then moved.
const ORDER_ROUNDS: usize = 10;
const MOVE_ROUNDS: usize = 24;
/// Space above and below each block, and each bend.
const BLOCK_ROOM: f64 = 9.0;
const BEND_ROOM: f64 = 8.0;
/// Space between columns, depending on how steep the edges are.
const NARROWEST: f64 = 44.0;
const WIDEST: f64 = 150.0;
const STEEPNESS: f64 = 0.14;

/// A block of the drawing. Edges meet it `port` below its top: on the left at its side, on the right at its `face`.
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

/// The positions of everything.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// The upper left corner of each block.
    pub(super) corners: Vec<Point>,
    /// The points of each edge, from its first to its second end; none for edges that end
    /// where they start.
    pub(super) routes: Vec<Vec<Point>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An edge, and the space it needs between two columns if it connects neighbouring ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) room: f64,
}

/// The direction of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Right,
    Left,
}

/// Places blocks, with all edges in one direction as far as possible. Cycles are entered at the `starts`, in their order.
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

/// Blocks and bends in columns, from top to bottom. Numbers after those of the blocks are bends.
struct Grid {
    columns: Vec<Vec<usize>>,
    /// Space above and below the port.
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

    /// Orders each column by the mean position of the neighbours in the adjacent column.
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

    /// The number of crossings: pairs of edges between two columns whose ends are in opposite orders, counted with a tree of
    /// sums.
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

    /// Moves everything up and down towards its neighbours, without changing the order.
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

    /// Gives each element of a column the desired height, as far as they do not overlap: least squares with a given order, by
    /// pooling adjacent elements that collide.
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

    /// Converts heights and columns to points.
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

    /// The start and end of each column, and the total width.
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

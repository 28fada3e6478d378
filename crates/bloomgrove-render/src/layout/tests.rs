//! Small graphs are drawn correctly, random ones without overlaps, large ones in time.

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
    // Two sources whose targets are in the wrong order.
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
    // A chain with jumps: an edge across half of it would need a million bends.
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

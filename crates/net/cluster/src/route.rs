//! Routes: the next node of a message that does not go straight to its destination.
//!
//! With P nodes, a node that sends to all directly aggregates for P - 1 destinations, in frames
//! that stay nearly empty. In a grid, a message corrects one coordinate per hop: each node
//! aggregates for the nodes of its own row, column (and file) only.

use std::fmt;

/// The way of messages through the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Straight.
    Direct,
    /// Through a square: at most two hops, and about 2 √P destinations.
    Square,
    /// Through a cube: at most three hops, and about 3 ∛P destinations.
    Cube,
}

impl Route {
    /// All, the shortest way first.
    pub const ALL: [Route; 3] = [Route::Direct, Route::Square, Route::Cube];

    /// Returns its name: `direct`, `2d` or `3d`.
    pub fn name(self) -> &'static str {
        match self {
            Route::Direct => "direct",
            Route::Square => "2d",
            Route::Cube => "3d",
        }
    }

    /// Returns the most hops that a message takes.
    pub fn dimensions(self) -> u32 {
        match self {
            Route::Direct => 1,
            Route::Square => 2,
            Route::Cube => 3,
        }
    }

    /// The smallest side of a square or cube that holds so many nodes.
    fn side(self, nodes: u32) -> u32 {
        let holds = |side: u32| u64::from(side).pow(self.dimensions()) >= u64::from(nodes);
        // As bits: the side is at most 2^32 to the power of 1 / dimensions, so the loop is short.
        let mut side = 1_u32 << (nodes.max(1).ilog2() / self.dimensions());
        while !holds(side) {
            side += 1;
        }
        side
    }

    /// A router for so many nodes.
    pub fn router(self, nodes: u32) -> Router {
        Router { dimensions: self.dimensions(), side: self.side(nodes), nodes }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The route of a cluster, and of how many nodes its grid is: what all nodes have to agree on, and
/// refuse each other over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    route: Route,
    /// 0 without a grid.
    nodes: u32,
}

impl Grid {
    /// All go straight.
    pub const DIRECT: Grid = Grid { route: Route::Direct, nodes: 0 };

    /// The nodes from 0 on, so many. Others go straight, as all do by [`Route::Direct`].
    pub fn new(route: Route, nodes: u32) -> Self {
        if route == Route::Direct { Self::DIRECT } else { Grid { route, nodes } }
    }

    /// Returns the way of messages.
    pub fn route(&self) -> Route {
        self.route
    }

    /// Returns the number of its nodes, which is 0 if all messages go straight.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Where a message for `to` goes from `at`.
    pub fn next(&self, at: u32, to: u32) -> u32 {
        if at.max(to) >= self.nodes { to } else { self.route.router(self.nodes).next(at, to) }
    }

    /// Whether frames go straight between the two, either way.
    pub fn are_neighbours(&self, a: u32, b: u32) -> bool {
        a != b && (self.next(a, b) == b || self.next(b, a) == a)
    }

    /// Whether what `from` has sent to `to` comes to `at` from its neighbour `through`: by the
    /// usual way, or straight from a node of that way to its end.
    pub(crate) fn may_bring(&self, through: u32, from: u32, to: u32, at: u32) -> bool {
        if from.max(to).max(at) >= self.nodes || from == at {
            return false;
        }
        let mut passed = from;
        for _ in 0..self.route.dimensions() {
            if passed == to {
                break;
            }
            let next = self.next(passed, to);
            if passed == through && (next == at || to == at) {
                return true;
            }
            passed = next;
        }
        false
    }

    pub(crate) fn to_bytes(self) -> [u8; 5] {
        let [a, b, c, d] = self.nodes.to_le_bytes();
        let route = Route::ALL.iter().position(|&route| route == self.route).unwrap_or_default();
        [route as u8, a, b, c, d]
    }

    pub(crate) fn of_bytes([route, a, b, c, d]: [u8; 5]) -> Option<Self> {
        let route = *Route::ALL.get(usize::from(route))?;
        Some(Grid { route, nodes: u32::from_le_bytes([a, b, c, d]) })
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.route {
            Route::Direct => write!(f, "{}", self.route),
            _ => write!(f, "{} among {} nodes", self.route, self.nodes),
        }
    }
}

/// A [`Route`] through so many nodes, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    dimensions: u32,
    side: u32,
    nodes: u32,
}

impl Router {
    /// Where a message for `to` goes from `at`. Each hop corrects the lowest coordinate that
    /// differs and whose correction leads to a node that there is: the last row (and file) of the
    /// grid may be short. If none does, it goes straight.
    pub fn next(&self, at: u32, to: u32) -> u32 {
        let mut place = 1;
        for _ in 0..self.dimensions {
            let (here, there) = (at / place % self.side, to / place % self.side);
            // No overflow: both lie within the grid, whose last place may lie a bit above u32 only
            // for more nodes than any cluster has.
            let next = u64::from(at - here * place) + u64::from(there) * u64::from(place);
            if here != there && next < u64::from(self.nodes) {
                return next as u32;
            }
            place = place.saturating_mul(self.side);
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn a_square_and_a_cube_bound_the_destinations() {
        for (route, nodes, most) in
            [(Route::Direct, 100, 99), (Route::Square, 10_000, 198), (Route::Cube, 8_000, 57)]
        {
            let router = route.router(nodes);
            for at in [0, 17, nodes - 1] {
                let next: BTreeSet<u32> =
                    (0..nodes).filter(|&to| to != at).map(|to| router.next(at, to)).collect();
                assert_eq!(next.len(), most, "{route}, {at}");
            }
        }
    }

    /// Hops that a message waits for at each hop, for all pairs: whoever waits for capacity at the
    /// next node keeps capacity from those behind, so a cycle could stop for ever. (The last hop
    /// waits for nobody: what arrives is put into mailboxes.)
    fn has_cycle(grid: Grid) -> bool {
        let mut waits: BTreeMap<(u32, u32), BTreeSet<(u32, u32)>> = BTreeMap::new();
        for (from, to) in (0..grid.nodes).flat_map(|a| (0..grid.nodes).map(move |b| (a, b))) {
            let (mut at, mut before) = (from, None);
            while at != to {
                let hop = (at, grid.next(at, to));
                waits.entry(hop).or_default();
                if let Some(before) = before.replace(hop) {
                    waits.entry(before).or_default().insert(hop);
                }
                at = hop.1;
            }
        }
        // Taken away one after the other: those that wait for nobody (any more). What stays is on a
        // cycle, or waits for one.
        loop {
            let free: BTreeSet<(u32, u32)> =
                waits.iter().filter(|(_, on)| on.is_empty()).map(|(&hop, _)| hop).collect();
            if free.is_empty() {
                return !waits.is_empty();
            }
            waits.retain(|hop, _| !free.contains(hop));
            waits.values_mut().for_each(|on| on.retain(|hop| !free.contains(hop)));
        }
    }

    /// Also where the last row or file is short, and a message takes its coordinates in another
    /// order.
    #[test]
    fn no_hops_wait_for_each_other_in_a_circle() {
        for route in [Route::Square, Route::Cube] {
            for nodes in (1..=40).chain([48, 63, 64, 65, 80]) {
                assert!(!has_cycle(Grid::new(route, nodes)), "{route}, {nodes}");
            }
        }
    }

    #[test]
    fn a_grid_crosses_the_wire() {
        for grid in [Grid::DIRECT, Grid::new(Route::Square, 70_000), Grid::new(Route::Cube, 27)] {
            assert_eq!(Grid::of_bytes(grid.to_bytes()), Some(grid));
        }
        assert_eq!(Grid::of_bytes([3, 0, 0, 0, 0]), None);
        assert_eq!(Grid::new(Route::Cube, 27).to_string(), "3d among 27 nodes");
        assert_eq!(Grid::new(Route::Direct, 27).to_string(), "direct");
    }

    #[test]
    fn each_hop_is_between_neighbours_and_outside_all_are() {
        for route in Route::ALL {
            for nodes in [2, 7, 9, 10, 27, 31] {
                let grid = Grid::new(route, nodes);
                for (at, to) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                    assert!(at == to || grid.are_neighbours(at, grid.next(at, to)));
                }
                assert!(grid.are_neighbours(0, nodes) && grid.are_neighbours(nodes + 4, 1));
            }
        }
    }

    proptest! {
        #[test]
        fn every_message_arrives_in_as_many_hops_as_there_are_dimensions(
            nodes in 1_u32..3_000, at: u32, to: u32, route in 0..3_usize
        ) {
            let (mut at, to, route) = (at % nodes, to % nodes, Route::ALL[route]);
            let router = route.router(nodes);
            let mut hops = 0;
            while at != to {
                at = router.next(at, to);
                prop_assert!(at < nodes);
                hops += 1;
            }
            prop_assert!(hops <= router.dimensions);
        }

        /// Also where the last row is short.
        #[test]
        fn no_node_has_many_destinations(nodes in 2_u32..2_000, at: u32) {
            let at = at % nodes;
            for route in [Route::Square, Route::Cube] {
                let router = route.router(nodes);
                let next: BTreeSet<u32> =
                    (0..nodes).filter(|&to| to != at).map(|to| router.next(at, to)).collect();
                prop_assert!(next.len() as u32 <= 2 * router.dimensions * router.side);
            }
        }
    }
}

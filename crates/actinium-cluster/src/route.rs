//! Which node a message goes to next, when it does not go straight.
//!
//! With P nodes, a node that sends to all directly gathers for P - 1 destinations, in frames that stay nearly empty. In a grid, a message corrects one
//! coordinate per hop: each node gathers for the nodes of its own row, column (and file) only.

use std::fmt;

/// How messages go through the nodes.
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

    /// What it is called: `direct`, `2d`, `3d`.
    pub fn name(self) -> &'static str {
        match self {
            Route::Direct => "direct",
            Route::Square => "2d",
            Route::Cube => "3d",
        }
    }

    fn dimensions(self) -> u32 {
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

/// A [`Route`] through so many nodes, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    dimensions: u32,
    side: u32,
    nodes: u32,
}

impl Router {
    /// Where a message for `to` goes from `at`. Each hop corrects the lowest coordinate that differs and whose correction leads to a node that
    /// there is: the last row (and file) of the grid may be short. If none does, it goes straight.
    pub fn next(&self, at: u32, to: u32) -> u32 {
        let mut place = 1;
        for _ in 0..self.dimensions {
            let (here, there) = (at / place % self.side, to / place % self.side);
            // No overflow: both lie within the grid, whose last place may lie a bit above u32 only for more nodes than any cluster has.
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
    use std::collections::BTreeSet;

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

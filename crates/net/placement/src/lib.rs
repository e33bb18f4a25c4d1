//! Places actors by their traffic: actors that talk to each other come to lie on one node.
//!
//! Each node has a [`Partitioner`]. It is a state machine without clock, thread or socket: whoever
//! runs it tells it which actors live on the node, reports sampled messages, begins rounds, and
//! carries its [`Offer`]s and [`Answer`]s to other nodes. The cluster does so for real nodes, and
//! the simulator for a thousand of them.
//!
//! In a round, a node looks which of its actors talk more with one other node than with their own.
//! It offers them to the node with which an exchange saves most. That node chooses among the
//! offered actors and its own, one after the other, always the one whose move saves most, as long
//! as the two nodes keep about as many actors each. Then both move what was chosen.
//!
//! The way of exchanging is that of Orleans' activation repartitioning, which follows A. Newell et
//! al., "Optimizing Distributed Actor Systems for Dynamic Interactive Services" (EuroSys 2016), and
//! F. Rahimian et al., "JA-BE-JA: A Distributed Algorithm for Balanced Graph Partitioning" (SASO
//! 2013). The updates of gains are those of B. Kernighan and S. Lin, "An Efficient Heuristic
//! Procedure for Partitioning Graphs" (1970). Edges are counted by [`Sketch`].
//!
//! ```
//! use actinium_placement::{Actor, End, Partitioner, Rules};
//!
//! let rules = Rules { move_cost: 10, ..Rules::default() };
//! let mut here: Partitioner<u32> = Partitioner::new(0, rules.clone(), 1);
//! let mut there: Partitioner<u32> = Partitioner::new(1, rules, 1);
//! here.appeared(7, Actor::default());
//! there.appeared(8, Actor::default());
//! for _ in 0..100 {
//!     here.sent(7, End::Actor(8), 1, 1);
//! }
//! let (peer, offer) = here.round().expect("actor 7 talks with one of node 1 only");
//! let answer = there.offered(0, &offer)?;
//! assert_eq!((peer, &answer.take[..], &answer.give[..]), (1, &[7][..], &[][..]));
//! assert_eq!(here.answered(1, &answer)?, [7], "this is to move now");
//! # Ok::<(), actinium_placement::Refusal>(())
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod candidates;
mod decide;
mod exchange;
mod graph;
mod partitioner;
mod rules;
mod sketch;
mod stats;

pub use decide::{Decision, decide};
pub use exchange::{Answer, Candidate, Given, Offer, Refusal};
pub use graph::Graph;
pub use partitioner::{Actor, Partitioner};
pub use rules::{BadRule, Rules};
pub use sketch::{Edge, End, Sketch, Weighed};
pub use stats::Stats;

//! Clusters of many nodes that exchange actors, so that those that talk lie on one node.
//!
//! The nodes decide by [`actinium_placement`], as those of a real cluster do. Nothing of it is
//! written twice. What is simulated: actors, who sends to whom, the sampling of messages, and
//! rounds, in which the nodes have their turns in an order that the seed draws. An exchange takes
//! no time, and messages are neither late nor lost.
//!
//! ```
//! use actinium_sim::placement::{GraphKind, Settings, place};
//!
//! let settings = Settings { nodes: 8, rounds: 60, ..Settings::new(GraphKind::Communities) };
//! let figures = place(&settings)?;
//! assert!(figures.crossings_before > 0.8 && figures.crossings_after < 0.2);
//! # Ok::<(), actinium_placement::BadRule>(())
//! ```

mod graph;
mod settings;
mod world;

pub use actinium_placement::{BadRule, Rules};
pub use graph::GraphKind;
pub(crate) use graph::{Graph, Random};
pub use settings::Settings;
use world::World;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The number of actors.
    pub actors: u64,
    /// The share of messages that cross between nodes before the first round. Of
    /// [`GraphKind::Changing`], the mean over all graphs, each when it begins.
    pub crossings_before: f64,
    /// The same after the last round, or before the graph changes.
    pub crossings_after: f64,
    /// The same after each tenth of the rounds.
    pub crossings: Vec<f64>,
    /// The number of moves.
    pub moves: u64,
    /// The most moves of one actor.
    pub moves_of_one_max: u32,
    /// The number of exchanges in which something moved.
    pub exchanges: u64,
    /// The number of offers, those that were refused included.
    pub offers: u64,
    /// The number of offers that a busy node refused.
    pub refused: u64,
    /// The last round in which something moved, counted from 1.
    pub last_move: u32,
    /// The fewest actors of a node, and the most, after the last round.
    pub load_min: u64,
    /// See `load_min`.
    pub load_max: u64,
}

impl Figures {
    /// The mean number of moves of an actor.
    #[must_use]
    pub fn moves_per_actor(&self) -> f64 {
        self.moves as f64 / self.actors.max(1) as f64
    }

    /// The messages of the exchange protocol for each move: an offer and its answer, or refusal,
    /// are two. `None` if nothing moved.
    #[must_use]
    pub fn messages_per_move(&self) -> Option<f64> {
        (self.moves > 0).then(|| 2.0 * self.offers as f64 / self.moves as f64)
    }
}

/// Simulates a cluster.
///
/// # Errors
/// If the rules make no sense.
pub fn place(settings: &Settings) -> Result<Figures, BadRule> {
    settings.rules.check()?;
    let mut world = World::new(settings);
    let (mut before, mut after) = (vec![world.crossings()], Vec::new());
    let mut crossings = Vec::new();
    for round in 1..=settings.rounds {
        if world.graph.changes(round - 1, settings.change_every) {
            after.push(world.crossings());
            world.change();
            before.push(world.crossings());
        }
        world.round(round);
        if u64::from(round) * 10 % u64::from(settings.rounds) < 10 {
            crossings.push(world.crossings());
        }
    }
    after.push(world.crossings());
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let loads = world.loads();
    Ok(Figures {
        actors: world.at.len() as u64,
        crossings_before: mean(&before),
        crossings_after: mean(&after),
        crossings,
        moves: world.moves.iter().map(|&moves| u64::from(moves)).sum(),
        moves_of_one_max: world.moves.iter().copied().max().unwrap_or(0),
        exchanges: world.exchanges,
        offers: world.sum(|stats| stats.offers),
        refused: world.sum(|stats| stats.refused_here),
        last_move: world.last_move,
        load_min: loads.iter().copied().min().unwrap_or(0),
        load_max: loads.iter().copied().max().unwrap_or(0),
    })
}

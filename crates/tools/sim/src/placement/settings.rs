//! What is to be simulated.

use super::graph::GraphKind;
use actinium_placement::Rules;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who talks with whom.
    pub graph: GraphKind,
    /// The number of nodes, 1 or more.
    pub nodes: u32,
    /// The number of actors of each node at the beginning.
    pub actors_per_node: u32,
    /// The number of messages that each actor sends in a round.
    pub messages: u32,
    /// One of so many messages is looked at.
    pub sample_every: u32,
    /// The number of rounds.
    pub rounds: u32,
    /// Of [`GraphKind::Changing`]: after so many rounds all talk with others.
    pub change_every: u32,
    /// The rules of the nodes.
    pub rules: Rules,
    /// Decides everything that is random.
    pub seed: u64,
}

impl Settings {
    /// 100 nodes of 100 actors, for 200 rounds.
    #[must_use]
    pub fn new(graph: GraphKind) -> Self {
        Settings {
            graph,
            nodes: 100,
            actors_per_node: 100,
            messages: 160,
            sample_every: 16,
            rounds: 200,
            change_every: 100,
            rules: Rules::default(),
            seed: 42,
        }
    }
}

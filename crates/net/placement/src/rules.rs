//! The settings of a partitioner.

use std::fmt;

/// The settings of a [`Partitioner`](crate::Partitioner).
///
/// Weights are messages as the sketch remembers them: a steady rate of `n` messages in a round has
/// a weight of `n · 100 / (100 - retained_percent)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The number of edges that the sketch remembers: of more, those with few messages are
    /// forgotten. Default: 8,192.
    pub edges_max: usize,
    /// The part of a weight that is left after a round, in percent, below 100. The smaller it is,
    /// the faster the past is forgotten. Default: 50.
    pub retained_percent: u32,
    /// What a move costs, as a weight: an actor moves only if that saves more. It keeps actors from
    /// moving for the noise of sampling. Default: 64.
    pub move_cost: u64,
    /// The number of actors that a node gives, and that it takes, in one exchange. Default: 64.
    pub moves_max: usize,
    /// The difference that exchanges may make between the numbers of actors of two nodes, in
    /// percent of their mean. Default: 10.
    pub imbalance_percent: u32,
    /// The same as a number of actors: the larger bound holds. Default: 2.
    pub imbalance_min: u64,
    /// The number of exchanges, with different nodes, that a node may have in a round. The actors
    /// of one group may be scattered over many nodes: with few exchanges they take long to meet.
    /// Default: 16.
    pub exchanges_max: u32,
    /// The number of rounds that a node rests after a round with `exchanges_max` exchanges.
    /// Default: 1.
    pub cooldown_rounds: u32,
    /// The number of rounds for which an actor that has moved stays. It is doubled, six times at
    /// most, if the actor moves again soon afterwards. Default: 4.
    pub rest_rounds: u32,
    /// The number of edges in an offer, which bounds its length. The heaviest ones are told.
    /// Default: 320.
    pub offer_edges_max: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            edges_max: 8192,
            retained_percent: 50,
            move_cost: 64,
            moves_max: 64,
            imbalance_percent: 10,
            imbalance_min: 2,
            exchanges_max: 16,
            cooldown_rounds: 1,
            rest_rounds: 4,
            offer_edges_max: 320,
        }
    }
}

/// A setting with a value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: u64,
    /// The values that are allowed.
    pub allowed: &'static str,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadRule { setting, value, allowed } = self;
        write!(f, "{setting}: {value} is not allowed: {allowed}")
    }
}

impl std::error::Error for BadRule {}

impl Rules {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first that is not allowed.
    pub fn check(&self) -> Result<(), BadRule> {
        let bad = |setting, value, allowed| Err(BadRule { setting, value, allowed });
        if !(1..=1 << 20).contains(&self.edges_max) {
            return bad("edges_max", self.edges_max as u64, "1 to 1048576");
        }
        if self.retained_percent > 99 {
            return bad("retained_percent", self.retained_percent.into(), "0 to 99");
        }
        if !(1..=4096).contains(&self.moves_max) {
            return bad("moves_max", self.moves_max as u64, "1 to 4096");
        }
        if !(1..=1024).contains(&self.exchanges_max) {
            return bad("exchanges_max", self.exchanges_max.into(), "1 to 1024");
        }
        if self.rest_rounds > 1 << 20 {
            return bad("rest_rounds", self.rest_rounds.into(), "0 to 1048576");
        }
        if self.move_cost > 1 << 40 {
            return bad("move_cost", self.move_cost, "0 to 1099511627776");
        }
        if !(1..=1 << 20).contains(&self.offer_edges_max) {
            return bad("offer_edges_max", self.offer_edges_max as u64, "1 to 1048576");
        }
        Ok(())
    }

    /// The difference that exchanges may make between the numbers of actors of two nodes. An
    /// exchange of nodes that differ more makes the difference no larger.
    #[must_use]
    pub fn imbalance_max(&self, here: u64, there: u64) -> u64 {
        // In 128 bits: another node says how many it has.
        let share = u128::from(here) + u128::from(there);
        let share = share * u128::from(self.imbalance_percent) / 200;
        u64::try_from(share).unwrap_or(u64::MAX).max(self.imbalance_min)
    }
}

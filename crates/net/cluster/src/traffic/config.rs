//! The settings of repartitioning.

use crate::link::BadConfig;
use actinium_placement::Rules;
use std::time::Duration;

/// How a node exchanges actors with others, so that those that talk lie on one node: see
/// [`NodeConfig::repartition`](crate::NodeConfig::repartition).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepartitionConfig {
    /// Of so many messages that actors that move send, one is looked at, on average: it stands for
    /// all of them. 1 looks at each. Default: 16.
    pub sample_every: u32,
    /// The time from one round to the next. In a round a node has at most
    /// [`exchanges_max`](Rules::exchanges_max) exchanges, each with another node. Default: 10 s.
    pub round: Duration,
    /// What is exchanged: bounds, costs and rests.
    pub rules: Rules,
}

impl Default for RepartitionConfig {
    fn default() -> Self {
        RepartitionConfig {
            sample_every: 16,
            round: Duration::from_secs(10),
            rules: Rules::default(),
        }
    }
}

impl RepartitionConfig {
    pub(crate) fn check(&self) -> Result<(), BadConfig> {
        let bad = |setting, value, allowed: &str| {
            Err(BadConfig { setting, value, allowed: allowed.to_owned() })
        };
        if !(1..=1 << 20).contains(&self.sample_every) {
            return bad("sample_every", self.sample_every.into(), "1 to 1048576");
        }
        if self.round < Duration::from_millis(1) {
            return bad("round", self.round.as_nanos() as u64, "1 ms or more, in nanoseconds");
        }
        self.rules.check().or_else(|why| bad(why.setting, why.value, why.allowed))
    }
}

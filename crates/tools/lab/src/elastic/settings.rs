//! Settings of the measurements.

use crate::{Failure, seats};
use actinium::topology::Seats;
use actinium::{Bind, Policy, Workers};
use actinium_report::setting::{self, Row, Setting};
use serde::{Serialize, Serializer};

/// The settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most worker threads.
    pub workers: Setting<usize>,
    /// To which PUs workers are bound, as it was asked for.
    pub bind: Setting<Bind>,
    /// The PUs for the workers of all systems: a system uses the first of them.
    pub seats: Seats,
    /// The policy of all systems: `affine`, for only that has elastic workers.
    pub policy: Setting<Policy>,
    /// Terms of the series.
    pub terms: Setting<u64>,
    /// Actors that share them.
    pub actors: Setting<u64>,
    /// Messages of each.
    pub slices: Setting<u64>,
    /// Bursts of work.
    pub bursts: Setting<u64>,
    /// Milliseconds of rest.
    pub idle_ms: Setting<u64>,
    /// Numbers of actors that do nothing.
    pub bystanders: Setting<Vec<u64>>,
    /// Messages that two others exchange.
    pub hops: Setting<u64>,
    /// Runs of each measurement.
    pub repeat: Setting<u64>,
}

impl Settings {
    /// The defaults, for so many workers.
    ///
    /// # Errors
    /// If this machine can not be looked at, or the process may not use the PUs that are listed.
    pub fn new(workers: Setting<Workers>, bind: Setting<Bind>) -> Result<Self, Failure> {
        let count = actinium_app::count_workers(workers.value, &bind.value)?;
        Ok(Settings {
            workers: Setting { value: count, source: workers.source },
            seats: seats::seats(&bind.value, count)?,
            bind,
            policy: Policy::affine().into(),
            terms: 200_000_000.into(),
            actors: 100.into(),
            slices: 10.into(),
            bursts: 20.into(),
            idle_ms: 1_000.into(),
            bystanders: vec![0, 8_000, 1_000_000].into(),
            hops: 2_000_000.into(),
            repeat: 5.into(),
        })
    }

    /// Whether the settings fit together.
    ///
    /// # Errors
    /// If there are fewer terms than messages, or the policy is not `affine`.
    pub fn check(&self) -> Result<(), Failure> {
        let policy = &self.policy.value;
        if !matches!(policy, Policy::Affine(_)) {
            return Err(Failure::Asked(format!(
                "--policy: '{policy}' has no elastic workers; only affine has, with or without parameters"
            )));
        }
        let (terms, pieces) = (self.terms.value, self.actors.value * self.slices.value);
        if terms < pieces {
            return Err(Failure::Asked(format!(
                "--terms: '{terms}' are less than one for each of {pieces} messages (--actors times --slices)"
            )));
        }
        Ok(())
    }

    /// The number of measurements that [`run`](super::run) makes.
    #[must_use]
    pub fn runs(&self) -> u64 {
        let of_pi = 2 * self.workers.value as u64 * self.repeat.value;
        let of_hops = match self.hops.value {
            0 => 0,
            _ => self.bystanders.value.len() as u64 * self.repeat.value,
        };
        of_pi + self.bursts.value + of_hops
    }

    /// Name, value and source of each.
    pub fn rows(&self) -> [Row; 11] {
        [
            self.workers.row("workers"),
            self.bind.row("bind"),
            self.policy.row("policy"),
            self.terms.row("terms"),
            self.actors.row("actors"),
            self.slices.row("slices"),
            self.bursts.row("bursts"),
            self.idle_ms.row("idle"),
            self.bystanders.list("bystanders"),
            self.hops.row("hops"),
            self.repeat.row("repeat"),
        ]
    }
}

/// Serializes the settings as a map from a setting's name to its value, as text, and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        setting::serialize(self.rows(), serializer)
    }
}

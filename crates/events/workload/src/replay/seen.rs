//! The checksums that the ends of paths saw, event by event.

use actinium_scheduler::sync::lock;
use std::sync::{Arc, Mutex};

/// The observations at the ends of an event's paths: modules (an index into
/// [`Workload::modules`](crate::Workload::modules)) and their checksums.
pub type Observations = Vec<(u32, u64)>;

/// The observations of the events that are in slots.
#[derive(Clone, Debug)]
pub struct Seen(Arc<[Mutex<Observations>]>);

/// The sum of what the ends of an event's paths saw.
#[must_use]
pub fn sum(observations: &Observations) -> u64 {
    observations.iter().fold(0, |sum, (_, seen)| sum.wrapping_add(*seen))
}

impl Seen {
    pub(super) fn new(slots: usize) -> Self {
        Seen((0..slots).map(|_| Mutex::default()).collect())
    }

    pub(super) fn note(&self, slot: usize, module: u64, sum: u64) {
        let module = module as u32;
        let mut observations = lock(&self.0[slot]);
        match observations.iter_mut().find(|(of, _)| *of == module) {
            // Another attempt at the event.
            Some((_, seen)) => *seen = sum,
            None => observations.push((module, sum)),
        }
    }

    /// Takes the observations of the event that ends in a slot
    /// ([`Processor::on_end`](actinium_events::Processor::on_end)), in the order of modules.
    #[must_use]
    pub fn take(&self, slot: usize) -> Observations {
        let mut observations = std::mem::take(&mut *lock(&self.0[slot]));
        observations.sort_unstable();
        observations
    }
}

/// An event of which all but the outputs has run somewhere.
#[derive(Clone, Debug)]
pub struct Given {
    /// The number.
    pub number: u64,
    /// The observations at the ends of its paths, where it ran.
    pub observations: Observations,
}

impl Given {
    pub(super) fn sum_of(&self, module: u64) -> Option<u64> {
        let found = self.observations.iter().find(|(of, _)| u64::from(*of) == module);
        found.map(|&(_, sum)| sum)
    }
}

//! Whether the workers of a system come to the end of their turns.

use actinium_actor::{Occupied, SystemHandle};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was seen of each worker, question by question.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// For each worker the number of turns that it had ended when it was first seen in its present
    /// one, and when that was; none if it was in no turn.
    seen: Mutex<Vec<Option<(u64, Instant)>>>,
}

/// A worker that does not come to the end of a turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    pub(crate) worker: usize,
    pub(crate) since: Duration,
    /// In whose code it is, if it still is.
    pub(crate) occupied: Option<Occupied>,
}

impl Health {
    /// The workers that have been in one turn for longer than `limit`. Only what two questions or
    /// more have seen can be known: it takes as long as that to notice it.
    pub(crate) fn stuck(&self, system: &SystemHandle, limit: Duration) -> Vec<Stuck> {
        #[expect(clippy::disallowed_methods, reason = "workers are watched in real time")]
        let now = Instant::now();
        let turns: Vec<u64> = system.stats().workers.iter().map(|it| it.turns).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.resize(turns.len(), None);
        let mut stuck = Vec::new();
        for (worker, (seen, turns)) in seen.iter_mut().zip(turns).enumerate() {
            if !system.is_occupied(worker) {
                *seen = None;
                continue;
            }
            let (before, begun) = *seen.get_or_insert((turns, now));
            if before != turns {
                *seen = Some((turns, now));
                continue;
            }
            let since = now.saturating_duration_since(begun);
            if since >= limit {
                stuck.push(Stuck { worker, since, occupied: system.occupied(worker) });
            }
        }
        stuck
    }
}

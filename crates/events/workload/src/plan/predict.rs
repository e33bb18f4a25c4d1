//! The ideal: how fast a workload can run at best on so many workers with so many slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::flow::Flow;
use super::simulate::{Setup, simulate};

/// How many events are run per slot where nobody says how many. The figures include the start, when
/// all slots begin at once, and the end, when they run dry; four rounds are what published figures
/// have.
pub const EVENTS_PER_SLOT: u64 = 4;
/// Most module runs that are simulated for one figure: some seconds' worth.
const RUNS_MAX: u64 = 20_000_000;

/// The ideal for one choice of workers and slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Worker threads; none where nothing computes, for then their number does not matter.
    pub workers: Option<usize>,
    /// Events in flight.
    pub slots: usize,
    /// How many events that is for.
    pub events: u64,
    /// The time from the first event's start to the last one's end.
    pub elapsed_ns: u64,
    /// Events by elapsed time.
    pub events_per_s: f64,
}

/// The ideal by list scheduling: see [`super::simulate`]. `durations_ns` are those of single
/// events, cycled. Without `workers` there are as many as are ever wanted. `None` if it would take
/// too long to find out.
#[must_use]
pub fn ideal(
    flow: &Flow<'_>,
    durations_ns: &[u64],
    workers: Option<usize>,
    slots: usize,
    events: u64,
) -> Option<Prediction> {
    let workers = workers.filter(|_| !flow.only_waits());
    let unlimited = flow.modules().all(|module| flow.limit_of[module].is_none());
    let source_is_instant = flow.workload.source.times.cycle().iter().all(|&ns| ns == 0);
    let runs = events.saturating_mul(flow.modules().count() as u64);
    let elapsed_ns = if workers.is_none() && unlimited && source_is_instant {
        // Events do not know of each other: each takes what it takes alone.
        independent(durations_ns, slots, events.min(RUNS_MAX))
    } else if runs <= RUNS_MAX {
        let setup = Setup { workers, slots, events, first_event: 0, limits: true };
        simulate(flow, &setup).elapsed_ns
    } else {
        return None;
    };
    let events_per_s = events as f64 / (elapsed_ns as f64 * 1e-9);
    Some(Prediction { workers, slots, events, elapsed_ns, events_per_s })
}

/// Each slot takes the next event when its last one is done.
fn independent(durations_ns: &[u64], slots: usize, events: u64) -> u64 {
    let slots = slots.min(usize::try_from(events).unwrap_or(usize::MAX));
    let mut free_at: BinaryHeap<Reverse<u64>> = (0..slots).map(|_| Reverse(0)).collect();
    let mut elapsed = 0;
    for event in 0..events {
        let Some(Reverse(begin)) = free_at.pop() else { break };
        let end = begin + durations_ns[(event % durations_ns.len() as u64) as usize];
        elapsed = elapsed.max(end);
        free_at.push(Reverse(end));
    }
    elapsed
}

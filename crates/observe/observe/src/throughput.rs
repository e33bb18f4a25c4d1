//! The four-level throughput: messages per second of the whole computation, of a node, of a worker
//! and of an actor.
//!
//! They are the figures that the latency probe of the Thorium actor engine prints
//! ([biosal](https://github.com/sebhtml/biosal), `performance/latency_probe`). What it calls a
//! latency is here a *period*, since it is the time from one message to the next and not the time
//! that a message takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::number::{count, duration, rate};

/// How many of each there are on the level above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Nodes of the computation.
    pub nodes: u64,
    /// Workers of each node.
    pub workers_per_node: u64,
    /// Actors of each worker.
    pub actors_per_worker: u64,
}

impl Shape {
    /// Workers of all nodes.
    #[must_use]
    pub fn workers(&self) -> u64 {
        self.nodes.saturating_mul(self.workers_per_node)
    }

    /// Actors of all nodes.
    ///
    /// ```
    /// use actinium_observe::Shape;
    ///
    /// let shape = Shape { nodes: 2, workers_per_node: 8, actors_per_worker: 100 };
    /// assert_eq!((shape.workers(), shape.actors()), (16, 1_600));
    /// ```
    #[must_use]
    pub fn actors(&self) -> u64 {
        self.workers().saturating_mul(self.actors_per_worker)
    }
}

/// Messages per second on four levels.
///
/// ```
/// use std::time::Duration;
/// use actinium_observe::{Shape, Throughput};
///
/// let shape = Shape { nodes: 2, workers_per_node: 4, actors_per_worker: 100 };
/// let throughput = Throughput::new(shape, 16_000_000, Duration::from_secs(2));
/// assert_eq!(throughput.computation_per_s, 8_000_000.0);
/// assert_eq!(throughput.node_per_s, 4_000_000.0);
/// assert_eq!(throughput.worker_per_s, 1_000_000.0);
/// assert_eq!(throughput.actor_per_s, 10_000.0);
/// assert_eq!(throughput.worker_period_ns, Some(1_000.0));
/// assert_eq!(throughput.actor_period_ns, Some(100_000.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Nodes, workers and actors.
    #[serde(flatten)]
    pub shape: Shape,
    /// Messages that were handled.
    pub messages: u64,
    /// The time that it took.
    pub elapsed_ns: u64,
    /// Messages per second of all nodes.
    pub computation_per_s: f64,
    /// Messages per second of one node, on average.
    pub node_per_s: f64,
    /// Messages per second of one worker, on average.
    pub worker_per_s: f64,
    /// Messages per second of one actor, on average.
    pub actor_per_s: f64,
    /// The time from one message of a worker to its next, on average; none if there were no
    /// messages.
    pub worker_period_ns: Option<f64>,
    /// The time from one message of an actor to its next, on average; none if there were no
    /// messages.
    pub actor_period_ns: Option<f64>,
}

impl Throughput {
    /// The figures of `messages` handled in `elapsed`, which counts as a nanosecond at least: a
    /// clock that has not moved knows no more.
    ///
    /// # Panics
    /// If a number of the shape is 0: nobody would have handled the messages.
    #[must_use]
    pub fn new(shape: Shape, messages: u64, elapsed: Duration) -> Self {
        assert!(shape.actors() > 0, "no node, worker or actor: {shape:?}");
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).max(1);
        let computation_per_s = messages as f64 * 1e9 / elapsed_ns as f64;
        let worker_per_s = computation_per_s / shape.workers() as f64;
        let actor_per_s = computation_per_s / shape.actors() as f64;
        let period_ns = |per_s: f64| (messages > 0).then(|| 1e9 / per_s);
        Throughput {
            shape,
            messages,
            elapsed_ns,
            computation_per_s,
            node_per_s: computation_per_s / shape.nodes as f64,
            worker_per_s,
            actor_per_s,
            worker_period_ns: period_ns(worker_per_s),
            actor_period_ns: period_ns(actor_per_s),
        }
    }
}

/// One line: "2.00 M/s (3,000,000 messages in 1.50 s)".
impl std::fmt::Display for Throughput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let elapsed = duration(Duration::from_nanos(self.elapsed_ns));
        let messages = count(self.messages);
        write!(f, "{} ({messages} messages in {elapsed})", rate(self.computation_per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { nodes: 2, workers_per_node: 4, actors_per_worker: 10 };

    #[test]
    fn the_levels_divide_the_computation() {
        let throughput = Throughput::new(SHAPE, 800, Duration::from_secs(1));
        assert_eq!(throughput.computation_per_s, 800.0);
        assert_eq!(throughput.node_per_s, 400.0);
        assert_eq!(throughput.worker_per_s, 100.0);
        assert_eq!(throughput.actor_per_s, 10.0);
        assert_eq!(throughput.worker_period_ns, Some(1e7));
        assert_eq!(throughput.actor_period_ns, Some(1e8));
        assert_eq!(throughput.to_string(), "800 /s (800 messages in 1.00 s)");
    }

    #[test]
    fn no_messages_have_no_period() {
        let throughput = Throughput::new(SHAPE, 0, Duration::ZERO);
        assert_eq!((throughput.elapsed_ns, throughput.computation_per_s), (1, 0.0));
        assert_eq!((throughput.worker_period_ns, throughput.actor_period_ns), (None, None));
    }

    #[test]
    #[should_panic(expected = "no node, worker or actor")]
    fn a_shape_without_workers_is_refused() {
        let _ = Throughput::new(Shape { workers_per_node: 0, ..SHAPE }, 1, Duration::ZERO);
    }

    #[test]
    fn it_is_flat_in_json_and_can_be_read_back() {
        let throughput = Throughput::new(SHAPE, 800, Duration::from_secs(1));
        let json = serde_json::to_value(throughput).expect("figures are JSON");
        assert_eq!(json["workers_per_node"], 4);
        assert_eq!(json["elapsed_ns"], 1_000_000_000);
        assert_eq!(json["worker_period_ns"], 1e7);
        let read: Throughput = serde_json::from_value(json).expect("it is what was written");
        assert_eq!(read, throughput);
    }
}

//! What the counters of workers are called outside.

/// A counter of workers, and its name outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterName {
    /// The field of [`CounterValues`](actinium_actor::CounterValues).
    pub field: &'static str,
    /// The metric; `_total` is added to it, as to each counter. One that ends in `_seconds` shows
    /// the nanoseconds of its field in seconds.
    pub metric: &'static str,
    /// What it counts.
    pub help: &'static str,
}

const fn counter(field: &'static str, metric: &'static str, help: &'static str) -> CounterName {
    CounterName { field, metric, help }
}

/// All counters of workers. Each has the label `worker`.
pub const COUNTERS: [CounterName; 31] = [
    counter("sent", "actinium_messages_sent", "Messages that senders tried to send"),
    counter("handled", "actinium_messages_handled", "Messages handled"),
    counter(
        "returned",
        "actinium_messages_returned",
        "Messages that went back to their sender: the mailbox was full or closed",
    ),
    counter("dead", "actinium_dead_letters", "Messages that reached no actor"),
    counter(
        "bytes",
        "actinium_handled_bytes",
        "Bytes of the messages handled, by the sizes of their types",
    ),
    counter("sampled", "actinium_latency_samples", "Messages whose latency was measured"),
    counter("turns", "actinium_turns", "Turns of actors and tasks"),
    counter("ticks", "actinium_rounds", "Rounds of housekeeping"),
    counter("stolen", "actinium_actors_stolen", "Actors taken from other workers"),
    counter("rehomed", "actinium_actors_rehomed", "Actors whose home moved to this worker"),
    counter("pushed", "actinium_actors_pushed", "Actors pushed to workers with less to do"),
    counter(
        "colocated",
        "actinium_actors_colocated",
        "Actors that moved to the worker of those that they talk with",
    ),
    counter("stealable", "actinium_actors_offered", "Actors put up for others to take"),
    counter("shared", "actinium_messages_shared", "Messages sent through a shared queue"),
    counter(
        "crossed",
        "actinium_messages_crossed",
        "Messages that came from other workers by lanes",
    ),
    counter(
        "crossings_timed",
        "actinium_crossings_timed",
        "Messages from other workers whose delivery was timed",
    ),
    counter(
        "crossings_ns",
        "actinium_crossings_seconds",
        "What these cost beyond messages that stay, for both workers together",
    ),
    counter(
        "published",
        "actinium_chunks_published",
        "Chunks of messages that this worker has published for others",
    ),
    counter("flushed", "actinium_lane_flushes", "Times that a worker delivered its own lanes"),
    counter("posted", "actinium_wakeups_posted", "Wake-ups passed to other workers"),
    counter("forwarded", "actinium_wakeups_forwarded", "Wake-ups that arrived where nobody lived"),
    counter("parked", "actinium_sleeps", "Times that a worker went to sleep"),
    counter("woken", "actinium_workers_woken", "Sleeping workers that this one woke"),
    counter("grown", "actinium_workers_called", "Workers that this one called to work"),
    counter("shrunk", "actinium_workers_dismissed", "Workers that this one found to be too many"),
    counter("spawned", "actinium_actors_started", "Actors started"),
    counter("stopped", "actinium_actors_ended", "Actors ended"),
    counter("restarted", "actinium_actor_restarts", "Restarts of actors by their supervision"),
    counter("panicked", "actinium_panics", "Panics of actors that were caught"),
    counter("timers", "actinium_timers_fired", "Timers fired"),
    counter("muted", "actinium_senders_muted", "Senders that waited for a full mailbox"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::CounterValues;

    #[test]
    fn each_counter_has_a_name() {
        let named: Vec<_> = COUNTERS.iter().map(|it| it.field).collect();
        let kept: Vec<_> = CounterValues::default().pairs().iter().map(|it| it.0).collect();
        assert_eq!(named, kept);
    }
}

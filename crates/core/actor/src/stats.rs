//! Figures of a system.

use actinium_scheduler::{CounterValues, ScaleEvent};

/// Counters and sampled latencies of a system.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stats {
    /// The counters of each worker.
    pub workers: Vec<CounterValues>,
    /// The counters of external threads: those that are not workers.
    pub external: CounterValues,
    /// Sampled latencies from send to handling: (nanoseconds, how many messages), rising; three
    /// significant digits.
    pub latencies: Vec<(u64, u64)>,
    /// Workers that are given work: all, unless they are elastic.
    pub working: usize,
    /// The latest changes of that number, oldest first, with reason and figures.
    pub scale_events: Vec<ScaleEvent>,
    /// Living actors.
    pub actors: usize,
}

impl Stats {
    /// All counters together.
    pub fn total(&self) -> CounterValues {
        let mut total = self.external;
        self.workers.iter().for_each(|values| total.add(values));
        total
    }
}

/// The ledger of all messages and events of a system at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Audit {
    /// Messages that anybody tried to send.
    pub sent: u64,
    /// Messages handled.
    pub handled: u64,
    /// Messages in mailboxes.
    pub queued: u64,
    /// Messages that went back to their sender, because the mailbox was full or closed.
    pub returned: u64,
    /// Messages that became dead letters.
    pub dead: u64,
    /// The events of all graphs that run, or ran, on the system.
    pub events: EventLedger,
}

/// The ledger of the events of graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EventLedger {
    /// Events that a source has made.
    pub begun: u64,
    /// Events that have ended, failed ones included.
    pub ended: u64,
    /// Events in flight: they run, or wait.
    pub in_flight: u64,
    /// Events that were given up in the middle of their way, when their run was cancelled or the
    /// system ended.
    pub cancelled: u64,
}

impl EventLedger {
    /// Whether every event is accounted for: `begun = ended + in_flight + cancelled`.
    pub fn is_balanced(&self) -> bool {
        self.begun == self.ended + self.in_flight + self.cancelled
    }

    /// Adds another ledger.
    pub(crate) fn add(&mut self, other: &EventLedger) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.in_flight += other.in_flight;
        self.cancelled += other.cancelled;
    }
}

impl Audit {
    /// Whether every message is accounted for, `sent = handled + queued + returned + dead`, and
    /// every event ([`EventLedger::is_balanced`]).
    pub fn is_balanced(&self) -> bool {
        self.sent == self.handled + self.queued + self.returned + self.dead
            && self.events.is_balanced()
    }
}

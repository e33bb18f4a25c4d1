//! Each worker's counters: on cache lines of their own, written with plain stores by their owner,
//! read by anyone.

use crate::sync::atomic::{AtomicU64, Ordering};

/// Counts nothing, to measure what counting costs (see BENCHMARKS.md). Nothing can be audited then.
pub(crate) const UNCOUNTED: bool = cfg!(actinium_uncounted);

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the owning worker calls it.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        if UNCOUNTED {
            return;
        }
        // Relaxed, as a load and a store and not a read-modify-write: there is one writer, and
        // readers only want a recent value.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Sets it. Only the owning worker calls it.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        // Relaxed: as in `add`.
        self.0.store(value, Ordering::Relaxed);
    }

    /// The counter's value, at most one turn old.
    #[inline]
    pub fn get(&self) -> u64 {
        // Relaxed: as in `add`.
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The counters of one worker (or of the threads outside), on cache lines of their own.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Counters { $($(#[doc = $doc])+ pub $name: Counter,)+ }

        /// The values of [`Counters`] at one moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[non_exhaustive]
        pub struct CounterValues { $($(#[doc = $doc])+ pub $name: u64,)+ }

        impl Counters {
            /// The present values.
            pub fn values(&self) -> CounterValues {
                CounterValues { $($name: self.$name.get(),)+ }
            }
        }

        impl CounterValues {
            /// Adds another worker's values.
            pub fn add(&mut self, other: &CounterValues) { $(self.$name += other.$name;)+ }

            /// Name and value of each, in a fixed order.
            pub fn pairs(&self) -> Vec<(&'static str, u64)> { vec![$((stringify!($name), self.$name),)+] }
        }
    };
}

counters! {
    /// Messages that senders on this worker tried to send.
    sent,
    /// Messages handled.
    handled,
    /// Messages that went back to their sender (full or closed).
    returned,
    /// Messages that ended as dead letters.
    dead,
    /// Bytes of the messages handled, by their types' sizes.
    bytes,
    /// Messages whose latency was measured.
    sampled,
    /// Turns run.
    turns,
    /// Rounds of housekeeping.
    ticks,
    /// Runnables taken from other workers.
    stolen,
    /// Runnables whose home moved here.
    rehomed,
    /// Runnables pushed to workers with less to do, for good; and those that left a worker for a
    /// while where one does more than several, or that is often delayed.
    pushed,
    /// Runnables that moved to the worker of those that they communicate with.
    colocated,
    /// Runnables put up for others to take.
    stealable,
    /// Messages sent through a shared queue, which costs two atomic read-modify-writes, or two for
    /// many in a row; all others cost none.
    shared,
    /// Messages that came from other workers through lanes.
    crossed,
    /// Those whose delivery was timed.
    crossings_timed,
    /// The time that these took more than messages that stay, for sender and receiver together:
    /// nanoseconds.
    crossings_ns,
    /// Chunks of messages that this worker has published in its lanes to others.
    published,
    /// Times this worker delivered what lay in its lanes itself, so that nothing overtakes it.
    flushed,
    /// Wake-ups passed to other workers' inboxes.
    posted,
    /// Wake-ups that arrived for something that lives elsewhere by now.
    forwarded,
    /// Times this worker went to sleep.
    parked,
    /// Sleepers that this worker woke.
    woken,
    /// Workers that this one has called to work.
    grown,
    /// Workers of which this one has found that they need not work.
    shrunk,
    /// Actors started.
    spawned,
    /// Actors ended.
    stopped,
    /// Actors restarted by their supervisors.
    restarted,
    /// Panics of actors caught.
    panicked,
    /// Timers fired.
    timers,
    /// Senders muted by a full mailbox.
    muted,
}

impl CounterValues {
    /// Of all workers and other threads together: messages in mailboxes, or on their way. Nearly so
    /// while workers go on, for their counters are read one after the other.
    pub fn waiting(&self) -> u64 {
        let settled = self.handled.wrapping_add(self.returned).wrapping_add(self.dead);
        self.sent.saturating_sub(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_add_up() {
        let counters = Counters::default();
        counters.sent.add(3);
        counters.sent.add(4);
        counters.parked.set(9);
        let mut sum = counters.values();
        sum.add(&counters.values());
        assert_eq!((sum.sent, sum.parked, sum.dead), (14, 18, 0));
        sum.handled += 9;
        assert_eq!(sum.waiting(), 5);
        assert_eq!(sum.pairs()[0], ("sent", 14));
    }
}

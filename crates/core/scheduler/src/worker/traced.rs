//! What a worker does for traced messages: see [`crate::trace`].

use super::Worker;
use crate::trace::open::{Receiver, begin_handling};
use crate::trace::traces::is_traced;

/// One in so many samples is followed for a picture of it.
const FLOW_EVERY: u32 = 64;

impl Worker {
    /// What it sends is part of a trace from now on, or no more.
    pub(crate) fn set_traced(&self, is_traced: bool) {
        let is_traced = is_traced && self.shared.traces().is_on();
        if self.traced.replace(is_traced) == is_traced {
            return;
        }
        if is_traced {
            self.untraced_left.set(self.sampler.hurry());
        } else {
            self.sampler.set_left(self.untraced_left.get());
        }
    }

    /// Whether what it sends is part of a trace.
    #[inline]
    pub fn is_traced(&self) -> bool {
        self.traced.get()
    }

    /// The stamp of a message that the traced step sends.
    #[cold]
    pub(super) fn stamp_traced(&self) -> u64 {
        // The next one, too.
        self.sampler.set_left(1);
        self.trace_stamp()
    }

    /// Whether a send of the traced step is a sample as others are, by the countdown that was put
    /// aside.
    pub(super) fn is_sample_too(&self) -> bool {
        let left = self.untraced_left.get().saturating_sub(1);
        self.untraced_left.set(if left == 0 { self.sampler.every() } else { left });
        left == 0
    }

    /// The stamp of a message that is followed for a picture of it, if this sample is one of those.
    pub(super) fn flow_stamp(&self, now_ns: u64) -> Option<u64> {
        if !self.shared.traces().has_flows() {
            return None;
        }
        let left = self.until_flow.get();
        self.until_flow.set(left.checked_sub(1).unwrap_or(FLOW_EVERY - 1));
        if left > 0 { None } else { self.shared.traces().flow(now_ns, self.index) }
    }

    /// The stamp of a message that this worker sends, if its step is traced; else 0.
    pub fn trace_stamp(&self) -> u64 {
        if !self.traced.get() {
            return 0;
        }
        let now_ns = self.shared.clock.now_ns();
        self.shared.traces().carry(|| None, now_ns, Some(self.index)).unwrap_or(0)
    }

    /// The message that the running turn is about to handle has this stamp, which is not 0, and is
    /// of this type, or of its variant of this name, if that has one. True if it is traced: the
    /// caller calls [`end_handling`] when it is done.
    ///
    /// [`end_handling`]: crate::trace::end_handling
    #[cold]
    #[inline(never)]
    pub fn received(&self, stamp_ns: u64, message: &'static str, variant: &'static str) -> bool {
        if !is_traced(stamp_ns) {
            self.record_latency(stamp_ns, variant);
            return false;
        }
        let (Some(carried), Some(to)) = (self.shared.traces().take(stamp_ns), self.running())
        else {
            return false;
        };
        if carried.parent.is_none() && carried.sender.is_some() {
            // A sample of the latencies, too: see `flow_stamp`.
            self.record_latency(carried.sent_ns, variant);
        }
        let header = to.header();
        // SAFETY: this worker runs it, so it is alive.
        let actor = unsafe { (header.vtable.number)(to.0) };
        let message = if variant.is_empty() { message } else { variant };
        let to = Receiver { kind: header.kind.name(), actor, message };
        begin_handling(&self.shared, carried, to, self.index);
        true
    }
}

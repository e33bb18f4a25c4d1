//! What a worker notes of itself while somebody asks for records: see [`crate::recording`].

use super::Worker;
use crate::recording::{Act, Record};

impl Worker {
    /// Records are kept from now on, or no more.
    #[cold]
    pub(super) fn heed_recording(&self) {
        self.records.set(self.shared.recording().is_on());
    }

    /// Notes a moment, if records are kept.
    #[inline]
    pub(super) fn record(&self, act: Act) {
        if self.records.get() {
            self.record_since(self.shared.clock.now_ns(), act);
        }
    }

    /// Notes what began at that time, and has just ended.
    #[cold]
    pub(super) fn record_since(&self, begin_ns: u64, act: Act) {
        let took_ns = self.shared.clock.now_ns().saturating_sub(begin_ns);
        self.shared.recording().add(self.index, Record { begin_ns, took_ns, act });
    }
}

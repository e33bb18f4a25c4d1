//! What a worker notes of itself while somebody asks for records: see [`crate::recording`].

use super::Worker;
use crate::recording::{Act, Record};

impl Worker {
    /// Records are kept from now on, or no more. While they are, no turn is a plain one.
    #[cold]
    pub(super) fn heed_recording(&self) {
        let is_on = self.shared.recording().is_on();
        self.records.set(is_on);
        let is_plain = self.keeps_idle && !is_on;
        self.plain_home.set(if is_plain { self.index as u32 } else { u32::MAX });
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

//! What a worker notes of itself while somebody asks for records: see [`crate::recording`].

use super::Worker;
use crate::recording::{Act, Name, Record};

impl Worker {
    /// Records are kept from now on, or no more. While they are, no turn is a plain one.
    #[cold]
    pub(super) fn heed_recording(&self) {
        let is_on = self.shared.recording().is_on();
        self.records.set(is_on);
        let is_plain = self.keeps_idle && !is_on;
        self.plain_home.set(if is_plain { self.index as u32 } else { u32::MAX });
    }

    /// Whether records are kept: one look at a flag of this worker's own. To be asked before what
    /// costs more, as reading the clock for [`Worker::record_call`].
    #[inline(always)]
    pub fn keeps_records(&self) -> bool {
        self.records.get()
    }

    /// Notes a call of the program's code within a turn, which began and ended at these times of
    /// the scheduler's clock.
    #[cold]
    pub fn record_call(&self, name: Name, event: u64, (begin_ns, end_ns): (u64, u64)) {
        let took_ns = end_ns.saturating_sub(begin_ns);
        let act = Act::Call { name, event };
        self.shared.recording().add(self.index, Record { begin_ns, took_ns, act });
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

//! What a worker notes of itself while somebody asks for records, or for figures: see
//! [`crate::recording`] and [`crate::measure`].

use super::Worker;
use crate::contents::Contents;
use crate::measure::What;
use crate::owned::Owned;
use crate::recording::{Act, FIGURES, Name, RECORDS, Record};
use crate::runnable::Runnable;
use std::sync::Arc;

/// No state of what is kept: the worker looks again after the next round.
const LOOKS_AGAIN: u32 = u32::MAX;

impl Worker {
    /// Records or figures are kept from now on, or no more; or figures are kept, and a round has
    /// ended.
    #[cold]
    pub(super) fn heed_recording(&self, now_ns: u64) {
        let recording = self.shared.recording();
        let keeps = recording.keeps_now();
        let (is_on, turns) = (keeps & FIGURES != 0, self.counters().turns.get());
        let here = (recording.measuring(), self.index);
        let measures = self.measured.with(|it| it.end_round(is_on, (now_ns, turns), here));
        // `None`: somebody chooses at this moment.
        let chosen = if keeps & RECORDS != 0 { recording.chosen() } else { Some(Arc::default()) };
        let looks_again = is_on || chosen.is_none();
        self.heeded.set(if looks_again { LOOKS_AGAIN } else { keeps });
        if let Some(chosen) = chosen {
            // What was chosen before is dropped here: numbers, no code of a user's.
            self.recorded.with(|recorded| *recorded = chosen);
        }
        self.notes.set(keeps & (RECORDS | FIGURES));
        // Of figures, only a measured round has no plain turns.
        self.notes_all.set(keeps & RECORDS != 0 || measures);
    }

    /// Notes a moment, if records are kept.
    #[inline]
    pub(super) fn record(&self, act: Act) {
        if self.keeps_records() {
            self.record_since(self.shared.clock.now_ns(), act);
        }
    }

    /// Whether records are kept of what it does: one look at a flag of this worker's own. To be
    /// asked before what costs more, as reading the clock for [`Worker::record_call`].
    #[inline(always)]
    pub fn keeps_records(&self) -> bool {
        self.notes.get() & RECORDS != 0
    }

    /// Whether it notes all turns of this round.
    #[inline(always)]
    pub(super) fn notes_all_turns(&self) -> bool {
        self.notes_all.get()
    }

    /// Whether it notes only the turns that are not plain.
    #[inline(always)]
    pub(super) fn notes_some_turns(&self) -> bool {
        self.notes.get() != 0 && !self.notes_all.get()
    }

    /// Whether figures are kept, in this round or in others.
    #[inline]
    pub(super) fn keeps_figures(&self) -> bool {
        self.notes.get() & FIGURES != 0
    }

    /// Notes what began at that time, and has just ended.
    #[cold]
    pub(super) fn record_since(&self, begin_ns: u64, act: Act) {
        let took_ns = self.shared.clock.now_ns().saturating_sub(begin_ns);
        self.shared.recording().add(self.index, Record { begin_ns, took_ns, act });
    }

    /// Notes a call of the program's code within a turn, which began and ended at these times of
    /// the scheduler's clock.
    #[cold]
    pub fn record_call(&self, name: Name, event: u64, (begin_ns, end_ns): (u64, u64)) {
        let took_ns = end_ns.saturating_sub(begin_ns);
        let act = Act::Call { name, event };
        self.shared.recording().add(self.index, Record { begin_ns, took_ns, act });
    }

    /// Runs a turn, and notes it in records, in figures or in both. `is_plain`: it would be a plain
    /// one if nothing were noted.
    #[cold]
    pub(super) fn turn_noted<T>(
        &self,
        owned: Owned<'_>,
        is_plain: bool,
        run: impl FnOnce(Owned<'_>) -> T,
    ) -> T {
        let (header, runnable) = (owned.header(), owned.runnable());
        let kind = header.kind.name();
        // SAFETY: this worker owns the runnable, which is alive.
        let number = || unsafe { (header.vtable.number)(runnable.0) };
        let figures = match self.notes.get() & FIGURES {
            0 => None,
            _ => self.measured.with(|it| it.begin_turn(kind, number, is_plain)),
        };
        let is_chosen =
            |chosen: &mut Arc<[u64]>| chosen.is_empty() || chosen.binary_search(&number()).is_ok();
        let keeps_records = self.keeps_records() && self.recorded.with(is_chosen);
        if figures.is_none() && !keeps_records {
            return run(owned);
        }
        let number = if keeps_records { number() } else { 0 };
        let before = self.handled_in_all();
        let begin_ns = self.shared.clock.now_ns();
        let ran = run(owned);
        let took_ns = self.shared.clock.now_ns().saturating_sub(begin_ns);
        let after = self.handled_in_all();
        let (handled, bytes) = (after.0 - before.0, after.1 - before.1);
        if keeps_records {
            let act = Act::Turn { kind, number, handled };
            self.shared.recording().add(self.index, Record { begin_ns, took_ns, act });
        }
        let Some(mut turn) = figures else { return ran };
        (turn.0.ns, turn.0.what) = (took_ns, What::Turn { handled, bytes });
        if !self.measured.with(|it| it.end_turn(turn)) {
            self.shared.recording().measuring().miss(self.index);
        }
        ran
    }

    /// The items handled by this worker, and their bytes. A sampled send brings the counters up to
    /// date in the middle of a turn.
    fn handled_in_all(&self) -> (u64, u64) {
        let counters = self.counters();
        let handled = counters.handled.get() + self.handled.get();
        (handled, counters.bytes.get() + self.handled_bytes.get())
    }

    /// Notes a message that the running turn handles: the name of its sort, how long it has waited,
    /// and its weight among the samples.
    #[cold]
    pub(super) fn note_message(&self, running: Runnable, message: (&'static str, u64, u64)) {
        let header = running.header();
        // SAFETY: this worker runs the runnable, which is alive.
        let number = || unsafe { (header.vtable.number)(running.0) };
        if !self.measured.with(|it| it.note_message(header.kind.name(), number, message)) {
            self.shared.recording().measuring().miss(self.index);
        }
    }

    /// Keeps what the message contains that the running turn is about to handle, and the name of
    /// its sort, if somebody looks. `text` writes it.
    #[cold]
    pub fn note_contents(&self, name: &'static str, text: impl FnOnce() -> String) {
        let Some(running) = self.running().filter(|_| self.keeps_figures()) else { return };
        // SAFETY: this worker runs the runnable, which is alive.
        let number = || unsafe { (running.header().vtable.number)(running.0) };
        let Some(number) = self.measured.with(|it| it.wants_contents(number)) else { return };
        let contents = Contents { at_ns: self.shared.clock.now_ns(), name, text: text() };
        self.shared.recording().measuring().keep_contents(self.index, number, contents);
    }
}

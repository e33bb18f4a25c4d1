//! The stages of an event: its paths run, then its outputs, and it ends.

use crate::record::{EventEnd, Figures};
use crate::run::Run;
use crate::settings::{OnError, Order};
use crate::slot::{Stage, State};
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Worker, guard};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

impl Run {
    /// Nothing of the event is under way any more: what comes next?
    pub(crate) fn stage_over<'a>(
        &'a self,
        slot: u32,
        mut state: MutexGuard<'a, State>,
        worker: &Worker,
    ) -> MutexGuard<'a, State> {
        let now_ns = self.note_paths(&mut state, worker);
        if state.failure.is_none() && self.goes_on(slot, &mut state) {
            return state;
        }
        // Once there were outputs, there is no other attempt.
        let is_written = state.stage == Stage::Outputs && state.failure.is_none();
        let retries = match self.engine.settings.on_error {
            OnError::Retry(times) => !is_written && state.attempts <= times,
            _ => false,
        };
        state = self.free_all(slot, state, retries);
        let failure = state.failure.take().map(|failure| *failure);
        if failure.is_some() && retries {
            self.retry(&mut state);
            return state;
        }
        state.stage = Stage::Free;
        let traced = std::mem::take(&mut state.traced);
        let (number, turn, start_ns) = (state.number, state.turn, state.start_ns);
        drop(state);
        self.note_latency(start_ns, now_ns, worker);
        traced.end(failure.as_ref().map(|(_, cause)| cause.as_str()));
        let failed = self.count_end(number, failure);
        self.tell_end(slot, number, start_ns, failed);
        self.let_next_write(turn, worker);
        self.feed(Some(slot), worker);
        self.engine.state(slot)
    }

    /// Whether the event goes on, to its outputs, or is parked until those of the events before it
    /// have run.
    fn goes_on(&self, slot: u32, state: &mut State) -> bool {
        if state.stage == Stage::Paths {
            if self.engine.settings.order != Order::Completed {
                state.stage = Stage::Parked;
                if !lock(&self.order).may_go(state.turn, slot) {
                    return true;
                }
            }
            state.stage = Stage::MayWrite;
        }
        state.stage == Stage::MayWrite && state.start_outputs(&self.engine.layout)
    }

    /// Frees the products that nobody has read to the end. The source's is kept for another
    /// attempt.
    fn free_all<'a>(
        &'a self,
        slot: u32,
        mut state: MutexGuard<'a, State>,
        retries: bool,
    ) -> MutexGuard<'a, State> {
        let State { words, cells, .. } = &mut *state;
        if cells.count() > 1 {
            for module in 0..self.engine.layout.source {
                self.engine.free(slot, words, cells, module);
            }
        }
        state = self.engine.drop_retired(slot, state);
        if state.failure.is_none() || !retries {
            let State { words, cells, .. } = &mut *state;
            self.engine.free(slot, words, cells, self.engine.layout.source);
            state = self.engine.drop_retired(slot, state);
        }
        state
    }

    fn retry(&self, state: &mut State) {
        state.attempts = state.attempts.saturating_add(1);
        state.pass += 1;
        self.feed.counts().retries.fetch_add(1, Ordering::Relaxed); // Relaxed: a statistic.
        state.begin(&self.engine.template);
    }

    /// Notes how long the event took, with times. `now_ns`: the time, if the clock was just read,
    /// for that costs more than all else here.
    fn note_latency(&self, start_ns: u64, now_ns: Option<u64>, worker: &Worker) {
        if self.engine.settings.figures < Figures::Times {
            return;
        }
        if let Some(latencies) = self.over.work.status.latencies().get(worker.index()) {
            let now_ns = now_ns.unwrap_or_else(|| self.engine.now_ns());
            latencies.record(now_ns.saturating_sub(start_ns));
        }
    }

    /// Counts an event that has ended. Returns its failure if somebody is to be told.
    fn count_end(&self, number: u64, failure: Option<(u16, String)>) -> Option<(u16, String)> {
        let Some((module, cause)) = failure else {
            self.feed.counts().count_done();
            return None;
        };
        let failed = self.on_end.is_some().then(|| (module, cause.clone()));
        self.engine.note_failure(module, Some(number), cause);
        self.feed.counts().count_failed(self.engine.settings.on_error == OnError::Stop);
        failed
    }

    fn tell_end(&self, slot: u32, number: u64, start_ns: u64, failed: Option<(u16, String)>) {
        let Some(on_end) = &self.on_end else { return };
        let failure =
            failed.as_ref().map(|(m, cause)| (self.engine.layout.label(*m), cause.as_str()));
        let took_ns = self.engine.now_ns().saturating_sub(start_ns);
        // What it breaks is not the event's, which has ended; its panic has been told by the
        // panic's own hook.
        let end = EventEnd { number, slot: slot as usize, took_ns, failure };
        if guard::catch(|| on_end(&end)).is_err() {
            guard::count_here();
        }
    }

    /// Lets the next event in order run its outputs.
    fn let_next_write(&self, turn: u64, worker: &Worker) {
        if self.engine.settings.order == Order::Completed {
            return;
        }
        let next = lock(&self.order).ended(turn);
        if let Some(next) = next {
            let mut state = self.engine.state(next);
            state.stage = Stage::MayWrite;
            self.engine.activate(next, &mut state, Some(worker), false);
        }
    }

    /// Notes the paths that have ended; returns the time, if it had to look at the clock.
    fn note_paths(&self, state: &mut State, worker: &Worker) -> Option<u64> {
        if state.ended_paths.is_empty() {
            return None;
        }
        let now_ns = self.engine.now_ns();
        let took_ns = now_ns.saturating_sub(state.start_ns);
        let notes = &self.engine.notes[worker.index()];
        while let Some(path) = state.ended_paths.pop() {
            let counts = &notes.paths[usize::from(path)];
            counts.events.add(1);
            counts.passed.add(u64::from(state.passed(path.into())));
            counts.total_ns.add(took_ns);
            counts.max_ns.max(took_ns);
        }
        Some(now_ns)
    }
}

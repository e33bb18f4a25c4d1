//! Waiting modules: how a wait begins and ends, by a completion or at a time.

use crate::engine::Engine;
use crate::record::{Figures, Span};
use crate::slot::{Pass, State};
use crate::timers::Wait;
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Worker, current};
use std::cell::RefCell;
use std::sync::{Arc, Weak};

thread_local! {
    /// The engines with timers on this worker. They are here so that a timer captures nothing, and
    /// boxing it allocates nothing.
    static ENGINES: RefCell<Vec<Weak<Engine>>> = const { RefCell::new(Vec::new()) };
}

/// Has the timers of this engine ring on this thread, which is a worker.
fn add_engine(engine: &Arc<Engine>) {
    ENGINES.with_borrow_mut(|engines| {
        let engine = Arc::downgrade(engine);
        // In the place of one that is gone, so that all others keep theirs.
        match engines.iter_mut().find(|it| it.strong_count() == 0) {
            Some(gone) => *gone = engine,
            None => engines.push(engine),
        }
    });
}

/// Ends the waits that are due.
fn ring(worker: &Worker) {
    // Not while it is borrowed: what ends a wait may begin another.
    let count = ENGINES.with_borrow(Vec::len);
    for nth in 0..count {
        let engine = ENGINES.with_borrow(|engines| engines.get(nth).and_then(Weak::upgrade));
        if let Some(engine) = engine.filter(|it| Arc::ptr_eq(worker.shared(), &it.shared)) {
            engine.fire(worker);
        }
    }
}

impl Engine {
    /// Does something while this very wait is on; then only its completion ends it, and the event
    /// can not end before.
    pub(crate) fn while_waiting<R>(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        then: impl FnOnce() -> R,
    ) -> Option<R> {
        let state = self.state(slot);
        state.waits(module, pass).then(then)
    }

    /// A waiting module is done. From any thread. `pass` says for which event and attempt; `result`
    /// is asked for while the wait is on.
    pub(crate) fn complete(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        result: impl FnOnce() -> Result<bool, Box<str>>,
    ) {
        current(|worker| {
            let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &self.shared));
            self.complete_from(slot, module, pass, result, worker);
        });
    }

    pub(crate) fn complete_from(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        result: impl FnOnce() -> Result<bool, Box<str>>,
        worker: Option<&Worker>,
    ) {
        let mut state = self.state(slot);
        if !state.waits(module, pass) {
            return;
        }
        if self.settings.figures == Figures::Spans {
            self.note_wait(slot, &mut state, module);
        }
        let Some(result) = state.rare.completes(module, result()) else { return };
        self.ended(slot, &mut state, module, result);
        state = self.drop_retired(slot, state);
        // Otherwise there is nothing to do: it waits for others, which will look after it.
        if state.has_ready() || state.open == 0 {
            self.activate(slot, &mut state, worker, false);
        }
        drop(state);
        if let Some(resource) = self.layout.traits(module).resource {
            self.release(resource, None, worker);
        }
    }

    /// A wait has ended: its span. Kept with those of the worker that started it.
    fn note_wait(&self, slot: u32, state: &mut State, module: u16) {
        let Some((start_ns, worker)) = state.rare.end_wait(module) else { return };
        let (event, end_ns) = (state.number, self.now_ns());
        let span =
            Span { event, module: module.into(), worker, slot, start_ns, end_ns, waits: true };
        lock(&self.notes[worker as usize].spans).push(span, self.settings.spans_max);
    }

    /// Completes a module at a time.
    pub(crate) fn wait_until(
        self: &Arc<Self>,
        worker: Option<&Worker>,
        deadline_ns: u64,
        slot: u32,
        module: u16,
        pass: Pass,
        goes_on: bool,
    ) {
        let Some(worker) = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &self.shared))
        else {
            let cause = "a timed wait must be started on a worker".into();
            return self.complete(slot, module, pass, || Err(cause));
        };
        let mut timers = lock(&self.timers[worker.index()]);
        timers.wheel.insert(deadline_ns, Wait { slot, module, pass, goes_on });
        if !std::mem::replace(&mut timers.is_known, true) {
            add_engine(self);
        }
        timers.arm(worker, ring);
    }

    /// A timer is due.
    fn fire(&self, worker: &Worker) {
        let now_ns = self.now_ns();
        let mut timers = lock(&self.timers[worker.index()]);
        let mut due = timers.ring(now_ns);
        timers.arm(worker, ring);
        drop(timers);
        for &(_, wait) in &due {
            self.complete_from(
                wait.slot,
                wait.module,
                wait.pass,
                || Ok(wait.goes_on),
                Some(worker),
            );
        }
        due.clear();
        lock(&self.timers[worker.index()]).due = due;
    }
}

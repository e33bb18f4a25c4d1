//! The way of events into slots: the worker that frees a slot fills it. While one worker is at the
//! source, others leave their free slots with it.

use crate::cause::said;
use crate::feed::State;
use crate::module::{Next, Transition};
use crate::module_states::ModuleStates;
use crate::run::Run;
use crate::settings::Order;
use crate::status::Controlled;
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::{Task, TaskRef};
use actinium_scheduler::{Turn, Worker, guard};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, Weak};
use std::task::{Wake, Waker};

impl Run {
    /// A slot has become free, or there may be other reasons to look: fills what can be filled.
    pub(crate) fn feed(&self, freed: Option<u32>, worker: &Worker) {
        let feed = &self.feed;
        let mut state = lock(&feed.state);
        if let Some(slot) = freed {
            state.free.push(slot);
        }
        loop {
            self.note_in_flight(&state);
            // Somebody else is at the source: it will look at what we have left here.
            let Some(mut source) = state.source.take() else {
                state.again = true;
                return;
            };
            if !self.may_ask(&mut state) {
                state.source = Some(source);
                let is_over = state.ended && state.free.len() == state.slots;
                let is_first = is_over && !std::mem::replace(&mut state.is_over, true);
                drop(state);
                if is_first {
                    self.end_job();
                    self.finish();
                }
                return;
            }
            if let Some(transition) = state.barrier.take() {
                drop(state);
                state = self.pass_barrier(transition);
                state.source = Some(source);
                continue;
            }
            let (Some(slot), number) = (state.free.pop(), state.number) else { return };
            drop(state);
            self.prepare(slot);
            let within = self.engine.within(self.engine.layout.source);
            let next = said(guard::catch(|| source.next(&self.engine, slot, number)));
            drop(within);
            let goes_on;
            (state, goes_on) = self.take_next(next, slot, number, worker);
            state.source = Some(source);
            if !goes_on {
                return;
            }
        }
    }

    /// Notes the number of events in flight, in this state of the feed, and returns it.
    fn note_in_flight(&self, state: &State) -> u64 {
        let in_flight = (state.slots - state.free.len()) as u64;
        // Relaxed: a statistic; written under the lock.
        self.feed.counts().in_flight.store(in_flight, Ordering::Relaxed);
        in_flight
    }

    /// Whether the source may be asked now, or a barrier passed. Notes the end if there is to be no
    /// other event.
    fn may_ask(&self, state: &mut State) -> bool {
        let is_empty = state.free.len() == state.slots;
        if self.feed.counts().is_stopped()
            || self.engine.settings.events_max.is_some_and(|most| state.number >= most)
                && state.barrier.is_none()
        {
            state.ended = true;
        }
        !(state.barrier.is_some() && !is_empty
            || state.ended
            || state.free.is_empty()
            || self.is_too_far(state.number))
    }

    /// Tells all modules of a transition; nothing is in flight.
    fn pass_barrier(&self, transition: Transition) -> MutexGuard<'_, State> {
        let told = self.instances.tell(transition, |module| self.engine.within(module));
        let state = lock(&self.feed.state);
        if let Err((module, cause)) = told {
            self.engine.note_failure(module, None, format!("{transition:?}: {cause}"));
            self.feed.counts().fail();
        }
        state
    }

    /// Tells all modules that the job is over; nothing is in flight, and nothing comes any more.
    fn end_job(&self) {
        for (module, cause) in self.instances.end_job(|module| self.engine.within(module)) {
            self.engine.note_failure(module, None, format!("the end of the job: {cause}"));
            self.feed.counts().fail();
        }
    }

    /// Gives the source what has it asked again, and starts the feeder. The source is away until
    /// the feeder is known: a run that were over before that would not retire it, and never end.
    /// `None`: it can not be started.
    pub(crate) fn start_feeder(
        self: &Arc<Self>,
        start: impl FnOnce() -> Option<TaskRef>,
    ) -> Option<()> {
        let waker = Waker::from(Arc::new(AsksAgain(Arc::downgrade(self))));
        let mut source = lock(&self.feed.state).source.take()?;
        if let Err(panicked) = guard::catch(|| source.attach(&waker)) {
            self.engine.note_failure(self.engine.layout.source, None, panicked.to_string());
            self.feed.counts().fail();
        }
        let _ = self.feeder.set(start()?);
        lock(&self.feed.state).source = Some(source);
        self.wake_feeder();
        Some(())
    }

    /// Makes a free slot ready for what the source makes.
    fn prepare(&self, slot: u32) {
        let mut state = self.engine.state(slot);
        state.pass += 1;
        if state.words.is_empty() {
            // The slot's first event.
            let words = ModuleStates::like(&self.engine.template.words);
            state.words = words.clone();
            let _ = self.engine.slots[slot as usize].words.set(words);
        }
        // It has one if the source had no event for it the last time.
        if state.words.cell(self.engine.layout.source).is_none() {
            self.engine.take_cell(slot, &mut state, self.engine.layout.source);
        }
    }

    /// Does what the source has answered. Says whether there may be more to fill.
    #[inline(always)]
    fn take_next(
        &self,
        next: Result<Next<()>, Box<str>>,
        slot: u32,
        number: u64,
        worker: &Worker,
    ) -> (MutexGuard<'_, State>, bool) {
        let mut state = lock(&self.feed.state);
        match next {
            Ok(next @ (Next::Event(()) | Next::Numbered(..))) => {
                state.number += 1;
                let counts = self.feed.counts();
                let in_flight = self.note_in_flight(&state);
                // Relaxed: statistics; written under the lock.
                counts.begun.store(state.number, Ordering::Relaxed);
                counts.in_flight_max.fetch_max(in_flight, Ordering::Relaxed);
                // While the source is still away, so that events begin in their order.
                drop(state);
                let own = if let Next::Numbered(own, ()) = next { own } else { number };
                self.begin(slot, own, number, worker);
                return (lock(&self.feed.state), true);
            }
            Ok(Next::Later) => {
                state.free.push(slot);
                let again = std::mem::take(&mut state.again);
                return (state, again);
            }
            Ok(Next::Transition(transition)) => state.barrier = Some(transition),
            Ok(Next::End) => state.ended = true,
            Err(cause) => {
                self.engine.note_failure(self.engine.layout.source, Some(number), cause.into());
                self.feed.counts().fail();
            }
        }
        state.free.push(slot);
        (state, true)
    }

    /// Puts an event into a free slot; its source product is there already.
    fn begin(&self, slot: u32, number: u64, turn: u64, worker: &Worker) {
        let mut state = self.engine.state(slot);
        (state.number, state.turn) = (number, turn);
        state.attempts = 1;
        state.start_ns = self.engine.now_ns();
        state.begin(&self.engine.template);
        if state.active == 0 {
            let home = worker.index() == self.engine.slots[slot as usize].home;
            if home {
                self.engine.activate(slot, &mut state, Some(worker), false);
            } else {
                self.engine.activate_at(slot, &mut state, 0, Some(worker), false);
            }
        }
    }

    /// Whether this event is beyond the window of outputs in order.
    fn is_too_far(&self, number: u64) -> bool {
        match self.engine.settings.order {
            Order::Completed => false,
            Order::Input { window } => number >= lock(&self.order).next + window.max(1) as u64,
        }
    }
}

/// Has a source asked again that had nothing.
struct AsksAgain(Weak<Run>);

impl Wake for AsksAgain {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(run) = self.0.upgrade() {
            run.wake_feeder();
        }
    }
}

/// Asks a source again that had nothing.
pub(crate) struct Feeds(pub(crate) Arc<Run>);

impl Task for Feeds {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        self.0.feed(None, worker);
        (Turn::Idle, 1)
    }
}

//! The event processor's heart: how [strands](crate::strands) run the ready modules of a slot.
//!
//! A slot has a few strands at a time, each at home on another worker, the first at the slot's home. A strand takes
//! a ready module, runs it, does what follows from its end, and takes the next: so one successor runs inline on the same worker. The others
//! stay in the slot's list, and when what runs next takes long, another strand is woken for them.
//!
//! Who changes a slot looks after it: when a module becomes ready by anything but the slot's own strand (a resource was handed
//! over, a wait is over), an inactive strand is woken under the slot's lock; a strand becomes inactive under that lock, when it found nothing.
//! So nothing that is ready is left lying.

use crate::cells::{Cells, Column, Store, Table};
use crate::feed::Feed;
use crate::future::Futures;
use crate::graph::{Graph, Traits};
use crate::module::{Cause, Erased, Event, Ran};
use crate::order::InOrder;
use crate::processor::{OnError, Order, Settings};
use crate::product::{Inputs, Product, Read};
use crate::record::{EventEnd, Failure, Figures, Span, WorkerNotes};
use crate::resource::{Resource, Waiting};
use crate::slot::{HELD, Pass, QUEUED, RUNNING, Stage, State};
use crate::split::Splits;
use crate::strands::{Anchor, Strands, Wanted};
use crate::timers::{Timers, Wait, arm};
use crate::words::{NO_CELL, Words};
use actinium_scheduler::task::TaskRef;
use actinium_scheduler::{Shared, Turn, Worker, current};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// What takes longer, in nanoseconds, has a turn of its own, so that the scheduler can give others theirs.
const LONG_NS: u32 = 10_000;
/// Before a module that takes longer, in nanoseconds, others that are ready are handed to a worker that is idle ...
const SPREAD_IDLE_NS: u32 = 5_000;
/// ... and before one that takes longer than this even to one that is busy now: it may be done sooner.
const SPREAD_ALWAYS_NS: u32 = 200_000;
/// With [`Figures::Counts`], one call in so many is timed.
const TIMED: u64 = 64;
/// Most failures that a summary lists.
const FAILURES_MAX: usize = 100;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // User code never runs under these locks, but for destructors of products.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) type OnEnd = Box<dyn Fn(&EventEnd<'_>) + Send + Sync>;

pub(crate) struct Slot {
    state: Mutex<State>,
    /// Made for its first event.
    words: OnceLock<Words>,
    table: Table,
    home: usize,
}

pub(crate) struct Engine {
    pub(crate) graph: Graph,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Box<[Slot]>,
    pub(crate) strands: Strands,
    columns: Box<[Column]>,
    /// One per module, or one per slot, from `first_instances` on.
    instances: Box<[Box<dyn Erased>]>,
    first_instances: Box<[u32]>,
    pub(crate) resources: Box<[Resource]>,
    /// Measured nanoseconds per call, exponentially weighted; 0: not known.
    expected_ns: Box<[AtomicU32]>,
    pub(crate) notes: Box<[WorkerNotes]>,
    timers: Box<[Mutex<Timers>]>,
    pub(crate) splits: Splits,
    pub(crate) futures: Futures,
    pub(crate) feed: Feed,
    pub(crate) order: Mutex<InOrder>,
    pub(crate) failures: Mutex<Vec<Failure>>,
    pub(crate) finished: Mutex<bool>,
    pub(crate) changed: Condvar,
    pub(crate) feeder: OnceLock<TaskRef>,
    /// Is told of each event that has ended, before the next one's outputs begin.
    pub(crate) on_end: Option<OnEnd>,
}

/// What is counted of a call: its waits from when on, and whether its resource is at home where it runs.
#[derive(Clone, Copy)]
struct Since {
    event_ns: u64,
    /// If its resource was taken when its inputs were there: since when.
    queued_ns: Option<u64>,
    is_at_home: bool,
}

impl Engine {
    pub(crate) fn new(
        graph: Graph,
        settings: Settings,
        shared: Arc<Shared>,
        on_end: Option<OnEnd>,
    ) -> Self {
        let (workers, slots) = (shared.workers(), settings.slots_or(shared.workers()));
        let source = lock(&graph.source_module).take();
        let (mut instances, mut first_instances) = (Vec::new(), Vec::new());
        for (m, module) in graph.modules.iter().enumerate() {
            first_instances.push(instances.len() as u32);
            let make = |slot| (module.make)(&mut Inputs { wanted: Vec::new(), slot });
            if graph.traits(m as u16).streams {
                instances.extend((0..slots).map(|slot| make(Some(slot))));
            } else {
                instances.push(make(None));
            }
        }
        let mut chunks = 0;
        let column = |(number, &(make, producers))| {
            let column = Column::new(make, producers, (number, chunks), slots, workers);
            chunks += column.chunks();
            column
        };
        let columns = graph.columns.iter().enumerate().map(column).collect();
        Engine {
            strands: Strands::new(workers, slots),
            columns,
            instances: instances.into(),
            first_instances: first_instances.into(),
            slots: (0..slots)
                .map(|slot| Slot {
                    state: Mutex::new(State::of_slot(graph.columns.len(), chunks)),
                    words: OnceLock::new(),
                    table: Table::new(chunks),
                    home: slot % workers,
                })
                .collect(),
            resources: graph
                .resources
                .iter()
                .enumerate()
                .map(|(nth, (name, most))| Resource::new(name.clone(), *most, nth % workers))
                .collect(),
            expected_ns: (0..graph.len()).map(|_| AtomicU32::new(0)).collect(),
            notes: (0..workers).map(|_| WorkerNotes::new(graph.len(), graph.paths.len())).collect(),
            timers: (0..workers).map(|_| Mutex::new(Timers::new())).collect(),
            splits: Splits::default(),
            futures: Futures::default(),
            feed: Feed::new(source, slots),
            order: Mutex::default(),
            failures: Mutex::default(),
            finished: Mutex::new(false),
            changed: Condvar::new(),
            feeder: OnceLock::new(),
            on_end,
            graph,
            settings,
            shared,
        }
    }

    // ---- products ------------------------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn read<T: Product>(&self, slot: &Slot, producer: u16) -> Option<Read<'_, T>> {
        let (store, chunk, place) = self.find::<T>(slot, producer)?;
        store.read(chunk, place)
    }

    /// Under the slot's lock, or by the module's own call.
    #[inline]
    pub(crate) fn put<T: Product>(&self, slot: u32, module: u16, product: T) {
        if let Some((store, chunk, place)) = self.find::<T>(&self.slots[slot as usize], module) {
            store.put(chunk, place, product);
        }
    }

    /// Where a module's product is.
    #[inline(always)]
    fn find<T: Product>(&self, slot: &Slot, module: u16) -> Option<(&Store<T>, u32, usize)> {
        let column = &self.columns[usize::from(self.graph.column(module)?)];
        let (chunk, place) = slot.table.find(column, slot.words.get()?.cell_of_done(module)?);
        let store: &dyn Any = &*column.store;
        Some((store.downcast_ref()?, chunk, place))
    }

    /// A cell for what the module makes, which has none.
    #[inline]
    fn take_cell(&self, slot: u32, state: &mut State, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        let cell = state.cells.take(&slot.table, &self.columns[usize::from(column)], slot.home);
        state.words.set_cell(module, cell);
    }

    #[inline]
    fn free(&self, slot: u32, words: &Words, cells: &mut Cells, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        if let Some(cell) = words.cell(module) {
            words.set_cell(module, NO_CELL);
            cells.give_back(&slot.table, &self.columns[usize::from(column)], slot.home, cell);
        }
    }

    // ---- strands -------------------------------------------------------------------------------------------------

    /// Gives the slot another strand, if it may have one: at `worker` or, with `away`, elsewhere.
    fn activate(&self, slot: u32, state: &mut State, worker: Option<&Worker>, away: bool) {
        let here = worker.map(|worker| self.place(slot, worker.index()));
        let mut all = (0..self.strands.per_slot).filter(|&place| !state.is_active(place));
        let place = match here {
            Some(here) if away => all.find(|&place| place != here),
            Some(here) if here < self.strands.per_slot && !state.is_active(here) => Some(here),
            _ => all.next(),
        };
        if let Some(place) = place {
            self.activate_at(slot, state, place, worker, false);
        }
    }

    /// Gives the slot a strand at this place, which it has not.
    fn activate_at(
        &self,
        slot: u32,
        state: &mut State,
        place: usize,
        from: Option<&Worker>,
        is_urgent: bool,
    ) {
        state.active |= 1 << place;
        let at = (self.slots[slot as usize].home + place) % self.shared.workers();
        let wanted = Wanted { number: state.number, slot, place: place as u16, is_urgent };
        self.strands.work_for(wanted, at, from);
    }

    /// A worker's distance from the slot's home: the place of the slot's strand there.
    fn place(&self, slot: u32, worker: usize) -> usize {
        let workers = self.shared.workers();
        (worker + workers - self.slots[slot as usize].home) % workers
    }

    /// A module of the slot that others wait for is to run at this worker soon.
    fn activate_first(&self, slot: u32, state: &mut State, at: usize, from: Option<&Worker>) {
        let place = self.place(slot, at);
        let is_place = place < self.strands.per_slot;
        if is_place && state.is_active(place) && self.strands.urge(slot, at) {
            return;
        }
        // If the slot's strand there is running it may be long before it looks again.
        let mut places = [place].into_iter().chain(0..self.strands.per_slot);
        let inactive = |&place: &usize| place < self.strands.per_slot && !state.is_active(place);
        if let Some(place) = places.find(inactive) {
            self.activate_at(slot, state, place, from, true);
        }
    }

    /// One turn of a strand: many short modules, or a long one. Says last whether others wait for what comes next.
    pub(crate) fn turn(
        self: &Arc<Self>,
        anchor: &Anchor,
        wanted: Wanted,
        worker: &Worker,
    ) -> (Turn, u32, bool) {
        let slot = wanted.slot;
        let mut handled = 0;
        // When the call before this one ended: the next begins then, with what is done in between, for the clock costs as much as that.
        let mut last_ns = 0;
        let mut state = lock(&self.slots[slot as usize].state);
        let mut leaves_held = false;
        loop {
            let Some(module) = state.take_ready(std::mem::take(&mut leaves_held)) else {
                if state.open == 0 && state.stage != Stage::Free && state.stage != Stage::Parked {
                    state = self.stage_over(slot, state, worker);
                    if state.stage != Stage::Free && state.stage != Stage::Parked {
                        continue;
                    }
                }
                state.active &= !(1 << wanted.place);
                return (Turn::Idle, handled, false);
            };
            let is_held = state.of(module) == HELD;
            let expected_ns = self.expected_ns(module);
            if handled > 0
                && (expected_ns == 0 || expected_ns >= LONG_NS || handled >= worker.batch())
            {
                match is_held {
                    true => state.put_held(module),
                    false => state.ready.push(module),
                }
                return (Turn::Again, handled, is_held);
            }
            let Traits { resource, waits, streams, .. } = self.graph.traits(module);
            if state.failure.is_some() {
                // The event is given up: what holds a resource gives it back unused.
                let _ = state.take_handed(module);
                state.fail(module, String::new());
                drop(state);
                if is_held {
                    self.release(resource, slot, worker);
                }
                state = lock(&self.slots[slot as usize].state);
                continue;
            }
            if let (Some(resource), false) = (resource, is_held) {
                // Before it can be handed over.
                state.set(module, QUEUED);
                let since_ns =
                    if self.settings.figures >= Figures::Times { self.now_ns() } else { 0 };
                if !self.resources[usize::from(resource)].acquire(Waiting {
                    slot,
                    module,
                    since_ns,
                    number: state.number,
                }) {
                    continue;
                }
                if self.leaves_to_home(slot, &mut state, resource, module, worker) {
                    leaves_held = true;
                    continue;
                }
            }
            let queued_ns = if is_held { state.take_handed(module) } else { None };
            state.set(module, RUNNING);
            if waits && self.settings.figures == Figures::Spans {
                state.waits_since.push((module, self.now_ns(), worker.index() as u32));
            }
            self.take_cell(slot, &mut state, module);
            if !state.ready.is_empty() && self.is_worth_spreading(expected_ns) {
                self.activate(slot, &mut state, Some(worker), true);
            }
            let event = Event {
                engine: self,
                anchor,
                worker,
                at: &self.slots[slot as usize],
                slot,
                module,
                pass: state.pass,
                number: state.number,
            };
            let is_at_home =
                resource.is_some_and(|it| self.resources[usize::from(it)].runs_at(worker.index()));
            let since = Since { event_ns: state.start_ns, queued_ns, is_at_home };
            drop(state);
            let result = self.call(&event, streams, since, &mut last_ns);
            handled += 1;
            if waits {
                if let Err(cause) = result {
                    self.complete_from(slot, module, event.pass, || Err(cause), Some(worker));
                }
                state = lock(&self.slots[slot as usize].state);
                continue;
            }
            self.release(resource, slot, worker);
            state = lock(&self.slots[slot as usize].state);
            self.ended(
                slot,
                &mut state,
                module,
                result.map(|ran| !matches!(ran, Ran::Done(false))),
            );
        }
    }

    /// Whether only one event at a time may use the module, so that its state has a home.
    pub(crate) fn has_home(&self, module: u16) -> bool {
        let resource = self.graph.traits(module).resource;
        resource.is_some_and(|resource| self.resources[usize::from(resource)].home().is_some())
    }

    /// The module has its resource, whose home is elsewhere. It goes there when that pays: it takes longer than a wake-up, home is asleep, and there is
    /// something else to do here meanwhile. Should this strand be done with that first, it runs the module after all.
    fn leaves_to_home(
        &self,
        slot: u32,
        state: &mut State,
        resource: u16,
        module: u16,
        worker: &Worker,
    ) -> bool {
        let Some(home) = self.resources[usize::from(resource)].home() else { return false };
        let place = self.place(slot, home);
        if home == worker.index()
            || state.ready.is_empty()
            || place >= self.strands.per_slot
            || state.is_active(place)
            || self.expected_ns(module) < LONG_NS
            || !self.shared.sleep().is_asleep(home)
        {
            return false;
        }
        state.put_held(module);
        self.activate_at(slot, state, place, Some(worker), true);
        true
    }

    fn is_worth_spreading(&self, expected_ns: u32) -> bool {
        self.shared.workers() > 1
            && (expected_ns == 0
                || expected_ns >= SPREAD_ALWAYS_NS
                || expected_ns >= SPREAD_IDLE_NS && self.shared.sleep().idle() > 0)
    }

    fn expected_ns(&self, module: u16) -> u32 {
        // Relaxed: an estimate.
        self.expected_ns[usize::from(module)].load(Ordering::Relaxed)
    }

    /// Calls the module, with all that is noted about it. `last_ns`: when the call before it in this turn ended, 0 if there was none or nobody
    /// looked.
    fn call(
        &self,
        event: &Event<'_>,
        streams: bool,
        since: Since,
        last_ns: &mut u64,
    ) -> Result<Ran, Cause> {
        let m = usize::from(event.module);
        let notes = &self.notes[event.worker.index()];
        let counts = &notes.modules[m];
        let nth = self.first_instances[m] + if streams { event.slot } else { 0 };
        let instance = &self.instances[nth as usize];
        if since.is_at_home {
            counts.at_home.add(1);
        }
        let figures = self.settings.figures;
        let is_timed = figures >= Figures::Times || counts.calls.get().is_multiple_of(TIMED);
        let begin_ns = match *last_ns {
            0 if is_timed => self.now_ns(),
            last_ns => last_ns,
        };
        *last_ns = 0;
        if figures >= Figures::Times {
            notes.since_ns.set(begin_ns.max(1));
            counts.wait_start_ns.add(begin_ns.saturating_sub(since.event_ns));
            if let Some(queued_ns) = since.queued_ns {
                counts.wait_resource_ns.add(begin_ns.saturating_sub(queued_ns));
            }
        }
        let result = catch_unwind(AssertUnwindSafe(|| instance.run(event)))
            .unwrap_or_else(|payload| Err(panic_message(&*payload).into()));
        counts.calls.add(1);
        if result.is_err() {
            counts.failures.add(1);
        }
        if is_timed {
            let end_ns = self.now_ns();
            *last_ns = end_ns;
            let took_ns = end_ns.saturating_sub(begin_ns);
            self.learn(event.module, took_ns);
            if figures >= Figures::Times {
                counts.busy_ns.add(took_ns);
                notes.busy_ns.add(took_ns);
                notes.since_ns.set(0);
            }
            if figures == Figures::Spans {
                let span = Span {
                    event: event.number,
                    module: event.module.into(),
                    worker: event.worker.index() as u32,
                    slot: event.slot,
                    start_ns: begin_ns,
                    end_ns,
                    waits: false,
                };
                lock(&notes.spans).push(span, self.settings.spans_max);
            }
        }
        result
    }

    fn learn(&self, module: u16, took_ns: u64) {
        let cell = &self.expected_ns[usize::from(module)];
        // Relaxed: an estimate; a lost update does no harm.
        let old = u64::from(cell.load(Ordering::Relaxed));
        let new = if old == 0 { took_ns } else { (old * 7 + took_ns) / 8 };
        cell.store(new.clamp(1, u64::from(u32::MAX)) as u32, Ordering::Relaxed);
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.shared.clock().now_ns()
    }

    /// A module has come to its end.
    fn ended(&self, slot: u32, state: &mut State, module: u16, result: Result<bool, Cause>) {
        match result {
            Ok(pass) => {
                state.finish(&self.graph, module, pass, &mut |words, cells, producer| {
                    self.free(slot, words, cells, producer);
                });
            }
            Err(cause) => state.fail(module, cause.to_string()),
        }
    }

    // ---- resources -----------------------------------------------------------------------------------------------

    /// Gives a resource back. Whoever is next in its queue runs here, where its state is warm whether this is its home or not, before anything
    /// else that waits here: all others in the queue wait for it.
    fn release(&self, resource: Option<u16>, slot: u32, worker: &Worker) {
        self.release_from(resource, Some(slot), Some(worker));
    }

    /// `own`: the slot whose strand does it, and looks at the slot next.
    fn release_from(&self, resource: Option<u16>, own: Option<u32>, worker: Option<&Worker>) {
        let Some(resource) = resource else { return };
        let resource = &self.resources[usize::from(resource)];
        let Some(next) = resource.release() else { return };
        if next.since_ns > 0 {
            // Relaxed: a statistic.
            resource
                .waited_ns
                .fetch_add(self.now_ns().saturating_sub(next.since_ns), Ordering::Relaxed);
        }
        let mut state = lock(&self.slots[next.slot as usize].state);
        state.put_held(next.module);
        if next.since_ns > 0 {
            state.handed.push((next.module, next.since_ns));
        }
        if own == Some(next.slot) {
            return;
        }
        match worker.map(Worker::index).or(resource.home()) {
            Some(at) => self.activate_first(next.slot, &mut state, at, worker),
            None => self.activate(next.slot, &mut state, worker, false),
        }
    }

    // ---- waiting modules -----------------------------------------------------------------------------------------

    /// Does something while this very wait is on; then only its completion ends it, and the event can not end before.
    pub(crate) fn while_waiting<R>(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        then: impl FnOnce() -> R,
    ) -> Option<R> {
        let state = lock(&self.slots[slot as usize].state);
        state.waits(module, pass).then(then)
    }

    /// A waiting module is done. From any thread. `pass` says for which event and attempt; `result` is asked for while the wait is on.
    pub(crate) fn complete(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        result: impl FnOnce() -> Result<bool, Cause>,
    ) {
        current(|worker| {
            let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &self.shared));
            self.complete_from(slot, module, pass, result, worker);
        });
    }

    fn complete_from(
        &self,
        slot: u32,
        module: u16,
        pass: Pass,
        result: impl FnOnce() -> Result<bool, Cause>,
        worker: Option<&Worker>,
    ) {
        let mut state = lock(&self.slots[slot as usize].state);
        if !state.waits(module, pass) {
            return;
        }
        if self.settings.figures == Figures::Spans {
            self.note_wait(slot, &mut state, module);
        }
        self.ended(slot, &mut state, module, result());
        // Otherwise there is nothing to do: it waits for others, which will look after it.
        if !state.ready.is_empty() || state.open == 0 {
            self.activate(slot, &mut state, worker, false);
        }
        drop(state);
        self.release_from(self.graph.traits(module).resource, None, worker);
    }

    /// A wait has ended: its span. Kept with those of the worker that started it.
    fn note_wait(&self, slot: u32, state: &mut State, module: u16) {
        let Some(at) = state.waits_since.iter().position(|&(waits, ..)| waits == module) else {
            return;
        };
        let (_, start_ns, worker) = state.waits_since.swap_remove(at);
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
        arm(&mut timers, worker);
    }

    /// An alarm rang.
    pub(crate) fn fire(self: &Arc<Self>, worker: &Worker) {
        let now_ns = self.now_ns();
        let mut timers = lock(&self.timers[worker.index()]);
        if timers.armed_ns <= now_ns {
            timers.armed_ns = u64::MAX;
        }
        let mut due = std::mem::take(&mut timers.due);
        timers.wheel.advance(now_ns, &mut due);
        arm(&mut timers, worker);
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

    // ---- events --------------------------------------------------------------------------------------------------

    /// Puts an event into a free slot; its source product is there already.
    pub(crate) fn begin(&self, slot: u32, number: u64, turn: u64, worker: &Worker) {
        let mut state = lock(&self.slots[slot as usize].state);
        (state.number, state.turn) = (number, turn);
        state.attempts = 1;
        state.start_ns = self.now_ns();
        state.begin(&self.graph.template);
        if state.active == 0 {
            let home = worker.index() == self.slots[slot as usize].home;
            if home {
                self.activate(slot, &mut state, Some(worker), false);
            } else {
                self.activate_at(slot, &mut state, 0, Some(worker), false);
            }
        }
    }

    /// Makes a free slot ready for what the source makes.
    pub(crate) fn prepare(&self, slot: u32) {
        let mut state = lock(&self.slots[slot as usize].state);
        state.pass += 1;
        if state.words.is_empty() {
            // The slot's first event.
            let words = Words::like(&self.graph.template.words);
            state.words = words.clone();
            let _ = self.slots[slot as usize].words.set(words);
        }
        // It has one if the source had no event for it the last time.
        if state.words.cell(self.graph.source).is_none() {
            self.take_cell(slot, &mut state, self.graph.source);
        }
    }

    /// Nothing of the event is under way any more: what comes next?
    fn stage_over<'a>(
        self: &'a Arc<Self>,
        slot: u32,
        mut state: MutexGuard<'a, State>,
        worker: &Worker,
    ) -> MutexGuard<'a, State> {
        self.note_paths(&mut state, worker);
        if state.failure.is_none() && state.stage == Stage::Paths {
            if self.settings.order != Order::Completed {
                state.stage = Stage::Parked;
                if !lock(&self.order).may_go(state.turn, slot) {
                    return state;
                }
            }
            state.stage = Stage::MayWrite;
        }
        if state.failure.is_none()
            && state.stage == Stage::MayWrite
            && state.start_outputs(&self.graph)
        {
            return state;
        }
        // What nobody has read to the end; the source's product is kept for another attempt.
        let State { words, cells, .. } = &mut *state;
        if cells.count() > 1 {
            for module in 0..self.graph.source {
                self.free(slot, words, cells, module);
            }
        }
        let mut failed = None;
        if let Some((module, cause)) = state.failure.take().map(|failure| *failure) {
            if let OnError::Retry(times) = self.settings.on_error
                && state.attempts <= times
            {
                state.attempts += 1;
                state.pass += 1;
                self.feed.retries.fetch_add(1, Ordering::Relaxed); // Relaxed: a statistic.
                state.begin(&self.graph.template);
                return state;
            }
            failed = self.on_end.is_some().then(|| (module, cause.clone()));
            self.note_failure(module, Some(state.number), cause);
            self.feed.count_failed(self.settings.on_error == OnError::Stop);
        } else {
            self.feed.count_done();
        }
        let State { words, cells, .. } = &mut *state;
        self.free(slot, words, cells, self.graph.source);
        state.stage = Stage::Free;
        let (number, turn, start_ns) = (state.number, state.turn, state.start_ns);
        drop(state);
        if let Some(on_end) = &self.on_end {
            let failure = failed.as_ref().map(|(m, cause)| (self.graph.label(*m), cause.as_str()));
            let took_ns = self.now_ns().saturating_sub(start_ns);
            let slot = slot as usize;
            // What it breaks is not the event's, which has ended; its panic has been told by the panic's own hook.
            let end = EventEnd { number, slot, took_ns, failure };
            let _ = catch_unwind(AssertUnwindSafe(|| on_end(&end)));
        }
        if self.settings.order != Order::Completed {
            let next = lock(&self.order).ended(turn);
            if let Some(next) = next {
                let mut state = lock(&self.slots[next as usize].state);
                state.stage = Stage::MayWrite;
                self.activate(next, &mut state, Some(worker), false);
            }
        }
        self.feed(Some(slot), worker);
        lock(&self.slots[slot as usize].state)
    }

    fn note_paths(&self, state: &mut State, worker: &Worker) {
        if state.ended_paths.is_empty() {
            return;
        }
        let took_ns = self.now_ns().saturating_sub(state.start_ns);
        let notes = &self.notes[worker.index()];
        while let Some(path) = state.ended_paths.pop() {
            let counts = &notes.paths[usize::from(path)];
            counts.events.add(1);
            counts.passed.add(u64::from(state.passed(path.into())));
            counts.total_ns.add(took_ns);
            counts.max_ns.max(took_ns);
        }
    }

    pub(crate) fn note_failure(&self, module: u16, event: Option<u64>, cause: String) {
        let mut failures = lock(&self.failures);
        if failures.len() < FAILURES_MAX {
            failures.push(Failure { module: self.graph.label(module).to_owned(), event, cause });
        }
    }

    /// Tells all modules of a transition; no event is in flight.
    pub(crate) fn tell(&self, transition: crate::module::Transition) -> Result<(), (u16, Cause)> {
        for (nth, instance) in self.instances.iter().enumerate() {
            catch_unwind(AssertUnwindSafe(|| instance.transition(transition)))
                .unwrap_or_else(|payload| Err(panic_message(&*payload).into()))
                .map_err(|cause| {
                    let module = self.first_instances.partition_point(|&k| k as usize <= nth) - 1;
                    (module as u16, cause)
                })?;
        }
        Ok(())
    }

    pub(crate) fn finish(&self) {
        *lock(&self.finished) = true;
        self.changed.notify_all();
    }
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("with something that is no text"))
}

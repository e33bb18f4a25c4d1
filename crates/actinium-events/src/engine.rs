//! The event processor's heart: strands that run the ready modules of one slot.
//!
//! A slot has a few *strands*, tasks of the scheduler, each at home on another worker, the first at the slot's home. A strand takes
//! a ready module, runs it, does what follows from its end, and takes the next: so one successor runs inline on the same worker. The others
//! stay in the slot's list, and when what runs next takes long, another strand is woken for them.
//!
//! Who changes a slot looks after it: when a module becomes ready by anything but the slot's own strand (a resource was handed
//! over, a wait is over), an inactive strand is woken under the slot's lock; a strand becomes inactive under that lock, when it found nothing.
//! So nothing that is ready is left lying.

use crate::feed::Feed;
use crate::future::Futures;
use crate::graph::{Graph, Traits};
use crate::module::{Cause, Erased, Event, Ran};
use crate::order::InOrder;
use crate::processor::{OnError, Order, Settings};
use crate::product::{AnyColumn, Column, Inputs, Product, Read};
use crate::record::{Failure, Figures, Span, WorkerNotes};
use crate::resource::{Resource, Waiting};
use crate::slot::{Cells, HELD, Pass, QUEUED, RUNNING, Stage, State};
use crate::split::Splits;
use crate::timers::{Timers, Wait, arm};
use actinium_scheduler::task::{Task, TaskRef};
use actinium_scheduler::{Shared, Turn, Worker, current};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
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

pub(crate) struct Slot {
    state: Mutex<State>,
    columns: Box<[Box<dyn AnyColumn>]>,
    /// In which cell of its column each module's product is; the source's comes last. Written under the lock.
    cells_of: Box<[AtomicU16]>,
    strands: OnceLock<Box<[TaskRef]>>,
    home: usize,
}

/// Of a module that has made nothing yet.
const NO_CELL: u16 = u16::MAX;

impl Slot {
    #[inline]
    fn cell_of(&self, module: u16) -> u16 {
        // Relaxed: who asks was made ready after it was set, which the slot's lock orders.
        self.cells_of[usize::from(module)].load(Ordering::Relaxed)
    }

    #[inline]
    fn set_cell(&self, module: u16, cell: u16) {
        // Relaxed: as above.
        self.cells_of[usize::from(module)].store(cell, Ordering::Relaxed);
    }
}

pub(crate) struct Engine {
    pub(crate) graph: Graph,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Box<[Slot]>,
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
}

/// What one slot's strands and completions hold the engine by.
pub(crate) type Anchor = Arc<Arc<Engine>>;

/// A task of the scheduler that runs modules of one slot.
pub(crate) struct Strand {
    pub(crate) engine: Anchor,
    pub(crate) slot: u32,
    pub(crate) index: u32,
}

impl Task for Strand {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        self.engine.turn(&self.engine, self.slot, self.index, worker)
    }
}

/// What a call's waits are counted from.
#[derive(Clone, Copy)]
struct Since {
    event_ns: u64,
    /// If its resource was taken when its inputs were there: since when.
    queued_ns: Option<u64>,
}

impl Engine {
    pub(crate) fn new(graph: Graph, settings: Settings, shared: Arc<Shared>) -> Self {
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
        Engine {
            instances: instances.into(),
            first_instances: first_instances.into(),
            slots: (0..slots)
                .map(|slot| Slot {
                    state: Mutex::new(State::of_slot(&graph)),
                    columns: graph.columns.iter().map(|&(make, len)| make(len)).collect(),
                    cells_of: (0..=graph.len()).map(|_| AtomicU16::new(NO_CELL)).collect(),
                    strands: OnceLock::new(),
                    home: slot % workers,
                })
                .collect(),
            resources: graph
                .resources
                .iter()
                .map(|(name, most)| Resource::new(name.clone(), *most))
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
            graph,
            settings,
            shared,
        }
    }

    /// The slot's strands, made by the caller in the order of their workers from the slot's home on.
    pub(crate) fn set_strands(&self, slot: usize, strands: Box<[TaskRef]>) {
        let _ = self.slots[slot].strands.set(strands);
    }

    // ---- products ------------------------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn read<T: Product>(&self, slot: u32, producer: u16) -> Option<Read<'_, T>> {
        let slot = &self.slots[slot as usize];
        self.column(slot, producer)?.read(slot.cell_of(producer))
    }

    /// Under the slot's lock, or by the module's own call.
    #[inline]
    pub(crate) fn put<T: Product>(&self, slot: u32, module: u16, product: T) {
        let slot = &self.slots[slot as usize];
        if let Some(column) = self.column(slot, module) {
            column.put(slot.cell_of(module), product);
        }
    }

    #[inline]
    fn column<'a, T: Product>(&self, slot: &'a Slot, module: u16) -> Option<&'a Column<T>> {
        let column: &dyn Any = &*slot.columns[usize::from(self.graph.column(module)?)];
        column.downcast_ref()
    }

    /// A cell for what the module makes, unless it has one.
    #[inline]
    fn take_cell(&self, slot: u32, state: &mut State, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        if slot.cell_of(module) == NO_CELL {
            let (cell, is_new) = state.cells.take(column);
            if is_new {
                slot.columns[usize::from(column)].make(cell);
            }
            slot.set_cell(module, cell);
        }
    }

    #[inline]
    fn free(&self, slot: u32, cells: &mut Cells, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        let cell = slot.cell_of(module);
        if cell != NO_CELL {
            slot.set_cell(module, NO_CELL);
            slot.columns[usize::from(column)].clear(cell);
            cells.give_back(column, cell);
        }
    }

    // ---- strands -------------------------------------------------------------------------------------------------

    /// Wakes an inactive strand of the slot, if there is one: the one at `worker` or, with `away`, one elsewhere.
    fn activate(&self, slot: u32, state: &mut State, worker: Option<&Worker>, away: bool) {
        let it = &self.slots[slot as usize];
        let Some(strands) = it.strands.get() else { return };
        let inactive = |&k: &usize| state.active & (1 << k) == 0;
        let here = worker.map(|worker| {
            (worker.index() + self.shared.workers() - it.home) % self.shared.workers()
        });
        let mut all = (0..strands.len()).filter(inactive);
        let k = match here {
            Some(here) if away => all.find(|&k| k != here),
            Some(here) if here < strands.len() && state.active & (1 << here) == 0 => Some(here),
            _ => all.next(),
        };
        if let Some(k) = k {
            state.active |= 1 << k;
            strands[k].wake_from(worker);
        }
    }

    /// One turn of a strand: many short modules, or a long one.
    fn turn(
        self: &Arc<Self>,
        anchor: &Anchor,
        slot: u32,
        strand: u32,
        worker: &Worker,
    ) -> (Turn, u32) {
        let mut handled = 0;
        // When the call before this one ended: the next begins then, with what is done in between, for the clock costs as much as that.
        let mut last_ns = 0;
        let mut state = lock(&self.slots[slot as usize].state);
        loop {
            let Some(module) = state.ready.pop() else {
                if state.open == 0 && state.stage != Stage::Free && state.stage != Stage::Parked {
                    state = self.stage_over(slot, state, worker);
                    if state.stage != Stage::Free && state.stage != Stage::Parked {
                        continue;
                    }
                }
                state.active &= !(1 << strand);
                return (Turn::Idle, handled);
            };
            let is_held = state.of(module) == HELD;
            let expected_ns = self.expected_ns(module);
            if handled > 0
                && (expected_ns == 0 || expected_ns >= LONG_NS || handled >= worker.batch())
            {
                state.ready.push(module);
                return (Turn::Again, handled);
            }
            let Traits { resource, waits, streams, .. } = self.graph.traits(module);
            if state.failure.is_some() {
                // The event is given up: what holds a resource gives it back unused.
                let _ = state.take_handed(module);
                state.fail(module, String::new());
                drop(state);
                if is_held {
                    self.release(resource, worker);
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
                }) {
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
                slot,
                module,
                pass: state.pass,
                number: state.number,
            };
            let since = Since { event_ns: state.start_ns, queued_ns };
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
            self.release(resource, worker);
            state = lock(&self.slots[slot as usize].state);
            self.ended(
                slot,
                &mut state,
                module,
                result.map(|ran| !matches!(ran, Ran::Done(false))),
            );
        }
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
                state.finish(&self.graph, module, pass, &mut |cells, producer| {
                    self.free(slot, cells, producer);
                });
            }
            Err(cause) => state.fail(module, cause.to_string()),
        }
    }

    // ---- resources -----------------------------------------------------------------------------------------------

    /// Gives a resource back; whoever is next in its queue runs here, where the module's state is warm, unless somebody takes it away.
    fn release(&self, resource: Option<u16>, worker: &Worker) {
        self.release_from(resource, Some(worker));
    }

    fn release_from(&self, resource: Option<u16>, worker: Option<&Worker>) {
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
        state.set(next.module, HELD);
        state.ready.push(next.module);
        if next.since_ns > 0 {
            state.handed.push((next.module, next.since_ns));
        }
        self.activate(next.slot, &mut state, worker, false);
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
        self.release_from(self.graph.traits(module).resource, worker);
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
    pub(crate) fn begin(&self, slot: u32, number: u64, worker: &Worker) {
        let mut state = lock(&self.slots[slot as usize].state);
        state.number = number;
        state.attempts = 1;
        state.start_ns = self.now_ns();
        state.begin(&self.graph.template);
        if state.active == 0 {
            let home = worker.index() == self.slots[slot as usize].home;
            if home {
                self.activate(slot, &mut state, Some(worker), false);
            } else if let Some(strands) = self.slots[slot as usize].strands.get() {
                state.active |= 1;
                strands[0].wake_from(Some(worker));
            }
        }
    }

    /// Makes a free slot ready for what the source makes.
    pub(crate) fn prepare(&self, slot: u32) {
        let mut state = lock(&self.slots[slot as usize].state);
        state.pass += 1;
        self.take_cell(slot, &mut state, self.graph.source);
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
                if !lock(&self.order).may_go(state.number, slot) {
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
        if state.cells.taken() > 1 {
            for module in 0..self.graph.source {
                self.free(slot, &mut state.cells, module);
            }
        }
        if let Some((module, cause)) = state.failure.take() {
            if let OnError::Retry(times) = self.settings.on_error
                && state.attempts <= times
            {
                state.attempts += 1;
                state.pass += 1;
                self.feed.retries.fetch_add(1, Ordering::Relaxed); // Relaxed: a statistic.
                state.begin(&self.graph.template);
                return state;
            }
            self.note_failure(module, Some(state.number), cause);
            self.feed.count_failed(self.settings.on_error == OnError::Stop);
        } else {
            self.feed.count_done();
        }
        self.free(slot, &mut state.cells, self.graph.source);
        state.stage = Stage::Free;
        let number = state.number;
        drop(state);
        if self.settings.order != Order::Completed {
            let next = lock(&self.order).ended(number);
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

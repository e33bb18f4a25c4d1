//! The event processor's engine: what all events in flight share. It knows no module's code: that
//! is in a [run](crate::run), which holds the engine. So the handles that modules get can hold it,
//! too.
//!
//! A slot has a few [slot tasks](crate::slot_tasks) at a time, each at home on another worker, the
//! first at the slot's home. `waits` says how waiting modules end.
//!
//! Who changes a slot looks after it: when a module becomes ready by anything but the slot's own
//! task (a resource was handed over, a wait is over), an inactive slot task is woken under the
//! slot's lock; a slot task becomes inactive under that lock, when it found nothing. So nothing
//! that is ready is left lying.

use crate::cells::{APART, Alive, Cells, Column, Table, Taken};
use crate::layout::Layout;
use crate::module_states::{ModuleStates, NO_CELL};
use crate::product::Product;
use crate::record::{Failure, Figures, ProductFigures, WorkerNotes};
use crate::resource::Resource;
use crate::settings::Settings;
use crate::slot::{State, Traced};
use crate::slot_tasks::{RunKey, SlotTasks, Wanted};
use crate::split::Splits;
use crate::store::Lent;
use crate::timers::Timers;
use crate::woken::Woken;
use actinium_scheduler::recording::Name;
use actinium_scheduler::sync::lock;
use actinium_scheduler::trace::{Step, TraceContext};
use actinium_scheduler::{Shared, Worker};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The largest number of workers that can work on one event at a time.
const PER_SLOT_MAX: usize = 16;
/// The number of slots beyond which there is enough else to do.
const SLOTS_MANY: usize = 1_024;
/// Most failures that a summary lists.
const FAILURES_MAX: usize = 100;

/// The reference through which slots and completions hold the engine: one per worker, so that
/// modules that wait on different workers do not count their references to the engine in one place.
pub(crate) type Anchor = Arc<Arc<Engine>>;

/// On cache lines of its own: slots that lie side by side are at home on different workers.
#[repr(align(128))]
pub(crate) struct Slot {
    pub(crate) state: Mutex<State>,
    /// Made for its first event.
    pub(crate) words: OnceLock<ModuleStates>,
    pub(crate) table: Table,
    pub(crate) home: usize,
}

pub(crate) struct Engine {
    pub(crate) layout: Layout,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Box<[Slot]>,
    /// The state in which every event begins.
    pub(crate) template: State,
    pub(crate) slot_tasks: Arc<SlotTasks>,
    /// The run, as the slot tasks know it.
    pub(crate) key: RunKey,
    /// The number of slot tasks that a slot has at most at a time.
    pub(crate) per_slot: usize,
    columns: Box<[Column]>,
    /// How many products of each module there are; with spans only.
    alive: Arc<[Alive]>,
    pub(crate) resources: Box<[Resource]>,
    pub(crate) notes: Box<[WorkerNotes]>,
    pub(crate) timers: Box<[Mutex<Timers>]>,
    pub(crate) splits: Splits,
    pub(crate) woken: Woken,
    pub(crate) failures: Mutex<Vec<Failure>>,
    /// Of each module, for records of its calls: made with the first one.
    names: OnceLock<Box<[Name]>>,
}

impl Engine {
    pub(crate) fn new(
        layout: Layout,
        settings: Settings,
        shared: Arc<Shared>,
        slot_tasks: Arc<SlotTasks>,
    ) -> Self {
        let (workers, slots) = (shared.workers(), settings.slots_or(shared.workers()));
        // All workers count with these, which costs too much but for a close look.
        let counted =
            if settings.figures == Figures::Spans { usize::from(layout.source) + 1 } else { 0 };
        let alive: Arc<[Alive]> = (0..counted).map(|_| Alive::default()).collect();
        // Many slots do not fit in the caches anyway.
        let apart = if slots > SLOTS_MANY { 0 } else { APART };
        let mut chunks = apart;
        let column = |(number, &(make, producers))| {
            let column = Column::new(make, producers, (number, chunks), slots, workers);
            chunks += column.chunks();
            match alive.is_empty() {
                true => column,
                false => column.counts(alive.clone()),
            }
        };
        let columns = layout.columns.iter().enumerate().map(column).collect();
        let chunks = chunks + apart;
        Engine {
            key: slot_tasks.key(),
            slot_tasks,
            per_slot: workers.min(if slots > SLOTS_MANY { 2 } else { PER_SLOT_MAX }),
            columns,
            alive,
            slots: (0..slots)
                .map(|slot| Slot {
                    state: Mutex::new(State::of_slot(layout.columns.len(), chunks)),
                    words: OnceLock::new(),
                    table: Table::new(chunks),
                    home: slot % workers,
                })
                .collect(),
            template: State::template(&layout),
            resources: layout
                .resources
                .iter()
                .enumerate()
                .map(|(nth, (name, most))| Resource::new(name.clone(), *most, nth % workers))
                .collect(),
            notes: (0..workers)
                .map(|_| WorkerNotes::new(layout.len(), layout.paths.len()))
                .collect(),
            timers: (0..workers).map(|_| Mutex::new(Timers::new())).collect(),
            splits: Splits::default(),
            woken: Woken::default(),
            failures: Mutex::default(),
            names: OnceLock::new(),
            layout,
            settings,
            shared,
        }
    }

    /// The event that the slot gets is part of a trace.
    #[cold]
    pub(crate) fn begin_traced(&self, slot: u32, number: u64, parent: TraceContext) {
        let step = Step::begin(&self.shared, format!("event {number}"), Some(parent));
        self.state(slot).traced = Traced::of(step);
    }

    /// Locks a slot's state.
    #[inline(always)]
    pub(crate) fn state(&self, slot: u32) -> MutexGuard<'_, State> {
        lock(&self.slots[slot as usize].state)
    }

    /// The names of modules in records.
    #[cold]
    pub(crate) fn names(&self) -> &[Name] {
        self.names.get_or_init(|| {
            let label = |module| self.layout.label(module);
            (0..self.layout.modules).map(|it| self.shared.recording().name(label(it))).collect()
        })
    }

    // ---- products
    // ------------------------------------------------------------------------------------------------

    /// Under the slot's lock, or by the module's own call.
    pub(crate) fn put<T: Product>(&self, slot: u32, module: u16, product: T) -> Result<(), Lent> {
        let at = &self.slots[slot as usize];
        let find = || {
            let column = self.column(module)?;
            let (chunk, place) = at.table.find(column, at.words.get()?.cell_of_done(module)?)?;
            Some((column.store.of::<T>()?, chunk, place))
        };
        let (store, chunk, place) = find().ok_or(Lent)?;
        store.put(chunk, place, product)
    }

    /// Does the same where the cell is known.
    #[inline(always)]
    pub(crate) fn put_at<T: Product>(
        &self,
        module: u16,
        taken: Option<Taken>,
        product: T,
    ) -> Result<(), Lent> {
        let store = self.column(module).and_then(|column| column.store.of::<T>());
        let (Some(store), Some(taken)) = (store, taken) else { return Err(Lent) };
        store.put(taken.chunk, taken.place(), product)
    }

    /// The column of what a module makes, if it makes anything.
    #[inline(always)]
    pub(crate) fn column(&self, module: u16) -> Option<&Column> {
        self.columns.get(usize::from(self.layout.columns_of[usize::from(module)]))
    }

    /// Puts one of several products that a module makes.
    pub(crate) fn put_part<T: Product>(
        &self,
        slot: u32,
        module: u16,
        nth: usize,
        product: T,
    ) -> Result<(), Lent> {
        match self.layout.links.consumers(module).get(nth) {
            Some(&part) => self.put(slot, part, product),
            None => Ok(()),
        }
    }

    /// A cell for what the module makes, which has none; none if it makes nothing, or several
    /// products.
    #[inline(always)]
    pub(crate) fn take_cell(&self, slot: u32, state: &mut State, module: u16) -> Option<Taken> {
        let Some(column) = self.column(module) else {
            self.begin_parts(slot, state, module);
            return None;
        };
        let slot = &self.slots[slot as usize];
        let taken = state.cells.take(&slot.table, column, slot.home);
        state.words.set_cell(module, taken.cell);
        Some(taken)
    }

    /// What needs a module without a product of its own is its products.
    #[inline(never)]
    fn begin_parts(&self, slot: u32, state: &mut State, module: u16) {
        for &part in self.layout.links.consumers(module) {
            state.begin_part(part);
            if let Some(column) = self.column(part) {
                let slot = &self.slots[slot as usize];
                let taken = state.cells.take(&slot.table, column, slot.home);
                state.words.set_cell(part, taken.cell);
            }
        }
    }

    /// A module is called, with figures: its products are counted from now on.
    pub(crate) fn count_products(&self, module: u16) {
        if self.alive.is_empty() {
            return;
        }
        if self.layout.column(module).is_some() {
            return self.alive[usize::from(module)].begins();
        }
        for &part in self.layout.links.consumers(module) {
            self.alive[usize::from(part)].begins();
        }
    }

    /// How many of each product there were at most, if that was counted.
    pub(crate) fn products(&self) -> Vec<ProductFigures> {
        let modules = 0..self.layout.source.min(self.alive.len() as u16);
        let makes = modules.filter(|&module| self.layout.column(module).is_some());
        let figures = makes.map(|module| ProductFigures {
            label: self.layout.label(module).to_owned(),
            alive_max: self.alive[usize::from(module)].max(),
        });
        figures.collect()
    }

    #[inline]
    pub(crate) fn free(&self, slot: u32, words: &ModuleStates, cells: &mut Cells, module: u16) {
        let Some(column) = self.column(module) else { return };
        if let Some(cell) = words.cell(module) {
            words.set_cell(module, NO_CELL);
            let slot = &self.slots[slot as usize];
            cells.give_back(&slot.table, column, slot.home, (module, cell));
        }
    }

    // ---- slot tasks
    // -------------------------------------------------------------------------------------------------

    /// Gives the slot another slot task, if it may have one: at `worker` or, with `away`,
    /// elsewhere.
    pub(crate) fn activate(
        &self,
        slot: u32,
        state: &mut State,
        worker: Option<&Worker>,
        away: bool,
    ) {
        let here = worker.map(|worker| self.place(slot, worker.index()));
        let mut all = (0..self.per_slot).filter(|&place| !state.is_active(place));
        let place = match here {
            Some(here) if away => all.find(|&place| place != here),
            Some(here) if here < self.per_slot && !state.is_active(here) => Some(here),
            _ => all.next(),
        };
        if let Some(place) = place {
            self.activate_at(slot, state, place, worker, false);
        }
    }

    /// Gives the slot a slot task at this place, which it has not.
    pub(crate) fn activate_at(
        &self,
        slot: u32,
        state: &mut State,
        place: usize,
        from: Option<&Worker>,
        is_urgent: bool,
    ) {
        state.active |= 1 << place;
        let at = (self.slots[slot as usize].home + place) % self.shared.workers();
        let (place, warm_at) = (place as u16, at as u16);
        let wanted = Wanted { number: state.number, slot, place, is_urgent, warm_at };
        self.slot_tasks.work_for(self.key, wanted, at, from);
    }

    /// A worker's distance from the slot's home: the place of the slot's task there.
    pub(crate) fn place(&self, slot: u32, worker: usize) -> usize {
        let workers = self.shared.workers();
        (worker + workers - self.slots[slot as usize].home) % workers
    }

    /// A module of the slot that others wait for is to run at this worker soon.
    pub(crate) fn activate_first(
        &self,
        slot: u32,
        state: &mut State,
        at: usize,
        from: Option<&Worker>,
    ) {
        let place = self.place(slot, at);
        let is_place = place < self.per_slot;
        if is_place && state.is_active(place) && self.slot_tasks.urge(self.key, slot, at) {
            return;
        }
        // If the slot's task there is running it may be long before it looks again.
        let mut places = [place].into_iter().chain(0..self.per_slot);
        let inactive = |&place: &usize| place < self.per_slot && !state.is_active(place);
        if let Some(place) = places.find(inactive) {
            self.activate_at(slot, state, place, from, true);
        }
    }

    // ---- ends of modules
    // --------------------------------------------------------------------------------------------

    /// A module has come to its end.
    pub(crate) fn ended(
        &self,
        slot: u32,
        state: &mut State,
        module: u16,
        result: Result<bool, Box<str>>,
    ) {
        match result {
            Ok(pass) => {
                state.finish(&self.layout, module, pass, &mut |words, cells, producer| {
                    self.free(slot, words, cells, producer);
                });
            }
            Err(cause) => state.fail(module, cause.into()),
        }
    }

    /// Gives a resource back. Whoever is next in its queue runs here, where its state is warm
    /// whether this is its home or not, before anything else that waits here: all others in the
    /// queue wait for it. `own`: the slot whose task does it, and looks at the slot next.
    pub(crate) fn release(&self, resource: u16, own: Option<u32>, worker: Option<&Worker>) {
        let resource = &self.resources[usize::from(resource)];
        let Some(next) = resource.release() else { return };
        if next.since_ns > 0 {
            // Relaxed: a statistic.
            resource
                .waited_ns
                .fetch_add(self.now_ns().saturating_sub(next.since_ns), Ordering::Relaxed);
        }
        let mut state = self.state(next.slot);
        state.put_acquired(next.module);
        if next.since_ns > 0 {
            state.rare.hand(next.module, next.since_ns);
        }
        if own == Some(next.slot) {
            return;
        }
        match worker.map(Worker::index).or(resource.home()) {
            Some(at) => self.activate_first(next.slot, &mut state, at, worker),
            None => self.activate(next.slot, &mut state, worker, false),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.shared.clock().now_ns()
    }

    /// Whether only one event at a time may use the module, so that its state has a home.
    pub(crate) fn has_home(&self, module: u16) -> bool {
        let resource = self.layout.traits(module).resource;
        resource.is_some_and(|resource| self.resources[usize::from(resource)].home().is_some())
    }

    pub(crate) fn note_failure(&self, module: u16, event: Option<u64>, cause: String) {
        let mut failures = lock(&self.failures);
        if failures.len() < FAILURES_MAX {
            failures.push(Failure { module: self.layout.label(module).to_owned(), event, cause });
        }
    }
}

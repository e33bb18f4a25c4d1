//! The event processor's engine: its parts, products in slots, and the slot tasks that slots are
//! given.
//!
//! A slot has a few [slot tasks](crate::slot_tasks) at a time, each at home on another worker, the
//! first at the slot's home. `turn` says how one runs ready modules, `waits` how waiting modules
//! end, `stages` how an event goes from its begin to its end, `feed` where events come from.
//!
//! Who changes a slot looks after it: when a module becomes ready by anything but the slot's own
//! task (a resource was handed over, a wait is over), an inactive slot task is woken under the
//! slot's lock; a slot task becomes inactive under that lock, when it found nothing. So nothing
//! that is ready is left lying.

use crate::cells::{Cells, Column, Store, Table};
use crate::drops::said;
use crate::feed::Feed;
use crate::future::Futures;
use crate::graph::Graph;
use crate::module::Erased;
use crate::module_states::{ModuleStates, NO_CELL};
use crate::order::InOrder;
use crate::processor::{Settings, StartError};
use crate::product::{Product, Read};
use crate::record::{EventEnd, Failure, Stuck, WorkerNotes};
use crate::resource::Resource;
use crate::slot::State;
use crate::slot_tasks::{SlotTasks, Wanted};
use crate::split::Splits;
use crate::timers::Timers;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::TaskRef;
use actinium_scheduler::{Shared, Worker};
use std::any::Any;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Condvar, Mutex, OnceLock};

pub(crate) type OnEnd = Guarded<Box<dyn Fn(&EventEnd<'_>) + Send + Sync>>;

pub(crate) struct Slot {
    pub(crate) state: Mutex<State>,
    /// Made for its first event.
    pub(crate) words: OnceLock<ModuleStates>,
    table: Table,
    pub(crate) home: usize,
}

pub(crate) struct Engine {
    pub(crate) graph: Graph,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) slots: Box<[Slot]>,
    pub(crate) slot_tasks: SlotTasks,
    pub(crate) columns: Box<[Column]>,
    /// One per module, or one per slot, from `first_instances` on.
    pub(crate) instances: Box<[Box<dyn Erased>]>,
    pub(crate) first_instances: Box<[u32]>,
    pub(crate) resources: Box<[Resource]>,
    /// Measured nanoseconds per call, exponentially weighted; 0: not known.
    pub(crate) expected_ns: Box<[AtomicU32]>,
    pub(crate) notes: Box<[WorkerNotes]>,
    pub(crate) timers: Box<[Mutex<Timers>]>,
    pub(crate) splits: Splits,
    pub(crate) futures: Futures,
    pub(crate) feed: Feed,
    pub(crate) order: Mutex<InOrder>,
    pub(crate) failures: Mutex<Vec<Failure>>,
    pub(crate) finished: Mutex<bool>,
    pub(crate) changed: Condvar,
    pub(crate) feeder: OnceLock<TaskRef>,
    /// A callback for each event that has ended, before the next one's outputs begin.
    pub(crate) on_end: Option<OnEnd>,
}

impl Engine {
    pub(crate) fn new(
        graph: Graph,
        settings: Settings,
        shared: Arc<Shared>,
        on_end: Option<OnEnd>,
    ) -> Result<Self, StartError> {
        let (workers, slots) = (shared.workers(), settings.slots_or(shared.workers()));
        let source = lock(&graph.source_module).take();
        let (instances, first_instances) = graph.instances(slots)?;
        let mut chunks = 0;
        let column = |(number, &(make, producers))| {
            let column = Column::new(make, producers, (number, chunks), slots, workers);
            chunks += column.chunks();
            column
        };
        let columns = graph.columns.iter().enumerate().map(column).collect();
        Ok(Engine {
            slot_tasks: SlotTasks::new(workers, slots),
            columns,
            instances,
            first_instances,
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
        })
    }

    // ---- products
    // ------------------------------------------------------------------------------------------------

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

    /// Finds a module's product.
    #[inline(always)]
    fn find<T: Product>(&self, slot: &Slot, module: u16) -> Option<(&Store<T>, u32, usize)> {
        let column = &self.columns[usize::from(self.graph.column(module)?)];
        let (chunk, place) = slot.table.find(column, slot.words.get()?.cell_of_done(module)?);
        let store: &dyn Any = &*column.store;
        Some((store.downcast_ref()?, chunk, place))
    }

    /// A cell for what the module makes, which has none.
    #[inline]
    pub(crate) fn take_cell(&self, slot: u32, state: &mut State, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        let cell = state.cells.take(&slot.table, &self.columns[usize::from(column)], slot.home);
        state.words.set_cell(module, cell);
    }

    #[inline]
    pub(crate) fn free(&self, slot: u32, words: &ModuleStates, cells: &mut Cells, module: u16) {
        let Some(column) = self.graph.column(module) else { return };
        let slot = &self.slots[slot as usize];
        if let Some(cell) = words.cell(module) {
            words.set_cell(module, NO_CELL);
            let column = &self.columns[usize::from(column)];
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
        let mut all = (0..self.slot_tasks.per_slot).filter(|&place| !state.is_active(place));
        let place = match here {
            Some(here) if away => all.find(|&place| place != here),
            Some(here) if here < self.slot_tasks.per_slot && !state.is_active(here) => Some(here),
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
        let wanted = Wanted { number: state.number, slot, place: place as u16, is_urgent };
        self.slot_tasks.work_for(wanted, at, from);
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
        let is_place = place < self.slot_tasks.per_slot;
        if is_place && state.is_active(place) && self.slot_tasks.urge(slot, at) {
            return;
        }
        // If the slot's task there is running it may be long before it looks again.
        let mut places = [place].into_iter().chain(0..self.slot_tasks.per_slot);
        let inactive = |&place: &usize| place < self.slot_tasks.per_slot && !state.is_active(place);
        if let Some(place) = places.find(inactive) {
            self.activate_at(slot, state, place, from, true);
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.shared.clock().now_ns()
    }

    /// Whether only one event at a time may use the module, so that its state has a home.
    pub(crate) fn has_home(&self, module: u16) -> bool {
        let resource = self.graph.traits(module).resource;
        resource.is_some_and(|resource| self.resources[usize::from(resource)].home().is_some())
    }

    /// Tells all modules of a transition; no event is in flight.
    pub(crate) fn tell(
        &self,
        transition: crate::module::Transition,
    ) -> Result<(), (u16, Box<str>)> {
        for (nth, instance) in self.instances.iter().enumerate() {
            said(guard::catch(|| instance.transition(transition))).map_err(|cause| {
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

    /// The module in which a worker is stuck, if it is in one.
    pub(crate) fn stuck(&self, worker: usize) -> Stuck {
        let module = self.notes[worker].module.get().checked_sub(1);
        Stuck { worker, module: module.map(|m| self.graph.label(m as u16).to_owned()) }
    }
}

//! Starting an actor: its place, its memory, its entry in the register.

use crate::actor::Actor;
use crate::actor_core::{CoreRef, Inner};
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::cell::actor_cell::ActorCell;
use crate::cell::apart::apart;
use crate::cell::create::Seat;
use crate::cell::life::{Extra, Life};
use crate::cell::memory::{Block, NoMemory};
use crate::cell::reference::CellRef;
use crate::failure::{BoxError, Failure};
use crate::options::{Home, Mailbox, Memory, SpawnError, SpawnOptions};
use crate::source::Split;
use crate::state::register::Place;
use crate::stop_reason::StopReason;
use actinium_scheduler::Worker;
use actinium_scheduler::guard::{self, Guarded};
use std::sync::Arc;

/// Starts an actor of each source. If one is not started, those before it are killed.
pub(crate) fn all_or_none<A: Actor, S>(
    sources: impl Iterator<Item = S>,
    start: impl Fn(S) -> Result<Address<A>, SpawnError>,
) -> Result<Vec<Address<A>>, SpawnError> {
    let mut started = Vec::new();
    for source in sources {
        match start(source) {
            Ok(address) => started.push(address),
            Err(error) => {
                started.iter().for_each(Address::kill);
                return Err(error);
            }
        }
    }
    Ok(started)
}

impl Inner {
    /// The home of an actor that an external thread spawns.
    fn place_external(&self) -> usize {
        let seat = self.register.lock(self.register.external()).living.vacant_key();
        self.shared.place(seat)
    }

    /// Starts an actor without anything special.
    pub(crate) fn spawn_light<A: Actor>(
        self: &Arc<Self>,
        actor: A,
        worker: Option<&Worker>,
    ) -> Address<A> {
        let home = worker.map_or_else(|| self.place_external(), Worker::place);
        // Without memory of this kind, the global allocator says that there is none.
        let memory = self.memory_apart(worker.is_none());
        let block = memory.and_then(|memory| Block::allocate(memory).ok());
        let cell = self.make(self.next_id(), Seat::at(home), None, actor, None, block);
        self.launch(cell, home, worker, None)
    }

    /// The memory for an actor that is spread: those made just before and after it, next to which
    /// it would lie, run on other workers.
    fn memory_apart(&self, is_spread: bool) -> Option<Memory> {
        (is_spread && self.shared.workers() > 1).then(apart)
    }

    /// Starts a child without anything special, on its parent's worker.
    pub(crate) fn spawn_child<A: Actor>(
        self: &Arc<Self>,
        actor: A,
        parent: CoreRef,
        worker: &Worker,
    ) -> Address<A> {
        let home = worker.place();
        let parent_id = parent.id;
        let extra = Box::new(Extra { parent: Some(parent), ..Extra::default() });
        let cell = self.make(self.next_id(), Seat::at(home), None, actor, Some(extra), None);
        self.launch(cell, home, Some(worker), Some(parent_id))
    }

    /// Starts an actor with all that the options say.
    pub(crate) fn spawn_full<A: Actor>(
        self: &Arc<Self>,
        options: SpawnOptions,
        source: Split<A>,
        parent: Option<CoreRef>,
        worker: Option<&Worker>,
    ) -> Result<Address<A>, SpawnError> {
        let workers = self.shared.workers();
        let chosen = match options.home {
            Home::Policy => None,
            Home::Worker(worker) if worker >= workers => {
                return Err(SpawnError::NoSuchWorker { worker, workers });
            }
            Home::Worker(worker) => Some(worker),
            Home::Node(node) => Some(self.nodes.next_on(node)?),
        };
        let capacity = match options.mailbox {
            Mailbox::Unbounded => None,
            Mailbox::Bounded(0) => return Err(SpawnError::NoCapacity),
            Mailbox::Bounded(capacity) => Some(capacity),
        };
        let restarts = options.supervision.restarts();
        if restarts && matches!(source, Split::Value(_)) {
            return Err(SpawnError::NoFactory);
        }
        let here = worker.map(Worker::index);
        let place = || worker.map_or_else(|| self.place_external(), Worker::place);
        let home = chosen.unwrap_or_else(place);
        let memory =
            options.memory.or_else(|| self.memory_apart(worker.is_none() || chosen.is_some()));
        let block = memory.map(Block::allocate).transpose();
        let block = block.map_err(|NoMemory(bytes)| SpawnError::NoMemory { bytes })?;
        let id = self.next_id();
        let (actor, factory) = match source {
            Split::Value(actor) => (actor, None),
            Split::Factory(factory) => {
                let mut factory = Guarded::new(factory);
                let made = guard::catch(&mut **factory).map_err(BoxError::from).and_then(|it| it);
                let failed = |error| Failure::new(id, std::any::type_name::<A>(), error);
                (made.map_err(|error| SpawnError::FactoryFailed(failed(error)))?, Some(factory))
            }
        };
        let parent_id = parent.as_ref().map(|it| it.id);
        let extra = Extra {
            parent,
            supervision: options.supervision,
            factory,
            names: options.name.iter().cloned().collect(),
            ..Extra::default()
        };
        let seat = Seat { home, is_pinned: options.is_pinned };
        let cell = self.make(id, seat, capacity, actor, Some(Box::new(extra)), block);
        // Wherever its home is, it begins here, unless somebody says where it has to be.
        let begins_anywhere = chosen.is_none() && !options.is_pinned;
        let worker = worker.filter(|_| begins_anywhere || here == Some(home));
        let Some(name) = options.name else {
            return Ok(self.launch(cell, home, worker, parent_id));
        };
        // Whoever finds it by its name may send to it: by then it is launched.
        let launch = || self.launch(cell.clone(), home, worker, parent_id);
        let Ok(address) = self.names.give_and(&name, cell.core_ref(), launch) else {
            cell.discard(StopReason::AlreadyStopped);
            return Err(SpawnError::NameTaken(name));
        };
        if address.is_closed() {
            // If it was never born: nobody else takes the name back.
            self.names.forget(&name, address.id());
        }
        Ok(address)
    }

    /// Makes an actor that is neither registered nor started yet.
    fn make<A: Actor>(
        self: &Arc<Self>,
        id: ActorId,
        seat: Seat,
        capacity: Option<usize>,
        actor: A,
        extra: Option<Box<Extra<A>>>,
        block: Option<Block<A>>,
    ) -> CellRef<A> {
        ActorCell::create(
            self.clone(),
            id,
            self.kind_of::<A>(),
            seat,
            capacity,
            (actor, block),
            Life::new(extra),
        )
    }

    /// Registers an actor and starts it.
    fn launch<A: Actor>(
        &self,
        cell: CellRef<A>,
        home: usize,
        worker: Option<&Worker>,
        parent: Option<ActorId>,
    ) -> Address<A> {
        let external = self.register.external();
        let shard = self.with_worker(|worker| worker.map_or(external, Worker::index));
        let runnable = cell.core.runnable();
        // Until it has started nobody may find it there: dispose of it, say.
        let mut register = self.register.lock(shard);
        // As messages from external threads: else a thread that goes on and on keeps a system from
        // ever having drained.
        let refused = shard == external && self.shared.control().is_draining();
        if register.closed || refused {
            drop(register);
            cell.discard(StopReason::Shutdown);
            return Address(cell);
        }
        if let Some(parent) = parent {
            register.parents.insert(cell.core.id, parent);
        }
        let key = register.living.insert(runnable);
        cell.core.set_place(Place { shard, key });
        match worker {
            Some(worker) => worker.counters().spawned.add(1),
            None => self.external.spawned(),
        }
        cell.core.start(worker, home);
        drop(register);
        Address(cell)
    }
}

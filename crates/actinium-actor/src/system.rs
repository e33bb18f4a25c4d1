//! A system: workers, the actors on them, and its beginning and end.

use crate::actor::{Actor, ActorId, PanicInfo, StopReason};
use crate::address::Address;
use crate::cell::{ActorCell, Core, CoreRef, NoRoom, Room};
use crate::control::Control;
use crate::dead_letters::{DeadLetter, DeadLetters};
use crate::learnt::Learnt;
use crate::life::{Extra, Factory, Life, message_of};
use crate::names::{LookupError, NameError, Names};
use crate::nodes::WorkerNodes;
use crate::offload::Offloads;
use crate::outside::Outside;
use crate::spawn::{Home, Mailbox, SpawnError, SpawnOptions};
use crate::stats::{Audit, Stats};
use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::{Mutex, lock, thread};
use actinium_scheduler::{Policy, Porter, Runnable, Shared, Worker, current};
use slab::Slab;
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all parts of a system share.
pub(crate) struct Inner {
    pub(crate) shared: actinium_scheduler::sync::Arc<Shared>,
    pub(crate) names: Names,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) outside: Outside,
    pub(crate) offloads: Offloads,
    /// Living actors: a shard per worker and one for those spawned outside, so that spawning does not contend.
    register: Box<[Mutex<Shard>]>,
    kinds: Mutex<HashMap<TypeId, actinium_scheduler::sync::Arc<Kind>>>,
    next_id: AtomicU64,
    nodes: WorkerNodes,
    stop: StopRequest,
    escalation: Mutex<Option<PanicInfo>>,
    #[cfg(feature = "tokio")]
    pub(crate) tokio: Option<tokio::runtime::Handle>,
}

/// Some of the living actors.
#[derive(Default)]
struct Shard {
    living: Slab<Runnable>,
    /// The system has ended: whoever would be born here is not.
    closed: bool,
}

/// Somebody inside wants the system to end.
#[derive(Default)]
struct StopRequest {
    requested: Mutex<bool>,
    changed: actinium_scheduler::sync::Condvar,
}

impl Inner {
    pub(crate) fn new(
        shared: Shared,
        nodes: WorkerNodes,
        #[cfg(feature = "tokio")] tokio: Option<tokio::runtime::Handle>,
    ) -> Self {
        let shards = shared.workers() + 1;
        Inner {
            shared: actinium_scheduler::sync::Arc::new(shared),
            names: Names::default(),
            dead_letters: DeadLetters::default(),
            outside: Outside::default(),
            offloads: Offloads::default(),
            register: (0..shards).map(|_| Mutex::default()).collect(),
            kinds: Mutex::new(HashMap::new()),
            next_id: AtomicU64::new(1),
            nodes,
            stop: StopRequest::default(),
            escalation: Mutex::new(None),
            #[cfg(feature = "tokio")]
            tokio,
        }
    }

    /// Lends the calling thread's worker to `f`, if it is one of this system.
    pub(crate) fn with_worker<R>(&self, f: impl FnOnce(Option<&Worker>) -> R) -> R {
        current(|worker| {
            f(worker.filter(|worker| {
                actinium_scheduler::sync::Arc::ptr_eq(worker.shared(), &self.shared)
            }))
        })
    }

    fn kind_of<A: Actor>(&self) -> actinium_scheduler::sync::Arc<Kind> {
        let kind = || actinium_scheduler::sync::Arc::new(Kind::new(std::any::type_name::<A>()));
        lock(&self.kinds).entry(TypeId::of::<A>()).or_insert_with(kind).clone()
    }

    /// The home of an actor that is made outside the workers.
    fn place_outside(&self) -> usize {
        let seat = lock(&self.register[self.shared.workers()]).living.vacant_key();
        self.shared.place(seat)
    }

    /// Starts an actor without anything special.
    pub(crate) fn spawn_light<A: Actor>(
        self: &Arc<Self>,
        actor: A,
        worker: Option<&Worker>,
    ) -> Address<A> {
        let home = worker.map_or_else(|| self.place_outside(), Worker::place);
        self.launch(self.make(home, None, actor, None, None), home, worker)
    }

    /// Starts an actor with all that the options say.
    pub(crate) fn spawn_full<A: Actor>(
        self: &Arc<Self>,
        options: SpawnOptions,
        mut factory: Factory<A>,
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
        let room = options.memory.map(Room::take).transpose();
        let room = room.map_err(|NoRoom(bytes)| SpawnError::NoMemory { bytes })?;
        let actor = catch_unwind(AssertUnwindSafe(&mut factory))
            .map_err(|payload| SpawnError::FactoryPanicked(message_of(payload)))?;
        let here = worker.map(Worker::index);
        let place = || worker.map_or_else(|| self.place_outside(), Worker::place);
        let home = chosen.unwrap_or_else(place);
        let extra = Extra {
            parent,
            supervision: options.supervision,
            factory: Some(factory),
            names: options.name.iter().cloned().collect(),
            ..Extra::default()
        };
        let cell = self.make(home, capacity, actor, Some(Box::new(extra)), room);
        // Wherever its home is, it begins here, unless somebody says where it has to be.
        let worker = worker.filter(|_| chosen.is_none() || here == Some(home));
        let Some(name) = options.name else { return Ok(self.launch(cell, home, worker)) };
        // Whoever finds it by its name may send to it: by then it is launched.
        let launch = || self.launch(cell.clone(), home, worker);
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

    fn make<A: Actor>(
        self: &Arc<Self>,
        home: usize,
        capacity: Option<usize>,
        actor: A,
        extra: Option<Box<Extra<A>>>,
        room: Option<Room<A>>,
    ) -> crate::cell::CellRef<A> {
        // Relaxed: only uniqueness matters.
        let id = ActorId(self.next_id.fetch_add(1, Ordering::Relaxed));
        ActorCell::create(
            self.clone(),
            id,
            self.kind_of::<A>(),
            home,
            capacity,
            (Some(actor), room),
            Life::new(extra),
        )
    }

    fn launch<A: Actor>(
        &self,
        cell: crate::cell::CellRef<A>,
        home: usize,
        worker: Option<&Worker>,
    ) -> Address<A> {
        let shard = self.with_worker(|worker| worker.map_or(self.shared.workers(), Worker::index));
        let runnable = cell.core.runnable();
        // Until it has started nobody may find it there: dispose of it, say.
        let mut register = lock(&self.register[shard]);
        // As messages from outside: else a thread that goes on and on keeps a system from ever having drained.
        let refused = shard == self.shared.workers() && self.shared.control().is_draining();
        if register.closed || refused {
            drop(register);
            cell.discard(StopReason::Shutdown);
            return Address(cell);
        }
        cell.core.set_place(shard, register.living.insert(runnable));
        match worker {
            Some(worker) => {
                worker.counters().spawned.add(1);
                worker.start(runnable);
            }
            None => {
                self.outside.spawned();
                self.shared.start(runnable, home);
            }
        }
        drop(register);
        Address(cell)
    }

    /// An actor has ended.
    pub(crate) fn unregister(&self, core: &Core) {
        let (shard, key) = core.place();
        lock(&self.register[shard]).living.remove(key);
    }

    /// Ends the actors of worker `index`'s shard (and, for worker 0, those spawned outside). All workers have left their loops.
    pub(crate) fn dispose(&self, worker: &Worker) {
        let outside = self.shared.workers();
        let shards =
            std::iter::once(worker.index()).chain((worker.index() == 0).then_some(outside));
        for shard in shards {
            let mut register = lock(&self.register[shard]);
            // From now on nothing comes in, so no key is given out again.
            register.closed = true;
            let living: Vec<_> = register.living.iter().map(|(key, &it)| (key, it)).collect();
            drop(register);
            for (key, runnable) in living {
                // Ending one may run user code; what that has ended meanwhile is gone from here.
                if lock(&self.register[shard]).living.contains(key) {
                    worker.dispose(runnable);
                }
            }
        }
    }

    /// Messages in all mailboxes, while all workers stand still.
    pub(crate) fn queued(&self) -> u64 {
        let len =
            |runnable: &Runnable| Core::of_runnable(*runnable).map_or(0, |core| core.mailbox_len());
        self.register
            .iter()
            .map(|shard| lock(shard).living.iter().map(|(_, it)| len(it) as u64).sum::<u64>())
            .sum()
    }

    /// Living actors.
    fn actors(&self) -> usize {
        self.register.iter().map(|shard| lock(shard).living.len()).sum()
    }

    pub(crate) fn ledger(&self, queued: u64) -> Audit {
        let mut sum = self.outside.values();
        for values in self.shared.counter_values() {
            sum.add(&values);
        }
        Audit {
            sent: sum.sent,
            handled: sum.handled,
            queued,
            returned: sum.returned,
            dead: sum.dead,
        }
    }

    fn audit(&self) -> Audit {
        self.shared
            .control()
            .while_paused(&self.shared, || self.outside.while_quiet(|| self.ledger(self.queued())))
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            workers: self.shared.counter_values(),
            outside: self.outside.values(),
            latencies: self.shared.latencies(false),
            working: self.shared.working(),
            scale_events: self.shared.scale_events(),
            actors: self.actors(),
        }
    }

    /// A failure reached the top.
    pub(crate) fn escalated(&self, info: &PanicInfo) {
        lock(&self.escalation).get_or_insert_with(|| info.clone());
        self.request_stop();
    }

    pub(crate) fn request_stop(&self) {
        *lock(&self.stop.requested) = true;
        self.stop.changed.notify_all();
    }

    /// Whether somebody inside wants the system to end.
    pub(crate) fn stop_requested(&self) -> bool {
        *lock(&self.stop.requested)
    }

    pub(crate) fn report(&self, dropped: u64) -> ShutdownReport {
        let ledger = self.ledger(0);
        let escalated = lock(&self.escalation).clone();
        ShutdownReport { handled: ledger.handled, dropped, dead: ledger.dead, escalated }
    }

    /// A message that came back to its sender is not wanted there: it is a dead letter now.
    pub(crate) fn count_returned_as_dead(&self) {
        self.with_worker(|worker| match worker {
            Some(worker) => {
                worker.counters().dead.add(1);
                // The counter wraps: this takes one away.
                worker.counters().returned.add(u64::MAX);
            }
            None => self.outside.returned_as_dead(),
        });
    }
}

/// What becomes of queued messages when a system shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// They are handled first, and so are those that this causes. Timers end, and messages from outside are refused from now on.
    Drain,
    /// They are dropped, and counted. Cuts a drain short that another thread waits for.
    Drop,
}

/// What a system did in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Messages handled.
    pub handled: u64,
    /// Messages that the shutdown dropped.
    pub dropped: u64,
    /// All dead letters, those dropped included.
    pub dead: u64,
    /// The failure that ended the system, if one reached the top (see [`crate::Supervision::escalate`]).
    pub escalated: Option<PanicInfo>,
}

/// Workers and actors, from [`System::builder`] to [`System::shutdown`].
///
/// Dropping it shuts it down with [`Shutdown::Drop`].
pub struct System {
    inner: Arc<Inner>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    report: Mutex<Option<ShutdownReport>>,
    /// See `dead_before_exit`.
    dead_before: Mutex<Option<u64>>,
}

/// Access to a system from anywhere; it does not keep the system running.
#[derive(Clone)]
pub struct SystemHandle {
    inner: Arc<Inner>,
}

impl System {
    /// Describes a system.
    pub fn builder() -> crate::builder::SystemBuilder {
        crate::builder::SystemBuilder::default()
    }

    /// Starts the workers.
    pub(crate) fn start(inner: Inner) -> std::io::Result<Self> {
        let system = System {
            inner: Arc::new(inner),
            threads: Mutex::new(Vec::new()),
            report: Mutex::new(None),
            dead_before: Mutex::new(None),
        };
        for index in 0..system.inner.shared.workers() {
            let inner = system.inner.clone();
            let thread = thread::Builder::new()
                .name(format!("actinium-{index}"))
                .spawn(move || work(&inner, index));
            let thread = thread.inspect_err(|_| {
                // Those before it end with the system, which is dropped.
                let workers = system.inner.shared.workers();
                system.inner.shared.control().never_started(workers - index);
            })?;
            lock(&system.threads).push(thread);
        }
        Ok(system)
    }

    /// Access to the system that can be cloned and passed on.
    pub fn handle(&self) -> SystemHandle {
        SystemHandle { inner: self.inner.clone() }
    }

    /// Starts an actor, where the policy places it.
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A> {
        self.handle().spawn(actor)
    }

    /// Starts an actor with options. The factory makes its state, now and at each restart.
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the memory has no room, the capacity is 0, or the factory panics.
    pub fn spawn_with<A: Actor>(
        &self,
        options: SpawnOptions,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A>, SpawnError> {
        self.handle().spawn_with(options, factory)
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.inner.shared.workers()
    }

    /// The scheduling policy.
    pub fn policy(&self) -> Policy {
        self.inner.shared.settings().policy
    }

    /// See [`SystemHandle::learnt`].
    pub fn learnt<A: Actor>(&self) -> Learnt {
        self.handle().learnt::<A>()
    }

    /// See [`SystemHandle::register`].
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register<A: Actor>(&self, name: &str, address: &Address<A>) -> Result<(), NameError> {
        self.handle().register(name, address)
    }

    /// See [`SystemHandle::lookup`].
    ///
    /// # Errors
    /// If no living actor has the name, or it has another type.
    pub fn lookup<A: Actor>(&self, name: &str) -> Result<Address<A>, LookupError> {
        self.handle().lookup(name)
    }

    /// Blocks until no message is queued or handled. Timers that are not due, and futures and closures that are under way elsewhere, do not count.
    pub fn wait_idle(&self) {
        self.inner.shared.control().wait_idle(&self.inner.shared);
    }

    /// Blocks until somebody calls [`SystemHandle::stop`], or a failure reaches the top; then drains and shuts down.
    pub fn wait(&self) -> ShutdownReport {
        let mut requested = lock(&self.inner.stop.requested);
        while !*requested {
            requested = self
                .inner
                .stop
                .changed
                .wait(requested)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        drop(requested);
        self.shutdown(Shutdown::Drain)
    }

    /// Counters and sampled latencies.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Forgets the latencies sampled so far: after a warm-up, say.
    pub fn reset_latencies(&self) {
        self.inner.shared.latencies(true);
    }

    /// Draws up the ledger of all messages while all workers stand between two turns; waits for long turns to end.
    /// `sent = handled + queued + returned + dead` at every moment: see [`Audit::is_balanced`].
    pub fn audit(&self) -> Audit {
        self.inner.audit()
    }

    /// Ends the system and says what became of its messages. Later calls return the same report.
    ///
    /// Called by an actor (which can only happen if the system was smuggled into one), it only requests the end, as [`SystemHandle::stop`].
    pub fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        let shared = &self.inner.shared;
        if self.inner.with_worker(|worker| worker.is_some()) {
            self.inner.request_stop();
            return self.inner.report(0);
        }
        if how == Shutdown::Drop {
            // Before the lock: whoever drains holds it, and hears of this.
            self.dead_before_exit();
            shared.control().request_exit(shared);
            self.inner.offloads.look_again();
        }
        let mut report = lock(&self.report);
        if let Some(report) = &*report {
            return report.clone();
        }
        if how == Shutdown::Drain {
            shared.control().request_drain(shared);
            shared.control().wait_idle(shared);
            // What was offloaded sends its result, which may offload more.
            while self.inner.offloads.wait(|| shared.control().exit_requested()) {
                shared.control().wait_idle(shared);
            }
        }
        let dead_before = self.dead_before_exit();
        shared.control().request_exit(shared);
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A worker never panics: it aborts the process (see `work`).
            let _ = thread.join();
        }
        let dropped = self.inner.ledger(0).dead - dead_before;
        shared.deadlines().fire(u64::MAX);
        self.inner.request_stop();
        report.insert(self.inner.report(dropped)).clone()
    }

    /// The dead letters when the first one asked the workers to end: those that come after are what the shutdown dropped.
    fn dead_before_exit(&self) -> u64 {
        *lock(&self.dead_before).get_or_insert_with(|| self.inner.ledger(0).dead)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.shutdown(Shutdown::Drop);
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({} workers, {})", self.workers(), self.policy())
    }
}

impl SystemHandle {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        SystemHandle { inner }
    }

    /// Starts an actor: on this worker if called on one, else where the policy places it.
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A> {
        self.inner.with_worker(|worker| self.inner.spawn_light(actor, worker))
    }

    /// Starts an actor with options. The factory makes its state, now and at each restart.
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the memory has no room, the capacity is 0, or the factory panics.
    pub fn spawn_with<A: Actor>(
        &self,
        options: SpawnOptions,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A>, SpawnError> {
        self.inner
            .with_worker(|worker| self.inner.spawn_full(options, Box::new(factory), None, worker))
    }

    /// Gives an actor a name (it may have several). It is taken back when the actor ends.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register<A: Actor>(&self, name: &str, address: &Address<A>) -> Result<(), NameError> {
        self.inner.names.give(name, address.0.core_ref())?;
        if address.0.core.control(Control::Named(name.to_owned())).is_err() {
            // It has ended: as if it had done so right after it got the name.
            self.inner.names.forget(name, address.id());
        }
        Ok(())
    }

    /// The actor of this name.
    ///
    /// # Errors
    /// If no living actor has the name, or it has another type.
    pub fn lookup<A: Actor>(&self, name: &str) -> Result<Address<A>, LookupError> {
        self.inner.names.find(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.inner.names.all()
    }

    /// Asks the thread that waits in [`System::wait`] to drain and shut the system down.
    pub fn stop(&self) {
        self.inner.request_stop();
    }

    /// Calls `listener` for every dead letter from now on, on the thread where it occurs.
    pub fn on_dead_letter(&self, listener: impl Fn(&DeadLetter) + Send + Sync + 'static) {
        self.inner.dead_letters.listen(Arc::new(listener));
    }

    /// The latest dead letters, oldest first. All are counted in [`Stats`].
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.inner.dead_letters.latest()
    }

    /// From now on workers help to carry messages between this system and elsewhere, as other nodes of a cluster: see [`Porter`]. There is one
    /// porter; false if there was one before.
    pub fn set_porter(&self, porter: Arc<dyn Porter>) -> bool {
        self.inner.shared.set_porter(porter)
    }

    /// The porter has something to carry, and says so when asked: a worker is woken for it, if it sleeps. True if it did.
    pub fn call_porter(&self) -> bool {
        self.inner.shared.call()
    }

    /// Whether the calling thread is a worker of this system.
    pub fn is_on_worker(&self) -> bool {
        current(|worker| worker.is_some_and(|it| Arc::ptr_eq(it.shared(), &self.inner.shared)))
    }

    /// What the scheduler has learnt of actors of this type.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, System};
    /// struct Counter(u64);
    ///
    /// impl Actor for Counter {
    ///     type Msg = u64;
    ///
    ///     fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
    ///         self.0 += n;
    ///     }
    /// }
    ///
    /// let system = System::builder().build()?;
    /// let counter = system.spawn(Counter(0));
    /// counter.send(1)?;
    /// system.wait_idle();
    /// println!("{:?}", system.handle().learnt::<Counter>().cost_ns);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn learnt<A: Actor>(&self) -> Learnt {
        Learnt::of(&self.inner.kind_of::<A>())
    }

    /// Counters and sampled latencies.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.inner.shared.workers()
    }
}

impl fmt::Debug for SystemHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemHandle({} workers)", self.workers())
    }
}

/// A worker's thread.
fn work(inner: &Inner, index: usize) {
    let shared = &inner.shared;
    if let Some(pus) = &shared.settings().pus {
        // Not fatal: it runs, only less predictably. The builder has checked what can be checked.
        if let Err(error) = actinium_topology::bind_current_thread(pus[index]) {
            eprintln!("actinium: worker {index} runs unbound: {error}");
        }
    }
    let worker = Worker::new(shared.clone(), index);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        worker.enter(|worker| {
            worker.run();
            worker.end(|worker| inner.dispose(worker));
        });
    }));
    if outcome.is_err() {
        // User code is caught where it is called: this is a defect of the runtime, whose state can not be trusted any more.
        eprintln!(
            "actinium: a defect of the runtime on {worker:?}; counters: {:?}",
            worker.counters().values()
        );
        std::process::abort();
    }
}

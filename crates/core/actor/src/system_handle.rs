//! A handle to a system, which can be cloned and passed on.

use crate::actor::Actor;
use crate::actor_core::Inner;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::cell::reference::CellRef;
use crate::census::{ActorFigures, ActorPage, ActorQuery, ActorTypeFigures};
use crate::control::Control;
use crate::estimates::Estimates;
use crate::failure::Failure;
use crate::family::Family;
use crate::measured::{Measure, Measured, Measuring};
use crate::options::{SpawnError, SpawnOptions};
use crate::source::Source;
use crate::spawn::all_or_none;
use crate::state::dead_letters::DeadLetter;
use crate::state::names::{LookupError, NameError};
use crate::stats::Stats;
use crate::unfinished::Occupied;
use actinium_scheduler::recording::{Guest, Name, WorkerRecords};
use actinium_scheduler::sync::lock;
use actinium_scheduler::trace;
use actinium_scheduler::{Exchange, IdlePoller, Policy};
use actinium_topology::PuId;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Access to a system from anywhere; it does not keep the system running.
#[derive(Clone)]
pub struct SystemHandle {
    pub(crate) inner: Arc<Inner>,
}

impl SystemHandle {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        SystemHandle { inner }
    }

    /// The system that an actor lives in: for crates that bring requests from elsewhere.
    #[doc(hidden)]
    pub fn of<A: Actor>(address: &Address<A>) -> Self {
        SystemHandle::new(address.0.core.system.clone())
    }

    /// Starts an actor: on this worker if called on one, else where the policy places it.
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A> {
        self.inner.with_worker(|worker| self.inner.spawn_light(actor, worker))
    }

    /// Starts an actor with options: an actor, or a factory that makes one, now and at each
    /// restart ([`Source`]).
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the allocator has no memory,
    /// the capacity is 0, the factory fails, or there is none and the supervision restarts.
    pub fn spawn_with<A: Actor, By>(
        &self,
        options: SpawnOptions,
        source: impl Source<A, By>,
    ) -> Result<Address<A>, SpawnError> {
        let source = source.split();
        self.inner.with_worker(|worker| self.inner.spawn_full(options, source, None, worker))
    }

    /// Starts so many actors with the same options, for a [`Router`](crate::Router), a
    /// [`Batched`](crate::Batched) or a [`Broadcast`](crate::Broadcast), say: `source` gets the
    /// number of each, from 0 on, and gives the actor, or a factory of it ([`Source`]).
    ///
    /// ```
    /// use actinium_actor::{Actor, Broadcast, Context, Mailbox, SpawnOptions, System};
    ///
    /// struct Shard(usize);
    ///
    /// impl Actor for Shard {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, word: &'static str, _: &mut Context<'_, Self>) {
    ///         println!("{}: {word}", self.0);
    ///     }
    /// }
    ///
    /// let system = System::builder().build()?;
    /// let options = SpawnOptions::new().mailbox(Mailbox::bounded(16));
    /// let shards = system.spawn_many(4 * system.workers(), &options, Shard)?;
    /// Broadcast::new(shards).send("hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SystemHandle::spawn_with`], of the first that is not started. Those before it are
    /// killed. Options with a name are for one actor only.
    pub fn spawn_many<A: Actor, S: Source<A, By>, By>(
        &self,
        n: usize,
        options: &SpawnOptions,
        source: impl FnMut(usize) -> S,
    ) -> Result<Vec<Address<A>>, SpawnError> {
        all_or_none((0..n).map(source), |source| self.spawn_with(options.clone(), source))
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
        let not_found = || LookupError::NotFound(name.to_owned());
        let core = self.inner.names.get(name).ok_or_else(not_found)?;
        if !core.is_a::<A>() {
            let (expected, found) = (std::any::type_name::<A>(), core.kind());
            return Err(LookupError::WrongType { name: name.to_owned(), expected, found });
        }
        CellRef::upgrade(&core).map(Address).ok_or_else(not_found)
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.inner.names.all()
    }

    /// Asks the thread that waits in [`System::wait`](crate::System::wait) to drain and shut the
    /// system down.
    pub fn stop(&self) {
        self.inner.request_stop();
    }

    /// Calls `listener` for every dead letter from now on, on the thread where it occurs, and when
    /// whatever it occurred in is over: what a listener causes, or a destructor of a dead message,
    /// comes after it and never inside it. Of what goes on to cause itself (a listener that tells
    /// somebody who has ended) listeners hear
    /// [`GENERATIONS`](actinium_scheduler::guard::GENERATIONS) times; after that it is only
    /// counted.
    ///
    /// The listener is dropped with the [`System`](crate::System), so it may hold addresses of this
    /// system's actors.
    pub fn on_dead_letter(&self, listener: impl Fn(&DeadLetter) + Send + Sync + 'static) {
        self.inner.dead_letters.listen(listener);
    }

    /// The latest dead letters, oldest first. All are counted in [`Stats`].
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.inner.dead_letters.latest()
    }

    /// Sets the poller by which workers help to move messages between this system and elsewhere, as
    /// other nodes of a cluster: see [`IdlePoller`]. There is one idle poller; false if there was
    /// one before.
    pub fn set_idle_poller(&self, poller: Arc<dyn IdlePoller>) -> bool {
        self.inner.shared.set_idle_poller(poller)
    }

    /// The idle poller has something to move, and says so when asked: a worker is woken for it, if
    /// it sleeps. True if it did.
    pub fn request_poll(&self) -> bool {
        self.inner.shared.request_poll()
    }

    /// Whether the system has begun to end: it drains, or drops what is left.
    pub fn is_ending(&self) -> bool {
        let control = self.inner.shared.control();
        control.is_draining() || control.exit_requested()
    }

    /// Whether this worker is in somebody's code at this moment: in a turn of an actor, say. It
    /// costs a look at one place in memory.
    pub fn is_occupied(&self, worker: usize) -> bool {
        worker < self.workers() && self.inner.shared.sight(worker).is_some()
    }

    /// In whose code this worker is at this moment. It looks for the actor among all that live, and
    /// holds up those that start or end meanwhile: ask only if you want to know.
    pub fn occupied(&self, worker: usize) -> Option<Occupied> {
        (worker < self.workers()).then(|| self.inner.occupied(worker)).flatten()
    }

    /// Whether the calling thread is a worker of this system.
    pub fn is_on_worker(&self) -> bool {
        self.inner.is_on_worker()
    }

    /// The scheduler's estimates for all actors of this type.
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
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// println!("{:?}", system.estimates::<Counter>().cost_ns);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn estimates<A: Actor>(&self) -> Estimates {
        Estimates::of(&self.inner.kind_of::<A>())
    }

    /// Counters and sampled latencies.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Keeps records of what each worker does from now on, the latest so many of each, until
    /// [`stop_recording`](SystemHandle::stop_recording): turns, calls of modules in them, sleeps,
    /// steals, moves, wake-ups and changes of the number of workers. A worker begins with its next
    /// round. It then reads the clock twice in each turn; one record takes 56 bytes.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, System};
    /// # struct Counter;
    /// # impl Actor for Counter {
    /// #     type Msg = u64;
    /// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    /// # }
    /// let system = System::builder().build()?;
    /// let counter = system.spawn(Counter);
    /// system.record(1_000);
    /// counter.send(7)?;
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// for (worker, taken) in system.take_records().iter().enumerate() {
    ///     println!("worker {worker}, {} lost: {:?}", taken.lost, taken.records);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self, per_worker: usize) {
        self.inner.shared.recording().start(per_worker);
    }

    /// Whether records are kept.
    pub fn is_recording(&self) -> bool {
        self.inner.shared.recording().is_on()
    }

    /// The same as [`record`](SystemHandle::record), but of turns only those of these actors; if
    /// there are none, of all. What workers do beside turns is recorded in any case.
    pub fn record_only(&self, per_worker: usize, actors: impl IntoIterator<Item = ActorId>) {
        let numbers = actors.into_iter().map(ActorId::as_u64).collect();
        self.inner.shared.recording().start_of(per_worker, numbers);
    }

    /// Keeps no further records. Those that were kept can still be taken.
    pub fn stop_recording(&self) {
        self.inner.shared.recording().stop();
    }

    /// Takes the records of each worker, by index; nobody gets them again. A record that would have
    /// to wait, or finds no room, is lost, and counted.
    pub fn take_records(&self) -> Vec<WorkerRecords> {
        self.inner.shared.recording().take()
    }

    /// The text of a name in a record: the label of a module, in
    /// [`Act::Call`](crate::recording::Act::Call).
    pub fn recorded_name(&self, name: Name) -> Arc<str> {
        self.inner.shared.recording().text(name)
    }

    /// Measures turns and messages by types of actors, and of chosen actors, until the guard is
    /// dropped: how many, how long turns take, how long messages wait, and which. Several may
    /// measure at a time: what any of them asks for is measured. A worker begins with its next
    /// round. The figures are in [`measured`](SystemHandle::measured).
    ///
    /// By default a worker notes the turns of one round of up to 64 in each millisecond, which
    /// stand for all since the round before; and each turn of an actor that takes more than 2 µs
    /// for a message. While nobody measures, it costs nothing.
    ///
    /// ```
    /// # use actinium_actor::{Measure, System};
    /// # struct Counter;
    /// # #[actinium_actor::actor]
    /// # impl Counter { fn add(&mut self, _n: u64) {} }
    /// let system = System::builder().workers(1).build()?;
    /// let counter = system.spawn(Counter);
    /// let measuring = system.measure(&Measure::new().every_turn().actors([counter.id()]));
    /// for n in 0..10 {
    ///     counter.add(n);
    /// }
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// for it in system.measured().types {
    ///     println!("{}: {} messages in {} ns", it.kind, it.figures.handled, it.figures.busy_ns);
    /// }
    /// drop(measuring);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn measure(&self, measure: &Measure) -> Measuring {
        Inner::measure(&self.inner, measure)
    }

    /// What was measured since the system started: see [`measure`](SystemHandle::measure). It lacks
    /// what workers have noted in the rounds that they are in.
    pub fn measured(&self) -> Measured {
        self.inner.measured()
    }

    /// Keeps records as [`record`](SystemHandle::record) does, unless somebody else has them kept:
    /// for one who looks at a few now and then. Whoever calls `record` later takes them over.
    ///
    /// ```
    /// # use actinium_actor::System;
    /// let system = System::builder().build()?;
    /// let guest = system.try_record(1_000).expect("nobody else records");
    /// assert!(system.try_record(1_000).is_none());
    /// assert!(system.take_records_as(&guest).is_some());
    /// system.record(1_000);
    /// assert!(system.take_records_as(&guest).is_none());
    /// # Ok::<(), actinium_actor::BuildError>(())
    /// ```
    pub fn try_record(&self, per_worker: usize) -> Option<Guest> {
        self.inner.shared.recording().try_start(per_worker)
    }

    /// Takes the records that were kept by [`try_record`](SystemHandle::try_record). `None`:
    /// somebody else has taken them over.
    pub fn take_records_as(&self, guest: &Guest) -> Option<Vec<WorkerRecords>> {
        self.inner.shared.recording().take_as(guest)
    }

    /// Keeps no further records for [`try_record`](SystemHandle::try_record). Nothing happens if
    /// somebody else has taken them over.
    pub fn stop_recording_as(&self, guest: Guest) {
        self.inner.shared.recording().stop_as(guest);
    }

    // ---- traces
    // ----------------------------------------------------------------------------------------------

    /// Traces requests from now on: those that come in with a context of a trace
    /// ([`trace::scope`], a gateway's `traceparent`, a message from another node), and this share
    /// of the messages that come from outside without one: from 0 to 1, as `1.0 / 1000.0`.
    ///
    /// Each message that the handler of a traced one sends is traced, too. Others carry nothing for
    /// it, and cost what they cost without traces; but each message from outside then reads the
    /// clock. What is known of a request goes to the listeners of [`SystemHandle::on_span`].
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, testing::TestSystem};
    /// # use std::sync::mpsc::channel;
    /// # struct Counter;
    /// # impl Actor for Counter {
    /// #     type Msg = u64;
    /// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    /// # }
    /// let mut system = TestSystem::seeded(1);
    /// let (sender, spans) = channel();
    /// system.on_span(move |span| drop(sender.send(span.clone())));
    /// system.sample_traces(1.0);
    /// let counter = system.spawn(Counter);
    /// counter.send(7)?;
    /// system.run_until_idle();
    /// let span = spans.recv()?;
    /// assert_eq!((span.parent, span.actor, span.message), (None, counter.id().as_u64(), "u64"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sample_traces(&self, share: f64) {
        self.inner.shared.start_traces(share);
        self.inner.external.look_at_each(true);
    }

    /// Traces no further messages. The spans of those under way still end.
    pub fn stop_traces(&self) {
        self.inner.shared.traces().stop();
        self.inner.external.look_at_each(false);
    }

    /// Follows one in some thousand messages between actors, too, each for a few steps: for a
    /// picture of a run. Call [`SystemHandle::sample_traces`] first.
    #[doc(hidden)]
    pub fn start_flows(&self) {
        self.inner.shared.traces().start_flows();
    }

    /// Whether requests are traced.
    pub fn traces(&self) -> bool {
        self.inner.shared.traces().is_on()
    }

    /// Calls `listener` with each span that ends, on the thread on which it ends: often a worker,
    /// so it should be quick. What it sends is part of no trace. It is dropped with the
    /// [`System`](crate::System). Its panic is caught and logged.
    pub fn on_span(&self, listener: impl Fn(&trace::Span) + Send + Sync + 'static) {
        self.inner.shared.traces().listen(listener);
    }

    /// How many traces and spans there were.
    pub fn trace_figures(&self) -> trace::TraceFigures {
        self.inner.shared.traces().figures()
    }

    /// Reads the header `traceparent` of a request, for [`trace::scope`]. One that is none is
    /// ignored, and counted in [`trace::TraceFigures::bad_traceparents`].
    pub fn read_traceparent(&self, header: &str) -> Option<trace::TraceContext> {
        self.inner.shared.traces().read(header)
    }

    /// Calls `f` as a step of this name: as part of the current one if there is one, else as the
    /// beginning of a trace if it is one of the sample; if it is none, nothing that it sends begins
    /// one. If nobody traces, it just calls `f`. On any thread. If `f` panics, the step has failed.
    pub fn span<R>(&self, name: impl Into<Cow<'static, str>>, f: impl FnOnce() -> R) -> R {
        let step = self.begin_span(name, None);
        let result = step.scope(f);
        step.end(None);
        result
    }

    /// Begins a step of this name, as [`SystemHandle::span`] does, whose end is up to the caller;
    /// with a parent from elsewhere, if there is one.
    pub fn begin_span(
        &self,
        name: impl Into<Cow<'static, str>>,
        parent: Option<trace::TraceContext>,
    ) -> trace::Step {
        trace::Step::begin(&self.inner.shared, name, parent)
    }

    /// Figures of each type that actors were started of, those of most actors first. The workers
    /// go on meanwhile.
    ///
    /// ```
    /// # use actinium_actor::{Actor, ActorOrder, ActorQuery, Context, testing::TestSystem};
    /// # struct Counter;
    /// # impl Actor for Counter {
    /// #     type Msg = u64;
    /// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    /// # }
    /// let mut system = TestSystem::seeded(1);
    /// let (idle, busy) = (system.spawn(Counter), system.spawn(Counter));
    /// busy.send(7)?;
    ///
    /// let counters = &system.actor_types()[0];
    /// assert_eq!((counters.living, counters.queued), (2, 1));
    ///
    /// let busiest = ActorQuery::new().kind("Counter").order(ActorOrder::Queued).take(1);
    /// let page = system.actors(&busiest);
    /// assert_eq!((page.total, page.actors[0].actor), (2, busy.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn actor_types(&self) -> Vec<ActorTypeFigures> {
        self.inner.actor_types()
    }

    /// A page of the living actors, with their figures: see
    /// [`actor_types`](SystemHandle::actor_types). It takes a walk over all actors, which is no
    /// moment of the system: actors that start or end meanwhile may be on it or not.
    pub fn actors(&self, query: &ActorQuery) -> ActorPage {
        self.inner.actors(query)
    }

    /// The figures of one actor, if it lives. It takes a walk over all actors.
    pub fn actor(&self, actor: u64) -> Option<ActorFigures> {
        self.inner.figures_of(&[ActorId(actor)].into()).pop()
    }

    /// Actors that this one supervises (its number is [`ActorId::as_u64`]), or, for `None`, those
    /// that supervise others and have no parent: the first `take` of them, those with most children
    /// first. It takes a walk over all actors.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, testing::TestSystem};
    /// struct Leaf;
    /// # impl Actor for Leaf {
    /// #     type Msg = ();
    /// #     fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    /// # }
    ///
    /// struct Tree(Vec<actinium_actor::Address<Leaf>>);
    ///
    /// impl Actor for Tree {
    ///     type Msg = ();
    ///     fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
    ///         self.0.push(ctx.spawn(Leaf));
    ///     }
    /// }
    ///
    /// let mut system = TestSystem::seeded(1);
    /// let tree = system.spawn(Tree(Vec::new()));
    /// (0..3).try_for_each(|_| tree.send(()))?;
    /// system.run_until_idle();
    ///
    /// let roots = system.family(None, 10);
    /// assert_eq!((roots.total, roots.members[0].children), (1, 3));
    /// let children = system.family(Some(tree.id().as_u64()), 2);
    /// assert_eq!((children.total, children.members.len()), (3, 2));
    /// assert_eq!(children.members[0].figures.parent, Some(tree.id()));
    /// # Ok::<(), actinium_actor::SendError<()>>(())
    /// ```
    pub fn family(&self, of: Option<u64>, take: usize) -> Family {
        self.inner.family(of.map(ActorId), take)
    }

    /// What each worker got from each other one since the start: actors stolen, and chunks of
    /// messages by lanes; of pairs with anything only.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.inner.shared.exchanges()
    }

    /// The PU to which each worker is bound; `None` for one that runs wherever the process may. See
    /// [`crate::SystemBuilder::bind`].
    pub fn pus(&self) -> &[Option<PuId>] {
        &self.inner.shared.settings().pus
    }

    /// How long each worker takes to run once through its queue, as it estimates; 0 under a policy
    /// that balances no loads.
    pub fn loads(&self) -> Vec<Duration> {
        let load = |worker| Duration::from_nanos(self.inner.shared.load_ns(worker));
        (0..self.workers()).map(load).collect()
    }

    /// The time since the system's clock was made, by that clock: the time of its records.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.inner.shared.clock().now_ns())
    }

    /// Whether both are handles to one system.
    pub fn is_same(&self, other: &SystemHandle) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The number of each worker's thread, as Linux counts (`/proc/self/task`). `None`: it has not
    /// begun, or Linux does not say.
    pub fn worker_threads(&self) -> Vec<Option<u32>> {
        // Relaxed: a note.
        let number = |it: &AtomicU32| Some(it.load(Ordering::Relaxed)).filter(|&it| it > 0);
        self.inner.threads.iter().map(number).collect()
    }

    /// The NUMA node of each worker, by the system's number; `None`: the worker is bound to none.
    pub fn worker_nodes(&self) -> &[Option<u32>] {
        self.inner.nodes.of_workers()
    }

    /// How much went from worker to worker by [lanes](crate::CounterValues::crossed): from, to, and
    /// the number of chunks of messages since the system started. Pairs without any are left out.
    pub fn lane_traffic(&self) -> Vec<(usize, usize, u64)> {
        self.inner.shared.lane_traffic()
    }

    /// The failure that ends the system, if one has reached the top (see
    /// [`crate::Supervision::escalate`]).
    pub fn escalated(&self) -> Option<Failure> {
        lock(&self.inner.escalation).clone()
    }

    /// The scheduling policy.
    pub fn policy(&self) -> Policy {
        self.inner.shared.settings().policy
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

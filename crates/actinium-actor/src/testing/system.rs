//! A system that the test drives, turn by turn.

use super::probe::Probe;
use super::random::Random;
use crate::actor::{Actor, ActorId};
use crate::address::Address;
use crate::cell::Core;
use crate::context::Time;
use crate::nodes::WorkerNodes;
use crate::spawn::{SpawnError, SpawnOptions};
use crate::stats::{Audit, Stats};
use crate::system::{Inner, Shutdown, ShutdownReport, SystemHandle};
use actinium_scheduler::{Clock, Policy, Settings, Shared, Worker};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A deterministic system: see the [module's documentation](crate::testing).
///
/// Messages that the test itself sends, outside any actor, are sends from outside: a full mailbox is an error to them.
/// Dropping it shuts it down with [`Shutdown::Drop`].
pub struct TestSystem {
    driver: Rc<Driver>,
}

/// Describes a [`TestSystem`].
#[derive(Clone, Debug)]
pub struct TestSystemBuilder {
    seed: u64,
    policy: Policy,
    batch: u32,
    fifo: bool,
    run_limit: u64,
}

/// The system did not become idle within [`TestSystemBuilder::run_limit`] turns at one moment of virtual time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeverIdle {
    /// The limit.
    pub limit: u64,
    /// The seed with which it happened.
    pub seed: u64,
    /// When, in virtual time.
    pub now: Time,
    /// Who had the latest turns (the last hundred), and how many of them: busiest first.
    pub busy: Vec<(ActorId, &'static str, u64)>,
}

/// What the system and its probes share: the scheduler's only worker, and all that decides what it does.
pub(super) struct Driver {
    inner: Arc<Inner>,
    worker: Worker,
    options: TestSystemBuilder,
    random: Random,
    trace: RefCell<Vec<(ActorId, &'static str)>>,
    report: RefCell<Option<ShutdownReport>>,
}

impl Default for TestSystemBuilder {
    fn default() -> Self {
        TestSystemBuilder {
            seed: 0,
            policy: Policy::affine(),
            batch: 1,
            fifo: false,
            run_limit: 1_000_000,
        }
    }
}

impl TestSystemBuilder {
    /// What the order of turns is drawn from. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The scheduling policy. With one worker, policies differ in how what is ready is kept. Default: affine.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Most messages that an actor handles in one turn. Default: 1, for then turns are interleaved most finely.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn batch(mut self, messages: u32) -> Self {
        assert!(messages > 0, "a batch is at least 1 message, not 0");
        self.batch = messages;
        self
    }

    /// Whoever became ready first goes first, as on a real worker; the seed then decides nothing.
    pub fn fifo(mut self) -> Self {
        self.fifo = true;
        self
    }

    /// Most turns without time moving on: after so many, the system counts as one that never becomes idle. Default: 1,000,000.
    pub fn run_limit(mut self, turns: u64) -> Self {
        self.run_limit = turns;
        self
    }

    /// The system, without any actor.
    pub fn build(self) -> TestSystem {
        let settings = Settings {
            workers: 1,
            policy: self.policy,
            batch: self.batch,
            batch_time: Duration::MAX,
            figures: true,
            elastic: None,
            pus: None,
        };
        let shared = Shared::new(settings, None, Clock::virtual_time());
        let inner = Inner::new(
            shared,
            WorkerNodes::all_on_one(1),
            #[cfg(feature = "tokio")]
            None,
        );
        let worker = Worker::new(inner.shared.clone(), 0);
        let driver = Driver {
            inner: Arc::new(inner),
            worker,
            random: Random::new(self.seed),
            options: self,
            trace: RefCell::default(),
            report: RefCell::default(),
        };
        TestSystem { driver: Rc::new(driver) }
    }
}

impl TestSystem {
    /// A system whose order of turns is drawn from this seed.
    pub fn seeded(seed: u64) -> Self {
        Self::builder().seed(seed).build()
    }

    /// Describes a system.
    pub fn builder() -> TestSystemBuilder {
        TestSystemBuilder::default()
    }

    // ---- actors --------------------------------------------------------------------------------------------------

    /// Starts an actor.
    pub fn spawn<A: Actor>(&self, actor: A) -> Address<A> {
        self.handle().spawn(actor)
    }

    /// Starts an actor with options. The factory makes its state, now and at each restart.
    ///
    /// # Errors
    /// If the name is taken, the worker is not worker 0, the capacity is 0, or the factory panics.
    pub fn spawn_with<A: Actor>(
        &self,
        options: SpawnOptions,
        factory: impl FnMut() -> A + Send + 'static,
    ) -> Result<Address<A>, SpawnError> {
        self.handle().spawn_with(options, factory)
    }

    /// An actor that keeps what it is sent, for the test to look at.
    pub fn probe<M: Send + 'static>(&self) -> Probe<M> {
        Probe::new(self.driver.clone())
    }

    /// What actors get from [`crate::Context::system`].
    pub fn handle(&self) -> SystemHandle {
        SystemHandle::new(self.driver.inner.clone())
    }

    // ---- running -------------------------------------------------------------------------------------------------

    /// Runs one turn; false if nobody is ready. Timers that are due fire before it.
    pub fn step(&mut self) -> bool {
        self.driver.step()
    }

    /// Runs until nobody is ready, without moving time. Returns how many turns it took.
    ///
    /// # Panics
    /// If it takes more turns than [`TestSystemBuilder::run_limit`].
    #[track_caller]
    pub fn run_until_idle(&mut self) -> u64 {
        self.driver.run()
    }

    /// [`TestSystem::run_until_idle`] for a system that may never be: after [`TestSystemBuilder::run_limit`] turns it says so.
    ///
    /// # Errors
    /// If there were so many.
    pub fn try_run_until_idle(&mut self) -> Result<u64, NeverIdle> {
        self.driver.try_run()
    }

    /// Moves time forward by so much: from one deadline to the next, with all turns that each causes before time moves on.
    /// Returns how many turns that were.
    ///
    /// # Panics
    /// If at one moment there are more turns than [`TestSystemBuilder::run_limit`].
    #[track_caller]
    pub fn advance(&mut self, by: Duration) -> u64 {
        let driver = &*self.driver;
        let by_ns = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let target_ns = driver.now().ns.saturating_add(by_ns);
        let mut turns = driver.run();
        while let Some(next_ns) = driver.worker.next_alarm_ns().filter(|&next| next <= target_ns) {
            driver.move_to(next_ns);
            turns += driver.run();
        }
        driver.move_to(target_ns);
        turns + driver.run()
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.driver.now()
    }

    // ---- looking -------------------------------------------------------------------------------------------------

    /// All turns up to now: whose, and that actor's type. Two runs are the same if their traces are.
    pub fn trace(&self) -> Vec<(ActorId, &'static str)> {
        self.driver.trace.borrow().clone()
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.driver.options.seed
    }

    /// Counters and sampled latencies (of virtual time).
    pub fn stats(&self) -> Stats {
        self.driver.inner.stats()
    }

    /// The ledger of all messages at this moment.
    pub fn audit(&self) -> Audit {
        // The only worker stands between two turns whenever the test runs.
        self.driver.inner.ledger(self.driver.inner.queued())
    }

    /// Whether somebody called [`SystemHandle::stop`], or a failure reached the top: where [`crate::System::wait`] would go on.
    pub fn stop_requested(&self) -> bool {
        self.driver.inner.stop_requested()
    }

    /// Ends the system and says what became of its messages. Later calls return the same report.
    ///
    /// # Panics
    /// If it shall drain, and that takes more turns than [`TestSystemBuilder::run_limit`].
    #[track_caller]
    pub fn shutdown(&mut self, how: Shutdown) -> ShutdownReport {
        self.driver.shutdown(how)
    }
}

impl Drop for TestSystem {
    fn drop(&mut self) {
        self.driver.shutdown(Shutdown::Drop);
    }
}

impl fmt::Debug for TestSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestSystem({})", self.driver.place())
    }
}

impl Driver {
    /// The system that is driven.
    pub(super) fn handle(&self) -> SystemHandle {
        SystemHandle::new(self.inner.clone())
    }

    /// Where the run is, for messages: enough to come here again.
    pub(super) fn place(&self) -> String {
        format!(
            "seed {}, {} turns, {:?} of virtual time",
            self.options.seed,
            self.trace.borrow().len(),
            Duration::from_nanos(self.now().ns)
        )
    }

    /// One turn. When nobody is ready, what actors have offloaded is waited for: what it sends comes at this moment of virtual time.
    pub(super) fn step(&self) -> bool {
        self.report.borrow().is_none()
            && (self.turn() || (self.inner.offloads.wait(|| false) && self.turn()))
    }

    fn turn(&self) -> bool {
        let pick = |len| if self.options.fifo { 0 } else { self.random.below(len) };
        self.worker.enter(|worker| {
            worker.step(pick, |runnable| {
                if let Some(core) = Core::of_runnable(runnable) {
                    self.trace.borrow_mut().push((core.id, core.kind()));
                }
            })
        })
    }

    fn try_run(&self) -> Result<u64, NeverIdle> {
        let mut turns = 0;
        while self.step() {
            turns += 1;
            if turns > self.options.run_limit {
                return Err(self.never_idle());
            }
        }
        Ok(turns)
    }

    #[track_caller]
    pub(super) fn run(&self) -> u64 {
        match self.try_run() {
            Ok(turns) => turns,
            Err(never) => panic!("{never}"),
        }
    }

    #[cold]
    fn never_idle(&self) -> NeverIdle {
        let mut busy = BTreeMap::new();
        for &who in self.trace.borrow().iter().rev().take(100) {
            *busy.entry(who).or_insert(0) += 1;
        }
        let mut busy: Vec<_> = busy.into_iter().map(|((id, kind), n)| (id, kind, n)).collect();
        busy.sort_by_key(|&(id, _, n)| (std::cmp::Reverse(n), id));
        NeverIdle { limit: self.options.run_limit, seed: self.options.seed, now: self.now(), busy }
    }

    fn now(&self) -> Time {
        Time { ns: self.inner.shared.clock().now_ns() }
    }

    /// Moves time to a moment, unless that has passed.
    fn move_to(&self, ns: u64) {
        self.inner.shared.clock().advance(ns.saturating_sub(self.now().ns));
    }

    #[track_caller]
    fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        if let Some(report) = &*self.report.borrow() {
            return report.clone();
        }
        let shared = &self.inner.shared;
        if how == Shutdown::Drain {
            shared.control().request_drain(shared);
            self.run();
        }
        let dead_before = self.inner.ledger(0).dead;
        shared.control().request_exit(shared);
        // No turn follows: the worker only sees the request.
        self.turn();
        self.worker.enter(|worker| worker.end(|worker| self.inner.dispose(worker)));
        let dropped = self.inner.ledger(0).dead - dead_before;
        self.inner.request_stop();
        self.report.borrow_mut().insert(self.inner.report(dropped)).clone()
    }
}

impl fmt::Display for NeverIdle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Duration::from_nanos(self.now.ns);
        write!(
            f,
            "not idle after {} turns at {now:?} of virtual time (raise TestSystemBuilder::run_limit if that is not for ever; seed {}); the latest turns:",
            self.limit, self.seed
        )?;
        for (id, kind, n) in self.busy.iter().take(5) {
            write!(f, " {n} x {id} ({kind})")?;
        }
        Ok(())
    }
}

impl std::error::Error for NeverIdle {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    /// Sends each message on to itself.
    struct Restless;

    impl Actor for Restless {
        type Msg = u32;

        fn handle(&mut self, msg: u32, ctx: &mut Context<'_, Self>) {
            ctx.address().tell(msg);
        }
    }

    #[test]
    fn who_never_rests_is_named() {
        let mut sys = TestSystem::builder().seed(5).run_limit(50).build();
        sys.spawn(Restless).tell(1);
        let never = sys.try_run_until_idle().unwrap_err();
        assert_eq!((never.limit, never.seed, never.busy[0].2), (50, 5, 51));
        let text = never.to_string();
        assert!(text.starts_with("not idle after 50 turns at 0ns of virtual time"), "{text}");
        assert!(text.contains("seed 5") && text.contains("51 x actor 1"), "{text}");
    }

    #[test]
    fn shutting_down_counts_what_it_drops_and_says_so_again() {
        let mut sys = TestSystem::seeded(1);
        let restless = sys.spawn(Restless);
        restless.tell(1);
        restless.tell(2);
        (0..10).for_each(|_| assert!(sys.step()));
        let audit = sys.audit();
        assert!(audit.is_balanced(), "{audit:?}");
        assert_eq!(audit.queued, 2);
        let report = sys.shutdown(Shutdown::Drop);
        assert_eq!((report.handled, report.dropped, report.dead), (audit.handled, 2, 2));
        assert_eq!(sys.shutdown(Shutdown::Drain), report);
        assert!(!sys.step());
        assert!(restless.send(3).is_err_and(|error| error.is_closed()));
        assert!(sys.audit().is_balanced());
    }

    #[test]
    #[should_panic(expected = "a batch is at least 1 message")]
    fn an_empty_batch_is_refused() {
        let _ = TestSystem::builder().batch(0);
    }
}

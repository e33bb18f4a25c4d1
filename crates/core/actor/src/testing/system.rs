//! A system that the test drives, turn by turn.

use super::driver::{Driver, NeverIdle, Options};
use super::probe::Probe;
use crate::actor_id::ActorId;
use crate::ending::{Shutdown, ShutdownReport};
use crate::stats::Audit;
use crate::system_handle::SystemHandle;
use crate::time::Time;
use actinium_scheduler::{Policy, nanoseconds};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

/// A deterministic system: see the [module's documentation](crate::testing). It dereferences to its
/// [`SystemHandle`]. The only worker is worker 0, and sampled latencies are of virtual time.
///
/// Messages that the test itself sends, outside any actor, are external sends: a full mailbox is an
/// error to them. Dropping it shuts it down with [`Shutdown::Drop`].
///
/// Whoever runs in it (an actor that got at it by a thread-local variable, say) must not drive it:
/// to step it, shut it down or drop it, or to expect something of its probes, panics there, which
/// is then the actor's failure. A system that was dropped so ends after that turn.
pub struct TestSystem {
    handle: SystemHandle,
    driver: Rc<Driver>,
}

/// Describes a [`TestSystem`].
#[derive(Clone, Debug, Default)]
pub struct TestSystemBuilder {
    options: Options,
}

impl TestSystemBuilder {
    /// Sets the seed from which the order of turns is drawn. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// The scheduling policy. With one worker, policies differ in how what is ready is kept.
    /// Default: affine.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// Most messages that an actor handles in one turn. Default: 1, for then turns are interleaved
    /// most finely.
    ///
    /// # Panics
    /// If it is 0.
    #[track_caller]
    pub fn batch(mut self, messages: u32) -> Self {
        assert!(messages > 0, "a batch is at least 1 message, not 0");
        self.options.batch = messages;
        self
    }

    /// Runs actors in the order in which they became ready, as on a real worker; the seed then
    /// decides nothing.
    pub fn fifo(mut self) -> Self {
        self.options.fifo = true;
        self
    }

    /// Most turns without time moving on: after so many, the system counts as one that never
    /// becomes idle. Default: 1,000,000.
    pub fn run_limit(mut self, turns: u64) -> Self {
        self.options.run_limit = turns;
        self
    }

    /// The system, without any actor.
    pub fn build(self) -> TestSystem {
        let driver = Rc::new(Driver::new(self.options));
        TestSystem { handle: driver.handle(), driver }
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

    /// An actor that keeps what it is sent, for the test to look at.
    pub fn probe<M: Send + 'static>(&self) -> Probe<M> {
        Probe::new(self.driver.clone())
    }

    /// Returns the handle that actors get from [`crate::Context::system`].
    pub fn handle(&self) -> SystemHandle {
        self.handle.clone()
    }

    // ---- running
    // -------------------------------------------------------------------------------------------------

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

    /// [`TestSystem::run_until_idle`] for a system that may never be: after
    /// [`TestSystemBuilder::run_limit`] turns it says so.
    ///
    /// # Errors
    /// If there were so many.
    pub fn try_run_until_idle(&mut self) -> Result<u64, NeverIdle> {
        self.driver.try_run()
    }

    /// Moves time forward by so much: from one deadline to the next, with all turns that each
    /// causes before time moves on. Returns how many turns that were.
    ///
    /// # Panics
    /// If at one moment there are more turns than [`TestSystemBuilder::run_limit`].
    #[track_caller]
    pub fn advance(&mut self, by: Duration) -> u64 {
        let driver = &*self.driver;
        let target_ns = driver.now().ns.saturating_add(nanoseconds(by));
        let mut turns = driver.run();
        while let Some(next_ns) = driver.worker.next_timer_ns().filter(|&next| next <= target_ns) {
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

    // ---- looking
    // -------------------------------------------------------------------------------------------------

    /// All turns up to now: whose, and that actor's type. Two runs are the same if their traces
    /// are.
    pub fn trace(&self) -> Vec<(ActorId, &'static str)> {
        self.driver.trace.borrow().clone()
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    pub(super) fn options(&self) -> &Options {
        &self.driver.options
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.driver.options.seed
    }

    /// The ledger of all messages at this moment.
    pub fn audit(&self) -> Audit {
        // The only worker stands between two turns whenever the test runs.
        self.driver.inner.ledger(self.driver.inner.queued())
    }

    /// Whether somebody called [`SystemHandle::stop`], or a failure reached the top: where
    /// [`crate::System::wait`] would go on.
    pub fn stop_requested(&self) -> bool {
        self.driver.inner.stop_requested()
    }

    /// Ends the system and says what became of its messages. Later calls return the same report.
    /// Virtual time does not go on while it drains: the time of [`Shutdown::DrainWithin`] is over
    /// after [`TestSystemBuilder::run_limit`] turns. An actor that holds for
    /// what never comes does not keep it from ending either: [`ShutdownReport::unfinished`] names
    /// it.
    ///
    /// # Panics
    /// If it shall drain, and that takes more turns than [`TestSystemBuilder::run_limit`].
    #[track_caller]
    pub fn shutdown(&mut self, how: Shutdown) -> ShutdownReport {
        self.driver.shutdown(how)
    }
}

impl Deref for TestSystem {
    type Target = SystemHandle;

    fn deref(&self) -> &SystemHandle {
        &self.handle
    }
}

impl Drop for TestSystem {
    fn drop(&mut self) {
        self.driver.drop_system();
    }
}

impl fmt::Debug for TestSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestSystem({})", self.driver.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Context};

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

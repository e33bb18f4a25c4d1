//! Faults by message: what a network, a full disk or a defect would do to one message of many.

use super::system::TestSystem;
use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::cell::faults::{Choice, Fault, Faults, Rule};
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::sync::Arc;
use actinium_scheduler::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

impl TestSystem {
    /// Chooses messages to actors of type `A`, for a fault that strikes them when their turn comes.
    /// It stays for the rest of the test. Of several faults that a message is chosen for, the first
    /// strikes.
    ///
    /// From then on, these actors handle one message in a turn. Urgent messages, items of streams
    /// and what comes back from a stash may be chosen like others. Faults cost nothing where no
    /// test injects any.
    ///
    /// ```
    /// use actinium_actor::testing::TestSystem;
    /// use actinium_actor::{Actor, Context, SpawnOptions, Supervision};
    ///
    /// #[derive(Default)]
    /// struct Account { euros: u64 }
    ///
    /// impl Actor for Account {
    ///     type Msg = u64;
    ///     fn handle(&mut self, deposit: u64, _ctx: &mut Context<'_, Self>) {
    ///         self.euros += deposit;
    ///     }
    /// }
    ///
    /// let sys = TestSystem::seeded(1);
    /// let third_large = sys.inject::<Account>(|&deposit| deposit > 100).nth(3).panic();
    /// let options = SpawnOptions::new().supervise(Supervision::restart());
    /// let account = sys.spawn_with(options, Account::default)?;
    /// for deposit in [101, 5, 102, 103, 104] {
    ///     account.tell(deposit);
    /// }
    /// sys.expect_restarts(&account, 1);
    /// assert_eq!(third_large.struck(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inject<A: Actor>(
        &self,
        chosen: impl FnMut(&A::Msg) -> bool + Send + 'static,
    ) -> Inject<'_, A> {
        let chosen: Choice<A::Msg> = Box::new(chosen);
        Inject { sys: self, chosen: Guarded::new(chosen), to: None, nth: None, of: PhantomData }
    }
}

/// Messages that were chosen for a fault: see [`TestSystem::inject`].
#[must_use = "say which fault: drop, delay, duplicate or panic"]
pub struct Inject<'s, A: Actor> {
    sys: &'s TestSystem,
    chosen: Guarded<Choice<A::Msg>>,
    to: Option<ActorId>,
    nth: Option<u64>,
    of: PhantomData<fn(A)>,
}

impl<A: Actor> Inject<'_, A> {
    /// Only messages to this actor.
    pub fn to(mut self, actor: &Address<A>) -> Self {
        self.to = Some(actor.id());
        self
    }

    /// Only one of the messages chosen: the first is number 1.
    ///
    /// # Panics
    /// If it is number 0.
    #[track_caller]
    pub fn nth(mut self, n: u64) -> Self {
        assert!(n > 0, "messages are counted from 1: nth(0) is none");
        self.nth = Some(n);
        self
    }

    /// Drops them: they become dead letters, of the reason
    /// [`StopReason::Injected`](crate::StopReason::Injected).
    pub fn drop(self) -> Injected {
        self.strike(Fault::Drop)
    }

    /// Lets them come later by so much virtual time, behind whatever is in the mailbox then. In
    /// the ledger such a message is returned, and sent once more.
    pub fn delay(self, by: Duration) -> Injected {
        self.strike(Fault::Delay(by))
    }

    /// Lets a copy come, too, behind whatever is in the mailbox by now. In the ledger it is a
    /// message more.
    pub fn duplicate(self) -> Injected
    where
        A::Msg: Clone,
    {
        self.strike(Fault::Duplicate(A::Msg::clone))
    }

    /// Lets the actor panic, as if it had in the middle of handling the message: that is gone, and
    /// the actor's supervision decides.
    pub fn panic(self) -> Injected {
        self.strike(Fault::Panic)
    }

    fn strike(self, fault: Fault<A::Msg>) -> Injected {
        let struck = Arc::new(AtomicU64::new(0));
        let Inject { sys, chosen, to, nth, .. } = self;
        Faults::add::<A>(
            &sys.inner,
            Rule { chosen, to, nth, fault, seen: 0, struck: struck.clone() },
        );
        Injected(struck)
    }
}

impl<A: Actor> fmt::Debug for Inject<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = std::any::type_name::<A>();
        write!(f, "Inject({kind}, to {:?}, number {:?})", self.to, self.nth)
    }
}

/// A fault that was injected.
#[derive(Clone)]
pub struct Injected(Arc<AtomicU64>);

impl Injected {
    /// How many messages it has struck.
    pub fn struck(&self) -> u64 {
        // Relaxed: a figure, written on this thread.
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Injected({} struck)", self.struck())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Probe, explore};
    use crate::{Context, Mailbox, Recipient, Shutdown, SpawnOptions, StopReason, Supervision};

    /// Passes numbers on. Large ones lie in boxes.
    struct Relay<const N: usize>(Recipient<u32>);

    impl<const N: usize> Actor for Relay<N> {
        type Msg = [u32; N];

        fn handle(&mut self, msg: [u32; N], _: &mut Context<'_, Self>) {
            self.0.tell(msg[0]);
        }
    }

    fn relay<const N: usize>(
        sys: &TestSystem,
        mailbox: Mailbox,
    ) -> (Probe<u32>, Address<Relay<N>>) {
        let probe = sys.probe::<u32>();
        let to = probe.recipient();
        let options = SpawnOptions::new().supervise(Supervision::restart()).mailbox(mailbox);
        let relay = sys.spawn_with(options, move || Relay(to.clone())).unwrap();
        (probe, relay)
    }

    /// Each fault, on messages of this size.
    fn all_faults<const N: usize>(sys: &mut TestSystem, mailbox: Mailbox) {
        let (probe, relay) = relay::<N>(sys, mailbox);
        // It has begun by now: faults reach those that live.
        relay.tell([0; N]);
        probe.expect_eq(0);
        let lost = sys.inject::<Relay<N>>(|msg| msg[0] == 1).drop();
        let late = sys.inject::<Relay<N>>(|msg| msg[0] == 2).delay(Duration::from_secs(3));
        let twice = sys.inject::<Relay<N>>(|msg| msg[0] == 3).duplicate();
        let panics = sys.inject::<Relay<N>>(|msg| msg[0] >= 4).nth(2).panic();
        for n in 1..=6 {
            relay.tell([n; N]);
            assert!(sys.audit().is_balanced());
        }
        let mut came = Vec::new();
        while sys.step() {
            assert!(sys.audit().is_balanced(), "{:?}", sys.audit());
            came.extend(probe.received());
        }
        assert_eq!(came.iter().filter(|&&n| n == 3).count(), 2, "{came:?}");
        came.dedup();
        came.sort();
        came.dedup();
        assert_eq!(came, [3, 4, 6]);
        sys.expect_restarts(&relay, 1);
        sys.expect_dead_letters(1);
        assert_eq!(sys.dead_letters()[0].reason, StopReason::Injected);
        sys.advance(Duration::from_millis(2_999));
        probe.expect_none();
        sys.advance(Duration::from_millis(1));
        probe.expect_eq(2);
        assert_eq!([lost, late, twice, panics].map(|fault| fault.struck()), [1; 4]);
        let audit = sys.audit();
        assert!(audit.is_balanced() && audit.queued == 0 && audit.returned == 1, "{audit:?}");
    }

    /// Miri takes half a second for each.
    fn seeds(most: u64) -> u64 {
        if cfg!(miri) { 2 } else { most }
    }

    #[test]
    fn each_fault_does_what_it_says_and_the_ledger_balances() {
        explore(seeds(40), |sys| all_faults::<1>(sys, Mailbox::Unbounded));
        explore(seeds(5), |sys| all_faults::<1000>(sys, Mailbox::Unbounded));
        explore(seeds(5), |sys| all_faults::<1>(sys, Mailbox::bounded(9)));
    }

    #[test]
    fn faults_choose_by_actor_and_what_was_put_off_survives_neither_actor_nor_system() {
        let mut sys = TestSystem::seeded(2);
        let (one, other) =
            (relay::<1>(&sys, Mailbox::Unbounded), relay::<1>(&sys, Mailbox::Unbounded));
        let late = sys.inject::<Relay<1>>(|_| true).to(&one.1).delay(Duration::from_secs(1));
        one.1.tell([1]);
        other.1.tell([2]);
        other.0.expect_eq(2);
        one.0.expect_none();
        assert_eq!(late.struck(), 1);
        one.1.kill();
        sys.expect_stopped(&one.1, |reason| *reason == StopReason::Requested);
        sys.expect_no_dead_letters();
        sys.advance(Duration::from_secs(1));
        sys.expect_dead_letters(1);
        let last = sys.inject::<Relay<1>>(|_| true).delay(Duration::from_secs(1));
        other.1.tell([3]);
        other.0.expect_none();
        assert_eq!(last.struck(), 1);
        sys.shutdown(Shutdown::Drain);
        assert!(sys.audit().is_balanced(), "{:?}", sys.audit());
    }

    /// Waits for each message, and then passes it on.
    struct Waits(Recipient<u32>);

    impl Actor for Waits {
        type Msg = u32;

        fn handle(&mut self, n: u32, ctx: &mut Context<'_, Self>) {
            ctx.hold(futures_lite::future::yield_now(), move |this, (), _| this.0.tell(n));
        }
    }

    #[test]
    fn an_actor_that_has_waited_is_under_faults_still() {
        explore(seeds(20), |sys| {
            let probe = sys.probe::<u32>();
            let waits = sys.spawn(Waits(probe.recipient()));
            let lost = sys.inject::<Waits>(|n| n % 3 == 0).drop();
            (1..=9).for_each(|n| waits.tell(n));
            sys.expect_dead_letters(3);
            assert_eq!((probe.received(), lost.struck()), (vec![1, 2, 4, 5, 7, 8], 3));
        });
    }

    #[test]
    fn a_choice_that_panics_is_the_actor_s_failure() {
        let sys = TestSystem::seeded(2);
        let (probe, relay) = relay::<1>(&sys, Mailbox::Unbounded);
        _ = sys.inject::<Relay<1>>(|msg| msg[0] == 1 || panic!("no choice")).drop();
        relay.tell([2]);
        sys.expect_restarts(&relay, 1);
        relay.tell([1]);
        probe.expect_none();
        sys.expect_dead_letters(1);
    }
}

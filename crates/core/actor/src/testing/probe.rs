//! An actor that keeps what it is sent, and the test's view of it.

use super::driver::Driver;
use crate::actor::{Actor, Context};
use crate::address::Address;
use crate::ask::Reply;
use crate::handle::ask_recipient::AskRecipient;
use crate::handle::recipient::Recipient;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt::{self, Debug};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};

type Received<M> = Arc<Mutex<VecDeque<M>>>;

/// The actor behind a [`Probe`].
pub struct ProbeActor<M> {
    received: Received<M>,
}

/// Receives messages for the test to expect; see [`crate::testing::TestSystem::probe`].
///
/// Expectations run the system as far as they must: those that want a message, until one is there;
/// [`Probe::expect_none`], until nobody is ready. None of them moves time. Messages are expected in
/// the order in which they came.
pub struct Probe<M: Send + 'static> {
    driver: Rc<Driver>,
    address: Address<ProbeActor<M>>,
    received: Received<M>,
    /// Messages that were taken by now.
    taken: Cell<usize>,
}

impl<M: Send + 'static> Actor for ProbeActor<M> {
    type Msg = M;

    fn handle(&mut self, msg: M, _ctx: &mut Context<'_, Self>) {
        lock(&self.received).push_back(msg);
    }
}

impl<M: Send + 'static> Probe<M> {
    pub(super) fn new(driver: Rc<Driver>) -> Self {
        let received = Received::default();
        let address = driver.handle().spawn(ProbeActor { received: received.clone() });
        Probe { driver, address, received, taken: Cell::new(0) }
    }

    /// The probe's address.
    pub fn address(&self) -> Address<ProbeActor<M>> {
        self.address.clone()
    }

    /// The probe as whatever an actor of the program expects there:
    /// [`Recipient`], for actors that do not care who gets their messages.
    pub fn recipient<N: Send + 'static>(&self) -> Recipient<N>
    where
        M: From<N>,
    {
        self.into()
    }

    /// A function that sends the probe a message, for code that calls back.
    pub fn callback(&self) -> impl Fn(M) + Clone + Send + Sync + use<M> {
        let address = self.address();
        move |msg| address.tell(msg)
    }

    /// Takes all messages that have come, without running anything.
    pub fn received(&self) -> Vec<M> {
        let received: Vec<M> = lock(&self.received).drain(..).collect();
        self.taken.set(self.taken.get() + received.len());
        received
    }

    /// The next message, after as many turns as it takes.
    fn next(&self) -> Option<M> {
        loop {
            if let Some(msg) = lock(&self.received).pop_front() {
                self.taken.set(self.taken.get() + 1);
                return Some(msg);
            }
            if !self.driver.step() {
                return None;
            }
        }
    }

    #[track_caller]
    fn fail(&self, expected: &str, but: &str) -> ! {
        let (probe, message) = (self.address.id(), std::any::type_name::<M>());
        panic!(
            "probe {probe} of {message} expected {expected}, but {but} ({})",
            self.driver.place()
        )
    }

    #[track_caller]
    fn next_or_fail(&self, expected: &str) -> M {
        // No closure around the panic: it would hide the caller's place.
        if let Some(msg) = self.next() {
            return msg;
        }
        let after = match self.taken.get() {
            0 => String::new(),
            n => format!(" after message {n}"),
        };
        self.fail(expected, &format!("nothing came{after} and nobody is ready to run"))
    }
}

impl<M: Send + Debug + 'static> Probe<M> {
    /// Takes the next message.
    ///
    /// # Panics
    /// If none comes.
    #[track_caller]
    pub fn expect_next(&self) -> M {
        self.next_or_fail("a message")
    }

    /// Takes the next message, for which `holds` must be true.
    ///
    /// # Panics
    /// If none comes, or `holds` is false for it.
    #[track_caller]
    pub fn expect(&self, holds: impl FnOnce(&M) -> bool) -> M {
        let expected = "a message for which the condition holds";
        let msg = self.next_or_fail(expected);
        if !holds(&msg) {
            self.fail(expected, &format!("message {} is {msg:?}", self.taken.get()));
        }
        msg
    }

    /// Takes the next message, which must equal `expected`.
    ///
    /// # Panics
    /// If none comes, or it is another.
    #[track_caller]
    pub fn expect_eq(&self, expected: M)
    where
        M: PartialEq,
    {
        let expects = format!("{expected:?}");
        let msg = self.next_or_fail(&expects);
        if msg != expected {
            self.fail(&expects, &format!("message {} is {msg:?}", self.taken.get()));
        }
    }

    /// Runs until nobody is ready; no message may have come.
    ///
    /// # Panics
    /// If one has.
    #[track_caller]
    pub fn expect_none(&self) {
        self.driver.run();
        let received = lock(&self.received);
        if let Some(first) = received.front() {
            let but = match received.len() {
                1 => format!("{first:?} came"),
                n => format!("{first:?} came and {} more", n - 1),
            };
            drop(received);
            self.fail("no message", &but);
        }
    }
}

impl<M: Send + 'static, N: Send + 'static> From<&Probe<M>> for Recipient<N>
where
    M: From<N>,
{
    fn from(probe: &Probe<M>) -> Self {
        probe.address().into()
    }
}

impl<M: Send + 'static, Q: Send + 'static, R: Send + 'static> From<&Probe<M>> for AskRecipient<Q, R>
where
    M: From<(Q, Reply<R>)>,
{
    fn from(probe: &Probe<M>) -> Self {
        probe.address().into()
    }
}

impl<M: Send + 'static> Debug for Probe<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = lock(&self.received).len();
        let (taken, address) = (self.taken.get(), &self.address);
        write!(f, "Probe({address:?}: {taken} taken, {waiting} waiting; {})", self.driver.place())
    }
}

/// The data behind this lock is plain, and one thread uses it: a failed expectation leaves it
/// usable.
fn lock<M>(received: &Mutex<VecDeque<M>>) -> MutexGuard<'_, VecDeque<M>> {
    received.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Probe, TestSystem};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn failure(what: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(what)).expect_err("it should have panicked");
        *payload.downcast::<String>().expect("a message")
    }

    fn probe_of(messages: &[u32]) -> (TestSystem, Probe<u32>) {
        let sys = TestSystem::seeded(42);
        let probe = sys.probe();
        messages.iter().for_each(|&msg| probe.address().tell(msg));
        (sys, probe)
    }

    #[test]
    fn messages_are_expected_in_order() {
        let (_sys, probe) = probe_of(&[1, 2, 3, 4, 5]);
        probe.expect_eq(1);
        assert_eq!(probe.expect(|&n| n > 1), 2);
        assert_eq!(probe.expect_next(), 3);
        assert!(probe.received().is_empty(), "nothing ran beyond what was expected");
        probe.callback()(6);
        assert_eq!(failure(|| probe.expect_none()).split(" (").next(), {
            Some("probe actor 1 of u32 expected no message, but 4 came and 2 more")
        });
        assert_eq!(probe.received(), [4, 5, 6]);
        probe.expect_none();
    }

    #[test]
    fn a_failure_says_what_was_expected_what_came_and_how_to_get_there() {
        let (_sys, probe) = probe_of(&[7]);
        assert_eq!(
            failure(|| probe.expect_eq(8)),
            "probe actor 1 of u32 expected 8, but message 1 is 7 (seed 42, 1 turns, 0ns of virtual time)"
        );
        assert_eq!(
            failure(|| _ = probe.expect(|_| false)),
            "probe actor 1 of u32 expected a message for which the condition holds, but nothing came after message 1 and nobody is \
             ready to run (seed 42, 2 turns, 0ns of virtual time)"
        );
        probe.address().tell(9);
        assert!(failure(|| _ = probe.expect(|_| false)).contains("but message 2 is 9"));
    }
}

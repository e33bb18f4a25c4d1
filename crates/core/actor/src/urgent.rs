//! Messages that are handled before all others that wait.

use crate::actor::Actor;
use crate::actor_core::{NOTE_CONTROL, URGENT};
use crate::address::Address;
use crate::cell::actor_cell::ActorCell;
use crate::cell::waiting::new_waits;
use crate::cell::waits::WaitsBox;
use crate::control::Refused;
use crate::send_error::{ENDED, FULL, SendError};
use actinium_scheduler::Worker;
use actinium_scheduler::sync::atomic::Ordering;
use std::any::Any;

impl<A: Actor> Address<A> {
    /// Sends a message that is handled before all others that wait in the mailbox. Urgent messages
    /// keep their order among themselves, and so do the others.
    ///
    /// A turn that is under way goes on: up to 64 messages (or 100 µs, see
    /// [`SystemBuilder`](crate::SystemBuilder)) may still be handled before it. While the actor
    /// holds for a future ([`Context::hold`](crate::Context::hold)), or as many are under way as
    /// may be ([`Context::concurrent`](crate::Context::concurrent)), urgent messages wait, too. It
    /// costs an allocation and a lock, and messages that are not urgent cost nothing more for it:
    /// it is for what is rare, as "pause", "report" or "new settings".
    ///
    /// ```
    /// # use actinium_actor::testing::TestSystem;
    /// # let mut system = TestSystem::seeded(1);
    /// let probe = system.probe();
    /// let recorder = probe.address();
    /// recorder.send("one")?;
    /// recorder.send("two")?;
    /// recorder.send_urgent("first of all")?;
    /// system.run_until_idle();
    /// assert_eq!(probe.received(), ["first of all", "one", "two"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor has ended, or was asked to; [`SendError::Full`] if the
    /// mailbox is bounded and as many urgent messages wait as it takes others. Nobody is muted for
    /// them.
    pub fn send_urgent(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.send_urgent_when(msg, self.0.urgent_most())
    }

    /// Sends an urgent message unless `most` of them wait.
    fn send_urgent_when(&self, msg: A::Msg, most: usize) -> Result<(), SendError<A::Msg>> {
        let system = &self.0.core.system;
        system.with_worker(|worker| match worker {
            Some(worker) => {
                worker.counters().sent.add(1);
                let stamp_ns = worker.trace_stamp();
                let sent = self.0.push_urgent(msg, stamp_ns, most, Some(worker));
                worker.counters().returned.add(u64::from(sent.is_err()));
                sent
            }
            None => {
                let send = system.external.begin(&system.shared);
                let sent = if self.refuses_external() {
                    Err(SendError::Closed(msg))
                } else {
                    self.0.push_urgent(msg, send.trace_stamp(), most, None)
                };
                if sent.is_err() {
                    send.count_returned();
                }
                sent
            }
        })
    }

    /// Sends an urgent message over the bound. One that the actor does not take is a dead letter.
    pub(crate) fn tell_urgent_over(&self, msg: A::Msg) {
        let sent = self.send_urgent_when(msg, usize::MAX);
        self.undeliverable(sent);
    }

    /// Whether as many urgent messages wait as may.
    pub(crate) fn is_urgent_full(&self) -> bool {
        self.0.core.controls().urgent() >= self.0.urgent_most()
    }
}

impl<A: Actor> ActorCell<A> {
    /// The most urgent messages that may wait.
    fn urgent_most(&self) -> usize {
        match self.capacity() {
            0 => usize::MAX,
            capacity => capacity,
        }
    }

    fn push_urgent(
        &self,
        msg: A::Msg,
        stamp_ns: u64,
        most: usize,
        worker: Option<&Worker>,
    ) -> Result<(), SendError<A::Msg>> {
        if self.is_closed() {
            self.core.trace_lost::<A::Msg>(stamp_ns, ENDED);
            return Err(SendError::Closed(msg));
        }
        let core = &self.core;
        let msg: Box<A::Msg> = Box::new(msg);
        let mut controls = core.controls();
        let pushed = controls.push_urgent(
            msg,
            stamp_ns,
            most,
            const { &(new_waits::<A> as fn() -> WaitsBox<A>) },
        );
        if pushed.is_ok() {
            // Release: pairs with the acquire at the turn's start; the lock orders the list itself.
            core.flags.fetch_or(URGENT, Ordering::Release);
        }
        drop(controls);
        let open = |msg: Box<dyn Any + Send>| *msg.downcast::<A::Msg>().expect("what it was sent");
        pushed.map_err(|refused| match refused {
            Refused::Closed(msg) => {
                core.trace_lost::<A::Msg>(stamp_ns, ENDED);
                SendError::Closed(open(msg))
            }
            Refused::Full(msg) => {
                core.trace_lost::<A::Msg>(stamp_ns, FULL);
                SendError::Full(open(msg))
            }
        })?;
        if let Some(worker) = worker.filter(|it| it.running() == Some(core.runnable())) {
            // To itself: nobody is woken by what runs already.
            worker.note().set(worker.note().get() | NOTE_CONTROL);
        }
        core.wake(worker);
        Ok(())
    }
}

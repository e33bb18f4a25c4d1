//! A message when no other has come for some time.

use crate::actor::{Actor, Context};
use crate::cell::waits::Silence;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::nanoseconds;
use std::time::Duration;

impl<A: Actor> Context<'_, A> {
    /// Gives this actor what `msg` makes when it has had no message for so long: once, and again
    /// after the next message and as much silence. It replaces the timeout that was set before.
    ///
    /// ```
    /// use actinium_actor::testing::TestSystem;
    /// use actinium_actor::{Actor, Context};
    /// use std::time::Duration;
    ///
    /// /// Ends when nobody has used it for a minute.
    /// struct Session;
    ///
    /// enum Msg { Use, Idle }
    ///
    /// impl Actor for Session {
    ///     type Msg = Msg;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         ctx.receive_timeout(Duration::from_secs(60), || Msg::Idle);
    ///     }
    ///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
    ///         match msg {
    ///             Msg::Use => {}
    ///             Msg::Idle => ctx.stop(),
    ///         }
    ///     }
    /// }
    ///
    /// let mut system = TestSystem::seeded(1);
    /// let session = system.spawn(Session);
    /// for _ in 0..3 {
    ///     system.advance(Duration::from_secs(50));
    ///     session.tell(Msg::Use);
    /// }
    /// system.advance(Duration::from_secs(59));
    /// assert!(!session.is_closed());
    /// system.advance(Duration::from_secs(1));
    /// assert!(session.is_closed());
    /// ```
    ///
    /// Items of streams, urgent messages and those that come back from the stash count as messages.
    /// The time that the actor holds for a future ([`Context::hold`]) is no silence. It does not
    /// keep the actor alive, ends when the actor restarts, and, as all timers, when the system
    /// drains.
    pub fn receive_timeout(&self, timeout: Duration, msg: impl FnMut() -> A::Msg + Send + 'static) {
        let silence = Silence {
            timeout_ns: nanoseconds(timeout),
            since_ns: self.now().ns,
            is_told: false,
            msg: Some(Guarded::new(Box::new(msg))),
        };
        let before = self.with_waits(|waits| waits.silence.replace(silence));
        // The user's closure is dropped outside.
        drop(before);
        // Its timer is set before the next message.
        self.look_again();
    }

    /// Takes [`Context::receive_timeout`] back; false if none was set.
    pub fn cancel_receive_timeout(&self) -> bool {
        let before = self.with_waits(|waits| waits.silence.take());
        before.is_some()
    }
}

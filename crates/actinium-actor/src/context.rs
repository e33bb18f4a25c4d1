//! What an actor can do while it handles a message.

use crate::actor::{Actor, ActorId, Down, StopReason};
use crate::address::Address;
use crate::cell::{ActorCell, CoreRef, NOTE_STOP, NOTE_YIELD};
use crate::control::Control;
use crate::life::refuse;
use crate::spawn::{SpawnError, SpawnOptions};
use crate::system::SystemHandle;
use crate::timers::TimerId;
use actinium_scheduler::Worker;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A moment: nanoseconds since the system was built, by its clock (which a test system moves by hand).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Nanoseconds since the system was built.
    pub ns: u64,
}

impl Time {
    /// How long ago `earlier` was; zero if it was not.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}

/// The actor's side of the runtime, lent to its methods.
pub struct Context<'a, A: Actor> {
    cell: &'a ActorCell<A>,
    worker: &'a Worker,
}

impl<'a, A: Actor> Context<'a, A> {
    #[inline(always)]
    pub(crate) fn new(cell: &'a ActorCell<A>, worker: &'a Worker) -> Self {
        Context { cell, worker }
    }

    #[inline(always)]
    pub(crate) fn is_stopping(&self) -> bool {
        self.worker.note().get() & NOTE_STOP != 0
    }

    /// Its own address. Each address that it keeps or sends away keeps it alive.
    pub fn address(&self) -> Address<A> {
        Address::of(self.cell)
    }

    /// Its identity.
    pub fn id(&self) -> ActorId {
        self.cell.core.id
    }

    /// The system that it lives in.
    pub fn system(&self) -> SystemHandle {
        SystemHandle::new(self.cell.core.system.clone())
    }

    /// What the system's parts share.
    #[cfg(feature = "tokio")]
    pub(crate) fn inner(&self) -> std::sync::Arc<crate::system::Inner> {
        self.cell.core.system.clone()
    }

    /// Index of the worker that it runs on now.
    pub fn worker(&self) -> usize {
        self.worker.index()
    }

    /// The time.
    pub fn now(&self) -> Time {
        Time { ns: self.worker.shared().clock().now_ns() }
    }

    /// Ends the actor when this call returns. What is left in its mailbox becomes dead letters.
    /// (To end after what is in the mailbox: `ctx.address().stop()`.)
    pub fn stop(&self) {
        self.worker.note().set(self.worker.note().get() | NOTE_STOP);
    }

    /// Ends the turn when this call returns: what else is ready on this worker runs before the actor's next message. A turn is many messages long, for that is fastest; but
    /// whoever sends much with each message had better let its receivers run while that is warm in the caches, and before their mailboxes grow long.
    ///
    /// ```
    /// use actinium_actor::{Actor, Address, Context, System};
    ///
    /// struct Lines(Address<Words>);
    /// struct Words(std::sync::mpsc::Sender<String>);
    ///
    /// impl Actor for Lines {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, line: &'static str, ctx: &mut Context<'_, Self>) {
    ///         line.split(' ').for_each(|word| self.0.tell(word.to_owned()));
    ///         // The words of this line are handled before the next one is taken apart.
    ///         ctx.yield_now();
    ///     }
    /// }
    ///
    /// impl Actor for Words {
    ///     type Msg = String;
    ///     fn handle(&mut self, word: String, _ctx: &mut Context<'_, Self>) {
    ///         let _ = self.0.send(word);
    ///     }
    /// }
    ///
    /// let (sender, words) = std::sync::mpsc::channel();
    /// let system = System::builder().workers(1).build()?;
    /// let lines = system.spawn(Lines(system.spawn(Words(sender))));
    /// lines.send("one two")?;
    /// lines.send("three")?;
    /// system.wait_idle();
    /// assert_eq!(words.try_iter().collect::<Vec<_>>(), ["one", "two", "three"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn yield_now(&self) {
        self.worker.note().set(self.worker.note().get() | NOTE_YIELD);
    }

    /// Starts another actor, on this worker for a start. It is nobody's child: it lives on when this one ends.
    pub fn spawn<B: Actor>(&self, actor: B) -> Address<B> {
        self.cell.core.system.spawn_light(actor, Some(self.worker))
    }

    /// Starts a child: when it fails, its supervision decides; when this actor ends or restarts, the child ends.
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the memory has no room, the capacity is 0, or the factory panics.
    pub fn spawn_with<B: Actor>(
        &self,
        options: SpawnOptions,
        factory: impl FnMut() -> B + Send + 'static,
    ) -> Result<Address<B>, SpawnError> {
        let parent = CoreRef::new(&self.cell.core);
        let child = self.cell.core.system.spawn_full(
            options,
            Box::new(factory),
            Some(parent),
            Some(self.worker),
        )?;
        let core = child.0.core_ref();
        self.cell.with_life(|life| life.extra().children.insert(core.id, core));
        Ok(child)
    }

    // ---- timers --------------------------------------------------------------------------------------------------

    /// Sends `msg` to this actor once, after so long. An armed timer keeps the actor alive.
    pub fn after(&self, delay: Duration, msg: A::Msg) -> TimerId {
        let me = self.address();
        self.cell
            .with_life(|life| life.extra().timers.after(self.worker, nanoseconds(delay), me, msg))
    }

    /// Sends what `msg` makes to this actor each time so long has passed, until cancelled. Missed times are skipped, not made up for.
    pub fn every(&self, period: Duration, msg: impl FnMut() -> A::Msg + Send + 'static) -> TimerId {
        let me = self.address();
        self.cell
            .with_life(|life| life.extra().timers.every(self.worker, nanoseconds(period), me, msg))
    }

    /// Cancels a timer of this actor; false if it has fired for the last time, or was cancelled.
    /// A message that it has sent already stays in the mailbox.
    pub fn cancel(&self, timer: TimerId) -> bool {
        // What a cancelled timer would have sent is dropped in here: it is the actor's own message and address.
        self.cell.with_life(|life| life.extra().timers.cancel(self.worker, timer))
    }

    // ---- watching ------------------------------------------------------------------------------------------------

    /// Asks for a message when another actor ends; at once if it has ended.
    pub fn watch<B: Actor>(
        &self,
        other: &Address<B>,
        msg: impl FnOnce(Down) -> A::Msg + Send + 'static,
    ) {
        let me = self.address().downgrade();
        let notify = Box::new(move |down: Down| {
            let Some(me) = me.upgrade() else { return };
            // This runs while the other one ends.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| me.tell(msg(down)))) {
                me.0.core.fail(payload);
            }
        });
        self.hand(&other.0.core, Control::Watch { watcher: self.id(), notify });
    }

    /// Takes back what was asked with [`Context::watch`].
    pub fn unwatch<B: Actor>(&self, other: &Address<B>) {
        self.hand(&other.0.core, Control::Unwatch { watcher: self.id() });
    }

    /// Shares fate with another actor: when one of the two ends abnormally, so does the other.
    pub fn link<B: Actor>(&self, other: &Address<B>) {
        let core = other.0.core_ref();
        self.cell.with_life(|life| life.extra().links.insert(core.id, core));
        self.hand(&other.0.core, Control::Link(CoreRef::new(&self.cell.core)));
    }

    /// Takes back [`Context::link`], for both.
    pub fn unlink<B: Actor>(&self, other: &Address<B>) {
        let core = self.cell.with_life(|life| life.extra().links.remove(&other.id()));
        drop(core);
        self.hand(&other.0.core, Control::Unlink(self.id()));
    }

    fn hand(&self, other: &crate::cell::Core, control: Control) {
        if let Err((control, reason)) = other.control(control) {
            let reason = if reason.is_abnormal() { reason } else { StopReason::AlreadyStopped };
            refuse(other.id, control, &reason);
        }
    }
}

impl<A: Actor> fmt::Debug for Context<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({}, worker {})", self.id(), self.worker())
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

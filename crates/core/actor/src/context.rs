//! The actions of an actor while it handles a message.

use crate::actor::{Actor, Context};
use crate::actor_core::{CoreRef, NOTE_FAILED, NOTE_STOP, NOTE_YIELD, hand};
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::control::Control;
use crate::failure::BoxError;
use crate::handle::at::{At, Handle};
use crate::options::{SpawnError, SpawnOptions};
use crate::source::Source;
use crate::spawn::all_or_none;
use crate::stop_reason::{Down, Restarted};
use crate::system_handle::SystemHandle;
use crate::time::Time;
use crate::timers::TimerId;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::nanoseconds;
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

impl<A: Actor> Context<'_, A> {
    /// The actor's identity.
    pub fn id(&self) -> ActorId {
        self.core().id
    }

    /// Whether a mailbox that is full holds this actor back: it has no other turn until there is
    /// room again.
    #[doc(hidden)]
    pub fn is_muted(&self) -> bool {
        self.core().is_muted()
    }

    /// The system that the actor lives in.
    pub fn system(&self) -> SystemHandle {
        SystemHandle::new(self.core().system.clone())
    }

    /// The index of the worker that it runs on now.
    pub fn worker(&self) -> usize {
        self.on().index()
    }

    /// The present time.
    pub fn now(&self) -> Time {
        Time { ns: self.on().shared().clock().now_ns() }
    }

    /// Ends the actor when this call returns. What is left in its mailbox becomes dead letters.
    /// (To end after what is in the mailbox: `ctx.address().stop()`.)
    pub fn stop(&self) {
        self.on().note().set(self.on().note().get() | NOTE_STOP);
    }

    /// Ends the turn when this call returns: what else is ready on this worker runs before the
    /// actor's next message. A turn is many messages long, for that is fastest; but whoever sends
    /// much with each message had better let its receivers run while that is warm in the caches,
    /// and before their mailboxes grow long.
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
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// assert_eq!(words.try_iter().collect::<Vec<_>>(), ["one", "two", "three"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn yield_now(&self) {
        self.on().note().set(self.on().note().get() | NOTE_YIELD);
    }

    /// Makes the actor fail when this call returns, with this cause: its
    /// [`Supervision`](crate::Supervision) decides what follows. The first cause of a call counts.
    /// A [`TryActor`](crate::TryActor) returns errors instead.
    pub fn fail(&self, cause: impl Into<BoxError>) {
        let cause = self.core().failure(cause.into());
        let later = self.with_life(|life| {
            let failure = &mut life.extra().failure;
            if failure.is_some() {
                return Some(cause);
            }
            *failure = Some(cause);
            None
        });
        drop(later);
        self.on().note().set(self.on().note().get() | NOTE_FAILED);
    }

    /// Looks after what the actor waits for before its next message.
    pub(crate) fn look_again(&self) {
        self.on().note().set(self.on().note().get() | NOTE_YIELD);
    }

    /// Starts a child, on this worker for a start: when this actor ends or restarts, the child
    /// ends. One that fails ends; [`Context::spawn_with`] supervises it otherwise.
    ///
    /// A child takes some 400 bytes more than an actor that is nobody's child
    /// ([`Context::spawn_detached`]).
    pub fn spawn<B: Actor>(&self, actor: B) -> Address<B> {
        let parent = CoreRef::new(self.core());
        self.adopt(self.core().system.spawn_child(actor, parent, self.on()))
    }

    /// Starts a child with options: an actor, or a factory that makes one, now and at each restart
    /// ([`Source`]). When it fails, its supervision decides; when this actor ends or restarts, the
    /// child ends.
    ///
    /// # Errors
    /// If the name is taken, the worker or the node does not exist, the allocator has no memory,
    /// the capacity is 0, the factory fails, or there is none and the supervision restarts.
    pub fn spawn_with<B: Actor, By>(
        &self,
        options: SpawnOptions,
        source: impl Source<B, By>,
    ) -> Result<Address<B>, SpawnError> {
        let (source, parent) = (source.split(), CoreRef::new(self.core()));
        let child =
            self.core().system.spawn_full(options, source, Some(parent), Some(self.on()))?;
        Ok(self.adopt(child))
    }

    /// Starts so many children with the same options. For actors that are nobody's children, there
    /// is [`SystemHandle::spawn_many`](crate::SystemHandle::spawn_many).
    ///
    /// ```
    /// use actinium_actor::{Actor, Address, Context, SpawnOptions, System};
    ///
    /// struct Part(usize);
    ///
    /// impl Actor for Part {
    ///     type Msg = ();
    ///     fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
    ///         println!("part {}", self.0);
    ///     }
    /// }
    ///
    /// struct Whole(Vec<Address<Part>>);
    ///
    /// impl Actor for Whole {
    ///     type Msg = ();
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         self.0 = ctx.spawn_many(3, &SpawnOptions::new(), Part).expect("they start");
    ///     }
    ///     fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
    ///         self.0.iter().for_each(|part| part.tell(()));
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// // It lives as long as somebody has its address, and its parts no longer.
    /// let whole = system.spawn(Whole(Vec::new()));
    /// whole.send(())?;
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// assert_eq!(system.stats().total().handled, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Context::spawn_with`], of the first that is not started. Those before it are
    /// killed. Options with a name are for one actor only.
    pub fn spawn_many<B: Actor, S: Source<B, By>, By>(
        &self,
        n: usize,
        options: &SpawnOptions,
        source: impl FnMut(usize) -> S,
    ) -> Result<Vec<Address<B>>, SpawnError> {
        all_or_none((0..n).map(source), |source| self.spawn_with(options.clone(), source))
    }

    /// Makes an actor, which was started with this one as its parent, its child.
    pub(crate) fn adopt<B: Actor>(&self, child: Address<B>) -> Address<B> {
        let core = child.0.core_ref();
        self.with_life(|life| life.extra().children.insert(core.id, core));
        child
    }

    /// Starts an actor that is nobody's child, on this worker for a start: it lives on when this
    /// one ends.
    pub fn spawn_detached<B: Actor>(&self, actor: B) -> Address<B> {
        self.core().system.spawn_light(actor, Some(self.on()))
    }

    // ---- timers
    // --------------------------------------------------------------------------------------------------

    /// Sends `msg` to this actor once, after so long. An armed timer keeps the actor alive. A full
    /// mailbox takes the message over its bound, as it does what [`Context::offload`] brings: the
    /// actor itself has asked for it.
    pub fn after(&self, delay: Duration, msg: A::Msg) -> TimerId {
        let (me, msg) = (self.address(), Guarded::new(msg));
        let beside = self.core().beside("timer");
        let send = move || {
            beside.scope(|| me.tell_over(msg.into_inner()));
            beside.end(None);
        };
        self.with_life(|life| life.extra().timers.after(self.on(), nanoseconds(delay), send))
    }

    /// Sends `msg` to this actor once, at this time, or at once if that is past: see
    /// [`Context::after`].
    pub fn at(&self, time: Time, msg: A::Msg) -> TimerId {
        self.after(time.since(self.now()), msg)
    }

    /// Sends what `msg` makes to this actor each time so long has passed, until cancelled. The
    /// times are multiples of the period, counted from now, however late each message is. Missed
    /// times are skipped, not made up for; what finds the mailbox full becomes a dead letter, for
    /// the next one comes anyway.
    pub fn every(
        &self,
        period: Duration,
        mut msg: impl FnMut() -> A::Msg + Send + 'static,
    ) -> TimerId {
        self.try_every(period, move || Ok::<_, Infallible>(msg()))
    }

    /// Does as [`Context::every`], for messages that can not always be made: an error is this
    /// actor's failure.
    pub fn try_every<E: Into<BoxError>>(
        &self,
        period: Duration,
        msg: impl FnMut() -> Result<A::Msg, E> + Send + 'static,
    ) -> TimerId {
        let (me, mut msg) = (self.address(), Guarded::new(msg));
        let send = move || match guard::catch(&mut *msg) {
            Ok(Ok(msg)) => me.tell(msg),
            Ok(Err(error)) => me.0.core.fail_with(error.into()),
            Err(panicked) => me.0.core.fail(panicked),
        };
        self.with_life(|life| life.extra().timers.every(self.on(), nanoseconds(period), send))
    }

    /// A timer with a name. The actor has one timer of a name at most: a new one replaces it.
    ///
    /// ```
    /// use actinium_actor::testing::TestSystem;
    /// use actinium_actor::{Actor, Context};
    /// use std::sync::mpsc::Sender;
    /// use std::time::Duration;
    ///
    /// /// Says so when nothing has come for a second.
    /// struct Listener(Sender<&'static str>);
    ///
    /// impl Actor for Listener {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, msg: &'static str, ctx: &mut Context<'_, Self>) {
    ///         let _ = self.0.send(msg);
    ///         if msg != "silence" {
    ///             ctx.timer("idle").after(Duration::from_secs(1), "silence");
    ///         }
    ///     }
    /// }
    ///
    /// let (sender, heard) = std::sync::mpsc::channel();
    /// let mut system = TestSystem::seeded(1);
    /// let listener = system.spawn(Listener(sender));
    /// for word in ["one", "two"] {
    ///     listener.tell(word);
    ///     system.advance(Duration::from_millis(900));
    /// }
    /// system.advance(Duration::from_millis(900));
    /// assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["one", "two", "silence"]);
    /// ```
    pub fn timer<'c>(&'c self, name: impl Into<Cow<'static, str>>) -> Timer<'c, A> {
        Timer { ctx: self, name: name.into() }
    }

    /// Cancels a timer of this actor; false if it has fired for the last time, or was cancelled.
    /// A message that it has sent already stays in the mailbox.
    pub fn cancel(&self, timer: TimerId) -> bool {
        let armed = self.with_life(|life| life.extra().timers.take(timer));
        // What it would have sent is dropped in here.
        armed.is_some_and(|armed| armed.cancel(self.on()))
    }

    // ---- watching
    // ------------------------------------------------------------------------------------------------

    /// Asks for a message when another actor ends; at once if it has ended. Of an actor of another
    /// node, also when that node is down ([`StopReason::NodeDown`](crate::StopReason::NodeDown)).
    pub fn watch<H: Handle + ?Sized>(
        &self,
        other: &H,
        msg: impl FnOnce(Down) -> A::Msg + Send + 'static,
    ) {
        let me = self.address().downgrade();
        let msg = Guarded::new(msg);
        let notify = Box::new(move |down: Down| {
            let Some(me) = me.upgrade() else { return };
            // This runs while the other one ends.
            match guard::catch(|| msg.into_inner()(down)) {
                Ok(msg) => me.tell(msg),
                Err(panicked) => me.0.core.fail(panicked),
            }
        });
        match other.place().0 {
            At::Here(core) => hand(core, Control::Watch { watcher: self.id(), notify }),
            At::There(there) => there.watch(self.id(), false, notify),
        }
    }

    /// Asks for a message whenever another actor of this process has failed and was restarted.
    ///
    /// ```
    /// use actinium_actor::testing::TestSystem;
    /// use actinium_actor::{Actor, Context, Restarted, SpawnOptions, Supervision};
    ///
    /// struct Fragile;
    ///
    /// impl Actor for Fragile {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, msg: &'static str, ctx: &mut Context<'_, Self>) {
    ///         ctx.fail(msg);
    ///     }
    /// }
    ///
    /// /// Counts how often its child was restarted.
    /// struct Parent(u32);
    ///
    /// impl Actor for Parent {
    ///     type Msg = Restarted;
    ///
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         let restart = SpawnOptions::new().supervise(Supervision::restart());
    ///         let child = ctx.spawn_with(restart, || Fragile).expect("no name, no bound");
    ///         ctx.watch_restarts(&child, |restarted| restarted);
    ///         child.tell("no");
    ///     }
    ///
    ///     fn handle(&mut self, restarted: Restarted, _: &mut Context<'_, Self>) {
    ///         assert_eq!(restarted.failure.message(), "no");
    ///         self.0 += 1;
    ///     }
    /// }
    ///
    /// let mut sys = TestSystem::seeded(1);
    /// let parent = sys.spawn(Parent(0));
    /// sys.run_until_idle();
    /// assert_eq!(sys.audit().handled, 2);
    /// # drop(parent);
    /// ```
    pub fn watch_restarts<B: Actor>(
        &self,
        other: &Address<B>,
        msg: impl FnMut(Restarted) -> A::Msg + Send + 'static,
    ) {
        let me = self.address().downgrade();
        let mut msg = Guarded::new(msg);
        let notify = Box::new(move |restarted: Restarted| {
            let Some(me) = me.upgrade() else { return };
            match guard::catch(|| msg(restarted)) {
                Ok(msg) => me.tell(msg),
                Err(panicked) => me.0.core.fail(panicked),
            }
        });
        hand(&other.0.core, Control::WatchRestarts { watcher: self.id(), notify });
    }

    /// Takes back what was asked with [`Context::watch`] and [`Context::watch_restarts`].
    pub fn unwatch<H: Handle + ?Sized>(&self, other: &H) {
        match other.place().0 {
            At::Here(core) => hand(core, Control::Unwatch { watcher: self.id() }),
            At::There(there) => there.unwatch(self.id(), false),
        }
    }

    /// Shares fate with another actor: when one of the two ends abnormally, so does the other.
    ///
    /// Of an actor of another node this is one half: this one ends when that one ends abnormally,
    /// or when its node is down. A handle does not allow to end an actor, so that one links itself
    /// to this one if it is to share its fate, too.
    pub fn link<H: Handle + ?Sized>(&self, other: &H) {
        match other.place().0 {
            At::Here(core) => {
                let other = CoreRef::new(core);
                self.with_life(|life| life.extra().links.insert(other.id, other));
                hand(core, Control::Link(CoreRef::new(self.core())));
            }
            At::There(there) => {
                let me = CoreRef::new(self.core());
                let notify = move |down: Down| {
                    if down.reason.is_abnormal() {
                        // One that has ended is beyond it.
                        let _ = me.control(Control::LinkBroken(down.actor));
                    }
                };
                there.watch(self.id(), true, Box::new(notify));
            }
        }
    }

    /// Takes back [`Context::link`], for both.
    pub fn unlink<H: Handle + ?Sized>(&self, other: &H) {
        match other.place().0 {
            At::Here(core) => {
                let other = self.with_life(|life| life.extra().links.remove(&core.id));
                drop(other);
                hand(core, Control::Unlink(self.id()));
            }
            At::There(there) => there.unwatch(self.id(), true),
        }
    }
}

/// A timer of an actor, by its name: see [`Context::timer`].
#[must_use = "it is not set yet"]
pub struct Timer<'c, A: Actor> {
    ctx: &'c Context<'c, A>,
    name: Cow<'static, str>,
}

impl<A: Actor> Timer<'_, A> {
    /// Sets it to a time from now: see [`Context::after`].
    pub fn after(self, delay: Duration, msg: A::Msg) -> TimerId {
        self.set(|ctx| ctx.after(delay, msg))
    }

    /// Sets it to a time: see [`Context::at`].
    pub fn at(self, time: Time, msg: A::Msg) -> TimerId {
        self.set(|ctx| ctx.at(time, msg))
    }

    /// Sets it to each time that so long has passed: see [`Context::every`].
    pub fn every(self, period: Duration, msg: impl FnMut() -> A::Msg + Send + 'static) -> TimerId {
        self.set(|ctx| ctx.every(period, msg))
    }

    /// Cancels it; false if there is none of this name, or it has fired for the last time. A
    /// message that it has sent already stays in the mailbox.
    pub fn cancel(self) -> bool {
        let armed = self.ctx.with_life(|life| life.extra().timers.take_named(&self.name));
        // What it would have sent is dropped in here.
        armed.is_some_and(|armed| armed.cancel(self.ctx.on()))
    }

    fn set(self, set: impl FnOnce(&Context<'_, A>) -> TimerId) -> TimerId {
        let Timer { ctx, name } = self;
        ctx.timer(name.clone()).cancel();
        let id = set(ctx);
        ctx.with_life(|life| life.extra().timers.name(name, id));
        id
    }
}

impl<A: Actor> fmt::Debug for Timer<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timer({}, '{}')", self.ctx.id(), self.name)
    }
}

impl<A: Actor> fmt::Debug for Context<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({}, worker {})", self.id(), self.worker())
    }
}

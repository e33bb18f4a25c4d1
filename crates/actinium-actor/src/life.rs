//! How an actor starts, fails, restarts and ends.
//!
//! ```text
//! New --started()--> Running --panic--> (supervision) --> New | Waiting --Resume--> New
//!  |                    |                     |
//!  +--------------------+---------------------+--> Dead: mailbox closed, what was in it is dead, hook called, others told
//! ```
//!
//! All of this runs on the actor's owner, between messages.

use crate::actor::{Actor, ActorId, Down, PanicInfo, StopReason};
use crate::cell::{ActorCell, CONTROL, Core, CoreRef, DRAINING, MUTED, UNUSUAL};
use crate::control::{Control, Notify};
use crate::dead_letters::DeadLetter;
use crate::supervision::{Strategy, Supervision};
use crate::timers::ActorTimers;
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Turn, Worker};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where an actor is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its state is there, `started` was not called yet.
    New,
    /// It handles messages.
    Running,
    /// It waits for its restart.
    Waiting,
    /// It ended.
    Dead,
}

/// What only the owner touches, beside the mailbox and the state.
pub(crate) struct Life<A: Actor> {
    pub(crate) state: State,
    /// What most actors have nothing of.
    pub(crate) extra: Option<Box<Extra<A>>>,
}

/// Makes an actor's state anew.
pub(crate) type Factory<A> = Box<dyn FnMut() -> A + Send>;

/// What an actor has that is supervised, named, watched, or has children or timers.
pub(crate) struct Extra<A: Actor> {
    pub(crate) parent: Option<CoreRef>,
    pub(crate) supervision: Supervision,
    pub(crate) factory: Option<Factory<A>>,
    pub(crate) names: Vec<String>,
    /// When it panicked, as far back as counts.
    pub(crate) panics_ns: VecDeque<u64>,
    /// In order of identity, as the links: one seed gives one run.
    pub(crate) children: BTreeMap<ActorId, CoreRef>,
    pub(crate) watchers: Vec<(ActorId, Notify)>,
    pub(crate) links: BTreeMap<ActorId, CoreRef>,
    pub(crate) timers: ActorTimers,
}

impl<A: Actor> Default for Extra<A> {
    fn default() -> Self {
        Extra {
            parent: None,
            supervision: Supervision::stop(),
            factory: None,
            names: Vec::new(),
            panics_ns: VecDeque::new(),
            children: BTreeMap::new(),
            watchers: Vec::new(),
            links: BTreeMap::new(),
            timers: ActorTimers::default(),
        }
    }
}

impl<A: Actor> Life<A> {
    /// The life of an actor that is about to start.
    pub(crate) fn new(extra: Option<Box<Extra<A>>>) -> Self {
        Life { state: State::New, extra }
    }

    /// The extra part, made when it is first needed.
    pub(crate) fn extra(&mut self) -> &mut Extra<A> {
        self.extra.get_or_insert_default()
    }
}

impl<A: Actor> ActorCell<A> {
    /// Before the messages of a turn: controls, a restart, the start. `Some`: the turn ends here.
    #[cold]
    pub(crate) fn prelude(&self, worker: &Worker) -> Option<Turn> {
        // Acquire: pairs with the release in `Core::control`.
        if self.core.flags.fetch_and(!CONTROL, Ordering::Acquire) & CONTROL != 0 {
            let waiting = lock(&self.core.controls).take();
            let mut turn = None;
            for control in waiting {
                match turn {
                    Some(Turn::Dead) => self.refuse(control),
                    _ => turn = self.obey(worker, control),
                }
            }
            // Otherwise the state says how to go on.
            if turn == Some(Turn::Dead) {
                return turn;
            }
        }
        match self.with_life(|life| life.state) {
            State::Running => {}
            State::New => {
                // Set first: `started` may stop the actor.
                self.with_life(|life| life.state = State::Running);
                self.set_flags(0, UNUSUAL);
                let mut footprint_bytes = 0;
                let started = self.hook(worker, |actor, ctx| {
                    actor.started(ctx);
                    footprint_bytes = actor.footprint_bytes();
                });
                self.declare_footprint(footprint_bytes);
                match started {
                    Ok(false) => {}
                    Ok(true) => return Some(self.end(worker, StopReason::Requested)),
                    Err(payload) => return Some(self.panicked(worker, payload)),
                }
            }
            State::Waiting | State::Dead => {}
        }
        // Relaxed: controls from elsewhere, and `unmute`, wake the actor after they have changed this.
        let flags = self.core.flags.load(Ordering::Relaxed);
        if flags & CONTROL != 0 {
            // One of its own making, perhaps, which wakes nobody.
            return Some(Turn::Again);
        }
        let runs = self.with_life(|life| life.state) == State::Running && flags & MUTED == 0;
        (!runs).then_some(Turn::Idle)
    }

    /// One control. `Some(Dead)`: it has ended.
    fn obey(&self, worker: &Worker, control: Control) -> Option<Turn> {
        match control {
            Control::Stop => {
                self.close();
                self.set_flags(DRAINING, 0);
            }
            Control::Kill(reason) => return Some(self.end(worker, reason)),
            Control::Watch { watcher, notify } => {
                self.with_life(|life| life.extra().watchers.push((watcher, notify)))
            }
            Control::Unwatch { watcher } => {
                self.with_life(|life| life.extra().watchers.retain(|(id, _)| *id != watcher))
            }
            Control::Link(other) => {
                drop(self.with_life(|life| life.extra().links.insert(other.id, other)))
            }
            Control::Unlink(other) => {
                drop(self.with_life(|life| life.extra().links.remove(&other)))
            }
            Control::LinkBroken(other) => return Some(self.end(worker, StopReason::Linked(other))),
            Control::Named(name) => self.with_life(|life| life.extra().names.push(name)),
            Control::ChildDown(child) => {
                drop(self.with_life(|life| life.extra().children.remove(&child)))
            }
            Control::ChildFailed(child) => {
                for sibling in self.children().into_iter().filter(|sibling| sibling.id != child) {
                    // One that has ended meanwhile needs no restart.
                    let _ = sibling.control(Control::Restart);
                }
            }
            Control::Escalated(info) => return Some(self.failed(worker, info)),
            Control::Restart => return self.restart(worker),
            Control::Faded => return self.faded(worker),
            Control::Resume => {
                if self.with_life(|life| life.state) == State::Waiting {
                    return self.restart(worker);
                }
            }
        }
        None
    }

    fn children(&self) -> Vec<CoreRef> {
        self.with_life(|life| {
            life.extra
                .as_ref()
                .map_or_else(Vec::new, |extra| extra.children.values().cloned().collect())
        })
    }

    /// User code panicked.
    #[cold]
    pub(crate) fn panicked(&self, worker: &Worker, payload: Box<dyn Any + Send>) -> Turn {
        let info =
            PanicInfo { message: message_of(payload), actor: self.core.id, kind: self.core.kind() };
        worker.counters().panicked.add(1);
        self.failed(worker, info)
    }

    /// It failed, itself or by a child: its supervision decides.
    fn failed(&self, worker: &Worker, info: PanicInfo) -> Turn {
        self.leave_behind(worker);
        self.set_actor(None);
        let now_ns = worker.shared().clock().now_ns();
        let (supervision, n, parent) = self.with_life(|life| {
            let Some(extra) = &mut life.extra else {
                return (Supervision::stop(), 1, None);
            };
            let since_ns = now_ns.saturating_sub(extra.supervision.period().as_nanos() as u64);
            extra.panics_ns.push_back(now_ns);
            extra.panics_ns.retain(|&at_ns| at_ns >= since_ns);
            (extra.supervision, extra.panics_ns.len() as u32, extra.parent.clone())
        });
        match supervision.strategy {
            Strategy::Stop => self.end(worker, StopReason::Panicked(info)),
            Strategy::Escalate => {
                match parent {
                    // A parent that has ended needs no telling: it has told its children to end.
                    Some(parent) => drop(parent.control(Control::Escalated(info.clone()))),
                    None => self.core.system.escalated(&info),
                }
                self.end(worker, StopReason::Panicked(info))
            }
            Strategy::Restart => {
                let Some(wait) = supervision.decide(n) else {
                    return self.end(worker, StopReason::Panicked(info));
                };
                if let (true, Some(parent)) = (supervision.one_for_all, parent) {
                    let _ = parent.control(Control::ChildFailed(self.core.id));
                }
                self.with_life(|life| life.state = State::Waiting);
                self.set_flags(UNUSUAL, 0);
                let me = CoreRef::new(&self.core);
                if wait.is_zero() {
                    // In a turn of its own: a factory that panics for ever neither recurses nor keeps others waiting.
                    let _ = me.control(Control::Resume);
                    return Turn::Again;
                }
                let deadline_ns = now_ns.saturating_add(wait.as_nanos() as u64);
                worker.set_alarm(deadline_ns, Box::new(move |_| drop(me.control(Control::Resume))));
                Turn::Idle
            }
        }
    }

    /// A new state in the old one's place. `Some`: it could not be made.
    fn restart(&self, worker: &Worker) -> Option<Turn> {
        self.leave_behind(worker);
        let Some(mut factory) =
            self.with_life(|life| life.extra.as_mut().and_then(|extra| extra.factory.take()))
        else {
            return Some(self.end(worker, StopReason::Supervisor));
        };
        let made = catch_unwind(AssertUnwindSafe(&mut factory));
        self.with_life(|life| {
            life.extra().factory = Some(factory);
            life.state = State::New;
        });
        self.set_flags(UNUSUAL, 0);
        worker.counters().restarted.add(1);
        match made {
            Ok(actor) => {
                self.set_actor(Some(actor));
                None
            }
            Err(payload) => Some(self.panicked(worker, payload)),
        }
    }

    /// Children and timers end with the instance that made them; before its state, which may hold the children's last addresses,
    /// so that they learn the true reason.
    fn leave_behind(&self, worker: &Worker) {
        self.end_children();
        let timers = self
            .with_life(|life| life.extra.as_mut().map(|extra| std::mem::take(&mut extra.timers)));
        timers.into_iter().for_each(|timers| timers.cancel_all(worker));
    }

    fn end_children(&self) {
        for child in self.children() {
            let _ = child.control(Control::Kill(StopReason::Supervisor));
        }
    }

    /// It ends: no message gets lost in silence, and everybody concerned is told.
    #[cold]
    pub(crate) fn end(&self, worker: &Worker, reason: StopReason) -> Turn {
        if self.with_life(|life| std::mem::replace(&mut life.state, State::Dead)) == State::Dead {
            return Turn::Dead;
        }
        self.set_flags(UNUSUAL, 0);
        self.close();
        let mut left = 0;
        while let Some(msg) = self.take_left() {
            left += 1;
            // A destructor that panics must not take the worker down.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(msg)));
        }
        if left > 0 {
            worker.counters().dead.add(left);
            self.core.system.dead_letters.add(DeadLetter {
                to: self.core.id,
                kind: self.core.kind(),
                message: std::any::type_name::<A::Msg>(),
                count: left,
                reason: reason.clone(),
            });
        }
        if self.hook(worker, |actor, ctx| actor.stopped(ctx, &reason)).is_err() {
            worker.counters().panicked.add(1);
        }
        self.leave_behind(worker);
        self.set_actor(None);
        let controls = lock(&self.core.controls).close(reason.clone());
        if let Some(extra) = self.with_life(|life| life.extra.take()) {
            self.tell(*extra, &reason);
        }
        for control in controls {
            self.refuse(control);
        }
        if self.capacity() != 0 {
            self.let_senders_go_on(worker);
        }
        self.core.system.unregister(&self.core);
        worker.counters().stopped.add(1);
        Turn::Dead
    }

    /// A control that came just before the end, but was not obeyed.
    fn refuse(&self, control: Control) {
        let reason = lock(&self.core.controls).closed().cloned();
        match control {
            Control::Named(name) => self.core.system.names.forget(&name, self.core.id),
            control => refuse(self.core.id, control, &reason.unwrap_or(StopReason::AlreadyStopped)),
        }
    }

    fn tell(&self, extra: Extra<A>, reason: &StopReason) {
        let me = self.core.id;
        for name in &extra.names {
            self.core.system.names.forget(name, me);
        }
        for (_, notify) in extra.watchers {
            notify(Down { actor: me, reason: reason.clone() });
        }
        for other in extra.links.values() {
            let news =
                if reason.is_abnormal() { Control::LinkBroken(me) } else { Control::Unlink(me) };
            let _ = other.control(news);
        }
        if let Some(parent) = &extra.parent {
            let _ = parent.control(Control::ChildDown(me));
        }
    }
}

impl Core {
    /// User code that ran for this actor, but not in its turn, panicked: that is its own failure.
    #[cold]
    pub(crate) fn fail(&self, payload: Box<dyn Any + Send>) {
        let info = PanicInfo { message: message_of(payload), actor: self.id, kind: self.kind() };
        self.system.with_worker(|worker| {
            if let Some(worker) = worker {
                worker.counters().panicked.add(1);
            }
        });
        // One that has ended can not fail any more.
        let _ = self.control(Control::Escalated(info));
    }
}

/// A control that came too late: whoever waits for an answer gets it.
pub(crate) fn refuse(ended: ActorId, control: Control, reason: &StopReason) {
    match control {
        Control::Watch { notify, .. } => notify(Down { actor: ended, reason: reason.clone() }),
        Control::Link(other) if reason.is_abnormal() => {
            drop(other.control(Control::LinkBroken(ended)))
        }
        _ => {}
    }
}

/// What a panic said.
pub(crate) fn message_of(payload: Box<dyn Any + Send>) -> String {
    let message = match payload.downcast::<String>() {
        Ok(message) => return *message,
        Err(payload) => payload.downcast_ref::<&str>().map(|message| (*message).to_owned()),
    };
    message.unwrap_or_else(|| "(a panic whose payload is not a string)".to_owned())
}

//! The start, the failures, the restarts and the end of an actor.
//!
//! ```text
//! New --started()--> Running --panic--> (supervision) --> New | Waiting --Resume--> New
//!  |                    |                     |
//!  +--------------------+---------------------+--> Dead: mailbox closed, what was in it is dead, hook called, others told
//! ```
//!
//! All of this runs on the actor's owner, between messages.

use super::actor_cell::ActorCell;
use super::life::{Extra, Life, Stage};
use super::owned::InTurn;
use crate::actor::{Actor, Context};
use crate::actor_core::{CONTROL, CoreRef, DRAINING, LINGERING, MUTED, REVIVED, UNUSUAL, refuse};
use crate::control::Control;
use crate::mailbox::carrier::{Carrier, by_size};
use crate::stop_reason::{Down, PanicInfo, StopReason};
use crate::supervision::{Strategy, Supervision};
use actinium_scheduler::guard::{self, Panicked};
use actinium_scheduler::runnable::WorkerRef;
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Header, Turn};
use std::ptr::NonNull;

/// Ends the actor at shutdown.
///
/// # Safety
/// As the vtable demands: nobody runs the actor any more.
pub(super) unsafe fn dispose<A: Actor>(header: NonNull<Header>, worker: WorkerRef<'_>) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let cell = unsafe { ActorCell::<A>::of_header(header) };
    // SAFETY: by contract.
    unsafe { InTurn::new(cell, worker.get()) }.end(StopReason::Shutdown);
}

impl<A: Actor> InTurn<'_, A> {
    /// Does what comes before the messages of a turn: controls, a restart, the start. `Some`: the
    /// turn ends here.
    #[cold]
    pub(super) fn prelude(&mut self) -> Option<Turn> {
        // Acquire: pairs with the release in `Core::control`.
        if self.cell().core.flags.fetch_and(!CONTROL, Ordering::Acquire) & CONTROL != 0 {
            let waiting = lock(&self.cell().core.controls).take();
            let mut turn = None;
            for control in waiting {
                match turn {
                    Some(Turn::Dead) => self.refuse(control),
                    _ => turn = self.obey(control),
                }
            }
            // Otherwise the state says how to go on.
            if turn == Some(Turn::Dead) {
                return turn;
            }
        }
        match self.with_life(|life| life.stage) {
            Stage::Running => {}
            Stage::New => {
                // Set first: `started` may stop the actor.
                self.with_life(|life| life.stage = Stage::Running);
                self.set_flags(0, UNUSUAL);
                let mut footprint_bytes = 0;
                let started = self.hook(|actor, ctx| {
                    actor.started(ctx);
                    footprint_bytes = actor.footprint_bytes();
                });
                self.declare_footprint(footprint_bytes);
                match started {
                    Ok(false) => {}
                    Ok(true) => return Some(self.end(StopReason::Requested)),
                    Err(panicked) => return Some(self.panicked_at_start(panicked)),
                }
            }
            Stage::Waiting | Stage::Dead => {}
        }
        // Relaxed: controls from elsewhere, and `unmute`, wake the actor after they have changed
        // this.
        let flags = self.cell().core.flags.load(Ordering::Relaxed);
        if flags & CONTROL != 0 {
            // One of its own making, perhaps, which wakes nobody.
            return Some(Turn::Again);
        }
        let runs = self.with_life(|life| life.stage) == Stage::Running && flags & MUTED == 0;
        (!runs).then_some(Turn::Idle)
    }

    /// Obeys one control. `Some(Dead)`: the actor has ended.
    fn obey(&mut self, control: Control<CoreRef>) -> Option<Turn> {
        match control {
            Control::Stop => {
                self.close();
                self.set_flags(DRAINING, 0);
            }
            Control::Kill(reason) => return Some(self.end(reason)),
            Control::Watch { watcher, notify } => {
                self.with_life(|life| life.extra().watchers.push((watcher, notify)))
            }
            Control::Unwatch { watcher } => drop(self.with_life(|life| {
                let watchers = &mut life.extra().watchers;
                watchers.extract_if(.., |(id, _)| *id == watcher).collect::<Vec<_>>()
            })),
            Control::Link(other) => {
                drop(self.with_life(|life| life.extra().links.insert(other.id, other)))
            }
            Control::Unlink(other) => {
                drop(self.with_life(|life| life.extra().links.remove(&other)))
            }
            Control::LinkBroken(other) => return Some(self.end(StopReason::Linked(other))),
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
            Control::Escalated(info) => return Some(self.failed(info)),
            Control::Restart => return self.restart(),
            Control::LingerOver => return self.linger_is_over(),
            Control::Resume => {
                if self.with_life(|life| life.stage) == Stage::Waiting {
                    return self.restart();
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

    /// Counts a panic of user code, and lets supervision decide.
    #[cold]
    pub(super) fn panicked(&mut self, panicked: Panicked) -> Turn {
        self.worker().counters().panicked.add(1);
        self.failed(self.cell().core.info_of(&panicked))
    }

    /// Handles a panic before the first message. While the system drains the actor is not restarted
    /// again: that might go on for ever.
    #[cold]
    fn panicked_at_start(&mut self, panicked: Panicked) -> Turn {
        let restarts = |life: &mut Life<A>| {
            let strategy = life.extra.as_ref().map(|extra| extra.supervision.strategy);
            strategy == Some(Strategy::Restart)
        };
        if self.worker().shared().control().is_draining() && self.with_life(restarts) {
            self.worker().counters().panicked.add(1);
            return self.end(StopReason::Panicked(self.cell().core.info_of(&panicked)));
        }
        self.panicked(panicked)
    }

    /// Lets supervision decide what follows from a failure of the actor, or of a child.
    fn failed(&mut self, info: PanicInfo) -> Turn {
        self.leave_behind();
        self.set_state(None);
        let now_ns = self.worker().shared().clock().now_ns();
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
            Strategy::Stop => self.end(StopReason::Panicked(info)),
            Strategy::Escalate => {
                match parent {
                    // A parent that has ended needs no telling: it has told its children to end.
                    Some(parent) => drop(parent.control(Control::Escalated(info.clone()))),
                    None => self.cell().core.system.escalated(&info),
                }
                self.end(StopReason::Panicked(info))
            }
            Strategy::Restart => {
                let Some(wait) = supervision.decide(n) else {
                    return self.end(StopReason::Panicked(info));
                };
                if let (true, Some(parent)) = (supervision.one_for_all, parent) {
                    let _ = parent.control(Control::ChildFailed(self.cell().core.id));
                }
                self.with_life(|life| life.stage = Stage::Waiting);
                self.set_flags(UNUSUAL, 0);
                let me = CoreRef::new(&self.cell().core);
                if wait.is_zero() || !self.begin_backoff(&me) {
                    // In a turn of its own: a factory that panics for ever neither recurses nor
                    // keeps others waiting.
                    let _ = me.control(Control::Resume);
                    return Turn::Again;
                }
                let deadline_ns = now_ns.saturating_add(wait.as_nanos() as u64);
                self.worker()
                    .set_timer(deadline_ns, Box::new(move |_| drop(me.control(Control::Resume))));
                Turn::Idle
            }
        }
    }

    /// Puts a new state in the old one's place. `Some`: it could not be made.
    fn restart(&mut self) -> Option<Turn> {
        if self.with_life(|life| life.stage) == Stage::Waiting {
            self.end_backoff();
        }
        self.leave_behind();
        let Some(mut factory) =
            self.with_life(|life| life.extra.as_mut().and_then(|extra| extra.factory.take()))
        else {
            return Some(self.end(StopReason::Supervisor));
        };
        let made = guard::catch(&mut **factory);
        self.with_life(|life| {
            life.extra().factory = Some(factory);
            life.stage = Stage::New;
        });
        self.set_flags(UNUSUAL, 0);
        self.worker().counters().restarted.add(1);
        match made {
            Ok(actor) => {
                self.set_state(Some(actor));
                None
            }
            Err(panicked) => Some(self.panicked_at_start(panicked)),
        }
    }

    /// Ends the children and timers of an instance that ends. This comes before its state goes,
    /// which may hold the children's last addresses, so that they learn the true reason.
    fn leave_behind(&mut self) {
        self.end_children();
        let timers = self
            .with_life(|life| life.extra.as_mut().map(|extra| std::mem::take(&mut extra.timers)));
        timers.into_iter().for_each(|timers| timers.cancel_all(self.worker()));
    }

    fn end_children(&self) {
        for child in self.children() {
            let _ = child.control(Control::Kill(StopReason::Supervisor));
        }
    }

    /// Ends the actor: no message gets lost in silence, and everybody concerned is told.
    #[cold]
    pub(super) fn end(&mut self, reason: StopReason) -> Turn {
        match self.with_life(|life| std::mem::replace(&mut life.stage, Stage::Dead)) {
            Stage::New | Stage::Running => {}
            Stage::Waiting => self.end_backoff(),
            Stage::Dead => return Turn::Dead,
        }
        self.set_flags(UNUSUAL, 0);
        self.close();
        let left = by_size!(A: self, drop_left());
        if left > 0 {
            self.worker().counters().dead.add(left);
            self.cell().core.add_dead_letter::<A::Msg>(left, reason.clone());
        }
        if self.hook(|actor, ctx| actor.stopped(ctx, &reason)).is_err() {
            self.worker().counters().panicked.add(1);
        }
        self.leave_behind();
        self.set_state(None);
        let controls = lock(&self.cell().core.controls).close(reason.clone());
        if let Some(extra) = self.with_life(|life| life.extra.take()) {
            self.tell(*extra, &reason);
        }
        for control in controls {
            self.refuse(control);
        }
        if self.cell().capacity() != 0 {
            self.release_senders();
        }
        self.cell().core.system.register.remove(self.cell().core.place());
        self.worker().counters().stopped.add(1);
        Turn::Dead
    }

    /// Drops what waits in the closed mailbox; returns the number of messages.
    fn drop_left<T: Carrier<A::Msg>>(&self) -> u64 {
        let mut left = 0;
        while let Some(msg) = self.take_left::<T>() {
            left += 1;
            self.cell().core.system.drop_guarded(msg);
        }
        left
    }

    /// Answers a control that came just before the end, but was not obeyed.
    fn refuse(&self, control: Control<CoreRef>) {
        let reason = lock(&self.cell().core.controls).closed().cloned();
        match control {
            Control::Named(name) => {
                self.cell().core.system.names.forget(&name, self.cell().core.id)
            }
            control => {
                refuse(self.cell().core.id, control, &reason.unwrap_or(StopReason::AlreadyStopped))
            }
        }
    }

    /// Tells everybody concerned that the actor has ended.
    fn tell(&self, extra: Extra<A>, reason: &StopReason) {
        let me = self.cell().core.id;
        if let Some(factory) = extra.factory {
            self.cell().core.system.drop_guarded(factory.into_inner());
        }
        for name in &extra.names {
            self.cell().core.system.names.forget(name, me);
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

    /// Ends the actor if it is still without addresses after a grace period. `Some`: it has ended.
    fn linger_is_over(&mut self) -> Option<Turn> {
        let core = &self.cell().core;
        // Acquire: pairs with the release in `CellRef::new`.
        let flags = core.flags.fetch_and(!(LINGERING | REVIVED), Ordering::Acquire);
        let ends = flags & REVIVED == 0 && core.is_orphaned() && self.cell().len() == 0;
        ends.then(|| self.end(StopReason::Orphaned))
    }

    /// Waits for the restart from now on. False: the system drains, and the actor restarts at once.
    fn begin_backoff(&self, me: &CoreRef) -> bool {
        me.system.backoffs.begin(me.system.shared.control(), me.id, me.clone())
    }

    /// Ends the wait for the restart.
    fn end_backoff(&self) {
        let core = &self.cell().core;
        core.system.backoffs.end(core.system.shared.control(), core.id);
    }

    // ---- user code
    // -----------------------------------------------------------------------------------------------

    /// Calls one of the actor's hooks; returns whether it asked to end, or its panic. Without a
    /// state nothing is called.
    fn hook(&mut self, hook: impl FnOnce(&mut A, &mut Context<'_, A>)) -> Result<bool, Panicked> {
        self.with_state(|state, turn| {
            guard::catch(|| {
                let mut ctx = turn.context();
                if let Some(actor) = state.as_mut() {
                    hook(actor, &mut ctx);
                }
                ctx.is_stopping()
            })
        })
    }

    /// Replaces the actor's state; the old one is dropped here.
    #[inline]
    fn set_state(&mut self, state: Option<A>) {
        // What is dropped is dropped outside the closure.
        let old = self.with_state(|place, _| std::mem::replace(place, state));
        if let Some(old) = old
            && std::mem::needs_drop::<A>()
        {
            self.cell().core.drop_state(old);
        }
    }
}

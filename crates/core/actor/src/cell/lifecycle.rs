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
use super::faults::under_faults;
use super::life::{Extra, Life, Stage};
use super::owned::InTurn;
use crate::actor::{Actor, Context};
use crate::actor_core::{
    CONTROL, CoreRef, DRAINING, LINGERING, MUTED, NOTE_FAILED, NOTE_STOP, REVIVED, UNUSUAL, refuse,
};
use crate::control::Control;
use crate::failure::Failure;
use crate::mailbox::carrier::{Carrier, by_size};
use crate::mailbox::envelope::Envelope;
use crate::send_error::ENDED;
use crate::stop_reason::{Down, Restarted, StopReason};
use crate::supervision::{Strategy, Supervision, Verdict};
use actinium_scheduler::guard::{self, Panicked};
use actinium_scheduler::nanoseconds;
use actinium_scheduler::runnable::WorkerRef;
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::{Header, Turn, log, logging};
use std::ptr::NonNull;
use std::time::Duration;

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
            let waiting = self.cell().core.controls().take();
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
                // Unless messages are left that its predecessor had put aside.
                self.set_usual();
                let mut footprint_bytes = 0;
                let started = self.hook(|actor, ctx| {
                    actor.started(ctx);
                    footprint_bytes = actor.footprint_bytes();
                });
                self.declare_footprint(footprint_bytes);
                match started {
                    Ok(false) => self.waits_from_start(),
                    Ok(true) => return Some(self.end(StopReason::Requested)),
                    Err(failure) => return Some(self.failed_at_start(failure)),
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
        if !runs {
            return Some(Turn::Idle);
        }
        if let Some(turn) = self.look_after_waits() {
            return Some(turn);
        }
        let core = &self.cell().core;
        core.system.faults.get()?;
        // SAFETY: the actor's turn, by this evidence; nothing is lent.
        unsafe { under_faults(core, self.worker()) }
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
                let extra = life.extra();
                let ends = extra.watchers.extract_if(.., |(id, _)| *id == watcher);
                let restarts = extra.restart_watchers.extract_if(.., |(id, _)| *id == watcher);
                (ends.collect::<Vec<_>>(), restarts.collect::<Vec<_>>())
            })),
            Control::WatchRestarts { watcher, notify } => {
                self.with_life(|life| life.extra().restart_watchers.push((watcher, notify)))
            }
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
            Control::ChildFailed(child, failure) => {
                for sibling in self.children().into_iter().filter(|sibling| sibling.id != child) {
                    // One that has ended meanwhile needs no restart.
                    let _ = sibling.control(Control::Restart(failure.clone()));
                }
            }
            Control::Escalated(failure) => return Some(self.failed(failure)),
            Control::Restart(failure) => {
                self.with_life(|life| life.extra().failure = Some(failure));
                return self.restart();
            }
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

    /// Lets supervision decide what follows from a panic of user code.
    #[cold]
    pub(super) fn panicked(&mut self, panicked: Panicked) -> Turn {
        let failure = self.panic_of(panicked);
        self.failed(failure)
    }

    /// Counts a panic of user code, and makes it the actor's failure.
    pub(super) fn panic_of(&self, panicked: Panicked) -> Failure {
        self.worker().counters().panicked.add(1);
        self.cell().core.failure(panicked.into())
    }

    /// Lets supervision decide what follows from the failure that a handler has reported.
    #[cold]
    pub(super) fn failed_itself(&mut self) -> Turn {
        let failure = self.noted_failure();
        self.failed(failure)
    }

    /// Takes the failure that user code has noted.
    pub(super) fn noted_failure(&self) -> Failure {
        let noted = self.with_life(|life| life.extra().failure.take());
        noted.expect("who notes a failure keeps it")
    }

    /// Handles a failure before the first message. While the system drains the actor is not
    /// restarted again: that might go on for ever.
    #[cold]
    pub(super) fn failed_at_start(&mut self, failure: Failure) -> Turn {
        let restarts = |life: &mut Life<A>| {
            let strategy = life.extra.as_ref().map(|extra| extra.supervision.strategy);
            strategy == Some(Strategy::Restart)
        };
        if self.worker().shared().control().is_draining() && self.with_life(restarts) {
            return self.end(StopReason::Failed(failure));
        }
        self.failed(failure)
    }

    /// Lets supervision decide what follows from a failure of the actor, or of a child.
    pub(super) fn failed(&mut self, failure: Failure) -> Turn {
        self.leave_behind();
        self.set_state(None);
        let now_ns = self.worker().shared().clock().now_ns();
        let (supervision, n, parent) = self.with_life(|life| {
            let Some(extra) = &mut life.extra else {
                return (Supervision::stop(), 1, None);
            };
            let n = extra.count_failure(now_ns);
            (extra.supervision, n, extra.parent.clone())
        });
        let verdict = supervision.decide(n, &failure);
        report(&failure, n, &verdict);
        match verdict {
            Verdict::Stop | Verdict::GiveUp => self.end(StopReason::Failed(failure)),
            Verdict::Escalate => {
                match parent {
                    // A parent that has ended needs no telling: it has told its children to end.
                    Some(parent) => drop(parent.control(Control::Escalated(failure.clone()))),
                    None => self.cell().core.system.escalated(&failure),
                }
                self.end(StopReason::Failed(failure))
            }
            Verdict::RestartAfter(wait) => {
                if let (true, Some(parent)) = (supervision.one_for_all, parent) {
                    let id = self.cell().core.id;
                    let _ = parent.control(Control::ChildFailed(id, failure.clone()));
                }
                self.restart_after(wait, now_ns, failure)
            }
        }
    }

    /// Waits for so long, without a state, and then restarts.
    fn restart_after(&mut self, wait: Duration, now_ns: u64, failure: Failure) -> Turn {
        self.with_life(|life| {
            life.stage = Stage::Waiting;
            life.extra().failure = Some(failure);
        });
        self.set_flags(UNUSUAL, 0);
        let me = CoreRef::new(&self.cell().core);
        if wait.is_zero() || !self.begin_backoff(&me) {
            // In a turn of its own: a factory that panics for ever neither recurses nor keeps
            // others waiting.
            let _ = me.control(Control::Resume);
            return Turn::Again;
        }
        let deadline_ns = now_ns.saturating_add(nanoseconds(wait));
        self.worker().set_timer(deadline_ns, Box::new(move |_| drop(me.control(Control::Resume))));
        Turn::Idle
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
        let failure = self.with_life(|life| {
            life.stage = Stage::New;
            let extra = life.extra();
            extra.factory = Some(factory);
            extra.failure.take()
        });
        self.set_flags(UNUSUAL, 0);
        self.worker().counters().restarted.add(1);
        self.cell().core.header.kind().count_restart();
        self.cell().core.system.restarts.add(self.cell().core.id);
        let failed = match made {
            Ok(Ok(actor)) => {
                self.set_state(Some(actor));
                failure.into_iter().for_each(|failure| self.tell_restarted(failure));
                return None;
            }
            Ok(Err(error)) => self.cell().core.failure(error),
            Err(panicked) => self.panic_of(panicked),
        };
        Some(self.failed_at_start(failed))
    }

    /// Tells those who watch for it that the actor was restarted.
    fn tell_restarted(&self, failure: Failure) {
        let watchers = self.with_life(|life| std::mem::take(&mut life.extra().restart_watchers));
        let mut told = watchers;
        for (_, notify) in &mut told {
            notify(Restarted { actor: self.cell().core.id, failure: failure.clone() });
        }
        self.with_life(|life| life.extra().restart_watchers.append(&mut told));
    }

    /// Ends the children and timers of an instance that ends. This comes before its state goes,
    /// which may hold the children's last addresses, so that they learn the true reason.
    fn leave_behind(&mut self) {
        self.cancel_waits();
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
        self.cancel_waits();
        let left = by_size!(A: self, drop_left());
        if left > 0 {
            self.worker().counters().dead.add(left);
            self.cell().core.add_dead_letter::<A::Msg>(left, reason.clone());
        }
        if let Err(failure) = self.hook(|actor, ctx| actor.stopped(ctx, &reason)) {
            let (id, kind) = (failure.actor().as_u64(), failure.kind());
            log!(Error, {actor: id, actor_type: kind}, "{failure}; it was ending ({reason})");
        }
        self.leave_behind();
        self.set_state(None);
        let controls = self.cell().core.controls().close(&reason);
        self.drop_beside(&reason);
        if let Some(extra) = self.with_life(|life| life.extra.take()) {
            self.tell(*extra, &reason);
        }
        for control in controls {
            self.refuse(control);
        }
        if self.cell().capacity() != 0 {
            self.release_senders();
        }
        let core = &self.cell().core;
        core.system.register.remove(core.place(), core.id);
        self.worker().counters().stopped.add(1);
        Turn::Dead
    }

    /// Drops what waits in the closed mailbox; returns the number of messages.
    fn drop_left<T: Carrier<A::Msg>>(&self) -> u64 {
        let mut left = 0;
        while let Some(Envelope { stamp_ns, msg }) = self.take_left::<T>() {
            left += 1;
            self.cell().core.trace_lost::<A::Msg>(stamp_ns, ENDED);
            self.cell().core.system.drop_guarded(msg);
        }
        left
    }

    /// Answers a control that came just before the end, but was not obeyed.
    fn refuse(&self, control: Control<CoreRef>) {
        let reason = self.cell().core.controls().ended();
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
        let ends = ends && !self.has_sources();
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

    /// Calls one of the actor's hooks; returns whether it asked to end, or its failure. Without a
    /// state nothing is called.
    fn hook(&mut self, hook: impl FnOnce(&mut A, &mut Context<'_, A>)) -> Result<bool, Failure> {
        let note = self.with_state(|state, turn| {
            guard::catch(|| {
                let mut ctx = turn.context();
                // What was noted before was not this hook's.
                ctx.on().note().set(ctx.on().note().get() & !(NOTE_FAILED | NOTE_STOP));
                if let Some(actor) = state.as_mut() {
                    hook(actor, &mut ctx);
                }
                ctx.on().note().get()
            })
        });
        match note.map_err(|panicked| self.panic_of(panicked))? {
            note if note & NOTE_FAILED == 0 => Ok(note & NOTE_STOP != 0),
            _ => Err(self.noted_failure()),
        }
    }

    /// Asks the actor anew how much memory it works on: at the end of a turn that was cut short,
    /// for then it works much.
    pub(super) fn declare_again(&mut self) -> Turn {
        let mut footprint_bytes = 0;
        let asked = self.hook(|actor, _| footprint_bytes = actor.footprint_bytes());
        match asked {
            Ok(_) => {
                self.declare_footprint(footprint_bytes);
                Turn::Again
            }
            Err(failure) => self.failed(failure),
        }
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

/// Says that an actor has failed: of each row of failures the first one, and the one that was too
/// many. Of panics Rust's panic hook has told stderr by itself.
fn report(failure: &Failure, n: u32, verdict: &Verdict) {
    let then = match verdict {
        Verdict::GiveUp => "it ends: its restarts are used up",
        _ if n > 1 || (failure.is_panic() && !logging::is_heard()) => return,
        Verdict::Stop => "it ends",
        Verdict::Escalate => "it ends, and its parent fails with it",
        Verdict::RestartAfter(_) => "it is restarted",
    };
    let (id, kind) = (failure.actor().as_u64(), failure.kind());
    match verdict {
        Verdict::RestartAfter(_) => {
            log!(Warn, {actor: id, actor_type: kind}, "{failure}; {then}");
        }
        _ => log!(Error, {actor: id, actor_type: kind}, "{failure}; {then}"),
    }
}

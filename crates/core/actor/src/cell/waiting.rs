//! The part of a turn that looks after what the actor waits for (`waits`).
//!
//! In this order, before the messages of the mailbox:
//!
//! 1. futures that it holds for, one after the other; until they are done nothing below is looked
//!    at;
//! 2. futures under way while it goes on; while there are too many, nothing below is looked at;
//! 3. silence and streams, whose messages go to the end of the mailbox's own part; messages that
//!    were brought back from the stash, and urgent ones, which go to its front (`beside`).

use super::actor_cell::ActorCell;
use super::life::Life;
use super::owned::InTurn;
use super::waits::{HeldBox, Steps, Waits, WaitsBox};
use crate::actor::{Actor, Context};
use crate::actor_core::{
    CONTROL, Core, NOTE_CONTROL, NOTE_FAILED, NOTE_MUTED, NOTE_STOP, NOTE_YIELD, UNUSUAL, URGENT,
    WOKEN,
};
use crate::failure::Failure;
use crate::stop_reason::StopReason;
use actinium_scheduler::guard::{self, Panicked};
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::{Turn, Worker};
use futures_util::StreamExt;
use std::task::{Poll, Waker};

/// Futures that may be ready, one after the other, before others have their turn.
const AT_ONCE: u32 = 16;

/// What there is to do about the futures that it holds for.
enum Next<A: Actor> {
    /// There is none.
    None,
    /// It was polled, and nothing has woken it since.
    Asleep,
    Poll(HeldBox<A>, Waker),
}

impl<A: Actor> Life<A> {
    /// What the actor waits for, if it ever did.
    pub(super) fn waits(&mut self) -> Option<&mut Waits<A>> {
        Some(self.extra.as_mut()?.waits.as_deref_mut()?.waits())
    }

    /// The same, in a step for which it is there.
    pub(super) fn its_waits(&mut self) -> &mut Waits<A> {
        self.waits().expect("the step was found in it")
    }
}

impl<A: Actor> Context<'_, A> {
    /// Lends what the actor waits for to `f`, which calls no user code. Its turns look there from
    /// now on.
    pub(crate) fn with_waits<R>(&self, f: impl FnOnce(&mut Waits<A>) -> R) -> R {
        // SAFETY: the actor's own turn, which a context stands for, and the closure calls no user
        // code.
        unsafe { self.core().header.with_private(|private| private.flags |= UNUSUAL) };
        self.with_stash(f)
    }

    /// The same, and turns go on as they did.
    pub(crate) fn with_stash<R>(&self, f: impl FnOnce(&mut Waits<A>) -> R) -> R {
        self.with_life(|life| f(life.extra().waits.get_or_insert_with(new_waits::<A>).waits()))
    }
}

/// What an actor waits for when it begins to. Who names this function has the code compiled that
/// looks after it.
pub(crate) fn new_waits<A: Actor>() -> WaitsBox<A> {
    Box::new(Waits::new(Steps { look_after: look_after::<A>, poll_held: poll_held::<A> }))
}

/// # Safety
/// As [`Steps`] says.
unsafe fn look_after<A: Actor>(core: &Core, worker: &Worker) -> Option<Turn> {
    // SAFETY: by contract.
    unsafe { in_turn::<A>(core, worker) }.look_after_all()
}

/// # Safety
/// As [`Steps`] says.
unsafe fn poll_held<A: Actor>(core: &Core, worker: &Worker) -> Option<Turn> {
    // SAFETY: by contract.
    unsafe { in_turn::<A>(core, worker) }.poll_held()
}

/// # Safety
/// As [`Steps`] says.
unsafe fn in_turn<'t, A: Actor>(core: &Core, worker: &'t Worker) -> InTurn<'t, A> {
    // SAFETY: the actor is an `A` by contract, and runs: it is alive.
    let cell = unsafe { ActorCell::<A>::of_header(core.me) };
    // SAFETY: the actor's turn by contract.
    unsafe { InTurn::new(cell, worker) }
}

impl<A: Actor> InTurn<'_, A> {
    /// Looks after all that the actor waits for, before its messages. `Some`: the turn ends here.
    pub(super) fn look_after_waits(&mut self) -> Option<Turn> {
        self.expect_urgent();
        let Some(steps) = self.with_life(|life| life.waits().map(|waits| waits.steps)) else {
            // What was polled is gone.
            self.note_woken();
            return None;
        };
        // SAFETY: the actor's turn, by this evidence; nothing is lent; they were found with it.
        unsafe { (steps.look_after)(&self.cell().core, self.worker()) }
    }

    /// The part of it for the futures that it holds for.
    pub(super) fn look_after_held(&mut self) -> Option<Turn> {
        let steps = self.with_life(|life| life.waits().map(|waits| waits.steps))?;
        // SAFETY: as in `look_after_waits`.
        unsafe { (steps.poll_held)(&self.cell().core, self.worker()) }
    }

    fn look_after_all(&mut self) -> Option<Turn> {
        if let Some(turn) = self.poll_held() {
            return Some(turn);
        }
        self.set_flags(UNUSUAL, 0);
        let turn = self.look_after_the_rest();
        if turn.is_none() {
            if self.cell().len() > 0 {
                self.with_life(|life| {
                    life.waits().into_iter().for_each(|it| it.from_start = false)
                });
            }
            self.set_usual();
        }
        turn
    }

    fn look_after_the_rest(&mut self) -> Option<Turn> {
        if let Some(turn) = self.poll_set() {
            return Some(turn);
        }
        if self.with_life(|life| life.waits().is_some_and(|waits| waits.is_full())) {
            return Some(self.again_if_due());
        }
        if let Some(turn) = self.look_after_silence() {
            return Some(turn);
        }
        if let Some(turn) = self.poll_sources() {
            return Some(turn);
        }
        self.bring_ready();
        // The latest to come are the first.
        self.bring_urgent();
        None
    }

    /// Polls the futures for which the mailbox waits. `Some`: it still waits, or the turn ends for
    /// another reason.
    fn poll_held(&mut self) -> Option<Turn> {
        self.note_woken();
        for _ in 0..AT_ONCE {
            let (mut held, waker) = match self.next_held() {
                Next::None => {
                    self.end_hold();
                    return None;
                }
                Next::Asleep => return Some(self.again_if_due()),
                Next::Poll(held, waker) => (held, waker),
            };
            let polled = self.user(|actor, ctx| {
                let mut cx = std::task::Context::from_waker(&waker);
                held.as_mut().poll(&mut cx, actor, ctx)
            });
            match polled {
                Ok(Poll::Pending) => {
                    self.put_back(|waits| {
                        waits.held.push_front(held);
                        waits.held_due = false;
                    });
                    return Some(self.again_if_due());
                }
                polled => {
                    // Before its successor, and before the actor's state goes.
                    drop(held);
                    // The time that it took was no silence.
                    let now_ns = self.worker().shared().clock().now_ns();
                    self.put_back(|waits| waits.note_message(now_ns));
                    if let Some(turn) = self.after_user(polled.map(|_| ())) {
                        return Some(turn);
                    }
                }
            }
        }
        Some(Turn::Again)
    }

    fn next_held(&self) -> Next<A> {
        let core = &self.cell().core;
        self.with_life(|life| {
            let Some(waits) = life.waits() else { return Next::None };
            if waits.holds() && !waits.held_due {
                return Next::Asleep;
            }
            let Some(held) = waits.held.pop_front() else { return Next::None };
            // It is due again when it is woken, and its successor when it is done.
            waits.held_due = !waits.held.is_empty();
            Next::Poll(held, waits.waker(core))
        })
    }

    /// Polls the futures that are under way while the actor goes on.
    fn poll_set(&mut self) -> Option<Turn> {
        let core = &self.cell().core;
        let taken = self.with_life(|life| {
            let waits = life.waits().filter(|waits| waits.set_due && waits.under_way > 0)?;
            waits.set_due = false;
            Some((waits.set.take().unwrap_or_default(), waits.waker(core)))
        });
        let (mut set, waker) = taken?;
        let mut cx = std::task::Context::from_waker(&waker);
        for _ in 0..AT_ONCE {
            let fresh = self.with_life(|life| std::mem::take(&mut life.its_waits().fresh));
            set.extend(fresh);
            let done = match self.user(|_, _| set.poll_next_unpin(&mut cx)) {
                Ok(Poll::Ready(Some(done))) => done,
                Ok(Poll::Ready(None) | Poll::Pending) => {
                    self.put_back(|waits| waits.set = Some(set));
                    return None;
                }
                Err(panicked) => {
                    drop(set);
                    return Some(self.panicked_waiting(panicked));
                }
            };
            self.with_life(|life| life.its_waits().under_way -= 1);
            let called = self.user(|actor, ctx| done(actor, ctx));
            if called.is_ok() {
                self.end_hold();
            }
            let turn = self.after_call(called);
            // One that has ended, or failed, waits for nothing any more.
            if matches!(turn, Some(Turn::Dead)) || self.with_life(|life| life.is_over()) {
                drop(set);
                return turn;
            }
            if turn.is_some() {
                self.put_back(|waits| (waits.set, waits.set_due) = (Some(set), true));
                return turn;
            }
        }
        self.put_back(|waits| (waits.set, waits.set_due) = (Some(set), true));
        None
    }

    fn put_back(&self, f: impl FnOnce(&mut Waits<A>)) {
        self.with_life(|life| f(life.its_waits()));
    }

    /// Calls user code with the actor's state.
    pub(super) fn user<R>(
        &mut self,
        f: impl FnOnce(&mut A, &mut Context<'_, A>) -> R,
    ) -> Result<R, Panicked> {
        self.with_state(|state, turn| {
            let actor = state.as_mut().expect("a running actor has its state");
            // What was noted before was not this call's.
            let note = turn.worker().note();
            note.set(note.get() & !(NOTE_FAILED | NOTE_STOP | NOTE_YIELD));
            guard::catch(|| f(actor, &mut turn.context()))
        })
    }

    /// What follows from a call of user code, other than by one that the actor held for: it may
    /// hold, too. `Some`: the turn ends.
    pub(super) fn after_call(&mut self, called: Result<(), Panicked>) -> Option<Turn> {
        let yields = self.worker().note().get() & NOTE_YIELD != 0;
        self.after_user(called).or_else(|| yields.then_some(Turn::Again))
    }

    /// What follows from a call of user code before the messages. `Some`: the turn ends.
    fn after_user(&mut self, called: Result<(), Panicked>) -> Option<Turn> {
        if let Err(panicked) = called {
            return Some(self.panicked_waiting(panicked));
        }
        let note = self.worker().note().get();
        if note & NOTE_FAILED != 0 {
            let failure = self.noted_failure();
            return Some(self.failed_waiting(failure));
        }
        if note & NOTE_STOP != 0 {
            return Some(self.end(StopReason::Requested));
        }
        if note & NOTE_CONTROL != 0 {
            return Some(Turn::Again);
        }
        if note & NOTE_MUTED != 0 {
            return Some(Turn::Idle);
        }
        None
    }

    /// Notes that what the actor waits for now it has waited for since it has started.
    pub(super) fn waits_from_start(&self) {
        self.with_life(|life| life.waits().into_iter().for_each(|it| it.from_start = true));
    }

    /// Lets supervision decide what follows from a panic of what the actor waits for.
    pub(super) fn panicked_waiting(&mut self, panicked: Panicked) -> Turn {
        let failure = self.panic_of(panicked);
        self.failed_waiting(failure)
    }

    /// Lets supervision decide what follows from a failure of what the actor waits for. What it
    /// waits for since it has started fails like the start itself: a restart would not help the
    /// messages that wait.
    fn failed_waiting(&mut self, failure: Failure) -> Turn {
        if self.with_life(|life| life.waits().is_some_and(|waits| waits.from_start)) {
            return self.failed_at_start(failure);
        }
        self.failed(failure)
    }

    /// Notes that something was woken since it was polled.
    fn note_woken(&self) {
        let flags = &self.cell().core.flags;
        // Acquire: pairs with the release in `Core::ring`; what was done before it is seen by the
        // poll that follows.
        if flags.load(Ordering::Acquire) & WOKEN != 0 {
            // Acquire: as above. Cleared before the poll: a ring from now on is another one.
            flags.fetch_and(!WOKEN, Ordering::Acquire);
            self.with_life(|life| {
                if let Some(waits) = life.waits() {
                    waits.held_due = true;
                    (waits.set_due, waits.sources_due) = (true, true);
                }
            });
        }
    }

    /// `Again`, if a turn would find something to do about what the actor waits for.
    pub(super) fn again_if_due(&self) -> Turn {
        // Acquire: as in `note_woken`. What rings on this thread wakes nobody that runs; nor does a
        // control, or an urgent message, of its own making.
        let flags = self.cell().core.flags.load(Ordering::Acquire);
        let (is_due, holds) = self.with_life(|life| {
            let waits = |waits: &mut Waits<A>| (waits.is_due(), waits.holds() || waits.is_full());
            life.waits().map_or((false, false), waits)
        });
        let is_called = flags & (WOKEN | CONTROL) != 0 || !holds && flags & URGENT != 0;
        if is_due || is_called { Turn::Again } else { Turn::Idle }
    }

    /// The system need not wait for the actor any more, if nothing of its messages is under way.
    fn end_hold(&self) {
        if self.with_life(|life| life.waits().is_none_or(|waits| waits.is_done())) {
            self.cell().core.end_hold();
        }
    }

    /// Drops what an instance that ends has waited for. The messages that it has put aside are for
    /// the next one.
    pub(super) fn cancel_waits(&self) {
        let waits = self.with_life(|life| life.extra.as_mut().and_then(|extra| extra.waits.take()));
        if let Some(mut waits) = waits {
            self.cell().core.end_hold();
            waits
                .waits()
                .silence_timer
                .take()
                .into_iter()
                .for_each(|timer| timer.cancel(self.worker()));
            // What is dropped is dropped here.
            let left = waits.into_left();
            self.with_life(|life| life.extra().waits = left);
        }
    }

    /// Notes that turns need not look here, if so. A test that injects faults wants every turn.
    pub(super) fn set_usual(&self) {
        let has_faults = self.cell().core.system.faults.get().is_some();
        if !has_faults && self.with_life(|life| life.waits().is_none_or(|waits| waits.is_empty())) {
            self.set_flags(0, UNUSUAL);
        }
    }
}

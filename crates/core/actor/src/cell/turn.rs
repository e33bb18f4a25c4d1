//! A turn of an actor: a batch of messages, and what follows from how it ended.

use super::actor_cell::ActorCell;
use super::owned::InTurn;
use crate::actor::{Actor, Context};
use crate::actor_core::{
    CONTROL, DRAINING, MUTED, NOTE_CONTROL, NOTE_FAILED, NOTE_MUTED, NOTE_STOP, NOTE_TRACED,
    SHARED_ONLY, UNUSUAL, URGENT, WOKEN,
};
use crate::contents;
use crate::mailbox::carrier::{Carrier, by_size};
use crate::mailbox::envelope::Envelope;
use crate::message_name::name_of;
use crate::stop_reason::StopReason;
use actinium_scheduler::guard::{self, Panicked};
use actinium_scheduler::runnable::{CONTROL_PENDING, NOTIFIED, WorkerRef};
use actinium_scheduler::sync::atomic::Ordering;
use actinium_scheduler::trace::end_handling;
use actinium_scheduler::{Header, Turn, Worker};
use std::ptr::NonNull;

/// How the loop over messages ended.
pub(super) enum Pause {
    Empty,
    More,
    Stop,
    Failed,
    Muted,
}

/// Runs one turn.
///
/// # Safety
/// As the vtable demands: the calling worker owns the actor.
pub(super) unsafe fn run<A: Actor>(header: NonNull<Header>, worker: WorkerRef<'_>) -> (Turn, u32) {
    // SAFETY: this function stands in the vtable of ActorCell<A> only.
    let cell = unsafe { ActorCell::<A>::of_header(header) };
    // SAFETY: by contract; the scheduler runs one turn of a runnable at a time.
    let mut turn = unsafe { InTurn::new(cell, worker.get()) };
    by_size!(A: turn, run())
}

impl<A: Actor> InTurn<'_, A> {
    /// Runs one turn: a batch of messages.
    #[inline(always)]
    fn run<T: Carrier<A::Msg>>(&mut self) -> (Turn, u32) {
        if self.flags() & (UNUSUAL | CONTROL_PENDING) != 0
            && let Some(turn) = self.again().called()
        {
            return (turn, 0);
        }
        let mut handled = 0;
        let pause = self.with_state(|state, turn| {
            let actor = state.as_mut().expect("a running actor has its state");
            guard::catch(|| turn.batch::<T>(actor, &mut handled))
        });
        let pause = match pause {
            Ok(pause) => pause,
            Err(panicked) => return self.again().turn_panicked(panicked, handled),
        };
        self.worker().count_handled(handled, std::mem::size_of::<A::Msg>());
        // Not one that has only the shared part: a bounded mailbox may have muted somebody.
        let usual =
            matches!(pause, Pause::Empty) && self.flags() & (SHARED_ONLY | DRAINING | UNUSUAL) == 0;
        if usual && self.is_modest::<T>() {
            return (Turn::Idle, handled);
        }
        (self.again().paused::<T>(pause, handled), handled)
    }

    /// Looks at what was asked of the actor, or is not its normal life. `Some`: this was its turn.
    #[cold]
    #[inline(never)]
    fn called(mut self) -> Option<Turn> {
        self.set_flags(0, CONTROL_PENDING);
        // Acquire: pairs with the releases in `control` and `unmute`.
        let flags = self.cell().core.flags.load(Ordering::Acquire);
        let calls = flags & (CONTROL | MUTED | URGENT | WOKEN) != 0;
        if !calls && self.flags() & UNUSUAL == 0 {
            return None;
        }
        let turn = self.prelude();
        // Relaxed: what others set or clear from now on calls it again.
        if self.cell().core.flags.load(Ordering::Relaxed) & (CONTROL | MUTED | URGENT) != 0 {
            self.set_flags(CONTROL_PENDING, 0);
        }
        turn
    }

    /// Handles the messages of a turn.
    #[inline(always)]
    fn batch<T: Carrier<A::Msg>>(&self, actor: &mut A, handled: &mut u32) -> Pause {
        let worker = self.worker();
        let mut ctx = self.context();
        let mut until = worker.check_after(0);
        loop {
            let Some(place) = self.take_own::<T>() else {
                // A notification may have been left with a busy worker where the actor was before.
                let may_have =
                    self.flags() & NOTIFIED != 0 || self.cell().core.header.is_notified();
                if may_have && self.refill::<T>() {
                    continue;
                }
                return Pause::Empty;
            };
            *handled += 1;
            if A::SHOW_MESSAGE.is_some() && is_stamped(place) {
                // SAFETY: the message taken is read there, and only there.
                unsafe { handle_shown::<A, T>(actor, place, &mut ctx) };
            } else {
                // SAFETY: the message taken is read once, before anything is pushed.
                let Envelope { stamp_ns, msg } = unsafe { place.read() };
                if stamp_ns != 0 {
                    stamped::<A>(worker, stamp_ns, name_of::<A>(msg.look()));
                }
                actor.handle(msg.open(), &mut ctx);
            }
            let note = worker.note().get();
            if note != 0 {
                return pause_of(note);
            }
            if *handled == until && batch_is_over(worker, &mut until) {
                return Pause::More;
            }
        }
    }

    /// Whether the mailbox, which is empty, is small, and somebody has an address of the actor; as
    /// mostly.
    #[inline(always)]
    fn is_modest<T: Carrier<A::Msg>>(&self) -> bool {
        let large = self.is_own_large::<T>();
        // Acquire: pairs with the release of the last address: what its holder sent before is in
        // the mailbox by then.
        !large && self.cell().core.strong.load(Ordering::Acquire) != 0
    }

    #[cold]
    #[inline(never)]
    pub(super) fn turn_panicked(mut self, panicked: Panicked, handled: u32) -> (Turn, u32) {
        if self.worker().note().get() & NOTE_TRACED != 0 {
            end_handling(Some(panicked.to_string().into()));
        }
        self.worker().count_handled(handled, std::mem::size_of::<A::Msg>());
        self.note_taken(handled);
        let turn = self.panicked(panicked);
        (self.end_turn(turn), handled)
    }

    /// Decides what follows from how the loop over messages ended.
    #[cold]
    #[inline(never)]
    pub(super) fn paused<T: Carrier<A::Msg>>(mut self, pause: Pause, taken: u32) -> Turn {
        let is_usual = self.flags() & UNUSUAL == 0;
        if !is_usual {
            self.note_taken(taken);
        }
        let turn = match pause {
            Pause::Empty | Pause::More if !is_usual => self.paused_waiting::<T>(pause),
            Pause::Empty if self.flags() & DRAINING == 0 && self.is_modest::<T>() => Turn::Idle,
            Pause::Empty => self.rest::<T>(),
            Pause::More => self.declare_again(),
            Pause::Muted => Turn::Idle,
            Pause::Stop => self.end(StopReason::Requested),
            Pause::Failed => self.failed_itself(),
        };
        self.end_turn(turn)
    }

    /// Decides the same for an actor that waits for something beside its messages.
    fn paused_waiting<T: Carrier<A::Msg>>(&mut self, pause: Pause) -> Turn {
        if let Some(turn) = self.look_after_held() {
            return turn;
        }
        let turn = match pause {
            Pause::More => self.declare_again(),
            _ if self.flags() & DRAINING == 0 && self.is_modest::<T>() => Turn::Idle,
            _ => self.rest::<T>(),
        };
        if turn == Turn::Idle { self.again_if_due() } else { turn }
    }

    /// Whether something but its mailbox keeps the actor from its end.
    fn waits_for_more(&self) -> bool {
        let core = &self.cell().core;
        core.is_holding() || self.flags() & DRAINING == 0 && self.has_sources()
    }

    /// Ends the turn of an actor that may have a bounded mailbox.
    fn end_turn(&self, turn: Turn) -> Turn {
        if self.cell().core.backpressure.is_none() {
            return turn;
        }
        self.release_senders();
        // Whoever was woken may have sent at once, on this thread.
        if turn == Turn::Idle && self.cell().len() > 0 { Turn::Again } else { turn }
    }

    /// Decides what follows from an empty mailbox that is large, of an actor that drains or has no
    /// address.
    fn rest<T: Carrier<A::Msg>>(&mut self) -> Turn {
        self.free_own::<T>();
        // Relaxed: it was sent on this thread, or a turn comes for it.
        let has_urgent = self.cell().core.flags.load(Ordering::Relaxed) & URGENT != 0;
        if has_urgent || !self.cell().shared::<T>().is_empty() {
            return Turn::Again;
        }
        if self.waits_for_more() {
            return Turn::Idle;
        }
        if self.flags() & DRAINING != 0 {
            return self.end(StopReason::Requested);
        }
        if !self.cell().core.is_orphaned() {
            return Turn::Idle;
        }
        if self.worker().may_be_under_way() {
            self.cell().core.linger(self.worker());
            return Turn::Idle;
        }
        // What was under way has arrived before that was seen.
        if !self.cell().shared::<T>().is_empty() {
            return Turn::Again;
        }
        self.end(StopReason::Orphaned)
    }
}

/// The next message has a stamp: its latency is recorded, or it is traced. A traced one leaves a
/// note, as one does that ends the turn. No method of the turn, which the loop has in registers.
#[cold]
#[inline(never)]
pub(super) fn stamped<A: Actor>(worker: &Worker, stamp_ns: u64, variant: &'static str) {
    if worker.received(stamp_ns, std::any::type_name::<A::Msg>(), variant) {
        worker.note().set(worker.note().get() | NOTE_TRACED);
    }
}

/// Whether the message at this place, which was taken and not yet read, has a stamp.
#[inline(always)]
fn is_stamped<T>(place: NonNull<Envelope<T>>) -> bool {
    // SAFETY: a message that was taken stays at its place until something is pushed.
    unsafe { (*place.as_ptr()).stamp_ns != 0 }
}

/// Handles a sampled message of a type that shows what its messages contain. The loop has its own
/// call of the handler, and reads only messages that it handles itself.
///
/// # Safety
/// The message at this place was taken, and nobody else reads it; nothing was pushed since.
#[cold]
#[inline(never)]
unsafe fn handle_shown<A: Actor, T: Carrier<A::Msg>>(
    actor: &mut A,
    place: NonNull<Envelope<T>>,
    ctx: &mut Context<'_, A>,
) {
    // SAFETY: by contract.
    let Envelope { stamp_ns, msg } = unsafe { place.read() };
    let name = name_of::<A>(msg.look());
    stamped::<A>(ctx.on(), stamp_ns, name);
    contents::note::<A>(ctx.on(), name, msg.look());
    actor.handle(msg.open(), ctx);
}

/// Decides how the loop ends when a message has left this note.
#[inline(always)]
pub(super) fn pause_of(note: u32) -> Pause {
    if note >= NOTE_TRACED {
        traced_is_over(note);
    }
    match note {
        note if note & NOTE_FAILED != 0 => Pause::Failed,
        note if note & NOTE_STOP != 0 => Pause::Stop,
        note if note & NOTE_CONTROL != 0 => Pause::More,
        note if note & NOTE_MUTED != 0 => Pause::Muted,
        _ => Pause::More,
    }
}

/// The traced message that left this note is handled.
#[cold]
#[inline(never)]
fn traced_is_over(note: u32) {
    const { assert!(NOTE_TRACED > NOTE_FAILED && NOTE_TRACED.is_power_of_two()) };
    end_handling((note & NOTE_FAILED != 0).then(|| "its handler failed".into()));
}

/// Whether a turn ends after `until` messages; if not, it goes on until so many as `until` is then.
#[inline(never)]
fn batch_is_over(worker: &Worker, until: &mut u32) -> bool {
    // Never beyond the batch: nothing overflows.
    let more = worker.check_after(*until).min(worker.batch() - *until);
    *until += more;
    more == 0 || worker.is_over_time()
}

//! Many messages from one turn to the shared queue of one actor: gathered, and pushed together.
//!
//! Each push to the shared part of a mailbox costs two contended read-modify-writes. A turn that has sent `RUN` messages to the
//! same actor in a row is likely to send more; from then on they are gathered on its worker and pushed `GATHERED` at
//! a time, with one read-modify-write each time. What is gathered leaves, at the latest, when the turn ends or turns to another actor;
//! so the order between two actors is kept, and a turn that sends only a few messages sends each at once.

use super::Envelope;
use crate::actor::Actor;
use crate::cell::{ActorCell, CellRef};
use actinium_scheduler::worker::Gathered;
use actinium_scheduler::{Header, Worker};

/// Messages to one actor in a row before they are gathered.
const RUN: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 8 };
/// Messages gathered before they are pushed.
const GATHERED: usize = if cfg!(any(loom, shuttle)) { 2 } else { 32 };

/// What is gathered for one actor.
struct Stream<A: Actor> {
    /// Keeps the actor reachable until its messages are.
    target: CellRef<A>,
    messages: Vec<Envelope<A::Msg>>,
}

impl<A: Actor> ActorCell<A> {
    /// Takes a message that the running turn sends to this actor's shared queue, if it is one of many in a row.
    ///
    /// Until it leaves, no later message of this turn can come to the own part of the mailbox: what keeps messages from there (another
    /// owner, a raised token, an alert) ends only between turns. Nor does one go by a lane: before that, what is gathered leaves
    /// (the actor may be taken over by another worker at any time).
    #[inline]
    pub(crate) fn gather(&self, msg: A::Msg, stamp_ns: u64, worker: &Worker) -> Result<(), A::Msg> {
        let me: *const Header = self.core.runnable().0.as_ptr();
        let run = worker.count_run(me);
        // What it sends to itself is looked at in this very turn.
        let is_another = worker.running().is_some_and(|sender| sender != self.core.runnable());
        if run < RUN || !is_another || self.core.backpressure.is_some() {
            return Err(msg);
        }
        if run == RUN && self.is_closed() {
            return Err(msg);
        }
        // SAFETY: this thread's worker, and the closure calls no user code.
        let gathered = unsafe {
            worker.with_gathered(|slot| {
                let stream: &mut dyn Gathered = &mut **slot.get_or_insert_with(|| {
                    let messages = Vec::with_capacity(GATHERED);
                    Box::new(Stream { target: CellRef::new(self), messages })
                });
                // SAFETY: a run is to one actor, and whatever was gathered for another left when the run began: it is a Stream<A>.
                let stream = &mut *std::ptr::from_mut(stream).cast::<Stream<A>>();
                stream.messages.push(Envelope { stamp_ns, msg });
                stream.messages.len()
            })
        };
        if gathered == GATHERED {
            worker.deliver_gathered();
        }
        Ok(())
    }
}

impl<A: Actor> Stream<A> {
    /// The actor has ended since its sender was told that it had not.
    #[cold]
    fn bury(&mut self, worker: &Worker) {
        self.target.core.bury_messages::<A>(self.messages.len(), worker);
        self.messages.clear();
    }
}

impl<A: Actor> Gathered for Stream<A> {
    fn flush(&mut self, worker: &Worker) {
        if self.messages.is_empty() {
            return;
        }
        self.target.push_all(&mut self.messages, worker);
        if !self.messages.is_empty() {
            self.bury(worker);
        }
    }
}

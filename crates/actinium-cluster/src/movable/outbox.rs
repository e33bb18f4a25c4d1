//! What is on its way to a shell, in order.

use super::{Migrate, Movable};
use crate::any::AnyAddress;
use crate::node::{Inner, NodeEvent};
use crate::remote::{RemoteAskError, RemoteSendError};
use actinium_actor::{Actor, Context, Reply};
use std::collections::VecDeque;
use std::sync::Weak;
use std::time::Duration;

/// What a shell may be asked: which of the below, a node (of `MOVE`), the state's own question (of `ASK`).
pub(super) type Question<S> = (u8, u32, Option<<S as Migrate>::Question>);
/// For the state.
pub(super) const ASK: u8 = 0;
/// "Where have you gone?" Answered when it has.
pub(super) const WHERE: u8 = 1;
/// "Is all that I have sent before this where the state is?"
pub(super) const CLOSE: u8 = 2;
/// "Go there."
pub(super) const MOVE: u8 = 3;

/// The state's answer; the node where the state is now, and after how many moves; why it has not moved.
pub(super) type Answer<S> = (Option<<S as Migrate>::Answer>, Option<(u32, u64)>, Option<String>);

/// Something for the state, or for its shell.
pub(super) enum Parcel<S: Migrate> {
    Tell(S::Message),
    Ask(Question<S>, Reply<Answer<S>>),
}

/// Whoever asks has a limit of its own; on the way there is none.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// See the module.
pub(super) struct Outbox<S: Migrate> {
    parcels: VecDeque<Parcel<S>>,
    waits_for_room: bool,
}

/// An answer, or why there is none.
pub(super) type Answered<S> = Result<Answer<S>, RemoteAskError>;

/// How an outbox comes back to its actor.
pub(super) struct Back<S: Migrate, B: Actor> {
    pub(super) answered: fn(Reply<Answer<S>>, Answered<S>) -> B::Msg,
    pub(super) room: fn() -> B::Msg,
}

impl<S: Migrate> Outbox<S> {
    pub(super) fn new(parcels: VecDeque<Parcel<S>>) -> Self {
        Outbox { parcels, waits_for_room: false }
    }

    pub(super) fn push(&mut self, parcel: Parcel<S>) {
        self.parcels.push_back(parcel);
    }

    pub(super) fn len(&self) -> usize {
        self.parcels.len()
    }

    /// There may be room again.
    pub(super) fn has_room(&mut self) {
        self.waits_for_room = false;
    }

    /// Sends what there is, as far as there is room.
    pub(super) fn pump<B: Actor>(
        &mut self,
        to: &AnyAddress<Movable<S>>,
        inner: &Weak<Inner>,
        ctx: &Context<'_, B>,
        back: &Back<S, B>,
    ) where
        B::Msg: 'static,
    {
        while !self.waits_for_room
            && let Some(parcel) = self.parcels.pop_front()
        {
            if let AnyAddress::There(there) = to
                && there.is_full()
            {
                self.parcels.push_front(parcel);
                self.waits_for_room = true;
                let room = back.room;
                return ctx.pipe(there.room(), move |()| room());
            }
            match parcel {
                Parcel::Tell(message) => match to.send(message) {
                    Ok(()) => {}
                    // Others have filled it up just now: the next turn of the loop waits.
                    Err(RemoteSendError::Full(message)) => {
                        self.parcels.push_front(Parcel::Tell(message));
                    }
                    Err(_) => {
                        if let Some(inner) = inner.upgrade() {
                            let event = NodeEvent::Undelivered { node: to.node(), messages: 1 };
                            inner.tell_listeners(&event);
                        }
                    }
                },
                Parcel::Ask(question, reply) => {
                    let answered = back.answered;
                    ctx.pipe(to.ask(question, FOREVER), move |answer| answered(reply, answer));
                }
            }
        }
    }
}

/// Hands an answer on. There is none: whoever asked hears that, too.
pub(super) fn hand_on<S: Migrate>(
    reply: Reply<Answer<S>>,
    answer: Result<Answer<S>, RemoteAskError>,
) {
    if let Ok(answer) = answer {
        // Whoever asked may have stopped waiting.
        let _ = reply.send(answer);
    }
}

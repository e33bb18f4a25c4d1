//! Where a state that moves lives, or has lived.
//!
//! ```text
//! Here --move--> Moving (a copy is made, and asked whether it is there) --> Gone (forwards)
//!  ^               |
//!  +---not copied--+
//! ```

use super::outbox::{ASK, Answer, Back, CLOSE, MOVE, Outbox, Parcel, Question, WHERE, hand_on};
use super::{Arrival, Migrate, MovableId};
use crate::any::AnyAddress;
use crate::fabric::NodeId;
use crate::node::Inner;
use crate::remote::{RemoteActor, RemoteAskError};
use actinium_actor::{Actor, Context, Reply, StopReason};
use std::collections::VecDeque;
use std::sync::Weak;
use std::time::Duration;

/// How long a copy may take to be made, if nodes do not go down.
const MOVE_LIMIT: Duration = Duration::from_secs(60);

/// The actor that a state lives in: see [`Migrate`].
pub struct Movable<S: Migrate> {
    inner: Weak<Inner>,
    id: MovableId,
    moves: u64,
    state: State<S>,
    /// Who wants to know when it has moved.
    asked_where: Vec<Reply<Answer<S>>>,
}

enum State<S: Migrate> {
    Here(S),
    /// The state is as it was copied.
    Moving(Move<S>),
    Gone(AnyAddress<Movable<S>>, Outbox<S>),
    /// Between two of the others.
    Nowhere,
}

struct Move<S: Migrate> {
    state: S,
    node: NodeId,
    /// Who asked for it.
    reply: Reply<Answer<S>>,
    /// The shell there, once it is known.
    to: Option<AnyAddress<Movable<S>>>,
    /// What has come since.
    parcels: VecDeque<Parcel<S>>,
}

#[doc(hidden)]
pub struct ShellMsg<S: Migrate>(Shell<S>);

enum Shell<S: Migrate> {
    Parcel(Parcel<S>),
    Copied(Result<AnyAddress<Movable<S>>, RemoteAskError>),
    /// The copy has said that it is there.
    There(Result<Answer<S>, RemoteAskError>),
    /// Too much waited for its node: now there is room.
    RoomToMove,
    Answered(Reply<Answer<S>>, Result<Answer<S>, RemoteAskError>),
    Room,
}

impl<S: Migrate> Movable<S> {
    pub(super) fn new(inner: Weak<Inner>, id: MovableId, moves: u64, state: S) -> Self {
        Movable { inner, id, moves, state: State::Here(state), asked_where: Vec::new() }
    }

    fn take(&mut self, parcel: Parcel<S>, ctx: &Context<'_, Self>) {
        match &mut self.state {
            State::Here(state) => match parcel {
                Parcel::Tell(message) => state.message(message, ctx),
                Parcel::Ask((ASK, _, Some(question)), reply) => {
                    let answer = state.question(question, ctx);
                    // Whoever asked may have stopped waiting, here and below.
                    let _ = reply.send((Some(answer), None, None));
                }
                Parcel::Ask((WHERE, ..), reply) => self.asked_where.push(reply),
                Parcel::Ask((CLOSE, ..), reply) => drop(reply.send((None, None, None))),
                Parcel::Ask((MOVE, node, _), reply) => self.leave(NodeId(node), reply, ctx),
                // Nobody asks that; whoever does hears that the question was dropped.
                Parcel::Ask(..) => {}
            },
            State::Moving(going) => going.parcels.push_back(parcel),
            State::Gone(to, outbox) => match parcel {
                Parcel::Ask((WHERE, ..), reply) => {
                    let _ = reply.send((None, Some((to.node().0, self.moves + 1)), None));
                }
                parcel => {
                    outbox.push(parcel);
                    self.pump(ctx);
                }
            },
            State::Nowhere => {}
        }
    }

    fn leave(&mut self, node: NodeId, reply: Reply<Answer<S>>, ctx: &Context<'_, Self>) {
        let Some(inner) = self.inner.upgrade() else { return };
        if node == inner.id() {
            let _ = reply.send((None, None, None));
            return;
        }
        let State::Here(state) = std::mem::replace(&mut self.state, State::Nowhere) else { return };
        let (to, parcels) = (None, VecDeque::new());
        self.state = State::Moving(Move { state, node, reply, to, parcels });
        self.go(ctx);
    }

    /// The next step of a move: a copy, and its word that it is there. Only then can others find it, too.
    fn go(&self, ctx: &Context<'_, Self>) {
        let (State::Moving(going), Some(inner)) = (&self.state, self.inner.upgrade()) else {
            return;
        };
        if let Some(to) = &going.to {
            let is_there = to.ask((CLOSE, 0, None), MOVE_LIMIT);
            return ctx.pipe(is_there, |answer| ShellMsg(Shell::There(answer)));
        }
        let arrival: Arrival<S> = (self.id, self.moves + 1, going.state.clone());
        let copied = inner.spawn_on::<Movable<S>, Arrival<S>>(going.node, &arrival, MOVE_LIMIT);
        ctx.pipe(copied, |copied| ShellMsg(Shell::Copied(copied)));
    }

    fn not_moved(&mut self, why: &RemoteAskError, ctx: &Context<'_, Self>) {
        let State::Moving(going) = &self.state else { return };
        if let (RemoteAskError::Full(node), Some(inner)) = (why, self.inner.upgrade()) {
            return ctx.pipe(inner.room(*node), |()| ShellMsg(Shell::RoomToMove));
        }
        if let Some(to) = &going.to {
            to.kill();
        }
        let State::Moving(going) = std::mem::replace(&mut self.state, State::Nowhere) else {
            return;
        };
        let _ = going.reply.send((None, None, Some(why.to_string())));
        self.state = State::Here(going.state);
        going.parcels.into_iter().for_each(|parcel| self.take(parcel, ctx));
    }

    fn moved(&mut self, ctx: &Context<'_, Self>) {
        let State::Moving(going) = std::mem::replace(&mut self.state, State::Nowhere) else {
            return;
        };
        let Some(to) = going.to else { return };
        for asked in std::mem::take(&mut self.asked_where) {
            let _ = asked.send((None, Some((to.node().0, self.moves + 1)), None));
        }
        let _ = going.reply.send((None, None, None));
        self.state = State::Gone(to, Outbox::new(VecDeque::new()));
        going.parcels.into_iter().for_each(|parcel| self.take(parcel, ctx));
    }

    fn pump(&mut self, ctx: &Context<'_, Self>) {
        if let State::Gone(to, outbox) = &mut self.state {
            let back = Back {
                answered: |reply, answer| ShellMsg(Shell::Answered(reply, answer)),
                room: || ShellMsg(Shell::Room),
            };
            outbox.pump(to, &self.inner, ctx, &back);
        }
    }
}

impl<S: Migrate> Actor for Movable<S> {
    type Msg = ShellMsg<S>;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        // One that has just been made here is exported already, so that it can be found at once.
        if self.moves > 0
            && let Some(inner) = self.inner.upgrade()
        {
            // The name has two serial numbers of its own: it is free.
            let _ = inner.export(&self.id.exported(self.moves), &[ctx.address()]);
        }
    }

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
        if let Some(inner) = self.inner.upgrade() {
            inner.unexport(&self.id.exported(self.moves));
        }
    }

    fn handle(&mut self, msg: ShellMsg<S>, ctx: &mut Context<'_, Self>) {
        match msg.0 {
            Shell::Parcel(parcel) => self.take(parcel, ctx),
            Shell::Copied(Ok(copy)) => {
                if let State::Moving(going) = &mut self.state {
                    going.to = Some(copy);
                }
                self.go(ctx);
            }
            Shell::There(Ok(_)) => self.moved(ctx),
            Shell::Copied(Err(why)) | Shell::There(Err(why)) => self.not_moved(&why, ctx),
            Shell::RoomToMove => self.go(ctx),
            Shell::Answered(reply, answer) => hand_on::<S>(reply, answer),
            Shell::Room => {
                if let State::Gone(_, outbox) = &mut self.state {
                    outbox.has_room();
                }
                self.pump(ctx);
            }
        }
    }
}

impl<S: Migrate> RemoteActor for Movable<S> {
    const KIND: &'static str = S::KIND;
    const VERSION: u32 = S::VERSION;
    type Message = S::Message;
    type Question = Question<S>;
    type Answer = Answer<S>;

    fn message(message: S::Message) -> ShellMsg<S> {
        ShellMsg(Shell::Parcel(Parcel::Tell(message)))
    }

    fn question(question: Question<S>, reply: Reply<Answer<S>>) -> ShellMsg<S> {
        ShellMsg(Shell::Parcel(Parcel::Ask(question, reply)))
    }
}

//! The frame receiver as its senders see it: the actor and its messages. Its behaviour is in
//! `receive`.

use super::event::NodeEvent;
use super::inbound::Watched;
use super::parcel::Parcel;
use super::peer::{Peer, Untold};
use crate::message::{ActorKey, Unanswered};
use crate::payload::PayloadError;
use actinium_actor::{Actor, Context, StopReason};
use actinium_memory::heap::Payload;
use std::any::Any;
use std::sync::Arc;

/// A request of another node, in one of the two nodes' sessions.
pub(crate) struct Asked {
    pub(super) peer: Arc<Peer>,
    pub(super) session: u64,
    pub(super) request: u64,
    /// The number of this node's border, which the answer crosses.
    pub(super) border: u64,
}

/// A message to a frame receiver.
pub(crate) enum FrameReceiverMsg {
    Frame(Parcel),
    /// A frame has been handled.
    Handled(Parcel),
    /// All of a frame has been handled that does not wait elsewhere: the receiver drops this.
    LetGo(Arc<dyn Any + Send + Sync>),
    /// A request was answered by an actor of this node.
    Answered(Asked, Result<Vec<u8>, Unanswered>),
    /// The two nodes know each other.
    Up,
    /// The other node is down.
    Down(NodeEvent, Untold),
    /// In a grid: an event of a node that is no neighbour is to be told. Maybe it is the end of a
    /// session on a link of its own.
    Multihop(Arc<Peer>, Option<Untold>),
    /// An actor of this node that another one watches, or has watched, has ended.
    Ended(Arc<Peer>, Watched, StopReason),
    /// An actor that another node has started has ended.
    Free(ActorKey),
    /// A payload that was wanted has come, or will not. The number is its ticket.
    Fetched(u64, Result<Payload, PayloadError>),
    /// Frames wait that can be handed over.
    GoOn,
    /// The driver is gone: nothing more comes. The receiver drops the token that it is given.
    Last(Arc<dyn Any + Send + Sync>),
}

/// The behaviour of a frame receiver, which is given to it when it starts: exported actors know the
/// receiver, and the behaviour knows them.
pub(super) trait Behaviour: Send {
    /// Handles a message, as [`Actor::handle`] does.
    fn handle(&mut self, msg: FrameReceiverMsg, ctx: &mut Context<'_, FrameReceiver>);
}

/// The actor that takes the frames of one other node apart.
pub(crate) struct FrameReceiver(pub(super) Box<dyn Behaviour>);

impl Actor for FrameReceiver {
    type Msg = FrameReceiverMsg;

    #[inline]
    fn handle(&mut self, msg: FrameReceiverMsg, ctx: &mut Context<'_, Self>) {
        self.0.handle(msg, ctx);
    }
}

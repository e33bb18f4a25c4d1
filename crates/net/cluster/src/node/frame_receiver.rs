//! The frame receiver as its senders see it: the actor and its messages. Its behaviour is in
//! `receive`.

use super::event::NodeEvent;
use super::inbound::Watched;
use super::parcel::Parcel;
use super::peer::{Multihop, Peer, Untold};
use crate::locks::lock;
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
    /// In a grid: events of a node that is no neighbour are to be told.
    Multihop(News),
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

/// Events of a node that is no neighbour: the first so many, those that were told excepted. Later
/// ones come with news of their own, behind the frames in between.
pub(crate) struct News {
    pub(super) peer: Arc<Peer>,
    pub(super) so_far: u64,
    /// Whether the end of a session on a link of their own is among them.
    pub(super) _untold: Option<Untold>,
}

impl News {
    /// All that there is of this node so far.
    pub(super) fn of(peer: &Arc<Peer>, untold: Option<Untold>) -> Self {
        let so_far = |multihop: &Multihop| lock(&multihop.session).events_so_far();
        let so_far = peer.multihop.as_ref().map_or(0, so_far);
        News { peer: peer.clone(), so_far, _untold: untold }
    }
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

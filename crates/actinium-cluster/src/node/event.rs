//! What a node tells those who listen, and what it has counted.

use crate::fabric::NodeId;
use crate::gather::GatherCounters;
use crate::link::{DownReason, LinkCounters, Lost, Refusal};
use crate::payload::PayloadError;
use crate::remote::RemoteAskError;

/// What happened between this node and another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The two know each other.
    Up(NodeId),
    /// The other one is down. Its watchers have been told.
    Down {
        /// Which.
        node: NodeId,
        /// Why.
        reason: DownReason,
        /// So many of our frames it has handled for certain: their messages were in mailboxes (what actors had not got to is gone if the node has died). Of a node that is no neighbour in a grid: messages, here and in `unacknowledged`.
        last_acknowledged: u64,
        /// What was sent after those: nobody knows which of it arrived.
        unacknowledged: Lost,
        /// Messages that came back or never left: certain not to arrive, unless they were among those sent.
        undelivered: u64,
    },
    /// Messages that were taken by `send` while the node went down, and never left: besides those that `Down` counts.
    Undelivered {
        /// Whose they were to be.
        node: NodeId,
        /// How many.
        messages: u64,
    },
    /// Messages of that node to this one are lost. In a grid this counts, of a neighbour, all that its link has lost, what it has handed on included; and of
    /// a node further away just what it has sent, whoever has lost it, without frames.
    Lost(NodeId, Lost),
    /// Messages of this node to that one are lost: likewise.
    LostThere(NodeId, Lost),
    /// Messages of this node have reached that one, and nobody: the actor has ended and been given up there, or belongs to an earlier life of the node.
    Misaddressed {
        /// Which node.
        node: NodeId,
        /// How many.
        messages: u64,
    },
    /// A message of that node to this one is lost, because its payload did not come: why.
    PayloadLost {
        /// Which node.
        node: NodeId,
        /// How many bytes it had.
        bytes: u64,
        /// Why.
        why: PayloadError,
    },
    /// A message of this node to that one is lost, because its payload did not come there: in the words of that node.
    PayloadLostThere {
        /// Which node.
        node: NodeId,
        /// How many bytes it had.
        bytes: u64,
        /// Why.
        why: String,
    },
    /// The two do not talk.
    Refused(NodeId, Refusal),
    /// An actor of this node had a name, and another has it now, or too few nodes are up: see [`Names`](crate::Names). It was asked to end.
    NameLost {
        /// The name.
        name: String,
        /// Why.
        why: RemoteAskError,
    },
    /// The other node's idea of an actor's messages differs from this one's. They talk, but not quite as usual: how.
    Remark {
        /// Which.
        node: NodeId,
        /// The actor's [`RemoteActor::KIND`](crate::RemoteActor::KIND).
        kind: &'static str,
        /// What is to be said.
        remark: String,
    },
}

/// What a node has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// Of each other node.
    pub peers: Vec<PeerStats>,
    /// In a grid: messages of other nodes that this one has handed on.
    pub handed_on: u64,
    /// And those that it could not, because there was no way. Their two ends are told: `Lost` and `LostThere`, or what `Down` counts.
    pub strayed: u64,
    /// Messages for actors that this node has not (any more). Whoever sent them is told: [`NodeEvent::Misaddressed`].
    pub misaddressed: u64,
    /// Messages and frames that this node could not read.
    pub not_understood: u64,
    /// How often a worker has looked after the frames itself: see [`Node::start`](crate::Node::start).
    pub steered: u64,
    /// How often its thread has begun to sleep until it is rung for: by another node, where the fabric is polled and has a [doorbell](crate::fabric::Doorbell).
    pub rested: u64,
    /// How often another node has woken it from that.
    pub rung: u64,
}

/// What a node has counted of one other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerStats {
    /// Which.
    pub node: NodeId,
    /// Whether the two know each other now.
    pub is_up: bool,
    /// The next node on the way there, if that is another one. What is for this one gathers with what is for that one.
    pub through: Option<NodeId>,
    /// What gathered for it.
    pub gather: GatherCounters,
    /// Bytes of payloads that this node keeps for it.
    pub payload_bytes_waiting: usize,
    /// Bytes of payloads that come from it, and are not yet handed to actors.
    pub payload_bytes_ahead: usize,
    /// What moved, up to some milliseconds ago.
    pub link: LinkCounters,
}

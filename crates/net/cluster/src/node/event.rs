//! Events that a node reports to its listeners, and its counters.

use crate::aggregator::AggregatorCounters;
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::link::{DownReason, LinkCounters, Lost, Refusal};
use crate::payload::PayloadError;
use actinium_placement::Stats as RepartitionStats;

/// An event between this node and another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The two nodes know each other.
    Up(NodeId),
    /// The other node is down. Its watchers have been told.
    Down {
        /// The node that is down.
        node: NodeId,
        /// The reason.
        reason: DownReason,
        /// The number of our frames that the other node has certainly handled: their messages were
        /// in mailboxes. (Messages that actors had not got to are gone if the node has died.) Of a
        /// node that is no neighbour in a grid: the number of messages, here and in
        /// `unacknowledged`.
        last_acknowledged: u64,
        /// The frames and messages that were sent after those: nobody knows which of them arrived.
        unacknowledged: Lost,
        /// The number of messages that came back or never left: certain not to arrive, unless they
        /// were among those sent.
        undelivered: u64,
    },
    /// Messages that `send` took while the node went down, and that never left. `Down` does not
    /// count these.
    Undelivered {
        /// The node that they were for.
        node: NodeId,
        /// The number of these messages.
        messages: u64,
    },
    /// Of the messages of which [`NodeEvent::Down`], [`NodeEvent::Undelivered`] or
    /// [`NodeEvent::LostThere`] has told just before, some were given back to those who had asked
    /// for them: see [`RemoteAddress::on_undelivered`](crate::RemoteAddress::on_undelivered).
    /// Nothing is told if nobody has.
    Returned {
        /// The node that they were for.
        node: NodeId,
        /// The number of messages that were given back.
        messages: u64,
        /// The number of messages that were not kept, those that nobody has asked for included: too
        /// many bytes had waited
        /// ([`NodeConfig::undelivered_bytes`](crate::NodeConfig::undelivered_bytes)), or they were
        /// sent before anybody asked.
        not_kept: u64,
        /// The number of messages that could not be read here. One with a
        /// [`Reply`](actinium_actor::Reply) in it can not: whoever waits for that answer is told.
        unreadable: u64,
    },
    /// Messages of that node to this one are lost. In a grid, the count of a neighbour holds all
    /// that its link has lost, messages that it has handed on included. The count of a node further
    /// away holds just the messages that it has sent, whoever has lost them, and no frames.
    Lost(NodeId, Lost),
    /// Messages of this node to that one are lost: counted as for `Lost`.
    LostThere(NodeId, Lost),
    /// Messages of this node have reached that one, but no actor: it has ended and been given up
    /// there, or belongs to an earlier incarnation of the node.
    Misaddressed {
        /// The node that has no such actor.
        node: NodeId,
        /// The number of these messages.
        messages: u64,
    },
    /// A message of that node to this one is lost, because its payload did not come.
    PayloadLost {
        /// The node that sent the message.
        node: NodeId,
        /// The number of bytes of the payload.
        bytes: u64,
        /// The reason.
        why: PayloadError,
    },
    /// A message of this node to that one is lost, because its payload did not come there; or to an
    /// actor that moves, because that node could not send the payload after it, or this one could
    /// not send it there.
    PayloadLostThere {
        /// The node that the message was for.
        node: NodeId,
        /// The number of bytes of the payload.
        bytes: u64,
        /// The reason, in the words of the node that found it.
        why: String,
    },
    /// The other node has tried an operation that it may not do, and was refused. Told of the first
    /// time, the second, the fourth and so on: [`PeerStats::denied`] counts all.
    Denied {
        /// The node that was refused.
        node: NodeId,
        /// The actor of this node that the operation was about, if there was one: its kind, and its
        /// name or number.
        actor: Option<String>,
        /// The operation.
        what: Denial,
        /// The number of times that the node has tried this.
        times: u64,
    },
    /// This node has tried an operation that it may not do at another one: told as `Denied` is.
    DeniedThere {
        /// The node that has refused it.
        node: NodeId,
        /// The number of the actor that the operation was about, if there was one.
        actor: Option<u32>,
        /// The operation.
        what: Denial,
        /// The number of times that this node has tried it.
        times: u64,
    },
    /// A message of this node to an actor of that one, by a handle, was refused
    /// ([`SendError::Unsendable`](actinium_actor::SendError::Unsendable)).
    Unsendable {
        /// The node that it was for.
        node: NodeId,
        /// The message's type.
        message: &'static str,
        /// Why it can not be sent.
        why: String,
    },
    /// The two nodes do not talk.
    Refused(NodeId, Refusal),
    /// An actor of this node had a name, and another has it now, or too few nodes are up: see
    /// [`Names`](crate::Names). It was asked to end.
    NameLost {
        /// The name.
        name: String,
        /// The reason.
        why: RemoteAskError,
    },
    /// A shard was started on this node: for the first time, or again with nothing of what it held
    /// before. See [`MovableShards`](crate::MovableShards).
    ShardStarted {
        /// The name of the set of shards.
        set: String,
        /// The shard.
        shard: u32,
    },
    /// A shard that this node has sent to, or had started, has ended: its node is down, its state
    /// has panicked, or another one had its name for longer. What it held is lost. It is started
    /// again when something is sent to it.
    ShardLost {
        /// The name of the set of shards.
        set: String,
        /// The shard.
        shard: u32,
        /// The reason, for people to read.
        why: String,
    },
    /// This node and another one exchange actors, so that those that talk lie on one node: see
    /// [`NodeConfig::repartition`](crate::NodeConfig::repartition).
    Exchange {
        /// The other node.
        node: NodeId,
        /// The number of actors that are to move there.
        leave: usize,
        /// The number of actors that are to come from there.
        come: usize,
    },
    /// An actor of an exchange has not moved. It goes on here, if it has not ended.
    NotMoved {
        /// The node that it was to move to.
        node: NodeId,
        /// The node where it began, and its number there: its [`MovableId`](crate::MovableId).
        began: NodeId,
        /// The second part of that.
        serial: u64,
        /// The reason.
        why: String,
    },
    /// The two nodes describe an actor's messages differently. They talk, but not quite as usual.
    Remark {
        /// The other node.
        node: NodeId,
        /// The actor's [`RemoteActor::KIND`](crate::RemoteActor::KIND).
        kind: &'static str,
        /// The difference, in words.
        remark: String,
    },
}

/// Counters of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// The counters for each other node.
    pub peers: Vec<PeerStats>,
    /// In a grid: the number of messages of other nodes that this one has handed on.
    pub handed_on: u64,
    /// In a grid: the number of messages of other nodes that this one could not hand on, because
    /// there was no way. Their two ends are told: `Lost` and `LostThere`, or in the counts of
    /// `Down`.
    pub unroutable: u64,
    /// The number of messages for actors that this node does not have (any more). Their senders are
    /// told: [`NodeEvent::Misaddressed`].
    pub misaddressed: u64,
    /// The number of messages and frames that this node could not read.
    pub not_understood: u64,
    /// The number of handles of this node's actors that others were given, and whose actors live;
    /// and of reply handles that others were given and have not answered.
    pub handles: usize,
    /// The number of times that a worker has looked after the frames itself: see
    /// [`Node::start`](crate::Node::start).
    pub driven: u64,
    /// The number of times that the node's thread has begun to sleep until another node rings for
    /// it, where the fabric is polled and has a [doorbell](crate::fabric::Doorbell).
    pub rested: u64,
    /// The number of times that another node has woken it from that.
    pub rung: u64,
    /// Of the exchanges of actors with other nodes, if this node takes part in them
    /// ([`NodeConfig::repartition`](crate::NodeConfig::repartition)).
    pub repartition: Option<RepartitionStats>,
}

/// Counters of a node for one other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerStats {
    /// The other node.
    pub node: NodeId,
    /// Whether the two know each other now.
    pub is_up: bool,
    /// The next node on the way there, if that is another one. Messages for this node are
    /// aggregated with those for that one.
    pub through: Option<NodeId>,
    /// The counters of the messages that were aggregated for it.
    pub aggregator: AggregatorCounters,
    /// The bytes of messages for it that wait to leave.
    pub bytes_waiting: usize,
    /// The bytes of payloads that this node keeps for it.
    pub payload_bytes_waiting: usize,
    /// The bytes of payloads that come from it, and are not yet handed to actors.
    pub payload_bytes_ahead: usize,
    /// The number of its operations that were refused: see [`NodeEvent::Denied`].
    pub denied: u64,
    /// The number of requests of this node to it that wait for an answer.
    pub requests: usize,
    /// The number of watches of this node's actors that wait for the end of one of its.
    pub watches: usize,
    /// The number of its requests for names that this node has not exported yet.
    pub lookups: usize,
    /// The number of its requests that actors of this node have not answered yet, those of earlier
    /// sessions included.
    pub asked: usize,
    /// The number of watches of its actors that wait for the end of one of this node's.
    pub watched: usize,
    /// The number of actors of this node that end with it.
    pub adopted: usize,
    /// The counters of the link with it, up to some milliseconds old.
    pub link: LinkCounters,
}

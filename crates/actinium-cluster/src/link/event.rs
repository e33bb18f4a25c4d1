//! What a link tells its owner.

use crate::fabric::NodeId;
use crate::route::Grid;
use std::fmt;

/// What happened on a link, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkEvent {
    /// The two nodes know each other: frames may be sent.
    Up,
    /// A frame of messages has arrived.
    Frame(Delivery),
    /// Some of the other node's frames will not arrive.
    Lost(Lost),
    /// The other node says that some of our frames have not arrived there and will not.
    LostThere(Lost),
    /// The session is over; the link goes on trying to reach the other node.
    Down(Down),
    /// One of the two nodes does not want to talk to the other.
    Refused(Refusal),
}

/// A frame that has arrived.
#[derive(Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Which session of the link: see [`super::Link::handled`].
    pub session: u64,
    pub(crate) frame: Vec<u8>,
    /// Somebody waits to hear that it was handled: the sender's node keeps payloads until then.
    pub(crate) is_awaited: bool,
}

impl Delivery {
    /// What was sent.
    pub fn payload(&self) -> &[u8] {
        &self.frame[super::HEADER_BYTES..]
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delivery({} bytes, session {})", self.payload().len(), self.session)
    }
}

/// Frames that are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many frames.
    pub frames: u64,
    /// How many messages were in them.
    pub messages: u64,
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// Why.
    pub reason: DownReason,
    /// So many of our frames have been handled by the other node for certain.
    pub last_acknowledged: u64,
    /// What was sent after those: nobody knows which of it arrived. A reliable link gives the payloads back, in order.
    pub unacknowledged: Lost,
    /// See `unacknowledged`.
    pub undelivered: Vec<Undelivered>,
}

/// A frame that was not acknowledged when its session ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Messages in it.
    pub messages: u32,
    pub(crate) frame: Vec<u8>,
}

impl Undelivered {
    /// What was sent.
    pub fn payload(&self) -> &[u8] {
        &self.frame[super::HEADER_BYTES..]
    }
}

impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Undelivered({} messages)", self.messages)
    }
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownReason {
    /// Nothing was heard for this long.
    Silent {
        /// Nanoseconds.
        for_ns: u64,
    },
    /// It began anew: its process was started again, or it had given this node up.
    Restarted,
    /// It left.
    Left,
    /// This node leaves.
    Leaving,
    /// In a grid: the node that hands on what is for it is down, or does not reach it.
    NoWay {
        /// That node.
        through: NodeId,
    },
    /// In a grid: the two meet directly, because the way through others had ended.
    Straight,
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownReason::Silent { for_ns } => {
                write!(f, "not heard for {:?}", std::time::Duration::from_nanos(*for_ns))
            }
            DownReason::Restarted => f.write_str("it was started again, or had given us up"),
            DownReason::Left => f.write_str("it left"),
            DownReason::Leaving => f.write_str("this node leaves"),
            DownReason::NoWay { through } => {
                write!(f, "{through}, which messages for it go through, does not reach it")
            }
            DownReason::Straight => f.write_str("messages for it now go straight"),
        }
    }
}

/// Why two nodes do not talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// They speak different versions of the protocol.
    Version {
        /// The other node's.
        theirs: u8,
        /// This node's.
        ours: u8,
    },
    /// This node's epoch is older than one that the other node has seen: another process with the same number has been started since,
    /// or the clock that the epoch came from was set back. Only a larger epoch will do.
    OldEpoch {
        /// This node's epoch.
        ours: u64,
        /// The one that the other node has seen.
        seen: u64,
    },
    /// Their messages go by different routes: all nodes must be started with the same.
    Route {
        /// The other node's.
        theirs: Grid,
        /// This node's.
        ours: Grid,
    },
    /// The other node came with such an epoch.
    TheirOldEpoch {
        /// The other node's epoch.
        theirs: u64,
        /// The one that this node has seen.
        seen: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Version { theirs, ours } => {
                write!(f, "it speaks version {theirs} of the protocol, this node version {ours}")
            }
            Refusal::Route { theirs, ours } => write!(
                f,
                "its messages go by the route {theirs}, this node's by {ours}: start all nodes with the same"
            ),
            Refusal::OldEpoch { ours, seen } => {
                write!(f, "this node's epoch {ours} is older than {seen}, which it has seen")
            }
            Refusal::TheirOldEpoch { theirs, seen } => {
                write!(f, "its epoch {theirs} is older than {seen}, which was seen before")
            }
        }
    }
}

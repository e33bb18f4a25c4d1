//! Events that a link reports to its owner.

use crate::fabric::NodeId;
use crate::route::Grid;
use std::fmt;

/// An event of a link. Events come in the order in which they happened.
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
    /// The number of the link's session in which the frame came: see [`super::Link::handled`].
    pub session: u64,
    pub(crate) frame: Vec<u8>,
    /// Whether somebody waits to hear that the frame was handled: the sender's node keeps payloads
    /// until then.
    pub(crate) is_awaited: bool,
    /// Whether the payload is not a sequence of messages.
    pub(crate) is_malformed: bool,
}

impl Delivery {
    /// Its memory, for [`Fabric::recycle`](crate::fabric::Fabric::recycle).
    pub fn into_frame(self) -> Vec<u8> {
        self.frame
    }

    /// The bytes that were sent.
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
    /// The number of frames.
    pub frames: u64,
    /// The number of messages in these frames.
    pub messages: u64,
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// The reason for which the session ended.
    pub reason: DownReason,
    /// The number of our frames that the other node has certainly handled.
    pub last_acknowledged: u64,
    /// The frames that were sent after those: nobody knows which of them arrived. A reliable link
    /// gives their payloads back, in order.
    pub unacknowledged: Lost,
    /// The frames that a reliable link gives back: see `unacknowledged`.
    pub undelivered: Vec<Undelivered>,
}

/// A frame that was not acknowledged when its session ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Messages in it.
    pub messages: u32,
    pub(crate) was_sent: bool,
    pub(crate) frame: Vec<u8>,
}

impl Undelivered {
    /// Whether it was sent at least once, so that it may have arrived.
    pub fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// The bytes that were sent.
    pub fn payload(&self) -> &[u8] {
        &self.frame[super::HEADER_BYTES..]
    }
}

impl fmt::Debug for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Undelivered({} messages)", self.messages)
    }
}

/// The reason for which a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DownReason {
    /// The other node was not heard for this long.
    Silent {
        /// Nanoseconds.
        for_ns: u64,
    },
    /// The other node began anew: its process was started again, or it had given this node up.
    Restarted,
    /// The other node left.
    Left,
    /// This node leaves.
    Leaving,
    /// In a grid: the next node on the way to the other one is down, or does not reach it.
    NoWay {
        /// The next node on the way.
        through: NodeId,
    },
    /// In a grid: the two meet directly, because the way through others had ended.
    Straight,
    /// The other node broke the protocol, so this node has cut it off. The two may begin anew after
    /// [`LinkConfig::down_after_ns`](super::LinkConfig::down_after_ns).
    Broke(Breach),
    /// The other node has cut this one off: it says that this node has broken the protocol.
    CutOff,
}

/// A breach of the protocol. No honest node commits one, and no fabric makes an honest node look as
/// if it did. (The exception is [`Breach::Unread`]: an honest node commits it if its actors hold up
/// all that comes, while they go on asking.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breach {
    /// The other node has sent a number that is out of range: for example, it acknowledges frames
    /// that it was not sent.
    Absurd {
        /// The meaning of the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest that it could be.
        most: u64,
    },
    /// The payload of a frame is not a sequence of messages.
    Malformed,
    /// The other node asks for more than it takes: too many bytes of messages wait for it.
    Unread {
        /// The number of bytes that wait.
        bytes: usize,
        /// The largest number that may wait:
        /// [`PeerLimits::unread_bytes`](crate::PeerLimits::unread_bytes).
        most: usize,
    },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::Absurd { what, value, most } => {
                write!(f, "it says that {what} is {value}, which can be {most} at most")
            }
            Breach::Malformed => f.write_str("what lies in a frame is no sequence of messages"),
            Breach::Unread { bytes, most } => write!(
                f,
                "{bytes} bytes wait for it that it does not take, and {most} may (PeerLimits::unread_bytes)"
            ),
        }
    }
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
            DownReason::Broke(breach) => write!(f, "it broke the protocol: {breach}"),
            DownReason::CutOff => f.write_str("it says that this node has broken the protocol"),
        }
    }
}

/// The reason for which two nodes do not talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The two nodes speak different versions of the protocol.
    Version {
        /// The other node's version.
        theirs: u8,
        /// This node's version.
        ours: u8,
    },
    /// This node's incarnation is older than one that the other node has seen: another process with
    /// the same number has been started since, or the clock that the incarnation came from was set
    /// back. Only a larger incarnation will do.
    OldIncarnation {
        /// This node's incarnation.
        ours: u64,
        /// The incarnation that the other node has seen.
        seen: u64,
    },
    /// The messages of the two nodes go by different routes: all nodes must be started with the
    /// same.
    Route {
        /// The other node's route.
        theirs: Grid,
        /// This node's route.
        ours: Grid,
    },
    /// The other node has sent a number that is out of range, and no session was cut off for that
    /// (else see [`Breach`]). The frame was dropped. This is told once.
    Absurd {
        /// The meaning of the number.
        what: &'static str,
        /// The number.
        value: u64,
        /// The largest that it could be.
        most: u64,
    },
    /// The other node's incarnation is older than one that this node has seen.
    TheirOldIncarnation {
        /// The other node's incarnation.
        theirs: u64,
        /// The incarnation that this node has seen.
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
            Refusal::OldIncarnation { ours, seen } => {
                write!(f, "this node's incarnation {ours} is older than {seen}, which it has seen")
            }
            Refusal::Absurd { what, value, most } => {
                write!(f, "it says that {what} is {value}, which can be {most} at most")
            }
            Refusal::TheirOldIncarnation { theirs, seen } => {
                write!(f, "its incarnation {theirs} is older than {seen}, which was seen before")
            }
        }
    }
}

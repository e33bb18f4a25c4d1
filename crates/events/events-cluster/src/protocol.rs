//! The messages between the coordinator, on the node with the queue, and the agents, on the nodes
//! that run events.
//!
//! Bytes may be longer than a frame: what does not fit goes ahead, in [`Up::Part`] and
//! [`Down::Part`], and the next message with bytes has the end of them.

use actinium_events::Transition;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};

/// Bytes that one message holds at most: as hexadecimal digits, too, they fit in a frame.
const BYTES_MAX: usize = 24 << 10;
/// Numbers that one message holds at most, so that it fits in a frame.
pub(crate) const NUMBERS_MAX: usize = 1_000;
/// The most bytes that go to another node for one event.
pub(crate) const EVENT_BYTES_MAX: usize = 256 << 20;

/// A message from a node that runs events to the node with the queue.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.report")]
pub(crate) enum Up {
    /// The node is there, and may be given events.
    Join {
        /// How many events it has in flight.
        slots: u64,
        /// A digest of what the node was asked to run: the graph, and all settings that decide the
        /// result.
        digest: u64,
        /// The graph and settings as text, for people.
        says: String,
    },
    /// The first bytes of the next message.
    Part(Blob),
    /// All but the outputs of an event has run.
    Ran {
        /// The event's number.
        number: u64,
        /// What its outputs need.
        bytes: Blob,
    },
    /// An event has failed.
    Failed {
        /// The event's number.
        number: u64,
        /// The module's label.
        module: String,
        /// The module's error message.
        cause: String,
    },
    /// Events that it was given and has not begun.
    Back {
        /// The events' numbers.
        numbers: Vec<u64>,
    },
    /// A piece of the source has been read to its end.
    Read {
        /// The piece.
        piece: u32,
        /// The number of its events.
        events: u64,
    },
    /// The run cannot go on: a piece could not be read, or a transition has failed.
    Broken {
        /// What has failed, and why.
        cause: String,
    },
    /// The node takes part no more, because its program or system wants that.
    Leaves,
    /// The node has nothing more to run: its figures, as JSON.
    Figures(Blob),
    /// The node knows that its figures have come.
    Gone,
    /// Somebody wants the run to stop, who can reach this node.
    Stop,
}

/// A message from the node with the queue to a node that runs events.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.order")]
pub(crate) enum Down {
    /// Run these events, which the node makes itself.
    Work(Vec<u64>),
    /// The first bytes of the next message.
    Part(Blob),
    /// Run this event.
    Event {
        /// The event's number.
        number: u64,
        /// The event, as the source has it.
        bytes: Blob,
    },
    /// Read and run the events of this piece of the source.
    Piece {
        /// The piece.
        piece: u32,
        /// The indexes of its events that have been run elsewhere, as JSON: ranges without their
        /// ends.
        done: Blob,
    },
    /// A run or a block begins or ends.
    Transition {
        /// Which it is.
        kind: Barrier,
        /// The number of the run or block.
        number: u64,
        /// The conditions of a run that begins, if it has any.
        conditions: Blob,
    },
    /// The node may not take part, for this reason.
    Refused(String),
    /// Begin no more.
    Stop,
    /// There are no more events.
    End,
    /// The figures have come.
    Bye,
}

/// Which change comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Message)]
#[message(name = "actinium.events.barrier")]
pub(crate) enum Barrier {
    /// A run begins.
    BeginRun,
    /// A run ends.
    EndRun,
    /// A block begins.
    BeginBlock,
    /// A block ends.
    EndBlock,
}

impl Down {
    /// The message for a transition.
    pub(crate) fn transition(transition: Transition, conditions: Blob) -> Self {
        let (kind, number) = match transition {
            Transition::BeginRun(number) => (Barrier::BeginRun, number),
            Transition::EndRun(number) => (Barrier::EndRun, number),
            Transition::BeginBlock(number) => (Barrier::BeginBlock, number),
            Transition::EndBlock(number) => (Barrier::EndBlock, number),
        };
        Down::Transition { kind, number, conditions }
    }
}

impl Barrier {
    /// The transition, with its number.
    pub(crate) fn of(self, number: u64) -> Transition {
        match self {
            Barrier::BeginRun => Transition::BeginRun(number),
            Barrier::EndRun => Transition::EndRun(number),
            Barrier::BeginBlock => Transition::BeginBlock(number),
            Barrier::EndBlock => Transition::EndBlock(number),
        }
    }
}

/// A message that may hold bytes.
pub(crate) trait HasBytes: Sized {
    /// The bytes, if it has any.
    fn bytes(&mut self) -> Option<&mut Blob>;
    /// A message with the first bytes of the next one.
    fn part(bytes: Blob) -> Self;

    /// The message in parts that fit in frames.
    fn parts(mut self) -> Vec<Self> {
        let mut parts = Vec::new();
        if let Some(bytes) = self.bytes()
            && bytes.len() > BYTES_MAX
        {
            let mut chunks: Vec<&[u8]> = bytes.chunks(BYTES_MAX).collect();
            let last = chunks.pop().unwrap_or_default().to_vec();
            parts.extend(chunks.into_iter().map(|chunk| Self::part(chunk.to_vec().into())));
            *bytes = last.into();
        }
        parts.push(self);
        parts
    }
}

impl HasBytes for Up {
    fn bytes(&mut self) -> Option<&mut Blob> {
        match self {
            Up::Ran { bytes, .. } | Up::Figures(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn part(bytes: Blob) -> Self {
        Up::Part(bytes)
    }
}

impl HasBytes for Down {
    fn bytes(&mut self) -> Option<&mut Blob> {
        match self {
            Down::Event { bytes, .. }
            | Down::Piece { done: bytes, .. }
            | Down::Transition { conditions: bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    fn part(bytes: Blob) -> Self {
        Down::Part(bytes)
    }
}

/// Puts the parts of messages of one node together.
#[derive(Debug, Default)]
pub(crate) struct Joined(Vec<u8>);

impl Joined {
    /// Keeps a part. False: there are more bytes than any event has.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> bool {
        let fits = self.0.len() + bytes.len() <= EVENT_BYTES_MAX;
        if fits {
            self.0.extend_from_slice(bytes);
        }
        fits
    }

    /// Completes a message: with the parts that came before it.
    pub(crate) fn complete<M: HasBytes>(&mut self, message: &mut M) {
        if !self.0.is_empty()
            && let Some(bytes) = message.bytes()
        {
            let mut all = std::mem::take(&mut self.0);
            all.extend_from_slice(bytes);
            *bytes = all.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bytes_travel_in_parts_and_come_whole() {
        for length in [0, 1, BYTES_MAX, BYTES_MAX + 1, 5 * BYTES_MAX + 7] {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let parts = Up::Ran { number: 3, bytes: bytes.clone().into() }.parts();
            assert_eq!(parts.len(), length.div_ceil(BYTES_MAX).max(1));
            let mut joined = Joined::default();
            let whole = parts.into_iter().find_map(|mut part| match &part {
                Up::Part(some) => {
                    assert!(some.len() <= BYTES_MAX && joined.part(some));
                    None
                }
                _ => {
                    joined.complete(&mut part);
                    Some(part)
                }
            });
            let Some(Up::Ran { number: 3, bytes: all }) = whole else { panic!("{whole:?}") };
            assert!(*all == *bytes && joined.0.is_empty());
        }
    }

    #[test]
    fn nobody_can_have_more_kept_than_an_event_may_have() {
        let mut joined = Joined(vec![0; EVENT_BYTES_MAX - 1]);
        assert!(joined.part(&[1]));
        assert!(!joined.part(&[1]));
    }
}

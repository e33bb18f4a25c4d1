//! The receiving half of a session: what has arrived, what is missing, what has been handled.

use super::event::Lost;
use super::frame::{COUNT_MAX, Header, Kind};
use std::collections::BTreeMap;

/// The receiving half of a session.
#[derive(Default)]
pub(super) struct Incoming {
    /// Whether the other node sends lost frames again, so that this end waits for them.
    reliable: bool,
    window_frames: u64,
    /// All frames before this number have arrived, or are given up.
    pub(super) arrived: u64,
    /// The number of messages in the frames before `arrived`, as the other node has counted them.
    /// It may lie, but the sum stays in range.
    messages: u64,
    /// Frames that have overtaken others.
    held: BTreeMap<u64, (u64, Vec<u8>)>,
    /// The number of frames that were handed to the owner and are not yet handled.
    pub(super) handed: u64,
    /// The numbers of those frames, as runs without gaps: first number and length.
    runs: std::collections::VecDeque<(u64, u64)>,
    /// All losses so far.
    pub(super) lost: Lost,
}

/// The verdict on a data frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The frame is next in order, or held until it is. Before it, this much was lost.
    New(Lost),
    /// The frame is known already, or was given up.
    Duplicate,
    /// The frame's number is beyond those that this node has allowed.
    BeyondWindow,
}

impl Incoming {
    pub(super) fn new(reliable: bool, window_frames: u32) -> Self {
        Incoming { reliable, window_frames: window_frames.into(), ..Incoming::default() }
    }

    /// All frames before the returned number have been handled, or are given up.
    pub(super) fn handled(&self) -> u64 {
        self.runs.front().map_or(self.arrived, |&(first, _)| first)
    }

    /// Returns the first number that the other node may not use yet. The other node is told how far
    /// this end is before it goes on.
    fn end(&self) -> u64 {
        self.handled().saturating_add(self.window_frames)
    }

    /// Checks that the counts in a frame's header are possible, so that no sum with them leaves its
    /// range. The caller asks before it does anything with the frame. `Err`: the meaning of the
    /// first impossible count, its value, and the largest possible one.
    pub(super) fn check(&self, header: &Header) -> Result<(), (&'static str, u64, u64)> {
        let count_max = u64::from(u32::MAX);
        if header.messages > count_max {
            return Err(("the number of messages in a frame", header.messages, count_max));
        }
        // A data frame beyond the end is only early; but a node announces what it has sent, so
        // nothing can be beyond.
        if header.kind != Kind::Data && header.number > self.end() {
            return Err(("the number of its next frame", header.number, self.end()));
        }
        // No frame holds more than that, so all that this end has not seen hold so many at most.
        let frames = header.number.saturating_sub(self.arrived);
        let most = self.messages.saturating_add(frames.saturating_mul(count_max)).min(COUNT_MAX);
        if header.messages_before > most {
            return Err(("the number of messages before a frame", header.messages_before, most));
        }
        Ok(())
    }

    /// Takes a data frame. Frames that can be handed to the owner go to `deliver`, in order.
    pub(super) fn data(
        &mut self,
        header: &Header,
        frame: Vec<u8>,
        mut deliver: impl FnMut(Vec<u8>),
    ) -> Arrival {
        let number = header.number;
        if number < self.arrived || self.held.contains_key(&number) {
            return Arrival::Duplicate;
        }
        if number >= self.end() {
            return Arrival::BeyondWindow;
        }
        let mut lost = Lost::default();
        if number > self.arrived {
            if self.reliable {
                self.held.insert(number, (header.messages, frame));
                return Arrival::New(lost);
            }
            lost = self.skip_to(number, header.messages_before);
        }
        self.take(number, header.messages);
        deliver(frame);
        while let Some((messages, frame)) = self.held.remove(&self.arrived) {
            self.take(self.arrived, messages);
            deliver(frame);
        }
        Arrival::New(lost)
    }

    fn take(&mut self, number: u64, messages: u64) {
        // Below the end, which may be the largest number there is.
        self.arrived = number + 1;
        self.messages = self.messages.saturating_add(messages);
        self.handed += 1;
        match self.runs.back_mut() {
            Some((first, len)) if *first + *len == number => *len += 1,
            _ => self.runs.push_back((number, 1)),
        }
    }

    /// Notes that the other node has sent all frames before this number. Those that have not
    /// arrived by now are lost, unless they are sent again.
    pub(super) fn announced(&mut self, number: u64, messages_before: u64) -> Lost {
        if self.reliable || number <= self.arrived {
            return Lost::default();
        }
        self.skip_to(number, messages_before)
    }

    fn skip_to(&mut self, number: u64, messages_before: u64) -> Lost {
        let lost = Lost {
            frames: number - self.arrived,
            messages: messages_before.saturating_sub(self.messages),
        };
        self.arrived = number;
        self.messages = self.messages.max(messages_before);
        // No more is lost than was counted: neither sum leaves its range.
        self.lost.frames += lost.frames;
        self.lost.messages = self.lost.messages.saturating_add(lost.messages);
        lost
    }

    /// Notes that the owner has handled the next `frames` of the frames that were handed to it.
    pub(super) fn mark_handled(&mut self, mut frames: u64) {
        self.handed = self.handed.saturating_sub(frames);
        while frames > 0 {
            let Some((first, len)) = self.runs.front_mut() else { return };
            let some = frames.min(*len);
            *first += some;
            *len -= some;
            frames -= some;
            if *len == 0 {
                self.runs.pop_front();
            }
        }
    }
}

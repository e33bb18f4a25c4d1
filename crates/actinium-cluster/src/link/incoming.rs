//! The receiving half of a session: what has arrived, what is missing, what has been handled.

use super::event::Lost;
use super::frame::Header;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct Incoming {
    /// The other node sends again what is lost: wait for it.
    reliable: bool,
    window_frames: u64,
    /// All before it have arrived, or are given up.
    pub(super) arrived: u64,
    /// Messages before that one.
    messages: u64,
    /// Frames that have overtaken others.
    held: BTreeMap<u64, (u64, Vec<u8>)>,
    /// Handed to the owner and not yet handled.
    pub(super) handed: u64,
    /// Numbers of what was handed to the owner and not yet handled, as runs without gaps: first number and length.
    runs: std::collections::VecDeque<(u64, u64)>,
    /// All that is lost so far.
    pub(super) lost: Lost,
}

/// What a data frame was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// In its turn, or held until it is; after so much was lost.
    New(Lost),
    /// Known already, or given up.
    Duplicate,
    /// More than this node has allowed.
    BeyondWindow,
}

impl Incoming {
    pub(super) fn new(reliable: bool, window_frames: u32) -> Self {
        Incoming { reliable, window_frames: window_frames.into(), ..Incoming::default() }
    }

    /// All below have been handled, or are given up.
    pub(super) fn handled(&self) -> u64 {
        self.runs.front().map_or(self.arrived, |&(first, _)| first)
    }

    /// A data frame: what can be handed to the owner goes to `deliver`, in order.
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
        if number >= self.handled() + self.window_frames {
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
        self.arrived = number + 1;
        self.messages += messages;
        self.handed += 1;
        match self.runs.back_mut() {
            Some((first, len)) if *first + *len == number => *len += 1,
            _ => self.runs.push_back((number, 1)),
        }
    }

    /// The other node has sent all frames before this number: what has not arrived by now is lost, unless it is sent again.
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
        self.messages = messages_before;
        self.lost.frames += lost.frames;
        self.lost.messages += lost.messages;
        lost
    }

    /// The owner has handled the next so many of what was handed to it.
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

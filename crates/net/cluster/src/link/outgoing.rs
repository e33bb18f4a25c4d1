//! The sending half of a session: what is under way, and what to send again.

use super::HEADER_BYTES;
use super::event::{Lost, Undelivered};
use std::collections::VecDeque;

/// A data frame that the other node has not yet handled.
struct InFlight {
    /// The frame, with room for the header in front. `None`: it was sent, and will not be sent
    /// again.
    frame: Option<Vec<u8>>,
    messages: u32,
    messages_before: u64,
    sent_ns: u64,
}

/// The sending half of a session.
#[derive(Default)]
pub(super) struct Outgoing {
    reliable: bool,
    window_frames: u64,
    /// The number of the first frame in `in_flight`: the other node has handled all frames before
    /// it.
    pub(super) acknowledged: u64,
    in_flight: VecDeque<InFlight>,
    /// The number of the first frame that was never sent, and the number of messages before it.
    unsent: u64,
    messages_unsent: u64,
    messages: u64,
    /// All frames before this number have arrived at the other node.
    arrived: u64,
    /// No frame needs to be sent again before this.
    resend_at_ns: u64,
    /// The losses that the other node has reported.
    lost: Lost,
    /// The bytes of frames that are kept to come back when the session ends, and would not be
    /// otherwise, and the most that are.
    kept_bytes: usize,
    pub(super) keep_bytes: usize,
    /// The last frame that is needed no more.
    pub(super) spent: Option<Vec<u8>>,
}

/// One frame to send: the header's fields, and the bytes.
pub(super) struct Outgoer<'a> {
    pub(super) number: u64,
    pub(super) messages_before: u64,
    pub(super) messages: u64,
    pub(super) frame: &'a mut Vec<u8>,
}

impl Outgoing {
    pub(super) fn new(reliable: bool, window_frames: u32) -> Self {
        Outgoing {
            reliable,
            window_frames: window_frames.into(),
            resend_at_ns: u64::MAX,
            ..Outgoing::default()
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.acknowledged + self.in_flight.len() as u64
    }

    pub(super) fn has_credit(&self) -> bool {
        (self.in_flight.len() as u64) < self.window_frames
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The number of the frame that is sent next, and the number of messages before it.
    pub(super) fn front(&self) -> (u64, u64) {
        (self.unsent, self.messages_unsent)
    }

    pub(super) fn add(&mut self, messages: u32, frame: Vec<u8>) {
        let messages_before = self.messages;
        self.messages += u64::from(messages);
        self.in_flight.push_back(InFlight {
            frame: Some(frame),
            messages,
            messages_before,
            sent_ns: 0,
        });
    }

    /// Whether something waits to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent < self.next()
    }

    /// The time at which a frame is to be sent again, if nothing is heard until then.
    pub(super) fn resend_at_ns(&self) -> Option<u64> {
        (self.resend_at_ns != u64::MAX).then_some(self.resend_at_ns)
    }

    /// Gives `send` the frames that are due until it takes no more; false if it did not take all.
    pub(super) fn transmit(
        &mut self,
        now_ns: u64,
        resend_ns: u64,
        mut send: impl FnMut(Outgoer<'_>) -> bool,
    ) -> bool {
        let due = now_ns >= self.resend_at_ns;
        let first = if due { self.arrived.max(self.acknowledged) } else { self.unsent };
        let (acknowledged, unsent) = (self.acknowledged, self.unsent);
        let mut complete = true;
        for (number, it) in
            (first..).zip(self.in_flight.range_mut((first - acknowledged) as usize..))
        {
            let is_new = number >= unsent;
            if !is_new && now_ns.saturating_sub(it.sent_ns) < resend_ns {
                continue;
            }
            let Some(frame) = &mut it.frame else { continue };
            let messages = u64::from(it.messages);
            let messages_before = it.messages_before;
            if !send(Outgoer { number, messages_before, messages, frame }) {
                complete = false;
                break;
            }
            it.sent_ns = now_ns;
            if is_new {
                self.unsent = number + 1;
                self.messages_unsent = messages_before + messages;
            }
            if !self.reliable {
                let bytes = self.kept_bytes + frame.len();
                if bytes <= self.keep_bytes {
                    self.kept_bytes = bytes;
                } else {
                    self.spent = it.frame.take();
                }
            }
        }
        if self.reliable && (due || self.resend_at_ns == u64::MAX) {
            // What has arrived and waits to be handled needs no second time.
            let first = self.arrived.max(self.acknowledged);
            let (skip, sent) = (first - self.acknowledged, self.unsent - first);
            let under_way = self.in_flight.iter().skip(skip as usize).take(sent as usize);
            let oldest = under_way.map(|it| it.sent_ns).min();
            self.resend_at_ns =
                oldest.map_or(u64::MAX, |sent_ns| sent_ns.saturating_add(resend_ns));
        }
        complete
    }

    /// Notes how far the other node says it is. A number beyond the frames that were sent is cut
    /// down to these.
    pub(super) fn heard(&mut self, arrived: u64, handled: u64) {
        let arrived = arrived.min(self.unsent);
        self.arrived = self.arrived.max(arrived);
        while self.acknowledged < handled.min(arrived) {
            let frame = self.in_flight.pop_front().and_then(|it| it.frame);
            if self.kept_bytes > 0 {
                self.kept_bytes -= frame.as_ref().map_or(0, Vec::len);
            }
            self.spent = frame.or(self.spent.take());
            self.acknowledged += 1;
        }
        if self.in_flight.is_empty() {
            self.resend_at_ns = u64::MAX;
        }
    }

    /// Notes the losses that the other node has reported so far, and returns the new ones among
    /// them.
    pub(super) fn heard_lost(&mut self, lost: Lost) -> Option<Lost> {
        if lost.frames <= self.lost.frames {
            return None;
        }
        let new = Lost {
            frames: lost.frames - self.lost.frames,
            messages: lost.messages.saturating_sub(self.lost.messages),
        };
        self.lost = lost;
        Some(new)
    }

    /// Ends the session. Returns the size of all that was not acknowledged, and the payloads that
    /// are still kept.
    pub(super) fn end(self) -> (Lost, Vec<Undelivered>) {
        let unsent = self.unsent - self.acknowledged;
        let messages = self.in_flight.iter().map(|it| u64::from(it.messages)).sum();
        let lost = Lost { frames: self.in_flight.len() as u64, messages };
        let back = |(index, it): (u64, InFlight)| {
            let was_sent = index < unsent;
            Some(Undelivered { messages: it.messages, was_sent, frame: it.frame? })
        };
        (lost, (0..).zip(self.in_flight).filter_map(back).collect())
    }
}

const _: () = assert!(HEADER_BYTES.is_multiple_of(8));

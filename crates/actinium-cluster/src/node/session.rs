//! The session of two nodes of a grid that are no neighbours: what they say reaches the other one through nodes between.
//!
//! The links on the way do the work: they keep order, drop what comes twice, and send again what is lost if they are *reliable*. What they do not know is
//! this pair. So its messages are numbered: what a node between takes with it when it dies is a gap, which is reported with its number at both ends, and
//! whatever comes behind its time (another way was taken meanwhile) is dropped, never handed over out of order.
//!
//! As on a link each end has an epoch, larger than any that it had before, and messages name the receiver's: those of an earlier session reach nobody. There are
//! no heartbeats: that there is a way to the other node is known from the neighbours (see `around`), and that there is one back from the
//! exchange of hellos that begins the session.

use super::NodeEvent;
use crate::fabric::NodeId;
use crate::link::{DownReason, Lost};
use crate::message::FarSay;
use std::collections::VecDeque;

/// One end. It is told what is said and says what to answer; `events` are told to others by its owner, in order.
pub(super) struct Session {
    node: NodeId,
    epoch: u64,
    /// The other end's epoch.
    peer: Option<u64>,
    /// The largest of these.
    seen_epoch: u64,
    is_up: bool,
    /// The other node has left: it is not called until it is heard.
    is_quiet: bool,
    /// The two are met by a link of their own: nothing goes through others.
    pub(super) is_straight: bool,
    sent: u64,
    acknowledged: u64,
    lost_there: u64,
    received: u64,
    lost: u64,
    /// The other end is to be told how far this one is.
    owes: bool,
    /// When to ask how far the other end is.
    ask_at_ns: u64,
    pub(super) events: VecDeque<NodeEvent>,
}

impl Session {
    pub(super) fn new(node: NodeId, epoch: u64) -> Self {
        Session {
            node,
            epoch: epoch.max(1),
            peer: None,
            seen_epoch: 0,
            is_up: false,
            is_quiet: false,
            is_straight: false,
            sent: 0,
            acknowledged: 0,
            lost_there: 0,
            received: 0,
            lost: 0,
            owes: false,
            ask_at_ns: 0,
            events: VecDeque::new(),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    /// Whether all that was sent has arrived or is known to be lost.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_up || self.sent == self.acknowledged
    }

    /// What lies in front of so many messages that are sent now: the other end's epoch, and their number. `None`: it is not up.
    pub(super) fn send(&mut self, messages: u32) -> Option<(u64, u64)> {
        let to_epoch = self.peer.filter(|_| self.is_up)?;
        let number = self.sent;
        self.sent += u64::from(messages);
        Some((to_epoch, number))
    }

    /// What was given to [`Session::send`] just now did not leave.
    pub(super) fn unsend(&mut self, messages: u32) {
        self.sent -= u64::from(messages);
    }

    pub(super) fn to_epoch(&self) -> u64 {
        self.peer.unwrap_or_default()
    }

    /// What to say while it is not up, and there is a way.
    pub(super) fn hello(&self) -> Option<FarSay> {
        (!self.is_up && !self.is_quiet && !self.is_straight).then(|| self.own_hello())
    }

    fn own_hello(&self) -> FarSay {
        FarSay::Hello { from_epoch: self.epoch, to_epoch: self.to_epoch(), is_up: self.is_up }
    }

    /// The other end has said something; what to answer at once. `ended`: what to do when a session ends.
    pub(super) fn said(
        &mut self,
        to_epoch: u64,
        say: FarSay,
        ended: impl FnOnce() -> u64,
    ) -> Option<FarSay> {
        match say {
            FarSay::Hello { from_epoch, to_epoch, is_up } => {
                if self.is_straight || from_epoch < self.seen_epoch {
                    return None;
                }
                if self.is_up && from_epoch > self.seen_epoch {
                    self.end(DownReason::Restarted, ended);
                }
                self.seen_epoch = from_epoch;
                self.is_quiet = false;
                if !self.is_up {
                    self.peer = Some(from_epoch);
                    if to_epoch == self.epoch {
                        self.up();
                    }
                }
                (!is_up || !self.is_up).then(|| self.own_hello())
            }
            FarSay::Bye { from_epoch } => {
                if self.is_up && self.peer == Some(from_epoch) {
                    self.end(DownReason::Left, ended);
                    // A hello that its farewell has overtaken is no new beginning.
                    self.seen_epoch = from_epoch.saturating_add(1);
                    self.is_quiet = true;
                }
                None
            }
            FarSay::Count { sent, received, lost, asks } => {
                if !self.is_of_this(to_epoch) {
                    return None;
                }
                // It has come the same way as all before it.
                self.skip_to(sent);
                self.acknowledged = self.acknowledged.max(received.min(self.sent));
                if lost > self.lost_there {
                    let messages = lost - self.lost_there;
                    self.lost_there = lost;
                    let lost = Lost { frames: 0, messages };
                    self.events.push_back(NodeEvent::LostThere(self.node, lost));
                }
                self.owes |= asks;
                None
            }
        }
    }

    /// So many messages have come, with this number. Whether they are to be handed over.
    pub(super) fn arrived(&mut self, to_epoch: u64, number: u64, messages: u32) -> bool {
        if !self.is_of_this(to_epoch) || number < self.received {
            return false;
        }
        self.skip_to(number);
        self.received = number.saturating_add(messages.into());
        self.owes = true;
        true
    }

    /// Whether what names this epoch of ours is of this session: whoever names it is up.
    fn is_of_this(&mut self, to_epoch: u64) -> bool {
        if to_epoch != self.epoch || self.peer.is_none() || self.is_straight {
            return false;
        }
        if !self.is_up {
            self.up();
        }
        true
    }

    fn skip_to(&mut self, number: u64) {
        if number > self.received {
            let messages = number - self.received;
            self.received = number;
            self.lost += messages;
            self.owes = true;
            let lost = Lost { frames: 0, messages };
            self.events.push_back(NodeEvent::Lost(self.node, lost));
        }
    }

    fn up(&mut self) {
        self.is_up = true;
        self.events.push_back(NodeEvent::Up(self.node));
    }

    /// It is over, if it was up. `undelivered` closes what gathers for the other node, and says how many messages came back.
    pub(super) fn end(&mut self, reason: DownReason, undelivered: impl FnOnce() -> u64) {
        if !self.is_up {
            return;
        }
        self.events.push_back(NodeEvent::Down {
            node: self.node,
            reason,
            last_acknowledged: self.acknowledged,
            unacknowledged: Lost { frames: 0, messages: self.sent - self.acknowledged },
            undelivered: undelivered(),
        });
        *self = Session {
            seen_epoch: self.seen_epoch,
            is_straight: self.is_straight,
            events: std::mem::take(&mut self.events),
            ..Session::new(self.node, self.epoch + 1)
        };
    }

    /// This node leaves: what to say, to which epoch.
    pub(super) fn leave(&mut self, undelivered: impl FnOnce() -> u64) -> Option<(u64, FarSay)> {
        let to_epoch = self.peer.filter(|_| self.is_up)?;
        let from_epoch = self.epoch;
        self.end(DownReason::Leaving, undelivered);
        self.is_quiet = true;
        Some((to_epoch, FarSay::Bye { from_epoch }))
    }

    /// How far the two are, if that is to be said now. After [`Session::is_busy`] has said so, it is to be called now and then.
    pub(super) fn count(&mut self, now_ns: u64, ask_after_ns: u64) -> Option<FarSay> {
        if !self.is_up {
            return None;
        }
        if self.is_settled() {
            self.ask_at_ns = 0;
        } else if self.ask_at_ns == 0 {
            self.ask_at_ns = now_ns.saturating_add(ask_after_ns);
        }
        let asks = self.ask_at_ns != 0 && now_ns >= self.ask_at_ns;
        if asks {
            self.ask_at_ns = now_ns.saturating_add(ask_after_ns);
        }
        (std::mem::take(&mut self.owes) || asks).then_some(FarSay::Count {
            sent: self.sent,
            received: self.received,
            lost: self.lost,
            asks,
        })
    }

    /// Whether there is something to be said, now or soon.
    pub(super) fn is_busy(&self) -> bool {
        self.is_up && (self.owes || self.sent != self.acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(8);

    fn none() -> u64 {
        0
    }

    /// Says hello until nobody has anything to answer.
    fn meet(a: &mut Session, b: &mut Session) {
        let mut said = a.hello().or_else(|| b.hello().and_then(|hello| a.said(0, hello, none)));
        for (turn, _) in (0..).zip(0..10) {
            let Some(say) = said else { return };
            let hears = if turn % 2 == 0 { &mut *b } else { &mut *a };
            said = hears.said(0, say, none);
        }
        panic!("they go on saying hello");
    }

    fn pair() -> (Session, Session) {
        let (mut a, mut b) = (Session::new(B, 10), Session::new(A, 20));
        meet(&mut a, &mut b);
        assert_eq!(
            (a.events.pop_front(), b.events.pop_front()),
            (Some(NodeEvent::Up(B)), Some(NodeEvent::Up(A)))
        );
        (a, b)
    }

    fn count(from: &mut Session, to: &mut Session, now_ns: u64) {
        if let Some(say) = from.count(now_ns, 10) {
            assert_eq!(to.said(from.to_epoch(), say, none), None);
        }
    }

    #[test]
    fn what_is_missing_is_told_at_both_ends_and_what_is_late_is_dropped() {
        let (mut a, mut b) = pair();
        let first = a.send(2).unwrap();
        let lost = a.send(3).unwrap();
        let third = a.send(1).unwrap();
        assert!(b.arrived(first.0, first.1, 2));
        assert!(b.arrived(third.0, third.1, 1));
        let gap = Lost { frames: 0, messages: 3 };
        assert_eq!(b.events.pop_front(), Some(NodeEvent::Lost(A, gap)));
        assert!(!b.arrived(lost.0, lost.1, 3), "too late");
        assert!(!b.arrived(first.0, first.1, 2), "twice");
        assert!(!a.is_settled());
        count(&mut b, &mut a, 1);
        assert!(a.is_settled());
        assert_eq!(a.events.pop_front(), Some(NodeEvent::LostThere(B, gap)));
        assert!(!b.is_busy());
    }

    #[test]
    fn the_last_messages_are_asked_for_until_they_are_answered_for() {
        let (mut a, mut b) = pair();
        a.send(5).unwrap();
        assert_eq!(a.count(0, 10), None);
        for now_ns in [10, 20] {
            let asked = a.count(now_ns, 10).unwrap();
            assert_eq!(asked, FarSay::Count { sent: 5, received: 0, lost: 0, asks: true });
            b.said(a.to_epoch(), asked, none);
            // The first answer is lost.
            let answer = b.count(now_ns, 10).unwrap();
            if now_ns == 20 {
                a.said(b.to_epoch(), answer, none);
            }
        }
        let lost = Lost { frames: 0, messages: 5 };
        assert_eq!(b.events, [NodeEvent::Lost(A, lost)]);
        assert_eq!(a.events, [NodeEvent::LostThere(B, lost)]);
        assert!(a.is_settled() && !a.is_busy() && !b.is_busy());
    }

    #[test]
    fn one_end_that_begins_anew_ends_the_other_s_session_and_old_messages_reach_nobody() {
        let (mut a, mut b) = pair();
        let old = a.send(4).unwrap();
        let from_b = b.send(1).unwrap();
        b.end(DownReason::NoWay { through: NodeId(2) }, || 7);
        assert!(matches!(b.events.pop_front(), Some(NodeEvent::Down { undelivered: 7, .. })));
        meet(&mut b, &mut a);
        let down = a.events.pop_front().unwrap();
        assert!(
            matches!(down, NodeEvent::Down { reason: DownReason::Restarted, unacknowledged, .. }
                if unacknowledged.messages == 4),
            "{down:?}"
        );
        assert_eq!(a.events.pop_front(), Some(NodeEvent::Up(B)));
        assert!(a.is_up() && b.is_up());
        assert!(!b.arrived(old.0, old.1, 4) && !a.arrived(from_b.0, from_b.1, 1));
        let new = a.send(1).unwrap();
        assert!(b.arrived(new.0, new.1, 1));
    }

    #[test]
    fn whoever_has_left_is_not_called_and_may_come_back() {
        let (mut a, mut b) = pair();
        let (to_epoch, bye) = b.leave(none).unwrap();
        assert_eq!(b.leave(none), None);
        a.said(to_epoch, bye, none);
        assert!(matches!(
            a.events.pop_front(),
            Some(NodeEvent::Down { reason: DownReason::Left, .. })
        ));
        assert_eq!((a.hello(), b.hello()), (None, None));
        let mut next = Session::new(A, 30);
        meet(&mut next, &mut a);
        assert!(a.is_up() && next.is_up());
    }

    #[test]
    fn an_epoch_that_was_set_back_is_not_heard() {
        let (mut a, mut b) = pair();
        b.end(DownReason::Straight, none);
        let old = FarSay::Hello { from_epoch: 5, to_epoch: 10, is_up: false };
        assert_eq!(a.said(0, old, none), None);
        assert!(a.is_up() && a.events.is_empty());
    }
}

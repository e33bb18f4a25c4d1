//! The session of two nodes of a grid that are no neighbours, whose messages reach each other
//! through nodes between.
//!
//! The links on the way keep order, drop messages that come twice, and send lost ones again if they
//! are *reliable*. But they do not know this pair of nodes. So the pair's messages are numbered. If
//! a node between dies, the messages that it had leave a gap, which is reported with its number of
//! messages at both ends. A message that comes too late (because another way was taken meanwhile)
//! is dropped, and never handed over out of order.
//!
//! As on a link each end has an incarnation, larger than any that it had before, and messages name
//! the receiver's: those of an earlier session reach nobody. There are no heartbeats. The
//! neighbours report whether there is a way to the other node (see `reachability`), and the
//! exchange of hellos that begins the session shows that there is one back.
//!
//! **Payloads.** Messages that have arrived may wait here for payloads: their own, or those of
//! earlier messages. The other end is told that they have arrived, or that some before them were
//! lost, only when they were handed over. Until then it keeps their payloads.

use super::event::NodeEvent;
use super::parcel::Mark;
use super::returns::Kept;
use crate::fabric::NodeId;
use crate::link::{COUNT_MAX, DownReason, Lost, Refusal};
use crate::message::SessionSay;
use std::collections::VecDeque;

/// The number under which what is offered in a session is wanted. It is no number of a link's
/// session.
pub(super) fn payload_session(incarnation: u64) -> u64 {
    // Incarnations are below.
    incarnation | 1 << 63
}

/// One end of a session. Its owner gives it the words of the other end and sends its answers. The
/// owner also tells others its `events`, in order.
pub(super) struct Session {
    node: NodeId,
    incarnation: u64,
    /// The other end's incarnation.
    peer: Option<u64>,
    /// The largest incarnation of the other end that was seen.
    seen_incarnation: u64,
    is_up: bool,
    /// Whether an event has told that the other end sends numbers that are out of range.
    is_absurd: bool,
    /// Whether the other node has left: it is not called until it is heard.
    is_quiet: bool,
    /// Whether the two have a link of their own: nothing goes through others.
    pub(super) is_straight: bool,
    /// Whether this node has left: nothing is heard any more.
    pub(super) is_over: bool,
    /// Whether a message had no way. If so, this session ends, even if there is a way soon after:
    /// those who wait for an answer to the message then hear of the end.
    pub(super) is_stranded: bool,
    sent: u64,
    acknowledged: u64,
    lost_there: u64,
    received: u64,
    lost: u64,
    /// The number of envelopes that have arrived and wait to be handed over.
    waiting: u64,
    /// While some wait: what `received` and `lost` were when the last one was handed over, or the
    /// first one of them began to wait.
    handed_over: (u64, u64),
    /// The offers of messages that were sent, by the number behind the last of these messages.
    offered: VecDeque<(u64, Vec<u64>)>,
    /// Whether the other end is to be told how far this one is.
    owes: bool,
    /// The time at which to ask how far the other end is.
    ask_at_ns: u64,
    /// Copies of what was sent and not acknowledged, if somebody wants that back.
    kept: Kept,
    /// Those of which some are lost, although the session goes on.
    pub(super) lost_kept: Kept,
    pub(super) events: VecDeque<NodeEvent>,
    /// The number of events that have left it, in all sessions.
    events_taken: u64,
}

impl Session {
    pub(super) fn new(node: NodeId, incarnation: u64) -> Self {
        Session {
            node,
            incarnation: incarnation.max(1),
            peer: None,
            seen_incarnation: 0,
            is_up: false,
            is_absurd: false,
            is_quiet: false,
            is_straight: false,
            is_over: false,
            is_stranded: false,
            sent: 0,
            acknowledged: 0,
            lost_there: 0,
            received: 0,
            lost: 0,
            waiting: 0,
            handed_over: (0, 0),
            offered: VecDeque::new(),
            owes: false,
            ask_at_ns: 0,
            kept: Kept::default(),
            lost_kept: Kept::default(),
            events: VecDeque::new(),
            events_taken: 0,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up
    }

    /// This end's incarnation, in which it is up or will be.
    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// The number of events so far, in all sessions.
    pub(super) fn events_so_far(&self) -> u64 {
        self.events_taken + self.events.len() as u64
    }

    /// Takes the next event, if it was one of the first `so_far`.
    pub(super) fn take_event(&mut self, so_far: u64) -> Option<NodeEvent> {
        if self.events_taken >= so_far {
            return None;
        }
        let event = self.events.pop_front()?;
        self.events_taken += 1;
        Some(event)
    }

    /// Whether all that was sent has arrived or is known to be lost.
    pub(super) fn is_drained(&self) -> bool {
        !self.is_up || self.sent == self.acknowledged
    }

    /// Whether a number of the other end's is too large. If so, that is told once in a session, and
    /// the caller drops the message that it came with.
    fn is_absurd(&mut self, what: &'static str, value: u64, most: u64) -> bool {
        if value > most && !std::mem::replace(&mut self.is_absurd, true) {
            let refusal = Refusal::Absurd { what, value, most };
            self.events.push_back(NodeEvent::Refused(self.node, refusal));
        }
        value > most
    }

    /// Numbers messages that are sent now. Returns the two fields in front of them: the other end's
    /// incarnation, and the number of the first message. `None`: the session is not up.
    pub(super) fn send(&mut self, messages: u32) -> Option<(u64, u64)> {
        let to_incarnation = self.peer.filter(|_| self.is_up)?;
        let number = self.sent;
        self.sent += u64::from(messages);
        Some((to_incarnation, number))
    }

    /// Notes the offers of the messages that [`Session::send`] has numbered last.
    pub(super) fn offer(&mut self, offers: Vec<u64>) {
        if !offers.is_empty() {
            self.offered.push_back((self.sent, offers));
        }
    }

    /// Takes the offers of messages that the other end has handled. While copies of lost messages
    /// are to be given back, there are none: the payloads of these are given back, too.
    pub(super) fn take_ended_offers(&mut self) -> Vec<u64> {
        let mut ended = Vec::new();
        while self.lost_kept.is_empty()
            && self.offered.front().is_some_and(|(end, _)| *end <= self.acknowledged)
            && let Some((_, offers)) = self.offered.pop_front()
        {
            ended.extend(offers);
        }
        ended
    }

    /// Keeps a copy of the messages that [`Session::send`] has numbered last, if there are no more
    /// than `most` bytes then.
    pub(super) fn keep(&mut self, messages: u32, payload: &[u8], most: usize) {
        self.kept.add(self.sent, messages, payload, most);
    }

    /// Takes the numbers of messages back that were given to [`Session::send`] just now, and did
    /// not leave.
    pub(super) fn unsend(&mut self, messages: u32) {
        self.sent -= u64::from(messages);
        self.is_stranded = true;
    }

    pub(super) fn to_incarnation(&self) -> u64 {
        self.peer.unwrap_or_default()
    }

    /// Returns the word to say while the session is not up, and there is a way.
    pub(super) fn hello(&self) -> Option<SessionSay> {
        (!self.is_up && !self.is_quiet && !self.is_straight).then(|| self.own_hello())
    }

    fn own_hello(&self) -> SessionSay {
        SessionSay::Hello {
            from_incarnation: self.incarnation,
            to_incarnation: self.to_incarnation(),
            is_up: self.is_up,
        }
    }

    /// Takes a word of the other end, and returns the answer to be sent at once. `ended` is called
    /// when a session ends.
    pub(super) fn said(
        &mut self,
        to_incarnation: u64,
        say: SessionSay,
        ended: impl FnOnce(Kept) -> u64,
    ) -> Option<SessionSay> {
        match say {
            SessionSay::Hello { from_incarnation, to_incarnation, is_up } => {
                if self.is_absurd("its incarnation", from_incarnation, COUNT_MAX) {
                    return None;
                }
                if self.is_straight || self.is_over || from_incarnation < self.seen_incarnation {
                    return None;
                }
                if self.is_up && from_incarnation > self.seen_incarnation {
                    self.end(DownReason::Restarted, ended);
                }
                self.seen_incarnation = from_incarnation;
                self.is_quiet = false;
                if !self.is_up {
                    self.peer = Some(from_incarnation);
                    if to_incarnation == self.incarnation {
                        self.up();
                    }
                }
                (!is_up || !self.is_up).then(|| self.own_hello())
            }
            SessionSay::Bye { from_incarnation } => {
                if self.is_up && self.peer == Some(from_incarnation) {
                    self.end(DownReason::Left, ended);
                    // A hello that its farewell has overtaken is no new beginning.
                    self.seen_incarnation = from_incarnation.saturating_add(1);
                    self.is_quiet = true;
                }
                None
            }
            SessionSay::Count { sent, received, lost, asks } => {
                if !self.is_of_this(to_incarnation)
                    || self.is_absurd("the number of messages sent", sent, COUNT_MAX)
                    || self.is_absurd("the number of messages lost", lost, self.sent)
                    || self.is_absurd("the number of messages received", received, self.sent)
                {
                    return None;
                }
                // It has come the same way as all before it.
                self.skip_to(sent);
                self.acknowledged = self.acknowledged.max(received.min(self.sent));
                let handled = self.kept.take_until(self.acknowledged);
                if lost > self.lost_there {
                    // Nobody knows which of them.
                    self.lost_kept.append(handled);
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

    /// Takes messages that have come, the first with this number. True if they are to be handed
    /// over.
    pub(super) fn arrived(&mut self, to_incarnation: u64, number: u64, messages: u32) -> bool {
        if !self.is_of_this(to_incarnation) || number < self.received {
            return false;
        }
        if self.is_absurd("the number of a message", number, COUNT_MAX) {
            return false;
        }
        self.skip_to(number);
        // No number is larger than half the range, so this one is in it.
        self.received = number + u64::from(messages);
        self.owes = true;
        true
    }

    /// Notes that the `messages` that have arrived last wait to be handed over.
    pub(super) fn wait(&mut self, messages: u32) -> Mark {
        if self.waiting == 0 {
            self.handed_over = (self.received - u64::from(messages), self.lost);
        }
        self.waiting += 1;
        Mark { incarnation: self.incarnation, received: self.received, lost: self.lost }
    }

    /// Notes that the messages of an envelope that has waited were handed over.
    pub(super) fn handed_over(&mut self, mark: &Mark) {
        if mark.incarnation == self.incarnation {
            self.waiting = self.waiting.saturating_sub(1);
            self.handed_over = (mark.received, mark.lost);
            self.owes = true;
        }
    }

    /// Whether a word that names this incarnation of ours is of this session. The other end names
    /// it only when it is up, so this end goes up, too.
    fn is_of_this(&mut self, to_incarnation: u64) -> bool {
        if to_incarnation != self.incarnation
            || self.peer.is_none()
            || self.is_straight
            || self.is_over
        {
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

    /// Ends the session, if it was up. `undelivered` closes the aggregator for the other node, and
    /// returns the number of messages that came back. It is given what was sent and kept.
    pub(super) fn end(&mut self, reason: DownReason, undelivered: impl FnOnce(Kept) -> u64) {
        if !self.is_up {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        self.events.push_back(NodeEvent::Down {
            node: self.node,
            reason,
            last_acknowledged: self.acknowledged,
            unacknowledged: Lost { frames: 0, messages: self.sent - self.acknowledged },
            undelivered: undelivered(kept),
        });
        *self = Session {
            seen_incarnation: self.seen_incarnation,
            is_straight: self.is_straight,
            is_over: self.is_over,
            lost_kept: std::mem::take(&mut self.lost_kept),
            events: std::mem::take(&mut self.events),
            events_taken: self.events_taken,
            ..Session::new(self.node, self.incarnation + 1)
        };
    }

    /// Ends the session because this node leaves. Returns the farewell, and the incarnation that it
    /// goes to.
    pub(super) fn leave(
        &mut self,
        undelivered: impl FnOnce(Kept) -> u64,
    ) -> Option<(u64, SessionSay)> {
        let to_incarnation = self.peer.filter(|_| self.is_up)?;
        let from_incarnation = self.incarnation;
        self.end(DownReason::Leaving, undelivered);
        self.is_quiet = true;
        Some((to_incarnation, SessionSay::Bye { from_incarnation }))
    }

    /// Returns the word that says how far this end is, if it is to be sent now. The owner calls
    /// this now and then, after [`Session::is_busy`] was true.
    pub(super) fn count(&mut self, now_ns: u64, ask_after_ns: u64) -> Option<SessionSay> {
        if !self.is_up {
            return None;
        }
        if self.is_drained() {
            self.ask_at_ns = 0;
        } else if self.ask_at_ns == 0 {
            self.ask_at_ns = now_ns.saturating_add(ask_after_ns);
        }
        let asks = self.ask_at_ns != 0 && now_ns >= self.ask_at_ns;
        if asks {
            self.ask_at_ns = now_ns.saturating_add(ask_after_ns);
        }
        let (received, lost) = match self.waiting {
            0 => (self.received, self.lost),
            _ => self.handed_over,
        };
        let say = SessionSay::Count { sent: self.sent, received, lost, asks };
        (std::mem::take(&mut self.owes) || asks).then_some(say)
    }

    /// Whether there is something to be said, now or soon.
    pub(super) fn is_busy(&self) -> bool {
        self.is_up && (self.owes || self.sent != self.acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::HEADER_BYTES;
    use crate::node::returns::CameBack;
    use std::collections::BTreeMap;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(8);

    fn none(_: Kept) -> u64 {
        0
    }

    /// Passes hellos to and fro until nobody has anything to answer.
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
            assert_eq!(to.said(from.to_incarnation(), say, none), None);
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
        assert!(!a.is_drained());
        count(&mut b, &mut a, 1);
        assert!(a.is_drained());
        assert_eq!(a.events.pop_front(), Some(NodeEvent::LostThere(B, gap)));
        assert!(!b.is_busy());
    }

    #[test]
    fn news_tell_no_event_that_came_after_them() {
        let (mut a, mut b) = (Session::new(B, 10), Session::new(A, 20));
        meet(&mut a, &mut b);
        let up = a.events_so_far();
        a.end(DownReason::Straight, none);
        let down = a.events_so_far();
        assert_eq!((a.take_event(up), a.take_event(up)), (Some(NodeEvent::Up(B)), None));
        assert!(matches!(a.take_event(down), Some(NodeEvent::Down { .. })));
        // Those of later sessions are behind them.
        meet(&mut b, &mut a);
        assert_eq!((a.take_event(down), a.events_so_far()), (None, down + 1));
    }

    #[test]
    fn the_last_messages_are_asked_for_until_they_are_answered_for() {
        let (mut a, mut b) = pair();
        a.send(5).unwrap();
        assert_eq!(a.count(0, 10), None);
        for now_ns in [10, 20] {
            let asked = a.count(now_ns, 10).unwrap();
            assert_eq!(asked, SessionSay::Count { sent: 5, received: 0, lost: 0, asks: true });
            b.said(a.to_incarnation(), asked, none);
            // The first answer is lost.
            let answer = b.count(now_ns, 10).unwrap();
            if now_ns == 20 {
                a.said(b.to_incarnation(), answer, none);
            }
        }
        let lost = Lost { frames: 0, messages: 5 };
        assert_eq!(b.events, [NodeEvent::Lost(A, lost)]);
        assert_eq!(a.events, [NodeEvent::LostThere(B, lost)]);
        assert!(a.is_drained() && !a.is_busy() && !b.is_busy());
    }

    #[test]
    fn one_end_that_begins_anew_ends_the_other_s_session_and_old_messages_reach_nobody() {
        let (mut a, mut b) = pair();
        let old = a.send(4).unwrap();
        let from_b = b.send(1).unwrap();
        b.end(DownReason::NoWay { through: NodeId(2) }, |_| 7);
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
        let (to_incarnation, bye) = b.leave(none).unwrap();
        assert_eq!(b.leave(none), None);
        a.said(to_incarnation, bye, none);
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
    fn of_what_was_sent_and_lost_the_copies_stay_and_of_what_came_they_go() {
        let kept = |kept: &mut Kept| {
            let mut back = CameBack::wanted(1_000, BTreeMap::new());
            back.add_kept(std::mem::take(kept));
            back.frames.iter().map(|(frame, _)| frame[HEADER_BYTES]).collect::<Vec<_>>()
        };
        let (mut a, mut b) = pair();
        let mut send = |n: u8| {
            let sent = a.send(1).unwrap();
            a.keep(1, &[n], 1_000);
            sent
        };
        let (one, _two, three) = (send(1), send(2), send(3));
        assert!(b.arrived(one.0, one.1, 1));
        count(&mut b, &mut a, 1);
        // The second is lost between them: nobody knows that it was not the third.
        assert!(b.arrived(three.0, three.1, 1));
        count(&mut b, &mut a, 2);
        assert_eq!(kept(&mut a.lost_kept), [2, 3]);
        a.send(1).unwrap();
        a.keep(1, &[4], 1_000);
        let mut ended = Vec::new();
        a.end(DownReason::Straight, |mut it| {
            ended = kept(&mut it);
            0
        });
        assert_eq!(ended, [4]);
    }

    #[test]
    fn what_waits_for_a_payload_counts_when_it_was_handed_over_and_offers_end_then() {
        let (mut a, mut b) = pair();
        let mut send = |offers: Vec<u64>| {
            let sent = a.send(1).unwrap();
            a.offer(offers);
            sent
        };
        let sent = [send(vec![]), send(vec![7, 8]), send(vec![]), send(vec![9])];
        assert!(b.arrived(sent[0].0, sent[0].1, 1));
        assert!(b.arrived(sent[1].0, sent[1].1, 1));
        let first = b.wait(1);
        // The third is lost, and the fourth comes and waits.
        assert!(b.arrived(sent[3].0, sent[3].1, 1));
        let last = b.wait(1);
        count(&mut b, &mut a, 1);
        assert_eq!((a.acknowledged, a.take_ended_offers()), (1, vec![]));
        assert!(a.events.is_empty(), "what is behind a message that waits is not told of yet");
        b.handed_over(&first);
        count(&mut b, &mut a, 2);
        assert_eq!((a.acknowledged, a.take_ended_offers()), (2, vec![7, 8]));
        // Of an earlier session: it changes nothing.
        b.handed_over(&Mark { incarnation: 1, ..last });
        b.handed_over(&last);
        count(&mut b, &mut a, 3);
        assert_eq!((a.acknowledged, a.take_ended_offers()), (4, vec![9]));
        let lost = Lost { frames: 0, messages: 1 };
        assert_eq!(a.events, [NodeEvent::LostThere(B, lost)]);
        assert!(a.is_drained() && !a.is_busy() && !b.is_busy());
    }

    #[test]
    fn an_incarnation_that_was_set_back_is_not_heard() {
        let (mut a, mut b) = pair();
        b.end(DownReason::Straight, none);
        let old = SessionSay::Hello { from_incarnation: 5, to_incarnation: 10, is_up: false };
        assert_eq!(a.said(0, old, none), None);
        assert!(a.is_up() && a.events.is_empty());
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_by_name_and_harm_nothing() {
        let told = |sent, received, lost| SessionSay::Count { sent, received, lost, asks: false };
        let hello =
            SessionSay::Hello { from_incarnation: u64::MAX, to_incarnation: 10, is_up: true };
        for (say, what) in [
            (hello, "its incarnation"),
            (told(u64::MAX, 0, 0), "the number of messages sent"),
            (told(0, 0, u64::MAX), "the number of messages lost"),
            (told(0, 1, 0), "the number of messages received"),
        ] {
            let (mut a, mut b) = pair();
            for _ in 0..2 {
                assert_eq!(a.said(10, say, none), None);
            }
            let event = a.events.pop_front();
            assert!(
                matches!(event, Some(NodeEvent::Refused(B, Refusal::Absurd { what: named, .. }))
                    if named == what),
                "{event:?}"
            );
            assert!(a.events.is_empty());
            let sent = b.send(1).unwrap();
            assert!(a.arrived(sent.0, sent.1, 1), "what is right is taken as before");
        }
        let (mut a, mut b) = pair();
        assert!(!a.arrived(10, u64::MAX, u32::MAX));
        assert!(matches!(a.events.pop_front(), Some(NodeEvent::Refused(B, _))));
        assert!(a.arrived(10, COUNT_MAX, u32::MAX), "the last that can be");
        let lost = Lost { frames: 0, messages: COUNT_MAX };
        assert_eq!(a.events.pop_front(), Some(NodeEvent::Lost(B, lost)));
        b.sent = a.received;
        count(&mut a, &mut b, 1);
        assert!(b.is_drained());
    }
}

//! The link: one [`Link`] at each end of a pair of nodes makes a fabric dependable.
//!
//! A link is a state machine without clock, thread or socket: it is told the time and given the
//! frames that arrive; it says which frames to send and what has happened. So it runs the same in a
//! test, under any fabric, and with faults that a seed decides.
//!
//! **What holds**, whatever the fabric does to frames, as long as neither session ends:
//! - Messages are handed over in the order in which they were sent, and none twice.
//! - What is lost is reported at both ends, with its number of messages. On a *reliable* link
//!   nothing is: what is not acknowledged is sent again.
//! - At most `window_frames` data frames are under way that the other node has not yet *handled*. A
//!   node that stops reading stops its senders, and neither end needs more memory than that.
//!
//! **Sessions.** Each end has an *incarnation*, larger than any that it had before. Frames name
//! both incarnations, so a frame of an earlier incarnation of either node is told from the present
//! ones. A session begins when both ends know each other's incarnation (`Up`). It ends when a node
//! leaves, is not heard for too long, or comes with a new incarnation (`Down`); this end then takes
//! its next incarnation, and what was not acknowledged is reported: nobody knows which of that
//! arrived. An interruption that is shorter than `down_after_ns` ends nothing: numbers go on where
//! they were.
//!
//! **States.** *Connecting* (says hello every `heartbeat_ns`) → *up*, when a frame comes that names
//! this end's incarnation → *down*, which is connecting again. After the other node has left or
//! refused, this end is quiet until it hears from it.
//!
//! **Who breaks these rules** ([`Breach`]: what it says cannot be) is told so and cut off: the
//! session ends, and for `down_after_ns` nothing of it is heard. Frames carry checksums, and name
//! the session: no fabric makes an honest node look so.
//!
//! **One's own pauses.** A process that was stopped (SIGSTOP, a suspended laptop) finds that it has
//! heard nobody for long; that is no news of others. [`Link::tick`] counts no time in which it was
//! not called itself.

mod config;
mod event;
mod frame;
mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

pub use config::{BadConfig, LinkConfig};
pub use event::{Breach, Delivery, Down, DownReason, LinkEvent, Lost, Refusal, Undelivered};
pub(crate) use frame::COUNT_MAX;
pub use frame::{HEADER_BYTES, VERSION};

use crate::route::Grid;
use config::WINDOW_FRAMES_MAX;
use frame::{BadFrame, Header, Kind};
use incoming::{Arrival, Incoming};
use outgoing::Outgoing;
use std::collections::VecDeque;

/// Counters of a link over all its sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Data frames sent, those sent again included.
    pub sent: u64,
    /// Data frames sent again.
    pub resent: u64,
    /// Data frames handed to the owner.
    pub delivered: u64,
    /// Data frames that had arrived before, and were dropped.
    pub duplicates: u64,
    /// Frames that were damaged or none of ours, and were dropped.
    pub garbage: u64,
    /// Frames of other sessions, dropped.
    pub stale: u64,
    /// Data frames beyond what this end had allowed, dropped.
    pub beyond_window: u64,
    /// Frames without messages sent: hello, heartbeat, acknowledgement.
    pub control: u64,
}

/// The state of the other end, from its hello.
#[derive(Clone, Copy, Debug)]
struct Peer {
    incarnation: u64,
    reliable: bool,
    window_frames: u32,
}

/// The frames without data that are to be sent.
#[derive(Default)]
struct Say {
    hello: bool,
    heartbeat: bool,
    /// A refusal: the old incarnation that it goes to, and the newer one that this end has seen.
    refuse: Option<(u64, u64)>,
    /// The header of the frame that tells the other end that it was cut off; it belongs to the
    /// session that was.
    cut: Option<Header>,
}

/// One end of a pair of nodes; see the module's documentation.
pub struct Link {
    config: LinkConfig,
    grid: Grid,
    incarnation: u64,
    session: u64,
    peer: Option<Peer>,
    /// The largest incarnation of the other end that this end has seen.
    seen_incarnation: u64,
    is_up: bool,
    is_quiet: bool,
    refused: Option<Refusal>,
    /// Until this time nothing is heard of the other end, because it was cut off. 0: it was not.
    shut_until_ns: u64,
    outgoing: Outgoing,
    /// See [`Link::keep_sent`].
    keep_bytes: usize,
    incoming: Incoming,
    say: Say,
    heard_ns: u64,
    said_ns: u64,
    ticked_ns: u64,
    /// The time at which an acknowledgement is to be sent, if one is owed.
    acknowledge_at_ns: Option<u64>,
    /// The number before which the other end knows all frames to have been handled.
    acknowledged: u64,
    events: VecDeque<LinkEvent>,
    counters: LinkCounters,
}

impl Link {
    /// Makes an end of a link, which begins to connect. The incarnation is larger than any that
    /// this node had before: the time of its start, say.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn new(config: LinkConfig, incarnation: u64, now_ns: u64) -> Result<Self, BadConfig> {
        Self::in_grid(config, Grid::DIRECT, incarnation, now_ns)
    }

    /// Makes an end of a link like [`Link::new`], for nodes whose messages go by a given route. An
    /// end with another route is refused.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn in_grid(
        config: LinkConfig,
        grid: Grid,
        incarnation: u64,
        now_ns: u64,
    ) -> Result<Self, BadConfig> {
        config.check()?;
        if incarnation > COUNT_MAX {
            let allowed = format!("1 to {COUNT_MAX}, nanoseconds since 1970 say");
            return Err(BadConfig { setting: "incarnation", value: incarnation, allowed });
        }
        Ok(Link {
            config,
            grid,
            incarnation: incarnation.max(1),
            session: 1,
            peer: None,
            seen_incarnation: 0,
            is_up: false,
            is_quiet: false,
            refused: None,
            shut_until_ns: 0,
            outgoing: Outgoing::default(),
            keep_bytes: 0,
            incoming: Incoming::default(),
            say: Say { hello: true, ..Say::default() },
            heard_ns: now_ns,
            said_ns: now_ns,
            ticked_ns: now_ns,
            acknowledge_at_ns: None,
            acknowledged: 0,
            events: VecDeque::new(),
            counters: LinkCounters::default(),
        })
    }

    /// Whether both ends know each other.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Whether a frame may be sent now.
    pub fn has_credit(&self) -> bool {
        self.is_up && self.outgoing.has_credit()
    }

    /// Lets a link that does not resend keep what it sends until it is handled, within so many
    /// bytes: it comes back when the session ends. Those of a reliable link do in any case.
    pub fn keep_sent(&mut self, bytes: usize) {
        self.keep_bytes = bytes;
        self.outgoing.keep_bytes = bytes;
    }

    /// Whether all that was sent has been handled at the other end.
    pub fn is_drained(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// The memory of a frame that was sent and is needed no more, if there is one.
    pub(crate) fn take_spent(&mut self) -> Option<Vec<u8>> {
        self.outgoing.spent.take()
    }

    /// The number of the frame that is sent next, counted from 0 in this session.
    pub(crate) fn next_number(&self) -> u64 {
        self.outgoing.next()
    }

    /// All frames before this number were handled at the other end, or are known to be lost.
    pub(crate) fn handled_there(&self) -> u64 {
        self.outgoing.acknowledged
    }

    /// The number of the present session, or of the next one: see [`Delivery`].
    pub(crate) fn session(&self) -> u64 {
        self.session
    }

    /// Returns the link's counters.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Sends a frame with the given number of messages. Its first [`HEADER_BYTES`] bytes are room
    /// for the header.
    ///
    /// # Errors
    /// Gives the frame back if there is no credit: see [`Link::has_credit`].
    ///
    /// # Panics
    /// If the frame has no space for the header.
    pub fn send(&mut self, messages: u32, frame: Vec<u8>) -> Result<(), Vec<u8>> {
        assert!(frame.len() >= HEADER_BYTES, "a frame begins with {HEADER_BYTES} bytes of room");
        if !self.has_credit() {
            return Err(frame);
        }
        self.outgoing.add(messages, frame);
        Ok(())
    }

    /// Whether there are events that were not polled yet.
    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event, if there is one.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    /// Tells the link that the owner has handled the next `frames` of the frames that it was given
    /// in this session. The other end may then send more.
    pub fn handled(&mut self, session: u64, frames: u64, now_ns: u64) {
        if session != self.session {
            return;
        }
        self.incoming.mark_handled(frames);
        self.owe_acknowledgement(now_ns);
    }

    /// Lets the next [`Link::transmit`] acknowledge all handled frames.
    pub(crate) fn acknowledge_now(&mut self) {
        self.say.heartbeat |= self.is_up;
    }

    fn owe_acknowledgement(&mut self, now_ns: u64) {
        let owed = self.incoming.handled() - self.acknowledged;
        if owed == 0 || !self.is_up {
            return;
        }
        let window = self.peer.map_or(1, |peer| peer.window_frames.min(self.config.window_frames));
        if owed >= u64::from(window / 4).max(1) {
            self.say.heartbeat = true;
        } else {
            let at_ns = now_ns.saturating_add(self.config.acknowledge_ns);
            self.acknowledge_at_ns.get_or_insert(at_ns);
        }
    }

    /// Takes a frame that has come from the other node.
    pub fn receive(&mut self, frame: Vec<u8>, now_ns: u64) {
        if now_ns < self.shut_until_ns {
            self.counters.stale += 1;
            return;
        }
        let header = match Header::read(&frame) {
            Ok(header) => header,
            Err(BadFrame::Garbage) => {
                self.counters.garbage += 1;
                return;
            }
            Err(BadFrame::Version(theirs)) => {
                return self.refuse(Refusal::Version { theirs, ours: VERSION });
            }
        };
        if header.from_incarnation > COUNT_MAX {
            self.counters.garbage += 1;
            let (what, value, most) = ("its incarnation", header.from_incarnation, COUNT_MAX);
            // Once, whatever else it comes up with: else it could say more than anybody can be
            // told.
            if !matches!(self.refused, Some(Refusal::Absurd { .. })) {
                self.refuse(Refusal::Absurd { what, value, most });
            }
            return;
        }
        match header.kind {
            Kind::Hello => self.hello(&header, &frame[HEADER_BYTES..], now_ns),
            Kind::Refuse if header.to_incarnation == self.incarnation => {
                self.is_quiet = true;
                self.refuse(Refusal::OldIncarnation {
                    ours: self.incarnation,
                    seen: header.number,
                });
            }
            Kind::Data | Kind::Heartbeat | Kind::Bye | Kind::Cut
                if header.to_incarnation == self.incarnation
                    && self
                        .peer
                        .is_some_and(|peer| peer.incarnation == header.from_incarnation) =>
            {
                self.of_this_session(&header, frame, now_ns);
            }
            _ => self.counters.stale += 1,
        }
    }

    fn hello(&mut self, header: &Header, payload: &[u8], now_ns: u64) {
        let hello = |payload: &[u8]| {
            let &[reliable, a, b, c, d, ref grid @ ..] = payload else { return None };
            Some((reliable, [a, b, c, d], Grid::of_bytes(grid.try_into().ok()?)?))
        };
        let Some((reliable, window_frames, grid)) = hello(payload) else {
            self.counters.garbage += 1;
            return;
        };
        if grid != self.grid {
            // This end says hello now and then, too: so the other one knows.
            return self.refuse(Refusal::Route { theirs: grid, ours: self.grid });
        }
        let window_frames = u32::from_le_bytes(window_frames).clamp(1, WINDOW_FRAMES_MAX);
        let incarnation = header.from_incarnation;
        if incarnation < self.seen_incarnation {
            self.say.refuse = Some((incarnation, self.seen_incarnation));
            if !self.is_up {
                self.refuse(Refusal::TheirOldIncarnation {
                    theirs: incarnation,
                    seen: self.seen_incarnation,
                });
            }
            return;
        }
        if self.is_up && incarnation > self.seen_incarnation {
            self.end(DownReason::Restarted);
        }
        self.seen_incarnation = incarnation;
        self.heard_ns = now_ns;
        self.is_quiet = false;
        if self.is_up {
            // It does not know yet that we are.
            self.say.heartbeat = true;
            return;
        }
        self.peer = Some(Peer { incarnation, reliable: reliable != 0, window_frames });
        if header.to_incarnation == self.incarnation {
            self.up();
        } else {
            self.say.hello = true;
        }
    }

    fn up(&mut self) {
        let Some(peer) = self.peer else { return };
        self.is_up = true;
        self.refused = None;
        let window_frames = peer.window_frames.min(self.config.window_frames);
        self.outgoing = Outgoing::new(self.config.reliable, window_frames);
        self.outgoing.keep_bytes = self.keep_bytes;
        self.incoming = Incoming::new(peer.reliable, window_frames);
        self.acknowledged = 0;
        self.say = Say { heartbeat: true, ..Say::default() };
        self.events.push_back(LinkEvent::Up);
    }

    fn of_this_session(&mut self, header: &Header, frame: Vec<u8>, now_ns: u64) {
        if !self.is_up {
            self.up();
        }
        self.heard_ns = now_ns;
        if let Err((what, value, most)) = self.check(header, &frame[HEADER_BYTES..]) {
            self.counters.garbage += 1;
            return self.cut(Breach::Absurd { what, value, most }, now_ns);
        }
        self.outgoing.heard(header.arrived, header.handled);
        match header.kind {
            Kind::Data => {
                let (session, events) = (self.session, &mut self.events);
                let delivered = &mut self.counters.delivered;
                let before = events.len();
                let arrival = self.incoming.data(header, frame, |frame| {
                    let (is_awaited, is_malformed) = (false, false);
                    let delivery = Delivery { session, frame, is_awaited, is_malformed };
                    events.push_back(LinkEvent::Frame(delivery));
                });
                *delivered += (events.len() - before) as u64;
                if let Arrival::New(lost) = arrival
                    && lost.frames > 0
                {
                    // What was lost is told before what came after it.
                    events.insert(before, LinkEvent::Lost(lost));
                    self.say.heartbeat = true;
                }
                match arrival {
                    Arrival::New(_) => {}
                    Arrival::Duplicate => {
                        self.counters.duplicates += 1;
                        // It may not know that it had arrived.
                        self.say.heartbeat = true;
                    }
                    Arrival::BeyondWindow => self.counters.beyond_window += 1,
                }
            }
            Kind::Heartbeat => {
                let lost = self.incoming.announced(header.number, header.messages_before);
                if lost.frames > 0 {
                    self.events.push_back(LinkEvent::Lost(lost));
                    self.say.heartbeat = true;
                }
                self.owe_acknowledgement(now_ns);
                if let Some(there) = read_lost(&frame[HEADER_BYTES..])
                    && let Some(new) = self.outgoing.heard_lost(there)
                {
                    self.events.push_back(LinkEvent::LostThere(new));
                }
            }
            _ => {
                let lost = self.incoming.announced(header.number, header.messages_before);
                if lost.frames > 0 {
                    self.events.push_back(LinkEvent::Lost(lost));
                }
                let was_cut = header.kind == Kind::Cut;
                self.end(if was_cut { DownReason::CutOff } else { DownReason::Left });
                // A hello that its farewell has overtaken is no new beginning.
                self.seen_incarnation = header.from_incarnation.saturating_add(1);
                self.is_quiet = true;
                self.say.hello = false;
            }
        }
    }

    /// Checks that the counts in a frame of the session are possible. `Err`: the meaning of the
    /// first impossible one, its value, and the largest possible one.
    fn check(&self, header: &Header, payload: &[u8]) -> Result<(), (&'static str, u64, u64)> {
        self.incoming.check(header)?;
        let (frames, messages) = self.outgoing.front();
        let lost = match header.kind {
            Kind::Heartbeat => read_lost(payload).unwrap_or_default(),
            _ => Lost::default(),
        };
        for (what, value, most) in [
            ("the number of frames that have arrived", header.arrived, frames),
            ("the number of frames handled", header.handled, header.arrived),
            ("the number of frames lost", lost.frames, frames),
            ("the number of messages lost", lost.messages, messages),
        ] {
            if value > most {
                return Err((what, value, most));
            }
        }
        Ok(())
    }

    /// Cuts the other node off, because it has broken the protocol: tells it so, ends the session,
    /// and hears nothing of it for a while.
    pub(crate) fn cut(&mut self, breach: Breach, now_ns: u64) {
        if !self.is_up {
            return;
        }
        let cut = Some(self.header(Kind::Cut));
        self.end(DownReason::Broke(breach));
        self.say = Say { cut, ..Say::default() };
        self.is_quiet = true;
        self.shut_until_ns = now_ns.saturating_add(self.config.down_after_ns);
    }

    /// Lets this end say hello again to a node that has left. The owner knows that the node is
    /// there again, and the node may not call by itself.
    pub(crate) fn call(&mut self) {
        if self.shut_until_ns == 0 {
            self.is_quiet = false;
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        if self.refused != Some(refusal) {
            self.refused = Some(refusal);
            self.events.push_back(LinkEvent::Refused(refusal));
        }
    }

    fn end(&mut self, reason: DownReason) {
        let outgoing = std::mem::take(&mut self.outgoing);
        let last_acknowledged = outgoing.acknowledged;
        let (unacknowledged, undelivered) = outgoing.end();
        self.incoming = Incoming::default();
        self.is_up = false;
        self.peer = None;
        self.incarnation += 1;
        self.session += 1;
        self.acknowledge_at_ns = None;
        self.say = Say { hello: true, ..Say::default() };
        let down = Down { reason, last_acknowledged, unacknowledged, undelivered };
        self.events.push_back(LinkEvent::Down(down));
    }

    /// Leaves: says farewell through `send`, and ends the session.
    pub fn leave(&mut self, mut send: impl FnMut(&[u8]) -> bool) {
        if self.is_up {
            let mut frame = vec![0; HEADER_BYTES];
            self.header(Kind::Bye).write(&mut frame);
            // If the fabric does not take it, the other end notices by itself.
            send(&frame);
            self.end(DownReason::Leaving);
        }
        self.is_quiet = true;
        self.shut_until_ns = 0;
        self.say = Say::default();
    }

    /// Looks at the time. The owner calls this at least once per `heartbeat_ns`.
    pub fn tick(&mut self, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.ticked_ns);
        self.ticked_ns = now_ns;
        if since_ns > self.config.down_after_ns / 2 {
            // But it was heard before now: what came during the pause may have been read just
            // before this.
            self.heard_ns = self.heard_ns.saturating_add(since_ns).min(now_ns);
        }
        if self.shut_until_ns != 0 && now_ns >= self.shut_until_ns {
            self.shut_until_ns = 0;
            self.is_quiet = false;
        }
        if self.is_up {
            let for_ns = now_ns.saturating_sub(self.heard_ns);
            if for_ns > self.config.down_after_ns {
                return self.end(DownReason::Silent { for_ns });
            }
            self.say.heartbeat |= now_ns >= self.speak_at_ns();
        } else if !self.is_quiet {
            self.say.hello |= now_ns >= self.speak_at_ns();
        }
    }

    /// Returns the time at which this end has to send something, even if only a heartbeat.
    fn speak_at_ns(&self) -> u64 {
        // On a link that does not resend, the other end learns that the last frames before a pause
        // were lost from what is said next.
        let probe = self.is_up && !self.config.reliable && !self.outgoing.is_empty();
        let silence_ns = if probe {
            self.config.resend_ns.min(self.config.heartbeat_ns)
        } else {
            self.config.heartbeat_ns
        };
        let at_ns = self.said_ns.saturating_add(silence_ns);
        self.acknowledge_at_ns.map_or(at_ns, |acknowledge_ns| acknowledge_ns.min(at_ns))
    }

    /// Returns the time by which to call [`Link::tick`] and [`Link::transmit`] again, even if
    /// nothing else happens.
    pub fn due_ns(&self) -> u64 {
        let speak_ns = match self.is_quiet {
            true if self.shut_until_ns != 0 => self.shut_until_ns,
            true => u64::MAX,
            false => self.speak_at_ns(),
        };
        self.outgoing.resend_at_ns().map_or(speak_ns, |resend_ns| resend_ns.min(speak_ns))
    }

    /// Gives `send` all frames that are to be sent now, until it takes no more (returns false).
    /// True if all were taken.
    pub fn transmit(&mut self, now_ns: u64, mut send: impl FnMut(&[u8]) -> bool) -> bool {
        if let Some(header) = self.say.cut {
            if !self.say_one(header, &[], &mut send, now_ns) {
                return false;
            }
            self.say.cut = None;
        }
        if let Some((to_incarnation, seen)) = self.say.refuse {
            let header = Header { to_incarnation, number: seen, ..self.header(Kind::Refuse) };
            if !self.say_one(header, &[], &mut send, now_ns) {
                return false;
            }
            self.say.refuse = None;
        }
        if !self.is_up {
            if self.say.hello {
                let mut payload = [u8::from(self.config.reliable), 0, 0, 0, 0, 0, 0, 0, 0, 0];
                payload[1..5].copy_from_slice(&self.config.window_frames.to_le_bytes());
                payload[5..].copy_from_slice(&self.grid.to_bytes());
                let header = self.header(Kind::Hello);
                self.say.hello = !self.say_one(header, &payload, &mut send, now_ns);
            }
            return !self.say.hello;
        }
        let data = self.transmit_data(now_ns, &mut send);
        // A fabric that has no capacity for data may have some for what is short, and the other
        // end's answer is what frees capacity.
        self.transmit_heartbeat(now_ns, &mut send) && data
    }

    fn transmit_data(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8]) -> bool) -> bool {
        if !self.outgoing.has_unsent()
            && self.outgoing.resend_at_ns().is_none_or(|resend_ns| now_ns < resend_ns)
        {
            return true;
        }
        let common = self.header(Kind::Data);
        let (first_unsent, _) = self.outgoing.front();
        let (mut sent, mut resent) = (0, 0);
        let complete = self.outgoing.transmit(now_ns, self.config.resend_ns, |it| {
            let header = Header {
                number: it.number,
                messages_before: it.messages_before,
                messages: it.messages,
                ..common
            };
            header.write(it.frame);
            let taken = send(it.frame);
            sent += u64::from(taken);
            resent += u64::from(taken && it.number < first_unsent);
            taken
        });
        self.counters.sent += sent;
        self.counters.resent += resent;
        if sent > 0 {
            self.said(now_ns);
            // Data says what an acknowledgement says, but for what was lost.
            self.say.heartbeat &= self.incoming.lost.frames > 0;
        }
        complete
    }

    fn transmit_heartbeat(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8]) -> bool) -> bool {
        if !self.say.heartbeat {
            return true;
        }
        let Lost { frames, messages } = self.incoming.lost;
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&frames.to_le_bytes());
        payload[8..].copy_from_slice(&messages.to_le_bytes());
        let header = self.header(Kind::Heartbeat);
        self.say.heartbeat = !self.say_one(header, &payload, send, now_ns);
        !self.say.heartbeat
    }

    fn say_one(
        &mut self,
        header: Header,
        payload: &[u8],
        send: &mut impl FnMut(&[u8]) -> bool,
        now_ns: u64,
    ) -> bool {
        let mut frame = [0; HEADER_BYTES + 16];
        let frame = &mut frame[..HEADER_BYTES + payload.len()];
        frame[HEADER_BYTES..].copy_from_slice(payload);
        header.write(frame);
        if !send(frame) {
            return false;
        }
        self.counters.control += 1;
        self.said(now_ns);
        true
    }

    fn said(&mut self, now_ns: u64) {
        self.said_ns = now_ns;
        self.acknowledge_at_ns = None;
        self.acknowledged = self.incoming.handled();
    }

    fn header(&self, kind: Kind) -> Header {
        let (number, messages_before) = self.outgoing.front();
        Header {
            kind,
            from_incarnation: self.incarnation,
            to_incarnation: self.peer.map_or(0, |peer| peer.incarnation),
            number,
            messages_before,
            messages: 0,
            arrived: self.incoming.arrived,
            handled: self.incoming.handled(),
        }
    }
}

fn read_lost(payload: &[u8]) -> Option<Lost> {
    let (frames, messages) = payload.split_first_chunk::<8>()?;
    let messages = messages.first_chunk::<8>()?;
    Some(Lost { frames: u64::from_le_bytes(*frames), messages: u64::from_le_bytes(*messages) })
}

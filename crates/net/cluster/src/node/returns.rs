//! What comes back to its senders: the messages for another node that have certainly not arrived,
//! or may not have, when a session with it ends.
//!
//! Nothing is kept for this but where somebody asked for it (`RemoteAddress::on_undelivered`). A
//! link that resends has the frames anyway. One that does not, and the session with a node that is
//! no neighbour, then keep what was sent until it is acknowledged, within
//! [`NodeConfig::undelivered_bytes`](crate::NodeConfig::undelivered_bytes).

use crate::link::HEADER_BYTES;
use crate::locks::lock;
use crate::message::ActorKey;
use actinium_memory::heap::Payload;
use actinium_wire::Encoding;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A message that has come back.
pub(super) struct Came<'a> {
    pub(super) encoding: Encoding,
    pub(super) bytes: &'a [u8],
    pub(super) payload: Option<Payload>,
    pub(super) was_sent: bool,
}

/// Gives a message back to whoever asked for those to an actor. False if it can not be read.
pub(super) type Claim = Arc<dyn Fn(Came<'_>) -> bool + Send + Sync>;

/// Who takes back the messages for a node, and the ends of its sessions that are still to be told.
#[derive(Default)]
pub(super) struct Returns {
    /// Whether anybody does. It is changed behind the lock, and read without it as a hint.
    is_wanted: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the actor's place: an actor that comes to a place later takes over.
    claims: BTreeMap<u32, (u32, Claim)>,
    ended: VecDeque<CameBack>,
}

impl Returns {
    /// Whether anybody wants messages back.
    pub(super) fn are_wanted(&self) -> bool {
        // Relaxed: a hint. What was sent before is not expected back.
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Notes who takes back the messages for an actor, unless `is_over`. Returns whoever did so
    /// before, or the new one.
    #[must_use = "it is dropped behind the lock"]
    pub(super) fn claim(
        &self,
        key: ActorKey,
        claim: Claim,
        is_over: impl FnOnce() -> bool,
    ) -> Option<Claim> {
        let mut state = lock(&self.state);
        if is_over() {
            return Some(claim);
        }
        // Relaxed: see `are_wanted`.
        self.is_wanted.store(true, Ordering::Relaxed);
        state.claims.insert(key.index, (key.generation, claim)).map(|(_, before)| before)
    }

    /// Who takes back the messages for this actor.
    pub(super) fn claimed(&self, key: ActorKey) -> Option<Claim> {
        let state = lock(&self.state);
        let (generation, claim) = state.claims.get(&key.index)?;
        (*generation == key.generation).then(|| claim.clone())
    }

    /// Notes what has come back at the end of a session, until that is told.
    pub(super) fn end(&self, back: CameBack) {
        lock(&self.state).ended.push_back(back);
    }

    /// What has come back at the end of the session that is told next.
    pub(super) fn take_ended(&self) -> CameBack {
        lock(&self.state).ended.pop_front().unwrap_or_default()
    }

    /// Forgets all, because the node has ended.
    #[must_use = "they are dropped behind the lock"]
    pub(super) fn close(&self) -> Vec<Claim> {
        let State { claims, ended: _ } = std::mem::take(&mut *lock(&self.state));
        claims.into_values().map(|(_, claim)| claim).collect()
    }
}

/// Frames that have come back, in the order in which they were sent.
#[derive(Default)]
pub(super) struct CameBack {
    is_wanted: bool,
    /// The bytes that still fit.
    room: usize,
    /// The frames, and whether each was sent.
    pub(super) frames: Vec<(Vec<u8>, bool)>,
    /// The number of messages that did not fit.
    pub(super) beyond: u64,
    /// The payloads of messages, by the number of their offer.
    pub(super) payloads: BTreeMap<u64, Payload>,
}

impl CameBack {
    pub(super) fn wanted(room: usize, payloads: BTreeMap<u64, Payload>) -> Self {
        CameBack { is_wanted: true, room, payloads, ..CameBack::default() }
    }

    /// Adds a frame of so many messages, with room for a header in front.
    pub(super) fn add(&mut self, frame: Vec<u8>, messages: u32, was_sent: bool) {
        match self.room.checked_sub(frame.len()) {
            _ if !self.is_wanted => {}
            Some(room) => {
                self.room = room;
                self.frames.push((frame, was_sent));
            }
            None => self.beyond(messages.into()),
        }
    }

    /// Counts messages that were not kept.
    pub(super) fn beyond(&mut self, messages: u64) {
        if self.is_wanted {
            self.beyond += messages;
        }
    }

    /// Adds what a session has kept.
    pub(super) fn add_kept(&mut self, kept: Kept) {
        for Batch { messages, frame, .. } in kept.batches {
            match frame {
                // There are no larger ones: see `Kept::add`.
                Some(frame) => self.add(frame, u32::try_from(messages).unwrap_or(u32::MAX), true),
                None => self.beyond(messages),
            }
        }
    }
}

/// Messages that belong together.
struct Batch {
    /// The number of the last one in its session.
    last: u64,
    messages: u64,
    /// With room for a header. None: there was no room for it.
    frame: Option<Vec<u8>>,
}

/// Copies of the messages that were sent to a node that is no neighbour.
#[derive(Default)]
pub(super) struct Kept {
    batches: VecDeque<Batch>,
    bytes: usize,
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Keeps a copy of messages, of which the last has the number `last`, if there are no more than
    /// `most` bytes then.
    pub(super) fn add(&mut self, last: u64, messages: u32, payload: &[u8], most: usize) {
        let (bytes, messages) = (HEADER_BYTES + payload.len(), u64::from(messages));
        if self.bytes + bytes <= most {
            self.bytes += bytes;
            let mut frame = Vec::with_capacity(bytes);
            frame.resize(HEADER_BYTES, 0);
            frame.extend_from_slice(payload);
            return self.batches.push_back(Batch { last, messages, frame: Some(frame) });
        }
        match self.batches.back_mut() {
            // Counted with those before it.
            Some(back) if back.frame.is_none() => {
                back.last = last;
                back.messages += messages;
            }
            _ => self.batches.push_back(Batch { last, messages, frame: None }),
        }
    }

    /// Keeps a frame whatever its size: it is taken off soon.
    pub(super) fn push(&mut self, frame: Vec<u8>, messages: u32) {
        self.bytes += frame.len();
        self.batches.push_back(Batch { last: 0, messages: messages.into(), frame: Some(frame) });
    }

    /// Takes off what the other node has, up to this number.
    pub(super) fn take_until(&mut self, last: u64) -> Kept {
        let mut taken = Kept::default();
        while self.batches.front().is_some_and(|batch| batch.last <= last)
            && let Some(batch) = self.batches.pop_front()
        {
            let bytes = batch.frame.as_ref().map_or(0, Vec::len);
            self.bytes -= bytes;
            taken.bytes += bytes;
            taken.batches.push_back(batch);
        }
        taken
    }

    /// Adds others behind these.
    pub(super) fn append(&mut self, mut others: Kept) {
        self.bytes += others.bytes;
        self.batches.append(&mut others.batches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_what_fits_and_counts_the_rest() {
        let mut kept = Kept::default();
        let most = 2 * (HEADER_BYTES + 10);
        for last in 1..=5 {
            kept.add(last, 1, &[last as u8; 10], most);
        }
        assert_eq!(kept.bytes, most);
        let handled = kept.take_until(1);
        assert_eq!((handled.bytes, kept.bytes), (most / 2, most / 2));
        kept.add(6, 2, &[6; 10], most);
        let mut back = CameBack::wanted(most, BTreeMap::new());
        back.add_kept(kept);
        let payload = |(frame, was_sent): &(Vec<u8>, bool)| (frame[HEADER_BYTES], *was_sent);
        let payloads: Vec<_> = back.frames.iter().map(payload).collect();
        assert_eq!((payloads, back.beyond), (vec![(2, true), (6, true)], 3));
        back.add(vec![0; HEADER_BYTES + 1], 7, false);
        assert_eq!((back.frames.len(), back.beyond), (2, 10), "it is full");
    }

    #[test]
    fn what_nobody_wants_back_is_not_kept() {
        let mut back = CameBack::default();
        back.add(vec![0; HEADER_BYTES], 1, true);
        back.beyond(1);
        assert!(back.frames.is_empty() && back.beyond == 0);
    }
}

//! Sending to other nodes: from a message's bytes to the aggregator of the next node on its way.
//!
//! A turn keeps its messages in a buffer of its worker, so it takes no lock. When the turn ends, or
//! the buffer fills a frame, the messages go to the destination's aggregator together. That happens
//! before another worker may run the actor, so the actor's messages cannot overtake each other.
//! Threads without a turn have no buffer: their messages go to the aggregator at once.
//!
//! In a grid, messages for a node that is no neighbour are numbered, put in an envelope, and sent
//! with those for the next node on the way: see `multihop`.

use super::event::NodeEvent;
use super::leaving;
use super::peer::{Multihop, Peer};
use super::session::Session;
use super::state::Inner;
use crate::aggregator::{NotAdded, new_frame};
use crate::codec::{CodecError, NODES, encode};
use crate::link::HEADER_BYTES;
use crate::locks::lock;
use crate::message::{self, Control, Envelope, SessionSay};
use actinium_actor::travel::crossing;
use actinium_scheduler::trace::{self, TraceContext};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The largest buffer that a thread keeps to encode messages in; a larger one is given back.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Inner {
    /// Adds the message that `write` appends to the next frame for a node.
    pub(crate) fn add(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        always: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    ) -> Result<(), NotAdded> {
        self.add_work(peer, always, true, write)
    }

    /// Adds a message like `add`. `is_work`: the message is not of the cluster's own machinery.
    pub(crate) fn add_work(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        always: bool,
        is_work: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    ) -> Result<(), NotAdded> {
        if !always && peer.next_hop().refuses() {
            return Err(NotAdded::Full);
        }
        // Taken out, not borrowed: the user's code may send while it encodes.
        let mut bytes = SCRATCH.take();
        bytes.clear();
        let replies = leaving::count();
        let written = crossing(self.border.number(), peer.node.0, || write(&mut bytes));
        let result = written.map_err(NotAdded::Failed).and_then(|()| {
            if buffer(self, peer, is_work, &bytes)? {
                return Ok(false);
            }
            let is_first = match trace::current() {
                Some(context) if self.system().traces() => {
                    self.add_via_next_hop(peer, always, &traced(peer, context, &bytes))?
                }
                _ => self.add_via_next_hop(peer, always, &bytes)?,
            };
            self.counters.sent.add(is_work.into());
            Ok(is_first)
        });
        if bytes.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(bytes);
        }
        if leaving::count() > replies {
            match result {
                Ok(_) => leaving::have_left(replies),
                Err(_) => self.have_not_left(replies),
            }
        }
        if result? {
            self.unparker.ring();
        }
        Ok(())
    }

    /// Lets the messages that were sent to a node so far leave without waiting for more.
    pub(crate) fn hurry(&self, peer: &Arc<Peer>) {
        flush_for(peer);
        peer.aggregator.hurry();
        self.unparker.ring();
    }

    /// Adds the messages that a turn has buffered.
    pub(crate) fn add_buffered(&self, peer: &Peer, messages: u32, work: u32, frame: &mut Vec<u8>) {
        self.counters.sent.add(work.into());
        let offered = peer.payloads.offers.of_frame(&frame[HEADER_BYTES..]);
        match self.add_batch_via_next_hop(peer, messages, frame) {
            Ok(true) => self.unparker.ring(),
            Ok(false) => {}
            // The node went down while the turn ran.
            Err(_) => {
                let mut back = self.taken_back(peer);
                back.add(frame.clone(), messages, false);
                frame.truncate(HEADER_BYTES);
                peer.payloads.offers.release(&offered);
                let messages = messages.into();
                self.tell_listeners(&NodeEvent::Undelivered { node: peer.node, messages });
                self.return_all(peer, back);
            }
        }
    }

    /// Adds a message like `Aggregator::add`, to the aggregator of the next node on the way.
    pub(super) fn add_via_next_hop(
        &self,
        peer: &Peer,
        always: bool,
        message: &[u8],
    ) -> Result<bool, NotAdded> {
        let Some(multihop) = &peer.multihop else {
            return peer.aggregator.add(|| self.clock.now_ns(), always, message);
        };
        peer.aggregator.check_len(message.len())?;
        let session = &mut *lock(&multihop.session);
        if !session.is_up() {
            return peer.aggregator.add(|| self.clock.now_ns(), always, message);
        }
        if !always && multihop.via.aggregator.refuses() {
            return Err(NotAdded::Full);
        }
        self.add_multihop(peer, multihop, session, 1, message)
    }

    /// Adds a batch like `Aggregator::add_batch`, with its room for a header, to the aggregator of
    /// the next node on the way.
    pub(super) fn add_batch_via_next_hop(
        &self,
        peer: &Peer,
        messages: u32,
        frame: &mut Vec<u8>,
    ) -> Result<bool, NotAdded> {
        if let Some(multihop) = &peer.multihop {
            let session = &mut *lock(&multihop.session);
            if session.is_up() {
                let result =
                    self.add_multihop(peer, multihop, session, messages, &frame[HEADER_BYTES..]);
                if result.is_ok() {
                    frame.truncate(HEADER_BYTES);
                }
                return result;
            }
        }
        peer.aggregator.add_batch(|| self.clock.now_ns(), messages, frame)
    }

    /// Numbers messages and aggregates them for the next node.
    pub(super) fn add_multihop(
        &self,
        peer: &Peer,
        multihop: &Multihop,
        session: &mut Session,
        messages: u32,
        payload: &[u8],
    ) -> Result<bool, NotAdded> {
        // A session that has ended and begun again: closed until all have heard of that.
        if peer.aggregator.is_closed() {
            return Err(NotAdded::Closed);
        }
        let Some((to_incarnation, number)) = session.send(messages) else {
            return Err(NotAdded::Closed);
        };
        let (to, from, hops) = (peer.node.0, self.node.0, 0);
        let offers = peer.payloads.offers.of_frame(payload);
        let has_offers = !offers.is_empty();
        let envelope =
            Envelope { to, from, hops, to_incarnation, number, messages, has_offers, payload };
        let batch = self.put(&multihop.via, &envelope);
        if batch.is_err() {
            session.unsend(messages);
        } else {
            peer.payloads.offers.sent(&offers);
            session.offer(offers);
            if peer.returns.are_wanted() {
                session.keep(messages, payload, self.config.undelivered_bytes);
            }
        }
        lock(&self.busy).insert(peer.node);
        batch
    }

    /// Aggregates an envelope for a neighbour.
    pub(super) fn put(&self, hop: &Peer, envelope: &Envelope<'_>) -> Result<bool, NotAdded> {
        let frame_bytes = hop.aggregator.frame_bytes();
        let mut frame = take_frame(frame_bytes);
        message::envelope(envelope, &mut frame);
        let now_ns = || self.clock.now_ns();
        let batch = hop.aggregator.add_batch(now_ns, envelope.messages, &mut frame);
        keep_frame(frame, frame_bytes);
        batch
    }

    /// Sends a neighbour a control item that does not count as a message. False if the neighbour is
    /// not there.
    pub(super) fn say(&self, peer: &Peer, control: &Control) -> bool {
        let frame_bytes = peer.aggregator.frame_bytes();
        let mut frame = take_frame(frame_bytes);
        let written = message::control(control, &mut frame);
        debug_assert_eq!(written, Ok(()));
        let said = peer.aggregator.add_batch(|| self.clock.now_ns(), 0, &mut frame).is_ok();
        keep_frame(frame, frame_bytes);
        said
    }

    /// Sends a word about the session with a node that is no neighbour. If there is no way, the
    /// word is said again when there is one.
    pub(super) fn say_multihop(
        &self,
        peer: &Peer,
        multihop: &Multihop,
        to_incarnation: u64,
        say: SessionSay,
    ) {
        let mut payload = Vec::new();
        let written = encode(NODES, &say, &mut payload);
        debug_assert_eq!(written, Ok(()));
        let (to, from) = (peer.node.0, self.node.0);
        let (hops, number, messages, has_offers) = (0, 0, 0, false);
        let payload = &payload[..];
        let envelope =
            Envelope { to, from, hops, to_incarnation, number, messages, has_offers, payload };
        if self.put(&multihop.via, &envelope).is_ok() {
            self.unparker.ring();
        }
    }
}

/// The messages of the running turn for one node.
struct BufferedBatch {
    inner: Arc<Inner>,
    peer: Arc<Peer>,
    frame: Vec<u8>,
    messages: u32,
    /// The number of these messages that are work, and not of the cluster's own machinery.
    work: u32,
}

/// The number of frames that a worker keeps for later turns, however many nodes one turn has sent
/// to.
const KEPT: usize = 16;

#[derive(Default)]
struct TurnBuffer {
    batches: Vec<BufferedBatch>,
    /// Empty frames, to be used again.
    spare: Vec<Vec<u8>>,
}

impl TurnBuffer {
    /// A frame with nothing but room for the link's header.
    fn take_frame(&mut self, frame_bytes: usize) -> Vec<u8> {
        self.spare.pop().unwrap_or_else(|| new_frame(frame_bytes))
    }
}

thread_local! {
    static TURN_BUFFER: RefCell<TurnBuffer> = RefCell::default();
}

/// Makes a message part of a trace, if that does not make it too long.
#[cold]
fn traced<'m>(peer: &Peer, context: TraceContext, message: &'m [u8]) -> Cow<'m, [u8]> {
    let traced = message::traced(context, message);
    match peer.aggregator.check_len(traced.len()) {
        Ok(()) => Cow::Owned(traced),
        Err(_) => Cow::Borrowed(message),
    }
}

/// Buffers a message for a node, if this thread is a worker in a turn; false if not.
fn buffer(
    inner: &Arc<Inner>,
    peer: &Arc<Peer>,
    is_work: bool,
    message: &[u8],
) -> Result<bool, NotAdded> {
    let is_traced = actinium_scheduler::current(|worker| {
        let worker = worker.filter(|worker| worker.running().is_some())?;
        worker.at_turn_end(flush_turn);
        Some(worker.is_traced())
    });
    let Some(is_traced) = is_traced else { return Ok(false) };
    let with_context;
    let message = match is_traced.then(trace::current).flatten() {
        None => message,
        Some(context) => {
            with_context = traced(peer, context, message);
            &with_context
        }
    };
    peer.aggregator.check_len(message.len())?;
    if peer.aggregator.is_closed() {
        return Err(NotAdded::Closed);
    }
    let frame_bytes = peer.aggregator.frame_bytes();
    // Nothing below calls user code, but for `deliver`, which is called when the buffer is free
    // again.
    let (longest, full) = TURN_BUFFER.with_borrow_mut(|buffer| {
        // Turns send to few nodes, and mostly to the same as just before.
        let mut found =
            buffer.batches.iter().rposition(|buffered| Arc::ptr_eq(&buffered.peer, peer));
        // Together they may be longer than any frame: what is buffered leaves first.
        let fits = |index: &usize| {
            let bytes = buffer.batches[*index].frame.len() - HEADER_BYTES;
            peer.aggregator.check_len(bytes + message.len()).is_ok()
        };
        let longest = found.take_if(|index| !fits(index)).map(|index| buffer.batches.remove(index));
        let index = found.unwrap_or_else(|| {
            let frame = buffer.take_frame(frame_bytes);
            // Relaxed: whoever asks the node to leave because of what this turn does hears of it by
            // other means, which order this, too.
            peer.buffered.fetch_add(1, Ordering::Relaxed);
            let (inner, peer) = (inner.clone(), peer.clone());
            buffer.batches.push(BufferedBatch { inner, peer, frame, messages: 0, work: 0 });
            buffer.batches.len() - 1
        });
        let buffered = &mut buffer.batches[index];
        buffered.frame.extend_from_slice(message);
        buffered.messages += 1;
        buffered.work += u32::from(is_work);
        let is_full = buffered.frame.len() >= frame_bytes;
        (longest, is_full.then(|| buffer.batches.remove(index)))
    });
    longest.into_iter().chain(full).for_each(BufferedBatch::deliver);
    Ok(true)
}

/// A frame with nothing but room for the link's header, to be given to [`keep_frame`] afterwards.
fn take_frame(frame_bytes: usize) -> Vec<u8> {
    TURN_BUFFER.with_borrow_mut(|buffer| buffer.take_frame(frame_bytes))
}

/// Keeps the memory of a frame for later ones of this thread, unless it keeps enough, or the memory
/// is of another size: it was taken, say.
pub(super) fn keep_frame(mut frame: Vec<u8>, frame_bytes: usize) {
    let most = 2 * (frame_bytes + HEADER_BYTES);
    if !(frame_bytes..=most).contains(&frame.capacity()) {
        return;
    }
    TURN_BUFFER.with_borrow_mut(|buffer| {
        if buffer.spare.len() < KEPT {
            // The header is written anew.
            frame.truncate(HEADER_BYTES);
            buffer.spare.push(frame);
        }
    });
}

/// Lets all messages leave that the turn has buffered. The turn has ended, or tells somebody who
/// must find them aggregated.
pub(crate) fn flush_turn() {
    while let Some(buffered) = TURN_BUFFER.with_borrow_mut(|buffer| buffer.batches.pop()) {
        buffered.deliver();
    }
}

/// Lets the messages leave that the running turn has buffered for this node, if this is a turn:
/// some of them do not wait for the turn's end.
fn flush_for(peer: &Arc<Peer>) {
    let buffered = TURN_BUFFER.with_borrow_mut(|buffer| {
        let index =
            buffer.batches.iter().rposition(|buffered| Arc::ptr_eq(&buffered.peer, peer))?;
        Some(buffer.batches.remove(index))
    });
    if let Some(buffered) = buffered {
        buffered.deliver();
    }
}

impl BufferedBatch {
    fn deliver(mut self) {
        self.inner.add_buffered(&self.peer, self.messages, self.work, &mut self.frame);
        // Release: pairs with the acquire in `Driver::is_drained`, which then finds what was
        // aggregated.
        self.peer.buffered.fetch_sub(1, Ordering::Release);
        keep_frame(self.frame, self.peer.aggregator.frame_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_usual_size_are_used_again_and_others_are_not() {
        let place = |frame: &Vec<u8>| (frame.as_ptr() as usize, frame.len());
        let mut frame = take_frame(1_000);
        frame.extend_from_slice(&[7; 1_000]);
        let kept = place(&frame).0;
        keep_frame(frame, 1_000);
        assert_eq!(place(&take_frame(1_000)), (kept, HEADER_BYTES));
        for other in [Vec::new(), vec![0; 999], vec![0; 2 * (1_000 + HEADER_BYTES) + 1]] {
            keep_frame(other, 1_000);
            TURN_BUFFER.with_borrow(|buffer| assert!(buffer.spare.is_empty()));
        }
    }
}

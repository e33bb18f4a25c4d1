//! The payload transfers of the node's thread: it fetches payloads from another node and serves
//! that node's requests. (For nodes of a grid that are no neighbours, see `distant`, too.)

use super::peer::Peer;
use super::state::Inner;
use crate::denial::Denial;
use crate::fabric::{Fabric, RegionId, TransferId};
use crate::message::Offer;
use crate::payload::datagram::{Datagram, HEAD_BYTES, Says};
use crate::payload::{PayloadConfig, PayloadError, Want};
use actinium_memory::heap::{Payload, Unwritten};
use std::collections::{BTreeMap, VecDeque};

/// The longest part of a payload in one datagram.
const PART_BYTES_MAX: usize = 64 << 10;
/// The number of parts that are sent in one turn: few enough that frames do not wait long behind
/// them.
const PARTS_PER_TURN: usize = 8;
/// The largest number of waiting requests of the other node: far more than it has any use for. It
/// repeats requests beyond these.
const ASKED_MAX: usize = 64;
/// The largest number of payloads that are fetched at a time.
const FETCHES_MAX: usize = 32;
/// The time after which a request is tried again that the fabric had no capacity for.
const AGAIN_NS: u64 = 1_000_000;

/// The context of one call.
pub(crate) struct Here<'a> {
    pub(crate) fabric: &'a mut dyn Fabric,
    pub(crate) inner: &'a Inner,
    pub(crate) peer: &'a Peer,
    pub(crate) now_ns: u64,
    /// Takes the outcome of a payload that was wanted, by its ticket.
    pub(crate) fetched: &'a mut dyn FnMut(u64, Result<Payload, PayloadError>),
}

impl Here<'_> {
    fn config(&self) -> &PayloadConfig {
        self.inner.payload_config()
    }

    fn say(&mut self, incarnation: u64, id: u64, offset: usize, says: Says<'_>) -> bool {
        let (head, body) = Datagram { incarnation, id, offset: offset as u64, says }.write();
        let said = match says {
            Says::Part(_) => self.fabric.send_datagram(self.peer.node, &head, &body),
            // Short ones go with the frames: they are what others wait for.
            _ => self.fabric.send(self.peer.node, &[&head[..], &body].concat()),
        };
        said.is_ok()
    }
}

/// The payload transfers with one other node: see the module.
#[derive(Default)]
pub(crate) struct Exchange {
    /// The offers that have left, with the number of their frame, oldest first. Frames without
    /// offers are left out.
    sent: VecDeque<(u64, Vec<u64>)>,
    /// The offers whose memory the fabric has registered.
    shared: BTreeMap<u64, RegionId>,
    asked: VecDeque<Asked>,
    /// The wanted payloads whose fetch has not begun yet.
    wants: VecDeque<Want>,
    /// The payloads that are being fetched, by ticket.
    fetches: BTreeMap<u64, Fetch>,
}

/// A request of the other node for a part of a payload that it has not got yet.
struct Asked {
    id: u64,
    offset: usize,
    bytes: usize,
    or_place: bool,
}

/// A payload that is being fetched.
struct Fetch {
    offer: Offer,
    state: State,
    /// The bytes before this place have been asked for, as far as they are not there.
    asked: usize,
    /// The time at which the other node was last asked, or last answered.
    heard_ns: u64,
    /// The number of times that the other node was asked again since it has last served anything.
    unanswered: u64,
}

enum State {
    /// "Where is it?" The flag: whether that was said.
    Locating(Unwritten, bool),
    /// The parts of the payload come in datagrams.
    Streaming(Unwritten),
    /// The fabric reads the payload from the other node's memory.
    Getting(TransferId),
    /// The payload is here. "Do you still have it?" The flag: whether that was said.
    Confirming(Payload, bool),
}

impl Fetch {
    /// The number of bytes that have been asked for and are not here.
    fn under_way(&self) -> usize {
        match &self.state {
            State::Streaming(buffer) => self.asked - buffer.written(),
            _ => 0,
        }
    }

    /// Whether the fetch waits for an answer.
    fn is_waiting(&self) -> bool {
        match &self.state {
            State::Locating(_, said) | State::Confirming(_, said) => *said,
            State::Streaming(_) => self.under_way() > 0,
            State::Getting(_) => false,
        }
    }

    /// Whether the fetch has a question that was not said yet.
    fn is_mute(&self) -> bool {
        match &self.state {
            State::Locating(_, said) | State::Confirming(_, said) => !said,
            _ => false,
        }
    }

    /// How far the fetch is: this only grows, unless the fabric fails to read the memory.
    fn progress(&self) -> (u8, usize) {
        match &self.state {
            State::Locating(..) => (0, 0),
            State::Getting(_) => (1, 0),
            State::Streaming(buffer) => (2, buffer.written()),
            State::Confirming(..) => (3, 0),
        }
    }

    fn ask_again(&mut self) {
        self.unanswered += 1;
        match &mut self.state {
            State::Locating(_, said) | State::Confirming(_, said) => *said = false,
            State::Streaming(buffer) => self.asked = buffer.written(),
            State::Getting(_) => {}
        }
    }
}

impl Exchange {
    /// Notes that a frame leaves under this number of its session.
    pub(crate) fn frame_leaves(&mut self, peer: &Peer, number: u64, payload: &[u8]) {
        let ids = peer.payloads.offers.of_frame(payload);
        if !ids.is_empty() {
            peer.payloads.offers.sent(&ids);
            self.sent.push_back((number, ids));
        }
    }

    /// Whether there is no work, as far as can be seen at once: the usual case.
    pub(crate) fn is_idle(&self, peer: &Peer, handled: u64) -> bool {
        self.sent.front().is_none_or(|(number, _)| *number >= handled)
            && self.wants.is_empty()
            && self.fetches.is_empty()
            && self.asked.is_empty()
            && !peer.payloads.wanted.any()
    }

    /// Does the work there is, and frees the offers in frames before `handled`, which were handled
    /// there. False if there was none.
    pub(crate) fn turn(&mut self, here: &mut Here<'_>, handled: u64) -> bool {
        let mut did = false;
        while self.sent.front().is_some_and(|(number, _)| *number < handled)
            && let Some((_, ids)) = self.sent.pop_front()
        {
            self.release(here, &ids);
            did = true;
        }
        let wants = here.peer.payloads.wanted.take();
        did | self.step(here, wants)
    }

    /// Does the work there is, with more that is wanted. False if there was none.
    pub(super) fn step(&mut self, here: &mut Here<'_>, wants: Vec<Want>) -> bool {
        self.wants.extend(wants);
        let mut did = self.begin(here);
        did |= self.ask(here);
        did |= self.give_up(here);
        did | self.answer(here)
    }

    /// Gives up all that is wanted of a node that is no neighbour, if it serves nothing though it
    /// was asked again and again: that its messages come does not say that it hears this node. What
    /// has come behind the payloads goes on then. The neighbours that brought that wait for it.
    fn give_up(&mut self, here: &mut Here<'_>) -> bool {
        let most = here.inner.asks_max();
        let is_mute = |fetch: &Fetch| fetch.unanswered > most;
        let gives_up = here.peer.is_multihop() && self.fetches.values().any(is_mute);
        if gives_up {
            self.fail_all(here, &PayloadError::NoAnswer);
        }
        gives_up
    }

    fn fail_all(&mut self, here: &mut Here<'_>, why: &PayloadError) {
        for (ticket, fetch) in std::mem::take(&mut self.fetches) {
            fail(here, ticket, fetch.offer, why.clone());
        }
        for want in self.wants.drain(..) {
            // Not begun, so not counted as ahead.
            (here.fetched)(want.ticket, Err(why.clone()));
        }
    }

    /// Whether there is nothing to do, and nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.wants.is_empty()
            && self.fetches.is_empty()
            && self.asked.is_empty()
            && self.shared.is_empty()
    }

    /// Lets go of the memory of offers that have ended.
    pub(super) fn let_go(&mut self, here: &mut Here<'_>) {
        let offers = &here.peer.payloads.offers;
        let ended: Vec<u64> = self.shared.keys().copied().filter(|&id| !offers.has(id)).collect();
        self.release(here, &ended);
    }

    fn release(&mut self, here: &mut Here<'_>, ids: &[u64]) {
        for id in ids {
            if let Some(region) = self.shared.remove(id)
                && let Some(memory) = here.fabric.remote_memory()
            {
                // Ours, and registered once: it is there.
                let _ = memory.unregister(region);
            }
        }
        here.peer.payloads.offers.release(ids);
    }

    /// Makes buffers for the payloads that are wanted, in order.
    fn begin(&mut self, here: &mut Here<'_>) -> bool {
        let mut did = false;
        let ahead_bytes_max = here.config().ahead_bytes_max;
        while self.fetches.len() < FETCHES_MAX
            && let Some(&Want { ticket, offer }) = self.wants.front()
            && here.peer.payloads.wanted.go_ahead(bytes_of(offer), ahead_bytes_max)
        {
            did = true;
            self.wants.pop_front();
            match here.inner.buffer_for_payload(bytes_of(offer)) {
                Ok(buffer) => {
                    let state = match by_parts(buffer) {
                        State::Streaming(buffer) if here.fabric.remote_memory().is_some() => {
                            State::Locating(buffer, false)
                        }
                        state => state,
                    };
                    let heard_ns = here.now_ns;
                    let fetch = Fetch { offer, state, asked: 0, heard_ns, unanswered: 0 };
                    self.fetches.insert(ticket, fetch);
                }
                Err(error) => fail(here, ticket, offer, error),
            }
        }
        did
    }

    /// Asks for the parts that can be asked for now, and again for those that did not come.
    fn ask(&mut self, here: &mut Here<'_>) -> bool {
        let mut did = false;
        let resend_ns = here.inner.resend_ns();
        let part_bytes = part_bytes(here.fabric);
        let window_bytes = here.config().window_bytes.max(part_bytes);
        let step_bytes = part_bytes.max(window_bytes / 2);
        let mut under_way: usize = self.fetches.values().map(Fetch::under_way).sum();
        for fetch in self.fetches.values_mut() {
            if fetch.is_waiting() && here.now_ns >= fetch.heard_ns.saturating_add(resend_ns) {
                under_way -= fetch.under_way();
                fetch.ask_again();
            }
            let Offer { incarnation, id, .. } = fetch.offer;
            match &mut fetch.state {
                State::Locating(_, said) if !*said => {
                    let says = Says::Ask { bytes: part_bytes as u64, or_place: true };
                    *said = here.say(incarnation, id, 0, says);
                    did |= *said;
                    fetch.heard_ns = here.now_ns;
                }
                State::Confirming(payload, said) if !*said => {
                    let says = Says::Ask { bytes: 0, or_place: false };
                    *said = here.say(incarnation, id, payload.len(), says);
                    did |= *said;
                    fetch.heard_ns = here.now_ns;
                }
                State::Streaming(buffer) => {
                    let missing = buffer.len() - fetch.asked;
                    let free = window_bytes.saturating_sub(under_way);
                    let some = missing.min(free);
                    // Half a window at a time, or what is missing: a request per part would be as
                    // many datagrams again.
                    let asks = some > 0 && (some == missing || some >= step_bytes);
                    let says = Says::Ask { bytes: some as u64, or_place: false };
                    if asks && here.say(incarnation, id, fetch.asked, says) {
                        fetch.asked += some;
                        under_way += some;
                        fetch.heard_ns = here.now_ns;
                        did = true;
                    }
                }
                _ => {}
            }
        }
        did
    }

    /// Answers the other node's requests.
    fn answer(&mut self, here: &mut Here<'_>) -> bool {
        let mut did = false;
        for _ in 0..PARTS_PER_TURN {
            let Some(asked) = self.asked.front_mut() else { break };
            let (id, incarnation) = (asked.id, here.inner.incarnation());
            let payload = here.peer.payloads.offers.get(id);
            // Beyond the end there is nothing, as without an offer.
            let payload = payload.filter(|payload| asked.offset <= payload.len());
            let Some(payload) = payload else {
                if !here.say(incarnation, id, asked.offset, Says::Gone) {
                    break;
                }
                self.asked.pop_front();
                did = true;
                continue;
            };
            if asked.or_place
                && let Some(region) = share(&mut self.shared, here.fabric, id, &payload)
            {
                if !here.say(incarnation, id, 0, Says::Place(region)) {
                    break;
                }
                self.asked.pop_front();
                did = true;
                continue;
            }
            let bytes = asked.bytes.min(part_bytes(here.fabric)).min(payload.len() - asked.offset);
            let part = &payload[asked.offset..asked.offset + bytes];
            if !here.say(incarnation, id, asked.offset, Says::Part(part)) {
                break;
            }
            did = true;
            asked.offset += bytes;
            asked.bytes -= bytes;
            if asked.bytes == 0 || asked.offset == payload.len() {
                self.asked.pop_front();
            }
        }
        did
    }

    /// Takes a datagram that has come from the other node.
    pub(crate) fn receive(&mut self, here: &mut Here<'_>, frame: &[u8]) {
        let Some(Datagram { incarnation, id, offset, says }) = Datagram::read(frame) else {
            return;
        };
        let Ok(offset) = usize::try_from(offset) else { return };
        if let Says::Ask { bytes, or_place } = says {
            // An offer of an earlier incarnation is like one that never was.
            let id = if incarnation == here.inner.incarnation() { id } else { 0 };
            if self.asked.len() < ASKED_MAX {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.asked.push_back(Asked { id, offset, bytes, or_place });
            }
            return;
        }
        let is_this =
            |fetch: &Fetch| (fetch.offer.incarnation, fetch.offer.id) == (incarnation, id);
        let found = self.fetches.iter().find(|(_, fetch)| is_this(fetch));
        let Some(ticket) = found.map(|(&ticket, _)| ticket) else { return };
        let Some(mut fetch) = self.fetches.remove(&ticket) else { return };
        fetch.heard_ns = here.now_ns;
        let before = fetch.progress();
        match fetch.answered(here, offset, says) {
            Progress::Goes(state) => {
                fetch.state = state;
                let is_served = fetch.progress() != before;
                self.fetches.insert(ticket, fetch);
                if !is_served {
                    return;
                }
            }
            Progress::Is(Ok(payload)) => (here.fetched)(ticket, Ok(payload)),
            Progress::Is(Err(error)) => fail(here, ticket, fetch.offer, error),
        }
        self.fetches.values_mut().for_each(|fetch| fetch.unanswered = 0);
    }

    /// Takes the outcome of a transfer of the fabric. False if the transfer is not one of this
    /// exchange's.
    pub(crate) fn transferred(
        &mut self,
        here: &mut Here<'_>,
        transfer: TransferId,
        payload: Option<&Payload>,
    ) -> bool {
        let is_this = |fetch: &Fetch| matches!(fetch.state, State::Getting(id) if id == transfer);
        let found = self.fetches.iter_mut().find(|(_, fetch)| is_this(fetch));
        let Some((&ticket, fetch)) = found else { return false };
        fetch.heard_ns = here.now_ns;
        if let Some(payload) = payload {
            fetch.state = State::Confirming(payload.clone(), false);
            return true;
        }
        // Then by parts.
        let offer = fetch.offer;
        match here.inner.buffer_for_payload(bytes_of(offer)) {
            Ok(buffer) => fetch.state = by_parts(buffer),
            Err(error) => {
                self.fetches.remove(&ticket);
                fail(here, ticket, offer, error);
            }
        }
        true
    }

    /// Ends the session's transfers: nothing that was offered will be fetched, here or there.
    pub(crate) fn end(&mut self, here: &mut Here<'_>) {
        self.wants.extend(here.peer.payloads.wanted.close());
        self.forget(here);
        self.sent.clear();
        here.peer.payloads.offers.clear();
    }

    /// Ends the transfers of a session that somebody else has ended: a later one may have begun.
    pub(super) fn forget(&mut self, here: &mut Here<'_>) {
        self.fail_all(here, &PayloadError::NodeDown);
        self.asked.clear();
        let shared: Vec<u64> = self.shared.keys().copied().collect();
        self.release(here, &shared);
    }

    /// Whether a payload is being fetched.
    pub(crate) fn is_fetching(&self) -> bool {
        !self.fetches.is_empty()
    }

    /// Returns the time of the next work, if nothing happens before.
    pub(crate) fn due_ns(&self, now_ns: u64, resend_ns: u64) -> Option<u64> {
        let again = (!self.asked.is_empty()).then(|| now_ns.saturating_add(AGAIN_NS));
        let due = self.fetches.values().filter_map(|fetch| {
            if fetch.is_waiting() {
                Some(fetch.heard_ns.saturating_add(resend_ns))
            } else {
                fetch.is_mute().then(|| now_ns.saturating_add(AGAIN_NS))
            }
        });
        due.chain(again).min()
    }
}

enum Progress {
    Goes(State),
    Is(Result<Payload, PayloadError>),
}

impl Fetch {
    /// Returns the step that follows from an answer. The caller puts the state back.
    fn answered(&mut self, here: &mut Here<'_>, offset: usize, says: Says<'_>) -> Progress {
        let state = std::mem::replace(&mut self.state, State::Getting(TransferId(u64::MAX)));
        match (state, says) {
            // What the fabric reads is asked about when it is here.
            (state @ State::Getting(_), _) => Progress::Goes(state),
            (_, Says::Gone) => Progress::Is(Err(PayloadError::Gone)),
            (State::Locating(buffer, _), Says::Place(region)) => {
                let is_its = region.node == here.peer.node;
                if !is_its {
                    // A third node's memory is nothing that this one may have read.
                    here.inner.deny_lie(here.peer, None, Denial::Place);
                }
                let is_whole = is_its && region.bytes == self.offer.bytes;
                match here.fabric.remote_memory().filter(|_| is_whole) {
                    Some(memory) => Progress::Goes(match memory.get(region, 0, buffer) {
                        Ok(transfer) => State::Getting(transfer),
                        Err((_, buffer)) => by_parts(buffer),
                    }),
                    None => Progress::Goes(by_parts(buffer)),
                }
            }
            (State::Locating(buffer, _) | State::Streaming(buffer), Says::Part(bytes)) => {
                self.part(buffer, offset, bytes)
            }
            (State::Confirming(payload, _), Says::Part([])) if offset == payload.len() => {
                Progress::Is(Ok(payload))
            }
            (state, _) => Progress::Goes(state),
        }
    }

    fn part(&mut self, mut buffer: Unwritten, offset: usize, bytes: &[u8]) -> Progress {
        // What comes out of order is asked for again.
        if offset == buffer.written() && buffer.append(bytes) {
            self.asked = self.asked.max(buffer.written());
        }
        match buffer.finish() {
            Ok(payload) => Progress::Is(Ok(payload)),
            Err(buffer) => Progress::Goes(State::Streaming(buffer)),
        }
    }
}

/// Returns the next state of a fetch without remote memory. An empty payload is complete at once.
fn by_parts(buffer: Unwritten) -> State {
    match buffer.finish() {
        Ok(payload) => State::Confirming(payload, false),
        Err(buffer) => State::Streaming(buffer),
    }
}

/// Reports that a payload whose fetch had begun does not come.
fn fail(here: &mut Here<'_>, ticket: u64, offer: Offer, error: PayloadError) {
    here.peer.payloads.wanted.is_done(bytes_of(offer));
    (here.fetched)(ticket, Err(error));
}

/// The length of an offer's payload. A length beyond the address space becomes the largest, for
/// which no arena has room.
fn bytes_of(offer: Offer) -> usize {
    usize::try_from(offer.bytes).unwrap_or(usize::MAX)
}

fn part_bytes(fabric: &dyn Fabric) -> usize {
    fabric.datagram_bytes_max().saturating_sub(HEAD_BYTES).clamp(1, PART_BYTES_MAX)
}

/// Registers an offer's payload with the fabric, if that has remote memory, and returns its region.
fn share(
    shared: &mut BTreeMap<u64, RegionId>,
    fabric: &mut dyn Fabric,
    id: u64,
    payload: &Payload,
) -> Option<RegionId> {
    let memory = fabric.remote_memory()?;
    if let Some(&region) = shared.get(&id) {
        return Some(region);
    }
    let region = memory.share(payload.clone()).ok()?;
    shared.insert(id, region);
    Some(region)
}

//! Receiving: the way of a frame from its link to the mailboxes of actors.
//!
//! One actor per other node takes its frames apart, on a worker, where each message is a local
//! send. A frame counts as handled when that actor gets its next turn. A bounded mailbox that is
//! full mutes the actor: then it has no turn, the other node's credit is not renewed, and the other
//! node stops sending. A frame of few messages counts at once, unless they mute the actor: a turn
//! takes longer than they do, and what answers them would wait for it.
//!
//! **Pieces.** The actor hands over 64 messages at a time, and then lets their receivers have their
//! turns. Otherwise the messages of a whole window of frames would lie in mailboxes that no cache
//! holds.
//!
//! **Payloads.** A message may wait for its payload. All that came behind it from the same node
//! then waits in the inbound queue, so that order holds. The actor requests all payloads that the
//! queue offers at once, so that one is fetched while another is handed over. Tickets number the
//! payloads in the order of their messages. A frame counts as handled when all of it was handed
//! over, so the other node's credit bounds the queue. In a grid the messages of a node that is no
//! neighbour may wait so, too: in the queue of a receiver of their own (see `multihop`).

use super::event::NodeEvent;
use super::exports::{Exported, Place, Waiting};
use super::frame_receiver::{Asked, Behaviour, FrameReceiver, FrameReceiverMsg};
use super::grants::Grants;
use super::inbound::{Watched, Watching};
use super::inbound_queue::{InboundQueue, Missing};
use super::kept_frame::KeptFrame;
use super::parcel::Parcel;
use super::peer::Peer;
use super::state::{Inner, guarded};
use crate::codec::decode_hello;
use crate::denial::Denial;
use crate::error::RemoteDownReason;
use crate::locks::lock;
use crate::message::{
    self, ActorKey, Control, Envelope, Found, HandleKey, Item, Offer, Unanswered,
};
use crate::payload::{PayloadError, Want};
use crate::route::Grid;
use actinium_actor::travel::{Answering, Told, crossing};
use actinium_actor::{AskError, Context, Down};
use actinium_memory::heap::Payload;
use actinium_scheduler::trace::Scope;
use actinium_tap::Direction;
use actinium_wire::Encoding;
use std::any::Any;
use std::sync::Arc;

/// The number of messages of a piece: as many as an actor handles in a turn, unless the system's
/// builder says otherwise.
const PIECE: usize = 64;

/// The most messages of a frame that counts as handled at once. (In a grid none does: an envelope
/// has many.)
const FEW: usize = 4;

/// The reason for which no more of a frame was handed over.
enum Stop {
    /// The end of the frame.
    End,
    /// The end of a piece, and the place where the next one begins.
    Piece(usize),
    /// The message at this place waits for its payload.
    Payload(usize),
}

/// The behaviour of a frame receiver: see the module.
pub(super) struct Receiver {
    inner: Arc<Inner>,
    /// The node whose messages these are. In a grid this is a node further away, while messages of
    /// that node are taken apart.
    peer: Arc<Peer>,
    /// A copy of the table of exports, as far as it was needed: the true one lies behind a lock.
    actors: Vec<Place>,
    /// Whether an envelope is taken apart.
    is_inside: bool,
    /// In a grid: what keeps the frame that is taken apart from counting as handled, if envelopes
    /// in it wait elsewhere.
    kept: Option<Arc<KeptFrame>>,
    /// In a grid: a next node for which too many messages wait that are handed on.
    full: Option<Arc<Peer>>,
    /// The number of messages for nobody in the frame or envelope that is taken apart.
    misaddressed: u64,
    /// The frames that wait to be handed over, some for payloads.
    queue: InboundQueue,
}

impl Behaviour for Receiver {
    fn handle(&mut self, msg: FrameReceiverMsg, ctx: &mut Context<'_, FrameReceiver>) {
        match msg {
            FrameReceiverMsg::Frame(frame) => self.frame(frame, ctx),
            FrameReceiverMsg::Up
            | FrameReceiverMsg::Down(..)
            | FrameReceiverMsg::Multihop(..)
            | FrameReceiverMsg::Last(_) => {
                self.behind(msg, ctx);
            }
            FrameReceiverMsg::Fetched(ticket, outcome) => self.fetched(ticket, outcome, ctx),
            FrameReceiverMsg::GoOn => {
                self.queue.goes_on = false;
                self.go_on(ctx);
            }
            FrameReceiverMsg::Handled(frame) => self.inner.frame_handled(self.peer.node, frame),
            FrameReceiverMsg::LetGo(frame) => drop(frame),
            FrameReceiverMsg::Answered(Asked { peer, session, request, .. }, answer) => {
                // In a later session the other node may have given its number to another request.
                if lock(&peer.inbound).answered(session) {
                    let answer = answer.as_deref().map_err(|unanswered| *unanswered);
                    self.inner.answer(&peer, request, answer);
                }
            }
            FrameReceiverMsg::Ended(peer, key, reason) => {
                let watches = lock(&peer.inbound).ended(key);
                let (is_abnormal, reason) = (reason.is_abnormal(), reason.to_string());
                for watch in watches {
                    let reason = reason.clone();
                    self.control(&peer, &Control::Ended { watch, reason, is_abnormal });
                }
            }
            FrameReceiverMsg::Free(key) => self.inner.exports_mut().remove_spawned(key),
        }
    }
}

impl Receiver {
    pub(super) fn new(inner: Arc<Inner>, peer: Arc<Peer>) -> Self {
        let queue = InboundQueue::default();
        let (actors, is_inside, kept, full, misaddressed) = (Vec::new(), false, None, None, 0);
        Receiver { inner, peer, actors, is_inside, kept, full, misaddressed, queue }
    }

    /// Takes a frame that has come.
    fn frame(&mut self, frame: Parcel, ctx: &mut Context<'_, FrameReceiver>) {
        if self.queue.wants {
            self.want(&frame, 0);
        }
        // An envelope was shown with the frame that brought it.
        if self.inner.taps.is_on() && frame.envelope.is_none() {
            self.inner.show(Direction::In, self.peer.node, frame.delivery.payload());
        }
        self.behind(FrameReceiverMsg::Frame(frame), ctx);
    }

    /// Queues a message behind all that waits, and goes on if nothing does.
    fn behind(&mut self, msg: FrameReceiverMsg, ctx: &mut Context<'_, FrameReceiver>) {
        let is_first = self.queue.waiting.is_empty();
        self.queue.waiting.push_back(msg);
        if is_first {
            self.go_on(ctx);
        }
    }

    /// Hands over a frame, or a piece of one, and then sends itself a message to go on. So full
    /// mailboxes stop it, too.
    fn go_on(&mut self, ctx: &mut Context<'_, FrameReceiver>) {
        while let Some(first) = self.queue.waiting.pop_front() {
            let FrameReceiverMsg::Frame(mut frame) = first else {
                self.behind_all(first);
                continue;
            };
            let at = std::mem::take(&mut self.queue.at);
            let before = self.queue.handed;
            let stop = self.hand_over(&mut frame, at, ctx);
            let is_direct = self.inner.grid == Grid::DIRECT;
            let has_few = is_direct && at == 0 && self.queue.handed - before <= FEW;
            if self.queue.handed == PIECE {
                self.queue.handed = 0;
                ctx.yield_now();
            }
            match stop {
                Stop::End => self.handed_over(frame, has_few, ctx),
                Stop::Piece(at) | Stop::Payload(at) => {
                    self.queue.at = at;
                    self.queue.waiting.push_front(FrameReceiverMsg::Frame(frame));
                }
            }
            if let Stop::Payload(at) = stop {
                self.want_all(at);
                // Unless it is known at once that it will not come.
                if !self.queue.fetched.contains_key(&self.queue.turn) {
                    return;
                }
            }
            if !self.queue.waiting.is_empty() {
                self.queue.goes_on = true;
                return ctx.address().tell(FrameReceiverMsg::GoOn);
            }
        }
        self.queue.wants = false;
    }

    /// Hands over the next piece of a frame, from a place on.
    fn hand_over(
        &mut self,
        frame: &mut Parcel,
        from: usize,
        ctx: &mut Context<'_, FrameReceiver>,
    ) -> Stop {
        self.is_inside = frame.envelope.is_some();
        // There may be handles in its messages.
        let (border, other) = (self.inner.border.number(), self.peer.node.0);
        crossing(border, other, || self.hand_over_piece(frame, from, ctx))
    }

    fn hand_over_piece(
        &mut self,
        frame: &mut Parcel,
        from: usize,
        ctx: &mut Context<'_, FrameReceiver>,
    ) -> Stop {
        let frame = &mut frame.delivery;
        let (mut is_awaited, mut is_malformed) = (false, false);
        let payload = frame.payload();
        let mut rest = payload.get(from..).unwrap_or_default();
        let (mut items, mut stop) = (0, Stop::End);
        while !rest.is_empty() {
            if self.queue.handed == PIECE {
                stop = Stop::Piece(payload.len() - rest.len());
                break;
            }
            self.queue.handed += 1;
            if let Some((key, encoding, message, behind)) = message::read_tell(rest) {
                items += u64::from(!self.tell(key, encoding, message));
                rest = behind;
                continue;
            }
            let Some((context, item, behind)) = message::read_one_traced(rest) else {
                self.inner.not_understood();
                is_malformed = true;
                break;
            };
            let scope = context.map(|context| Scope::enter(Some(context)));
            if let Item::TellWith(key, encoding, offer, message) = item {
                let Some(outcome) = self.queue.fetched.remove(&self.queue.turn) else {
                    stop = Stop::Payload(payload.len() - rest.len());
                    break;
                };
                self.queue.turn += 1;
                is_awaited = true;
                items += u64::from(!self.is_internal(&item));
                self.tell_with(key, encoding, offer, message, outcome);
            } else {
                items += u64::from(!self.is_internal(&item));
                self.item(item, ctx);
            }
            drop(scope);
            rest = behind;
        }
        // Read by whoever waits until this system is idle, which the end of this turn comes before.
        self.inner.counters.received.add(items);
        frame.is_awaited |= is_awaited;
        frame.is_malformed |= is_malformed;
        self.tell_misaddressed();
        stop
    }

    /// Hands a message over to an actor, the work that most items are. True if the actor is of the
    /// cluster's own machinery.
    #[inline]
    fn tell(&mut self, key: ActorKey, encoding: Encoding, message: &[u8]) -> bool {
        let from = self.peer.node;
        let Some((actor, allowed)) = self.reach(key, Grants::SEND) else {
            self.misaddressed += 1;
            return false;
        };
        if !allowed {
            self.deny(key, Denial::Send);
            return false;
        }
        let (is_internal, has_ended) = (actor.is_internal(), actor.has_ended());
        // How bytes become its message is the user's code.
        if guarded(|| actor.tell(from, encoding, message)) != Some(true) {
            self.inner.not_understood();
        }
        self.misaddressed += u64::from(has_ended);
        is_internal
    }

    fn item(&mut self, item: Item<'_>, ctx: &Context<'_, FrameReceiver>) {
        if let Item::Tell(key, encoding, message) = item {
            self.tell(key, encoding, message);
            return;
        }
        let inner = self.inner.clone();
        match item {
            Item::Tell(..) => {}
            // These are handed over together with their payloads (`tell_with`), and an envelope
            // says that it has some.
            Item::TellWith(..) => inner.not_understood(),
            Item::Ask(key, request, encoding, message) => {
                self.ask(key, request, encoding, message, ctx);
            }
            Item::Answer(request, answer) => inner.answered(&self.peer, request, answer),
            Item::Control(Control::Lookup { request, name, hello, wait }) => {
                inner.look_up(Waiting { name, hello, peer: self.peer.clone(), request }, wait);
            }
            Item::Control(Control::Watch { watch, key }) => self.watch(key, watch, ctx),
            Item::Control(Control::Ended { watch, reason, is_abnormal }) => {
                inner.ended(&self.peer, watch, reason, is_abnormal);
            }
            Item::Control(Control::NotWatched { watch }) => {
                inner.watched_ended(&self.peer, watch, RemoteDownReason::Denied);
            }
            Item::Control(Control::Denied { what, index, times }) => {
                let node = self.peer.node;
                inner.tell_listeners(&NodeEvent::DeniedThere { node, actor: index, what, times });
            }
            Item::Control(Control::Spawn { request, hello, args }) => {
                let found = match decode_hello(&hello) {
                    Ok(hello) => inner.spawn_for(&self.peer, &hello, &args, ctx),
                    Err(error) => Found::Incompatible(error.to_string()),
                };
                inner.found(&self.peer, request, &found);
            }
            Item::Control(Control::PayloadLost { bytes, why }) => {
                let node = self.peer.node;
                inner.tell_listeners(&NodeEvent::PayloadLostThere { node, bytes, why });
            }
            Item::Control(Control::Misaddressed { messages }) => {
                inner.tell_listeners(&NodeEvent::Misaddressed { node: self.peer.node, messages });
            }
            Item::Control(Control::Stop { key, now }) => self.stop(key, now),
            Item::Control(Control::Adopt { key }) => self.adopt(key),
            // Those at the ends of a link say it, of a grid that both are in, and of none of its
            // nodes twice.
            Item::Control(Control::Reach { .. } | Control::Leaving { .. })
                if self.is_inside || self.peer.node.0 >= inner.grid.nodes() =>
            {
                inner.deny_lie(&self.peer, None, Denial::Sender);
            }
            Item::Control(Control::Reach { nodes }) => {
                let mut nodes = nodes;
                nodes.truncate((inner.grid.nodes() as usize).div_ceil(8));
                lock(&inner.heard).reach(self.peer.node, nodes);
                inner.unparker.ring();
            }
            Item::Control(Control::Leaving { level }) => {
                lock(&inner.heard).leaving(self.peer.node, level);
                inner.unparker.ring();
            }
            // Only whoever begins a way makes an envelope, and none in an envelope.
            Item::Envelope(_) if self.is_inside => inner.not_understood(),
            Item::Envelope(envelope) => self.envelope(&envelope, ctx),
            of_handle => self.item_of_handle(of_handle, ctx),
        }
    }

    /// Marks a frame as handled that was handed over completely. Waits before that for capacity at
    /// the next node, if messages of the frame were handed on to a full one.
    fn handed_over(&mut self, frame: Parcel, has_few: bool, ctx: &mut Context<'_, FrameReceiver>) {
        let handled = match self.kept.take() {
            None if has_few && self.full.is_none() && !ctx.is_muted() => {
                return self.inner.frame_handled(self.peer.node, frame);
            }
            None => FrameReceiverMsg::Handled(frame),
            Some(kept) => {
                kept.put(frame);
                FrameReceiverMsg::LetGo(kept)
            }
        };
        match self.full.take() {
            None => ctx.address().tell(handled),
            // Whoever sent it waits, and keeps capacity: see `multihop`.
            Some(full) => {
                let ready = full.aggregator.ready();
                ctx.pipe(ready, move |_| handled);
            }
        }
    }

    /// Handles a message that comes behind all that the other node had sent before.
    fn behind_all(&mut self, msg: FrameReceiverMsg) {
        match msg {
            FrameReceiverMsg::Up => self.inner.went_up(&self.peer),
            FrameReceiverMsg::Down(event, _told) => self.inner.went_down(&self.peer, event),
            FrameReceiverMsg::Multihop(news) if news.peer.node == self.peer.node => {
                self.inner.tell_multihop(&news.peer, news.so_far);
            }
            FrameReceiverMsg::Multihop(news) => self.inner.tell_multihop_in_order(news),
            FrameReceiverMsg::Last(ending) => {
                // Actors that answer late keep this one.
                self.actors = Vec::new();
                drop(ending);
            }
            _ => debug_assert!(false, "nothing else waits behind frames"),
        }
    }

    /// Counts the messages that were for nobody, and tells their sender.
    fn tell_misaddressed(&mut self) {
        let messages = std::mem::take(&mut self.misaddressed);
        if messages > 0 {
            self.inner.counters.misaddressed.add(messages);
            self.control(&self.peer, &Control::Misaddressed { messages });
        }
    }

    /// Returns an actor, and whether the node whose messages these are may do `what` with it.
    #[inline]
    fn reach(&mut self, key: ActorKey, what: Grants) -> Option<(&dyn Exported, bool)> {
        let node = self.peer.node;
        let place = self.place(key)?;
        Some((place.actor.as_deref()?, place.allows(what, node)))
    }

    /// Returns an actor, if the node whose messages these are may do `what` with it.
    fn actor(&mut self, key: ActorKey, what: Grants) -> Option<&dyn Exported> {
        self.reach(key, what).filter(|&(_, allowed)| allowed).map(|(actor, _)| actor)
    }

    fn place(&mut self, key: ActorKey) -> Option<&Place> {
        let index = key.index as usize;
        let is_this = |place: &&Place| place.generation == key.generation;
        if self.actors.get(index).filter(is_this).is_none() {
            self.look_again(index);
        }
        self.actors.get(index).filter(is_this)
    }

    /// Updates the copy of the table of exports. The table may have grown, or have another actor in
    /// this place.
    #[cold]
    fn look_again(&mut self, index: usize) {
        let exports = self.inner.exports();
        self.actors.extend_from_slice(exports.after(self.actors.len()));
        if let (Some(known), Some(place)) = (self.actors.get_mut(index), exports.place(index)) {
            known.clone_from(place);
        }
    }

    fn is_internal(&mut self, item: &Item<'_>) -> bool {
        match item {
            Item::Tell(key, ..) | Item::TellWith(key, ..) => {
                self.actor(*key, Grants::NONE).is_some_and(Exported::is_internal)
            }
            // What lies in it is counted where it arrives.
            Item::Envelope(_) => true,
            Item::Control(
                Control::Reach { .. } | Control::Leaving { .. } | Control::Denied { .. },
            ) => true,
            _ => false,
        }
    }

    fn control(&self, peer: &Arc<Peer>, control: &Control) {
        // If the other node is down by now, it was told all there is to know.
        let _ = self.inner.add(peer, true, |frame| message::control(control, frame));
    }

    fn deny(&self, key: ActorKey, what: Denial) {
        self.inner.deny(&self.peer, Some(key), what);
    }
}

/// The operations of other nodes on actors here, besides sending.
impl Receiver {
    fn ask(
        &mut self,
        key: ActorKey,
        request: u64,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, FrameReceiver>,
    ) {
        let (inner, peer) = (self.inner.clone(), self.peer.clone());
        let (most, border) = (inner.config.limits.asks, inner.border.number());
        let unanswered = match self.reach(key, Grants::ASK) {
            None => Unanswered::Closed,
            Some((_, false)) => {
                self.deny(key, Denial::Ask);
                Unanswered::Denied
            }
            Some((actor, true)) => {
                let begun = lock(&peer.inbound).ask(most);
                let asked = |session| Asked { peer: peer.clone(), session, request, border };
                match begun {
                    None => {
                        self.deny(key, Denial::Asks);
                        Unanswered::TooMany
                    }
                    Some(session) => {
                        // How bytes become its request is the user's code.
                        if guarded(|| actor.ask(asked(session), encoding, message, ctx)).is_some() {
                            return;
                        }
                        lock(&peer.inbound).answered(session);
                        Unanswered::NotUnderstood
                    }
                }
            }
        };
        inner.answer(&peer, request, Err(unanswered));
    }

    fn watch(&mut self, key: ActorKey, watch: u64, ctx: &Context<'_, FrameReceiver>) {
        let (inner, peer) = (self.inner.clone(), self.peer.clone());
        let most = inner.config.limits.watches;
        let denial = match self.reach(key, Grants::WATCH) {
            None => {
                let reason = "this node has no such actor (any more)".to_owned();
                let ended = Control::Ended { watch, reason, is_abnormal: false };
                return self.control(&peer, &ended);
            }
            Some((_, false)) => Denial::Watch,
            Some((actor, true)) => {
                let watched = Watched::Exported(key);
                let watching = lock(&peer.inbound).watch(watched, watch, most);
                match watching {
                    Watching::First => return actor.watch(&peer, key, ctx),
                    Watching::Another => return,
                    Watching::TooMany => Denial::Watches,
                }
            }
        };
        self.deny(key, denial);
        self.control(&peer, &Control::NotWatched { watch });
    }

    fn stop(&mut self, key: ActorKey, now: bool) {
        // Whoever has adopted an actor may end it as a parent does.
        let is_parent = !now && lock(&self.peer.inbound).has_adopted(key);
        match self.reach(key, Grants::STOP) {
            Some((actor, allowed)) if allowed || is_parent => actor.stop(now),
            Some(_) => self.deny(key, Denial::Stop),
            // One that is gone needs no stopping.
            None => {}
        }
    }

    fn adopt(&mut self, key: ActorKey) {
        match self.reach(key, Grants::ADOPT) {
            Some((_, true)) => lock(&self.peer.inbound).adopt(key),
            Some(_) => self.deny(key, Denial::Adopt),
            None => {}
        }
    }
}

/// Messages and operations of those who were given a handle.
impl Receiver {
    fn item_of_handle(&mut self, item: Item<'_>, ctx: &Context<'_, FrameReceiver>) {
        match item {
            Item::TellTo(handle, encoding, message) => self.tell_to(handle, encoding, message),
            Item::AskTo(handle, request, encoding, message) => {
                self.ask_to(handle, request, encoding, message, ctx);
            }
            Item::Control(Control::WatchHandle { watch, handle }) => {
                self.watch_handle(handle, watch, ctx);
            }
            Item::Control(Control::UnwatchHandle { watch, handle }) => {
                lock(&self.peer.inbound).unwatch(Watched::Given(handle), watch);
            }
            Item::Control(Control::HandleEnded { handle }) => {
                self.inner.handle_ended(&self.peer, handle);
            }
            Item::Reply(key, encoding, answer) => {
                self.inner.replied(&self.peer, key, encoding, answer);
            }
            _ => debug_assert!(false, "nothing else is of a handle"),
        }
    }

    fn tell_to(&mut self, handle: HandleKey, encoding: Encoding, message: &[u8]) {
        let given = self.inner.given_to(&self.peer, handle, Grants::SEND, Denial::Send);
        // What a message does to its sender's handle is the user's code.
        match given.map(|given| guarded(|| given.tell(encoding, message))) {
            Some(Some(Told::Sent)) => {}
            Some(Some(Told::NotUnderstood) | None) => self.inner.not_understood(),
            None | Some(Some(Told::Ended)) => {
                self.misaddressed += 1;
                self.control(&self.peer, &Control::HandleEnded { handle });
            }
        }
    }

    fn ask_to(
        &mut self,
        handle: HandleKey,
        request: u64,
        encoding: Encoding,
        message: &[u8],
        ctx: &Context<'_, FrameReceiver>,
    ) {
        let (inner, peer) = (self.inner.clone(), self.peer.clone());
        let (most, border) = (inner.config.limits.asks, inner.border.number());
        let Some(given) = inner.given_to(&peer, handle, Grants::ASK, Denial::Ask) else {
            return inner.answer(&peer, request, Err(Unanswered::Closed));
        };
        let begun = lock(&peer.inbound).ask(most);
        let Some(session) = begun else {
            inner.deny_called(&peer, None, || Some(given.takes().to_owned()), Denial::Asks);
            return inner.answer(&peer, request, Err(Unanswered::TooMany));
        };
        // How bytes become its request is the user's code.
        let unanswered = match guarded(|| given.ask(encoding, message)) {
            Some(Answering::Asked(mut answer)) => {
                let from = peer.node.0;
                let asked = Asked { peer, session, request, border };
                let answer = std::future::poll_fn(move |cx| {
                    crossing(border, from, || answer.as_mut().poll(cx))
                });
                return ctx.pipe(answer, move |answer| {
                    let answer = answer.map_err(|error| match error {
                        AskError::Closed(_) => Unanswered::Closed,
                        AskError::Refused(..) => Unanswered::NotUnderstood,
                        _ => Unanswered::NoReply,
                    });
                    FrameReceiverMsg::Answered(asked, answer)
                });
            }
            Some(Answering::Ended) => Unanswered::Closed,
            Some(Answering::NotUnderstood) | None => Unanswered::NotUnderstood,
        };
        lock(&peer.inbound).answered(session);
        inner.answer(&peer, request, Err(unanswered));
    }

    fn watch_handle(&mut self, handle: HandleKey, watch: u64, ctx: &Context<'_, FrameReceiver>) {
        let (inner, peer) = (self.inner.clone(), self.peer.clone());
        let Some(given) = inner.given_to(&peer, handle, Grants::WATCH, Denial::Watch) else {
            let reason = "this node has no such actor (any more)".to_owned();
            return self.control(&peer, &Control::Ended { watch, reason, is_abnormal: false });
        };
        let watched = Watched::Given(handle);
        let watching = lock(&peer.inbound).watch(watched, watch, inner.config.limits.watches);
        match watching {
            Watching::First => {
                let me = ctx.address().downgrade();
                let notify = move |down: Down| {
                    if let Some(me) = me.upgrade() {
                        me.tell(FrameReceiverMsg::Ended(peer, watched, down.reason));
                    }
                };
                given.watch(Some(ctx.id()), Box::new(notify));
            }
            Watching::Another => {}
            Watching::TooMany => {
                let called = || Some(given.takes().to_owned());
                inner.deny_called(&peer, None, called, Denial::Watches);
                self.control(&peer, &Control::NotWatched { watch });
            }
        }
    }
}

/// The messages of nodes further away, in a grid.
impl Receiver {
    /// Takes an envelope, which holds messages that are not between the two ends of this link, in a
    /// grid.
    fn envelope(&mut self, envelope: &Envelope<'_>, ctx: &Context<'_, FrameReceiver>) {
        let through = self.peer.node.0;
        if !self.inner.grid.may_bring(through, envelope.from, envelope.to, self.inner.node.0) {
            // Nobody needs to wait for them: see `sent_and_received`.
            self.inner.counters.received.add(envelope.messages.into());
            return self.inner.deny_lie(&self.peer, None, Denial::Sender);
        }
        if envelope.to != self.inner.node.0 {
            if let Some(full) = self.inner.hand_on(envelope) {
                self.full = Some(full);
            }
            return;
        }
        let (inner, neighbour, kept) = (&self.inner, &self.peer, &mut self.kept);
        let frame = || -> Arc<dyn Any + Send + Sync> {
            kept.get_or_insert_with(|| Arc::new(KeptFrame::new(inner, neighbour))).clone()
        };
        match self.inner.arrived(envelope, frame) {
            Ok(None) => {}
            Ok(Some(from)) => {
                let neighbour = std::mem::replace(&mut self.peer, from);
                let of_neighbour = std::mem::take(&mut self.misaddressed);
                self.is_inside = true;
                let (border, other) = (self.inner.border.number(), self.peer.node.0);
                crossing(border, other, || self.items(envelope.payload, ctx));
                self.is_inside = false;
                self.tell_misaddressed();
                self.misaddressed = of_neighbour;
                self.peer = neighbour;
            }
            Err(_) => self.inner.not_understood(),
        }
    }

    /// Takes the messages of an envelope apart.
    fn items(&mut self, payload: &[u8], ctx: &Context<'_, FrameReceiver>) {
        let mut items = 0;
        let whole = message::read_traced(payload, |context, item| {
            let _scope = context.map(|context| Scope::enter(Some(context)));
            items += u64::from(!self.is_internal(&item));
            self.item(item, ctx);
        });
        // Read by whoever waits until this system is idle, which the end of this turn comes before.
        self.inner.counters.received.add(items);
        if !whole {
            self.inner.not_understood();
        }
    }
}

/// The messages with payloads.
impl Receiver {
    /// Takes the outcome of a payload that was wanted.
    fn fetched(
        &mut self,
        ticket: u64,
        outcome: Result<Payload, PayloadError>,
        ctx: &mut Context<'_, FrameReceiver>,
    ) {
        self.queue.fetched.insert(ticket, outcome.map_err(Missing::Payload));
        if ticket == self.queue.turn && !self.queue.goes_on {
            self.go_on(ctx);
        }
    }

    /// Requests the payloads that are offered in all that waits, unless that was done: in the first
    /// frame from a place on.
    fn want_all(&mut self, at: usize) {
        if std::mem::replace(&mut self.queue.wants, true) {
            return;
        }
        let queue = std::mem::take(&mut self.queue.waiting);
        let frames = queue.iter().filter_map(|msg| match msg {
            FrameReceiverMsg::Frame(frame) => Some(frame),
            _ => None,
        });
        for (index, frame) in frames.enumerate() {
            self.want(frame, if index == 0 { at } else { 0 });
        }
        self.queue.waiting = queue;
    }

    /// Requests the payloads that are offered in a frame from a place on.
    fn want(&mut self, frame: &Parcel, from: usize) {
        let frame = &frame.delivery;
        let mut rest = frame.payload().get(from..).unwrap_or_default();
        while let Some((item, behind)) = message::read_one(rest) {
            rest = behind;
            let Item::TellWith(key, _, offer, _) = item else { continue };
            let ticket = self.queue.last;
            self.queue.last += 1;
            if self.actor(key, Grants::SEND).is_none() {
                self.queue.fetched.insert(ticket, Err(Missing::Actor));
            } else if !self.peer.payloads.wanted.want(frame.session, Want { ticket, offer }) {
                let down = Err(Missing::Payload(PayloadError::NodeDown));
                self.queue.fetched.insert(ticket, down);
            }
        }
        self.inner.ring_for_payloads(&self.peer);
    }

    fn tell_with(
        &mut self,
        key: ActorKey,
        encoding: Encoding,
        offer: Offer,
        message: &[u8],
        outcome: Result<Payload, Missing>,
    ) {
        let payload = match outcome {
            Ok(payload) => payload,
            Err(Missing::Actor) => return self.not_there(key),
            Err(Missing::Payload(why)) => return self.payload_lost(offer, why),
        };
        // Now there may be capacity for the next.
        self.peer.payloads.wanted.is_done(payload.len());
        self.inner.ring_for_payloads(&self.peer);
        let from = self.peer.node;
        let Some(actor) = self.actor(key, Grants::SEND) else { return self.not_there(key) };
        let has_ended = actor.has_ended();
        // How bytes become its message is the user's code.
        match guarded(|| actor.tell_with(from, encoding, message, payload)) {
            Some(Some(true)) => self.misaddressed += u64::from(has_ended),
            Some(None) => self.payload_lost(offer, PayloadError::NotTaken),
            Some(Some(false)) | None => self.inner.not_understood(),
        }
    }

    /// Refuses or counts a message with a payload. Its actor is gone, or the other node may not
    /// send to it.
    fn not_there(&mut self, key: ActorKey) {
        match self.actor(key, Grants::NONE) {
            Some(_) => self.deny(key, Denial::Send),
            None => self.misaddressed += 1,
        }
    }

    fn payload_lost(&self, offer: Offer, why: PayloadError) {
        let bytes = offer.bytes;
        let lost = Control::PayloadLost { bytes, why: why.to_string() };
        self.control(&self.peer, &lost);
        self.inner.tell_listeners(&NodeEvent::PayloadLost { node: self.peer.node, bytes, why });
    }
}

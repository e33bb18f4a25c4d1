//! The shell of a state that moves: the actor in which the state lives, or has lived.
//!
//! ```text
//! Here --move--> Here, leaving (until all that it has sent has arrived: `leaving.rs`)
//!  ^               |
//!  |               v
//!  |             Moving (a copy is made, and asked whether it is there) --> Gone (forwards)
//!  |               |
//!  +---not copied--+
//! ```

use super::delivery::{Delivery, Waiting};
use super::id::MovableId;
use super::leaving::{Leaving, Next};
use super::lost;
use super::outbox::{Back, Outbox};
use super::sets::{Came, ShardCame, ShardTag};
use crate::actor::RemoteActor;
use crate::any::AnyAddress;
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::node::state::Inner;
use crate::node::{Grants, NodeEvent, SpawnArgs};
use crate::traffic::scope::{self, Flush, Sender, Used};
use crate::traffic::{Done, Key, Mover};
use actinium_actor::{Actor, Address, Context, Reply, WeakAddress};
use actinium_memory::heap::Payload;
use actinium_placement as placement;
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// State that can live on any node: data, with what it does when it is sent something.
///
/// ```
/// use actinium_actor::Context;
/// use actinium_cluster::{Migrate, Movable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize, actinium_wire::Message)]
/// struct Counter { count: u64 }
///
/// impl Migrate for Counter {
///     const KIND: &'static str = "example.movable-counter";
///     type Message = u64;
///     type Request = ();
///     type Answer = u64;
///     fn message(&mut self, n: u64, _ctx: &Context<'_, Movable<Self>>) { self.count += n }
///     fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> u64 { self.count }
/// }
/// ```
pub trait Migrate: SpawnArgs {
    /// The name of the state's type, the same on every node and in every version.
    const KIND: &'static str;
    /// Rises when the types below change.
    const VERSION: u32 = 1;
    /// The messages that may be sent to the state.
    type Message: Describe + Serialize + DeserializeOwned + Send;
    /// The requests that may be sent to the state.
    type Request: Describe + Serialize + DeserializeOwned + Send;
    /// The state's answer to a request.
    type Answer: Describe + Serialize + DeserializeOwned + Send;

    /// Handles a message.
    fn message(&mut self, message: Self::Message, ctx: &Context<'_, Movable<Self>>);

    /// Answers a request.
    fn request(&mut self, request: Self::Request, ctx: &Context<'_, Movable<Self>>)
    -> Self::Answer;

    /// What handles a message that comes together with a payload, which is how
    /// [`MovableAddress::send_with_payload`] sends one. `None`, as if nothing is said here: actors
    /// of this type take no payloads, and who sends one gets it back
    /// ([`RemoteSendError::NotTaken`](crate::RemoteSendError::NotTaken)). The payload is in memory
    /// of the node where the actor is, and does not move with its state.
    ///
    /// [`MovableAddress::send_with_payload`]: crate::MovableAddress::send_with_payload
    fn with_payload() -> Option<PayloadHandler<Self>> {
        None
    }

    /// Whether the actor stays where it is, unless [`MovableAddress::move_to`] moves it by hand:
    /// for an actor that uses what only its node has. Always true pins the type. It is asked from
    /// time to time, and before each move.
    ///
    /// [`MovableAddress::move_to`]: crate::MovableAddress::move_to
    fn is_pinned(&self) -> bool {
        false
    }

    /// What it costs to move the actor, besides what [`ExchangeRules::move_cost`] says of all: the
    /// number of messages between nodes that a move has to save. For actors with much state.
    ///
    /// [`ExchangeRules::move_cost`]: crate::ExchangeRules::move_cost
    fn move_cost(&self) -> u64 {
        0
    }
}

/// Handles a message to a state together with its payload: see [`Migrate::with_payload`].
pub type PayloadHandler<S> = fn(&mut S, <S as Migrate>::Message, Payload, &Context<'_, Movable<S>>);

/// The arguments from which a shell is made: the state's identity, its number of moves, the state,
/// and which shard it is, if it is one.
pub(super) type Arrival<S> = (MovableId, u64, S, Option<ShardTag>);

/// The rights of other nodes to a shell. Moving it is a request.
pub(super) const GRANTS: Grants = Grants::SEND.and(Grants::ASK);

/// A request to a shell: one of the codes below, a node (for `MOVE`), the state's own request (for
/// `ASK`).
pub(super) type Request<S> = (u8, u32, Option<<S as Migrate>::Request>);

/// For the state.
pub(super) const ASK: u8 = 0;

/// "Where have you gone?" Answered when it has.
pub(super) const WHERE: u8 = 1;

/// "Is all that I have sent before this where the state is?"
pub(super) const CLOSE: u8 = 2;

/// "Go there."
pub(super) const MOVE: u8 = 3;

/// The state's answer; the node where the state is now, and after how many moves; why it has not
/// moved.
pub(super) type Answer<S> = (Option<<S as Migrate>::Answer>, Option<(u32, u64)>, Option<String>);

/// Whether it is for the state. What is for its shell is of the cluster's own machinery.
fn is_for_state<S: Migrate>(delivery: &Delivery<Movable<S>>) -> bool {
    matches!(delivery, Delivery::Tell(_) | Delivery::TellWith(..) | Delivery::Ask((ASK, ..), _))
}

/// Hands an answer on. There is none: whoever asked hears that, too.
pub(super) fn hand_on<S: Migrate>(
    reply: Reply<Answer<S>>,
    answer: Result<Answer<S>, RemoteAskError>,
) {
    if let Ok(answer) = answer {
        // Whoever asked may have stopped waiting.
        let _ = reply.send(answer);
    }
}

/// How long a copy may take to be made, if nodes do not go down.
const MOVE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a shard that has come waits for the answer whether it has, before it asks again.
const CAME_TIMEOUT: Duration = Duration::from_secs(10);

/// The actor that a state lives in: see [`Migrate`].
pub struct Movable<S: Migrate> {
    inner: Weak<Inner>,
    id: MovableId,
    moves: u64,
    /// The number of copies that were not made: a copy of which nothing was heard is not to be
    /// taken for a later one.
    copies_failed: u64,
    /// The node that it has come from, or where it began.
    from: NodeId,
    state: State<S>,
    /// The requests that are answered when the state has moved.
    asked_where: Vec<Reply<Answer<S>>>,
    /// A count for each node: all that waits from that node shares it.
    waiting: BTreeMap<NodeId, Arc<()>>,
    /// The number of messages and requests of this node itself that were refused.
    refused: u64,
    /// Notes what the state sends. With the worker while that runs.
    sender: Option<Box<Sender>>,
    /// A move that has not begun.
    leaving: Option<Leaving<Movable<S>, Asker<S>>>,
    /// Whether the node's traffic counts it among the actors that live here.
    is_counted: bool,
    /// Which shard it is, if it is one.
    tag: Option<ShardTag>,
    /// Told when that has come here.
    came: Option<Came>,
}

enum State<S: Migrate> {
    Here(S),
    /// The state is as it was copied.
    Moving(Move<S>),
    Gone(AnyAddress<Movable<S>>, Outbox<Movable<S>>),
    /// Between two of the others.
    Nowhere,
}

/// Who is told what has become of a move.
enum Asker<S: Migrate> {
    Reply(Reply<Answer<S>>),
    Repartitioner(Done),
}

impl<S: Migrate> Asker<S> {
    /// Whoever asked may have stopped waiting.
    fn tell(self, not_moved: Option<String>) {
        match self {
            Asker::Reply(reply) => drop(reply.send((None, None, not_moved))),
            Asker::Repartitioner(done) => done(not_moved.map_or(Ok(()), Err)),
        }
    }
}

struct Move<S: Migrate> {
    state: S,
    node: NodeId,
    asker: Asker<S>,
    /// The shell there, once it is known.
    to: Option<AnyAddress<Movable<S>>>,
    /// The deliveries that have come since the move began.
    deliveries: VecDeque<Waiting<Movable<S>>>,
}

#[doc(hidden)]
pub struct ShellMsg<S: Migrate>(Shell<S>);

enum Shell<S: Migrate> {
    /// A delivery from a node.
    Delivery(NodeId, Delivery<Movable<S>>),
    Copied(Result<AnyAddress<Movable<S>>, RemoteAskError>),
    /// The copy has said that it is there.
    There(Result<Answer<S>, RemoteAskError>),
    /// Too much waited for its node: now there is capacity.
    ReadyToMove,
    Answered(Reply<Answer<S>>, Result<Answer<S>, RemoteAskError>),
    Ready,
    /// The node wants it elsewhere.
    Place(NodeId, Done),
    /// The answer whether this shard has come here.
    HasCome(Result<Answer<S>, RemoteAskError>),
    /// Too much waited for its former node: now there is capacity.
    AskAgain,
    /// Another one has the name of this shard.
    NameLost,
    /// All that was sent by an address has arrived, or it is to be asked again.
    Flushed(Option<(Key, Used, Flush)>),
}

/// Tells a shard that another one has its name. If it lives here, it ends.
pub(crate) fn lose_name<S: Migrate>(shell: &Address<Movable<S>>) {
    shell.tell(ShellMsg(Shell::NameLost));
}

/// Moves the actor in a shell.
struct ShellMover<S: Migrate>(WeakAddress<Movable<S>>);

impl<S: Migrate> Mover for ShellMover<S> {
    fn move_to(&self, node: NodeId, done: Done) {
        match self.0.upgrade() {
            Some(shell) => shell.tell(ShellMsg(Shell::Place(node, done))),
            None => done(Err("it has ended".to_owned())),
        }
    }
}

/// What is asked of a state for the node's partitioner.
fn about<S: Migrate>(state: &S, moves: u64) -> placement::Actor {
    let (cost, is_pinned) = (state.move_cost(), state.is_pinned());
    placement::Actor { cost, is_pinned, has_moved: moves > 0 }
}

impl<S: Migrate> Movable<S> {
    /// After so many moves, from that node.
    pub(super) fn new(
        inner: Weak<Inner>,
        id: MovableId,
        (moves, from): (u64, NodeId),
        state: S,
    ) -> Self {
        Movable {
            inner,
            id,
            moves,
            from,
            state: State::Here(state),
            asked_where: Vec::new(),
            waiting: BTreeMap::new(),
            refused: 0,
            sender: None,
            leaving: None,
            is_counted: false,
            tag: None,
            came: None,
            copies_failed: 0,
        }
    }

    /// The shell of a shard.
    pub(super) fn with_tag(mut self, tag: Option<ShardTag>, came: Option<Came>) -> Self {
        (self.tag, self.came) = (tag, came);
        self
    }

    /// The number of moves after the next one.
    fn moves_next(&self) -> u64 {
        self.moves.saturating_add(1).saturating_add(self.copies_failed)
    }

    fn key(&self) -> Key {
        self.id.key(S::KIND)
    }

    /// Says that the state lives on this node.
    fn appear(&mut self, inner: &Arc<Inner>, ctx: &Context<'_, Self>) {
        let traffic = inner.traffic().cloned();
        if let (Some(traffic), State::Here(state)) = (&traffic, &self.state) {
            let mover = Arc::new(ShellMover(ctx.address().downgrade()));
            traffic.appeared(self.key(), about(state, self.moves), mover);
            self.is_counted = true;
        }
        self.sender = Some(Box::new(Sender::new(self.key(), self.inner.clone(), traffic)));
    }

    /// Says that the state no longer lives on this node. It may come back, to another shell.
    fn vanish(&mut self) {
        if std::mem::take(&mut self.is_counted)
            && let Some(inner) = self.inner.upgrade()
            && let Some(traffic) = inner.traffic()
        {
            traffic.vanished(self.key());
        }
    }

    /// Runs the state's code. What it sends is noted.
    fn run<R>(&mut self, f: impl FnOnce(&mut S) -> R) -> Option<R> {
        let State::Here(state) = &mut self.state else { return None };
        let result = scope::run(&mut self.sender, || f(state));
        if self.sender.as_mut().is_some_and(|sender| sender.take_sampled())
            && let (State::Here(state), Some(inner)) = (&self.state, self.inner.upgrade())
            && let Some(traffic) = inner.traffic()
        {
            traffic.changed(self.key(), about(state, self.moves));
        }
        Some(result)
    }

    /// Takes what has come from a node, unless too much of it waits already. Whoever has asked
    /// hears that its request was dropped.
    fn admit(&mut self, from: NodeId, delivery: Delivery<Movable<S>>, ctx: &Context<'_, Self>) {
        let is_holding = self.leaving.as_ref().is_some_and(Leaving::is_holding);
        let is_here = matches!(self.state, State::Here(_));
        if is_here && !is_holding || !is_for_state(&delivery) {
            return self.take_or_hold(from, (delivery, None), ctx);
        }
        let Some(inner) = self.inner.upgrade() else { return };
        let counted = self.waiting.entry(from).or_default();
        // One of them is the map's.
        if Arc::strong_count(counted) > inner.limits().pending {
            return self.refuse(&inner, from);
        }
        let counted = Some(counted.clone());
        self.take_or_hold(from, (delivery, counted), ctx);
    }

    fn take_or_hold(
        &mut self,
        from: NodeId,
        waiting: Waiting<Movable<S>>,
        ctx: &Context<'_, Self>,
    ) {
        match &mut self.leaving {
            Some(leaving) if leaving.is_holding() => {
                let is_close = matches!(waiting.0, Delivery::Ask((CLOSE, ..), _));
                let now = leaving.hold(from, waiting, is_close);
                now.into_iter().for_each(|waiting| self.take(waiting, ctx));
            }
            _ => self.take(waiting, ctx),
        }
    }

    #[cold]
    fn refuse(&mut self, inner: &Arc<Inner>, from: NodeId) {
        let MovableId { node, serial } = self.id;
        let actor = Some(format!("{} {serial} of node {node}", S::KIND));
        if from != inner.id() {
            return inner.deny_called(&inner.peer(from), None, || actor, Denial::Pending);
        }
        self.refused = self.refused.saturating_add(1);
        if self.refused.is_power_of_two() {
            let (what, times) = (Denial::Pending, self.refused);
            inner.tell_listeners(&NodeEvent::Denied { node: from, actor, what, times });
        }
    }

    fn take(&mut self, (delivery, counted): Waiting<Movable<S>>, ctx: &Context<'_, Self>) {
        match &mut self.state {
            State::Here(_) => match delivery {
                Delivery::Tell(message) => {
                    self.run(|state| state.message(message, ctx));
                }
                Delivery::TellWith(_, message, payload) => {
                    // Without a handler none is made: see `with_payload_from`.
                    if let Some(handle) = S::with_payload() {
                        self.run(|state| handle(state, message, payload, ctx));
                    }
                }
                Delivery::Ask((ASK, _, Some(request)), reply) => {
                    let answer = self.run(|state| state.request(request, ctx));
                    // Whoever asked may have stopped waiting, here and below.
                    let _ = reply.send((answer, None, None));
                }
                Delivery::Ask((WHERE, ..), reply) => self.asked_where.push(reply),
                Delivery::Ask((CLOSE, ..), reply) => drop(reply.send((None, None, None))),
                Delivery::Ask((MOVE, node, _), reply) => {
                    self.leave(NodeId(node), Asker::Reply(reply), ctx);
                }
                // Nobody asks that; whoever does hears that the request was dropped.
                Delivery::Ask(..) => {}
            },
            State::Moving(going) => going.deliveries.push_back((delivery, counted)),
            State::Gone(to, outbox) => match delivery {
                Delivery::Ask((WHERE, ..), reply) => {
                    let _ = reply.send((None, Some((to.node().0, self.moves_next())), None));
                }
                delivery => {
                    outbox.push((delivery, counted));
                    self.pump(ctx);
                }
            },
            State::Nowhere => {}
        }
    }

    fn leave(&mut self, node: NodeId, asker: Asker<S>, ctx: &Context<'_, Self>) {
        let Some(inner) = self.inner.upgrade() else { return };
        if node == inner.id() {
            return asker.tell(None);
        }
        if self.leaving.is_some() || !matches!(self.state, State::Here(_)) {
            return asker.tell(Some("it is about to move".to_owned()));
        }
        // A copy comes with its number of moves, which another node may have made up.
        if self.moves_next() == u64::MAX {
            let why = format!("it has moved {} times, and there is no larger number", self.moves);
            return asker.tell(Some(why));
        }
        if !inner.has_met(node) {
            return asker.tell(Some(format!("{node} is not known there")));
        }
        self.leaving = Some(Leaving::new(node, asker));
        self.go_on_leaving(ctx);
    }

    /// The node's wish, which the state may refuse.
    fn place(&mut self, node: NodeId, done: Done, ctx: &Context<'_, Self>) {
        match &self.state {
            State::Here(state) if state.is_pinned() => done(Err("it is pinned".to_owned())),
            State::Here(_) => self.leave(node, Asker::Repartitioner(done), ctx),
            _ => done(Err("it has moved meanwhile".to_owned())),
        }
    }

    /// Leaves once all that it has sent has arrived.
    fn go_on_leaving(&mut self, ctx: &Context<'_, Self>) {
        let Some(leaving) = &mut self.leaving else { return };
        match leaving.next(self.sender.as_deref_mut()) {
            Next::Wait => {}
            Next::Ask(used) => {
                for (key, used, flush) in used {
                    // If nobody has the address any more, nothing waits in it.
                    let flushed = used.upgrade().map(|address| flush(&address));
                    let again = (key, used, flush);
                    let flushed = async move {
                        let all_is_there = match flushed {
                            Some(flushed) => flushed.await,
                            None => true,
                        };
                        (!all_is_there).then_some(again)
                    };
                    ctx.pipe(flushed, |again| ShellMsg(Shell::Flushed(again)));
                }
            }
            Next::Go => self.depart(ctx),
            Next::GiveUp => {
                let Some(mut leaving) = self.leaving.take() else { return };
                let held = leaving.release();
                leaving.asker.tell(Some("what it has sent does not arrive".to_owned()));
                held.into_iter().for_each(|waiting| self.take(waiting, ctx));
            }
        }
    }

    fn depart(&mut self, ctx: &Context<'_, Self>) {
        let Some(mut leaving) = self.leaving.take() else { return };
        let State::Here(state) = std::mem::replace(&mut self.state, State::Nowhere) else { return };
        let deliveries = leaving.release().into();
        let Leaving { node, asker, .. } = leaving;
        self.state = State::Moving(Move { state, node, asker, to: None, deliveries });
        self.go(ctx);
    }

    /// The next step of a move: a copy, and its word that it is there. Only then can others find
    /// it, too.
    fn go(&self, ctx: &Context<'_, Self>) {
        let (State::Moving(going), Some(inner)) = (&self.state, self.inner.upgrade()) else {
            return;
        };
        if let Some(to) = &going.to {
            let is_there = to.ask((CLOSE, 0, None), MOVE_TIMEOUT);
            return ctx.pipe(is_there, |answer| ShellMsg(Shell::There(answer)));
        }
        let mut tag = self.tag.clone();
        if let Some(tag) = &mut tag {
            tag.before = self.id.exported(self.moves, self.from);
        }
        let arrival: Arrival<S> = (self.id, self.moves_next(), going.state.clone(), tag);
        let copied = inner.spawn_on::<Movable<S>, Arrival<S>>(going.node, &arrival, MOVE_TIMEOUT);
        ctx.pipe(copied, |copied| ShellMsg(Shell::Copied(copied)));
    }

    fn not_moved(&mut self, why: &RemoteAskError, ctx: &Context<'_, Self>) {
        let State::Moving(going) = &self.state else { return };
        if let (RemoteAskError::Full(node), Some(inner)) = (why, self.inner.upgrade()) {
            return ctx.pipe(inner.ready(*node), |()| ShellMsg(Shell::ReadyToMove));
        }
        if let Some(to) = &going.to {
            to.kill();
        }
        let State::Moving(going) = std::mem::replace(&mut self.state, State::Nowhere) else {
            return;
        };
        self.copies_failed += 1;
        going.asker.tell(Some(why.to_string()));
        self.state = State::Here(going.state);
        going.deliveries.into_iter().for_each(|waiting| self.take(waiting, ctx));
    }

    fn moved(&mut self, ctx: &Context<'_, Self>) {
        let State::Moving(going) = std::mem::replace(&mut self.state, State::Nowhere) else {
            return;
        };
        let Some(to) = going.to else { return };
        for asked in std::mem::take(&mut self.asked_where) {
            let _ = asked.send((None, Some((to.node().0, self.moves_next())), None));
        }
        // Before it is told: what is told next is of this move.
        self.vanish();
        self.sender = None;
        going.asker.tell(None);
        self.state = State::Gone(to, Outbox::new());
        going.deliveries.into_iter().for_each(|waiting| self.take(waiting, ctx));
    }

    /// Tells of the payloads that wait here when the shell ends.
    fn tell_what_is_lost(&mut self) {
        let (inner, why) = (&self.inner, "it has ended there");
        let here = inner.upgrade().map_or(NodeId(self.id.node), |inner| inner.id());
        if let Some(leaving) = &mut self.leaving {
            lost::tell_of_all(inner, here, leaving.release().into_iter(), why);
        }
        match &mut self.state {
            State::Moving(going) => {
                lost::tell_of_all(inner, going.node, going.deliveries.drain(..), why);
            }
            State::Gone(to, outbox) => lost::tell_of_all(inner, to.node(), outbox.drain(), why),
            State::Here(_) | State::Nowhere => {}
        }
    }

    /// A shard that was copied here asks the shell that it was copied from whether it has come,
    /// or is one copy too many. It has when that one has gone to it.
    fn ask_whether_it_has_come(&self, ctx: &Context<'_, Self>) {
        let (Some(tag), Some(inner)) = (&self.tag, self.inner.upgrade()) else { return };
        if self.came.is_none() {
            // This node has no shards of that name: the state goes on where it was.
            return ctx.stop();
        }
        let (from, before) = (self.from, tag.before.clone());
        let find = inner.find::<Self, _>(from, &before, CAME_TIMEOUT, false, |shell, _| shell);
        let asked = async move { find.await?.ask((WHERE, 0, None), CAME_TIMEOUT).await };
        ctx.pipe(asked, |answer| ShellMsg(Shell::HasCome(answer)));
    }

    fn has_come(&mut self, answer: Result<Answer<S>, RemoteAskError>, ctx: &Context<'_, Self>) {
        let Some(inner) = self.inner.upgrade() else { return };
        match answer {
            Ok((_, Some(to), _)) if to == (inner.id().0, self.moves) => {
                if let (Some(tag), Some(came)) = (&self.tag, &self.came) {
                    let exported = self.id.exported(self.moves, self.from);
                    let (tag, id, moves) = (tag.clone(), self.id, self.moves);
                    came(ShardCame { tag, id, moves, exported });
                }
            }
            Err(RemoteAskError::Timeout(_)) => self.ask_whether_it_has_come(ctx),
            Err(RemoteAskError::Full(node)) => {
                ctx.pipe(inner.ready(node), |()| ShellMsg(Shell::AskAgain));
            }
            // Nobody can say any more whether it has come: then another one may have its name.
            _ => self.end_unless_gone(ctx),
        }
    }

    /// Ends the shard. If it has moved on, this shell has nothing of it any more.
    fn end_unless_gone(&self, ctx: &Context<'_, Self>) {
        match &self.state {
            State::Gone(..) => return,
            State::Moving(Move { to: Some(copy), .. }) => copy.kill(),
            _ => {}
        }
        ctx.stop();
    }

    fn pump(&mut self, ctx: &Context<'_, Self>) {
        if let State::Gone(to, outbox) = &mut self.state {
            let back = Back {
                answered: |reply, answer| ShellMsg(Shell::Answered(reply, answer)),
                ready: || ShellMsg(Shell::Ready),
            };
            outbox.pump(to, &self.inner, ctx, &back);
        }
    }
}

/// Here and not in `Actor::stopped`, which is not called when the state has panicked.
impl<S: Migrate> Drop for Movable<S> {
    fn drop(&mut self) {
        self.tell_what_is_lost();
        self.vanish();
        if let Some(inner) = self.inner.upgrade() {
            inner.unexport(&self.id.exported(self.moves, self.from));
        }
    }
}

impl<S: Migrate> Actor for Movable<S> {
    type Msg = ShellMsg<S>;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let Some(inner) = self.inner.upgrade() else { return };
        self.appear(&inner, ctx);
        // One that has just been made here is exported already, so that it can be found at once.
        if self.moves > 0 {
            // The name has two serial numbers of its own: it is free.
            let name = self.id.exported(self.moves, self.from);
            let _ = inner.export(&name, &[ctx.address()], GRANTS);
            self.ask_whether_it_has_come(ctx);
        }
    }

    fn handle(&mut self, msg: ShellMsg<S>, ctx: &mut Context<'_, Self>) {
        match msg.0 {
            Shell::Delivery(from, delivery) => self.admit(from, delivery, ctx),
            Shell::Copied(Ok(copy)) => {
                if let State::Moving(going) = &mut self.state {
                    going.to = Some(copy);
                }
                self.go(ctx);
            }
            Shell::There(Ok(_)) => self.moved(ctx),
            Shell::Copied(Err(why)) | Shell::There(Err(why)) => self.not_moved(&why, ctx),
            Shell::ReadyToMove => self.go(ctx),
            Shell::HasCome(answer) => self.has_come(answer, ctx),
            Shell::AskAgain => self.ask_whether_it_has_come(ctx),
            Shell::NameLost => self.end_unless_gone(ctx),
            Shell::Place(node, done) => self.place(node, done, ctx),
            Shell::Flushed(again) => {
                if let (Some((key, used, flush)), Some(sender)) = (again, &mut self.sender) {
                    sender.use_again(key, used, flush);
                }
                if let Some(leaving) = &mut self.leaving {
                    leaving.answered();
                }
                self.go_on_leaving(ctx);
            }
            Shell::Answered(reply, answer) => hand_on::<S>(reply, answer),
            Shell::Ready => {
                if let State::Gone(_, outbox) = &mut self.state {
                    outbox.is_ready();
                }
                self.pump(ctx);
            }
        }
    }
}

impl<S: Migrate> RemoteActor for Movable<S> {
    const KIND: &'static str = S::KIND;
    const VERSION: u32 = S::VERSION;
    type Message = S::Message;
    type Request = Request<S>;
    type Answer = Answer<S>;

    /// Called of no node but for `message_from`, which is what is called; `request`, likewise.
    fn message(message: S::Message) -> ShellMsg<S> {
        Self::message_from(NodeId(u32::MAX), message)
    }

    fn message_from(node: NodeId, message: S::Message) -> ShellMsg<S> {
        ShellMsg(Shell::Delivery(node, Delivery::Tell(message)))
    }

    fn with_payload_from(
        node: NodeId,
        message: S::Message,
        payload: Payload,
    ) -> Result<ShellMsg<S>, (S::Message, Payload)> {
        if S::with_payload().is_none() {
            return Err((message, payload));
        }
        Ok(ShellMsg(Shell::Delivery(node, Delivery::TellWith(node, message, payload))))
    }

    fn request(request: Request<S>, reply: Reply<Answer<S>>) -> ShellMsg<S> {
        Self::request_from(NodeId(u32::MAX), request, reply)
    }

    fn request_from(node: NodeId, request: Request<S>, reply: Reply<Answer<S>>) -> ShellMsg<S> {
        ShellMsg(Shell::Delivery(node, Delivery::Ask(request, reply)))
    }
}

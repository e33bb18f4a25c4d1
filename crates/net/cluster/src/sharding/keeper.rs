//! The actor at each node that starts the shards of a set, finds those of others, and has the names
//! of those that are here.
//!
//! ```text
//! sought: who has the name? --nobody--> ask the node that the shard's key belongs to
//!           |                                  |
//!           | its node                         v
//!           +-----> ask that node: it has it, or it claims the name, and starts it when it has it
//! ```
//!
//! The name goes with the shard. When that has moved to a node, and the former node's shell has
//! said so, the keeper there takes the name over: of two claims the older counts, so it claims it
//! with a time that is earlier by the number of moves. Whoever loses the name ends its shard, if
//! that is not gone.

use super::set::{Set, Waiting};
use crate::actor::RemoteActor;
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::error::{RemoteAskError, RemoteSendError};
use crate::movable::{
    Migrate, Movable, MovableAddress, MovableId, Movables, ShardCame, ShardTag, lose_name,
};
use crate::node::NodeEvent;
use crate::shards::Shards;
use actinium_actor::{Actor, Address, Context, Reply, StopReason};
use actinium_scheduler::guard;
use actinium_wire::{Message, fnv1a};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long each request of a search may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a shard is sought, before those who wait for it are told that it is not found.
pub(super) const SEEK_NS: u64 = 30_000_000_000;
/// How long a search that has failed waits before it begins again.
const RETRY: Duration = Duration::from_millis(50);

/// How long after a node has come or gone no shard is started. Nodes do not hear of it at the same
/// moment: meanwhile they may disagree on who knows the owner of a name, and so take a name for
/// free that somebody has.
const SETTLE_NS: u64 = 500_000_000;

/// The answer to "where is that shard, of so many?"
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(super) enum Where {
    /// On this node, or where its shell of this name sends on to.
    Here { id: MovableId, exported: String },
    /// Another node has it, or is about to, or a node has just come or gone: ask again.
    Elsewhere,
    /// There are so many shards here.
    Count(u32),
    /// It panicked when it was made.
    NotStarted(String),
}

/// A shard that is sought, and what waits for it.
struct Sought<S: Migrate> {
    until_ns: u64,
    waiting: VecDeque<Waiting<S>>,
}

/// A shard whose name is being claimed.
struct Starting {
    hold: u64,
    since_ns: u64,
    is_lost: bool,
    asked: Vec<Reply<Where>>,
}

/// A shard whose name this node has.
struct Held<S: Migrate> {
    hold: u64,
    id: MovableId,
    exported: String,
    shell: Address<Movable<S>>,
    /// Follows the shard from that shell on, until the next node takes the name over: so it ends
    /// when the shard has.
    _follows: MovableAddress<S>,
}

/// See the module.
pub(super) struct Keeper<S: Migrate> {
    set: Arc<Set<S>>,
    /// The keepers of all nodes.
    keepers: Weak<Shards<Keeper<S>>>,
    /// Tells the claims of this node apart.
    holds: u64,
    /// The time at which a node came or went last, this one included.
    changed_ns: u64,
    sought: BTreeMap<u32, Sought<S>>,
    starting: BTreeMap<u32, Starting>,
    held: BTreeMap<u32, Held<S>>,
}

pub(super) enum Msg<S: Migrate> {
    Begin(Weak<Shards<Keeper<S>>>),
    /// A node has come or gone.
    Changed,
    Deliver(u32, Waiting<S>),
    SeekAgain(u32),
    Found(u32, Result<MovableAddress<S>, RemoteAskError>),
    Answered(Reply<Result<S::Answer, RemoteAskError>>, Result<S::Answer, RemoteAskError>),
    /// Another node, or this one, wants to know where a shard is, of so many.
    Where(u32, u32, Reply<Where>),
    Claimed(u32, u64, Result<(), RemoteAskError>),
    NameLost(u32, u64),
    Came(ShardCame),
    /// What this node sent to has ended, or is out of its reach.
    Ended(u32, MovableId, StopReason),
    /// The shard whose name this node has has ended.
    HeldEnded(u32, u64),
    /// Keepers are sent nothing; whoever sends something is not heard.
    Nothing,
}

/// Whether the same may succeed a moment later.
fn may_pass(why: &RemoteAskError) -> bool {
    matches!(
        why,
        RemoteAskError::Full(_)
            | RemoteAskError::NodeDown(_)
            | RemoteAskError::Closed
            | RemoteAskError::NoReply
            | RemoteAskError::Timeout(_)
            | RemoteAskError::NoSuchName(_)
            | RemoteAskError::NoQuorum { .. }
    )
}

/// Finds a shard, wherever it is, and has it started if it is nowhere.
async fn seek<S: Migrate>(
    set: Arc<Set<S>>,
    movables: Movables<S>,
    starter: AnyAddress<Keeper<S>>,
    shard: u32,
) -> Result<MovableAddress<S>, RemoteAskError> {
    let name = set.claimed(shard);
    let keeper = match set.names.find::<Keeper<S>>(&name, STEP_TIMEOUT).await {
        Ok(keeper) => keeper,
        Err(RemoteAskError::NoSuchName(_)) => starter,
        Err(why) => return Err(why),
    };
    let node = keeper.node();
    match keeper.ask((shard, set.count()), STEP_TIMEOUT).await? {
        Where::Here { id, exported } => movables.reach(id, node, exported, STEP_TIMEOUT).await,
        Where::Elsewhere => Err(RemoteAskError::NoSuchName(name)),
        Where::Count(there) => {
            let why = format!("{} shards here, and {there} at {node}", set.count());
            Err(RemoteAskError::Incompatible { name: set.name.clone(), why })
        }
        Where::NotStarted(why) => Err(RemoteAskError::NotStarted { kind: S::KIND, why }),
    }
}

impl<S: Migrate> Keeper<S> {
    pub(super) fn new(set: Arc<Set<S>>) -> Self {
        Keeper {
            set,
            keepers: Weak::new(),
            holds: 0,
            changed_ns: 0,
            sought: BTreeMap::new(),
            starting: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    fn now_ns(&self) -> u64 {
        self.set.movables.upgrade().map_or(u64::MAX, |movables| movables.inner().time_ns())
    }

    fn tell(&self, event: &NodeEvent) {
        if let Some(movables) = self.set.movables.upgrade() {
            movables.inner().tell_listeners(event);
        }
    }

    // What waits for a shard.
    // ---------------------------------------------------------------------------------------------

    fn deliver(&mut self, shard: u32, waiting: Waiting<S>, ctx: &Context<'_, Self>) {
        if let Some(sought) = self.sought.get_mut(&shard) {
            return sought.waiting.push_back(waiting);
        }
        let until_ns = self.now_ns().saturating_add(SEEK_NS);
        self.sought.insert(shard, Sought { until_ns, waiting: VecDeque::from([waiting]) });
        self.go_on_seeking(shard, ctx);
    }

    fn go_on_seeking(&mut self, shard: u32, ctx: &Context<'_, Self>) {
        let known = self.set.route(shard).address.clone();
        if let Some(address) = known.filter(|address| !address.is_closed()) {
            return self.hand_over(shard, &address, ctx);
        }
        let (Some(movables), Some(keepers)) = (self.set.movables.upgrade(), self.keepers.upgrade())
        else {
            return self.not_found(shard, &RemoteAskError::Left, ctx);
        };
        let starter = keepers.at(self.set.claimed(shard));
        let found = seek(self.set.clone(), movables, starter, shard);
        ctx.pipe(found, move |found| Msg::Found(shard, found));
    }

    fn found(
        &mut self,
        shard: u32,
        found: Result<MovableAddress<S>, RemoteAskError>,
        ctx: &Context<'_, Self>,
    ) {
        match found {
            Ok(address) => {
                self.use_from_now_on(shard, address, ctx);
                self.go_on_seeking(shard, ctx);
            }
            Err(why) => self.not_found(shard, &why, ctx),
        }
    }

    /// Sends to a shard by this address from now on, until that has ended.
    fn use_from_now_on(&self, shard: u32, new: MovableAddress<S>, ctx: &Context<'_, Self>) {
        let mut route = self.set.route(shard);
        let is_same = |known: &MovableAddress<S>| known.id() == new.id() && !known.is_closed();
        if !route.address.as_ref().is_some_and(is_same) {
            let id = new.id();
            ctx.watch(&new.recipient(), move |down| Msg::Ended(shard, id, down.reason));
            route.address = Some(new);
        }
    }

    /// Hands over what waits for a shard, in order.
    fn hand_over(&mut self, shard: u32, address: &MovableAddress<S>, ctx: &Context<'_, Self>) {
        let Some(mut sought) = self.sought.remove(&shard) else { return };
        let now_ns = self.now_ns();
        while let Some(waiting) = sought.waiting.pop_front() {
            match waiting {
                Waiting::Tell(message) => {
                    if let Err(error) = address.send(message) {
                        let is_full = matches!(error, RemoteSendError::Full(_));
                        sought.waiting.push_front(Waiting::Tell(error.into_inner()));
                        self.sought.insert(shard, sought);
                        return if is_full {
                            ctx.pipe(address.ready(), move |()| Msg::SeekAgain(shard));
                        } else {
                            ctx.address().tell(Msg::SeekAgain(shard));
                        };
                    }
                }
                Waiting::Ask(request, until_ns, reply) => {
                    let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
                    let answer = address.ask(request, left);
                    ctx.pipe(answer, |answer| Msg::Answered(reply, answer));
                }
                // Whoever asked may have stopped waiting.
                Waiting::Find(reply) => drop(reply.send(Ok(address.clone()))),
            }
            self.set.route(shard).waiting -= 1;
        }
    }

    fn not_found(&mut self, shard: u32, why: &RemoteAskError, ctx: &Context<'_, Self>) {
        let Some(sought) = self.sought.get(&shard) else { return };
        if may_pass(why) && self.now_ns() < sought.until_ns {
            ctx.after(RETRY, Msg::SeekAgain(shard));
            return;
        }
        let Some(sought) = self.sought.remove(&shard) else { return };
        self.set.route(shard).waiting -= sought.waiting.len();
        let mut messages = 0;
        for waiting in sought.waiting {
            match waiting {
                Waiting::Tell(_) => messages += 1,
                // Whoever asked may have stopped waiting.
                Waiting::Ask(_, _, reply) => drop(reply.send(Err(why.clone()))),
                Waiting::Find(reply) => drop(reply.send(Err(why.clone()))),
            }
        }
        // Of a node that has left, nobody hears any more.
        if messages > 0
            && let Some(movables) = self.set.movables.upgrade()
        {
            let keepers = self.keepers.upgrade();
            let node = keepers.map(|keepers| keepers.at(self.set.claimed(shard)).node());
            let node = node.unwrap_or(movables.node());
            movables.inner().tell_listeners(&NodeEvent::Undelivered { node, messages });
        }
    }

    // The shards of this node.
    // ---------------------------------------------------------------------------------------------

    fn where_is(&mut self, shard: u32, count: u32, reply: Reply<Where>, ctx: &Context<'_, Self>) {
        let known = if count != self.set.count() {
            Some(Where::Count(self.set.count()))
        } else if shard >= count {
            Some(Where::Elsewhere)
        } else {
            self.held_here(shard)
        };
        if let Some(known) = known {
            // Whoever asked may have stopped waiting, here and below.
            drop(reply.send(known));
        } else if let Some(starting) = self.starting.get_mut(&shard) {
            starting.asked.push(reply);
        } else if self.now_ns().saturating_sub(self.changed_ns) < SETTLE_NS {
            drop(reply.send(Where::Elsewhere));
        } else if let Some(movables) = self.set.movables.upgrade() {
            let (hold, since_ns) = (self.next_hold(), movables.inner().time_ns());
            let claimed = self.claim(shard, hold, since_ns, ctx);
            ctx.pipe(claimed, move |claimed| Msg::Claimed(shard, hold, claimed));
            let starting = Starting { hold, since_ns, is_lost: false, asked: vec![reply] };
            self.starting.insert(shard, starting);
        }
    }

    fn held_here(&self, shard: u32) -> Option<Where> {
        let held = self.held.get(&shard)?;
        Some(Where::Here { id: held.id, exported: held.exported.clone() })
    }

    fn next_hold(&mut self) -> u64 {
        self.holds += 1;
        self.holds
    }

    fn claim(
        &self,
        shard: u32,
        hold: u64,
        since_ns: u64,
        ctx: &Context<'_, Self>,
    ) -> RemoteAnswer<()> {
        let (name, lost) = (self.set.claimed(shard), move || Msg::NameLost(shard, hold));
        self.set.names.claim_for(&name, since_ns, ctx.address(), lost, STEP_TIMEOUT)
    }

    fn claimed(
        &mut self,
        shard: u32,
        hold: u64,
        claimed: Result<(), RemoteAskError>,
        ctx: &Context<'_, Self>,
    ) {
        let Some(starting) = self.starting.remove(&shard) else { return };
        let has_it = claimed.is_ok() && !starting.is_lost && !self.held.contains_key(&shard);
        let answer = if has_it {
            self.start(shard, hold, starting.since_ns, ctx)
        } else {
            self.held_here(shard).unwrap_or(Where::Elsewhere)
        };
        for reply in starting.asked {
            let _ = reply.send(answer.clone());
        }
    }

    /// Starts a shard whose name this node has.
    fn start(&mut self, shard: u32, hold: u64, since_ns: u64, ctx: &Context<'_, Self>) -> Where {
        let Some(movables) = self.set.movables.upgrade() else { return Where::Elsewhere };
        let name = self.set.claimed(shard);
        let state = match guard::catch(|| (self.set.make)(shard)) {
            Ok(state) => state,
            Err(panicked) => {
                self.set.names.release(&name);
                return Where::NotStarted(panicked.to_string());
            }
        };
        // Not the same as of any that was started before a restart of this node and lives on
        // elsewhere; nor as of an actor that is no shard; and handles have room for 62 bits.
        let serial = fnv1a(format!("{name}.{since_ns}").as_bytes()) >> 3 | 1 << 61;
        let tag = ShardTag::new(self.set.name.clone(), shard, since_ns);
        let (id, exported) = movables.spawn_shard(serial, state, tag);
        self.keep(shard, hold, id, &exported, ctx);
        self.tell(&NodeEvent::ShardStarted { set: self.set.name.clone(), shard });
        Where::Here { id, exported }
    }

    /// A shard lives here whose name this node has.
    fn keep(
        &mut self,
        shard: u32,
        hold: u64,
        id: MovableId,
        exported: &str,
        ctx: &Context<'_, Self>,
    ) {
        let movables = self.set.movables.upgrade();
        match movables.and_then(|movables| movables.shell_here(id, exported)) {
            Some((address, shell)) => {
                ctx.watch(&address.recipient(), move |_| Msg::HeldEnded(shard, hold));
                self.use_from_now_on(shard, address.clone(), ctx);
                let exported = exported.to_owned();
                let held = Held { hold, id, exported, shell, _follows: address };
                self.held.insert(shard, held);
            }
            // It has ended already.
            None => self.set.names.release(&self.set.claimed(shard)),
        }
    }

    /// A shard has moved to this node. What it was called there is called so here now.
    fn came(&mut self, came: &ShardCame, ctx: &Context<'_, Self>) {
        let ShardCame { tag, id, moves, exported } = came;
        let shard = tag.shard;
        if shard >= self.set.count() {
            // Only a set of another number of shards has it, which is told to whoever asks for it.
            let shell = self.set.movables.upgrade().and_then(|it| it.shell_here(*id, exported));
            return shell.into_iter().for_each(|(_, shell)| lose_name(&shell));
        }
        let hold = self.next_hold();
        let (name, lost) = (self.set.claimed(shard), move || Msg::NameLost(shard, hold));
        let since_ns = tag.since_ns.saturating_sub(*moves);
        self.set.names.take_over(&name, since_ns, ctx.address(), lost);
        self.keep(shard, hold, *id, exported, ctx);
    }

    fn name_lost(&mut self, shard: u32, hold: u64) {
        if let Some(held) = self.held.get(&shard).filter(|held| held.hold == hold) {
            lose_name(&held.shell);
            self.held.remove(&shard);
        } else if let Some(starting) = self.starting.get_mut(&shard)
            && starting.hold == hold
        {
            starting.is_lost = true;
        }
    }

    fn held_ended(&mut self, shard: u32, hold: u64) {
        if self.held.get(&shard).is_some_and(|held| held.hold == hold) {
            self.held.remove(&shard);
            self.set.names.release(&self.set.claimed(shard));
        }
    }

    fn ended(&self, shard: u32, id: MovableId, why: &StopReason) {
        let mut route = self.set.route(shard);
        if route.address.as_ref().is_some_and(|address| address.id() == id) {
            route.address = None;
        }
        drop(route);
        let (set, why) = (self.set.name.clone(), why.to_string());
        self.tell(&NodeEvent::ShardLost { set, shard, why });
    }
}

impl<S: Migrate> Actor for Keeper<S> {
    type Msg = Msg<S>;

    fn handle(&mut self, msg: Msg<S>, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Begin(keepers) => {
                self.keepers = keepers;
                self.changed_ns = self.now_ns();
            }
            Msg::Changed => self.changed_ns = self.now_ns(),
            Msg::Deliver(shard, waiting) => self.deliver(shard, waiting, ctx),
            Msg::SeekAgain(shard) => self.go_on_seeking(shard, ctx),
            Msg::Found(shard, found) => self.found(shard, found, ctx),
            // Whoever asked may have stopped waiting.
            Msg::Answered(reply, answer) => drop(reply.send(answer)),
            Msg::Where(shard, count, reply) => self.where_is(shard, count, reply, ctx),
            Msg::Claimed(shard, hold, claimed) => self.claimed(shard, hold, claimed, ctx),
            Msg::NameLost(shard, hold) => self.name_lost(shard, hold),
            Msg::Came(came) => self.came(&came, ctx),
            Msg::Ended(shard, id, why) => self.ended(shard, id, &why),
            Msg::HeldEnded(shard, hold) => self.held_ended(shard, hold),
            Msg::Nothing => {}
        }
    }
}

impl<S: Migrate> RemoteActor for Keeper<S> {
    const KIND: &'static str = "actinium.movable-shards";
    const INTERNAL: bool = true;
    type Message = ();
    /// Which shard, of how many.
    type Request = (u32, u32);
    type Answer = Where;

    fn message((): ()) -> Msg<S> {
        Msg::Nothing
    }

    fn request((shard, count): (u32, u32), reply: Reply<Where>) -> Msg<S> {
        Msg::Where(shard, count, reply)
    }
}

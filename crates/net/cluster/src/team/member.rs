//! The actor of a team at each node: what comes from the children is folded with the own, goes up,
//! and the root's result comes down.

use super::tree::{children, parent};
use crate::actor::RemoteActor;
use crate::denial::Denial;
use crate::error::RemoteSendError;
use crate::fabric::NodeId;
use crate::node::send;
use crate::node::state::Inner;
use crate::remote::RemoteAddress;
use actinium_actor::{Actor, Context, Reply};
use actinium_wire::Blob;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Folds the own value and the children's, which are bytes, in order.
pub(super) type Fold = Box<dyn FnOnce(Vec<Blob>) -> Result<Vec<u8>, String> + Send>;

/// A value of a member, or the error that takes its place: so all members hear of the error.
pub(super) type Said = Result<Blob, String>;

pub(super) enum Msg {
    /// The members that this one talks with.
    Meet(BTreeMap<usize, RemoteAddress<Member>>),
    /// This node takes part in the next round.
    Own(Fold, Reply<Said>),
    /// A node says something: the round, the rank of the member that it claims to be, the content.
    Said(NodeId, u64, usize, Said),
    /// The member of this rank is down, and has said all that it ever will.
    Down(usize, String),
}

/// A round that is not over.
#[derive(Default)]
struct Round {
    own: Option<Fold>,
    reply: Option<Reply<Said>>,
    /// The children that have said something, by rank.
    children: BTreeMap<usize, Said>,
}

/// See the module.
pub(super) struct Member {
    inner: Weak<Inner>,
    rank: usize,
    /// The node of each rank.
    nodes: Vec<NodeId>,
    others: BTreeMap<usize, RemoteAddress<Member>>,
    /// The next round that this node takes part in.
    next: u64,
    rounds: BTreeMap<u64, Round>,
    /// The values that arrived before the other members were met.
    early: Vec<(u64, usize, Said)>,
    /// The members that are down, and why.
    gone: BTreeMap<usize, String>,
}

impl Member {
    pub(super) fn new(inner: &Arc<Inner>, rank: usize, nodes: Vec<NodeId>) -> Self {
        let (others, rounds, early) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let inner = Arc::downgrade(inner);
        Member { inner, rank, nodes, others, next: 0, rounds, early, gone: BTreeMap::new() }
    }

    fn ranks(&self) -> usize {
        self.nodes.len()
    }

    /// Whether a node may say that; if it may not, it was told to listeners.
    fn may_say(&self, node: NodeId, number: u64, rank: usize) -> bool {
        let Some(inner) = self.inner.upgrade() else { return false };
        let most = inner.limits().rounds;
        let denial = if self.nodes.get(rank) != Some(&node) {
            Denial::Member
        } else if number.saturating_sub(self.next) >= most as u64 || self.early.len() >= most {
            Denial::Rounds
        } else {
            return true;
        };
        inner.deny_lie(&inner.peer(node), Some(Self::KIND), denial);
        false
    }

    fn send(&mut self, to: usize, round: u64, said: &Said) {
        let Some(address) = self.others.get(&to) else { return };
        let (rank, ok) = (self.rank as u64, said.is_ok());
        let bytes = match said {
            Ok(bytes) => bytes.clone(),
            Err(why) => Blob::from(why.clone().into_bytes()),
        };
        // If the other node is down, this one hears of that, too.
        if let Err(error) = address.send((round, rank, ok, bytes)) {
            let too_long = error.to_string();
            if ok && !matches!(error, RemoteSendError::NodeDown(_)) {
                self.send(to, round, &Err(too_long));
            }
        }
    }

    fn said(&mut self, number: u64, from: usize, said: Said) {
        if parent(self.rank) == Some(from) {
            return self.over(number, said);
        }
        // A child, or nobody who has a say in this.
        if children(self.rank, self.ranks()).any(|child| child == from) && number >= self.oldest() {
            self.rounds.entry(number).or_default().children.insert(from, said);
            self.fold(number);
        }
    }

    /// Rounds before it are over here.
    fn oldest(&self) -> u64 {
        self.rounds.keys().next().map_or(self.next, |&first| first.min(self.next))
    }

    /// Goes on with a round if all that it needs is here.
    fn fold(&mut self, number: u64) {
        let all = children(self.rank, self.ranks()).count();
        let Some(round) = self.rounds.get_mut(&number) else { return };
        if round.children.len() < all {
            return;
        }
        let Some(own) = round.own.take() else { return };
        let children: Result<Vec<Blob>, String> =
            std::mem::take(&mut round.children).into_values().collect();
        let said = children.and_then(own).map(Blob::from);
        match parent(self.rank) {
            Some(parent) => self.send(parent, number, &said),
            None => self.over(number, said),
        }
    }

    /// Records that a member is down: a value that only this member could have sent is an error
    /// from now on. Values that it sent before it left hold: the others may still finish what it
    /// has finished.
    fn went_down(&mut self, rank: usize, why: String) {
        self.gone.insert(rank, why);
        let open: Vec<u64> = self.rounds.keys().copied().collect();
        for number in open {
            self.do_without_the_gone(number);
        }
    }

    fn do_without_the_gone(&mut self, number: u64) {
        let ranks = self.ranks();
        for (rank, why) in self.gone.clone() {
            let Some(round) = self.rounds.get_mut(&number) else { return };
            if parent(self.rank) == Some(rank) {
                self.over(number, Err(why));
            } else if children(self.rank, ranks).any(|child| child == rank)
                // Else this node is not there yet, or has said all, and the result is on its way.
                && round.own.is_some()
            {
                round.children.entry(rank).or_insert(Err(why));
                self.fold(number);
            }
        }
    }

    fn over(&mut self, number: u64, said: Said) {
        let Some(round) = self.rounds.remove(&number) else { return };
        let below: Vec<usize> = children(self.rank, self.ranks()).collect();
        for child in below {
            self.send(child, number, &said);
        }
        // Whoever is told now may leave the cluster at once: what the others are told must be on
        // its way by then.
        send::flush_turn();
        // Whoever asked may have stopped waiting.
        let _ = round.reply.map(|reply| reply.send(said));
    }
}

impl Actor for Member {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Meet(others) => {
                self.others = others;
                for (round, from, said) in std::mem::take(&mut self.early) {
                    self.said(round, from, said);
                }
            }
            Msg::Own(fold, reply) => {
                let number = self.next;
                self.next += 1;
                let round = self.rounds.entry(number).or_default();
                (round.own, round.reply) = (Some(fold), Some(reply));
                self.fold(number);
                self.do_without_the_gone(number);
            }
            // Others may be ready before this one has found all of them.
            Msg::Said(node, round, from, said) if self.may_say(node, round, from) => {
                if self.others.is_empty() {
                    self.early.push((round, from, said));
                } else {
                    self.said(round, from, said);
                }
            }
            Msg::Said(..) => {}
            Msg::Down(rank, why) => self.went_down(rank, why),
        }
    }
}

impl RemoteActor for Member {
    const KIND: &'static str = "actinium.team";
    const INTERNAL: bool = true;
    /// Round, rank, whether it is a value and no reason why there is none, its bytes.
    type Message = (u64, u64, bool, Blob);
    type Request = ();
    type Answer = ();

    /// Called of no node but for `message_from`, which is what is called.
    fn message(said: Self::Message) -> Msg {
        Self::message_from(NodeId(u32::MAX), said)
    }

    fn message_from(node: NodeId, (round, rank, ok, bytes): Self::Message) -> Msg {
        let said = if ok { Ok(bytes) } else { Err(String::from_utf8_lossy(&bytes).into_owned()) };
        Msg::Said(node, round, usize::try_from(rank).unwrap_or(usize::MAX), said)
    }

    fn request((): (), reply: Reply<()>) -> Msg {
        // Nobody asks that; whoever does hears that the request was dropped.
        drop(reply);
        Msg::Said(NodeId(u32::MAX), u64::MAX, usize::MAX, Err(String::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{NodeConfig, NodeEvent, PeerLimits};
    use crate::route::Grid;
    use actinium_actor::testing::TestSystem;
    use actinium_scheduler::Clock;
    use std::sync::Mutex;

    #[test]
    fn a_member_is_so_many_rounds_ahead_and_no_more() {
        const MOST: usize = 3;
        let system = TestSystem::seeded(0);
        let limits = PeerLimits { rounds: MOST, ..PeerLimits::default() };
        let config = NodeConfig { limits, ..NodeConfig::default() };
        let (me, other, clock) = (NodeId(0), NodeId(1), Clock::virtual_time());
        let inner = Inner::new(me, system.handle(), config, 1 << 16, Grid::DIRECT, 1, clock);
        let inner = Arc::new(inner.expect("it makes sense"));
        let denied = Arc::new(Mutex::new(0));
        let told = denied.clone();
        inner.on_event(Arc::new(move |event: &NodeEvent| {
            if let NodeEvent::Denied { node: NodeId(1), what: Denial::Rounds, .. } = event {
                *told.lock().unwrap() += 1;
            }
        }));
        let mut member = Member::new(&inner, 0, vec![me, other]);
        let said = |member: &Member| {
            (0..6).map(|round| member.may_say(other, round, 1)).take_while(|&may| may).count()
        };
        assert_eq!((said(&member), *denied.lock().unwrap()), (MOST, 1));
        member.next = 2;
        assert_eq!((said(&member), *denied.lock().unwrap()), (MOST + 2, 2));
        // And what it says before this node has met it, of whatever round.
        for _ in 0..MOST {
            assert!(member.may_say(other, 2, 1));
            member.early.push((2, 1, Ok(Blob::default())));
        }
        assert!(!member.may_say(other, 2, 1));
    }
}

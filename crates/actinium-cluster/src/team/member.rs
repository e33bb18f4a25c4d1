//! The actor of a team at each node: what comes from the children is folded with the own, goes up, and the root's result comes down.

use super::tree::{children, parent};
use crate::remote::{RemoteActor, RemoteAddress};
use crate::stage;
use actinium_actor::{Actor, Context, Reply};
use actinium_wire::Blob;
use std::collections::BTreeMap;

/// Folds the own value and the children's, which are bytes, in order.
pub(super) type Fold = Box<dyn FnOnce(Vec<Blob>) -> Result<Vec<u8>, String> + Send>;

/// What has gone wrong, if anything has, goes the way of what was to be said: so all hear of it.
pub(super) type Said = Result<Blob, String>;

pub(super) enum Msg {
    /// The members that this one talks with.
    Meet(BTreeMap<usize, RemoteAddress<Member>>),
    /// This node takes part in the next round.
    Own(Fold, Reply<Said>),
    /// From another member: which round, its rank, what it says.
    Said(u64, usize, Said),
    /// The member of this rank is down, and has said all that it ever will.
    Down(usize, String),
}

/// A round that is not over.
#[derive(Default)]
struct Round {
    own: Option<Fold>,
    reply: Option<Reply<Said>>,
    /// By rank.
    children: BTreeMap<usize, Said>,
}

/// See the module.
pub(super) struct Member {
    rank: usize,
    ranks: usize,
    others: BTreeMap<usize, RemoteAddress<Member>>,
    /// The next round that this node takes part in.
    next: u64,
    rounds: BTreeMap<u64, Round>,
    /// What was said before the others were met.
    early: Vec<(u64, usize, Said)>,
    /// The members that are down, and why.
    gone: BTreeMap<usize, String>,
}

impl Member {
    pub(super) fn new(rank: usize, ranks: usize) -> Self {
        let (others, rounds, early) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Member { rank, ranks, others, next: 0, rounds, early, gone: BTreeMap::new() }
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
            if ok && !matches!(error, crate::RemoteSendError::NodeDown(_)) {
                self.send(to, round, &Err(too_long));
            }
        }
    }

    fn said(&mut self, number: u64, from: usize, said: Said) {
        if parent(self.rank) == Some(from) {
            return self.over(number, said);
        }
        // A child, or nobody who has a say in this.
        if children(self.rank, self.ranks).any(|child| child == from) && number >= self.oldest() {
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
        let all = children(self.rank, self.ranks).count();
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

    /// What only that member could have said is an error from now on. What it had said before it left holds: the others may still finish what
    /// it has finished.
    fn went_down(&mut self, rank: usize, why: String) {
        self.gone.insert(rank, why);
        let open: Vec<u64> = self.rounds.keys().copied().collect();
        for number in open {
            self.do_without_the_gone(number);
        }
    }

    fn do_without_the_gone(&mut self, number: u64) {
        for (rank, why) in self.gone.clone() {
            let Some(round) = self.rounds.get_mut(&number) else { return };
            if parent(self.rank) == Some(rank) {
                self.over(number, Err(why));
            } else if children(self.rank, self.ranks).any(|child| child == rank)
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
        let below: Vec<usize> = children(self.rank, self.ranks).collect();
        for child in below {
            self.send(child, number, &said);
        }
        // Whoever is told now may leave the cluster at once: what the others are told must be on its way by then.
        stage::leave();
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
            Msg::Said(round, from, said) if self.others.is_empty() => {
                self.early.push((round, from, said));
            }
            Msg::Said(round, from, said) => self.said(round, from, said),
            Msg::Down(rank, why) => self.went_down(rank, why),
        }
    }
}

impl RemoteActor for Member {
    const KIND: &'static str = "actinium.team";
    const INTERNAL: bool = true;
    /// Round, rank, whether it is a value and no reason why there is none, its bytes.
    type Message = (u64, u64, bool, Blob);
    type Question = ();
    type Answer = ();

    fn message((round, rank, ok, bytes): Self::Message) -> Msg {
        let said = if ok { Ok(bytes) } else { Err(String::from_utf8_lossy(&bytes).into_owned()) };
        Msg::Said(round, usize::try_from(rank).unwrap_or(usize::MAX), said)
    }

    fn question((): (), reply: Reply<()>) -> Msg {
        // Nobody asks that; whoever does hears that the question was dropped.
        drop(reply);
        Msg::Said(u64::MAX, usize::MAX, Err(String::new()))
    }
}

//! What is known from outside of a run: what was sent, came, was asked, watched and has ended. Each
//! entry that breaks a promise of `docs/cluster.md` at once is written down as wrong; the rest is
//! added up at the end, by `checker`.

use super::actors::Letter;
use super::wire::Trace;
use actinium_cluster::{NodeEvent, RemoteAskError, RemoteDownReason};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// One life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Who {
    pub(super) node: u32,
    pub(super) life: u32,
}

/// Whoever may be watched, asked and sent to: a node's talker, or an actor that one node has had
/// another start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Talker(Who),
    Child(u64),
}

/// A watch, and how often it was told of an end.
pub(super) struct Watch {
    pub(super) by: Who,
    pub(super) of: Target,
    /// The node that the target is on.
    pub(super) node: u32,
    pub(super) told: u32,
}

/// An actor that one node has had another start.
#[derive(Default)]
pub(super) struct Child {
    /// Where it was started, and has ended by itself.
    pub(super) at: Option<Who>,
    pub(super) has_ended: bool,
}

/// Of one node's life and another node: what was sent, and what is known of it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pair {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// In mailboxes of a node that died.
    pub(super) died: u64,
    /// As the sender's node has said.
    pub(super) reported: u64,
    /// As the receiver's node has said.
    pub(super) missed: u64,
    pub(super) downs: u64,
    ups: u32,
}

#[derive(Default)]
struct State {
    pairs: BTreeMap<(Who, u32), Pair>,
    sent: BTreeMap<(Who, u32, u8), u64>,
    /// The last number that a node's life has of a sender.
    last: BTreeMap<(Who, Who, u8), u64>,
    /// The last session of which a node's life has something of another, and those that are over
    /// for it.
    session: BTreeMap<(Who, Who), u32>,
    over: BTreeMap<(Who, Who), u32>,
    watches: Vec<Watch>,
    children: BTreeMap<u64, Child>,
    names: BTreeMap<String, BTreeSet<u64>>,
    /// Who has asked for which name, and who of these has it no more or never will.
    claims: BTreeMap<(Who, String), Vec<u64>>,
    without: BTreeSet<u64>,
    lives: BTreeMap<u32, u32>,
    /// Requests of actors that have not ended.
    asked: BTreeMap<Who, i64>,
    /// Letters that were for nobody, in each life of a node.
    misaddressed: BTreeMap<Who, u64>,
    wrong: Vec<String>,
}

/// The books of a run, which all its actors write in.
#[derive(Clone)]
pub(super) struct Books {
    state: Arc<Mutex<State>>,
    pub(super) trace: Trace,
    liar: Option<u32>,
    is_reliable: bool,
    is_grid: bool,
}

impl Books {
    pub(super) fn new(trace: Trace, liar: Option<u32>, is_reliable: bool, is_grid: bool) -> Self {
        Books { state: Arc::default(), trace, liar, is_reliable, is_grid }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn has_liar(&self) -> bool {
        self.liar.is_some()
    }

    pub(super) fn is_liar(&self, node: u32) -> bool {
        self.liar == Some(node)
    }

    /// Whether what these two say to each other passes nobody who lies.
    pub(super) fn is_honest(&self, a: u32, b: u32) -> bool {
        !self.is_liar(a) && !self.is_liar(b) && (self.liar.is_none() || !self.is_grid)
    }

    /// For whoever repeats a run.
    pub(super) fn say(&self, what: impl FnOnce() -> String) {
        if self.trace.is_loud {
            eprintln!("{:>12} {}", self.trace.now_ns(), what());
        }
    }

    pub(super) fn wrong(&self, what: impl Into<String>) {
        let what = what.into();
        self.say(|| format!("WRONG: {what}"));
        self.trace.note(&what);
        self.lock().wrong.push(what);
    }

    pub(super) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }

    pub(super) fn take_wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().wrong)
    }

    pub(super) fn is_right(&self) -> bool {
        self.lock().wrong.is_empty()
    }

    // ---- lives ---------------------------------------------------------------------------------

    pub(super) fn begins(&self, who: Who) {
        self.lock().lives.insert(who.node, who.life);
    }

    /// A node has died or left: what lived there is gone.
    pub(super) fn is_over(&self, who: Who) {
        self.lock().lives.remove(&who.node);
    }

    pub(super) fn is_alive(&self, who: Who) -> bool {
        self.lock().lives.get(&who.node) == Some(&who.life)
    }

    // ---- letters -------------------------------------------------------------------------------

    /// The number and the session that the next letter has.
    pub(super) fn next(&self, from: Who, to: u32, stream: u8) -> (u64, u32) {
        let state = self.lock();
        let number = state.sent.get(&(from, to, stream)).map_or(0, |sent| sent + 1);
        let ups = state.pairs.get(&(from, to)).map_or(0, |pair| pair.ups);
        // The first may be sent before the two have met.
        (number, ups.max(1))
    }

    pub(super) fn sent(&self, letter: &Letter) {
        let mut state = self.lock();
        state.sent.insert((letter.from(), letter.to, letter.stream), letter.number);
        state.pairs.entry((letter.from(), letter.to)).or_default().sent += 1;
    }

    pub(super) fn received(&self, me: Who, letter: &Letter) {
        let from = letter.from();
        self.trace.note((me, from, letter.stream, letter.number));
        if !letter.is_sealed() {
            return self.check(self.liar.is_some(), || {
                format!("{me:?} has of {from:?} what nobody has sent")
            });
        }
        if !self.is_honest(from.node, me.node) || letter.to != me.node && self.liar.is_some() {
            return;
        }
        self.check(letter.to == me.node, || {
            format!("{me:?} has a letter of {from:?} to node {}", letter.to)
        });
        let (stream, number) = (letter.stream, letter.number);
        let mut state = self.lock();
        state.pairs.entry((from, me.node)).or_default().received += 1;
        let last = state.last.insert((me, from, stream), number);
        let session = letter.session;
        let known = state.session.entry((me, from)).or_default();
        *known = session.max(*known);
        let over = state.over.get(&(me, from)).copied().unwrap_or(0);
        drop(state);
        self.check(last < Some(number), || {
            format!("{me:?} has of {from:?}, stream {stream}: {number} after {last:?}")
        });
        self.check(session > over, || {
            format!("{me:?} has a letter of {from:?} of session {session}, after it was told that {over} is over")
        });
    }

    /// A letter lay in a mailbox when its node died.
    pub(super) fn died(&self, me: Who, letter: &Letter) {
        if letter.is_sealed() && letter.to == me.node {
            self.lock().pairs.entry((letter.from(), me.node)).or_default().died += 1;
        }
    }

    pub(super) fn misaddressed_at(&self, who: Who, letters: u64) {
        self.lock().misaddressed.insert(who, letters);
    }

    /// In all lives of a node.
    pub(super) fn misaddressed(&self, node: u32) -> u64 {
        let state = self.lock();
        state
            .misaddressed
            .iter()
            .filter(|(who, _)| who.node == node)
            .map(|(_, letters)| letters)
            .sum()
    }

    pub(super) fn pairs(&self) -> Vec<((Who, u32), Pair)> {
        self.lock().pairs.iter().map(|(&key, &pair)| (key, pair)).collect()
    }

    // ---- what nodes say ------------------------------------------------------------------------

    pub(super) fn event(&self, me: Who, event: &NodeEvent) {
        self.say(|| format!("{me:?}: {event:?}"));
        self.trace.note((me, format!("{event:?}")));
        let mut state = self.lock();
        let mut reported = |to: u32, messages: u64| {
            let pair = state.pairs.entry((me, to)).or_default();
            pair.reported = pair.reported.saturating_add(messages);
        };
        match event {
            NodeEvent::Up(node) => state.pairs.entry((me, node.0)).or_default().ups += 1,
            NodeEvent::Down { node, unacknowledged, undelivered, .. } => {
                reported(node.0, unacknowledged.messages + undelivered);
                state.pairs.entry((me, node.0)).or_default().downs += 1;
            }
            NodeEvent::Undelivered { node, messages }
            | NodeEvent::Misaddressed { node, messages } => {
                reported(node.0, *messages);
            }
            NodeEvent::LostThere(node, lost) => {
                reported(node.0, lost.messages);
                drop(state);
                self.is_lost(me, node.0);
            }
            NodeEvent::Lost(node, lost) => {
                if let Some(&life) = state.lives.get(&node.0) {
                    let pair =
                        state.pairs.entry((Who { node: node.0, life }, me.node)).or_default();
                    pair.missed = pair.missed.saturating_add(lost.messages);
                }
                drop(state);
                self.is_lost(me, node.0);
            }
            NodeEvent::PayloadLostThere { node, .. } => reported(node.0, 1),
            NodeEvent::PayloadLost { node, .. } => {
                if let Some(&life) = state.lives.get(&node.0) {
                    state.pairs.entry((Who { node: node.0, life }, me.node)).or_default().missed +=
                        1;
                }
            }
            _ => {}
        }
    }

    fn is_lost(&self, me: Who, other: u32) {
        let is_promised = self.is_reliable && !self.is_grid && self.is_honest(me.node, other);
        self.check(!is_promised, || {
            format!("{me:?} and node {other} have lost something on a reliable link")
        });
    }

    // ---- watches -------------------------------------------------------------------------------

    pub(super) fn watched(&self, by: Who, of: Target, node: u32) -> usize {
        let mut state = self.lock();
        state.watches.push(Watch { by, of, node, told: 0 });
        state.watches.len() - 1
    }

    pub(super) fn told(&self, me: Who, watch: usize, reason: &RemoteDownReason) {
        self.trace.note((me, watch, format!("{reason:?}")));
        let mut state = self.lock();
        let it = &mut state.watches[watch];
        it.told += 1;
        let (of, node, told) = (it.of, it.node, it.told);
        let is_down = matches!(reason, RemoteDownReason::NodeDown(_));
        let has_ended = match of {
            Target::Talker(who) => state.lives.get(&who.node) != Some(&who.life),
            Target::Child(id) => state.children.get(&id).is_none_or(|child| {
                child.has_ended
                    || child.at.is_none_or(|at| state.lives.get(&at.node) != Some(&at.life))
            }),
        };
        if let (Target::Talker(who), RemoteDownReason::NodeDown(Some(_))) = (of, reason) {
            let known = state.session.get(&(me, who)).copied().unwrap_or(0);
            let over = state.over.entry((me, who)).or_default();
            *over = known.max(*over);
        }
        drop(state);
        self.check(told == 1, || {
            format!("{me:?} was told {told} times that {of:?} has ended: {reason:?}")
        });
        self.check(is_down || has_ended || !self.is_honest(me.node, node), || {
            format!("{me:?} was told that {of:?} at node {node} has ended, which lives: {reason:?}")
        });
    }

    /// Watches of this life of a node: whom they watch, and how often they were told.
    pub(super) fn watches_of(&self, by: Who) -> Vec<(Target, u32, u32)> {
        let state = self.lock();
        let of = state.watches.iter().filter(|watch| watch.by == by);
        of.map(|watch| (watch.of, watch.node, watch.told)).collect()
    }

    // ---- children ------------------------------------------------------------------------------

    pub(super) fn child_began(&self, id: u64, at: Who) {
        self.say(|| format!("child {id} begins at {at:?}"));
        self.lock().children.insert(id, Child { at: Some(at), has_ended: false });
    }

    pub(super) fn child_ended(&self, id: u64) {
        self.say(|| format!("child {id} has ended"));
        self.lock().children.entry(id).or_default().has_ended = true;
    }

    pub(super) fn child_lives(&self, id: u64) -> Option<Who> {
        let state = self.lock();
        let child = state.children.get(&id)?;
        child.at.filter(|at| !child.has_ended && state.lives.get(&at.node) == Some(&at.life))
    }

    // ---- names ---------------------------------------------------------------------------------

    pub(super) fn claims(&self, me: Who, name: &str, owner: u64) {
        self.say(|| format!("{me:?} claims '{name}' for {owner}"));
        self.lock().claims.entry((me, name.to_owned())).or_default().push(owner);
    }

    pub(super) fn named(&self, name: &str, owner: u64) {
        self.say(|| format!("{owner} has the name '{name}'"));
        let mut state = self.lock();
        if !state.without.contains(&owner) {
            state.names.entry(name.to_owned()).or_default().insert(owner);
        }
    }

    /// What has this name at a node, or has asked for it there, has it no more.
    pub(super) fn released(&self, me: Who, name: &str) {
        self.say(|| format!("{me:?} releases '{name}'"));
        let owners = self.lock().claims.remove(&(me, name.to_owned()));
        owners.into_iter().flatten().for_each(|owner| self.unnamed(owner));
    }

    /// An actor that had a name, or had asked for one, has ended.
    pub(super) fn unnamed(&self, owner: u64) {
        self.say(|| format!("{owner} has no name any more"));
        let mut state = self.lock();
        state.without.insert(owner);
        state.names.values_mut().for_each(|owners| {
            owners.remove(&owner);
        });
    }

    pub(super) fn owners(&self, name: &str) -> Vec<u64> {
        let state = self.lock();
        let lives = |owner: &u64| {
            let (node, life) = ((owner >> 48) as u32, (owner >> 16) as u32);
            state.lives.get(&node) == Some(&life)
        };
        state.names.get(name).into_iter().flatten().copied().filter(lives).collect()
    }

    // ---- requests of actors -------------------------------------------------------------------

    pub(super) fn asks(&self, me: Who) {
        *self.lock().asked.entry(me).or_default() += 1;
    }

    pub(super) fn answered(
        &self,
        me: Who,
        to: Who,
        n: u64,
        answer: &Result<(u64, u32, u32), RemoteAskError>,
    ) {
        self.trace.note((me, n, format!("{answer:?}")));
        *self.lock().asked.entry(me).or_default() -= 1;
        self.check_answer(me, to, n, answer);
    }

    /// `to`: whoever the address was of.
    pub(super) fn check_answer(
        &self,
        me: Who,
        to: Who,
        n: u64,
        answer: &Result<(u64, u32, u32), RemoteAskError>,
    ) {
        if let Ok(answer) = answer
            && self.is_honest(me.node, to.node)
        {
            self.check(*answer == (n, to.node, to.life), || {
                format!("{me:?} has asked {to:?} for {n} and has the answer {answer:?}")
            });
        }
    }

    pub(super) fn open(&self, me: Who) -> i64 {
        self.lock().asked.get(&me).copied().unwrap_or(0)
    }
}

//! What `docs/cluster.md` promises, looked at when the trouble is over.
//!
//! First the network is made whole and all nodes run, but for the liar, which is gone: within a
//! while all know each other, agree on names and shares, and of all that was sent it is known what
//! has become. Then all but one leave or die, and that one has nothing left of them.

use super::actors::{AT_ONCE, Owner, TalkerMsg};
use super::books::Target;
use super::chaos::NAMES;
use super::scenario::DOWN_AFTER_NS;
use super::world::{Outcome, World};
use crate::common::MS;
use actinium_cluster::RemoteAskError;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use std::collections::BTreeSet;
use std::time::Duration;

/// Within so many steps of a millisecond at most all is as it should be again.
const STEPS_MAX: u32 = 4_000;
/// Longer than any limit of a request.
const ANY_LIMIT: Duration = Duration::from_millis(300);

impl World {
    /// The whole run: trouble, and then peace.
    pub(super) fn run(&mut self) {
        for _ in 0..self.scenario.steps {
            self.trouble();
        }
        self.make_peace();
        self.until_right("nodes that can hear each other do", Self::who_is_not_up);
        self.until_right("all agree on shares", Self::shares_that_differ);
        self.until_right("requests end", Self::requests_that_are_open);
        self.names_agree();
        self.all_answer();
        self.until_right("what was sent is accounted for", Self::letters_that_are_missing);
        self.until_right("watches of actors that have ended end", Self::ends_that_were_not_told);
        self.one_is_left();
    }

    fn make_peace(&mut self) {
        self.books.say(|| "peace".to_owned());
        self.network.set_faults(Faults::default());
        self.heal();
        for n in 0..self.hosts.len() {
            self.hosts[n].paused_until_ns = 0;
            let is_liar = self.books.is_liar(n as u32);
            if is_liar {
                self.end(n, false);
                continue;
            }
            // Whose clock was set back is refused until it starts with one that is right.
            let host = &self.hosts[n];
            if host.up.as_ref().is_some_and(|up| up.incarnation < host.incarnation_max) {
                self.end(n, false);
            }
            if self.hosts[n].up.is_none() {
                self.hosts[n].clock_off_ns = 3_600_000 * MS as i64;
                self.start(n);
            }
        }
    }

    /// An actor that moves waits up to a minute for a node that never came, and so does who looks
    /// for one.
    fn wait_for_moves(&mut self, n: usize) {
        let is_asking = |world: &Self| {
            let up = world.hosts[n].up.as_ref();
            up.is_some_and(|up| up.node.stats().peers.iter().any(|peer| peer.requests > 0))
        };
        // A step takes a tenth of a second at least.
        for _ in 0..600 {
            if self.scenario.odds.moves == 0 || !is_asking(self) {
                return;
            }
            self.step(1_000 * MS);
        }
    }

    /// Goes on until there is nothing that is not as it should be.
    fn until_right(&mut self, what: &str, wrong: fn(&mut Self) -> Option<String>) {
        let mut is = None;
        for step in 0..STEPS_MAX {
            if step % 20 == 0 {
                is = wrong(self);
                if is.is_none() {
                    return;
                }
            }
            self.in_peace();
        }
        let is = is.unwrap_or_default();
        self.books.wrong(format!("never so that {what}: {is}"));
        for host in &self.hosts {
            if let Some(up) = &host.up {
                self.books.say(|| format!("{:?}: {:#?}", host.who, up.node.stats()));
            }
        }
    }

    fn in_peace(&mut self) {
        self.step(2 * MS);
        self.take_ended();
    }

    fn who_is_not_up(&mut self) -> Option<String> {
        let honest = self.honest();
        for &n in &honest {
            let stats = self.hosts[n].up.as_ref()?.node.stats();
            let is_up = |other: usize| {
                stats.peers.iter().any(|peer| peer.node.0 == other as u32 && peer.is_up)
            };
            if let Some(other) = honest.iter().find(|&&other| other != n && !is_up(other)) {
                return Some(format!("node {n} does not hear node {other}"));
            }
            if let Some(liar) = self.scenario.liar().filter(|&liar| is_up(liar as usize)) {
                return Some(format!("node {n} hears node {liar}, which is gone"));
            }
        }
        None
    }

    fn shares_that_differ(&mut self) -> Option<String> {
        let honest = self.honest();
        let all: Vec<NodeId> = honest.iter().map(|&n| NodeId(n as u32)).collect();
        for n in honest {
            let known = self.up(n)?.shards.nodes();
            if known != all {
                return Some(format!("node {n} knows the shares of {known:?}, of {all:?}"));
            }
        }
        None
    }

    fn requests_that_are_open(&mut self) -> Option<String> {
        for n in self.honest() {
            let who = self.hosts[n].who;
            let open = self.books.open(who);
            if open != 0 {
                return Some(format!("{open} of actors of {who:?}"));
            }
        }
        // Those that have no end are told by their deadlines.
        (!self.open.is_empty()).then(|| format!("{} from outside", self.open.len()))
    }

    // ---- names ---------------------------------------------------------------------------------

    fn names_agree(&mut self) {
        let mut why = String::new();
        for _ in 0..20 {
            match self.names_that_differ() {
                None => return,
                Some(differ) => why = differ,
            }
            (0..100).for_each(|_| self.in_peace());
        }
        self.books.wrong(format!("never so that all agree on names: {why}"));
    }

    /// Asks all nodes for all names.
    fn names_that_differ(&mut self) -> Option<String> {
        let honest = self.honest();
        for name in NAMES {
            let mut told = BTreeSet::new();
            for &n in &honest {
                let found = self.up(n)?.names.find::<Owner>(name, ANY_LIMIT);
                let asked = async move {
                    let owner = match found.await {
                        Ok(owner) => owner.ask((), ANY_LIMIT).await,
                        Err(error) => Err(error),
                    };
                    Outcome::Owner(owner)
                };
                self.wait(n, "who has a name", 2 * ANY_LIMIT, asked);
            }
            let mut missing = honest.len();
            while missing > 0 && self.books.is_right() {
                self.step(2 * MS);
                for (me, outcome) in std::mem::take(&mut self.ended) {
                    let Outcome::Owner(owner) = outcome else { continue };
                    missing -= 1;
                    // That too much waits for a node just now may always be.
                    if !matches!(owner, Err(RemoteAskError::Full(_))) {
                        told.insert(owner.map_err(|error| error.to_string()));
                    }
                    self.books.trace.note((me, format!("{told:?}")));
                }
            }
            let owners = self.books.owners(name);
            let is_so = match &owners[..] {
                // What nobody waited for may have a name all the same.
                [] => told.len() == 1,
                [owner] => told == BTreeSet::from([Ok(*owner)]),
                _ => false,
            };
            if !is_so {
                return Some(format!("'{name}' is {owners:?}'s, and all together say {told:x?}"));
            }
        }
        None
    }

    // ---- what was sent -------------------------------------------------------------------------

    /// Each asks each, behind all that it has sent it: by an address that it has now.
    fn all_answer(&mut self) {
        let honest = self.honest();
        for &n in &honest {
            if let Some(up) = self.up(n) {
                up.there.clear();
            }
        }
        self.until_right("all find each other", |world| {
            let honest = world.honest();
            let (mut open, all) = (None, honest.len() - 1);
            for &n in &honest {
                let known = world.up(n)?.there.len();
                if known < all {
                    open = Some(format!("node {n} has found {known} of {all}"));
                    for &to in honest.iter().filter(|&&to| to != n) {
                        world.look_up_in_peace(n, to);
                    }
                }
            }
            open
        });
        for &n in &honest {
            let there: Vec<_> =
                self.up(n).into_iter().flat_map(|up| up.there.values().cloned()).collect();
            for there in there {
                let (request, to) = (self.next_serial(), there.who);
                let answer = there.talker.ask((request, AT_ONCE), ANY_LIMIT);
                let (books, me) = (self.books.clone(), self.hosts[n].who);
                self.wait(n, "a request", ANY_LIMIT, async move {
                    let answer = answer.await;
                    // That too much waits for a node just now may always be.
                    let is_full = matches!(answer, Err(RemoteAskError::Full(_)));
                    books.check(answer.is_ok() || is_full, || {
                        format!("{me:?} has no answer of {to:?}, although nothing is in the way: {answer:?}")
                    });
                    Outcome::Answer(to, request, answer)
                });
            }
        }
        self.until_right("requests end", Self::requests_that_are_open);
    }

    fn look_up_in_peace(&mut self, n: usize, to: usize) {
        let who = self.hosts[to].who;
        let Some(up) = self.up(n).filter(|up| !up.there.contains_key(&(to as u32))) else { return };
        let found = up.node.lookup(NodeId(to as u32), "talker", ANY_LIMIT);
        self.wait(n, "a lookup", ANY_LIMIT, async move { Outcome::Talker(who, found.await) });
    }

    /// Of senders that live, all that has not come was reported at one end at least; by a session
    /// that never ended, at both.
    fn letters_that_are_missing(&mut self) -> Option<String> {
        (0..self.hosts.len()).for_each(|n| self.note_misaddressed(n));
        for ((from, to), pair) in self.books.pairs() {
            if !self.books.is_alive(from) || !self.books.is_honest(from.node, to) {
                continue;
            }
            let missing = pair.sent.saturating_sub(pair.received + pair.died);
            // That a letter was misaddressed is a message, too, which may be lost and reported as
            // that.
            let misaddressed = self.books.misaddressed(to);
            let told = pair.reported.saturating_add(pair.missed).saturating_add(misaddressed);
            if missing > told {
                return Some(format!(
                    "{missing} letters of {from:?} to node {to} were lost in silence: {pair:?}"
                ));
            }
            if pair.downs == 0
                && misaddressed == 0
                && !self.scenario.is_grid()
                && (missing > pair.reported || missing > pair.missed)
            {
                return Some(format!(
                    "{missing} letters of {from:?} to node {to}: not told at both ends: {pair:?}"
                ));
            }
        }
        for n in self.honest() {
            let not_understood = self.hosts[n].up.as_ref()?.node.stats().not_understood;
            if not_understood > 0 && !self.books.has_liar() {
                return Some(format!("node {n} has not understood {not_understood} messages"));
            }
        }
        None
    }

    /// On reliable links whoever watches an actor that has ended knows it.
    fn ends_that_were_not_told(&mut self) -> Option<String> {
        if !self.scenario.is_reliable() || self.books.has_liar() {
            return None;
        }
        for n in self.honest() {
            for (of, node, told) in self.books.watches_of(self.hosts[n].who) {
                let lives = match of {
                    Target::Talker(who) => self.books.is_alive(who),
                    Target::Child(id) => self.books.child_lives(id).is_some(),
                };
                if !lives && told == 0 {
                    return Some(format!("node {n} watches {of:?} at node {node} for ever"));
                }
            }
        }
        None
    }

    // ---- what is left --------------------------------------------------------------------------

    fn one_is_left(&mut self) {
        let honest = self.honest();
        let Some(&last) = honest.get(self.random.usize(..honest.len().max(1))) else { return };
        // What it was asked and has kept is answered to nobody.
        if let Some(up) = self.up(last) {
            up.talker.tell(TalkerMsg::Do(Box::new(|talker, _| talker.kept.clear())));
        }
        for n in honest {
            if n != last {
                let says_farewell = self.random.bool();
                self.end(n, says_farewell);
                (0..self.random.u32(..10)).for_each(|_| self.in_peace());
            }
        }
        let steps = 4 * DOWN_AFTER_NS / MS;
        (0..steps).for_each(|_| self.in_peace());
        self.until_right("requests end", Self::requests_that_are_open);
        self.wait_for_moves(last);
        let who = self.hosts[last].who;
        for (of, node, told) in self.books.watches_of(who) {
            let is_here = node == last as u32;
            self.books.check(told == 1 || is_here, || {
                format!("{who:?} was told {told} times that {of:?} has ended, and that node {node} is gone")
            });
        }
        let Some(up) = self.hosts[last].up.as_ref() else { return };
        for peer in up.node.stats().peers {
            let left = [
                peer.requests,
                peer.watches,
                peer.lookups,
                // Actors that move keep requests of where they go until they do.
                if self.scenario.odds.moves > 0 { 0 } else { peer.asked },
                peer.watched,
                peer.adopted,
                peer.payload_bytes_waiting,
                peer.payload_bytes_ahead,
            ];
            self.books.check(left == [0; 8] && !peer.is_up, || {
                format!("{who:?} still has something of {}, which is gone: {left:?}", peer.node)
            });
        }
        self.check_ledger(who, up);
        self.end(last, false);
    }
}

//! What happens to a cluster, and what it is asked to do meanwhile: drawn from the seed.

use super::actors::{
    AT_ONCE, END, FROM_OUTSIDE, IN_TURNS, LATER, Ledger, Letter, NEVER, Owner, PANIC, TalkerMsg,
};
use super::books::{Target, Who};
use super::scenario::{DOWN_AFTER_NS, weather};
use super::world::{Outcome, There, World};
use crate::common::MS;
use actinium_cluster::AnyAddress;
use actinium_cluster::fabric::NodeId;
use std::time::Duration;

/// How long answers may take.
const LIMITS_MS: [u64; 4] = [5, 30, 100, 300];
pub(super) const NAMES: [&str; 3] = ["one", "two", "three"];

impl World {
    /// One step, and what happens in it.
    pub(super) fn trouble(&mut self) {
        let odds = self.scenario.odds;
        for (often, what) in [
            (odds.letters, Self::letters as fn(&mut Self, usize)),
            (odds.payloads, Self::payload),
            (odds.asks, Self::ask),
            (odds.watches, Self::watch),
            (odds.spawns, Self::spawn),
            (odds.spawns, Self::touch_child),
            (odds.names, Self::name),
            (odds.moves, Self::ledger),
            (odds.lookups, Self::look_up),
            (odds.cuts, Self::cut),
            (odds.deaths, Self::die),
            (odds.farewells, Self::farewell),
            (odds.pauses, Self::pause),
            (odds.clocks, Self::set_clock),
            (odds.weather, Self::change_weather),
        ] {
            if self.random.u32(..1_000) < often {
                let n = self.random.usize(..self.hosts.len());
                what(self, n);
            }
        }
        // Who is dead comes back, or the run ends with nobody there.
        let n = self.random.usize(..self.hosts.len());
        if self.hosts[n].up.is_none() && self.random.u32(..20) == 0 {
            self.start(n);
        }
        self.meet();
        self.step(2 * MS);
        self.take_ended();
    }

    pub(super) fn limit(&mut self) -> Duration {
        Duration::from_millis(LIMITS_MS[self.random.usize(..LIMITS_MS.len())])
    }

    /// Each looks for the talkers of those that it does not know.
    pub(super) fn meet(&mut self) {
        for n in 0..self.hosts.len() {
            if self.random.u32(..20) == 0 {
                let to = self.random.usize(..self.hosts.len());
                let is_known = self.up(n).is_none_or(|up| up.there.contains_key(&(to as u32)));
                if !is_known {
                    self.look_up_at(n, to);
                }
            }
        }
    }

    fn look_up(&mut self, n: usize) {
        let to = self.random.usize(..self.hosts.len());
        self.look_up_at(n, to);
    }

    fn look_up_at(&mut self, n: usize, to: usize) {
        let (limit, who) = (self.limit(), self.hosts[to].who);
        let Some(up) = self.up(n).filter(|_| n != to) else { return };
        let found = up.node.lookup(NodeId(to as u32), "talker", limit);
        self.wait(n, "a lookup", limit, async move { Outcome::Talker(who, found.await) });
    }

    /// A talker that this node knows: of a life that is over, maybe.
    fn someone(&mut self, n: usize) -> Option<There> {
        let pick = self.random.usize(..);
        let there = &self.up(n)?.there;
        there.values().nth(pick.checked_rem(there.len())?).cloned()
    }

    fn letters(&mut self, n: usize) {
        let Some(there) = self.someone(n) else { return };
        let (me, books) = (self.hosts[n].who, self.books.clone());
        let count = self.random.u32(1..40);
        let long = if self.random.u32(..4) == 0 { 300 } else { 10 };
        let fillers: Vec<usize> = (0..count).map(|_| self.random.usize(..long)).collect();
        let send = move |stream| {
            for filler in fillers {
                let (number, session) = books.next(me, there.who.node, stream);
                let (Who { node, life }, to) = (me, there.who.node);
                let filler = vec![number as u8; filler];
                let letter =
                    Letter { node, life, to, stream, session, number, bytes: 0, filler, seal: 0 };
                let letter = letter.sealed();
                if there.talker.send(letter.clone()).is_err() {
                    return;
                }
                books.sent(&letter);
            }
        };
        if self.random.bool() {
            send(FROM_OUTSIDE);
        } else {
            self.in_turn(n, Box::new(move |_, _| send(IN_TURNS)));
        }
    }

    fn in_turn(&mut self, n: usize, deed: super::actors::Deed) {
        if let Some(up) = self.up(n) {
            up.talker.tell(TalkerMsg::Do(deed));
        }
    }

    fn payload(&mut self, n: usize) {
        let Some(there) = self.someone(n) else { return };
        let (me, books) = (self.hosts[n].who, self.books.clone());
        let bytes = self.random.u32(4_097..8_000);
        let (number, session) = books.next(me, there.who.node, FROM_OUTSIDE);
        let (Who { node, life }, to) = (me, there.who.node);
        let (filler, stream) = (Vec::new(), FROM_OUTSIDE);
        let letter =
            Letter { node, life, to, stream, session, number, bytes, filler, seal: 0 }.sealed();
        let Some(arena) = self.up(n).and_then(|up| up.arena.as_mut()) else { return };
        let write = |place: &mut [u8]| {
            (0..).zip(place).for_each(|(at, byte)| *byte = letter.byte(at));
        };
        let Ok(payload) = arena.payload_with(bytes as usize, write) else { return };
        if there.talker.send_with_payload(letter.clone(), payload).is_ok() {
            books.sent(&letter);
        }
    }

    fn ask(&mut self, n: usize) {
        let Some(there) = self.someone(n) else { return };
        let (limit, request, me) = (self.limit(), self.next_serial(), self.hosts[n].who);
        let how = [AT_ONCE, AT_ONCE, NEVER, LATER][self.random.usize(..4)];
        let to = there.who;
        if self.random.bool() {
            let answer = there.talker.ask((request, how), limit);
            self.wait(
                n,
                "a request",
                limit,
                async move { Outcome::Answer(to, request, answer.await) },
            );
        } else {
            let books = self.books.clone();
            self.in_turn(
                n,
                Box::new(move |_, ctx| {
                    books.asks(me);
                    let answer = there.talker.ask((request, how), limit);
                    ctx.pipe(answer, move |answer| TalkerMsg::Answered(to, request, answer));
                }),
            );
        }
        // Now and then somebody answers what it was asked long ago.
        let other = self.random.usize(..self.hosts.len());
        if self.random.u32(..4) == 0 {
            self.in_turn(other, Box::new(|talker, _| talker.answer_what_is_kept()));
        }
    }

    fn watch(&mut self, n: usize) {
        let Some(there) = self.someone(n) else { return };
        let (me, books) = (self.hosts[n].who, self.books.clone());
        self.in_turn(
            n,
            Box::new(move |_, ctx| {
                let watch = books.watched(me, Target::Talker(there.who), there.who.node);
                there.talker.watch(ctx, move |down| TalkerMsg::Told(watch, down));
            }),
        );
    }

    fn spawn(&mut self, n: usize) {
        let (limit, id) = (self.limit(), self.next_serial());
        let to = NodeId(self.random.u32(..self.scenario.nodes));
        let Some(up) = self.up(n) else { return };
        let spawned = up.node.spawn_on(to, id, limit);
        self.wait(n, "a spawn", limit, async move { Outcome::Child(id, spawned.await) });
    }

    /// Watches a child, adopts it, ends it.
    fn touch_child(&mut self, n: usize) {
        let (pick, what) = (self.random.usize(..), self.random.u32(..6));
        let (me, books) = (self.hosts[n].who, self.books.clone());
        let Some(up) = self.up(n) else { return };
        let Some(at) = pick.checked_rem(up.children.len()) else { return };
        let (id, child) = up.children[at].clone();
        let node = child.node().0;
        books.say(|| format!("{me:?} touches child {id} at node {node}: {what}"));
        match what {
            0 => child.stop(),
            1 => child.kill(),
            2 => drop(child.send(END)),
            3 => drop(child.send(PANIC)),
            4 => self.in_turn(
                n,
                Box::new(move |_, ctx| {
                    let watch = books.watched(me, Target::Child(id), node);
                    if let AnyAddress::There(child) = child {
                        child.adopt(ctx, move |down| TalkerMsg::Told(watch, down));
                    } else {
                        child.watch(ctx, move |down| TalkerMsg::Told(watch, down));
                    }
                }),
            ),
            _ => self.in_turn(
                n,
                Box::new(move |_, ctx| {
                    let watch = books.watched(me, Target::Child(id), node);
                    child.watch(ctx, move |down| TalkerMsg::Told(watch, down));
                }),
            ),
        }
    }

    fn name(&mut self, n: usize) {
        let (limit, name) = (self.limit(), NAMES[self.random.usize(..NAMES.len())].to_owned());
        let (me, books) = (self.hosts[n].who, self.books.clone());
        let (what, pick) = (self.random.u32(..8), self.random.usize(..));
        let id = u64::from(me.node) << 48 | u64::from(me.life) << 16 | self.next_serial() & 0xffff;
        let Some(up) = self.up(n) else { return };
        match what {
            0..4 => {
                books.claims(me, &name, id);
                let owner = up.system.spawn(Owner { id, books });
                up.owners.push(owner.clone());
                let claimed = up.names.claim(&name, &owner, limit);
                self.wait(
                    n,
                    "a claim",
                    limit,
                    async move { Outcome::Claimed(name, id, claimed.await) },
                );
            }
            4..6 => {
                let found = up.names.find::<Owner>(&name, limit);
                self.wait(n, "a name", limit, async move {
                    let _ = found.await;
                    Outcome::Over
                });
            }
            6 if !up.owners.is_empty() => {
                let at = pick % up.owners.len();
                up.owners.swap_remove(at).stop();
            }
            _ => {
                books.released(me, &name);
                up.names.release(&name);
            }
        }
    }

    fn ledger(&mut self, n: usize) {
        let (limit, pick) = (self.limit(), self.random.usize(..));
        let to = NodeId(self.random.u32(..self.scenario.nodes));
        let count = self.random.u64(1..20);
        let (what, serial) = (self.random.u32(..8), self.next_serial());
        let known: Vec<_> = self
            .hosts
            .iter()
            .flat_map(|host| &host.up)
            .flat_map(|up| up.ledgers.keys().copied())
            .collect();
        let Some(up) = self.up(n) else { return };
        let len = up.ledgers.len();
        let Some((_, (ledger, from, last))) =
            up.ledgers.iter_mut().nth(pick.checked_rem(len).unwrap_or(0))
        else {
            match pick.checked_rem(known.len()) {
                Some(at) => {
                    let (id, found) = (known[at], up.movables.find(known[at], limit));
                    self.wait(
                        n,
                        "a ledger",
                        limit,
                        async move { Outcome::Ledger(id, found.await) },
                    );
                }
                None => {
                    let ledger = up.movables.spawn(Ledger::default());
                    up.ledgers.insert(ledger.id(), (ledger, serial, 0));
                }
            }
            return;
        };
        match what {
            0 => {
                let moved = ledger.move_to(to, limit);
                self.wait(n, "a move", limit, async move {
                    let _ = moved.await;
                    Outcome::Over
                });
            }
            1 => {
                let read = ledger.ask((), limit);
                self.wait(n, "a ledger's answer", limit, async move { Outcome::Read(read.await) });
            }
            2 => {
                let Some(arena) = &mut up.arena else { return };
                let bytes = 4_097 + pick % 4_000;
                let write = |place: &mut [u8]| place.fill((*last + 1) as u8);
                let Ok(payload) = arena.payload_with(bytes, write) else { return };
                if ledger.send_with_payload((*from, *last + 1), payload).is_ok() {
                    *last += 1;
                }
            }
            _ => {
                for _ in 0..count {
                    if ledger.send((*from, *last + 1)).is_ok() {
                        *last += 1;
                    }
                }
            }
        }
    }

    // ---- trouble -------------------------------------------------------------------------------

    fn cut(&mut self, n: usize) {
        let to = NodeId(self.random.u32(..self.scenario.nodes));
        let what = self.random.u32(..3);
        self.books.say(|| {
            format!("node {n} and {to}: {}", ["cut", "healed", "all healed"][what as usize])
        });
        match what {
            0 => self.network.cut(NodeId(n as u32), to),
            1 => self.network.heal(NodeId(n as u32), to),
            _ => self.heal(),
        }
    }

    pub(super) fn heal(&mut self) {
        for a in 0..self.scenario.nodes {
            (0..a).for_each(|b| self.network.heal(NodeId(a), NodeId(b)));
        }
    }

    fn die(&mut self, n: usize) {
        self.end(n, false);
        if self.random.bool() {
            // At once.
            self.start(n);
        }
    }

    fn farewell(&mut self, n: usize) {
        self.end(n, true);
        if self.random.bool() {
            self.start(n);
        }
    }

    /// Its process is stopped, and goes on later.
    fn pause(&mut self, n: usize) {
        let until_ns = self.network.now_ns() + self.random.u64(MS..2 * DOWN_AFTER_NS);
        self.books.say(|| format!("node {n} is stopped until {until_ns}"));
        self.hosts[n].paused_until_ns = until_ns;
    }

    /// Its machine's clock is set, forward or back: nothing asks it before the node starts again.
    fn set_clock(&mut self, n: usize) {
        let by_ms = self.random.i64(-2_000..2_000);
        self.hosts[n].clock_off_ns += by_ms * MS as i64;
    }

    fn change_weather(&mut self, _n: usize) {
        self.network.set_faults(weather(&mut self.random));
    }

    // ---- what comes of it ----------------------------------------------------------------------

    pub(super) fn take_ended(&mut self) {
        for (me, outcome) in std::mem::take(&mut self.ended) {
            let n = me.node as usize;
            match outcome {
                Outcome::Answer(to, request, answer) => {
                    self.books.trace.note((me, format!("{answer:?}")));
                    self.books.check_answer(me, to, request, &answer);
                }
                Outcome::Talker(who, Ok(talker)) => {
                    // Else nobody knows of which life it is.
                    if self.books.is_alive(who)
                        && let Some(up) = self.up(n)
                    {
                        up.there.insert(who.node, There { who, talker });
                    }
                }
                Outcome::Child(id, Ok(child)) => {
                    self.books.say(|| format!("{me:?} has child {id}: {child:?}"));
                    if let Some(up) = self.up(n) {
                        up.children.push((id, child));
                    }
                }
                Outcome::Claimed(name, id, Ok(())) => self.books.named(&name, id),
                Outcome::Ledger(id, Ok(ledger)) => {
                    let sender = self.next_serial();
                    if let Some(up) = self.up(n) {
                        up.ledgers.insert(id, (ledger, sender, 0));
                    }
                }
                Outcome::Read(Ok((_, disorder))) => {
                    self.books.check(disorder == 0 || self.books.has_liar(), || {
                        format!("{disorder} messages to a ledger came out of order or twice")
                    });
                }
                _ => {}
            }
        }
    }
}

//! Two ends of a link over a network that a seed makes as bad as it likes.
//!
//! `ACTINIUM_LINK_MESSAGES` says how many messages each of the tests with faults sends (default
//! 1,000,000; the deep run is 1,000,000,000).

use actinium_cluster::fabric::in_process::{Faults, InProcess, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{
    Delivery, Down, DownReason, HEADER_BYTES, Link, LinkConfig, LinkEvent, Lost, Refusal,
};
use proptest::prelude::*;
use std::collections::VecDeque;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const MS: u64 = 1_000_000;

/// One end, with an owner that numbers its messages and checks what it gets.
struct End {
    link: Link,
    fabric: InProcess,
    peer: NodeId,
    random: fastrand::Rng,
    config: LinkConfig,
    /// The number of the next message to send, and whether each session's first must be 0: numbers
    /// are of the whole run.
    next: u64,
    sent_frames: u64,
    /// The largest number that was received.
    last: Option<u64>,
    received: u64,
    /// Handed over and not yet handled.
    waiting: VecDeque<Delivery>,
    most_waiting: usize,
    /// Chance that a frame is handled in a step.
    diligence: f64,
    lost: Lost,
    lost_there: Lost,
    downs: Vec<Down>,
    ups: u32,
    refusals: Vec<Refusal>,
}

impl End {
    fn new(
        network: &Network,
        node: NodeId,
        peer: NodeId,
        config: LinkConfig,
        incarnation: u64,
    ) -> Self {
        End {
            link: Link::new(config.clone(), incarnation, network.now_ns()).unwrap(),
            fabric: network.node(node),
            peer,
            random: fastrand::Rng::with_seed(u64::from(node.0)),
            config,
            next: 0,
            sent_frames: 0,
            last: None,
            received: 0,
            waiting: VecDeque::new(),
            most_waiting: 0,
            diligence: 1.0,
            lost: Lost::default(),
            lost_there: Lost::default(),
            downs: Vec::new(),
            ups: 0,
            refusals: Vec::new(),
        }
    }

    fn send_until(&mut self, end: u64) {
        while self.next < end && self.link.has_credit() {
            let count = self.random.u64(1..=40).min(end - self.next);
            let mut frame = vec![0; HEADER_BYTES];
            for number in self.next..self.next + count {
                frame.extend_from_slice(&number.to_le_bytes());
            }
            self.link.send(count as u32, frame).unwrap();
            self.next += count;
            self.sent_frames += 1;
        }
    }

    fn step(&mut self, now_ns: u64) {
        while let Some((from, frame)) = self.fabric.poll() {
            assert_eq!(from, self.peer);
            self.link.receive(frame, now_ns);
        }
        self.link.tick(now_ns);
        while let Some(event) = self.link.poll_event() {
            self.event(event);
        }
        while !self.waiting.is_empty() && self.random.f64() < self.diligence {
            let frame = self.waiting.pop_front().unwrap();
            self.link.handled(frame.session, 1, now_ns);
        }
        let (fabric, peer) = (&mut self.fabric, self.peer);
        self.link.transmit(now_ns, |frame| fabric.send(peer, frame).is_ok());
    }

    fn event(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Up => self.ups += 1,
            LinkEvent::Frame(frame) => {
                for number in frame.payload().chunks_exact(8) {
                    let number = u64::from_le_bytes(number.try_into().unwrap());
                    assert!(self.last < Some(number), "{number} after {:?}", self.last);
                    if self.config.reliable && self.downs.is_empty() {
                        assert_eq!(number, self.received, "a gap on a reliable link");
                    }
                    self.last = Some(number);
                    self.received += 1;
                }
                self.waiting.push_back(frame);
                self.most_waiting = self.most_waiting.max(self.waiting.len());
            }
            LinkEvent::Lost(lost) => add(&mut self.lost, lost),
            LinkEvent::LostThere(lost) => add(&mut self.lost_there, lost),
            LinkEvent::Down(down) => self.downs.push(down),
            LinkEvent::Refused(refusal) => self.refusals.push(refusal),
            other => panic!("{other:?}"),
        }
    }
}

fn add(sum: &mut Lost, lost: Lost) {
    sum.frames += lost.frames;
    sum.messages += lost.messages;
}

struct Pair {
    network: Network,
    a: End,
    b: End,
}

impl Pair {
    fn new(seed: u64, faults: Faults, config: LinkConfig) -> Self {
        let network = Network::seeded(seed, faults);
        let a = End::new(&network, A, B, config.clone(), 10);
        let b = End::new(&network, B, A, config, 20);
        Pair { network, a, b }
    }

    fn step(&mut self) {
        self.network.advance(MS);
        let now_ns = self.network.now_ns();
        self.a.step(now_ns);
        self.b.step(now_ns);
    }

    fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
        }
    }

    /// Sends so many messages in both directions, and waits until both ends know what became of
    /// them.
    fn exchange(&mut self, messages: u64) {
        let ends = (self.a.next + messages, self.b.next + messages);
        let mut steps = 0_u64;
        while self.a.next < ends.0
            || self.b.next < ends.1
            || !self.a.link.is_drained()
            || !self.b.link.is_drained()
        {
            self.a.send_until(ends.0);
            self.b.send_until(ends.1);
            self.step();
            steps += 1;
            assert!(steps < 10_000 + 10 * messages, "stuck: {:?}", self.a.link.counters());
        }
    }

    /// Each message was received, or is reported at both ends.
    fn check(&self) {
        for (from, to) in [(&self.a, &self.b), (&self.b, &self.a)] {
            assert_eq!(to.received + to.lost.messages, from.next);
            if from.config.reliable {
                assert_eq!(to.lost, Lost::default());
            }
        }
    }
}

fn messages() -> u64 {
    std::env::var("ACTINIUM_LINK_MESSAGES").map_or(1_000_000, |text| text.parse().unwrap())
}

fn reliable() -> LinkConfig {
    LinkConfig { reliable: true, ..LinkConfig::default() }
}

fn all_faults() -> Faults {
    Faults {
        delay_ns: 0..=5 * MS,
        loss: 0.05,
        duplication: 0.05,
        corruption: 0.02,
        reordering: 0.2,
    }
}

#[test]
fn a_reliable_link_delivers_a_million_messages_exactly_once_over_a_bad_network() {
    let mut pair = Pair::new(1, all_faults(), reliable());
    pair.exchange(messages() / 2);
    pair.check();
    assert!(pair.a.downs.is_empty() && pair.b.downs.is_empty());
    let counters = pair.a.link.counters();
    assert!(counters.resent > 0 && counters.duplicates > 0 && counters.garbage > 0, "{counters:?}");
    assert!(pair.a.most_waiting <= 64);
}

#[test]
fn a_plain_link_reports_what_it_loses_of_a_million_messages_at_both_ends() {
    // To such a link, what is overtaken is lost: a network that reorders much is none for it.
    let faults = Faults { reordering: 0.01, ..all_faults() };
    let mut pair = Pair::new(2, faults, LinkConfig::default());
    pair.exchange(messages() / 2);
    // The reports of the last losses.
    pair.steps(1_000);
    pair.check();
    assert!(pair.b.lost.messages > 0 && pair.b.received > messages() / 8);
    assert_eq!((pair.a.lost_there, pair.b.lost_there), (pair.b.lost, pair.a.lost));
    assert_eq!(pair.a.link.counters().resent, 0);
}

#[test]
fn a_good_network_costs_neither_loss_nor_resending() {
    for config in [LinkConfig::default(), reliable()] {
        let mut pair = Pair::new(3, Faults::default(), config);
        pair.exchange(100_000);
        pair.check();
        let counters = pair.a.link.counters();
        assert_eq!((counters.resent, counters.duplicates, pair.b.lost.frames), (0, 0, 0));
        assert_eq!(counters.sent, pair.a.sent_frames);
    }
}

#[test]
fn a_short_interruption_ends_no_session_of_a_reliable_link() {
    let mut pair = Pair::new(4, Faults::default(), reliable());
    pair.exchange(1_000);
    for _ in 0..20 {
        pair.network.cut(A, B);
        pair.a.send_until(u64::MAX);
        pair.steps(500);
        pair.network.heal(A, B);
        pair.exchange(1_000);
    }
    pair.check();
    assert_eq!((pair.a.ups, pair.a.downs.len(), pair.b.downs.len()), (1, 0, 0));
}

#[test]
fn after_a_long_one_both_are_told_and_what_was_not_acknowledged_comes_back() {
    let mut pair = Pair::new(5, Faults::default(), reliable());
    pair.exchange(1_000);
    let before = pair.a.next;
    let frames = pair.a.sent_frames;
    pair.network.cut(A, B);
    pair.a.send_until(u64::MAX);
    pair.steps(1_200);
    assert!(matches!(pair.b.downs[0].reason, DownReason::Silent { for_ns } if for_ns > 1_000 * MS));
    let down = &pair.a.downs[0];
    assert_eq!(down.last_acknowledged, frames);
    assert_eq!(down.unacknowledged.messages, pair.a.next - before);
    let back: Vec<u8> = down.undelivered.iter().flat_map(|it| it.payload()).copied().collect();
    let expected: Vec<u8> = (before..pair.a.next).flat_map(u64::to_le_bytes).collect();
    assert_eq!(back, expected);

    pair.network.heal(A, B);
    let received = pair.b.received;
    pair.exchange(1_000);
    assert_eq!((pair.a.ups, pair.b.ups), (2, 2));
    assert_eq!(pair.b.received, received + 1_000);
}

#[test]
fn a_node_that_dies_is_noticed_by_its_silence() {
    let mut pair = Pair::new(6, Faults::default(), reliable());
    pair.exchange(10);
    pair.network.kill(B);
    pair.steps(900);
    assert!(pair.a.downs.is_empty());
    pair.steps(200);
    assert!(matches!(pair.a.downs[0].reason, DownReason::Silent { .. }));
}

#[test]
fn a_process_that_was_started_again_is_not_taken_for_the_old_one() {
    let mut pair = Pair::new(7, Faults { delay_ns: 0..=3 * MS, ..Faults::default() }, reliable());
    pair.exchange(1_000);
    pair.a.send_until(u64::MAX);
    pair.a.step(pair.network.now_ns());
    pair.network.kill(B);
    // It comes back sooner than anybody could have noticed by its silence.
    pair.b = End::new(&pair.network, B, A, reliable(), 21);
    pair.steps(150);
    assert_eq!(pair.a.downs.len(), 1);
    assert_eq!(pair.a.downs[0].reason, DownReason::Restarted);
    assert!(pair.a.downs[0].unacknowledged.messages > 0);
    assert_eq!(pair.b.received, 0, "what was meant for its earlier life");
    assert!(pair.a.link.is_up() && pair.b.link.is_up());
}

#[test]
fn an_incarnation_that_is_too_old_is_refused_with_the_reason_on_both_sides() {
    let mut pair = Pair::new(8, Faults::default(), reliable());
    pair.exchange(10);
    pair.network.kill(B);
    pair.steps(1_500);
    // A clock that was set back.
    pair.b = End::new(&pair.network, B, A, reliable(), 3);
    pair.steps(500);
    assert_eq!(pair.b.refusals, [Refusal::OldIncarnation { ours: 3, seen: 20 }]);
    assert_eq!(pair.a.refusals, [Refusal::TheirOldIncarnation { theirs: 3, seen: 20 }]);
    assert!(!pair.a.link.is_up() && !pair.b.link.is_up());
}

#[test]
fn whoever_leaves_is_gone_at_once_and_may_come_back() {
    let mut pair = Pair::new(9, Faults::default(), LinkConfig::default());
    pair.exchange(100);
    let fabric = &mut pair.b.fabric;
    pair.b.link.leave(|frame| fabric.send(A, frame).is_ok());
    pair.step();
    assert_eq!(pair.a.downs[0].reason, DownReason::Left);
    assert_eq!(pair.b.downs[0].reason, DownReason::Leaving);
    pair.steps(300);
    let said = pair.a.link.counters().control;
    pair.steps(1_000);
    assert_eq!(pair.a.link.counters().control, said, "it goes on calling after who left");
    pair.b = End::new(&pair.network, B, A, LinkConfig::default(), 30);
    pair.steps(300);
    assert!(pair.a.link.is_up() && pair.b.link.is_up());
}

#[test]
fn a_reader_that_stops_stops_its_sender_and_memory_stays_bounded() {
    for config in [LinkConfig::default(), reliable()] {
        let mut pair = Pair::new(10, Faults::default(), config);
        pair.exchange(10);
        pair.b.diligence = 0.0;
        let frames = pair.a.sent_frames;
        for _ in 0..3_000 {
            pair.a.send_until(u64::MAX);
            pair.step();
        }
        assert_eq!(pair.a.sent_frames - frames, 64);
        assert_eq!(pair.b.waiting.len(), 64);
        // It is slow, not dead.
        assert!(pair.a.downs.is_empty() && pair.b.downs.is_empty());
        assert!(pair.a.link.counters().resent <= 64, "{:?}", pair.a.link.counters());
        pair.b.diligence = 0.5;
        pair.exchange(100_000);
        pair.check();
    }
}

#[test]
fn one_s_own_pause_is_no_news_of_others() {
    let mut pair = Pair::new(11, Faults::default(), reliable());
    pair.exchange(10);
    // Both stand still for 30 s, as under SIGSTOP of the whole machine.
    pair.network.advance(30_000 * MS);
    pair.steps(10);
    assert!(pair.a.downs.is_empty() && pair.b.downs.is_empty());
    // Only B stands still: A gives it up, and they meet again.
    for _ in 0..30_000 {
        pair.network.advance(MS);
        pair.a.step(pair.network.now_ns());
    }
    assert!(matches!(pair.a.downs[0].reason, DownReason::Silent { .. }));
    pair.steps(300);
    assert_eq!((pair.a.ups, pair.b.ups, pair.b.downs.len()), (2, 2, 1));
    assert_eq!(pair.b.downs[0].reason, DownReason::Restarted);
}

#[test]
fn the_smaller_window_of_the_two_holds() {
    let network = Network::new();
    let small = LinkConfig { window_frames: 3, ..LinkConfig::default() };
    let a = End::new(&network, A, B, LinkConfig::default(), 1);
    let b = End::new(&network, B, A, small, 2);
    let mut pair = Pair { network, a, b };
    pair.steps(200);
    pair.b.diligence = 0.0;
    pair.a.send_until(u64::MAX);
    assert_eq!(pair.a.sent_frames, 3);
    pair.steps(10);
    assert_eq!(pair.b.waiting.len(), 3);
    assert_eq!(pair.b.link.counters().beyond_window, 0);
}

/// Data waits for an answer, and the answer must not wait behind data.
#[test]
fn a_fabric_without_room_for_data_still_moves_what_is_short() {
    let link = |incarnation| Link::new(reliable(), incarnation, 0).unwrap();
    let mut ends = [link(1), link(2)];
    let mut downs = 0;
    for step in 0..3_000 {
        let now_ns = step * MS;
        for here in 0..2 {
            let mut said = Vec::new();
            let end = &mut ends[here];
            end.tick(now_ns);
            if step == 300 {
                end.send(1, vec![0; 1_000]).unwrap();
            }
            // The data never finds room.
            let all = end.transmit(now_ns, |frame| {
                let is_taken = frame.len() < 200;
                said.extend(is_taken.then(|| frame.to_vec()));
                is_taken
            });
            assert!(all || step >= 300);
            said.into_iter().for_each(|frame| ends[1 - here].receive(frame, now_ns));
        }
        for end in &mut ends {
            while let Some(event) = end.poll_event() {
                downs += u32::from(matches!(event, LinkEvent::Down(_)));
            }
        }
    }
    assert!(ends[0].is_up() && ends[1].is_up() && downs == 0);
    assert!(ends.iter().all(|end| end.counters().sent == 0 && end.counters().control > 20));
}

#[test]
fn garbage_changes_nothing() {
    let mut pair = Pair::new(12, Faults::default(), reliable());
    let mut random = fastrand::Rng::with_seed(12);
    for _ in 0..1_000 {
        let garbage: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
        pair.a.fabric.send(B, &garbage).unwrap();
        pair.exchange(3);
    }
    pair.check();
    assert_eq!(pair.b.link.counters().garbage, 1_000);
    assert!(pair.b.downs.is_empty() && pair.b.refusals.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever goes wrong, and whoever is cut off for however long: nothing is doubled or out of
    /// order (`End` checks that), nothing is missing that neither end has reported, and in the end
    /// the two are together again.
    #[test]
    fn nothing_is_lost_in_silence(
        seed in any::<u64>(),
        is_reliable in any::<bool>(),
        loss in 0.0..0.3,
        reordering in 0.0..0.5,
        window_frames in 1_u32..100,
        cuts in proptest::collection::vec((1_u64..400, 1_u64..1_600), 0..6),
        diligence in 0.3..1.0,
    ) {
        let config = LinkConfig { reliable: is_reliable, window_frames, ..LinkConfig::default() };
        let faults = Faults { loss, reordering, ..all_faults() };
        let mut pair = Pair::new(seed, faults, config);
        pair.a.diligence = diligence;
        pair.b.diligence = diligence;
        for (before, cut) in cuts {
            for _ in 0..before {
                pair.a.send_until(u64::MAX);
                pair.b.send_until(u64::MAX);
                pair.step();
            }
            pair.network.cut(A, B);
            pair.steps(cut);
            pair.network.heal(A, B);
        }
        pair.exchange(500);
        pair.network.set_faults(Faults::default());
        pair.steps(2_000);
        prop_assert!(pair.a.link.is_up() && pair.b.link.is_up());
        for (from, to) in [(&pair.a, &pair.b), (&pair.b, &pair.a)] {
            let unacknowledged: u64 = from.downs.iter().map(|it| it.unacknowledged.messages).sum();
            // What was not acknowledged may have arrived all the same.
            prop_assert!(to.received + to.lost.messages + unacknowledged >= from.next);
            if from.downs.is_empty() && to.downs.is_empty() {
                prop_assert_eq!(to.received + to.lost.messages, from.next);
            }
        }
    }
}

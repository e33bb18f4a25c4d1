//! Rounds, rests and graphs of a node's partitioner.

use crate::world::{Traffic, World, merged};
use actinium_placement::{Actor, Answer, BadRule, End, Offer, Partitioner, Refusal, Rules};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(n)) as u32
    }
}

/// Communities of so many actors; each sends to ten, of which 95 % are of its own.
fn communities(count: u32, size: u32, random: &mut Random) -> Traffic {
    let actors = count * size;
    let mut edge = |n: u32| {
        let from = n / 10;
        let inside = from / size * size + random.below(size);
        let to = if random.below(20) == 0 { random.below(actors) } else { inside };
        (from, to, 16)
    };
    merged((0..actors * 10).map(&mut edge))
}

fn total(traffic: &Traffic) -> u64 {
    traffic.iter().map(|&(.., messages)| messages).sum()
}

fn per_mille(part: u64, of: u64) -> u64 {
    part * 1000 / of
}

#[test]
fn communities_come_together() {
    let mut random = Random(1);
    let traffic = communities(8, 100, &mut random);
    let at = (0..800).map(|_| random.below(4)).collect();
    let mut world = World::new(4, at, &Rules::default());
    let before = per_mille(world.crossing(&traffic), total(&traffic));
    for _ in 0..150 {
        world.send(&traffic);
        world.round();
    }
    let after = per_mille(world.crossing(&traffic), total(&traffic));
    let loads = world.loads();
    let moves: u32 = world.moves.iter().sum();
    // No fewer than 38 are possible: of 5 % that go anywhere, three quarters go elsewhere.
    assert!(before > 700 && after < 60, "{before} {after} {loads:?}");
    assert!(loads.iter().all(|load| (150..=250).contains(load)), "{loads:?}");
    assert!(moves < 800 * 2, "{moves}");
    // It stays so.
    let settled = world.moves.iter().sum::<u32>();
    for _ in 0..50 {
        world.send(&traffic);
        world.round();
    }
    assert!(world.moves.iter().sum::<u32>() <= settled + 8);
}

fn run(world: &mut World, rounds: u32, mut traffic: impl FnMut(u32) -> Traffic) -> u32 {
    let before: u32 = world.moves.iter().sum();
    for round in 0..rounds {
        world.send(&traffic(round));
        world.round();
    }
    world.moves.iter().sum::<u32>() - before
}

fn scattered(actors: u32, random: &mut Random) -> World {
    let at = (0..actors).map(|_| random.below(4)).collect();
    World::new(4, at, &Rules::default())
}

#[test]
fn a_ring_is_cut_into_arcs() {
    let mut random = Random(2);
    let traffic = merged((0..400).map(|n| (n, (n + 1) % 400, 200)));
    let mut world = scattered(400, &mut random);
    let before = world.crossing(&traffic) / 200;
    let moves = run(&mut world, 100, |_| traffic.clone());
    let after = world.crossing(&traffic) / 200;
    assert!(before > 250 && after < 60, "{before} {after} after {moves} moves");
    assert!(world.loads().iter().all(|load| (80..=120).contains(load)), "{:?}", world.loads());
    assert_eq!(run(&mut world, 50, |_| traffic.clone()), 0);
}

/// All send to one. They can not all lie with it.
#[test]
fn a_star_stays_balanced() {
    let mut random = Random(3);
    let traffic = merged((1..200).map(|n| (n, 0, 200)));
    let mut world = scattered(200, &mut random);
    let before = world.crossing(&traffic);
    run(&mut world, 100, |_| traffic.clone());
    assert!(world.crossing(&traffic) <= before);
    assert!(world.loads().iter().all(|load| (38..=66).contains(load)), "{:?}", world.loads());
    assert_eq!(run(&mut world, 50, |_| traffic.clone()), 0);
}

#[test]
fn a_graph_that_changes_is_followed() {
    let mut random = Random(4);
    let mut world = scattered(400, &mut random);
    for _ in 0..4 {
        let mut names: Vec<u32> = (0..400).collect();
        (1..400).rev().for_each(|n| names.swap(n as usize, random.below(n + 1) as usize));
        let named = |(from, to, n): (u32, u32, u64)| (names[from as usize], names[to as usize], n);
        let traffic = merged(communities(8, 50, &mut random).into_iter().map(named));
        let before = per_mille(world.crossing(&traffic), total(&traffic));
        let moves = run(&mut world, 100, |_| traffic.clone());
        let after = per_mille(world.crossing(&traffic), total(&traffic));
        assert!(before > 600 && after < 250, "{before} {after} after {moves} moves");
    }
}

/// The actors of a square talk with their row, and then with their column. Rests, which double,
/// bound the moves, whatever the period.
#[test]
fn alternating_traffic_does_not_thrash() {
    const ROUNDS: u32 = 400;
    for period in [1, 2, 5, 13, 40] {
        let lines = |by_row: bool| {
            let to = move |n: u32, k: u32| if by_row { n / 16 * 16 + k } else { k * 16 + n % 16 };
            merged((0..256).flat_map(move |n| (0..16).map(move |k| (n, to(n, k), 40))))
        };
        let mut world = scattered(256, &mut Random(5));
        let (rows, columns) = (lines(true), lines(false));
        let of = |round: u32| if (round / period).is_multiple_of(2) { &rows } else { &columns };
        let moves = run(&mut world, ROUNDS, |round| of(round).clone());
        let most = *world.moves.iter().max().unwrap();
        // Rests of 4, 8, .. 256 rounds; a streak ends when an actor has stayed for twice its rest.
        assert!(most <= 20 && moves <= 256 * 12, "period {period}: {moves}, {most} of one");
    }
}

/// The worst that an adversary can do: it knows where each actor is, and always lets it talk with
/// another node only.
#[test]
fn an_adversary_who_sees_all_moves_each_actor_a_few_times() {
    let at: Vec<u32> = (0..100).map(|n| n % 4).collect();
    let mut world = World::new(4, at, &Rules::default());
    for _ in 0..400 {
        let other =
            |n: u32| (0..100).find(|&m| world.at[m as usize] == (world.at[n as usize] + 1) % 4);
        let traffic = merged((0..100).filter_map(|n| Some((n, other(n)?, 400))));
        world.send(&traffic);
        world.round();
    }
    let most = *world.moves.iter().max().unwrap();
    assert!(most <= 8, "{most} moves of one actor: rests of 4, 8, .. 256 rounds leave no more");
    assert!(world.sum(|stats| stats.moved) > 50, "they did move");
}

fn pair() -> (Partitioner<u32>, Partitioner<u32>) {
    let mut nodes =
        (Partitioner::new(0, Rules::default(), 0), Partitioner::new(1, Rules::default(), 0));
    nodes.0.appeared(1, Actor::default());
    nodes.1.appeared(2, Actor::default());
    nodes.0.sent(1, End::Actor(2), 1, 500);
    nodes.1.sent(2, End::Actor(1), 0, 500);
    nodes
}

#[test]
fn of_two_that_ask_each_other_one_gives_way() {
    let (mut a, mut b) = pair();
    let (Some((1, of_a)), Some((0, of_b))) = (a.round(), b.round()) else { panic!("no offers") };
    assert_eq!(a.offered(1, &of_b), Err(Refusal::Busy));
    assert_eq!(b.refused(0), None);
    assert_eq!(b.offered(0, &of_a).unwrap().take, [1]);
    // In the other order, too.
    let (mut a, mut b) = pair();
    let (Some((1, of_a)), Some((0, of_b))) = (a.round(), b.round()) else { panic!("no offers") };
    let answer = b.offered(0, &of_a).unwrap();
    assert_eq!(a.offered(1, &of_b), Err(Refusal::Busy));
    assert_eq!(b.refused(0), None, "it no longer asks");
    assert_eq!(a.answered(1, &answer), Ok(vec![1]));
}

#[test]
fn who_is_pinned_stays_and_attracts() {
    let (mut a, mut b) = pair();
    a.appeared(1, Actor { is_pinned: true, ..Actor::default() });
    assert_eq!(a.round(), None);
    let (peer, offer) = b.round().unwrap();
    let answer = a.offered(1, &offer).unwrap();
    assert_eq!((peer, answer), (0, Answer { take: vec![2], give: vec![] }));
}

#[test]
fn what_a_move_costs_is_weighed() {
    let (mut a, mut b) = pair();
    a.appeared(1, Actor { cost: 2_000, ..Actor::default() });
    assert_eq!(a.round(), None);
    // The other one is cheap.
    let (_, offer) = b.round().unwrap();
    assert_eq!(a.offered(1, &offer).unwrap().take, [2]);
}

#[test]
fn a_move_that_failed_is_not_tried_again_at_once() {
    let (mut a, mut b) = pair();
    let (peer, offer) = a.round().unwrap();
    let answer = b.round().and_then(|_| b.offered(0, &offer).ok()).unwrap();
    assert_eq!(a.answered(peer, &answer), Ok(vec![1]));
    assert!(a.is_busy());
    a.not_moved(1);
    assert!(!a.is_busy());
    let rounds = (1..20).find(|_| {
        a.sent(1, End::Actor(2), 1, 500);
        a.round().is_some()
    });
    assert_eq!((rounds, a.stats().not_moved), (Some(4), 1));
}

#[test]
fn a_node_that_is_busy_is_not_the_last_to_be_asked() {
    let rules = Rules { exchanges_max: 1, ..Rules::default() };
    let mut a: Partitioner<u32> = Partitioner::new(0, rules, 0);
    a.appeared(1, Actor::default());
    for (node, messages) in [(1, 500), (2, 400), (3, 300), (4, 200)] {
        a.sent(1, End::Fixed(node), node, messages);
    }
    let mut asked = Vec::new();
    let mut next = a.round();
    while let Some((peer, _)) = next {
        asked.push(peer);
        next = a.refused(peer);
    }
    assert_eq!(asked, [1, 2, 3]);
    assert_eq!((a.stats().refused_there, a.stats().offers), (3, 3));
}

/// Four actors, each of which talks with another node.
#[test]
fn a_round_has_as_many_exchanges_as_the_rules_allow() {
    for exchanges_max in [1, 2, 3] {
        let rules = Rules { exchanges_max, imbalance_min: 8, ..Rules::default() };
        let mut a: Partitioner<u32> = Partitioner::new(0, rules, 0);
        for node in 1..5 {
            a.appeared(node, Actor::default());
            a.sent(node, End::Fixed(node), node, 500);
        }
        let (mut next, mut moved) = (a.round(), 0);
        while let Some((peer, offer)) = next {
            let take = offer.candidates.iter().map(|it| it.actor).collect();
            let go = a.answered(peer, &Answer { take, give: Vec::new() }).unwrap();
            assert_eq!(a.next_offer(), None, "the actors have not left yet");
            go.into_iter().for_each(|actor| a.moved(actor));
            moved += 1;
            next = a.next_offer();
        }
        assert_eq!((moved, a.stats().exchanges), (exchanges_max, u64::from(exchanges_max)));
    }
}

/// Actors that were promised count as if they were here, so that no two nodes fill the same room.
#[test]
fn actors_on_their_way_count_as_load() {
    let mut a: Partitioner<u32> = Partitioner::new(0, Rules::default(), 0);
    let mut b: Partitioner<u32> = Partitioner::new(1, Rules::default(), 0);
    b.appeared(7, Actor::default());
    b.sent(7, End::Fixed(0), 0, 500);
    let (_, offer) = b.round().unwrap();
    assert_eq!(a.offered(1, &offer).unwrap().take, [7]);
    a.appeared(8, Actor::default());
    a.sent(8, End::Fixed(2), 2, 500);
    let load = |made: Option<(u32, Offer<u32>)>| made.map(|(_, offer)| offer.load);
    assert_eq!(load(a.round()), Some(2));
    assert_eq!(a.refused(2), None);
    // It never comes: it is waited for no longer.
    let loads = (0..4).map(|_| {
        a.sent(8, End::Fixed(2), 2, 500);
        let made = load(a.round());
        a.refused(2);
        made
    });
    assert_eq!(loads.last().unwrap(), Some(1));
}

#[test]
fn settings_are_checked() {
    assert_eq!(Rules::default().check(), Ok(()));
    let bad = |rules: Rules| match rules.check() {
        Err(BadRule { setting, .. }) => setting,
        Ok(()) => "none",
    };
    let rules = Rules::default;
    assert_eq!(bad(Rules { edges_max: 0, ..rules() }), "edges_max");
    assert_eq!(bad(Rules { retained_percent: 100, ..rules() }), "retained_percent");
    assert_eq!(bad(Rules { moves_max: 0, ..rules() }), "moves_max");
    assert_eq!(bad(Rules { move_cost: u64::MAX, ..rules() }), "move_cost");
    assert_eq!(bad(Rules { exchanges_max: 0, ..rules() }), "exchanges_max");
    assert_eq!(bad(Rules { rest_rounds: u32::MAX, ..rules() }), "rest_rounds");
    assert_eq!(bad(Rules { offer_edges_max: 0, ..rules() }), "offer_edges_max");
    let error = Rules { moves_max: 0, ..rules() }.check().unwrap_err();
    assert_eq!(error.to_string(), "moves_max: 0 is not allowed: 1 to 4096");
}

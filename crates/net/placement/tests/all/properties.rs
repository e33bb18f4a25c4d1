//! What holds for every graph: balance, and what an exchange saves.

use crate::world::{Traffic, World, merged};
use actinium_placement::{Edge, End, Graph, Offer, Partitioner, Rules, Weighed, decide};
use proptest::prelude::*;

/// Exact knowledge of the last round.
fn exact() -> Rules {
    Rules { retained_percent: 0, offer_edges_max: 1 << 16, ..Rules::default() }
}

prop_compose! {
    fn graph(actors_max: u32)(actors in 2..actors_max)(
        at in proptest::collection::vec(0..4_u32, actors as usize),
        edges in proptest::collection::vec((0..actors, 0..actors, 1..300_u64), 0..150),
    ) -> (Vec<u32>, Traffic) {
        (at, merged(edges))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// An exchange makes the weight between nodes smaller by exactly what was predicted, which is
    /// more than the moves cost, and keeps the balance.
    #[test]
    fn an_exchange_saves_what_it_says(
        (at, traffic) in graph(60),
        move_cost in 0..100_u64,
        moves_max in 1..20_usize,
        imbalance_percent in 0..50_u32,
    ) {
        let rules = Rules { move_cost, moves_max, imbalance_percent, ..exact() };
        let mut world = World::new(4, at, &rules);
        world.send(&traffic);
        let known = |n: u32| {
            let actors = (0..).zip(&world.at).filter(move |&(_, &node)| node == n);
            let of = traffic.iter().filter(|&&(from, ..)| world.at[from as usize] == n);
            let edges = of.map(|&(from, to, weight)| Weighed {
                edge: Edge { from, to: End::Actor(to) },
                node: world.at[to as usize],
                weight,
            });
            Graph::new(n, actors.map(|(actor, _)| actor), edges)
        };
        let offers: Vec<_> = world.nodes.iter_mut().map(|node| node.round()).collect();
        let Some((peer, offer)) = offers[0].clone() else { return Ok(()) };
        // What that node has asked is refused.
        let mut asked = offers[peer as usize].as_ref().map(|&(other, _)| other);
        while let Some(other) = asked {
            asked = world.nodes[peer as usize].refused(other).map(|(other, _)| other);
        }
        let decision = decide(&known(peer), 0, &offer, &rules, |_| Some((move_cost, 1)));
        let answer = world.nodes[peer as usize].offered(0, &offer).unwrap();
        prop_assert_eq!(&answer, &decision.answer);

        let (before, loads) = (world.crossing(&traffic), world.loads());
        for &actor in &answer.take {
            world.at[actor as usize] = peer;
        }
        for &(actor, _) in &answer.give {
            prop_assert_eq!(world.at[actor as usize], peer);
            world.at[actor as usize] = 0;
        }
        let moves = answer.take.len() + answer.give.len();
        let saved = before as i64 - world.crossing(&traffic) as i64;
        prop_assert_eq!(saved, decision.saved);
        prop_assert!(moves == 0 || saved > moves as i64 * move_cost as i64);
        prop_assert!(answer.take.len() <= moves_max && answer.give.len() <= moves_max);

        let (a, b) = (loads[0], loads[peer as usize]);
        let after_a = a + answer.give.len() as u64 - answer.take.len() as u64;
        let after = after_a.abs_diff(a + b - after_a);
        prop_assert!(after <= rules.imbalance_max(a, b).max(a.abs_diff(b)));
    }

    /// Whatever the graph, it ends: the weight between nodes never rises, and then nothing moves.
    #[test]
    fn rounds_come_to_rest((at, traffic) in graph(60), imbalance_percent in 0..50_u32) {
        let rules = Rules { imbalance_percent, rest_rounds: 0, cooldown_rounds: 0, ..exact() };
        let mut world = World::new(4, at, &rules);
        let mut crossing = world.crossing(&traffic);
        let mut quiet = 0;
        for turn in 0..2_000 {
            world.send(&traffic);
            let moves = world.round_of(turn % 4);
            let now = world.crossing(&traffic);
            prop_assert!(now < crossing || (moves == 0 && now == crossing));
            crossing = now;
            quiet = if moves == 0 { quiet + 1 } else { 0 };
            if quiet == 20 {
                break;
            }
        }
        prop_assert_eq!(quiet, 20);
        world.loads();
    }

    #[test]
    fn an_offer_has_no_more_edges_than_it_may(
        (at, traffic) in graph(60),
        offer_edges_max in 1..30_usize,
    ) {
        let rules = Rules { move_cost: 0, ..exact() };
        let offer = |rules: Rules| -> Option<Offer<u32>> {
            let mut world = World::new(4, at.clone(), &rules);
            world.send(&traffic);
            world.nodes[0].round().map(|(_, offer)| offer)
        };
        let count = |offer: &Offer<u32>| {
            let of = offer.candidates.iter().map(|it| it.among.len() + it.edges.len());
            of.sum::<usize>() + offer.pulls.len()
        };
        let Some(whole) = offer(rules.clone()) else { return Ok(()) };
        let cut = offer(Rules { offer_edges_max, ..rules }).unwrap();
        prop_assert_eq!(count(&cut), count(&whole).min(offer_edges_max));
        prop_assert_eq!(cut.check(), Ok(()));
        prop_assert_eq!(cut.candidates.len(), whole.candidates.len());
    }
}

/// Nodes that talk with nobody have nothing to offer.
#[test]
fn without_traffic_nothing_moves() {
    let mut node: Partitioner<u32> = Partitioner::new(0, Rules::default(), 0);
    assert_eq!(node.round(), None);
    assert_eq!(node.stats().remote_share_ppm(), None);
}

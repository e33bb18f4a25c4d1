//! Peers that say what they like.

use actinium_placement::{Actor, Answer, Candidate, End, Offer, Partitioner, Refusal, Rules};
use proptest::prelude::*;

fn node() -> Partitioner<u32> {
    let mut node = Partitioner::new(1, Rules::default(), 0);
    for actor in 0..20 {
        node.appeared(actor, Actor::default());
        node.sent(actor, End::Actor(actor + 100), 0, 200);
        node.sent(actor, End::Actor((actor + 1) % 20), 1, 20);
    }
    node
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000_u64, any::<u64>(), Just(1_u64 << 40)]
}

fn candidate() -> impl Strategy<Value = Candidate<u32>> {
    let list = || proptest::collection::vec((0..40_u32, number()), 0..5);
    (0..150_u32, number(), any::<u8>(), number(), number(), list(), list()).prop_map(
        |(actor, cost, streak, home, there, among, edges)| Candidate {
            actor,
            cost,
            streak,
            home,
            there,
            among,
            edges,
        },
    )
}

proptest! {
    #[test]
    fn no_offer_breaks_a_node(
        load in number(),
        candidates in proptest::collection::vec(candidate(), 0..12),
        pulls in proptest::collection::vec((0..150_u32, number()), 0..12),
    ) {
        let (mut node, rules) = (node(), Rules::default());
        let offer = Offer { load, candidates, pulls };
        let names: Vec<u32> = offer.candidates.iter().map(|it| it.actor).collect();
        match node.offered(0, &offer) {
            Ok(answer) => {
                prop_assert!(answer.take.iter().all(|actor| names.contains(actor) && *actor >= 20));
                prop_assert!(answer.give.iter().all(|&(actor, _)| actor < 20));
                prop_assert!(answer.give.len() <= rules.moves_max);
                // If some move, the next has to wait, whoever it is.
                if !answer.give.is_empty() {
                    prop_assert_eq!(node.offered(2, &offer), Err(Refusal::Busy));
                }
            }
            Err(why) => {
                prop_assert!(matches!(why, Refusal::Malformed(_)));
                prop_assert_eq!(node.stats().malformed, 1);
            }
        }
    }

    #[test]
    fn no_answer_moves_what_was_not_offered(
        take in proptest::collection::vec(0..25_u32, 0..25),
        give in proptest::collection::vec((0..150_u32, any::<u8>()), 0..80),
    ) {
        let mut node = node();
        let (peer, offer) = node.round().unwrap();
        let answer = Answer { take, give };
        let offered: Vec<u32> = offer.candidates.iter().map(|it| it.actor).collect();
        match node.answered(peer, &answer) {
            Ok(go) => prop_assert!(go.iter().all(|actor| offered.contains(actor))),
            Err(why) => prop_assert!(matches!(why, Refusal::Malformed(_))),
        }
        // A second answer says nothing.
        prop_assert_eq!(node.answered(peer, &answer), Ok(Vec::new()));
    }
}

#[test]
fn only_who_was_asked_answers() {
    let mut node = node();
    let (peer, offer) = node.round().unwrap();
    let take = vec![offer.candidates[0].actor];
    let answer = Answer { take: take.clone(), give: Vec::new() };
    assert_eq!(node.answered(peer + 7, &answer), Ok(Vec::new()));
    assert_eq!(node.refused(peer + 7), None);
    assert_eq!(node.answered(peer, &answer), Ok(take));
}

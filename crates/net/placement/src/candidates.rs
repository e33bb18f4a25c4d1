//! Which actors of a node are to be offered to another one.

use crate::exchange::{Candidate, Offer};
use crate::graph::Graph;
use crate::rules::Rules;
use crate::sketch::End;
use std::collections::{BTreeMap, BinaryHeap};

/// Whether, at what cost and how soon after its last move an actor may move: its cost and its
/// streak.
pub(crate) type May = Option<(u64, u8)>;

/// Actors that are to move to another node, and what that saves, costs subtracted.
pub(crate) struct Chosen {
    /// By number, in the order in which they were chosen.
    pub(crate) actors: Vec<usize>,
    pub(crate) gain: i64,
}

fn signed(weight: u64) -> i64 {
    i64::try_from(weight).unwrap_or(i64::MAX / 4)
}

/// How far a choice looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Until the next move saves nothing.
    Near,
    /// Beyond: later moves may save more than that costs.
    Far,
}

/// Chooses actors to move to a node: always the one whose move saves most, with those before it
/// moved. Those that were chosen after the sum of savings was largest are dropped. O(e log e) for
/// the e edges of the actors that are looked at.
pub(crate) fn choose<K: Copy + Ord>(
    graph: &Graph<K>,
    to: u32,
    rules: &Rules,
    look: Look,
    may: impl Fn(usize) -> May,
) -> Chosen {
    // Of those that talk with that node, or with an actor that moves there.
    let mut gains: BTreeMap<usize, i64> = BTreeMap::new();
    let base = |actor: usize| {
        let (cost, _) = may(actor)?;
        Some(-signed(graph.home[actor]) - signed(cost))
    };
    for edge in graph.remote.get(&to).into_iter().flatten() {
        if let Some(base) = base(edge.from) {
            *gains.entry(edge.from).or_insert(base) += signed(edge.weight);
        }
    }
    // Entries may be old: one counts if it says the actor's gain as it is now.
    let mut heap: BinaryHeap<(i64, std::cmp::Reverse<usize>)> =
        gains.iter().map(|(&actor, &gain)| (gain, std::cmp::Reverse(actor))).collect();
    let mut chosen = Chosen { actors: Vec::new(), gain: 0 };
    let (mut sum, mut best) = (0, 0);
    while chosen.actors.len() < rules.moves_max
        && let Some((gain, std::cmp::Reverse(actor))) = heap.pop()
        && (gain > 0 || look == Look::Far)
    {
        if gain == i64::MIN || gains.get(&actor) != Some(&gain) {
            continue;
        }
        // It is not looked at again: no gain is that small.
        gains.insert(actor, i64::MIN);
        chosen.actors.push(actor);
        sum += gain;
        if sum > chosen.gain {
            (chosen.gain, best) = (sum, chosen.actors.len());
        }
        for &(other, weight) in &graph.local[actor] {
            let Some(base) = base(other) else { continue };
            let gain = gains.entry(other).or_insert(base);
            if *gain != i64::MIN {
                *gain += 2 * signed(weight);
                heap.push((*gain, std::cmp::Reverse(other)));
            }
        }
    }
    chosen.actors.truncate(best);
    chosen
}

/// Makes an offer of chosen actors to a node.
pub(crate) fn offer<K: Copy + Ord>(
    graph: &Graph<K>,
    to: u32,
    chosen: &[usize],
    rules: &Rules,
    may: impl Fn(usize) -> May,
) -> Offer<K> {
    let place: BTreeMap<usize, usize> = chosen.iter().copied().zip(0..).collect();
    let mut candidates: Vec<Candidate<K>> = Vec::with_capacity(chosen.len());
    for (at, &actor) in chosen.iter().enumerate() {
        let (cost, streak) = may(actor).unwrap_or_default();
        let mut among: BTreeMap<u32, u64> = BTreeMap::new();
        let mut home = graph.home[actor];
        for (other, weight) in &graph.local[actor] {
            let Some(&other) = place.get(other) else { continue };
            home -= weight;
            if other < at {
                *among.entry(other as u32).or_default() += weight;
            }
        }
        let among = among.into_iter().collect();
        let actor = graph.actor(actor);
        let edges = Vec::new();
        candidates.push(Candidate { actor, cost, streak, home, there: 0, among, edges });
    }
    let mut pulls: BTreeMap<K, u64> = BTreeMap::new();
    for edge in graph.remote.get(&to).into_iter().flatten() {
        match (place.get(&edge.from), edge.to) {
            (Some(&at), End::Actor(to)) => candidates[at].edges.push((to, edge.weight)),
            (Some(&at), End::Fixed(_)) => candidates[at].there += edge.weight,
            (None, End::Actor(to)) => *pulls.entry(to).or_default() += edge.weight,
            (None, End::Fixed(_)) => {}
        }
    }
    let pulls = pulls.into_iter().collect();
    let mut offer = Offer { load: graph.load(), candidates, pulls };
    trim(&mut offer, rules.offer_edges_max);
    offer
}

/// Leaves out the lightest edges of an offer that has too many. No candidate looks better for it:
/// what is left out of `among` counts as staying at home.
fn trim<K>(offer: &mut Offer<K>, edges_max: usize) {
    let mut weights: Vec<u64> = offer.pulls.iter().map(|&(_, weight)| weight).collect();
    for candidate in &offer.candidates {
        weights.extend(candidate.among.iter().map(|&(_, weight)| weight));
        weights.extend(candidate.edges.iter().map(|&(_, weight)| weight));
    }
    if weights.len() <= edges_max {
        return;
    }
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let least = weights[edges_max - 1];
    // Of those that are as light as the last one with a place, the first ones have one.
    let mut room = weights[..edges_max].iter().filter(|&&weight| weight == least).count();
    let mut stays = |weight: u64| {
        let has_room = weight == least && room > 0;
        room -= usize::from(has_room);
        weight > least || has_room
    };
    for at in 0..offer.candidates.len() {
        offer.candidates[at].edges.retain(|&(_, weight)| stays(weight));
        let among = std::mem::take(&mut offer.candidates[at].among);
        for (other, weight) in among {
            if stays(weight) {
                offer.candidates[at].among.push((other, weight));
            } else {
                offer.candidates[at].home += weight;
                offer.candidates[other as usize].home += weight;
            }
        }
    }
    offer.pulls.retain(|&(_, weight)| stays(weight));
}

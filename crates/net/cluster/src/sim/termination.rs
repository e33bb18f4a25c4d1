//! When all nodes know that all work has ended: the rounds of the four-counter method
//! ([`Team::quiesce`](crate::Team::quiesce)), over what a simulation has noted of each node.

use super::Links;
use super::tree::all_reduce;
use crate::team::rounds::Rounds;

/// From when to when a node was idle, and what it had sent and received by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// The outcome of the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// The number of rounds, from the first message on.
    pub(super) rounds: u64,
    /// The time at which the last node knows.
    pub(super) known_ns: u64,
}

/// Lets the nodes count in rounds from the beginning on: each takes part in a round when it is next
/// idle, and in the next round when it has heard the result. The last idle time of each node has no
/// end.
pub(super) fn rounds(nodes: &[Vec<Idle>], links: &Links) -> Ended {
    let mut heard_ns = vec![0; nodes.len()];
    let mut at = vec![0; nodes.len()];
    let (mut state, mut ended) = (Rounds::default(), Ended::default());
    loop {
        let (mut sent, mut received) = (0_u64, 0_u64);
        for ((idles, at), heard_ns) in nodes.iter().zip(&mut at).zip(&mut heard_ns) {
            while idles.get(*at).is_some_and(|idle| idle.until_ns <= *heard_ns) {
                *at += 1;
            }
            if let Some(idle) = idles.get(*at) {
                *heard_ns = idle.from_ns.max(*heard_ns);
                sent += idle.sent;
                received += idle.received;
            }
        }
        heard_ns = all_reduce(&heard_ns, links);
        ended.rounds += 1;
        if state.sum((sent, received)) {
            ended.known_ns = heard_ns.into_iter().max().unwrap_or(0);
            return ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_under_way_costs_a_round() {
        let links = Links::default();
        let round_ns = super::super::all_reduce_ns(2, &links);
        let idle = |from_ns, until_ns, sent, received| Idle { from_ns, until_ns, sent, received };
        let rest = vec![idle(0, u64::MAX, 0, 0)];
        let nothing = rounds(&[rest.clone(), rest], &links);
        assert_eq!(nothing, Ended { rounds: 2, known_ns: 2 * round_ns });
        // The first has sent at once; it arrives behind the first two rounds.
        let arrives_ns = 2 * round_ns + 1;
        let from = vec![idle(0, u64::MAX, 1, 0)];
        let to = vec![idle(0, arrives_ns, 0, 0), idle(arrives_ns + 5, u64::MAX, 0, 1)];
        let ended = rounds(&[from, to], &links);
        assert!(ended.rounds >= 4 && ended.known_ns > arrives_ns + round_ns, "{ended:?}");
    }
}

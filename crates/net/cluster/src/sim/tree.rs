//! The time that all nodes need to fold a value and to hear the result.

use super::Links;
use crate::team::tree::{children, parent};

/// Returns the time of one round of [`Team::all_reduce`](crate::Team::all_reduce), from when the
/// last node takes part until all have heard. The four-counter method needs two rounds after the
/// last message ([`Team::quiesce`](crate::Team::quiesce)), and up to one more that was under way
/// then.
pub fn all_reduce_ns(nodes: u32, links: &Links) -> u64 {
    all_reduce(&vec![0; nodes as usize], links).into_iter().max().unwrap_or(0)
}

/// Returns the time at which each node has heard the result of a round, if the nodes take part at
/// these times.
pub(super) fn all_reduce(begin_ns: &[u64], links: &Links) -> Vec<u64> {
    let nodes = begin_ns.len();
    if nodes == 0 {
        return Vec::new();
    }
    let hop_ns = links.hop_ns();
    let between_ns = links.between_ns(0) + links.message_ns;
    // Up: a child's rank is larger than its parent's, so from the last to the first all children
    // are known. What arrives is handled one by one.
    let mut folded_ns = begin_ns.to_vec();
    for rank in (0..nodes).rev() {
        let mut arrivals: Vec<u64> =
            children(rank, nodes).map(|child| folded_ns[child] + hop_ns).collect();
        arrivals.sort_unstable();
        let begin_ns = folded_ns[rank];
        folded_ns[rank] =
            arrivals.iter().fold(begin_ns, |free_ns, &at_ns| free_ns.max(at_ns) + between_ns);
    }
    // Down: to one child after the other.
    let mut told_ns = vec![0_u64; nodes];
    told_ns[0] = folded_ns[0];
    for rank in 1..nodes {
        let from = parent(rank).unwrap_or(0);
        let turn = children(from, nodes).position(|child| child == rank).unwrap_or(0) as u64;
        told_ns[rank] = told_ns[from] + (turn + 1) * between_ns + hop_ns;
    }
    told_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_logarithm() {
        let links = Links::default();
        assert_eq!(all_reduce_ns(1, &links), 0);
        let message_ns = links.hop_ns() + links.end_ns() + links.message_ns;
        assert_eq!(all_reduce_ns(2, &links), 2 * message_ns);
        let (hundred, ten_thousand) = (all_reduce_ns(100, &links), all_reduce_ns(10_000, &links));
        assert!(ten_thousand > hundred && ten_thousand < 4 * hundred, "{hundred} {ten_thousand}");
    }
}

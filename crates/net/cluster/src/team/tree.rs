//! A binomial tree over ranks 0 to n - 1, with root 0: as deep as log2(n), and no rank has more
//! children than that.
//!
//! The subtree of a rank is the range of ranks from it on that its lowest set bit spans, so what is
//! folded from own, first child, second child .. on is folded in the order of ranks.

/// The parent of a rank; none for the root.
pub(crate) fn parent(rank: usize) -> Option<usize> {
    (rank != 0).then(|| rank & (rank - 1))
}

/// The children of a rank, rising.
pub(crate) fn children(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    let span = if rank == 0 { usize::BITS } else { rank.trailing_zeros() };
    (0..span).map(move |bit| 1_usize << bit).map_while(move |bit| {
        let child = rank.checked_add(bit)?;
        (child < ranks).then_some(child)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks_below(rank: usize, ranks: usize) -> Vec<usize> {
        let below = children(rank, ranks).flat_map(|child| ranks_below(child, ranks));
        [rank].into_iter().chain(below).collect()
    }

    #[test]
    fn every_rank_is_reached_once_and_in_order() {
        for ranks in 1..70 {
            assert_eq!(ranks_below(0, ranks), (0..ranks).collect::<Vec<_>>());
            for rank in 0..ranks {
                for child in children(rank, ranks) {
                    assert_eq!(parent(child), Some(rank));
                }
            }
        }
        assert_eq!(parent(0), None);
    }

    #[test]
    fn it_is_as_deep_as_the_logarithm() {
        let depth = |mut rank| {
            let mut depth = 0;
            while let Some(up) = parent(rank) {
                (rank, depth) = (up, depth + 1);
            }
            depth
        };
        assert_eq!((0..1024).map(depth).max(), Some(10));
        assert_eq!(children(0, 10_000).count(), 14);
    }
}

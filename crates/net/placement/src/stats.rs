//! What a partitioner counts.

/// What a [`Partitioner`](crate::Partitioner) has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of rounds.
    pub rounds: u64,
    /// The number of movable actors of this node now.
    pub actors: u64,
    /// The number of messages that were reported.
    pub samples: u64,
    /// The number of edges that the sketch knows now.
    pub edges: u64,
    /// The number of edges that had to make room for others.
    pub edges_replaced: u64,
    /// The weight of the edges to other nodes, when the last round began.
    pub weight_remote: u64,
    /// The weight of the edges within this node, when the last round began.
    pub weight_local: u64,
    /// The share of the weight of edges to other nodes when the first round with edges began, in
    /// millionths.
    pub remote_share_first_ppm: u32,
    /// The number of offers of this node to others.
    pub offers: u64,
    /// The number of exchanges, offered by either side, in which actors were to move.
    pub exchanges: u64,
    /// The number of offers of this node that another one refused, or did not answer.
    pub refused_there: u64,
    /// The number of offers of other nodes that this one refused because it was busy.
    pub refused_here: u64,
    /// The number of offers and answers of other nodes that break the rules.
    pub malformed: u64,
    /// The number of actors that this node has moved to others.
    pub moved: u64,
    /// The number of actors that were to move and did not.
    pub not_moved: u64,
}

impl Stats {
    /// The share of the weight of edges to other nodes when the last round began, in millionths;
    /// `None` if no edges were known.
    #[must_use]
    pub fn remote_share_ppm(&self) -> Option<u32> {
        let all = u128::from(self.weight_remote) + u128::from(self.weight_local);
        let share = (u128::from(self.weight_remote) * 1_000_000).checked_div(all)?;
        u32::try_from(share).ok()
    }
}

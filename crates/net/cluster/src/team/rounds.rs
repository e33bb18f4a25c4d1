//! The four-counter method (Mattern 1987): from the sums of what all have sent and received, round
//! by round, it says when all work has ended. Teams use it, and the simulation of clusters.

/// The sums of the round before.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    received_before: Option<u64>,
}

impl Rounds {
    /// Takes the sums of a round: what all had sent and received, each when it was idle. True if
    /// all work has ended: all that had been sent by now had been received by the round before,
    /// so nothing was under way in between.
    pub(crate) fn sum(&mut self, (sent, received): (u64, u64)) -> bool {
        self.received_before.replace(received) == Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_two_rounds_without_anything_under_way() {
        let mut rounds = Rounds::default();
        assert!(!rounds.sum((5, 5)), "one round sees no moment at which all were idle");
        assert!(!rounds.sum((7, 6)), "two were sent in between");
        assert!(!rounds.sum((7, 7)), "the last one was under way");
        assert!(rounds.sum((7, 7)));
    }
}

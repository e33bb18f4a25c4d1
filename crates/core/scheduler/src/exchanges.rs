//! How much each worker got from each other one, since the start.

use crate::counters::Counter;
use crate::lanes::Lanes;

/// What a worker got from another one since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Exchange {
    /// The index of the worker that it came from.
    pub from: usize,
    /// The index of the worker that got it.
    pub to: usize,
    /// Runnables that were stolen.
    pub stolen: u64,
    /// Chunks of messages that came by the lane: see `CounterValues::crossed` for messages.
    pub chunks: u64,
}

/// Runnables stolen, by thief, then victim: a thief writes only its own.
#[derive(Debug)]
pub(crate) struct Exchanges {
    stolen: Box<[Counter]>,
    workers: usize,
}

impl Exchanges {
    pub(crate) fn new(workers: usize) -> Self {
        Exchanges { stolen: (0..workers * workers).map(|_| Counter::default()).collect(), workers }
    }

    /// Worker `thief` has taken so many runnables. Only that worker calls it.
    pub(crate) fn took(&self, thief: usize, victim: usize, runnables: u64) {
        self.stolen[thief * self.workers + victim].add(runnables);
    }

    /// Of all pairs of workers between which there was anything.
    pub(crate) fn all(&self, lanes: &Lanes) -> Vec<Exchange> {
        let pairs = (0..self.workers).flat_map(|to| (0..self.workers).map(move |from| (from, to)));
        let exchange = |(from, to)| Exchange {
            from,
            to,
            stolen: self.stolen[to * self.workers + from].get(),
            chunks: if lanes.exist() { lanes.delivered(from, to) } else { 0 },
        };
        pairs.map(exchange).filter(|it| it.stolen > 0 || it.chunks > 0).collect()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_with_something_between_them_are_listed() {
        let (exchanges, lanes) = (Exchanges::new(3), Lanes::new(3, true));
        assert!(exchanges.all(&lanes).is_empty());
        exchanges.took(2, 0, 5);
        exchanges.took(2, 0, 1);
        assert_eq!(exchanges.all(&lanes), [Exchange { from: 0, to: 2, stolen: 6, chunks: 0 }]);
        assert_eq!(exchanges.all(&Lanes::new(3, false)).len(), 1);
    }
}

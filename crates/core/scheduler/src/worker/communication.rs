//! The communication affinities of a worker's runnables: whom they send to.

use super::own::Own;
use crate::policy::{Affinities, Domains, spread};
use crate::runnable::Header;

/// Runnables whose communication affinity a worker knows, a power of two: those that send most come
/// by most often, and push out others.
const KNOWN: usize = 256;

/// Whom a runnable sends to.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The runnable that sends. The pointer is only compared: the runnable may have ended.
    from: *const Header,
    affinities: Affinities,
}

/// The communication affinities of a worker's runnables.
#[derive(Debug)]
pub(super) struct AffinityTable(Own<Box<[Known]>>);

impl AffinityTable {
    /// Makes the state of a worker. `asks`: it has others beside it, under a policy that asks.
    pub(super) fn new(asks: bool) -> Self {
        let nobody = Known { from: std::ptr::null(), affinities: Affinities::default() };
        AffinityTable(Own::new(vec![nobody; if asks { KNOWN } else { 0 }].into()))
    }

    /// Notes a send to something at worker `to`; once in `every`, returns the sender's affinities.
    pub(super) fn note(
        &self,
        from: *const Header,
        domains: &Domains,
        to: usize,
        every: u32,
    ) -> Option<Affinities> {
        self.0.with(|affinities| {
            let known = affinities.get_mut(place_of(from))?;
            if known.from != from {
                *known = Known { from, affinities: Affinities::default() };
            }
            known.affinities.note(domains, to, every).then_some(known.affinities)
        })
    }

    /// Forgets a runnable that moves: what was found out here no longer holds.
    pub(super) fn forget(&self, from: *const Header) {
        self.0.with(|affinities| {
            if let Some(known) = affinities.get_mut(place_of(from)) {
                *known = Known { from, affinities: Affinities::default() };
            }
        });
    }
}

/// Headers are at least 64 bytes apart.
pub(super) fn number_of(header: *const Header) -> u64 {
    header.addr() as u64 >> 6
}

fn place_of(from: *const Header) -> usize {
    (spread(number_of(from)) >> 32) as usize % KNOWN
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn domains() -> Domains {
        Domains::new(2, |_, _| 6)
    }

    #[test]
    fn who_comes_by_pushes_out_who_was_there() {
        let affinities = AffinityTable::new(true);
        let from = |n: usize| std::ptr::without_provenance(n << 6);
        let note = |n: usize| affinities.note(from(n), &domains(), 1, 3).is_some();
        note(1);
        note(1);
        // More than there is room for.
        assert!(!(2..1_000).any(note));
        assert_eq!([(); 3].map(|()| note(1)), [false, false, true]);
    }

    #[test]
    fn who_moves_is_known_no_more() {
        let affinities = AffinityTable::new(true);
        let from = std::ptr::without_provenance(0x1000);
        affinities.note(from, &domains(), 1, 2);
        affinities.forget(from);
        assert!(affinities.note(from, &domains(), 1, 2).is_none());
        assert!(affinities.note(from, &domains(), 0, 2).is_some());
    }

    #[test]
    fn where_nobody_asks_nothing_is_known() {
        let affinities = AffinityTable::new(false);
        let from = std::ptr::without_provenance(0x1000);
        assert!(affinities.note(from, &domains(), 1, 1).is_none());
    }
}

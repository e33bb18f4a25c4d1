//! The communication affinities of a worker's runnables: whom they send to.

use super::own::Own;
use crate::policy::{Affinities, Domains, spread};
use crate::runnable::Header;

/// Runnables whose communication affinity a worker knows, a power of two: at first, and at the most
/// (400 KB). Those that send most come by most often, and push out others.
const KNOWN: [usize; 2] = [256, 4_096];
/// The table doubles when of so many that came by, more than one pushed another out: of those that
/// send equally often none would else stay long enough to become known.
const PUSHED_OUT_PART: usize = 8;

/// Whom a runnable sends to.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The runnable that sends. The pointer is only compared: the runnable may have ended.
    from: *const Header,
    affinities: Affinities,
}

impl Known {
    /// One of which nothing is known yet.
    fn new(from: *const Header) -> Self {
        Known { from, affinities: Affinities::default() }
    }
}

/// The communication affinities of a worker's runnables.
#[derive(Debug)]
pub(super) struct AffinityTable(Own<Table>);

/// Each runnable has one place, by its number.
#[derive(Debug)]
struct Table {
    places: Box<[Known]>,
    /// Those that came by, and those that pushed another out, since it was last asked whether there
    /// are places enough.
    came: usize,
    pushed_out: usize,
}

impl AffinityTable {
    /// Makes the state of a worker. `asks`: it has others beside it, under a policy that asks.
    pub(super) fn new(asks: bool) -> Self {
        AffinityTable(Own::new(Table::new(if asks { KNOWN[0] } else { 0 })))
    }

    /// Notes a send to something at worker `to`; once in `every`, returns the sender's affinities.
    pub(super) fn note(
        &self,
        from: *const Header,
        domains: &Domains,
        to: usize,
        every: u32,
    ) -> Option<Affinities> {
        self.0.with(|table| {
            let affinities = table.of(from)?;
            affinities.note(domains, to, every).then_some(*affinities)
        })
    }

    /// Of 1,024 messages that it sends, how many more would cross if it were at worker `other` and
    /// not at `own`: see [`Affinities::would_cross`].
    pub(super) fn would_cross(
        &self,
        from: *const Header,
        domains: &Domains,
        own: usize,
        other: usize,
    ) -> u32 {
        self.0.with(|table| {
            let known = table.places.get(place_of(from, table.places.len()));
            let known = known.filter(|known| known.from == from);
            let affinities = known.map(|known| known.affinities).unwrap_or_default();
            affinities.would_cross(domains, own, other)
        })
    }

    /// Forgets a runnable that moves: what was found out here no longer holds.
    pub(super) fn forget(&self, from: *const Header) {
        self.0.with(|table| {
            if let Some(known) = table.places.get_mut(place_of(from, table.places.len())) {
                *known = Known::new(from);
            }
        });
    }
}

impl Table {
    fn new(places: usize) -> Self {
        let nobody = Known::new(std::ptr::null());
        Table { places: vec![nobody; places].into(), came: 0, pushed_out: 0 }
    }

    /// The affinities of one that comes by; `None`: nothing is kept. O(1), amortized.
    fn of(&mut self, from: *const Header) -> Option<&mut Affinities> {
        self.came += 1;
        if self.came >= self.places.len() {
            self.make_room();
        }
        let known = self.places.get_mut(place_of(from, self.places.len()))?;
        if known.from != from {
            self.pushed_out += usize::from(!known.from.is_null());
            *known = Known::new(from);
        }
        Some(&mut known.affinities)
    }

    #[cold]
    fn make_room(&mut self) {
        let is_crowded = self.pushed_out > self.came / PUSHED_OUT_PART;
        (self.came, self.pushed_out) = (0, 0);
        if !is_crowded || self.places.len() >= KNOWN[1] {
            return;
        }
        let mut larger = Table::new(2 * self.places.len());
        for known in self.places.iter().filter(|known| !known.from.is_null()) {
            larger.places[place_of(known.from, larger.places.len())] = *known;
        }
        *self = larger;
    }
}

/// Headers are at least 64 bytes apart.
pub(super) fn number_of(header: *const Header) -> u64 {
    header.addr() as u64 >> 6
}

/// The place of a runnable, of so many: a power of two, or none.
fn place_of(from: *const Header, places: usize) -> usize {
    (spread(number_of(from)) >> 32) as usize & places.wrapping_sub(1)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn domains() -> Domains {
        Domains::new(2, |_, _| 6)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many calls")]
    fn who_comes_by_pushes_out_who_was_there() {
        let affinities = AffinityTable::new(true);
        let from = |n: usize| std::ptr::without_provenance(n << 6);
        let note = |n: usize| affinities.note(from(n), &domains(), 1, 3).is_some();
        note(1);
        note(1);
        // More than there will ever be room for.
        assert!(!(2..30_000).any(note));
        assert_eq!([(); 3].map(|()| note(1)), [false, false, true]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many calls")]
    fn of_many_that_send_equally_often_most_become_known() {
        const EVERY: u32 = 16;
        let affinities = AffinityTable::new(true);
        let from = |n: usize| std::ptr::without_provenance(n << 6);
        let note = |n: usize| affinities.note(from(n), &domains(), 1, EVERY).is_some();
        // Six times as many as there is room for at first.
        let mut known = vec![false; 6 * KNOWN[0]];
        for _ in 0..4 * EVERY {
            (1..).zip(&mut known).for_each(|(n, known)| *known |= note(n));
        }
        let known = known.iter().filter(|known| **known).count();
        assert!(known > 4 * KNOWN[0], "{known}");
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
    fn of_who_is_known_it_is_known_what_would_cross() {
        let affinities = AffinityTable::new(true);
        let [known, other] = [0x1000, 0x1040].map(std::ptr::without_provenance);
        for n in 0..8 {
            assert!(affinities.note(known, &domains(), n / 6, 1_000).is_none());
        }
        let would_cross = |from, own, other| affinities.would_cross(from, &domains(), own, other);
        assert_eq!(would_cross(known, 0, 1), 4 * 1_024 / 8);
        assert_eq!(would_cross(known, 1, 0), 0);
        assert_eq!(would_cross(other, 0, 1), 1_024);
        affinities.forget(known);
        assert_eq!(would_cross(known, 0, 1), 1_024);
    }

    #[test]
    fn where_nobody_asks_nothing_is_known() {
        let affinities = AffinityTable::new(false);
        let from = std::ptr::without_provenance(0x1000);
        assert!(affinities.note(from, &domains(), 1, 1).is_none());
    }
}

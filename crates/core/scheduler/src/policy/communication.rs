//! Communication affinity: to which workers, or domains of workers, something sends.

/// Places of which it is kept how much was sent to them.
const KEPT: usize = 6;
/// After so many times [`crate::policy::Affine::colocate_after`] sampled sends, older ones count
/// half: what it says may change.
const WINDOW: u32 = 4;

/// All messages that something sends, as [`super::Affinities::would_cross`] counts them.
pub(super) const ALL_CROSS: u32 = 1_024;
/// Of fewer sampled sends nothing is concluded.
const ENOUGH: u32 = 8;

/// To which places a runnable sends, by the sends that were sampled: those that it sends most to
/// are known, others push each other out. A place is a worker, or a domain of workers.
///
/// The counters of the most frequent are kept as in J. Misra and D. Gries, "Finding repeated
/// elements" (1982): one that is not among them takes one off each when there is no room. O(1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommunicationAffinity {
    /// Places, and sampled sends to each; a counter of 0 is free.
    counts: [(u16, u16); KEPT],
    /// Sampled sends, until they count half.
    seen: u32,
}

impl CommunicationAffinity {
    /// Notes a sampled send to something at this place; true once in `every`: time to ask what
    /// follows from it.
    #[inline]
    pub(super) fn note(&mut self, place: usize, every: u32) -> bool {
        // A worker's index is less than 2^16: an actor's header keeps it so, too.
        let place = place as u16;
        let at = self.counts.iter().position(|&(known, n)| known == place && n > 0);
        match at.or_else(|| self.counts.iter().position(|&(_, n)| n == 0)) {
            Some(at) => self.counts[at] = (place, self.counts[at].1.saturating_add(1)),
            None => self.counts.iter_mut().for_each(|(_, n)| *n -= 1),
        }
        self.seen += 1;
        let is_time = self.seen.is_multiple_of(every.max(1));
        if self.seen >= WINDOW.saturating_mul(every.max(1)) {
            self.seen /= 2;
            self.counts.iter_mut().for_each(|(_, n)| *n /= 2);
        }
        is_time
    }

    /// Sampled sends to things at this place.
    pub(super) fn sends_to(&self, place: usize) -> u32 {
        let known = |&&(known, n): &&(u16, u16)| usize::from(known) == place && n > 0;
        self.counts.iter().find(known).map_or(0, |&(_, n)| n.into())
    }

    /// Of `ALL_CROSS` sends, how many more go to the one place than to the other; none if fewer do.
    /// `None`: too few were seen.
    pub(super) fn more_to(&self, own: usize, other: usize) -> Option<u32> {
        let more = self.sends_to(own).saturating_sub(self.sends_to(other));
        (self.seen >= ENOUGH).then(|| more * ALL_CROSS / self.seen)
    }

    /// The place but this one that most was sent to, and how much. `None`: nothing was sent
    /// elsewhere.
    pub(super) fn most_elsewhere(&self, own: usize) -> Option<(usize, u32)> {
        let elsewhere =
            self.counts.iter().filter(|&&(known, n)| usize::from(known) != own && n > 0);
        elsewhere.max_by_key(|&&(_, n)| n).map(|&(known, n)| (known.into(), n.into()))
    }
}

/// Spreads numbers that lie close together: Fibonacci hashing (D. Knuth, The Art of Computer
/// Programming 3, 6.4). The upper bits are the best.
#[inline]
pub(crate) fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// For so long, as a power of two in nanoseconds (about a millisecond), it is the same of two that
/// communicate that moves.
const TURN_TAKING_BITS: u32 = 20;

/// Returns whether, of two that communicate, the first goes to where the other is. Their numbers
/// and the time decide. It is as often the one as the other, however the numbers lie. The one that
/// may not move now may do so later: where only one of them sends, the other never comes to it.
#[inline]
pub(super) fn is_mover(sender: u64, target: u64, now_ns: u64) -> bool {
    let now = spread(now_ns >> TURN_TAKING_BITS);
    spread(sender ^ now) < spread(target ^ now)
}

#[cfg(test)]
mod tests {
    use super::{ALL_CROSS, CommunicationAffinity, is_mover};

    #[test]
    fn of_two_one_goes_and_it_is_as_often_the_one_as_the_other() {
        let pairs = (0..1_000).map(|n| (2 * n, 2 * n + 1));
        for now_ns in (0..10).map(|n| n << 20) {
            let is_mover = |a, b| is_mover(a, b, now_ns);
            assert!(pairs.clone().all(|(a, b)| is_mover(a, b) != is_mover(b, a)));
            let first = pairs.clone().filter(|&(a, b)| is_mover(a, b)).count();
            assert!((300..700).contains(&first), "{first}");
        }
        let times = (0..1_000).filter(|n| is_mover(6, 7, n << 20)).count();
        assert!((300..700).contains(&times), "{times}: now the one, now the other");
    }

    #[test]
    fn who_is_sent_most_to_is_known_however_many_others_there_are() {
        let mut affinity = CommunicationAffinity::default();
        for n in 0..64 {
            affinity.note(7, 1_000);
            affinity.note(100 + n, 1_000);
        }
        assert_eq!(affinity.most_elsewhere(3).map(|(worker, _)| worker), Some(7));
        assert!(affinity.most_elsewhere(7).is_none_or(|(_, n)| n < affinity.sends_to(7)));
        assert_eq!(affinity.sends_to(8), 0);
    }

    #[test]
    fn it_is_known_how_many_more_sends_stay_than_would_elsewhere() {
        let mut affinity = CommunicationAffinity::default();
        let mut note = |place| {
            affinity.note(place, 1_000);
            affinity
        };
        assert!((0..7).all(|_| note(3).more_to(3, 4).is_none()), "too few were seen");
        assert_eq!(note(4).more_to(3, 4), Some(6 * ALL_CROSS / 8));
        assert_eq!(note(4).more_to(4, 3), Some(0), "fewer do");
        assert_eq!(note(5).more_to(3, 6), Some(7 * ALL_CROSS / 10));
    }

    #[test]
    fn it_is_asked_once_in_so_many_and_what_is_long_ago_counts_little() {
        let mut affinity = CommunicationAffinity::default();
        let asked: Vec<usize> = (1..=16).filter(|_| affinity.note(1, 4)).collect();
        assert_eq!(asked, [4, 8, 12, 16]);
        for _ in 0..16 {
            affinity.note(2, 4);
        }
        assert_eq!(affinity.most_elsewhere(0).map(|(worker, _)| worker), Some(2));
        assert_eq!(CommunicationAffinity::default().most_elsewhere(0), None);
    }
}

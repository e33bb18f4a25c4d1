//! Locality domains: workers that share a third-level cache, and workers of one NUMA node.
//!
//! Something that talks to many others cannot be at the worker of each. But it can be in their
//! domain. So what it sends is also counted by domains, and the widest that it had better change is
//! changed first: a message between NUMA nodes costs most.

use super::communication::{ALL_CROSS, CommunicationAffinity};

/// The greatest distances within a domain, as ranks, from the widest: a NUMA node, a third-level
/// cache.
const REACHES: [u32; 2] = [4, 3];
const LEVELS_MAX: usize = REACHES.len() + 1;

/// The numbers of sends to two places differ when the square of the difference is more than so many
/// times the sum.
const CERTAIN: u32 = 4;

/// The domains of one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Level {
    of_worker: Vec<usize>,
    members: Vec<Vec<usize>>,
}

/// The locality domains of a machine's workers, level by level, from the widest: NUMA nodes,
/// third-level caches, single workers. A level that would have one domain only, or the domains of
/// another one, is left out.
#[derive(Clone, Debug)]
pub struct Domains {
    levels: Vec<Level>,
}

impl Domains {
    /// Those of so many workers, by the ranks of the distances between them. O(workers²).
    ///
    /// ```
    /// use actinium_scheduler::policy::{Affinities, ColocateView, Domains, Policy};
    ///
    /// // Two nodes of two caches with two workers each.
    /// let rank = |a: usize, b: usize| if a / 4 != b / 4 { 6 } else if a / 2 != b / 2 { 4 } else { 3 };
    /// let domains = Domains::new(8, rank);
    ///
    /// // Something at worker 0 that sends to all of the second node.
    /// let mut affinities = Affinities::default();
    /// for n in 0..16 {
    ///     affinities.note(&domains, 4 + n % 4, 16);
    /// }
    /// let (own, sender, target, now_ns, own_ns, turn_ns) = (0, 1, 2, 0, 9_000, 100);
    /// let view = ColocateView { own, sender, target, now_ns, own_ns, turn_ns };
    /// let goes_to = Policy::affine().colocate(&affinities, &domains, &view, |_| Some(0));
    /// assert!(goes_to.is_some_and(|worker| (4..8).contains(&worker)));
    /// ```
    pub fn new(workers: usize, rank: impl Fn(usize, usize) -> u32) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        for reach in REACHES {
            let level = Level::new(workers, |a, b| rank(a, b) <= reach);
            let is_of_use = (2..workers).contains(&level.members.len());
            if is_of_use && levels.last() != Some(&level) {
                levels.push(level);
            }
        }
        levels.push(Level::new(workers, |a, b| a == b));
        Domains { levels }
    }
}

impl Level {
    fn new(workers: usize, is_near: impl Fn(usize, usize) -> bool) -> Self {
        let mut level = Level::default();
        for worker in 0..workers {
            let known = level.members.iter().position(|members| is_near(members[0], worker));
            let domain = known.unwrap_or_else(|| {
                level.members.push(Vec::new());
                level.members.len() - 1
            });
            level.members[domain].push(worker);
            level.of_worker.push(domain);
        }
        level
    }
}

/// To which domains of each level something sends, by the sends that were sampled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affinities([CommunicationAffinity; LEVELS_MAX]);

/// A domain that something sends to, and how much, and how much to its own domain of that level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elsewhere<'a> {
    pub(super) workers: &'a [usize],
    pub(super) other_sends: u32,
    pub(super) own_sends: u32,
}

impl Elsewhere<'_> {
    /// Whether more is sent there, and not by chance: by two standard deviations, if it sent to
    /// both alike.
    pub(super) fn is_better(&self) -> bool {
        let more = self.other_sends.saturating_sub(self.own_sends);
        more * more > CERTAIN * (self.other_sends + self.own_sends)
    }
}

impl Affinities {
    /// Notes a sampled send to something at this worker; true once in `every`: time to ask what
    /// follows from it. O(levels).
    #[inline]
    pub fn note(&mut self, domains: &Domains, worker: usize, every: u32) -> bool {
        let levels = self.0.iter_mut().zip(&domains.levels);
        levels.fold(false, |_, (affinity, level)| affinity.note(level.of_worker[worker], every))
    }

    /// Of 1,024 messages that it sends, how many more would cross if it were at the other worker; 0
    /// if it sends as much there. All of them, as long as too little is known. O(1).
    #[must_use]
    pub fn would_cross(&self, domains: &Domains, own: usize, other: usize) -> u32 {
        let workers = self.0.iter().zip(&domains.levels).next_back();
        let more = workers.and_then(|(affinity, workers)| {
            affinity.more_to(workers.of_worker[own], workers.of_worker[other])
        });
        more.unwrap_or(ALL_CROSS)
    }

    /// For each level, from the widest: the domain that most was sent to, but for the own one.
    pub(super) fn elsewhere<'a>(
        &'a self,
        domains: &'a Domains,
        own: usize,
    ) -> impl Iterator<Item = Elsewhere<'a>> {
        self.0.iter().zip(&domains.levels).filter_map(move |(affinity, level)| {
            let own = level.of_worker[own];
            let (other, other_sends) = affinity.most_elsewhere(own)?;
            let workers = &level.members[other][..];
            Some(Elsewhere { workers, other_sends, own_sends: affinity.sends_to(own) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages, each a NUMA node of two caches with two workers.
    fn rank(a: usize, b: usize) -> u32 {
        match (a / 4 == b / 4, a / 2 == b / 2) {
            (_, true) => 3,
            (true, _) => 4,
            _ => 6,
        }
    }

    fn levels(workers: usize, rank: impl Fn(usize, usize) -> u32) -> usize {
        Domains::new(workers, rank).levels.len()
    }

    #[test]
    fn a_worker_is_in_a_domain_of_each_level() {
        let domains = Domains::new(8, rank);
        let members = |level: &Level| level.members[level.of_worker[5]].clone();
        let of_five: Vec<Vec<usize>> = domains.levels.iter().map(members).collect();
        assert_eq!(of_five, [vec![4, 5, 6, 7], vec![4, 5], vec![5]]);
    }

    #[test]
    fn levels_that_say_nothing_are_left_out() {
        assert_eq!(levels(8, rank), 3);
        assert_eq!(levels(4, rank), 2, "one node");
        assert_eq!(levels(2, rank), 1, "one cache");
        assert_eq!(levels(1, rank), 1);
        assert_eq!(levels(8, |_, _| 6), 1, "nothing is known");
        let caches_are_nodes = |a, b| if a / 4 == b / 4 { 3 } else { 6 };
        assert_eq!(levels(8, caches_are_nodes), 2);
    }

    #[test]
    fn who_talks_to_all_of_a_node_is_seen_to_talk_to_that_node() {
        let domains = Domains::new(8, rank);
        let mut affinities = Affinities::default();
        for n in 0..16 {
            affinities.note(&domains, 4 + n % 4, 1_000);
        }
        affinities.note(&domains, 0, 1_000);
        let seen = affinities.elsewhere(&domains, 0);
        let seen: Vec<_> =
            seen.map(|it| (it.workers.len(), it.other_sends, it.own_sends)).collect();
        // To that node, to one of its caches, to one of their workers.
        assert_eq!(seen, [(4, 16, 1), (2, 8, 1), (1, 4, 1)]);
        let would_cross = |own, other| affinities.would_cross(&domains, own, other);
        assert_eq!([would_cross(4, 0), would_cross(0, 4)], [3 * 1_024 / 17, 0]);
        assert_eq!(Affinities::default().would_cross(&domains, 0, 4), 1_024);
    }
}

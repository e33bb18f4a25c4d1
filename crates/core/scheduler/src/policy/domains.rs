//! Locality domains: workers that share a third-level cache, and workers of one NUMA node.
//!
//! Something that talks to many others cannot be at the worker of each. But it can be in their
//! domain. So what it sends is also counted by domains, and the widest that it had better change is
//! changed first: a message between NUMA nodes costs most.

use super::communication::CommunicationAffinity;

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
    /// use actinium_scheduler::policy::Domains;
    ///
    /// // Two nodes of two caches with two workers each.
    /// let rank = |a: usize, b: usize| if a / 4 != b / 4 { 6 } else if a / 2 != b / 2 { 4 } else { 3 };
    /// let domains = Domains::new(8, rank);
    /// assert_eq!(domains.levels(), 3);
    /// assert_eq!(domains.members(0, 5), [4, 5, 6, 7]);
    /// assert_eq!(domains.members(1, 5), [4, 5]);
    /// assert_eq!(domains.members(2, 5), [5]);
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

    /// The number of levels, 1 to 3.
    pub fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The workers of the domain of a level, from the widest, in which a worker is.
    ///
    /// # Panics
    /// If there is no such level or worker.
    pub fn members(&self, level: usize, worker: usize) -> &[usize] {
        let level = &self.levels[level];
        &level.members[level.of_worker[worker]]
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

    #[test]
    fn levels_that_say_nothing_are_left_out() {
        assert_eq!(Domains::new(8, rank).levels(), 3);
        assert_eq!(Domains::new(4, rank).levels(), 2, "one node");
        assert_eq!(Domains::new(2, rank).levels(), 1, "one cache");
        assert_eq!(Domains::new(1, rank).levels(), 1);
        assert_eq!(Domains::new(8, |_, _| 6).levels(), 1, "nothing is known");
        let caches_are_nodes = |a, b| if a / 4 == b / 4 { 3 } else { 6 };
        assert_eq!(Domains::new(8, caches_are_nodes).levels(), 2);
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
    }
}

//! A model of the caches: how much of each actor's state lies in which of them.
//!
//! A *footprint* model: for each actor and cache, how many lines of its state are there, as an
//! expected value. A turn touches random lines; those that are not there are fetched, and displace,
//! in a full cache, lines of all in proportion to what each has there (random replacement). What a
//! turn has touched is written, so it leaves all other caches of the level.
//!
//! Displacing is one multiplication, however many actors lie in the cache: each cache has a scale,
//! and an entry holds lines divided by the scale of the time when it was written.

use crate::machine::{LEVELS, Machine};

/// Most caches of one level in which an actor's lines are remembered; the oldest is forgotten, as
/// if written back.
const HOLDERS: usize = 6;
/// Below this scale, what was there before is as good as gone, and the scale starts anew.
const SCALE_LEAST: f64 = 1e-60;

#[derive(Clone, Copy, Debug)]
struct Entry {
    cache: u32,
    /// The era of the cache's scale.
    era: u32,
    /// Lines / scale.
    scaled: f64,
}

#[derive(Clone, Debug)]
struct Cache {
    capacity: f64,
    total: f64,
    scale: f64,
    era: u32,
}

/// The cost of one turn for the memory system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// Lines that were not in the first, second and third-level cache.
    pub misses: [f64; LEVELS],
    /// How long it took beyond first-level hits: nanoseconds.
    pub extra_ns: f64,
}

/// All caches of a machine, and what lies in them.
#[derive(Clone, Debug)]
pub struct Caches {
    caches: [Vec<Cache>; LEVELS],
    /// For each actor and level.
    entries: Vec<[Vec<Entry>; LEVELS]>,
    /// For each actor, the NUMA node that holds its state, once it has been touched.
    node: Vec<Option<usize>>,
    /// For each actor, the worker that touched it last.
    last: Vec<Option<usize>>,
}

impl Caches {
    /// Empty caches.
    pub fn new(machine: &Machine, actors: usize) -> Self {
        let cache = |&capacity: &f64| Cache { capacity, total: 0.0, scale: 1.0, era: 0 };
        Caches {
            caches: machine.levels.each_ref().map(|level| level.lines.iter().map(cache).collect()),
            entries: vec![Default::default(); actors],
            node: vec![None; actors],
            last: vec![None; actors],
        }
    }

    /// The worker that touched the actor's state last.
    pub fn last_worker(&self, actor: usize) -> Option<usize> {
        self.last[actor]
    }

    /// Lines of the actor in a cache.
    pub fn resident(&self, level: usize, cache: usize, actor: usize) -> f64 {
        let entries = self.entries[actor][level].iter();
        entries.map(|entry| self.caches[level][cache].lines_of(entry, cache)).sum()
    }

    /// A worker touches `touched` different lines of an actor whose state has `lines`.
    pub fn touch(
        &mut self,
        machine: &Machine,
        worker: usize,
        actor: usize,
        lines: f64,
        touched: f64,
    ) -> Touch {
        let costs = &machine.costs;
        let own: [usize; LEVELS] = [0, 1, 2].map(|level| machine.levels[level].of_worker[worker]);
        let node = *self.node[actor].get_or_insert(machine.node[worker]);
        let last = self.last[actor].replace(worker).unwrap_or(worker);
        let resident: [f64; LEVELS] =
            [0, 1, 2].map(|level| self.resident(level, own[level], actor).min(lines));
        // Of the lines that the levels before do not have, this level has what it holds more than
        // they.
        let mut found_before: f64 = 0.0;
        let mut left = touched;
        let mut touch = Touch::default();
        for (resident, missed) in resident.into_iter().zip(&mut touch.misses) {
            let held = resident.max(found_before);
            let not_before = lines - found_before;
            let found = if not_before > 0.0 { (held - found_before) / not_before } else { 1.0 };
            left *= (1.0 - found).clamp(0.0, 1.0);
            *missed = left;
            found_before = held;
        }
        let [miss1, miss2, miss3] = touch.misses;
        // Of what no own cache has, another package's cache may have a part; of what only the third
        // level has, another core may have written it last.
        let elsewhere = |level: usize| -> f64 {
            let entries = self.entries[actor][level].iter();
            let others = entries.filter(|entry| entry.cache as usize != own[level]).map(|entry| {
                self.caches[level][entry.cache as usize].lines_of(entry, entry.cache as usize)
            });
            (others.sum::<f64>() / lines).min(1.0)
        };
        let transfer_ns = machine.transfer_ns(last, worker) * costs.fetch_part;
        let memory_ns = if machine.node[worker] == node {
            costs.memory_ns
        } else {
            costs.memory_ns + costs.far_memory_ns
        };
        let (dirty, far) = (elsewhere(1), elsewhere(2));
        let l3_ns = costs.l3_ns + dirty * (transfer_ns - costs.l3_ns).max(0.0);
        touch.extra_ns = miss1 * costs.l2_ns
            + miss2 * l3_ns
            + miss3 * (far * transfer_ns.max(memory_ns) + (1.0 - far) * memory_ns);
        let kept = 1.0 - (touched / lines).min(1.0);
        for (level, (own, missed)) in own.into_iter().zip(touch.misses).enumerate() {
            self.take_from_others(level, own, actor, kept);
            self.add(level, own, actor, missed, lines);
        }
        touch
    }

    /// Takes the lines that were written here out of the other caches of the level.
    fn take_from_others(&mut self, level: usize, own: usize, actor: usize, kept: f64) {
        let caches = &mut self.caches[level];
        let entries = &mut self.entries[actor][level];
        if entries.iter().all(|entry| entry.cache as usize == own) {
            return;
        }
        entries.retain_mut(|entry| {
            let at = entry.cache as usize;
            if at == own {
                return true;
            }
            let lines = caches[at].lines_of(entry, at);
            let gone = if lines * kept < 0.5 { lines } else { lines * (1.0 - kept) };
            caches[at].total -= gone;
            entry.scaled *= kept;
            gone < lines
        });
    }

    fn add(&mut self, level: usize, own: usize, actor: usize, more: f64, lines: f64) {
        let cache = &mut self.caches[level][own];
        let entries = &mut self.entries[actor][level];
        let at = entries.iter().position(|entry| entry.cache as usize == own);
        let before = at.map_or(0.0, |at| cache.lines_of(&entries[at], own));
        let after = (before + more).min(lines).min(cache.capacity);
        cache.total += after - before;
        let entry = Entry { cache: own as u32, era: cache.era, scaled: after / cache.scale };
        match at {
            Some(at) => entries[at] = entry,
            None => {
                if entries.len() == HOLDERS {
                    let oldest = entries.remove(0);
                    let cache = &mut self.caches[level][oldest.cache as usize];
                    cache.total -= cache.lines_of(&oldest, oldest.cache as usize);
                }
                entries.push(entry);
            }
        }
        self.caches[level][own].displace();
    }
}

impl Cache {
    /// Lines of an entry, if it is this cache's.
    fn lines_of(&self, entry: &Entry, own: usize) -> f64 {
        if entry.cache as usize == own && entry.era == self.era {
            entry.scaled * self.scale
        } else {
            0.0
        }
    }

    /// All shrink in proportion until they fit.
    fn displace(&mut self) {
        if self.total <= self.capacity {
            return;
        }
        self.scale *= self.capacity / self.total;
        self.total = self.capacity;
        if self.scale < SCALE_LEAST {
            (self.scale, self.total) = (1.0, 0.0);
            self.era += 1;
        }
    }
}

/// How many different lines of `lines` so many random accesses touch, as an expected value.
pub fn distinct(lines: f64, accesses: u64) -> f64 {
    // 1 - (1 - 1/n)^k by squaring: `powf` is not the same everywhere.
    let (mut missed, mut base, mut left) = (1.0, 1.0 - 1.0 / lines, accesses);
    while left > 0 {
        if left & 1 == 1 {
            missed *= base;
        }
        base *= base;
        left >>= 1;
    }
    lines * (1.0 - missed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Costs;
    use actinium_topology::Topology;

    fn machine() -> Machine {
        let topology = Topology::synthetic(
            "package:2 l3:1(size=64KiB) l2:2(size=16KiB) l1d:1(size=4KiB) core:1 pu:1",
        )
        .unwrap();
        Machine::new(&topology, 4, Costs::PUBLISHED).unwrap()
    }

    #[test]
    fn what_was_touched_is_warm_there_and_nowhere_else() {
        let (machine, mut caches) = (machine(), Caches::new(&machine(), 1));
        assert_eq!(caches.touch(&machine, 0, 0, 10.0, 10.0).misses, [10.0; 3]);
        assert_eq!(caches.touch(&machine, 0, 0, 10.0, 10.0).misses, [0.0; 3]);
        let moved = caches.touch(&machine, 1, 0, 10.0, 10.0);
        assert_eq!(moved.misses, [10.0, 10.0, 0.0], "the third level is shared");
        assert_eq!(caches.touch(&machine, 0, 0, 10.0, 10.0).misses, [10.0, 10.0, 0.0]);
        assert_eq!(caches.touch(&machine, 2, 0, 10.0, 10.0).misses, [10.0; 3], "another package");
    }

    #[test]
    fn a_line_from_another_package_costs_most() {
        let (machine, mut caches) = (machine(), Caches::new(&machine(), 1));
        caches.touch(&machine, 0, 0, 10.0, 10.0);
        let near = caches.touch(&machine, 1, 0, 10.0, 10.0).extra_ns;
        let far = caches.touch(&machine, 2, 0, 10.0, 10.0).extra_ns;
        assert!(far > 2.0 * near, "{far} {near}");
    }

    #[test]
    fn no_cache_holds_more_than_fits() {
        let (machine, mut caches) = (machine(), Caches::new(&machine(), 8));
        for turn in 0..1_000 {
            caches.touch(&machine, turn % 3, turn % 8, 100.0, 30.0);
            for (level, all) in caches.caches.iter().enumerate() {
                for (at, cache) in all.iter().enumerate() {
                    let sum: f64 = (0..8).map(|actor| caches.resident(level, at, actor)).sum();
                    assert!(sum <= cache.capacity + 1e-6, "level {level}: {sum}");
                    assert!((sum - cache.total).abs() < 1.0, "{sum} {}", cache.total);
                }
            }
        }
    }

    #[test]
    fn distinct_lines_of_random_accesses() {
        assert_eq!(distinct(1.0, 20), 1.0);
        assert!((distinct(1e9, 20) - 20.0).abs() < 1e-3);
        assert!((distinct(2.0, 2) - 1.5).abs() < 1e-12);
    }
}

//! CPUs that the workers and threads of all nodes share.
//!
//! Who has a CPU keeps it until nothing is left to do, or until others have waited for a slice of
//! time. Those who wait get one in the order in which they asked, as a fair scheduler has it. What
//! a change costs is not modelled.

use std::collections::{BTreeMap, VecDeque};

/// The longest that somebody keeps a CPU for which another waits: `base_slice_ns` of Linux on two
/// CPUs.
const SLICE_NS: u64 = 1_400_000;

/// Who needs a CPU: the worker or the thread of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Runner {
    Worker(u32),
    Thread(u32),
}

/// The CPUs, and those who wait for one with something to do.
#[derive(Debug)]
pub(super) struct Cpus<T> {
    /// 0: everybody has one.
    count: u32,
    /// Who has one, and since when.
    held: BTreeMap<Runner, u64>,
    waiting: VecDeque<(Runner, T)>,
}

impl<T> Cpus<T> {
    pub(super) fn new(count: u32) -> Self {
        Cpus { count, held: BTreeMap::new(), waiting: VecDeque::new() }
    }

    /// Returns what begins now: this task, if its runner has a CPU or gets one; else it waits, and
    /// the task of another begins if the runner's slice is over.
    pub(super) fn ask(&mut self, now_ns: u64, runner: Runner, task: T) -> Option<(Runner, T)> {
        if self.count == 0 {
            return Some((runner, task));
        }
        match self.held.get(&runner) {
            Some(since_ns) if !self.waiting.is_empty() && now_ns - since_ns >= SLICE_NS => {
                self.waiting.push_back((runner, task));
                self.leave(now_ns, runner)
            }
            Some(_) => Some((runner, task)),
            None if self.held.len() < self.count as usize => {
                self.held.insert(runner, now_ns);
                Some((runner, task))
            }
            None => {
                self.waiting.push_back((runner, task));
                None
            }
        }
    }

    /// The runner gives up its CPU, if it has one. Returns what begins there.
    pub(super) fn leave(&mut self, now_ns: u64, runner: Runner) -> Option<(Runner, T)> {
        self.held.remove(&runner)?;
        let (next, task) = self.waiting.pop_front()?;
        self.held.insert(next, now_ns);
        Some((next, task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Runner = Runner::Worker(0);
    const B: Runner = Runner::Thread(0);

    #[test]
    fn who_waits_gets_what_another_leaves() {
        let mut cpus = Cpus::new(1);
        assert_eq!(cpus.ask(0, A, "a"), Some((A, "a")));
        assert_eq!(cpus.ask(1, B, "b"), None);
        assert_eq!(cpus.leave(2, B), None, "it has none");
        assert_eq!(cpus.leave(2, A), Some((B, "b")));
        assert_eq!(cpus.leave(3, B), None);
        assert_eq!(cpus.ask(4, A, "again"), Some((A, "again")));
    }

    #[test]
    fn a_slice_ends_only_if_another_waits() {
        let mut cpus = Cpus::new(1);
        cpus.ask(0, A, "a");
        assert_eq!(cpus.ask(2 * SLICE_NS, A, "alone"), Some((A, "alone")));
        cpus.ask(2 * SLICE_NS, B, "b");
        assert_eq!(cpus.ask(2 * SLICE_NS + 1, A, "later"), Some((B, "b")));
        assert_eq!(cpus.ask(2 * SLICE_NS + 2, B, "next"), Some((B, "next")), "within its slice");
        assert_eq!(cpus.leave(2 * SLICE_NS + 3, B), Some((A, "later")));
    }

    #[test]
    fn without_a_number_everybody_has_one() {
        let mut cpus = Cpus::new(0);
        assert_eq!(cpus.ask(0, A, "a"), Some((A, "a")));
        assert_eq!(cpus.ask(0, B, "b"), Some((B, "b")));
        assert_eq!(cpus.leave(1, A), None);
    }
}

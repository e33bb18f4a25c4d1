//! CPUs that the workers of all nodes share.
//!
//! Who has a CPU keeps it until nothing is left to do, or until others wait and a slice of time is
//! over. Those who wait get one in the order in which they asked. Each change costs some time.

use std::collections::{BTreeMap, VecDeque};

/// CPUs that the workers of all nodes share, as those of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedCpus {
    /// The number of CPUs; 0: each worker has one of its own.
    pub count: u32,
    /// The time after which one who has a CPU gives it to another who waits.
    pub slice_ns: u64,
    /// The time that a CPU takes to go over to another.
    pub switch_ns: u64,
}

impl Default for SharedCpus {
    /// One for each. Where they are shared: the slice of Linux, and for a change the ten
    /// microseconds for which a worker looks for frames before it lets others run, and some for
    /// their caches.
    fn default() -> Self {
        SharedCpus { count: 0, slice_ns: 3_000_000, switch_ns: 15_000 }
    }
}

/// A task that has a CPU from a time on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Begun<T> {
    /// The node whose worker it is.
    pub(super) node: u32,
    pub(super) task: T,
    pub(super) at_ns: u64,
}

/// The CPUs, and those who wait for one with something to do.
#[derive(Debug)]
pub(super) struct Cpus<T> {
    shared: SharedCpus,
    /// Who has one, and since when.
    held: BTreeMap<u32, u64>,
    waiting: VecDeque<(u32, T)>,
}

impl<T> Cpus<T> {
    pub(super) fn new(shared: SharedCpus) -> Self {
        Cpus { shared, held: BTreeMap::new(), waiting: VecDeque::new() }
    }

    /// Returns what begins now: this task, if its node has a CPU or gets one; else it waits, and
    /// the task of another begins if the node's slice is over.
    pub(super) fn ask(&mut self, now_ns: u64, node: u32, task: T) -> Option<Begun<T>> {
        if self.shared.count == 0 {
            return Some(Begun { node, task, at_ns: now_ns });
        }
        match self.held.get(&node) {
            Some(since_ns)
                if !self.waiting.is_empty() && now_ns >= since_ns + self.shared.slice_ns =>
            {
                self.waiting.push_back((node, task));
                self.leave(now_ns, node)
            }
            Some(_) => Some(Begun { node, task, at_ns: now_ns }),
            None if self.held.len() < self.shared.count as usize => {
                Some(self.switch(now_ns, node, task))
            }
            None => {
                self.waiting.push_back((node, task));
                None
            }
        }
    }

    /// The node gives up its CPU, if it has one. Returns what begins there.
    pub(super) fn leave(&mut self, now_ns: u64, node: u32) -> Option<Begun<T>> {
        self.held.remove(&node)?;
        let (next, task) = self.waiting.pop_front()?;
        Some(self.switch(now_ns, next, task))
    }

    fn switch(&mut self, now_ns: u64, node: u32, task: T) -> Begun<T> {
        let at_ns = now_ns + self.shared.switch_ns;
        self.held.insert(node, at_ns);
        Begun { node, task, at_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 0;
    const B: u32 = 1;

    fn one() -> Cpus<&'static str> {
        Cpus::new(SharedCpus { count: 1, slice_ns: 100, switch_ns: 5 })
    }

    fn begun(node: u32, task: &'static str, at_ns: u64) -> Option<Begun<&'static str>> {
        Some(Begun { node, task, at_ns })
    }

    #[test]
    fn who_waits_gets_what_another_leaves() {
        let mut cpus = one();
        assert_eq!(cpus.ask(0, A, "a"), begun(A, "a", 5));
        assert_eq!(cpus.ask(10, B, "b"), None);
        assert_eq!(cpus.leave(20, B), None, "it has none");
        assert_eq!(cpus.leave(20, A), begun(B, "b", 25));
        assert_eq!(cpus.leave(30, B), None);
        assert_eq!(cpus.ask(40, A, "again"), begun(A, "again", 45));
    }

    #[test]
    fn a_slice_ends_only_if_another_waits() {
        let mut cpus = one();
        cpus.ask(0, A, "a");
        assert_eq!(cpus.ask(500, A, "alone"), begun(A, "alone", 500));
        cpus.ask(500, B, "b");
        assert_eq!(cpus.ask(501, A, "later"), begun(B, "b", 506));
        assert_eq!(cpus.ask(605, B, "next"), begun(B, "next", 605), "within its slice");
        assert_eq!(cpus.ask(606, B, "last"), begun(A, "later", 611));
    }

    #[test]
    fn without_a_number_everybody_has_one() {
        let mut cpus = Cpus::new(SharedCpus::default());
        assert_eq!(cpus.ask(0, A, "a"), begun(A, "a", 0));
        assert_eq!(cpus.ask(0, B, "b"), begun(B, "b", 0));
        assert_eq!(cpus.leave(1, A), None);
    }
}

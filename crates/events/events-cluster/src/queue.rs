//! The shared queue: which node runs which event, and when its outputs may run. Plain state,
//! without messages and clock.
//!
//! A number is *open* from when it is first given to a node until its outputs have run, or are
//! known not to. It is at one place at a time: `out` at a node, `again` (its node is gone, and the
//! next one that has room gets it), `waiting` for those before it, or `writing`. So each event's
//! outputs run once, whoever ran it how often.

use actinium_workload::replay::part::{Given, Observations};
use std::collections::{BTreeMap, BTreeSet};

/// The number of events per slot that may be open: those that run, those that wait at their nodes,
/// and those that have run and wait for their outputs' turn.
const OPEN_PER_SLOT: u64 = 4;

/// How an event has ended at its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All but its outputs has run: what the ends of its paths saw.
    Ran(Observations),
    /// A module failed.
    Failed,
    /// The event was given back by its node, or given up.
    Left,
}

/// A node that takes part.
#[derive(Clone, Debug, Default)]
struct Member {
    slots: u64,
    out: BTreeSet<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    due: u64,
    in_order: bool,
    next: u64,
    again: BTreeSet<u64>,
    members: BTreeMap<u32, Member>,
    /// In order: what has ended before its turn.
    waiting: BTreeMap<u64, Ended>,
    /// The next event whose outputs may run, when they run in order.
    turn: u64,
    /// Events whose outputs may run, and that were not returned yet.
    ready: Vec<Given>,
    writing: BTreeSet<u64>,
    is_stopped: bool,
    done: u64,
    failed: u64,
    abandoned: u64,
}

impl Queue {
    /// Makes a queue of the events 0 to `due` - 1, whose outputs run in this order or as they come.
    pub(crate) fn new(due: u64, in_order: bool) -> Self {
        Queue {
            due,
            in_order,
            next: 0,
            again: BTreeSet::new(),
            members: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turn: 0,
            ready: Vec::new(),
            writing: BTreeSet::new(),
            is_stopped: false,
            done: 0,
            failed: 0,
            abandoned: 0,
        }
    }

    /// A node with so many slots takes part. If it did before, that was another incarnation of it,
    /// and others get what it had.
    pub(crate) fn join(&mut self, node: u32, slots: u64) {
        self.leave(node);
        self.members.insert(node, Member { slots, out: BTreeSet::new() });
    }

    /// A node takes part no more. How many events others get, or nobody if the queue is stopped.
    pub(crate) fn leave(&mut self, node: u32) -> u64 {
        let out = self.members.remove(&node).map(|member| member.out).unwrap_or_default();
        let count = out.len() as u64;
        match self.is_stopped {
            true => out.into_iter().for_each(|number| self.finish(number, Ended::Left)),
            false => self.again.extend(out),
        }
        count
    }

    /// Returns the nodes that take part.
    pub(crate) fn members(&self) -> Vec<u32> {
        self.members.keys().copied().collect()
    }

    /// Whether a node takes part.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.members.contains_key(&node)
    }

    /// An event has ended at its node. False: it is not that node's (any more), and nothing was
    /// done.
    pub(crate) fn ended(&mut self, node: u32, number: u64, ended: Ended) -> bool {
        let is_its = self.members.get_mut(&node).is_some_and(|member| member.out.remove(&number));
        match ended {
            _ if !is_its => {}
            Ended::Left if !self.is_stopped => _ = self.again.insert(number),
            ended => self.finish(number, ended),
        }
        is_its
    }

    fn finish(&mut self, number: u64, ended: Ended) {
        if !self.in_order {
            return self.release(number, ended);
        }
        self.waiting.insert(number, ended);
        while let Some(ended) = self.waiting.remove(&self.turn) {
            let number = self.turn;
            self.turn += 1;
            self.release(number, ended);
        }
    }

    fn release(&mut self, number: u64, ended: Ended) {
        match ended {
            Ended::Ran(observations) => {
                self.writing.insert(number);
                self.ready.push(Given { number, observations });
            }
            Ended::Failed => self.failed += 1,
            Ended::Left => self.abandoned += 1,
        }
    }

    /// Returns the events whose outputs may run now, in the order in which they are to run. Each
    /// event is returned once.
    pub(crate) fn take_ready(&mut self) -> Vec<Given> {
        std::mem::take(&mut self.ready)
    }

    /// An event's outputs have run, or one of them failed.
    pub(crate) fn written(&mut self, number: u64, has_failed: bool) {
        if self.writing.remove(&number) {
            *(if has_failed { &mut self.failed } else { &mut self.done }) += 1;
        }
    }

    /// No more events are begun; those that wait for a node are given up.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
        for number in std::mem::take(&mut self.again) {
            self.finish(number, Ended::Left);
        }
    }

    /// Which nodes get which events now. A node has as many as it has slots, and up to as many more
    /// so that no slot waits for the next; towards the end fewer, so that they end together.
    pub(crate) fn hand_out(&mut self) -> BTreeMap<u32, Vec<u64>> {
        let mut given: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let slots: u64 = self.members.values().map(|member| member.slots).sum();
        while !self.is_stopped {
            let left = self.due - self.next;
            let ahead =
                |member: &Member| (left * member.slots / slots.max(1) / 2).min(member.slots);
            let room = |member: &Member| {
                (member.slots + ahead(member)).saturating_sub(member.out.len() as u64)
            };
            // Who has least for its slots comes first.
            let most = self.members.iter_mut().filter(|(_, member)| room(member) > 0);
            let share = |member: &Member| member.out.len() as u64 * 1_000 / member.slots;
            let Some((&node, _)) = most.min_by_key(|(_, member)| share(member)) else { break };
            let number = match self.again.pop_first() {
                Some(number) => number,
                None if self.next < self.due && self.open() < OPEN_PER_SLOT * slots => {
                    self.next += 1;
                    self.next - 1
                }
                None => break,
            };
            if let Some(member) = self.members.get_mut(&node) {
                member.out.insert(number);
            }
            given.entry(node).or_default().push(number);
        }
        given
    }

    /// Events that were given to a node and are not finished. Bounded by a few for each slot of
    /// those who were there.
    pub(crate) fn open(&self) -> u64 {
        self.next - self.done - self.failed - self.abandoned
    }

    /// Whether nothing is to be done any more.
    pub(crate) fn is_over(&self) -> bool {
        (self.is_stopped || self.next == self.due) && self.open() == 0
    }

    /// Events that went through, and that failed.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.done, self.failed)
    }

    /// Events that were begun or given to a node, and given up.
    pub(crate) fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran() -> Ended {
        Ended::Ran(vec![(0, 1)])
    }

    fn numbers(ready: &[Given]) -> Vec<u64> {
        ready.iter().map(|given| given.number).collect()
    }

    #[test]
    fn nodes_get_events_by_their_slots_and_some_ahead() {
        let mut queue = Queue::new(1_000, false);
        queue.join(0, 4);
        queue.join(1, 8);
        let given = queue.hand_out();
        assert_eq!((given[&0].len(), given[&1].len()), (8, 16));
        assert!(queue.hand_out().is_empty());
        assert!(queue.ended(0, given[&0][0], ran()));
        assert!(!queue.ended(0, given[&0][0], ran()), "once");
        assert!(!queue.ended(0, given[&1][0], ran()), "not its own");
        assert_eq!(queue.hand_out()[&0].len(), 1);
    }

    #[test]
    fn what_waits_for_its_turn_is_bounded_and_comes_in_order() {
        let mut queue = Queue::new(1_000, true);
        queue.join(0, 1);
        queue.join(1, 1);
        let first = queue.hand_out();
        // The node that has event 0 does not end it; the other goes on.
        let (slow, fast) = if first[&0].contains(&0) { (0, 1) } else { (1, 0) };
        let mut todo = first[&fast].clone();
        let mut open_max = 0;
        while let Some(number) = todo.pop() {
            assert!(queue.ended(fast, number, ran()));
            assert!(queue.take_ready().is_empty(), "0 is before it");
            todo.extend(queue.hand_out().remove(&fast).unwrap_or_default());
            open_max = open_max.max(queue.open());
        }
        assert_eq!(open_max, 2 * OPEN_PER_SLOT);
        for number in &first[&slow] {
            assert!(queue.ended(slow, *number, ran()));
        }
        let ready = numbers(&queue.take_ready());
        assert!(ready.iter().copied().eq(0..open_max), "{ready:?}");
        assert!(queue.hand_out().is_empty(), "they are not written");
        ready.iter().for_each(|&number| queue.written(number, false));
        assert!(!queue.hand_out().is_empty());
    }

    #[test]
    fn what_a_node_leaves_behind_others_get_first_and_once() {
        let mut queue = Queue::new(12, true);
        queue.join(0, 2);
        queue.join(1, 2);
        let first = queue.hand_out();
        let left = first[&1].clone();
        assert!(queue.ended(1, left[0], ran()));
        assert_eq!(queue.leave(1), left.len() as u64 - 1);
        assert!(!queue.ended(1, left[1], ran()), "it is gone, and the event another's");
        let mut todo = first[&0].clone();
        let mut all = Vec::new();
        while let Some(number) = todo.pop() {
            assert!(queue.ended(0, number, ran()));
            let more = queue.hand_out().remove(&0).unwrap_or_default();
            todo.extend(more);
            for given in queue.take_ready() {
                all.push(given.number);
                queue.written(given.number, false);
            }
            todo.extend(queue.hand_out().remove(&0).unwrap_or_default());
        }
        assert!(all.iter().copied().eq(0..12), "{all:?}");
        assert!(queue.is_over());
        assert_eq!(queue.counts(), (12, 0));
    }

    #[test]
    fn a_stopped_queue_ends_when_all_have_given_back_what_they_have() {
        let mut queue = Queue::new(100, true);
        queue.join(0, 2);
        queue.join(1, 2);
        let given = queue.hand_out();
        // In another incarnation it has nothing.
        queue.join(1, 2);
        queue.stop();
        assert!(queue.hand_out().is_empty());
        for (index, &number) in given[&0].iter().enumerate() {
            let ended = [ran(), Ended::Failed, Ended::Left][index % 3].clone();
            assert!(queue.ended(0, number, ended));
        }
        for given in queue.take_ready() {
            assert!(!queue.is_over());
            queue.written(given.number, given.number == 2);
        }
        assert!(queue.is_over());
        let (done, failed) = queue.counts();
        let handed = given.values().flatten().count() as u64;
        assert_eq!(done + failed + queue.abandoned(), handed);
    }
}

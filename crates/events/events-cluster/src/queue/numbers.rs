//! Events that are shared out one by one: of a source at the first node, or made by the nodes
//! themselves, of their numbers.
//!
//! A number is *open* from when it is first given to a node until its outputs have run, or are
//! known not to. It is at one place at a time: `out` at a node, `again` (its node is gone, and the
//! next one that has room gets it), or in the outlet. So each event's outputs run once, whoever ran
//! it how often.

use super::outlet::{Ended, Outlet};
use super::{Queue, Share};
use std::collections::{BTreeMap, BTreeSet};

/// The number of events per slot that may be open: those that run, those that wait at their nodes,
/// and those that have run and wait for their outputs' turn.
const OPEN_PER_SLOT: u64 = 4;

/// More slots than any node has.
const SLOTS_MAX: u64 = 16 << 20;

/// A node that takes part.
#[derive(Clone, Debug, Default)]
struct Member {
    slots: u64,
    out: BTreeSet<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// The events that the source has given: 0 to `given` - 1.
    given: u64,
    /// The source gives no more.
    is_all: bool,
    /// The first event that no node was given.
    next: u64,
    again: BTreeSet<u64>,
    members: BTreeMap<u32, Member>,
    outlet: Outlet,
    is_stopped: bool,
}

impl Numbers {
    /// Makes a queue of the events 0 to `count` - 1, or of those that a source will give; their
    /// outputs run in this order or as they come.
    pub(crate) fn new(count: Option<u64>, in_order: bool) -> Self {
        Numbers {
            given: count.unwrap_or(0),
            is_all: count.is_some(),
            next: 0,
            again: BTreeSet::new(),
            members: BTreeMap::new(),
            outlet: Outlet::new(in_order),
            is_stopped: false,
        }
    }

    fn slots(&self) -> u64 {
        self.members.values().map(|member| member.slots).sum()
    }

    /// Events that were given to a node and are not finished. Bounded by a few for each slot of
    /// those who were there.
    fn open(&self) -> u64 {
        self.next - self.outlet.over()
    }
}

impl Queue for Numbers {
    fn join(&mut self, node: u32, slots: u64) {
        self.leave(node);
        // Another node says how many it has.
        let slots = slots.clamp(1, SLOTS_MAX);
        self.members.insert(node, Member { slots, out: BTreeSet::new() });
    }

    fn leave(&mut self, node: u32) -> u64 {
        let out = self.members.remove(&node).map(|member| member.out).unwrap_or_default();
        let count = out.len() as u64;
        match self.is_stopped {
            true => out.into_iter().for_each(|number| self.outlet.finish(number, Ended::Left)),
            false => self.again.extend(out),
        }
        count
    }

    fn has(&self, node: u32) -> bool {
        self.members.contains_key(&node)
    }

    fn ended(&mut self, node: u32, number: u64, ended: Ended) -> bool {
        let is_its = self.members.get_mut(&node).is_some_and(|member| member.out.remove(&number));
        match ended {
            _ if !is_its => {}
            Ended::Left if !self.is_stopped => _ = self.again.insert(number),
            ended => self.outlet.finish(number, ended),
        }
        is_its
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        for number in std::mem::take(&mut self.again) {
            self.outlet.finish(number, Ended::Left);
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// A node has as many as it has slots, and up to as many more so that no slot waits for the
    /// next; towards the end fewer, so that they end together.
    fn hand_out(&mut self) -> Vec<(u32, Share)> {
        let mut given: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let slots = self.slots();
        while !self.is_stopped {
            let left = if self.is_all { self.given - self.next } else { u64::from(u32::MAX) };
            let ahead = |member: &Member| {
                (left.saturating_mul(member.slots) / slots.max(1) / 2).min(member.slots)
            };
            let room = |member: &Member| {
                (member.slots + ahead(member)).saturating_sub(member.out.len() as u64)
            };
            // Who has least for its slots comes first.
            let most = self.members.iter().filter(|(_, member)| room(member) > 0);
            let share = |member: &Member| member.out.len() as u64 * 1_000 / member.slots;
            let Some((&node, _)) = most.min_by_key(|(_, member)| share(member)) else { break };
            let number = match self.again.pop_first() {
                Some(number) => number,
                None if self.next < self.given && self.open() < OPEN_PER_SLOT * slots => {
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
        given.into_iter().map(|(node, numbers)| (node, Share::Events(numbers))).collect()
    }

    fn is_over(&self) -> bool {
        (self.is_stopped || self.is_all && self.next == self.given) && self.open() == 0
    }

    fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    fn outlet_mut(&mut self) -> &mut Outlet {
        &mut self.outlet
    }

    fn feed(&mut self, events: u64) {
        self.given += events;
    }

    fn end(&mut self) {
        self.is_all = true;
    }

    fn room(&self) -> u64 {
        let held = self.given - self.outlet.over();
        (OPEN_PER_SLOT * self.slots()).saturating_sub(held)
    }

    fn is_empty(&self) -> bool {
        self.given == self.outlet.over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran() -> Ended {
        Ended::Ran(vec![1])
    }

    fn given(queue: &mut Numbers) -> BTreeMap<u32, Vec<u64>> {
        let shares = queue.hand_out().into_iter();
        let events = shares.map(|(node, share)| match share {
            Share::Events(numbers) => (node, numbers),
            Share::Piece { .. } => panic!("there are no pieces"),
        });
        events.collect()
    }

    fn ready(queue: &mut Numbers) -> Vec<u64> {
        queue.outlet.take_ready().iter().map(|ready| ready.number).collect()
    }

    #[test]
    fn nodes_get_events_by_their_slots_and_some_ahead() {
        let mut queue = Numbers::new(Some(1_000), false);
        queue.join(0, 4);
        queue.join(1, 8);
        let first = given(&mut queue);
        assert_eq!((first[&0].len(), first[&1].len()), (8, 16));
        assert!(queue.hand_out().is_empty());
        assert!(queue.ended(0, first[&0][0], ran()));
        assert!(!queue.ended(0, first[&0][0], ran()), "once");
        assert!(!queue.ended(0, first[&1][0], ran()), "not its own");
        assert_eq!(given(&mut queue)[&0].len(), 1);
    }

    #[test]
    fn what_waits_for_its_turn_is_bounded_and_comes_in_order() {
        let mut queue = Numbers::new(Some(1_000), true);
        queue.join(0, 1);
        queue.join(1, 1);
        let first = given(&mut queue);
        // The node that has event 0 does not end it; the other goes on.
        let (slow, fast) = if first[&0].contains(&0) { (0, 1) } else { (1, 0) };
        let mut todo = first[&fast].clone();
        let mut open_max = 0;
        while let Some(number) = todo.pop() {
            assert!(queue.ended(fast, number, ran()));
            assert!(ready(&mut queue).is_empty(), "0 is before it");
            todo.extend(given(&mut queue).remove(&fast).unwrap_or_default());
            open_max = open_max.max(queue.open());
        }
        assert_eq!(open_max, 2 * OPEN_PER_SLOT);
        for number in &first[&slow] {
            assert!(queue.ended(slow, *number, ran()));
        }
        let ready = ready(&mut queue);
        assert!(ready.iter().copied().eq(0..open_max), "{ready:?}");
        assert!(queue.hand_out().is_empty(), "they are not written");
        ready.iter().for_each(|&number| _ = queue.outlet.written(number, false));
        assert!(!queue.hand_out().is_empty());
    }

    #[test]
    fn what_a_node_leaves_behind_others_get_first_and_once() {
        let mut queue = Numbers::new(Some(12), true);
        queue.join(0, 2);
        queue.join(1, 2);
        let first = given(&mut queue);
        let left = first[&1].clone();
        assert!(queue.ended(1, left[0], ran()));
        assert_eq!(queue.leave(1), left.len() as u64 - 1);
        assert!(!queue.ended(1, left[1], ran()), "it is gone, and the event another's");
        let mut todo = first[&0].clone();
        let mut all = Vec::new();
        while let Some(number) = todo.pop() {
            assert!(queue.ended(0, number, ran()));
            let more = given(&mut queue).remove(&0).unwrap_or_default();
            todo.extend(more);
            for number in ready(&mut queue) {
                all.push(number);
                queue.outlet.written(number, false);
            }
            todo.extend(given(&mut queue).remove(&0).unwrap_or_default());
        }
        assert!(all.iter().copied().eq(0..12), "{all:?}");
        assert!(queue.is_over());
        assert_eq!((queue.outlet.done, queue.outlet.failed), (12, 0));
    }

    #[test]
    fn a_stopped_queue_ends_when_all_have_given_back_what_they_have() {
        let mut queue = Numbers::new(Some(100), true);
        queue.join(0, 2);
        queue.join(1, 2);
        let first = given(&mut queue);
        // In another incarnation it has nothing.
        queue.join(1, 2);
        queue.stop();
        assert!(queue.hand_out().is_empty());
        for (index, &number) in first[&0].iter().enumerate() {
            let ended = [ran(), Ended::Failed, Ended::Left][index % 3].clone();
            assert!(queue.ended(0, number, ended));
        }
        for number in ready(&mut queue) {
            assert!(!queue.is_over());
            queue.outlet.written(number, number == 2);
        }
        assert!(queue.is_over());
        let (done, failed) = (queue.outlet.done, queue.outlet.failed);
        let handed = first.values().flatten().count() as u64;
        assert_eq!(done + failed + queue.outlet.abandoned, handed);
    }

    #[test]
    fn a_source_gives_no_more_than_a_few_events_per_slot_and_each_runs_once() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut queue = Numbers::new(None, random.bool());
            queue.join(0, 2);
            let (mut out, mut written, mut left) = (Vec::new(), Vec::new(), 60);
            while !queue.is_over() {
                let more = queue.room().min(left);
                assert!(queue.given + more - queue.outlet.over() <= 4 * OPEN_PER_SLOT * 3);
                queue.feed(more);
                left -= more;
                if left == 0 {
                    queue.end();
                }
                for (node, numbers) in given(&mut queue) {
                    out.extend(numbers.into_iter().map(|number| (node, number)));
                }
                let node = random.u32(1..4);
                match random.u32(0..10) {
                    0 => queue.join(node, 2),
                    1 => _ = queue.leave(node),
                    _ => {
                        if !out.is_empty() {
                            let (node, number) = out.swap_remove(random.usize(..out.len()));
                            queue.ended(node, number, ran());
                        }
                    }
                }
                for number in ready(&mut queue) {
                    assert!(queue.outlet.written(number, false));
                    written.push(number);
                }
                assert!(!queue.is_empty() || queue.outlet.over() == queue.given);
            }
            written.sort_unstable();
            assert!(written.iter().copied().eq(0..60), "seed {seed}: {written:?}");
        }
    }
}

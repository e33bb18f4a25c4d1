//! Events that have ended at their nodes: when their outputs may run, and how many are over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How an event has ended at its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All but its outputs has run: what these need.
    Ran(Vec<u8>),
    /// A module failed.
    Failed,
    /// The event was given back by its node, or given up.
    Left,
}

/// An event whose outputs are to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The number.
    pub(crate) number: u64,
    /// What its outputs need.
    pub(crate) bytes: Vec<u8>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlet {
    in_order: bool,
    /// In order: what has ended before its turn.
    waiting: BTreeMap<u64, Ended>,
    /// In order: the next event whose outputs may run.
    turn: u64,
    /// In order: after all events before the first, the second is next.
    jumps: BTreeMap<u64, u64>,
    /// Events whose outputs may run, and that were not returned yet.
    ready: Vec<Ready>,
    writing: BTreeSet<u64>,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) abandoned: u64,
}

impl Outlet {
    /// Whether outputs run in the order of numbers.
    pub(crate) fn new(in_order: bool) -> Self {
        Outlet { in_order, ..Outlet::default() }
    }

    /// An event has ended at its node, for good.
    pub(crate) fn finish(&mut self, number: u64, ended: Ended) {
        if !self.in_order {
            return self.release(number, ended);
        }
        self.waiting.insert(number, ended);
        self.go_on();
    }

    /// There is no event `from`: the one behind those before it is `to`.
    pub(crate) fn jump(&mut self, from: u64, to: u64) {
        if self.in_order && from >= self.turn {
            self.jumps.insert(from, to);
            self.go_on();
        }
    }

    /// In order: the next event whose outputs may run.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Nothing will come between those that wait: their turn has come, in their order.
    pub(crate) fn flush(&mut self) {
        for (number, ended) in std::mem::take(&mut self.waiting) {
            self.release(number, ended);
        }
    }

    fn go_on(&mut self) {
        loop {
            if let Some(ended) = self.waiting.remove(&self.turn) {
                self.release(self.turn, ended);
                self.turn += 1;
            } else if let Some(to) = self.jumps.remove(&self.turn) {
                self.turn = to;
            } else {
                return;
            }
        }
    }

    fn release(&mut self, number: u64, ended: Ended) {
        match ended {
            Ended::Ran(bytes) => {
                self.writing.insert(number);
                self.ready.push(Ready { number, bytes });
            }
            Ended::Failed => self.failed += 1,
            Ended::Left => self.abandoned += 1,
        }
    }

    /// Returns the events whose outputs may run now, in the order in which they are to run. Each
    /// event is returned once.
    pub(crate) fn take_ready(&mut self) -> Vec<Ready> {
        std::mem::take(&mut self.ready)
    }

    /// An event's outputs have run, or one of them failed. False: they are not due.
    pub(crate) fn written(&mut self, number: u64, has_failed: bool) -> bool {
        let is_due = self.writing.remove(&number);
        if is_due {
            *(if has_failed { &mut self.failed } else { &mut self.done }) += 1;
        }
        is_due
    }

    /// No outputs run any more: those that are due have failed.
    pub(crate) fn give_up(&mut self) {
        self.ready.clear();
        self.failed += std::mem::take(&mut self.writing).len() as u64;
    }

    /// Whether outputs of one of these events are to run, or run.
    pub(crate) fn is_writing(&self, numbers: Range<u64>) -> bool {
        self.writing.range(numbers).next().is_some()
    }

    /// Events that are over, whatever came of them.
    pub(crate) fn over(&self) -> u64 {
        self.done + self.failed + self.abandoned
    }

    /// Whether nothing waits, and no outputs run.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.writing.is_empty()
    }
}

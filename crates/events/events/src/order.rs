//! Outputs in the order of the events: an event's turn comes when all before it have ended.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// The event whose turn it is.
    pub(crate) next: u64,
    parked: BTreeMap<u64, u32>,
    ended: BTreeSet<u64>,
}

impl InOrder {
    /// Returns whether it is this event's turn. If not, its slot is parked until it is.
    pub(crate) fn may_go(&mut self, number: u64, slot: u32) -> bool {
        if number != self.next {
            self.parked.insert(number, slot);
        }
        number == self.next
    }

    /// An event has ended; returns the slot whose turn it is now, if it waits.
    pub(crate) fn ended(&mut self, number: u64) -> Option<u32> {
        self.ended.insert(number);
        while self.ended.remove(&self.next) {
            self.next += 1;
        }
        self.parked.remove(&self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order_and_failed_events_do_not_hold_up_others() {
        let mut order = InOrder::default();
        assert!(!order.may_go(2, 7));
        assert!(order.may_go(0, 5));
        assert_eq!(order.ended(1), None);
        assert_eq!(order.ended(0), Some(7));
        assert_eq!(order.ended(2), None);
        assert_eq!(order.next, 3);
    }
}

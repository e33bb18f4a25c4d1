//! The agenda: the steps of workers that happen next.

use super::time::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps of workers, the earliest first; of those at the same time, the one that was planned first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    steps: BinaryHeap<Reverse<(Ps, u64, u32, u64)>>,
    planned: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at_ps: Ps, worker: usize, step: u64) {
        self.planned += 1;
        self.steps.push(Reverse((at_ps, self.planned, worker as u32, step)));
    }

    pub(super) fn next(&mut self) -> Option<(Ps, usize, u64)> {
        self.steps.pop().map(|Reverse((at_ps, _, worker, step))| (at_ps, worker as usize, step))
    }
}

#[cfg(test)]
mod tests {
    use super::Agenda;

    #[test]
    fn by_time_and_then_in_the_order_of_planning() {
        let mut agenda = Agenda::default();
        agenda.add(5, 0, 1);
        agenda.add(3, 1, 1);
        agenda.add(3, 0, 2);
        assert_eq!([agenda.next(), agenda.next()], [Some((3, 1, 1)), Some((3, 0, 2))]);
        assert_eq!([agenda.next(), agenda.next()], [Some((5, 0, 1)), None]);
    }
}

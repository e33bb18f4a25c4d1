//! Work stealing with a soft affinity: move only what is worth moving.

use super::{QueueView, StealView, StolenView};

/// The parameters of `affine`: each with its unit and its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// A queue is offered to others when what stands last in it would wait longer than this, in nanoseconds.
    /// A move costs a wake-up (4 to 18 µs) and some hundred nanoseconds of cache misses per runnable and per message that
    /// from then on crosses workers; a queue that the worker itself empties faster than that stays where it is warm.
    pub wait_worth_moving_ns: u64,
    /// Nanoseconds of expected wait that each step of distance adds to what a steal must save.
    pub distance_ns: u64,
    /// The same worker must steal a runnable so many times in a row before its home moves there: hysteresis.
    pub steals_to_rehome: u32,
}

impl Affine {
    /// The defaults.
    pub const DEFAULT: Affine = Affine { wait_worth_moving_ns: 20_000, distance_ns: 500, steals_to_rehome: 2 };

    /// Half of the queue, when somebody is idle and the last in it would wait too long; all of it, when the present turn
    /// alone takes too long.
    pub(super) fn expose(&self, view: &QueueView) -> usize {
        if view.idle_workers == 0 || view.len == 0 {
            return 0;
        }
        if view.current_ns >= self.wait_worth_moving_ns {
            return view.len;
        }
        let wait_ns = view.current_ns + view.len as u64 * view.turn_ns;
        if wait_ns >= self.wait_worth_moving_ns { view.len / 2 } else { 0 }
    }

    /// What was exposed is worth taking unless it is about to be run at home, given the distance.
    pub(super) fn worth_stealing(&self, view: &StealView) -> bool {
        view.len > 0 && view.len as u64 * view.turn_ns.max(1) * 64 >= u64::from(view.distance) * self.distance_ns
    }

    pub(super) fn rehome(&self, view: &StolenView) -> bool {
        view.steals_in_a_row >= self.steals_to_rehome
    }
}

impl Default for Affine {
    fn default() -> Self {
        Affine::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(len: usize, turn_ns: u64, current_ns: u64, idle_workers: usize) -> QueueView {
        QueueView { len, turn_ns, current_ns, idle_workers }
    }

    #[test]
    fn a_short_queue_of_short_turns_stays_where_it_is_warm() {
        assert_eq!(Affine::DEFAULT.expose(&queue(200, 20, 0, 1)), 0);
    }

    #[test]
    fn half_of_a_long_queue_is_exposed_when_somebody_is_idle() {
        assert_eq!(Affine::DEFAULT.expose(&queue(2000, 20, 0, 1)), 1000);
        assert_eq!(Affine::DEFAULT.expose(&queue(2000, 20, 0, 0)), 0);
    }

    #[test]
    fn a_long_turn_exposes_all_that_waits_behind_it() {
        assert_eq!(Affine::DEFAULT.expose(&queue(3, 20, 20_000, 1)), 3);
    }

    #[test]
    fn the_home_moves_when_the_same_thief_comes_again() {
        assert!(!Affine::DEFAULT.rehome(&StolenView { steals_in_a_row: 1 }));
        assert!(Affine::DEFAULT.rehome(&StolenView { steals_in_a_row: 2 }));
    }
}

//! Work stealing with a soft affinity: move only what is worth moving.

use super::{QueueView, StealView, StolenView};

/// The parameters of `affine`: each with its unit and its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// A queue is offered to others when what stands last in it would wait longer than this, in nanoseconds.
    /// A move costs a wake-up (4 to 18 µs) and some hundred nanoseconds of cache misses per runnable and per message that
    /// from then on crosses workers; a queue that the worker itself empties faster than that stays where it is warm.
    pub wait_worth_moving_ns: u64,
    /// What costs less than this per message, in nanoseconds, is not moved for a short wait: a move costs about as much, and every
    /// message that then crosses workers costs more than handling it.
    pub cost_worth_moving_ns: u32,
    /// What is cheap but has so much waiting that this will take longer, in nanoseconds, is moved like what is not: a move costs some
    /// microseconds, and a few hundredths of this for its messages that lie in the wrong cache.
    pub work_worth_moving_ns: u64,
    /// What waits behind a single turn longer than this, in nanoseconds, is offered to others however little it costs.
    pub turn_too_long_ns: u64,
    /// Nanoseconds of expected wait that each step of distance adds to what a steal must save.
    pub distance_ns: u64,
    /// The same worker must steal a runnable so many times in a row before its home moves there: hysteresis.
    pub steals_to_rehome: u32,
    /// A busy worker compares its queue with those of others so often, in nanoseconds: often against the time for which work stays the
    /// same, rarely against a move, which costs some microseconds.
    pub balance_every_ns: u64,
    /// A difference of one part in so many of a worker's queue is worth a move: less is noise, for turns do not all take equally long.
    pub imbalance_worth_moving: u64,
    /// A busy worker takes over what another has too much of after so many looks in a row: a host that did not run one of them for a while makes
    /// differences that pass.
    pub looks_to_hand_over: u32,
    /// What exchanges at most so many messages with others, for each 16 that it handles, is not held where it is by them: it may run
    /// anywhere, however cheap it is.
    pub talk_that_holds: u8,
}

/// What is cheap to run must be stolen so many times as often before its home moves: it is cheap because what it touches is warm.
const CHEAP: u32 = 16;

impl Affine {
    /// The defaults.
    pub const DEFAULT: Affine = Affine {
        wait_worth_moving_ns: 20_000,
        cost_worth_moving_ns: 2_000,
        work_worth_moving_ns: 100_000,
        turn_too_long_ns: 10_000_000,
        distance_ns: 500,
        steals_to_rehome: 2,
        balance_every_ns: 1_000_000,
        imbalance_worth_moving: 8,
        looks_to_hand_over: 3,
        talk_that_holds: 1,
    };

    /// Half of the queue, when somebody is idle and the last in it would wait too long; all of it, when the present turn
    /// alone takes too long.
    pub(super) fn expose(&self, view: &QueueView) -> usize {
        if view.idle_workers == 0 || view.len == 0 {
            return 0;
        }
        if view.current_ns >= self.wait_worth_moving_ns {
            return view.len;
        }
        if view.wait_ns() >= self.wait_worth_moving_ns { view.len / 2 } else { 0 }
    }

    /// What nobody has measured may cost anything; what is cheap had better stay, however many they are, unless one turn holds them up, or
    /// much waits for it.
    pub(super) fn worth_exposing(
        &self,
        cost_ns: u32,
        current_ns: u64,
        pending: impl FnOnce() -> usize,
    ) -> bool {
        cost_ns == 0
            || cost_ns >= self.cost_worth_moving_ns
            || current_ns >= self.turn_too_long_ns
            || u64::from(cost_ns).saturating_mul(pending() as u64) >= self.work_worth_moving_ns
    }

    /// What was exposed is worth taking unless it is about to be run at home, given the distance.
    pub(super) fn worth_stealing(&self, view: &StealView) -> bool {
        view.len > 0
            && view.len as u64 * view.turn_ns.max(1) * 64
                >= u64::from(view.distance) * self.distance_ns
    }

    /// Not to a home where it would only wait to be stolen again.
    pub(super) fn returns_home(&self, view: &StolenView) -> bool {
        view.home_turn_ns < self.wait_worth_moving_ns
    }

    pub(super) fn rehome(&self, view: &StolenView) -> bool {
        let cheap = view.cost_ns < self.cost_worth_moving_ns;
        view.steals_in_a_row
            >= if cheap {
                self.steals_to_rehome.saturating_mul(CHEAP)
            } else {
                self.steals_to_rehome
            }
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
        assert_eq!(Affine::DEFAULT.expose(&queue(20, 2_000, 0, 1)), 10);
        assert_eq!(Affine::DEFAULT.expose(&queue(20, 2_000, 0, 0)), 0);
    }

    #[test]
    fn what_is_cheap_moves_only_when_one_turn_holds_it_up_for_long() {
        let worth = |cost_ns, current_ns, pending| {
            Affine::DEFAULT.worth_exposing(cost_ns, current_ns, || pending)
        };
        assert!(!worth(20, 9_999_999, 1));
        assert!(worth(20, 10_000_000, 1));
        assert!(worth(2_000, 20_000, 1));
        assert!(worth(0, 20_000, 1), "what nobody has measured may cost anything");
        assert!(!worth(20, 20_000, 4_999));
        assert!(worth(20, 20_000, 5_000), "what has much waiting for it is not cheap");
    }

    #[test]
    fn a_long_turn_exposes_all_that_waits_behind_it() {
        assert_eq!(Affine::DEFAULT.expose(&queue(3, 20, 20_000, 1)), 3);
    }

    #[test]
    fn nothing_returns_to_a_home_that_is_in_a_long_turn() {
        let view = |home_turn_ns| StolenView { steals_in_a_row: 1, cost_ns: 20, home_turn_ns };
        assert!(Affine::DEFAULT.returns_home(&view(1_000)));
        assert!(!Affine::DEFAULT.returns_home(&view(20_000)));
    }

    #[test]
    fn the_home_moves_when_the_same_thief_comes_again() {
        let rehome = |steals_in_a_row, cost_ns| {
            Affine::DEFAULT.rehome(&StolenView { steals_in_a_row, cost_ns, home_turn_ns: 0 })
        };
        assert!(!rehome(1, 5_000));
        assert!(rehome(2, 5_000));
        assert!(!rehome(31, 20), "what is cheap stays where it is warm");
        assert!(rehome(32, 20));
    }
}

//! Busy workers: what talks to nobody can be spread evenly over them, for it costs one move and no message.
//!
//! Thieves come only when they have nothing to do. Two busy workers of which one has three times as many runnables as the other
//! stay so for ever in a closed loop, and those runnables get a third of the turns.

use super::Affine;

/// `talk` of a runnable of which nobody knows yet with whom it talks.
pub const TALK_UNKNOWN: u8 = u8::MAX;

/// A worker's queue, beside that of the worker that has least to do.
#[derive(Clone, Copy, Debug)]
pub struct LoadView {
    /// Runnables in its queue.
    pub len: usize,
    /// Measured nanoseconds per turn, exponentially weighted.
    pub turn_ns: u64,
    /// How long what stands last in the other's queue waits, as that worker said when it last looked: nanoseconds.
    pub other_wait_ns: u64,
    /// How many looks in a row have found a surplus, this one included.
    pub looks: u32,
}

impl Affine {
    /// How many runnables more than its even share a worker has.
    pub(super) fn surplus(&self, view: &LoadView) -> usize {
        let own_ns = view.turn_ns.saturating_mul(view.len as u64);
        let more_ns = own_ns.saturating_sub(view.other_wait_ns);
        if view.turn_ns == 0 || more_ns < own_ns / self.imbalance_worth_moving {
            return 0;
        }
        // Each that moves makes the one queue shorter, and the other longer. To the nearest: with 12 and 12 that are not
        // quite equally long nothing moves, with 13 and 11 one does.
        let even = more_ns.saturating_add(view.turn_ns / 2) / (2 * view.turn_ns);
        (even as usize).min(view.len.saturating_sub(1))
    }

    /// Whether the surplus has lasted long enough; whoever has nothing to do gets it at once.
    pub(super) fn hands_over(&self, view: &LoadView) -> bool {
        view.other_wait_ns == 0 || view.looks >= self.looks_to_hand_over
    }

    /// Whether something with so much talk can be anywhere.
    pub(super) fn moves_freely(&self, talk: u8) -> bool {
        talk <= self.talk_that_holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(len: usize, other_len: u64) -> LoadView {
        LoadView { len, turn_ns: 1_000, other_wait_ns: other_len * 1_000, looks: 1 }
    }

    #[test]
    fn a_surplus_is_what_makes_both_even() {
        let surplus = |own, other| Affine::DEFAULT.surplus(&view(own, other));
        assert_eq!(surplus(24, 0), 12);
        assert_eq!(surplus(18, 6), 6);
        assert_eq!(surplus(13, 11), 1);
        assert_eq!(surplus(12, 12), 0);
        assert_eq!(surplus(11, 13), 0);
        assert_eq!(surplus(1, 0), 0, "what runs alone stays where it is warm");
        assert_eq!(surplus(0, 0), 0);
    }

    #[test]
    fn small_differences_are_noise() {
        let slower = LoadView { turn_ns: 1_100, ..view(120, 120) };
        assert_eq!(Affine::DEFAULT.surplus(&slower), 0);
        assert_eq!(Affine::DEFAULT.surplus(&LoadView { turn_ns: 0, ..view(9, 0) }), 0);
    }

    #[test]
    fn only_the_idle_get_at_once_what_may_be_a_passing_surplus() {
        assert!(Affine::DEFAULT.hands_over(&view(24, 0)));
        assert!(!Affine::DEFAULT.hands_over(&view(24, 6)));
        assert!(Affine::DEFAULT.hands_over(&LoadView { looks: 3, ..view(24, 6) }));
    }

    #[test]
    fn what_talks_is_held() {
        assert!(Affine::DEFAULT.moves_freely(0));
        assert!(
            !Affine::DEFAULT.moves_freely(16),
            "one message in or out for each that it handles"
        );
        assert!(!Affine::DEFAULT.moves_freely(TALK_UNKNOWN));
    }
}

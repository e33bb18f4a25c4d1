//! The flush policy: it decides when a frame that is not full leaves. The aggregators of the
//! runtime and of the simulation (`sim`) use it.
//!
//! The policy holds a frame only if it expects more messages meanwhile, at the rate of late. It
//! holds the frame for at most twice the time that a frame takes to fill at that rate: if it is not
//! full by then, messages no longer come so fast.

/// A frame of so few messages says that they do not come fast; and for so few it is not held.
const FEW: u32 = 4;

/// FlushReason a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushReason {
    /// Nothing holds it: the sender is free.
    Free,
    /// The oldest message is due.
    Due,
    /// A worker has nothing else to do.
    Idle,
}

/// The rate of messages for one destination, and the decision that follows from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlushPolicy {
    /// The time at which the last frame left, and its number of messages.
    last: Option<(u64, u32)>,
    /// The recent time from one message to the next; 0: not known.
    message_ns: u64,
    /// Bytes of a message in the last frame, its head included.
    message_bytes: u64,
}

impl FlushPolicy {
    /// Whether the open frame leaves now, for a sender that is free. `first_ns`: when its oldest
    /// message came. `is_idle`: who takes it has run out of work. It is held for `hold_ns`
    /// at most, and is full with `frame_bytes`.
    pub(crate) fn leaves(
        &self,
        now_ns: u64,
        first_ns: u64,
        is_idle: bool,
        hold_ns: u64,
        frame_bytes: usize,
    ) -> Option<FlushReason> {
        let is_fast = self.last.is_some_and(|(last_ns, messages)| {
            messages > FEW && first_ns.saturating_sub(last_ns) < hold_ns
        });
        let due_ns = self.due_ns(first_ns, hold_ns, frame_bytes);
        if !is_fast || due_ns == first_ns {
            Some(FlushReason::Free)
        } else if now_ns >= due_ns {
            Some(FlushReason::Due)
        } else {
            is_idle.then_some(FlushReason::Idle)
        }
    }

    /// The time at which the open frame is due, if it is held.
    pub(crate) fn due_ns(&self, first_ns: u64, hold_ns: u64, frame_bytes: usize) -> u64 {
        first_ns.saturating_add(self.hold_ns(hold_ns, frame_bytes))
    }

    /// How long a frame is held at the rate of late: not at all if few messages would come
    /// meanwhile.
    fn hold_ns(&self, most_ns: u64, frame_bytes: usize) -> u64 {
        if self.message_ns == 0 {
            return most_ns;
        }
        if self.message_ns.saturating_mul(FEW.into()) > most_ns {
            return 0;
        }
        let fits = frame_bytes as u64 / self.message_bytes.max(1);
        most_ns.min(self.message_ns.saturating_mul(2 * fits.max(1)))
    }

    /// A frame of so many messages, and bytes, has left. A pause before it counts as `hold_ns` at
    /// most: it says nothing of what comes next.
    pub(crate) fn left(&mut self, now_ns: u64, messages: u32, bytes: usize, hold_ns: u64) {
        let count = u64::from(messages.max(1));
        if let Some((last_ns, _)) = self.last {
            let each_ns = now_ns.saturating_sub(last_ns).min(hold_ns) / count;
            self.message_ns =
                if self.message_ns == 0 { each_ns } else { (3 * self.message_ns + each_ns) / 4 };
        }
        self.message_bytes = bytes as u64 / count;
        self.last = Some((now_ns, messages));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD_NS: u64 = 10_000;
    const FRAME_BYTES: usize = 16_000;

    /// After frames of so many messages of 80 bytes, one every so many nanoseconds.
    fn after(frames: u64, messages: u32, every_ns: u64) -> (FlushPolicy, u64) {
        let mut policy = FlushPolicy::default();
        for frame in 0..frames {
            policy.left(frame * every_ns, messages, messages as usize * 80, HOLD_NS);
        }
        (policy, (frames - 1) * every_ns)
    }

    fn leaves(policy: &FlushPolicy, now_ns: u64, first_ns: u64) -> Option<FlushReason> {
        policy.leaves(now_ns, first_ns, false, HOLD_NS, FRAME_BYTES)
    }

    #[test]
    fn a_frame_is_held_no_longer_than_one_takes_to_fill() {
        // 20 ns each, and 200 fit.
        let (policy, now_ns) = after(5, 100, 2_000);
        assert_eq!(leaves(&policy, now_ns + 7_999, now_ns), None);
        assert_eq!(leaves(&policy, now_ns + 8_000, now_ns), Some(FlushReason::Due));
        // 200 ns each: that would take longer than a frame may be held at all.
        let (policy, now_ns) = after(5, 10, 2_000);
        assert_eq!(leaves(&policy, now_ns + 9_999, now_ns), None);
        assert_eq!(leaves(&policy, now_ns + 10_000, now_ns), Some(FlushReason::Due));
    }

    #[test]
    fn for_few_messages_no_frame_is_held() {
        // Five in 7.5 µs; then frames of one each 3 µs, of which three would come while one is
        // held.
        let (mut policy, mut now_ns) = after(5, 5, 7_500);
        assert_eq!(leaves(&policy, now_ns, now_ns), None);
        for _ in 0..20 {
            now_ns += 3_000;
            policy.left(now_ns, 1, 80, HOLD_NS);
        }
        // By chance, some came together.
        policy.left(now_ns + 9_000, 5, 400, HOLD_NS);
        assert_eq!(leaves(&policy, now_ns + 9_000, now_ns + 9_000), Some(FlushReason::Free));
    }

    #[test]
    fn a_pause_says_nothing_of_what_comes_next() {
        let (mut policy, now_ns) = after(20, 100, 2_000);
        let later_ns = now_ns + 1_000_000_000;
        assert_eq!(leaves(&policy, later_ns, later_ns), Some(FlushReason::Free));
        policy.left(later_ns, 100, 8_000, HOLD_NS);
        assert_eq!(leaves(&policy, later_ns + 1, later_ns + 1), None);
    }
}

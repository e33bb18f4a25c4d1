//! When a frame that is not full leaves: the decision alone, for the gathering places of the runtime and of the simulation (`sim`).

/// A frame of so few messages says that they do not come fast.
const FEW: u32 = 4;

/// Why a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Nothing holds it: the sender is free.
    Free,
    /// Its oldest message is due.
    Due,
    /// A worker has nothing else to do.
    Idle,
}

/// How fast messages come for one destination: when the last frame left, and how many messages it had.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace(Option<(u64, u32)>);

impl Pace {
    /// Whether the open frame leaves now, for a sender that is free. `first_ns`: when its oldest message came. `is_idle`: a worker has run out of work since then.
    pub(crate) fn leaves(
        &self,
        now_ns: u64,
        first_ns: u64,
        is_idle: bool,
        hold_ns: u64,
    ) -> Option<Why> {
        let is_fast = self.0.is_some_and(|(last_ns, messages)| {
            messages > FEW && first_ns.saturating_sub(last_ns) < hold_ns
        });
        if !is_fast {
            Some(Why::Free)
        } else if now_ns.saturating_sub(first_ns) >= hold_ns {
            Some(Why::Due)
        } else {
            is_idle.then_some(Why::Idle)
        }
    }

    /// A frame of so many messages has left.
    pub(crate) fn left(&mut self, now_ns: u64, messages: u32) {
        self.0 = Some((now_ns, messages));
    }
}

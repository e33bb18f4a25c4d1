//! Moving what talks much to where those are that it talks to. Only sends that are sampled anyway are looked at.

use super::Worker;
use crate::policy::TalkView;
use crate::runnable::{Header, IN_TRANSIT, Runnable};
use crate::sync::OwnerCell;
use crate::sync::atomic::Ordering;

/// Runnables of which a worker knows to whom they talk, a power of two: those that send most come by most often, and push out others.
const KNOWN: usize = 64;

/// To which worker a runnable sends, by the sends that were sampled.
#[derive(Clone, Copy, Debug)]
struct Talk {
    /// Whose: it is only compared, and may have ended.
    from: *const Header,
    to: usize,
    in_a_row: u32,
}

/// What a worker knows of whom its runnables talk to.
#[derive(Debug)]
pub(super) struct Talks(OwnerCell<Box<[Talk]>>);

impl Talks {
    /// Of a worker that has others beside it, under a policy that asks.
    pub(super) fn new(asks: bool) -> Self {
        let nobody = Talk { from: std::ptr::null(), to: 0, in_a_row: 0 };
        Talks(OwnerCell::new(vec![nobody; if asks { KNOWN } else { 0 }].into()))
    }

    /// Notes a send; returns how many went to the same worker in a row. `None`: to its own.
    fn note(&self, from: *const Header, to: Option<usize>) -> u32 {
        // Headers are at least 64 bytes apart. Fibonacci hashing: neighbours in memory are spread.
        let hash = (from.addr() as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (hash >> 32) as usize % KNOWN;
        // SAFETY: this worker's thread owns the table, and the closure calls no user code.
        unsafe {
            self.0.with(|talks| {
                let Some(talk) = talks.get_mut(at) else { return 0 };
                let in_a_row = match to {
                    Some(to) if (talk.from, talk.to) == (from, to) => talk.in_a_row + 1,
                    Some(_) => 1,
                    None => 0,
                };
                *talk = Talk { from, to: to.unwrap_or(0), in_a_row };
                in_a_row
            })
        }
    }
}

impl Worker {
    /// The running turn sends to `target`, and that send is sampled. Where its home is said to be elsewhere, the runnable goes there after its next turn,
    /// as something that was stolen does.
    pub(super) fn note_talk(&self, target: Runnable) {
        let Some(talks_to_move) = self.shared.settings.policy.talks_to_move() else { return };
        let may_move = |sender: &Runnable| *sender != target && !sender.header().kind.stays();
        let Some(sender) = self.running().filter(may_move) else { return };
        // Relaxed: a hint.
        let owner = target.header().owner.load(Ordering::Relaxed) & !IN_TRANSIT;
        let other = owner.wrapping_sub(self.first_id) as usize;
        // It may have ended.
        if other >= self.shared.workers() {
            return;
        }
        let to = (other != self.index).then_some(other);
        let in_a_row = self.talks.note(sender.0.as_ptr(), to);
        if in_a_row >= talks_to_move && other < self.shared.working() {
            self.draw(sender, other, in_a_row);
        }
    }

    #[cold]
    fn draw(&self, sender: Runnable, other: usize, in_a_row: u32) {
        // Relaxed: a hint.
        let load_ns = |index: usize| self.shared.load_ns[index].load(Ordering::Relaxed) as u64;
        let view = TalkView {
            in_a_row,
            own: self.index,
            own_ns: load_ns(self.index),
            turn_ns: self.turn_ns.get(),
            other,
            other_ns: load_ns(other),
        };
        if !self.shared.settings.policy.draws(&view) {
            return;
        }
        self.talks.note(sender.0.as_ptr(), None);
        // SAFETY: this worker runs the sender, so it owns it, and the closure calls no user code.
        let moves = unsafe {
            sender.header().private.with(|private| {
                // What was stolen is on its way already.
                let moves = private.home as usize == self.index;
                if moves {
                    (private.home, private.steals, private.away) = (other as u32, 0, 0);
                }
                moves
            })
        };
        self.counters().drawn.add(u64::from(moves));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_with_a_send_to_another_worker_or_its_own() {
        let talks = Talks::new(true);
        let from = std::ptr::without_provenance(0x1000);
        let rows = [Some(1), Some(1), Some(2), Some(2), Some(2), None, Some(2)]
            .map(|to| talks.note(from, to));
        assert_eq!(rows, [1, 2, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn who_comes_by_pushes_out_who_was_there() {
        let talks = Talks::new(true);
        let from = |n: usize| std::ptr::without_provenance(n << 6);
        talks.note(from(1), Some(1));
        // More than there is room for.
        for n in 2..1_000 {
            talks.note(from(n), Some(1));
        }
        assert_eq!(talks.note(from(1), Some(1)), 1);
        assert_eq!(talks.note(from(1), Some(1)), 2);
    }

    #[test]
    fn where_nobody_asks_nothing_is_known() {
        let talks = Talks::new(false);
        let from = std::ptr::without_provenance(0x1000);
        assert_eq!([Some(1), Some(1)].map(|to| talks.note(from, to)), [0, 0]);
    }
}

//! Moving what talks much to where those are that it talks to. Only sends that are sampled anyway are looked at.

use super::Worker;
use crate::policy::pace::LOAD_UNKNOWN_NS;
use crate::policy::{Talk, TalkView, goes, spread};
use crate::runnable::{Header, IN_TRANSIT, Runnable};
use crate::sync::OwnerCell;
use crate::sync::atomic::Ordering;

/// Runnables of which a worker knows to whom they talk, a power of two: those that send most come by most often, and push out others.
const KNOWN: usize = 64;

/// Whom a runnable sends to.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Whose: it is only compared, and may have ended.
    from: *const Header,
    talk: Talk,
}

/// What a worker knows of whom its runnables talk to.
#[derive(Debug)]
pub(super) struct Talks(OwnerCell<Box<[Known]>>);

impl Talks {
    /// Of a worker that has others beside it, under a policy that asks.
    pub(super) fn new(asks: bool) -> Self {
        let nobody = Known { from: std::ptr::null(), talk: Talk::default() };
        Talks(OwnerCell::new(vec![nobody; if asks { KNOWN } else { 0 }].into()))
    }

    /// Notes a send to something at worker `to`; once in `every`, whom the sender talks to.
    fn note(&self, from: *const Header, to: usize, every: u32) -> Option<Talk> {
        // SAFETY: this worker's thread owns the table, and the closure calls no user code.
        unsafe {
            self.0.with(|talks| {
                let known = talks.get_mut(place_of(from))?;
                if known.from != from {
                    *known = Known { from, talk: Talk::default() };
                }
                known.talk.note(to, every).then_some(known.talk)
            })
        }
    }

    /// It moves: what was found out here no longer holds.
    fn forget(&self, from: *const Header) {
        // SAFETY: this worker's thread owns the table, and the closure calls no user code.
        unsafe {
            self.0.with(|talks| {
                if let Some(known) = talks.get_mut(place_of(from)) {
                    *known = Known { from, talk: Talk::default() };
                }
            })
        }
    }
}

/// Headers are at least 64 bytes apart.
fn number_of(header: *const Header) -> u64 {
    header.addr() as u64 >> 6
}

fn place_of(from: *const Header) -> usize {
    (spread(number_of(from)) >> 32) as usize % KNOWN
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
        let to = owner.wrapping_sub(self.first_id) as usize;
        // It may have ended.
        if to >= self.shared.workers() {
            return;
        }
        if let Some(talk) = self.talks.note(sender.0.as_ptr(), to, talks_to_move) {
            self.draw(sender, target, &talk);
        }
    }

    #[cold]
    fn draw(&self, sender: Runnable, target: Runnable, talk: &Talk) {
        let Some((other, other_sends)) = talk.most_elsewhere(self.index) else { return };
        let (own_ns, other_ns) = (self.load_of(self.index), self.load_of(other));
        if own_ns.max(other_ns) >= LOAD_UNKNOWN_NS {
            return;
        }
        let view = TalkView {
            other_sends,
            own_sends: talk.sends_to(self.index),
            goes: goes(number_of(sender.0.as_ptr()), number_of(target.0.as_ptr())),
            own_ns,
            turn_ns: self.turn_ns.get(),
            other_ns,
        };
        if other >= self.shared.working() || !self.shared.settings.policy.draws(&view) {
            return;
        }
        self.talks.forget(sender.0.as_ptr());
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
    fn who_comes_by_pushes_out_who_was_there() {
        let talks = Talks::new(true);
        let from = |n: usize| std::ptr::without_provenance(n << 6);
        talks.note(from(1), 1, 3);
        talks.note(from(1), 1, 3);
        // More than there is room for.
        for n in 2..1_000 {
            talks.note(from(n), 1, 3);
        }
        let asked = [(); 3].map(|()| talks.note(from(1), 1, 3).map(|talk| talk.sends_to(1)));
        assert_eq!(asked, [None, None, Some(3)]);
    }

    #[test]
    fn who_moves_is_known_no_more() {
        let talks = Talks::new(true);
        let from = std::ptr::without_provenance(0x1000);
        talks.note(from, 1, 2);
        talks.forget(from);
        assert!(talks.note(from, 1, 2).is_none());
        assert_eq!(talks.note(from, 0, 2).unwrap().most_elsewhere(0), Some((1, 1)));
    }

    #[test]
    fn where_nobody_asks_nothing_is_known() {
        let talks = Talks::new(false);
        let from = std::ptr::without_provenance(0x1000);
        assert!(talks.note(from, 1, 1).is_none());
    }
}

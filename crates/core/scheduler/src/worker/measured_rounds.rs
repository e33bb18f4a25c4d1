//! What a worker notes of its turns and messages while figures are kept: see [`crate::measure`].

use crate::measure::{Measure, Measuring, Noted, What};
use std::sync::Arc;

/// A round is measured when so many nanoseconds have passed since one was: noting its turns takes
/// some microseconds.
const APART_NS: u64 = 1_000_000;
/// Or after so many rounds, for a clock may stand.
const APART_ROUNDS: u32 = 1_024;
/// Turns and messages that are noted before they find room in the table.
const NOTED_MAX: usize = 512;

/// The rounds of a worker that are measured, and what was noted in them.
///
/// A turn that takes long, is not at home or is of something unknown is timed in any case: each is
/// noted, and counts once. The others are *plain*. They are noted in measured rounds only, and
/// stand for all plain turns since the measured round before.
#[derive(Debug, Default)]
pub(super) struct MeasuredRounds {
    /// What is wanted; `None`: no figures are kept.
    wanted: Option<Arc<Measure>>,
    version: u64,
    /// Whether the present round is measured.
    measures: bool,
    /// The time at which the last measured round ended, and the rounds since then.
    ended_ns: u64,
    rounds: u32,
    /// The turns of this worker when that round ended, and those since then that were not plain.
    turns: u64,
    others: u64,
    /// Plain turns in the present round, if it is measured.
    seen: u64,
    noted: Vec<Noted>,
    /// Where in `noted` the plain turns of the present round are. Their weights are not known yet:
    /// which of the plain turns each was stands there instead.
    plain: Vec<usize>,
}

impl MeasuredRounds {
    /// A round has ended, by this time and with so many turns in all; true if the next one is
    /// measured. `is_on`: figures are kept.
    pub(super) fn end_round(
        &mut self,
        is_on: bool,
        (now_ns, turns): (u64, u64),
        (measuring, index): (&Measuring, usize),
    ) -> bool {
        if !is_on {
            measuring_ends(self, measuring, index);
            return false;
        }
        if let Some(wanted) = measuring.wanted_since(&mut self.version) {
            if self.wanted.is_none() {
                self.turns = turns;
            }
            self.wanted = Some(wanted);
        }
        self.rounds += 1;
        if self.measures && self.seen > 0 {
            self.weigh(turns);
            (self.ended_ns, self.rounds, self.turns) = (now_ns, 0, turns);
            (self.seen, self.others, self.measures) = (0, 0, false);
        }
        if !self.noted.is_empty() && measuring.merge(index, &self.noted) {
            self.noted.clear();
        }
        // A round in which nothing plain ran is as good as none: the next one is measured.
        self.measures |= self.wanted.as_ref().is_some_and(|it| it.is_of_every_turn())
            || now_ns.saturating_sub(self.ended_ns) >= APART_NS
            || self.rounds >= APART_ROUNDS;
        self.measures
    }

    /// The plain turns of the round that has ended stand for all since the one before.
    fn weigh(&mut self, turns: u64) {
        let since = turns.saturating_sub(self.turns).saturating_sub(self.others).max(self.seen);
        let (since, seen) = (u128::from(since), u128::from(self.seen));
        // Shares of a whole, so that together they are that.
        let up_to = |place: u64| (since * u128::from(place) / seen) as u64;
        for at in self.plain.drain(..) {
            let weight = &mut self.noted[at].weight;
            *weight = up_to(*weight + 1) - up_to(*weight);
        }
    }

    /// What is wanted of a kind and a runnable of it: whether the kind is, and the number if that
    /// is. None: neither.
    fn wants(&self, kind: &str, number: impl FnOnce() -> u64) -> Option<(bool, u64)> {
        let wanted = self.wanted.as_ref()?;
        let of_kind = wanted.wants_kind(kind);
        let number = if wanted.has_numbers() { number() } else { 0 };
        let number = if wanted.wants_number(number) { number } else { 0 };
        (of_kind || number != 0).then_some((of_kind, number))
    }

    /// The number, if the contents of messages of this runnable are wanted.
    pub(super) fn wants_contents(&self, number: impl FnOnce() -> u64) -> Option<u64> {
        let wanted = self.wanted.as_ref().filter(|it| it.has_contents())?;
        Some(number()).filter(|&number| wanted.wants_contents(number))
    }

    /// Whether a turn of this kind is to be timed. It counts as one of the round in any case.
    pub(super) fn begin_turn(
        &mut self,
        kind: &'static str,
        number: impl FnOnce() -> u64,
        is_plain: bool,
    ) -> Option<(Noted, bool)> {
        let weight = match (is_plain, self.measures) {
            (true, false) => return None,
            (true, true) => {
                self.seen += 1;
                self.seen - 1
            }
            (false, _) => {
                self.others += 1;
                1
            }
        };
        let (of_kind, number) = self.wants(kind, number)?;
        let what = What::Turn { handled: 0, bytes: 0 };
        Some((Noted { kind, number, of_kind, ns: 0, weight, what }, is_plain))
    }

    /// Notes a turn that has ended, as it began; false if there is no room.
    pub(super) fn end_turn(&mut self, (turn, is_plain): (Noted, bool)) -> bool {
        if self.noted.len() >= NOTED_MAX {
            return false;
        }
        if is_plain {
            self.plain.push(self.noted.len());
        }
        self.noted.push(turn);
        true
    }

    /// Notes a sampled message; false if there is no room.
    pub(super) fn note_message(
        &mut self,
        kind: &'static str,
        number: impl FnOnce() -> u64,
        (name, ns, weight): (&'static str, u64, u64),
    ) -> bool {
        let Some((of_kind, number)) = self.wants(kind, number) else { return true };
        if self.noted.len() >= NOTED_MAX {
            return false;
        }
        let what = What::Message { name };
        self.noted.push(Noted { kind, number, of_kind, ns, weight, what });
        true
    }
}

/// Figures are kept no more: the last that were noted go where the others are, or count as missed.
fn measuring_ends(rounds: &mut MeasuredRounds, measuring: &Measuring, index: usize) {
    if rounds.wanted.is_none() {
        return;
    }
    // A round that goes on stands for itself.
    rounds.weigh(rounds.turns);
    if !measuring.merge(index, &rounds.noted) {
        rounds.noted.iter().for_each(|_| measuring.miss(index));
    }
    // The version stays behind: whoever measures next finds something new.
    *rounds = MeasuredRounds::default();
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn runs(rounds: &mut MeasuredRounds, kind: &'static str) {
        ran(rounds, kind, true);
    }

    fn ran(rounds: &mut MeasuredRounds, kind: &'static str, is_plain: bool) {
        if let Some(mut turn) = rounds.begin_turn(kind, || 5, is_plain) {
            (turn.0.ns, turn.0.what) = (10, What::Turn { handled: 1, bytes: 8 });
            assert!(rounds.end_turn(turn));
        }
    }

    #[test]
    fn a_turn_that_is_timed_in_any_case_counts_once() {
        let (measuring, mut rounds) = (Measuring::new(1), MeasuredRounds::default());
        measuring.begin(Measure::new(), || {});
        assert!(rounds.end_round(true, (APART_NS, 0), (&measuring, 0)));
        runs(&mut rounds, "plain");
        assert!(!rounds.end_round(true, (APART_NS, 1), (&measuring, 0)));
        // Nine plain ones that are not seen, and one of the others.
        runs(&mut rounds, "plain");
        ran(&mut rounds, "long", false);
        assert!(rounds.end_round(true, (2 * APART_NS, 11), (&measuring, 0)));
        ran(&mut rounds, "long", false);
        runs(&mut rounds, "plain");
        rounds.end_round(true, (2 * APART_NS, 13), (&measuring, 0));
        let measured = measuring.measured();
        assert_eq!((measured.kinds["plain"].turns, measured.kinds["long"].turns), (11, 2));
    }

    #[test]
    fn a_measured_round_stands_for_those_since_the_last_one() {
        let (measuring, mut rounds) = (Measuring::new(1), MeasuredRounds::default());
        let at = (&measuring, 0);
        assert!(!rounds.end_round(false, (APART_NS, 10), at), "nobody asks");
        measuring.begin(Measure::new().kind("a"), || {});
        assert!(rounds.end_round(true, (APART_NS, 10), at));
        assert!(rounds.end_round(true, (APART_NS, 10), at), "nothing has run");
        runs(&mut rounds, "a");
        runs(&mut rounds, "other");
        assert!(!rounds.end_round(true, (APART_NS, 12), at), "the next one is too soon");
        assert!(!rounds.end_round(true, (APART_NS + 1, 76), at));
        assert!(rounds.end_round(true, (2 * APART_NS, 112), at));
        runs(&mut rounds, "other");
        runs(&mut rounds, "a");
        runs(&mut rounds, "a");
        runs(&mut rounds, "other");
        assert!(!rounds.end_round(true, (2 * APART_NS + 1, 116), at));
        let measured = measuring.measured();
        assert_eq!(measured.kinds.len(), 1, "{measured:?}");
        assert_eq!(measured.kinds["a"].turns, 1 + 104 / 2);
        assert!((APART_ROUNDS - 1..APART_ROUNDS + 1).contains(
            &(1..).find(|_| rounds.end_round(true, (2 * APART_NS + 1, 116), at)).unwrap_or(0)
        ));
    }

    #[test]
    fn every_turn_is_noted_if_that_is_asked_for() {
        let (measuring, mut rounds) = (Measuring::new(1), MeasuredRounds::default());
        measuring.begin(Measure::new().every_turn().number(5), || {});
        for round in 0..10 {
            assert!(rounds.end_round(true, (1, round), (&measuring, 0)));
            runs(&mut rounds, "a");
            assert!(rounds.note_message("a", || 5, ("add", 7, 2)));
        }
        rounds.end_round(false, (1, 10), (&measuring, 0));
        let measured = measuring.measured();
        assert_eq!((measured.kinds["a"].turns, measured.numbers[&5].1.turns), (10, 10));
        assert_eq!(measured.kinds["a"].messages[0].name, "add");
        assert_eq!(measured.missed, 0);
    }
}

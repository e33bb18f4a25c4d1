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
#[derive(Debug, Default)]
pub(super) struct MeasuredRounds {
    /// What is wanted; `None`: no figures are kept.
    wanted: Option<Arc<Measure>>,
    version: u64,
    /// Whether the present round is measured.
    measures: bool,
    /// The time at which the last measured round ended, and the rounds and turns since then.
    ended_ns: u64,
    rounds: u32,
    /// The turns of this worker when that round ended.
    turns: u64,
    /// Turns in the present round, if it is measured.
    seen: u64,
    /// The first of those that were noted in the present round.
    first: usize,
    noted: Vec<Noted>,
    /// For each turn noted in the present round: which turn of the round it was.
    places: Vec<u64>,
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
            (self.ended_ns, self.rounds, self.turns, self.seen) = (now_ns, 0, turns, 0);
            self.measures = false;
        }
        if !self.noted.is_empty() && measuring.merge(index, &self.noted) {
            self.noted.clear();
        }
        self.first = self.noted.len();
        // A round in which nothing ran is as good as none: the next one is measured.
        self.measures |= self.wanted.as_ref().is_some_and(|it| it.is_of_every_turn())
            || now_ns.saturating_sub(self.ended_ns) >= APART_NS
            || self.rounds >= APART_ROUNDS;
        self.measures
    }

    /// What was noted in the round that has ended stands for all turns since the one before.
    fn weigh(&mut self, turns: u64) {
        let (since, seen) = (turns.saturating_sub(self.turns).max(self.seen), self.seen);
        // Shares of a whole, so that together they are that.
        let up_to = |place: u64| (u128::from(since) * u128::from(place) / u128::from(seen)) as u64;
        let is_turn = |it: &&mut Noted| matches!(it.what, What::Turn { .. });
        let noted = self.noted[self.first..].iter_mut().filter(is_turn);
        for (noted, place) in noted.zip(self.places.drain(..)) {
            noted.weight = up_to(place + 1) - up_to(place);
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

    /// Whether a turn of this kind is to be timed; it counts as one of the round in any case.
    pub(super) fn begin_turn(
        &mut self,
        kind: &'static str,
        number: impl FnOnce() -> u64,
    ) -> Option<Noted> {
        let place = self.seen;
        self.seen += 1;
        let (of_kind, number) = self.wants(kind, number)?;
        let what = What::Turn { handled: 0, bytes: 0 };
        // The weight is not known yet: its place stands for it.
        Some(Noted { kind, number, of_kind, ns: 0, weight: place, what })
    }

    /// Notes a turn that has ended; false if there is no room.
    pub(super) fn end_turn(&mut self, turn: Noted) -> bool {
        if self.noted.len() >= NOTED_MAX {
            return false;
        }
        self.places.push(turn.weight);
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
        if let Some(mut turn) = rounds.begin_turn(kind, || 5) {
            (turn.ns, turn.what) = (10, What::Turn { handled: 1, bytes: 8 });
            assert!(rounds.end_turn(turn));
        }
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

//! A figure that was measured a few times: its median, and the interval in which that lies.

use crate::baseline::Interval;
use crate::grid::NONE;
use actinium_observe::number::{decimal, nanoseconds, rate};

/// How a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Per second.
    Rate,
    Nanoseconds,
    /// Seconds, shown in what suits.
    Seconds,
    Bytes,
    /// A plain number.
    Number,
    /// How often something happened, on average.
    Count,
    /// A part of a whole.
    Share,
    /// A ratio.
    Times,
    /// One divided by what was measured.
    Inverse,
}

impl Unit {
    pub(crate) fn of(self, value: f64) -> f64 {
        if self == Unit::Inverse { 1.0 / value } else { value }
    }

    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Unit::Rate => rate(value),
            Unit::Nanoseconds => nanoseconds(value),
            Unit::Seconds => nanoseconds(value * 1e9),
            Unit::Bytes => format!("{} B", decimal(value, 0)),
            Unit::Number => decimal(value, 5),
            Unit::Count => decimal(value, 2),
            Unit::Share => format!("{} %", decimal(value * 100.0, 1)),
            Unit::Times | Unit::Inverse => format!("{} ×", decimal(value, 3)),
        }
    }
}

/// The values of a figure.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    /// In its unit.
    pub(crate) values: Vec<f64>,
    /// The value that we want, if we named one; else empty.
    pub(crate) wanted: &'static str,
}

impl Measured {
    /// The median and its 95 % interval.
    pub(crate) fn cells(&self) -> [String; 2] {
        let show = |value| self.unit.show(value);
        match Interval::of(&self.values) {
            None => [NONE, "nothing was measured"].map(str::to_owned),
            Some(of) if of.pairs == 1 => [show(of.median), "one run".to_owned()],
            Some(of) if of.low == of.high => [show(of.median), "the same in all runs".to_owned()],
            Some(of) => [show(of.median), format!("{} to {}", show(of.low), show(of.high))],
        }
    }

    /// As a line.
    pub(crate) fn line(&self) -> String {
        let [median, interval] = self.cells();
        let wanted = if self.wanted.is_empty() { "" } else { "; wanted: " };
        format!("{}: {median} ({interval}{wanted}{})", self.what, self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_shown() {
        assert_eq!(Unit::Inverse.show(Unit::Inverse.of(1.25)), "0.800 ×");
        assert_eq!(Unit::Rate.show(2.5e6), "2.50 M/s");
        assert_eq!(Unit::Share.show(0.0514), "5.1 %");
        assert_eq!(Unit::Count.show(2.267), "2.27");
        assert_eq!(Unit::Seconds.show(0.002), Unit::Nanoseconds.show(2e6));
    }

    #[test]
    fn a_line_has_median_interval_and_what_is_wanted() {
        let line = |values: &[f64], wanted| {
            let (what, unit) = ("a call".to_owned(), Unit::Bytes);
            Measured { what, unit, values: values.to_vec(), wanted }.line()
        };
        assert_eq!(line(&[1.0, 2.0, 3.0], "≤ 2 B"), "a call: 2 B (1 B to 3 B; wanted: ≤ 2 B)");
        assert_eq!(line(&[2.0, 2.0], ""), "a call: 2 B (the same in all runs)");
        assert_eq!(line(&[2.0], ""), "a call: 2 B (one run)");
        assert_eq!(line(&[], ""), "a call: - (nothing was measured)");
    }
}

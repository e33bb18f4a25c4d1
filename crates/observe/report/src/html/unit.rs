//! The units of a chart's numbers, which label its axis and its tables.

use serde::{Deserialize, Serialize};

use actinium_observe::number;

/// The unit of a value. The page chooses the prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things: threads, events.
    #[default]
    Count,
    /// Time, given in seconds.
    Seconds,
    /// Things per second.
    PerSecond,
    /// A share of one, shown in percent.
    Share,
    /// Memory, given in bytes.
    Bytes,
    /// Any other: its symbol, as "GeV".
    Other(String),
}

impl Unit {
    /// A value with its unit, in three digits or so; "-" for what is no number.
    ///
    /// ```
    /// use actinium_report::html::Unit;
    ///
    /// assert_eq!(Unit::Seconds.show(0.0123), "12.3 ms");
    /// assert_eq!(Unit::Count.show(4_096.0), "4,096");
    /// assert_eq!(Unit::Share.show(0.97), "97.0 %");
    /// assert_eq!(Unit::Other("GeV".into()).show(91.19), "91.2 GeV");
    /// assert_eq!(Unit::Bytes.show(f64::NAN), "-");
    /// ```
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        if !value.is_finite() {
            return String::from("-");
        }
        match self {
            Unit::Count => digits(value),
            Unit::Seconds => number::nanoseconds(value * 1e9),
            Unit::PerSecond => number::rate(value),
            Unit::Share => number::percent(value),
            Unit::Bytes if value < 0.0 => format!("-{}", number::bytes(-value as u64)),
            Unit::Bytes => number::bytes(value as u64),
            Unit::Other(symbol) if symbol.is_empty() => digits(value),
            Unit::Other(symbol) => format!("{} {symbol}", digits(value)),
        }
    }
}

/// A number without a prefix: whole as it is, else with three digits that count.
fn digits(value: f64) -> String {
    let size = value.abs();
    let after_point = match value.fract() == 0.0 || size >= 99.95 {
        true => 0,
        false if size >= 9.995 => 1,
        false if size >= 0.9995 => 2,
        false => 2 + (-size.log10()).ceil().clamp(0.0, 9.0) as usize,
    };
    number::decimal(value, after_point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_shows_small_large_and_no_numbers() {
        let other = Unit::Other("GeV".into());
        for unit in
            [Unit::Count, Unit::Seconds, Unit::PerSecond, Unit::Share, Unit::Bytes, other.clone()]
        {
            assert_eq!(unit.show(f64::NAN), "-");
            assert_eq!(unit.show(f64::NEG_INFINITY), "-");
            for value in [0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE] {
                assert!(!unit.show(value).is_empty());
            }
        }
        assert_eq!(Unit::Bytes.show(-2048.0), "-2.0 KiB");
        assert_eq!(Unit::PerSecond.show(168.5), "168 /s");
        assert_eq!(other.show(0.001234), "0.00123 GeV");
        assert_eq!(Unit::Count.show(3.58), "3.58");
        assert_eq!(Unit::Other(String::new()).show(2.0), "2");
    }
}

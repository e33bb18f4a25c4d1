//! Numbers as people read them: separators, prefixes, units.
//!
//! What has a prefix has three significant digits, and goes to the next prefix when rounding
//! carries it there: 999.7 ns is "1.00 µs", never "1000 ns". What has no value (a division by zero)
//! is "-".

use std::time::Duration;

/// A count with thousands separators.
///
/// ```
/// use actinium_observe::number::count;
///
/// assert_eq!(count(999), "999");
/// assert_eq!(count(12_345_678), "12,345,678");
/// ```
#[must_use]
pub fn count(n: u64) -> String {
    separated(&n.to_string())
}

/// A decimal number with thousands separators and a fixed number of digits after the point.
///
/// ```
/// use actinium_observe::number::decimal;
///
/// assert_eq!(decimal(1_234_567.891, 1), "1,234,567.9");
/// assert_eq!(decimal(-0.5, 2), "-0.50");
/// assert_eq!(decimal(f64::NAN, 2), "-");
/// ```
#[must_use]
pub fn decimal(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return String::from("-");
    }
    let text = format!("{value:.digits$}");
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.as_str()),
    };
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{sign}{}.{fraction}", separated(whole)),
        None => format!("{sign}{}", separated(text)),
    }
}

/// A rate with a decimal prefix.
///
/// ```
/// use actinium_observe::number::rate;
///
/// assert_eq!(rate(12_345_678.0), "12.3 M/s");
/// assert_eq!(rate(950.0), "950 /s");
/// assert_eq!(rate(0.25), "0.25 /s");
/// ```
#[must_use]
pub fn rate(per_s: f64) -> String {
    let prefixes = [("/s", 1e3), ("k/s", 1e3), ("M/s", 1e3), ("G/s", 1e3), ("T/s", 1e3)];
    scaled(per_s, &prefixes)
}

/// A time in nanoseconds, in the unit that suits it.
///
/// ```
/// use actinium_observe::number::nanoseconds;
///
/// assert_eq!(nanoseconds(85.0), "85 ns");
/// assert_eq!(nanoseconds(1_234_567.0), "1.23 ms");
/// assert_eq!(nanoseconds(5_400e9), "1.50 h");
/// ```
#[must_use]
pub fn nanoseconds(ns: f64) -> String {
    let units = [
        ("ns", 1e3),
        ("µs", 1e3),
        ("ms", 1e3),
        ("s", 60.0),
        ("min", 60.0),
        ("h", 24.0),
        ("d", f64::INFINITY),
    ];
    scaled(ns, &units)
}

/// A duration, in the unit that suits it.
///
/// ```
/// use std::time::Duration;
/// use actinium_observe::number::duration;
///
/// assert_eq!(duration(Duration::from_micros(1_230)), "1.23 ms");
/// ```
#[must_use]
pub fn duration(duration: Duration) -> String {
    nanoseconds(duration.as_secs_f64() * 1e9)
}

/// An amount of memory, with a binary prefix and one digit after the point.
///
/// ```
/// use actinium_observe::number::bytes;
///
/// assert_eq!(bytes(512), "512 B");
/// assert_eq!(bytes(4_096), "4.0 KiB");
/// ```
#[must_use]
pub fn bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut prefixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter().peekable();
    loop {
        let prefix = prefixes.next().unwrap_or_default();
        // What would be shown as 1024.0 belongs to the next prefix.
        if value < 1023.95 || prefixes.peek().is_none() {
            return format!("{value:.1} {prefix}B");
        }
        value /= 1024.0;
    }
}

/// A share of one as a percentage, with one digit after the point.
///
/// ```
/// use actinium_observe::number::percent;
///
/// assert_eq!(percent(0.0123), "1.2 %");
/// ```
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return String::from("-");
    }
    format!("{} %", decimal(share * 100.0, 1))
}

/// Puts a comma between each three digits, from the right.
fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value in the largest unit of which it is at least one; each unit comes with how many of it
/// make the next.
fn scaled(mut value: f64, units: &[(&str, f64)]) -> String {
    if !value.is_finite() {
        return String::from("-");
    }
    let mut at = 0;
    while at + 1 < units.len() && value.abs() >= rounds_up_to(units[at].1) {
        value /= units[at].1;
        at += 1;
    }
    // A whole number of the smallest unit was counted, not rounded.
    let digits = match at == 0 && value.fract() == 0.0 {
        true => 0,
        false => digits_after_point(value),
    };
    format!("{} {}", decimal(value, digits), units[at].0)
}

/// The digits after the point that make three in all, once rounded.
fn digits_after_point(value: f64) -> usize {
    let value = value.abs();
    usize::from(value < rounds_up_to(100.0)) + usize::from(value < rounds_up_to(10.0))
}

/// The least value that is shown as this one, which has at least two digits.
fn rounds_up_to(value: f64) -> f64 {
    if value > 100.0 {
        value - 0.5
    } else if value > 10.0 {
        value - 0.05
    } else {
        value - 0.005
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_stand_between_each_three_digits() {
        let texts = [0, 7, 999, 1_000, 123_456, 1_234_567, u64::MAX].map(count);
        let expected =
            ["0", "7", "999", "1,000", "123,456", "1,234,567", "18,446,744,073,709,551,615"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn decimals_are_rounded_and_signed() {
        assert_eq!(decimal(0.0, 0), "0");
        assert_eq!(decimal(999.96, 1), "1,000.0");
        assert_eq!(decimal(-1_234_567.0, 0), "-1,234,567");
        assert_eq!(decimal(f64::INFINITY, 3), "-");
    }

    #[test]
    fn times_have_three_digits_in_every_unit() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (1.0, "1 ns"),
            (1.5, "1.50 ns"),
            (85.26, "85.3 ns"),
            (999.0, "999 ns"),
            (1_000.0, "1.00 µs"),
            (12_340.0, "12.3 µs"),
            (123_400.0, "123 µs"),
            (1_230_000.0, "1.23 ms"),
            (45_600_000_000.0, "45.6 s"),
            (90_000_000_000.0, "1.50 min"),
            (3.6e12, "1.00 h"),
            (8.64e13, "1.00 d"),
            (8.64e17, "10,000 d"),
            (-1_230.0, "-1.23 µs"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(nanoseconds(ns), text);
        }
    }

    #[test]
    fn rounding_carries_into_the_next_digit_and_the_next_unit() {
        for (ns, text) in [
            (9_994.0, "9.99 µs"),
            (9_996.0, "10.0 µs"),
            (99_940.0, "99.9 µs"),
            (99_960.0, "100 µs"),
            (999.4, "999 ns"),
            (999.7, "1.00 µs"),
            (59_940_000_000.0, "59.9 s"),
            (59_960_000_000.0, "1.00 min"),
        ] {
            assert_eq!(nanoseconds(ns), text);
        }
    }

    #[test]
    fn rates_go_from_a_few_a_day_to_more_than_anybody_has() {
        for (per_s, text) in [
            (0.0, "0 /s"),
            (0.014, "0.01 /s"),
            (1_000.0, "1.00 k/s"),
            (999_600.0, "1.00 M/s"),
            (5.55e9, "5.55 G/s"),
            (1e12, "1.00 T/s"),
            (1e18, "1,000,000 T/s"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(rate(per_s), text);
        }
    }

    #[test]
    fn memory_has_binary_prefixes() {
        for (amount, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(amount), text);
        }
    }
}

//! Values over time in one line of text: a small bar for each.

/// Bars from nothing to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each value, by its share of `full`; a blank for what is no number.
///
/// ```
/// use actinium_report::spark::spark;
///
/// assert_eq!(spark(&[0.0, 0.25, 0.5, 1.0, f64::NAN, 1.5], 1.0), "▁▃▅█ █");
/// ```
#[must_use]
pub fn spark(values: &[f64], full: f64) -> String {
    let bar = |&value: &f64| {
        let share = value / full;
        match share.is_finite() {
            // Rounded, so that what is nearly all or nearly nothing looks so; a negative one
            // becomes 0.
            true => BARS[((share * 7.0).round() as usize).min(7)],
            false => ' ',
        }
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_have_a_place_too() {
        assert_eq!(spark(&[-1.0, f64::INFINITY, 1e300], 1.0), "▁ █");
        assert_eq!(spark(&[0.0, 1.0], 0.0), "  ");
        assert_eq!(spark(&[], 1.0), "");
    }
}

//! Repeated runs of one measurement: the median, how far the runs lie apart, and the ratio of two
//! such measurements.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::number::{decimal, percent};

/// The results of repeated runs; the unit is the caller's.
///
/// It serialises as `{"runs", "median", "min", "max", "spread"}`.
///
/// ```
/// use actinium_observe::Repeat;
///
/// let runs = Repeat::new([10.0, 12.0, 11.0]).unwrap();
/// assert_eq!((runs.median(), runs.min(), runs.max()), (11.0, 10.0, 12.0));
/// assert_eq!(runs.spread(), 2.0 / 11.0);
/// assert_eq!(Repeat::new([]), None);
/// assert_eq!(Repeat::new([f64::NAN]), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The values, at least one, all finite.
    sorted: Vec<f64>,
}

impl Repeat {
    /// The results of some runs; `None` if there is none, or one that is not a finite number.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        if sorted.is_empty() || !sorted.iter().all(|value| value.is_finite()) {
            return None;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Repeat { sorted })
    }

    /// How many runs there were.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sorted.len()
    }

    /// The results in rising order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    /// The result in the middle; of an even number of runs, the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        let (low, high) = ((self.runs() - 1) / 2, self.runs() / 2);
        self.sorted[low].midpoint(self.sorted[high])
    }

    /// The least result.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The greatest result.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.runs() - 1]
    }

    /// The interval in which the median of all possible runs lies by about 95 %, whatever their
    /// distribution: from one run to another, as far from the middle as the sign test says. Of
    /// fewer than six runs it is all of them, and surer it can not be.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        const DEVIATIONS: f64 = 1.96;
        let runs = self.runs() as f64;
        let rank = (runs / 2.0 - DEVIATIONS * runs.sqrt() / 2.0).round().max(1.0) as usize;
        (self.sorted[rank - 1], self.sorted[self.runs() - rank])
    }

    /// The range from the least to the greatest result, as a share of the median: 0.1 are 10 %. If
    /// all are the same it is 0; if only the median is 0 it is infinite, which JSON has as `null`.
    #[must_use]
    pub fn spread(&self) -> f64 {
        match self.max() - self.min() {
            0.0 => 0.0,
            width => width / self.median().abs(),
        }
    }
}

/// "11.00 (10.00 to 12.00, spread 18.2 %, 3 runs)".
impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, min, max] = [self.median(), self.min(), self.max()].map(|x| decimal(x, 2));
        match self.runs() {
            1 => write!(f, "{median} (1 run)"),
            runs => {
                let spread = percent(self.spread());
                write!(f, "{median} ({min} to {max}, spread {spread}, {runs} runs)")
            }
        }
    }
}

impl Serialize for Repeat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Repeat", 5)?;
        fields.serialize_field("runs", &self.runs())?;
        fields.serialize_field("median", &self.median())?;
        fields.serialize_field("min", &self.min())?;
        fields.serialize_field("max", &self.max())?;
        fields.serialize_field("spread", &self.spread())?;
        fields.end()
    }
}

/// How many times one measurement is another: the ratio of the medians, and how far the runs let it
/// lie.
///
/// ```
/// use actinium_observe::{Ratio, Repeat};
///
/// let ours = Repeat::new([19.0, 20.0, 22.0]).unwrap();
/// let theirs = Repeat::new([8.0, 10.0, 11.0]).unwrap();
/// let ratio = Ratio::new(&ours, &theirs).unwrap();
/// assert_eq!(ratio.median, 2.0);
/// assert_eq!((ratio.min, ratio.max), (19.0 / 11.0, 22.0 / 8.0));
/// assert!(ratio.is_clear());
/// assert_eq!(ratio.to_string(), "2.00 × (1.73 to 2.75)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio of the medians.
    pub median: f64,
    /// The ratio of the least run to the greatest run of the other.
    pub min: f64,
    /// The ratio of the greatest run to the least run of the other.
    pub max: f64,
}

impl Ratio {
    /// `of` divided by `to`; `None` if a run of either is negative, or one of `to` is 0.
    #[must_use]
    pub fn new(of: &Repeat, to: &Repeat) -> Option<Self> {
        (of.min() >= 0.0 && to.min() > 0.0).then(|| Ratio {
            median: of.median() / to.median(),
            min: of.min() / to.max(),
            max: of.max() / to.min(),
        })
    }

    /// Whether every run of one is greater than every run of the other: if not, the ratio may be
    /// noise.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.min > 1.0 || self.max < 1.0
    }
}

/// "2.00 × (1.73 to 2.75)".
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, min, max] = [self.median, self.min, self.max].map(|x| decimal(x, 2));
        write!(f, "{median} × ({min} to {max})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat<const N: usize>(values: [f64; N]) -> Repeat {
        Repeat::new(values).expect("there are runs")
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(repeat([3.0]).median(), 3.0);
        assert_eq!(repeat([5.0, 1.0]).median(), 3.0);
        assert_eq!(repeat([9.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(repeat([9.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(repeat([f64::MAX, f64::MAX]).median(), f64::MAX);
    }

    #[test]
    fn the_interval_leaves_out_as_many_runs_at_both_ends() {
        let interval = |runs: u32| Repeat::new((1..=runs).map(f64::from)).map(|it| it.interval());
        // By the binomial distribution these hold the median by 93.8, 96.9, 97.9, 96.5 and 95.7 %.
        for (runs, low, high) in [(5, 1, 5), (6, 1, 6), (10, 2, 9), (15, 4, 12), (25, 8, 18)] {
            assert_eq!(interval(runs), Some((f64::from(low), f64::from(high))));
        }
        assert_eq!(interval(1), Some((1.0, 1.0)));
    }

    #[test]
    fn the_spread_is_a_share_of_the_median() {
        assert_eq!(repeat([4.0]).spread(), 0.0);
        assert_eq!(repeat([0.0, 0.0]).spread(), 0.0);
        assert_eq!(repeat([8.0, 10.0, 12.0]).spread(), 0.4);
        assert_eq!(repeat([-1.0, 0.0, 1.0]).spread(), f64::INFINITY);
        assert_eq!(repeat([-8.0, -10.0, -12.0]).spread(), 0.4);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(Repeat::new([]), None);
        assert_eq!(Repeat::new([1.0, f64::INFINITY]), None);
        assert_eq!(Repeat::new([1.0, f64::NAN]), None);
    }

    #[test]
    fn overlapping_runs_are_not_clear() {
        let ratio = |of, to| Ratio::new(&of, &to).expect("both are positive");
        assert!(ratio(repeat([3.0, 4.0]), repeat([1.0, 2.0])).is_clear());
        assert!(ratio(repeat([1.0, 2.0]), repeat([3.0, 4.0])).is_clear());
        assert!(!ratio(repeat([1.0, 3.0]), repeat([2.0, 4.0])).is_clear());
        assert!(!ratio(repeat([1.0]), repeat([1.0])).is_clear());
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        assert_eq!(Ratio::new(&repeat([1.0]), &repeat([0.0, 1.0])), None);
        assert_eq!(Ratio::new(&repeat([-1.0]), &repeat([1.0])), None);
        let nothing = Ratio::new(&repeat([0.0]), &repeat([2.0])).expect("it is 0");
        assert_eq!((nothing.median, nothing.is_clear()), (0.0, true));
    }

    #[test]
    fn it_is_shown_with_its_spread() {
        assert_eq!(repeat([1.5]).to_string(), "1.50 (1 run)");
        let text = repeat([10.0, 11.0, 12.0]).to_string();
        assert_eq!(text, "11.00 (10.00 to 12.00, spread 18.2 %, 3 runs)");
    }

    #[test]
    fn it_is_summed_up_in_json() {
        let json = serde_json::to_value(repeat([8.0, 12.0, 10.0])).expect("runs are JSON");
        let expected =
            serde_json::json!({"runs": 3, "median": 10.0, "min": 8.0, "max": 12.0, "spread": 0.4});
        assert_eq!(json, expected);
        let json = serde_json::to_value(repeat([-1.0, 1.0])).expect("runs are JSON");
        assert_eq!(json["spread"], serde_json::Value::Null);
    }
}

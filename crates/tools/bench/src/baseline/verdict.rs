//! Turns paired ratios into a word: better, worse, the same, or that nobody can tell.

use serde::Serialize;

/// A change of less than this share is none: the machine can not tell it from noise.
pub(crate) const BAND: f64 = 0.02;
/// A rise or a fall of instructions by more than this share is a change: callgrind's own counts
/// vary by less.
pub(crate) const INSTRUCTIONS_BAND: f64 = 0.005;
/// The number of resamples that are drawn from the pairs' ratios.
const RESAMPLES: usize = 10_000;
/// The share of the medians of all resamples that lies within the interval.
const CONFIDENCE: f64 = 0.95;

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Better,
    Worse,
    Same,
    CannotTell,
}

impl Verdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::CannotTell => "cannot tell",
        }
    }

    /// Whether it names a direction.
    pub(crate) fn is_change(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse)
    }

    /// A cost, this tree's to the baseline's: within `band` of it they are the same.
    pub(crate) fn of_cost(before: f64, after: f64, band: f64) -> Self {
        let most = before * band;
        match after - before {
            more if more > most => Verdict::Worse,
            less if less < -most => Verdict::Better,
            _ => Verdict::Same,
        }
    }
}

/// The median of paired ratios, and the interval in which it lies by 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) pairs: usize,
}

impl Interval {
    /// The percentile bootstrap of the median (Efron, "Bootstrap methods: another look at the
    /// jackknife", 1979), always with the same random numbers, so that the same ratios give the
    /// same interval. `None` without ratios.
    pub(crate) fn of(ratios: &[f64]) -> Option<Self> {
        if ratios.is_empty() {
            return None;
        }
        let mut rng = fastrand::Rng::with_seed(1979);
        let mut drawn = vec![0.0; ratios.len()];
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                drawn.fill_with(|| ratios[rng.usize(..ratios.len())]);
                median(&mut drawn)
            })
            .collect();
        medians.sort_unstable_by(f64::total_cmp);
        let outside = ((1.0 - CONFIDENCE) / 2.0 * RESAMPLES as f64) as usize;
        Some(Interval {
            median: median(&mut ratios.to_vec()),
            low: medians[outside],
            high: medians[RESAMPLES - 1 - outside],
            pairs: ratios.len(),
        })
    }

    /// Where 1 is no change and more is better.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.high < 1.0 - BAND {
            Verdict::Worse
        } else if self.low > 1.0 + BAND {
            Verdict::Better
        } else if self.low >= 1.0 - BAND && self.high <= 1.0 + BAND {
            Verdict::Same
        } else {
            Verdict::CannotTell
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    values[low].midpoint(values[high])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios around `middle`, up to `width` away, evenly.
    fn around(middle: f64, width: f64, pairs: usize) -> Vec<f64> {
        (0..pairs).map(|i| middle + width * (2.0 * i as f64 / (pairs - 1) as f64 - 1.0)).collect()
    }

    fn verdict(ratios: &[f64]) -> Verdict {
        Interval::of(ratios).expect("there are ratios").verdict()
    }

    #[test]
    fn clear_changes_are_named() {
        assert_eq!(verdict(&around(0.9, 0.05, 15)), Verdict::Worse);
        assert_eq!(verdict(&around(1.1, 0.05, 15)), Verdict::Better);
        assert_eq!(verdict(&around(1.0, 0.01, 15)), Verdict::Same);
        assert_eq!(verdict(&around(1.0, 0.5, 15)), Verdict::CannotTell);
        // Within the band it is no change, however sure it is.
        assert_eq!(verdict(&[0.985; 15]), Verdict::Same);
        assert_eq!(verdict(&[0.975; 15]), Verdict::Worse);
    }

    #[test]
    fn the_interval_holds_the_median() {
        let ratios = around(1.0, 0.3, 15);
        let interval = Interval::of(&ratios).expect("there are ratios");
        assert!((interval.median - 1.0).abs() < 1e-12);
        // Of 15 evenly spaced values the fourth and the twelfth, by the binomial distribution: 3.5
        // % lie beyond.
        assert!((interval.low - ratios[3]).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - ratios[11]).abs() < 1e-9, "{interval:?}");
        assert_eq!(Interval::of(&ratios), Some(interval));
        assert_eq!(Interval::of(&[]), None);
    }

    #[test]
    fn one_wild_run_decides_nothing() {
        let mut ratios = vec![1.0; 14];
        ratios.push(0.1);
        assert_eq!(verdict(&ratios), Verdict::Same);
    }

    #[test]
    fn costs_have_a_band_of_their_own() {
        let of = |before, after| Verdict::of_cost(before, after, INSTRUCTIONS_BAND);
        assert_eq!(of(200.0, 201.0), Verdict::Same);
        assert_eq!(of(200.0, 201.1), Verdict::Worse);
        assert_eq!(of(200.0, 198.0), Verdict::Better);
        assert_eq!(of(0.0, 0.0), Verdict::Same);
    }
}

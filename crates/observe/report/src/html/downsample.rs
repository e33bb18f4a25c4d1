//! Long series made short without losing what one looks for: their mean and their extremes.

/// The summary of a series within one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The time at which the bucket begins; all buckets are equally long.
    pub start: f64,
    /// The lowest value in it.
    pub low: f64,
    /// The mean; NaN if there is no value in it.
    pub mean: f64,
    /// The highest value in it.
    pub high: f64,
}

/// A series, given in any order, as buckets of equal length from its first time to its last.
///
/// With `steps`, a value holds until the next point: it counts in the mean as long as it held, and
/// in the extremes of every bucket in which it held. Without, each point counts once, and a bucket
/// without points is left out. A value that is not finite is a gap; a point whose time is not
/// finite is dropped.
///
/// ```
/// use actinium_report::html::downsample;
///
/// let mut points: Vec<(f64, f64)> = (0..=100_000).map(|n| (f64::from(n), 1.0)).collect();
/// points[54_321].1 = 99.0;
/// let buckets = downsample(&points, 100, true);
/// assert_eq!(buckets.len(), 100);
/// assert_eq!((buckets[54].low, buckets[54].high), (1.0, 99.0));
/// assert!((buckets[54].mean - 1.098).abs() < 1e-6);
/// ```
#[must_use]
pub fn downsample(points: &[(f64, f64)], buckets: usize, steps: bool) -> Vec<Bucket> {
    let points = in_order(points);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let buckets = if last.0 > first.0 { buckets.max(1) } else { 1 };
    // Halves, since the difference of two finite numbers may not be finite.
    let half = last.0 / 2.0 - first.0 / 2.0;
    let position = |time: f64| match buckets {
        1 => 0.0,
        _ => (time / 2.0 - first.0 / 2.0) / half * buckets as f64,
    };
    let mut sums = vec![Sum::default(); buckets];
    for (at, &(time, value)) in points.iter().enumerate() {
        let from = position(time);
        sums[(from as usize).min(buckets - 1)].point(value);
        if steps && value.is_finite() {
            let until = points.get(at + 1).map_or(from, |next| position(next.0));
            let mut bucket = from as usize;
            while bucket < buckets && (bucket as f64) < until {
                let held = until.min((bucket + 1) as f64) - from.max(bucket as f64);
                sums[bucket].hold(value, held);
                bucket += 1;
            }
        }
    }
    let of = |(at, sum): (usize, Sum)| Bucket {
        start: first.0 + half * (at as f64 / buckets as f64) * 2.0,
        low: sum.low,
        mean: sum.mean(),
        high: sum.high,
    };
    sums.into_iter().enumerate().filter(|(_, sum)| steps || sum.seen).map(of).collect()
}

/// The points that have a time, in order of it; those of one time as they were given.
pub(super) fn in_order(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(time, _)| time.is_finite()).collect();
    if !points.is_sorted_by(|a, b| a.0 <= b.0) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    points
}

/// The extremes and the sums of a bucket's values so far.
#[derive(Clone, Copy)]
struct Sum {
    seen: bool,
    low: f64,
    high: f64,
    area: f64,
    held: f64,
    sum: f64,
    count: f64,
}

impl Default for Sum {
    fn default() -> Self {
        let (low, high) = (f64::NAN, f64::NAN);
        Sum { seen: false, low, high, area: 0.0, held: 0.0, sum: 0.0, count: 0.0 }
    }
}

impl Sum {
    fn point(&mut self, value: f64) {
        self.seen = true;
        if value.is_finite() {
            self.extremes(value);
            self.sum += value;
            self.count += 1.0;
        }
    }

    fn hold(&mut self, value: f64, held: f64) {
        if held > 0.0 {
            self.extremes(value);
            self.area += value * held;
            self.held += held;
        }
    }

    fn extremes(&mut self, value: f64) {
        // `min` and `max` take the one that is a number.
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    fn mean(&self) -> f64 {
        let mean = if self.held > 0.0 { self.area / self.held } else { self.sum / self.count };
        // A rounded mean may be a hair outside.
        if mean.is_nan() { mean } else { mean.clamp(self.low, self.high) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_counts_as_long_as_it_held() {
        let points = [(0.0, 4.0), (1.0, 0.0), (2.0, 8.0), (2.5, f64::NAN), (3.0, 1.0), (4.0, 1.0)];
        let buckets = downsample(&points, 2, true);
        let expected = [
            Bucket { start: 0.0, low: 0.0, mean: 2.0, high: 4.0 },
            Bucket { start: 2.0, low: 1.0, mean: 5.0 / 1.5, high: 8.0 },
        ];
        assert_eq!(buckets.len(), 2);
        assert_eq!(buckets[0], expected[0]);
        assert!((buckets[1].mean - expected[1].mean).abs() < 1e-12, "{buckets:?}");
        assert_eq!((buckets[1].low, buckets[1].high), (1.0, 8.0));
    }

    #[test]
    fn points_count_once_and_empty_buckets_are_left_out() {
        let points = [(4.0, 9.0), (f64::NAN, 99.0), (0.0, 1.0), (0.5, 3.0), (2.5, f64::NAN)];
        let buckets = downsample(&points, 4, false);
        let starts: Vec<f64> = buckets.iter().map(|bucket| bucket.start).collect();
        assert_eq!(starts, [0.0, 2.0, 3.0]);
        assert_eq!((buckets[0].mean, buckets[2].mean), (2.0, 9.0));
        assert!(buckets[1].mean.is_nan(), "a gap stays a gap");
    }

    #[test]
    fn a_value_that_holds_is_in_every_bucket() {
        let buckets = downsample(&[(0.0, 7.0), (100.0, 1.0)], 10, true);
        assert!(buckets[..9].iter().all(|bucket| (bucket.low, bucket.high) == (7.0, 7.0)));
        assert_eq!((buckets[9].low, buckets[9].mean, buckets[9].high), (1.0, 7.0, 7.0));
    }

    #[test]
    fn points_of_one_time_are_one_bucket() {
        let points: Vec<(f64, f64)> = (0..100).map(|n| (7.0, f64::from(n % 10))).collect();
        for steps in [true, false] {
            let expected = Bucket { start: 7.0, low: 0.0, mean: 4.5, high: 9.0 };
            assert_eq!(downsample(&points, 50, steps), [expected]);
        }
        assert_eq!(downsample(&[], 10, true), []);
    }

    #[test]
    fn the_widest_times_do_not_overflow() {
        let points = [(f64::MIN, 1.0), (0.0, 2.0), (f64::MAX, 3.0)];
        let buckets = downsample(&points, 2, true);
        assert_eq!((buckets[0].start, buckets[1].start), (f64::MIN, 0.0));
        assert_eq!((buckets[0].mean, buckets[1].mean), (1.0, 2.0));
    }

    proptest! {
        #[test]
        fn it_is_bounded_ordered_and_keeps_the_extremes(
            points in prop::collection::vec((0.0..10.0, -5.0..5.0), 1..400), wanted in 0_usize..60, steps: bool
        ) {
            let buckets = downsample(&points, wanted, steps);
            prop_assert!(buckets.len() <= wanted.max(1));
            prop_assert!(buckets.is_sorted_by(|a, b| a.start < b.start));
            prop_assert!(buckets.iter().all(|b| b.low <= b.mean && b.mean <= b.high));
            let most = points.iter().map(|point| point.1).fold(f64::MIN, f64::max);
            let least = points.iter().map(|point| point.1).fold(f64::MAX, f64::min);
            prop_assert_eq!(buckets.iter().map(|b| b.high).fold(f64::MIN, f64::max), most);
            prop_assert_eq!(buckets.iter().map(|b| b.low).fold(f64::MAX, f64::min), least);
        }
    }
}

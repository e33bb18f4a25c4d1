//! Long series made short without losing what one looks for: their extremes.

/// The most points of a series that one bucket keeps.
const PER_BUCKET: usize = 5;

/// Points in order of time, at most `points_max` (but never fewer than five) of them.
///
/// Time is divided into buckets of equal width; of each, the first, the lowest, the highest and the last point stay, and the
/// first without a value, so that a gap stays a gap. A line through them covers, at one bucket per pixel, the
/// same pixels as the line through all. Points whose time is not finite are dropped.
///
/// ```
/// use actinium_observe::report::downsample;
///
/// let mut points: Vec<(f64, f64)> = (0..100_000).map(|n| (f64::from(n), 1.0)).collect();
/// points[54_321].1 = 99.0;
/// let few = downsample(&points, 500);
/// assert!(few.len() <= 500);
/// assert!(few.contains(&(54_321.0, 99.0)));
/// ```
#[must_use]
pub fn downsample(points: &[(f64, f64)], points_max: usize) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(time, _)| time.is_finite()).collect();
    if !points.is_sorted_by(|a, b| a.0 <= b.0) {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let points_max = points_max.max(PER_BUCKET);
    if points.len() <= points_max {
        return points;
    }
    let buckets = points_max / PER_BUCKET;
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    // Halves, since the difference of two finite numbers may not be finite.
    let width = last / 2.0 - first / 2.0;
    let bucket_of = |time: f64| {
        let share = (time / 2.0 - first / 2.0) / width;
        ((share * buckets as f64) as usize).min(buckets - 1)
    };
    let mut kept = Vec::with_capacity(points_max);
    for bucket in points.chunk_by(|a, b| bucket_of(a.0) == bucket_of(b.0)) {
        keep(bucket, &mut kept);
    }
    kept
}

/// Appends what stays of one bucket.
fn keep(bucket: &[(f64, f64)], kept: &mut Vec<(f64, f64)>) {
    let valued = || bucket.iter().enumerate().filter(|(_, point)| point.1.is_finite());
    let lowest = valued().min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(at, _)| at);
    let highest = valued().max_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(at, _)| at);
    let gap = bucket.iter().position(|point| !point.1.is_finite());
    let mut chosen = [Some(0), lowest, highest, gap, Some(bucket.len() - 1)];
    chosen.sort_unstable();
    let mut before = None;
    for at in chosen.into_iter().flatten() {
        if before != Some(at) {
            kept.push(bucket[at]);
        }
        before = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_series_stays_as_it_is_but_in_order() {
        assert_eq!(downsample(&[], 10), []);
        assert_eq!(downsample(&[(1.0, 2.0)], 0), [(1.0, 2.0)]);
        let points = [(2.0, 1.0), (f64::NAN, 9.0), (1.0, 3.0), (f64::INFINITY, 9.0)];
        assert_eq!(downsample(&points, 10), [(1.0, 3.0), (2.0, 1.0)]);
    }

    #[test]
    fn points_of_one_time_keep_their_extremes() {
        let points: Vec<(f64, f64)> = (0..100).map(|n| (7.0, f64::from(n % 10))).collect();
        let few = downsample(&points, 5);
        assert!(few.len() <= 5 && few.contains(&(7.0, 0.0)) && few.contains(&(7.0, 9.0)));
    }

    #[test]
    fn a_gap_stays_a_gap() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|n| (f64::from(n), 1.0)).collect();
        points[5_005].1 = f64::NAN;
        let few = downsample(&points, 100);
        assert!(few.iter().any(|point| point.0 == 5_005.0 && point.1.is_nan()));
    }

    #[test]
    fn the_widest_times_do_not_overflow() {
        let points: Vec<(f64, f64)> = (0..100)
            .map(|n| if n < 50 { (f64::MIN, f64::from(n)) } else { (f64::MAX, f64::from(n)) })
            .collect();
        let few = downsample(&points, 10);
        assert_eq!(few, [(f64::MIN, 0.0), (f64::MIN, 49.0), (f64::MAX, 50.0), (f64::MAX, 99.0)]);
    }

    proptest! {
        #[test]
        fn it_is_bounded_ordered_and_keeps_the_extremes(
            points in prop::collection::vec((0.0..10.0, -5.0..5.0), 1..400), points_max in 5_usize..60
        ) {
            let few = downsample(&points, points_max);
            prop_assert!(few.len() <= points_max.max(5));
            prop_assert!(few.is_sorted_by(|a, b| a.0 <= b.0));
            prop_assert!(few.iter().all(|point| points.contains(point)));
            let most = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::MIN, f64::max);
            let least = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::MAX, f64::min);
            prop_assert_eq!((most(&few), least(&few)), (most(&points), least(&points)));
        }
    }
}

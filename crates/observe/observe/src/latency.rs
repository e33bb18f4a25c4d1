//! Latencies: a histogram of nanoseconds and the quantiles that are reported of it.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize, Serializer};

/// Values above this are counted as this: one minute.
pub const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// How many digits of a value are kept.
const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of latencies from 1 ns to a minute, each kept to three digits.
///
/// Recording never fails and takes constant time; a histogram takes about 210 KiB however much it
/// holds. Longer times than [`LATENCY_NS_MAX`] count as that in the quantiles, and only there: the
/// maximum is exact.
///
/// It serialises as its [`Quantiles`].
///
/// ```
/// use actinium_observe::Latency;
///
/// let mut latency = Latency::new();
/// for ns in 1..=1_000 {
///     latency.record(ns);
/// }
/// let quantiles = latency.quantiles();
/// assert_eq!(quantiles.count, 1_000);
/// assert_eq!(quantiles.quantiles_ns.p50, 500);
/// assert_eq!(quantiles.quantiles_ns.p99_9, 999);
/// assert_eq!(quantiles.quantiles_ns.max, 1_000);
/// ```
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    max_ns: u64,
}

impl Latency {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS);
        Latency { histogram: histogram.expect("these bounds are valid"), max_ns: 0 }
    }

    /// A histogram of `(value in ns, how often)`, such as a scheduler's snapshot or
    /// [`Latency::buckets`].
    ///
    /// ```
    /// use actinium_observe::Latency;
    ///
    /// let latency = Latency::from_buckets([(100, 9), (5_000, 1)]);
    /// assert_eq!(latency.count(), 10);
    /// assert_eq!(latency.quantiles().quantiles_ns.p90, 100);
    /// ```
    #[must_use]
    pub fn from_buckets(buckets: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut latency = Latency::new();
        for (value_ns, count) in buckets {
            latency.record_n(value_ns, count);
        }
        latency
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts a value `count` times; counts stop at `u64::MAX`.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count > 0 {
            let value_in_bounds_ns = value_ns.min(LATENCY_NS_MAX);
            self.histogram.saturating_record_n(value_in_bounds_ns, count);
            self.max_ns = self.max_ns.max(value_ns);
        }
    }

    /// Counts all that another histogram holds.
    ///
    /// ```
    /// use actinium_observe::Latency;
    ///
    /// let mut all = Latency::from_buckets([(100, 1)]);
    /// all.merge(&Latency::from_buckets([(100, 2), (700, 1)]));
    /// assert_eq!((all.count(), all.max_ns()), (4, 700));
    /// ```
    pub fn merge(&mut self, other: &Latency) {
        let same_bounds = "all histograms have the same bounds";
        self.histogram.add(&other.histogram).expect(same_bounds);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The greatest value, exactly; 0 if nothing was counted.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The mean of all values, each to three digits; 0 if nothing was counted.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.histogram.mean()
    }

    /// The value that this share of all values, from 0 to 1, is at most; 0 if nothing was counted.
    ///
    /// ```
    /// use actinium_observe::Latency;
    ///
    /// let latency = Latency::from_buckets([(100, 99), (5_000, 1)]);
    /// assert_eq!(latency.quantile_ns(0.99), 100);
    /// assert_eq!(latency.quantile_ns(1.0), 5_000);
    /// ```
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        // The histogram answers with the greatest value of a bucket, which nobody may have
        // recorded.
        self.histogram.value_at_quantile(share).min(self.max_ns)
    }

    /// The quantiles that Actinium reports.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            count: self.count(),
            quantiles_ns: QuantilesNs {
                p10: self.quantile_ns(0.1),
                p30: self.quantile_ns(0.3),
                p50: self.quantile_ns(0.5),
                p70: self.quantile_ns(0.7),
                p90: self.quantile_ns(0.9),
                p98: self.quantile_ns(0.98),
                p99: self.quantile_ns(0.99),
                p99_9: self.quantile_ns(0.999),
                max: self.max_ns,
            },
        }
    }

    /// Returns the counted values as `(value in ns, how often)` in rising order of value: for a
    /// plot, or for [`Latency::from_buckets`].
    ///
    /// ```
    /// use actinium_observe::Latency;
    ///
    /// let latency = Latency::from_buckets([(700, 1), (100, 3)]);
    /// assert_eq!(latency.buckets().collect::<Vec<_>>(), [(100, 3), (700, 1)]);
    /// ```
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter_recorded().map(|bucket| {
            let value_ns = bucket.value_iterated_to();
            (value_ns.min(self.max_ns), bucket.count_at_value())
        })
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency::new()
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.max_ns == other.max_ns && self.histogram == other.histogram
    }
}

impl Eq for Latency {}

impl Extend<u64> for Latency {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values_ns: I) {
        for value_ns in values_ns {
            self.record(value_ns);
        }
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.quantiles().serialize(serializer)
    }
}

/// The summary of a [`Latency`] that reports contain.
///
/// ```
/// use actinium_observe::Latency;
///
/// let quantiles = Latency::from_buckets([(100, 1)]).quantiles();
/// assert_eq!(
///     serde_json::to_value(quantiles)?,
///     serde_json::json!({
///         "count": 1,
///         "quantiles_ns": {
///             "p10": 100, "p30": 100, "p50": 100, "p70": 100, "p90": 100,
///             "p98": 100, "p99": 100, "p99_9": 100, "max": 100,
///         },
///     }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values were counted.
    pub count: u64,
    /// The quantiles in nanoseconds; all 0 if no value was counted.
    pub quantiles_ns: QuantilesNs,
}

/// Quantiles in nanoseconds: `p90` is the value that 90 % of all values are at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantilesNs {
    /// The 10th percentile.
    pub p10: u64,
    /// The 30th percentile.
    pub p30: u64,
    /// 50 %: the median.
    pub p50: u64,
    /// The 70th percentile.
    pub p70: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 98th percentile.
    pub p98: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p99_9: u64,
    /// The greatest value, exactly.
    pub max: u64,
}

impl QuantilesNs {
    /// Each with its name, in rising order.
    ///
    /// ```
    /// use actinium_observe::Latency;
    ///
    /// let quantiles = Latency::from_buckets([(100, 1)]).quantiles();
    /// let names = quantiles.quantiles_ns.named().map(|(name, _)| name);
    /// assert_eq!(names, ["10 %", "30 %", "50 %", "70 %", "90 %", "98 %", "99 %", "99.9 %", "max"]);
    /// ```
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("10 %", self.p10),
            ("30 %", self.p30),
            ("50 %", self.p50),
            ("70 %", self.p70),
            ("90 %", self.p90),
            ("98 %", self.p98),
            ("99 %", self.p99),
            ("99.9 %", self.p99_9),
            ("max", self.max),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let latency = Latency::default();
        assert!(latency.is_empty());
        assert_eq!(latency.quantiles(), Quantiles::default());
        assert_eq!(latency.buckets().next(), None);
        assert_eq!(latency.mean_ns(), 0.0);
    }

    #[test]
    fn the_quantiles_are_those_of_the_values() {
        let mut latency = Latency::new();
        latency.extend((1..=1_000).rev());
        let expected = [100, 300, 500, 700, 900, 980, 990, 999, 1_000];
        let quantiles = latency.quantiles().quantiles_ns.named();
        assert_eq!(quantiles.map(|(_, ns)| ns), expected);
    }

    #[test]
    fn any_value_can_be_recorded_and_the_maximum_is_exact() {
        let mut latency = Latency::new();
        latency.record(0);
        latency.record(u64::MAX);
        latency.record_n(1_234_567_891, 1);
        assert_eq!(latency.count(), 3);
        assert_eq!(latency.max_ns(), u64::MAX);
        let median_ns = latency.quantile_ns(0.5) as f64;
        assert!((median_ns / 1_234_567_891.0 - 1.0).abs() < 0.001);
        // Of a value that is out of bounds, the quantiles know only that.
        let last_ns = latency.quantile_ns(1.0) as f64;
        assert!((last_ns / LATENCY_NS_MAX as f64 - 1.0).abs() < 0.001);
    }

    #[test]
    fn counts_stop_at_their_maximum() {
        let mut latency = Latency::new();
        latency.record_n(5, u64::MAX);
        latency.record_n(5, u64::MAX);
        assert_eq!(latency.count(), u64::MAX);
        latency.record_n(7, 0);
        assert_eq!(latency.max_ns(), 5);
    }

    #[test]
    fn a_report_can_be_read_back() {
        let latency = Latency::from_buckets([(100, 2), (200, 3)]);
        let json = serde_json::to_string(&latency).expect("a histogram is JSON");
        let read: Quantiles = serde_json::from_str(&json).expect("it is what was written");
        assert_eq!(read, latency.quantiles());
    }

    proptest! {
        /// Buckets carry over what was recorded; a merge is as if all had been recorded in one.
        #[cfg_attr(miri, ignore = "minutes there, and no unsafe code to check")]
        #[test]
        fn nothing_is_lost_on_the_way(
            one in prop::collection::vec((0..u64::MAX, 1..1_000u64), 0..20),
            two in prop::collection::vec((0..100_000u64, 1..1_000u64), 0..20),
        ) {
            let mut merged = Latency::from_buckets(one.iter().copied());
            merged.merge(&Latency::from_buckets(two.iter().copied()));
            let together = Latency::from_buckets(one.iter().chain(&two).copied());
            prop_assert_eq!(&merged, &together);
            let again = Latency::from_buckets(together.buckets());
            prop_assert_eq!(again.count(), together.count());
            for (name, ns) in together.quantiles().quantiles_ns.named() {
                prop_assert!(ns <= together.max_ns(), "{name}");
            }
        }

        /// Three digits: a quantile is off by less than a thousandth.
        #[cfg_attr(miri, ignore = "minutes there, and no unsafe code to check")]
        #[test]
        fn quantiles_are_close(mut values in prop::collection::vec(1..LATENCY_NS_MAX, 1..50)) {
            let mut latency = Latency::new();
            latency.extend(values.iter().copied());
            values.sort_unstable();
            for share in [0.1, 0.5, 0.9, 0.999] {
                let rank = (share * values.len() as f64).ceil() as usize;
                let exact_ns = values[rank - 1] as f64;
                let ns = latency.quantile_ns(share) as f64;
                prop_assert!((ns / exact_ns - 1.0).abs() <= 0.001, "{share}: {ns}, not {exact_ns}");
            }
        }
    }
}

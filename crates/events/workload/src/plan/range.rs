//! A mean, and the values around it.

use serde::{Deserialize, Serialize};

/// A mean with what lies around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Range {
    /// Returns the range of these values; all zero if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut min, mut max) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (count, sum) = (count + 1.0, sum + value);
            (min, max) = (value.min(min), value.max(max));
        }
        if count == 0.0 { Self::default() } else { Self { mean: sum / count, min, max } }
    }
}

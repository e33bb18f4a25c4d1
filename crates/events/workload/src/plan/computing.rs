//! What CPUs have to compute: no run is faster than they do that.

/// A run may seem faster by this factor: clocks are read a little apart, and work ends within two
/// microseconds of its time.
const TOLERANCE: f64 = 1.01;

/// How long the modules of each event compute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Computing {
    /// Of the first events.
    pub(super) events_ns: Vec<u64>,
    /// Whether all events after these are as these, in the same order.
    pub(super) all_repeat: bool,
}

impl Computing {
    /// Returns how long the modules of the first so many events compute together, at least.
    #[must_use]
    pub fn total_s(&self, events: u64) -> f64 {
        let known = self.events_ns.len() as u64;
        let sum = |events: u64| -> f64 {
            self.events_ns.iter().take(events as usize).map(|&ns| ns as f64).sum()
        };
        if events <= known || known == 0 {
            return sum(events) * 1e-9;
        }
        let rest = match self.all_repeat {
            true => sum(known) * (events / known - 1) as f64 + sum(events % known),
            false => {
                let least_ns = self.events_ns.iter().min().copied().unwrap_or(0);
                least_ns as f64 * (events - known) as f64
            }
        };
        (sum(known) + rest) * 1e-9
    }

    /// Returns the rate above which no run of so many events on so many CPUs can be; `None` if
    /// they compute nothing.
    #[must_use]
    pub fn most_events_per_s(&self, events: u64, cpus: usize) -> Option<f64> {
        let total_s = self.total_s(events);
        (total_s > 0.0).then(|| events as f64 * cpus as f64 / total_s)
    }

    /// Says that a run can not have been: it was faster than its CPUs compute.
    ///
    /// # Errors
    /// If it was: both rates, and what to do.
    pub fn check(&self, events: u64, cpus: usize, elapsed_s: f64) -> Result<(), String> {
        let Some(most) = self.most_events_per_s(events, cpus) else { return Ok(()) };
        let rate = events as f64 / elapsed_s;
        if rate <= most * TOLERANCE {
            return Ok(());
        }
        let cpus = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        Err(format!(
            "{rate:.2} events/s are above the ideal: {cpus} can compute {most:.2} events/s at most, so modules have not \
             computed for the times of the file, and the figures say nothing; run it again with no more workers (--workers) on \
             each host than it has CPUs, and report it if that does not help"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all_repeat: bool) -> Computing {
        Computing { events_ns: vec![1_000_000_000, 3_000_000_000], all_repeat }
    }

    #[test]
    fn events_that_repeat_are_known_and_others_take_the_least() {
        assert_eq!([0, 1, 2, 5].map(|events| of(true).total_s(events)), [0.0, 1.0, 4.0, 9.0]);
        assert_eq!([2, 5].map(|events| of(false).total_s(events)), [4.0, 7.0]);
        assert_eq!(of(true).most_events_per_s(4, 2), Some(1.0));
        assert_eq!(Computing::default().most_events_per_s(4, 2), None);
    }

    #[test]
    fn a_run_above_the_ideal_is_an_error_that_names_both_rates() {
        for elapsed_s in [4.0, 100.0, 3.97] {
            assert_eq!(of(true).check(4, 2, elapsed_s), Ok(()));
        }
        let error = of(true).check(4, 2, 3.0).expect_err("above");
        for part in ["1.33 events/s", "1.00 events/s", "2 CPUs", "--workers"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(Computing::default().check(4, 2, 1e-9), Ok(()), "nothing computes");
    }
}

//! All cells: in each, the policies take turns, so that what disturbs one disturbs all.

use super::round::{Run, Setup, run};
use super::settings::{Cell, Settings, Variant};
use super::states::{Aligned, Map, Packed, State};
use crate::Failure;
use actinium::Policy;
use actinium_observe::Repeat;
use actinium_report::Progress;

/// Bytes of a word.
const WORD: u64 = 8;

/// The measurements of one cell.
#[derive(Clone, Debug)]
pub struct Row {
    /// The cell.
    pub cell: Cell,
    /// The measurements of each policy, in the order of the settings.
    pub columns: Vec<Measured>,
}

/// The measurements of one policy in one cell.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The policy.
    pub policy: Policy,
    /// The runs, in the order in which they were made.
    pub runs: Vec<Run>,
}

impl Measured {
    /// Returns one figure of all runs.
    pub fn repeat(&self, of: impl Fn(&Run) -> f64) -> Option<Repeat> {
        Repeat::new(self.runs.iter().map(of))
    }

    /// The median of a figure; NaN if a run has none.
    pub fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.repeat(of).as_ref().map_or(f64::NAN, Repeat::median)
    }

    /// The median of a figure that the system may not tell.
    pub fn median_known(&self, of: impl Fn(&Run) -> Option<u64>) -> Option<f64> {
        let known: Option<Vec<f64>> = self.runs.iter().map(|run| Some(of(run)? as f64)).collect();
        Repeat::new(known?).as_ref().map(Repeat::median)
    }

    /// Seconds of a run.
    pub fn seconds(&self) -> f64 {
        self.median(|run| run.elapsed.as_secs_f64())
    }

    /// How many times the other's time it took: the ratios of runs that were made one after the
    /// other.
    pub fn ratios_to(&self, other: &Measured) -> Option<Repeat> {
        let pairs = self.runs.iter().zip(&other.runs);
        Repeat::new(
            pairs.map(|(own, other)| own.elapsed.as_secs_f64() / other.elapsed.as_secs_f64()),
        )
    }

    /// The median of these ratios.
    pub fn ratio_to(&self, other: &Measured) -> f64 {
        self.ratios_to(other).as_ref().map_or(f64::NAN, Repeat::median)
    }
}

impl Row {
    /// Returns the fastest policy.
    ///
    /// # Panics
    /// If there is none: the settings name at least one policy.
    pub fn best(&self) -> &Measured {
        let by_time = |a: &&Measured, b: &&Measured| a.seconds().total_cmp(&b.seconds());
        self.columns.iter().min_by(by_time).expect("there is a policy")
    }
}

/// Measures all cells.
///
/// # Errors
/// If a system does not start, a run stands still or messages are lost.
pub fn measure(settings: &Settings, quiet: bool) -> Result<Vec<Row>, Failure> {
    let (cells, _) = settings.cells();
    let runs = cells.len() as u64 * settings.repeat.value * settings.policies.value.len() as u64;
    let progress = if quiet { Progress::hidden(runs) } else { Progress::new(runs, "runs") };
    let mut done = 0;
    let mut note = || {
        done += 1;
        progress.set(done);
    };
    let measure = match (settings.variant.value, settings.packed.value) {
        (Variant::Map, _) => measure_cell::<Map>,
        (Variant::Array, true) => measure_cell::<Packed>,
        (Variant::Array, false) => measure_cell::<Aligned>,
    };
    cells.into_iter().map(|cell| measure(settings, cell, &mut note)).collect()
}

fn measure_cell<S: State>(
    settings: &Settings,
    cell: Cell,
    note: &mut dyn FnMut(),
) -> Result<Row, Failure> {
    let size = match settings.variant.value {
        Variant::Array => cell.state.div_ceil(WORD),
        Variant::Map => cell.state,
    };
    let mut states: Vec<S> = (0..cell.actors).map(|_| S::new(size as usize)).collect();
    let column = |&policy: &Policy| Measured { policy, runs: Vec::new() };
    let mut columns: Vec<Measured> = settings.policies.value.iter().map(column).collect();
    // Of a run's messages each has the same share, and at least one: the settings are checked.
    let shares = settings.shares(&cell);
    let each = |messages: u64| u32::try_from(messages / shares).unwrap_or(u32::MAX);
    for round in 0..settings.repeat.value {
        let count = columns.len();
        for turn in 0..count {
            // Each round begins with another policy, so that none always follows the same one.
            let column = &mut columns[(turn + round as usize) % count];
            let setup = Setup {
                workers: settings.workers.value,
                seats: settings.seats.clone(),
                policy: column.policy,
                batch: settings.batch.value,
                accesses: cell.accesses as u32,
                travel: settings.receivers.value.0.map(|skew| (shares, skew)),
                messages: each(settings.messages.value),
                warm_up: each(settings.warm_up.value),
                seed: settings.seed.value.wrapping_add(round),
            };
            let (run, back) = run(&setup, states)?;
            states = back;
            column.runs.push(run);
            note();
        }
    }
    Ok(Row { cell, columns })
}

/// The geometric mean.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        count += 1.0;
    }
    (sum / count).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn measured(policy: Policy, millis: &[u64]) -> Measured {
        let run = |&millis: &u64| Run {
            elapsed: Duration::from_millis(millis),
            first_done: Duration::ZERO,
            longest_wait: None,
            handled: 0,
            turns: 0,
            rehomed: 0,
            pushed: 0,
            stolen: 0,
            switches: None,
            misses: None,
        };
        Measured { policy, runs: millis.iter().map(run).collect() }
    }

    #[test]
    fn ratios_are_those_of_neighbouring_runs() {
        // The machine was twice as slow during the second round.
        let (one, other) =
            (measured(Policy::Pinned, &[10, 20, 10]), measured(Policy::Pool, &[20, 40, 20]));
        assert_eq!((one.ratio_to(&other), other.ratio_to(&one)), (0.5, 2.0));
        let cell = Cell { actors: 1, accesses: 1, state: 64 };
        assert_eq!(Row { cell, columns: vec![other, one] }.best().policy, Policy::Pinned);
    }

    #[test]
    fn what_one_run_does_not_know_has_no_median() {
        let mut one = measured(Policy::Pinned, &[10, 20]);
        one.runs[0].misses = Some(7);
        assert_eq!(one.median_known(|run| run.misses), None);
        one.runs[1].misses = Some(9);
        assert_eq!(one.median_known(|run| run.misses), Some(8.0));
    }

    #[test]
    fn a_geometric_mean_takes_twice_and_half_as_even() {
        assert!((geometric_mean([0.5, 2.0, 1.0]) - 1.0).abs() < 1e-12);
    }
}

//! Patterns of communication, each at several costs of a message: what a second worker adds to one.
//!
//! The other benchmarks have handlers that do nothing. Whether a second worker is worth having
//! depends on what a handler takes, and on who waits for whom.
//!
//! | file | concern |
//! |---|---|
//! | `actors.rs` | an actor that fits all of them |
//! | `shapes.rs` | who sends to whom |

mod actors;
mod shapes;

use crate::baseline::Interval;
use crate::grid::Grid;
use actinium_observe::number::decimal;
use actinium_scheduler::Policy;
use shapes::Shape;
use std::time::Duration;

/// Steps of a handler's loop: nothing, some tenths of a microsecond, some microseconds.
const STEPS: [u32; 3] = [0, 300, 2_000];
/// A system runs so long before it is measured, and so long while it is.
const WARM_UP: Duration = Duration::from_millis(100);
const MEASURED: Duration = Duration::from_millis(300);

/// The table of all patterns.
pub(crate) fn compare(workers: usize, pairs: usize, quick: bool) -> Result<Grid, String> {
    let part = if quick { 100 } else { 1 };
    let times = (WARM_UP / part, MEASURED / part);
    let row = |shape: Shape| {
        let cell = |steps| Case { shape, steps, times }.cell(workers, pairs);
        let cells = STEPS.map(cell).into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok([shape.name().to_owned()].into_iter().chain(cells).collect())
    };
    let heading = |steps: u32| format!("{steps} steps in a handler");
    Ok(Grid {
        title: format!(
            "`affine` with {workers} workers to one, with the 95 % interval of {pairs} pairs; the best other policy.\n\
             Messages per second are compared (`cargo bench -p actinium-bench -- --patterns`)."
        ),
        headings: ["pattern".to_owned()].into_iter().chain(STEPS.map(heading)).collect(),
        rows: Shape::ALL.into_iter().map(row).collect::<Result<_, String>>()?,
        notes: Vec::new(),
    })
}

/// A pattern whose handlers run so many steps.
struct Case {
    shape: Shape,
    steps: u32,
    times: (Duration, Duration),
}

impl Case {
    fn cell(&self, workers: usize, pairs: usize) -> Result<String, String> {
        let mut ratios = vec![Vec::new(); Policy::ALL.len()];
        for pair in 0..pairs {
            let one = self.rate(1, Policy::affine())?;
            // Each pair begins with another policy.
            for turn in 0..Policy::ALL.len() {
                let nth = (pair + turn) % Policy::ALL.len();
                ratios[nth].push(self.rate(workers, Policy::ALL[nth])? / one);
            }
        }
        let named = Policy::ALL.iter().map(Policy::name).zip(&ratios);
        let named: Option<Vec<_>> =
            named.map(|(name, ratios)| Some((name, Interval::of(ratios)?))).collect();
        let (affine, others): (Vec<_>, Vec<_>) =
            named.ok_or("no pairs")?.into_iter().partition(|(name, _)| *name == "affine");
        let best = others.into_iter().max_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        let ((_, own), (name, best)) =
            affine.into_iter().next().zip(best).ok_or("there is no other policy")?;
        let [median, low, high, other] =
            [own.median, own.low, own.high, best.median].map(|ratio| decimal(ratio, 2));
        Ok(format!("{median} × ({low} to {high}); {name} {other} ×"))
    }

    /// Messages per second.
    fn rate(&self, workers: usize, policy: Policy) -> Result<f64, String> {
        let what = |error| format!("{}: {error}", self.shape.name());
        actors::rate(self.shape, self.steps, workers, policy, self.times).map_err(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_run_under_all_policies() {
        let grid = compare(2, 1, true).expect("they run");
        assert_eq!(grid.rows.len(), Shape::ALL.len());
        for row in &grid.rows {
            assert!(row[1..].iter().all(|cell| cell.contains(" × (") && cell.contains("; ")));
            assert!(
                !row.iter().any(|cell| cell.contains("NaN") || cell.contains("inf")),
                "{row:?}"
            );
        }
    }
}

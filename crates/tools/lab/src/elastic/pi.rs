//! Pi: actors each sum a share of the series, slice by slice, in a closed loop: none ever has more
//! than one message.

use super::settings::Settings;
use super::system::system;
use crate::Failure;
use crate::failure::REST;
use actinium::ScaleEvent;
use actinium::prelude::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// One number of workers, with and without elasticity.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Workers, at most.
    pub workers: usize,
    /// The times of runs with all workers from the start.
    pub fixed: Vec<Duration>,
    /// The times of runs that begin with one worker.
    pub elastic: Vec<Duration>,
    /// The changes in the number of workers during the last elastic run, with their reasons.
    pub events: Vec<ScaleEvent>,
    /// The greatest error of any result.
    pub error: f64,
}

/// Sums a share of the series.
struct Summer {
    /// The next term and the one after the last.
    next: u64,
    end: u64,
    slice: u64,
    sum: f64,
    own: Option<Address<Summer>>,
    done: mpsc::Sender<f64>,
}

impl Actor for Summer {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let end = (self.next + self.slice).min(self.end);
        self.sum += terms(self.next, end);
        self.next = end;
        if end == self.end {
            self.own = None;
            // Nobody listens any more if the run was given up.
            let _ = self.done.send(self.sum);
            return;
        }
        let own = self.own.get_or_insert_with(|| ctx.address());
        // It cannot have ended: it runs.
        let _ = own.send(());
    }
}

/// Terms of 4 - 4/3 + 4/5 - ..., which sums up to Pi.
fn terms(from: u64, to: u64) -> f64 {
    let sign = |n: u64| if n.is_multiple_of(2) { 4.0 } else { -4.0 };
    let term = |n: u64| sign(n) / (2 * n + 1) as f64;
    (from..to).map(term).sum()
}

/// Tells all to begin, at once.
struct Starter(Vec<Address<Summer>>);

impl Actor for Starter {
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        for summer in self.0.drain(..) {
            let _ = summer.send(());
        }
    }
}

/// For each number of workers up to the most; `note` is called after each run.
///
/// # Errors
/// If a system does not start.
pub fn measure(settings: &Settings, mut note: impl FnMut()) -> Result<Vec<Point>, Failure> {
    let mut points = Vec::new();
    for workers in 1..=settings.workers.value {
        let mut point = Point { workers, ..Point::default() };
        for round in 0..settings.repeat.value {
            // They take turns, and neither is always the first.
            for elastic in [round % 2 == 0, round % 2 != 0] {
                let (took, pi, events) = run(settings, workers, elastic)?;
                point.error = point.error.max((pi - std::f64::consts::PI).abs());
                if elastic {
                    point.elastic.push(took);
                    point.events = events;
                } else {
                    point.fixed.push(took);
                }
                note();
            }
        }
        points.push(point);
    }
    Ok(points)
}

fn run(
    settings: &Settings,
    workers: usize,
    elastic: bool,
) -> Result<(Duration, f64, Vec<ScaleEvent>), Failure> {
    let system = system(settings, workers, elastic)?;
    let (done, sums) = mpsc::channel();
    let (actors, terms) = (settings.actors.value, settings.terms.value);
    // The first ones take what cannot be divided.
    let bound = |index: u64| (u128::from(terms) * u128::from(index) / u128::from(actors)) as u64;
    let summers = (0..actors).map(|index| {
        let (next, end) = (bound(index), bound(index + 1));
        let slice = (end - next).div_ceil(settings.slices.value).max(1);
        system.spawn(Summer { next, end, slice, sum: 0.0, own: None, done: done.clone() })
    });
    let starter = Starter(summers.collect());
    let starter = system.spawn(starter);
    drop(done);
    system.wait_idle(REST)?;
    let begin = Instant::now();
    starter.send(()).map_err(|error| Failure::Failed(format!("the starter: {error}")))?;
    let sums: Vec<f64> = sums.iter().take(actors as usize).collect();
    let took = begin.elapsed();
    if sums.len() as u64 != actors {
        return Err(Failure::Failed(format!("{} of {actors} sums came", sums.len())));
    }
    let events = system.stats().scale_events;
    system.shutdown(Shutdown::Drop);
    Ok((took, sums.iter().sum(), events))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_sums_up_to_pi() {
        let pi = terms(0, 1_000) + terms(1_000, 1_000_000);
        assert!((pi - std::f64::consts::PI).abs() < 2e-6, "{pi}");
    }
}

//! Simulates cells under policies, on as many threads as there are processors.

use super::Settings;
use crate::Failure;
use actinium::{Elastic, Policy};
use actinium_report::Progress;
use actinium_sim::grid::Cell;
use actinium_sim::{Figures, simulate};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Figures of one cell, in the order of the policies.
pub type CellFigures = Vec<Figures>;

/// Simulates all cells under all of these policies.
///
/// # Errors
/// If a run comes to no end, which is a defect.
pub fn run(
    settings: &Settings,
    cells: &[Cell],
    policies: &[Policy],
    quiet: bool,
) -> Result<Vec<CellFigures>, Failure> {
    let jobs = cells.len() * policies.len();
    let progress = match quiet {
        true => Progress::hidden(jobs as u64),
        false => Progress::new(jobs as u64, "simulations"),
    };
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![None; jobs]));
    let work = || loop {
        // Relaxed: only a count; what each makes is handed over under the lock.
        let job = next.fetch_add(1, Ordering::Relaxed);
        if job >= jobs {
            return;
        }
        let (cell, policy) = (&cells[job / policies.len()], policies[job % policies.len()]);
        let figures = one(settings, cell, policy);
        results.lock().unwrap_or_else(|error| error.into_inner())[job] = Some(figures);
        progress.add(1);
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(jobs.max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().unwrap_or_else(|error| error.into_inner());
    let results: Result<Vec<Figures>, Failure> = results.into_iter().flatten().collect();
    progress.finish();
    Ok(results?.chunks(policies.len()).map(<[Figures]>::to_vec).collect())
}

fn one(settings: &Settings, cell: &Cell, policy: Policy) -> Result<Figures, Failure> {
    let machine = settings.machine(cell.workers)?;
    let mut how = actinium_sim::Settings::new(policy).batch(settings.batch).seed(settings.seed);
    how.elastic = settings.elastic.then_some(Elastic::DEFAULT);
    simulate(&machine, &cell.workload, &how).map_err(|error| {
        Failure::Failed(format!("{}, {}, {policy}: {error}", cell.group, cell.row))
    })
}

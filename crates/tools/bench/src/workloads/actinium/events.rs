//! The shipped reconstruction workload, all of whose modules may run at once and do nothing but mix
//! their inputs.

use crate::benchmark::MODULES;
use actinium_events::{Figures, Processor, Settings};
use actinium_workload::{self as workload, Syntax, Threads, Work, Workload, replay};

/// Events in flight per worker.
const SLOTS_PER_WORKER: usize = 2;

/// Module calls per second. The processor starts workers of its own.
pub(super) fn run(events: u64, workers: usize) -> f64 {
    let (graph, _total) = replay::graph(&idle(), Some(events)).expect("the workload is a graph");
    let settings = Settings::default()
        .workers(workers)
        .slots(SLOTS_PER_WORKER * workers)
        .figures(Figures::Counts);
    let summary = Processor::new(graph, settings).run().expect("no module fails");
    let calls: u64 = summary.modules.iter().map(|module| module.calls).sum();
    assert_eq!((summary.events, calls), (events, events * MODULES));
    calls as f64 * 1e9 / summary.elapsed_ns as f64
}

/// The text is part of the program: the file beside it may be another commit's.
fn idle() -> Workload {
    let text = include_str!("../../../../../../workloads/reconstruction.toml");
    let checked = workload::parse("reconstruction.toml", text, Syntax::Toml);
    let mut workload = checked.expect("the shipped workload has no fault").workload;
    workload.scale_times(0.0);
    workload.set_work(Work::Busy);
    workload.modules.iter_mut().for_each(|module| module.threads = Threads::Concurrent);
    workload
}

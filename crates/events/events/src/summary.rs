//! The summary of a run, from the engine's notes.

use crate::engine::Engine;
use crate::histogram::buckets;
use crate::record::{ModuleFigures, PathFigures, ResourceFigures, RunSummary, Span, Spans, Stuck};
use crate::status::Status;
use actinium_scheduler::sync::lock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums up a run that has ended now.
pub(crate) fn summary(engine: &Engine, status: &Status) -> RunSummary {
    // Relaxed: the run's tasks are gone, or are given up.
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let start_ns = count(&status.start_ns);
    let elapsed_ns = engine.now_ns().saturating_sub(start_ns);
    let modules = modules(engine);
    let paths = engine.layout.paths.iter().enumerate().map(|(p, (name, _))| {
        let mut figures = PathFigures { name: name.clone(), ..Default::default() };
        for counts in engine.notes.iter().map(|notes| &notes.paths[p]) {
            figures.events += counts.events.get();
            figures.passed += counts.passed.get();
            figures.total_ns += counts.total_ns.get();
            figures.max_ns = figures.max_ns.max(counts.max_ns.get());
        }
        figures
    });
    let resources = resources(engine);
    let (mut spans, mut spans_forgotten): (Vec<Span>, u64) = (Vec::new(), 0);
    for notes in &engine.notes {
        let Spans { ring, forgotten, .. } = std::mem::take(&mut *lock(&notes.spans));
        spans_forgotten += forgotten;
        spans.extend(ring.into_iter().map(|span| Span {
            start_ns: span.start_ns.saturating_sub(start_ns),
            end_ns: span.end_ns.saturating_sub(start_ns),
            ..span
        }));
    }
    spans.sort_by_key(|span| (span.start_ns, span.worker));
    let counts = &status.counts;
    RunSummary {
        events: count(&counts.done),
        failed: count(&counts.failed),
        retries: count(&counts.retries),
        stopped: status.asked() > 0,
        abandoned: count(&counts.in_flight),
        ended_by_failure: counts.ended_by_failure(),
        failures: std::mem::take(&mut lock(&engine.failures)),
        stuck: Vec::new(),
        elapsed_ns,
        workers: engine.shared.workers(),
        working: engine.shared.working(),
        pus: engine.shared.settings().pus.clone(),
        slots: engine.slots.len(),
        in_flight_max: count(&counts.in_flight_max),
        latency_buckets: buckets(status.latencies()),
        modules,
        products: engine.products(),
        paths: paths.collect(),
        resources,
        spans,
        spans_forgotten,
        samples: Vec::new(),
    }
}

/// The figures of all modules.
pub(crate) fn modules(engine: &Engine) -> Vec<ModuleFigures> {
    (0..engine.layout.modules).map(|module| module_figures(engine, module)).collect()
}

/// The figures of all resources.
fn resources(engine: &Engine) -> Vec<ResourceFigures> {
    // Relaxed: a statistic.
    let waited_ns = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let figures = |it: &crate::resource::Resource| ResourceFigures {
        name: it.name.clone(),
        waited_ns: waited_ns(&it.waited_ns),
    };
    engine.resources.iter().map(figures).collect()
}

impl Engine {
    /// Sums up a run that does not end, because modules do not return.
    pub(crate) fn stuck_summary(
        &self,
        status: &Status,
        workers: impl Iterator<Item = usize>,
    ) -> RunSummary {
        let of = |worker| {
            let module = self.module_of(worker).map(|module| self.layout.label(module).to_owned());
            Stuck { worker, module }
        };
        RunSummary { stuck: workers.map(of).collect(), ..summary(self, status) }
    }

    /// The module of this run in which a worker is, if it is in one.
    pub(crate) fn module_of(&self, worker: usize) -> Option<u16> {
        self.notes[worker].module.get().checked_sub(1).map(|module| module as u16)
    }
}

fn module_figures(engine: &Engine, module: u16) -> ModuleFigures {
    let label = engine.layout.label(module).to_owned();
    let mut figures = ModuleFigures { label, ..Default::default() };
    figures.at_home = engine.has_home(module).then_some(0);
    for counts in engine.notes.iter().map(|notes| &notes.modules[usize::from(module)]) {
        figures.calls += counts.calls.get();
        figures.busy_ns += counts.busy_ns.get();
        figures.wait_start_ns += counts.wait_start_ns.get();
        figures.wait_resource_ns += counts.wait_resource_ns.get();
        figures.failures += counts.failures.get();
        figures.at_home = figures.at_home.map(|calls| calls + counts.at_home.get());
    }
    figures
}

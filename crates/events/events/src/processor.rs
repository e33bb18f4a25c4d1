//! Running a graph: workers, stopping, and what came of it.

use crate::engine::Engine;
use crate::fill::Feeds;
use crate::future::Polls;
use crate::graph::Graph;
use crate::helper::Helper;
use crate::record::{
    EventEnd, ModuleFigures, PathFigures, ResourceFigures, RunSummary, Sample, Span,
};
use crate::run::{OnEnd, Run};
use crate::settings::{Settings, StartError};
use crate::waits::with_timers_of;
use actinium_scheduler::clock::Until;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::{lock, wait_until};
use actinium_scheduler::task::Tasks;
use actinium_scheduler::{Clock, Ended, STACK_BYTES_ALLOWED, Shared, Worker};
use actinium_topology::{Bind, Seat, Topology};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// Asks a run to stop, from any thread: the first time it takes no more events and finishes those
/// in flight, the second time it ends as soon as the modules that run return.
/// [`Stopper::stop_within`] does not wait for modules that never do.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Stop>);

#[derive(Default)]
struct Stop {
    asked: AtomicU8,
    /// The earliest time of `stop_within`.
    limit: Mutex<Option<Until>>,
    run: OnceLock<Weak<Run>>,
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stop({})", self.asked())
    }
}

impl Stop {
    fn asked(&self) -> u8 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Tells the run, if it has begun, of the time that it has.
    fn apply_limit(&self) {
        let limit = *lock(&self.limit);
        if let (Some(limit), Some(run)) = (limit, self.run.get().and_then(Weak::upgrade)) {
            run.engine.shared.control().end_by(limit);
            // Under its lock, whoever waits for the end has either seen the time or is woken.
            drop(lock(&run.finished));
            run.changed.notify_all();
        }
    }
}

impl Stopper {
    /// Asks, once more.
    pub fn stop(&self) {
        let asked = self.0.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(run) = self.0.run.get().and_then(Weak::upgrade) {
            run.feed.stop();
            if asked > 1 {
                run.finish();
            } else {
                run.changed.notify_all();
                // If nothing is in flight, the end is for the feeder to find.
                run.wake_feeder();
            }
        }
    }

    /// Stops like the first call of [`Stopper::stop`], and after `limit` like the second. Workers
    /// that are still in a module a second after that are given up: [`RunSummary::stuck`] names
    /// them, their threads are left to themselves, and the memory that they may reach is leaked on
    /// purpose.
    pub fn stop_within(&self, limit: Duration) {
        if let Some(at) = Until::after(limit) {
            let mut limit = lock(&self.0.limit);
            *limit = Some(limit.map_or(at, |before| before.min(at)));
        }
        self.0.apply_limit();
        if self.asked() == 0 {
            self.stop();
        }
    }

    /// How often it was asked.
    pub fn asked(&self) -> u8 {
        self.0.asked()
    }
}

/// Has a source that had nothing ([`Next::Later`](crate::Next::Later)) asked again, from any
/// thread. Before the run and after it, it does nothing.
#[derive(Clone, Debug, Default)]
pub struct Feeder(Arc<Stop>);

impl Feeder {
    /// Tells the processor that the source has something again.
    pub fn wake(&self) {
        if let Some(run) = self.0.run.get().and_then(Weak::upgrade) {
            run.wake_feeder();
        }
    }
}

/// Looks at a run from another thread.
#[derive(Clone, Debug, Default)]
pub struct Monitor(Arc<Stop>);

impl Monitor {
    /// Events that have ended, failed ones included.
    pub fn events(&self) -> u64 {
        // Relaxed: statistics.
        self.look(|run| {
            run.feed.done.load(Ordering::Relaxed) + run.feed.failed.load(Ordering::Relaxed)
        })
    }

    /// Events in flight.
    pub fn in_flight(&self) -> u64 {
        // Relaxed: a statistic.
        self.look(|run| run.feed.in_flight.load(Ordering::Relaxed))
    }

    fn look(&self, f: impl FnOnce(&Run) -> u64) -> u64 {
        self.0.run.get().and_then(Weak::upgrade).map_or(0, |run| f(&run))
    }
}

/// Runs a graph once.
pub struct Processor {
    graph: Graph,
    settings: Settings,
    stop: Arc<Stop>,
    on_end: Option<OnEnd>,
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

const WORKERS_MAX: usize = 4_096;
const SLOTS_MAX: usize = 16 << 20;

impl Processor {
    /// A graph with its settings.
    pub fn new(graph: Graph, settings: Settings) -> Self {
        Processor { graph, settings, stop: Arc::default(), on_end: None }
    }

    /// Calls this at the end of each event, when its slot is not yet free: with
    /// [`Order::Input`](crate::Order::Input) in that order. It is called on a worker, for several
    /// events at once, and must not wait.
    #[must_use]
    pub fn on_end(mut self, on_end: impl Fn(&EventEnd<'_>) + Send + Sync + 'static) -> Self {
        self.on_end = Some(Guarded::new(Box::new(on_end)));
        self
    }

    /// Something to have the source asked again with.
    pub fn feeder(&self) -> Feeder {
        Feeder(self.stop.clone())
    }

    /// Something to stop the run with.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Something to look at the run with.
    pub fn monitor(&self) -> Monitor {
        Monitor(self.stop.clone())
    }

    /// Runs all events; the calling thread waits.
    ///
    /// # Errors
    /// If a setting is not allowed, a module can not be made, or the workers can not be started.
    /// What fails later is in the summary.
    pub fn run(self) -> Result<RunSummary, StartError> {
        let Processor { graph, settings, stop, on_end } = self;
        if let Some(workers) = settings.workers.filter(|n| !(1..=WORKERS_MAX).contains(n)) {
            return Err(StartError::Setting("workers", workers, "1 to 4,096"));
        }
        if let Some(slots) = settings.slots.filter(|n| !(1..=SLOTS_MAX).contains(n)) {
            return Err(StartError::Setting("slots", slots, "1 to 16,777,216"));
        }
        if !STACK_BYTES_ALLOWED.contains(&settings.stack_size) {
            return Err(StartError::Setting("stack_size", settings.stack_size, "64 KiB to 1 GiB"));
        }
        let stack_size = settings.stack_size;
        let topology = Topology::detect().map_err(StartError::Topology)?;
        let bind = match &settings.bind {
            Some(bind) => bind.clone(),
            None => Bind::from_env()?.unwrap_or_default(),
        };
        bind.check(&topology)?;
        let usable = topology.usable_workers().workers;
        let workers = settings.workers.unwrap_or(bind.most(usable));
        let seats = topology.seats(&bind, workers)?;
        seats.remarks.iter().for_each(|remark| eprintln!("actinium: warning: {remark}"));
        let pus = seats.pus();
        let shared = Shared::new(
            actinium_scheduler::Settings {
                workers,
                policy: settings.policy,
                batch: 64,
                batch_time: Duration::from_micros(100),
                figures: false,
                elastic: None,
                pus,
            },
            Some(&topology),
            Clock::real(),
        );
        let shared = Arc::new(shared);
        let run = Arc::new(Run::new(graph, settings, shared.clone(), on_end)?);
        let engine = &run.engine;
        let _ = stop.run.set(Arc::downgrade(&run));
        if stop.asked() > 0 {
            run.feed.stop();
        }
        stop.apply_limit();
        let tasks = Arc::new(Tasks::new(shared.clone()));
        start_tasks(&run, &tasks, workers);
        // Before the first worker can run anything: nothing happens before the begin.
        let start_ns = engine.now_ns();
        let threads = start_workers(&run, &tasks, (seats.seats, stack_size))?;
        let samples = watch(&run, start_ns);
        let elapsed_ns = engine.now_ns() - start_ns;
        shared.request_exit();
        let stuck = shared.control().wait_ended(|worker| engine.stuck(worker));
        for (index, thread) in threads.into_iter().enumerate() {
            if stuck.iter().all(|(worker, _)| *worker != index) {
                // A worker never panics: it aborts the process.
                let _ = thread.join();
            }
        }
        engine.splits.clear();
        engine.woken.clear();
        let mut summary = summary(&run, &stop, samples, start_ns, elapsed_ns);
        summary.stuck = stuck.into_iter().map(|(_, stuck)| stuck).collect();
        Ok(summary)
    }
}

/// Starts the slot tasks; for each worker one for what modules split, and one for their futures;
/// and one that asks the source again.
fn start_tasks(run: &Arc<Run>, tasks: &Tasks, workers: usize) {
    let engine = &run.engine;
    engine.slot_tasks.start(tasks, || {
        let (run, anchor) = (run.clone(), Arc::new(engine.clone()));
        move |wanted, worker: &Worker| run.turn(&anchor, wanted, worker)
    });
    let kind = Arc::new(Kind::staying("helper"));
    let helper = |worker| tasks.start(&kind, worker, Box::new(Helper(engine.clone())));
    engine.splits.set_helpers((0..workers).map(helper).collect());
    let kind = Arc::new(Kind::staying("poller"));
    let poller = |worker| tasks.start(&kind, worker, Box::new(Polls(engine.clone(), worker)));
    engine.woken.set_pollers((0..workers).map(poller));
    let kind = Arc::new(Kind::staying("feeder"));
    let _ = run.feeder.set(tasks.start(&kind, 0, Box::new(Feeds(run.clone()))));
}

fn start_workers(
    run: &Arc<Run>,
    tasks: &Arc<Tasks>,
    (seats, stack_size): (Vec<Seat>, usize),
) -> Result<Vec<std::thread::JoinHandle<()>>, StartError> {
    let shared = run.engine.shared.clone();
    let mut threads = Vec::new();
    for (index, seat) in seats.into_iter().enumerate() {
        let (own, tasks, run) = (shared.clone(), tasks.clone(), run.clone());
        let thread = std::thread::Builder::new()
            .name(format!("actinium-{index}"))
            .stack_size(stack_size)
            .spawn(move || work(own, &tasks, &run, index, &seat));
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.never_started(index);
                shared.request_exit();
                threads.into_iter().for_each(|thread| drop(thread.join()));
                return Err(StartError::Thread(error));
            }
        }
    }
    Ok(threads)
}

fn work(shared: Arc<Shared>, tasks: &Tasks, run: &Arc<Run>, index: usize, seat: &Seat) {
    if let Err(error) = seat.bind_current_thread() {
        eprintln!("actinium: worker {index} can not be placed: {error}");
    }
    let worker = Worker::new(shared, index);
    let outcome = actinium_scheduler::guard::catch(|| {
        worker.enter(|worker| {
            with_timers_of(&run.engine, || {
                if index == 0 {
                    run.feed(None, worker);
                }
                worker.run();
                tasks.end(worker)
            })
        })
    });
    match outcome {
        Ok(Ended::One | Ended::Last) => {}
        // Others may still look at what is in it.
        Ok(Ended::GivenUp) => std::mem::forget(worker),
        Err(_) => {
            // Modules' panics are caught where they are called: this is a defect of the runtime.
            eprintln!("actinium: a defect of the runtime on {worker:?}");
            std::process::abort();
        }
    }
}

/// Waits for the end, and notes how things stand meanwhile.
fn watch(run: &Run, start_ns: u64) -> Vec<Sample> {
    /// Beyond so many samples every other one goes, and the interval doubles.
    const SAMPLES_MAX: usize = 4_096;
    let engine = &run.engine;
    let mut samples: Vec<Sample> = Vec::new();
    let mut every = engine.settings.sample_every;
    let mut busy_before: Vec<u64> = vec![0; engine.notes.len()];
    let mut before_ns = engine.now_ns();
    let mut finished = lock(&run.finished);
    while !*finished {
        let next_ns = every.map(|interval| before_ns + interval.as_nanos() as u64);
        let now_ns = engine.now_ns();
        let sample = next_ns.map(|next| Duration::from_nanos(next.saturating_sub(now_ns)));
        // What is in flight has so much time, if any.
        let limit = engine.shared.control().limit().map(Until::left);
        if limit.is_some_and(|left| left.is_zero()) {
            break;
        }
        let until = sample.into_iter().chain(limit).min().and_then(Until::after);
        finished = wait_until(&run.changed, finished, until).0;
        let now_ns = engine.now_ns();
        if next_ns.is_none_or(|next| now_ns < next) {
            continue;
        }
        let took_ns = (now_ns - before_ns).max(1);
        let mut running = 0;
        let busy = engine.notes.iter().zip(&mut busy_before).map(|(notes, before)| {
            let since_ns = notes.since_ns.get();
            running += usize::from(since_ns != 0);
            let so_far = notes.busy_ns.get()
                + if since_ns == 0 { 0 } else { now_ns.saturating_sub(since_ns) };
            let ran_ns = so_far.saturating_sub(std::mem::replace(before, so_far));
            (ran_ns as f32 / took_ns as f32).min(1.0)
        });
        let busy = busy.collect();
        // Relaxed: statistics.
        let waiting =
            engine.resources.iter().map(|it| it.waiting.load(Ordering::Relaxed) as u32).collect();
        let in_flight = run.feed.in_flight.load(Ordering::Relaxed);
        samples.push(Sample { at_ns: now_ns - start_ns, running, busy, in_flight, waiting });
        before_ns = now_ns;
        if samples.len() >= SAMPLES_MAX {
            let mut keep = false;
            samples.retain(|_| {
                keep = !keep;
                keep
            });
            every = every.map(|every| every * 2);
        }
    }
    samples
}

fn summary(
    run: &Run,
    stop: &Stop,
    samples: Vec<Sample>,
    start_ns: u64,
    elapsed_ns: u64,
) -> RunSummary {
    let engine = &run.engine;
    // Relaxed: the workers have ended, which joining their threads orders.
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let modules = (0..engine.layout.source).map(|module| module_figures(engine, module));
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
    let resources = engine
        .resources
        .iter()
        .map(|it| ResourceFigures { name: it.name.clone(), waited_ns: count(&it.waited_ns) });
    let mut spans: Vec<Span> = Vec::new();
    for notes in &engine.notes {
        let ring = std::mem::take(&mut lock(&notes.spans).ring);
        spans.extend(ring.into_iter().map(|span| Span {
            start_ns: span.start_ns.saturating_sub(start_ns),
            end_ns: span.end_ns.saturating_sub(start_ns),
            ..span
        }));
    }
    spans.sort_by_key(|span| (span.start_ns, span.worker));
    let feed = &run.feed;
    RunSummary {
        events: count(&feed.done),
        failed: count(&feed.failed),
        retries: count(&feed.retries),
        stopped: stop.asked() > 0,
        abandoned: count(&feed.in_flight),
        ended_by_failure: feed.ended_by_failure(),
        failures: std::mem::take(&mut lock(&engine.failures)),
        stuck: Vec::new(),
        elapsed_ns,
        workers: engine.shared.workers(),
        pus: engine.shared.settings().pus.clone(),
        slots: engine.slots.len(),
        in_flight_max: count(&feed.in_flight_max),
        modules: modules.collect(),
        paths: paths.collect(),
        resources: resources.collect(),
        spans,
        samples,
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

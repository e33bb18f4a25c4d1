//! Running a graph, on a system or on one of its own.

use crate::controls::{Feeder, Monitor, Stopper};
use crate::engine::Engine;
use crate::exclusives::Exclusives;
use crate::feed::Feed;
use crate::fill::Feeds;
use crate::future::Polls;
use crate::graph::Graph;
use crate::helper::Helper;
use crate::over::{Over, Work};
use crate::record::{EventEnd, Figures, RunSummary};
use crate::run::{OfWorker, OnEnd, Run};
use crate::running::Running;
use crate::settings::{Settings, StartError};
use crate::slot_tasks::SlotTasks;
use crate::status::{Controlled, Status};
use actinium_actor::{Observer, Shutdown, System, SystemHandle};
use actinium_drawing::Drawing;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::runnable::Kind;
use actinium_scheduler::task::{Task, TaskRef};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// Runs a graph once: on a [`System`] beside actors and other graphs ([`Processor::start`]), or on
/// a system of its own ([`Processor::run`]).
pub struct Processor {
    graph: Graph,
    settings: Settings,
    status: Arc<Status>,
    on_end: Option<OnEnd>,
    observers: Vec<Box<dyn Observer>>,
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

const SLOTS_MAX: usize = 16 << 20;
const WEIGHT_MAX: u32 = 1_000;

impl Processor {
    /// A graph with its settings.
    pub fn new(graph: Graph, settings: Settings) -> Self {
        let status = Arc::new(Status::new(graph.name().to_owned()));
        Processor { graph, settings, status, on_end: None, observers: Vec::new() }
    }

    /// Calls this at the end of each event, when its slot is not yet free: with
    /// [`Order::Input`](crate::Order::Input) in that order. It is called on a worker, for several
    /// events at once, and must not wait. To tell an actor: `move |end|
    /// address.tell(Msg::Ended(end.number))`.
    #[must_use]
    pub fn on_end(mut self, on_end: impl Fn(&EventEnd<'_>) + Send + Sync + 'static) -> Self {
        self.on_end = Some(Guarded::new(Box::new(on_end)));
        self
    }

    /// For [`Processor::run`]: has this observe the system that the run makes for itself. To trace
    /// what each worker does, calls of modules included: `TraceToFile` of the crate
    /// `actinium-monitor`, the facade's feature `monitor`.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// The graph, to be drawn: see [`Graph::drawing`].
    pub fn drawing(&self) -> Drawing {
        self.graph.drawing()
    }

    /// Something to have the source asked again with.
    pub fn feeder(&self) -> Feeder {
        Feeder(self.status.clone())
    }

    /// Something to stop the run with.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.status.clone())
    }

    /// Something to look at the run with.
    pub fn monitor(&self) -> Monitor {
        Monitor(self.status.clone())
    }

    /// Starts the run on the workers of a system, beside its actors and other graphs. When the
    /// system drains, it stops the run, and waits for the events in flight.
    ///
    /// Actors and graphs share each worker by turns: between two turns of an actor that has
    /// messages there are at most 16 turns of all graphs together on its worker. A turn of a graph
    /// is one module, or several short ones. Graphs share what they get by their
    /// [weights](Settings::weight).
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Shutdown, System};
    /// use actinium_events::{Analyzer, Builder, Cause, Event, Input, Next, Processor, RunSummary};
    /// use actinium_events::{Settings, Source, Threads};
    /// # struct Numbers;
    /// # impl Source for Numbers {
    /// #     type Product = u64;
    /// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
    /// #         Ok(if number < 10 { Next::Event(number) } else { Next::End })
    /// #     }
    /// # }
    ///
    /// /// Adds up what a graph sends it.
    /// struct Sum(u64);
    ///
    /// impl Actor for Sum {
    ///     type Msg = u64;
    ///     fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
    ///         self.0 += n;
    ///     }
    /// }
    ///
    /// struct Send(Input<u64>, actinium_actor::Address<Sum>);
    ///
    /// impl Analyzer for Send {
    ///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
    ///         self.1.tell(*event.get(self.0));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(2).build()?;
    /// let sum = system.spawn(Sum(0));
    /// let mut builder = Builder::new("numbers", Numbers);
    /// builder.analyzer("send", Threads::Concurrent, move |inputs| {
    ///     Send(inputs.get("numbers"), sum.clone())
    /// });
    /// let running = Processor::new(builder.build()?, Settings::default()).start(&system)?;
    /// let summary: RunSummary = running.wait()?;
    /// assert_eq!((summary.events, summary.failed), (10, 0));
    /// let report = system.shutdown(Shutdown::Drain);
    /// assert_eq!(report.handled, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a setting is not allowed, or is one of those that only [`Processor::run`] uses; a module
    /// can not be made; another graph on the system uses an exclusive resource of the same name; or
    /// the system drains or has ended. Then nothing has begun.
    pub fn start(self, system: &SystemHandle) -> Result<Running, StartError> {
        let given = [
            ("workers", self.settings.workers.is_some()),
            ("policy", self.settings.policy.is_some()),
            ("elastic", self.settings.elastic),
            ("bind", self.settings.bind.is_some()),
            ("stack_size", self.settings.stack_size.is_some()),
            ("observer", !self.observers.is_empty()),
        ];
        if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(StartError::OfSystem(name));
        }
        self.start_on(system)
    }

    /// Starts the run on the workers of a system, and waits for its end.
    ///
    /// # Errors
    /// As for [`Processor::start`], and at once where a wait would never end.
    pub fn run_on(self, system: &SystemHandle) -> Result<RunSummary, StartError> {
        Ok(self.start(system)?.wait()?)
    }

    /// Runs all events on a system of its own, whose workers are as the settings say; the calling
    /// thread waits.
    ///
    /// # Errors
    /// If a setting is not allowed, a module can not be made, or the workers can not be started.
    /// What fails later is in the summary.
    pub fn run(mut self) -> Result<RunSummary, StartError> {
        let Settings { workers, policy, elastic, stack_size, .. } = self.settings;
        let mut builder = System::builder().counters(false).elastic(elastic);
        if let Some(workers) = workers {
            builder = builder.workers(workers);
        }
        if let Some(policy) = policy {
            builder = builder.policy(policy);
        }
        if let Some(bytes) = stack_size {
            builder = builder.stack_size(bytes);
        }
        if let Some(bind) = self.settings.bind.clone() {
            builder = builder.bind(bind);
        }
        for observer in std::mem::take(&mut self.observers) {
            builder = builder.observer(observer);
        }
        self.check()?;
        let system = builder.build().map_err(StartError::System)?;
        let running = self.start_on(&system)?;
        let summary = running.watch(|| {
            system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
            None
        });
        system.shutdown(Shutdown::Drop);
        Ok(summary)
    }

    fn check(&self) -> Result<(), StartError> {
        if let Some(slots) = self.settings.slots.filter(|n| !(1..=SLOTS_MAX).contains(n)) {
            return Err(StartError::Setting("slots", slots, "1 to 16,777,216"));
        }
        let weight = self.settings.weight;
        if !(1..=WEIGHT_MAX).contains(&weight) {
            return Err(StartError::Setting("weight", weight as usize, "1 to 1,000"));
        }
        Ok(())
    }

    fn start_on(self, system: &SystemHandle) -> Result<Running, StartError> {
        self.check()?;
        let Processor { graph, settings, status, on_end, observers: _ } = self;
        let shared = system.scheduler().clone();
        let (slots, weight) = (settings.slots_or(shared.workers()), settings.weight);
        let exclusives = system.extension(Exclusives::default);
        let claim =
            exclusives.claim(graph.exclusives(), &status.name).map_err(|(name, other)| {
                StartError::Resource { name, graph: status.name.clone(), other }
            })?;
        let (layout, source, instances) = graph.into_parts(slots)?;
        let slot_tasks = system.extension(|| SlotTasks::start(system.tasks(), shared.workers()));
        let engine = Arc::new(Engine::new(layout, settings, shared, slot_tasks));
        if engine.settings.figures >= Figures::Times {
            status.set_workers(engine.shared.workers());
        }
        let work = Arc::new(Work { engine: engine.clone(), status: status.clone() });
        let Some(attached) = system.attach(work.clone()) else {
            engine.slot_tasks.remove(engine.key);
            return Err(StartError::Ending);
        };
        let over = Arc::new(Over { work, system: system.clone(), attached, claim: Some(claim) });
        let run = Arc::new(Run {
            instances,
            expected_ns: (0..engine.layout.len()).map(|_| AtomicU32::new(0)).collect(),
            feed: Feed::new(source, slots, status.clone()),
            order: Mutex::default(),
            feeder: OnceLock::new(),
            on_end,
            engine: engine.clone(),
            over,
        });
        // Relaxed: the tasks that are started next see it.
        status.start_ns.store(engine.now_ns(), Ordering::Relaxed);
        engine.slot_tasks.add(engine.key, weight, || {
            Arc::new(OfWorker { run: run.clone(), anchor: Arc::new(engine.clone()) })
        });
        if start_tasks(&run, system).is_none() {
            // The system has ended meanwhile.
            run.finish();
        }
        let controlled: Weak<Run> = Arc::downgrade(&run);
        status.begun(controlled);
        Ok(Running { status, engine })
    }
}

/// Starts, for each worker, a task for what modules split, and one for their futures; and the one
/// that asks the source, now and again. `None`: the system has ended.
fn start_tasks(run: &Arc<Run>, system: &SystemHandle) -> Option<()> {
    let (engine, over, workers) = (&run.engine, &run.over, system.workers());
    let start = |name, worker, task: Box<dyn Task>| {
        system.tasks().start(&Arc::new(Kind::staying(name)), worker, task)
    };
    let helper = |worker| start("helper", worker, Box::new(Helper(over.clone())));
    engine.splits.set_helpers((0..workers).map(helper).collect::<Option<_>>()?);
    let poller = |worker| start("poller", worker, Box::new(Polls(over.clone(), worker)));
    let pollers: Box<[TaskRef]> = (0..workers).map(poller).collect::<Option<_>>()?;
    engine.woken.set_pollers(pollers.into_iter());
    run.start_feeder(|| start("feeder", 0, Box::new(Feeds(run.clone()))))
}

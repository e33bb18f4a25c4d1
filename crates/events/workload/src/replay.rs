//! Runs a [`Workload`]: busy modules compute for as long as the file says, waiting ones wait; each
//! makes a product that depends on all its inputs, so that a sum over what the paths see shows
//! whether everything ran in its order.

mod pace;
pub mod part;
mod seen;

use crate::{Module, Role, Threads as FileThreads, Times, Work, Workload};
use actinium_events::{
    Analyzer, AsyncAnalyzer, AsyncFilter, AsyncProducer, Builder, Cause, Completion, Event, Filter,
    Graph, GraphErrors, Input, Inputs, ModuleOptions, Next, Output, Producer, Source, Threads,
};
use actinium_scheduler::mixing::mix;
pub use pace::Cpus;
use pace::Pace;
use seen::{Given, Seen};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The label of the source's product.
const SOURCE: &str = "the source of events";

/// The product of each module: its own number and the event's, mixed with its inputs in their
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(pub u64);

/// The sum over everything that modules on paths have seen. It does not depend on the order of
/// events.
#[derive(Clone, Debug, Default)]
pub struct Total(Arc<[SumOfFew; SUMS]>);

/// Sums that add up to the whole, each of few workers: what all write is in nobody's cache.
const SUMS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct SumOfFew(AtomicU64);

impl Total {
    /// The sum so far.
    pub fn get(&self) -> u64 {
        self.0.iter().fold(0, |sum, few| sum.wrapping_add(few.0.load(Ordering::SeqCst)))
    }

    fn add(&self, worker: usize, value: u64) {
        // Relaxed: a sum; it is read when the workers have ended.
        self.0[worker % SUMS].0.fetch_add(value, Ordering::Relaxed);
    }
}

/// The times that events take to be made.
struct Making {
    times: Times,
    pace: Pace,
}

impl Making {
    fn make(&self, number: u64) -> Checksum {
        self.pace.work(self.times.of(number));
        Checksum(mix(0, number))
    }
}

struct Events {
    left: Option<u64>,
    making: Making,
}

impl Source for Events {
    type Product = Checksum;

    fn next(&mut self, number: u64) -> Result<Next<Checksum>, Cause> {
        if self.left.is_some_and(|most| number >= most) {
            return Ok(Next::End);
        }
        Ok(Next::Event(self.making.make(number)))
    }
}

/// A module of the workload. What each call looks at lies in it, not behind a pointer.
struct Replayed {
    number: u64,
    times: Times,
    parts: NonZeroU32,
    fails_every: Option<NonZeroU64>,
    module: Arc<Module>,
    /// The source's product, for a module that needs nothing else.
    source: Option<Input<Checksum>>,
    inputs: Box<[Input<Checksum>]>,
    /// For a module that runs apart from its inputs: the checksum that it would have made of them.
    given: Option<Input<Given>>,
    pace: Pace,
    sums: Sums,
}

/// The place where the checksums at the ends of paths are collected.
#[derive(Clone)]
enum Sums {
    Of(Total),
    By(Seen),
}

impl Replayed {
    fn checksum(&self, event: &Event<'_>) -> Result<Checksum, Cause> {
        let sum = match self.given {
            Some(given) => event.get(given).sum_of(self.number).unwrap_or_default(),
            None => self.mixed(event),
        };
        if self.fails_every.is_some() && self.module.fails(event.number()) {
            return Err(
                format!("{} fails at this event, as its file says", self.module.class).into()
            );
        }
        Ok(Checksum(sum))
    }

    fn mixed(&self, event: &Event<'_>) -> u64 {
        // The others have what the source made through their inputs.
        let first = match self.source {
            Some(source) => event.get(source).0,
            None => mix(0, event.number()),
        };
        let own = mix(first, self.number);
        self.inputs.iter().fold(own, |sum, &input| mix(sum, event.get(input).0))
    }

    fn busy(&self, event: &Event<'_>) -> Result<Checksum, Cause> {
        let sum = self.checksum(event)?;
        if self.parts.get() == 1 {
            self.pace.work(self.times.of(event.number()));
        } else {
            let (parts, run) = self.parts(event);
            event.parallel_for(parts, run)?;
        }
        Ok(sum)
    }

    /// Into how many parts its work is split, and what each does: as many nanoseconds as all
    /// others, to within one.
    fn parts(&self, event: &Event<'_>) -> (usize, impl Fn(usize) + Send + Sync + 'static) {
        let (parts, pace) = (self.parts.get(), self.pace);
        let (ns, parts_ns) = (self.times.of(event.number()), u64::from(parts));
        let run = move |k: usize| {
            pace.work(ns / parts_ns + u64::from((k as u64) < ns % parts_ns));
        };
        (parts as usize, run)
    }

    /// Counts the checksum that a module at the end of a path saw.
    fn count(&self, event: &Event<'_>, sum: Checksum) {
        match &self.sums {
            Sums::Of(total) => total.add(event.worker(), sum.0),
            Sums::By(seen) => seen.note(event.slot(), self.number, sum.0),
        }
    }

    fn end_ns(&self, event: &Event<'_>) -> u64 {
        // As the plan has it: the parts of a wait pass side by side.
        event.now_ns() + self.times.of(event.number()) / u64::from(self.parts.get())
    }
}

impl Producer for Replayed {
    type Product = Checksum;
    fn produce(&self, event: &Event<'_>) -> Result<Checksum, Cause> {
        self.busy(event)
    }
}

impl Filter for Replayed {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        self.count(event, self.busy(event)?);
        Ok(self.module.accepts(event.number()))
    }
}

impl Analyzer for Replayed {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        self.count(event, self.busy(event)?);
        Ok(())
    }
}

impl Output for Replayed {
    fn write(&self, event: &Event<'_>) -> Result<(), Cause> {
        self.count(event, self.busy(event)?);
        Ok(())
    }
}

/// Splits its work and leaves its worker to others until the last part is done.
struct Splits(Replayed);

impl Splits {
    fn start<T: Send + 'static>(
        &self,
        event: &Event<'_>,
        done: Completion<T>,
        result: impl FnOnce(Checksum) -> T,
    ) {
        match self.0.checksum(event) {
            Ok(sum) => {
                let result = result(sum);
                let (parts, run) = self.0.parts(event);
                event.parallel_for_then(parts, run, move |ran| done.finish(ran.map(|()| result)));
            }
            Err(cause) => done.finish(Err(cause)),
        }
    }
}

impl AsyncProducer for Splits {
    type Product = Checksum;
    fn start(&self, event: &Event<'_>, done: Completion<Checksum>) -> Result<(), Cause> {
        Splits::start(self, event, done, |sum| sum);
        Ok(())
    }
}

impl AsyncFilter for Splits {
    fn start(&self, event: &Event<'_>, done: Completion<bool>) -> Result<(), Cause> {
        let accepts = self.0.module.accepts(event.number());
        Splits::start(self, event, done, |sum| {
            self.0.count(event, sum);
            accepts
        });
        Ok(())
    }
}

impl AsyncAnalyzer for Splits {
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        Splits::start(self, event, done, |sum| self.0.count(event, sum));
        Ok(())
    }
}

struct Waits(Replayed);

impl AsyncProducer for Waits {
    type Product = Checksum;
    fn start(&self, event: &Event<'_>, done: Completion<Checksum>) -> Result<(), Cause> {
        match self.0.checksum(event) {
            Ok(sum) => done.at(self.0.end_ns(event), sum),
            Err(cause) => done.finish(Err(cause)),
        }
        Ok(())
    }
}

impl AsyncFilter for Waits {
    fn start(&self, event: &Event<'_>, done: Completion<bool>) -> Result<(), Cause> {
        match self.0.checksum(event) {
            Ok(sum) => {
                self.0.count(event, sum);
                done.at(self.0.end_ns(event), self.0.module.accepts(event.number()));
            }
            Err(cause) => done.finish(Err(cause)),
        }
        Ok(())
    }
}

impl AsyncAnalyzer for Waits {
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        match self.0.checksum(event) {
            Ok(sum) => {
                self.0.count(event, sum);
                done.at(self.0.end_ns(event), ());
            }
            Err(cause) => done.finish(Err(cause)),
        }
        Ok(())
    }
}

/// A graph that does what the workload says, for `events` events (or as many as its source has;
/// without either it goes on until it is stopped).
///
/// An output that stands on a path alone writes every event; after filters, those that they let
/// through.
///
/// ```
/// use actinium_events::{Processor, Settings};
/// use actinium_workload::{self as workload, replay};
///
/// let text = include_str!("../../../../workloads/imaging.toml");
/// let mut workload = workload::parse("two.toml", text, workload::Syntax::Toml)?.workload;
/// workload.scale_times(0.0);
/// let (graph, total) = replay::graph(&workload, Some(5))?;
/// let summary = Processor::new(graph, Settings::default()).run()?;
/// assert_eq!(summary.events, 5);
/// assert_eq!(total.get(), replay::expected_total(&workload, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the graph is not one that can be run; a workload that was read without errors is.
pub fn graph(workload: &Workload, events: Option<u64>) -> Result<(Graph, Total), GraphErrors> {
    graph_on(Cpus::Own, workload, events)
}

/// The same for workers that may share CPUs.
///
/// # Errors
/// As [`graph`].
pub fn graph_on(
    cpus: Cpus,
    workload: &Workload,
    events: Option<u64>,
) -> Result<(Graph, Total), GraphErrors> {
    let (pace, total) = (Pace::of_machine(cpus), Total::default());
    let source = events_of(workload, events, pace);
    Ok((build(workload, source, &Sums::Of(total.clone()), pace)?, total))
}

/// Makes a source of this many events, or of as many as the workload's source has.
fn events_of(workload: &Workload, events: Option<u64>, pace: Pace) -> Events {
    let left = events.or(workload.source.events.map(Into::into));
    Events { left, making: Making { times: workload.source.times.clone(), pace } }
}

fn build(
    workload: &Workload,
    source: impl Source<Product = Checksum>,
    sums: &Sums,
    pace: Pace,
) -> Result<Graph, GraphErrors> {
    let mut builder = Builder::new(SOURCE, source);
    let labels: Arc<[String]> =
        workload.modules.iter().map(|module| module.label.clone()).collect();
    for (number, module) in workload.modules.iter().enumerate() {
        let (sums, labels) = (sums.clone(), labels.clone());
        let shared = Arc::new(module.clone());
        let make = move |inputs: &mut Inputs| Replayed {
            number: number as u64,
            times: shared.times.clone(),
            parts: shared.parts,
            fails_every: shared.fails_every,
            source: shared.inputs.is_empty().then(|| inputs.get(SOURCE)),
            inputs: shared.inputs.iter().map(|input| inputs.get(&labels[input.module])).collect(),
            given: None,
            module: shared.clone(),
            pace,
            sums: sums.clone(),
        };
        let is_output = module.role == Role::Output;
        let path = is_output.then(|| selecting_path(workload, number)).flatten();
        register(&mut builder, workload, module, path.as_deref(), make);
    }
    add_paths(&mut builder, workload);
    builder.build()
}

/// Adds the paths, without their outputs: these select them.
pub(crate) fn add_paths(builder: &mut Builder, workload: &Workload) {
    for path in &workload.paths {
        let steps = path.modules.iter().map(|&m| &workload.modules[m]);
        let steps: Vec<&str> = steps
            .filter(|module| module.role != Role::Output)
            .map(|module| module.label.as_str())
            .collect();
        builder.path(&path.name, &steps);
    }
}

/// How many events may be in a module at a time.
pub(crate) fn threads(workload: &Workload, module: &Module) -> Threads {
    match module.threads {
        FileThreads::Concurrent => Threads::Concurrent,
        FileThreads::Serial => Threads::Serial,
        FileThreads::Exclusive { resource } => {
            Threads::Exclusive(workload.resources.get(resource).cloned().unwrap_or_default())
        }
        FileThreads::Stream => Threads::Stream,
        FileThreads::Limited(n) => Threads::Limited(n.get()),
    }
}

/// Adds a module of the workload, in its role and as it spends its time.
fn register(
    builder: &mut Builder,
    workload: &Workload,
    module: &Module,
    selects: Option<&str>,
    make: impl Fn(&mut Inputs) -> Replayed + Send + 'static,
) {
    let mut options = ModuleOptions::from(threads(workload, module));
    if module.fetches_one_by_one {
        options = options.one_by_one();
    }
    if let Some(path) = selects {
        options = options.select(path);
    }
    let label = &module.label;
    let steals = module.steals_while_splitting && module.parts.get() > 1;
    macro_rules! register {
        ($busy:ident, $waiting:ident) => {
            match module.work {
                Work::Busy if steals => {
                    _ = builder.$waiting(label, options, move |inputs| Splits(make(inputs)));
                }
                Work::Busy => _ = builder.$busy(label, options, make),
                Work::Wait => {
                    _ = builder.$waiting(label, options, move |inputs| Waits(make(inputs)));
                }
            }
        };
    }
    match module.role {
        Role::Producer => register!(producer, async_producer),
        Role::Filter => register!(filter, async_filter),
        Role::Analyzer => register!(analyzer, async_analyzer),
        Role::Output => register!(output, async_output),
    }
}

/// The path whose filters decide what an output writes; `None` if it stands alone on one.
pub(crate) fn selecting_path(workload: &Workload, output: usize) -> Option<String> {
    let on = |path: &&crate::Path| path.modules.contains(&output);
    let alone =
        |path: &crate::Path| path.modules.iter().all(|&m| workload.modules[m].role == Role::Output);
    let mut paths = workload.paths.iter().filter(on);
    if workload.paths.iter().filter(on).any(alone) {
        return None;
    }
    paths.next().map(|path| path.name.clone())
}

/// Computes what [`Total::get`] returns after `events` events of which none fails, by a plain loop
/// over events and modules.
#[must_use]
pub fn expected_total(workload: &Workload, events: u64) -> u64 {
    (0..events).fold(0, |total, event| {
        let mut made: Vec<Option<u64>> = vec![None; workload.modules.len()];
        let mut seen: Vec<bool> = vec![false; workload.modules.len()];
        let mut total: u64 = total;
        for outputs in [false, true] {
            for path in &workload.paths {
                for &m in &path.modules {
                    let module = &workload.modules[m];
                    let is_output = module.role == Role::Output;
                    if is_output
                        && selecting_path(workload, m).is_some_and(|name| name != path.name)
                    {
                        continue;
                    }
                    if is_output == outputs && !std::mem::replace(&mut seen[m], true) {
                        total = total.wrapping_add(plain(workload, m, event, &mut made));
                    }
                    if module.role == Role::Filter && !module.accepts(event) {
                        break;
                    }
                }
            }
        }
        total
    })
}

/// Computes what a module makes of an event, and before that all that it needs. It is a loop rather
/// than a recursion, for graphs are deep.
fn plain(workload: &Workload, module: usize, event: u64, made: &mut [Option<u64>]) -> u64 {
    let mut wanted = vec![module];
    while let Some(&m) = wanted.last() {
        let inputs = &workload.modules[m].inputs;
        let missing: Vec<usize> = inputs
            .iter()
            .map(|input| input.module)
            .filter(|&input| made[input].is_none())
            .collect();
        if !missing.is_empty() {
            wanted.extend(missing);
            continue;
        }
        wanted.pop();
        let own = mix(mix(0, event), m as u64);
        made[m] =
            Some(inputs.iter().fold(own, |sum, input| mix(sum, made[input.module].unwrap_or(0))));
    }
    made[module].unwrap_or(0)
}

/// The processor's settings that a workload asks for.
#[must_use]
pub fn settings(workload: &Workload) -> actinium_events::Settings {
    let mut settings = actinium_events::Settings::default();
    settings.slots = workload.options.slots.map(Into::into);
    settings.workers = workload.options.workers.map(Into::into);
    settings.sample_every = Some(Duration::from_millis(10));
    settings
}

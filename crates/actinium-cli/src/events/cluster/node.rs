//! One node's part.

use super::Job;
use super::figures::NodeFigures;
use super::guest::{self, Fate, Guest, Inbox, Lot, Target};
use super::host::{GUEST, Gone, Host, Msg, Over, Task, Told, Writer};
use super::report::ClusterOutcome;
use super::words::Up;
use crate::events::interrupt::Interrupts;
use crate::events::run::{Notes, of_processor};
use crate::events::settings::{OnError, Order};
use crate::nodes::pieces::pieces;
use crate::nodes::{self, DOWN_AFTER, FIRST, FabricKind, MEETING, Started, failed};
use crate::process::Watch;
use crate::{Failure, output};
use actinium::prelude::*;
use actinium_cluster::NodeEvent;
use actinium_cluster::fabric::Fabric;
use actinium_events::replay::part;
use actinium_events::workload::{Role, Workload};
use actinium_events::{Processor, RunSummary, Settings, Stopper};
use actinium_observe::{Latency, Progress};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the queue is called.
const HOST: &str = "actinium.events.host";
/// How long the first node waits for those who may come later: long enough for a launcher to start all that it starts.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs this node's part. What came of all is known on the first node.
///
/// # Errors
/// If the node can not be started, is refused, or loses the first.
pub fn run<F: Fabric + 'static>(
    job: &Job<'_>,
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) -> Result<Option<ClusterOutcome>, Failure> {
    // Messages need no more than one; modules have workers of their own.
    let system = System::builder().workers(1).build()?;
    let started = Started::new(system, nodes::config(job.down_after)?, fabric)?;
    let mut part = Part::new(job, &started)?;
    if started.node.id() == FIRST {
        let (told, writer) = part.host()?;
        return part.run_first(&told, writer).map(Some);
    }
    part.meet_host()?;
    part.run_other()?;
    Ok(None)
}

/// What all nodes have to be asked for: a digest of the workload as it is run, and what decides what comes of it.
fn plan(job: &Job<'_>) -> (u64, String) {
    let rows = job.settings.common_rows();
    let rows: Vec<String> = rows.map(|(name, value, _)| format!("{name} {value}")).collect();
    let says = rows.join(", ");
    let workload = job.workload;
    let mut digest = Fnv::new();
    // All of it but the options, which each node may have its own of.
    let Workload { name, format, source, modules, resources, paths, .. } = workload;
    digest.add(&format!("{name:?} {format:?} {source:?} {resources:?} {paths:?} {says}"));
    modules.iter().for_each(|module| digest.add(&format!("{module:?}")));
    (digest.0, format!("'{}', {says}", job.settings.config))
}

/// The hash of Fowler, Noll and Vo: the same in all builds.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

struct Part<'a> {
    job: &'a Job<'a>,
    started: &'a Started,
    node: u32,
    processor: Option<Processor>,
    guest: Address<Guest>,
    host: Option<Target>,
    fate: Fate,
    latency: Arc<Mutex<Latency>>,
    /// Of the processors here.
    stoppers: Vec<Stopper>,
}

impl<'a> Part<'a> {
    fn new(job: &'a Job<'a>, started: &'a Started) -> Result<Self, Failure> {
        let node = started.node.id().0;
        let inbox: Arc<Inbox<u64>> = Arc::default();
        let settings = settings_of(job, Order::Completed);
        let slots = settings.slots.unwrap_or(1);
        let asked = |error: actinium_events::GraphErrors| {
            Failure::Asked(format!("{}: {error}", job.settings.config))
        };
        let next = inbox.clone();
        let (graph, seen) = part::inner(job.workload, slots, move || next.next()).map_err(asked)?;
        let processor = Processor::new(graph, settings);
        let (feeder, stopper, fate) = (processor.feeder(), processor.stopper(), Fate::default());
        let guest = Guest::new(node, inbox, feeder, stopper.clone(), fate.clone());
        let guest = started.system.spawn(guest);
        started.node.export(GUEST, &guest).map_err(failed)?;
        let latency = Arc::new(Mutex::new(Latency::new()));
        let (tell, record) = (guest.clone(), latency.clone());
        let processor = processor.on_end(move |end| {
            let sights = seen.take(end.slot);
            record.lock().unwrap_or_else(PoisonError::into_inner).record(end.took_ns);
            let number = end.number;
            let up = match end.failure {
                None => Up::Ran { node, number, sights },
                Some((module, cause)) => {
                    Up::Failed { node, number, module: module.to_owned(), cause: short(cause) }
                }
            };
            // The guest is there as long as the node is.
            let _ = tell.send(guest::Msg::Up(up));
        });
        let (processor, host, stoppers) = (Some(processor), None, vec![stopper]);
        Ok(Part { job, started, node, processor, guest, host, fate, latency, stoppers })
    }

    /// Keeps the queue.
    fn host(&mut self) -> Result<(Receiver<Told>, Option<Processor>), Failure> {
        let (job, node) = (self.job, &self.started.node);
        let inbox: Arc<Inbox<part::Given>> = Arc::default();
        let next = inbox.clone();
        let settings = settings_of(job, job.settings.order.value);
        let slots = settings.slots.unwrap_or(1);
        let asked = |error| Failure::Asked(format!("{}: {error}", job.settings.config));
        let graph = part::outputs(job.workload, slots, move || next.next()).map_err(asked)?;
        let processor = graph.map(|(graph, seen)| (Processor::new(graph, settings), seen));
        let writer = match &processor {
            Some((processor, _)) => {
                let outputs = outputs(job.workload).map(|(number, _)| number);
                Writer::Processor(inbox, processor.feeder(), outputs.collect())
            }
            None => Writer::None,
        };
        let nodes = node.nodes().last().map_or(1, |last| last.0 + 1);
        let task = Task {
            events: job.settings.events.value,
            in_order: job.settings.order.value == Order::Input,
            stops_at_failure: job.settings.on_error.value == OnError::Stop,
            plan: plan(job),
            nodes: job.settings.nodes.count.value.map_or(nodes, |count| count.max(nodes)),
            // All of the others start together.
            patience: if job.kind == FabricKind::Zenoh { PATIENCE } else { MEETING },
            progress: job.progress.clone(),
        };
        let (tell, told) = mpsc::channel();
        let written = job.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        let host = self.started.system.spawn(Host::new(node.clone(), task, writer, written, tell));
        node.export(HOST, &host).map_err(failed)?;
        let listener = host.clone();
        node.on_event(move |event| {
            if let NodeEvent::Down { node, reason, .. } = event {
                let _ = listener.send(Msg::NodeDown(node.0, reason.to_string()));
            }
        });
        host.send(Msg::Own(self.guest.clone())).map_err(failed)?;
        self.guest.send(guest::Msg::Host(Target::Here(host.clone()))).map_err(failed)?;
        let processor = processor.map(|(processor, seen)| {
            let tell = host.clone();
            processor.on_end(move |end| {
                let sights = seen.take(end.slot);
                let ended = match end.failure {
                    None => Ok(sights),
                    Some((module, cause)) => Err((module.to_owned(), short(cause))),
                };
                let _ = tell.send(Msg::Written(end.number, ended));
            })
        });
        self.host = Some(Target::Here(host));
        Ok((told, processor))
    }

    /// Finds the queue.
    fn meet_host(&mut self) -> Result<(), Failure> {
        let node = &self.started.node;
        let find = || node.find::<Host>(FIRST, HOST, MEETING).wait();
        let none = |error| failed(format!("{FIRST}, which keeps the queue: {error}"));
        let host = find().map_err(none)?;
        let guest = self.guest.clone();
        node.on_event(move |event| {
            if let NodeEvent::Down { node: FIRST, reason, .. } = event {
                let _ = guest.send(guest::Msg::Lost(format!("{FIRST} is down: {reason}")));
            }
        });
        self.guest.send(guest::Msg::Host(Target::There(host.clone()))).map_err(failed)?;
        self.host = Some(Target::There(host));
        Ok(())
    }

    fn join(&self) -> Result<(), Failure> {
        let (digest, says) = plan(self.job);
        let slots = self.job.settings.slots.value;
        let join = Up::Join { node: self.node, slots, digest, says };
        self.guest.send(guest::Msg::Up(join)).map_err(failed)
    }

    /// Ctrl-C: the first ends the queue, the second ends what runs here.
    fn interrupts(&self) -> Result<Interrupts, Failure> {
        let tells = self.job.kind != FabricKind::InProcess || self.node == FIRST.0;
        let (guest, stoppers) = (self.guest.clone(), self.stoppers.clone());
        let host = match &self.host {
            Some(Target::Here(host)) => Some(host.clone()),
            _ => None,
        };
        let listen = Interrupts::listen(move |times| {
            if tells {
                output::note(match times {
                    1 => "finishing the events in flight; once more to stop at once",
                    _ => "stopping at once",
                });
            }
            // If an actor is gone, all is over.
            if times == 1 {
                let _ = guest.send(guest::Msg::Up(Up::Stop));
            } else {
                stoppers.iter().chain(&stoppers).for_each(Stopper::stop);
                host.iter().for_each(|host| drop(host.send(Msg::EndNow)));
            }
        });
        listen.map_err(|error| Failure::Failed(format!("can not listen to Ctrl-C: {error}")))
    }

    /// Runs events until there are no more, and meanwhile `beside`.
    fn run<R: Send>(
        &mut self,
        beside: impl FnOnce() -> R + Send,
    ) -> Result<(NodeFigures, R), Failure> {
        let _interrupts = self.interrupts()?;
        let Some(processor) = self.processor.take() else { unreachable!("it runs once") };
        let events = self.job.settings.events.value;
        let is_shown = self.node == FIRST.0 && !self.job.quiet;
        let bar = if is_shown { Progress::new(events, "events") } else { Progress::hidden(events) };
        let over = self.job.progress.clone();
        // Relaxed: a figure.
        let watch = Watch::start(move || bar.set(over.load(Ordering::Relaxed)))?;
        self.join()?;
        let (ran, beside) = std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let ran = processor.run();
            let beside = beside.join().map_err(|_| failed("a thread panicked"));
            (ran, beside)
        });
        let process = watch.finish();
        match self.fate.get() {
            Some(Lot::Refused(why)) => return Err(Failure::Asked(why)),
            Some(Lot::Lost(why)) => return Err(Failure::Failed(why)),
            None => {}
        }
        let has_own_process = self.job.kind != FabricKind::InProcess || self.node == FIRST.0;
        let process = has_own_process.then_some(process);
        let latency = self.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = latency.buckets().collect();
        let is_output = labels(self.job.workload);
        let is_own = |label: &str| !is_output.contains(label);
        let figures = NodeFigures::new(self.node, of(ran)?, is_own, latency, process);
        Ok((figures, beside?))
    }

    fn run_other(mut self) -> Result<(), Failure> {
        let (figures, ()) = self.run(|| ())?;
        let Some(Target::There(host)) = &self.host else { unreachable!("it was met") };
        for piece in pieces(self.node, &figures)? {
            host.ask(piece, MEETING).wait().map_err(|error| failed(format!("{FIRST}: {error}")))?;
        }
        Ok(())
    }

    fn run_first(
        mut self,
        told: &Receiver<Told>,
        writer: Option<Processor>,
    ) -> Result<ClusterOutcome, Failure> {
        self.stoppers.extend(writer.as_ref().map(Processor::stopper));
        let run_writer = move || writer.map(Processor::run).transpose();
        let (mut own, outputs) = self.run(run_writer)?;
        if let Some(summary) = outputs.map_err(failed)? {
            let is_output = labels(self.job.workload);
            own.add_outputs(summary, |label| is_output.contains(label));
        }
        gather(told, own)
    }
}

/// Waits for the figures of all who took part to the end, and until they have left: they had better hear that theirs have come before this node leaves.
fn gather(told: &Receiver<Told>, own: NodeFigures) -> Result<ClusterOutcome, Failure> {
    let first = own.node;
    let mut got: BTreeMap<u32, NodeFigures> = BTreeMap::from([(first, own)]);
    let (mut over, mut gone) = (None::<Over>, Vec::<Gone>::new());
    // Since the end: what a node was before may have been another life of it.
    let mut left = BTreeSet::from([first]);
    loop {
        let is_done = |node: &u32| left.contains(node);
        if let Some(over) = over.take_if(|over| over.members.iter().all(is_done)) {
            return Ok(ClusterOutcome { over, gone, nodes: got.into_values().collect() });
        }
        match told.recv_timeout(2 * DOWN_AFTER) {
            Ok(Told::Over(told)) => {
                over = Some(*told);
                left = BTreeSet::from([first]);
            }
            Ok(Told::Gone(told)) => {
                left.insert(told.node);
                gone.push(told);
            }
            Ok(Told::Left(node)) => _ = left.insert(node),
            Ok(Told::Figures(node, bytes)) => {
                let figures = serde_json::from_slice(&bytes);
                let wrong = |error| failed(format!("node {node}: its figures: {error}"));
                got.insert(node, figures.map_err(wrong)?);
            }
            Err(_) => return Err(failed("a node did not tell its figures, and leave, in time")),
        }
    }
}

/// A processor's settings on one of several nodes.
fn settings_of(job: &Job<'_>, order: Order) -> Settings {
    let notes = Notes { report: false, quiet: true };
    let slots = job.settings.slots.value;
    let settings = of_processor(job.settings, slots, notes, 0.0);
    let window = usize::try_from(slots).unwrap_or(usize::MAX);
    // Other nodes may have the same CPUs, and it is the queue that stops at a failure.
    let settings = settings.bind(false).order(match order {
        Order::Completed => actinium_events::Order::Completed,
        Order::Input => actinium_events::Order::Input { window },
    });
    match job.settings.on_error.value {
        OnError::Stop => settings.on_error(actinium_events::OnError::Skip),
        OnError::Skip | OnError::Retry(_) => settings,
    }
}

/// The outputs, with their numbers.
fn outputs(workload: &Workload) -> impl Iterator<Item = (u32, &str)> {
    let modules = workload.modules.iter().enumerate();
    let outputs = modules.filter(|(_, module)| module.role == Role::Output);
    outputs.map(|(number, module)| (number as u32, module.label.as_str()))
}

fn labels(workload: &Workload) -> BTreeSet<&str> {
    outputs(workload).map(|(_, label)| label).collect()
}

fn of(ran: Result<RunSummary, actinium_events::StartError>) -> Result<RunSummary, Failure> {
    ran.map_err(|error| match error {
        actinium_events::StartError::Setting(..) => Failure::Asked(error.to_string()),
        _ => failed(error),
    })
}

/// What a module said, as far as it fits in a frame with all the rest.
fn short(cause: &str) -> String {
    const CHARS_MAX: usize = 1_000;
    match cause.char_indices().nth(CHARS_MAX) {
        None => cause.to_owned(),
        Some((end, _)) => format!("{}...", &cause[..end]),
    }
}

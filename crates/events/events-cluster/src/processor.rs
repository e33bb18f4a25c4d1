//! Running a program's own graph on the nodes of its job.

use crate::agent;
use crate::coordinator::{self, Notes};
use crate::ending::Ending;
use crate::launch::{Controls, Launched, Setup, launch};
use crate::outcome::ClusterOutcome;
use crate::own;
use crate::parts::Inboxes;
use actinium_actor::SystemHandle;
use actinium_cluster::NodeHandle;
use actinium_cluster::job::{FIRST, JobError, JoinSettings};
use actinium_events::nodes::OutputsAt;
use actinium_events::{Builder, Monitor, Processor, Settings, StartError, WaitError};
use actinium_scheduler::{current, guard};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long the first node waits for those that may come later: long enough for a launcher to start
/// all that it starts.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs a graph once, on all nodes of a job together: each node's program makes the same graph and
/// starts it on its own system, beside its actors. A node that is alone runs it by itself.
///
/// The first node keeps a queue. A source without [pieces](actinium_events::Source::pieces) is read
/// there, and its events are shared out; runs and blocks are barriers for all nodes. Pieces, such
/// as [files](actinium_events::data::ByFile), are read by the nodes, each by one at a time. Modules
/// run where the event is, and outputs on the first node, or on each node.
///
/// If a node dies, others run what it had not finished. Each event's outputs run once.
///
/// ```
/// use actinium_actor::{Shutdown, System};
/// use actinium_cluster::Node;
/// use actinium_events::{Builder, Cause, Event, Input, Next, Order, OutputMut, Settings, Source};
/// use actinium_events::ThreadsMut;
/// use actinium_events_cluster::ClusterProcessor;
///
/// struct Numbers;
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < 10 { Next::Event(number) } else { Next::End })
///     }
/// }
///
/// struct Print(Input<u64>);
/// impl OutputMut for Print {
///     fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
///         println!("{}", *event.get(self.0));
///         Ok(())
///     }
/// }
///
/// let system = System::builder().from_env()?.build()?;
/// let node = Node::join(&system)?;
/// let (mut builder, numbers) = Builder::with_source("numbers", Numbers);
/// builder.crosses(numbers);
/// builder.output_mut("print", ThreadsMut::Serial, move |inputs| Print(inputs.get(numbers)));
/// let settings = Settings::default().order(Order::Input { window: 64 });
/// let running = ClusterProcessor::new(builder, settings).start(&node, &system)?;
/// if let Some(outcome) = running.wait()? {
///     assert_eq!(outcome.into_result()?.run.done, 10);
/// }
/// system.shutdown(Shutdown::Drain);
/// node.leave();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ClusterProcessor {
    builder: Builder,
    settings: Settings,
    outputs: OutputsAt,
    name: String,
    nodes: Option<u32>,
    patience: Duration,
    notes: Notes,
}

impl fmt::Debug for ClusterProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterProcessor").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ClusterProcessor {
    /// A graph with its settings. Order, effect of errors and number of events hold for the whole
    /// run and must be the same on all nodes; slots are those of this node.
    ///
    /// With [`Order::Input`](actinium_events::Order::Input), outputs on the first node see events
    /// in the source's order: of pieces, in the order of pieces.
    pub fn new(builder: Builder, settings: Settings) -> Self {
        ClusterProcessor {
            builder,
            settings,
            outputs: OutputsAt::First,
            name: "run".to_owned(),
            nodes: None,
            patience: PATIENCE,
            notes: Arc::new(|_| ()),
        }
    }

    /// Sets where outputs run.
    #[must_use]
    pub fn outputs(mut self, at: OutputsAt) -> Self {
        self.outputs = at;
        self
    }

    /// Sets the name of the run: the same on all nodes, and for each run of a node another one.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets how many nodes there are from the start. Else there are as many as `ACTINIUM_NODES`
    /// says, or the node knows by now.
    #[must_use]
    pub fn nodes(mut self, nodes: u32) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// Sets how long the first node waits for these before it begins with those that are there: 5
    /// seconds. A node that comes later gets events then.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets what takes a line for each step of the run: which nodes come and go. It is called on a
    /// worker of the first node.
    #[must_use]
    pub fn on_note(mut self, note: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notes = Arc::new(move |line| {
            if guard::catch(|| note(line)).is_err() {
                guard::count_here();
            }
        });
        self
    }

    /// Starts this node's part on the workers of its system.
    ///
    /// # Errors
    /// What is wrong with the graph; products that would have to cross to other nodes and can not;
    /// a setting that is not allowed; a name of a run that this node had before; or the system
    /// drains or has ended. Then nothing has begun.
    pub fn start(
        self,
        node: &NodeHandle,
        system: &SystemHandle,
    ) -> Result<ClusterRunning, JobError> {
        let (inboxes, progress) = (Inboxes::default(), Arc::new(AtomicU64::new(0)));
        let slots = self.settings.slots.unwrap_or_else(|| system.workers());
        let parts = own::parts(self.builder, self.outputs, &self.settings, slots, &inboxes)?;
        let nodes = match self.nodes {
            Some(nodes) => Some(nodes),
            None => JoinSettings::from_env().map_err(JobError::from)?.nodes,
        };
        let setup = Setup {
            run: self.name,
            settings: self.settings.slots(slots),
            nodes,
            patience: self.patience,
            progress: progress.clone(),
            notes: self.notes,
            lines: None,
        };
        let launched = launch(node, system, setup, (parts, inboxes))?;
        let is_first = node.id() == FIRST;
        let controls = launched.controls.clone();
        let started = start_graphs(launched, system);
        let (ending, monitor) = started.inspect_err(|_| controls.give_up())?;
        Ok(ClusterRunning { ending, controls, progress, monitor, is_first })
    }
}

fn start_graphs(launched: Launched, system: &SystemHandle) -> Result<(Ending, Monitor), JobError> {
    let Launched { inner, outputs, ending, controls, sums } = launched;
    let start = |processor: Processor| {
        processor.start(system).map_err(|error: StartError| match error.is_of_setting() {
            true => JobError::Setting(error.to_string()),
            false => JobError::failed(error),
        })
    };
    let inner = start(inner)?;
    let monitor = inner.monitor();
    let outputs = match outputs.map(start) {
        Some(Err(error)) => {
            inner.cancel();
            return Err(error);
        }
        Some(Ok(running)) => Some(running),
        None => None,
    };
    let of_outputs = sums.clone();
    let ran = Box::pin(async move { sums.inner(inner.await, None) });
    // Both actors are there: nobody has stopped them yet.
    let _ = controls.agent.send(agent::Msg::Runs(ran));
    if let (Some(outputs), Some(coordinator)) = (outputs, &controls.coordinator) {
        let ran = Box::pin(async move { of_outputs.outputs(outputs.await) });
        let _ = coordinator.send(coordinator::Msg::Runs(ran));
    }
    Ok((ending, monitor))
}

/// A node's part of a run, from [`ClusterProcessor::start`] on.
///
/// It is a future, like [`Running`](actinium_events::Running). Dropping it changes nothing: the run
/// goes on.
#[must_use = "it says how the run ended"]
pub struct ClusterRunning {
    ending: Ending,
    controls: Controls,
    progress: Arc<AtomicU64>,
    monitor: Monitor,
    is_first: bool,
}

impl ClusterRunning {
    /// Events that are over: on the first node, of all nodes and with their outputs; elsewhere,
    /// those that this node has run.
    pub fn progress(&self) -> u64 {
        match self.is_first {
            // Relaxed: a figure.
            true => self.progress.load(Ordering::Relaxed),
            false => self.monitor.events(),
        }
    }

    /// No more events are begun, on any node; those in flight are finished.
    pub fn stop(&self) {
        self.controls.stop();
    }

    /// Ends this node's part as soon as the modules that run here return. Elsewhere than on the
    /// first node, other nodes run what was in flight, and the run goes on; on the first node, it
    /// is the end of the whole.
    pub fn cancel(&self) {
        self.controls.stop_now();
    }

    /// Whether this node's part has ended.
    pub fn is_over(&self) -> bool {
        self.ending.is_over()
    }

    /// Waits for the end of this node's part. On the first node: of all, with what came of it.
    ///
    /// # Errors
    /// If this node was refused, or the nodes have lost each other; and at once on a worker, which
    /// would wait for itself. What failed in the graph is in the outcome.
    pub fn wait(self) -> Result<Option<ClusterOutcome>, JobError> {
        check_wait()?;
        self.ending.wait()
    }

    /// What came of the run, as [`ClusterRunning::wait`] returns it. `None`: it has not ended, or
    /// this was taken.
    pub fn take_outcome(&self) -> Option<Result<Option<ClusterOutcome>, JobError>> {
        self.ending.take()
    }

    /// Waits for the end, but no longer than `timeout`; says whether it has come.
    ///
    /// # Errors
    /// At once on a worker, which would wait for itself.
    pub fn wait_for(&self, timeout: Duration) -> Result<bool, JobError> {
        check_wait()?;
        Ok(self.ending.wait_for(timeout))
    }
}

fn check_wait() -> Result<(), JobError> {
    match current(|worker| worker.is_some()) {
        true => Err(JobError::failed(WaitError::OnWorker)),
        false => Ok(()),
    }
}

impl Future for ClusterRunning {
    type Output = Result<Option<ClusterOutcome>, JobError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.ending.poll(context)
    }
}

impl fmt::Debug for ClusterRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over = if self.is_over() { "over" } else { "runs" };
        write!(f, "ClusterRunning({over}, {} events)", self.progress())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::{Shutdown, System};
    use actinium_cluster::fabric::in_process::Network;
    use actinium_cluster::{Node, NodeConfig};
    use actinium_events::{Cause, Event, Input, Next, OutputMut, Source, ThreadsMut};

    /// Numbers without end.
    struct Endless;

    impl Source for Endless {
        type Product = u64;
        fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
            Ok(Next::Event(number))
        }
    }

    struct Forget(Input<u64>);

    impl OutputMut for Forget {
        fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
            drop(event.get(self.0));
            Ok(())
        }
    }

    #[test]
    fn a_cancelled_graph_that_ends_before_its_actors_are_told_is_an_interruption() {
        let system = System::builder().workers(1).build().unwrap();
        let fabric = Network::new().node(FIRST);
        let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric)).unwrap();
        let (mut builder, numbers) = Builder::with_source("numbers", Endless);
        builder.crosses(numbers);
        builder.output_mut("forget", ThreadsMut::Serial, move |inputs| Forget(inputs.get(numbers)));
        let processor = ClusterProcessor::new(builder, Settings::default()).nodes(1);
        let running = processor.start(&node, &system).unwrap();
        while running.progress() < 10 {
            std::thread::yield_now();
        }
        // As a thread does that cancels and is held up between this and its message.
        running.controls.stop_graphs();
        let outcome = running.wait().expect("it runs").expect("it is the first");
        assert!(outcome.run.interrupted && outcome.run.done >= 10, "{outcome:?}");
        outcome.into_result().expect("nothing has failed");
        node.leave();
        system.shutdown(Shutdown::Drain);
    }
}

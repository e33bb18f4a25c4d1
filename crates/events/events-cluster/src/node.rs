//! The part of one node of a replay.

use crate::agent;
use crate::coordinator;
use crate::job::{ClusterStopper, Job};
use crate::launch::{Launched, Setup, launch};
use crate::outcome::ClusterOutcome;
use crate::parts::Inboxes;
use crate::replay;
use actinium_actor::System;
use actinium_cluster::NodeConfig;
use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::{self, DOWN_AFTER, FIRST, JobError, JobNode, MEETING};
use actinium_events::{RunSummary, StartError};
use actinium_observe::process::Watch;
use actinium_topology::Bind;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long the first node waits for those who may come later: long enough for a launcher to start
/// all that it starts.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Runs this node's part. What came of all is known on the first node.
///
/// # Errors
/// If the node can not be started, is refused, or loses the first.
pub(crate) fn run<F: Fabric + 'static>(
    job: &Job<'_>,
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) -> Result<Option<ClusterOutcome>, JobError> {
    // Messages need no more than one; modules have workers of their own, and those get the PUs.
    let system = System::builder().workers(1).bind(Bind::None).build()?;
    let observer = job.observer.clone();
    let note = move |line: &str| observer.note(line);
    // What this node says last may be a report that has to arrive.
    let config = NodeConfig { linger: DOWN_AFTER, ..job::config(job.down_after)? };
    let started = JobNode::join(system, config, fabric, note)?;
    let (setup, inboxes) = (setup(job, started.id() == FIRST), Inboxes::default());
    let slots = setup.settings.slots.unwrap_or(1);
    let asked = (job.name.as_str(), job.asked.as_str());
    let parts = replay::parts(job.workload, asked, job.events, slots, &inboxes)
        .map_err(|error| JobError::Setting(format!("{}: {error}", job.name)))?;
    let launched = launch(&started.node, &started.system, setup, (parts, inboxes))?;
    run_graphs(job, &started, launched)
}

fn setup(job: &Job<'_>, is_first: bool) -> Setup {
    let observer = job.observer.clone();
    let mut settings = job.processor.clone();
    settings.slots.get_or_insert(1);
    // Nodes of one process share the job.
    let mut lines = job.lines.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = if is_first { lines.take() } else { None };
    Setup {
        run: "replay".to_owned(),
        settings,
        nodes: job.nodes,
        // Elsewhere all of them start together.
        patience: if job.fabric.lets_join_later() { PATIENCE } else { MEETING },
        progress: job.progress.clone(),
        notes: std::sync::Arc::new(move |line| observer.note(line)),
        lines,
    }
}

/// Runs events until there are no more, and waits for what came of them.
fn run_graphs(
    job: &Job<'_>,
    started: &JobNode,
    launched: Launched,
) -> Result<Option<ClusterOutcome>, JobError> {
    let Launched { inner, outputs, ending, controls, sums } = launched;
    let node = started.node.id();
    let stopper = controls.clone();
    let stopper = ClusterStopper(Box::new(move |is_first| match is_first {
        true => stopper.stop(),
        false => stopper.stop_now(),
    }));
    let mut tick = job.observer.begin(node.0, stopper)?;
    let over = job.progress.clone();
    // Relaxed: a figure.
    let watch = Watch::start(move || tick(over.load(Ordering::Relaxed)))
        .map_err(|error| JobError::failed(format!("can not start a thread: {error}")))?;
    let summary = std::thread::scope(|scope| {
        let writing = outputs.map(|outputs| {
            let (tell, sums) = (controls.coordinator.clone(), sums.clone());
            scope.spawn(move || {
                let ran = sums.outputs(of(outputs.run())?);
                // If it is gone, all is over.
                let _ = tell.map(|it| it.send(coordinator::Msg::OutputsEnded(ran)));
                Ok::<(), JobError>(())
            })
        });
        let ran = of(inner.run());
        match &ran {
            Ok(summary) => {
                let (failure, _) = sums.inner(summary.clone(), None);
                let _ = controls.agent.send(agent::Msg::Ended(failure));
            }
            Err(_) => controls.stop_now(),
        }
        let wrote = writing.map_or(Ok(Ok(())), std::thread::ScopedJoinHandle::join);
        wrote.map_err(|_| JobError::failed("a thread panicked"))??;
        ran
    })?;
    let process = watch.finish();
    let has_own_process = !job.fabric.is_in_process() || node == FIRST;
    let (_, figures) = sums.inner(summary, has_own_process.then_some(process));
    let _ = controls.agent.send(agent::Msg::Figures(figures));
    ending.wait()
}

fn of(ran: Result<RunSummary, StartError>) -> Result<RunSummary, JobError> {
    ran.map_err(|error| match error.is_of_setting() {
        true => JobError::Setting(error.to_string()),
        false => JobError::failed(error),
    })
}

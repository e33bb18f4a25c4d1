//! A job of the program's own modules over several nodes.

use crate::events::run::Task;
use crate::output::note;
use crate::run::{note_interrupt, progress};
use actinium_actor::{Interrupts, System};
use actinium_cluster::NodeConfig;
use actinium_cluster::fabric::Fabric;
use actinium_cluster::job::{
    self, DOWN_AFTER, FIRST, JobError, JobFabric, JobNode, MEETING, Program,
};
use actinium_events::Settings;
use actinium_events_cluster::{ClusterOutcome, ClusterProcessor, ClusterRunning};
use actinium_workload::job::{After, Job};
use std::sync::Arc;
use std::time::Duration;

/// How often the progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// A job that several nodes run together. Each is given the same.
#[derive(Debug)]
pub struct OwnJob<'a> {
    /// What is run, and how.
    pub task: Task<'a>,
    /// What it asks of the program's own types.
    pub job: &'a Job,
    /// The fabric between the nodes.
    pub fabric: JobFabric,
}

impl Program for OwnJob<'_> {
    type Report = ClusterOutcome;
    type Error = JobError;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<ClusterOutcome>, JobError> {
        let Task { loaded, registry, settings, .. } = self.task;
        let of_graph = |error| JobError::Setting(format!("{}: {error}", settings.config));
        let (builder, after) = self.job.builder(registry, &loaded.workload).map_err(of_graph)?;
        if let Some(label) = after.of_each_node() {
            return Err(JobError::Setting(format!(
                "--fabric: module '{label}' gathers something on each node, and nobody would merge that: let it be an output, which runs on the first node"
            )));
        }
        let run = &settings.run;
        let system = System::builder()
            .workers(run.workers.value)
            .policy(run.policy.value)
            .elastic(run.elastic.value)
            .bind(run.bind.value.clone())
            .build()?;
        // What this node says last may be a report that has to arrive.
        let config = NodeConfig { linger: DOWN_AFTER, ..job::config(self.fabric.down_after())? };
        let started = JobNode::join(system, config, fabric, note)?;
        let mut processor = ClusterProcessor::new(builder, self.processor())
            .name("job")
            // Elsewhere all of them start together.
            .patience(if self.fabric.lets_join_later() { Duration::from_secs(5) } else { MEETING })
            .on_note(note);
        if let Some(nodes) = self.nodes() {
            processor = processor.nodes(nodes);
        }
        let running = processor.start(&started.node, &started.system.handle())?;
        let outcome = self.watch(running, started.id() == FIRST)?;
        self.finish(outcome, after)
    }
}

impl OwnJob<'_> {
    /// The settings of a node's graph; workers are the system's.
    fn processor(&self) -> Settings {
        let mut settings = self.task.settings.run.processor(None);
        (settings.workers, settings.policy, settings.bind) = (None, None, None);
        settings.elastic = false;
        settings.events_max = self.task.settings.events.value;
        settings
    }

    fn nodes(&self) -> Option<u32> {
        let nodes = &self.task.settings.nodes;
        match self.fabric.is_in_process() {
            true => Some(nodes.in_process()),
            false => nodes.count.value,
        }
    }

    /// Waits for the end. Ctrl-C: the first ends the queue, the second ends what runs here.
    fn watch(
        &self,
        running: ClusterRunning,
        is_first: bool,
    ) -> Result<Option<ClusterOutcome>, JobError> {
        let tells = is_first || !self.fabric.is_in_process();
        let running = Arc::new(running);
        let stop = running.clone();
        let listen = Interrupts::listen(move |times| {
            if tells {
                note_interrupt(times);
            }
            match times {
                1 => stop.stop(),
                _ => stop.cancel(),
            }
        });
        let failed = |error| JobError::failed(format!("can not listen to Ctrl-C: {error}"));
        let interrupts = listen.map_err(failed)?;
        let quiet = self.task.notes.quiet || !is_first;
        let bar = progress(self.task.settings.events.value, "events", quiet);
        while !running.wait_for(TICK)? {
            bar.set(running.progress());
        }
        drop((interrupts, bar));
        match Arc::into_inner(running) {
            Some(running) => running.wait(),
            None => Err(JobError::failed("somebody else waits for the run")),
        }
    }

    /// Outputs write what they have gathered, if the run has ended orderly: on the first node.
    fn finish(
        &self,
        outcome: Option<ClusterOutcome>,
        after: After,
    ) -> Result<Option<ClusterOutcome>, JobError> {
        let Some(outcome) = outcome else { return Ok(None) };
        let stops = self.task.settings.run.on_error.value == crate::OnError::Stop;
        let run = &outcome.run;
        let is_whole = run.error.is_none() && run.abandoned == 0 && !(stops && run.failed > 0);
        if is_whole {
            after.run().map_err(JobError::failed)?;
        }
        Ok(Some(outcome))
    }
}

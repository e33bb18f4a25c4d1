//! One node's part in the probe.

use super::actors::{Arena, Msg, Prober, Target};
use super::figures::{Frames, NodeFigures};
use crate::nodes::failed;
use crate::nodes::trace::{self, NodeTrace, TracePart};
use crate::probe::settings::Settings;
use crate::{Failure, REST};
use actinium::prelude::*;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::job::{self, DOWN_AFTER, FIRST, JobNode, MEETING};
use actinium_cluster::{Node, NodeConfig, NodeEvent, Team};
use actinium_observe::Latency;
use actinium_observe::process::Watch;
use actinium_scheduler::nanoseconds;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What the nodes are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whether all nodes are in this process.
    pub in_one_process: bool,
    /// What is measured.
    pub settings: &'a Settings,
    /// The file for a trace of all nodes.
    pub trace: Option<&'a Path>,
}

/// Runs this node's part. The figures of all nodes, in order, are known on the first.
///
/// # Errors
/// If the node can not be started, or another one fails.
pub fn run<F: Fabric + 'static>(
    Asked { in_one_process, settings, trace: path }: Asked<'_>,
    note: fn(&str),
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) -> Result<Option<Vec<NodeFigures>>, Failure> {
    let config = NodeConfig {
        route: settings.route.value,
        // 0 in an MPI job: it knows.
        grid_nodes: settings.nodes.count.value.unwrap_or(0),
        ..job::config(DOWN_AFTER)?
    };
    let system = settings.system().build()?;
    let started = JobNode::join(system, config, fabric, note)?;
    let _shown = actinium::dashboard::node(&started.node);
    let mut part = Part::set_up(settings, &started)?;
    let trace = NodeTrace::start(path, &started, &part.team)?;
    let own = part.run(in_one_process, settings)?;
    let own = (own, trace.map(NodeTrace::finish).transpose()?);
    let Some(all) = job::gather(&started, &part.team, own)? else { return Ok(None) };
    let (figures, parts): (Vec<NodeFigures>, Vec<Option<TracePart>>) = all.into_iter().unzip();
    if let Some(path) = path {
        trace::merge(parts.into_iter().flatten().collect(), path, note)?;
    }
    Ok(Some(figures))
}

struct Part<'a> {
    system: &'a System,
    node: &'a Node,
    team: Team,
    arena: Arc<Arena>,
    probers: Vec<Address<Prober>>,
    finished: Receiver<Result<Instant, String>>,
    rounds: u32,
}

impl<'a> Part<'a> {
    fn set_up(settings: &Settings, started: &'a JobNode) -> Result<Self, Failure> {
        let JobNode { system, node } = started;
        let members = node.nodes();
        let team = started.team("probe")?;
        // Each node computes where the others' actors are: all must be asked for the same.
        let asked = settings.rows().map(|(name, value, _)| format!("{name} {value}")).join(", ");
        started.agree(&team, asked)?;
        let (sender, finished) = mpsc::channel();
        let down = sender.clone();
        node.on_event(move |event| {
            if let NodeEvent::Down { node, reason, .. } = event {
                let _ = down.send(Err(format!("{node} is down: {reason}")));
            }
        });
        let arena = Arc::new(Arena {
            in_flight: settings.in_flight.value,
            payload_bytes: settings.payload.value,
            seed: settings.seed.value,
            timed: settings.counters.value,
            made: Instant::now(),
            targets: OnceLock::new(),
            running: AtomicUsize::new(0),
            finished: sender,
            corrupted: AtomicU64::new(0),
            round_trips: Mutex::new(Latency::new()),
        });
        let actors = settings.actor_count() as u32;
        let first = team.rank() as u32 * actors;
        let start = |index| system.spawn(Prober::new(arena.clone(), first + index));
        let probers: Vec<_> = (0..actors).map(start).collect();
        node.export_all("actinium.probe", &probers).map_err(failed)?;
        let targets = Self::targets(node, &members, &probers)?;
        assert!(arena.targets.set(targets).is_ok(), "the actors are started once");
        Ok(Part { system, node, team, arena, probers, finished, rounds: 0 })
    }

    fn targets(
        node: &Node,
        members: &[NodeId],
        probers: &[Address<Prober>],
    ) -> Result<Box<[Target]>, Failure> {
        let mut targets = Vec::new();
        for &member in members {
            if member == node.id() {
                targets.extend(probers.iter().cloned().map(Target::Here));
            } else {
                let there = node.find_all::<Prober>(member, "actinium.probe", MEETING).wait();
                let there = there.map_err(|error| failed(format!("{member}: {error}")))?;
                targets.extend(there.into_iter().map(Target::There));
            }
        }
        Ok(targets.into())
    }

    fn run(&mut self, in_one_process: bool, settings: &Settings) -> Result<NodeFigures, Failure> {
        if settings.warm_up.value > 0 {
            self.round(settings.warm_up.value)?;
        }
        let before = self.handled()?;
        *self.round_trips() = Latency::new();
        // All nodes of this process are seen by one of them.
        let is_watched = !in_one_process || self.node.id() == FIRST;
        let watch = is_watched.then(|| Watch::start(|| ())).transpose().map_err(failed)?;
        let (elapsed, termination) = self.round(settings.messages.value)?;
        let process = watch.map(Watch::finish);
        let messages = self.handled()? - before;
        let round_trips = self.round_trips().buckets().collect();
        let stats = self.node.stats();
        let frames = stats.peers.iter().map(|peer| peer.aggregator.frames);
        Ok(NodeFigures {
            node: self.node.id().0,
            elapsed_ns: nanoseconds(elapsed),
            termination_ns: nanoseconds(termination),
            messages,
            // Relaxed: no actor is at work.
            corrupted: self.arena.corrupted.load(Ordering::Relaxed),
            round_trips,
            frames: Frames::of(&stats),
            destinations: frames.filter(|&frames| frames > 0).count() as u64,
            balanced: self.is_balanced(),
            process,
        })
    }

    /// The node's own machinery still sends (acknowledgements, say), and a ledger that is looked at
    /// meanwhile may be one message out; a lost message stays missing.
    fn is_balanced(&self) -> bool {
        (0..1_000).any(|_| {
            let audit = self.system.wait_idle(REST).and_then(|()| self.system.audit(REST));
            audit.is_ok_and(|audit| audit.is_balanced())
        })
    }

    fn round_trips(&self) -> std::sync::MutexGuard<'_, Latency> {
        self.arena.round_trips.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each actor of all nodes sends so many pings and gets its replies. How long that took here,
    /// and how long until it was known of all.
    fn round(&mut self, pings: u32) -> Result<(Duration, Duration), Failure> {
        // Relaxed: the barrier, and sending the word to begin, publish it.
        self.arena.running.store(self.probers.len(), Ordering::Relaxed);
        let round = self.rounds;
        self.rounds += 1;
        self.team.barrier().wait().map_err(failed)?;
        let begin = Instant::now();
        for prober in &self.probers {
            prober.send(Msg::Start(pings, round)).map_err(failed)?;
        }
        let end = match self.finished.recv() {
            Ok(end) => end.map_err(failed)?,
            Err(_) => unreachable!("the arena holds a sender"),
        };
        self.team.quiesce(self.node, || self.system.wait_idle(REST)).map_err(failed)?;
        Ok((end.duration_since(begin), end.elapsed()))
    }

    /// Pings and replies that the actors of this node have handled so far.
    fn handled(&self) -> Result<u64, Failure> {
        let answers: Vec<_> = self.probers.iter().map(|prober| prober.ask(Msg::Handled)).collect();
        answers.into_iter().map(|answer| answer.wait().map_err(failed)).sum()
    }
}

//! The run: start the actors, warm up, measure as often as asked.
//!
//! A measurement lasts from when the first host is told to begin until the last actor has had its
//! last reply. Counters are the differences between two moments at which nothing is under way;
//! latencies are those that the runtime has sampled in between.

use super::actors::{Arena, Draw, Host, Msg, Prober, Round};
use super::beside::{self, Beside};
use super::payload::{Boxed, INLINE_MAX, Inline, Payload};
use super::run::Run;
use super::settings::{Placement, Settings};
use crate::{Failure, REST};
use actinium::prelude::*;
use actinium::topology::PuId;
use actinium::{Audit, CounterValues, Stats};
use actinium_observe::Latency;
use actinium_report::Progress;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// How often the progress is looked at: seldom enough not to be noticed in the figures.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A round is given up if so many looks in a row (30 s) find that no message was handled.
const LOOKS_WITHOUT_PROGRESS: u32 = 120;

/// The outcome of a probe.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measurements, in order.
    pub runs: Vec<Run>,
    /// A repetition, with `--segment`, of each measurement, beside a segment.
    pub beside: Vec<Beside>,
    /// How a payload travels: "none", "inline" or "boxed".
    pub carrier: &'static str,
    /// Bytes of one message as it lies in a mailbox.
    pub message_bytes: usize,
    /// Most requests of any actor that were outstanding.
    pub outstanding_max: u64,
    /// Payloads that did not arrive as they were sent: none.
    pub corrupted: u64,
    /// The counters of the system's whole life, start-up and warm-up included.
    pub life: Stats,
    /// Probers that belonged to each worker at the end.
    pub probers_at: Vec<u64>,
    /// The PU that each worker was bound to.
    pub pus: Vec<Option<PuId>>,
    /// The ledger of the system's whole life.
    pub ledger: Audit,
}

/// Runs the probe; a progress bar shows on stderr if that is a terminal, unless `quiet`. A page of
/// what the system did is written to `report`.
///
/// # Errors
/// If the system can not be started, or no message is handled any more although some are due.
pub fn measure(
    settings: &Settings,
    report: Option<&Path>,
    quiet: bool,
) -> Result<Outcome, Failure> {
    let run = match settings.payload.value {
        0 => run_with::<()>,
        1..=8 => run_with::<Inline<8>>,
        9..=16 => run_with::<Inline<16>>,
        17..=32 => run_with::<Inline<32>>,
        33..=64 => run_with::<Inline<64>>,
        65..=128 => run_with::<Inline<128>>,
        129..=256 => run_with::<Inline<256>>,
        257..=512 => run_with::<Inline<512>>,
        513..=INLINE_MAX => run_with::<Inline<INLINE_MAX>>,
        _ => run_with::<Boxed>,
    };
    run(settings, report, quiet)
}

fn run_with<P: Payload>(
    settings: &Settings,
    report: Option<&Path>,
    quiet: bool,
) -> Result<Outcome, Failure> {
    let mut stage = Stage::<P>::set_up(settings, report)?;
    let progress = |pings: u32, what: &str| {
        let messages = 2 * settings.actor_count() * u64::from(pings);
        if quiet { Progress::hidden(messages) } else { Progress::new(messages, what) }
    };
    let warm_up = settings.warm_up.value;
    if warm_up > 0 {
        stage.round(warm_up, &progress(warm_up, "warm-up"))?;
    }
    let (pings, repeat) = (settings.messages.value, settings.repeat.value);
    let (mut runs, mut besides) = (Vec::new(), Vec::new());
    for number in 1..=repeat {
        let what = if repeat > 1 { format!("run {number}/{repeat}") } else { "probe".to_owned() };
        let sampled = settings.counters.value;
        runs.push(stage.measure(pings, &progress(pings, &what), sampled)?);
        if let Some(size) = settings.segment.value {
            let bar = progress(pings, &format!("{what}, with a segment"));
            besides.push(beside::measure(size, || stage.measure(pings, &bar, sampled))?);
        }
    }
    stage.outcome(runs, besides)
}

/// The system with all actors started.
struct Stage<P: Payload> {
    system: System,
    arena: Arc<Arena<P>>,
    hosts: Vec<Address<Host<P>>>,
    finished: Receiver<Instant>,
    rounds: u32,
}

impl<P: Payload> Stage<P> {
    fn set_up(settings: &Settings, report: Option<&Path>) -> Result<Self, Failure> {
        let system = settings.system();
        let system = match report {
            Some(path) => system.report(path).build()?,
            None => system.build()?,
        };
        let (sender, finished) = mpsc::channel();
        let arena = Arc::new(Arena {
            in_flight: settings.in_flight.value,
            payload_bytes: settings.payload.value,
            seed: settings.seed.value,
            draw: settings
                .crossing
                .value
                .map(|crossing| Draw { per_worker: settings.actors.value, crossing }),
            targets: OnceLock::new(),
            running: AtomicUsize::new(0),
            finished: sender,
            starts: AtomicU64::new(0),
            outstanding_max: AtomicU64::new(0),
            corrupted: AtomicU64::new(0),
        });
        let actors = settings.actor_count() as u32;
        let (hosts, targets) = match settings.placement.value {
            Placement::Spread => spread(&system, &arena, settings.actors.value)?,
            Placement::Policy => {
                let start = |index| system.spawn(Prober::new(arena.clone(), index));
                let targets = (0..actors).map(start).collect();
                (vec![system.spawn(Host::new(arena.clone(), 0..actors, None))], targets)
            }
        };
        assert!(arena.targets.set(targets).is_ok(), "the actors are started once");
        system.wait_idle(REST)?;
        Ok(Stage { system, arena, hosts, finished, rounds: 0 })
    }

    /// A round that counts.
    fn measure(&mut self, pings: u32, progress: &Progress, sampled: bool) -> Result<Run, Failure> {
        self.system.reset_latencies();
        // Relaxed: no actor is at work.
        self.arena.starts.store(0, Ordering::Relaxed);
        let before = self.system.stats().total();
        let elapsed = self.round(pings, progress)?;
        let after = self.system.stats();
        Ok(Run {
            elapsed,
            control_messages: self.hosts.len() as u64 + self.targets() as u64,
            counters: difference(&after.total(), &before),
            latency: sampled.then(|| Latency::from_buckets(after.latencies).quantiles()),
            // Relaxed: as above.
            starts: self.arena.starts.load(Ordering::Relaxed),
        })
    }

    /// Each actor sends so many pings and gets its replies; returns how long that took, when
    /// nothing is under way any more.
    fn round(&mut self, pings: u32, progress: &Progress) -> Result<Duration, Failure> {
        let round = Round { pings, number: self.rounds };
        self.rounds += 1;
        // Relaxed: sending the word to begin publishes it.
        self.arena.running.store(self.targets(), Ordering::Relaxed);
        let before = self.system.stats().total().handled;
        let begin = Instant::now();
        for host in &self.hosts {
            host.send(round).map_err(|error| Failure::Failed(format!("a host: {error}")))?;
        }
        let end = self.wait(|handled| progress.set(handled.saturating_sub(before)))?;
        self.system.wait_idle(REST)?;
        Ok(end.duration_since(begin))
    }

    /// Waits for the last reply, and says now and then how many messages were handled.
    fn wait(&self, look: impl Fn(u64)) -> Result<Instant, Failure> {
        let (mut last, mut without_progress) = (0, 0);
        look(self.system.stats().total().handled);
        loop {
            match self.finished.recv_timeout(LOOK_EVERY) {
                Ok(end) => return Ok(end),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the arena holds a sender"),
            }
            let handled = self.system.stats().total().handled;
            look(handled);
            without_progress = if handled == last { without_progress + 1 } else { 0 };
            last = handled;
            if without_progress == LOOKS_WITHOUT_PROGRESS {
                let counters = self.system.stats().total();
                return Err(Failure::Failed(format!(
                    "the probe stands still: a defect of the runtime; counters: {counters:?}"
                )));
            }
        }
    }

    fn targets(&self) -> usize {
        self.arena.targets.get().map_or(0, |targets| targets.len())
    }

    fn outcome(self, runs: Vec<Run>, beside: Vec<Beside>) -> Result<Outcome, Failure> {
        let ledger = self.system.audit(REST)?;
        let life = self.system.stats();
        let kind = std::any::type_name::<Prober<P>>();
        let types = self.system.actor_types();
        let probers = types.into_iter().find(|figures| figures.kind == kind);
        let pus = self.system.pus().to_vec();
        self.system.shutdown(Shutdown::Drop);
        // Relaxed, both: the workers have ended.
        Ok(Outcome {
            runs,
            carrier: P::CARRIER,
            message_bytes: size_of::<Msg<P>>(),
            outstanding_max: self.arena.outstanding_max.load(Ordering::Relaxed),
            corrupted: self.arena.corrupted.load(Ordering::Relaxed),
            beside,
            probers_at: probers.map(|figures| figures.at_workers).unwrap_or_default(),
            pus,
            life,
            ledger,
        })
    }
}

/// A host on each worker, which starts so many actors there.
#[expect(clippy::type_complexity, reason = "hosts and targets, taken apart at once")]
fn spread<P: Payload>(
    system: &System,
    arena: &Arc<Arena<P>>,
    actors: u32,
) -> Result<(Vec<Address<Host<P>>>, Box<[Address<Prober<P>>]>), Failure> {
    let (sender, started) = mpsc::channel();
    let mut hosts = Vec::new();
    for worker in 0..system.workers() {
        let first = worker as u32 * actors;
        let (arena, sender) = (arena.clone(), sender.clone());
        let host = move || Host::new(arena.clone(), first..first + actors, Some(sender.clone()));
        let host =
            system.spawn_with(SpawnOptions::new().on_worker(worker), host).map_err(|error| {
                Failure::Failed(format!("can not start worker {worker}'s actors: {error}"))
            })?;
        hosts.push(host);
    }
    let mut groups: Vec<_> = started.iter().take(hosts.len()).collect();
    groups.sort_unstable_by_key(|&(first, _)| first);
    Ok((hosts, groups.into_iter().flat_map(|(_, group)| group).collect()))
}

/// Returns the counts between two moments. Counters wrap.
fn difference(after: &CounterValues, before: &CounterValues) -> Vec<(&'static str, u64)> {
    let pairs = after.pairs().into_iter().zip(before.pairs());
    pairs.map(|((name, after), (_, before))| (name, after.wrapping_sub(before))).collect()
}

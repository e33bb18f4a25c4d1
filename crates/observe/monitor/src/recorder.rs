//! Looks at a system from time to time.

use crate::recording::{
    MailboxFigures, Recording, SCHEMA_VERSION, Sample, TypeFigures, TypeTurns, WorkerFigures,
};
use crate::structure::{Structure, Tree};
use actinium_actor::{
    ActorId, ActorOrder, ActorQuery, ActorTypeFigures, CounterValues, Measure, Measured, Measuring,
    ScaleEvent, ShutdownReport, Stats, SystemHandle,
};
use actinium_observe::process::{ProcessFigures, Watch};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// After so many looks every second one is forgotten: memory is bounded.
const SAMPLES_MAX: usize = 2_048;
/// Samples that a recording has at most: more than what a screen shows.
const KEPT_MAX: usize = 1_024;
/// At each so-manieth look it walks over all actors.
const WALK_EVERY: u64 = 20;
/// The fullest mailboxes that are named.
const MAILBOXES: usize = 20;
/// The types whose turns are told: those that took most time.
const TYPES: usize = 50;

/// Records what a system does, from [`start`](Recorder::start) to [`finish`](Recorder::finish).
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::Recorder;
///
/// let system = System::builder().build()?;
/// let recorder = Recorder::start(&system)?;
/// // .. actors work ..
/// let recording = recorder.finish();
/// assert_eq!(recording.workers.len(), system.workers());
/// println!("{}", recording.page().html().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    system: SystemHandle,
    begun: SystemTime,
    watch: Watch,
    measuring: Measuring,
    /// What had been measured before.
    before: Measured,
    seen: Arc<Mutex<Seen>>,
}

/// What was seen so far.
#[derive(Debug)]
struct Seen {
    begin: Instant,
    /// The number of looks.
    looks: u64,
    samples: Vec<Sample>,
    types: BTreeMap<&'static str, TypeFigures>,
    mailboxes: BTreeMap<ActorId, MailboxFigures>,
    tree: Tree,
}

impl Recorder {
    /// Begins, by a thread of its own.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(system: &SystemHandle) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the process is watched in real time")]
        let (begin, begun) = (Instant::now(), SystemTime::now());
        let mut seen = Seen {
            begin,
            looks: 0,
            samples: Vec::new(),
            types: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            tree: Tree::default(),
        };
        seen.look(system);
        let seen = Arc::new(Mutex::new(seen));
        let (system, shared) = (system.clone(), seen.clone());
        let looked = system.clone();
        let look = move || shared.lock().unwrap_or_else(PoisonError::into_inner).look(&looked);
        let (before, measuring) = (system.measured(), system.measure(&Measure::new()));
        Ok(Recorder { watch: Watch::start(look)?, measuring, before, system, begun, seen })
    }

    /// Ends, and returns what was recorded.
    #[must_use]
    pub fn finish(self) -> Recording {
        let process = self.watch.finish();
        let stats = self.system.stats();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // With what only the last moment tells: restarts of types, and those that lived shortly.
        seen.see_types(&self.system.actor_types());
        let mut recording = seen.recording(&self.system, &stats, self.begun, process);
        drop(self.measuring);
        recording.turns = turns(&self.before, &self.system.measured());
        recording
    }
}

impl Recording {
    /// Adds what a system ended with.
    #[must_use]
    pub fn ended(mut self, report: &ShutdownReport) -> Self {
        let mut say = |name: &str, text: String| self.end.push((name.to_owned(), text));
        say("handled", report.handled.to_string());
        say("dropped by the shutdown", report.dropped.to_string());
        say("dead letters", report.dead.to_string());
        if let Some(failure) = &report.escalated {
            say("ended by a failure", failure.to_string());
        }
        if let Some(unfinished) = &report.unfinished {
            say("not finished in time", unfinished.to_string());
        }
        for stuck in &report.stuck {
            say("given up, for it did not return", stuck.to_string());
        }
        if report.left_actors > 0 {
            say("actors left", report.left_actors.to_string());
            say("their messages", report.left_messages.to_string());
        }
        self
    }
}

impl Seen {
    fn look(&mut self, system: &SystemHandle) {
        let stats = system.stats();
        let total = stats.total();
        self.samples.push(Sample {
            at_s: self.begin.elapsed().as_secs_f64(),
            handled: stats.workers.iter().map(|worker| worker.handled).collect(),
            queued: total.waiting(),
            dead: total.dead,
            restarted: total.restarted,
            actors: stats.actors as u64,
            working: stats.working as u64,
        });
        thin(&mut self.samples, SAMPLES_MAX);
        if self.looks.is_multiple_of(WALK_EVERY) || self.looks == 1 {
            self.see_types(&system.actor_types());
            self.see_mailboxes(system);
            let at_s = self.begin.elapsed().as_secs_f64();
            self.tree.look(system, at_s, stats.actors as u64);
        }
        self.looks += 1;
    }

    fn see_types(&mut self, types: &[ActorTypeFigures]) {
        for seen in types {
            let known = self.types.entry(seen.kind).or_insert_with(|| TypeFigures {
                kind: seen.kind.to_owned(),
                ..TypeFigures::default()
            });
            known.living_max = known.living_max.max(seen.living);
            known.queued_max = known.queued_max.max(seen.queued);
            known.mailbox_max = known.mailbox_max.max(seen.queued_max);
            known.restarts = seen.restarts;
            known.cost_ns = seen.cost_ns.or(known.cost_ns);
        }
    }

    fn see_mailboxes(&mut self, system: &SystemHandle) {
        let at_s = self.begin.elapsed().as_secs_f64();
        let fullest = ActorQuery::new().order(ActorOrder::Queued).take(MAILBOXES);
        for seen in system.actors(&fullest).actors.iter().filter(|it| it.queued > 0) {
            let known = self.mailboxes.entry(seen.actor).or_default();
            if seen.queued > known.queued_max {
                let (actor, kind) = (seen.actor.to_string(), seen.kind.to_owned());
                *known = MailboxFigures { actor, kind, queued_max: seen.queued, at_s };
            }
        }
        while self.mailboxes.len() > MAILBOXES {
            let least = self.mailboxes.iter().min_by_key(|(_, it)| it.queued_max);
            let Some((&least, _)) = least else { return };
            self.mailboxes.remove(&least);
        }
    }

    fn recording(
        &mut self,
        system: &SystemHandle,
        stats: &Stats,
        begun: SystemTime,
        process: ProcessFigures,
    ) -> Recording {
        thin(&mut self.samples, KEPT_MAX);
        let mut types: Vec<_> = self.types.values().cloned().collect();
        types.sort_by_key(|it| std::cmp::Reverse(it.living_max));
        let mut mailboxes: Vec<_> = self.mailboxes.values().cloned().collect();
        mailboxes.sort_by_key(|it| std::cmp::Reverse(it.queued_max));
        let pus = system.pus();
        let workers = stats.workers.iter().enumerate().map(|(index, values)| WorkerFigures {
            pu: pus.get(index).copied().flatten().map(|pu| pu.0),
            counters: counters(values),
        });
        Recording {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect(),
            begun_unix_s: begun.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()),
            policy: system.policy().to_string(),
            samples: std::mem::take(&mut self.samples),
            workers: workers.collect(),
            external: counters(&stats.external),
            latencies: stats.latencies.clone(),
            types,
            turns: Vec::new(),
            mailboxes,
            dead_letters: system.dead_letters().iter().map(ToString::to_string).collect(),
            scaling: stats.scale_events.iter().map(scaling).collect(),
            structure: Structure::of(system, std::mem::take(&mut self.tree)),
            end: Vec::new(),
            process,
        }
    }
}

/// What was measured since then, those first that took most time.
fn turns(before: &Measured, now: &Measured) -> Vec<TypeTurns> {
    let then = |kind: &str| before.types.iter().find(|it| it.kind == kind).map(|it| &it.figures);
    let types = now.types.iter().map(|it| {
        let figures = then(it.kind).map(|then| it.figures.since(then));
        TypeTurns::of(it.kind, figures.as_ref().unwrap_or(&it.figures))
    });
    let mut types: Vec<_> = types.filter(|it| it.turns > 0 || !it.wait_ns.is_empty()).collect();
    types.sort_by_key(|it| std::cmp::Reverse(it.busy_ns));
    types.truncate(TYPES);
    types
}

fn scaling(event: &ScaleEvent) -> (f64, u64, String) {
    (event.at_ns as f64 * 1e-9, event.to as u64, format!("{:?}", event.reason))
}

fn counters(values: &CounterValues) -> BTreeMap<String, u64> {
    values.pairs().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Forgets every second sample until there are at most so many. All but the first and the last one
/// may go: counters in them are sums since the start.
fn thin(samples: &mut Vec<Sample>, most: usize) {
    while samples.len() > most {
        let last = samples.len() - 1;
        let mut at = 0;
        samples.retain(|_| {
            at += 1;
            (at - 1) % 2 == 0 || at - 1 == last
        });
    }
}

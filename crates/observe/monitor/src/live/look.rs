//! How a system is looked at.

use super::last_turns::LastTurnsOf;
use super::process::Process;
use super::query::{ActorsQuery, QueryError};
use super::sections;
use super::snapshot::{
    About, ActorDetails, ActorNow, ActorsNow, DeadLetterNow, ExchangeNow, FamilyNow, InTurn,
    LIVE_VERSION, Now, ProcessNow, PuPlace, ScalingNow, Snapshot, TurnsNow, Walk, WorkerNow,
};
use crate::types::types;
use actinium_actor::{
    ActorCursor, ActorFigures, ActorOrder, ActorQuery, CounterValues, Exchange, Measure,
    MeasuredType, Measuring, Stats, SystemHandle,
};
use actinium_observe::process::cpu_time::thread_time;
use actinium_observe::process::proc;
use actinium_topology::{Pu, Topology};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Of what takes long there is one look in this time.
const PAUSE: Duration = Duration::from_secs(1);
/// It takes at most one part in so many of a CPU's time.
const REST: u32 = 50;
/// The fullest mailboxes that are named.
const MAILBOXES: usize = 20;
/// The types that are named; and whose turns are told.
const TYPES: usize = 200;
const TURNS: usize = 50;
/// In a system of more actors, only what has lasted is asked in whose turn a worker is: to find out
/// holds up actors that start or end.
const FEW_ACTORS: usize = 10_000;
/// The most workers that are asked so at one look; and where there are few actors.
const ASKED: usize = 4;
const ASKED_OF_FEW: usize = 64;

/// Looks at a system. Clones look at the same one, and share what takes long to look at.
#[derive(Clone, Debug)]
pub struct Live(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    system: SystemHandle,
    begin: Instant,
    about: About,
    seen: Mutex<Seen>,
    last_turns: Arc<LastTurnsOf>,
}

/// What was seen so far.
#[derive(Debug)]
struct Seen {
    number: u64,
    process: Process,
    process_now: Rested<ProcessNow>,
    walk: Rested<Walk>,
    exchanges: Rested<Vec<ExchangeNow>>,
    turns_now: Rested<(f64, Vec<TurnsNow>)>,
    /// Begins with the first look.
    measuring: Option<Measuring>,
    /// Of each worker that was in a turn: how many it had ended, and since when.
    turns: Vec<Option<(u64, Instant)>>,
}

/// What takes time to look at, and so is looked at only now and then.
#[derive(Debug, Default)]
struct Rested<T> {
    value: T,
    /// Not before this moment again.
    next: Option<Instant>,
}

impl<T: Clone> Rested<T> {
    fn get(&mut self, pause: Duration, look: impl FnOnce() -> T) -> T {
        if self.next.is_none_or(|next| next <= now()) {
            let used = thread_time();
            self.value = look();
            self.next = Some(now() + pause.max((thread_time() - used) * REST));
        }
        self.value.clone()
    }
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a live view shows real time")]
    Instant::now()
}

impl Live {
    /// Looks at this system, on this machine.
    #[must_use]
    pub fn new(system: &SystemHandle) -> Self {
        Live::on(system, Topology::detect().ok().as_ref())
    }

    /// Looks at this system, and takes the machine for this one.
    #[must_use]
    pub fn on(system: &SystemHandle, machine: Option<&Topology>) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a live view shows real time")]
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let pus = system.pus().iter().map(|pu| pu.map(|pu| pu.0)).chain(std::iter::repeat(None));
        let about = About {
            actinium_version: env!("CARGO_PKG_VERSION").to_owned(),
            // Two lives of a process's number are told apart by the time.
            life: (begun.as_nanos() as u64) ^ u64::from(std::process::id()).rotate_left(40),
            command: std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect(),
            pid: std::process::id(),
            host: proc::host(),
            machine: proc::machine(),
            begun_unix_s: begun.as_secs(),
            policy: system.policy().to_string(),
            workers: pus.take(system.workers()).collect(),
            pus: machine.map(places).unwrap_or_default(),
        };
        let seen = Seen {
            number: 0,
            process: Process::new(),
            process_now: Rested { value: ProcessNow::default(), next: None },
            walk: Rested { value: Walk::default(), next: None },
            exchanges: Rested { value: Vec::new(), next: None },
            turns_now: Rested { value: (0.0, Vec::new()), next: None },
            measuring: None,
            turns: Vec::new(),
        };
        let last_turns = LastTurnsOf::system(system);
        let (system, seen) = (system.clone(), Mutex::new(seen));
        Live(Arc::new(Shared { system, begin: now(), about, seen, last_turns }))
    }

    /// The system.
    #[must_use]
    pub fn system(&self) -> &SystemHandle {
        &self.0.system
    }

    /// What does not change.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.0.about
    }

    /// Looks at the system. Who shows it several times a second to many shares one snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let now = self.now();
        Snapshot { schema_version: LIVE_VERSION, about: self.0.about.clone(), now }
    }

    /// Looks at what changes.
    #[must_use]
    pub fn now(&self) -> Now {
        // Without the lock: it is the program's code that is called.
        let sections = sections::all();
        let Shared { system, begin, .. } = &*self.0;
        let mut seen = self.seen();
        let stats = system.stats();
        let at_s = || begin.elapsed().as_secs_f64();
        seen.number += 1;
        seen.measuring.get_or_insert_with(|| system.measure(&Measure::new()));
        let Seen { process, process_now, walk, exchanges, turns_now, .. } = &mut *seen;
        let process = process_now.get(Duration::ZERO, || process.look(at_s()));
        let walk = walk.get(PAUSE, || walk_over(system, at_s()));
        let exchanges = exchanges
            .get(Duration::ZERO, || system.exchanges().iter().map(ExchangeNow::from).collect());
        let (turns_at_s, turns) = turns_now.get(Duration::ZERO, || (at_s(), turns_of(system)));
        Now {
            number: seen.number,
            at_s: at_s(),
            is_ending: system.is_ending(),
            actors: stats.actors as u64,
            working: stats.working as u64,
            waiting: stats.total().waiting(),
            workers: seen.workers(system, &stats),
            external: counters(&stats.external),
            latencies: buckets(&stats.latencies),
            process,
            walk,
            turns,
            turns_at_s,
            dead_letters: dead_letters(system),
            exchanges,
            scaling: scaling(&stats),
            sections,
        }
    }

    /// A page of the actors. It walks over all of them: a million take about a tenth of a second,
    /// on the thread that asks.
    ///
    /// # Errors
    /// If the query is none: the error says what is wrong with it.
    pub fn actors(&self, query: &ActorsQuery) -> Result<ActorsNow, QueryError> {
        let mut page = self.0.system.actors(&query.parse()?);
        let has_more = page.actors.len() > query.page();
        page.actors.truncate(query.page());
        let last = page.actors.last().filter(|_| has_more);
        Ok(ActorsNow {
            total: page.total,
            next: last.map(|last| ActorCursor::from(last).to_string()),
            actors: page.actors.iter().map(ActorNow::from).collect(),
        })
    }

    /// One actor, if it lives, with the first `take` that it supervises. From the first call on its
    /// turns are recorded, and its messages measured: until nobody has asked for five seconds. At
    /// most 16 actors are looked at so.
    #[must_use]
    pub fn actor(&self, number: u64, take: usize) -> Option<ActorDetails> {
        let figures = self.0.system.actor(number)?;
        Some(ActorDetails {
            turns: self.0.last_turns.actor(figures.actor),
            children: self.family(Some(number), take),
            figures: (&figures).into(),
        })
    }

    /// The first `take` actors that this one supervises; or, for `None`, of those that supervise
    /// others and have no parent.
    #[must_use]
    pub fn family(&self, of: Option<u64>, take: usize) -> FamilyNow {
        let family = self.0.system.family(of, take);
        let members = family.members.iter().map(|it| ((&it.figures).into(), it.children));
        FamilyNow { total: family.total, members: members.collect() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn workers(&mut self, system: &SystemHandle, stats: &Stats) -> Vec<WorkerNow> {
        let now = now();
        let is_small = stats.actors <= FEW_ACTORS;
        let mut asked = 0;
        self.turns.resize(stats.workers.len(), None);
        let most = if is_small { ASKED_OF_FEW } else { ASKED };
        let worker = |(index, (values, turn)): (usize, (&CounterValues, &mut Option<_>))| {
            let is_occupied = system.is_occupied(index);
            let begun = match *turn {
                Some((turns, begun)) if is_occupied && turns == values.turns => begun,
                _ => now,
            };
            *turn = is_occupied.then_some((values.turns, begun));
            let is_asked = is_occupied && (is_small || begun < now) && asked < most;
            asked += usize::from(is_asked);
            let occupied = is_asked.then(|| system.occupied(index)).flatten();
            let in_turn = occupied.and_then(|it| it.actor).map(|(actor, kind)| InTurn {
                actor: actor.as_u64(),
                kind: kind.to_owned(),
                since_s: now.duration_since(begun).as_secs(),
            });
            WorkerNow { is_occupied, in_turn, counters: counters(values) }
        };
        stats.workers.iter().zip(&mut self.turns).enumerate().map(worker).collect()
    }
}

fn places(machine: &Topology) -> Vec<PuPlace> {
    let place = |pu: &Pu| PuPlace {
        pu: pu.id.0,
        core: pu.core as u32,
        l3: pu.l3.map(|at| at as u32),
        numa_node: pu.numa_node.map(|at| machine.numa_nodes()[at].os_index),
        package: machine.packages()[pu.package].os_index,
        is_allowed: machine.allowed().contains(pu.id),
    };
    machine.pus().iter().map(place).collect()
}

fn walk_over(system: &SystemHandle, at_s: f64) -> Walk {
    let mut types = types(system);
    let types_left_out = types.len().saturating_sub(TYPES) as u64;
    types.truncate(TYPES);
    let fullest = ActorQuery::new().order(ActorOrder::Queued).take(MAILBOXES);
    let fullest = system.actors(&fullest).actors;
    Walk {
        at_s,
        types,
        types_left_out,
        fullest: fullest.iter().filter(|it| it.queued > 0).map(ActorNow::from).collect(),
    }
}

fn turns_of(system: &SystemHandle) -> Vec<TurnsNow> {
    let quantiles = |buckets: &[(u64, u64)]| [0.5, 0.99, 1.0].map(|it| quantile(buckets, it));
    let turns = |it: &MeasuredType| TurnsNow {
        kind: it.kind.to_owned(),
        turns: it.figures.turns,
        handled: it.figures.handled,
        bytes: it.figures.bytes,
        busy_ns: it.figures.busy_ns,
        turn_ns: quantiles(&it.figures.turn_ns),
        wait_ns: quantiles(&it.figures.wait_ns),
        messages: it.figures.messages.iter().map(|it| (it.name.to_owned(), it.handled)).collect(),
    };
    system.measured().types.iter().take(TURNS).map(turns).collect()
}

/// The value that this share of what is in rising buckets is at most; 0 if there is nothing.
fn quantile(buckets: &[(u64, u64)], share: f64) -> u64 {
    let all: u64 = buckets.iter().map(|it| it.1).sum();
    let mut left = (all as f64 * share).ceil().max(1.0) as u64;
    let found = buckets.iter().find(|it| {
        let is_in = left <= it.1;
        left = left.saturating_sub(it.1);
        is_in
    });
    found.or(buckets.last()).map_or(0, |it| it.0)
}

impl From<&ActorFigures> for ActorNow {
    fn from(figures: &ActorFigures) -> Self {
        ActorNow {
            actor: figures.actor.as_u64(),
            kind: figures.kind.to_owned(),
            name: figures.name.clone(),
            worker: figures.worker.map(|worker| worker as u64),
            queued: figures.queued,
            parent: figures.parent.map(actinium_actor::ActorId::as_u64),
        }
    }
}

impl From<&Exchange> for ExchangeNow {
    fn from(it: &Exchange) -> Self {
        ExchangeNow { from: it.from as u64, to: it.to as u64, stolen: it.stolen, chunks: it.chunks }
    }
}

fn counters(values: &CounterValues) -> BTreeMap<String, u64> {
    values.pairs().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Puts latencies into buckets whose bounds rise by the square root of 2.
fn buckets(latencies: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut buckets = BTreeMap::<u64, u64>::new();
    for &(ns, messages) in latencies {
        *buckets.entry(bound(ns)).or_default() += messages;
    }
    buckets.into_iter().collect()
}

/// The upper bound of a latency's bucket.
fn bound(ns: u64) -> u64 {
    let half_steps = (ns.max(1) as f64).log2() * 2.0;
    2f64.powf(half_steps.ceil() / 2.0).floor() as u64
}

fn dead_letters(system: &SystemHandle) -> Vec<DeadLetterNow> {
    let letters = system.dead_letters();
    let shown = letters.iter().map(|it| DeadLetterNow {
        to: it.to.as_u64(),
        kind: it.kind.to_owned(),
        message: it.message.to_owned(),
        count: it.count,
        reason: it.reason.to_string(),
    });
    shown.collect()
}

fn scaling(stats: &Stats) -> Vec<ScalingNow> {
    let events = stats.scale_events.iter().map(|it| ScalingNow {
        at_s: it.at_ns as f64 * 1e-9,
        from: it.from as u64,
        to: it.to as u64,
        reason: format!("{:?}", it.reason),
    });
    events.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_latencies_rise_by_the_square_root_of_two() {
        assert_eq!([1, 2, 3, 4, 100, 1_000].map(bound), [1, 2, 4, 4, 128, 1_024]);
        assert_eq!((bound(0), bound(90), bound(91)), (1, 90, 128));
        let found = buckets(&[(90, 2), (91, 1), (92, 5), (1_000, 1)]);
        assert_eq!(found, [(90, 2), (128, 6), (1_024, 1)]);
    }

    #[test]
    fn a_quantile_is_the_bucket_that_holds_it() {
        let buckets = [(10, 98), (20, 1), (500, 1)];
        assert_eq!([0.5, 0.98, 0.99, 1.0].map(|it| quantile(&buckets, it)), [10, 10, 20, 500]);
        assert_eq!((quantile(&[], 0.5), quantile(&[(7, 1)], 0.0)), (0, 7));
    }

    #[test]
    fn the_places_of_pus_name_core_node_and_package() {
        let machine = Topology::synthetic("pack:2 numa:1 core:2 pu:2").expect("a machine");
        let places = places(&machine);
        assert_eq!(places.len(), 8);
        let of = |pu: usize| (places[pu].core, places[pu].numa_node, places[pu].package);
        assert_eq!((of(0), of(3), of(7)), ((0, Some(0), 0), (1, Some(0), 0), (3, Some(1), 1)));
        assert!(places.iter().all(|it| it.is_allowed));
    }

    #[test]
    fn what_takes_long_rests() {
        let mut rested = Rested { value: 0, next: None };
        assert_eq!(rested.get(Duration::from_secs(3_600), || 1), 1);
        assert_eq!(rested.get(Duration::from_secs(3_600), || 2), 1, "not within the hour");
    }
}

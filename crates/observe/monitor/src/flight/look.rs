//! One look at a system, and one walk over its actors: what workers keep anyway, and what Linux
//! says of their threads.

use super::document::{
    CpuLook, LaneTraffic, Look, MailboxNow, MutedNow, Seen, Walk, WorkerLook, WorkerPlace,
    WorkerThread,
};
use actinium_actor::{
    ActorFigures, ActorOrder, ActorQuery, CounterValues, SystemHandle, WaitingActor,
};
use actinium_observe::process::cpu_time::{Thread, thread_times};
use actinium_observe::process::proc::{cpu_times, thread_state};
use std::collections::BTreeMap;

/// Mailboxes, and actors of each sort that waits, that are named: more than anybody reads.
const NAMED: usize = 32;
/// With more actors than this, who runs is only looked for on walks: it is found by going through
/// them.
const SOUGHT_MAX: u64 = 20_000;

/// Looks at the counters, at the threads, and at who runs (`seek`: however many actors there are).
pub(super) fn look(system: &SystemHandle, at_s: f64, seek: bool) -> Look {
    let stats = system.stats();
    let total = stats.total();
    let seek = seek || stats.actors as u64 <= SOUGHT_MAX;
    let times = thread_times();
    let threads = system.worker_threads();
    let thread = |worker: usize| -> Thread {
        let number = threads.get(worker).copied().flatten();
        number.and_then(|it| times.get(&it).copied()).unwrap_or_default()
    };
    let workers = stats.workers.iter().enumerate();
    let workers = workers.map(|(worker, it)| worker_look(system, worker, it, thread(worker), seek));
    let cpus = cpu_times()
        .into_iter()
        .map(|(cpu, time)| (cpu, CpuLook { busy_ns: time.busy_ns, stolen_ns: time.stolen_ns }));
    Look {
        at_s,
        queued: total.waiting(),
        handled: total.handled,
        dead: total.dead,
        restarted: total.restarted,
        actors: stats.actors as u64,
        working: stats.working as u64,
        workers: workers.collect(),
        process_cpu_ns: times.values().map(|it| it.cpu_ns).sum(),
        cpus: cpus.collect(),
    }
}

fn worker_look(
    system: &SystemHandle,
    worker: usize,
    counters: &CounterValues,
    thread: Thread,
    seek: bool,
) -> WorkerLook {
    let is_occupied = system.is_occupied(worker);
    let occupied = (is_occupied && seek).then(|| system.occupied(worker)).flatten();
    let seen = occupied.and_then(|it| Some((it.actor?, it.message?)));
    WorkerLook {
        sent: counters.sent,
        handled: counters.handled,
        turns: counters.turns,
        crossed: counters.crossed,
        stolen: counters.stolen,
        parked: counters.parked,
        cpu_ns: thread.cpu_ns,
        ready_ns: thread.ready_ns,
        cpu: thread.cpu,
        is_occupied,
        actor: seen.map(|((actor, kind), message)| Seen {
            actor: actor.as_u64(),
            kind: kind.into(),
            message: message.into(),
        }),
    }
}

/// Walks over all actors: the fullest mailboxes, and who waits for whom.
pub(super) fn walk(system: &SystemHandle, at_s: f64) -> Walk {
    let fullest = ActorQuery::new().order(ActorOrder::Queued).take(NAMED);
    let fullest = system.actors(&fullest).actors;
    let waits = system.waits(NAMED);
    let muted = |it: &actinium_actor::MutedActor| MutedNow {
        muted: waiting(&it.muted),
        by: waiting(&it.by),
    };
    Walk {
        at_s,
        mailboxes: fullest.iter().filter(|it| it.queued > 0).map(mailbox).collect(),
        muted: waits.muted.iter().map(muted).collect(),
        outside: waits.outside,
        holding: waits.holding.iter().map(waiting).collect(),
        restarting: waits.restarting.iter().map(waiting).collect(),
        offloaded: waits.offloaded,
    }
}

fn mailbox(figures: &ActorFigures) -> MailboxNow {
    MailboxNow {
        actor: figures.actor.as_u64(),
        kind: figures.kind.into(),
        worker: figures.worker.map(|it| it as u32),
        queued: figures.queued,
    }
}

fn waiting(actor: &WaitingActor) -> MailboxNow {
    let (number, kind) = (actor.actor.as_u64(), actor.kind.into());
    MailboxNow { actor: number, kind, worker: None, queued: actor.queued }
}

/// Where the workers are.
pub(super) fn places(system: &SystemHandle) -> Vec<WorkerPlace> {
    let (pus, nodes, threads) = (system.pus(), system.worker_nodes(), system.worker_threads());
    let place = |worker: usize| WorkerPlace {
        pu: pus.get(worker).copied().flatten().map(|pu| pu.0),
        node: nodes.get(worker).copied().flatten(),
        thread: threads.get(worker).copied().flatten(),
    };
    (0..system.workers()).map(place).collect()
}

/// What the workers' threads do now.
pub(super) fn threads(system: &SystemHandle) -> Vec<WorkerThread> {
    let threads = system.worker_threads().into_iter().enumerate();
    let state = |(worker, thread): (usize, Option<u32>)| {
        let thread = thread?;
        Some(WorkerThread { worker: worker as u32, thread, state: thread_state(thread)? })
    };
    threads.filter_map(state).collect()
}

/// What went through each lane so far.
pub(super) type Lanes = BTreeMap<(usize, usize), u64>;

/// See [`Lanes`].
pub(super) fn lanes(system: &SystemHandle) -> Lanes {
    system.lane_traffic().into_iter().map(|(from, to, chunks)| ((from, to), chunks)).collect()
}

/// What went through each lane between two moments.
pub(super) fn traffic(before: &Lanes, now: &Lanes) -> Vec<LaneTraffic> {
    let traffic = |(&(from, to), &chunks): (&(usize, usize), &u64)| {
        let chunks = chunks - before.get(&(from, to)).copied().unwrap_or(0).min(chunks);
        (chunks > 0).then_some(LaneTraffic { from: from as u32, to: to as u32, chunks })
    };
    now.iter().filter_map(traffic).collect()
}

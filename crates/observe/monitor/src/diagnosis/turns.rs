//! What workers do: turns that do not end, actors with most of the work, pairs of workers that only
//! send to each other, actors far from their memory.

use super::finding::{Diagnosis, Finding, Severity};
use super::thresholds::{
    CHATTY_CHUNKS, CHATTY_CROSSED, CHATTY_PER_CHUNK, CHATTY_S, CHATTY_SHARE, FAR_SHARE, FAR_TURNS,
    HOT_BUSY, HOT_LIVING, HOT_SHARE, HOT_TIMES_FAIR, HOT_TURNS, STUCK_S, STUCK_TASK_S,
};
use super::view::{count, grouped, named, percent, ready_s, short, sum};
use crate::flight::{Did, Flight, Look, RecordNow, Seen, WorkerLook};
use std::collections::{BTreeMap, BTreeSet};

/// Records with more than so much time between them are of different glimpses.
const GLIMPSE_GAP_NS: u64 = 100_000_000;

// ---- a worker that is stuck
// --------------------------------------------------------------------------------------

/// Workers that do not come to the end of a turn, or did not for long.
pub(super) fn stuck(flight: &Flight) -> Vec<Finding> {
    (0..flight.workers.len()).filter_map(|worker| stuck_worker(flight, worker)).collect()
}

/// A time that a worker spent in one turn, as far as it was looked at.
struct OneTurn<'a> {
    first: &'a Look,
    last: &'a Look,
    seen: Option<&'a Seen>,
}

fn stuck_worker(flight: &Flight, worker: usize) -> Option<Finding> {
    let mut longest: Option<OneTurn<'_>> = None;
    let mut present: Option<OneTurn<'_>> = None;
    for look in &flight.looks {
        let Some(now) = look.workers.get(worker).filter(|it| it.is_occupied) else {
            present = None;
            continue;
        };
        let goes_on = present.take().filter(|it| turns(it.first, worker) == Some(now.turns));
        let begun = goes_on.unwrap_or(OneTurn { first: look, last: look, seen: None });
        let turn = OneTurn { last: look, seen: now.actor.as_ref().or(begun.seen), ..begun };
        let length_s = |it: &OneTurn<'_>| it.last.at_s - it.first.at_s;
        if longest.as_ref().is_none_or(|it| length_s(it) <= length_s(&turn)) {
            longest = Some(OneTurn { ..turn });
        }
        present = Some(turn);
    }
    let turn = longest?;
    let lasted_s = turn.last.at_s - turn.first.at_s;
    let least_s = if turn.seen.is_some() { STUCK_S } else { STUCK_TASK_S };
    let at = |look: &'_ Look| look.workers.get(worker).cloned().unwrap_or_default();
    // The time in which its thread had no CPU is the machine's.
    let without_cpu_s = ready_s(&at(turn.first), &at(turn.last));
    (lasted_s - without_cpu_s >= least_s).then(|| stuck_in(flight, worker, &turn, lasted_s))
}

fn turns(look: &Look, worker: usize) -> Option<u64> {
    look.workers.get(worker).map(|it| it.turns)
}

fn stuck_in(flight: &Flight, worker: usize, turn: &OneTurn<'_>, lasted_s: f64) -> Finding {
    let of = |look: &Look| look.workers.get(worker).map_or(0, |it: &WorkerLook| it.cpu_ns);
    let cpu_s = of(turn.last).saturating_sub(of(turn.first)) as f64 * 1e-9;
    let goes_on = flight.looks.last().is_some_and(|last| last.at_s <= turn.last.at_s);
    let whom = turn.seen.map_or_else(
        || "something that is no actor".to_owned(),
        |it| format!("{}, whose messages are {}", named(it.actor, &it.kind), short(&it.message)),
    );
    let walk = flight.walks.iter().rev().find(|walk| walk.at_s <= turn.last.at_s);
    let waiting = walk.map_or((0, 0), |walk| {
        let its = walk.mailboxes.iter().filter(|it| it.worker == Some(worker as u32));
        its.fold((0, 0_u64), |(actors, messages), it| {
            (actors + 1, messages.saturating_add(it.queued))
        })
    });
    let mut text = format!(
        "Worker {worker} {} one turn of {whom}, for {lasted_s:.1} s; its thread used {cpu_s:.1} s \
         of CPU time.",
        if goes_on { "is in" } else { "was in" },
    );
    if waiting.1 > 0 {
        let (actors, messages) = (count(waiting.0, "actor"), count(waiting.1, "message"));
        text += &format!(" Waiting for this worker: {messages} of {actors}.");
    }
    let thread = flight.threads.iter().find(|it| it.worker as usize == worker && goes_on);
    if let Some(thread) = thread {
        let state = &thread.state;
        text += &format!(" Thread {} is in state {}", thread.thread, state.state);
        if !state.sleeps_in.is_empty() {
            text += &format!(", in the kernel's {}", state.sleeps_in);
        }
        if let Some(call) = state.system_call {
            text += &format!(", in system call {call}");
        }
        text += ".";
    }
    let is_computing = cpu_s > lasted_s / 2.0;
    let advice = if is_computing {
        "It computes. Cut the work into messages of less than 100 µs, or do it elsewhere \
         (Context::offload)."
    } else {
        "It waits in code that blocks: a lock, a channel, a file, a socket. Do that elsewhere \
         (Context::offload, Context::hold with a future)."
    };
    let stack = thread.map_or_else(String::new, |it| {
        let (process, thread) = (flight.process, it.thread);
        format!(
            " Its stack, while it lasts: gdb -p {process} -batch -ex 'thread apply all bt', thread \
             {thread}."
        )
    });
    let severity = if goes_on { Severity::Critical } else { Severity::Warning };
    Finding::new(Diagnosis::StuckWorker, severity, text)
        .advise(format!("{advice}{stack}"))
        .figure("worker", worker as f64)
        .figure("lasted_s", lasted_s)
        .figure("cpu_s", cpu_s)
        .figure("messages_waiting", waiting.1 as f64)
}

// ---- an actor with most of the work
// ------------------------------------------------------------------------------

/// The records of turns: worker, actor, type, messages, nanoseconds.
fn turn_records(flight: &Flight) -> impl Iterator<Item = (usize, u64, &str, u64, u64)> {
    let of_worker = |(worker, records)| {
        let records: &Vec<RecordNow> = records;
        records.iter().filter_map(move |record| match &record.did {
            Did::Turn { kind, actor, handled } if *actor != 0 => {
                Some((worker, *actor, &**kind, *handled, record.took_ns))
            }
            _ => None,
        })
    };
    flight.records.workers.iter().enumerate().flat_map(of_worker)
}

/// The time that the records of a worker cover.
fn covered_ns(records: &[RecordNow]) -> u64 {
    let mut covered = 0_u64;
    let mut glimpse: Option<(u64, u64)> = None;
    for record in records {
        let end_ns = record.begin_ns.saturating_add(record.took_ns);
        glimpse = match glimpse {
            Some((begin, last)) if record.begin_ns <= last.saturating_add(GLIMPSE_GAP_NS) => {
                Some((begin.min(record.begin_ns), last.max(end_ns)))
            }
            before => {
                let length = before.map_or(0, |(begin, last)| last - begin);
                covered = covered.saturating_add(length);
                Some((record.begin_ns, end_ns))
            }
        };
    }
    covered.saturating_add(glimpse.map_or(0, |(begin, last)| last - begin))
}

/// What an actor did, by records.
#[derive(Default)]
struct Work {
    turns: u64,
    handled: u64,
    took_ns: u64,
    workers: BTreeSet<usize>,
}

impl Work {
    fn add(&mut self, worker: usize, handled: u64, took_ns: u64) {
        self.turns += 1;
        self.handled = self.handled.saturating_add(handled);
        self.took_ns = self.took_ns.saturating_add(took_ns);
        self.workers.insert(worker);
    }
}

/// Actors that have most of the work of their type.
pub(super) fn hot(flight: &Flight) -> Vec<Finding> {
    let mut kinds: BTreeMap<&str, BTreeMap<u64, Work>> = BTreeMap::new();
    for (worker, actor, kind, handled, took_ns) in turn_records(flight) {
        let work = kinds.entry(kind).or_default().entry(actor).or_default();
        work.add(worker, handled, took_ns);
    }
    kinds.iter().filter_map(|(kind, actors)| hot_of(flight, kind, actors)).collect()
}

fn hot_of(flight: &Flight, kind: &str, actors: &BTreeMap<u64, Work>) -> Option<Finding> {
    let living = flight.types.iter().find(|it| it.kind == kind)?.living;
    let (&actor, work) = actors.iter().max_by_key(|(_, work)| work.took_ns)?;
    let all = |of: fn(&Work) -> u64| sum(actors.values().map(of));
    if living < HOT_LIVING || all(|it| it.turns) < HOT_TURNS {
        return None;
    }
    let least = HOT_SHARE.max(HOT_TIMES_FAIR / living as f64);
    let time_share = work.took_ns as f64 / all(|it| it.took_ns).max(1) as f64;
    // Both: a thread that loses its CPU in a turn makes that look long.
    let message_share = work.handled as f64 / all(|it| it.handled).max(1) as f64;
    let of_worker = |worker: &usize| flight.records.workers.get(*worker).map(Vec::as_slice);
    let covered = sum(work.workers.iter().filter_map(of_worker).map(covered_ns));
    let covered = covered / work.workers.len().max(1) as u64;
    let busy = (work.took_ns as f64 / covered.max(1) as f64).min(1.0);
    if time_share < least || message_share < least || busy < HOT_BUSY {
        return None;
    }
    let text = format!(
        "{} has {} of the work of {living} actors of its type, and {} of their messages; its turns \
         fill {} of a worker's time. An even share would be {}.",
        named(actor, kind),
        percent(time_share),
        percent(message_share),
        percent(busy),
        percent(1.0 / living as f64),
    );
    let finding = Finding::new(Diagnosis::HotActor, Severity::Warning, text).advise(
        "More workers do not help: one actor runs on one worker at a time. Spread the keys more \
         evenly, split the hot key, answer reads from copies, or let the senders put several \
         messages into one.",
    );
    let finding = finding
        .figure("actor", actor as f64)
        .figure("share_of_time", time_share)
        .figure("share_of_messages", message_share);
    Some(finding.figure("busy", busy).figure("living", living as f64))
}

// ---- workers that should share one
// -------------------------------------------------------------------------------

/// Pairs of workers that only send each other one message at a time.
pub(super) fn chatty(flight: &Flight) -> Vec<Finding> {
    let pairs = flight.lanes.iter().filter(|lane| lane.from < lane.to);
    pairs.filter_map(|lane| chatty_pair(flight, lane.from, lane.to)).collect()
}

fn chatty_pair(flight: &Flight, a: u32, b: u32) -> Option<Finding> {
    let chunks = |from: u32, to: u32| {
        let lane = flight.lanes.iter().find(|it| (it.from, it.to) == (from, to));
        lane.map_or(0, |it| it.chunks)
    };
    let (there, back) = (chunks(a, b), chunks(b, a));
    let touches =
        flight.lanes.iter().filter(|it| [a, b].contains(&it.from) || [a, b].contains(&it.to));
    let all = sum(touches.map(|it| it.chunks));
    let between = there.saturating_add(back);
    let is_both_ways = there.min(back) >= there.max(back) / 2;
    if between < CHATTY_CHUNKS || !is_both_ways || (between as f64) < CHATTY_SHARE * all as f64 {
        return None;
    }
    // The lanes were counted on walks.
    let from_s = flight.walks.first()?.at_s;
    let first = flight.looks.iter().rev().find(|it| it.at_s <= from_s).or(flight.looks.first())?;
    let last = flight.looks.last()?;
    let delta = |of: fn(&WorkerLook) -> u64| {
        let of = |look: &Look| -> u64 {
            sum([a, b].iter().filter_map(|&it| look.workers.get(it as usize)).map(of))
        };
        of(last).saturating_sub(of(first))
    };
    if last.at_s - first.at_s < CHATTY_S {
        return None;
    }
    let (crossed, handled) = (delta(|it| it.crossed), delta(|it| it.handled));
    let (crossed_share, per_chunk) =
        (crossed as f64 / handled.max(1) as f64, crossed as f64 / between as f64);
    if crossed_share < CHATTY_CROSSED || per_chunk >= CHATTY_PER_CHUNK {
        return None;
    }
    let seconds = last.at_s - first.at_s;
    let text = format!(
        "Workers {a} and {b} pass messages to and fro, {per_chunk:.1} at a time: {} of the {} that \
         they handled in {seconds:.1} s came from the other one. While one works, the other waits.",
        percent(crossed_share.min(1.0)),
        grouped(handled),
    );
    let finding = Finding::new(Diagnosis::ChattyWorkers, Severity::Warning, text).advise(
        "Let the two sides share a worker: there a message costs a tenth as much. Spawn them from \
         each other or with SpawnOptions::on_worker, use the policy affine, which moves those who \
         talk together, or use fewer workers. Or send several messages before waiting for an answer.",
    );
    let finding = finding
        .figure("worker_a", f64::from(a))
        .figure("worker_b", f64::from(b))
        .figure("crossed_share", crossed_share);
    Some(finding.figure("messages_at_a_time", per_chunk).figure("messages", handled as f64))
}

// ---- actors far from their memory
// --------------------------------------------------------------------------------

/// Actors that run now on this NUMA node and now on that.
pub(super) fn far(flight: &Flight) -> Vec<Finding> {
    let node_of = |worker: usize| flight.workers.get(worker).and_then(|it| it.node);
    let nodes: BTreeSet<u32> = (0..flight.workers.len()).filter_map(node_of).collect();
    if nodes.len() < 2 {
        return Vec::new();
    }
    let mut actors: BTreeMap<u64, BTreeMap<u32, (u64, u64)>> = BTreeMap::new();
    for (worker, actor, _, _, took_ns) in turn_records(flight) {
        let Some(node) = node_of(worker) else { continue };
        let on = actors.entry(actor).or_default().entry(node).or_default();
        *on = (on.0 + 1, took_ns.saturating_add(on.1));
    }
    let (mut turns, mut far_turns, mut moved) = (0, 0, 0);
    for on in actors.values() {
        let all: u64 = on.values().map(|it| it.0).sum();
        let most = on.values().map(|it| it.0).max().unwrap_or(0);
        turns += all;
        far_turns += all - most;
        moved += u64::from(on.len() > 1);
    }
    let share = far_turns as f64 / turns.max(1) as f64;
    if turns < FAR_TURNS || share < FAR_SHARE {
        return Vec::new();
    }
    let steals = flight.records.workers.iter().enumerate().flat_map(|(worker, records)| {
        records.iter().filter_map(move |record| match record.did {
            Did::Steal { from, actors } if node_of(from as usize) != node_of(worker) => {
                Some(actors)
            }
            _ => None,
        })
    });
    let stolen = sum(steals);
    let text = format!(
        "{} of {} had turns on several of the {} NUMA nodes: {} of the recorded turns were on \
         another node than most turns of their actor, so far from the memory that it uses. {} were \
         taken over a border of nodes. The policy is {}.",
        grouped(moved),
        count(actors.len() as u64, "actor"),
        nodes.len(),
        percent(share),
        count(stolen, "actor"),
        flight.policy,
    );
    let finding = Finding::new(Diagnosis::FarMemory, Severity::Warning, text).advise(
        "Use the policy affine, which moves an actor only when that pays, or pinned, and place \
         actors that work on the same memory on one node (SpawnOptions::on_node, \
         SpawnOptions::memory with an arena of that node).",
    );
    let finding = finding.figure("far_turns_share", share).figure("turns", turns as f64);
    vec![finding.figure("actors_on_several_nodes", moved as f64)]
}

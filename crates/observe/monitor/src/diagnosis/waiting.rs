//! Messages that wait: starvation, mailboxes that grow, actors that are muted or wait for each
//! other.

use super::finding::{Diagnosis, Finding, Severity};
use super::thresholds::{
    GROWN_S, GROWN_WALKS, MUTED_S, MUTED_WALKS, MUTUAL_S, MUTUAL_WALKS, STARVED_BUSY, STARVED_OWN,
    STARVED_S, STARVED_WALKS,
};
use super::view::{
    all_mailboxes, count, grouped, length_s, longest, looks, mailbox, name_of, named, percent,
    ready_s, rise, sum, waits_itself, who_ran,
};
use crate::flight::{Flight, MailboxNow, Walk};
use std::collections::{BTreeMap, BTreeSet};

/// An actor's messages wait while others run for long.
pub(super) fn starvation(flight: &Flight) -> Vec<Finding> {
    let all = all_mailboxes(flight);
    let found = all.values().filter_map(|it| starved(flight, it));
    let mut found: Vec<_> = found.collect();
    // The one that waits longest stands for all others.
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(1).map(|(_, finding)| finding).collect()
}

fn starved(flight: &Flight, actor: &MailboxNow) -> Option<(f64, Finding)> {
    let number = actor.actor;
    let waits = |before: Option<&Walk>, walk: &Walk| {
        let Some(now) = mailbox(walk, number).filter(|it| it.worker.is_some()) else {
            return false;
        };
        let before = before.map(|before| mailbox(before, number));
        let goes_on = before.is_none_or(|before| {
            before.is_some_and(|it| it.worker == now.worker && it.queued <= now.queued)
        });
        goes_on && !waits_itself(walk, number)
    };
    let walks = longest(&flight.walks, waits)?;
    let waited_s = length_s(walks);
    if waited_s < STARVED_S || walks.len() < STARVED_WALKS {
        return None;
    }
    let last = mailbox(walks.last()?, number)?;
    let worker = last.worker? as usize;
    let (from_s, to_s) = (walks.first()?.at_s, walks.last()?.at_s);
    let (seen, occupied) = who_ran(flight, worker, from_s, to_s);
    let all = looks(flight, from_s, to_s).count();
    let in_turn = |look: &&crate::flight::Look| {
        let actor = look.workers.get(worker).and_then(|it| it.actor.as_ref());
        actor.is_some_and(|it| it.actor == number)
    };
    let own = flight.looks.iter().filter(in_turn).count();
    if own as f64 >= STARVED_OWN * flight.looks.len() as f64 {
        return None;
    }
    let was_seen = seen.iter().any(|(seen, _)| seen.actor == number);
    if was_seen || (occupied as f64) < STARVED_BUSY * all as f64 {
        return None;
    }
    let (first_look, last_look) =
        (looks(flight, from_s, to_s).next()?, looks(flight, from_s, to_s).last()?);
    let (before, after) = (first_look.workers.get(worker)?, last_look.workers.get(worker)?);
    let turns = after.turns.saturating_sub(before.turns);
    // Who is ready has a turn after all others that are: with short turns, that is soon. The time
    // in which the worker itself had no CPU is the machine's.
    let on_cpu_s = (waited_s - ready_s(before, after)).max(0.0);
    let round_s = on_cpu_s / turns as f64 * first_look.actors as f64;
    if turns < 2 || round_s < STARVED_S / 2.0 {
        return None;
    }
    let (hog, times) = seen.first()?;
    let turn_ms = waited_s / turns as f64 * 1e3;
    let text = format!(
        "{} of {} waited for {waited_s:.1} s without a turn. Worker {worker} ran {} of others \
         meanwhile, {turn_ms:.0} ms each; most often it was seen in {}, at {times} of {all} looks.",
        count(last.queued, "message"),
        name_of(last),
        count(turns, "turn"),
        named(hog.actor, &hog.kind),
    );
    let advice = format!(
        "Cut the long turns of {} into short ones: handle less in one message, let others run in \
         between (Context::yield_now), or put work that blocks or computes for long elsewhere \
         (Context::offload). More workers help if others than this one are idle.",
        named(hog.actor, &hog.kind),
    );
    let finding = Finding::new(Diagnosis::Starvation, Severity::Warning, text).advise(advice);
    let finding = finding
        .figure("waited_s", waited_s)
        .figure("turns_of_others", turns as f64)
        .figure("turn_ms", turn_ms)
        .figure("messages", last.queued as f64);
    Some((waited_s, finding))
}

/// A mailbox gets more messages than its actor handles.
pub(super) fn growth(flight: &Flight) -> Vec<Finding> {
    let all = all_mailboxes(flight);
    let found = all.values().filter_map(|it| grown(flight, it));
    let mut found: Vec<_> = found.collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(3).map(|(_, finding)| finding).collect()
}

fn grown(flight: &Flight, actor: &MailboxNow) -> Option<(f64, Finding)> {
    let is_listed = |_: Option<&Walk>, walk: &Walk| mailbox(walk, actor.actor).is_some();
    let walks = longest(&flight.walks, is_listed)?;
    let (seconds, last_walk) = (length_s(walks), walks.last()?);
    let is_over = flight.walks.last().is_none_or(|it| it.at_s > last_walk.at_s);
    if seconds < GROWN_S || walks.len() < GROWN_WALKS || is_over {
        return None;
    }
    let queued = |walk: &Walk| mailbox(walk, actor.actor).map_or(0, |it| it.queued);
    let lengths: Vec<u64> = walks.iter().map(queued).collect();
    let (first, last) = rise(&lengths)?;
    let per_s = (last - first) as f64 / seconds;
    let kind = flight.types.iter().find(|it| it.kind == actor.kind);
    let cost_ns = kind.and_then(|it| it.cost_ns);
    let speed = cost_ns.map_or_else(String::new, |ns| {
        let most = grouped((1e9 / f64::from(ns.max(1))) as u64);
        format!(
            " A message takes it {:.1} µs: it handles {most} a second at most.",
            ns as f64 / 1e3
        )
    });
    let text = format!(
        "The mailbox of {} grew from {} to {} messages in {seconds:.1} s: {} a second come that it \
         does not handle.{speed}",
        name_of(actor),
        grouped(first),
        grouped(last),
        grouped(per_s as u64),
    );
    let finding = Finding::new(Diagnosis::GrowingMailbox, Severity::Warning, text).advise(
        "Bound the mailbox (SpawnOptions::mailbox, Mailbox::bounded): then senders are held back. \
         Or share the work among several actors (Router, Pool), send it in batches, or make the \
         handler quicker.",
    );
    let finding = finding
        .figure("messages", last as f64)
        .figure("messages_before", first as f64)
        .figure("growth_per_s", per_s);
    let finding = match cost_ns {
        Some(ns) => finding.figure("message_ns", f64::from(ns)),
        None => finding,
    };
    Some((per_s, finding))
}

/// Actors that full mailboxes hold back for long, by whom that begins.
pub(super) fn muted(flight: &Flight) -> Vec<Finding> {
    let pairs = flight.walks.iter().flat_map(|walk| &walk.muted);
    let actors: BTreeSet<u64> = pairs.map(|it| it.muted.actor).collect();
    // For each root, the last walk on which somebody was still held back, and for how long then.
    let mut roots: BTreeMap<u64, (&Walk, f64)> = BTreeMap::new();
    for actor in actors {
        let is_muted = |_: Option<&Walk>, walk: &Walk| by(walk, actor).is_some();
        let Some(walks) = longest(&flight.walks, is_muted) else { continue };
        let Some(last) = walks.last() else { continue };
        let lasted_s = length_s(walks);
        if lasted_s < MUTED_S || walks.len() < MUTED_WALKS {
            continue;
        }
        let (walk, longest_s) = roots.entry(root_of(last, actor).0).or_insert((last, 0.0));
        *longest_s = longest_s.max(lasted_s);
        if last.at_s > walk.at_s {
            *walk = last;
        }
    }
    let found = roots
        .into_iter()
        .filter_map(|(root, (walk, lasted_s))| muted_by(flight, root, walk, lasted_s));
    found.collect()
}

/// The actor whose mailbox holds this one back on this walk.
fn by(walk: &Walk, actor: u64) -> Option<&MailboxNow> {
    walk.muted.iter().find(|it| it.muted.actor == actor).map(|it| &it.by)
}

/// The actor at the end of the chain, and the number of steps to there.
fn root_of(walk: &Walk, actor: u64) -> (u64, usize) {
    let (mut root, mut steps) = (actor, 0);
    // The walk saw no single moment: what it saw may look like a circle.
    while let Some(next) = by(walk, root).filter(|_| steps <= walk.muted.len()) {
        (root, steps) = (next.actor, steps + 1);
    }
    (root, steps)
}

/// All that wait for this root on this walk, and the longest chain of them. Whoever has joined them
/// only now waits for the same.
fn muted_by(flight: &Flight, root: u64, walk: &Walk, lasted_s: f64) -> Option<Finding> {
    let steps = walk.muted.iter().map(|it| (it.muted.actor, root_of(walk, it.muted.actor)));
    let held = steps.filter(|(_, (end, _))| *end == root).map(|(it, (_, steps))| (it, steps));
    let held: Vec<_> = held.collect();
    let full = &walk.muted.iter().find(|it| it.by.actor == root)?.by;
    let longest = held.iter().max_by_key(|(_, steps)| *steps)?;
    let mut chain = vec![longest.0];
    while let Some(next) = by(walk, *chain.last()?).filter(|_| chain.len() <= longest.1) {
        chain.push(next.actor);
    }
    let kind_of = |actor: u64| {
        let all = walk.muted.iter().flat_map(|it| [&it.muted, &it.by]);
        all.into_iter().find(|it| it.actor == actor).map_or(String::new(), name_of)
    };
    let chain: Vec<_> = chain.into_iter().map(kind_of).collect();
    let is_it = |it: &MailboxNow| it.actor == root;
    let state = if walk.holding.iter().any(is_it) {
        "it waits for a future (Context::hold)".to_owned()
    } else if walk.restarting.iter().any(is_it) {
        "it waits for its restart".to_owned()
    } else {
        let seen = flight.looks.iter().filter(|look| {
            look.workers.iter().any(|it| it.actor.as_ref().is_some_and(|it| it.actor == root))
        });
        let share = seen.count() as f64 / flight.looks.len().max(1) as f64;
        format!("it was seen to run at {} of the looks", percent(share))
    };
    let text = format!(
        "{} been held back for up to {lasted_s:.1} s, in the end by the mailbox of {}, which has {}: \
         {state}. Who waits for whom: {}.",
        match held.len() {
            1 => "1 actor has".to_owned(),
            n => format!("{} actors have", grouped(n as u64)),
        },
        name_of(full),
        count(full.queued, "message"),
        chain.join(" -> "),
    );
    let advice = format!(
        "Look at {}: all others wait for it. Make its handler quicker, share its work among several \
         actors (Router, Pool), or let it go on while its futures are under way (Context::pipe \
         instead of Context::hold). A larger mailbox only delays this.",
        name_of(full),
    );
    let finding = Finding::new(Diagnosis::MutedChain, Severity::Warning, text).advise(advice);
    Some(
        finding
            .figure("actors", held.len() as f64)
            .figure("steps", longest.1 as f64)
            .figure("lasted_s", lasted_s)
            .figure("messages", full.queued as f64),
    )
}

/// Actors that wait for futures while nothing else moves.
pub(super) fn mutual(flight: &Flight) -> Vec<Finding> {
    let waiters = |walk: &Walk| -> Vec<u64> {
        walk.holding.iter().filter(|it| it.queued > 0).map(|it| it.actor).collect()
    };
    let Some(last) = flight.walks.last() else { return Vec::new() };
    let now = waiters(last);
    let same = flight.walks.iter().rev().take_while(|it| waiters(it) == now && it.offloaded == 0);
    let walks = same.count();
    let Some(first) = flight.walks.iter().rev().nth(walks.saturating_sub(1)) else {
        return Vec::new();
    };
    let lasted_s = last.at_s - first.at_s;
    let is_still = {
        let mut looks = looks(flight, first.at_s, last.at_s);
        let turns = |look: &crate::flight::Look| sum(look.workers.iter().map(|it| it.turns));
        let before = looks.next().map(turns);
        looks.all(|look| {
            Some(turns(look)) == before && look.workers.iter().all(|it| !it.is_occupied)
        })
    };
    let is_long = lasted_s >= MUTUAL_S && walks >= MUTUAL_WALKS;
    if now.is_empty() || walks == 0 || !is_long || !is_still {
        return Vec::new();
    }
    let held = last.holding.iter().filter(|it| it.queued > 0);
    let name = |it: &MailboxNow| format!("{} with {}", name_of(it), count(it.queued, "message"));
    let names: Vec<_> = held.take(8).map(name).collect();
    let (who, whom, severity) = match now.len() {
        1 => ("1 actor waits".to_owned(), "itself, or for something outside", Severity::Warning),
        n => {
            (format!("{n} actors wait"), "each other, or for something outside", Severity::Critical)
        }
    };
    let text = format!(
        "{who} for futures (Context::hold) while messages wait for them, and no turn has ended for \
         {lasted_s:.1} s: they probably wait for {whom} that does not come. {}.",
        names.join("; "),
    );
    let finding = Finding::new(Diagnosis::MutualWait, severity, text).advise(
        "Do not hold for the answer of an actor that asks you in turn: go on while the answer is \
         under way (Context::pipe), ask in one direction only, or give the wait a time limit \
         (Answer::timeout).",
    );
    vec![finding.figure("actors", now.len() as f64).figure("lasted_s", lasted_s)]
}

//! What several diagnoses ask of a document.

use super::thresholds::{GROWN_MESSAGES, GROWN_SHARE};
use crate::flight::{Flight, Look, MailboxNow, Seen, Walk, WorkerLook};
use std::collections::BTreeMap;

/// A type's name without the paths before it.
pub(super) fn short(kind: &str) -> &str {
    let head = kind.find('<').unwrap_or(kind.len());
    kind[..head].rfind("::").map_or(kind, |at| &kind[at + 2..])
}

/// An actor as people read it.
pub(super) fn named(actor: u64, kind: &str) -> String {
    format!("actor {actor} ({})", short(kind))
}

/// See [`named`].
pub(super) fn name_of(mailbox: &MailboxNow) -> String {
    named(mailbox.actor, &mailbox.kind)
}

/// A number with its noun, which has an "s" if there are several.
pub(super) fn count(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(n))
}

/// A number with a comma between each three digits.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The sum, and the largest number there is if it is larger: a document may hold any numbers.
pub(super) fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

/// How long a worker's thread was ready, and had no CPU, between two looks.
pub(super) fn ready_s(before: &WorkerLook, after: &WorkerLook) -> f64 {
    after.ready_ns.saturating_sub(before.ready_ns) as f64 * 1e-9
}

/// Looks between two moments, both included.
pub(super) fn looks(flight: &Flight, from_s: f64, to_s: f64) -> impl Iterator<Item = &Look> {
    flight.looks.iter().filter(move |it| (from_s..=to_s).contains(&it.at_s))
}

/// Who was seen to run on a worker between two moments, and how often; those seen most come first.
/// The second number is that of the looks at which the worker was in somebody's code.
pub(super) fn who_ran(
    flight: &Flight,
    worker: usize,
    from_s: f64,
    to_s: f64,
) -> (Vec<(&Seen, usize)>, usize) {
    let mut seen: BTreeMap<u64, (&Seen, usize)> = BTreeMap::new();
    let mut occupied = 0;
    for look in looks(flight, from_s, to_s).filter_map(|it| it.workers.get(worker)) {
        occupied += usize::from(look.is_occupied);
        if let Some(actor) = &look.actor {
            seen.entry(actor.actor).or_insert((actor, 0)).1 += 1;
        }
    }
    let mut seen: Vec<_> = seen.into_values().collect();
    seen.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    (seen, occupied)
}

/// The longest stretch of walks, one after the other, that this says yes to; it gets the walk
/// before in the stretch, if there is one. `None`: there is no walk that it says yes to.
pub(super) fn longest<'a>(
    walks: &'a [Walk],
    mut goes_on: impl FnMut(Option<&'a Walk>, &'a Walk) -> bool,
) -> Option<&'a [Walk]> {
    let mut best: &[Walk] = &[];
    let mut begin = 0;
    for (at, walk) in walks.iter().enumerate() {
        let before = (at > begin).then(|| &walks[at - 1]);
        if !goes_on(before, walk) {
            // It may be the first of another stretch.
            begin = if before.is_some() && goes_on(None, walk) { at } else { at + 1 };
        }
        if at + 1 - begin.min(at + 1) > best.len() {
            best = &walks[begin..=at];
        }
    }
    (!best.is_empty()).then_some(best)
}

/// Whether these lengths, one after the other, rise all the time, whatever they do in between: the
/// mean of each quarter is above that of the one before, and the last quarter is above the first
/// one by what makes it a growth. From where to where.
pub(super) fn rise(lengths: &[u64]) -> Option<(u64, u64)> {
    let quarter = lengths.len() / 4;
    let quarters: Vec<&[u64]> = lengths.chunks(quarter.max(1)).take(4).collect();
    let mean = |it: &[u64]| it.iter().map(|&n| n as f64).sum::<f64>() / it.len().max(1) as f64;
    let means: Vec<f64> = quarters.iter().map(|it| mean(it)).collect();
    let is_rising = means.len() == 4 && means.windows(2).all(|pair| pair[0] < pair[1]);
    let (most, least) = (*quarters.first()?.iter().max()?, *quarters.last()?.iter().min()?);
    let gain = (GROWN_MESSAGES as f64).max(most as f64 * GROWN_SHARE);
    let is_growth = is_rising && least as f64 >= most as f64 + gain;
    is_growth.then_some((*lengths.first()?, *lengths.last()?))
}

/// The seconds from the first of these walks to the last.
pub(super) fn length_s(walks: &[Walk]) -> f64 {
    match (walks.first(), walks.last()) {
        (Some(first), Some(last)) => last.at_s - first.at_s,
        _ => 0.0,
    }
}

/// An actor's mailbox on a walk, if it was among the fullest.
pub(super) fn mailbox(walk: &Walk, actor: u64) -> Option<&MailboxNow> {
    walk.mailboxes.iter().find(|it| it.actor == actor)
}

/// Whether an actor was seen to wait for something of its own: a future, a restart, or another's
/// mailbox.
pub(super) fn waits_itself(walk: &Walk, actor: u64) -> bool {
    let is_it = |it: &MailboxNow| it.actor == actor;
    walk.holding.iter().any(is_it)
        || walk.restarting.iter().any(is_it)
        || walk.muted.iter().any(|it| is_it(&it.muted))
}

/// Each actor that stood among the fullest mailboxes at some time, once.
pub(super) fn all_mailboxes(flight: &Flight) -> BTreeMap<u64, &MailboxNow> {
    let all = flight.walks.iter().flat_map(|walk| &walk.mailboxes);
    all.map(|mailbox| (mailbox.actor, mailbox)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stretch_is_found() {
        let walks: Vec<Walk> =
            [1, 0, 1, 1, 0, 1, 1, 1, 0].map(|outside| Walk { outside, ..Walk::default() }).into();
        let best = longest(&walks, |_, walk| walk.outside == 1).expect("one");
        assert_eq!((best.len(), best.as_ptr()), (3, walks[5..].as_ptr()));
        assert!(longest(&walks, |_, walk| walk.outside == 7).is_none());
        assert!(longest(&[], |_, _| true).is_none());
        // One that breaks a stretch may begin the next.
        let rising: Vec<Walk> =
            [1, 2, 3, 1, 2, 3, 4].map(|outside| Walk { outside, ..Walk::default() }).into();
        let rises = |before: Option<&Walk>, walk: &Walk| {
            before.is_none_or(|before| before.outside < walk.outside)
        };
        assert_eq!(longest(&rising, rises).map(<[_]>::len), Some(4));
    }

    #[test]
    fn what_rises_is_told_from_waves_and_steps() {
        let lengths = |f: fn(u64) -> u64| (0..40).map(f).collect::<Vec<_>>();
        assert_eq!(rise(&lengths(|n| n * 1_000)), Some((0, 39_000)));
        // What is sent at once, and handled until the next time.
        let teeth = lengths(|n| n * 400 + n % 4 * 1_000);
        assert!(rise(&teeth).is_some());
        // Large, and hardly larger.
        assert!(rise(&lengths(|n| 1_000_000 + n * 1_000)).is_some());
        assert!(rise(&lengths(|n| 1_000_000 + n * 100)).is_none());
        for level in [
            lengths(|n| n % 4 * 10_000),
            lengths(|n| if n < 20 { n * 1_000 } else { (40 - n) * 1_000 }),
            lengths(|n| 40_000 - n * 1_000),
            lengths(|_| 5_000),
            vec![1, 2_000, 4_000],
            Vec::new(),
        ] {
            assert_eq!(rise(&level), None, "{level:?}");
        }
    }

    #[test]
    fn people_can_read_it() {
        assert_eq!(named(7, "a::b::Counter"), "actor 7 (Counter)");
        assert_eq!(short("a::Map<b::Key>"), "Map<b::Key>");
        assert_eq!(count(1, "message"), "1 message");
        assert_eq!(count(1_234_567, "message"), "1,234,567 messages");
        assert_eq!(grouped(100), "100");
    }
}

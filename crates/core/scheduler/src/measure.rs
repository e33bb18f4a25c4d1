//! Figures of turns and messages by kinds of runnables, kept while somebody asks for them.
//!
//! A worker notes what it sees in a list of its own, which it merges into its table when a round
//! has ended. A lock guards the table against whoever reads it. The worker never waits for that
//! lock: it merges later, and what finds no room in the list until then is counted as missed.
//!
//! To note a turn costs about as much as a short turn itself. So, unless every turn is asked for, a
//! worker notes the short turns of one round in a millisecond, and each stands for as many as there
//! were since the round before it. Turns that it times in any case, as they take long, are all
//! noted. The waiting times are those of the messages whose latency is sampled anyway.

use crate::contents::{Contents, KeptContents, last_of};
use crate::policy::tuning::SAMPLED;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
// The standard library's lock, not the model checkers': no worker waits for it.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Significant digits of a time: a histogram takes 4 KiB.
const DIGITS: u8 = if cfg!(any(loom, shuttle)) { 0 } else { 1 };
/// Times are counted up to one minute.
const LONGEST_NS: u64 = 60_000_000_000;
/// Actors of which figures of their own are kept, at most.
pub const ACTORS_MAX: usize = 1_000;

/// What is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Each turn is noted, not only those of a sample of the rounds.
    every_turn: bool,
    /// Only kinds that have one of these in their names; `None`: all.
    kinds: Option<Vec<String>>,
    /// The numbers of those of which there are figures for each, rising.
    numbers: Vec<u64>,
    /// Of these, the contents of messages are kept, too: likewise.
    contents: Vec<u64>,
}

impl Measure {
    /// A sample of the turns of all kinds.
    pub fn new() -> Self {
        Measure::default()
    }

    /// Notes each turn: exact figures, for about a tenth of a microsecond in each turn.
    #[must_use]
    pub fn every_turn(mut self) -> Self {
        self.every_turn = true;
        self
    }

    /// Only kinds of runnables (types of actors) that have this in their names; called again, also
    /// those that have that.
    #[must_use]
    pub fn kind(mut self, part: impl Into<String>) -> Self {
        self.kinds.get_or_insert_default().push(part.into());
        self
    }

    /// Keeps figures of this actor, too, by its number ([`VTable::number`]). At most
    /// [`ACTORS_MAX`] count, those of the lowest numbers.
    ///
    /// [`VTable::number`]: crate::VTable::number
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        if let Err(at) = self.numbers.binary_search(&number) {
            self.numbers.insert(at, number);
            self.numbers.truncate(ACTORS_MAX);
        }
        self
    }

    /// Keeps what the last sampled messages contain, too: of those whose numbers were chosen
    /// before, if their types say how it is written.
    #[must_use]
    pub fn contents(mut self) -> Self {
        self.contents.clone_from(&self.numbers);
        self
    }

    /// What both ask for.
    fn and(mut self, other: &Measure) -> Self {
        self.every_turn |= other.every_turn;
        self.kinds = match (self.kinds, &other.kinds) {
            (Some(kinds), Some(others)) => Some([&kinds[..], others].concat()),
            _ => None,
        };
        self.contents.extend(&other.contents);
        self.contents.sort_unstable();
        other.numbers.iter().fold(self, |all, &number| all.number(number))
    }

    pub(crate) fn is_of_every_turn(&self) -> bool {
        self.every_turn
    }

    pub(crate) fn wants_kind(&self, kind: &str) -> bool {
        self.kinds.as_ref().is_none_or(|parts| parts.iter().any(|part| kind.contains(&**part)))
    }

    pub(crate) fn wants_number(&self, number: u64) -> bool {
        self.numbers.binary_search(&number).is_ok()
    }

    pub(crate) fn wants_contents(&self, number: u64) -> bool {
        self.contents.binary_search(&number).is_ok()
    }

    pub(crate) fn has_contents(&self) -> bool {
        !self.contents.is_empty()
    }

    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }
}

/// Figures of the turns of a kind, or of one runnable. All grow only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TurnFigures {
    /// Turns.
    pub turns: u64,
    /// Messages handled in them.
    pub handled: u64,
    /// The bytes of these messages, by the size of their type.
    pub bytes: u64,
    /// The time of the turns together, in nanoseconds.
    pub busy_ns: u64,
    /// How long turns took: (nanoseconds, how many), rising; each to 6 %.
    pub turn_ns: Vec<(u64, u64)>,
    /// How long messages waited, from send to handling: likewise. Of a sample of the messages.
    pub wait_ns: Vec<(u64, u64)>,
    /// The messages handled by variants of their type, estimated from the same sample; only of
    /// types that name their variants.
    pub messages: Vec<MessageFigures>,
}

impl TurnFigures {
    /// What has come since these earlier figures of the same.
    ///
    /// ```
    /// use actinium_scheduler::measure::TurnFigures;
    ///
    /// let figures = TurnFigures::default();
    /// assert_eq!(figures.since(&figures), figures);
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &TurnFigures) -> TurnFigures {
        let buckets = |now: &[(u64, u64)], then: &[(u64, u64)]| {
            let then: BTreeMap<_, _> = then.iter().copied().collect();
            let before = |ns: &u64| then.get(ns).copied().unwrap_or(0);
            let rest = now.iter().map(|(ns, count)| (*ns, count.saturating_sub(before(ns))));
            rest.filter(|it| it.1 > 0).collect()
        };
        let before = |name: &str| earlier.messages.iter().find(|it| it.name == name);
        let messages = self.messages.iter().map(|it| {
            let (handled, wait_ns) = before(it.name).map_or((0, 0), |it| (it.handled, it.wait_ns));
            MessageFigures {
                name: it.name,
                handled: it.handled.saturating_sub(handled),
                wait_ns: it.wait_ns.saturating_sub(wait_ns),
            }
        });
        TurnFigures {
            turns: self.turns.saturating_sub(earlier.turns),
            handled: self.handled.saturating_sub(earlier.handled),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            turn_ns: buckets(&self.turn_ns, &earlier.turn_ns),
            wait_ns: buckets(&self.wait_ns, &earlier.wait_ns),
            messages: messages.filter(|it| it.handled > 0).collect(),
        }
    }
}

/// Figures of one sort of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MessageFigures {
    /// The name of the variant, or of the actor's method.
    pub name: &'static str,
    /// Handled messages: an estimate.
    pub handled: u64,
    /// The time that these messages waited together, in nanoseconds: an estimate.
    pub wait_ns: u64,
}

/// What was measured in a scheduler, since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// By the names of kinds.
    pub kinds: BTreeMap<&'static str, TurnFigures>,
    /// Of those that were chosen, by their numbers: the name of the kind, and figures.
    pub numbers: BTreeMap<u64, (&'static str, TurnFigures)>,
    /// What the last sampled messages contained, oldest first: of those of which somebody asks for
    /// it now.
    pub contents: BTreeMap<u64, Vec<Contents>>,
    /// Turns and sampled messages that found no room, and count nowhere.
    pub missed: u64,
}

/// A turn, or a message, as a worker has noted it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    pub(crate) kind: &'static str,
    /// 0 for what has none, or is not chosen.
    pub(crate) number: u64,
    /// Whether the kind itself is wanted.
    pub(crate) of_kind: bool,
    /// The turn's time, or the message's.
    pub(crate) ns: u64,
    /// For how many it stands.
    pub(crate) weight: u64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Turn { handled: u64, bytes: u64 },
    Message { name: &'static str },
}

/// Sums of one kind, or one runnable.
#[derive(Debug)]
struct Sums {
    turns: u64,
    handled: u64,
    bytes: u64,
    busy_ns: u64,
    turn_ns: Histogram<u64>,
    wait_ns: Histogram<u64>,
    messages: BTreeMap<&'static str, (u64, u64)>,
}

impl Default for Sums {
    fn default() -> Self {
        let times = || Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let times = || times().expect("these bounds are valid");
        Sums {
            turns: 0,
            handled: 0,
            bytes: 0,
            busy_ns: 0,
            turn_ns: times(),
            wait_ns: times(),
            messages: BTreeMap::new(),
        }
    }
}

impl Sums {
    fn add(&mut self, noted: &Noted) {
        let (ns, weight) = (noted.ns.clamp(1, LONGEST_NS), noted.weight);
        match noted.what {
            What::Turn { handled, bytes } => {
                self.turns += weight;
                self.handled = self.handled.saturating_add(handled.saturating_mul(weight));
                self.bytes = self.bytes.saturating_add(bytes.saturating_mul(weight));
                self.busy_ns = self.busy_ns.saturating_add(noted.ns.saturating_mul(weight));
                self.turn_ns.saturating_record_n(ns, weight);
            }
            What::Message { name } => {
                self.wait_ns.saturating_record_n(ns, weight);
                if !name.is_empty() {
                    // Each sample weighs one for as many sends as there are between two.
                    let messages = weight.saturating_mul(SAMPLED.into());
                    let (handled, wait_ns) = self.messages.entry(name).or_default();
                    *handled = handled.saturating_add(messages);
                    *wait_ns = wait_ns.saturating_add(ns.saturating_mul(messages));
                }
            }
        }
    }

    fn merge(&mut self, other: &Sums) {
        self.turns += other.turns;
        self.handled = self.handled.saturating_add(other.handled);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.turn_ns.add(&other.turn_ns).expect("equal bounds");
        self.wait_ns.add(&other.wait_ns).expect("equal bounds");
        for (name, (handled, wait_ns)) in &other.messages {
            let sum = self.messages.entry(name).or_default();
            *sum = (sum.0.saturating_add(*handled), sum.1.saturating_add(*wait_ns));
        }
    }

    fn figures(&self) -> TurnFigures {
        let buckets = |times: &Histogram<u64>| {
            let steps = times.iter_recorded();
            steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
        };
        let messages = self.messages.iter();
        TurnFigures {
            turns: self.turns,
            handled: self.handled,
            bytes: self.bytes,
            busy_ns: self.busy_ns,
            turn_ns: buckets(&self.turn_ns),
            wait_ns: buckets(&self.wait_ns),
            messages: messages
                .map(|(&name, &(handled, wait_ns))| MessageFigures { name, handled, wait_ns })
                .collect(),
        }
    }
}

/// What one worker has measured.
#[derive(Debug, Default)]
struct Table {
    kinds: BTreeMap<&'static str, Sums>,
    numbers: BTreeMap<u64, (&'static str, Sums)>,
}

impl Table {
    fn add(&mut self, noted: &Noted) {
        if noted.of_kind {
            self.kinds.entry(noted.kind).or_default().add(noted);
        }
        if noted.number == 0 {
            return;
        }
        // Those that are no longer chosen keep their place: it is for so many in all.
        if self.numbers.len() < 2 * ACTORS_MAX || self.numbers.contains_key(&noted.number) {
            let (kind, sums) = self.numbers.entry(noted.number).or_default();
            *kind = noted.kind;
            sums.add(noted);
        }
    }
}

#[derive(Debug, Default)]
struct PerWorker {
    table: Mutex<Table>,
    contents: KeptContents,
    missed: AtomicU64,
}

/// What is to be measured, and was.
#[derive(Debug)]
pub struct Measuring {
    /// What each that asks wants, by a number.
    asked: Mutex<(u64, BTreeMap<u64, Measure>)>,
    /// What they want together.
    wanted: Mutex<Arc<Measure>>,
    /// Changes with `wanted`.
    version: AtomicU64,
    per_worker: Box<[PerWorker]>,
}

impl Measuring {
    pub(crate) fn new(workers: usize) -> Self {
        Measuring {
            asked: Mutex::default(),
            wanted: Mutex::default(),
            version: AtomicU64::new(0),
            per_worker: (0..workers).map(|_| PerWorker::default()).collect(),
        }
    }

    /// Somebody asks for this; returns a number for [`Measuring::end`]. Calls `begins` before
    /// anybody else can ask, or end.
    pub(crate) fn begin(&self, measure: Measure, begins: impl FnOnce()) -> u64 {
        let mut asked = locked(&self.asked);
        asked.0 += 1;
        let number = asked.0;
        asked.1.insert(number, measure);
        self.set_wanted(&asked.1);
        begins();
        number
    }

    /// That one asks no more; calls `last` if nobody does, before anybody else can ask.
    pub(crate) fn end(&self, number: u64, last: impl FnOnce()) {
        let mut asked = locked(&self.asked);
        asked.1.remove(&number);
        self.set_wanted(&asked.1);
        if asked.1.is_empty() {
            last();
        }
    }

    fn set_wanted(&self, asked: &BTreeMap<u64, Measure>) {
        let is_wanted = |number| asked.values().any(|it| it.wants_contents(number));
        self.per_worker.iter().for_each(|it| it.contents.retain(is_wanted));
        let mut all = asked.values();
        let Some(first) = all.next() else { return };
        *locked(&self.wanted) = Arc::new(all.fold(first.clone(), Measure::and));
        // Release: pairs with the acquire in `wanted_since`; a worker may learn of it later.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// What is wanted, if that has changed since this version, which then becomes the new one.
    /// Never waits.
    pub(crate) fn wanted_since(&self, version: &mut u64) -> Option<Arc<Measure>> {
        // Acquire: pairs with the release in `set_wanted`.
        let now = self.version.load(Ordering::Acquire);
        if now == *version {
            return None;
        }
        let wanted = try_locked(&self.wanted)?.clone();
        *version = now;
        Some(wanted)
    }

    /// Merges what worker `index` has noted; false, and nothing was done, if it would have to wait.
    pub(crate) fn merge(&self, index: usize, noted: &[Noted]) -> bool {
        let Some(mut table) = try_locked(&self.per_worker[index].table) else { return false };
        noted.iter().for_each(|noted| table.add(noted));
        true
    }

    /// Keeps what a message of this runnable contained.
    pub(crate) fn keep_contents(&self, index: usize, number: u64, contents: Contents) {
        self.per_worker[index].contents.add(number, contents);
    }

    /// Counts what found no room at worker `index`.
    pub(crate) fn miss(&self, index: usize) {
        // Relaxed: only a count.
        self.per_worker[index].missed.fetch_add(1, Ordering::Relaxed);
    }

    /// What was measured by all workers, since the scheduler was made.
    pub fn measured(&self) -> Measured {
        let (mut all, mut missed) = (Table::default(), 0u64);
        for it in &self.per_worker {
            // Relaxed: only a count.
            missed += it.missed.load(Ordering::Relaxed);
            let table = locked(&it.table);
            for (kind, sums) in &table.kinds {
                all.kinds.entry(kind).or_default().merge(sums);
            }
            for (number, (kind, sums)) in &table.numbers {
                let of_all = all.numbers.entry(*number).or_default();
                of_all.0 = kind;
                of_all.1.merge(sums);
            }
        }
        let numbers = all.numbers.iter();
        Measured {
            kinds: all.kinds.iter().map(|(kind, sums)| (*kind, sums.figures())).collect(),
            numbers: numbers.map(|(&it, (kind, sums))| (it, (*kind, sums.figures()))).collect(),
            contents: last_of(self.per_worker.iter().map(|it| &it.contents)),
            missed,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_locked<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn turn(kind: &'static str, number: u64, weight: u64) -> Noted {
        let what = What::Turn { handled: 2, bytes: 16 };
        Noted { kind, number, of_kind: true, ns: 100, weight, what }
    }

    #[test]
    fn what_workers_noted_adds_up() {
        let measuring = Measuring::new(2);
        assert!(measuring.merge(0, &[turn("a", 7, 3), turn("b", 0, 1)]));
        assert!(measuring.merge(1, &[turn("a", 0, 1)]));
        let message = What::Message { name: "add" };
        assert!(measuring.merge(1, &[Noted { what: message, ..turn("a", 7, 2) }]));
        let measured = measuring.measured();
        let a = &measured.kinds["a"];
        assert_eq!((a.turns, a.handled, a.bytes, a.busy_ns), (4, 8, 64, 400));
        assert_eq!(a.turn_ns.iter().map(|it| it.1).sum::<u64>(), 4);
        assert!((100..=106).contains(&a.turn_ns[0].0), "{a:?}");
        assert_eq!(a.wait_ns.iter().map(|it| it.1).sum::<u64>(), 2);
        let handled = 2 * u64::from(SAMPLED);
        assert_eq!(a.messages, [MessageFigures { name: "add", handled, wait_ns: 100 * handled }]);
        assert_eq!(measured.kinds["b"].turns, 1);
        let (kind, seven) = &measured.numbers[&7];
        assert_eq!((*kind, seven.turns, measured.numbers.len()), ("a", 3, 1));
    }

    #[test]
    fn what_has_come_since_is_the_difference() {
        let measuring = Measuring::new(1);
        let message = Noted { what: What::Message { name: "add" }, ..turn("a", 0, 2) };
        assert!(measuring.merge(0, &[turn("a", 0, 3), message]));
        let before = measuring.measured().kinds["a"].clone();
        assert!(measuring.merge(0, &[Noted { ns: 9_000, ..turn("a", 0, 2) }]));
        let since = measuring.measured().kinds["a"].since(&before);
        assert_eq!((since.turns, since.handled, since.busy_ns), (2, 4, 18_000));
        assert!(since.turn_ns.len() == 1 && since.turn_ns[0].0 >= 9_000, "{since:?}");
        assert!(since.wait_ns.is_empty() && since.messages.is_empty(), "{since:?}");
    }

    #[test]
    fn a_worker_does_not_wait_for_whoever_reads() {
        let measuring = Measuring::new(1);
        let reader = measuring.per_worker[0].table.lock();
        assert!(!measuring.merge(0, &[turn("a", 0, 1)]));
        drop(reader);
        assert!(measuring.merge(0, &[turn("a", 0, 1)]));
        assert_eq!(measuring.measured().kinds["a"].turns, 1);
    }

    #[test]
    fn what_several_ask_for_is_measured_until_the_last_one_ends() {
        let (measuring, mut version) = (Measuring::new(1), 0);
        let first =
            measuring.begin(Measure::new().kind("Counter").number(9).number(3).number(9), || {});
        let wanted = measuring.wanted_since(&mut version).expect("new");
        assert!(wanted.wants_kind("a::Counter") && !wanted.wants_kind("a::Other"));
        assert_eq!(wanted.numbers, [3, 9]);
        assert!(measuring.wanted_since(&mut version).is_none(), "nothing has changed");
        let second = measuring.begin(Measure::new().every_turn().number(4), || {});
        let wanted = measuring.wanted_since(&mut version).expect("new");
        assert!(wanted.wants_kind("a::Other") && wanted.is_of_every_turn());
        assert_eq!(wanted.numbers, [3, 4, 9]);
        measuring.end(second, || panic!("the first one still asks"));
        let wanted = measuring.wanted_since(&mut version).expect("new");
        assert!(!wanted.is_of_every_turn() && !wanted.wants_number(4) && wanted.wants_number(3));
        let mut is_last = false;
        measuring.end(first, || is_last = true);
        assert!(is_last && measuring.measured() == Measured::default());
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "Miri takes most of an hour to fill in the histograms of so many actors"
    )]
    fn figures_of_actors_are_bounded() {
        let measure = (1..=2_000).fold(Measure::new(), Measure::number);
        assert_eq!(measure.numbers.len(), ACTORS_MAX);
        let measuring = Measuring::new(1);
        let noted: Vec<_> = (1..=3_000).map(|number| turn("a", number, 1)).collect();
        assert!(measuring.merge(0, &noted));
        assert_eq!(measuring.measured().numbers.len(), 2 * ACTORS_MAX);
    }
}

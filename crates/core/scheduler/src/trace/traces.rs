//! What a scheduler keeps of traces: whether it traces, the records of traced messages under way,
//! and who hears of spans that have ended.

use super::bridge::Origin;
use super::context::TraceContext;
use super::here;
use super::span::Span;
use crate::guard::{self, Guarded};
use crate::log;
use crate::mixing::{STEP, scramble};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
// The standard library's locks, not the model checkers': only traced messages come here.
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The bit in a stamp of messages that are traced. No time has it.
const TRACED: u64 = 1 << 63;
/// Locks that share the records of messages under way.
const SHARDS: usize = 16;
/// Records of messages under way behind one lock. If there are more, the oldest is forgotten.
const PER_SHARD: usize = if cfg!(miri) { 16 } else { 4096 };
/// Steps for which a message between actors is followed.
const FLOW_STEPS: u16 = 8;
/// A share of 1 of the messages from outside.
const ALL: f64 = (1u64 << 32) as f64;

/// Whether a message with this stamp is traced. (A stamp of all ones is another mark's.)
#[inline]
pub fn is_traced(stamp_ns: u64) -> bool {
    stamp_ns & TRACED != 0 && stamp_ns != u64::MAX
}

/// A traced message that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) context: TraceContext,
    pub(crate) parent: Option<TraceContext>,
    pub(crate) sent_ns: u64,
    pub(crate) sender: Option<usize>,
    pub(crate) origin: Origin,
}

type Listener = Guarded<Box<dyn Fn(&Span) + Send + Sync>>;

/// How many traces and spans there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceFigures {
    /// Traces that began here, because a message from outside was one of the sample.
    pub began: u64,
    /// Spans that have ended, of all traces.
    pub spans: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Messages whose record was forgotten, because too many traced ones were under way: they were
    /// handled, and not traced any further.
    pub forgotten: u64,
    /// Messages that were not traced any further, because so many steps came before them.
    pub cut: u64,
    /// Texts that came from outside as a `traceparent`, and were none: they were ignored.
    pub bad_traceparents: u64,
}

#[derive(Debug, Default)]
struct Counts {
    began: AtomicU64,
    spans: AtomicU64,
    failed: AtomicU64,
    forgotten: AtomicU64,
    cut: AtomicU64,
    bad_traceparents: AtomicU64,
}

/// The traces of one scheduler.
pub struct Traces {
    is_on: AtomicBool,
    has_flows: AtomicBool,
    /// The share of messages from outside that begin a trace, of 2^32.
    share: AtomicU64,
    next: AtomicU64,
    /// Steps of code that were part of no trace, so far.
    steps: AtomicU64,
    carried: [Mutex<BTreeMap<u64, Carried>>; SHARDS],
    listeners: RwLock<Vec<Arc<Listener>>>,
    counts: Counts,
    /// When the scheduler was made, in nanoseconds since 1970: noted when tracing starts.
    zero_unix_ns: AtomicU64,
}

impl Traces {
    pub(crate) fn new() -> Self {
        Traces {
            is_on: AtomicBool::new(false),
            has_flows: AtomicBool::new(false),
            share: AtomicU64::new(0),
            next: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            carried: std::array::from_fn(|_| Mutex::default()),
            listeners: RwLock::default(),
            counts: Counts::default(),
            zero_unix_ns: AtomicU64::new(0),
        }
    }

    /// Whether messages are traced.
    #[inline]
    pub fn is_on(&self) -> bool {
        // Relaxed: a sender may learn of it a little later.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Traces from now on: what comes in with a context, and this share of the messages that come
    /// from outside without one (from 0 to 1).
    pub fn start(&self, share: f64, zero_unix_ns: u64) {
        // Relaxed, all: a sender that sees one without the others traces a little sooner or later.
        self.share.store((share.clamp(0.0, 1.0) * ALL) as u64, Ordering::Relaxed);
        self.zero_unix_ns.store(zero_unix_ns, Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Traces no further messages. Those under way still end their spans.
    pub fn stop(&self) {
        // Relaxed, both: as in `is_on`.
        self.is_on.store(false, Ordering::Relaxed);
        self.has_flows.store(false, Ordering::Relaxed);
    }

    /// When the scheduler was made, in nanoseconds since 1970.
    pub(crate) fn zero_unix_ns(&self) -> u64 {
        // Relaxed: as in `start`.
        self.zero_unix_ns.load(Ordering::Relaxed)
    }

    /// Calls `listener` with each span that ends, on the thread on which it ends: often a worker's.
    pub fn listen(&self, listener: impl Fn(&Span) + Send + Sync + 'static) {
        let listener: Listener = Guarded::new(Box::new(listener));
        let mut all = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::new(listener));
    }

    /// Drops the listeners: they may hold what holds this scheduler.
    pub fn dismiss_listeners(&self) {
        let mut all = self.listeners.write().unwrap_or_else(PoisonError::into_inner);
        let listeners = std::mem::take(&mut *all);
        drop(all);
        drop(listeners);
    }

    /// How many traces and spans there were.
    pub fn figures(&self) -> TraceFigures {
        // Relaxed: counts.
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        TraceFigures {
            began: read(&self.counts.began),
            spans: read(&self.counts.spans),
            failed: read(&self.counts.failed),
            forgotten: read(&self.counts.forgotten),
            cut: read(&self.counts.cut),
            bad_traceparents: read(&self.counts.bad_traceparents),
        }
    }

    /// Reads a `traceparent` that came from outside. One that is none is counted, and ignored.
    pub fn read(&self, traceparent: &str) -> Option<TraceContext> {
        let context = traceparent.trim().parse().ok();
        if context.is_none() {
            add_one(&self.counts.bad_traceparents);
        }
        context
    }

    // ---- messages under way
    // --------------------------------------------------------------------------------------------

    /// The context of a message from outside that is the `number`th of these, if it begins a trace;
    /// the span's id in it is the message's own.
    pub(crate) fn root(&self, number: u64) -> Option<TraceContext> {
        // Relaxed: as in `start`.
        let share = self.share.load(Ordering::Relaxed);
        let is_chosen = scramble(number.wrapping_add(STEP)) >> 32 < share;
        if !is_chosen || here::begins_none() {
            return None;
        }
        self.new_root()
    }

    /// Whether a step that is part of no trace begins one.
    pub(crate) fn begins_here(&self) -> bool {
        // Relaxed: a count.
        let number = self.steps.fetch_add(1, Ordering::Relaxed);
        // Relaxed: as in `start`.
        scramble(number.wrapping_add(STEP)) >> 32 < self.share.load(Ordering::Relaxed)
    }

    /// The context of what begins a trace.
    pub(crate) fn new_root(&self) -> Option<TraceContext> {
        add_one(&self.counts.began);
        let trace_id = u128::from(new_id().get()) << 64 | u128::from(new_id().get());
        TraceContext::new(trace_id, new_id().get(), true)
    }

    /// Keeps a record of a message that is sent: as a child of the current step if there is one,
    /// else as the beginning of a trace, with `root` as its context. Returns its stamp.
    pub(crate) fn carry(
        &self,
        root: impl FnOnce() -> Option<TraceContext>,
        sent_ns: u64,
        sender: Option<usize>,
    ) -> Option<u64> {
        let (context, parent) = match here::current() {
            Some(parent) => (self.child(parent)?, Some(parent)),
            None => (root()?, None),
        };
        let carried = Carried { context, parent, sent_ns, sender, origin: Origin::here() };
        // Relaxed: only uniqueness matters. No program sends 2^62 traced messages.
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        let forgotten = {
            let mut shard = self.shard(key);
            let forgotten =
                if shard.len() >= PER_SHARD { shard.pop_first().map(|(_, it)| it) } else { None };
            shard.insert(key, carried);
            forgotten
        };
        if forgotten.is_some() {
            add_one(&self.counts.forgotten);
        }
        Some(TRACED | key)
    }

    /// The stamp of a message that comes from outside at that time, as the `number`th of these:
    /// `None` if it is not traced.
    pub fn stamp_from_outside(&self, number: u64, now_ns: u64) -> Option<u64> {
        if !self.is_on() {
            return None;
        }
        self.carry(|| self.root(number), now_ns, None)
    }

    /// The context of a step that this one causes; `None` if the trace is not followed any further.
    pub(crate) fn child(&self, parent: TraceContext) -> Option<TraceContext> {
        let child = parent.next(new_id());
        if child.is_none() {
            add_one(&self.counts.cut);
        }
        child
    }

    /// Whether some messages between actors are followed from their send to their handler, for a
    /// picture of them.
    #[inline]
    pub(crate) fn has_flows(&self) -> bool {
        // Relaxed: as in `is_on`.
        self.has_flows.load(Ordering::Relaxed)
    }

    /// Follows one in some thousand messages between actors, too, each for a few steps: for a
    /// picture of them.
    #[doc(hidden)]
    pub fn start_flows(&self) {
        // Relaxed: as in `is_on`.
        self.has_flows.store(true, Ordering::Relaxed);
    }

    /// The stamp of a message that is followed for a few steps.
    pub(crate) fn flow(&self, sent_ns: u64, sender: usize) -> Option<u64> {
        self.carry(|| Some(self.new_root()?.for_steps(FLOW_STEPS)), sent_ns, Some(sender))
    }

    /// Takes the record of a message that has arrived, or never will.
    pub(crate) fn take(&self, stamp_ns: u64) -> Option<Carried> {
        let key = stamp_ns & !TRACED;
        self.shard(key).remove(&key)
    }

    fn shard(&self, key: u64) -> std::sync::MutexGuard<'_, BTreeMap<u64, Carried>> {
        let shard = &self.carried[key as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- spans that have ended
    // -----------------------------------------------------------------------------------------

    /// Counts a span that has ended, and tells the listeners.
    pub(crate) fn ended(&self, span: &Span) {
        add_one(&self.counts.spans);
        if span.error.is_some() {
            add_one(&self.counts.failed);
        }
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner).clone();
        for listener in &listeners {
            if let Err(panicked) = guard::catch(|| (***listener)(span)) {
                guard::count_here();
                log!(Error, {}, "a listener to spans got that of {}, and {panicked}", span.name);
            }
        }
    }
}

/// A new span's id, unlike all others of this process, and very likely of all others.
pub(crate) fn new_id() -> NonZeroU64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let seed = *SEED.get_or_init(|| RandomState::new().hash_one(0));
    loop {
        // Relaxed: only uniqueness matters.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Some(id) = NonZeroU64::new(scramble(seed.wrapping_add(number.wrapping_mul(STEP)))) {
            return id;
        }
    }
}

fn add_one(count: &AtomicU64) {
    // Relaxed: a count.
    count.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Traces(on: {}, {:?})", self.is_on(), self.figures())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const MANY: usize = if cfg!(miri) { 1_000 } else { 10_000 };

    #[test]
    fn a_share_of_the_messages_from_outside_begins_a_trace() {
        let traces = Traces::new();
        for (share, least, most) in
            [(0.0, 0, 0), (0.25, MANY * 23 / 100, MANY * 27 / 100), (1.0, MANY, MANY)]
        {
            traces.start(share, 0);
            let before = traces.figures().began;
            let began = (0..MANY as u64).filter(|&number| traces.root(number).is_some()).count();
            assert!((least..=most).contains(&began), "{share}: {began}");
            assert_eq!(traces.figures().began - before, began as u64);
        }
    }

    #[test]
    fn a_record_is_taken_once() {
        let traces = Traces::new();
        traces.start(1.0, 0);
        let stamp = traces.carry(|| traces.root(1), 5, Some(2)).unwrap();
        assert!(is_traced(stamp) && !is_traced(5) && !is_traced(u64::MAX));
        let carried = traces.take(stamp).unwrap();
        assert_eq!((carried.parent, carried.sent_ns, carried.sender), (None, 5, Some(2)));
        assert!(traces.take(stamp).is_none());
    }

    #[test]
    fn of_too_many_under_way_the_oldest_are_forgotten_and_counted() {
        let traces = Traces::new();
        traces.start(1.0, 0);
        let most = (SHARDS * PER_SHARD) as u64;
        let stamps: Vec<_> =
            (0..most + 3).filter_map(|n| traces.carry(|| traces.root(n), n, None)).collect();
        assert_eq!(traces.figures().forgotten, 3);
        assert!(stamps[..3].iter().all(|&stamp| traces.take(stamp).is_none()));
        assert!(stamps[3..].iter().all(|&stamp| traces.take(stamp).is_some()));
    }

    #[test]
    fn ids_differ() {
        let ids: std::collections::BTreeSet<_> = (0..MANY).map(|_| new_id()).collect();
        assert_eq!(ids.len(), MANY);
    }
}

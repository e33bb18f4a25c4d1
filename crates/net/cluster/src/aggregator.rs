//! The aggregator collects small messages for one node in a frame.
//!
//! The driver takes the oldest frame as soon as it is free and the other node has
//! credit, full or not. Messages that are sent meanwhile fill the next frame. So frames grow with
//! the load, and a single message waits for nobody. When messages come fast, a frame that is not
//! full is held: until its oldest message has waited for `hold_ns`, or until a worker runs out of
//! work, because then no more messages are to be expected.
//!
//! Each destination has one aggregator, behind a lock. The messages of a turn come to it together:
//! until the turn ends they lie in a buffer of the worker (see `node::send`). They may not stay
//! there any longer. The actor may run on another worker next, and its later messages must not
//! overtake them.

use crate::codec::CodecError;
use crate::flush::{FlushPolicy, FlushReason};
use crate::link::HEADER_BYTES;
use crate::locks::lock;
use futures_channel::oneshot;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The settings of an aggregator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregatorConfig {
    /// A frame is full when it has so many bytes. A longer message has a frame of its own.
    pub frame_bytes: usize,
    /// Full frames that may wait for one destination; then senders are refused.
    pub frames_waiting: usize,
    /// How long a frame that is not full is held at most while messages come fast. How long it is
    /// depends on how fast.
    pub hold_ns: u64,
}

impl Default for AggregatorConfig {
    fn default() -> Self {
        AggregatorConfig { frame_bytes: 16 << 10, frames_waiting: 4, hold_ns: 10_000 }
    }
}

/// Counters of an aggregator: its messages and frames, and the reasons for which frames left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AggregatorCounters {
    /// Messages that left.
    pub messages: u64,
    /// Frames that left.
    pub frames: u64,
    /// The number that left because they were full.
    pub full: u64,
    /// Because nothing held them: the sender was free.
    pub free: u64,
    /// Because a worker had nothing else to do.
    pub idle: u64,
    /// Because their oldest message was due.
    pub due: u64,
    /// Because an urgent message was in them.
    pub urgent: u64,
    /// How long the oldest message of each frame waited, in sum.
    pub waited_ns: u64,
    /// Messages that were refused, because too much waits.
    pub refused: u64,
    /// The number of times that a turn's messages, or one message from outside of turns, went in.
    pub additions: u64,
    /// The number of times that a thread had to wait for another one that had the aggregator.
    pub lock_waits: u64,
}

/// A frame on its way to its link.
pub(crate) struct Batch {
    /// The bytes, with space for the link's header.
    pub(crate) frame: Vec<u8>,
    pub(crate) messages: u32,
    first_ns: u64,
}

/// The reason for which a message did not go in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotAdded {
    /// Too much waits.
    Full,
    /// The destination is down.
    Closed,
    /// The message can not be encoded.
    Failed(CodecError),
    /// The message is longer than any frame.
    TooLong { bytes: usize, allowed: usize },
}

/// An empty frame: room for the header.
pub(crate) fn new_frame(frame_bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(frame_bytes + HEADER_BYTES);
    frame.resize(HEADER_BYTES, 0);
    frame
}

/// The aggregator of one destination.
pub(crate) struct Aggregator {
    config: AggregatorConfig,
    frame_bytes_max: usize,
    /// Whether so many full frames wait that senders are refused. It is changed behind the lock and
    /// read without it, because a sender that tries again and again must not keep the node's thread
    /// from the lock.
    is_full: AtomicBool,
    /// Likewise: nothing goes in.
    is_closed: AtomicBool,
    /// Likewise: before this time nothing leaves, unless it changes. 0: something may leave now.
    /// Whoever takes frames asks all the time, and would keep senders from the lock.
    leaves_at_ns: AtomicU64,
    refused: AtomicU64,
    lock_waits: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Batch>,
    full: VecDeque<Batch>,
    is_closed: bool,
    /// Closed for good.
    is_over: bool,
    /// The open frame has a message that waits for no others.
    urgent: bool,
    policy: FlushPolicy,
    /// The senders that wait for capacity.
    waiters: Vec<oneshot::Sender<()>>,
    counters: AggregatorCounters,
}

impl Aggregator {
    pub(crate) fn new(config: AggregatorConfig, frame_bytes_max: usize) -> Self {
        Aggregator {
            config,
            frame_bytes_max,
            is_full: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            leaves_at_ns: AtomicU64::new(u64::MAX),
            refused: AtomicU64::new(0),
            lock_waits: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => self.wait(),
        }
    }

    #[cold]
    fn wait(&self) -> MutexGuard<'_, State> {
        // Relaxed: a count.
        self.lock_waits.fetch_add(1, Ordering::Relaxed);
        lock(&self.state)
    }

    /// Whether a message would be refused now, because too much waits. Counts as a refusal.
    pub(crate) fn refuses(&self) -> bool {
        // Relaxed, both: a hint, whose truth is behind the lock; and a count.
        let refuses = self.is_full.load(Ordering::Relaxed);
        if refuses {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Whether too much waits, as far as is known without the lock.
    pub(crate) fn is_full(&self) -> bool {
        // Relaxed: a hint, whose truth is behind the lock.
        self.is_full.load(Ordering::Relaxed)
    }

    /// Whether the destination is down, as far as is known without the lock.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: a hint, whose truth is behind the lock.
        self.is_closed.load(Ordering::Relaxed)
    }

    /// A frame of so many bytes is full.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.config.frame_bytes
    }

    /// Whether a message of so many bytes fits in a frame.
    pub(crate) fn check_len(&self, bytes: usize) -> Result<(), NotAdded> {
        let allowed = self.frame_bytes_max - HEADER_BYTES;
        if bytes > allowed {
            return Err(NotAdded::TooLong { bytes, allowed });
        }
        Ok(())
    }

    /// Notes what is read without the lock, after a change behind it.
    fn note(&self, state: &State) {
        let is_empty = state.full.is_empty() && state.open.is_none();
        // Relaxed, both: see `refuses`. A driver that finds nothing asks again, and behind the lock
        // before it sleeps.
        self.is_full.store(state.full.len() >= self.config.frames_waiting, Ordering::Relaxed);
        self.leaves_at_ns.store(if is_empty { u64::MAX } else { 0 }, Ordering::Relaxed);
    }

    /// Adds a message. True if it is the first of a frame: the node's thread may not know of it.
    /// `always`: even if much waits; for what must not fail, and is rare or was asked for.
    ///
    /// It is bytes already: the lock is held for a copy and not while user code encodes, or whoever
    /// sends without a pause would keep the node's thread out (seen: for more than a second, after
    /// which the other node took this one for dead).
    pub(crate) fn add(
        &self,
        now_ns: impl FnOnce() -> u64,
        always: bool,
        message: &[u8],
    ) -> Result<bool, NotAdded> {
        self.check_len(message.len())?;
        let state = &mut *self.lock();
        if state.is_closed {
            return Err(NotAdded::Closed);
        }
        if state.full.len() >= self.config.frames_waiting && !always {
            // Relaxed: a count.
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(NotAdded::Full);
        }
        Ok(self.append(state, now_ns, 1, message))
    }

    /// Adds what a turn has buffered: so many messages, behind room for a header. The buffered
    /// frame is empty afterwards, or taken with its room, unless the destination is down. True as
    /// for `add`. It is never refused for what waits, for its senders were told that it was taken;
    /// a turn adds at most about one frame to what may wait.
    pub(crate) fn add_batch(
        &self,
        now_ns: impl FnOnce() -> u64,
        messages: u32,
        buffered: &mut Vec<u8>,
    ) -> Result<bool, NotAdded> {
        let state = &mut *self.lock();
        if state.is_closed {
            return Err(NotAdded::Closed);
        }
        let (most, bytes) = (self.config.frame_bytes, buffered.len());
        let joins = |open: &Batch| bytes < most / 4 || open.frame.len() + bytes <= most;
        if state.open.as_ref().is_some_and(joins) {
            let is_first = self.append(state, now_ns, messages, &buffered[HEADER_BYTES..]);
            buffered.truncate(HEADER_BYTES);
            return Ok(is_first);
        }
        // The first, or much: not copied, but taken as it is.
        state.counters.additions += 1;
        let is_first = state.open.is_none();
        state.full.extend(state.open.take());
        state.urgent = false;
        let frame = std::mem::take(buffered);
        state.open = Some(Batch { frame, messages, first_ns: now_ns() });
        self.close_full(state, true);
        Ok(is_first)
    }

    fn append(
        &self,
        state: &mut State,
        now_ns: impl FnOnce() -> u64,
        messages: u32,
        bytes: &[u8],
    ) -> bool {
        state.counters.additions += 1;
        if let Some(open) =
            state.open.take_if(|open| open.frame.len() + bytes.len() > self.frame_bytes_max)
        {
            // Together they would be too long.
            state.full.push_back(open);
        }
        let is_first = state.open.is_none();
        let open = state.open.get_or_insert_with(|| {
            state.urgent = false;
            let frame = new_frame(self.config.frame_bytes);
            Batch { frame, messages: 0, first_ns: now_ns() }
        });
        open.frame.extend_from_slice(bytes);
        open.messages += messages;
        self.close_full(state, is_first);
        is_first
    }

    fn close_full(&self, state: &mut State, is_first: bool) {
        state.full.extend(state.open.take_if(|open| open.frame.len() >= self.config.frame_bytes));
        // What joins a frame that is held changes nothing about when it leaves.
        if is_first || !state.full.is_empty() {
            self.note(state);
        }
    }

    /// The oldest frame, if it is to leave now. `is_idle`: whoever takes it is a worker that has
    /// nothing else to do.
    pub(crate) fn take(&self, now_ns: u64, is_idle: bool) -> Option<Batch> {
        // Relaxed: see `note`. An idle worker takes what is held, too.
        let leaves_at_ns = self.leaves_at_ns.load(Ordering::Relaxed);
        if leaves_at_ns == u64::MAX || now_ns < leaves_at_ns && !is_idle {
            return None;
        }
        let (batch, waiters) = self.take_and_call(now_ns, is_idle)?;
        // After the lock: whoever is called may send at once.
        for waiter in waiters {
            // It may have stopped waiting.
            let _ = waiter.send(());
        }
        Some(batch)
    }

    fn take_and_call(
        &self,
        now_ns: u64,
        is_idle: bool,
    ) -> Option<(Batch, Vec<oneshot::Sender<()>>)> {
        let state = &mut *self.lock();
        let batch = if let Some(full) = state.full.pop_front() {
            state.counters.full += 1;
            full
        } else {
            let first_ns = state.open.as_ref()?.first_ns;
            let AggregatorConfig { hold_ns, frame_bytes, .. } = self.config;
            let counter = if state.urgent {
                &mut state.counters.urgent
            } else {
                let leaves = state.policy.leaves(now_ns, first_ns, is_idle, hold_ns, frame_bytes);
                if leaves.is_none() {
                    let due_ns = state.policy.due_ns(first_ns, hold_ns, frame_bytes);
                    // Relaxed: see `note`.
                    self.leaves_at_ns.store(due_ns, Ordering::Relaxed);
                }
                match leaves? {
                    FlushReason::Free => &mut state.counters.free,
                    FlushReason::Due => &mut state.counters.due,
                    FlushReason::Idle => &mut state.counters.idle,
                }
            };
            *counter += 1;
            state.open.take()?
        };
        self.note(state);
        state.counters.frames += 1;
        state.counters.messages += u64::from(batch.messages);
        state.counters.waited_ns += now_ns.saturating_sub(batch.first_ns);
        state.policy.left(now_ns, batch.messages, batch.frame.len(), self.config.hold_ns);
        let has_room = state.full.len() < self.config.frames_waiting;
        let waiters = if has_room { std::mem::take(&mut state.waiters) } else { Vec::new() };
        Some((batch, waiters))
    }

    /// Is done when there is capacity, or there never will be: when sending no longer says that too
    /// much waits.
    pub(crate) fn ready(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if state.full.len() >= self.config.frames_waiting && !state.is_closed {
            state.waiters.push(sender);
        }
        // Else dropping it is news enough.
        receiver
    }

    /// Bytes of messages that wait to leave.
    pub(crate) fn bytes_waiting(&self) -> usize {
        let state = self.lock();
        let frames = state.full.iter().chain(&state.open);
        frames.map(|batch| batch.frame.len() - HEADER_BYTES).sum()
    }

    /// Whether anything waits to leave, now or soon.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.full.is_empty() && state.open.is_none()
    }

    /// A hint, without the lock: whether anything waits.
    pub(crate) fn seems_to_hold(&self) -> bool {
        // Relaxed: see `note`.
        self.leaves_at_ns.load(Ordering::Relaxed) != u64::MAX
    }

    /// Marks the open frame as urgent: it leaves as soon as the sender is free and the other node
    /// has credit, without waiting for further messages.
    pub(crate) fn hurry(&self) {
        let mut state = self.lock();
        state.urgent = true;
        self.note(&state);
    }

    /// Closes it: nothing goes in from now on, and what is in comes back.
    pub(crate) fn close(&self) -> Vec<Batch> {
        let mut state = self.lock();
        state.is_closed = true;
        // Relaxed: see `is_closed`.
        self.is_closed.store(true, Ordering::Relaxed);
        state.policy = FlushPolicy::default();
        let waiters = std::mem::take(&mut state.waiters);
        let open = state.open.take();
        let back = state.full.drain(..).chain(open).collect();
        self.note(&state);
        drop(state);
        drop(waiters);
        back
    }

    /// This node leaves: what is closed from now on stays closed.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
    }

    /// Takes [`Aggregator::close`] back, unless this node has left.
    pub(crate) fn open(&self) {
        let mut state = self.lock();
        if state.is_over {
            return;
        }
        state.is_closed = false;
        // Relaxed: see `is_closed`.
        self.is_closed.store(false, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> AggregatorCounters {
        let counters = self.lock().counters;
        // Relaxed, both: counts.
        let refused = self.refused.load(Ordering::Relaxed);
        let lock_waits = self.lock_waits.load(Ordering::Relaxed);
        AggregatorCounters { refused, lock_waits, ..counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aggregator(frame_bytes: usize) -> Aggregator {
        let config = AggregatorConfig { frame_bytes, frames_waiting: 2, hold_ns: 10 };
        Aggregator::new(config, HEADER_BYTES + 100)
    }

    fn add(aggregator: &Aggregator, now_ns: u64, bytes: usize) -> Result<bool, NotAdded> {
        aggregator.add(|| now_ns, false, &vec![7; bytes])
    }

    #[test]
    fn a_single_message_leaves_at_once() {
        let aggregator = aggregator(100);
        for now_ns in 0..10 {
            assert_eq!(add(&aggregator, now_ns, 8), Ok(true));
            assert_eq!(aggregator.take(now_ns, false).unwrap().messages, 1);
            assert!(aggregator.take(now_ns, false).is_none());
        }
        assert_eq!((aggregator.counters().free, aggregator.counters().waited_ns), (10, 0));
    }

    #[test]
    fn while_messages_come_fast_a_frame_waits_until_it_is_full_or_due_or_a_worker_is_idle() {
        let aggregator = aggregator(HEADER_BYTES + 80);
        let fill = |now_ns| (0..6).for_each(|_| drop(add(&aggregator, now_ns, 8)));
        fill(0);
        assert_eq!(aggregator.take(0, false).unwrap().messages, 6);
        fill(1);
        assert!(aggregator.take(1, false).is_none());
        assert_eq!(aggregator.take(1, true).unwrap().messages, 6);
        fill(2);
        assert!(aggregator.take(2, false).is_none(), "it was idle before, not since");
        fill(3);
        assert_eq!(aggregator.take(3, false).unwrap().messages, 10, "full");
        assert!(aggregator.take(12, false).is_none());
        assert_eq!(aggregator.take(13, false).unwrap().messages, 2, "due");
        let counters = aggregator.counters();
        assert_eq!(
            (counters.free, counters.idle, counters.full, counters.due),
            (1, 1, 1, 1),
            "{counters:?}"
        );
        assert_eq!((counters.frames, counters.messages, counters.waited_ns), (4, 24, 11));
    }

    #[test]
    fn what_is_urgent_takes_all_before_it_along_at_once() {
        let aggregator = aggregator(HEADER_BYTES + 80);
        let fill = |now_ns| (0..6).for_each(|_| drop(add(&aggregator, now_ns, 8)));
        fill(0);
        assert_eq!(aggregator.take(0, false).unwrap().messages, 6);
        fill(1);
        assert!(aggregator.take(1, false).is_none());
        aggregator.hurry();
        assert_eq!(aggregator.take(1, false).unwrap().messages, 6);
        fill(2);
        assert!(aggregator.take(2, false).is_none(), "what came later is not urgent");
        // What is full leaves as such, and what is behind it waits again.
        aggregator.hurry();
        fill(2);
        assert_eq!(aggregator.take(2, false).unwrap().messages, 10);
        assert!(aggregator.take(2, false).is_none());
        assert_eq!(aggregator.take(2, true).unwrap().messages, 2, "taken by an idle worker");
        let counters = aggregator.counters();
        assert_eq!((counters.urgent, counters.full, counters.idle), (1, 1, 1), "{counters:?}");
    }

    #[test]
    fn too_much_is_refused_unless_it_must_not_fail() {
        let aggregator = aggregator(HEADER_BYTES + 8);
        assert_eq!(add(&aggregator, 0, 8), Ok(true));
        assert_eq!(add(&aggregator, 0, 8), Ok(true));
        assert_eq!(add(&aggregator, 0, 8), Err(NotAdded::Full));
        let mut ready = aggregator.ready();
        assert_eq!(ready.try_recv(), Ok(None));
        aggregator.take(0, false).unwrap();
        assert_eq!(ready.try_recv(), Ok(Some(())));
        assert!(aggregator.ready().try_recv().is_err(), "there is capacity");
        assert_eq!(add(&aggregator, 0, 8), Ok(true));
        let mut ready = aggregator.ready();
        assert_eq!(aggregator.add(|| 0, true, &[]), Ok(true));
        assert_eq!(aggregator.counters().refused, 1);
        aggregator.close();
        assert!(ready.try_recv().is_err(), "there never will be");
    }

    #[test]
    fn the_first_batch_is_taken_as_it_is_and_what_comes_behind_it_joins_it() {
        let aggregator = aggregator(HEADER_BYTES + 80);
        let add_batch = |bytes: usize| {
            let mut frame = vec![7; HEADER_BYTES + bytes];
            let place = frame.as_ptr();
            assert!(aggregator.add_batch(|| 0, 1, &mut frame).is_ok());
            (place, frame.len())
        };
        let (_, left) = add_batch(8);
        assert_eq!(left, 0, "taken");
        let (_, left) = add_batch(8);
        assert_eq!(left, HEADER_BYTES, "copied");
        let batch = aggregator.take(0, false).unwrap();
        assert_eq!((batch.messages, batch.frame.len()), (2, HEADER_BYTES + 16));
        let (place, _) = add_batch(8);
        assert_eq!(aggregator.take(1, true).unwrap().frame.as_ptr(), place, "not copied");
    }

    #[test]
    fn long_messages_have_frames_of_their_own_and_too_long_ones_are_refused() {
        let aggregator = aggregator(HEADER_BYTES + 90);
        assert_eq!(add(&aggregator, 0, 60), Ok(true));
        assert_eq!(add(&aggregator, 0, 101), Err(NotAdded::TooLong { bytes: 101, allowed: 100 }));
        assert_eq!(add(&aggregator, 0, 100), Ok(true));
        let lens: Vec<_> =
            std::iter::from_fn(|| aggregator.take(0, false)).map(|it| it.frame.len()).collect();
        assert_eq!(lens, [HEADER_BYTES + 60, HEADER_BYTES + 100]);
    }

    #[test]
    fn whoever_waits_for_another_thread_is_counted() {
        let aggregator = aggregator(HEADER_BYTES + 80);
        assert_eq!(add(&aggregator, 0, 8), Ok(true));
        let held = aggregator.lock();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| add(&aggregator, 0, 8));
            // Relaxed: a count, which it has raised before it waits.
            while aggregator.lock_waits.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert_eq!(second.join().unwrap(), Ok(false));
        });
        let counters = aggregator.counters();
        assert_eq!((counters.additions, counters.lock_waits), (2, 1));
    }

    #[test]
    fn a_closed_one_takes_nothing_and_gives_all_back() {
        let aggregator = aggregator(HEADER_BYTES + 16);
        (0..3).for_each(|_| drop(add(&aggregator, 0, 8)));
        assert_eq!(aggregator.close().iter().map(|it| it.messages).sum::<u32>(), 3);
        assert_eq!(add(&aggregator, 0, 8), Err(NotAdded::Closed));
        aggregator.open();
        assert_eq!(add(&aggregator, 0, 8), Ok(true));
    }
}

//! Faulting in: bound threads take chunks, in the order of their addresses, until there are none.
//!
//! Everything is set up before the first page is touched: the policy is set, all threads are there
//! and bound, and start together. (A thread that starts while others fault in waits for the lock of
//! the address space; a page that is touched before the policy is set stays where it is.) A chunk
//! that a thread had in hand when it died goes back to those that are left, and at last to the
//! thread that waits for them, so nobody waits for ever.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use actinium_topology::bind_current_thread_to;
use serde::Serialize;

use super::throttle::{Throttle, Times};
use crate::clock::Stopwatch;
use crate::error::{Warnings, last_words};
use crate::fabric::Table;
use crate::plan::{Bound, Owner, Part};
use crate::sys::{self, Mapping};
use crate::{MemoryError, Warning};

/// A thread that only makes system calls needs little.
const STACK_BYTES: usize = 128 << 10;

/// How far a fault-in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes that are faulted in.
    pub done_bytes: u64,
    /// The segment's size.
    pub total_bytes: u64,
}

impl Progress {
    /// The share of the bytes that is faulted in, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.done_bytes as f64 / self.total_bytes as f64
    }
}

/// Called after each chunk, by the thread that has faulted it in.
pub(crate) type OnProgress = Box<dyn Fn(Progress) + Send + Sync>;

/// The work of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ThreadFigures {
    /// The node whose PUs it was bound to, if it was.
    pub node: Option<u32>,
    /// Bytes that it faulted in.
    pub bytes: u64,
    /// How long it took, from the common start to its last chunk.
    pub elapsed_s: f64,
}

/// Figures of a whole fault-in.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FaultFigures {
    /// Bytes that threads, and those who waited for them, have faulted in.
    pub bytes: u64,
    /// The time from the common start to the end of the last chunk.
    pub elapsed_s: f64,
    /// The threads.
    pub threads: Vec<ThreadFigures>,
}

impl FaultFigures {
    /// The speed of the fault-in, in GB (10⁹ bytes) per second.
    #[must_use]
    pub fn gb_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_s / 1e9
    }
}

/// A part's chunks that nobody has taken yet.
#[derive(Debug)]
struct Queue {
    range: Range<usize>,
    owner: Owner,
    next: AtomicUsize,
}

impl Queue {
    /// The next chunk. The first ends, and all others begin, at a multiple of a chunk's size.
    fn take(&self, chunk_bytes: usize) -> Option<Range<usize>> {
        // Relaxed: the number is all that is taken; what it stands for was there before the
        // threads.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let base = self.range.start / chunk_bytes * chunk_bytes;
        let from = base.saturating_add(number.saturating_mul(chunk_bytes));
        let (from, to) = (from.max(self.range.start), from.saturating_add(chunk_bytes));
        (from < self.range.end).then(|| from..to.min(self.range.end))
    }
}

/// A fault-in under way, and the memory that it is about.
pub(crate) struct FaultIn {
    pub(crate) mapping: Mapping,
    pub(crate) warnings: Warnings,
    pub(crate) registration: Option<Table>,
    queues: Vec<Queue>,
    chunk_bytes: usize,
    page_bytes: usize,
    on_progress: Option<OnProgress>,
    touch: AtomicBool,
    cancelled: AtomicBool,
    done_bytes: AtomicU64,
    /// How long all threads that fault in have worked.
    faulting_ns: AtomicU64,
    state: Mutex<State>,
    ended: Condvar,
    hurried: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Chunks that were taken and not faulted in.
    left: Vec<Range<usize>>,
    error: Option<MemoryError>,
    /// In the background: the threads are about to be started.
    has_begun: bool,
    has_ended: bool,
    /// Somebody waits: no more pauses.
    is_urgent: bool,
    figures: FaultFigures,
}

impl std::fmt::Debug for FaultIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultIn").field("mapping", &self.mapping).finish_non_exhaustive()
    }
}

impl FaultIn {
    pub(crate) fn new(
        mapping: Mapping,
        warnings: Warnings,
        registration: Option<Table>,
        parts: &[Part],
        (chunk_bytes, page_bytes): (usize, usize),
        on_progress: Option<OnProgress>,
        touch: bool,
    ) -> Self {
        let queue = |part: &Part| Queue {
            range: part.range.clone(),
            owner: part.owner,
            next: AtomicUsize::new(0),
        };
        FaultIn {
            mapping,
            warnings,
            registration,
            queues: parts.iter().map(queue).collect(),
            chunk_bytes,
            page_bytes,
            on_progress,
            touch: AtomicBool::new(touch),
            cancelled: AtomicBool::new(false),
            done_bytes: AtomicU64::new(0),
            faulting_ns: AtomicU64::new(0),
            state: Mutex::default(),
            ended: Condvar::new(),
            hurried: Condvar::new(),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        // Relaxed: a statistic; whoever needs the pages uses them, in or not.
        let done_bytes = self.done_bytes.load(Ordering::Relaxed);
        Progress { done_bytes, total_bytes: self.mapping.len() as u64 }
    }

    /// Faults everything in with these threads, and returns when it is done, has failed or was
    /// cancelled.
    pub(crate) fn run(&self, workers: &[Bound], is_background: bool) -> Result<(), MemoryError> {
        let gate = Gate::default();
        let mut started = 0;
        let figures = thread::scope(|scope| {
            let mut handles = Vec::with_capacity(workers.len());
            for (number, bound) in workers.iter().enumerate() {
                let gate = &gate;
                let work = move || self.worker(number, bound, gate, is_background);
                let builder = thread::Builder::new().name(format!("fault-in-{number}"));
                match builder.stack_size(STACK_BYTES).spawn_scoped(scope, work) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => {
                        let (asked, got) = (workers.len(), handles.len());
                        let reason = error.to_string();
                        self.warnings.add(Warning::FewerThreads { asked, got, reason });
                        break;
                    }
                }
            }
            started += handles.len();
            let clock = gate.open_when_bound(started);
            let threads = handles.into_iter().filter_map(|handle| handle.join().ok()).collect();
            // What the dead, and those that could not be had, have left.
            self.finish();
            FaultFigures { bytes: 0, elapsed_s: clock.seconds(), threads }
        });
        let mut state = self.lock();
        state.figures = figures;
        state.has_ended = true;
        self.ended.notify_all();
        state.error.clone().map_or(Ok(()), Err)
    }

    /// Says that a fault-in in the background could not even begin.
    pub(crate) fn give_up(&self) {
        self.lock().has_ended = true;
        self.ended.notify_all();
    }

    fn worker(
        &self,
        number: usize,
        bound: &Bound,
        gate: &Gate,
        is_background: bool,
    ) -> ThreadFigures {
        let bind = bound.pus.as_ref().map_or(Ok(()), bind_current_thread_to);
        if let Err(error) = &bind {
            self.warnings.add(Warning::Unbound { reason: error.to_string() });
        }
        if is_background && let Err(errno) = sys::only_when_idle() {
            self.warnings.add(Warning::NoIdlePriority { errno });
        }
        let clock = gate.wait();
        let node = bound.node.filter(|_| bind.is_ok());
        let mut figures = ThreadFigures { node, ..ThreadFigures::default() };
        let mine = |owner| match owner {
            Owner::Anyone => true,
            Owner::Node(node) => bound.node == Some(node),
            Owner::Worker(worker) => worker == number,
        };
        let may = |owner| mine(owner) || matches!(owner, Owner::Node(_));
        let mut throttle =
            is_background.then(|| (Throttle::new(self.times(clock)), sys::thread_time()));
        let mut rest = || {
            if let Some((throttle, before)) = &mut throttle {
                let now = sys::thread_time();
                let worked = now.saturating_sub(*before).as_nanos();
                *before = now;
                // Relaxed: a statistic, from which pauses follow and nothing else.
                self.faulting_ns.fetch_add(u64::try_from(worked).unwrap_or(0), Ordering::Relaxed);
                self.pause(throttle.pause(self.times(clock)));
            }
        };
        self.take_in_turn(&mine, &mut figures.bytes, &mut rest);
        self.take_in_turn(&may, &mut figures.bytes, &mut rest);
        figures.elapsed_s = clock.seconds();
        figures
    }

    /// Faults in a chunk of each of these parts, then the next of each: what is allocated from all
    /// of them is allocated from their beginnings.
    fn take_in_turn(
        &self,
        of: &dyn Fn(Owner) -> bool,
        bytes: &mut u64,
        after_each: &mut dyn FnMut(),
    ) {
        let mut open: Vec<&Queue> = self.queues.iter().filter(|queue| of(queue.owner)).collect();
        while !open.is_empty() {
            open.retain(|queue| match queue.take(self.chunk_bytes) {
                Some(chunk) => {
                    let goes_on = self.is_going_on() && self.one(chunk, bytes);
                    after_each();
                    goes_on
                }
                None => false,
            });
        }
    }

    fn times(&self, clock: Stopwatch) -> Times {
        Times {
            passed: clock.passed(),
            process: sys::process_time(),
            // Relaxed: a statistic.
            faulting: Duration::from_nanos(self.faulting_ns.load(Ordering::Relaxed)),
            own: sys::thread_time(),
        }
    }

    /// Lets the program work, unless it waits for us or has no more use for the segment.
    fn pause(&self, time: Duration) {
        if !time.is_zero() {
            let may = |state: &mut State| !state.is_urgent && self.is_going_on();
            drop(self.hurried.wait_timeout_while(self.lock(), time, may));
        }
    }

    /// No more pauses.
    fn hurry(&self) {
        self.lock().is_urgent = true;
        self.hurried.notify_all();
    }

    /// Relaxed: a hint to stop early; who set it waits for the threads' ends.
    fn is_going_on(&self) -> bool {
        !self.cancelled.load(Ordering::Relaxed)
    }

    /// Faults a chunk in. False if this thread had better stop.
    fn one(&self, chunk: Range<usize>, bytes: &mut u64) -> bool {
        let size = chunk.len() as u64;
        let mut is_in = false;
        let work = AssertUnwindSafe(|| {
            self.fault(chunk.clone())?;
            is_in = true;
            // Relaxed: a statistic.
            let done_bytes = self.done_bytes.fetch_add(size, Ordering::Relaxed) + size;
            *bytes += size;
            self.register(chunk.clone())?;
            if let Some(on_progress) = &self.on_progress {
                on_progress(Progress { done_bytes, ..self.progress() });
            }
            Ok(())
        });
        match catch_unwind(work) {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                self.fail(error);
                false
            }
            Err(panic) => {
                // Others' turn, unless it was only the callback that panicked.
                if !is_in {
                    self.lock().left.push(chunk);
                }
                self.warnings.add(Warning::ThreadDied { reason: last_words(&*panic) });
                false
            }
        }
    }

    fn fault(&self, chunk: Range<usize>) -> Result<(), MemoryError> {
        // Relaxed: a hint; who has not seen it yet finds it out by itself.
        if !self.touch.load(Ordering::Relaxed) {
            match self.mapping.populate(chunk.clone()) {
                Ok(()) => return Ok(()),
                Err(errno @ (libc::EINVAL | libc::ENOSYS | libc::EPERM)) => {
                    self.warnings.add(Warning::Touched { errno });
                    // Relaxed: as above.
                    self.touch.store(true, Ordering::Relaxed);
                }
                Err(errno) => {
                    return Err(MemoryError::System {
                        doing: "fault the segment in",
                        errno,
                        advice: match errno {
                            libc::ENOMEM | libc::EFAULT => {
                                "memory or the pool of huge pages has run out since it was checked, or a node's share of it is used up"
                            }
                            libc::EHWPOISON => "the machine's memory is damaged",
                            _ => "",
                        },
                    });
                }
            }
        }
        self.mapping.touch(chunk, self.page_bytes);
        Ok(())
    }

    /// Registers a chunk: it is in and where it belongs, so it can be pinned there.
    fn register(&self, chunk: Range<usize>) -> Result<(), MemoryError> {
        self.registration.as_ref().map_or(Ok(()), |table| table.faulted(&self.mapping, chunk))
    }

    fn fail(&self, error: MemoryError) {
        self.lock().error.get_or_insert(error);
        self.cancel();
    }

    /// Faults in what the threads have left: chunks of those that died, parts of those that were
    /// not there.
    fn finish(&self) {
        let mut bytes = 0;
        while self.is_going_on() {
            let Some(chunk) = self.lock().left.pop() else { break };
            let size = chunk.len() as u64;
            match self.fault(chunk.clone()) {
                Ok(()) => {
                    // Relaxed: a statistic.
                    self.done_bytes.fetch_add(size, Ordering::Relaxed);
                    self.register(chunk).unwrap_or_else(|error| self.fail(error));
                }
                Err(error) => self.fail(error),
            }
        }
        while self.is_going_on() {
            // Each round takes at least one chunk, unless all are taken: a callback that panics
            // every time ends too.
            let before = self.progress();
            self.take_in_turn(&|_| true, &mut bytes, &mut || ());
            if self.progress() == before {
                break;
            }
        }
    }

    /// Waits until everything is in, and meanwhile helps.
    pub(crate) fn wait(&self) -> Result<(), MemoryError> {
        self.hurry();
        self.take_in_turn(&|owner| !matches!(owner, Owner::Worker(_)), &mut 0, &mut || ());
        let ended = self.ended.wait_while(self.lock(), |state| !state.has_ended);
        let state = ended.unwrap_or_else(PoisonError::into_inner);
        state.error.clone().map_or(Ok(()), Err)
    }

    /// Whether the threads are through with it.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// The figures, when it has ended.
    pub(crate) fn figures(&self) -> Option<FaultFigures> {
        let state = self.lock();
        // Who waits may have the last chunk in hand when the threads are through.
        let bytes = self.progress().done_bytes;
        state.has_ended.then(|| FaultFigures { bytes, ..state.figures.clone() })
    }

    /// In the child of a fork there are no threads, and locks may be held by them for ever: faults
    /// in all by itself.
    pub(crate) fn alone(&self) -> Result<(), MemoryError> {
        let len = self.mapping.len();
        (0..len)
            .step_by(self.chunk_bytes)
            .try_for_each(|from| self.fault(from..len.min(from + self.chunk_bytes)))
    }

    /// The threads stop after their chunk.
    pub(crate) fn cancel(&self) {
        // Relaxed: as in `is_going_on`.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// In the background: false if it was stopped before it could begin.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        state.has_begun = self.is_going_on();
        state.has_begun
    }

    /// The same as `cancel`; true if a fault-in in the background had begun. One that had not never
    /// will.
    pub(crate) fn stop(&self) -> bool {
        let state = self.lock();
        self.cancel();
        self.hurried.notify_all();
        state.has_begun
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Locks the state. A panic under the lock has left the state whole: each change is one
    /// assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where threads gather, bound, before the first touches anything.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<(usize, Option<Stopwatch>)>,
    changed: Condvar,
}

impl Gate {
    fn wait(&self) -> Stopwatch {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_all();
        loop {
            if let Some(clock) = state.1 {
                return clock;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open_when_bound(&self, threads: usize) -> Stopwatch {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.changed.wait_while(state, |state| state.0 < threads);
        let mut state = all.unwrap_or_else(PoisonError::into_inner);
        let clock = Stopwatch::start();
        state.1 = Some(clock);
        self.changed.notify_all();
        clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither who waits nor who has no more use for a segment waits for a pause, which is an hour
    /// here.
    #[cfg(not(miri))]
    #[test]
    fn nobody_waits_for_a_pause() {
        let ends: [fn(&FaultIn); 2] = [FaultIn::hurry, |one| assert!(!one.stop())];
        for end in ends {
            let mapping = Mapping::anonymous(1 << 20, 4096, None).unwrap();
            let of =
                FaultIn::new(mapping, Warnings::default(), None, &[], (4096, 4096), None, true);
            thread::scope(|scope| {
                let paused = scope.spawn(|| of.pause(Duration::from_secs(3600)));
                end(&of);
                paused.join().unwrap();
            });
        }
    }

    #[test]
    fn chunks_cover_a_part_once_and_keep_to_multiples() {
        for range in [0..100, 5..100, 16..32, 15..17, 7..8] {
            let queue =
                Queue { range: range.clone(), owner: Owner::Anyone, next: AtomicUsize::new(0) };
            let chunks: Vec<_> = std::iter::from_fn(|| queue.take(16)).collect();
            assert_eq!(chunks.first().unwrap().start, range.start);
            assert_eq!(chunks.last().unwrap().end, range.end);
            assert!(
                chunks.windows(2).all(|two| two[0].end == two[1].start && two[1].start % 16 == 0)
            );
            assert_eq!(queue.take(16), None);
        }
    }
}

//! A runnable for the model checkers: a count of messages stands for its mailbox.
#![allow(dead_code, missing_docs, unreachable_pub)]

use actinium_scheduler::runnable::{
    Header, Kind, LaneEntries, Runnable, Turn, VTable, Words, WorkerRef,
};
use actinium_scheduler::sync::atomic::{AtomicUsize, Ordering};
use actinium_scheduler::sync::{Arc, OwnerCell};
use actinium_scheduler::{Affine, Clock, Policy, Settings, Shared, Worker};
use std::ptr::NonNull;
use std::time::Duration;

/// A message that ends the probe.
const END: usize = 1 << 16;

/// What is left of a probe when it is gone.
#[derive(Default)]
pub struct Tally {
    pub handled: AtomicUsize,
    pub releases: AtomicUsize,
    pub disposals: AtomicUsize,
}

#[repr(C)]
struct Probe {
    header: Header,
    /// Messages that wait.
    mail: AtomicUsize,
    /// Written by turns only: loom and Miri notice two turns at a time, or one that does not see
    /// another's writes.
    handled: OwnerCell<usize>,
    refs: AtomicUsize,
    /// Whom it passes each message on to.
    next: Option<Sender>,
    tally: Arc<Tally>,
}

const VTABLE: VTable = VTable { sort: "probe", run, dispose, release, number, pending, deliver };

/// A reference to a probe, which keeps its memory.
pub struct Sender(NonNull<Header>);

// SAFETY: a probe is used through atomics, but for what its turns touch.
unsafe impl Send for Sender {}
// SAFETY: as above.
unsafe impl Sync for Sender {}

impl Sender {
    /// A probe that nobody has started.
    pub fn new(home: usize, next: Option<Sender>, tally: &Arc<Tally>) -> Self {
        let probe = Probe {
            header: Header::new(&VTABLE, Arc::new(Kind::new("probe")), home, 0, Words::default()),
            mail: AtomicUsize::new(0),
            handled: OwnerCell::new(0),
            // The scheduler's, and this one.
            refs: AtomicUsize::new(2),
            next,
            tally: tally.clone(),
        };
        Sender(NonNull::from(Box::leak(Box::new(probe))).cast())
    }

    fn probe(&self) -> &Probe {
        // SAFETY: this reference keeps it.
        unsafe { self.0.cast::<Probe>().as_ref() }
    }

    pub fn runnable(&self) -> Runnable {
        // SAFETY: probes begin with their header, and the vtable is theirs.
        unsafe { Runnable::new(self.0) }
    }

    /// Sends a message: as an actor's address does.
    pub fn send(&self, shared: &Shared, worker: Option<&Worker>) {
        self.push(1, shared, worker);
    }

    /// Asks it to end.
    pub fn end(&self, shared: &Shared, worker: Option<&Worker>) {
        self.push(END, shared, worker);
    }

    /// Puts a message into its mailbox before it is started.
    pub fn send_unheard(&self) {
        self.probe().mail.fetch_add(1, Ordering::Relaxed);
    }

    fn push(&self, what: usize, shared: &Shared, worker: Option<&Worker>) {
        match worker {
            // SAFETY: this reference keeps it.
            Some(worker) if unsafe { worker.reaches(self.runnable()) } => {
                // SAFETY: this reference keeps it; its messages are of this type.
                let result = unsafe { worker.send_via_lane(self.runnable(), 0, what) };
                result.unwrap_or_else(|what| put(self.0, what, shared, Some(worker)));
            }
            _ => put(self.0, what, shared, worker),
        }
    }
}

/// Puts a message into a probe's mailbox and sees to it that it runs.
fn put(header: NonNull<Header>, what: usize, shared: &Shared, worker: Option<&Worker>) {
    // SAFETY: the caller has a reference, or a grace period keeps it.
    let probe = unsafe { header.cast::<Probe>().as_ref() };
    // Relaxed: the notification has to order it.
    probe.mail.fetch_add(what, Ordering::Relaxed);
    // SAFETY: as above; it is of this scheduler, as the worker is, who owns it if it is told.
    unsafe {
        let runnable = Runnable::new(header);
        match worker {
            Some(worker) if probe.header.is_owned_by(worker.id()) => worker.notify_owned(runnable),
            _ => Worker::notify(shared, runnable, worker),
        }
    }
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        self.probe().refs.fetch_add(1, Ordering::Relaxed);
        Sender(self.0)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // SAFETY: gives up this reference.
        unsafe { drop_ref(self.0) }
    }
}

fn number(_: NonNull<Header>) -> u64 {
    0
}

unsafe fn pending(_: NonNull<Header>) -> usize {
    1
}

unsafe fn deliver(
    header: NonNull<Header>,
    entries: &mut LaneEntries<'_>,
    worker: WorkerRef<'_>,
) -> u64 {
    // SAFETY: only probes have this function; a probe's message comes next.
    let (_, what) = unsafe { entries.take::<usize>() };
    let worker = worker.get();
    put(header, what, worker.shared(), Some(worker));
    1
}

unsafe fn run(header: NonNull<Header>, worker: WorkerRef<'_>) -> (Turn, u32) {
    // SAFETY: only probes have this function; the worker's contract keeps it alive.
    let probe = unsafe { header.cast::<Probe>().as_ref() };
    // Relaxed: the notification has to order it. A load first, as a queue does: a read-modify-write
    // would always read the latest.
    if probe.mail.load(Ordering::Relaxed) == 0 {
        return (Turn::Idle, 0);
    }
    let mail = probe.mail.swap(0, Ordering::Relaxed);
    let n = mail % END;
    // SAFETY: the worker's turn.
    unsafe { probe.handled.with(|handled| *handled += n) };
    probe.tally.handled.fetch_add(n, Ordering::Relaxed);
    if let Some(next) = &probe.next {
        let worker = worker.get();
        (0..n).for_each(|_| next.send(worker.shared(), Some(worker)));
    }
    (if mail >= END { Turn::Dead } else { Turn::Idle }, n as u32)
}

unsafe fn dispose(header: NonNull<Header>, _: WorkerRef<'_>) {
    // SAFETY: as in `run`.
    let probe = unsafe { header.cast::<Probe>().as_ref() };
    probe.tally.disposals.fetch_add(1, Ordering::Relaxed);
}

unsafe fn release(header: NonNull<Header>) {
    // SAFETY: as in `run`.
    let probe = unsafe { header.cast::<Probe>().as_ref() };
    probe.tally.releases.fetch_add(1, Ordering::Relaxed);
    // SAFETY: all turns are over. The model checkers notice if one is not, or is not seen.
    unsafe { probe.handled.with(|_| ()) };
    // SAFETY: gives up the scheduler's reference.
    unsafe { drop_ref(header) }
}

unsafe fn drop_ref(header: NonNull<Header>) {
    let probe = header.cast::<Probe>();
    // SAFETY: the caller's reference keeps it until here.
    if unsafe { probe.as_ref() }.refs.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: the last reference; made by Box.
        drop(unsafe { Box::from_raw(probe.as_ptr()) });
    }
}

/// Steals whatever is shared, and brings it home again.
pub fn thievish() -> Policy {
    Policy::Affine(Affine {
        wait_worth_moving_ns: 0,
        cost_worth_moving_ns: 0,
        distance_ns: 0,
        steals_to_rehome: 1000,
        ..Affine::DEFAULT
    })
}

/// Steals whatever is shared, and keeps it.
pub fn greedy() -> Policy {
    let Policy::Affine(affine) = thievish() else { unreachable!() };
    Policy::Affine(Affine { steals_to_rehome: 1, ..affine })
}

pub fn shared(workers: usize, policy: Policy) -> Arc<Shared> {
    let settings = Settings {
        workers,
        policy,
        batch: 4,
        batch_time: Duration::from_secs(1),
        figures: false,
        elastic: None,
        pus: Vec::new(),
    };
    Arc::new(Shared::new(settings, None, Clock::virtual_time()))
}

/// A worker, as often as a model wants one of this index.
pub fn worker_of(shared: &Arc<Shared>, index: usize) -> Worker {
    // SAFETY: the thread of the one before was joined, or was this one; and it has run dry.
    unsafe { Worker::new_unclaimed(shared.clone(), index) }
}

/// Runs one turn, if there is something to run.
pub fn step(worker: &Worker) -> bool {
    worker.enter(|worker| worker.step(|_| 0, |_| ()))
}

/// Runs turns until this worker finds nothing more.
pub fn run_dry(worker: &Worker) {
    while step(worker) {}
}

/// What is left is run on this thread.
pub fn run_all_dry(shared: &Arc<Shared>) {
    let workers: Vec<_> = (0..shared.workers()).map(|index| worker_of(shared, index)).collect();
    loop {
        let turns = || shared.counter_values().iter().map(|values| values.turns).sum::<u64>();
        let before = turns();
        // Twice: what one forwards to another that has had its round comes up in the second.
        workers.iter().for_each(run_dry);
        workers.iter().for_each(run_dry);
        if turns() == before {
            return;
        }
    }
}

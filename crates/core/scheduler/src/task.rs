//! Runnables for crates without `unsafe` of their own: a [`Task`] is woken and then has a turn,
//! nothing more.
//!
//! # Who may touch what
//!
//! The task itself is only ever lent out shared (`&self`), so turns need no exclusive access to it.
//! The private fields of the header are touched in its turns, and by [`TaskRef::wake`] on the
//! worker that owns it, as everywhere (see `runnable`).
//!
//! # No wake-up is lost
//!
//! A turn clears `NOTIFIED` before the task looks at anything. A wake-up from the owning worker's
//! own thread, during the turn or after it, sets the flag again, and a turn that finds it set is
//! followed by another. One from elsewhere notifies the runnable after what it stands for was
//! published, and the notification's delivery sets the flag.
//!
//! # Memory
//!
//! `refs` counts each [`TaskRef`], one for the scheduler while the task lives, and one for the
//! register. A task is dropped in its last turn; [`Tasks::dispose`] disposes of what is left when
//! all workers have left their loops.

use crate::owned::Owned;
use crate::runnable::{
    Header, Kind, LaneEntries, NOTIFIED, Runnable, Turn, VTable, Words, WorkerRef,
};
use crate::shared::Shared;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, OwnerCell, lock};
use crate::worker::{Worker, current};
use std::ptr::NonNull;

/// Work that a worker runs when it is woken.
pub trait Task: Send + Sync + 'static {
    /// One turn, on one worker at a time. Returns how it ended and how many items it handled. A
    /// panic is a defect of the runtime.
    fn run(&self, worker: &Worker) -> (Turn, u32);
}

#[repr(C)]
struct Cell {
    header: Header,
    refs: AtomicUsize,
    shared: Arc<Shared>,
    retired: AtomicBool,
    /// Whether it has had its last turn.
    ended: AtomicBool,
    /// Touched by its owner's turns, and by `dispose` when there are none any more.
    task: OwnerCell<Option<Box<dyn Task>>>,
}

const VTABLE: VTable = VTable { sort: "task", run, dispose, release, number, pending, deliver };

/// A reference to a task, which keeps its memory.
pub struct TaskRef(NonNull<Cell>);

// SAFETY: a cell is used through atomics and shared references to Sync content; its header's
// private fields and its task follow the rules of `runnable`.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    fn cell(&self) -> &Cell {
        // SAFETY: this reference keeps it.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn runnable(&self) -> Runnable {
        Runnable(self.0.cast())
    }

    /// Sees to it that the task has a turn that begins after this. From any thread.
    pub fn wake(&self) {
        current(|worker| self.wake_from(worker));
    }

    /// Does what [`TaskRef::wake`] does, for those who know their worker.
    #[inline]
    pub fn wake_from(&self, worker: Option<&Worker>) {
        let cell = self.cell();
        match worker {
            // SAFETY: this reference keeps it, and no two workers have the same id.
            Some(worker) if cell.header.is_owned_by(worker.id()) => unsafe {
                worker.notify_owned(self.runnable());
            },
            _ => {
                // Another scheduler's worker is an outsider here.
                let worker = worker.filter(|it| Arc::ptr_eq(it.shared(), &cell.shared));
                // SAFETY: this reference keeps it, and the worker is of its scheduler.
                unsafe { Worker::notify(&cell.shared, self.runnable(), worker) }
            }
        }
    }

    fn has_ended(&self) -> bool {
        // Acquire: pairs with the release in `run`. No model can tell: a reference is dropped for
        // it, which orders what it must.
        self.cell().ended.load(Ordering::Acquire)
    }

    /// Ends the task: it is not run any more once the turn under way is over, and is dropped then,
    /// on a worker.
    pub fn retire(&self) {
        // Release: pairs with the acquire in `run`. No model can tell: the wake-up orders it as
        // well.
        self.cell().retired.store(true, Ordering::Release);
        self.wake();
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        // Relaxed: a reference in hand keeps the count above zero; whoever passes the clone on
        // orders what follows.
        self.cell().refs.fetch_add(1, Ordering::Relaxed);
        TaskRef(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        // SAFETY: gives up this reference.
        unsafe { drop_ref(self.0) }
    }
}

impl std::fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TaskRef({})", self.cell().header.kind().name())
    }
}

unsafe fn run(header: NonNull<Header>, worker: WorkerRef<'_>) -> (Turn, u32) {
    // SAFETY: only cells have this function; the worker's contract keeps it alive.
    let cell = unsafe { header.cast::<Cell>().as_ref() };
    // SAFETY: the owner's turn, in which only this function touches the private fields.
    let mut owned = unsafe { Owned::new(Runnable(header)) };
    owned.with(|private| private.flags &= !NOTIFIED);
    // Acquire: pairs with the release in `retire`, where no model can tell either.
    let (turn, handled) = if cell.retired.load(Ordering::Acquire) {
        (Turn::Dead, 0)
    } else {
        // SAFETY: the owner's turn; nobody takes the task away while there are turns, so the
        // pointer stays good for this one.
        let task = unsafe { cell.task.with(|task| task.as_deref().map(std::ptr::from_ref)) };
        // SAFETY: as above; the reference is shared, and the task is Sync.
        task.map_or((Turn::Dead, 0), |task| unsafe { &*task }.run(worker.get()))
    };
    if turn == Turn::Dead {
        // Release: pairs with the acquire in `has_ended`, where no model can tell either.
        cell.ended.store(true, Ordering::Release);
    }
    if turn == Turn::Dead {
        // SAFETY: its last turn, in which nobody borrows the task any more. It is dropped outside
        // the closure.
        drop(unsafe { cell.task.with(Option::take) });
    }
    let notified = owned.with(|private| private.flags & NOTIFIED != 0);
    (if notified && turn == Turn::Idle { Turn::Again } else { turn }, handled)
}

unsafe fn dispose(header: NonNull<Header>, _: WorkerRef<'_>) {
    // What the task holds may refer to the task: this breaks the circle.
    // SAFETY: only cells have this function; it is alive by contract.
    let cell = unsafe { header.cast::<Cell>().as_ref() };
    // SAFETY: all workers have left their loops, and one of them disposes of this. The task is
    // dropped outside the closure.
    let task = unsafe { cell.task.with(Option::take) };
    drop(task);
}

fn number(_: NonNull<Header>) -> u64 {
    0
}

/// # Safety
/// The vtable's demands.
unsafe fn pending(_: NonNull<Header>) -> usize {
    1
}

/// # Safety
/// The vtable's demands.
unsafe fn deliver(_: NonNull<Header>, _: &mut LaneEntries<'_>, _: WorkerRef<'_>) -> u64 {
    unreachable!("nobody sends messages to a task: it is only woken");
}

unsafe fn release(header: NonNull<Header>) {
    // SAFETY: gives up the scheduler's reference.
    unsafe { drop_ref(header.cast()) }
}

unsafe fn drop_ref(cell: NonNull<Cell>) {
    // AcqRel: the release half publishes what was done with this reference to whoever drops the
    // last one, whose acquire half sees it before the memory goes.
    // SAFETY: the caller's reference keeps it until here.
    if unsafe { cell.as_ref() }.refs.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: the last reference; made by Box.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
    }
}

/// The tasks of one scheduler.
#[derive(Debug)]
pub struct Tasks {
    shared: Arc<Shared>,
    living: Mutex<Living>,
}

#[derive(Debug, Default)]
struct Living {
    tasks: Vec<TaskRef>,
    /// The scheduler has ended, or does: no task is started any more.
    is_closed: bool,
}

impl Tasks {
    /// None yet.
    pub fn new(shared: Arc<Shared>) -> Self {
        Tasks { shared, living: Mutex::new(Living::default()) }
    }

    /// Starts a task that prefers worker `home`. Its first turn comes at once. `None`: the
    /// scheduler has ended, and the task was dropped.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn start(&self, kind: &Arc<Kind>, home: usize, task: Box<dyn Task>) -> Option<TaskRef> {
        assert!(home < self.shared.workers(), "there is no worker {home}");
        // Held until the task has started: whoever closes the register disposes of it.
        let mut living = lock(&self.living);
        if living.is_closed {
            drop(living);
            drop(task);
            return None;
        }
        let cell = Cell {
            header: Header::new(&VTABLE, kind.clone(), home, 0, Words::default()),
            // The scheduler's, the register's, and the one returned.
            refs: AtomicUsize::new(3),
            shared: self.shared.clone(),
            retired: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            task: OwnerCell::new(Some(task)),
        };
        let cell = NonNull::from(Box::leak(Box::new(cell)));
        if living.tasks.len() == living.tasks.capacity() {
            // So seldom that it costs nothing, and often enough that those that ended do not pile
            // up.
            living.tasks.retain(|task| !task.has_ended());
        }
        living.tasks.push(TaskRef(cell));
        let task = TaskRef(cell);
        // SAFETY: just made, with a reference for the scheduler; the register only keeps it.
        unsafe { self.shared.start(task.runnable(), home) };
        Some(task)
    }

    /// Disposes of all tasks, on the first worker that comes: a part of what [`Worker::end`] calls.
    ///
    /// # Panics
    /// If the worker is another scheduler's, or [`Worker::end`] has not called this.
    pub fn dispose(&self, worker: &Worker) {
        assert!(Arc::ptr_eq(worker.shared(), &self.shared), "{worker:?} is another scheduler's");
        assert!(worker.is_disposing(), "{worker:?} may still run, or does not run any more");
        let mut living = lock(&self.living);
        living.is_closed = true;
        // Short-handed, each worker looks at all of them.
        let some = if worker.is_short_handed() {
            living.tasks.clone()
        } else {
            std::mem::take(&mut living.tasks)
        };
        drop(living);
        for task in some {
            // SAFETY: the reference in hand keeps it; who has it from the register, or may, is the
            // only one to dispose of it.
            unsafe {
                if !task.has_ended() && worker.may_dispose(task.runnable()) {
                    worker.dispose(task.runnable());
                }
            }
        }
    }
}

/// What tests of workers begin and end with.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) mod testing {
    use super::*;
    use crate::{Clock, Policy, Settings};

    /// Has nothing to do in its turns.
    pub(crate) struct Idle;

    impl Task for Idle {
        fn run(&self, _: &Worker) -> (Turn, u32) {
            (Turn::Idle, 1)
        }
    }

    /// The first of two workers, in virtual time, and a register of tasks.
    pub(crate) fn first_of_two(policy: Policy) -> (Arc<Shared>, Worker, Tasks) {
        let settings = Settings::of_two(policy);
        let shared = Arc::new(Shared::new(settings, None, Clock::virtual_time()));
        (shared.clone(), Worker::new(shared.clone(), 0), Tasks::new(shared))
    }

    /// Ends it, and the other one, which was never there.
    pub(crate) fn end(worker: &Worker, tasks: &Tasks) {
        worker.shared().never_started(1);
        worker.end(|worker| tasks.dispose(worker));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Clock, Policy, Settings};
    use std::time::Duration;

    struct Count(Arc<AtomicUsize>, usize);

    impl Task for Count {
        fn run(&self, _: &Worker) -> (Turn, u32) {
            let n = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            (if n == self.1 { Turn::Dead } else { Turn::Idle }, 1)
        }
    }

    fn shared(policy: Policy) -> Arc<Shared> {
        let settings = Settings {
            workers: 1,
            policy,
            batch: 4,
            batch_time: Duration::from_secs(1),
            figures: false,
            elastic: None,
            pus: Vec::new(),
        };
        Arc::new(Shared::new(settings, None, Clock::virtual_time()))
    }

    fn step(worker: &Worker) -> bool {
        worker.enter(|worker| worker.step(|_| 0, |_| ()))
    }

    #[test]
    fn a_task_runs_when_woken_ends_and_leaves_nothing_behind() {
        for policy in Policy::ALL {
            let shared = shared(policy);
            let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
            let runs = Arc::new(AtomicUsize::new(0));
            let kind = Arc::new(Kind::new("count"));
            let task = tasks.start(&kind, 0, Box::new(Count(runs.clone(), 3))).unwrap();
            let other = tasks.start(&kind, 0, Box::new(Count(runs.clone(), usize::MAX))).unwrap();
            while step(&worker) {}
            assert_eq!(runs.load(Ordering::SeqCst), 2, "{policy}");
            assert!(!step(&worker));
            // From outside, and from the worker itself.
            task.wake();
            while step(&worker) {}
            worker.enter(|worker| task.wake_from(Some(worker)));
            other.retire();
            while step(&worker) {}
            assert_eq!(runs.load(Ordering::SeqCst), 3, "{policy}");
            task.wake();
            while step(&worker) {}
            assert_eq!(runs.load(Ordering::SeqCst), 3, "{policy}: it has ended");
            assert_eq!(Arc::strong_count(&runs), 1, "{policy}: dropped with its last turn");
            let left = tasks.start(&kind, 0, Box::new(Count(runs.clone(), usize::MAX)));
            assert!(left.is_some());
            shared.request_exit();
            worker.enter(|worker| worker.end(|worker| tasks.dispose(worker)));
            let late = tasks.start(&kind, 0, Box::new(Count(runs.clone(), usize::MAX)));
            assert!(late.is_none(), "{policy}: nobody would run it");
            assert_eq!(Arc::strong_count(&runs), 1, "{policy}: freed");
        }
    }

    struct WakesItself(Mutex<Option<TaskRef>>, Arc<AtomicUsize>);

    impl Task for WakesItself {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            self.1.fetch_add(1, Ordering::SeqCst);
            if let Some(me) = lock(&self.0).take() {
                me.wake_from(Some(worker));
            }
            (Turn::Idle, 1)
        }
    }

    #[test]
    fn waking_oneself_during_a_turn_brings_another() {
        for policy in Policy::ALL {
            let shared = shared(policy);
            let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
            let runs = Arc::new(AtomicUsize::new(0));
            let task = Arc::new(WakesItself(Mutex::new(None), runs.clone()));
            struct Of(Arc<WakesItself>);
            impl Task for Of {
                fn run(&self, worker: &Worker) -> (Turn, u32) {
                    self.0.run(worker)
                }
            }
            let kind = Arc::new(Kind::new("self"));
            *lock(&task.0) = tasks.start(&kind, 0, Box::new(Of(task.clone())));
            while step(&worker) {}
            assert_eq!(runs.load(Ordering::SeqCst), 2, "{policy}");
            shared.request_exit();
            worker.enter(|worker| worker.end(|worker| tasks.dispose(worker)));
        }
    }
}

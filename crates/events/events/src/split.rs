//! Work that a module splits into parts, which any worker may run.
//!
//! Whoever splits takes part itself, and runs nothing but its own parts meanwhile: so what it holds
//! (a serial module, an exclusive resource) is never waited for by what it runs. When no part is
//! left to take, it waits only for parts that already run on other workers; a part can neither
//! split again nor wait for a module, so that such a wait always ends.
//!
//! Others come by a [helper](crate::helper), one task of the scheduler per worker, which runs one
//! part per turn of whatever is open.

use crate::cause::Cause;
use actinium_scheduler::Worker;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::TaskRef;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

pub(crate) type Then = Guarded<Box<dyn FnOnce(Result<(), Cause>) + Send>>;
pub(crate) type Run = Guarded<Box<dyn Fn(usize) + Send + Sync>>;

/// The rest of a split: the parts that are left, the first panic, and the callback at the end.
struct Rest {
    parts: usize,
    panic: Option<String>,
    then: Option<Then>,
}

/// The call that splits its work.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) event: u64,
    pub(crate) slot: u32,
    pub(crate) module: u16,
}

pub(crate) struct Split {
    run: Run,
    parts: usize,
    next: AtomicUsize,
    rest: Mutex<Rest>,
    over: Condvar,
    pub(crate) of: Origin,
}

impl Split {
    fn new(of: Origin, parts: usize, run: Run, then: Option<Then>) -> Arc<Self> {
        Arc::new(Split {
            run,
            parts,
            next: AtomicUsize::new(0),
            rest: Mutex::new(Rest { parts, panic: None, then }),
            over: Condvar::new(),
            of,
        })
    }

    fn take(&self) -> Option<usize> {
        // Relaxed: it only shares out numbers; the lock of `rest` orders what the parts do before
        // what follows.
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        (part < self.parts).then_some(part)
    }

    pub(crate) fn run(&self, part: usize) {
        let result = guard::catch(|| (*self.run)(part));
        let mut rest = lock(&self.rest);
        if let Err(panicked) = result {
            rest.panic.get_or_insert_with(|| panicked.to_string());
        }
        rest.parts -= 1;
        if rest.parts > 0 {
            return;
        }
        self.over.notify_all();
        if let Some(then) = rest.then.take() {
            let result = rest.panic.take().map_or(Ok(()), |panic| Err(panic.into()));
            drop(rest);
            // If it panics, it drops the completion that it would have finished, which fails the
            // event.
            if guard::catch(|| then.into_inner()(result)).is_err() {
                guard::count_here();
            }
        }
    }

    /// Waits for the parts that run elsewhere.
    fn wait(&self) -> Result<(), Cause> {
        let mut rest = lock(&self.rest);
        while rest.parts > 0 {
            rest = self.over.wait(rest).unwrap_or_else(PoisonError::into_inner);
        }
        rest.panic.take().map_or(Ok(()), |panic| Err(panic.into()))
    }
}

/// All splits that have parts which nobody has taken.
#[derive(Default)]
pub(crate) struct Splits {
    open: Mutex<Vec<Arc<Split>>>,
    helpers: OnceLock<Box<[TaskRef]>>,
}

impl Splits {
    pub(crate) fn set_helpers(&self, helpers: Box<[TaskRef]>) {
        let _ = self.helpers.set(helpers);
    }

    /// Runs the parts, here and on workers that have nothing else to do, and waits for all.
    pub(crate) fn run(
        &self,
        worker: &Worker,
        of: Origin,
        parts: usize,
        run: Run,
    ) -> Result<(), Cause> {
        let split = Split::new(of, parts, run, None);
        // The last of all workers would be this one, which takes part anyhow.
        let others = worker.shared().workers() - 1;
        let is_shared = parts > 1 && others > 0;
        if is_shared {
            self.offer(&split, worker, others.min(parts - 1));
        }
        while let Some(part) = split.take() {
            split.run(part);
        }
        if is_shared {
            self.close(&split);
        }
        split.wait()
    }

    /// Has workers run the parts; the one that runs the last calls `then`.
    pub(crate) fn run_then(&self, worker: &Worker, of: Origin, parts: usize, run: Run, then: Then) {
        if parts == 0 {
            return then.into_inner()(Ok(()));
        }
        let split = Split::new(of, parts, run, Some(then));
        // The worker itself comes first: it may be the only one.
        if let Some(own) = self.helpers.get() {
            self.offer(&split, worker, parts - 1);
            own[worker.index()].wake_from(Some(worker));
        }
    }

    /// Tells up to `most` workers, the next ones after `worker` first and itself last.
    fn offer(&self, split: &Arc<Split>, worker: &Worker, most: usize) {
        lock(&self.open).push(split.clone());
        let Some(helpers) = self.helpers.get() else { return };
        // As from outside of the scheduler: what a worker sends leaves when its turn is over, and
        // this must leave now.
        for k in 0..most.min(helpers.len()) {
            helpers[(worker.index() + 1 + k) % helpers.len()].wake_from(None);
        }
    }

    /// Ends the helpers.
    pub(crate) fn retire(&self) {
        self.helpers.get().into_iter().flatten().for_each(TaskRef::retire);
    }

    fn close(&self, split: &Arc<Split>) {
        lock(&self.open).retain(|open| !Arc::ptr_eq(open, split));
    }

    pub(crate) fn take(&self) -> Option<(Arc<Split>, usize)> {
        let mut open = lock(&self.open);
        while let Some(split) = open.first() {
            if let Some(part) = split.take() {
                return Some((split.clone(), part));
            }
            open.remove(0);
        }
        None
    }

    /// Forgets what a stop left lying; it is dropped outside of the lock, for it may hold
    /// completions.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut *lock(&self.open));
        drop(left);
    }
}

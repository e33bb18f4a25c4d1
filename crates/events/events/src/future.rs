//! Waiting modules as futures: [`Completion::run`](crate::Completion::run).
//!
//! A future is polled at once by whoever starts it, and from then on, whenever it is woken, by a
//! *poller* at the worker where it was started: one task of the scheduler per worker, with a queue.
//! So a waker does no more than put its future into a queue, and may be called from any thread and
//! under any lock.
//!
//! A future is in at most one queue, once: `queued` is set by whoever puts it there and cleared
//! before it is polled, so that a wake-up during a poll brings another.

use crate::completion::Completion;
use crate::engine::Engine;
use crate::module::Cause;
use crate::slot_tasks::Anchor;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::{Task, TaskRef};
use actinium_scheduler::{Turn, Worker};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

type Boxed<T> = Guarded<Pin<Box<dyn Future<Output = Result<T, Cause>> + Send>>>;

/// A future, and what it completes. Empty when it is over.
struct Running<T: 'static> {
    work: Mutex<Option<(Boxed<T>, Completion<T>)>>,
    queued: AtomicBool,
    engine: Anchor,
    worker: usize,
}

trait Poller: Send + Sync {
    fn poll(self: Arc<Self>);
}

impl<T: Send + 'static> Poller for Running<T> {
    fn poll(self: Arc<Self>) {
        // SeqCst: a wake-up that comes after this sees it and queues the future again; one that
        // came before is answered by this poll.
        self.queued.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.clone());
        let mut work = lock(&self.work);
        let Some((future, _)) = &mut *work else { return };
        let mut context = Context::from_waker(&waker);
        let result = match guard::catch(|| future.as_mut().poll(&mut context)) {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(result)) => result,
            Err(panicked) => Err(panicked.into()),
        };
        let ended = work.take();
        drop(work);
        if let Some((future, done)) = ended {
            done.finish(result);
            drop(future);
        }
    }
}

impl<T: Send + 'static> Wake for Running<T> {
    fn wake(self: Arc<Self>) {
        // SeqCst: pairs with the store in `poll`.
        if !self.queued.swap(true, Ordering::SeqCst) {
            let (engine, worker) = (self.engine.clone(), self.worker);
            engine.futures.put(worker, self);
        }
    }
}

pub(crate) fn run<T: Send + 'static>(
    engine: Anchor,
    worker: usize,
    future: impl Future<Output = Result<T, Cause>> + Send + 'static,
    done: Completion<T>,
) {
    let work = Mutex::new(Some((Guarded::new(Box::pin(future) as _), done)));
    Arc::new(Running { work, queued: AtomicBool::new(false), engine, worker }).poll();
}

type Queue = Mutex<VecDeque<Arc<dyn Poller>>>;

/// Futures that were woken, for each worker, and who polls them.
#[derive(Default)]
pub(crate) struct Futures(OnceLock<Box<[(Queue, TaskRef)]>>);

impl Futures {
    pub(crate) fn set_pollers(&self, pollers: impl Iterator<Item = TaskRef>) {
        let _ = self.0.set(pollers.map(|poller| (Mutex::default(), poller)).collect());
    }

    fn put(&self, worker: usize, future: Arc<dyn Poller>) {
        if let Some((queue, poller)) = self.0.get().and_then(|all| all.get(worker)) {
            lock(queue).push_back(future);
            poller.wake();
        }
    }

    fn take(&self, worker: usize) -> Option<Arc<dyn Poller>> {
        lock(&self.0.get()?.get(worker)?.0).pop_front()
    }

    /// Forgets what a stop left lying.
    pub(crate) fn clear(&self) {
        for worker in 0..self.0.get().map_or(0, |all| all.len()) {
            while let Some(future) = self.take(worker) {
                drop(future);
            }
        }
    }
}

/// Polls what was woken, one future per turn.
pub(crate) struct Polls(pub(crate) Arc<Engine>, pub(crate) usize);

impl Task for Polls {
    fn run(&self, _: &Worker) -> (Turn, u32) {
        let Some(future) = self.0.futures.take(self.1) else { return (Turn::Idle, 0) };
        future.poll();
        (Turn::Again, 1)
    }
}

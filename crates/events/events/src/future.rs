//! Waiting modules as futures: [`Completion::run`](crate::Completion::run).
//!
//! A future is polled at once by whoever starts it, and from then on, whenever it is woken, by a
//! *poller* at the worker where it was started: one task of the scheduler per worker, with a queue.
//! So a waker does no more than put its future into a queue, and may be called from any thread and
//! under any lock.
//!
//! A future is in at most one queue, once: `queued` is set by whoever puts it there and cleared
//! before it is polled, so that a wake-up during a poll brings another.

use crate::cause::Cause;
use crate::completion::Completion;
use crate::engine::Anchor;
use crate::over::Over;
use crate::woken::Polled;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::Task;
use actinium_scheduler::{Turn, Worker, current};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Boxed<T> = Guarded<Pin<Box<dyn Future<Output = Result<T, Cause>> + Send>>>;

impl<T: Send + 'static> Completion<T> {
    /// The module is done when this future is, with its result. It is polled on workers, at first
    /// by this very call; while it waits, it holds none. A panic in it fails the event.
    ///
    /// ```
    /// use actinium_events::{Analyzer, AsyncProducer, Builder, Cause, Completion, Event, Input, Next};
    /// use actinium_events::{Processor, Settings, Source, Threads};
    /// # struct Numbers;
    /// # impl Source for Numbers {
    /// #     type Product = u64;
    /// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
    /// #         Ok(if number < 10 { Next::Event(number) } else { Next::End })
    /// #     }
    /// # }
    ///
    /// /// Asks another thread, which stands for a device or a service, and waits for its answer.
    /// struct Ask(Input<u64>, std::sync::mpsc::Sender<(u64, futures_channel::oneshot::Sender<u64>)>);
    ///
    /// impl AsyncProducer for Ask {
    ///     type Product = u64;
    ///     fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
    ///         let number = *event.get(self.0);
    ///         let (reply, answer) = futures_channel::oneshot::channel();
    ///         self.1.send((number, reply))?;
    ///         done.run(async move { Ok(answer.await? + 1) });
    ///         Ok(())
    ///     }
    /// }
    /// # struct Check(Input<u64>);
    /// # impl Analyzer for Check {
    /// #     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
    /// #         assert_eq!(*event.get(self.0), 2 * event.number() + 1);
    /// #         Ok(())
    /// #     }
    /// # }
    ///
    /// let (ask, asked) = std::sync::mpsc::channel::<(u64, futures_channel::oneshot::Sender<u64>)>();
    /// let device = std::thread::spawn(move || {
    ///     for (number, reply) in asked {
    ///         let _ = reply.send(2 * number);
    ///     }
    /// });
    /// let mut builder = Builder::new("numbers", Numbers);
    /// builder.async_producer("twice", Threads::Concurrent, move |inputs| Ask(inputs.get("numbers"), ask.clone()));
    /// builder.analyzer("check", Threads::Concurrent, |inputs| Check(inputs.get("twice")));
    /// let summary = Processor::new(builder.build()?, Settings::default().workers(2).slots(4)).run()?;
    /// assert_eq!((summary.events, summary.failed), (10, 0));
    /// device.join().expect("it ends when nobody asks any more");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(self, future: impl Future<Output = Result<T, Cause>> + Send + 'static) {
        let Some(engine) = self.engine.clone() else { return };
        let here = current(|worker| {
            let own = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &engine.shared));
            own.map(Worker::index)
        });
        let worker = here.unwrap_or(self.slot as usize % engine.shared.workers());
        let work = Mutex::new(Some((Guarded::new(Box::pin(future) as _), self)));
        Arc::new(Running { work, queued: AtomicBool::new(false), engine, worker }).poll();
    }
}

/// A future, and what it completes. Empty when it is over.
struct Running<T: 'static> {
    work: Mutex<Option<(Boxed<T>, Completion<T>)>>,
    queued: AtomicBool,
    engine: Anchor,
    worker: usize,
}

impl<T: Send + 'static> Polled for Running<T> {
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
            engine.woken.put(worker, self);
        }
    }
}

/// Polls what was woken on this worker, one future per turn. The run is not over before its pollers
/// have ended.
pub(crate) struct Polls(pub(crate) Arc<Over>, pub(crate) usize);

impl Task for Polls {
    fn run(&self, _: &Worker) -> (Turn, u32) {
        let Some(future) = self.0.work.engine.woken.take(self.1) else { return (Turn::Idle, 0) };
        future.poll();
        (Turn::Again, 1)
    }
}

//! The handle by which a waiting module is completed: from any thread, now or at a given time.

use crate::drops::tell_cause;
use crate::engine::Engine;
use crate::module::Cause;
use crate::slot::Pass;
use crate::slot_tasks::Anchor;
use actinium_scheduler::{Worker, current, guard};
use std::marker::PhantomData;
use std::sync::Arc;

/// Stores a result, and says whether a path goes on.
pub(crate) type Deliver<T> = fn(&Engine, u32, u16, T) -> bool;

/// Ends the wait of one module for one event. Dropped unused, it fails the event.
pub struct Completion<T> {
    pub(crate) engine: Option<Anchor>,
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) pass: Pass,
    pub(crate) deliver: Deliver<T>,
    pub(crate) result: PhantomData<fn(T)>,
}

impl<T> Completion<T> {
    /// The module is done, or has failed.
    pub fn finish(mut self, result: Result<T, Cause>) {
        let Some(engine) = self.engine.take() else { return };
        let (slot, module, deliver) = (self.slot, self.module, self.deliver);
        let mut result = Some(result.map_err(tell_cause));
        // Its results are stored only while this very wait is on.
        engine.complete(slot, module, self.pass, || match result.take() {
            Some(result) => result.map(|value| deliver(&engine, slot, module, value)),
            None => Ok(false),
        });
        drop_late(result);
    }

    /// The module is done with this result when the clock shows `deadline_ns` (see
    /// [`crate::Event::now_ns`]). On a worker only, which its start is.
    pub fn at(mut self, deadline_ns: u64, result: T) {
        let Some(engine) = self.engine.take() else { return };
        let (slot, module, pass) = (self.slot, self.module, self.pass);
        let mut result = Some(result);
        let deliver = || result.take().map(|result| (self.deliver)(&engine, slot, module, result));
        let Some(Some(goes_on)) = engine.while_waiting(slot, module, pass, deliver) else {
            return drop_late(result);
        };
        current(|worker| engine.wait_until(worker, deadline_ns, slot, module, pass, goes_on));
    }
}

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
        crate::future::run(engine, worker, future, self);
    }
}

/// Drops a result that came too late. Its destructor is user code: a panic in it is caught and
/// counted.
fn drop_late<T>(result: T) {
    if guard::drop_caught(result).is_err() {
        guard::count_here();
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            let cause = "it dropped its completion without a result".into();
            engine.complete(self.slot, self.module, self.pass, || Err(cause));
        }
    }
}

impl<T> std::fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Completion(slot {}, module {})", self.slot, self.module)
    }
}

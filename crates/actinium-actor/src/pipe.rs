//! Futures whose result comes to an actor as a message.
//!
//! A future is polled by a small actor of its own, on the workers; what wakes it sends that actor a message.

use crate::actor::Actor;
use crate::address::Address;
use crate::context::Context;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};

/// Polls one future.
struct Pilot<F: Future, A: Actor, M> {
    future: Pin<Box<F>>,
    /// To whom its result goes, and how it becomes a message.
    result: Option<(Address<A>, M)>,
    /// The waker, and whether it has rung since the last poll.
    bell: Option<(Waker, Arc<AtomicBool>)>,
}

/// Wakes a pilot, with at most one message under way.
struct Bell<P: Actor> {
    pilot: Address<P>,
    rung: Arc<AtomicBool>,
}

impl<P: Actor<Msg = ()>> Wake for Bell<P> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // AcqRel: pairs with the swap before the poll, which sees what was done before this ring.
        if !self.rung.swap(true, Ordering::AcqRel) {
            // From outside while the system drains it is refused, and counted; one that has ended needs no waking.
            let _ = self.pilot.send(());
        }
    }
}

impl<F, A, M> Actor for Pilot<F, A, M>
where
    F: Future + Send + 'static,
    A: Actor,
    M: FnOnce(F::Output) -> A::Msg + Send + 'static,
{
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let rung = Arc::new(AtomicBool::new(true));
        let bell = Arc::new(Bell { pilot: ctx.address(), rung: rung.clone() });
        self.bell = Some((bell.into(), rung));
        self.handle((), ctx);
    }

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let Some((waker, rung)) = &self.bell else { return };
        // AcqRel: see `wake_by_ref`.
        rung.swap(false, Ordering::AcqRel);
        #[cfg(feature = "tokio")]
        let system = ctx.inner();
        #[cfg(feature = "tokio")]
        let _runtime = system.tokio.as_ref().map(tokio::runtime::Handle::enter);
        if let Poll::Ready(output) =
            self.future.as_mut().poll(&mut std::task::Context::from_waker(waker))
        {
            if let Some((owner, msg)) = self.result.take() {
                owner.tell(msg(output));
            }
            self.bell = None;
            ctx.stop();
        }
    }
}

impl<A: Actor> Context<'_, A> {
    /// Runs a future beside this actor; its result comes as the message that `msg` makes of it.
    ///
    /// The future is polled on the workers. With the feature `tokio` and `SystemBuilder::tokio` it is polled inside
    /// that runtime, so that it may use its timers and sockets. It keeps this actor alive. If it panics, that is shown and counted like
    /// an actor's panic (`panicked`), and no message comes. At shutdown a future that is not ready is dropped.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Shutdown, System};
    /// struct Asker;
    /// impl Actor for Asker {
    ///     type Msg = u64;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         ctx.pipe(async { 6 * 7 }, |answer| answer);
    ///     }
    ///     fn handle(&mut self, answer: u64, _ctx: &mut Context<'_, Self>) {
    ///         assert_eq!(answer, 42);
    ///     }
    /// }
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Asker);
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pipe<F>(&self, future: F, msg: impl FnOnce(F::Output) -> A::Msg + Send + 'static)
    where
        F: Future + Send + 'static,
    {
        let result = Some((self.address(), msg));
        self.spawn(Pilot { future: Box::pin(future), result, bell: None });
    }
}

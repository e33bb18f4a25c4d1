//! Futures whose result comes to an actor as a message.
//!
//! A future is polled by a small actor of its own, on the workers; what wakes it sends that actor a
//! message.

use crate::actor::{Actor, Context};
use crate::address::Address;
use actinium_scheduler::guard::{self, Guarded, Panicked};
use actinium_scheduler::trace::{Beside, apart};
use std::convert::identity;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

/// Polls one future. Its type does not depend on what it polls: the code of an actor is long, and a
/// program has it once, not for each call of [`Context::pipe`].
struct Pilot {
    /// `None`: it is ready, and gone.
    piped: Option<Box<dyn Erased>>,
    /// The span of the future, if the message that began it is traced.
    beside: Beside,
    /// The waker, and whether it has rung since the last poll.
    bell: Option<(Waker, Arc<AtomicBool>)>,
}

/// A future, and what is done with its result, without their types.
trait Erased: Send {
    /// Polls the future; once it is ready, sends its result, and says what went wrong if something
    /// did.
    fn poll(&mut self, cx: &mut TaskContext<'_>, beside: &Beside) -> Poll<Option<&'static str>>;
}

struct Piped<F: Future + 'static, A: Actor, M> {
    future: Guarded<Pin<Box<F>>>,
    /// To whom its result goes, and how it becomes a message, unless it is left at the panic.
    result: Option<(Address<A>, M)>,
}

impl<F, A, M> Erased for Piped<F, A, M>
where
    F: Future + Send + 'static,
    A: Actor,
    M: FnOnce(Result<F::Output, Panicked>) -> Result<A::Msg, Panicked> + Send + 'static,
{
    fn poll(&mut self, cx: &mut TaskContext<'_>, beside: &Beside) -> Poll<Option<&'static str>> {
        let polled = guard::catch(|| beside.scope(|| self.future.as_mut().poll(cx)));
        let output = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        let mut error = output.is_err().then_some("the future panicked");
        if let Some((owner, msg)) = self.result.take() {
            match guard::catch(|| beside.scope(|| msg(output))).and_then(identity) {
                Ok(msg) => beside.scope(|| owner.tell(msg)),
                Err(panicked) => {
                    error = error.or(Some("making the message panicked"));
                    owner.0.core.fail(panicked);
                }
            }
        }
        Poll::Ready(error)
    }
}

/// Wakes a pilot, with at most one message under way.
struct Bell {
    pilot: Address<Pilot>,
    rung: Arc<AtomicBool>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // AcqRel: pairs with the swap before the poll, which sees what was done before this ring.
        if !self.rung.swap(true, Ordering::AcqRel) {
            // From an external thread it is refused while the system drains, and counted; one that
            // has ended needs no waking.
            // It is no step of a trace.
            let _ = apart(|| self.pilot.send(()));
        }
    }
}

impl Actor for Pilot {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let rung = Arc::new(AtomicBool::new(true));
        let bell = Arc::new(Bell { pilot: ctx.address(), rung: rung.clone() });
        self.bell = Some((bell.into(), rung));
        self.handle((), ctx);
    }

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let Some((waker, rung)) = &self.bell else { return };
        // The ring that the end below waits for.
        let Some(piped) = &mut self.piped else { return ctx.stop() };
        // AcqRel: see `wake_by_ref`.
        rung.swap(false, Ordering::AcqRel);
        let mut cx = TaskContext::from_waker(waker);
        let Poll::Ready(error) = piped.poll(&mut cx, &self.beside) else { return };
        std::mem::take(&mut self.beside).end(error);
        self.piped = None;
        // A ring that is under way would become a dead letter: it ends this actor when it arrives.
        // Nobody rings from here on. AcqRel: see `wake_by_ref`.
        if !rung.swap(true, Ordering::AcqRel) {
            ctx.stop();
        }
    }
}

impl<A: Actor> Context<'_, A> {
    /// Runs a future beside this actor; its result comes as the message that `msg` makes of it.
    ///
    /// The future is polled on the workers. With the feature `tokio` and `SystemBuilder::tokio` it
    /// is polled inside that runtime, so that it may use its timers and sockets. It keeps this
    /// actor alive. A panic in it is this actor's own failure: its supervision decides, and
    /// [`crate::Failure`] says what the panic said. ([`Context::pipe_catch_unwind`] makes a
    /// message of it.) At shutdown a future that is not ready is dropped.
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
        let msg = Guarded::new(msg);
        self.pipe_and(future, move |result| result.map(|result| msg.into_inner()(result)));
    }

    /// Pipes as [`Context::pipe`] does, but a panic in the future comes as a message, too: as
    /// [`Panicked`], and the actor goes on.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Panicked, Shutdown, System};
    /// struct Careful;
    /// impl Actor for Careful {
    ///     type Msg = Result<u32, Panicked>;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         ctx.pipe_catch_unwind(async { panic!("no") }, |result| result);
    ///     }
    ///     fn handle(&mut self, result: Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         assert_eq!(result.unwrap_err().message(), "no");
    ///     }
    /// }
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Careful);
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pipe_catch_unwind<F>(
        &self,
        future: F,
        msg: impl FnOnce(Result<F::Output, Panicked>) -> A::Msg + Send + 'static,
    ) where
        F: Future + Send + 'static,
    {
        let msg = Guarded::new(msg);
        self.pipe_and(future, move |result| Ok(msg.into_inner()(result)));
    }

    fn pipe_and<F>(
        &self,
        future: F,
        msg: impl FnOnce(Result<F::Output, Panicked>) -> Result<A::Msg, Panicked> + Send + 'static,
    ) where
        F: Future + Send + 'static,
    {
        let future = Guarded::new(Box::pin(future));
        self.spawn_detached(Pilot {
            piped: Some(Box::new(Piped { future, result: Some((self.address(), msg)) })),
            beside: self.core().beside("pipe"),
            bell: None,
        });
    }
}

//! What an actor waits for beside its messages: futures that it holds for, and futures that are
//! under way while it goes on.
//!
//! The actor polls all of them itself, in its own turns, so that what follows them has the actor's
//! state at hand. What wakes them sets a flag of the actor (`WOKEN`) and notifies it. An actor that
//! waits for something is `UNUSUAL`: each of its turns looks here first. Others do not even have
//! this part.

use crate::actor::{Actor, Context};
use crate::actor_core::{Core, CoreRef};
use actinium_scheduler::guard::Guarded;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// What an actor waits for. User code runs while none of it is borrowed: each part is taken out to
/// be polled, and put back.
pub(crate) struct Waits<A: Actor> {
    /// The futures for which the mailbox waits, in the order in which they were held.
    pub(crate) held: VecDeque<HeldBox<A>>,
    /// The first of those is to be polled.
    pub(crate) held_due: bool,
    /// The futures under way while the actor goes on; made when the first comes.
    pub(crate) set: Option<Box<FuturesUnordered<Each<A>>>>,
    /// Those that came while the set was taken out.
    pub(crate) fresh: Vec<Each<A>>,
    /// How many of both are not done.
    pub(crate) under_way: usize,
    /// From so many on the mailbox waits.
    pub(crate) limit: usize,
    /// The rest is to be polled.
    pub(crate) rest_due: bool,
    waker: Option<Waker>,
}

impl<A: Actor> Default for Waits<A> {
    fn default() -> Self {
        Waits {
            held: VecDeque::new(),
            held_due: false,
            set: None,
            fresh: Vec::new(),
            under_way: 0,
            limit: usize::MAX,
            rest_due: false,
            waker: None,
        }
    }
}

impl<A: Actor> Waits<A> {
    /// The waker of all that the actor polls, made when it is first needed.
    pub(crate) fn waker(&mut self, core: &Core) -> Waker {
        let bell = || Arc::new(Bell(CoreRef::new(core))).into();
        self.waker.get_or_insert_with(bell).clone()
    }

    /// Whether messages wait until something is done.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether nothing of a message that was handled is under way any more.
    pub(crate) fn is_done(&self) -> bool {
        self.held.is_empty() && self.under_way == 0
    }

    /// Whether a turn would find something to do here.
    pub(crate) fn is_due(&self) -> bool {
        if self.holds() { self.held_due } else { self.rest_due && self.under_way > 0 }
    }

    /// Whether turns need not look here.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_done()
    }
}

/// Wakes the actor that polls what this was given to. It keeps the actor's memory, and not the
/// actor.
struct Bell(CoreRef);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.ring();
    }
}

/// A future and what follows it, in one allocation.
pub(crate) trait Pending<A: Actor>: Send {
    /// Polls the future; if it is ready, does what follows.
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        actor: &mut A,
        ctx: &mut Context<'_, A>,
    ) -> Poll<()>;
}

/// A future that an actor holds for.
pub(crate) type HeldBox<A> = Guarded<Pin<Box<dyn Pending<A>>>>;

struct Held<F, T: 'static> {
    future: F,
    /// What follows; taken when the future is ready. Guarded, for the future's destructor may
    /// panic, too.
    then: Option<Guarded<T>>,
}

/// Puts a future and what follows it together.
pub(crate) fn held<A, F, T>(future: F, then: T) -> HeldBox<A>
where
    A: Actor,
    F: Future + Send + 'static,
    T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
{
    Guarded::new(Box::pin(Held { future, then: Some(Guarded::new(then)) }))
}

impl<A, F, T> Pending<A> for Held<F, T>
where
    A: Actor,
    F: Future + Send,
    T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send,
{
    fn poll(
        self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        actor: &mut A,
        ctx: &mut Context<'_, A>,
    ) -> Poll<()> {
        // SAFETY: the future is pinned with the whole, which nothing moves it out of; `then` is not
        // pinned at all.
        let Held { future, then } = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(future) };
        let Poll::Ready(output) = future.poll(cx) else { return Poll::Pending };
        if let Some(then) = then.take() {
            then.into_inner()(actor, output, ctx);
        }
        Poll::Ready(())
    }
}

// tidy: guard: called by `InTurn::user`.
/// What follows a future that was under way.
pub(crate) type Done<A> = Box<dyn FnOnce(&mut A, &mut Context<'_, A>)>;

/// One of several futures under way.
pub(crate) struct Each<A: Actor>(Guarded<Pin<Box<dyn Future<Output = Done<A>> + Send>>>);

impl<A: Actor> Each<A> {
    /// Puts a future and what follows it together.
    pub(crate) fn new<F, T>(future: F, then: T) -> Self
    where
        F: Future + Send + 'static,
        T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
    {
        let then = Guarded::new(then);
        Each(Guarded::new(Box::pin(async move {
            let output = future.await;
            let done = move |actor: &mut A, ctx: &mut Context<'_, A>| {
                then.into_inner()(actor, output, ctx);
            };
            Box::new(done) as Done<A>
        })))
    }
}

impl<A: Actor> Future for Each<A> {
    type Output = Done<A>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Done<A>> {
        self.0.as_mut().poll(cx)
    }
}

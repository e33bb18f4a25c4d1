//! What an actor waits for beside its messages: futures that it holds for, futures that are under
//! way while it goes on, streams, silence; and the messages that it has put aside.
//!
//! The actor polls all of them itself, in its own turns, so that what follows them has the actor's
//! state at hand. What wakes them sets a flag of the actor (`WOKEN`) and notifies it. An actor that
//! waits for something is `UNUSUAL`: each of its turns looks here first. Others do not even have
//! this part, and types of actors that never wait do not even have the code for it: it is reached
//! through [`WaitsBox`] only, which is made where an actor begins to wait.

use crate::actor::{Actor, Context};
use crate::actor_core::{Core, CoreRef};
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::trace::Beside;
use actinium_scheduler::wheel::TimerKey;
use actinium_scheduler::{Turn, Worker};
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

/// What an actor waits for. User code runs while none of it is borrowed: each part is taken out to
/// be polled, and put back.
pub(crate) struct Waits<A: Actor> {
    pub(crate) steps: Steps,
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
    /// They are to be polled.
    pub(crate) set_due: bool,
    /// The streams whose items it handles.
    pub(crate) sources: Vec<Source<A>>,
    /// They are to be polled.
    pub(crate) sources_due: bool,
    /// The place of the next one to be polled.
    pub(crate) next_source: usize,
    /// The latest turn that found other messages took an item.
    pub(crate) took_item: bool,
    last_source: u64,
    /// Messages that were put aside, and how many may be.
    pub(crate) stash: VecDeque<Aside<A>>,
    pub(crate) stash_limit: usize,
    /// Messages that were brought back, and come before those of the mailbox.
    pub(crate) ready: VecDeque<Aside<A>>,
    pub(crate) silence: Option<Silence<A>>,
    pub(crate) silence_timer: Option<SilenceTimer>,
    /// How many messages were put first in the mailbox, and are there.
    pub(crate) first: First,
    /// It waits since it has started, and has handled no message since.
    pub(crate) from_start: bool,
    waker: Option<Waker>,
}

/// The steps of a turn that look after what an actor waits for. `Some`: the turn ends there.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// All of them, before the messages.
    ///
    /// # Safety
    /// The caller runs in a turn of this actor, which has the type that the steps were made for,
    /// and has lent its state to nobody.
    pub(crate) look_after: unsafe fn(&Core, &Worker) -> Option<Turn>,
    /// Only the futures that it holds for.
    ///
    /// # Safety
    /// As that of `look_after`.
    pub(crate) poll_held: unsafe fn(&Core, &Worker) -> Option<Turn>,
}

/// What an actor waits for, without the code for it.
pub(crate) trait Kept<A: Actor>: Send {
    fn waits(&mut self) -> &mut Waits<A>;

    /// What is left when an instance ends: the messages that it has put aside, or first.
    fn into_left(self: Box<Self>) -> Option<WaitsBox<A>>;
}

/// See [`Kept`].
pub(crate) type WaitsBox<A> = Box<dyn Kept<A>>;

impl<A: Actor> Kept<A> for Waits<A> {
    fn waits(&mut self) -> &mut Waits<A> {
        self
    }

    fn into_left(mut self: Box<Self>) -> Option<WaitsBox<A>> {
        let mut ready = std::mem::take(&mut self.ready);
        ready.append(&mut self.stash);
        let is_left = !ready.is_empty() || !self.first.is_empty();
        let left = Waits { ready, first: self.first, ..Waits::new(self.steps) };
        is_left.then(|| Box::new(left) as WaitsBox<A>)
    }
}

/// How many messages were put before all others in the mailbox, and are there still: first the
/// urgent ones, then those that were brought back.
#[derive(Clone, Copy, Default)]
pub(crate) struct First {
    pub(crate) urgent: u32,
    pub(crate) ready: u32,
}

impl First {
    fn is_empty(&self) -> bool {
        self.urgent == 0 && self.ready == 0
    }

    /// So many messages have left the mailbox.
    pub(crate) fn take(&mut self, taken: u32) {
        let urgent = self.urgent.min(taken);
        self.urgent -= urgent;
        self.ready = self.ready.saturating_sub(taken - urgent);
    }
}

/// The timer that brings a turn to look after silence.
pub(crate) struct SilenceTimer {
    due_ns: u64,
    worker: u32,
    key: TimerKey,
}

impl SilenceTimer {
    /// Sets one.
    pub(crate) fn set(core: &Core, due_ns: u64, worker: &Worker) -> Self {
        let me = CoreRef::new(core);
        let key = worker.set_timer(due_ns, Box::new(move |_| me.ring()));
        SilenceTimer { due_ns, worker: worker.id(), key }
    }

    /// Whether it will fire, and at this time at the latest.
    pub(crate) fn is_in_time(&self, now_ns: u64, due_ns: u64) -> bool {
        self.due_ns > now_ns && self.due_ns <= due_ns
    }

    /// Cancels it, if it lies in this worker's wheel. Elsewhere it fires for nothing.
    pub(crate) fn cancel(self, worker: &Worker) {
        if self.worker == worker.id() {
            drop(worker.cancel_timer(self.key));
        }
    }
}

/// Identifies one stream of one actor: see
/// [`Context::attach_stream`](crate::Context::attach_stream).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

/// A stream of messages.
pub(crate) type Messages<A> = Guarded<Pin<Box<dyn Stream<Item = <A as Actor>::Msg> + Send>>>;

/// A stream whose items the actor handles.
pub(crate) struct Source<A: Actor> {
    pub(crate) id: StreamId,
    /// `None`: it is taken out, and polled.
    pub(crate) stream: Option<Messages<A>>,
    /// A drain waits for it.
    pub(crate) outlives_drain: bool,
}

/// Makes the message that an actor gets when no other has come for some time.
pub(crate) type OnSilence<A> = Guarded<Box<dyn FnMut() -> <A as Actor>::Msg + Send>>;

/// The message that an actor gets when no other has come for some time.
pub(crate) struct Silence<A: Actor> {
    pub(crate) timeout_ns: u64,
    /// When the latest message came.
    pub(crate) since_ns: u64,
    /// The actor was told of this silence.
    pub(crate) is_told: bool,
    /// `None`: it is taken out, and called.
    pub(crate) msg: Option<OnSilence<A>>,
}

/// A message beside the mailbox, with its stamp if it is traced (else 0).
pub(crate) struct Aside<A: Actor> {
    pub(crate) stamp_ns: u64,
    pub(crate) msg: Guarded<A::Msg>,
}

impl<A: Actor> Waits<A> {
    /// Nothing yet, for an actor that these steps are for.
    pub(crate) fn new(steps: Steps) -> Self {
        Waits {
            steps,
            held: VecDeque::new(),
            held_due: false,
            set: None,
            fresh: Vec::new(),
            under_way: 0,
            limit: usize::MAX,
            set_due: false,
            sources: Vec::new(),
            sources_due: false,
            next_source: 0,
            took_item: false,
            last_source: 0,
            stash: VecDeque::new(),
            stash_limit: 1000,
            ready: VecDeque::new(),
            silence: None,
            silence_timer: None,
            first: First::default(),
            from_start: false,
            waker: None,
        }
    }

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

    /// Whether so many futures are under way that messages wait.
    pub(crate) fn is_full(&self) -> bool {
        self.under_way >= self.limit
    }

    /// Whether a turn would find something to do here.
    pub(crate) fn is_due(&self) -> bool {
        if self.holds() {
            return self.held_due;
        }
        let set_is_due = self.set_due && self.under_way > 0;
        let sources_are_due = self.sources_due && !self.sources.is_empty();
        set_is_due || !self.is_full() && (sources_are_due || !self.ready.is_empty())
    }

    /// Whether turns need not look here.
    pub(crate) fn is_empty(&self) -> bool {
        let has_messages = !self.ready.is_empty() || !self.first.is_empty();
        self.is_done() && self.sources.is_empty() && !has_messages && self.silence.is_none()
    }

    /// Adds a stream.
    pub(crate) fn attach(&mut self, source: impl FnOnce(StreamId) -> Source<A>) -> StreamId {
        self.last_source += 1;
        let id = StreamId(self.last_source);
        self.sources.push(source(id));
        self.sources_due = true;
        id
    }

    /// Takes a stream out.
    pub(crate) fn detach(&mut self, id: StreamId) -> Option<Source<A>> {
        let place = self.sources.iter().position(|source| source.id == id)?;
        Some(self.sources.remove(place))
    }

    /// Notes that a message has come.
    pub(crate) fn note_message(&mut self, now_ns: u64) {
        if let Some(silence) = &mut self.silence {
            (silence.since_ns, silence.is_told) = (now_ns, false);
        }
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
    /// The span of the wait, if the message that holds is traced.
    beside: Beside,
    /// What follows; taken when the future is ready. Guarded, for the future's destructor may
    /// panic, too.
    then: Option<Guarded<T>>,
}

/// Puts a future and what follows it together.
pub(crate) fn held<A, F, T>(future: F, then: T, beside: Beside) -> HeldBox<A>
where
    A: Actor,
    F: Future + Send + 'static,
    T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
{
    Guarded::new(Box::pin(Held { future, beside, then: Some(Guarded::new(then)) }))
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
        // SAFETY: the future is pinned with the whole, which nothing moves it out of; the others
        // are not pinned at all.
        let Held { future, beside, then } = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(future) };
        let polled = beside.scope(|| {
            future.poll(cx).map(|output| {
                if let Some(then) = then.take() {
                    then.into_inner()(actor, output, ctx);
                }
            })
        });
        if polled.is_ready() {
            std::mem::take(beside).end(None);
        }
        polled
    }
}

// tidy: guard: called by `InTurn::user`.
/// What follows a future that was under way.
pub(crate) type Done<A> = Box<dyn FnOnce(&mut A, &mut Context<'_, A>)>;

/// One of several futures under way.
pub(crate) struct Each<A: Actor>(Guarded<Pin<Box<dyn Future<Output = Done<A>> + Send>>>);

impl<A: Actor> Each<A> {
    /// Puts a future and what follows it together.
    pub(crate) fn new<F, T>(future: F, then: T, beside: Beside) -> Self
    where
        F: Future + Send + 'static,
        T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
    {
        let then = Guarded::new(then);
        Each(Guarded::new(Box::pin(async move {
            let (output, beside) = Traced { future, beside }.await;
            let done = move |actor: &mut A, ctx: &mut Context<'_, A>| {
                beside.scope(|| then.into_inner()(actor, output, ctx));
                beside.end(None);
            };
            Box::new(done) as Done<A>
        })))
    }
}

/// A future that is polled as part of a span, which comes with its output.
struct Traced<F> {
    future: F,
    beside: Beside,
}

impl<F: Future> Future for Traced<F> {
    type Output = (F::Output, Beside);

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned with the whole, which nothing moves it out of; the span is
        // not pinned at all.
        let Traced { future, beside } = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(future) };
        beside.scope(|| future.poll(cx)).map(|output| (output, std::mem::take(beside)))
    }
}

impl<A: Actor> Future for Each<A> {
    type Output = Done<A>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Done<A>> {
        self.0.as_mut().poll(cx)
    }
}

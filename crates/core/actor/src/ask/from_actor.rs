//! Asks of actors, whose answers come as messages.
//!
//! Whoever answers makes the message and sends it: no actor and no future stands between. An ask
//! is over once: whoever takes its [`Open`] part out tells the asker, or does not (who cancels it).

use super::error::AskError;
use super::reply::Reply;
use super::way::{Asker, Way};
use crate::actor::{Actor, Context};
use crate::actor_core::{Inner, hand};
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::control::Control;
use crate::send_error::SendError;
use actinium_scheduler::deadlines::DeadlineKey;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::nanoseconds;
use actinium_scheduler::trace::{self, Beside, Scope};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

/// An ask that an actor has made: see [`Context::ask`]. Dropping this changes nothing.
pub struct Asking(Arc<dyn Pending>);

/// An ask, whatever its types.
trait Pending: Send + Sync {
    fn cancel(&self) -> bool;
    fn set_timeout(self: Arc<Self>, timeout: Duration);
    fn is_over(&self) -> bool;
    fn asked(&self) -> ActorId;
}

/// An ask of an `A`, which makes its message by an `F` of an `R`.
struct Ask<A: Actor, R, F: 'static> {
    asked: ActorId,
    state: Mutex<State<A, F>>,
    answer: PhantomData<fn(R)>,
}

struct State<A: Actor, F: 'static> {
    stage: Stage,
    /// None: it is over.
    open: Option<Open<A, F>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The request is being made.
    Made,
    /// The reply was dropped while the request was being made.
    Dropped,
    /// The request was sent.
    Sent,
}

/// What it takes to tell the asker, which it keeps alive.
struct Open<A: Actor, F: 'static> {
    asker: Address<A>,
    msg: Guarded<F>,
    deadline: Option<DeadlineKey>,
    /// How long the deadline is; noted before it is set, for it may be over at once.
    timeout: Duration,
    /// Who wants to know that the ask is over, and under which name that one watches the asker.
    waiting: Option<(Waker, ActorId)>,
    /// The span of the ask, if the message that asks is traced.
    beside: Beside,
}

impl<A: Actor> Context<'_, A> {
    /// Asks another actor; the answer, or why there is none, comes as a message to this one.
    ///
    /// `request` makes the message from the reply handle, `msg` this actor's message of the answer;
    /// it is called where the answer is given. A panic in it is this actor's failure. An ask under
    /// way keeps this actor alive. One that has ended gets no answer: it comes back to whoever
    /// answers.
    ///
    /// ```
    /// use actinium_actor::{Actor, Address, AskError, Context, Reply, testing::TestSystem};
    /// use std::time::Duration;
    ///
    /// struct Adder;
    /// struct Add(u64, u64, Reply<u64>);
    ///
    /// impl Actor for Adder {
    ///     type Msg = Add;
    ///     fn handle(&mut self, Add(a, b, reply): Add, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(a + b);
    ///     }
    /// }
    ///
    /// struct Pupil(Address<Adder>);
    /// enum Msg { Exercise(u64, u64), Sum(Result<u64, AskError>) }
    ///
    /// impl Actor for Pupil {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
    ///         match msg {
    ///             Msg::Exercise(a, b) => {
    ///                 let ask = ctx.ask(&self.0, |reply| Add(a, b, reply), Msg::Sum);
    ///                 ask.timeout(Duration::from_secs(1));
    ///             }
    ///             Msg::Sum(sum) => println!("{sum:?}"),
    ///         }
    ///     }
    /// }
    ///
    /// let mut sys = TestSystem::seeded(1);
    /// let adder = sys.spawn(Adder);
    /// sys.spawn(Pupil(adder)).tell(Msg::Exercise(1, 2));
    /// sys.run_until_idle();
    /// ```
    pub fn ask<B: Actor, R: Send + 'static>(
        &self,
        other: &Address<B>,
        request: impl FnOnce(Reply<R>) -> B::Msg,
        msg: impl FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
    ) -> Asking {
        let beside = self.core().beside("ask");
        let context = beside.context();
        let ask = Ask::<A, R, _>::new(other.id(), self.address(), Guarded::new(msg), beside);
        let request = request(Reply::new(Way::to_actor(ask.clone())));
        let scope = context.map(|context| Scope::enter(Some(context)));
        let sent = other.send(request);
        drop(scope);
        match sent {
            Ok(()) => ask.sent(),
            Err(SendError::Closed(request)) => ask.refused(AskError::Closed(other.id()), request),
            Err(error) => ask.refused(AskError::Full(other.id()), error.into_inner()),
        }
        Asking(ask)
    }

    /// Asks as [`Context::ask`] does, with a deadline: short for [`Asking::timeout`].
    pub fn ask_timeout<B: Actor, R: Send + 'static>(
        &self,
        other: &Address<B>,
        timeout: Duration,
        request: impl FnOnce(Reply<R>) -> B::Msg,
        msg: impl FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
    ) -> Asking {
        self.ask(other, request, msg).timeout(timeout)
    }

    /// Asks as [`Context::ask`] does for an answer that may be an error itself, which is
    /// [`AskError::Failed`] then.
    pub fn try_ask<B: Actor, T: Send + 'static, E: Send + 'static>(
        &self,
        other: &Address<B>,
        request: impl FnOnce(Reply<Result<T, E>>) -> B::Msg,
        msg: impl FnOnce(Result<T, AskError<E>>) -> A::Msg + Send + 'static,
    ) -> Asking {
        self.ask(other, request, |answer| msg(AskError::flatten(answer)))
    }
}

impl Asking {
    /// Cancels the ask: no message comes of it, and the actor that was asked can see that
    /// ([`Reply::is_cancelled`]). False if it is over: what came of it is in the mailbox, or was
    /// handled.
    pub fn cancel(&self) -> bool {
        self.0.cancel()
    }

    /// Ends the ask with [`AskError::Timeout`] so long from now; it replaces an earlier deadline.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.0.clone().set_timeout(timeout);
        self
    }

    /// Whether there is an answer, or it is known that there will be none.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asking({})", self.0.asked())
    }
}

impl<A, R, F> Ask<A, R, F>
where
    A: Actor,
    R: Send + 'static,
    F: FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
{
    fn new(asked: ActorId, asker: Address<A>, msg: Guarded<F>, beside: Beside) -> Arc<Self> {
        let (deadline, timeout, waiting) = (None, Duration::MAX, None);
        let open = Some(Open { asker, msg, deadline, timeout, waiting, beside });
        let state = Mutex::new(State { stage: Stage::Made, open });
        Arc::new(Ask { asked, state, answer: PhantomData })
    }

    /// No change behind this lock is left half-way by a panic.
    fn state(&self) -> MutexGuard<'_, State<A, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the ask. None: it is over already.
    fn take(&self) -> Option<Open<A, F>> {
        let open = self.state().open.take();
        if let Some(Open { asker, deadline: Some(key), .. }) = &open {
            system(asker).shared.deadlines().remove(*key);
        }
        open
    }

    /// The request was sent.
    fn sent(&self) {
        let before = std::mem::replace(&mut self.state().stage, Stage::Sent);
        if before == Stage::Dropped {
            self.end(Err(AskError::NoReply(self.asked)));
        }
    }

    /// The request was not sent.
    fn refused<M>(&self, why: AskError, request: M) {
        self.end(Err(why));
        // The reply in it finds that the ask is over.
        drop(request);
    }

    fn end(&self, result: Result<R, AskError>) {
        if let Some(open) = self.take() {
            open.tell(result);
        }
    }
}

impl<A: Actor, F: 'static> Open<A, F> {
    /// Tells the asker.
    fn tell<R>(self, result: Result<R, AskError>)
    where
        R: Send + 'static,
        F: FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
    {
        let Open { asker, msg, waiting, beside, .. } = self;
        over(&asker, waiting);
        // An answer from no traced step is part of the ask.
        let context = trace::current().or_else(|| beside.context());
        let error = result.is_err().then_some("no answer");
        let system = system(&asker).clone();
        // What has no answer because all ends is no news.
        if result.is_err() && system.shared.control().exit_requested() {
            return;
        }
        let result = Guarded::new(result);
        let tell = move || {
            let _scope = context.map(|context| Scope::enter(Some(context)));
            match guard::catch(|| msg.into_inner()(result.into_inner())) {
                Ok(msg) => asker.tell_over(msg),
                Err(panicked) => asker.0.core.fail(panicked),
            }
            beside.end(error);
        };
        // The message that it makes may hold a reply, and so on: a queue, not a stack.
        if let Err(tell) = guard::unnested(tell) {
            // As many as nobody nests. A worker goes on with it when it looks at the time.
            let ends = system.clone();
            let later = move || {
                // All deadlines are past when the system ends.
                if !ends.shared.control().exit_requested() {
                    tell();
                }
            };
            let later = Later(Mutex::new(Some(Guarded::new(later))));
            system.shared.add_deadline(0, Waker::from(Arc::new(later)));
        }
    }
}

/// Tells whoever waits for the end of an ask.
fn over<A: Actor>(asker: &Address<A>, waiting: Option<(Waker, ActorId)>) {
    if let Some((waker, watcher)) = waiting {
        hand(&asker.0.core, Control::Unwatch { watcher });
        guard::wake(waker);
    }
}

fn system<A: Actor>(asker: &Address<A>) -> &Arc<Inner> {
    &asker.0.core.system
}

/// What is done when this is woken.
struct Later<F: 'static>(Mutex<Option<Guarded<F>>>);

impl<F: FnOnce() + Send> Wake for Later<F> {
    fn wake(self: Arc<Self>) {
        let job = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            job.into_inner()();
        }
    }
}

/// Woken at the deadline.
impl<A, R, F> Wake for Ask<A, R, F>
where
    A: Actor,
    R: Send + 'static,
    F: FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        let open = self.state().open.take();
        if let Some(open) = open {
            let late = AskError::Timeout(self.asked, open.timeout);
            open.tell(Err(late));
        }
    }
}

impl<A, R, F> Pending for Ask<A, R, F>
where
    A: Actor,
    R: Send + 'static,
    F: FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
{
    fn cancel(&self) -> bool {
        let Some(Open { asker, msg, waiting, .. }) = self.take() else { return false };
        over(&asker, waiting);
        drop(msg);
        true
    }

    fn set_timeout(self: Arc<Self>, timeout: Duration) {
        let noted = self.state().open.as_mut().map(|open| {
            open.timeout = timeout;
            open.asker.clone()
        });
        let Some(asker) = noted else { return };
        let shared = &system(&asker).shared;
        let at_ns = shared.clock().now_ns().saturating_add(nanoseconds(timeout));
        let key = shared.add_deadline(at_ns, Waker::from(self.clone()));
        let mut state = self.state();
        let former = match &mut state.open {
            Some(open) => open.deadline.replace(key),
            None => Some(key),
        };
        drop(state);
        // What it holds is this ask: not behind the lock.
        former.into_iter().for_each(|former| shared.deadlines().remove(former));
    }

    fn is_over(&self) -> bool {
        self.state().open.as_ref().is_none_or(|open| open.asker.is_closed())
    }

    fn asked(&self) -> ActorId {
        self.asked
    }
}

impl<A, R, F> Asker<R> for Ask<A, R, F>
where
    A: Actor,
    R: Send + 'static,
    F: FnOnce(Result<R, AskError>) -> A::Msg + Send + 'static,
{
    fn answer(&self, answer: R) -> Result<(), R> {
        let Some(open) = self.take() else { return Err(answer) };
        if open.asker.is_closed() {
            over(&open.asker, open.waiting);
            return Err(answer);
        }
        open.tell(Ok(answer));
        Ok(())
    }

    fn no_more(&self) {
        let mut state = self.state();
        if state.stage != Stage::Sent {
            // If the request is not made after all (a panic), nothing was asked.
            state.stage = Stage::Dropped;
            return;
        }
        drop(state);
        if let Some(open) = self.take() {
            if open.asker.is_closed() {
                return over(&open.asker, open.waiting);
            }
            open.tell(Err(AskError::NoReply(self.asked)));
        }
    }

    fn is_over(&self) -> bool {
        Pending::is_over(self)
    }

    fn poll_over(self: Arc<Self>, cx: &mut std::task::Context<'_>) -> Poll<()> {
        let new = Guarded::new(cx.waker().clone());
        let mut state = self.state();
        let Some(open) = state.open.as_mut().filter(|open| !open.asker.is_closed()) else {
            return Poll::Ready(());
        };
        if let Some((waker, _)) = &mut open.waiting {
            let old = std::mem::replace(waker, new.into_inner());
            drop(state);
            // A waker is the user's: not behind the lock.
            guard::drop_guarded(old);
            return Poll::Pending;
        }
        let (asker, watcher) = (open.asker.clone(), system(&open.asker).next_id());
        open.waiting = Some((new.into_inner(), watcher));
        drop(state);
        let me = Arc::downgrade(&self);
        let notify = Box::new(move |_| {
            if let Some(open) = me.upgrade().and_then(|ask| ask.take()) {
                over(&open.asker, open.waiting);
            }
        });
        hand(&asker.0.core, Control::Watch { watcher, notify });
        Poll::Pending
    }
}

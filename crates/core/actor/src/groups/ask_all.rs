//! The answers of several actors, as they come.

use crate::actor_id::ActorId;
use crate::ask::{Answer, AskError};
use actinium_scheduler::guard::{self, Guarded};
use futures_lite::Stream;
use futures_lite::future::{block_on, poll_fn};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The answers of several actors that are under way: see `Broadcast::ask_all`.
///
/// Each result comes with the actor's identity, in the order in which they come: as a [`Stream`],
/// by [`AskAll::next_answer`], or in a `for` loop on a thread that may block. Or all at once:
/// [`AskAll::wait`], or [`AskAll::collect`], which an actor gives to
/// [`Context::pipe`](crate::Context::pipe). Dropping this cancels what is still under way.
pub struct AskAll<R> {
    /// By place; None: it has come.
    answers: Vec<Option<(ActorId, Answer<R>)>>,
    left: usize,
    bell: Arc<Bell>,
}

/// Who answers, and what, or why not.
type One<R> = (ActorId, Result<R, AskError>);

/// What all members of a group have answered by a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers<R> {
    /// The answers, in the order in which they came.
    pub answers: Vec<(ActorId, R)>,
    /// Who did not answer, and why.
    pub missing: Vec<(ActorId, AskError)>,
}

/// All answers, as a future: see [`AskAll::collect`].
pub struct Collect<R> {
    all: AskAll<R>,
    so_far: Answers<R>,
}

/// Knows which answers to look at.
#[derive(Default)]
struct Bell(Mutex<Rung>);

#[derive(Default)]
struct Rung {
    places: Vec<usize>,
    /// Who waits.
    waker: Option<Guarded<Waker>>,
}

/// Wakes whoever waits for all, because of one.
struct Clapper {
    place: usize,
    bell: Arc<Bell>,
}

impl Bell {
    /// No change behind this lock is left half-way by a panic.
    fn rung(&self) -> MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Clapper {
    fn wake(self: Arc<Self>) {
        let mut rung = self.bell.rung();
        rung.places.push(self.place);
        let waker = rung.waker.take();
        drop(rung);
        // A waker is the user's: not behind the lock.
        if let Some(waker) = waker {
            guard::wake(waker.into_inner());
        }
    }
}

impl<R> AskAll<R> {
    pub(super) fn new(answers: impl IntoIterator<Item = (ActorId, Answer<R>)>) -> Self {
        let answers: Vec<_> = answers.into_iter().map(Some).collect();
        let bell = Arc::new(Bell::default());
        // The last first, for they are taken from the end.
        bell.rung().places = (0..answers.len()).rev().collect();
        AskAll { left: answers.len(), answers, bell }
    }

    /// How many have not come yet.
    pub fn left(&self) -> usize {
        self.left
    }

    fn poll_one(&mut self, cx: &mut Context<'_>) -> Poll<Option<One<R>>> {
        loop {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            let mut rung = self.bell.rung();
            let Some(place) = rung.places.pop() else {
                let waker = Guarded::new(cx.waker().clone());
                let former = rung.waker.replace(waker);
                drop(rung);
                drop(former);
                return Poll::Pending;
            };
            drop(rung);
            let Some((actor, answer)) = &mut self.answers[place] else { continue };
            let waker = Waker::from(Arc::new(Clapper { place, bell: self.bell.clone() }));
            if let Poll::Ready(result) = Pin::new(answer).poll(&mut Context::from_waker(&waker)) {
                let actor = *actor;
                self.answers[place] = None;
                self.left -= 1;
                return Poll::Ready(Some((actor, result)));
            }
        }
    }

    /// The next result; None: there are no more.
    pub fn next_answer(&mut self) -> impl Future<Output = Option<One<R>>> + '_ {
        poll_fn(|cx| self.poll_one(cx))
    }

    /// Waits for all, as a future.
    ///
    /// ```
    /// use actinium_actor::{Actor, Address, Answers, Broadcast, Context, Reply, testing::TestSystem};
    /// use std::time::Duration;
    ///
    /// struct Voter(bool);
    ///
    /// impl Actor for Voter {
    ///     type Msg = Reply<bool>;
    ///     fn handle(&mut self, reply: Reply<bool>, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(self.0);
    ///     }
    /// }
    ///
    /// struct Teller(Broadcast<Address<Voter>>);
    /// enum Msg { Vote, Votes(Answers<bool>) }
    ///
    /// impl Actor for Teller {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
    ///         match msg {
    ///             Msg::Vote => {
    ///                 let votes = self.0.ask_all(Duration::from_secs(1), |reply| reply);
    ///                 ctx.pipe(votes.collect(), Msg::Votes);
    ///             }
    ///             Msg::Votes(votes) => {
    ///                 let ayes = votes.answers.iter().filter(|(_, aye)| *aye).count();
    ///                 assert_eq!((ayes, votes.missing.len()), (2, 0));
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let mut sys = TestSystem::seeded(1);
    /// let voters = [true, false, true].map(|aye| sys.spawn(Voter(aye)));
    /// let teller = sys.spawn(Teller(Broadcast::new(voters)));
    /// teller.tell(Msg::Vote);
    /// sys.run_until_idle();
    /// assert_eq!(sys.stats().total().panicked, 0);
    /// ```
    pub fn collect(self) -> Collect<R> {
        let so_far = Answers { answers: Vec::with_capacity(self.left), missing: Vec::new() };
        Collect { all: self, so_far }
    }

    /// Waits for all, blocking the thread. On a worker, which must not block, none is waited for.
    pub fn wait(self) -> Answers<R> {
        let mut answers = Answers { answers: Vec::with_capacity(self.left), missing: Vec::new() };
        self.into_iter().for_each(|one| answers.add(one));
        answers
    }
}

impl<R> Answers<R> {
    fn add(&mut self, (actor, result): One<R>) {
        match result {
            Ok(answer) => self.answers.push((actor, answer)),
            Err(why) => self.missing.push((actor, why)),
        }
    }
}

impl<R> Stream for AskAll<R> {
    type Item = (ActorId, Result<R, AskError>);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_one(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The results as they come, on a thread that may block: see [`AskAll`].
pub struct Blocking<R>(AskAll<R>);

impl<R> Iterator for Blocking<R> {
    type Item = (ActorId, Result<R, AskError>);

    fn next(&mut self) -> Option<Self::Item> {
        if actinium_scheduler::current(|worker| worker.is_none()) {
            return block_on(self.0.next_answer());
        }
        let (actor, _) = self.0.answers.iter_mut().find_map(Option::take)?;
        Some((actor, Err(AskError::WouldBlock)))
    }
}

impl<R> IntoIterator for AskAll<R> {
    type Item = (ActorId, Result<R, AskError>);
    type IntoIter = Blocking<R>;

    fn into_iter(self) -> Blocking<R> {
        Blocking(self)
    }
}

impl<R> IntoFuture for AskAll<R> {
    type Output = Answers<R>;
    type IntoFuture = Collect<R>;

    fn into_future(self) -> Collect<R> {
        self.collect()
    }
}

// It is never pinned in place: the answers are moved out whole.
impl<R> Unpin for Collect<R> {}

impl<R> Future for Collect<R> {
    type Output = Answers<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answers<R>> {
        let this = &mut *self;
        while let Some(one) = std::task::ready!(this.all.poll_one(cx)) {
            this.so_far.add(one);
        }
        let none = Answers { answers: Vec::new(), missing: Vec::new() };
        Poll::Ready(std::mem::replace(&mut this.so_far, none))
    }
}

impl<R> fmt::Debug for AskAll<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskAll({} of {} are under way)", self.left, self.answers.len())
    }
}

impl<R> fmt::Debug for Collect<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collect({:?})", self.all)
    }
}

impl<R> fmt::Debug for Blocking<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocking({:?})", self.0)
    }
}

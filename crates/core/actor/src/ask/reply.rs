//! The handle by which an actor answers.

use super::way::Way;
#[cfg(feature = "wire")]
use crate::passage::Passage;
use actinium_scheduler::{Worker, current};
use std::fmt;
use std::future::Future;
#[cfg(feature = "wire")]
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// The handle by which an actor answers a request: see [`Reply::send`].
///
/// Dropping it unanswered tells the asker so.
///
/// In a program with the feature `cluster` it is data in messages that go through a node: then the
/// other node's actor answers. If that node goes down first, the asker is told that there is no
/// answer.
pub struct Reply<R> {
    /// None: it was used.
    way: Option<Way<R>>,
    /// How it leaves in a message to another node, once it was encoded in one.
    #[cfg(feature = "wire")]
    passage: Mutex<Option<Arc<Passage<R>>>>,
}

impl<R> Reply<R> {
    pub(crate) fn new(way: Way<R>) -> Self {
        Reply {
            way: Some(way),
            #[cfg(feature = "wire")]
            passage: Mutex::new(None),
        }
    }

    /// The way to the asker.
    pub(super) fn into_way(mut self) -> Option<Way<R>> {
        self.way.take()
    }

    /// Begins to leave in a message to another node: when this is dropped, the way to the asker
    /// goes to the passage. None if it stands in another message already.
    #[cfg(feature = "wire")]
    pub(crate) fn begin_passage(&self) -> Option<Arc<Passage<R>>> {
        let mut passage = self.passage.lock().unwrap_or_else(PoisonError::into_inner);
        if passage.as_ref().is_some_and(|former| former.is_open()) {
            return None;
        }
        let new = Arc::new(Passage::new());
        *passage = Some(new.clone());
        Some(new)
    }

    /// Answers.
    ///
    /// # Errors
    /// Gives the value back if nobody waits for it any more.
    pub fn send(mut self, value: R) -> Result<(), R> {
        // Cause before effect: what the running turn has sent is there when whoever hears this
        // looks.
        current(|worker| worker.into_iter().for_each(Worker::flush_lanes));
        match self.way.take() {
            Some(way) => way.send(value),
            None => Err(value),
        }
    }

    /// Whether nobody waits for the answer any more: the asker has dropped or cancelled the ask,
    /// its deadline has passed, or it was an actor that has ended. Then the work need not be done.
    ///
    /// An asker on another node counts as one that waits as long as that node is up.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Reply, testing::TestSystem};
    /// struct Factors;
    ///
    /// impl Actor for Factors {
    ///     type Msg = (u64, Reply<Vec<u64>>);
    ///     fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         if reply.is_cancelled() {
    ///             return;
    ///         }
    ///         let _ = reply.send((1..=n).filter(|factor| n % factor == 0).collect());
    ///     }
    /// }
    /// # let mut sys = TestSystem::seeded(1);
    /// # let factors = sys.spawn(Factors);
    /// # drop(factors.ask(|reply| (u64::MAX, reply)));
    /// # let answer = factors.ask(|reply| (6, reply));
    /// # sys.run_until_idle();
    /// # assert_eq!(answer.wait().unwrap(), [1, 2, 3, 6]);
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.way.as_ref().is_none_or(Way::is_over)
    }

    /// Waits until nobody waits for the answer any more: see [`Reply::is_cancelled`]. For work that
    /// is done in a future: whichever is ready first, this or the work, ends it.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply, testing::TestSystem};
    /// use futures_lite::future::or;
    ///
    /// struct Fetches;
    ///
    /// enum Msg { Fetch(Reply<String>), Done }
    ///
    /// async fn fetch() -> String {
    ///     std::future::pending().await // a slow server
    /// }
    ///
    /// impl Actor for Fetches {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
    ///         let Msg::Fetch(mut reply) = msg else { return };
    ///         let work = async move {
    ///             let cancelled = async { reply.cancelled().await; None };
    ///             if let Some(text) = or(cancelled, async { Some(fetch().await) }).await {
    ///                 let _ = reply.send(text);
    ///             }
    ///         };
    ///         ctx.pipe(work, |()| Msg::Done);
    ///     }
    /// }
    ///
    /// let mut sys = TestSystem::seeded(1);
    /// let fetches = sys.spawn(Fetches);
    /// let answer = fetches.ask(Msg::Fetch);
    /// sys.run_until_idle();
    /// drop(answer);
    /// sys.run_until_idle();
    /// assert_eq!(sys.stats().actors, 1, "nothing is fetched any more");
    /// ```
    pub fn cancelled(&mut self) -> impl Future<Output = ()> + Send + '_
    where
        R: Send,
    {
        std::future::poll_fn(|cx| match &mut self.way {
            Some(way) => way.poll_over(cx),
            None => Poll::Ready(()),
        })
    }
}

#[cfg(feature = "wire")]
impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        let passage = self.passage.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(passage), Some(way)) = (passage, self.way.take()) {
            passage.leave(way);
        }
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

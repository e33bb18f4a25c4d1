//! A queue of few items from a thread that may block to the actor that polls it: the thread waits
//! while the queue is full.
//!
//! A thread that waits so is not at work: as long, it does not count among those that a drain, or a
//! test system, waits for. The actor counts it again when it lets it go on, so that there is no
//! moment at which it is at work and not counted.

use crate::actor_core::Inner;
use crate::state::offloads::Work;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::{Condvar, Mutex, lock, wait_until};
use futures_util::Stream;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Items that wait at most.
const CAPACITY: usize = 64;

/// Where a closure of [`Context::offload_stream`](crate::Context::offload_stream) puts its results.
pub struct Output<T: Send + 'static>(Arc<Feed<T>>);

/// The error of [`Output::send`]: the actor has ended, restarted or detached the stream, and takes
/// no more. The result comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Detached<T>(pub T);

/// The results as the actor polls them.
pub(crate) struct Items<T: Send + 'static>(Arc<Feed<T>>);

struct Feed<T: 'static> {
    system: Arc<Inner>,
    /// As what the thread counts.
    work: Work,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T: 'static> {
    items: VecDeque<Guarded<T>>,
    /// The thread waits, and is not counted.
    waits: bool,
    /// The thread sends no more.
    is_over: bool,
    /// The actor takes no more.
    is_closed: bool,
    waker: Option<Waker>,
}

/// Both ends of a queue; the thread is counted as `work` already.
pub(crate) fn feed<T: Send + 'static>(system: Arc<Inner>, work: Work) -> (Output<T>, Items<T>) {
    let (items, waker) = (VecDeque::new(), None);
    let state = State { items, waits: false, is_over: false, is_closed: false, waker };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    let feed = Arc::new(Feed { system, work, state, changed });
    (Output(feed.clone()), Items(feed))
}

impl<T> Feed<T> {
    /// Lets the thread go on, if it waits.
    fn resume(&self, state: &mut State<T>) {
        if std::mem::take(&mut state.waits) {
            self.system.offloads.begin(self.work);
            self.changed.notify_all();
        }
    }
}

impl<T: Send> Output<T> {
    /// Gives the actor one result. Blocks while 64 wait that the actor has not handled.
    ///
    /// # Errors
    /// If the actor takes no more; the result comes back. There is no more to do then.
    pub fn send(&mut self, item: T) -> Result<(), Detached<T>> {
        let feed = &*self.0;
        let mut state = lock(&feed.state);
        while state.items.len() >= CAPACITY && !state.is_closed {
            if !std::mem::replace(&mut state.waits, true) {
                feed.system.offloads.end(feed.work);
            }
            state = wait_until(&feed.changed, state, None).0;
        }
        feed.resume(&mut state);
        if state.is_closed {
            return Err(Detached(item));
        }
        state.items.push_back(Guarded::new(item));
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(guard::wake);
        Ok(())
    }
}

impl<T: Send> Drop for Output<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_over = true;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(guard::wake);
    }
}

impl<T: Send> Stream for Items<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Option<T>> {
        let feed = &*self.0;
        let mut state = lock(&feed.state);
        let item = state.items.pop_front();
        if state.items.len() <= CAPACITY / 2 {
            feed.resume(&mut state);
        }
        match item {
            Some(item) => Poll::Ready(Some(item.into_inner())),
            None if state.is_over => Poll::Ready(None),
            None => {
                // The actor's own, for nobody else polls this.
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T: Send> Drop for Items<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_closed = true;
        self.0.resume(&mut state);
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
    }
}

impl<T: Send> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({} wait)", lock(&self.0.state).items.len())
    }
}

impl<T> fmt::Debug for Detached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detached(..)")
    }
}

impl<T> fmt::Display for Detached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the actor takes no more of this stream: it has ended, restarted, or detached it",
        )
    }
}

impl<T> std::error::Error for Detached<T> {}

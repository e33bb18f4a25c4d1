//! The end of a node's part: whoever waits for it is told what came of it.

use crate::outcome::ClusterOutcome;
use actinium_cluster::job::JobError;
use actinium_scheduler::clock::Until;
use actinium_scheduler::sync::lock;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What came of a node's part. `None`: the first node knows.
pub(crate) type Ended = Result<Option<ClusterOutcome>, JobError>;

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Ending(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    ended: Option<Ended>,
    is_over: bool,
    wakers: Vec<Waker>,
}

impl Ending {
    /// The part has ended; the first word counts.
    pub(crate) fn set(&self, ended: Ended) {
        let wakers = {
            let mut state = lock(&self.0.0);
            if state.is_over {
                return;
            }
            state.is_over = true;
            state.ended = Some(ended);
            std::mem::take(&mut state.wakers)
        };
        self.0.1.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether the part has ended.
    pub(crate) fn is_over(&self) -> bool {
        lock(&self.0.0).is_over
    }

    /// Waits for the end. Once it was taken, there is nothing but `None`.
    pub(crate) fn wait(&self) -> Ended {
        let mut state = lock(&self.0.0);
        while !state.is_over {
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.ended.take().unwrap_or(Ok(None))
    }

    /// Takes what came of the part, once it has ended.
    pub(crate) fn take(&self) -> Option<Ended> {
        lock(&self.0.0).ended.take()
    }

    /// Waits for the end, but no longer; says whether it has come.
    pub(crate) fn wait_for(&self, timeout: Duration) -> bool {
        let until = Until::after(timeout);
        let mut state = lock(&self.0.0);
        while !state.is_over {
            let left = until.map_or(Duration::MAX, |until| until.left());
            if left.is_zero() {
                break;
            }
            let waited = self.0.1.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_over
    }

    /// Polls for the end.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Ended> {
        let mut state = lock(&self.0.0);
        if state.is_over {
            return Poll::Ready(state.ended.take().unwrap_or(Ok(None)));
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

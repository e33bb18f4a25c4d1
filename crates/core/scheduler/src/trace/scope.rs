//! Making a traced step the current one of a thread.

use super::context::TraceContext;
use super::here;
use crate::worker::current;
use std::marker::PhantomData;

/// Until it is dropped, this step is the current one of the thread: what is sent is part of it.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Scope {
    before: Option<TraceContext>,
    /// Dropped on the thread that it was made on.
    _thread: PhantomData<*const ()>,
}

impl Scope {
    /// Begins; `None`: what happens now is part of no traced step. What is not sampled is not
    /// traced.
    pub fn enter(context: Option<TraceContext>) -> Self {
        let before = set(context.filter(|context| context.is_sampled()));
        Scope { before, _thread: PhantomData }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        set(self.before);
    }
}

/// Makes a step current on this thread, and tells its worker; returns the one before.
fn set(context: Option<TraceContext>) -> Option<TraceContext> {
    let before = here::replace(context);
    if before.is_some() != context.is_some() {
        current(|worker| worker.into_iter().for_each(|it| it.set_traced(context.is_some())));
    }
    before
}

/// Calls `f` as part of this step of a trace: messages that it sends to actors of systems that
/// trace are children of the step. On any thread, a worker or not; whether `f` panics or not, the
/// step that was current before is current again afterwards.
///
/// ```
/// use actinium_scheduler::trace;
///
/// let request = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
/// trace::scope(Some(request), || assert_eq!(trace::current(), Some(request)));
/// assert_eq!(trace::current(), None);
/// # Ok::<(), trace::BadTraceparent>(())
/// ```
pub fn scope<R>(context: Option<TraceContext>, f: impl FnOnce() -> R) -> R {
    let _scope = Scope::enter(context);
    f()
}

/// The future, polled as part of the step that is current now.
pub fn follow<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let context = here::current();
    async move {
        let mut future = std::pin::pin!(future);
        let poll = |cx: &mut std::task::Context<'_>| match context {
            None => future.as_mut().poll(cx),
            Some(_) => scope(context, || future.as_mut().poll(cx)),
        };
        std::future::poll_fn(poll).await
    }
}

/// Calls `f` as part of no traced step. What it sends begins no trace either: it is the runtime's
/// own, as what wakes a future.
#[doc(hidden)]
pub fn apart<R>(f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            here::set_begins_none(self.0);
        }
    }
    let _before = Before(here::set_begins_none(true));
    scope(None, f)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_end_with_a_panic() {
        let context = |span| TraceContext::new(7, span, true);
        scope(context(1), || {
            scope(context(2), || assert_eq!(here::current(), context(2)));
            assert_eq!(here::current(), context(1));
            scope(None, || assert_eq!(here::current(), None));
            let panicked = std::panic::catch_unwind(|| scope(context(3), || panic!("inside")));
            assert!(panicked.is_err());
            assert_eq!(here::current(), context(1));
        });
        assert_eq!(here::current(), None);
    }

    #[test]
    fn what_is_not_sampled_is_not_traced() {
        scope(TraceContext::new(7, 1, false), || assert_eq!(here::current(), None));
    }
}

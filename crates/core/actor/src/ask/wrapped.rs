//! A reply handle whose answers go out in something else.

use super::reply::Reply;
use super::way::{Asker, Way};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Passes an answer on, in what the asker waits for.
struct Wrapped<R, T> {
    /// None: there was an answer.
    to: Mutex<Option<Way<T>>>,
    // tidy: guard: a variant of an enum that a macro has made.
    wrap: fn(R) -> T,
}

impl<R, T> Wrapped<R, T> {
    fn to(&self) -> MutexGuard<'_, Option<Way<T>>> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Send + 'static, T: Send + 'static> Asker<R> for Wrapped<R, T> {
    fn answer(&self, answer: R) -> Result<(), R> {
        let way = self.to().take().filter(|way| !way.is_over());
        let Some(way) = way else { return Err(answer) };
        // Whoever stops waiting just now does not hear of it.
        let _ = way.send((self.wrap)(answer));
        Ok(())
    }

    fn no_more(&self) {
        let way = self.to().take();
        // Dropped, it tells the asker that there is no answer. Not behind the lock.
        drop(way);
    }

    fn is_over(&self) -> bool {
        self.to().as_ref().is_none_or(Way::is_over)
    }

    fn poll_over(self: Arc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.to().as_mut().map_or(Poll::Ready(()), |way| way.poll_over(cx))
    }
}

impl<R: Send + 'static> Reply<R> {
    /// A handle whose answer goes to `reply`, in what `wrap` makes of it. For the code of macros.
    #[doc(hidden)]
    pub fn wrapped<T: Send + 'static>(reply: Reply<T>, wrap: fn(R) -> T) -> Self {
        let to = Mutex::new(reply.into_way());
        Reply::new(Way::to_actor(Arc::new(Wrapped { to, wrap })))
    }

    /// A handle whose answer `asker` takes. For the crates that bring requests from elsewhere.
    #[doc(hidden)]
    pub fn to_asker(asker: Arc<dyn Asker<R>>) -> Self {
        Reply::new(Way::to_actor(asker))
    }
}

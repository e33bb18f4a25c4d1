//! What must not hold up async code: it runs on a thread that may wait.

use futures_channel::oneshot;
use std::future::Future;

/// Runs this at once on a thread that may wait, to its end. The future brings the result; none if
/// it panicked.
pub fn run<R: Send + 'static>(
    wait: impl FnOnce() -> R + Send + 'static,
) -> impl Future<Output = Option<R>> + Send {
    let (result, future) = oneshot::channel();
    let wait = move || {
        // Whoever asked may have gone.
        let _ = result.send(wait());
    };
    blocking::unblock(wait).detach();
    async move { future.await.ok() }
}

/// Whether the calling thread is inside a tokio runtime: it must not wait.
pub fn is_in_tokio() -> bool {
    #[cfg(feature = "tokio")]
    return tokio::runtime::Handle::try_current().is_ok();
    #[cfg(not(feature = "tokio"))]
    false
}

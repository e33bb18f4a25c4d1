//! The end of a system for async code: nothing here blocks the thread that calls it.

use crate::ending::{Shutdown, ShutdownReport};
use crate::system::System;
use crate::system_handle::SystemHandle;
use crate::unblocked;
use futures_channel::oneshot;
use std::future::Future;

impl SystemHandle {
    /// Waits until somebody calls [`SystemHandle::stop`], a failure reaches the top, or the system
    /// has ended: what a server takes as its signal to end. At once if that has happened.
    ///
    /// ```no_run
    /// # async fn serve(system: actinium_actor::System) {
    /// use actinium_actor::Shutdown;
    /// use std::time::Duration;
    ///
    /// // With axum: axum::serve(listener, router).with_graceful_shutdown(system.stopped()).await
    /// system.stopped().await;
    /// let report = system.shutdown_async(Shutdown::DrainWithin(Duration::from_secs(10))).await;
    /// println!("{} messages handled", report.handled);
    /// # }
    /// ```
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let (stop, stopped) = oneshot::channel();
        self.inner.on_stop(stop);
        async move {
            // Dropped unsent: the system is gone.
            let _ = stopped.await;
        }
    }
}

impl System {
    /// Shuts down as [`System::shutdown`] does, on a thread of its own meanwhile: for async code.
    /// The shutdown begins with this call, and goes on if the future is dropped.
    ///
    /// ```
    /// use actinium_actor::{Shutdown, System};
    ///
    /// # futures_lite::future::block_on(async {
    /// let system = System::builder().workers(1).build()?;
    /// assert_eq!(system.shutdown_async(Shutdown::Drain).await.dropped, 0);
    /// # Ok::<(), actinium_actor::BuildError>(())
    /// # }).unwrap();
    /// ```
    #[must_use = "the report comes with it; the shutdown goes on without"]
    pub fn shutdown_async(
        self,
        how: Shutdown,
    ) -> impl Future<Output = ShutdownReport> + Send + use<> {
        let inner = self.inner.clone();
        let ended = unblocked::run(move || self.shutdown(how));
        async move { ended.await.unwrap_or_else(|| inner.report(0)) }
    }

    /// Lets a thread that may wait drop the system, which is being dropped here.
    pub(crate) fn end_elsewhere(&mut self) {
        self.inner.exit();
        let end = std::mem::take(&mut self.end);
        let system = System { handle: self.handle(), end };
        drop(unblocked::run(move || drop(system)));
    }
}

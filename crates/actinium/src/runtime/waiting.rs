//! The end of a whole program that async code or a signal asks for.

use super::{Runtime, RuntimeReport};
use actinium_actor::{Shutdown, WaitError, unblocked};
use std::future::Future;

impl Runtime {
    /// Ends all parts as [`Runtime::shutdown`] does, on a thread of its own meanwhile: for async
    /// code. The end begins with this call, and goes on if the future is dropped.
    #[must_use = "the report comes with it; the end goes on without"]
    pub fn shutdown_async(
        self,
        how: Shutdown,
    ) -> impl Future<Output = RuntimeReport> + Send + use<> {
        let ended = unblocked::run(move || self.shutdown(how));
        async move { ended.await.unwrap_or(RuntimeReport { parts: Vec::new(), actors: None }) }
    }

    /// Blocks until somebody calls [`SystemHandle::stop`](crate::SystemHandle::stop), or a failure
    /// reaches the top; then ends all parts with [`Shutdown::Drain`].
    ///
    /// # Errors
    /// [`WaitError::OnWorker`] at once, if an actor of this system calls it; the program then ends
    /// as if this was dropped.
    pub fn wait(self) -> Result<RuntimeReport, WaitError> {
        self.wait_then(Shutdown::Drain)
    }

    /// Waits as [`Runtime::wait`] does, but ends the parts in another way, such as
    /// [`Shutdown::DrainWithin`].
    ///
    /// # Errors
    /// As there.
    pub fn wait_then(self, how: Shutdown) -> Result<RuntimeReport, WaitError> {
        self.wait_stopped()?;
        Ok(self.shutdown(how))
    }

    /// Runs until Ctrl-C, `SIGTERM`, [`SystemHandle::stop`](crate::SystemHandle::stop) or a failure
    /// that reaches the top. Then ends all parts ([`Shutdown::DrainWithin`]), and reports. A second
    /// signal drops what actors have not handled.
    ///
    /// For programs in async code; it blocks no thread of theirs. Other programs call
    /// [`Runtime::wait_for_signal`].
    ///
    /// # Errors
    /// As [`SystemHandle::stop_on_signals`](crate::SystemHandle::stop_on_signals); the program then
    /// ends as if this was dropped.
    #[cfg(feature = "signals")]
    pub async fn run_until_signal(
        self,
        limit: std::time::Duration,
    ) -> std::io::Result<RuntimeReport> {
        let _listening = self.stop_on_signals()?;
        self.stopped().await;
        Ok(self.shutdown_async(Shutdown::DrainWithin(limit)).await)
    }

    /// Does as [`Runtime::run_until_signal`], and blocks the thread meanwhile.
    ///
    /// # Errors
    /// As there, and [`WaitError::OnWorker`] (as an `io::Error`) if an
    /// actor of this system calls it.
    #[cfg(feature = "signals")]
    pub fn wait_for_signal(self, limit: std::time::Duration) -> std::io::Result<RuntimeReport> {
        let _listening = self.stop_on_signals()?;
        self.wait_stopped().map_err(std::io::Error::other)?;
        Ok(self.shutdown(Shutdown::DrainWithin(limit)))
    }
}

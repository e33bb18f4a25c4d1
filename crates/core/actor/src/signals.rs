//! Ctrl-C and `SIGTERM`, by which the world asks a program to end.

use crate::ending::{Shutdown, ShutdownReport};
use crate::system::System;
use crate::system_handle::SystemHandle;
use crate::unfinished::WaitError;
use actinium_scheduler::guard;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

/// Ctrl-C and `SIGTERM` stop a system until this is dropped: see [`SystemHandle::stop_on_signals`].
#[derive(Debug)]
#[must_use = "dropping it lets signals end the process at once, as before"]
pub struct StopOnSignals {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SystemHandle {
    /// From now on Ctrl-C or `SIGTERM` calls [`SystemHandle::stop`]; a second one drops what the
    /// system has not handled, as [`Shutdown::Drop`], and so cuts a drain short. It takes a thread.
    ///
    /// # Errors
    /// If the process may not listen to signals, or start a thread.
    pub fn stop_on_signals(&self) -> io::Result<StopOnSignals> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (handle, system) = (signals.handle(), self.clone());
        let thread = std::thread::Builder::new().name("actinium-signals".to_owned());
        let thread = thread.spawn(move || {
            for (number, _) in signals.forever().enumerate() {
                // It wakes whoever waits for the stop, by wakers of theirs.
                let _ = guard::catch(|| match number {
                    0 => system.stop(),
                    _ => system.inner.exit(),
                });
            }
        })?;
        Ok(StopOnSignals { handle, thread: Some(thread) })
    }
}

impl Drop for StopOnSignals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl System {
    /// Runs until Ctrl-C, `SIGTERM`, [`SystemHandle::stop`] or a failure that reaches the top. Then
    /// drains for no longer than `limit` ([`Shutdown::DrainWithin`]), and reports. A second signal
    /// cuts the drain short.
    ///
    /// For programs in async code; it blocks no thread of theirs. Other programs call
    /// [`System::wait_for_signal`].
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use actinium_actor::System;
    /// use std::time::Duration;
    ///
    /// let system = System::builder().build()?;
    /// let report = system.run_until_signal(Duration::from_secs(10)).await?;
    /// println!("{} messages handled, {} dropped", report.handled, report.dropped);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`SystemHandle::stop_on_signals`]; the system then ends as if it was dropped.
    pub async fn run_until_signal(self, limit: Duration) -> io::Result<ShutdownReport> {
        let _listening = self.stop_on_signals()?;
        self.stopped().await;
        Ok(self.shutdown_async(Shutdown::DrainWithin(limit)).await)
    }

    /// Does as [`System::run_until_signal`], and blocks the thread meanwhile.
    ///
    /// # Errors
    /// As [`SystemHandle::stop_on_signals`], and [`WaitError::OnWorker`] (as an [`io::Error`]) if
    /// an actor of this system calls it.
    pub fn wait_for_signal(&self, limit: Duration) -> io::Result<ShutdownReport> {
        if self.inner.is_on_worker() {
            return Err(io::Error::other(WaitError::OnWorker));
        }
        let _listening = self.stop_on_signals()?;
        self.wait_then(Shutdown::DrainWithin(limit)).map_err(io::Error::other)
    }
}

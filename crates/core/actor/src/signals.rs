//! Ctrl-C and `SIGTERM`, by which the world asks a program to end.

use crate::ending::{Shutdown, ShutdownReport};
use crate::system::System;
use crate::system_handle::SystemHandle;
use crate::unfinished::WaitError;
use actinium_scheduler::guard::{self, Guarded};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

/// Listens to Ctrl-C and `SIGTERM` until it is dropped: for a program that ends by its own rules.
/// One with a system needs no more than [`System::run_until_signal`].
///
/// ```
/// use actinium_actor::Interrupts;
/// use std::sync::mpsc;
///
/// let (sender, interrupts) = mpsc::channel();
/// let _listening = Interrupts::listen(move |times| drop(sender.send(times)))?;
/// assert!(interrupts.try_recv().is_err(), "nobody has interrupted it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it lets signals end the process at once, as before"]
pub struct Interrupts {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interrupts {
    /// Calls this with 1 at the first Ctrl-C (or `SIGTERM`), with 2 at the second, and so on, on a
    /// thread of its own. A panic of it is caught: it hears of the next signal all the same.
    ///
    /// # Errors
    /// If the process may not listen to signals, or start a thread.
    pub fn listen(act: impl FnMut(u32) + Send + 'static) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (handle, mut act) = (signals.handle(), Guarded::new(act));
        let thread = std::thread::Builder::new().name("interrupts".to_owned());
        let thread = thread.spawn(move || {
            for (times, _) in (1..).zip(signals.forever()) {
                let _ = guard::catch(|| act(times));
            }
        })?;
        Ok(Interrupts { handle, thread: Some(thread) })
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Ctrl-C and `SIGTERM` stop a system until this is dropped: see [`SystemHandle::stop_on_signals`].
#[derive(Debug)]
#[must_use = "dropping it lets signals end the process at once, as before"]
pub struct StopOnSignals {
    _listening: Interrupts,
}

impl SystemHandle {
    /// From now on Ctrl-C or `SIGTERM` calls [`SystemHandle::stop`]; a second one drops what the
    /// system has not handled, as [`Shutdown::Drop`], and so cuts a drain short. It takes a thread.
    ///
    /// # Errors
    /// As [`Interrupts::listen`].
    pub fn stop_on_signals(&self) -> io::Result<StopOnSignals> {
        let system = self.clone();
        let listening = Interrupts::listen(move |times| match times {
            1 => system.stop(),
            _ => system.inner.exit(),
        });
        Ok(StopOnSignals { _listening: listening? })
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

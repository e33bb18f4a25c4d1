//! Signals that ask a program to end.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::thread::JoinHandle;

/// Listens to Ctrl-C and `SIGTERM` until it is dropped.
#[derive(Debug)]
pub struct Interrupts {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interrupts {
    /// Calls this with 1 at the first Ctrl-C (or `SIGTERM`), with 2 at the second, and so on.
    ///
    /// # Errors
    /// If the system does not let us listen.
    pub fn listen(mut act: impl FnMut(u32) + Send + 'static) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new().name("interrupts".to_owned());
        let thread = thread.spawn(move || {
            for (index, _) in signals.forever().enumerate() {
                act(index as u32 + 1);
            }
        })?;
        Ok(Self { handle, thread: Some(thread) })
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

//! Signals that end the process: the terminal is left as it was before they do.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Holds signals back for a while.
pub(crate) struct Signals {
    /// The one that came last; 0: none.
    came: Arc<AtomicUsize>,
    /// From now on, they do what they would do without this.
    is_over: Arc<AtomicBool>,
}

impl Signals {
    /// Begins.
    ///
    /// # Errors
    /// If the process may not listen to signals.
    pub(crate) fn hold() -> io::Result<Self> {
        let signals = Signals { came: Arc::default(), is_over: Arc::default() };
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            // In this order: the first is asked first.
            flag::register_conditional_default(signal, signals.is_over.clone())?;
            flag::register_usize(signal, signals.came.clone(), signal as usize)?;
        }
        Ok(signals)
    }

    /// Whether one came.
    pub(crate) fn is_some(&self) -> bool {
        // Relaxed: the number is all that is told.
        self.came.load(Ordering::Relaxed) != 0
    }

    /// Does what the signal that came would have done: it ends the process. Nothing, if none came.
    ///
    /// # Errors
    /// If the signal can not be raised.
    pub(crate) fn release(self) -> io::Result<()> {
        // SeqCst: a signal that comes after this is not held.
        self.is_over.store(true, Ordering::SeqCst);
        // SeqCst: one that came before it is seen here.
        match self.came.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => low_level::emulate_default_handler(signal as i32),
        }
    }
}

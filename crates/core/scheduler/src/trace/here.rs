//! The span that is current on a thread.

use super::context::TraceContext;
use std::cell::Cell;

// The standard library's: the model checkers do not trace.
std::thread_local! {
    static CURRENT: Cell<Option<TraceContext>> = const { Cell::new(None) };
    /// Whether what the thread sends begins no trace: it is the runtime's own.
    static BEGINS_NONE: Cell<bool> = const { Cell::new(false) };
}

/// The traced step that the calling thread is at: that of the message that it handles, or of
/// [`scope`](crate::trace::scope). `None`: it is traced by nobody, as most are.
pub fn current() -> Option<TraceContext> {
    // A thread that ends has no such variable any more.
    CURRENT.try_with(Cell::get).unwrap_or(None)
}

/// Makes another step the current one; returns the one before.
pub(crate) fn replace(context: Option<TraceContext>) -> Option<TraceContext> {
    CURRENT.try_with(|it| it.replace(context)).unwrap_or(None)
}

/// Whether what the thread sends begins no trace.
pub(crate) fn begins_none() -> bool {
    BEGINS_NONE.try_with(Cell::get).unwrap_or(true)
}

/// Sets that; returns how it was.
pub(crate) fn set_begins_none(begins_none: bool) -> bool {
    BEGINS_NONE.try_with(|it| it.replace(begins_none)).unwrap_or(true)
}

//! What a failure says. Its text comes from user code, which may panic as well.

use actinium_scheduler::guard::{self, Panicked};

/// Why a module failed.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Returns the result of user code, or the text of its error or panic. Turning an error into text
/// runs user code, too.
pub(crate) fn said<R>(result: Result<Result<R, Cause>, Panicked>) -> Result<R, Box<str>> {
    match result {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(cause)) => Err(tell_cause(cause)),
        Err(panicked) => Err(panicked.to_string().into()),
    }
}

#[cold]
pub(crate) fn tell_cause(cause: Cause) -> Box<str> {
    let text = guard::catch(|| cause.to_string());
    guard::drop_guarded(cause);
    text.unwrap_or_else(|panicked| format!("its error was to be told, and {panicked}")).into()
}

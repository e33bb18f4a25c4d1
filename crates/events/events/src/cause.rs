//! What a failure says. Its text comes from user code, which may panic as well.

use actinium_scheduler::guard::{self, Panicked};

/// Why a module failed: any error, with its [sources](std::error::Error::source), which are told,
/// too.
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

/// The number of sources of an error that are told.
const SOURCES: usize = 32;

#[cold]
pub(crate) fn tell_cause(cause: Cause) -> Box<str> {
    let text = guard::catch(|| chain(&*cause));
    guard::drop_guarded(cause);
    text.unwrap_or_else(|panicked| format!("its error was to be told, and {panicked}")).into()
}

/// The error and its sources, each after the error that it caused. A source whose text that one has
/// already is left out.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    let sources = std::iter::successors(error.source(), |error| error.source());
    for source in sources.take(SOURCES).map(ToString::to_string) {
        if !last.contains(&source) {
            text.push_str(": ");
            text.push_str(&source);
        }
        last = source;
    }
    text
}

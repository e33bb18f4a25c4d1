//! Spans as spans of `tracing`, for the program's subscriber (feature `tracing`).
//!
//! A span of `tracing` begins where the handler is called, has the span that was current where the
//! message was sent as its parent, and is entered while the handler runs.

use super::context::TraceContext;
use super::span::Span;
use crate::guard::{self, Guarded};
use crate::log;
use std::cell::Cell;
use std::sync::{Arc, PoisonError, RwLock};
use tracing::field::Empty;

std::thread_local! {
    /// The ids of the span that is being made.
    static MADE: Cell<Option<(TraceContext, Option<u64>)>> = const { Cell::new(None) };
}

type Hook = Guarded<Box<dyn Fn(&tracing::Span, &Span) + Send + Sync>>;

/// The program's hook. The standard library's lock: the model checkers do not trace.
static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// Calls `hook` with each span of `tracing` that the runtime makes from now on, before it is
/// entered, and with what is known of it by then.
///
/// This is for subscribers that have ids of their own, as `tracing-opentelemetry`: the hook gives
/// the span the parent that it has on another node. It replaces the hook before it.
pub fn on_tracing_span(hook: impl Fn(&tracing::Span, &Span) + Send + Sync + 'static) {
    let hook: Hook = Guarded::new(Box::new(hook));
    let before = HOOK.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(hook));
    // Dropped without the lock: what it holds may trace.
    drop(before);
}

/// The context of the span of `tracing` that the calling thread is just making, entering or ending
/// for the runtime, and the id of its parent: for subscribers that have ids, too, and ask for them.
/// `None`: it does no such thing.
pub fn span_being_made() -> Option<(TraceContext, Option<u64>)> {
    MADE.try_with(Cell::get).unwrap_or(None)
}

/// The span of `tracing` that was current where a message was sent. It is kept so that there is
/// one when the message is handled.
#[derive(Clone, Debug)]
pub(crate) struct Origin(tracing::Span);

impl Origin {
    /// That of this thread.
    pub(crate) fn here() -> Self {
        Origin(caught(tracing::Span::current).unwrap_or_else(tracing::Span::none))
    }
}

/// The span of `tracing` beside one of the runtime's.
#[derive(Debug)]
pub(crate) struct Bridge {
    span: Option<tracing::Span>,
    ids: (TraceContext, Option<u64>),
}

impl Bridge {
    /// Makes it.
    pub(crate) fn open(span: &Span, origin: &Origin) -> Self {
        let ids = (span.context, span.parent);
        let made = with_ids(ids, || {
            let (trace, id) = (span.context.trace_id(), span.context.span_id());
            let made = tracing::info_span!(
                target: "actinium::span",
                parent: origin.0.id(),
                "span",
                otel.name = %span.name,
                otel.status_description = Empty,
                trace_id = %format_args!("{trace:032x}"),
                span_id = %format_args!("{id:016x}"),
                parent_id = span.parent.map(|id| display(format!("{id:016x}"))),
                message = span.message,
                actor = span.actor,
                worker = span.worker,
            );
            let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(hook) = hook {
                (***hook)(&made, span);
            }
            made
        });
        Bridge { span: made, ids }
    }

    /// Enters it until the result is dropped.
    pub(crate) fn enter(&self) -> Entered {
        let span = self.span.clone();
        Entered(span.and_then(|span| with_ids(self.ids, || span.entered())))
    }

    /// Ends it.
    pub(crate) fn close(&mut self, error: Option<&str>) {
        let Some(span) = self.span.take() else { return };
        with_ids(self.ids, || {
            if let Some(error) = error {
                span.record("otel.status_description", error);
                tracing::error!(target: "actinium::span", parent: &span, "{error}");
            }
            drop(span);
        });
    }
}

/// Calls the program's subscriber, which may ask for these ids.
fn with_ids<R>(ids: (TraceContext, Option<u64>), f: impl FnOnce() -> R) -> Option<R> {
    let before = MADE.try_with(|it| it.replace(Some(ids))).unwrap_or(None);
    let result = caught(f);
    let _ = MADE.try_with(|it| it.set(before));
    result
}

/// A span of `tracing` that this thread is in.
#[derive(Debug)]
pub(crate) struct Entered(Option<tracing::span::EnteredSpan>);

impl Drop for Entered {
    fn drop(&mut self) {
        let span = self.0.take();
        caught(|| drop(span));
    }
}

/// Calls the program's subscriber. Its panic is logged.
fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    match guard::catch(f) {
        Ok(result) => Some(result),
        Err(panicked) => {
            guard::count_here();
            log!(Error, {}, "the subscriber of tracing got a span of the runtime, and {panicked}");
            None
        }
    }
}

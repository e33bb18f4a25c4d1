//! Spans that have not ended: the one of the message that a thread handles, and those of what goes
//! on beside.

use super::bridge::{Bridge, Entered, Origin};
use super::context::TraceContext;
use super::here;
use super::scope::{Scope, apart};
use super::span::{Span, SpanKind};
use super::traces::{Carried, is_traced};
use crate::shared::Shared;
use crate::sync::Arc;
use std::borrow::Cow;
use std::cell::RefCell;

/// A span that has begun. One that is dropped before it has ended has failed.
#[derive(Debug)]
pub struct OpenSpan {
    shared: Arc<Shared>,
    /// `None`: it has ended.
    span: Option<Span>,
    bridge: Bridge,
}

impl OpenSpan {
    fn new(shared: &Arc<Shared>, span: Span, origin: &Origin) -> Self {
        let bridge = Bridge::open(&span, origin);
        OpenSpan { shared: shared.clone(), span: Some(span), bridge }
    }

    /// Begins one of this name, as a child of `parent`; `None`: as the beginning of a trace.
    fn begin(
        shared: &Arc<Shared>,
        kind: SpanKind,
        name: Cow<'static, str>,
        actor: u64,
        parent: Option<TraceContext>,
    ) -> Option<Self> {
        let traces = shared.traces();
        let now_ns = shared.clock().now_ns();
        let context = match parent {
            Some(parent) => traces.child(parent)?,
            None => traces.new_root()?,
        };
        let span = Span {
            context,
            parent: parent.map(TraceContext::span_id),
            is_parent_remote: parent.is_some_and(TraceContext::is_remote),
            kind,
            name,
            message: "",
            actor,
            sender: None,
            worker: None,
            sent_ns: now_ns,
            begin_ns: now_ns,
            end_ns: now_ns,
            error: None,
            zero_unix_ns: traces.zero_unix_ns(),
        };
        Some(OpenSpan::new(shared, span, &Origin::here()))
    }

    /// The step that it is, for what it causes.
    pub fn context(&self) -> Option<TraceContext> {
        self.span.as_ref().map(|span| span.context)
    }

    /// Calls `f` as part of it.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        let _entered = self.bridge.enter();
        let _scope = Scope::enter(self.context());
        f()
    }

    /// Ends it; `error` says why it failed, if it did.
    pub fn end(mut self, error: Option<Cow<'static, str>>) {
        self.finish(error);
    }

    fn finish(&mut self, error: Option<Cow<'static, str>>) {
        let Some(mut span) = self.span.take() else { return };
        span.end_ns = self.shared.clock().now_ns();
        span.error = error;
        // Listeners and subscribers are no part of the request.
        let _apart = Scope::enter(None);
        self.bridge.close(span.error.as_deref());
        self.shared.traces().ended(&span);
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.finish(Some("dropped before it was done".into()));
    }
}

/// A piece of code that has a name, as part of a trace. Whether it is traced is decided when it
/// begins, for all that it sends: see [`Step::begin`].
#[derive(Debug)]
#[must_use = "it ends when it is dropped, and then counts as failed"]
pub struct Step(Decided);

#[derive(Debug)]
enum Decided {
    /// Nobody traces.
    Nobody,
    /// It is none of the sample, or whoever asked for it does not want it to be.
    Not,
    Traced(Box<OpenSpan>),
}

impl Step {
    /// Begins one. It is a child of `parent` if there is one, else of the current step if there is
    /// one; else it begins a trace, if it is one of the sample ([`Shared::start_traces`]).
    pub fn begin(
        shared: &Arc<Shared>,
        name: impl Into<Cow<'static, str>>,
        parent: Option<TraceContext>,
    ) -> Self {
        let traces = shared.traces();
        if !traces.is_on() {
            return Step(Decided::Nobody);
        }
        let parent = parent.or_else(here::current);
        let is_traced = match parent {
            Some(parent) => parent.is_sampled(),
            None => traces.begins_here(),
        };
        if !is_traced {
            return Step(Decided::Not);
        }
        let span = OpenSpan::begin(shared, SpanKind::Code, name.into(), 0, parent);
        Step(span.map_or(Decided::Not, |span| Decided::Traced(Box::new(span))))
    }

    /// The step that it is, if it is traced: for what it causes elsewhere.
    pub fn context(&self) -> Option<TraceContext> {
        match &self.0 {
            Decided::Traced(span) => span.context(),
            Decided::Nobody | Decided::Not => None,
        }
    }

    /// Calls `f` as part of it.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Decided::Nobody => f(),
            Decided::Not => apart(f),
            Decided::Traced(span) => span.scope(f),
        }
    }

    /// Polls a future as part of it.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| self.scope(|| future.as_mut().poll(cx))).await
    }

    /// Ends it; `error` says why it failed, if it did.
    pub fn end(self, error: Option<Cow<'static, str>>) {
        if let Decided::Traced(span) = self.0 {
            span.end(error);
        }
    }
}

/// What goes on beside a step, for an actor: waiting for a future, say. Most steps are not traced:
/// then it is nothing.
#[derive(Debug, Default)]
pub struct Beside(Option<Box<OpenSpan>>);

impl Beside {
    /// Begins as a child of the current step, if that is traced.
    pub fn begin(shared: &Arc<Shared>, name: &'static str, actor: u64) -> Self {
        Beside(here::current().and_then(|parent| {
            if !shared.traces().is_on() {
                return None;
            }
            OpenSpan::begin(shared, SpanKind::Beside, name.into(), actor, Some(parent))
                .map(Box::new)
        }))
    }

    /// Calls `f` as part of it.
    pub fn scope<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(span) => span.scope(f),
            None => f(),
        }
    }

    /// The step that it is, for what it causes.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().and_then(|span| span.context())
    }

    /// Ends it; `error` says why it failed, if it did.
    pub fn end(self, error: Option<&'static str>) {
        if let Some(span) = self.0 {
            span.end(error.map(Cow::Borrowed));
        }
    }
}

// ---- messages
// --------------------------------------------------------------------------------------------------------

/// The message that a thread handles. The order of the fields is that in which they are dropped.
struct Handling {
    _entered: Entered,
    _scope: Scope,
    span: OpenSpan,
}

// The standard library's: the model checkers do not trace.
std::thread_local! {
    /// The messages that the thread handles: one, and more where a handler runs another system.
    static HANDLING: RefCell<Vec<Handling>> = const { RefCell::new(Vec::new()) };
}

/// To whom a traced message goes.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// The type of the actor.
    pub kind: &'static str,
    /// The identity of the actor, as a number.
    pub actor: u64,
    /// The type of the message.
    pub message: &'static str,
}

fn open_message(
    shared: &Arc<Shared>,
    carried: Carried,
    to: Receiver,
    worker: Option<usize>,
) -> OpenSpan {
    let now_ns = shared.clock().now_ns();
    let span = Span {
        context: carried.context,
        parent: carried.parent.map(TraceContext::span_id),
        is_parent_remote: carried.parent.is_some_and(TraceContext::is_remote),
        kind: SpanKind::Message,
        name: to.kind.into(),
        message: to.message,
        actor: to.actor,
        sender: carried.sender,
        worker,
        sent_ns: carried.sent_ns,
        begin_ns: now_ns,
        end_ns: now_ns,
        error: None,
        zero_unix_ns: shared.traces().zero_unix_ns(),
    };
    OpenSpan::new(shared, span, &carried.origin)
}

/// This thread handles a traced message from now on, until [`end_handling`].
pub(crate) fn begin_handling(shared: &Arc<Shared>, carried: Carried, to: Receiver, worker: usize) {
    let span = open_message(shared, carried, to, Some(worker));
    let (entered, scope) = (span.bridge.enter(), Scope::enter(span.context()));
    HANDLING.with_borrow_mut(|all| all.push(Handling { _entered: entered, _scope: scope, span }));
}

/// The traced message that this thread handles is done; `error` says why it failed, if it did.
pub fn end_handling(error: Option<Cow<'static, str>>) {
    let handling = HANDLING.with_borrow_mut(Vec::pop);
    if let Some(Handling { _entered, _scope, span }) = handling {
        drop((_entered, _scope));
        span.end(error);
    }
}

/// A message with this stamp reached nobody, for this reason: if it is traced, its span has failed.
#[cold]
#[inline(never)]
pub fn message_lost(
    shared: &Arc<Shared>,
    stamp_ns: u64,
    to: Receiver,
    error: impl Into<Cow<'static, str>>,
) {
    if is_traced(stamp_ns)
        && let Some(carried) = shared.traces().take(stamp_ns)
    {
        open_message(shared, carried, to, None).end(Some(error.into()));
    }
}

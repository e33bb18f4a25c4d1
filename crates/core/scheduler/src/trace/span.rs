//! The record of one step of a traced request.

use super::context::TraceContext;
use std::borrow::Cow;
use std::time::{Duration, SystemTime};

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanKind {
    /// A message to an actor, from when it was sent until its handler returned.
    Message,
    /// Something that an actor waited for, or that ran beside it: a future, a closure on another
    /// thread, a timer.
    Beside,
    /// A piece of code that the program, or a part of the runtime, has named.
    Code,
}

/// One step of a traced request, which has ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// The trace, and the span's own id.
    pub context: TraceContext,
    /// The id of the span that caused it; `None`: it began the trace.
    pub parent: Option<u64>,
    /// Whether that span is one of another node, from which the message came.
    pub is_parent_remote: bool,
    /// What it is.
    pub kind: SpanKind,
    /// Its name: for a message the type of the actor.
    pub name: Cow<'static, str>,
    /// The type of the message; empty if it is none.
    pub message: &'static str,
    /// The identity of the actor as a number; 0: no actor.
    pub actor: u64,
    /// The index of the worker that sent the message; `None`: another thread did.
    pub sender: Option<usize>,
    /// The index of the worker that handled it; `None`: none did, or it ran on another thread.
    pub worker: Option<usize>,
    /// When the message was sent, in nanoseconds since the scheduler was made. For other spans as
    /// `begin_ns`.
    pub sent_ns: u64,
    /// When its handler was called, in the same unit. A message that reached nobody begins when
    /// that was seen.
    pub begin_ns: u64,
    /// When its handler returned, in the same unit.
    pub end_ns: u64,
    /// Why it failed; `None`: it did not.
    pub error: Option<Cow<'static, str>>,
    /// When the scheduler was made, in nanoseconds since 1970; 0 in virtual time.
    pub(crate) zero_unix_ns: u64,
}

impl Span {
    /// When the message was sent, as the time of the day. A system in virtual time began in 1970.
    pub fn sent_at(&self) -> SystemTime {
        self.at(self.sent_ns)
    }

    /// When its handler was called, as the time of the day.
    pub fn begin_at(&self) -> SystemTime {
        self.at(self.begin_ns)
    }

    /// When its handler returned, as the time of the day.
    pub fn end_at(&self) -> SystemTime {
        self.at(self.end_ns)
    }

    fn at(&self, ns: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.zero_unix_ns.saturating_add(ns))
    }
}

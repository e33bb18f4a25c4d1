//! Traces: what one request causes, followed from message to message.
//!
//! A *trace* is a tree of [`Span`]s. Each span is one step of the request: a message, from when it
//! was sent until its handler returned; or something that went on beside. A message that is sent
//! while a span is *current* on the thread becomes a child of that span. Few requests are traced:
//! those that come in with a context ([`scope`]), and a sample of the others ([`Traces::start`]).
//!
//! # How a traced message finds its record
//!
//! A message carries nothing for it. It has a *stamp* anyway: the time at which it was sent, if its
//! latency is sampled, else 0. A traced message has a stamp with the highest bit set, which is the
//! key of a record beside (`traces.rs`). So mailboxes and lanes do not grow, and a
//! receiver looks at the same word as before.
//!
//! A worker that runs a traced step sets its countdown to the next sample to one: so each of its
//! sends takes the way of those that are sampled, which asks for the current span
//! (`worker::traced`). While nobody traces, no send and no turn has an instruction for it.

#[cfg_attr(not(feature = "tracing"), path = "bridge_off.rs")]
pub(crate) mod bridge;
pub(crate) mod context;
pub(crate) mod here;
pub(crate) mod open;
pub(crate) mod scope;
pub(crate) mod span;
pub(crate) mod traces;

#[cfg(feature = "tracing")]
pub use bridge::{on_tracing_span, span_being_made};
pub use context::{BadTraceparent, TraceContext};
pub use here::current;
pub use open::{Beside, OpenSpan, Receiver, Step, end_handling, message_lost};
pub use scope::{Scope, apart, follow, scope};
pub use span::{Span, SpanKind};
pub use traces::{TraceFigures, Traces, is_traced};

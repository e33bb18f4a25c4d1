//! How a span is shown in a trace, whatever the format of its file.

use super::model::Arg;
use actinium_actor::trace::{Span, SpanKind};

/// A span as it is shown.
pub(super) struct ShownSpan {
    /// Stands for the arrow, too.
    pub(super) id: u64,
    pub(super) name: String,
    /// The index of the worker on whose track it is; of all other threads the number of workers.
    pub(super) track: usize,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Where the arrow to it begins: the track, and when. `None`: no message has come to a handler.
    pub(super) sent: Option<(usize, u64)>,
    pub(super) args: Vec<(&'static str, Arg)>,
}

impl ShownSpan {
    pub(super) fn of(span: &Span, workers: usize) -> Self {
        let name = span.name.rsplit("::").next().unwrap_or(&span.name);
        let is_handled = span.kind == SpanKind::Message && span.worker.is_some();
        let text = |text: String| Arg::Text(text.into());
        let mut args = vec![
            ("trace", text(format!("{:032x}", span.context.trace_id()))),
            ("span", text(format!("{:016x}", span.context.span_id()))),
            ("message", Arg::Text(span.message.into())),
            ("actor", Arg::Number(span.actor)),
            ("waited ns", Arg::Number(span.begin_ns.saturating_sub(span.sent_ns))),
        ];
        if let Some(parent) = span.parent {
            args.push(("parent", text(format!("{parent:016x}"))));
        }
        if let Some(error) = &span.error {
            args.push(("error", Arg::Text(error.clone())));
        }
        ShownSpan {
            id: span.context.span_id(),
            name: match span.error {
                Some(_) => format!("{name} failed"),
                None => name.to_owned(),
            },
            // A message that reached nobody is on the sender's track.
            track: span.worker.or(span.sender).unwrap_or(workers),
            begin_ns: span.begin_ns,
            end_ns: span.end_ns.max(span.begin_ns),
            sent: is_handled.then(|| (span.sender.unwrap_or(workers), span.sent_ns)),
            args,
        }
    }
}

//! How a span is shown in a trace, whatever the format of its file.

use super::model::{Arg, short};
use actinium_actor::trace::{Span, SpanKind};

/// A span as it is shown.
pub(super) struct ShownSpan {
    /// Stands for the arrow, too.
    pub(super) id: u64,
    pub(super) name: String,
    /// The index of the worker that it belongs to; of all other threads the number of workers.
    pub(super) track: usize,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Where the arrow to it begins: the track, and when. `None`: no message has come to a handler.
    /// Such spans lie in no turn, and overlap: a future that is held, an event.
    pub(super) sent: Option<(usize, u64)>,
    /// The span of another node where a second arrow to it begins.
    pub(super) far_parent: Option<u64>,
    pub(super) args: Vec<(&'static str, Arg)>,
}

impl ShownSpan {
    pub(super) fn of(span: &Span, workers: usize) -> Self {
        let name = name_of(span);
        let is_handled = span.kind == SpanKind::Message && span.worker.is_some();
        let text = |text: String| Arg::Text(text.into());
        let mut args = vec![
            ("trace", text(format!("{:032x}", span.context.trace_id()))),
            ("span", text(format!("{:016x}", span.context.span_id()))),
            ("type", Arg::Text(span.name.clone())),
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
                None => name,
            },
            // A message that reached nobody belongs to its sender.
            track: span.worker.or(span.sender).unwrap_or(workers),
            far_parent: span.parent.filter(|_| span.is_parent_remote && is_handled),
            begin_ns: span.begin_ns,
            end_ns: span.end_ns.max(span.begin_ns),
            sent: is_handled.then(|| (span.sender.unwrap_or(workers), span.sent_ns)),
            args,
        }
    }
}

/// A message is called by its sort, for the turn around it has the name of the actor's type.
fn name_of(span: &Span) -> String {
    let name = shortened(&span.name);
    match span.message {
        "" => name,
        message => format!("{} to {name}", short(message)),
    }
}

/// A name whose words have no paths before them.
fn shortened(name: &str) -> String {
    let (head, rest) = name.split_at(name.find('<').unwrap_or(name.len()));
    let words = head.split(' ').map(|word| word.rsplit("::").next().unwrap_or(word));
    words.collect::<Vec<_>>().join(" ") + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_paths_and_none_is_lost() {
        assert_eq!(shortened("POST a::b::Shop"), "POST Shop");
        assert_eq!(shortened("a::Map<b::Key, c::Value>"), "Map<b::Key, c::Value>");
        assert_eq!(shortened("event 7"), "event 7");
    }
}

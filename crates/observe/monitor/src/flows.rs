//! Sampled messages in a trace: slices of their handlers, and arrows to them from where they were
//! sent.

use actinium_actor::SystemHandle;
use actinium_actor::trace::{Span, SpanKind};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Spans that wait to be written. More are counted, and lost.
const WAITING_MAX: usize = 1 << 16;
/// The share of messages from outside that are followed if the program has not said otherwise.
const SHARE: f64 = 1.0 / 1000.0;

/// The spans that have ended since they were last written.
#[derive(Debug, Default)]
struct Waiting {
    spans: Vec<Span>,
    lost: u64,
}

/// Sampled messages of a system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows(Arc<Mutex<Waiting>>);

impl Flows {
    /// Those of this system from now on.
    pub(crate) fn of(system: &SystemHandle) -> Self {
        let flows = Flows::default();
        let to = flows.clone();
        system.on_span(move |span| to.add(span));
        if !system.traces() {
            system.sample_traces(SHARE);
        }
        system.start_flows();
        flows
    }

    fn add(&self, span: &Span) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.spans.len() < WAITING_MAX {
            waiting.spans.push(span.clone());
        } else {
            waiting.lost += 1;
        }
    }

    /// The events to write, with their tracks, and how many spans are missing. Behind the workers
    /// there is a track for all other threads.
    pub(crate) fn take(&self, workers: usize) -> (Vec<(Value, usize)>, u64) {
        let Waiting { spans, lost } =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        (spans.iter().flat_map(|span| events(span, workers)).collect(), lost)
    }
}

fn events(span: &Span, workers: usize) -> Vec<(Value, usize)> {
    let us = |ns: u64| ns as f64 * 1e-3;
    let id = format!("{:016x}", span.context.span_id());
    let args = json!({
        "trace": format!("{:032x}", span.context.trace_id()),
        "span": id,
        "parent": span.parent.map(|id| format!("{id:016x}")),
        "message": span.message,
        "actor": span.actor,
        "waited us": us(span.begin_ns.saturating_sub(span.sent_ns)),
        "error": span.error,
    });
    let name = span.name.rsplit("::").next().unwrap_or(&span.name);
    // A message that reached nobody is a moment on the sender's track.
    let at = span.worker.or(span.sender).unwrap_or(workers);
    if span.kind != SpanKind::Message || span.worker.is_none() {
        let name = if span.error.is_some() { format!("{name} failed") } else { name.to_owned() };
        let (begin, end) = (us(span.begin_ns), us(span.end_ns));
        let event = |ph, ts| {
            json!({
                "ph": ph, "cat": "span", "name": name, "id": id, "ts": ts, "args": args,
            })
        };
        return vec![(event("b", begin), at), (event("e", end), at)];
    }
    let dur = us(span.end_ns.saturating_sub(span.begin_ns));
    let (sent, begin) = (us(span.sent_ns), us(span.begin_ns));
    let mut events = vec![(
        json!({
            "ph": "X", "cat": "span", "name": name, "ts": begin, "dur": dur, "args": args,
        }),
        at,
    )];
    if span.sender.is_none() {
        let send = json!({ "ph": "X", "cat": "span", "name": "send", "ts": sent, "dur": 0.001 });
        events.push((send, workers));
    }
    let flow = |ph, ts| {
        json!({
            "ph": ph, "bp": "e", "cat": "flow", "name": "message", "id": id, "ts": ts,
        })
    };
    events.push((flow("s", sent), span.sender.unwrap_or(workers)));
    events.push((flow("f", begin), at));
    events
}

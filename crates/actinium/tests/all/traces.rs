//! Spans of requests are spans of `tracing`.

use actinium::prelude::*;
use actinium::testing::TestSystem;
use actinium::trace::{self, TraceContext};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What a subscriber has seen.
#[derive(Default)]
struct Seen {
    /// The fields of each span.
    spans: Vec<BTreeMap<String, String>>,
    /// The spans that are entered, and what was said in which.
    entered: Vec<u64>,
    said: Vec<(String, Option<u64>)>,
    closed: usize,
}

#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Keeps {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "actinium::span" || metadata.target().contains("traces")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut seen = self.0.lock().unwrap();
        assert!(!attributes.is_contextual(), "it says whose child it is");
        seen.spans.push(fields.0);
        Id::from_u64(seen.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let place = span.into_u64() as usize - 1;
        self.0.lock().unwrap().spans[place].extend(fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut seen = self.0.lock().unwrap();
        let at = event.parent().map(Id::into_u64).or(seen.entered.last().copied());
        seen.said.push((fields.0.remove("message").unwrap(), at));
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.lock().unwrap().entered.pop(), Some(span.into_u64()));
    }

    fn clone_span(&self, span: &Id) -> Id {
        span.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        self.0.lock().unwrap().closed += 1;
        true
    }
}

struct Passes(Option<Address<Passes>>);

impl Actor for Passes {
    type Msg = bool;

    fn handle(&mut self, fails: bool, _: &mut Context<'_, Self>) {
        tracing::info!("handled");
        assert!(!fails, "as it was told");
        if let Some(next) = &self.0 {
            next.tell(false);
        }
    }
}

#[test]
fn a_span_is_one_of_tracing_around_the_handler() {
    let keeps = Keeps::default();
    tracing::subscriber::with_default(keeps.clone(), || {
        let mut system = TestSystem::seeded(1);
        system.sample_traces(0.0);
        let two = system.spawn(Passes(None));
        let one = system.spawn(Passes(Some(two.clone())));
        trace::scope(TraceContext::new(0x2a, 7, true), || one.tell(false));
        two.tell(false);
        system.run_until_idle();
        trace::scope(TraceContext::new(0x2b, 7, true), || two.tell(true));
        system.run_until_idle();
    });
    let seen = keeps.0.lock().unwrap();
    assert_eq!(seen.spans.len(), 3, "{:?}", seen.spans);
    let field = |span: usize, name: &str| seen.spans[span][name].trim_matches('"').to_owned();
    assert_eq!(field(0, "trace_id"), format!("{:032x}", 0x2a));
    assert_eq!(field(0, "parent_id"), format!("{:016x}", 7));
    assert_eq!(field(1, "parent_id"), field(0, "span_id"));
    assert!(field(0, "otel.name").ends_with("Passes"));
    assert_eq!((field(0, "message"), field(0, "worker")), ("bool".to_owned(), "0".to_owned()));
    assert!(field(2, "otel.status_description").contains("as it was told"));
    // What the handlers say is said in their spans; the message between was in none.
    let handled: Vec<_> = seen.said.iter().filter(|it| it.0 == "handled").map(|it| it.1).collect();
    assert_eq!(handled.iter().flatten().count(), 3);
    assert_eq!(handled.len(), 4);
    assert!(seen.entered.is_empty() && seen.closed >= 3, "{}", seen.closed);
}

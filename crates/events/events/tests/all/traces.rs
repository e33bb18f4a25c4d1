//! A request goes on from an actor into a graph, and from the graph to an actor.

use actinium_actor::trace::{self, Span, TraceContext};
use actinium_actor::{Actor, Context, Mailbox, Recipient, SpawnOptions, System};
use actinium_events::{
    Analyzer, Builder, Cause, Event, EventSender, Processor, Settings, Tell, Threads, channel,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Sends numbers into a graph.
struct Front(EventSender<u64>);

impl Actor for Front {
    type Msg = u64;
    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        self.0.try_send(n).unwrap();
    }
}

/// Is told by a graph.
struct Back(Arc<Mutex<Vec<(u64, u128)>>>);

impl Actor for Back {
    type Msg = u64;
    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        let trace = trace::current().map_or(0, TraceContext::trace_id);
        self.0.lock().unwrap().push((n, trace));
    }
}

/// Fails at one number.
struct FailsAt(actinium_events::Input<u64>, u64);

impl Analyzer for FailsAt {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        if *event.get(self.0) == self.1 { Err("not this one".into()) } else { Ok(()) }
    }
}

#[test]
fn an_event_is_part_of_the_request_that_sent_it_and_so_is_what_the_graph_tells() {
    for slots in [1, 4] {
        let system = System::builder().workers(2).build().unwrap();
        system.sample_traces(0.0);
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let to = spans.clone();
        system.on_span(move |span| to.lock().unwrap().push(span.clone()));
        let told = Arc::<Mutex<Vec<(u64, u128)>>>::default();
        let back = told.clone();
        // A mailbox that is full at times: then the graph waits.
        let bounded = SpawnOptions::new().mailbox(Mailbox::bounded(1));
        let back = system.spawn_with(bounded, move || Back(back.clone())).unwrap();
        let (sender, source) = channel(64);
        let front = system.spawn(Front(sender.clone()));

        let mut builder = Builder::new("numbers", source);
        builder.analyzer("fails", Threads::Concurrent, |inputs| FailsAt(inputs.get("numbers"), 20));
        let to = Recipient::from(&back);
        builder.async_output("tell", Threads::Concurrent, move |inputs| {
            Tell::new(inputs.get("numbers"), &to, |_, n: &u64| *n)
        });
        let settings = Settings::default().slots(slots).on_error(actinium_events::OnError::Skip);
        let running = Processor::new(builder.build().unwrap(), settings).start(&system).unwrap();
        for n in 0..40 {
            // Each fourth is traced.
            let context = TraceContext::new(u128::from(n) + 1, 7, n % 4 == 0);
            trace::scope(context, || front.send(n).unwrap());
        }
        system.wait_idle(MINUTE).unwrap();
        sender.end();
        let summary = running.wait().unwrap();
        assert_eq!((summary.events, summary.failed), (39, 1), "{summary:?}");
        system.wait_idle(MINUTE).unwrap();

        let mut told = told.lock().unwrap().clone();
        told.sort_unstable();
        let trace = |n: u64| if n.is_multiple_of(4) { u128::from(n) + 1 } else { 0 };
        let expected: Vec<_> = (0..40).filter(|&n| n != 20).map(|n| (n, trace(n))).collect();
        assert_eq!(told, expected);

        let spans = spans.lock().unwrap();
        for n in (0_u64..40).step_by(4) {
            let of: Vec<_> =
                spans.iter().filter(|it| it.context.trace_id() == u128::from(n) + 1).collect();
            let find = |name: &str| of.iter().find(|it| it.name.contains(name));
            let (front, event) = (find("Front").unwrap(), find("event ").unwrap());
            assert_eq!(front.parent, Some(7));
            assert_eq!(event.parent, Some(front.context.span_id()));
            if n == 20 {
                assert!(event.error.as_ref().unwrap().contains("not this one"), "{event:?}");
                assert_eq!(of.len(), 2);
            } else {
                // A mailbox that was full has ended a span, too.
                let back = of.iter().find(|it| it.name.contains("Back") && it.error.is_none());
                assert_eq!(back.unwrap().parent, Some(event.context.span_id()));
                assert_eq!(event.error, None);
            }
        }
    }
}

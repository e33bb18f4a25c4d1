//! A request's `traceparent` is honoured, and passed on to the actor.

use crate::desk::{Client, Office, Said, Talk};
use actinium_actor::SystemHandle;
use actinium_actor::trace::{Span, SpanKind};
use actinium_wire::Encoding;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;

const PARENT: &str = "00-0000000000000000000000000000002a-0000000000000007-01";
const NOT_SAMPLED: &str = "00-0000000000000000000000000000002a-0000000000000007-00";

fn spans(office: &Office) -> Arc<Mutex<Vec<Span>>> {
    let spans = Arc::<Mutex<Vec<Span>>>::default();
    let to = spans.clone();
    SystemHandle::of(&office.desk).on_span(move |span| to.lock().unwrap().push(span.clone()));
    spans
}

async fn add(office: &Office, traceparent: Option<&str>) {
    let kind = ("content-type", "application/json");
    let mut headers = vec![kind];
    headers.extend(traceparent.map(|it| ("traceparent", it)));
    assert_eq!(office.post(&headers, b"{\"Add\":1}").await.status, 200);
}

/// The step of the request, and the message in it.
fn pair(spans: &[Span]) -> (&Span, &Span) {
    let code = spans.iter().find(|span| span.kind == SpanKind::Code).unwrap();
    let message = spans.iter().find(|span| span.kind == SpanKind::Message).unwrap();
    assert_eq!(message.parent, Some(code.context.span_id()));
    (code, message)
}

#[tokio::test]
async fn a_post_is_part_of_the_trace_that_its_header_names() {
    let office = Office::open(|builder| builder);
    SystemHandle::of(&office.desk).sample_traces(0.0);
    let spans = spans(&office);
    add(&office, None).await;
    add(&office, Some(NOT_SAMPLED)).await;
    add(&office, Some("no traceparent")).await;
    assert!(spans.lock().unwrap().is_empty());
    add(&office, Some(PARENT)).await;
    wait_for(&spans, 2).await;
    let all = spans.lock().unwrap();
    let (code, message) = pair(&all);
    assert_eq!((code.context.trace_id(), code.parent), (0x2a, Some(7)));
    assert!(code.name.starts_with("POST ") && code.error.is_none(), "{code:?}");
    assert!(message.name.ends_with("Desk"));
    assert_eq!(SystemHandle::of(&office.desk).trace_figures().bad_traceparents, 1);
}

/// Waits until so many spans have ended, for the client may hear its answer before that.
async fn wait_for(spans: &Mutex<Vec<Span>>, count: usize) {
    while spans.lock().unwrap().len() < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn without_a_header_a_share_of_the_requests_begins_a_trace() {
    let office = Office::open(|builder| builder);
    SystemHandle::of(&office.desk).sample_traces(1.0);
    let spans = spans(&office);
    add(&office, None).await;
    add(&office, Some(NOT_SAMPLED)).await;
    wait_for(&spans, 2).await;
    let all = spans.lock().unwrap().clone();
    assert_eq!(all.len(), 2, "the client did not want the other one to be traced");
    assert_eq!(pair(&all).0.parent, None);
    assert_eq!(office.post_json("{}").await.status, 400);
    wait_for(&spans, 3).await;
    assert!(spans.lock().unwrap().pop().unwrap().error.is_some());
}

#[tokio::test]
async fn each_message_of_a_socket_is_part_of_the_trace_of_its_upgrade() {
    let office = Office::open(|builder| builder);
    SystemHandle::of(&office.desk).sample_traces(0.0);
    let spans = spans(&office);
    let stream = TcpStream::connect(office.address()).await.unwrap();
    let request = office.request(&[("traceparent", PARENT)]);
    let mut client = Client::connect(stream, request, Encoding::Text).await;
    for total in 1..=2 {
        client.say(&Talk::Add(1)).await;
        assert!(matches!(client.hear().await, Said::Talk(Talk::Total(it)) if it == total));
    }
    wait_for(&spans, 4).await;
    let all = spans.lock().unwrap().clone();
    let (code, _) = pair(&all);
    assert!(code.name.starts_with("WebSocket ") && code.parent == Some(7), "{code:?}");
    assert!(all.iter().all(|span| span.context.trace_id() == 0x2a && span.error.is_none()));
    let mut plain = office.socket(Encoding::Text).await;
    plain.say(&Talk::Add(1)).await;
    assert!(matches!(plain.hear().await, Said::Talk(Talk::Total(3))));
    assert_eq!(spans.lock().unwrap().len(), 4);
}

//! A request is followed from node to node: its context goes with the messages in frames.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use actinium_actor::trace::{self, Span, TraceContext};
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::{RemoteActor, RemoteAddress};
use std::sync::{Arc, Mutex};

/// Passes a number on to the next node, or keeps it.
struct Relay {
    next: Option<RemoteAddress<Relay>>,
    seen: Arc<Mutex<Vec<Option<TraceContext>>>>,
}

enum RelayMsg {
    Pass(u64),
    Ask(Reply<u64>),
}

impl Actor for Relay {
    type Msg = RelayMsg;

    fn handle(&mut self, msg: RelayMsg, ctx: &mut Context<'_, Self>) {
        self.seen.lock().unwrap().push(trace::current());
        match (msg, &self.next) {
            (RelayMsg::Pass(n), Some(next)) if n > 0 => next.send(n - 1).unwrap(),
            (RelayMsg::Pass(_), _) => {}
            (RelayMsg::Ask(reply), Some(next)) => {
                let answer = next.ask((), LIMIT);
                ctx.hold(answer, |_, answer, _| reply.send(answer.unwrap() + 1).unwrap());
            }
            (RelayMsg::Ask(reply), None) => reply.send(0).unwrap(),
        }
    }
}

impl RemoteActor for Relay {
    const KIND: &'static str = "test.relay";
    type Message = u64;
    type Request = ();
    type Answer = u64;

    fn message(n: u64) -> RelayMsg {
        RelayMsg::Pass(n)
    }

    fn request((): (), reply: Reply<u64>) -> RelayMsg {
        RelayMsg::Ask(reply)
    }
}

type Seen = Arc<Mutex<Vec<Option<TraceContext>>>>;
type Spans = Arc<Mutex<Vec<Span>>>;

/// A relay on each of three nodes, the first of which knows the second and so on; what they see,
/// and the spans of each node.
fn relays(seed: u64) -> (Cluster, [Seen; 3], [Spans; 3], RemoteAddress<Relay>) {
    let mut cluster = Cluster::new(seed, 3, bad_network(), reliable());
    let seen: [Seen; 3] = Default::default();
    let spans: [Spans; 3] = Default::default();
    let mut next = None;
    for at in (0..3).rev() {
        let host = &cluster.hosts[at];
        let to = spans[at].clone();
        host.system.on_span(move |span| to.lock().unwrap().push(span.clone()));
        let relay = host.system.spawn(Relay { next, seen: seen[at].clone() });
        host.node.export("relay", &relay).unwrap();
        // From the node before, or from the last one for the first.
        let from = (at + 2) % 3;
        let answer = cluster.hosts[from].node.lookup(NodeId(at as u32), "relay", LIMIT);
        next = Some(cluster.wait(answer).unwrap());
        std::mem::forget(relay);
    }
    (cluster, seen, spans, next.unwrap())
}

fn request() -> Option<TraceContext> {
    TraceContext::new(7, 8, true)
}

#[test]
fn a_context_goes_with_a_message_from_node_to_node() {
    for seed in 0..2 {
        let (mut cluster, seen, spans, first) = relays(seed);
        for host in &cluster.hosts {
            host.system.sample_traces(0.0);
        }
        first.send(5).unwrap();
        trace::scope(request(), || first.send(5)).unwrap();
        first.send(5).unwrap();
        cluster.steps(300);
        for seen in &seen {
            let seen = seen.lock().unwrap();
            let is_traced: Vec<_> = seen.iter().map(Option::is_some).collect();
            assert_eq!(is_traced, [false, true, false], "only one of three is part of a trace");
            assert_eq!(seen[1].unwrap().trace_id(), 7);
        }
        // Each is a child of the one on the node before.
        let mut parent = 8;
        for spans in &spans {
            let spans = spans.lock().unwrap();
            assert_eq!(spans.len(), 1, "{spans:?}");
            assert_eq!((spans[0].parent, spans[0].context.trace_id()), (Some(parent), 7));
            parent = spans[0].context.span_id();
        }
        for host in &cluster.hosts {
            assert!(host.system.audit().is_balanced());
            assert_eq!(host.node.stats().not_understood, 0);
        }
    }
}

#[test]
fn a_node_that_does_not_trace_hands_messages_over_all_the_same() {
    let (mut cluster, seen, spans, first) = relays(1);
    cluster.hosts[2].system.sample_traces(0.0);
    cluster.hosts[0].system.sample_traces(0.0);
    trace::scope(request(), || first.send(5)).unwrap();
    cluster.steps(300);
    assert_eq!(seen.each_ref().map(|seen| seen.lock().unwrap().len()), [1; 3]);
    assert_eq!(spans.each_ref().map(|it| it.lock().unwrap().len()), [1, 0, 0]);
}

#[test]
fn an_ask_over_nodes_is_one_trace() {
    let (mut cluster, _, spans, first) = relays(2);
    for host in &cluster.hosts {
        host.system.sample_traces(0.0);
    }
    let answer = trace::scope(request(), || first.ask((), LIMIT));
    assert_eq!(cluster.wait(answer).unwrap(), 2);
    cluster.steps(100);
    let all: Vec<Span> = spans.iter().flat_map(|it| it.lock().unwrap().clone()).collect();
    assert!(all.iter().all(|span| span.context.trace_id() == 7 && span.error.is_none()), "{all:?}");
    let relays = all.iter().filter(|span| span.name.ends_with("Relay")).count();
    let holds = all.iter().filter(|span| span.name == "hold").count();
    assert_eq!((relays, holds), (3, 2));
    let ids: Vec<_> = all.iter().map(|span| span.context.span_id()).collect();
    assert!(all.iter().all(|span| span.parent.is_some_and(|id| id == 8 || ids.contains(&id))));
}

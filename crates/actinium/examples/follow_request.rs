//! One request, followed from an HTTP gateway through actors on two nodes into an event graph.
//!
//! `cargo run --release -p actinium --features cluster,events,gateway --example follow_request`
//!
//! The nodes share a process here, on the in-process fabric. Each has a system of its own, and a
//! listener that gets the spans which end there. All spans of a request have the id of its trace,
//! so that whoever collects those of all nodes can put them together: as `main` does here, or a
//! collector of OpenTelemetry (docs/tracing.md).

#![allow(unreachable_pub)] // When the tests include this file.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::{Node, NodeConfig, RemoteActor, RemoteAddress};
use actinium::events::{
    Builder, Cause, Event, EventSender, Input, Processor, Producer, Running, Settings, Tell,
    Threads, channel,
};
use actinium::gateway::Gateway;
use actinium::prelude::*;
use actinium::trace::{Span, SpanKind};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

// ---- node 0: the shop, which browsers reach
// ----------------------------------------------------------------------------

struct Shop {
    store: RemoteAddress<Store>,
}

#[actor(gateway)]
impl Shop {
    /// Sends an order on to the store.
    pub fn order(&mut self, pieces: u64) -> bool {
        self.store.send(pieces).is_ok()
    }
}

// ---- node 1: the store, whose graph works out prices, and the clerk that hears of them
// ---------------------------------------------------------------------------------------

struct Store {
    graph: EventSender<u64>,
}

impl Actor for Store {
    type Msg = u64;

    fn handle(&mut self, pieces: u64, ctx: &mut Context<'_, Self>) {
        // The graph may be busy: the order waits for a place in it.
        ctx.hold(self.graph.send(pieces), |_, sent, ctx| {
            if sent.is_err() {
                ctx.stop();
            }
        });
    }
}

impl RemoteActor for Store {
    const KIND: &'static str = "example.store";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(pieces: u64) -> u64 {
        pieces
    }
    fn request((): (), _: Reply<()>) -> u64 {
        unreachable!("its type says that it answers nothing: nobody asks")
    }
}

struct Price(Input<u64>);

impl Producer for Price {
    type Product = f64;

    fn produce(&self, event: &Event<'_>) -> Result<f64, Cause> {
        Ok(*event.get(self.0) as f64 * 2.5)
    }
}

struct Clerk {
    out: mpsc::Sender<f64>,
}

impl Actor for Clerk {
    type Msg = f64;

    fn handle(&mut self, price: f64, _: &mut Context<'_, Self>) {
        // The program has ended if nobody listens.
        let _ = self.out.send(price);
    }
}

fn start_graph(
    system: &System,
    clerk: Address<Clerk>,
) -> Result<(EventSender<u64>, Running), Box<dyn Error>> {
    let (sender, source) = channel(16);
    let (mut graph, pieces) = Builder::with_source("orders", source);
    let price =
        graph.producer("price", Threads::Concurrent, move |inputs| Price(inputs.get(pieces)));
    graph.async_output("tell", Threads::Concurrent, move |inputs| {
        Tell::new(inputs.get(price), &clerk, |_, price: &f64| *price)
    });
    Ok((sender, Processor::new(graph.build()?, Settings::default()).start(system)?))
}

// ---- the spans of both nodes
// -------------------------------------------------------------------------------------------------

/// Each span that has ended, with the number of its node.
type Spans = Arc<Mutex<Vec<(u32, Span)>>>;

fn system(node: u32, spans: &Spans) -> Result<System, Box<dyn Error>> {
    // Requests that come with a context are traced, and no others.
    let system = System::builder().workers(1).sample_traces(0.0).build()?;
    let to = spans.clone();
    system.on_span(move |span| {
        if let Ok(mut spans) = to.lock() {
            spans.push((node, span.clone()));
        }
    });
    Ok(system)
}

/// The spans below this one, each a line.
fn tree(parent: u64, depth: usize, spans: &[(u32, Span)], text: &mut String) {
    for (node, span) in spans.iter().filter(|(_, span)| span.parent == Some(parent)) {
        let name = match span.kind {
            SpanKind::Message => format!("message to {}", short(&span.name)),
            _ => short(&span.name),
        };
        text.push_str(&format!("{:1$}node {node}: {name}\n", "", 2 * depth));
        tree(span.context.span_id(), depth + 1, spans, text);
    }
}

/// A name without the paths in it.
fn short(name: &str) -> String {
    let words = name.split(' ').map(|word| word.rsplit("::").next().unwrap_or(word));
    words.collect::<Vec<_>>().join(" ")
}

fn post(address: std::net::SocketAddr, traceparent: &str) -> Result<String, Box<dyn Error>> {
    let body = "{\"Order\":{\"pieces\":4}}";
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /shop HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ntraceparent: {traceparent}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let spans = Spans::default();
    let systems = [system(0, &spans)?, system(1, &spans)?];
    let network = Network::new();
    let mut nodes = Vec::new();
    for (id, system) in (0..).zip(&systems) {
        let fabric = network.node(NodeId(id));
        nodes.push(Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?);
    }

    let (out, prices) = mpsc::channel();
    let clerk = systems[1].spawn(Clerk { out });
    let (graph, running) = start_graph(&systems[1], clerk)?;
    nodes[1].export("store", &systems[1].spawn(Store { graph: graph.clone() }))?;
    let store = nodes[0].find::<Store>(NodeId(1), "store", TIMEOUT).wait()?;
    let shop = systems[0].spawn(Shop { store });
    let gateway = Gateway::builder().serve("shop", &shop)?.start("127.0.0.1:0")?;

    // Somebody traces a request, and has begun with span 7.
    let request = "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01";
    let answer = post(gateway.address(), request)?;
    let price = prices.recv_timeout(TIMEOUT).map_err(|_| answer.clone())?;
    // All spans have ended when all is at rest.
    gateway.stop();
    graph.end();
    running.wait()?;
    systems.iter().try_for_each(|system| system.wait_idle(TIMEOUT))?;

    let mut text = format!("{answer}, and the price is {price}\n");
    let spans = spans.lock().map_err(|_| "a listener has panicked")?;
    tree(7, 0, &spans, &mut text);
    nodes.iter().for_each(Node::leave);
    Ok(text)
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}

//! The spans of a request over two nodes arrive by OTLP as one trace. A program of its own: its
//! subscriber is the process's.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::{Node, NodeConfig, RemoteActor, RemoteAddress};
use actinium::prelude::*;
use actinium::trace::{self, Span, TraceContext};
use actinium_otlp::{Ids, set_parents};
use bytes::Bytes;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1 as otlp;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prost::Message as _;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt as _;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Posts by hand, on the exporter's own thread.
#[derive(Debug)]
struct Posts(SocketAddr);

#[async_trait::async_trait]
impl HttpClient for Posts {
    async fn send_bytes(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let mut stream = TcpStream::connect(self.0)?;
        write!(stream, "POST {} HTTP/1.1\r\n", request.uri().path())?;
        for (name, value) in request.headers() {
            write!(stream, "{name}: {}\r\n", value.to_str()?)?;
        }
        write!(stream, "content-length: {}\r\n\r\n", request.body().len())?;
        stream.write_all(request.body())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Ok(http::Response::new(Bytes::new()))
    }
}

/// Takes spans as a collector does: one request for each connection.
fn collector() -> Result<(SocketAddr, mpsc::Receiver<otlp::Span>), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (sender, spans) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            for span in take(stream.expect("a client")).expect("a request that is OTLP") {
                // The test has ended if nobody listens.
                let _ = sender.send(span);
            }
        }
    });
    Ok((address, spans))
}

fn take(stream: TcpStream) -> Result<Vec<otlp::Span>, Box<dyn Error>> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut head) = (0, Vec::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse()?;
        }
        head.push(line);
    }
    assert_eq!(head[0], "post /v1/traces http/1.1");
    assert!(head.contains(&"content-type: application/x-protobuf".to_owned()), "{head:?}");
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    reader.get_mut().write_all(answer)?;
    let request = ExportTraceServiceRequest::decode(&*body)?;
    let scopes = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
    Ok(scopes.flat_map(|it| it.spans).collect())
}

/// Passes a number on to the other node, which fails at it.
struct Relay(Option<RemoteAddress<Relay>>);

impl Actor for Relay {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        match &self.0 {
            Some(next) => {
                tracing::info_span!("inside").in_scope(|| next.send(n)).expect("it is up")
            }
            None => panic!("{n} is too much"),
        }
    }
}

impl RemoteActor for Relay {
    const KIND: &'static str = "test.relay";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(n: u64) -> u64 {
        n
    }
    fn request((): (), _: Reply<()>) -> u64 {
        unreachable!("nobody asks")
    }
}

fn node(
    network: &Network,
    id: u32,
) -> Result<(System, Node, mpsc::Receiver<Span>), Box<dyn Error>> {
    let system = System::builder().workers(1).sample_traces(0.0).build()?;
    let (sender, spans) = mpsc::channel();
    system.on_span(move |span| drop(sender.send(span.clone())));
    let fabric = network.node(NodeId(id));
    let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?;
    Ok((system, node, spans))
}

#[test]
fn a_request_over_two_nodes_arrives_as_one_trace() -> Result<(), Box<dyn Error>> {
    let (collector, collected) = collector()?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Posts(collector))
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("http://{collector}/v1/traces"))
        .build()?;
    let provider = SdkTracerProvider::builder()
        .with_id_generator(Ids::default())
        .with_batch_exporter(exporter)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    set_parents();

    let network = Network::new();
    let [(one, a, of_one), (two, b, of_two)] = [node(&network, 0)?, node(&network, 1)?];
    b.export("relay", &two.spawn(Relay(None)))?;
    let far = a.find::<Relay>(NodeId(1), "relay", TIMEOUT).wait()?;
    let near = one.spawn(Relay(Some(far)));
    trace::scope(TraceContext::new(0x2a, 7, true), || near.send(5))?;
    let (first, second) = (of_one.recv_timeout(TIMEOUT)?, of_two.recv_timeout(TIMEOUT)?);
    assert_eq!((first.parent, second.parent), (Some(7), Some(first.context.span_id())));
    [one, two].into_iter().for_each(|system| drop(system.shutdown(Shutdown::Drain)));
    provider.force_flush()?;

    let mut spans = Vec::new();
    while spans.len() < 3 {
        spans.push(collected.recv_timeout(TIMEOUT)?);
    }
    let find = |span: &Span| {
        let id = span.context.span_id().to_be_bytes();
        spans.iter().find(|it| it.span_id == id).expect("it has come")
    };
    for (span, of_runtime) in [(find(&first), &first), (find(&second), &second)] {
        assert_eq!(span.trace_id, 0x2a_u128.to_be_bytes());
        assert_eq!(span.parent_span_id, of_runtime.parent.unwrap().to_be_bytes());
        assert_eq!(span.name, of_runtime.name);
        assert!(
            span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano
        );
        assert!(span.attributes.iter().any(|it| it.key == "actor"));
    }
    // The handler's own span is in its message's.
    let inside = spans.iter().find(|it| it.name == "inside").expect("it has come");
    assert_eq!(inside.trace_id, 0x2a_u128.to_be_bytes());
    assert_eq!(inside.parent_span_id, first.context.span_id().to_be_bytes());
    assert_eq!(find(&first).status.as_ref().map_or(0, |it| it.code), 0);
    let status = find(&second).status.as_ref().expect("it failed");
    assert_eq!(status.code(), otlp::status::StatusCode::Error);
    assert!(status.message.contains("5 is too much"), "{status:?}");
    Ok(())
}

//! A web service whose requests become events of a graph, and whose answers come from an actor.
//!
//! `POST /` takes a JSON array of numbers. It becomes an event; the graph's modules compute its
//! mean and its spread. The actor that sent the event gets the result, compares it with all results
//! so far, and answers the request. Graph and actor share the workers of one system.
//!
//! `cargo run -p actinium --features events --example service -- 127.0.0.1:8080`, and then
//! `curl -d '[1, 2, 3]' http://127.0.0.1:8080`

use actinium::events::data::SourceExt;
use actinium::events::{
    Builder, Cause, ChannelSource, Event, EventSender, Graph, GraphErrors, Input, OnError,
    Processor, Producer, Settings, Tell, Threads, channel,
};
use actinium::prelude::*;
use actinium::runtime::Runtime;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use serde::Serialize;
use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

/// An event: the numbers of one request.
struct Job {
    id: u64,
    numbers: Vec<f64>,
}

struct Mean(Input<Job>);

impl Producer for Mean {
    type Product = f64;

    fn produce(&self, event: &Event<'_>) -> Result<f64, Cause> {
        let numbers = &event.get(self.0).numbers;
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        if mean.is_finite() { Ok(mean) } else { Err("the numbers are too large".into()) }
    }
}

struct Moments {
    id: u64,
    mean: f64,
    spread: f64,
}

struct Spread(Input<Job>, Input<f64>);

impl Producer for Spread {
    type Product = Moments;

    fn produce(&self, event: &Event<'_>) -> Result<Moments, Cause> {
        let (job, mean) = (event.get(self.0), *event.get(self.1));
        let squares = job.numbers.iter().map(|number| (number - mean).powi(2));
        let spread = (squares.sum::<f64>() / job.numbers.len() as f64).sqrt();
        Ok(Moments { id: job.id, mean, spread })
    }
}

#[derive(Serialize)]
struct Answer {
    mean: f64,
    spread: f64,
    /// How many requests before had a smaller spread.
    rank: usize,
}

/// An answer, or why the event failed.
type Outcome = Result<Answer, String>;

/// Passes requests to the graph, and answers them.
struct Desk {
    graph: EventSender<Job>,
    waiting: HashMap<u64, Reply<Outcome>>,
    spreads: Vec<f64>,
    requests: u64,
}

enum DeskMsg {
    Request(Vec<f64>, Reply<Outcome>),
    Taken,
    Failed(u64, String),
    Done(u64, f64, f64),
}

impl Actor for Desk {
    type Msg = DeskMsg;

    fn handle(&mut self, msg: DeskMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            DeskMsg::Request(numbers, reply) => {
                self.requests += 1;
                let id = self.requests;
                self.waiting.insert(id, reply);
                let sent = self.graph.send(Job { id, numbers });
                ctx.pipe(sent, move |sent| match sent {
                    Ok(()) => DeskMsg::Taken,
                    Err(_) => DeskMsg::Failed(id, "the service ends".to_owned()),
                });
            }
            DeskMsg::Taken => {}
            DeskMsg::Done(id, mean, spread) => {
                let rank = self.spreads.partition_point(|&before| before < spread);
                self.spreads.insert(rank, spread);
                self.answer(id, Ok(Answer { mean, spread, rank }));
            }
            DeskMsg::Failed(id, why) => self.answer(id, Err(why)),
        }
    }
}

impl Desk {
    fn answer(&mut self, id: u64, outcome: Outcome) {
        if let Some(reply) = self.waiting.remove(&id) {
            // Whoever asked may have gone.
            let _ = reply.send(outcome);
        }
    }
}

fn graph(source: ChannelSource<Job>, desk: Address<Desk>) -> Result<Graph, GraphErrors> {
    // The number of an event is that of its request.
    let source = source.number_by(|job| job.id);
    let (mut graph, job) = Builder::with_source("requests", source);
    let mean = graph.producer("mean", Threads::Concurrent, move |inputs| Mean(inputs.get(job)));
    let spread = graph.producer("spread", Threads::Concurrent, move |inputs| {
        Spread(inputs.get(job), inputs.get(mean))
    });
    graph.async_output("answer", Threads::Concurrent, move |inputs| {
        Tell::new(inputs.get(spread), &desk, |_, it: &Moments| {
            DeskMsg::Done(it.id, it.mean, it.spread)
        })
    });
    graph.build()
}

async fn serve(
    State(desk): State<Address<Desk>>,
    body: String,
) -> Result<String, (StatusCode, String)> {
    let wrong = |why: String| (StatusCode::BAD_REQUEST, why);
    let numbers: Vec<f64> =
        serde_json::from_str(&body).map_err(|error| wrong(error.to_string()))?;
    if numbers.is_empty() {
        return Err(wrong("an empty array has no mean".to_owned()));
    }
    let answer =
        desk.ask_timeout(Duration::from_secs(10), |reply| DeskMsg::Request(numbers, reply));
    let failed = |why: String| (StatusCode::SERVICE_UNAVAILABLE, why);
    let answer = answer.await.map_err(|error| failed(error.to_string()))?;
    let answer = answer.map_err(|why| (StatusCode::UNPROCESSABLE_ENTITY, why))?;
    serde_json::to_string(&answer).map_err(|error| failed(error.to_string()))
}

/// Runs the service at this address until `end` is over.
pub(crate) async fn run(
    address: &str,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let (sender, source) = channel(1_000);
    let desk = Desk { graph: sender, waiting: HashMap::new(), spreads: Vec::new(), requests: 0 };
    let desk = system.spawn(desk);
    // One request that fails must not end the service.
    let settings = Settings::default().slots(100).on_error(OnError::Skip);
    let failed = desk.clone();
    let running = Processor::new(graph(source, desk.clone())?, settings)
        .on_end(move |end| {
            if let Some((_, cause)) = end.failure {
                failed.tell(DeskMsg::Failed(end.number, cause.to_owned()));
            }
        })
        .start(&system)?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening at http://{}", listener.local_addr()?);
    let service = Router::new().route("/", post(serve)).with_state(desk);
    axum::serve(listener, service).with_graceful_shutdown(end).await?;
    let report = Runtime::new(system).graph("requests", running).shutdown(Shutdown::Drain);
    print!("{report}");
    Ok(())
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let end = async {
        // Without signals it only ends with its process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    run(&address, end).await
}

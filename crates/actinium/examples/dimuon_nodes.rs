//! Pairs of muons, on one node or on many: each node reads some of the files and computes the
//! masses of pairs, and the first node writes them to one Parquet file, in the order of the events.
//!
//! `cargo run --release -p actinium --features events-cluster,parquet --example dimuon_nodes --
//! PAIRS.parquet MUONS.parquet ..`
//!
//! With the feature `zenoh`, the same binary is several nodes:
//! `actinium launch -n 4 -- target/release/examples/dimuon_nodes ..`. With `mpi`: `mpiexec -n 4`.
//! If a node dies, the others do what it had not done, and the file is the same.

use actinium::cluster::Node;
use actinium::events::cluster::ClusterProcessor;
use actinium::events::data::{ByFile, Files, RowOutput, RowsExt};
use actinium::events::{Builder, Event, Order, Settings, Threads};
use actinium::{Runtime, Shutdown, System};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Muon {
    pub(crate) event: u64,
    pub(crate) pt: f64,
    pub(crate) eta: f64,
    pub(crate) phi: f64,
    pub(crate) charge: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) event: u64,
    pub(crate) mass: f64,
}

impl Pair {
    /// The pair of two muons, with corrected momenta.
    fn new(a: &Muon, b: &Muon, steps: u32) -> Self {
        let (d_eta, d_phi) = (a.eta - b.eta, a.phi - b.phi);
        let square = 2.0 * corrected(a, steps) * corrected(b, steps) * (d_eta.cosh() - d_phi.cos());
        Pair { event: a.event, mass: square.sqrt() }
    }
}

/// The momentum less what is lost on the way, in steps.
fn corrected(muon: &Muon, steps: u32) -> f64 {
    let lost = |pt: f64, _| pt - 1e-4 * (1.0 + muon.eta.tanh() / pt.max(1.0).sqrt());
    (0..steps).fold(muon.pt, lost)
}

/// The same graph on each node.
fn graph(
    files: &[PathBuf],
    steps: u32,
    written: &RowOutput<Pair>,
) -> Result<Builder, Box<dyn Error>> {
    let events =
        ByFile::new(files, |path| Ok(Files::<Muon>::open([path])?.group_by(|muon| muon.event)))?;
    let (mut graph, muons) = Builder::with_source("muons", events);
    let opposite = graph.filter("opposite", Threads::Concurrent, move |inputs| {
        let muons = inputs.get(muons);
        move |event: &Event<'_>| {
            let muons = event.get(muons);
            Ok(muons.len() == 2 && muons[0].charge != muons[1].charge)
        }
    });
    let pair = graph.producer("pair", Threads::Concurrent, move |inputs| {
        let muons = inputs.get(muons);
        move |event: &Event<'_>| {
            let muons = event.get(muons);
            Ok(Pair::new(&muons[0], &muons[1], steps))
        }
    });
    // The output runs on the first node.
    graph.crosses(pair);
    let main = graph.path("main", (opposite,));
    graph.output("write", Threads::Serial.select(main), written.of(pair));
    Ok(graph)
}

/// Runs the part of this node.
fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let to = arguments.next().ok_or("usage: dimuon_nodes PAIRS.parquet MUONS.parquet ..")?;
    let files: Vec<PathBuf> = arguments.collect();
    let steps = std::env::var("STEPS").map_or(Ok(100), |steps| steps.parse())?;
    let system = System::builder().from_env()?.build()?;
    let node = Node::join(&system)?;
    // A file appears when it is finished, which only the first node's is.
    let written = RowOutput::create(to)?;
    let settings = Settings::default().order(Order::Input { window: 64 });
    let running = ClusterProcessor::new(graph(&files, steps, &written)?, settings)
        .on_note(|line| eprintln!("{line}"))
        .start(&node, &system)?;
    while node.id().0 == 0 && !running.wait_for(Duration::from_millis(200))? {
        eprintln!("{} events", running.progress());
    }
    if let Some(outcome) = running.wait()? {
        let outcome = outcome.into_result()?;
        println!("{} pairs in {} events", written.finish()?, outcome.run.done);
    }
    Runtime::new(system).node(node).shutdown(Shutdown::Drain);
    Ok(())
}

pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dimuon_nodes: {error}");
            ExitCode::FAILURE
        }
    }
}

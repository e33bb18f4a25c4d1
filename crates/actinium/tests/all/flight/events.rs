//! Graphs that a serial module holds back, and graphs that nothing holds back.

use super::{is_accused_of, is_well};
use actinium::events::{
    Analyzer, Builder, Cause, Event, Graph, Next, Processor, Running, Settings, Source, Threads,
};
use actinium::monitor::{Diagnosis, FlightRecorder, FlightSettings, record_graph};
use actinium::prelude::*;
use std::hint::black_box;

struct Endless;

impl Source for Endless {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(Next::Event(number))
    }
}

/// Computes: the same amount of work on each machine.
struct Fit;

impl Analyzer for Fit {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        let mut n = event.number();
        (0..20_000).for_each(|it| n = black_box(n.wrapping_mul(7).wrapping_add(it)));
        Ok(())
    }
}

fn graph(threads: Threads) -> Graph {
    let mut builder = Builder::new("tracks", Endless);
    builder.analyzer("fit", threads, |_| Fit);
    builder.build().expect("a graph")
}

fn run(system: &System, threads: Threads) -> (Running, FlightRecorder) {
    let recorder = FlightRecorder::start(system, FlightSettings::in_memory()).expect("a recorder");
    let running = Processor::new(graph(threads), Settings::default().slots(8)).start(system);
    let running = running.expect("it starts");
    record_graph(&recorder, &running);
    (running, recorder)
}

#[test]
fn a_serial_module_that_holds_back_a_graph_is_named() {
    let system = System::builder().workers(2).build().expect("a system");
    let (running, recorder) = run(&system, Threads::Serial);
    let found = is_accused_of(&recorder, Diagnosis::SerialResource, || {});
    assert!(found.seen.contains("'tracks'") && found.seen.contains("'fit'"), "{found}");
    assert!(found.figures["waiting"] >= 1.0 && found.figures["busy"] > 0.5, "{found:?}");
    running.cancel();
    running.wait().expect("it ends");
}

#[test]
fn a_graph_that_nothing_holds_back_is_not_accused() {
    let system = System::builder().workers(2).build().expect("a system");
    let (running, recorder) = run(&system, Threads::Concurrent);
    is_well(&recorder, || recorder.flight("a look").expect("it records").seconds() >= 3.0);
    running.cancel();
    running.wait().expect("it ends");
    is_well(&recorder, || true);
}

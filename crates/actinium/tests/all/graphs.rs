//! Graphs as parts of a program: they end before the actors that they feed.

use actinium::events::{Analyzer, Builder, Cause, Event, Graph, Next, OnError, Processor};
use actinium::events::{Settings, Source, Threads};
use actinium::prelude::*;
use actinium::runtime::{End, PartKind, Runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

struct Endless;

impl Source for Endless {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(Next::Event(number))
    }
}

struct See<F>(F);

impl<F: Fn(u64) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for See<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event.number())
    }
}

fn graph(see: impl Fn(u64) -> Result<(), Cause> + Clone + Send + Sync + 'static) -> Graph {
    let mut builder = Builder::new("endless", Endless);
    builder.analyzer("see", Threads::Concurrent, move |_| See(see.clone()));
    builder.build().expect("a graph")
}

struct Sum(Arc<AtomicU64>);

impl Actor for Sum {
    type Msg = u64;
    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        self.0.fetch_add(n, Ordering::SeqCst);
    }
}

fn system() -> System {
    System::builder().workers(2).build().expect("a system")
}

#[test]
fn a_runtime_ends_its_graphs_before_the_actors_that_they_feed() {
    let (system, total) = (system(), Arc::new(AtomicU64::new(0)));
    let sum = system.spawn(Sum(total.clone()));
    let graph = graph(move |_| {
        sum.tell(1);
        Ok(())
    });
    let running = Processor::new(graph, Settings::default()).start(&system).expect("starts");
    let monitor = running.monitor();
    while monitor.events() < 50 {
        std::thread::yield_now();
    }
    let report = Runtime::new(system).graph("sums", running).shutdown(Shutdown::Drain);
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.parts[0].kind, &report.parts[0].end), (PartKind::Graph, &End::Ended));
    assert_eq!(total.load(Ordering::SeqCst), monitor.events(), "nothing is lost");
}

#[test]
fn a_graph_whose_events_fail_has_failed() {
    let system = system();
    let graph = graph(|number| if number == 3 { Err("bad luck".into()) } else { Ok(()) });
    let settings = Settings::default().events_max(5).on_error(OnError::Skip);
    let running = Processor::new(graph, settings).start(&system).expect("starts");
    assert_eq!(running.wait_for(Duration::MAX), Ok(true));
    let report = Runtime::new(system).graph("sums", running).shutdown(Shutdown::Drain);
    let End::Failed(why) = &report.parts[0].end else { panic!("{report}") };
    assert_eq!(why, "see of event 3: bad luck; 1 events failed");
}

#[test]
fn a_module_that_does_not_return_is_left_to_itself() {
    let system = system();
    let (enter, entered) = channel();
    let (release, held) = channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    let graph = graph(move |_| {
        let _ = enter.send(());
        let _ = held.lock().map(|held| held.recv());
        Ok(())
    });
    let settings = Settings::default().slots(1);
    let running = Processor::new(graph, settings).start(&system).expect("starts");
    entered.recv().expect("it comes so far");
    let runtime = Runtime::new(system).graph("hangs", running);
    let report = runtime.shutdown(Shutdown::DrainWithin(Duration::ZERO));
    assert_eq!(report.parts[0].end, End::Stuck, "{report}");
    let actors = report.actors.as_ref().expect("they have ended");
    assert_eq!(actors.stuck.len(), 1, "{report}");
    drop(release);
}

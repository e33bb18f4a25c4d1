//! Sources that give numbers of their own and have nothing for a while, the ends of events, and
//! workloads in parts.

use actinium_events::{Next, OnError, Order, Processor, Settings};
use actinium_workload::replay::part::{self, Given};
use actinium_workload::{self as workload, Syntax, Workload, replay};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, mpsc};

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

fn workload() -> Workload {
    let text = r#"
format = 1
[[modules]]
label = "read"
time-ms = 0.01
[[modules]]
label = "half"
kind = "filter"
accepts = 0.5
inputs = ["read"]
[[modules]]
label = "write"
kind = "output"
threads = "serial"
inputs = ["read"]
[[modules]]
label = "always"
kind = "output"
inputs = ["read"]
[[modules]]
label = "bad"
kind = "analyzer"
fails-every = 10
[paths]
main = ["half", "write"]
all = ["always"]
bad = ["bad"]
"#;
    workload::parse("given.toml", text, Syntax::Toml).expect("it is one").workload
}

/// Events that are given one by one, from outside.
#[derive(Clone)]
struct Queue<T>(Arc<Mutex<(VecDeque<T>, bool)>>);

impl<T> Queue<T> {
    fn new() -> Self {
        Queue(Arc::new(Mutex::new((VecDeque::new(), false))))
    }
    fn push(&self, all: impl IntoIterator<Item = T>) {
        self.0.lock().expect("nobody panics").0.extend(all);
    }
    fn end(&self) {
        self.0.lock().expect("nobody panics").1 = true;
    }
    fn next(&self) -> Next<T> {
        let mut queue = self.0.lock().expect("nobody panics");
        match (queue.0.pop_front(), queue.1) {
            (Some(next), _) => Next::Event(next),
            (None, false) => Next::Later,
            (None, true) => Next::End,
        }
    }
}

#[test]
fn a_source_that_has_nothing_is_asked_again_when_it_is_woken() {
    let queue = Queue::new();
    let asked = queue.clone();
    let (graph, seen) = part::inner(&workload(), 2, move || asked.next()).expect("a graph");
    let (sender, ended) = mpsc::channel();
    let settings = Settings::default().workers(1).slots(2).on_error(OnError::Skip);
    let processor = Processor::new(graph, settings).on_end(move |end| {
        let observations = seen.take(end.slot);
        let failure = end.failure.map(|(module, cause)| format!("{module}: {cause}"));
        sender.send((end.number, observations, failure)).expect("somebody listens");
    });
    let feeder = processor.feeder();
    let run = std::thread::spawn(move || processor.run().expect("it runs"));
    // One after the other: each is given when all before it have ended, so that the source has had
    // nothing.
    for number in [7, 3, 19, 1_000_000_000_000] {
        queue.push([number]);
        feeder.wake();
        let (ended, observations, failure) = ended.recv_timeout(LIMIT).expect("it ends");
        assert_eq!(ended, number);
        assert_eq!(failure.is_some(), number == 19, "{failure:?}");
        if number != 19 {
            let modules: Vec<u32> = observations.iter().map(|&(module, _)| module).collect();
            // It has an even number if it passes the filter or an odd one: what the plain loop says
            // decides.
            assert!(modules.contains(&1) && modules.contains(&3) && modules.contains(&4));
        }
    }
    queue.end();
    feeder.wake();
    let summary = run.join().expect("it ends");
    assert_eq!((summary.events, summary.failed), (3, 1));
    assert_eq!(summary.failures[0].event, Some(19), "its own number: {:?}", summary.failures);
    // After the run it does nothing.
    feeder.wake();
}

#[test]
fn a_stop_ends_a_run_whose_source_has_nothing() {
    let queue = Queue::<u64>::new();
    let (sender, asked) = mpsc::channel();
    let next = move || {
        let next = queue.next();
        let _ = sender.send(());
        next
    };
    let (graph, _) = part::inner(&workload(), 2, next).expect("a graph");
    let processor = Processor::new(graph, Settings::default().workers(1));
    let stopper = processor.stopper();
    let run = std::thread::spawn(move || processor.run().expect("it runs"));
    asked.recv_timeout(LIMIT).expect("it is asked");
    stopper.stop();
    assert!(run.join().expect("it ends").stopped);
}

#[test]
fn parts_together_make_what_the_whole_makes() {
    let mut workload = workload();
    // None fails.
    workload.modules[4].fails_every = None;
    let events = 200;
    let (ended, given) = (Arc::new(Mutex::new(Vec::new())), Queue::new());
    let numbers = Queue::new();
    // Not in order.
    numbers.push((0..events).rev());
    numbers.end();
    let (graph, seen) = part::inner(&workload, 4, move || numbers.next()).expect("a graph");
    let notes = ended.clone();
    let inner = Processor::new(graph, Settings::default().workers(2).slots(4)).on_end(move |end| {
        let observations = seen.take(end.slot);
        notes.lock().expect("nobody panics").push(Given { number: end.number, observations });
    });
    let summary = inner.run().expect("it runs");
    assert_eq!(summary.events, events);
    let inner_sum: u64 = {
        let ended = ended.lock().expect("nobody panics");
        let all = ended.iter().flat_map(|given: &Given| &given.observations);
        // Modules 2 and 3 are outputs, and run apart.
        all.filter(|(m, _)| ![2, 3].contains(m)).fold(0, |sum, (_, see)| sum.wrapping_add(*see))
    };
    given.push(ended.lock().expect("nobody panics").drain(..));
    given.end();
    let graph = part::outputs(&workload, 4, move || given.next()).expect("a graph");
    let (graph, seen) = graph.expect("it has outputs");
    let written = Arc::new(Mutex::new((Vec::new(), 0_u64)));
    let notes = written.clone();
    let settings = Settings::default().workers(2).slots(4).order(Order::Input { window: 4 });
    let outputs = Processor::new(graph, settings).on_end(move |end| {
        let mut notes = notes.lock().expect("nobody panics");
        notes.0.push(end.number);
        for (_, sum) in seen.take(end.slot) {
            notes.1 = notes.1.wrapping_add(sum);
        }
    });
    let summary = outputs.run().expect("it runs");
    let calls = |label: &str| {
        let module = summary.modules.iter().find(|module| module.label == label);
        module.expect("it is there").calls
    };
    assert_eq!((calls("write"), calls("always")), (events / 2, events));
    let written = written.lock().expect("nobody panics");
    // The ends come in the order in which the source gave them, which had ended in about the
    // reverse of their numbers.
    assert_eq!(written.0.len() as u64, events);
    assert_eq!(inner_sum.wrapping_add(written.1), replay::expected_total(&workload, events));
}

#[test]
fn ends_come_in_the_order_of_outputs_and_observations_add_up_to_the_total() {
    let mut workload = workload();
    workload.modules[4].fails_every = None;
    let (graph, seen) =
        part::recorded(replay::Cpus::Own, &workload, Some(300), 8).expect("a graph");
    let notes = Arc::new(Mutex::new((Vec::new(), 0_u64)));
    let noted = notes.clone();
    let settings = Settings::default().workers(2).slots(8).order(Order::Input { window: 8 });
    let processor = Processor::new(graph, settings).on_end(move |end| {
        let mut noted = noted.lock().expect("nobody panics");
        noted.0.push(end.number);
        for (_, sum) in seen.take(end.slot) {
            noted.1 = noted.1.wrapping_add(sum);
        }
    });
    processor.run().expect("it runs");
    let notes = notes.lock().expect("nobody panics");
    assert!(notes.0.iter().copied().eq(0..300), "{:?}", notes.0);
    assert_eq!(notes.1, replay::expected_total(&workload, 300));
}

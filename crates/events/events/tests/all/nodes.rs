//! A graph in parts, put together by hand: several inner graphs and the outputs of all.

use actinium_events::data::{ByFile, Files, RowFile, SourceExt};
use actinium_events::nodes::{Carried, Conditions, Given, Inbox, OutputsAt, Split};
use actinium_events::{
    Builder, Cause, Condition, Event, Filter, GraphErrors, Input, Next, Order, OutputMut, Piece,
    Processor, Producer, RunSummary, Settings, Source, Threads, ThreadsMut, Transition,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

const EVENTS: u64 = 40;

struct Numbers;

impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < EVENTS { Next::Event(100 + number) } else { Next::End })
    }
}

struct IsEven(Input<u64>);

impl Filter for IsEven {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.get(self.0).is_multiple_of(2))
    }
}

struct Halves(Input<u64>, Condition<String>);

impl Producer for Halves {
    type Product = (u64, String);
    fn produce(&self, event: &Event<'_>) -> Result<(u64, String), Cause> {
        let number = *event.get(self.0);
        Ok((number / 2, format!("{} {}", number % 2, self.1.get()?)))
    }
}

type Lines = Arc<Mutex<Vec<String>>>;

struct Write<T: 'static>(Input<T>, &'static str, Lines);

impl<T: std::fmt::Debug + Send + Sync + 'static> OutputMut for Write<T> {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        let (product, stamp) = (event.get(self.0), event.stamp(self.0));
        let line = format!("{} {} {:?} {stamp}", event.number(), self.1, *product);
        self.2.lock().unwrap().push(line);
        Ok(())
    }
    fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
        self.2.lock().unwrap().push(format!("{} {transition:?}", self.1));
        Ok(())
    }
}

/// A graph with runs of 10 events, a producer of two products, a filter path and two outputs.
fn builder<S: Source<Product = u64>>(source: S, lines: &Lines, crosses: bool) -> Builder {
    let (mut builder, numbers) = Builder::with_source("numbers", source);
    let name = builder.condition("name", |run| Ok(format!("run {run}")));
    let (half, rest) =
        builder.producers("halves", ["half", "rest"], Threads::Concurrent, move |inputs| {
            Halves(inputs.get(numbers), name.clone())
        });
    let even = builder.filter("even", Threads::Serial, move |inputs| IsEven(inputs.get(numbers)));
    let evens = builder.path("evens", [even]);
    let to = lines.clone();
    builder.output_mut("halves of evens", ThreadsMut::Serial.select(evens), move |inputs| {
        Write(inputs.get(half), "half", to.clone())
    });
    let to = lines.clone();
    builder.output_mut("rests", ThreadsMut::Stream, move |inputs| {
        Write(inputs.get(rest), "rest", to.clone())
    });
    if crosses {
        builder.crosses(numbers);
        builder.crosses(half);
        builder.crosses(rest);
    }
    builder
}

/// What a node is given, beforehand.
struct Queued(VecDeque<Next<Given>>, Arc<Mutex<Vec<(u32, u64)>>>);

impl Inbox for Queued {
    fn next(&mut self) -> Next<Given> {
        self.0.pop_front().unwrap_or(Next::End)
    }
    fn piece_ended(&mut self, piece: u32, ended: Result<u64, Cause>) {
        self.1.lock().unwrap().push((piece, ended.unwrap()));
    }
}

fn settings() -> Settings {
    Settings::default().workers(2).slots(4)
}

fn input_order() -> Settings {
    settings().workers(1).slots(1).order(Order::Input { window: 64 })
}

fn run(processor: Processor) -> RunSummary {
    processor.run().expect("it runs").into_result().expect("no event fails")
}

fn split(builder: Builder, given: Vec<Next<Given>>, carried: Vec<Carried>) -> Split {
    let mut carried = VecDeque::from(carried);
    let carried = move || carried.pop_front().map_or(Next::End, Next::Event);
    let inbox = Queued(given.into(), Arc::default());
    builder.split(OutputsAt::First, 4, inbox, carried).expect("it can be split")
}

/// Runs what one of several nodes is given.
fn run_inner(split: Split) -> BTreeMap<u64, Vec<u8>> {
    let done: Arc<Mutex<BTreeMap<u64, Vec<u8>>>> = Arc::default();
    let (all, crossing) = (done.clone(), split.crossing);
    run(Processor::new(split.inner, settings()).on_end(move |end| {
        all.lock().unwrap().insert(end.number, crossing.take(end.slot, end.number));
    }));
    std::mem::take(&mut *done.lock().unwrap())
}

/// What all nodes and the outputs make of the events of a source that the first node reads.
fn run_shared(nodes: usize) -> Vec<String> {
    let lines = Lines::default();
    let source = || Numbers.runs_by(|number| number / 10);
    let new = || builder(source(), &lines, true);
    let first = split(new(), Vec::new(), Vec::new());
    let mut shared = first.source.expect("it is shared out");
    let (mut given, mut number) = (vec![Vec::new(); nodes], 0);
    loop {
        match shared.next(number).expect("it can be read") {
            Next::Event(bytes) => {
                given[number as usize % nodes].push(Ok(Given::Event { number, bytes }));
                number += 1;
            }
            Next::Transition(transition) => {
                given.iter_mut().for_each(|given| given.push(Err(transition)));
            }
            _ => break,
        }
    }
    let mut carried = BTreeMap::new();
    for given in given {
        let given = given.into_iter().map(|given| match given {
            Ok(given) => Next::Event(given),
            Err(transition) => Next::Transition(transition),
        });
        let node = split(new(), given.collect(), Vec::new());
        assert_eq!(node.digest, first.digest);
        carried.extend(run_inner(node));
    }
    let carried = carried.into_iter().map(|(number, bytes)| Carried { number, bytes });
    let outputs = split(new(), Vec::new(), carried.collect()).outputs.expect("there are outputs");
    assert!(lines.lock().unwrap().is_empty(), "outputs ran on a node that does not run them");
    run(Processor::new(outputs, input_order()));
    std::mem::take(&mut *lines.lock().unwrap())
}

#[test]
fn outputs_of_events_that_other_nodes_ran_are_those_of_one_node() {
    let lines = Lines::default();
    let whole = builder(Numbers.runs_by(|number| number / 10), &lines, false).build().unwrap();
    run(Processor::new(whole, input_order()));
    let whole = std::mem::take(&mut *lines.lock().unwrap());
    assert!(whole.len() > 60, "{whole:?}");
    for nodes in [1, 3] {
        assert_eq!(run_shared(nodes), whole, "{nodes} nodes");
    }
}

fn refused(builder: Builder) -> GraphErrors {
    let inbox = Queued(VecDeque::new(), Arc::default());
    let split = builder.split(OutputsAt::First, 4, inbox, || Next::End);
    split.expect_err("it can not be split")
}

#[test]
fn each_product_that_would_have_to_cross_is_named() {
    let errors = refused(builder(Numbers, &Lines::default(), false)).to_string();
    let names = ["source 'numbers'", "(u64)", "'half' (u64)", "'rest' (alloc::string::String)"];
    for name in names {
        assert!(errors.contains(name), "{errors}");
    }
    let mut graph = builder(Numbers, &Lines::default(), true);
    for output in [true, false] {
        let threads = || ThreadsMut::Exclusive("disk".into());
        let make = |inputs: &mut actinium_events::Inputs| {
            Write::<u64>(inputs.get("half"), "", Lines::default())
        };
        match output {
            true => drop(graph.output_mut("log", threads(), make)),
            false => drop(graph.filter_mut("disk filter", threads(), |_| Never)),
        }
    }
    let errors = refused(graph).to_string();
    assert!(errors.contains("output 'log' and module 'disk filter' share"), "{errors}");
}

struct Never;

impl actinium_events::FilterMut for Never {
    fn pass(&mut self, _: &Event<'_>) -> Result<bool, Cause> {
        Ok(false)
    }
}

/// Two files of 5 and 3 numbers.
fn files(folder: &Path) -> impl Source<Product = u64> {
    let paths = [("a.jsonl", 0..5_u64), ("b.jsonl", 5..8)].map(|(name, numbers)| {
        let mut file = RowFile::create(folder.join(name)).expect("created");
        numbers.for_each(|number| file.write(&number).expect("written"));
        file.finish().expect("finished");
        folder.join(name)
    });
    ByFile::new(paths, |path| Ok(Files::<u64>::open([path])?)).expect("both are there")
}

#[test]
fn a_piece_is_read_but_for_the_events_that_are_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = |lines: &Lines| {
        let (mut builder, numbers) = Builder::with_source("numbers", files(folder.path()));
        builder.crosses(numbers);
        let lines = lines.clone();
        builder.output_mut("write", ThreadsMut::Serial, move |inputs| {
            Write(inputs.get(numbers), "", lines.clone())
        });
        builder
    };
    let whole = Lines::default();
    run(Processor::new(graph(&whole).build().unwrap(), input_order()));
    let whole = whole.lock().unwrap();
    assert_eq!(whole.len(), 8);
    assert!(whole[5].starts_with(&format!("{}  5", Piece::number(1, 0))), "{whole:?}");

    let ended = Arc::new(Mutex::new(Vec::new()));
    let pieces = [(1, vec![0, 2]), (0, vec![])];
    let given = pieces.map(|(piece, done)| Next::Event(Given::Piece { piece, done }));
    let inbox = Queued(given.into(), ended.clone());
    let node = graph(&Lines::default()).split(OutputsAt::First, 4, inbox, || Next::End).unwrap();
    let names: Vec<_> = node.pieces.iter().map(|piece| (&*piece.name, piece.bytes)).collect();
    assert_eq!(names, [("a.jsonl", 10), ("b.jsonl", 6)]);
    let done = run_inner(node);
    let numbers = (0..5).map(|index| Piece::number(0, index)).chain([Piece::number(1, 1)]);
    assert!(done.keys().copied().eq(numbers), "{:?}", done.keys());
    assert_eq!(*ended.lock().unwrap(), [(1, 3), (0, 5)]);

    let carried = done.into_iter().map(|(number, bytes)| Carried { number, bytes });
    let lines = Lines::default();
    let outputs = split(graph(&lines), Vec::new(), carried.collect()).outputs.unwrap();
    run(Processor::new(outputs, input_order()));
    let expected: Vec<_> = [0, 1, 2, 3, 4, 6].map(|index: usize| whole[index].clone()).into();
    assert_eq!(*lines.lock().unwrap(), expected);
}

#[test]
fn outputs_on_each_node_stay_where_they_are() {
    let lines = Lines::default();
    let given = [Transition::BeginRun(4)].map(Next::Transition).into_iter();
    let given = given.chain([Next::Event(Given::Event { number: 7, bytes: vec![42] })]);
    let inbox = Queued(given.collect(), Arc::default());
    let (mut graph, numbers) = Builder::with_source("numbers", Numbers);
    graph.crosses(numbers);
    let to = lines.clone();
    graph.output_mut("write", ThreadsMut::Serial, move |inputs| {
        Write(inputs.get(numbers), "", to.clone())
    });
    let node = graph.split(OutputsAt::EachNode, 4, inbox, || Next::End).unwrap();
    assert!(node.outputs.is_none());
    run_inner(node);
    let lines = lines.lock().unwrap();
    assert!(lines.len() == 2 && lines[1].starts_with("7  42"), "{lines:?}");
}

#[test]
fn bytes_that_are_no_event_fail_the_run_that_was_given_them() {
    let graph = || builder(Numbers, &Lines::default(), true);
    let bad = || Given::Event { number: 3, bytes: vec![0xc1, 1, 2] };
    let node = split(graph(), vec![Next::Event(bad())], Vec::new());
    let failed = Processor::new(node.inner, settings()).run().unwrap().into_result();
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("event 3 can not be decoded on this node"), "{error}");
    for bytes in [vec![], vec![0xc1], vec![0x94, 0xc0, 0xc0, 0x90, 0x91, 0x92, 0, 5]] {
        let outputs = split(graph(), Vec::new(), vec![Carried { number: 3, bytes }]).outputs;
        let failed = Processor::new(outputs.unwrap(), settings()).run().unwrap().into_result();
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("event 3, as it came from its node"), "{error}");
    }
}

#[test]
fn conditions_are_loaded_by_one_node_for_all() {
    let loads = Arc::new(Mutex::new(Vec::new()));
    let conditions = |name: &'static str| -> (Conditions, Condition<String>, Split) {
        let (mut builder, numbers) = Builder::with_source("numbers", Numbers);
        builder.crosses(numbers);
        let loads = loads.clone();
        let condition = builder.condition("name", move |run| {
            loads.lock().unwrap().push((name, run));
            match run {
                13 => Err("there is no run 13".into()),
                run => Ok(format!("run {run}")),
            }
        });
        let given = vec![Next::Transition(Transition::BeginRun(6))];
        let split = split(builder, given, Vec::new());
        (split.conditions.clone(), condition, split)
    };
    let (first, _, _) = conditions("first");
    let (other, value, node) = conditions("other");
    assert!(value.get().unwrap_err().to_string().contains("condition 'name'"));
    other.set(6, &first.load(6).unwrap()).unwrap();
    assert!(value.get().is_err(), "run 6 has not begun there");
    run_inner(node);
    assert_eq!(*value.get().unwrap(), "run 6");
    assert_eq!(*loads.lock().unwrap(), [("first", 6)]);
    let error = first.load(13).unwrap_err().to_string();
    assert_eq!(error, "condition 'name' of run 13: there is no run 13");
    assert!(other.set(7, &[1, 2, 3]).is_err());
}

//! Sources that are made of others: many files, rows grouped into events, runs, reading ahead, and
//! sources that wait.

use actinium_events::data::{AsyncSource, Awaits, DataError, Files, RowsExt, SourceExt};
use actinium_events::{
    AnalyzerMut, Builder, Cause, Event, Input, Next, Order, OutputMut, Processor, RunSummary,
    Settings, Source, ThreadsMut, Transition,
};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Hit {
    run: u64,
    event: u64,
    channel: u32,
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Notes what it is told, in its order.
struct Log(Input<Vec<Hit>>, Vec<String>);
impl OutputMut for Log {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        let channels: Vec<_> = event.get(self.0).iter().map(|hit| hit.channel).collect();
        self.1.push(format!("{channels:?}"));
        Ok(())
    }
    fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
        self.1.push(format!("{transition:?}"));
        Ok(())
    }
}

fn log(source: impl Source<Product = Vec<Hit>>, settings: Settings) -> (RunSummary, Vec<String>) {
    let (mut builder, hits) = Builder::with_source("hits", source);
    let log = builder
        .output_mut("log", ThreadsMut::Serial, move |inputs| Log(inputs.get(hits), Vec::new()));
    let settings = settings.order(Order::Input { window: 4 }).slots(4).workers(2);
    let summary = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    (summary, log.merge(|_, _| ()).expect("it is kept").1)
}

fn hits(lines: &[(u64, u64, u32)]) -> String {
    let line = |&(run, event, channel): &(u64, u64, u32)| {
        format!("{{\"run\":{run},\"event\":{event},\"channel\":{channel}}}\n")
    };
    lines.iter().map(line).collect()
}

#[test]
fn rows_of_many_files_become_events_and_runs() {
    let folder = folder();
    let paths = ["a.jsonl", "empty.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    // An event goes on in the next file.
    std::fs::write(&paths[0], hits(&[(1, 0, 1), (1, 0, 2), (1, 1, 3), (2, 1, 4)])).expect("a");
    std::fs::write(&paths[1], "").expect("empty");
    std::fs::write(&paths[2], hits(&[(2, 1, 5), (2, 0, 6)])).expect("b");
    for ahead in [None, Some(1), Some(100)] {
        let source = Files::<Hit>::open(&paths).expect("they are there");
        let source = source.group_by(|hit| (hit.run, hit.event)).runs_by(|hits| hits[0].run);
        let (summary, log) = match ahead {
            None => log(source, Settings::default()),
            Some(ahead) => log(source.read_ahead(ahead), Settings::default()),
        };
        let expected = [
            "BeginRun(1)",
            "[1, 2]",
            "[3]",
            "EndRun(1)",
            "BeginRun(2)",
            "[4, 5]",
            "[6]",
            "EndRun(2)",
        ];
        assert_eq!((summary.events, log), (4, expected.map(str::to_owned).to_vec()));
    }
}

#[test]
fn a_bad_row_names_its_file_and_what_came_before_it_is_an_event() {
    let folder = folder();
    let paths = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], hits(&[(1, 0, 1)])).expect("a");
    std::fs::write(&paths[1], hits(&[(1, 0, 2)]) + "{\"run\":1}\n").expect("b");
    let source = Files::<Hit>::open(&paths).expect("they are there").group_by(|hit| hit.event);
    let (summary, log) = log(source.read_ahead(3), Settings::default());
    assert_eq!((summary.events, log), (1, vec!["[1, 2]".to_owned()]));
    let failure = &summary.failures[0];
    assert!(failure.cause.contains("b.jsonl:2"), "{failure:?}");
    let error = summary.into_result().expect_err("the source failed").to_string();
    assert!(error.contains("module 'hits' failed") || error.contains("event 1"), "{error}");
    let missing: Result<Files<Hit>, DataError> = Files::open([folder.path().join("no.jsonl")]);
    assert!(missing.expect_err("it is not there").to_string().contains("no.jsonl"));
    let unknown: Result<Files<Hit>, DataError> = Files::open([&paths[0], &"x.root".into()]);
    assert!(unknown.expect_err("no format").to_string().contains("ends in .root"));
}

/// Says how many were asked for; waits before each until it may go on.
struct Gated(SyncSender<u64>, Receiver<bool>);
impl Source for Gated {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        let _ = self.0.send(number);
        Ok(if self.1.recv()? { Next::Event(number) } else { Next::End })
    }
}

struct Sees(Input<u64>, Vec<u64>);
impl AnalyzerMut for Sees {
    fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1.push(*event.get(self.0));
        Ok(())
    }
}

/// Runs on a thread of its own; tells what was seen, sorted, and the summary.
fn seen(
    source: impl Source<Product = u64>,
    slots: usize,
) -> thread::JoinHandle<(Vec<u64>, RunSummary)> {
    let (mut builder, numbers) = Builder::with_source("numbers", source);
    let sees = builder.analyzer_mut("sees", ThreadsMut::Serial, move |inputs| {
        Sees(inputs.get(numbers), Vec::new())
    });
    thread::spawn(move || {
        let settings = Settings::default().workers(1).slots(slots);
        let graph = builder.build().expect("a graph");
        let summary = Processor::new(graph, settings).run().expect("it runs");
        let mut seen = sees.merge(|_, _| ()).expect("it is kept").1;
        seen.sort_unstable();
        (seen, summary)
    })
}

#[test]
fn reading_ahead_wakes_the_run_for_each_event_that_comes_late() {
    let ((asked, was_asked), (go, may_go)) = (sync_channel(0), sync_channel(0));
    let run = seen(Gated(asked, may_go).read_ahead(2), 1);
    // The run has nothing to do meanwhile, and no thread of it is at the source.
    for number in 0..50 {
        assert_eq!(was_asked.recv(), Ok(number));
        go.send(true).expect("it waits");
    }
    assert_eq!(was_asked.recv(), Ok(50));
    go.send(false).expect("it waits");
    let (seen, summary) = run.join().expect("it ends");
    assert_eq!((seen, summary.events), ((0..50).collect(), 50));
}

/// Notes that it was dropped.
struct Falls(SyncSender<()>);
impl Drop for Falls {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Has events for ever, or nothing for ever.
struct Endless(Option<u64>, Arc<Mutex<u64>>, #[allow(dead_code)] Falls);
impl Source for Endless {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        *self.1.lock().expect("not poisoned") = number + 1;
        Ok(if self.0.is_some_and(|most| number >= most) {
            Next::Later
        } else {
            Next::Event(number)
        })
    }
}

#[test]
fn reading_ahead_is_bounded_and_ends_with_the_run() {
    for most in [None, Some(8)] {
        let (falls, fell) = sync_channel(1);
        let asked = Arc::new(Mutex::new(0));
        let source = Endless(most, asked.clone(), Falls(falls)).read_ahead(3);
        let graph = Builder::new("numbers", source).build().expect("a graph");
        let settings = Settings::default().workers(1).slots(1).events_max(5);
        assert_eq!(Processor::new(graph, settings).run().expect("it runs").events, 5);
        // The thread leaves its source when the run is over, wherever it waits.
        fell.recv().expect("the source is dropped");
        // Five that ran, three in the queue, one that waits for room in it.
        assert!(*asked.lock().expect("not poisoned") <= 9);
    }
}

#[test]
fn a_source_that_panics_on_its_thread_ends_the_run() {
    struct Panics;
    impl Source for Panics {
        type Product = u64;
        fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
            assert!(number < 3, "the tape is torn");
            Ok(Next::Event(number))
        }
    }
    let (seen, summary) = seen(Panics.read_ahead(2), 2).join().expect("it ends");
    assert_eq!((seen, summary.ended_by_failure), (vec![0, 1, 2], true));
    assert_eq!(summary.failures[0].cause, "it panicked: the tape is torn");
}

/// Waits for what another thread sends.
struct Remote(futures_channel::mpsc::UnboundedReceiver<u64>);
impl AsyncSource for Remote {
    type Product = u64;
    async fn next(&mut self, _: u64) -> Result<Next<u64>, Cause> {
        Ok(match self.0.recv().await.ok() {
            Some(13) => return Err("thirteen".into()),
            Some(number) => Next::Event(number),
            None => Next::End,
        })
    }
}

#[test]
fn a_source_that_waits_holds_no_worker() {
    for bad in [None, Some(13)] {
        let (send, receive) = futures_channel::mpsc::unbounded();
        let run = seen(Awaits::new(Remote(receive)), 2);
        for number in (0..10).chain(bad) {
            send.unbounded_send(number).expect("it is read");
        }
        drop(send);
        let (seen, summary) = run.join().expect("it ends");
        assert_eq!((seen, summary.ended_by_failure), ((0..10).collect(), bad.is_some()));
    }
}

#[test]
fn a_source_that_panics_when_it_is_attached_ends_the_run() {
    struct Panics;
    impl Source for Panics {
        type Product = u64;
        fn next(&mut self, _: u64) -> Result<Next<u64>, Cause> {
            Ok(Next::Event(7))
        }
        fn attach(&mut self, _: &Waker) {
            panic!("no tape");
        }
    }
    for source in [None, Some(())] {
        let (seen, summary) = match source {
            None => seen(Panics, 2).join().expect("it ends"),
            Some(()) => seen(Panics.read_ahead(2), 2).join().expect("it ends"),
        };
        assert_eq!((seen, summary.ended_by_failure), (Vec::new(), true));
        assert_eq!(summary.failures[0].cause, "it panicked: no tape");
    }
}

#[test]
fn a_source_gets_a_waker_that_outlives_the_run() {
    struct Keeps(Arc<Mutex<Option<Waker>>>);
    impl Source for Keeps {
        type Product = u64;
        fn next(&mut self, _: u64) -> Result<Next<u64>, Cause> {
            Ok(Next::End)
        }
        fn attach(&mut self, waker: &Waker) {
            *self.0.lock().expect("not poisoned") = Some(waker.clone());
        }
    }
    let kept = Arc::default();
    let graph = Builder::new("numbers", Keeps(Arc::clone(&kept))).build().expect("a graph");
    assert_eq!(Processor::new(graph, Settings::default()).run().expect("it runs").events, 0);
    let waker = kept.lock().expect("not poisoned").take().expect("it was attached");
    waker.wake();
}

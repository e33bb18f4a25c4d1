//! What a product came from, how long modules wait for resources, and how long products are kept.

use actinium_events::{
    Analyzer, AsyncProducer, Builder, Cause, Completion, Event, Filter, Graph, Input, Next,
    OnError, Output, Processor, Producer, Settings, Source, Stamp, Threads,
};
use std::sync::{Arc, Mutex};

struct Numbers(u64);
impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < self.0 { Next::Event(number) } else { Next::End })
    }
}

struct Add(Vec<Input<u64>>);
impl Producer for Add {
    type Product = u64;
    fn produce(&self, event: &Event<'_>) -> Result<u64, Cause> {
        Ok(self.0.iter().map(|&input| *event.get(input)).sum())
    }
}

type Seen = Arc<Mutex<Vec<Stamp>>>;

struct See(Input<u64>, Seen);
impl Analyzer for See {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        event.get(self.0);
        let mut seen = self.1.lock().expect("not poisoned");
        seen.extend([event.stamp(self.0), event.own_stamp()]);
        Ok(())
    }
}

/// `source -> a -> c, source -> b -> c -> see`; what changes: versions, and from whom `c` reads in
/// which order.
fn graph(versions: [u32; 4], c_reads: &'static [&str], seen: &Seen) -> Graph {
    let mut builder = Builder::new("number", Numbers(1));
    builder.source_version(versions[0]);
    for (k, label) in ["a", "b"].into_iter().enumerate() {
        let make = |inputs: &mut actinium_events::Inputs| Add(vec![inputs.get("number")]);
        builder.producer(label, Threads::Concurrent.version(versions[k + 1]), make);
    }
    builder.producer("c", Threads::Concurrent.version(versions[3]), |inputs| {
        Add(c_reads.iter().map(|label| inputs.get(label)).collect())
    });
    let seen = seen.clone();
    builder.analyzer("see", Threads::Serial, move |inputs| See(inputs.get("c"), seen.clone()));
    builder.build().expect("a graph")
}

#[test]
fn a_stamp_changes_with_every_version_and_producer_that_it_stands_on_and_with_nothing_else() {
    let seen = Seen::default();
    let first = graph([0; 4], &["a", "b"], &seen);
    let of = |graph: &Graph, label: &str| graph.stamp(label).expect("there is one");
    assert_eq!(of(&first, "c"), of(&graph([0; 4], &["a", "b"], &seen), "c"));
    assert_eq!(first.stamp("nobody"), None);
    let mut all = vec![of(&first, "c")];
    for k in 0..4 {
        let mut versions = [0; 4];
        versions[k] = 7;
        let other = graph(versions, &["a", "b"], &seen);
        assert_ne!(of(&other, "see"), of(&first, "see"), "{versions:?}");
        all.push(of(&other, "c"));
        // What does not stand on it keeps its stamp.
        assert_eq!(of(&other, "a") == of(&first, "a"), k != 0 && k != 1, "{versions:?}");
    }
    for c_reads in [&["b", "a"][..], &["a"], &["b"], &["a", "b", "b"], &["number", "b"], &[]] {
        all.push(of(&graph([0; 4], c_reads, &seen), "c"));
    }
    for (k, stamp) in all.iter().enumerate() {
        assert!(!all[..k].contains(stamp), "{k}: {stamp}");
    }
    // What an event says is what the graph says.
    let expected = [of(&first, "c"), of(&first, "see")];
    Processor::new(first, Settings::default().workers(1)).run().expect("runs");
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
    assert_eq!(expected[0].to_string(), format!("{:016x}", expected[0].get()));
}

/// Holds its resource while it waits.
struct Holds;
impl AsyncProducer for Holds {
    type Product = u64;
    fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        done.at(event.now_ns() + 20_000_000, event.number());
        Ok(())
    }
}

#[test]
fn the_wait_for_a_resource_is_known_per_module() {
    let mut builder = Builder::new("number", Numbers(4));
    builder.async_producer("serial", Threads::Serial, |_| Holds);
    builder.async_producer("free", Threads::Concurrent, |_| Holds);
    builder.producer("sum", Threads::Concurrent, |inputs| {
        Add(vec![inputs.get("serial"), inputs.get("free")])
    });
    let seen = Seen::default();
    builder
        .analyzer("see", Threads::Concurrent, move |inputs| See(inputs.get("sum"), seen.clone()));
    let settings = Settings::default().workers(2).slots(4);
    let summary = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    let [serial, free, sum, _] = &summary.modules[..] else { panic!("four modules") };
    // Four events come at once: they wait for 0, 1, 2 and 3 times 20 ms. A module that was ready
    // late may have waited less.
    assert!(serial.wait_resource_ns >= 20_000_000, "{serial:?}");
    assert!(serial.wait_start_ns >= serial.wait_resource_ns, "{serial:?}");
    assert_eq!((free.wait_resource_ns, sum.wait_resource_ns), (0, 0));
    assert!(summary.resources[0].waited_ns > 0);
}

#[test]
fn what_one_event_at_a_time_may_use_has_a_home() {
    for workers in [1, 2] {
        let mut builder = Builder::new("number", Numbers(200));
        let kinds = [
            Threads::Serial,
            Threads::Exclusive("disk".to_owned()),
            Threads::Limited(2),
            Threads::Concurrent,
        ];
        let labels = ["serial", "exclusive", "limited", "free"];
        for (label, kind) in labels.into_iter().zip(kinds) {
            builder.producer(label, kind, |inputs| Add(vec![inputs.get("number")]));
        }
        let seen = Seen::default();
        builder.producer("sum", Threads::Concurrent, move |inputs| {
            Add(labels.iter().map(|label| inputs.get(label)).collect())
        });
        builder.analyzer("see", Threads::Concurrent, move |inputs| {
            See(inputs.get("sum"), seen.clone())
        });
        let settings = Settings::default().workers(workers).slots(4);
        let run = Processor::new(builder.build().expect("a graph"), settings).run();
        let modules = run.expect("runs").modules;
        for module in &modules[..2] {
            let at_home = module.at_home.expect("it has a home");
            assert!(at_home <= module.calls, "{module:?}");
            // There is nowhere else to run.
            assert!(workers > 1 || at_home == module.calls, "{module:?}");
        }
        assert!(modules[2..].iter().all(|module| module.at_home.is_none()), "{modules:?}");
    }
}

type Log = Arc<Mutex<Vec<&'static str>>>;

struct Logs(&'static str, Log);
impl Drop for Logs {
    fn drop(&mut self) {
        self.1.lock().expect("not poisoned").push(self.0);
    }
}

struct Make(&'static str, Log);
impl Producer for Make {
    type Product = Logs;
    fn produce(&self, _: &Event<'_>) -> Result<Logs, Cause> {
        Ok(Logs(self.0, self.1.clone()))
    }
}

struct Needs(Vec<Input<Logs>>, bool);
impl Filter for Needs {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        self.0.iter().for_each(|&input| drop(event.get(input)));
        Ok(self.1)
    }
}
impl Analyzer for Needs {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        self.pass(event).map(drop)
    }
}

struct Writes(Log);
impl Output for Writes {
    fn write(&self, _: &Event<'_>) -> Result<(), Cause> {
        self.0.lock().expect("not poisoned").push("written");
        Ok(())
    }
}

/// Filter, then an analyzer that needs `kept` (which the filter read too) and, through another
/// producer, `deep`; and an output of that path.
fn dropped(passes: bool, other_path: bool) -> Vec<&'static str> {
    let log = Log::default();
    let mut builder = Builder::new("number", Numbers(1));
    let own = log.clone();
    builder.producer("kept", Threads::Concurrent, move |_| Make("kept", own.clone()));
    struct From(Input<Logs>, Log);
    impl Producer for From {
        type Product = Logs;
        fn produce(&self, event: &Event<'_>) -> Result<Logs, Cause> {
            event.get(self.0);
            Ok(Logs("derived", self.1.clone()))
        }
    }
    let own = log.clone();
    builder.producer("derived", Threads::Concurrent, move |inputs| {
        From(inputs.get("kept"), own.clone())
    });
    builder
        .filter("asks", Threads::Concurrent, move |inputs| Needs(vec![inputs.get("kept")], passes));
    builder.analyzer("looks", Threads::Concurrent, |inputs| {
        Needs(vec![inputs.get("kept"), inputs.get("derived")], true)
    });
    builder.path("p", ["asks", "looks"]);
    if other_path {
        builder.path("q", ["looks"]);
    }
    let own = log.clone();
    builder.output("writes", Threads::Concurrent, move |_| Writes(own.clone()));
    let settings = Settings::default().workers(1).slots(1).on_error(OnError::Skip);
    let summary = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    assert_eq!((summary.events, summary.failed), (1, 0));
    std::mem::take(&mut *log.lock().expect("not poisoned"))
}

#[test]
fn a_path_that_stops_frees_what_only_the_rest_of_it_would_have_read() {
    assert_eq!(dropped(false, false), ["kept", "written"]);
    let mut passed = dropped(true, false);
    passed[..2].sort_unstable();
    assert_eq!(passed, ["derived", "kept", "written"]);
    let mut other = dropped(false, true);
    other[..2].sort_unstable();
    assert_eq!(other, ["derived", "kept", "written"]);
}

/// Ends as its event's number says: with a product, an error, a panic, or without waiting at all.
struct Futures(std::sync::mpsc::Sender<futures_channel::oneshot::Sender<u64>>);
impl AsyncProducer for Futures {
    type Product = u64;
    fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        let number = event.number();
        let (reply, answer) = futures_channel::oneshot::channel();
        match number % 5 {
            0 => done.run(async move { Ok(number) }),
            1 => done.run(async { Err("as it is told".into()) }),
            // Nobody answers: its wait ends with an error.
            2 => done.run(async move { Ok(answer.await?) }),
            k => {
                self.0.send(reply)?;
                done.run(async move {
                    let answer = answer.await?;
                    assert_ne!(k, 4, "it panics when it is woken");
                    Ok(number + answer)
                });
            }
        }
        Ok(())
    }
}

#[test]
fn futures_complete_modules_from_other_threads() {
    for workers in [1, 2] {
        let (ask, asked) = std::sync::mpsc::channel::<futures_channel::oneshot::Sender<u64>>();
        let device = std::thread::spawn(move || {
            for reply in asked {
                let _ = reply.send(1_000);
            }
        });
        let mut builder = Builder::new("number", Numbers(500));
        builder.async_producer("waits", Threads::Concurrent, move |_| Futures(ask.clone()));
        let sum = Arc::new(Mutex::new(0));
        let own = sum.clone();
        struct Sum(Input<u64>, Arc<Mutex<u64>>);
        impl Analyzer for Sum {
            fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
                *self.1.lock().expect("not poisoned") += *event.get(self.0);
                Ok(())
            }
        }
        builder.analyzer("sum", Threads::Concurrent, move |inputs| {
            Sum(inputs.get("waits"), own.clone())
        });
        let settings = Settings::default().workers(workers).slots(16).on_error(OnError::Skip);
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (200, 300));
        let expected: u64 = (0..500)
            .filter(|n| n % 5 == 0)
            .chain((0..500).filter(|n| n % 5 == 3).map(|n| n + 1_000))
            .sum();
        assert_eq!(*sum.lock().expect("not poisoned"), expected);
        for cause in ["as it is told", "oneshot canceled", "it panics when it is woken"] {
            assert!(summary.failures.iter().any(|it| it.cause.contains(cause)), "{cause}");
        }
        device.join().expect("nobody asks any more");
    }
}

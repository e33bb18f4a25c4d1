//! Each callback of a run, what it does wrong, and when: all cells of the table of events in
//! docs/faults.md.
//
// leaks: what a thread that was given up may reach is never freed.

use actinium_events::{
    Analyzer, AsyncAnalyzer, Bind, Builder, Cause, Completion, Event, EventEnd, Input, Next,
    OnError, Output, Processor, Producer, RunSummary, Settings, Source, Stopper, Threads,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const PANICS: &str = "panics";
const RE_ENTERS: &str = "re-enters";
const STAYS: &str = "does not return";
const PHASES: [&str; 3] = ["running", "draining", "dropping"];

const FAILS: &str = "fails";
const ENDS: &str = "ends the run";
const GOES_ON: &str = "goes on";
const GIVEN_UP: &str = "given up";

type Row = (&'static str, &'static str, [&'static str; 3]);

const TABLE: [Row; 15] = [
    ("module", PANICS, [FAILS, FAILS, FAILS]),
    ("module", RE_ENTERS, [GOES_ON, GOES_ON, GOES_ON]),
    ("module", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("output", PANICS, [FAILS, FAILS, FAILS]),
    ("output", RE_ENTERS, [GOES_ON, GOES_ON, GOES_ON]),
    ("output", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("source", PANICS, [ENDS, ENDS, ENDS]),
    ("source", RE_ENTERS, [GOES_ON, GOES_ON, GOES_ON]),
    ("source", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("end's listener", PANICS, [GOES_ON, GOES_ON, GOES_ON]),
    ("end's listener", RE_ENTERS, [GOES_ON, GOES_ON, GOES_ON]),
    ("end's listener", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
    ("product's drop", PANICS, [FAILS, FAILS, FAILS]),
    ("product's drop", RE_ENTERS, [GOES_ON, GOES_ON, GOES_ON]),
    ("product's drop", STAYS, [GIVEN_UP, GIVEN_UP, GIVEN_UP]),
];

/// The event that it happens in.
const BAD: u64 = 3;
const EVENTS: u64 = 8;

/// What one callback does, and all that it needs for that.
struct Fault {
    callback: &'static str,
    does: &'static str,
    /// Whether its product is that of an event that does not come to its end.
    is_left: bool,
    /// It says that it was called, and waits until it may go on.
    called: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
    /// Nobody sends anything.
    never: Mutex<Receiver<()>>,
    processor: OnceLock<(Stopper, actinium_events::Feeder, actinium_events::Monitor)>,
    /// Another module's end.
    other: Mutex<Other>,
}

#[derive(Default)]
struct Other {
    waits: Option<Completion<()>>,
    may_end: bool,
}

impl Fault {
    fn at(&self, callback: &str, event: u64) {
        if (callback, event) != (self.callback, BAD) {
            return;
        }
        self.called.lock().unwrap().send(()).unwrap();
        if !self.is_left {
            self.go.lock().unwrap().recv().unwrap();
        }
        match self.does {
            PANICS => panic!("on purpose"),
            STAYS => _ = self.never.lock().unwrap().recv(),
            _ => self.re_enter(),
        }
    }

    /// Back to the run, by all that can be reached from everywhere.
    fn re_enter(&self) {
        let (stopper, feeder, monitor) = self.processor.get().unwrap();
        feeder.wake();
        assert!(monitor.in_flight() <= 2 && monitor.events() <= EVENTS);
        if stopper.asked() > 0 {
            stopper.stop();
        }
        let waits = {
            let mut other = self.other.lock().unwrap();
            other.may_end = true;
            other.waits.take()
        };
        if let Some(waits) = waits {
            waits.finish(Ok(()));
        }
        // Another run, from the first to the last event.
        let mut inner = Builder::new("number", Numbers(None));
        inner.analyzer("sees", Threads::Serial, |_| See(|_: &Event<'_>| Ok(())));
        let settings = Settings::default().workers(1).bind(Bind::None);
        let inner = Processor::new(inner.build().unwrap(), settings).run().unwrap();
        assert_eq!((inner.events, inner.failed), (EVENTS, 0));
    }
}

struct Numbers(Option<Arc<Fault>>);
impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        self.0.iter().for_each(|fault| fault.at("source", number));
        Ok(if number < EVENTS { Next::Event(number) } else { Next::End })
    }
}

struct See<F>(F);
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for See<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

struct Write(Arc<Fault>);
impl Output for Write {
    fn write(&self, event: &Event<'_>) -> Result<(), Cause> {
        self.0.at("output", event.number());
        Ok(())
    }
}

struct Falls(u64, Arc<Fault>);
impl Drop for Falls {
    fn drop(&mut self) {
        self.1.at("product's drop", self.0);
    }
}

struct Make(Arc<Fault>);
impl Producer for Make {
    type Product = Falls;
    fn produce(&self, event: &Event<'_>) -> Result<Falls, Cause> {
        Ok(Falls(event.number(), self.0.clone()))
    }
}

/// Waits in the event after the bad one for what that one does; or in the bad one for ever.
struct Wait(Input<Falls>, Arc<Fault>);
impl AsyncAnalyzer for Wait {
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        let (fault, number) = (&self.1, event.get(self.0).0);
        let mut other = fault.other.lock().unwrap();
        let is_left = fault.is_left && number == BAD;
        let waits_for_it =
            !fault.is_left && fault.does == RE_ENTERS && number == BAD + 1 && !other.may_end;
        if is_left || waits_for_it {
            other.waits = Some(done);
            if is_left {
                fault.called.lock().unwrap().send(()).unwrap();
            }
            return Ok(());
        }
        drop(other);
        done.finish(Ok(()));
        Ok(())
    }
}

/// What becomes of one cell of the table.
fn outcome(callback: &'static str, does: &'static str, phase: &'static str) -> &'static str {
    let ((called, was_called), (go, may_go), (release, never)) = (channel(), channel(), channel());
    let is_left = callback == "product's drop" && phase == "dropping";
    let fault = Arc::new(Fault {
        callback,
        does,
        is_left,
        called: Mutex::new(called),
        go: Mutex::new(may_go),
        never: Mutex::new(never),
        processor: OnceLock::new(),
        other: Mutex::default(),
    });
    let mut builder = Builder::new("number", Numbers(Some(fault.clone())));
    let own = fault.clone();
    builder.producer("makes", Threads::Concurrent, move |_| Make(own.clone()));
    let own = fault.clone();
    builder.analyzer("sees", Threads::Concurrent, move |_| {
        let own = own.clone();
        See(move |event: &Event<'_>| {
            own.at("module", event.number());
            Ok(())
        })
    });
    let own = fault.clone();
    builder.async_analyzer("waits", Threads::Concurrent, move |inputs| {
        Wait(inputs.get("makes"), own.clone())
    });
    let own = fault.clone();
    builder.output("writes", Threads::Concurrent, move |_| Write(own.clone()));
    let settings = Settings::default().workers(2).slots(2).bind(Bind::None).on_error(OnError::Skip);
    let own = fault.clone();
    let processor = Processor::new(builder.build().unwrap(), settings)
        .on_end(move |end: &EventEnd<'_>| own.at("end's listener", end.number));
    let stopper = processor.stopper();
    let all = (processor.stopper(), processor.feeder(), processor.monitor());
    assert!(fault.processor.set(all).is_ok());
    let run = thread::spawn(move || processor.run().unwrap());
    // Of one that is left: that its product is there.
    was_called.recv().unwrap();
    let stops = PHASES.iter().position(|it| *it == phase).unwrap();
    (0..stops).for_each(|_| stopper.stop());
    if is_left {
        was_called.recv().unwrap();
    } else {
        go.send(()).unwrap();
    }
    if does == STAYS {
        stopper.stop_within(Duration::ZERO);
    }
    let summary = run.join().unwrap();
    drop(release);
    if phase == "running" && does != STAYS && callback != "source" {
        assert_eq!(summary.events + summary.failed, EVENTS, "all others go on");
    }
    if let Some(stuck) = summary.stuck.first() {
        let label = match callback {
            "module" => Some("sees"),
            "output" => Some("writes"),
            "source" => Some("number"),
            "product's drop" => Some("makes"),
            _ => None,
        };
        assert_eq!(stuck.module.as_deref(), label);
    }
    of(&summary)
}

fn of(summary: &RunSummary) -> &'static str {
    match (summary.stuck.is_empty(), summary.ended_by_failure, summary.failures.is_empty()) {
        (false, ..) => GIVEN_UP,
        (_, true, _) => ENDS,
        (_, _, false) => FAILS,
        _ => GOES_ON,
    }
}

fn check(does_wrong: &str) {
    let rows = TABLE.into_iter().filter(|row| row.1 == does_wrong);
    let cells = rows.flat_map(|(callback, does, expected)| {
        let outcomes = PHASES.into_iter().zip(expected);
        outcomes.map(move |(phase, expected)| (callback, does, phase, expected))
    });
    // At once: nobody is given up before a second is over.
    let wrong: Vec<String> = thread::scope(|scope| {
        let cells: Vec<_> = cells
            .map(|(callback, does, phase, expected)| {
                scope.spawn(move || {
                    let found = outcome(callback, does, phase);
                    let told = || format!("{callback} {does} {phase}: {found}, not {expected}");
                    (found != expected).then(told)
                })
            })
            .collect();
        cells.into_iter().filter_map(|cell| cell.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_callback_that_panics() {
    check(PANICS);
}

#[test]
fn each_callback_that_re_enters() {
    check(RE_ENTERS);
}

#[test]
fn each_callback_that_does_not_return() {
    check(STAYS);
}

#[test]
fn the_table_is_that_of_the_docs() {
    let text = include_str!("../../../../../docs/faults.md");
    let (_, text) = text.split_once("\n## Events\n").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let rows = |line: &&str| line.starts_with("| ") && !line.starts_with("| callback");
    let told: Vec<&str> = text.lines().filter(rows).collect();
    let own: Vec<String> = TABLE
        .iter()
        .map(|(callback, does, [a, b, c])| format!("| {callback} | {does} | {a} | {b} | {c} |"))
        .collect();
    assert_eq!(told, own);
}

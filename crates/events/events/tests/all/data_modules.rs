//! Files as source and output of a graph: a bad row ends the run after what came before it, and no
//! half file is left.

use actinium_events::data::{RowOutput, Rows};
use actinium_events::{
    Builder, Cause, Event, Input, OnError, Order, Processor, Producer, RunSummary, Settings,
    Threads,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Number {
    n: u64,
}

/// Doubles; refuses multiples of 10.
struct Double(Input<Number>);

impl Producer for Double {
    type Product = Number;

    fn produce(&self, event: &Event<'_>) -> Result<Number, Cause> {
        let n = event.get(self.0).n;
        match n.is_multiple_of(10) {
            true => Err(format!("{n} is a multiple of 10").into()),
            false => Ok(Number { n: 2 * n }),
        }
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("actinium-modules-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn numbers(&self, text: &str) -> PathBuf {
        let path = self.0.join("numbers.csv");
        fs::write(&path, text).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(from: &Path, output: &RowOutput<Number>, settings: Settings) -> RunSummary {
    let mut builder = Builder::new("numbers", Rows::<Number>::open(from).expect("opened"));
    builder.producer("double", Threads::Concurrent, |inputs| Double(inputs.get("numbers")));
    let file = output.clone();
    builder.output("write", Threads::Serial, move |inputs| file.module(inputs.get("double")));
    let graph = builder.build().expect("a graph");
    Processor::new(graph, settings.workers(2).slots(4)).run().expect("a run")
}

fn rows(path: &Path) -> Vec<u64> {
    let rows = Rows::<Number>::open(path).expect("opened");
    rows.map(|row| row.expect("a row").n).collect()
}

#[test]
fn events_that_fail_are_not_in_the_file_and_the_others_are_in_order() {
    let folder = Folder::new("skip");
    let text: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let from = folder.numbers(&format!("n\n{text}"));
    let to = folder.0.join("doubled.jsonl");
    let output = RowOutput::create(&to).expect("created");
    let settings = Settings::default().on_error(OnError::Skip).order(Order::Input { window: 8 });
    let summary = run(&from, &output, settings);
    assert_eq!((summary.events, summary.failed), (90, 10));
    assert!(!to.exists(), "the file is not there before it is finished");
    assert_eq!(output.finish().expect("finished"), 90);
    let expected: Vec<u64> = (1..=100).filter(|n| n % 10 != 0).map(|n| 2 * n).collect();
    assert_eq!(rows(&to), expected);
    let error = output.finish().expect_err("once");
    assert!(error.to_string().contains("doubled.jsonl: it is finished already"), "{error}");
}

#[test]
fn a_bad_row_ends_the_run_and_is_named() {
    let folder = Folder::new("bad");
    let from = folder.numbers("n\n1\n2\n3\nfour\n5\n");
    let to = folder.0.join("doubled.csv");
    let output = RowOutput::create(&to).expect("created");
    let summary = run(&from, &output, Settings::default());
    assert_eq!(summary.events, 3);
    assert!(summary.ended_by_failure);
    let failure = &summary.failures[0];
    assert_eq!(failure.module, "numbers");
    assert!(failure.cause.contains("numbers.csv:5: n: invalid digit"), "{}", failure.cause);
    // The program decides what becomes of the rows so far: here they are dropped.
    drop(output);
    assert!(!to.exists());
    assert_eq!(fs::read_dir(&folder.0).expect("readable").count(), 1, "nothing is left beside");
}

#[test]
fn a_row_that_cannot_be_written_fails_its_event() {
    let folder = Folder::new("unwritable");
    let from = folder.numbers("n\n1\n");
    let to = folder.0.join("doubled.csv");
    let output = RowOutput::create(&to).expect("created");
    assert_eq!(output.finish().expect("finished"), 0);
    let summary = run(&from, &output, Settings::default());
    assert_eq!((summary.events, summary.failed), (0, 1));
    assert!(summary.failures[0].cause.contains("doubled.csv: it is finished already"));
}

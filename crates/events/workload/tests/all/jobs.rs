//! Files whose modules have types of the program's own: what they make, and what is wrong with
//! them, with its place.

use actinium_events::{
    Analyzer, AnalyzerMut, AsyncProducer, Cause, Completion, Event, Filter, Input, Next, Output,
    OutputMut, Processor, Producer, Settings, Source,
};
use actinium_workload::job::Unknown;
use actinium_workload::registry::Registry;
use actinium_workload::{Checked, Companions, Faults, Syntax, parse_job, plan, read_job, replay};
use serde::Deserialize;
use std::sync::{Arc, Mutex};

#[derive(Deserialize)]
struct To {
    to: u64,
}
struct Numbers(u64);
impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < self.0 { Next::Event(number) } else { Next::End })
    }
}

#[derive(Deserialize)]
struct Divisor {
    divisor: u64,
    #[serde(default)]
    at_most: Option<u64>,
}
struct Split(Input<u64>, u64);
impl Split {
    fn new(parameters: Divisor, number: Input<u64>) -> Result<Self, Cause> {
        match parameters.divisor {
            0 => Err("the divisor is 0".into()),
            divisor => Ok(Split(number, divisor)),
        }
    }
}
impl Producer for Split {
    type Product = (u64, String);
    fn produce(&self, event: &Event<'_>) -> Result<(u64, String), Cause> {
        let number = *event.get(self.0);
        Ok((number / self.1, (number % self.1).to_string()))
    }
}

struct Text(Vec<Input<u64>>);
impl AsyncProducer for Text {
    type Product = String;
    fn start(&self, event: &Event<'_>, done: Completion<String>) -> Result<(), Cause> {
        let texts: Vec<_> = self.0.iter().map(|&input| event.get(input).to_string()).collect();
        done.at(event.now_ns() + 1_000, texts.join("+"));
        Ok(())
    }
}

struct IsAtMost(Input<u64>, u64);
impl Filter for IsAtMost {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(*event.get(self.0) <= self.1)
    }
}

struct Sum(Input<u64>, u64);
impl AnalyzerMut for Sum {
    fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1 += *event.get(self.0);
        Ok(())
    }
}

struct Lines((Input<String>, Input<String>), Vec<String>);
impl OutputMut for Lines {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1.push(format!("{} {}", *event.get(self.0.0), *event.get(self.0.1)));
        Ok(())
    }
}

struct Nothing;
impl Analyzer for Nothing {
    fn analyze(&self, _: &Event<'_>) -> Result<(), Cause> {
        Ok(())
    }
}
impl Output for Nothing {
    fn write(&self, _: &Event<'_>) -> Result<(), Cause> {
        Ok(())
    }
}

/// A type that panics when it is read.
struct Panics;
impl<'de> Deserialize<'de> for Panics {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("of its own")
    }
}

type Written = Arc<Mutex<Vec<String>>>;

fn registry(written: &Written) -> Registry {
    let mut registry = Registry::new();
    registry.source("numbers", |parameters: To| Ok(Numbers(parameters.to)));
    registry.producers("split", ["whole", "rest"], Split::new);
    registry.async_producer("text", |(), numbers: Vec<Input<u64>>| Ok(Text(numbers)));
    registry.filter("at-most", |parameters: Divisor, number| {
        Ok(IsAtMost(number, parameters.at_most.unwrap_or(parameters.divisor)))
    });
    registry.analyzer("nothing", |_: Panics, ()| Ok(Nothing));
    registry.output("no-output", |(), ()| Ok(Nothing));
    let sums = written.clone();
    registry.analyzer_mut("sum", |(), number| Ok(Sum(number, 0))).after(move |sum| {
        let sum = sum.merge(|all, one| all.1 += one.1).ok_or("no sum")?;
        sums.lock().expect("a lock").push(format!("sum {}", sum.1));
        match sum.1 {
            0 => Err("there is nothing".into()),
            _ => Ok(()),
        }
    });
    let lines = written.clone();
    registry.output_mut("lines", |(), texts| Ok(Lines(texts, Vec::new()))).after(move |kept| {
        lines.lock().expect("a lock").extend(kept.take().into_iter().flat_map(|it| it.1));
        Ok(())
    });
    registry
}

const JOB: &str = r#"format = 1
[source]
label = "numbers"
type = "numbers"
parameters = { to = 20 }
[[modules]]
label = "split"
type = "split"
parameters = { divisor = 10 }
inputs = ["numbers"]
time-ms = 2
[[modules]]
label = "text"
type = "text"
inputs = [{ label = "split", product = "whole" }, "numbers", "numbers"]
[[modules]]
label = "few"
type = "at-most"
parameters = { divisor = 1, at_most = 2 }
inputs = ["numbers"]
time-ms = 1
kind = "filter"
[[modules]]
label = "sum"
type = "sum"
threads = "stream"
inputs = ["numbers"]
kind = "analyzer"
[[modules]]
label = "lines"
type = "lines"
inputs = ["text", { label = "split", product = "rest" }]
kind = "output"
[[modules]]
label = "apart"
type = "split"
parameters = { divisor = 0 }
inputs = ["numbers"]
[paths]
all = ["sum"]
main = ["few", "lines"]
"#;

fn read(text: &str) -> Result<Checked, Faults> {
    parse_job("f", text, Syntax::Toml, &registry(&Written::default()))
}

#[test]
fn a_file_is_a_job() {
    let written = Written::default();
    let registry = registry(&written);
    let read = parse_job("f", JOB, Syntax::Toml, &registry).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(read.warnings.list().len(), 1, "{}", read.warnings);
    let job = read.job.expect("it has types");
    // Twice: makers are kept. The module that no path needs is not made: it could not be.
    for _ in 0..2 {
        let (graph, after) = job.graph(&registry, &read.workload).expect("a graph");
        let settings = Settings::default().workers(2).slots(3);
        let settings = settings.order(actinium_events::Order::Input { window: 3 });
        let summary = Processor::new(graph, settings).run().expect("it runs");
        assert_eq!(summary.into_result().expect("no failure").events, 20);
        after.run().expect("results");
        let written = std::mem::take(&mut *written.lock().expect("a lock"));
        assert_eq!(written, ["sum 190", "0+0+0 0", "0+1+1 1", "0+2+2 2"]);
    }
    // A module that waits waits in the plan, too.
    let plan = plan::Plan::new(&read.workload);
    assert_eq!((plan.waiting_modules, plan.producers), (1, 2));
}

#[test]
fn a_job_is_planned_and_replayed_without_its_types() {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    std::fs::write(file.path(), JOB.replace("type = \"text\"", "type = \"txet\""))
        .expect("written");
    let (none, all) = (Registry::new(), registry(&Written::default()));
    let read = |registry: &Registry, unknown| {
        read_job(file.path(), Companions::default(), registry, unknown)
    };
    let faults = read(&none, Unknown::Refused).expect_err("no types").to_string();
    assert_eq!(faults.matches("this program has no types").count(), 7, "{faults}");
    let faults = read(&all, Unknown::Refused).expect_err("no such type").to_string();
    assert!(faults.contains(":14:8: error: module 'text' is of the type 'txet': this program has no such type of modules; did you mean 'text'?; there are: at-most, "), "{faults}");
    assert_eq!(faults.matches(" error: ").count(), 1, "{faults}");
    let Checked { workload, job, .. } = read(&all, Unknown::Tolerated).expect("it is tolerated");
    assert!(job.is_none());
    let (graph, total) = replay::graph(&workload, Some(5)).expect("a graph");
    assert_eq!(Processor::new(graph, Settings::default()).run().expect("it runs").events, 5);
    assert_eq!(total.get(), replay::expected_total(&workload, 5));
    // Products are not known without the type: they have to be said.
    let text = JOB.replace("divisor = 10 }", "divisor = 10 }\nproducts = [\"whole\", \"rest\"]");
    std::fs::write(file.path(), text).expect("written");
    let planned = read(&none, Unknown::Tolerated).expect("it is tolerated").workload;
    assert_eq!(plan::Plan::new(&planned).filters, 1);
}

// tidy: functions: a table of faults and of what is said of each
#[test]
fn what_is_wrong_with_a_job_has_its_place() {
    for (from, to, expected) in [
        (
            "to = 20",
            "to = 'x'",
            "f:5:21: error: parameters of the source (numbers): 'to': invalid type: string \"x\", expected u64",
        ),
        (
            "{ to = 20 }",
            "{ too = 20 }",
            "f:5:16: error: parameters of the source (numbers): no parameter is called 'too'; did you mean 'to'?; there are: to",
        ),
        (
            "{ to = 20 }",
            "20",
            "f:5:14: error: 'parameters' of 'source' is a number: it has to be a table",
        ),
        (
            "type = \"numbers\"\n",
            "",
            "f:4:14: error: 'parameters' of 'source' belong to a 'type', which is not there",
        ),
        (
            "type = \"numbers\"",
            "type = 5",
            "f:4:8: error: 'type' of 'source' is a number: it has to be a text",
        ),
        (
            "type = \"numbers\"",
            "type = \"number\"",
            "f:4:8: error: the source is of the type 'number': this program has no such type of sources; did you mean 'numbers'?; there are: numbers",
        ),
        ("type = \"sum\"\n", "", "f:23:1: error: module 'sum' lacks 'type'"),
        (
            "{ divisor = 10 }",
            "{}",
            "f:9:14: error: parameters of module 'split' (split): lacks 'divisor'",
        ),
        (
            "{ divisor = 10 }",
            "{ divisor = 10, size = 1 }",
            "f:9:30: error: parameters of module 'split' (split): no parameter is called 'size'; there are: divisor, at_most",
        ),
        (
            "type = \"sum\"",
            "type = \"sum\"\nparameters = { a = 1 }",
            "f:26:16: error: parameters of module 'sum' (sum): no parameter is called 'a'; there is none",
        ),
        (
            "type = \"sum\"",
            "type = \"nothing\"",
            "f:23:1: error: parameters of module 'sum' (nothing): it panicked: of its own",
        ),
        (
            "inputs = [\"text\", ",
            "inputs = [\"numbers\", ",
            "f:32:11: error: module 'lines' has 'numbers', which is u64, as its input 1: it has to be alloc::string::String",
        ),
        (
            "product = \"whole\"",
            "product = \"rest\"",
            "f:15:11: error: module 'text' has 'split.rest', which is alloc::string::String, as its input 1: it has to be u64",
        ),
        (
            "product = \"whole\"",
            "product = \"hole\"",
            "f:15:11: error: module 'text' asks for 'split', but 'split' makes no product 'hole'; did you mean 'whole'?",
        ),
        (
            "[{ label = \"split\", product = \"whole\" },",
            "[\"split\",",
            "f:15:11: error: module 'text' asks for 'split', which makes 2 products: say which; there are: 'whole', 'rest'",
        ),
        (
            "inputs = [\"text\", ",
            "inputs = [\"tex\", ",
            "f:32:11: error: module 'lines' asks for 'tex', which no module is called",
        ),
        (
            "inputs = [\"text\", ",
            "inputs = [\"text\", \"text\", ",
            "f:29:1: error: module 'lines' needs the inputs alloc::string::String, alloc::string::String, and names 3",
        ),
        (
            "threads = \"stream\"",
            "threads = \"limited(2)\"",
            "f:23:1: error: module 'sum' changes a state of its own: it has to be serial, exclusive(RESOURCE) or stream",
        ),
        (
            "kind = \"analyzer\"",
            "kind = \"filter\"",
            "f:23:1: error: module 'sum' is of the type 'sum', which is an analyzer",
        ),
        (
            "divisor = 10 }",
            "divisor = 10 }\nproducts = [\"rest\", \"whole\"]",
            "f:6:1: error: module 'split' is of the type 'split', which makes the products whole, rest",
        ),
        (
            "label = \"few\"",
            "label = \"numbers\"",
            "f:16:1: error: the source has the label 'numbers', too: give one another label",
        ),
        (
            "all = [\"sum\"]",
            "all = [\"sum\", \"lines\"]",
            "f:41:16: error: output 'lines' stands on the paths 'all' and 'main': it may stand on one",
        ),
    ] {
        assert!(JOB.contains(from), "{from}");
        let faults = read(&JOB.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(faults.lines().any(|line| line.starts_with(expected)), "{expected}\nin {faults}");
    }
}

#[test]
fn what_fails_when_it_is_made_or_written_is_named() {
    let written = Written::default();
    let mut registry = registry(&written);
    let graph = |registry: &Registry, text: &str| {
        let read = parse_job("f", text, Syntax::Toml, registry).unwrap_or_else(|it| panic!("{it}"));
        read.job.expect("it has types").graph(registry, &read.workload)
    };
    let text = JOB.replacen("divisor = 10", "divisor = 0", 1);
    let errors = graph(&registry, &text).expect_err("a module fails").to_string();
    assert_eq!(errors, "module 'split' could not be made: the divisor is 0");
    let (graphed, after) =
        graph(&registry, &JOB.replacen("to = 20", "to = 1", 1)).expect("a graph");
    Processor::new(graphed, Settings::default()).run().expect("it runs");
    let errors = after.run().expect_err("there is nothing").to_string();
    assert_eq!(errors, "module 'sum', after the run: there is nothing");

    registry.source("broken", |_: To| -> Result<Numbers, Cause> { panic!("no numbers") });
    let text = JOB.replacen("type = \"numbers\"", "type = \"broken\"", 1);
    let errors = graph(&registry, &text).expect_err("the source fails").to_string();
    assert_eq!(errors, "the source 'numbers' could not be made: it panicked: no numbers");

    registry.output("sum", |(), ()| Ok(Nothing));
    let faults = parse_job("f", JOB, Syntax::Toml, &registry).expect_err("two types").to_string();
    assert!(faults.contains("error: this program has two types that are called 'sum'"), "{faults}");
}

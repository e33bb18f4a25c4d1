//! Every example in docs/events.md is a workload, and the tables there name every key.

use actinium_workload::gaudi::{self, File, Job};
use actinium_workload::{self as workload, Checked, Syntax};

const PAGE: &str = include_str!("../../../../../docs/events.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let blocks = PAGE.split(&opening).skip(1);
    blocks.map(|rest| rest.split("\n```").next().unwrap_or_default()).collect()
}

#[test]
fn the_examples_are_right() {
    let [toml] = blocks("toml")[..] else { panic!("one workload") };
    let [short, long, times] = blocks("json")[..] else { panic!("two workloads, and times") };
    for (text, syntax) in [(toml, Syntax::Toml), (short, Syntax::Json), (long, Syntax::Json)] {
        let read = workload::parse("docs/events.md", text, syntax);
        let read = read.unwrap_or_else(|faults| panic!("{faults}\n{text}"));
        assert_eq!(read.warnings.list(), [], "{text}");
    }
    let [data] = blocks("xml")[..] else { panic!("one data flow") };
    let [control] = blocks("graphml")[..] else { panic!("one control flow") };
    let read = gaudi::parse("docs/events.md", data, "times", times);
    assert_eq!(read.expect("it is right").warnings.list(), []);
    let [data, times, control] =
        [data, times, control].map(|text| File { name: "docs/events.md", text });
    let read = gaudi::parse_job(Job { data, times, control: Some(control) });
    let Checked { workload, warnings, .. } = read.expect("it is right");
    assert_eq!((warnings.list(), workload.paths[0].modules.len()), (&[][..], 2));
}

/// A wrong key is answered with all keys that there are: each of them is explained.
#[test]
fn every_key_is_explained() {
    let text = "format = 1\nwrong = 1\n[options]\nwrong = 1\n[source]\nwrong = 1\n[[modules]]\nlabel = \"a\"\nwrong = 1\n[paths]\n";
    let faults = workload::parse("f", text, Syntax::Toml).expect_err("wrong keys");
    let lists = faults.list().iter().filter_map(|fault| fault.message.split("there are: ").nth(1));
    let lists: Vec<&str> = lists.collect();
    assert_eq!(lists.len(), 4, "{faults}");
    for key in lists.iter().flat_map(|list| list.split(", ")) {
        assert!(PAGE.contains(&format!("`{key}`")), "{key}");
    }
}

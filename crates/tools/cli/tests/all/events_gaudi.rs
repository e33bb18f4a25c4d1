//! `actinium events` with a job of GaudiHive: data flow, times and control flow.

use crate::common::{Scratch, number, run};

const DATA: &str = r#"<graphml><key attr.name="_type" for="node" id="t"/><graph>
<node id="Find"><data key="t">Algorithm</data></node>
<node id="tracks"><data key="t">DataObject</data></node>
<node id="Select"><data key="t">Algorithm</data></node>
<node id="Write"><data key="t">Algorithm</data></node>
<edge source="Find" target="tracks"/>
<edge source="tracks" target="Select"/>
<edge source="tracks" target="Write"/>
</graph></graphml>"#;
const TIMES: &str = r#"{"Find": "0.0001", "Select": 0.0001, "Write": "1e-4"}"#;
const CONTROL: &str = r#"<graphml>
<key attr.name="class" for="node" id="c"/><key attr.name="Lazy" for="node" id="l"/><graph>
<node id="Top"><data key="c">DecisionHub</data><data key="l">True</data></node>
<node id="Select"/>
<node id="Write"/>
<edge source="Top" target="Select"/>
<edge source="Top" target="Write"/>
</graph></graphml>"#;

/// The data flow and its times, and the control flow under another name.
fn scratch(name: &str) -> (Scratch, String, String) {
    let scratch = Scratch::new(&format!("events-gaudi-{name}"));
    scratch.file("averageTiming.small.json", TIMES);
    let data = scratch.file("df.small.graphml", DATA);
    let control = scratch.file("control.graphml", CONTROL);
    (scratch, data, control)
}

#[test]
fn a_job_is_checked_planned_and_run() {
    let (scratch, data, control) = scratch("job");
    let without = run(&["events", &data, "--plan", "--json"]).json();
    assert_eq!((number(&without, "plan.paths"), number(&without, "plan.filters")), (2.0, 0.0));
    let flags = ["events", &data, "--control-flow", &control];
    let with = |more: &[&str]| run(&[&flags, more].concat());
    let valid = format!("{data}: it can be run: no warnings\n");
    assert_eq!(with(&["--validate"]).ok(), valid);
    let plan = with(&["--plan"]).ok();
    for part in ["with filters: 1", "paths: each goes on until a filter rejects", "Select, Write"] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
    let json = with(&["--plan", "--json"]).json();
    assert_eq!(json["plan"]["path_steps"][0]["modules"], serde_json::json!(["Select", "Write"]));
    let ran = with(&["--workers", "1", "--events", "10", "--json"]).json();
    assert_eq!((number(&ran, "events"), number(&ran, "failed")), (10.0, 0.0));
    // Beside the data flow, it needs no flag.
    scratch.file("cf.small.graphml", CONTROL);
    let beside = run(&["events", &data, "--workers", "1", "--events", "10", "--json"]).json();
    assert_eq!(beside["checksum"], ran["checksum"]);
}

#[test]
fn faults_of_each_file_are_told_with_places() {
    let (scratch, data, _) = scratch("faults");
    let bad = scratch.file("bad.graphml", CONTROL.replace("\"Select\"/>", "\"tracks\"/>"));
    let ran = run(&["events", &data, "--control-flow", &bad, "--validate"]);
    assert_eq!(ran.code, Some(2));
    let line = format!("{bad}:4:1: error: 'tracks' is an algorithm here, and a data object");
    assert!(ran.stdout.contains(&line), "{}", ran.stdout);
    let control = scratch.file("cf.other.graphml", CONTROL);
    run(&["events", &control, "--times", "averageTiming.small.json"])
        .refused(&["averageTiming.small.json: error: there is no such file"]);
    let times = scratch.path("averageTiming.small.json");
    run(&["events", &control, "--times", &times])
        .refused(&["cf.other.graphml:3:1: error: this is a control flow: name the data flow"]);
    run(&["events", &data, "--control-flow", "no/such/file"])
        .refused(&["no/such/file: error: there is no such file"]);
    run(&["events", &scratch.file("own.toml", "format = 1\n"), "--control-flow", &control])
        .refused(&["a control flow (", "belongs to a GaudiHive data flow, which this is not"]);
}

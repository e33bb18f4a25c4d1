//! Jobs of GaudiHive as its project publishes them: other names of attributes, times that are
//! texts, and the control flow.

use actinium_workload::gaudi::{self, File, Job};
use actinium_workload::replay;
use actinium_workload::{Checked, Companions, Faults, Role, Workload, read_with};
use std::path::Path;

/// `_type` and `_class` instead of `type`.
const DATA: &str = r#"<graphml>
<key attr.name="_class" for="node" id="c"/>
<key attr.name="_type" for="node" id="t"/>
<key attr.name="hash" for="edge" id="h"/>
<graph edgedefault="directed">
<node id="Read"><data key="t">Algorithm</data><data key="c">Reader</data></node>
<node id="raw"><data key="t">DataObject</data><data key="c">Bank</data></node>
<node id="Find"><data key="t">Algorithm</data><data key="c">Finder</data></node>
<node id="tracks"><data key="t">DataObject</data></node>
<node id="Select"><data key="t">Algorithm</data></node>
<node id="Write"><data key="t">Algorithm</data></node>
<edge source="Read" target="raw"><data key="h">Exact</data></edge>
<edge source="raw" target="Find"/>
<edge source="Find" target="tracks"/>
<edge source="tracks" target="Select"/>
<edge source="tracks" target="Write"/>
</graph></graphml>"#;
const TIMES: &str = r#"{"Read": "0.000267", "Find": 0.004, "Select": "3.2e-05", "Write": " 0.5 "}"#;

/// A hub of each kind, which tests put members into.
fn control(nodes: &str) -> String {
    let hub = |name: &str, is_or: &str, is_lazy: &str| {
        format!(
            "<node id=\"{name}\"><data key=\"c\">DecisionHub</data><data key=\"o\">{is_or}</data><data key=\"l\">{is_lazy}</data></node>\n"
        )
    };
    let hubs = [
        hub("All", "False", "False"),
        hub("Chain", "False", "True"),
        hub("Inner", "False", "True"),
        hub("Each", "False", "False"),
        hub("Any", "True", "False"),
    ];
    let keys = "<key attr.name=\"class\" for=\"node\" id=\"c\"/><key attr.name=\"ModeOR\" for=\"node\" id=\"o\"/><key attr.name=\"Lazy\" for=\"node\" id=\"l\"/>";
    format!("<graphml>{keys}<graph>\n{}{nodes}\n</graph></graphml>", hubs.concat())
}

/// Nodes that are algorithms, and edges: `All>Chain` makes one a member of the other.
fn members(edges: &str) -> String {
    let hubs = ["All", "Chain", "Inner", "Each", "Any"];
    let mut nodes = String::new();
    for edge in edges.split_whitespace() {
        let (from, to) = edge.split_once('>').expect("two names");
        if !hubs.contains(&to) {
            nodes += &format!("<node id=\"{to}\"><data key=\"c\">Algorithm</data></node>\n");
        }
        nodes += &format!("<edge source=\"{from}\" target=\"{to}\"/>\n");
    }
    control(&nodes)
}

fn job(control: &str) -> Result<Checked, Faults> {
    let [data, times] = [("df", DATA), ("t", TIMES)].map(|(name, text)| File { name, text });
    gaudi::parse_job(Job { data, times, control: Some(File { name: "cf", text: control }) })
}

fn right(control: &str) -> Workload {
    job(control).unwrap_or_else(|faults| panic!("{faults}")).workload
}

/// `path: label label`, sorted; a filter has a `?`.
fn paths(it: &Workload) -> Vec<String> {
    let label = |index: &usize| {
        let module = &it.modules[*index];
        let filter = if module.role == Role::Filter { "?" } else { "" };
        format!(" {}{filter}", module.label)
    };
    let path = |path: &actinium_workload::Path| {
        format!("{}:{}", path.name, path.modules.iter().map(label).collect::<String>())
    };
    let mut paths: Vec<String> = it.paths.iter().map(path).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn other_names_of_attributes_and_times_as_texts_are_read() {
    let read = gaudi::parse("df", DATA, "t", TIMES).expect("it is right");
    assert_eq!(read.warnings.list(), []);
    let it = read.workload;
    let modules: Vec<_> =
        it.modules.iter().map(|m| (&*m.label, &*m.class, m.times.of(0))).collect();
    assert_eq!(
        modules,
        [
            ("Read", "Reader", 267_000),
            ("Find", "Finder", 4_000_000),
            ("Select", "Algorithm", 32_000),
            ("Write", "Algorithm", 500_000_000)
        ]
    );
    assert_eq!(paths(&it), ["Select: Select", "Write: Write"]);
    // A name that has its time with a capital.
    let small = DATA.replace("\"Find\"", "\"find\"");
    let read = gaudi::parse("df", &small, "t", TIMES).expect("it is right");
    assert_eq!(read.workload.modules[1].times.of(0), 4_000_000);
    for (time, problem) in [
        ("\"fast\"", "is a text: it has to be a number from 0 to 86400"),
        ("\"NaN\"", "is NaN: it has to be a number from 0 to 86400"),
        ("\"-1\"", "is -1: it has to be a number from 0 to 86400"),
    ] {
        let times = TIMES.replace("\"0.000267\"", time);
        let faults = gaudi::parse("df", DATA, "t", &times).expect_err(time).to_string();
        let line = format!("t:1:10: error: the time of 'Read' (in seconds) {problem}\n");
        assert_eq!(faults, line);
    }
}

#[test]
fn a_lazy_hub_is_a_path_whose_members_are_filters() {
    let it = right(&members("All>Chain Chain>Select Chain>Write"));
    assert_eq!(paths(&it), ["Chain: Select? Write"]);
    // What they need runs, though no hub has it.
    assert_eq!(it.modules.len(), 4);
    // As the only hub that is not in another, too.
    let it = right(&members("Chain>Select Chain>Inner Inner>Other Chain>Write"));
    assert_eq!(paths(&it), ["Chain: Select? Other? Write"]);
}

#[test]
fn members_of_other_hubs_run_whatever_the_others_decide() {
    let it = right(&members("All>Select All>Write"));
    assert_eq!(paths(&it), ["Select: Select", "Write: Write"]);
    // Behind a filter, and before one: what follows waits for all of AND, and for none of OR.
    let each = "Chain>Select Chain>Each Each>a Each>b Chain>Write";
    let expected = ["Chain: Select? a? b? Write", "a: Select? a?", "b: Select? b?"];
    assert_eq!(paths(&right(&members(each))), expected);
    let any = "Chain>Select Chain>Any Any>a Any>b Chain>Write";
    let expected = ["Chain: Select? Write", "a: Select? a", "b: Select? b"];
    assert_eq!(paths(&right(&members(any))), expected);
}

#[test]
fn a_producer_on_a_path_has_a_module_there_that_decides() {
    let it = right(&members("Chain>Find Chain>Write All>Find"));
    let decides = "Find (decision)";
    assert_eq!(paths(&it), [format!("Chain: {decides}? Write"), format!("Find: {decides}?")]);
    let index = it.module(decides).expect("there is one");
    let module = &it.modules[index];
    assert_eq!(it.modules[module.inputs[0].module].label, "Find");
    assert_eq!((module.times.of(0), module.accepts_fraction), (0, 1.0));
}

#[test]
fn members_of_several_hubs_run_once_and_stand_on_several_paths() {
    let it = right(&members(
        "All>Chain All>Any Chain>Select Chain>Write Any>Select Any>Inner Inner>Select Inner>x",
    ));
    assert_eq!(paths(&it), ["Chain: Select? Write", "Inner: Select? x", "Select: Select?"]);
    assert_eq!(it.modules.iter().filter(|module| module.label == "Select").count(), 1);
    // The same name for two paths.
    let it = right(&members("All>Select Any>Select Any>Write"));
    assert_eq!(paths(&it), ["Select (2): Select", "Select: Select", "Write: Write"]);
    // Described twice, as in published files.
    let twice = members("All>Select All>Select All>Write");
    assert_eq!(paths(&right(&twice)), ["Select: Select", "Write: Write"]);
}

#[test]
fn types_before_names_are_known() {
    let text = r#"<graphml><key attr.name="type" for="node" id="d"/><graph>
<node id="AthSequencer/Top"><data key="d">AthSequencer</data></node>
<node id="AthSequencer/Empty"/>
<node id="demo::Writer/Write"/>
<node id="demo::Other/Unknown"/>
<edge source="AthSequencer/Top" target="demo::Writer/Write"/>
<edge source="AthSequencer/Top" target="demo::Other/Unknown"/>
</graph></graphml>"#;
    let read = job(text).expect("it is right");
    assert_eq!(paths(&read.workload), ["Unknown: Unknown", "Write: Write"]);
    let unknown = &read.workload.modules[read.workload.module("Unknown").expect("it is there")];
    assert_eq!(unknown.class, "demo::Other");
    let warnings = read.warnings.to_string();
    assert!(
        warnings.contains("cf:5:1: warning: 'Unknown' has no time in t: it takes none"),
        "{warnings}"
    );
    assert!(
        warnings.contains("df:10:1: warning: module 'Select' never runs: it stands on no path"),
        "{warnings}"
    );
}

#[test]
fn faults_of_a_control_flow_have_places() {
    let right = members("All>Chain Chain>Select Chain>Write");
    let mut misses: Vec<String> = Vec::new();
    for (from, to, line) in [
        ("</graphml>", "", "cf:1:1: error: not XML"),
        ("<graph>", "<grape>", "cf:"),
        (
            "DecisionHub",
            "Hub",
            "cf:9:1: error: the edge from 'Chain' to 'Select' begins at an algorithm: only a decision hub has members",
        ),
        (
            "source=\"All\"",
            "source=\"Alll\"",
            "cf:7:1: error: an edge's source is 'Alll', which no node is called; did you mean 'All'?",
        ),
        ("source=\"All\" target", "target", "cf:7:1: error: an edge lacks its source"),
        ("<node id=\"All\">", "<node>", "cf:2:1: error: a node lacks its id"),
        ("<node id=\"All\">", "<node id=\"x/\">", "cf:2:1: error: a node's id has to have a name"),
        (
            ">False</data></node>",
            ">maybe</data></node>",
            "cf:2:1: error: Lazy of 'All' is 'maybe': it has to be True or False",
        ),
        ("target=\"Select\"", "target=\"All\"", "cf:"),
        (
            "\"Select\"",
            "\"tracks\"",
            "cf:8:1: error: 'tracks' is an algorithm here, and a data object in the data flow",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let faults = job(&right.replace(from, to)).expect_err(to).to_string();
        if !faults.lines().any(|fault| fault.starts_with(line) && fault.contains(": error: ")) {
            misses.push(format!("{line}\nin\n{faults}"));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    let circle =
        job(&members("All>Chain Chain>Inner Inner>Chain Inner>Select")).expect_err("a circle");
    assert_eq!(
        circle.to_string(),
        "cf:3:1: error: a circle: the hub 'Chain' is in itself, or in one that is\n"
    );
    let apart = job(&members("All>Select Chain>Inner Inner>Chain")).expect_err("a circle");
    assert!(apart.to_string().contains("a circle: the hub 'Chain'"), "{apart}");
    let empty = job(&control("")).expect_err("nothing runs").to_string();
    assert_eq!(empty, "cf:1:136: error: no decision hub has an algorithm: nothing would run\n");
    let lazy_or =
        right.replace(">False</data><data key=\"l\">True", ">True</data><data key=\"l\">True");
    let warnings = job(&lazy_or).expect("it can be run").warnings.to_string();
    assert!(warnings.contains("cf:3:1: warning: the hub 'Chain' is lazy and ModeOR"), "{warnings}");
    let alone = members("All>Select").replace("</graph>", "<node id=\"Write\"/></graph>");
    let warnings = job(&alone).expect("it can be run").warnings.to_string();
    assert!(warnings.contains("warning: 'Write' is a member of no hub"), "{warnings}");
}

/// Hubs that share members stand for many paths.
#[test]
fn a_control_flow_that_multiplies_is_refused() {
    let mut text =
        String::from("<graphml><key attr.name=\"class\" for=\"node\" id=\"c\"/><graph>\n");
    for level in 0..60 {
        for side in ["a", "b"] {
            text +=
                &format!("<node id=\"{side}{level}\"><data key=\"c\">DecisionHub</data></node>\n");
        }
    }
    text += "<node id=\"x\"/>";
    for level in 0..60 {
        for side in ["a", "b"] {
            for next in ["a", "b"] {
                let next =
                    if level == 59 { "x".to_owned() } else { format!("{next}{}", level + 1) };
                text += &format!("<edge source=\"{side}{level}\" target=\"{next}\"/>\n");
            }
        }
    }
    text += "</graph></graphml>";
    let faults = job(&text).expect_err("too many").to_string();
    assert!(
        faults.contains("the paths of this control flow have more than 1048576 steps"),
        "{faults}"
    );
    let mut text =
        String::from("<graphml><key attr.name=\"class\" for=\"node\" id=\"c\"/><graph>\n");
    for level in 0..20_000 {
        text += &format!(
            "<node id=\"h{level}\"><data key=\"c\">DecisionHub</data></node>\n<edge source=\"h{level}\" target=\"h{}\"/>\n",
            level + 1
        );
    }
    text += "<node id=\"h20000\"/></graph></graphml>";
    let faults = job(&text).expect_err("too deep").to_string();
    assert!(faults.contains("more than 256 hubs in each other"), "{faults}");
}

#[test]
fn a_job_with_a_control_flow_runs() {
    let it = right(&members("All>Chain Chain>Find Chain>Select Chain>Write"));
    let total = replay::expected_total(&it, 10);
    assert_ne!(total, 0);
    let without = gaudi::parse("df", DATA, "t", TIMES).expect("it is right").workload;
    assert_ne!(total, replay::expected_total(&without, 10), "the paths are others");
}

#[test]
fn published_samples_are_read_as_they_are() {
    let Some(data) = crate::common::data("gaudi/samples/df.small.graphml") else { return };
    let times = data.with_file_name("timing.small.json");
    let read = |control: Option<&Path>| {
        read_with(&data, Companions { times: Some(&times), control }).expect("it is right")
    };
    // The control flow is beside it.
    for control in [None, Some(&*data.with_file_name("cf.small.graphml"))] {
        let Checked { workload, warnings, .. } = read(control);
        assert_eq!(warnings.list(), []);
        assert_eq!(paths(&workload), ["Good: Select? WriteSummary"]);
        assert_eq!(workload.modules[0].class, "DecodeAlg");
        assert_eq!(workload.modules[2].times.of(0), 32_000);
    }
}

//! All that is wrong with a file is found at once, each with its line and column and with what
//! would be right.

use actinium_workload::{self as workload, Checked, Faults, Syntax, gaudi};

fn faults(text: &str, syntax: Syntax) -> String {
    match workload::parse("f", text, syntax) {
        Err(faults) => faults.to_string(),
        Ok(Checked { warnings, .. }) => panic!("no errors, but: {warnings}"),
    }
}

/// Fails with all that was expected and not found.
#[derive(Default)]
struct Misses(String);

impl Misses {
    fn look(&mut self, faults: &str, expected: &str) {
        if !faults.lines().any(|line| line.starts_with(expected)) {
            self.0 += &format!("expected {expected}\nin {faults}");
        }
    }
}

impl Drop for Misses {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "{}", self.0);
    }
}

fn warnings(text: &str, syntax: Syntax) -> Faults {
    workload::parse("f", text, syntax).unwrap_or_else(|faults| panic!("{faults}")).warnings
}

/// A configuration of the demo framework with one filter and one producer; parts of it are
/// replaced.
fn cms(replaced: &[(&str, &str)]) -> String {
    let mut text = String::from(
        r#"{"process": {
 "label": "T",
 "options": {"nSimultaneousEvents": 2, "busyWaitScaleFactor": 2.2e7},
 "source": {"@type": "demo::SimpleSource", "iterations": 10},
 "filters": [
  {"@label": "out", "@type": "demo::EventTimesBusyWaitPassFilter", "threadType": "ThreadSafeBetweenModules",
   "eventTimes": [0.1], "toGet": [{"label": "a", "product": ""}]}
 ],
 "producers": [
  {"@label": "a", "@type": "demo::BusyWaitProducer", "threadType": "ThreadSafeBetweenInstances",
   "averageTime": 0.1, "toGet": []}
 ],
 "paths": {"o": ["out"]}
}}"#,
    );
    for (from, to) in replaced {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

// tidy: functions: a table of faults and of what is said of each
#[test]
fn the_demo_framework_s_files_have_places() {
    assert_eq!(warnings(&cms(&[]), Syntax::Json).list(), []);
    let mut misses = Misses::default();
    for (from, to, expected) in [
        (
            "\"nSimultaneousEvents\": 2",
            "\"nSimultaneousEvents\": 0",
            "f:3:37: error: 'nSimultaneousEvents' is 0: it has to be a whole number from 1 to",
        ),
        (
            "\"nSimultaneousEvents\": 2",
            "\"nSimultaneousEvents\": 1.5",
            "f:3:37: error: 'nSimultaneousEvents' is 1.5",
        ),
        (
            "\"nSimultaneousEvents\": 2",
            "\"nSimultaneousEvents\": \"2\"",
            "f:3:37: error: 'nSimultaneousEvents' is a text",
        ),
        (
            "2.2e7",
            "-1",
            "f:3:63: error: 'busyWaitScaleFactor' is -1: it has to be a number from 1 to",
        ),
        (
            "\"iterations\": 10",
            "\"iterations\": 0",
            "f:4:58: error: 'iterations' is 0: it has to be a whole number from 1 to",
        ),
        (", \"iterations\": 10", "", "f:4:12: error: 'source' lacks 'iterations'"),
        (
            "demo::SimpleSource",
            "demo::OtherSource",
            "f:4:22: error: the source's class 'demo::OtherSource' is not known: it has to be 'demo::SimpleSource'",
        ),
        (
            "demo::EventTimesBusyWaitPassFilter",
            "demo::EventTimesBusywaitPassFilter",
            "f:6:30: error: the class 'demo::EventTimesBusywaitPassFilter' of module 'out' is not known; did you mean 'demo::EventTimesBusyWaitPassFilter'?",
        ),
        (
            "demo::BusyWaitProducer",
            "demo::PassFilter",
            "f:10:28: error: module 'a' is a filter ('demo::PassFilter') and stands among the producers",
        ),
        (
            "ThreadSafeBetweenModules",
            "ThreadsafeBetweenModules",
            "f:6:82: error: 'threadType' of module 'out' is 'ThreadsafeBetweenModules': it has to be one of ThreadSafeBetweenInstances, ThreadSafeBetweenModules, ThreadUnsafe; did you mean 'ThreadSafeBetweenModules'?",
        ),
        (
            "[0.1]",
            "[0.1, -0.5]",
            "f:7:24: error: entry 2 of 'eventTimes' of module 'out' (in seconds) is -0.5: it has to be a number from 0 to 86400",
        ),
        (
            "[0.1]",
            "[NaN]",
            "f:7:19: error: entry 1 of 'eventTimes' of module 'out' (in seconds) is NaN: it has to be a number from 0 to 86400",
        ),
        (
            "[0.1]",
            "[Infinity]",
            "f:7:19: error: entry 1 of 'eventTimes' of module 'out' (in seconds) is inf",
        ),
        (
            "[0.1]",
            "[1e9]",
            "f:7:19: error: entry 1 of 'eventTimes' of module 'out' (in seconds) is 1000000000",
        ),
        ("[0.1]", "[]", "f:7:18: error: 'eventTimes' of module 'out' is empty"),
        (
            "[0.1]",
            "[\"x\"]",
            "f:7:19: error: entry 1 of 'eventTimes' of module 'out' (in seconds) is a text",
        ),
        (
            "[0.1]",
            "0.1",
            "f:7:18: error: 'eventTimes' of module 'out' is a number: it has to be a list",
        ),
        ("\"averageTime\": 0.1, ", "", "f:10:3: error: module 'a' lacks 'averageTime'"),
        (
            "\"averageTime\": 0.1, ",
            "\"averageTime\": 0.1, \"maxTime\": 0.05, ",
            "f:11:35: error: 'averageTime' of module 'a' has to lie between 'minTime' and 'maxTime'",
        ),
        (
            "\"label\": \"a\"",
            "\"label\": \"b\"",
            "f:7:35: error: module 'out' asks for 'b', which no module is called: it has to be a producer's label",
        ),
        (
            "\"label\": \"a\"",
            "\"label\": \"out\"",
            "f:7:35: error: module 'out' asks for 'out', which is a filter and makes no product",
        ),
        (
            "\"product\": \"\"",
            "\"product\": \"x\"",
            "f:7:35: error: module 'out' asks for 'a', but 'a' makes no product 'x'",
        ),
        (
            "\"@label\": \"a\"",
            "\"@label\": \"out\"",
            "f:10:3: error: there is a module 'out' already, in line 6",
        ),
        (
            "\"toGet\": []",
            "\"toGet\": [{\"label\": \"a\"}]",
            "f:11:34: error: a cycle: 'a' needs 'a': take out one of these inputs",
        ),
        (
            "[\"out\"]",
            "[\"uot\"]",
            "f:13:18: error: path 'o' has 'uot', which no module is called; did you mean 'out'?",
        ),
        ("[\"out\"]", "[\"a\"]", "f:13:18: error: path 'o' has 'a', which is a producer"),
        ("[\"out\"]", "[\"out\", \"out\"]", "f:13:25: error: path 'o' has 'out' more than once"),
        ("[\"out\"]", "[]", "f:13:11: error: no path has a module: nothing would run"),
        ("{\"o\": [\"out\"]}", "[]", "f:13:11: error: 'paths' is a list: it has to be a table"),
        (
            "\"label\": \"T\"",
            "\"label\": 1",
            "f:2:11: error: 'label' is a number: it has to be a text",
        ),
        (",\n \"paths\": {\"o\": [\"out\"]}", "", "f:1:13: error: 'process' lacks 'paths'"),
        (
            "}}",
            "}",
            "f:14:2: error: the file ends before the object of line 1 has its '}': it is cut off",
        ),
        (
            "\"paths\"",
            "\"options\": {}, \"paths\"",
            "f:13:2: error: the key 'options' stands here again: first in line 3",
        ),
        (
            "demo::BusyWaitProducer",
            "demo::BusyWaitParallelForProducer",
            "f:10:3: error: module 'a' lacks 'nRanges': the number of parts",
        ),
    ] {
        let faults = faults(&cms(&[(from, to)]), Syntax::Json);
        misses.look(&faults, expected);
    }
}

#[test]
fn all_faults_are_told_at_once_and_none_twice() {
    let text = cms(&[
        ("\"nSimultaneousEvents\": 2", "\"nSimultaneousEvents\": 0"),
        ("[0.1]", "[-1, NaN]"),
        ("demo::BusyWaitProducer", "demo::BusyWaitProduce"),
        ("[\"out\"]", "[\"uot\"]"),
        ("\"toGet\": []", "\"toGet\": [{\"label\": \"z\"}]"),
    ]);
    let faults = faults(&text, Syntax::Json);
    let places: Vec<&str> =
        faults.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    let expected = ["f:3:37", "f:7:19", "f:7:23", "f:10:28", "f:11:34", "f:13:18"];
    assert_eq!(places, expected, "{faults}");
}

#[test]
fn what_may_not_be_meant_is_a_warning() {
    let text = cms(&[
        ("\"label\": \"T\"", "\"label\": \"T\", \"lable\": 1"),
        ("{\"label\": \"a\", \"product\": \"\"}", "{\"label\": \"a\"}, {\"label\": \"a\"}"),
        (
            "\"producers\": [",
            "\"producers\": [{\"@label\": \"b\", \"@type\": \"demo::FastProducer\", \"threadType\": \"ThreadUnsafe\", \"toGet\": []},",
        ),
    ]);
    let warnings = warnings(&text, Syntax::Json).to_string();
    let mut misses = Misses::default();
    for expected in [
        "f:2:16: warning: 'process': the key 'lable' is not known and ignored; did you mean 'label'?",
        "f:7:51: warning: module 'out' asks for 'a' more than once",
        "f:9:16: warning: module 'b' never runs: no path needs what it makes",
    ] {
        misses.look(&warnings, expected);
    }
}

const OWN: &str = "\
format = 1
name = \"t\"
[options]
slots = 2
[source]
events = 10
[[modules]]
label = \"a\"
time-ms = 1.5
products = [\"x\", \"y\"]
[[modules]]
label = \"f\"
kind = \"filter\"
threads = \"serial\"
inputs = [{ label = \"a\", product = \"x\" }]
[paths]
p = [\"f\"]
";

// tidy: functions: a table of faults and of what is said of each
#[test]
fn our_own_files_have_places() {
    assert_eq!(warnings(OWN, Syntax::Toml).list(), []);
    let mut misses = Misses::default();
    for (from, to, expected) in [
        ("format = 1", "format = 2", "f:1:10: error: 'format' is 2"),
        (
            "format = 1\n",
            "",
            "f:1:1: error: the file lacks 'format': this is version 1 of the format: say 'format = 1'",
        ),
        (
            "slots = 2",
            "slots = 0",
            "f:4:9: error: 'slots' is 0: it has to be a whole number from 1 to",
        ),
        (
            "slots = 2",
            "slot = 2",
            "f:4:1: error: 'options' has no key 'slot'; did you mean 'slots'?; there are: slots, workers",
        ),
        ("events = 10", "events = 0", "f:6:10: error: 'events' is 0"),
        ("events = 10", "events = 10\nevents = 11", "f:7:1: error: not TOML: duplicate key"),
        (
            "time-ms = 1.5",
            "time-ms = -1.5",
            "f:9:11: error: 'time-ms' of module 'a' (in milliseconds) is -1.5: it has to be a number from 0 to 86400000",
        ),
        (
            "time-ms = 1.5",
            "time-ms = nan",
            "f:9:11: error: 'time-ms' of module 'a' (in milliseconds) is NaN",
        ),
        (
            "time-ms = 1.5",
            "time-ms = 1.5\ntimes-ms = [1]",
            "f:10:12: error: 'times-ms' of module 'a' stands beside 'time-ms'",
        ),
        (
            "time-ms = 1.5",
            "time-ms = 2020-01-01",
            "f:9:11: error: 'time-ms' of module 'a' (in milliseconds) is a date",
        ),
        (
            "time-ms = 1.5",
            "accepts = 0.5",
            "f:9:11: error: 'accepts' of module 'a': only a filter says no",
        ),
        (
            "time-ms = 1.5",
            "kind = \"producr\"",
            "f:9:8: error: 'kind' of module 'a' is 'producr': it has to be one of producer, filter, analyzer, output; did you mean 'producer'?",
        ),
        (
            "[\"x\", \"y\"]",
            "[\"x\", \"x\"]",
            "f:10:18: error: 'products' of module 'a' has 'x' more than once",
        ),
        ("[\"x\", \"y\"]", "[]", "f:10:12: error: 'products' of module 'a' has no name"),
        (
            "\"serial\"",
            "\"seriel\"",
            "f:14:11: error: 'threads' of module 'f': 'seriel' is no thread kind; did you mean 'serial'?",
        ),
        (
            "\"serial\"",
            "\"exclusive\"",
            "f:14:11: error: 'threads' of module 'f': 'exclusive' lacks its resource",
        ),
        ("\"serial\"", "true", "f:14:11: error: 'threads' of module 'f' is a truth value"),
        (
            "product = \"x\"",
            "product = \"z\"",
            "f:15:11: error: module 'f' asks for 'a', but 'a' makes no product 'z'",
        ),
        (
            "{ label = \"a\", product = \"x\" }",
            "\"a\"",
            "f:15:11: error: module 'f' asks for 'a', which makes 2 products: say which; there are: 'x', 'y'",
        ),
        (
            "{ label = \"a\", product = \"x\" }",
            "7",
            "f:15:11: error: an entry of 'inputs' of module 'f' is a number",
        ),
        ("p = [\"f\"]", "p = \"f\"", "f:17:5: error: path 'p' is a text: it has to be a list"),
        ("p = [\"f\"]", "p = [\"f\"]\np = [\"f\"]", "f:18:1: error: not TOML: duplicate key"),
        ("p = [\"f\"]", "", "f:16:1: error: no path has a module"),
        (
            "label = \"f\"",
            "label = \"\"",
            "f:11:1: error: a module's label has to have at least one character",
        ),
    ] {
        assert!(OWN.contains(from), "{from}");
        let faults = faults(&OWN.replace(from, to), Syntax::Toml);
        misses.look(&faults, expected);
    }
}

#[test]
fn the_same_format_may_be_json() {
    let text = r#"{"format": 1, "modules": [{"label": "f", "kind": "output", "times-ms": [1, 2]}], "paths": {"p": ["f"]}}"#;
    let json = workload::parse("f", text, Syntax::Json).expect("it is right").workload;
    assert_eq!(json.modules[0].times.cycle(), [1_000_000, 2_000_000]);
    let fault = faults(&text.replace("format", "formt"), Syntax::Json);
    assert!(fault.contains("has no key 'formt'; did you mean 'format'?"), "{fault}");
}

#[test]
fn event_factors_multiply_all_times() {
    let text = "format = 1\nevent-factors = [1, 2]\nmodules = [{label = \"f\", kind = \"output\", times-ms = [1, 10, 100]}]\npaths = {p = [\"f\"]}";
    let it = workload::parse("f", text, Syntax::Toml).expect("it is right").workload;
    let ms: Vec<u64> = it.modules[0].times.cycle().iter().map(|ns| ns / 1_000_000).collect();
    assert_eq!(ms, [1, 20, 100, 2, 10, 200]);
    let factors = vec!["1"; 99_991].join(",");
    let fault = faults(&text.replace("1, 2", &factors), Syntax::Toml);
    assert!(
        fault.starts_with("f:3:") && fault.contains("let one's length divide the other's"),
        "{fault}"
    );
}

#[test]
fn a_cycle_is_named_by_its_modules() {
    let text = "\
format = 1
[[modules]]
label = \"a\"
inputs = [\"b\"]
[[modules]]
label = \"b\"
inputs = [\"c\"]
[[modules]]
label = \"c\"
inputs = [\"b\"]
[[modules]]
label = \"f\"
kind = \"output\"
inputs = [\"a\"]
[paths]
p = [\"f\"]
";
    let faults = faults(text, Syntax::Toml);
    assert_eq!(
        faults,
        "f:7:11: error: a cycle: 'b' needs 'c' needs 'b': take out one of these inputs, for no event could ever be finished\n"
    );
}

#[test]
fn a_long_cycle_is_found_without_recursion() {
    let count = 20_000;
    let modules: Vec<String> = (0..count)
        .map(|i| format!("{{label = \"m{i}\", inputs = [\"m{}\"]}}", (i + 1) % count))
        .collect();
    let text = format!(
        "format = 1\nmodules = [{}, {{label = \"f\", kind = \"output\", inputs = [\"m0\"]}}]\npaths = {{p = [\"f\"]}}",
        modules.join(",\n")
    );
    let faults = faults(&text, Syntax::Toml);
    assert!(faults.contains("needs … (20000 modules in all)"), "{faults}");
}

#[test]
fn a_file_with_endless_faults_is_given_up() {
    let times = vec!["-1"; 5_000].join(",");
    let faults = faults(&cms(&[("[0.1]", &format!("[{times}]"))]), Syntax::Json);
    assert_eq!(faults.lines().count(), 1_000);
    assert!(faults.contains("no more are listed"));
}

const FLOW: &str = "<graphml>
<key attr.name=\"type\" for=\"node\" id=\"k\"/>
<graph edgedefault=\"directed\">
<node id=\"A\"><data key=\"k\">Algorithm</data></node>
<node id=\"B\"><data key=\"k\">Algorithm</data></node>
<node id=\"o\"><data key=\"k\">DataObject</data></node>
<edge source=\"A\" target=\"o\"/>
<edge source=\"o\" target=\"B\"/>
</graph></graphml>";
const TIMES: &str = "{\"A\": 0.5, \"B\": 1}";

#[test]
fn data_flows_have_places() {
    let it = gaudi::parse("f", FLOW, "t", TIMES).expect("it is right");
    assert_eq!((it.workload.modules.len(), it.warnings.list().len()), (2, 0));
    assert_eq!(it.workload.modules[1].inputs[0].product, "o");
    let mut misses = Misses::default();
    for (from, to, expected) in [
        ("</graphml>", "", "f:1:1: error: not XML: the root node was opened but never closed"),
        (
            "<graphml>",
            "<graphml><graphml>",
            "f:1:1: error: not XML: the root node was opened but never closed",
        ),
        (
            "attr.name=\"type\"",
            "attr.name=\"typo\"",
            "f:1:1: error: there is no <key attr.name=\"type\" for=\"node\">",
        ),
        ("<node id=\"A\">", "<node>", "f:4:1: error: a node lacks its id"),
        (
            "<node id=\"B\">",
            "<node id=\"A\">",
            "f:5:1: error: there is a node 'A' already, in line 4",
        ),
        (
            "DataObject",
            "DataObjekt",
            "f:6:1: error: the type of node 'o' is 'DataObjekt': it has to be Algorithm, FakeAlgorithm or DataObject",
        ),
        (
            "source=\"A\" target=\"o\"",
            "source=\"C\" target=\"o\"",
            "f:7:1: error: an edge's source is 'C', which no node is called",
        ),
        ("source=\"A\" target=\"o\"", "source=\"A\"", "f:7:1: error: an edge lacks its target"),
        (
            "source=\"A\" target=\"o\"",
            "source=\"A\" target=\"B\"",
            "f:7:1: error: the edge from 'A' to 'B' does not join an algorithm and a data object",
        ),
        (
            "</graph>",
            "<edge source=\"B\" target=\"o\"/></graph>",
            "f:9:1: error: both 'A' and 'B' make 'o'",
        ),
    ] {
        assert!(FLOW.contains(from), "{from}");
        let faults = match gaudi::parse("f", &FLOW.replace(from, to), "t", TIMES) {
            Err(faults) => faults.to_string(),
            Ok(_) => panic!("no errors: {to}"),
        };
        misses.look(&faults, expected);
    }
}

#[test]
fn the_timing_of_a_data_flow_has_places_of_its_own() {
    let wrong =
        gaudi::parse("f", FLOW, "t", "{\"A\": -0.5,\n \"B\": \"x\"}").expect_err("bad times");
    let wrong = wrong.to_string();
    assert!(wrong.contains("t:1:7: error: the time of 'A' (in seconds) is -0.5"), "{wrong}");
    assert!(wrong.contains("t:2:7: error: the time of 'B' (in seconds) is a text"), "{wrong}");
    let missing = gaudi::parse("f", FLOW, "t", "{}").expect("only warnings").warnings.to_string();
    assert!(
        missing.starts_with("f:4:1: warning: 'A' has no time in t: it takes none\nf:5:1:"),
        "{missing}"
    );
    let objectless = FLOW.replace("<edge source=\"A\" target=\"o\"/>", "");
    let warnings = gaudi::parse("f", &objectless, "t", TIMES).expect("only warnings").warnings;
    assert!(
        warnings.to_string().contains("f:8:1: warning: 'B' needs 'o', which no algorithm makes")
    );
}

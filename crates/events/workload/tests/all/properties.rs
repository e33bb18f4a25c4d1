//! Whatever a file holds, reading it ends with a workload or with faults, and a workload that is
//! read can be planned.

use actinium_workload::plan::Plan;
use actinium_workload::plan::flow::Flow;
use actinium_workload::plan::simulate::{Setup, simulate};
use actinium_workload::{self as workload, Checked, Syntax, Workload, gaudi, generate};
use proptest::prelude::*;
use std::fmt::Write;

const CMS: &str = r#"{"process": {"label": "T",
 "options": {"nSimultaneousEvents": 2, "busyWaitScaleFactor": 2.2e7},
 "source": {"@type": "demo::SimpleSource", "iterations": 10},
 "filters": [{"@label": "out", "@type": "demo::EventTimesBusyWaitPassFilter", "threadType": "ThreadUnsafe",
   "eventTimes": [0.1, 0.2], "toGet": [{"label": "a", "product": ""}]}],
 "producers": [{"@label": "a", "@type": "demo::BusyWaitParallelForProducer", "threadType": "ThreadSafeBetweenModules",
   "averageTime": 0.1, "minTime": 0.05, "maxTime": 0.3, "nRanges": 4, "toGet": []}],
 "paths": {"o": ["out"]}}}"#;

const FLOW: &str = r#"<?xml version="1.0"?><graphml><key attr.name="type" for="node" id="k"/><graph>
<node id="A"><data key="k">Algorithm</data></node><node id="B"><data key="k">Algorithm</data></node>
<node id="o"><data key="k">DataObject</data></node><edge source="A" target="o"/><edge source="o" target="B"/></graph></graphml>"#;

const IMAGING: &str = include_str!("../../../../../workloads/imaging.toml");

/// What is put into texts in the hope that it breaks something.
const TOKENS: [&str; 30] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "=",
    "\n",
    "\\",
    "\\u0000",
    "\u{0}",
    "é",
    "😀",
    "-1",
    "1e999",
    "NaN",
    "nan",
    "-inf",
    "99999999999999999999",
    "0x",
    "null",
    "true",
    "<",
    ">",
    "</graph>",
    "<!--",
    "&lt;",
    "&#0;",
];

/// Changes of a text: at this place (as a fraction of it), so many bytes give way to this.
fn changes() -> impl Strategy<Value = Vec<(f64, usize, String)>> {
    let token = prop_oneof![
        Just(String::new()),
        (0..TOKENS.len()).prop_map(|index| TOKENS[index].to_owned()),
        (0..TOKENS.len(), 1..2_000usize).prop_map(|(index, times)| TOKENS[index].repeat(times)),
        ".{0,8}",
    ];
    proptest::collection::vec((0.0..1.0, 0..40usize, token), 1..6)
}

fn changed(text: &str, changes: &[(f64, usize, String)]) -> String {
    let mut text = text.to_owned();
    for (at, length, with) in changes {
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let begin = boundary((at * text.len() as f64) as usize);
        let end = boundary((begin + length).min(text.len())).max(begin);
        text.replace_range(begin..end, with);
    }
    text
}

/// Reads it, and plans what is read.
fn survive(read: Result<Checked, workload::Faults>) {
    match read {
        Err(faults) => assert!(faults.are_fatal() && !faults.to_string().is_empty()),
        Ok(checked) => {
            assert!(!checked.warnings.are_fatal());
            let flow = Flow::new(&checked.workload);
            let plan = Plan::of(&flow);
            assert!(plan.total_ns.mean.is_finite() && plan.modules > 0);
            let setup =
                Setup { workers: Some(2), slots: 3, events: 5, first_event: 0, limits: true };
            let _ = simulate(&flow, &setup);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_configuration_of_the_demo_framework_is_survived(changes in changes()) {
        survive(workload::parse("f", &changed(CMS, &changes), Syntax::Json));
    }

    #[test]
    fn a_changed_data_flow_is_survived(changes in changes(), of_times in changes()) {
        let times = changed(r#"{"A": 0.5, "B": 1.5}"#, &of_times);
        survive(gaudi::parse("f", &changed(FLOW, &changes), "t", &times));
    }

    #[test]
    fn a_changed_file_of_ours_is_survived(changes in changes()) {
        let text = changed(IMAGING, &changes);
        survive(workload::parse("f", &text, Syntax::Toml));
        survive(workload::parse("f", &text, Syntax::Json));
    }

    #[test]
    fn any_text_is_survived(text in ".{0,200}") {
        for syntax in [Syntax::Json, Syntax::Toml, Syntax::Graphml] {
            survive(workload::parse("f", &text, syntax));
        }
    }

    #[test]
    fn the_position_of_a_fault_is_in_the_file(changes in changes()) {
        let text = changed(IMAGING, &changes);
        if let Err(faults) = workload::parse("f", &text, Syntax::Toml) {
            let lines: Vec<&str> = text.split('\n').collect();
            for at in faults.list().iter().filter_map(|fault| fault.at) {
                let line = lines.get(at.line as usize - 1).expect("there is such a line");
                prop_assert!(at.column as usize <= line.chars().count() + 1);
            }
        }
    }
}

proptest! {
    // Each file has hundreds of modules: fewer of them look at as many.
    #![proptest_config({
        let usual = ProptestConfig::default();
        ProptestConfig { cases: usual.cases.div_ceil(8), failure_persistence: None, ..usual }
    })]

    #[test]
    fn a_generated_workload_is_right_whatever_the_seed(seed: u64) {
        let text = generate::reconstruction(seed);
        let read = workload::parse("f", &text, Syntax::Toml);
        prop_assert!(read.as_ref().is_ok_and(|read| read.warnings.list().is_empty()), "{read:?}");
    }
}

/// A graph of layers: each module needs some of those before it.
fn graph() -> impl Strategy<Value = Workload> {
    let kinds = ["concurrent", "serial", "exclusive(r)", "limited(2)", "stream"];
    let module = (0..5usize, 0..20u32, any::<bool>(), any::<u64>(), 1..4u32, any::<bool>());
    (proptest::collection::vec(module, 1..25), 1..4usize).prop_map(move |(modules, paths)| {
        let mut text = String::from("format = 1\nmodules = [\n");
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        let count = modules.len();
        let inputs = |index: usize, bits: u64| {
            let inputs = (0..index).filter(|input| bits >> (input % 64) & 1 == 1).take(6);
            inputs.map(|input| format!("\"m{input}\"")).collect::<Vec<_>>().join(", ")
        };
        for (index, &(kind, ms, waits, bits, parts, one_by_one)) in modules.iter().enumerate() {
            let (kind, work) = (kinds[kind], if waits { "wait" } else { "busy" });
            let inputs = inputs(index, bits);
            line(format!("{{ label = \"m{index}\", time-ms = {ms}, threads = \"{kind}\", work = \"{work}\", parts = {parts}, fetches-one-by-one = {one_by_one}, inputs = [{inputs}] }},"));
        }
        for path in 0..paths {
            let inputs = inputs(count, modules[path % count].3 | 1 << (count - 1));
            line(format!("{{ label = \"f{path}\", kind = \"filter\", accepts = 0.7, inputs = [\"m{}\"] }},", path % count));
            line(format!("{{ label = \"o{path}\", kind = \"output\", time-ms = 1, inputs = [{inputs}] }},"));
        }
        line("]\n[paths]".to_owned());
        for path in 0..paths {
            line(format!("p{path} = [\"f{path}\", \"o{path}\"]"));
        }
        workload::parse("f", &text, Syntax::Toml).unwrap_or_else(|faults| panic!("{faults}\n{text}")).workload
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No schedule beats what limits it, none leaves work undone, and list scheduling is not worse
    /// than Graham's bound for one event.
    #[test]
    fn a_simulation_keeps_within_its_bounds(it in graph(), workers in 1..6usize, slots in 1..6usize) {
        let flow = Flow::new(&it);
        let plan = Plan::of(&flow);
        let events = 20u64;
        let setup = Setup { workers: Some(workers), slots, events, first_event: 0, limits: true };
        let it = simulate(&flow, &setup);
        let unlimited = simulate(&flow, &Setup { workers: None, limits: false, ..setup });
        prop_assert_eq!((it.work_ns, it.busy_ns, it.runs), (unlimited.work_ns, unlimited.busy_ns, unlimited.runs));
        prop_assert!(it.elapsed_ns >= it.busy_ns / workers as u64);
        prop_assert!(it.elapsed_ns >= unlimited.elapsed_ns);
        prop_assert!(it.elapsed_ns <= it.work_ns);
        let longest = plan.durations_ns.iter().take(events as usize).max().copied().unwrap_or(0);
        prop_assert!(unlimited.elapsed_ns >= longest);
        if slots as u64 >= events {
            prop_assert_eq!(unlimited.elapsed_ns, longest);
        }
    }
}

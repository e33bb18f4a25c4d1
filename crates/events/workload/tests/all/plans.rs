//! Plans of small graphs, against what one works out by hand.

use actinium_workload::plan::flow::Flow;
use actinium_workload::plan::simulate::{Setup, simulate};
use actinium_workload::plan::{Plan, ideal};
use actinium_workload::{self as workload, Syntax, Workload};

fn workload(modules: &str, paths: &str) -> Workload {
    let text = format!("format = 1\nmodules = [\n{modules}\n]\n[paths]\n{paths}\n");
    workload::parse("f", &text, Syntax::Toml).unwrap_or_else(|faults| panic!("{faults}")).workload
}

fn elapsed_ms(it: &Workload, workers: usize, slots: usize, events: u64) -> f64 {
    let flow = Flow::new(it);
    let setup = Setup { workers: Some(workers), slots, events, first_event: 0, limits: true };
    simulate(&flow, &setup).elapsed_ns as f64 / 1e6
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.critical_path.modules.iter().map(|module| module.label.as_str()).collect()
}

/// a (2 ms) and b (3 ms) need nobody, c (4 ms) needs both, d (10 ms) nobody needs, out (1 ms) needs
/// c.
const DIAMOND: &str = "
{ label = \"a\", time-ms = 2 },
{ label = \"b\", time-ms = 3 },
{ label = \"c\", time-ms = 4, inputs = [\"a\", \"b\"] },
{ label = \"d\", time-ms = 10 },
{ label = \"out\", kind = \"output\", time-ms = 1, inputs = [\"c\"] },
";

#[test]
fn a_diamond() {
    let it = workload(DIAMOND, "p = [\"out\"]");
    let plan = Plan::new(&it);
    assert_eq!((plan.modules, plan.modules_in_file, plan.edges, plan.levels), (4, 5, 3, 3));
    assert_eq!((plan.total_ns.mean, plan.critical_path.time_ns.mean), (10e6, 8e6));
    assert_eq!(labels(&plan), ["b", "c", "out"]);
    assert_eq!(plan.parallelism.mean, 1.25);
    assert_eq!((plan.fan_in_max.label.as_str(), plan.fan_in_max.modules), ("c", 2));
    assert!(plan.ceilings.is_empty());
    // One worker does one thing after the other; two do a and b beside each other.
    assert_eq!(elapsed_ms(&it, 1, 1, 1), 10.0);
    assert_eq!(elapsed_ms(&it, 2, 1, 1), 8.0);
    assert_eq!(elapsed_ms(&it, 2, 1, 3), 24.0);
    // With two slots, the second event fills the gaps of the first: 3 ms until c begins, then 4 for
    // it while the other's b and a run, then 4 and 1 for the other's c and out.
    assert_eq!(elapsed_ms(&it, 2, 2, 2), 12.0);
    assert_eq!(elapsed_ms(&it, 8, 4, 4), 8.0);
}

#[test]
fn a_serial_module_is_a_ceiling() {
    let it = workload(
        &DIAMOND.replace("label = \"c\"", "label = \"c\", threads = \"serial\""),
        "p = [\"out\"]",
    );
    let plan = Plan::new(&it);
    assert_eq!((plan.ceilings.len(), plan.ceilings[0].events_per_s), (1, 250.0));
    // 3 ms until the first c begins, then 4 ms for each, then out.
    assert_eq!(elapsed_ms(&it, 16, 10, 10), 44.0);
}

#[test]
fn a_resource_is_shared_and_a_limit_is_counted() {
    let exclusive = "threads = \"exclusive(disk)\"";
    let text = DIAMOND.replace("label = \"a\"", &format!("label = \"a\", {exclusive}"));
    let text = text.replace("label = \"b\"", &format!("label = \"b\", {exclusive}"));
    let it = workload(&text, "p = [\"out\"]");
    let plan = Plan::new(&it);
    assert_eq!((plan.ceilings[0].name.as_str(), plan.ceilings[0].kind), ("disk", "resource"));
    assert_eq!(plan.ceilings[0].events_per_s, 200.0);
    // a and b one after the other, of one event as well: the more urgent first.
    assert_eq!(elapsed_ms(&it, 16, 1, 1), 10.0);
    assert_eq!(elapsed_ms(&it, 16, 10, 10), 55.0);

    let limited = DIAMOND.replace("label = \"c\"", "label = \"c\", threads = \"limited(2)\"");
    let it = workload(&limited, "p = [\"out\"]");
    assert_eq!(Plan::new(&it).ceilings[0].events_per_s, 500.0);
    assert_eq!(elapsed_ms(&it, 32, 10, 10), 24.0);
    // An instance per slot: nobody waits.
    let stream = DIAMOND.replace("label = \"c\"", "label = \"c\", threads = \"stream\"");
    assert_eq!(elapsed_ms(&workload(&stream, "p = [\"out\"]"), 32, 10, 10), 8.0);
}

#[test]
fn what_waits_needs_no_worker() {
    let text = DIAMOND.replace("time-ms = 4", "time-ms = 4, work = \"wait\"");
    let it = workload(&text, "p = [\"out\"]");
    let plan = Plan::new(&it);
    assert_eq!((plan.waiting_modules, plan.busy_ns.mean), (1, 6e6));
    // 6 ms of each event compute; while one waits, another does.
    assert_eq!(elapsed_ms(&it, 1, 1, 2), 20.0);
    // 60 ms of computing, and 3 of the last wait that nothing is left to fill.
    assert_eq!(elapsed_ms(&it, 1, 10, 10), 63.0);
}

#[test]
fn a_split_module_is_as_fast_as_there_are_workers() {
    let text = DIAMOND.replace("time-ms = 4", "time-ms = 4, parts = 4");
    let it = workload(&text, "p = [\"out\"]");
    assert_eq!(Plan::new(&it).critical_path.time_ns.mean, 5e6);
    assert_eq!(elapsed_ms(&it, 1, 1, 1), 10.0);
    assert_eq!(elapsed_ms(&it, 2, 1, 1), 6.0);
    assert_eq!(elapsed_ms(&it, 4, 1, 1), 5.0);
}

const FILTERED: &str = "
{ label = \"a\", time-ms = 2 },
{ label = \"b\", time-ms = 8 },
{ label = \"f\", kind = \"filter\", time-ms = 1, accepts = 0.5, inputs = [\"a\"] },
{ label = \"o\", kind = \"output\", time-ms = 1, inputs = [\"b\"] },
";

#[test]
fn a_path_stops_at_a_filter_that_says_no() {
    let it = workload(FILTERED, "p = [\"f\", \"o\"]");
    let plan = Plan::new(&it);
    assert_eq!((plan.total_ns.min, plan.total_ns.max, plan.total_ns.mean), (3e6, 12e6, 7.5e6));
    // b is asked for only when f has said yes: it does not run beside a.
    assert_eq!(plan.critical_path.time_ns.max, 12e6);
    assert_eq!(elapsed_ms(&it, 4, 1, 2), 15.0);
}

#[test]
fn paths_run_beside_each_other_and_share_what_they_need() {
    let it = workload(FILTERED, "p = [\"f\"]\nq = [\"o\"]\nr = [\"f\", \"o\"]");
    let plan = Plan::new(&it);
    assert_eq!((plan.total_ns.max, plan.critical_path.time_ns.max), (12e6, 9e6));
    assert_eq!(plan.total_ns.min, 12e6);
}

#[test]
fn who_asks_one_by_one_waits_one_by_one() {
    let text = DIAMOND
        .replace("inputs = [\"a\", \"b\"]", "inputs = [\"a\", \"b\"], fetches-one-by-one = true");
    let plan = Plan::new(&workload(&text, "p = [\"out\"]"));
    assert_eq!(plan.critical_path.time_ns.mean, 10e6);
    assert_eq!(labels(&plan), ["a", "b", "c", "out"]);
}

#[test]
fn the_source_gives_one_event_at_a_time() {
    let text = format!(
        "format = 1\nmodules = [{DIAMOND}]\n[source]\ntime-ms = 5\n[paths]\np = [\"out\"]\n"
    );
    let it = workload::parse("f", &text, Syntax::Toml).expect("it is right").workload;
    let plan = Plan::new(&it);
    assert_eq!((plan.ceilings[0].kind, plan.ceilings[0].events_per_s), ("source", 200.0));
    assert_eq!(plan.critical_path.time_ns.mean, 8e6);
    assert_eq!(elapsed_ms(&it, 16, 10, 10), 58.0);
}

#[test]
fn the_ideal_of_what_only_waits_does_not_depend_on_workers() {
    let text = DIAMOND.replace("time-ms", "work = \"wait\", time-ms");
    let it = workload(&text, "p = [\"out\"]");
    let flow = Flow::new(&it);
    let plan = Plan::of(&flow);
    for slots in [1, 2, 3, 1_000] {
        let one = ideal(&flow, &plan.durations_ns, Some(1), slots, 3_000).expect("it is short");
        assert_eq!(one.workers, None);
        assert_eq!(one.elapsed_ns, 8_000_000 * 3_000u64.div_ceil(slots as u64));
    }
}

#[test]
fn what_would_take_too_long_to_find_out_is_not() {
    let it = workload(DIAMOND, "p = [\"out\"]");
    let flow = Flow::new(&it);
    assert_eq!(ideal(&flow, &[1], Some(1), 1, u64::MAX), None);
}

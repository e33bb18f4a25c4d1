//! The workloads that are shipped are right, and what is said of them holds.

use actinium_workload::generate::{SEED, reconstruction};
use actinium_workload::plan::Plan;
use actinium_workload::{self as workload, Format, Threads, Work, Workload};
use std::path::{Path, PathBuf};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name)
}

fn read(name: &str) -> Workload {
    let read = workload::read(&shipped(name), None).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(read.warnings.list(), []);
    assert_eq!(read.workload.format, Format::Toml);
    read.workload
}

#[test]
fn imaging_shows_every_thread_kind() {
    let it = read("imaging.toml");
    for kind in [
        (|threads| *threads == Threads::Concurrent) as fn(&Threads) -> bool,
        |threads| *threads == Threads::Serial,
        |threads| *threads == Threads::Stream,
        |threads| matches!(threads, Threads::Exclusive { .. }),
        |threads| matches!(threads, Threads::Limited(_)),
    ] {
        assert!(it.modules.iter().any(|module| kind(&module.threads)));
    }
    assert!(it.modules.iter().any(|module| module.work == Work::Wait));
    assert!(it.modules.iter().any(|module| module.parts.get() > 1));
    let plan = Plan::new(&it);
    assert_eq!((plan.modules, plan.paths), (13, 2));
}

#[test]
fn reconstruction_is_what_its_generator_writes() {
    let text = std::fs::read_to_string(shipped("reconstruction.toml")).expect("it is shipped");
    assert!(
        text == reconstruction(SEED),
        "write it anew: cargo run -p actinium-workload --example reconstruction"
    );
}

#[test]
fn reconstruction_has_the_shape_that_it_claims() {
    let plan = Plan::new(&read("reconstruction.toml"));
    assert_eq!((plan.modules, plan.modules_in_file), (461, 461));
    assert_eq!((plan.edges, plan.levels, plan.events), (1_457, 80, 100));
    assert_eq!(plan.fan_in_max.modules, 264);
    assert!((60..100).contains(&plan.fan_out_max.modules), "{:?}", plan.fan_out_max);
    let within = |what: f64, ms: f64, part: f64| (what / 1e6 / ms - 1.0).abs() < part;
    assert!(within(plan.total_ns.mean, 4_483.0, 0.05), "{:?}", plan.total_ns);
    assert!(within(plan.total_ns.max, 22_302.0, 0.2), "{:?}", plan.total_ns);
    assert!(within(plan.critical_path.time_ns.mean, 3_236.0, 0.1), "{:?}", plan.critical_path);
    let ceilings: Vec<_> = plan.ceilings.iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(ceilings, ["output", "input"]);
    assert!((plan.ceilings[0].events_per_s - 4.58).abs() < 0.1, "{:?}", plan.ceilings);
}

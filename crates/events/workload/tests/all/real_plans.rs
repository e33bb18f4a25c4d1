//! What is published about the real files is what the plan says of them.

use crate::common::data;
use actinium_workload::plan::Plan;
use actinium_workload::plan::flow::Flow;
use actinium_workload::{self as workload, Workload};

fn read(name: &str) -> Option<Workload> {
    Some(workload::read(&data(name)?, None).expect("it is right").workload)
}

fn ms(ns: f64) -> u64 {
    (ns / 1e6).round() as u64
}

#[test]
fn minbias_has_its_published_shape() {
    let Some(it) = read("cms/reco_minbias_busywait.config") else { return };
    let plan = Plan::new(&it);
    assert_eq!((plan.modules_in_file, plan.modules, plan.producers), (463, 461, 460));
    assert_eq!((plan.edges, plan.levels, plan.paths, plan.events), (1_457, 79, 1, 100));
    assert_eq!((plan.fan_in_max.modules, plan.fan_out_max.modules), (264, 78));
    let total = plan.total_ns;
    assert_eq!((ms(total.mean), ms(total.min), ms(total.max)), (4_483, 375, 22_302));
    assert_eq!(plan.busy_ns, total);
    let path = &plan.critical_path;
    let (mean, min, max) = (path.time_ns.mean, path.time_ns.min, path.time_ns.max);
    assert_eq!((ms(mean), ms(min), ms(max)), (3_236, 142, 14_310));
    let shown: u64 = path.modules.iter().map(|module| module.time_ns).sum();
    assert_eq!(shown, plan.durations_ns[path.event as usize]);
    assert_eq!(path.modules.last().map(|module| module.label.as_str()), Some("output"));
    assert!((plan.parallelism.mean - 1.45).abs() < 0.005, "{:?}", plan.parallelism);
    assert!((plan.parallelism.max - 3.58).abs() < 0.005, "{:?}", plan.parallelism);
    // The output takes one event at a time; the four readers share what is not thread safe.
    assert_eq!((plan.ceilings[0].name.as_str(), plan.ceilings[0].kind), ("output", "module"));
    assert!((plan.ceilings[0].events_per_s - 4.58).abs() < 0.005, "{:?}", plan.ceilings[0]);
    assert_eq!(
        (plan.ceilings[1].name.as_str(), plan.ceilings[1].kind),
        ("ThreadUnsafe", "resource")
    );
    assert!((plan.ceilings[1].time_ns - 7.2e6).abs() < 0.05e6, "{:?}", plan.ceilings[1]);
}

#[test]
fn the_ideal_of_waiting_modules_is_the_published_one() {
    let Some(it) = read("cms/reco_minbias_sleeping_perfectIO.config") else { return };
    let flow = Flow::new(&it);
    let mut plan = Plan::of(&flow);
    let slots = [64, 256, 512, 1_024, 2_048, 4_096];
    plan.predict(&flow, slots.map(|slots| (Some(2), slots)), None);
    let ideals: Vec<String> =
        plan.predictions.iter().map(|ideal| format!("{:.1}", ideal.events_per_s)).collect();
    assert_eq!(ideals, ["11.8", "42.3", "84.3", "168.5", "334.6", "666.7"]);
    assert!(plan.ceilings.is_empty());
}

#[test]
fn the_short_cut_for_waiting_modules_is_what_the_simulation_says() {
    let Some(it) = read("cms/reco_minbias_sleeping_perfectIO.config") else { return };
    let flow = Flow::new(&it);
    let plan = Plan::of(&flow);
    let ideal =
        workload::plan::ideal(&flow, &plan.durations_ns, None, 16, 64).expect("it is short");
    let setup = workload::plan::simulate::Setup {
        workers: None,
        slots: 16,
        events: 64,
        first_event: 0,
        limits: true,
    };
    let simulated = workload::plan::simulate::simulate(&flow, &setup);
    assert_eq!(ideal.elapsed_ns, simulated.elapsed_ns);
}

#[test]
fn serial_producers_set_the_ceiling() {
    let Some(it) = read("cms/reco_minbias_sleeping_betweenmodules.config") else { return };
    let plan = Plan::new(&it);
    assert!((plan.ceilings[0].events_per_s - 3.35).abs() < 0.005, "{:?}", plan.ceilings[0]);
}

#[test]
fn the_data_flow_has_its_published_shape() {
    let Some(it) = read("gaudi/df.mcreco.TriggerOff.3rdEvent.graphml") else { return };
    let plan = Plan::new(&it);
    assert_eq!((plan.modules, plan.edges, plan.levels, plan.events), (164, 504, 24, 1));
    assert_eq!(ms(plan.total_ns.mean), 10_080);
    assert_eq!(ms(plan.critical_path.time_ns.mean), 5_608);
}

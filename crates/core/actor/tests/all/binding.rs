//! Workers and PUs: several systems on one machine never bind two workers to one PU.

use crate::common::does;
use actinium_actor::{Bind, BuildError, Reply, SpawnOptions, System, Workers};
use actinium_topology::{CpuSet, PuId, Topology};

/// The PUs that each worker's thread may use, as the kernel says.
fn masks(system: &System) -> Vec<CpuSet> {
    let mask = |worker| {
        let options = SpawnOptions::new().on_worker(worker);
        let asked = system.spawn_with(options, || {
            does(|reply: Reply<CpuSet>, _| {
                let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux");
                let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
                let _ = reply.send(line.expect("its mask").trim().parse().expect("a list"));
            })
        });
        asked.expect("there is this worker").ask(|reply| reply).wait().expect("it answers")
    };
    (0..system.workers()).map(mask).collect()
}

fn system(workers: usize, bind: Bind) -> System {
    System::builder().workers(workers).bind(bind).build().expect("a system")
}

/// Each worker's thread is where the system says, and otherwise free.
#[track_caller]
fn check(system: &System) {
    let machine = Topology::detect().expect("this machine");
    for (mask, pu) in masks(system).into_iter().zip(system.pus()) {
        assert_eq!(mask, pu.map_or(machine.allowed().clone(), CpuSet::from));
    }
}

/// Other programs, the other tests among them, may have claimed PUs meanwhile: then workers are
/// unbound, and this holds as well.
#[test]
fn two_systems_of_one_process_share_no_pu() {
    let systems = [system(1, Bind::Auto), system(1, Bind::Auto), system(2, Bind::Auto)];
    systems.iter().for_each(check);
    let bound: Vec<PuId> =
        systems.iter().flat_map(|system| system.pus()).copied().flatten().collect();
    let different: CpuSet = bound.iter().copied().collect();
    assert_eq!(bound.len(), different.len(), "{systems:?}: {bound:?}");
    // A list is no way around it.
    let listed = system(1, Bind::To(Topology::detect().expect("this machine").allowed().clone()));
    check(&listed);
    assert!(listed.pus()[0].is_none_or(|pu| !different.contains(pu)), "{:?}", listed.pus());
}

#[test]
fn unbound_workers_run_wherever_the_process_may() {
    let outer = system(1, Bind::Auto);
    check(&system(2, Bind::None));
    // Its thread may be bound, and threads inherit that.
    let inner = outer.spawn(does(|reply: Reply<System>, _| {
        let _ = reply.send(system(1, Bind::None));
    }));
    let inner = inner.ask(|reply| reply).wait().expect("a system");
    assert_eq!(inner.pus(), [None]);
    check(&inner);
}

#[test]
fn more_workers_than_pus_are_unbound() {
    let machine = Topology::detect().expect("this machine");
    let all = machine.allowed();
    let crowd = system(all.len() + 1, Bind::Auto);
    assert!(crowd.pus().iter().all(Option::is_none));
    check(&crowd);
    let first = all.first().expect("one");
    let listed = system(2, Bind::To(first.into()));
    assert_eq!(listed.pus(), [None, None]);
    check(&listed);
    // As many as make use of the list.
    let builder = System::builder().workers(Workers::All).bind(Bind::To(first.into()));
    assert_eq!(builder.build().expect("a system").workers(), 1);
}

#[test]
fn a_list_that_is_not_there_is_refused() {
    let machine = Topology::detect().expect("this machine");
    let error = System::builder().bind(Bind::To(PuId(70_000).into())).build().unwrap_err();
    let BuildError::Setting { name, value, allowed } = &error else { panic!("{error}") };
    assert_eq!((*name, value.as_str()), ("bind", "70000"));
    assert!(allowed.starts_with("PU 70000 is not there: "), "{allowed}");
    assert!(allowed.contains(&format!("may use the PUs {}", machine.allowed())), "{allowed}");
}

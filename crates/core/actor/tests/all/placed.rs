//! Actors whose memory is an allocator's that they were spawned with, and actors at home on a node.

use crate::common::{ON_PURPOSE, does, quiet};
use actinium_actor::{
    Actor, Bind, Context, Reply, Shutdown, SpawnError, SpawnOptions, Supervision, System,
};
use actinium_topology::Topology;
use allocator_api2::alloc::Global;
use std::sync::Arc;
use std::time::Duration;

/// Larger than a cache line, and aligned as such, so that the allocator before it is not where it
/// would be by chance.
#[repr(align(128))]
struct Adder {
    sum: u64,
    /// Drops are seen by its count.
    #[expect(dead_code, reason = "its drops are counted")]
    token: Arc<()>,
}

enum Msg {
    Add(u64),
    Fail,
    Sum(Reply<u64>),
}

impl Actor for Adder {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Add(number) => self.sum += number,
            Msg::Fail => panic!("{ON_PURPOSE}"),
            Msg::Sum(reply) => drop(reply.send(self.sum)),
        }
    }
}

fn system() -> System {
    System::builder().workers(2).bind(Bind::None).build().unwrap()
}

#[test]
fn what_lies_in_an_allocator_s_memory_lives_and_ends_like_any_other() {
    quiet();
    let (system, token) = (system(), Arc::new(()));
    for round in 0..5 {
        let given = token.clone();
        let options = SpawnOptions::new().memory(Global).supervise(Supervision::restart());
        let factory = move || Adder { sum: 100, token: given.clone() };
        let adder = system.spawn_with(options.clone().name("adder"), factory).unwrap();
        adder.send(Msg::Add(round)).unwrap();
        assert_eq!(adder.ask(Msg::Sum).wait(), Ok(100 + round));
        adder.send(Msg::Fail).unwrap();
        assert_eq!(adder.ask(Msg::Sum).wait(), Ok(100), "made anew, at the same place");
        let again = system.spawn_with(options.name("adder"), {
            let given = token.clone();
            move || Adder { sum: 0, token: given.clone() }
        });
        assert_eq!(again.map(|_| ()), Err(SpawnError::NameTaken("adder".to_owned())));
        adder.stop();
        system.wait_idle(Duration::MAX).unwrap();
    }
    let panics = system.spawn_with(SpawnOptions::new().memory(Global), || -> Adder {
        panic!("{ON_PURPOSE}");
    });
    assert!(matches!(panics, Err(SpawnError::FactoryFailed(it)) if it.message() == ON_PURPOSE));
    system.shutdown(Shutdown::Drain);
    drop(system);
    assert_eq!(Arc::strong_count(&token), 1, "all states, factories and rooms are gone");
}

#[test]
fn a_child_s_memory_is_its_own_choice() {
    let (system, token) = (system(), Arc::new(()));
    let given = token.clone();
    let parent = does(move |reply: Reply<u64>, ctx| {
        let given = given.clone();
        let options = SpawnOptions::new().memory(Global).on_node(0);
        let factory = move || Adder { sum: 7, token: given.clone() };
        let child = ctx.spawn_with(options, factory).unwrap();
        child.send(Msg::Sum(reply)).unwrap();
    });
    let parent = system.spawn(parent);
    assert_eq!(parent.ask(|reply| reply).wait(), Ok(7));
    drop(parent);
    system.shutdown(Shutdown::Drain);
    drop(system);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_node_s_actors_are_at_home_at_its_workers() {
    let machine = Topology::synthetic("package:2 numa:1 core:2 pu:1").unwrap();
    let builder = System::builder().workers(4).policy(actinium_actor::Policy::Pinned);
    let system = builder.topology(machine.clone()).build().unwrap();
    let pus = machine.choose_pus(4).unwrap();
    for node in [1, 0, 1, 1] {
        let options = SpawnOptions::new().on_node(node);
        let at = system.spawn_with(options, || {
            does(|reply: Reply<usize>, ctx| {
                let _ = reply.send(ctx.worker());
            })
        });
        let worker = at.unwrap().ask(|reply| reply).wait().unwrap();
        assert_eq!(machine.pu(pus[worker]).unwrap().numa_node, Some(node as usize));
    }
    let nowhere = system.spawn_with(SpawnOptions::new().on_node(2), || does(|(), _| ()));
    assert_eq!(nowhere.map(|_| ()), Err(SpawnError::NoSuchNode { node: 2, nodes: vec![0, 1] }));
}

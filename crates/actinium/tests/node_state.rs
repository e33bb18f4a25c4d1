//! Actors whose state lives on a NUMA node: on each of the machine that runs this; `./check numa`
//! also runs it on one that has four.
//!
//! A program of its own: `./check numa` runs it alone in an emulated machine, too.

use std::collections::BTreeSet;
use std::iter;

use actinium::memory::heap::{self, Heap, SharedArena};
use actinium::memory::{Mode, Placement, Segment, Size};
use actinium::prelude::*;
use actinium::topology::Topology;
use actinium::{Bind, SpawnError};
use allocator_api2::vec::Vec as VecIn;
use std::time::Duration;

/// Keeps its numbers where it lives itself.
struct Keeper {
    heap: &'static Heap,
    numbers: VecIn<u64, SharedArena>,
}

enum Msg {
    Keep(u64),
    /// In which arena it is, and in which its numbers are.
    Where(Reply<[Option<usize>; 2]>),
}

impl Actor for Keeper {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Keep(number) => self.numbers.push(number),
            Msg::Where(reply) => {
                let places = [self.heap.arena_of(self), self.heap.arena_of(&self.numbers[..])];
                let _ = reply.send(places);
            }
        }
    }
}

/// A heap with an arena on the node of each PU, of which nothing is there before it is used.
fn heap(machine: &Topology) -> &'static Heap {
    let pus = machine.choose_pus(machine.allowed().len()).expect("one worker for each PU");
    let size = Size::Bytes((2 << 20) * pus.len() as u64);
    let builder = Segment::builder().size(size).mode(Mode::Lazy).placement(Placement::Local(pus));
    Heap::leak(builder.build().expect("memory")).expect("a heap")
}

#[test]
fn state_lives_on_the_node_that_was_asked_for() {
    let machine = Topology::detect().expect("a machine");
    let heap = heap(&machine);
    let system = System::builder().build().expect("a system");
    let mut used = BTreeSet::new();
    // Those that workers are on.
    for node in machine.numa_nodes().iter().map(|node| node.os_index) {
        let arena = heap.arena_on(node).expect("each node with PUs has one");
        let (number, memory) = (arena.number(), SharedArena::new(arena));
        assert_eq!(heap.node(number), Some(node));
        used.insert(number);
        let own = memory.clone();
        let options = SpawnOptions::new().on_node(node).memory(memory);
        let keeper = move || Keeper { heap, numbers: VecIn::new_in(own.clone()) };
        let keeper = match system.spawn_with(options, keeper) {
            Err(SpawnError::NoSuchNode { .. }) if system.workers() < machine.allowed().len() => {
                println!("skipped: a CPU quota leaves node {node} without a worker");
                continue;
            }
            spawned => spawned.expect("it fits"),
        };
        (0..1000).for_each(|number| keeper.send(Msg::Keep(number)).expect("it lives"));
        let places = keeper.ask(Msg::Where).wait().expect("it lives");
        assert_eq!(places, [Some(number); 2]);
        match heap.places(number) {
            Some(places) => {
                assert!(places.keys().eq([&node]) && places[&node] > 0, "node {node}: {places:?}");
            }
            None => println!("skipped: the kernel does not say where pages are"),
        }
    }
    // Nothing else was touched.
    for other in (0..heap.len()).filter(|number| !used.contains(number)) {
        assert!(heap.places(other).is_none_or(|places| places.is_empty()), "arena {other}");
    }
    system.shutdown(Shutdown::Drain);
}

#[test]
fn memory_that_is_full_is_an_error_and_comes_back() {
    let heap = Heap::leak_plain(1, 4).expect("a heap");
    let memory = SharedArena::new(heap.arena(0).expect("nobody has it"));
    let system = System::builder().workers(2).bind(Bind::None).build().expect("a system");
    let mut made = 0;
    for _ in 0..3 {
        let spawn = || {
            let own = memory.clone();
            let keeper = move || Keeper { heap, numbers: VecIn::new_in(own.clone()) };
            system.spawn_with(SpawnOptions::new().memory(memory.clone()), keeper)
        };
        let keepers: Vec<Address<Keeper>> = iter::from_fn(|| spawn().ok()).collect();
        made += keepers.len() as u64;
        // 4 pages of 64 KiB; batches on their way home may be missing in later rounds.
        assert!((400..=1024).contains(&keepers.len()), "{}", keepers.len());
        let error = spawn().map(|_| ()).expect_err("it is full");
        assert!(matches!(error, SpawnError::NoMemory { bytes } if bytes > 200), "{error}");
        assert!(error.to_string().contains("no memory for an actor"), "{error}");
        drop(keepers);
        system.wait_idle(Duration::MAX).unwrap();
    }
    system.shutdown(Shutdown::Drain);
    drop(system);
    // Some have ended before this thread had let go of them: then it has freed them.
    heap::flush();
    assert_eq!(memory.figures().returned, made, "every actor's memory has come home");
}

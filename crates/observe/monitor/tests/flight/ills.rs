//! For each ill that a system of actors can have, a program that has it, and is accused of it; and
//! its twin, which is well.

use crate::watched::Watched;
use actinium_actor::{
    Actor, Address, Context, Mailbox, Policy, Recipient, Reply, Shutdown, SpawnOptions, System,
};
use actinium_monitor::{Diagnosis, KeepRecords, Severity};
use std::hint::black_box;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Computes for a while: the same amount of work on each machine.
fn work(amount: u32) {
    let mut n = 1_u32;
    (0..amount).for_each(|it| n = black_box(n.wrapping_mul(7).wrapping_add(it)));
}

/// Works for each message, and goes on by itself, if it is to.
struct Works {
    amount: u32,
    goes_on: bool,
}

impl Actor for Works {
    type Msg = u64;

    fn handle(&mut self, n: u64, ctx: &mut Context<'_, Self>) {
        work(self.amount);
        if self.goes_on {
            ctx.address().tell(n);
        }
    }
}

fn pinned(workers: usize) -> Watched {
    Watched::new(System::builder().workers(workers).policy(Policy::Pinned))
}

// ---- a worker that is stuck
// --------------------------------------------------------------------------------------

/// Waits, in its turn, until somebody says something or is gone.
struct Waits(Receiver<()>);

impl Actor for Waits {
    type Msg = u64;

    fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {
        let _ = self.0.recv();
    }
}

#[test]
fn a_worker_stuck_in_one_turn_is_named_with_actor_message_and_thread() {
    let watched = pinned(2);
    let (release, wait) = channel();
    let waits = watched.system.spawn_with(SpawnOptions::new().on_worker(1), Waits(wait));
    let waits = waits.expect("it starts");
    let behind = SpawnOptions::new().on_worker(1);
    let behind = watched.system.spawn_with(behind, Works { amount: 1, goes_on: false });
    waits.tell(7);
    behind.expect("it starts").tell(1);
    let found = watched.is_accused_of(Diagnosis::StuckWorker, || {});
    assert_eq!(found.severity, Severity::Critical);
    let parts = ["Worker 1 is in one turn", "(Waits)", "messages are u64", "state S"];
    for part in parts.into_iter().chain(["Waiting for this worker: "]) {
        assert!(found.seen.contains(part), "{part}: {found}");
    }
    assert!(found.advice.contains("gdb -p") && found.advice.contains("blocks"), "{found}");
    drop(release);
}

#[test]
fn a_worker_whose_turns_end_is_not_accused() {
    let watched = pinned(2);
    let (release, wait) = channel();
    let waits = watched.system.spawn(Waits(wait));
    watched.is_well(|| {
        waits.tell(7);
        release.send(()).expect("it waits");
        watched.system.wait_idle(MINUTE).expect("it comes to rest");
    });
}

// ---- starvation
// --------------------------------------------------------------------------------------------------

#[test]
fn an_actor_whose_messages_wait_while_others_run_for_long_starves() {
    let watched = pinned(1);
    // So many that one round of them takes seconds, on a fast machine, too.
    for n in 0..40 {
        watched.system.spawn(Works { amount: 5_000_000, goes_on: true }).tell(n);
    }
    let starves = watched.system.spawn(Works { amount: 1, goes_on: false });
    let found = watched.is_accused_of(Diagnosis::Starvation, || {
        if starves.is_empty() {
            starves.tell(1);
        }
    });
    // At first it may be one of the others that has not had its first turn.
    assert!(found.seen.contains("(Works) waited") && found.seen.contains("Worker 0"), "{found}");
    assert!(found.figures["turn_ms"] > 1.0 && found.figures["waited_s"] >= 1.0, "{found:?}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn actors_that_take_turns_quickly_do_not_starve_each_other() {
    let watched = pinned(1);
    for n in 0..200 {
        watched.system.spawn(Works { amount: 100, goes_on: true }).tell(n);
    }
    watched.is_well(|| {});
    watched.system.shutdown(Shutdown::Drop);
}

// ---- a mailbox that grows
// ----------------------------------------------------------------------------------------

#[test]
fn a_mailbox_that_gets_more_than_its_actor_handles_is_named() {
    let watched = pinned(1);
    let slow = watched.system.spawn(Works { amount: 200_000, goes_on: false });
    let found = watched.is_accused_of(Diagnosis::GrowingMailbox, || {
        (0..2_000).for_each(|n| slow.tell(n));
    });
    assert!(found.seen.contains(&format!("{} (Works)", slow.id())), "{found}");
    assert!(found.figures["growth_per_s"] > 0.0 && found.advice.contains("bounded"), "{found:?}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn a_mailbox_that_is_emptied_again_and_again_does_not_grow() {
    let watched = pinned(1);
    let quick = watched.system.spawn(Works { amount: 10, goes_on: false });
    watched.is_well(|| {
        (0..2_000).for_each(|n| quick.tell(n));
        watched.system.wait_idle(MINUTE).expect("it comes to rest");
    });
}

// ---- actors that full mailboxes hold back
// ------------------------------------------------------------------------

/// Passes each message on, and goes on by itself, if it is to.
struct Passes {
    to: Recipient<u64>,
    goes_on: bool,
}

impl Actor for Passes {
    type Msg = u64;

    fn handle(&mut self, n: u64, ctx: &mut Context<'_, Self>) {
        self.to.tell(n);
        if self.goes_on {
            ctx.address().tell(n);
        }
    }
}

/// Waits for a future at each message, if it is to.
struct Holds(bool);

impl Actor for Holds {
    type Msg = u64;

    fn handle(&mut self, _: u64, ctx: &mut Context<'_, Self>) {
        if self.0 {
            ctx.hold(std::future::pending::<()>(), |_, (), _| {});
        }
    }
}

/// A source, a middle and an end with small mailboxes.
fn chain(watched: &Watched, end: Holds) -> (Address<Passes>, Address<Passes>, Address<Holds>) {
    let small = || SpawnOptions::new().mailbox(Mailbox::bounded(4));
    let end = watched.system.spawn_with(small(), end).expect("it starts");
    let middle = Passes { to: end.clone().into(), goes_on: false };
    let middle = watched.system.spawn_with(small(), middle).expect("it starts");
    let source = watched.system.spawn(Passes { to: middle.clone().into(), goes_on: true });
    (source, middle, end)
}

#[test]
fn actors_held_back_by_a_chain_that_ends_in_a_slow_one_are_named() {
    let watched = pinned(2);
    let (source, middle, end) = chain(&watched, Holds(true));
    source.tell(1);
    let found = watched.is_accused_of(Diagnosis::MutedChain, || {});
    let name = |id, kind: &str| format!("{id} ({kind})");
    let (source, middle) = (name(source.id(), "Passes"), name(middle.id(), "Passes"));
    let end = name(end.id(), "Holds");
    let chain = format!("{source} -> {middle} -> {end}");
    assert!(found.seen.contains(&chain) && found.seen.contains("waits for a future"), "{found}");
    assert!(found.advice.contains(&format!("Look at {end}")), "{found}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn a_chain_that_flows_is_not_accused() {
    let watched = pinned(2);
    let (source, ..) = chain(&watched, Holds(false));
    source.tell(1);
    watched.is_well(|| {});
    watched.system.shutdown(Shutdown::Drop);
}

// ---- actors that wait for each other
// -----------------------------------------------------------------------------

/// Asks another for each question, and answers when it has that answer.
struct Asks {
    other: Option<Address<Asks>>,
}

enum Question {
    Know(Address<Asks>),
    Ask(Reply<u64>),
}

impl Actor for Asks {
    type Msg = Question;

    fn handle(&mut self, question: Question, ctx: &mut Context<'_, Self>) {
        match (question, &self.other) {
            (Question::Know(other), _) => self.other = Some(other),
            (Question::Ask(reply), Some(other)) => {
                let answer = other.ask(Question::Ask);
                ctx.hold(answer, |_, answer, _| drop(answer.map(|n| reply.send(n + 1))));
            }
            (Question::Ask(reply), None) => drop(reply.send(1)),
        }
    }
}

#[test]
fn actors_that_hold_for_each_other_s_answers_are_named() {
    let watched = pinned(2);
    let [a, b] = [(); 2].map(|()| watched.system.spawn(Asks { other: None }));
    a.tell(Question::Know(b.clone()));
    b.tell(Question::Know(a.clone()));
    let _answers = [a.ask(Question::Ask), b.ask(Question::Ask)];
    let found = watched.is_accused_of(Diagnosis::MutualWait, || {});
    assert_eq!(found.severity, Severity::Critical);
    assert!([&a, &b].iter().all(|it| found.seen.contains(&it.id().to_string())), "{found}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn actors_that_ask_in_one_direction_are_not_accused() {
    let watched = pinned(2);
    let [a, b] = [(); 2].map(|()| watched.system.spawn(Asks { other: None }));
    a.tell(Question::Know(b));
    watched.is_well(|| assert_eq!(a.ask(Question::Ask).wait(), Ok(2)));
}

// ---- an actor with most of the work
// ------------------------------------------------------------------------------

/// Sends so many messages to one of eight actors, and so many to each of the others, whenever the
/// one has few left.
fn shards(watched: &Watched, to_one: u64, to_each: u64) -> (Vec<Address<Works>>, impl FnMut()) {
    let shards: Vec<_> =
        (0..8).map(|_| watched.system.spawn(Works { amount: 2_000, goes_on: false })).collect();
    let all = shards.clone();
    let drive = move || {
        if all[3].len() < to_one as usize {
            (0..to_one).for_each(|n| all[3].tell(n));
            all.iter().for_each(|it| (0..to_each).for_each(|n| it.tell(n)));
        }
    };
    (shards, drive)
}

#[test]
fn a_shard_that_gets_most_of_the_messages_is_named() {
    let watched = Watched::with(System::builder().workers(2), KeepRecords::Always);
    let (shards, drive) = shards(&watched, 20_000, 100);
    let found = watched.is_accused_of(Diagnosis::HotActor, drive);
    assert!(found.seen.contains(&format!("{} (Works)", shards[3].id())), "{found}");
    assert!(found.figures["share_of_messages"] > 0.5 && found.figures["living"] == 8.0);
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn shards_that_share_the_work_evenly_are_not_accused() {
    let watched = Watched::with(System::builder().workers(2), KeepRecords::Always);
    let (_, mut drive) = shards(&watched, 0, 50);
    watched.is_well(|| {
        drive();
        watched.system.wait_idle(MINUTE).expect("it comes to rest");
    });
}

// ---- workers that should share one
// -------------------------------------------------------------------------------

/// Two that pass a message to and fro, the second at this worker.
fn to_and_fro(watched: &Watched, worker: usize) {
    struct Fro;
    impl Actor for Fro {
        type Msg = Recipient<()>;
        fn handle(&mut self, to: Recipient<()>, _: &mut Context<'_, Self>) {
            to.tell(());
        }
    }
    struct To(Address<Fro>);
    impl Actor for To {
        type Msg = ();
        fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
            self.0.tell(ctx.address().into());
        }
    }
    let at = |worker| SpawnOptions::new().on_worker(worker);
    let fro = watched.system.spawn_with(at(worker), Fro).expect("it starts");
    watched.system.spawn_with(at(0), To(fro)).expect("it starts").tell(());
}

#[test]
fn two_workers_that_only_send_to_each_other_are_named() {
    let watched = pinned(3);
    to_and_fro(&watched, 1);
    let found = watched.is_accused_of(Diagnosis::ChattyWorkers, || {});
    assert!(found.seen.contains("Workers 0 and 1"), "{found}");
    assert!(found.figures["messages_at_a_time"] < 2.0, "{found:?}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn two_actors_that_share_a_worker_are_not_accused() {
    let watched = pinned(3);
    to_and_fro(&watched, 0);
    watched.is_well(|| {});
    watched.system.shutdown(Shutdown::Drop);
}

// ---- actors far from their memory
// --------------------------------------------------------------------------------

/// Sixteen actors that go on, on a machine of two NUMA nodes that is only made believe.
fn on_two_nodes(policy: Policy) -> Watched {
    let machine = actinium_topology::Topology::synthetic("package:2 numa:1 core:1 pu:1");
    let machine = machine.expect("a machine");
    let builder = System::builder().workers(2).topology(machine).policy(policy);
    let watched = Watched::with(builder, KeepRecords::Always);
    for n in 0..16 {
        watched.system.spawn(Works { amount: 1_000, goes_on: true }).tell(n);
    }
    watched
}

#[test]
fn actors_that_run_far_from_their_memory_are_named() {
    let watched = on_two_nodes(Policy::Pool);
    let found = watched.is_accused_of(Diagnosis::FarMemory, || {});
    assert!(found.seen.contains("2 NUMA nodes") && found.seen.contains("pool"), "{found}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn actors_that_stay_on_their_node_are_not_accused() {
    let watched = on_two_nodes(Policy::Pinned);
    watched.is_well(|| {});
    watched.system.shutdown(Shutdown::Drop);
}

// ---- more threads than CPUs
// --------------------------------------------------------------------------------------

#[test]
fn more_busy_workers_than_cpus_are_named() {
    let pus = std::thread::available_parallelism().expect("Linux").get();
    let watched = pinned(2 * pus + 2);
    for worker in 0..watched.system.workers() {
        let options = SpawnOptions::new().on_worker(worker);
        let busy = watched.system.spawn_with(options, Works { amount: 100, goes_on: true });
        busy.expect("it starts").tell(1);
    }
    let found = watched.is_accused_of(Diagnosis::OversubscribedCores, || {});
    assert!(found.figures["wanted_cpus"] > pus as f64, "{found:?}");
    assert!(found.advice.contains("as many workers as"), "{found}");
    watched.system.shutdown(Shutdown::Drop);
}

#[test]
fn workers_that_sleep_need_no_cpu() {
    let watched = pinned(2);
    let quick = watched.system.spawn(Works { amount: 1, goes_on: false });
    for _ in 0..20 {
        quick.tell(1);
        watched.system.wait_idle(MINUTE).expect("it comes to rest");
        let found = actinium_monitor::diagnose(&watched.flight());
        assert!(found.is_empty(), "{found:?}");
    }
}

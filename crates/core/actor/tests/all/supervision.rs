//! What follows when an actor panics.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, Context, Policy, Shutdown, SpawnOptions, StopReason, Supervision,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Where a [`Fragile`] panics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Nowhere,
    Started,
    Stopped,
    Drop,
}

/// Tells everything that happens to it; message 0 makes it panic.
struct Fragile {
    name: &'static str,
    instance: usize,
    panics: Where,
    log: Box<dyn Fn(String) + Send>,
}

impl Fragile {
    fn log(&self, what: &str) {
        (self.log)(format!("{}{} {what}", self.name, self.instance));
    }

    fn panic_if(&self, here: Where) {
        assert!(self.panics != here, "{ON_PURPOSE}");
    }
}

impl Actor for Fragile {
    type Msg = u32;

    fn started(&mut self, _ctx: &mut Context<'_, Self>) {
        self.log("started");
        self.panic_if(Where::Started);
    }

    fn handle(&mut self, msg: u32, _ctx: &mut Context<'_, Self>) {
        self.log(&msg.to_string());
        assert!(msg != 0, "{ON_PURPOSE}");
    }

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, reason: &StopReason) {
        self.log(&format!("stopped: {reason}"));
        self.panic_if(Where::Stopped);
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.log("dropped");
        self.panic_if(Where::Drop);
    }
}

/// Makes instance after instance; `panics` says where instance n does.
fn factory<F: Fn(usize) -> Where + Send + 'static>(
    name: &'static str,
    probe: &Probe<String>,
    panics: F,
) -> impl FnMut() -> Fragile + Send + use<F> {
    let log = probe.callback();
    let mut instance = 0;
    move || {
        instance += 1;
        Fragile { name, instance, panics: panics(instance), log: Box::new(log.clone()) }
    }
}

fn sturdy(name: &'static str, probe: &Probe<String>) -> impl FnMut() -> Fragile + Send + use<> {
    factory(name, probe, |_| Where::Nowhere)
}

fn start(seed: u64) -> (TestSystem, Probe<String>) {
    quiet();
    let sys = TestSystem::seeded(seed);
    let probe = sys.probe();
    (sys, probe)
}

fn supervised(supervision: Supervision) -> SpawnOptions {
    SpawnOptions::new().supervise(supervision)
}

#[test]
fn unless_told_otherwise_it_ends_and_what_waited_is_dead() {
    let (mut sys, probe) = start(1);
    let fragile = sys.spawn_with(SpawnOptions::new(), sturdy("a", &probe)).unwrap();
    for msg in [1, 0, 2, 3] {
        fragile.send(msg).unwrap();
    }
    sys.run_until_idle();
    assert_eq!(probe.received(), ["a1 started", "a1 1", "a1 0", "a1 dropped"]);
    assert!(fragile.is_closed());
    assert_eq!(fragile.send(4).unwrap_err().into_inner(), 4);
    let letters = sys.handle().dead_letters();
    assert_eq!((letters.len(), letters[0].count, letters[0].to), (1, 2, fragile.id()));
    let StopReason::Failed(failure) = &letters[0].reason else { panic!("{letters:?}") };
    assert_eq!((failure.message(), failure.actor()), (ON_PURPOSE, fragile.id()));
    let audit = sys.audit();
    assert!(audit.is_balanced(), "{audit:?}");
    assert_eq!((audit.dead, audit.returned), (2, 1));
}

#[test]
fn a_restart_keeps_the_mailbox_and_the_address() {
    let (mut sys, probe) = start(2);
    let fragile = sys.spawn_with(supervised(Supervision::restart()), sturdy("a", &probe)).unwrap();
    for msg in [1, 0, 2, 0, 3] {
        fragile.send(msg).unwrap();
    }
    sys.run_until_idle();
    fragile.send(4).unwrap();
    sys.run_until_idle();
    let expected = [
        "a1 started",
        "a1 1",
        "a1 0",
        "a1 dropped",
        "a2 started",
        "a2 2",
        "a2 0",
        "a2 dropped",
        "a3 started",
        "a3 3",
        "a3 4",
    ];
    assert_eq!(probe.received(), expected);
    // The message that panicked counts as handled.
    assert_eq!((sys.audit().queued, sys.audit().dead), (0, 0));
    assert_eq!(sys.stats().total().restarted, 2);
}

#[test]
fn restarts_are_limited_within_a_period_and_free_again_after_it() {
    let (mut sys, probe) = start(3);
    let supervision = Supervision::restart().limit(2, Duration::from_secs(10));
    let fragile = sys.spawn_with(supervised(supervision), sturdy("a", &probe)).unwrap();
    let fail = |sys: &mut TestSystem, after_s| {
        sys.advance(Duration::from_secs(after_s));
        fragile.tell(0);
        sys.run_until_idle();
        sys.stats().total().restarted
    };
    assert_eq!(fail(&mut sys, 0), 1);
    assert_eq!(fail(&mut sys, 9), 2);
    // The first lies 11 s back: this is the second within 10 s.
    assert_eq!(fail(&mut sys, 2), 3);
    assert!(!fragile.is_closed());
    assert_eq!(fail(&mut sys, 1), 3);
    assert!(fragile.is_closed(), "three within 10 s are too many");
}

#[test]
fn while_it_backs_off_messages_wait_and_it_can_be_killed() {
    let (mut sys, probe) = start(4);
    let supervision =
        Supervision::restart().backoff(Duration::from_secs(1), Duration::from_secs(60));
    let fragile = sys.spawn_with(supervised(supervision), sturdy("a", &probe)).unwrap();
    fragile.tell(0);
    fragile.tell(1);
    sys.advance(Duration::from_millis(999));
    fragile.tell(2);
    sys.run_until_idle();
    assert_eq!(probe.received(), ["a1 started", "a1 0", "a1 dropped"]);
    assert_eq!(sys.audit().queued, 2);
    sys.advance(Duration::from_millis(1));
    assert_eq!(probe.received(), ["a2 started", "a2 1", "a2 2"]);
    fragile.tell(0);
    fragile.tell(3);
    sys.run_until_idle();
    fragile.kill();
    sys.run_until_idle();
    assert!(fragile.is_closed());
    assert_eq!(probe.received(), ["a2 0", "a2 dropped"]);
    sys.advance(Duration::from_secs(3600));
    assert_eq!(probe.received(), [""; 0], "the restart that was due is off");
    assert!(sys.audit().is_balanced());
}

type Log = Arc<dyn Fn(String) + Send + Sync>;

/// Starts children called `b` and `c`, and keeps their addresses.
struct Parent {
    children: Vec<Address<Fragile>>,
    supervision: Supervision,
    log: Log,
}

enum ToParent {
    ToChild(usize, u32),
    Panic,
    Stop,
}

impl Actor for Parent {
    type Msg = ToParent;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        (self.log)("parent started".to_owned());
        for name in ["b", "c"] {
            let (log, mut instance) = (self.log.clone(), 0);
            let make = move || {
                instance += 1;
                let log = log.clone();
                let log = Box::new(move |line| log(line));
                Fragile { name, instance, panics: Where::Nowhere, log }
            };
            self.children.push(ctx.spawn_with(supervised(self.supervision), make).unwrap());
        }
    }

    fn handle(&mut self, msg: ToParent, ctx: &mut Context<'_, Self>) {
        match msg {
            ToParent::ToChild(n, msg) => self.children[n].tell(msg),
            ToParent::Panic => panic!("{ON_PURPOSE}"),
            ToParent::Stop => ctx.stop(),
        }
    }
}

/// A parent with two children.
fn family(
    sys: &mut TestSystem,
    probe: &Probe<String>,
    parent: Supervision,
    supervision: Supervision,
) -> Address<Parent> {
    let log: Log = Arc::new(probe.callback());
    let make = move || Parent { children: Vec::new(), supervision, log: log.clone() };
    let parent = sys.spawn_with(supervised(parent), make).unwrap();
    sys.run_until_idle();
    assert_eq!(sorted(probe), ["b1 started", "c1 started", "parent started"]);
    parent
}

/// What was told, sorted: the order between actors is not the point.
fn sorted(probe: &Probe<String>) -> Vec<String> {
    let mut received = probe.received();
    received.sort();
    received
}

#[test]
fn one_for_one_is_one_for_all_is_all() {
    for seed in 0..20 {
        let (mut sys, probe) = start(seed);
        let parent = family(&mut sys, &probe, Supervision::stop(), Supervision::restart());
        parent.tell(ToParent::ToChild(0, 0));
        sys.run_until_idle();
        assert_eq!(sorted(&probe), ["b1 0", "b1 dropped", "b2 started"]);

        let all = Supervision::restart().one_for_all();
        let parent = family(&mut sys, &probe, Supervision::stop(), all);
        parent.tell(ToParent::ToChild(0, 0));
        sys.run_until_idle();
        let expected = ["b1 0", "b1 dropped", "b2 started", "c1 dropped", "c2 started"];
        assert_eq!(sorted(&probe), expected);
        parent.tell(ToParent::ToChild(1, 7));
        sys.run_until_idle();
        assert_eq!(probe.received(), ["c2 7"], "its address is what it was");
    }
}

#[test]
fn children_end_with_their_parent() {
    for seed in 0..20 {
        for end in [ToParent::Stop, ToParent::Panic] {
            let (mut sys, probe) = start(seed);
            let parent = family(&mut sys, &probe, Supervision::stop(), Supervision::restart());
            parent.tell(end);
            sys.run_until_idle();
            let expected = ["b1", "c1"].map(|child| {
                [format!("{child} dropped"), format!("{child} stopped: stopped by its supervisor")]
            });
            assert_eq!(sorted(&probe), expected.concat());
            assert_eq!(sys.stats().actors, 1, "only the probe is left");
        }
    }
}

#[test]
fn a_parent_that_restarts_starts_its_children_anew() {
    for seed in 0..20 {
        let (mut sys, probe) = start(seed);
        let parent = family(&mut sys, &probe, Supervision::restart(), Supervision::restart());
        parent.tell(ToParent::Panic);
        parent.tell(ToParent::ToChild(0, 7));
        sys.run_until_idle();
        let expected = [
            "b1 7",
            "b1 dropped",
            "b1 started",
            "b1 stopped: stopped by its supervisor",
            "c1 dropped",
            "c1 started",
            "c1 stopped: stopped by its supervisor",
            "parent started",
        ];
        assert_eq!(sorted(&probe), expected);
        assert_eq!(sys.stats().actors, 4);
    }
}

#[test]
fn an_escalated_failure_is_the_parent_s_own() {
    for seed in 0..20 {
        let (mut sys, probe) = start(seed);
        let parent = family(&mut sys, &probe, Supervision::restart(), Supervision::escalate());
        parent.tell(ToParent::ToChild(0, 0));
        sys.run_until_idle();
        let expected = [
            "b1 0",
            "b1 dropped",
            "b1 started",
            "c1 dropped",
            "c1 started",
            "c1 stopped: stopped by its supervisor",
            "parent started",
        ];
        assert_eq!(sorted(&probe), expected);
        assert!(!parent.is_closed() && !sys.stop_requested());
    }
}

#[test]
fn a_failure_that_reaches_the_top_ends_the_system() {
    let (mut sys, probe) = start(5);
    let parent = family(&mut sys, &probe, Supervision::escalate(), Supervision::escalate());
    parent.tell(ToParent::ToChild(1, 0));
    sys.run_until_idle();
    assert!(parent.is_closed() && sys.stop_requested());
    let escalated = sys.shutdown(Shutdown::Drain).escalated.expect("a failure");
    assert_eq!(escalated.message(), ON_PURPOSE);
    assert!(escalated.kind().ends_with("Fragile"), "{escalated:?}");
}

#[test]
fn who_waits_for_the_system_hears_of_it() {
    quiet();
    for policy in Policy::ALL {
        let system = system(policy, 2);
        let make = || does(|(), _| panic!("{ON_PURPOSE}"));
        let fragile = system.spawn_with(supervised(Supervision::escalate()), make).unwrap();
        fragile.tell(());
        let report = system.wait().unwrap();
        assert_eq!(report.escalated.expect("a failure").actor(), fragile.id());
        assert_eq!((report.handled, report.dead), (1, 0));
    }
}

#[test]
fn a_factory_that_panics_starts_nothing_and_at_a_restart_counts_as_a_panic() {
    let (mut sys, probe) = start(6);
    let never = || -> Fragile { panic!("{ON_PURPOSE}") };
    let error = sys.spawn_with(SpawnOptions::new().name("a"), never).unwrap_err();
    assert_eq!(error.to_string(), format!("the actor's factory panicked: {ON_PURPOSE}"));
    assert_eq!(sys.handle().names(), [""; 0]);

    let (calls, mut sturdy) = (Arc::new(AtomicUsize::new(0)), sturdy("a", &probe));
    let counted = calls.clone();
    let make = move || {
        // The second and the third fail.
        let call = counted.fetch_add(1, Ordering::SeqCst);
        assert!(!(1..3).contains(&call), "{ON_PURPOSE}");
        sturdy()
    };
    let fragile = sys.spawn_with(supervised(Supervision::restart()), make).unwrap();
    fragile.tell(0);
    fragile.tell(1);
    sys.run_until_idle();
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(probe.received(), ["a1 started", "a1 0", "a1 dropped", "a2 started", "a2 1"]);
    assert_eq!(sys.stats().total().panicked, 3);
}

#[test]
fn a_panic_at_the_start_counts_as_any_other() {
    let (mut sys, probe) = start(7);
    let make = factory("a", &probe, |n| if n < 3 { Where::Started } else { Where::Nowhere });
    let fragile = sys.spawn_with(supervised(Supervision::restart()), make).unwrap();
    fragile.tell(1);
    sys.run_until_idle();
    let expected = ["a1 started", "a1 dropped", "a2 started", "a2 dropped", "a3 started", "a3 1"];
    assert_eq!(probe.received(), expected);

    let make = factory("b", &probe, |_| Where::Started);
    let fragile = sys.spawn_with(SpawnOptions::new(), make).unwrap();
    fragile.tell(1);
    sys.run_until_idle();
    assert_eq!(probe.received(), ["b1 started", "b1 dropped"]);
    assert!(fragile.is_closed());
    assert_eq!(sys.audit().dead, 1);
}

#[test]
fn a_panic_at_the_end_changes_nothing() {
    for panics in [Where::Stopped, Where::Drop] {
        let (mut sys, probe) = start(8);
        let make = factory("a", &probe, move |_| panics);
        let fragile = sys.spawn_with(supervised(Supervision::restart()), make).unwrap();
        fragile.tell(1);
        sys.run_until_idle();
        fragile.stop();
        sys.run_until_idle();
        let expected = ["a1 started", "a1 1", "a1 stopped: stopped on request", "a1 dropped"];
        assert_eq!(probe.received(), expected);
        assert_eq!(sys.stats().actors, 1, "only the probe is left");
        let fragile = sys.spawn_with(SpawnOptions::new(), sturdy("b", &probe)).unwrap();
        fragile.tell(1);
        sys.run_until_idle();
        assert_eq!(probe.received(), ["b1 started", "b1 1"], "the system runs on");
    }
}

#[test]
fn a_message_whose_destructor_panics_takes_nobody_down() {
    struct Heavy(bool);
    impl Drop for Heavy {
        fn drop(&mut self) {
            assert!(!self.0 || std::thread::panicking(), "{ON_PURPOSE}");
        }
    }
    let (mut sys, _probe) = start(9);
    let actor = sys.spawn(does(|msg: Heavy, _| drop(msg)));
    actor.tell(Heavy(true));
    actor.tell(Heavy(true));
    actor.tell(Heavy(false));
    sys.run_until_idle();
    assert!(actor.is_closed());
    let audit = sys.audit();
    assert_eq!((audit.handled, audit.dead), (1, 2));
    assert!(audit.is_balanced());
}

#[test]
fn a_factory_that_panics_for_ever_keeps_nobody_else_waiting() {
    let mut sys = TestSystem::builder().seed(10).run_limit(10_000).build();
    quiet();
    let probe = sys.probe();
    let mut first = true;
    let make = move || {
        assert!(std::mem::take(&mut first), "{ON_PURPOSE}");
        does(|(), _| panic!("{ON_PURPOSE}"))
    };
    let hopeless = sys.spawn_with(supervised(Supervision::restart()), make).unwrap();
    hopeless.tell(());
    assert!(sys.try_run_until_idle().is_err());
    probe.address().tell(1);
    probe.expect_eq(1);
    hopeless.kill();
    sys.run_until_idle();
    assert!(hopeless.is_closed());
}

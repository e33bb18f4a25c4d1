//! Messages to oneself, later. Everything here happens in virtual time.

use crate::common::{ON_PURPOSE, does, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, Context, Mailbox, Shutdown, SpawnOptions, Supervision, Time, TimerId,
};
use std::collections::HashMap;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Sets timers by name, and tells which ring.
struct Clock {
    timers: HashMap<&'static str, TimerId>,
    tell: Box<dyn Fn(String) + Send>,
}

enum Msg {
    After(&'static str, Duration),
    Every(&'static str, Duration),
    Cancel(&'static str),
    Ring(&'static str),
    Panic,
    Stop,
}

impl Actor for Clock {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::After(name, delay) => {
                self.timers.insert(name, ctx.after(delay, Msg::Ring(name)));
            }
            Msg::Every(name, period) => {
                self.timers.insert(name, ctx.every(period, move || Msg::Ring(name)));
            }
            Msg::Cancel(name) => {
                let cancelled = ctx.cancel(self.timers[name]);
                (self.tell)(format!("{name} cancelled: {cancelled}"));
            }
            Msg::Ring(name) => {
                let seconds = Duration::from_nanos(ctx.now().ns).as_secs_f64();
                (self.tell)(format!("{name} at {seconds}"));
            }
            Msg::Panic => panic!("{ON_PURPOSE}"),
            Msg::Stop => ctx.stop(),
        }
    }
}

fn start(options: SpawnOptions) -> (TestSystem, Address<Clock>, Probe<String>) {
    quiet();
    let sys = TestSystem::seeded(1);
    let probe = sys.probe();
    let tell = probe.callback();
    let make = move || Clock { timers: HashMap::new(), tell: Box::new(tell.clone()) };
    let clock = sys.spawn_with(options, make).unwrap();
    (sys, clock, probe)
}

#[test]
fn timers_ring_in_order_of_time_once_or_again_and_again() {
    let (mut sys, clock, probe) = start(SpawnOptions::new());
    clock.tell(Msg::After("late", 5 * SECOND));
    clock.tell(Msg::After("now", Duration::ZERO));
    clock.tell(Msg::Every("tick", 2 * SECOND));
    clock.tell(Msg::After("soon", SECOND / 2));
    sys.run_until_idle();
    assert_eq!(probe.received(), ["now at 0"], "what is due at once needs no time");
    sys.advance(6 * SECOND);
    let expected = ["soon at 0.5", "tick at 2", "tick at 4", "late at 5", "tick at 6"];
    assert_eq!(probe.received(), expected);
    assert_eq!(sys.stats().total().timers, 6);
}

/// Sets timers that have names, and tells which ring.
struct Named(Box<dyn Fn(String) + Send>);

impl Actor for Named {
    type Msg = &'static str;

    fn handle(&mut self, msg: &'static str, ctx: &mut Context<'_, Self>) {
        match msg {
            "after" => drop(ctx.timer("a").after(SECOND, "ring")),
            "at 7 s" => drop(ctx.timer("a").at(Time { ns: 7_000_000_000 }, "ring")),
            "at 0 s" => drop(ctx.timer("b".to_owned()).at(Time { ns: 0 }, "ring")),
            "every" => drop(ctx.timer("a").every(2 * SECOND, || "tick")),
            "cancel" => (self.0)(format!("{}", ctx.timer("a").cancel())),
            "fail" => panic!("{ON_PURPOSE}"),
            rings => (self.0)(format!("{rings} {}", ctx.now().ns / 1_000_000_000)),
        }
    }
}

#[test]
fn a_timer_replaces_the_one_of_its_name() {
    quiet();
    let mut sys = TestSystem::seeded(1);
    let probe = sys.probe();
    let tell = probe.callback();
    let named = sys
        .spawn_with(SpawnOptions::new().supervise(Supervision::restart()), move || {
            Named(Box::new(tell.clone()))
        })
        .unwrap();
    let mut heard = |orders: &[&'static str], seconds: u32| {
        orders.iter().for_each(|&order| named.tell(order));
        sys.advance(seconds * SECOND);
        probe.received()
    };
    assert_eq!(heard(&["after", "after", "cancel", "cancel"], 2), ["true", "false"]);
    assert_eq!(heard(&["after", "at 7 s", "at 0 s"], 4), ["ring 2"], "that of the past at once");
    assert_eq!(heard(&[], 2), ["ring 7"]);
    assert_eq!(heard(&["cancel", "every", "every"], 5), ["false", "tick 10", "tick 12"]);
    assert_eq!(heard(&["after"], 4), ["ring 14"], "it does not tick any more");
    assert_eq!(heard(&["every", "fail"], 9), [""; 0], "a restart forgets them");
    assert_eq!(heard(&["cancel"], 1), ["false"]);
}

#[test]
fn equal_times_ring_in_the_order_in_which_they_were_set() {
    let (mut sys, clock, probe) = start(SpawnOptions::new());
    for name in ["a", "b", "c"] {
        clock.tell(Msg::After(name, SECOND));
    }
    sys.advance(SECOND);
    assert_eq!(probe.received(), ["a at 1", "b at 1", "c at 1"]);
}

#[test]
fn cancelled_is_cancelled_and_only_once() {
    let (mut sys, clock, probe) = start(SpawnOptions::new());
    clock.tell(Msg::After("once", SECOND));
    clock.tell(Msg::Every("tick", SECOND));
    clock.tell(Msg::After("past", SECOND / 2));
    sys.advance(SECOND / 2);
    for name in ["once", "once", "past"] {
        clock.tell(Msg::Cancel(name));
    }
    sys.advance(2 * SECOND);
    clock.tell(Msg::Cancel("tick"));
    clock.tell(Msg::Cancel("tick"));
    sys.advance(100 * SECOND);
    let expected = [
        "past at 0.5",
        "once cancelled: true",
        "once cancelled: false",
        "past cancelled: false",
        "tick at 1",
        "tick at 2",
        "tick cancelled: true",
        "tick cancelled: false",
    ];
    assert_eq!(probe.received(), expected);
}

#[test]
fn an_armed_timer_keeps_its_actor_alive_and_no_longer() {
    let (mut sys, clock, probe) = start(SpawnOptions::new());
    clock.tell(Msg::After("last", SECOND));
    drop(clock);
    sys.advance(SECOND / 2);
    assert_eq!(sys.stats().actors, 2);
    sys.advance(SECOND);
    assert_eq!(probe.received(), ["last at 1"]);
    assert_eq!(sys.stats().actors, 1, "only the probe is left");
}

#[test]
fn timers_end_with_their_actor() {
    for end in [Msg::Stop, Msg::Panic] {
        let (mut sys, clock, probe) = start(SpawnOptions::new());
        clock.tell(Msg::After("once", SECOND));
        clock.tell(Msg::Every("tick", SECOND));
        clock.tell(end);
        sys.advance(100 * SECOND);
        assert_eq!(probe.received(), [""; 0]);
        let audit = sys.audit();
        assert_eq!((audit.dead, audit.sent), (0, 3), "they did not ring in vain");
        assert_eq!(sys.stats().actors, 1, "only the probe is left");
    }
}

#[test]
fn a_restart_forgets_timers() {
    let options = SpawnOptions::new().supervise(Supervision::restart());
    let (mut sys, clock, probe) = start(options);
    clock.tell(Msg::Every("before", SECOND));
    clock.tell(Msg::Panic);
    clock.tell(Msg::Every("after", SECOND));
    sys.advance(SECOND);
    assert_eq!(probe.received(), ["after at 1"]);
}

#[test]
fn a_timer_that_finds_its_mailbox_full_goes_over_the_bound_unless_it_comes_again() {
    let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let mut sys = TestSystem::seeded(2);
    let handled = sys.probe::<&'static str>();
    let to = handled.callback();
    let slow = sys
        .spawn_with(narrow, move || {
            let to = to.clone();
            does(move |msg: &'static str, ctx| {
                if msg == "set" {
                    ctx.after(Duration::ZERO, "ring");
                    ctx.after(Duration::ZERO, "ring");
                    ctx.every(SECOND, || "tick");
                    ctx.every(SECOND, || "tick");
                }
                to(msg);
            })
        })
        .unwrap();
    slow.tell("set");
    sys.run_until_idle();
    assert_eq!(handled.received(), ["set", "ring", "ring"]);
    assert_eq!(sys.audit().dead, 0);
    sys.advance(SECOND);
    assert_eq!(handled.received(), ["tick"]);
    let audit = sys.audit();
    assert_eq!((audit.dead, audit.returned), (1, 0));
    assert!(audit.is_balanced(), "{audit:?}");
}

#[test]
fn draining_does_not_wait_for_timers() {
    let (mut sys, clock, probe) = start(SpawnOptions::new());
    clock.tell(Msg::Every("tick", SECOND));
    clock.tell(Msg::After("once", 3600 * SECOND));
    sys.advance(SECOND);
    let report = sys.shutdown(Shutdown::Drain);
    assert_eq!((report.dropped, report.dead), (0, 0));
    assert_eq!(probe.received(), ["tick at 1"]);
}

#[test]
fn a_panic_while_a_timer_makes_its_message_is_the_actor_s_own() {
    quiet();
    let mut sys = TestSystem::seeded(3);
    let options = SpawnOptions::new().supervise(Supervision::restart().limit(1, SECOND));
    let set = |start: bool, ctx: &mut Context<'_, crate::common::Does<bool>>| {
        assert!(start);
        ctx.every(SECOND / 10, || panic!("{ON_PURPOSE}"));
    };
    let fragile = sys.spawn_with(options, move || does(set)).unwrap();
    fragile.tell(true);
    sys.advance(2 * SECOND);
    let total = sys.stats().total();
    assert_eq!((total.panicked, total.restarted), (1, 1));
    // Two within a second are too many.
    fragile.tell(true);
    fragile.tell(true);
    sys.advance(SECOND);
    assert!(fragile.is_closed());
}

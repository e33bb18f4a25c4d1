//! Handlers that wait: what they hold for, what they let run beside them, and how that ends.

use crate::common::{ON_PURPOSE, quiet, system, test_systems};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, Context, Mailbox, OwnThread, Policy, Shutdown, SpawnOptions, StopReason,
    Supervision, WaitError,
};
use futures_channel::oneshot::{Receiver, Sender, channel};
use futures_lite::future::{pending, yield_now};
use std::cell::Cell;
use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, ThreadId};
use std::time::Duration;

type Told = Arc<dyn Fn(String) + Send + Sync>;

/// Does what its messages say, and tells what it did.
struct Waiter {
    told: Told,
    done: u32,
}

enum Do {
    Say(&'static str),
    /// Holds for a number.
    Hold(Receiver<u32>),
    /// Holds for both, and for a third in the first's continuation.
    HoldTwice(Receiver<u32>, Receiver<u32>, Receiver<u32>),
    /// Lets it run, with so many at most.
    Beside(usize, Receiver<u32>),
    /// Holds for a future that panics, or whose continuation does.
    Panic(bool),
    /// Holds for a closure.
    Block(Box<dyn FnOnce() -> u32 + Send>),
    /// Holds for what is ready, and ends then.
    ReadyThenStop,
}

impl Waiter {
    fn got(&mut self, number: u32) {
        self.done += 1;
        (self.told)(format!("{} is {number}", self.done));
    }
}

async fn number(receiver: Receiver<u32>) -> u32 {
    receiver.await.expect("a number")
}

impl Actor for Waiter {
    type Msg = Do;

    fn handle(&mut self, msg: Do, ctx: &mut Context<'_, Self>) {
        match msg {
            Do::Say(text) => (self.told)(text.to_owned()),
            Do::Hold(receiver) => {
                (self.told)("holds".to_owned());
                ctx.hold(number(receiver), |this, number, _| this.got(number));
            }
            Do::HoldTwice(first, second, third) => {
                ctx.hold(number(first), |this, number_, ctx| {
                    this.got(number_);
                    ctx.hold(number(third), |this, number, _| this.got(number));
                });
                ctx.hold(number(second), |this, number, _| this.got(number));
            }
            Do::Beside(limit, receiver) => {
                ctx.concurrent(limit, number(receiver), |this, number, _| this.got(number));
            }
            Do::Panic(true) => ctx.hold(async { panic!("{ON_PURPOSE}") }, |_, (), _| ()),
            Do::Panic(false) => ctx.hold(yield_now(), |_, (), _| panic!("{ON_PURPOSE}")),
            Do::Block(closure) => ctx.hold_blocking(closure, |this, number, _| this.got(number)),
            Do::ReadyThenStop => ctx.hold(ready(7), |this, number, ctx| {
                this.got(number);
                ctx.stop();
            }),
        }
    }

    fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
        (self.told)(format!("stopped: {reason:?}"));
        ctx.hold(pending::<()>(), |_, (), _| unreachable!("it has ended"));
    }
}

fn waiter(told: impl Fn(String) + Send + Sync + 'static) -> Waiter {
    Waiter { told: Arc::new(told), done: 0 }
}

/// One in a test system, and what it tells.
fn waiter_with(sys: &TestSystem, options: SpawnOptions) -> (Address<Waiter>, Probe<String>) {
    let probe = sys.probe();
    let told = probe.callback();
    (sys.spawn_with(options, move || waiter(told.clone())).unwrap(), probe)
}

fn waiter_kind() -> &'static str {
    std::any::type_name::<Waiter>()
}

fn two() -> (Sender<u32>, Receiver<u32>) {
    channel()
}

#[test]
fn messages_wait_in_order_until_the_held_future_is_done() {
    for mut sys in test_systems() {
        let (actor, probe) = waiter_with(&sys, SpawnOptions::new());
        let (sender, receiver) = two();
        actor.tell(Do::Hold(receiver));
        actor.tell(Do::Say("one"));
        sys.run_until_idle();
        actor.tell(Do::Say("two"));
        sys.run_until_idle();
        assert_eq!(probe.received(), ["holds"]);
        assert_eq!(actor.len(), 2);
        assert!(sys.audit().is_balanced());
        sender.send(5).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), ["1 is 5", "one", "two"]);
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn several_are_held_one_after_the_other() {
    for mut sys in test_systems() {
        let (actor, probe) = waiter_with(&sys, SpawnOptions::new());
        let ((first, a), (second, b), (third, c)) = (two(), two(), two());
        actor.tell(Do::HoldTwice(a, b, c));
        actor.tell(Do::Say("after"));
        third.send(30).unwrap();
        second.send(20).unwrap();
        sys.run_until_idle();
        assert!(probe.received().is_empty());
        first.send(10).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), ["1 is 10", "2 is 20", "3 is 30", "after"]);
    }
}

#[test]
fn a_held_future_keeps_its_actor_alive_and_an_end_drops_it() {
    for mut sys in test_systems() {
        let probe = sys.probe();
        for how in 0..4 {
            let (sender, receiver) = two();
            let actor = sys.spawn(waiter(probe.callback()));
            actor.tell(Do::Hold(receiver));
            actor.tell(Do::Say("waits"));
            sys.run_until_idle();
            assert_eq!(probe.received(), ["holds"]);
            match how {
                0 => drop(actor),
                1 => actor.stop(),
                2 => actor.kill(),
                _ => drop((actor.clone(), actor.downgrade())),
            }
            sys.run_until_idle();
            assert_eq!(sender.is_canceled(), how == 2);
            if how == 2 {
                assert_eq!(probe.received(), ["stopped: Requested"]);
                continue;
            }
            assert!(probe.received().is_empty(), "it still waits");
            sender.send(1).unwrap();
            sys.run_until_idle();
            let seen = probe.received();
            assert_eq!(seen[..2], ["1 is 1", "waits"]);
            let end = ["stopped: Orphaned", "stopped: Requested"];
            assert_eq!(seen.get(2).map(String::as_str), end.get(how).copied());
        }
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn a_restart_drops_what_is_held_and_what_is_under_way() {
    quiet();
    for mut sys in test_systems() {
        let options = SpawnOptions::new().supervise(Supervision::restart());
        let (actor, probe) = waiter_with(&sys, options);
        for in_future in [true, false] {
            let (sender, receiver) = two();
            actor.tell(Do::Beside(9, receiver));
            actor.tell(Do::Panic(in_future));
            actor.tell(Do::Say("after"));
            sys.run_until_idle();
            assert!(sender.is_canceled(), "with the instance that failed");
            assert_eq!(probe.received(), ["after"]);
        }
        let totals = sys.stats().total();
        assert_eq!((totals.panicked, totals.restarted), (2, 2));
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn never_more_are_under_way_than_may_be() {
    for mut sys in test_systems() {
        let (actor, probe) = waiter_with(&sys, SpawnOptions::new());
        let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| two()).unzip();
        receivers.into_iter().for_each(|receiver| actor.tell(Do::Beside(2, receiver)));
        actor.tell(Do::Say("last"));
        sys.run_until_idle();
        assert_eq!(actor.len(), 3, "two of five were taken");
        // The second is ready first.
        senders.remove(1).send(11).unwrap();
        sys.run_until_idle();
        assert_eq!((actor.len(), probe.received()), (2, vec!["1 is 11".to_owned()]));
        senders.remove(0).send(10).unwrap();
        sys.run_until_idle();
        assert_eq!((actor.len(), probe.received()), (1, vec!["2 is 10".to_owned()]));
        senders.into_iter().for_each(|sender| sender.send(12).unwrap());
        actor.stop();
        drop(actor);
        sys.run_until_idle();
        assert_eq!(probe.received().last().unwrap(), "stopped: Requested");
        assert_eq!(sys.shutdown(Shutdown::Drain).dead, 0);
    }
}

#[test]
fn who_is_asked_to_stop_waits_for_what_is_under_way() {
    for mut sys in test_systems() {
        let (actor, probe) = waiter_with(&sys, SpawnOptions::new());
        let (sender, receiver) = two();
        actor.tell(Do::Beside(5, receiver));
        actor.tell(Do::Say("beside it"));
        sys.run_until_idle();
        assert_eq!(probe.received(), ["beside it"]);
        actor.stop();
        sys.run_until_idle();
        assert!(probe.received().is_empty());
        sender.send(3).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), ["1 is 3", "stopped: Requested"]);
    }
}

#[test]
fn a_bounded_mailbox_holds_senders_back_meanwhile() {
    for mut sys in test_systems() {
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(2));
        let (actor, probe) = waiter_with(&sys, options);
        let (sender, receiver) = two();
        actor.tell(Do::Hold(receiver));
        sys.run_until_idle();
        actor.send(Do::Say("a")).unwrap();
        actor.send(Do::Say("b")).unwrap();
        assert!(actor.send(Do::Say("c")).is_err_and(|error| !error.is_closed()));
        sys.run_until_idle();
        sender.send(1).unwrap();
        sys.run_until_idle();
        assert_eq!(probe.received(), ["holds", "1 is 1", "a", "b"]);
        actor.send(Do::Say("d")).unwrap();
    }
}

#[test]
fn a_ready_future_needs_no_wake_up_and_its_continuation_may_end_the_actor() {
    for mut sys in test_systems() {
        let (actor, probe) = waiter_with(&sys, SpawnOptions::new());
        actor.tell(Do::ReadyThenStop);
        actor.tell(Do::Say("too late"));
        sys.run_until_idle();
        assert_eq!(probe.received(), ["1 is 7", "stopped: Requested"]);
        let audit = sys.audit();
        assert!(audit.is_balanced() && audit.dead == 1, "{audit:?}");
    }
}

#[test]
fn blocking_closures_are_held_for_in_test_systems_and_their_panics_are_failures() {
    quiet();
    for mut sys in test_systems() {
        let options = SpawnOptions::new().supervise(Supervision::restart());
        let (actor, probe) = waiter_with(&sys, options);
        actor.tell(Do::Block(Box::new(|| 9)));
        actor.tell(Do::Say("then"));
        actor.tell(Do::Block(Box::new(|| panic!("{ON_PURPOSE}"))));
        actor.tell(Do::Say("anew"));
        sys.run_until_idle();
        assert_eq!(probe.received(), ["1 is 9", "then", "anew"]);
        assert_eq!(sys.stats().total().restarted, 1);
    }
}

#[test]
fn a_drain_waits_for_what_is_held_and_says_so_when_its_time_is_over() {
    for policy in Policy::ALL {
        for workers in [1, 2] {
            let system = system(policy, workers);
            let (told, heard) = mpsc::channel();
            let actor = system.spawn(waiter(move |text| told.send(text).unwrap()));
            let ((sender, receiver), (beside, other)) = (two(), two());
            actor.tell(Do::Beside(2, other));
            actor.tell(Do::Hold(receiver));
            actor.tell(Do::Say("last"));
            drop(actor);
            assert_eq!(heard.recv().unwrap(), "holds");
            let WaitError::TimedOut { unfinished, .. } =
                system.wait_idle(Duration::from_millis(1)).unwrap_err()
            else {
                panic!("nobody waits on a worker");
            };
            assert_eq!(unfinished.holding.len(), 1, "{unfinished}");
            assert!(unfinished.to_string().contains("1 wait for futures: actor "), "{unfinished}");
            let ending = std::thread::spawn(move || {
                let report = system.shutdown(Shutdown::Drain);
                (report.dead, report.handled, system)
            });
            sender.send(1).unwrap();
            assert_eq!(heard.recv().unwrap(), "1 is 1");
            assert_eq!(heard.recv().unwrap(), "last");
            beside.send(2).unwrap();
            let (dead, handled, _system) = ending.join().unwrap();
            assert_eq!((dead, handled), (0, 3));
            assert_eq!(heard.iter().collect::<Vec<_>>(), ["2 is 2", "stopped: Orphaned"]);
        }
    }
}

#[test]
fn a_drain_with_a_limit_drops_what_is_held() {
    for mut sys in test_systems() {
        let actor = sys.spawn(waiter(|_| ()));
        let (sender, receiver) = two();
        actor.tell(Do::Hold(receiver));
        let report = sys.shutdown(Shutdown::Drain);
        assert_eq!(report.unfinished.unwrap().holding, [(actor.id(), waiter_kind())]);
        assert!(sender.is_canceled());
    }
    let system = system(Policy::affine(), 2);
    let (told, heard) = mpsc::channel();
    let actor = system.spawn(waiter(move |text| told.send(text).unwrap()));
    let (sender, receiver) = two();
    actor.tell(Do::Hold(receiver));
    actor.tell(Do::Say("never"));
    let report = system.shutdown(Shutdown::DrainWithin(Duration::from_millis(20)));
    assert!(sender.is_canceled());
    assert_eq!((report.dead, report.left_actors), (1, 0));
    assert_eq!(report.unfinished.unwrap().holding.len(), 1);
    assert_eq!(heard.iter().collect::<Vec<_>>(), ["holds", "stopped: Shutdown"]);
    drop(actor);
}

#[test]
fn wake_ups_from_other_threads_are_never_lost() {
    for policy in Policy::ALL {
        let system = system(policy, 3);
        let (told, heard) = mpsc::channel();
        let count = if cfg!(miri) { 10 } else { 2000 };
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| two()).unzip();
        let actor = system.spawn(waiter(move |text| told.send(text).unwrap()));
        for (index, receiver) in receivers.into_iter().enumerate() {
            actor.tell(if index % 2 == 0 { Do::Hold(receiver) } else { Do::Beside(3, receiver) });
        }
        drop(actor);
        for sender in senders {
            sender.send(0).unwrap();
        }
        let is_result = |text: &String| text.ends_with("is 0");
        assert_eq!(heard.iter().filter(is_result).count(), count, "{policy:?}");
        assert_eq!(system.shutdown(Shutdown::Drain).dead, 0);
    }
}

/// Owns a value that must not leave its thread.
struct Owner {
    told: Told,
    value: Option<OwnThread<Bound>>,
}

struct Bound {
    thread: ThreadId,
    sum: Rc<Cell<u32>>,
    told: Told,
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert_eq!(self.thread, thread::current().id());
        (self.told)("dropped".to_owned());
    }
}

impl Actor for Owner {
    type Msg = Option<u32>;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let told = self.told.clone();
        let make = move || Bound { thread: thread::current().id(), sum: Rc::default(), told };
        self.value = Some(ctx.own_thread("owned", make).expect("a thread"));
        assert!(ctx.own_thread("no\0name", || ()).is_err());
    }

    fn handle(&mut self, number: Option<u32>, ctx: &mut Context<'_, Self>) {
        let add = move |value: &mut Bound| {
            assert_eq!(value.thread, thread::current().id());
            assert_eq!(thread::current().name(), Some("owned"));
            let number = number.unwrap_or_else(|| panic!("{ON_PURPOSE}"));
            value.sum.set(value.sum.get() + number);
            value.sum.get()
        };
        let value = self.value.as_ref().expect("made when it started");
        ctx.hold_on(value, add, |this, sum, _| (this.told)(sum.to_string()));
    }
}

#[test]
fn a_value_lives_on_its_own_thread_and_its_panics_are_its_actor_s() {
    quiet();
    for mut sys in test_systems().take(5) {
        let (told, heard) = mpsc::channel();
        let options = SpawnOptions::new().supervise(Supervision::restart());
        let make = move || {
            let told = told.clone();
            Owner { told: Arc::new(move |text| told.send(text).unwrap()), value: None }
        };
        let actor = sys.spawn_with(options, make).unwrap();
        [Some(1), Some(2), None, Some(4)].into_iter().for_each(|number| actor.tell(number));
        sys.run_until_idle();
        let mut seen: Vec<_> = heard.try_iter().collect();
        // The first one's value is dropped on its thread at some time.
        seen.retain(|text| text != "dropped");
        assert_eq!(seen, ["1", "3", "4"]);
        assert_eq!(sys.stats().total().restarted, 1);
        assert!(sys.audit().is_balanced());
        actor.kill();
        sys.run_until_idle();
        drop((actor, sys));
        // All that could say something are gone by then, the threads included.
        assert!(heard.iter().all(|text| text == "dropped"));
    }
}

#[test]
fn a_start_that_waits_in_vain_does_not_keep_a_drain_for_ever() {
    /// Fails in what it waits for since it has started.
    struct Hopeless(bool);
    impl Actor for Hopeless {
        type Msg = ();
        fn started(&mut self, ctx: &mut Context<'_, Self>) {
            if self.0 {
                ctx.own_thread::<()>("hopeless", || panic!("{ON_PURPOSE}")).expect("a thread");
            } else {
                ctx.hold(yield_now(), |_, (), ctx| ctx.fail("in vain"));
            }
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
    }
    quiet();
    for policy in Policy::ALL {
        let system = system(policy, 2);
        for by_thread in [true, false] {
            let hour = Duration::from_secs(3600);
            let backoff = Supervision::restart().backoff(hour, hour);
            let options = SpawnOptions::new().supervise(backoff);
            let actor = system.spawn_with(options, move || Hopeless(by_thread)).unwrap();
            actor.send(()).unwrap();
        }
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead, report.dropped), (0, 2, 0), "{policy:?}");
    }
}

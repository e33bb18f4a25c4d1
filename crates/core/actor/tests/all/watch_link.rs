//! Hearing of the end of others, and sharing it.

use crate::common::{Does, ON_PURPOSE, does, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{Actor, Address, Context, Down, Shutdown, StopReason};

/// Watches and links as told.
struct Friend {
    heard: Box<dyn Fn(Down) + Send>,
}

enum Msg {
    Watch(Address<Does<()>>),
    Unwatch(Address<Does<()>>),
    Link(Address<Friend>),
    Unlink(Address<Friend>),
    Down(Down),
    Panic,
    Stop,
}

impl Actor for Friend {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Watch(other) => ctx.watch(&other, Msg::Down),
            Msg::Unwatch(other) => ctx.unwatch(&other),
            Msg::Link(other) => ctx.link(&other),
            Msg::Unlink(other) => ctx.unlink(&other),
            Msg::Down(down) => (self.heard)(down),
            Msg::Panic => panic!("{ON_PURPOSE}"),
            Msg::Stop => ctx.stop(),
        }
    }
}

fn start(seed: u64) -> (TestSystem, Probe<Down>) {
    quiet();
    let sys = TestSystem::seeded(seed);
    let probe = sys.probe();
    (sys, probe)
}

fn friend(sys: &TestSystem, probe: &Probe<Down>) -> Address<Friend> {
    sys.spawn(Friend { heard: Box::new(probe.callback()) })
}

/// Ends at its first message, by a panic.
fn fragile(sys: &TestSystem) -> Address<Does<()>> {
    sys.spawn(does(|(), _| panic!("{ON_PURPOSE}")))
}

#[test]
fn a_watcher_hears_how_it_ended() {
    for seed in 0..10 {
        let (mut sys, probe) = start(seed);
        let watcher = friend(&sys, &probe);
        type End = fn(Address<Does<()>>);
        let ends: [(&str, End); 4] = [
            ("actor 3 (all::common::Does<()>) panicked: on purpose", |it| it.tell(())),
            ("stopped on request", |it| it.stop()),
            ("stopped on request", |it| it.kill()),
            ("no address of it was left", drop),
        ];
        for (n, (reason, end)) in (3..).zip(ends) {
            let other = fragile(&sys);
            let id = other.id();
            assert_eq!(id.as_u64(), n);
            watcher.tell(Msg::Watch(other.clone()));
            sys.run_until_idle();
            end(other);
            let down = probe.expect_next();
            assert_eq!((down.actor, down.reason.to_string().as_str()), (id, reason));
            probe.expect_none();
        }
        assert!(!watcher.is_closed());
    }
}

#[test]
fn who_watches_too_late_hears_at_once() {
    let (mut sys, probe) = start(1);
    let watcher = friend(&sys, &probe);
    let (failed, stopped) = (fragile(&sys), fragile(&sys));
    failed.tell(());
    stopped.stop();
    sys.run_until_idle();
    watcher.tell(Msg::Watch(failed));
    assert!(matches!(probe.expect_next().reason, StopReason::Failed(_)));
    watcher.tell(Msg::Watch(stopped));
    assert_eq!(probe.expect_next().reason, StopReason::AlreadyStopped);
    probe.expect_none();
}

#[test]
fn who_watches_no_more_hears_nothing_and_who_watches_twice_hears_twice() {
    let (sys, probe) = start(2);
    let watcher = friend(&sys, &probe);
    let other = fragile(&sys);
    watcher.tell(Msg::Watch(other.clone()));
    watcher.tell(Msg::Unwatch(other.clone()));
    probe.expect_none();
    other.tell(());
    probe.expect_none();

    let other = fragile(&sys);
    watcher.tell(Msg::Watch(other.clone()));
    watcher.tell(Msg::Watch(other.clone()));
    probe.expect_none();
    other.stop();
    probe.expect_next();
    probe.expect_next();
    probe.expect_none();
}

#[test]
fn watching_keeps_nobody_alive() {
    let (mut sys, probe) = start(3);
    let watcher = friend(&sys, &probe);
    let other = fragile(&sys);
    watcher.tell(Msg::Watch(other.clone()));
    sys.run_until_idle();
    // The watcher ends first: there is nobody left to tell.
    drop(watcher);
    sys.run_until_idle();
    assert_eq!(sys.stats().actors, 2);
    other.tell(());
    probe.expect_none();
    let audit = sys.audit();
    assert!(audit.is_balanced(), "{audit:?}");
}

#[test]
fn watchers_hear_of_the_end_of_the_system_or_are_ended_before() {
    let (mut sys, probe) = start(4);
    let watchers: Vec<_> = (0..3).map(|_| friend(&sys, &probe)).collect();
    let other = fragile(&sys);
    watchers.iter().for_each(|watcher| watcher.tell(Msg::Watch(other.clone())));
    sys.run_until_idle();
    sys.shutdown(Shutdown::Drop);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
}

#[test]
fn linked_actors_share_an_abnormal_end_but_no_normal_one() {
    for seed in 0..10 {
        let (mut sys, probe) = start(seed);
        let friends: Vec<_> = (0..4).map(|_| friend(&sys, &probe)).collect();
        // A chain: 0 - 1 - 2, and 3 alone.
        friends[0].tell(Msg::Link(friends[1].clone()));
        friends[1].tell(Msg::Link(friends[2].clone()));
        sys.run_until_idle();
        friends[2].tell(Msg::Panic);
        sys.run_until_idle();
        let closed: Vec<bool> = friends.iter().map(Address::is_closed).collect();
        assert_eq!(closed, [true, true, true, false]);

        let (a, b) = (friend(&sys, &probe), friend(&sys, &probe));
        a.tell(Msg::Link(b.clone()));
        sys.run_until_idle();
        b.tell(Msg::Stop);
        sys.run_until_idle();
        assert!(b.is_closed() && !a.is_closed());
    }
}

#[test]
fn the_reason_tells_where_it_came_from() {
    let (mut sys, probe) = start(5);
    let (a, b, watcher) = (friend(&sys, &probe), friend(&sys, &probe), friend(&sys, &probe));
    a.tell(Msg::Link(b.clone()));
    let watched = a.clone();
    let heard = probe.callback();
    let spy = sys.spawn(does(move |down: Option<Down>, ctx| match down {
        None => ctx.watch(&watched, Some),
        Some(down) => heard(down),
    }));
    spy.tell(None);
    sys.run_until_idle();
    b.tell(Msg::Panic);
    assert_eq!(probe.expect_next(), Down { actor: a.id(), reason: StopReason::Linked(b.id()) });
    assert!(!watcher.is_closed());
}

#[test]
fn unlinking_frees_both() {
    for ends_a in [true, false] {
        let (mut sys, probe) = start(6);
        let (a, b) = (friend(&sys, &probe), friend(&sys, &probe));
        a.tell(Msg::Link(b.clone()));
        a.tell(Msg::Unlink(b.clone()));
        sys.run_until_idle();
        let (ends, stays) = if ends_a { (a, b) } else { (b, a) };
        ends.tell(Msg::Panic);
        sys.run_until_idle();
        assert!(ends.is_closed() && !stays.is_closed());
    }
}

#[test]
fn a_link_to_one_that_failed_before_breaks_at_once() {
    let (mut sys, probe) = start(7);
    let (a, b, c) = (friend(&sys, &probe), friend(&sys, &probe), friend(&sys, &probe));
    b.tell(Msg::Panic);
    c.tell(Msg::Stop);
    sys.run_until_idle();
    a.tell(Msg::Link(c));
    sys.run_until_idle();
    assert!(!a.is_closed(), "a normal end breaks no link");
    a.tell(Msg::Link(b));
    sys.run_until_idle();
    assert!(a.is_closed());
}

#[test]
fn a_panic_while_the_news_is_made_is_the_watcher_s_own() {
    let (mut sys, _probe) = start(8);
    let other = fragile(&sys);
    let watched = other.clone();
    let watcher = sys.spawn(does(move |(), ctx| {
        ctx.watch(&watched, |_| panic!("{ON_PURPOSE}"));
    }));
    watcher.tell(());
    sys.run_until_idle();
    other.stop();
    sys.run_until_idle();
    assert!(watcher.is_closed() && other.is_closed());
    assert_eq!(sys.stats().total().panicked, 1);
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_listener_to_dead_letters_that_panics_harms_nobody() {
    let (mut sys, probe) = start(9);
    let heard = probe.callback();
    sys.handle().on_dead_letter(|_| panic!("{ON_PURPOSE}"));
    sys.handle().on_dead_letter(move |letter| {
        heard(Down { actor: letter.to, reason: letter.reason.clone() });
    });
    let other = fragile(&sys);
    other.tell(());
    other.tell(());
    sys.run_until_idle();
    assert_eq!(probe.expect_next().actor, other.id());
    other.tell(());
    assert_eq!(probe.expect_next().reason, StopReason::AlreadyStopped);
    assert_eq!(sys.audit().dead, 2);
}

#[test]
fn who_watches_just_before_the_end_hears_of_it() {
    let (mut sys, probe) = start(10);
    for kill in [true, false] {
        let other = fragile(&sys);
        let (watched, heard) = (other.clone(), probe.callback());
        // All in one turn, so that the other finds both requests when it looks.
        let watcher = sys.spawn(does(move |down: Option<Down>, ctx| match down {
            None => {
                if kill {
                    watched.kill()
                } else {
                    watched.stop()
                }
                ctx.watch(&watched, Some);
            }
            Some(down) => heard(down),
        }));
        sys.run_until_idle();
        watcher.tell(None);
        assert_eq!(probe.expect_next(), Down { actor: other.id(), reason: StopReason::Requested });
    }
}

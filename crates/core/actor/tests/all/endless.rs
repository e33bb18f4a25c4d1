//! Waiting that could not end has a defined end: an error that says why, or who does not return.
//
// leaks: what a thread that was given up may reach is never freed.

use crate::common::{Does, does, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Address, Context, Policy, Shutdown, StopReason, System, WaitError};
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

fn everywhere(story: impl Fn(System)) {
    for policy in Policy::ALL {
        for workers in 1..=3 {
            story(system(policy, workers));
        }
    }
}

/// Where it takes a second to give somebody up.
fn with_each_policy(story: impl Fn(System)) {
    for policy in Policy::ALL {
        story(system(policy, 2));
    }
}

/// An actor whose handler does not return until the gate is opened or dropped, and says when it has
/// begun.
struct Gated {
    begun: Sender<()>,
    gate: Receiver<()>,
}

impl Actor for Gated {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        self.begun.send(()).unwrap();
        let _ = self.gate.recv();
    }
}

/// Such an actor in its handler, and what opens the gate.
fn stuck(system: &System) -> (Address<Gated>, Sender<()>) {
    let ((begun, has_begun), (open, gate)) = (channel(), channel());
    let actor = system.spawn(Gated { begun, gate });
    actor.send(()).unwrap();
    has_begun.recv().unwrap();
    (actor, open)
}

#[test]
fn waiting_for_its_own_system_is_an_error_at_once_on_a_worker() {
    everywhere(|system| {
        let (tell, told) = channel();
        let system = Arc::new(system);
        let inside = system.clone();
        let actor = system.spawn(does(move |(): (), _| {
            let errors = [
                inside.wait_idle(Duration::MAX).map(drop),
                inside.audit(Duration::MAX).map(drop),
                inside.wait().map(drop),
            ];
            tell.send(errors).unwrap();
        }));
        actor.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), [const { Err(WaitError::OnWorker) }; 3], "{system:?}");
        assert!(WaitError::OnWorker.to_string().contains("wait on another thread"));
        actor.kill();
        drop(actor);
        // The last reference is this one once the actor's state is gone.
        assert!(told.recv().is_err());
        assert_eq!(system.wait_idle(Duration::MAX), Ok(()));
    });
}

#[test]
fn who_waits_too_long_hears_who_is_at_work() {
    everywhere(|system| {
        let (actor, open) = stuck(&system);
        actor.send(()).unwrap();
        let limit = Duration::from_millis(1);
        for result in [system.wait_idle(limit), system.audit(limit).map(drop)] {
            let error = result.unwrap_err();
            let text = error.to_string();
            let WaitError::TimedOut { unfinished, .. } = error else { panic!("{text}") };
            let running: Vec<_> = unfinished.running.iter().filter_map(|it| it.actor).collect();
            assert_eq!(running.iter().filter(|(it, _)| *it == actor.id()).count(), 1, "{text}");
            assert_eq!((unfinished.messages, unfinished.waiting.len()), (1, 1), "{text}");
            assert!(text.contains("within 1ms; in a turn: actor 1 ("), "{text}");
            assert!(text.contains("1 messages wait: 1 for actor 1"), "{text}");
        }
        drop(open);
        // All goes on as if nobody had asked.
        assert_eq!(system.wait_idle(Duration::MAX), Ok(()));
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn an_audit_lets_a_handler_go_on_that_waits_for_a_thread_that_sends() {
    everywhere(|system| {
        let (begun, has_begun) = channel();
        let (go, going) = channel::<()>();
        let sink = system.spawn(does(|(): (), _| ()));
        let actor = system.spawn(does(move |(): (), _| {
            thread::scope(|scope| {
                begun.send(()).unwrap();
                going.recv().unwrap();
                // Its sends come while the system is being audited.
                scope.spawn(|| (0..10).for_each(|_| sink.send(()).unwrap()));
            });
        }));
        actor.send(()).unwrap();
        has_begun.recv().unwrap();
        thread::scope(|scope| {
            let audit = scope.spawn(|| system.audit(Duration::MAX).unwrap());
            go.send(()).unwrap();
            let audit = audit.join().unwrap();
            assert!(audit.is_balanced(), "{system:?} {audit:?}");
        });
    });
}

#[test]
fn systems_that_send_to_each_other_may_be_audited_at_once() {
    const AUDITS: usize = if cfg!(miri) { 3 } else { 200 };

    /// Sends each message on to its friend, and by another message so many more to itself.
    struct Friend(Option<Address<Friend>>);
    enum Msg {
        Friend(Address<Friend>),
        On,
    }
    impl Actor for Friend {
        type Msg = Msg;

        fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
            match (msg, &self.0) {
                (Msg::Friend(friend), _) => self.0 = Some(friend),
                (Msg::On, Some(friend)) => (0..2).for_each(|_| friend.tell(Msg::On)),
                (Msg::On, None) => {}
            }
            // Not more than there is room for.
            if let Some(friend) = self.0.take_if(|friend| friend.len() > 1_000) {
                self.0 = Some(friend);
                thread::yield_now();
            }
        }
    }

    for policy in Policy::ALL {
        let systems = [system(policy, 2), system(policy, 2)];
        let friends = [0, 1].map(|n: usize| systems[n].spawn(Friend(None)));
        (0..2).for_each(|n| friends[n].tell(Msg::Friend(friends[1 - n].clone())));
        friends[0].tell(Msg::On);
        thread::scope(|scope| {
            for system in &systems {
                scope.spawn(move || {
                    for _ in 0..AUDITS {
                        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
                    }
                });
            }
        });
        for system in &systems {
            system.shutdown(Shutdown::Drop);
        }
    }
}

thread_local! {
    /// Tells that its thread has ended.
    static AT_END: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

#[test]
fn a_system_that_its_own_actor_drops_ends_with_all_its_threads() {
    for policy in Policy::ALL {
        for workers in 1..=3 {
            let (ended, end) = channel::<()>();
            let (state, states) = channel::<()>();
            let place = Arc::new(Mutex::new(None));
            let system = system(policy, workers);
            // On each worker somebody waits for all others, so that there is one on each.
            let (all, left) = (Arc::new(Barrier::new(workers)), Arc::new(Mutex::new(workers)));
            let notes: Vec<_> = (0..workers)
                .map(|worker| {
                    let (all, ended, place) = (all.clone(), ended.clone(), place.clone());
                    let (left, state) = (left.clone(), state.clone());
                    let options = actinium_actor::SpawnOptions::new().on_worker(worker);
                    let mut once = Some(move |(): ()| {
                        AT_END.set(Some(ended.clone()));
                        all.wait();
                        let mut left = left.lock().unwrap();
                        *left -= 1;
                        if *left == 0 {
                            drop(place.lock().unwrap().take());
                        }
                    });
                    let make = move || {
                        let (once, state) = (once.take(), state.clone());
                        does(move |msg: (), _| {
                            let _ = &state;
                            once.as_ref().unwrap()(msg);
                        })
                    };
                    system.spawn_with(options, make).unwrap()
                })
                .collect();
            *place.lock().unwrap() = Some(system);
            drop((ended, state));
            notes.iter().for_each(|note: &Address<Does<()>>| note.send(()).unwrap());
            // Each thread holds a sender until its destructors have run, each actor until it is
            // disposed of.
            assert!(end.recv().is_err(), "{policy}, {workers} workers");
            assert!(states.recv().is_err(), "{policy}, {workers} workers");
            assert!(notes.iter().all(Address::is_closed));
        }
    }
}

#[test]
fn a_drain_with_a_time_ends_as_a_drain_where_that_suffices() {
    everywhere(|system| {
        let actor = system.spawn(does(|n: u32, ctx| {
            if n > 0 {
                ctx.address().tell(n - 1);
            }
        }));
        actor.send(100).unwrap();
        let report = system.shutdown(Shutdown::DrainWithin(Duration::MAX));
        assert_eq!((report.handled, report.dropped, report.unfinished), (101, 0, None));
        assert!(report.stuck.is_empty());
    });
}

#[test]
fn a_drain_with_a_time_drops_what_never_comes_to_rest() {
    everywhere(|system| {
        let restless = system.spawn(does(|n: u64, ctx| ctx.address().tell(n + 1)));
        restless.send(0).unwrap();
        let report = system.shutdown(Shutdown::DrainWithin(Duration::from_millis(1)));
        assert_eq!((report.dropped, report.left_actors), (1, 0), "{report:?}");
        assert!(report.stuck.is_empty(), "{report:?}");
        assert!(report.unfinished.is_some(), "{report:?}");
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn actors_that_do_not_return_are_named_and_the_others_end() {
    struct Told(Sender<StopReason>);
    impl Actor for Told {
        type Msg = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
        fn stopped(&mut self, _: &mut Context<'_, Self>, reason: &StopReason) {
            self.0.send(reason.clone()).unwrap();
        }
    }
    with_each_policy(|system| {
        let (tell, told) = channel();
        let others: Vec<_> = (0..10).map(|_| system.spawn(Told(tell.clone()))).collect();
        others.iter().for_each(|other| other.send(()).unwrap());
        system.wait_idle(Duration::MAX).unwrap();
        let (actor, open) = stuck(&system);
        actor.send(()).unwrap();
        let report = system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        let names: Vec<_> = report.stuck.iter().map(|it| it.actor.map(|it| it.0)).collect();
        assert_eq!(names, [Some(actor.id())], "{system:?}: {report:?}");
        assert!(report.unfinished.is_some());
        assert!(report.left_messages >= 1, "{report:?}");
        // Those of the other workers have ended; those of its own are left with it.
        let ended = told.try_iter().filter(|it| *it == StopReason::Shutdown).count();
        assert_eq!(ended + report.left_actors, others.len() + 1, "{system:?}: {report:?}");
        assert!(ended > 0, "{system:?}: {report:?}");
        assert_eq!(system.shutdown(Shutdown::Drop), report);
        drop(open);
    });
}

#[test]
fn who_was_given_up_may_come_back_and_do_anything() {
    /// Does this with its friends when the gate is opened.
    struct Late {
        gate: Receiver<()>,
        begun: Sender<()>,
        ended: Sender<()>,
        friends: Vec<Address<Does<u64>>>,
    }
    impl Actor for Late {
        type Msg = ();

        fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
            AT_END.set(Some(self.ended.clone()));
            self.friends.iter().for_each(|friend| friend.tell(1));
            self.begun.send(()).unwrap();
            let _ = self.gate.recv();
            for friend in &self.friends {
                (0..3).for_each(|n| friend.tell(n));
                friend.stop();
            }
            let fresh = ctx.spawn_detached(does(|n: u64, _| assert!(n > 0)));
            fresh.tell(1);
            drop(fresh);
            ctx.address().tell(());
            ctx.after(Duration::ZERO, ());
            self.friends.drain(..).for_each(|friend| friend.kill());
            ctx.stop();
        }
    }
    for policy in Policy::ALL {
        for workers in 1..=3 {
            let system = system(policy, workers);
            let friends: Vec<_> = (0..9).map(|_| system.spawn(does(|_: u64, _| ()))).collect();
            let ((begun, has_begun), (open, gate)) = (channel(), channel());
            let (ended, end) = channel::<()>();
            let late = Late { gate, begun, ended, friends: friends.clone() };
            let late = system.spawn(late);
            late.send(()).unwrap();
            has_begun.recv().unwrap();
            friends.iter().for_each(|friend| friend.send(7).unwrap());
            let report = system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
            assert_eq!(report.stuck.len(), 1, "{system:?}: {report:?}");
            // All that others have of it goes, too.
            drop((system, friends, late));
            drop(open);
            assert!(end.recv().is_err(), "its thread ends");
        }
    }
}

#[test]
fn what_does_not_return_while_it_is_ended_is_named_too() {
    struct Clings(Receiver<()>);
    impl Actor for Clings {
        type Msg = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
        fn stopped(&mut self, _: &mut Context<'_, Self>, _: &StopReason) {
            let _ = self.0.recv();
        }
    }
    with_each_policy(|system| {
        let (open, gate) = channel();
        let actor = system.spawn(Clings(gate));
        let report = system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
        let names: Vec<_> = report.stuck.iter().map(|it| it.actor.map(|it| it.0)).collect();
        assert_eq!(names, [Some(actor.id())], "{system:?}: {report:?}");
        assert_eq!(report.left_actors, 1, "{report:?}");
        drop(open);
    });
}

#[test]
fn a_time_can_be_set_for_a_drain_that_another_thread_waits_for() {
    with_each_policy(|system| {
        let (actor, open) = stuck(&system);
        let late = system.spawn(does(|(): (), _| ()));
        thread::scope(|scope| {
            let draining = scope.spawn(|| system.shutdown(Shutdown::Drain));
            while late.send(()).is_ok() {
                thread::yield_now();
            }
            let report = system.shutdown(Shutdown::DrainWithin(Duration::ZERO));
            assert_eq!(draining.join().unwrap(), report);
            let names: Vec<_> = report.stuck.iter().map(|it| it.actor.map(|it| it.0)).collect();
            assert_eq!(names, [Some(actor.id())], "{system:?}: {report:?}");
        });
        drop(open);
    });
}

#[test]
fn a_drain_with_a_time_does_not_wait_longer_for_what_is_offloaded() {
    let system = system(Policy::affine(), 1);
    let (open, gate) = channel::<()>();
    let mut gate = Some(gate);
    let actor = system.spawn(does(move |(): (), ctx| {
        let gate = gate.take().unwrap();
        ctx.offload(move || _ = gate.recv(), |()| ());
    }));
    actor.send(()).unwrap();
    system.wait_idle(Duration::MAX).unwrap();
    let report = system.shutdown(Shutdown::DrainWithin(Duration::from_millis(1)));
    assert_eq!(report.unfinished.map(|it| it.offloaded), Some(1));
    assert!(report.stuck.is_empty());
    drop(open);
}

#[test]
fn a_closure_that_was_offloaded_does_not_wait_for_itself() {
    let (tell, told) = channel();
    let system = Arc::new(system(Policy::affine(), 1));
    let inside = system.clone();
    let mut once = Some((inside, tell));
    let actor = system.spawn(does(move |(): (), ctx| {
        if let Some((inside, tell)) = once.take() {
            let end = move || {
                // The turn that asked for this may be still under way.
                while inside.stats().total().handled == 0 {
                    thread::yield_now();
                }
                tell.send(inside.shutdown(Shutdown::Drain).handled).unwrap();
            };
            ctx.offload(end, |()| ());
        }
    }));
    actor.send(()).unwrap();
    assert_eq!(told.recv(), Ok(1));
    // It was asked for.
    assert_eq!(system.wait().unwrap().handled, 2);
}

#[test]
fn a_test_system_gives_up_a_drain_with_a_time_after_so_many_turns() {
    let mut sys = TestSystem::builder().run_limit(50).build();
    let restless = sys.spawn(does(|n: u64, ctx| ctx.address().tell(n + 1)));
    restless.tell(0);
    let report = sys.shutdown(Shutdown::DrainWithin(Duration::from_secs(1)));
    assert_eq!(report.dropped, 1);
    assert_eq!(report.unfinished.map(|it| it.messages), Some(1));
}

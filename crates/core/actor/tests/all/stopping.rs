//! Ending an actor: by itself, by others, and because nobody can reach it any more.

use crate::common::{does, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Address, Context, Policy, Shutdown, SpawnOptions, StopReason};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What happens with real batches, on real workers, under every policy.
fn everywhere(story: impl Fn(&actinium_actor::System)) {
    for policy in Policy::ALL {
        for workers in [1, 3] {
            story(&system(policy, workers));
        }
    }
}

#[test]
fn it_may_end_itself_now_or_when_its_mailbox_is_empty() {
    for seed in 0..10 {
        for (now, expected) in [(true, vec![1, 0]), (false, vec![1, 0, 2, 3])] {
            let mut sys = TestSystem::builder().seed(seed).batch(64).build();
            let probe = sys.probe();
            let to = probe.callback();
            let actor = sys.spawn(does(move |n: u32, ctx| {
                to(n);
                if n == 0 {
                    if now { ctx.stop() } else { ctx.address().stop() }
                }
            }));
            [1, 0, 2, 3].into_iter().for_each(|n| actor.tell(n));
            sys.run_until_idle();
            assert!(actor.is_closed());
            assert_eq!(probe.received(), expected);
            let audit = sys.audit();
            assert!(audit.is_balanced() && audit.queued == 0, "{audit:?}");
        }
    }
}

#[test]
fn it_may_end_itself_with_its_last_message() {
    everywhere(|system| {
        let actors: [fn(&mut Context<'_, crate::common::Does<()>>); 3] =
            [|ctx| ctx.stop(), |ctx| ctx.address().stop(), |ctx| ctx.address().kill()];
        for end in actors {
            let actor = system.spawn(does(move |(), ctx| end(ctx)));
            actor.send(()).unwrap();
            system.wait_idle(Duration::MAX).unwrap();
            assert!(actor.is_closed(), "{system:?}");
        }
        assert_eq!(system.stats().actors, 0);
    });
}

#[test]
fn it_may_end_at_once_when_it_starts() {
    struct Brief(mpsc::Sender<StopReason>, fn(&mut Context<'_, Self>));
    impl Actor for Brief {
        type Msg = ();
        fn started(&mut self, ctx: &mut Context<'_, Self>) {
            (self.1)(ctx);
        }
        fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
            unreachable!("it has ended before");
        }
        fn stopped(&mut self, _ctx: &mut Context<'_, Self>, reason: &StopReason) {
            self.0.send(reason.clone()).unwrap();
        }
    }
    everywhere(|system| {
        let ends: [fn(&mut Context<'_, Brief>); 3] =
            [|ctx| ctx.stop(), |ctx| ctx.address().kill(), |ctx| ctx.address().stop()];
        for end in ends {
            let (tell, heard) = mpsc::channel();
            let brief = system.spawn(Brief(tell, end));
            assert_eq!(heard.recv(), Ok(StopReason::Requested));
            system.wait_idle(Duration::MAX).unwrap();
            assert!(brief.is_closed());
        }
    });
}

#[test]
fn what_was_sent_before_a_stop_is_handled_before_it() {
    everywhere(|system| {
        let last = system.workers() - 1;
        for n in [1, 7, 20, 100] {
            let (tell, heard) = mpsc::channel();
            let make = move || {
                let tell = tell.clone();
                does(move |n: u32, _| tell.send(n).unwrap())
            };
            let target = system.spawn_with(SpawnOptions::new().on_worker(last), make).unwrap();
            let sender = system.spawn(does(move |(), _| {
                (0..n).for_each(|n| target.send(n).unwrap());
                target.stop();
                // Gives the other time to see the request in the middle of this turn, if it can.
                for _ in 0..50_000 {
                    std::hint::spin_loop();
                }
            }));
            sender.send(()).unwrap();
            system.wait_idle(Duration::MAX).unwrap();
            drop(sender);
            assert_eq!(heard.iter().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>(), "{system:?}");
        }
    });
}

#[test]
fn nobody_reaches_it_any_more() {
    everywhere(|system| {
        let (tell, heard) = mpsc::channel();
        struct Last(mpsc::Sender<StopReason>);
        impl Actor for Last {
            type Msg = u32;
            fn handle(&mut self, _msg: u32, _ctx: &mut Context<'_, Self>) {}
            fn stopped(&mut self, _ctx: &mut Context<'_, Self>, reason: &StopReason) {
                self.0.send(reason.clone()).unwrap();
            }
        }
        let last = system.spawn(Last(tell));
        let weak = last.downgrade();
        (0..100).for_each(|n| last.send(n).unwrap());
        assert!(weak.upgrade().is_some());
        drop(last);
        assert_eq!(heard.recv(), Ok(StopReason::Orphaned));
        system.wait_idle(Duration::MAX).unwrap();
        assert!(weak.upgrade().is_none());
        assert_eq!(system.audit(Duration::MAX).unwrap().handled, 100);
        assert_eq!(system.stats().actors, 0);
    });
}

#[test]
fn what_was_refused_at_its_start_can_be_sent_to_as_often_as_one_likes() {
    everywhere(|system| {
        let (sender, refused) = mpsc::channel();
        let actor = system.spawn(does(move |(): (), _| {
            let refused: Address<_> = refused.recv().expect("the test sends it");
            // So many in a row go together.
            (0..100).for_each(|n: u32| refused.tell(n));
        }));
        actor.tell(());
        let handle = system.handle();
        let report = thread::scope(|scope| {
            let report = scope.spawn(|| system.shutdown(Shutdown::Drain));
            // From outside nothing is started while the system drains.
            let refused = loop {
                let newcomer = handle.spawn(does(|_: u32, _| ()));
                if newcomer.is_closed() {
                    break newcomer;
                }
                newcomer.stop();
                thread::yield_now();
            };
            sender.send(refused).expect("the actor waits");
            report.join().expect("it ends")
        });
        assert_eq!(report.dead, 100, "{report:?}");
    });
}

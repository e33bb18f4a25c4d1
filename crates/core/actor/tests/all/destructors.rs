//! Destructors of the user's that panic, and payloads of panics that do: counted, and nobody else
//! is harmed.

use crate::common::{does, quiet, system};
use actinium_actor::{
    Actor, Context, Mailbox, Policy, Shutdown, SpawnOptions, StopReason, Supervision, System,
};
use std::panic::panic_any;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// For longer than any test takes.
const LONG: Duration = Duration::from_secs(1 << 30);

fn everywhere(story: impl Fn(System)) {
    quiet();
    for policy in Policy::ALL {
        for workers in [1, 3] {
            story(system(policy, workers));
        }
    }
}

/// Panics when it is dropped, and the payload of that does so once more.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic_any(Splinter(3));
    }
}

/// A payload that panics when it is dropped, so many times.
struct Splinter(u32);

impl Drop for Splinter {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Splinter(self.0 - 1));
        }
    }
}

fn panicked(system: &System) -> u64 {
    system.stats().total().panicked
}

/// The system goes on.
fn works(system: &System) {
    let echo = system.spawn(does(|reply: actinium_actor::Reply<u32>, _| _ = reply.send(7)));
    assert_eq!(echo.ask(|reply| reply).wait(), Ok(7));
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
}

#[test]
fn a_payload_that_panics() {
    struct Fails(bool);
    impl Actor for Fails {
        type Msg = ();
        fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
            if self.0 {
                panic_any(Splinter(3));
            }
            ctx.stop();
        }
        fn stopped(&mut self, _: &mut Context<'_, Self>, _: &StopReason) {
            panic_any(Splinter(3));
        }
    }
    everywhere(|system| {
        for in_handler in [true, false] {
            system.spawn(Fails(in_handler)).tell(());
        }
        let fails = system.spawn_with(SpawnOptions::new(), || -> Fails { panic_any(Splinter(3)) });
        assert!(fails.is_err());
        let mut made = 0;
        let restarts = move || {
            made += 1;
            if made > 1 {
                panic_any(Splinter(3));
            }
            Fails(true)
        };
        let supervision = Supervision::restart().limit(3, LONG);
        let options = SpawnOptions::new().supervise(supervision);
        system.spawn_with(options, restarts).unwrap().tell(());
        system.wait_idle(Duration::MAX).unwrap();
        works(&system);
        assert_eq!(panicked(&system), 2 + 4, "{system:?}");
    });
}

#[test]
fn messages_that_nobody_handles() {
    everywhere(|system| {
        // In the mailbox of one that ends, as a whole and one by one.
        let stops = system.spawn(does(|msg: Option<Grenade>, ctx| {
            std::mem::forget(msg);
            ctx.stop();
        }));
        (0..10).for_each(|_| stops.tell(Some(Grenade)));
        system.wait_idle(Duration::MAX).unwrap();
        let audit = system.audit(Duration::MAX).unwrap();
        assert_eq!(panicked(&system), audit.dead, "{audit:?}");
        // To one that has ended: the sender is not harmed.
        let to = stops.clone();
        let sender = system.spawn(does(move |n: u32, _| {
            (0..n).for_each(|_| to.tell(Some(Grenade)));
        }));
        sender.tell(100);
        system.wait_idle(Duration::MAX).unwrap();
        stops.tell(Some(Grenade));
        assert!(!sender.is_closed());
        assert_eq!(panicked(&system), system.audit(Duration::MAX).unwrap().dead, "{system:?}");
        // Timers and bounded mailboxes, by a shutdown.
        let timed = system.spawn(does(|reply: Result<actinium_actor::Reply<()>, Grenade>, ctx| {
            ctx.after(LONG, Err(Grenade));
            let held = Grenade;
            ctx.every(LONG, move || {
                Err({
                    let _ = &held;
                    Grenade
                })
            });
            if let Ok(reply) = reply {
                let _ = reply.send(());
            }
        }));
        timed.ask(Ok).wait().unwrap();
        works(&system);
        let report = system.shutdown(Shutdown::Drop);
        assert_eq!(panicked(&system), report.dead + 2, "{system:?}");
    });
}

#[test]
fn messages_under_way_when_their_actor_ends() {
    everywhere(|system| {
        for _ in 0..20 {
            let stops = system.spawn(does(|msg: Grenade, ctx| {
                std::mem::forget(msg);
                ctx.stop();
            }));
            for _ in 0..3 {
                let to = stops.clone();
                let sender = system.spawn(does(move |n: u32, _| {
                    for _ in 0..n {
                        if let Err(error) = to.send(Grenade) {
                            std::mem::forget(error);
                        }
                    }
                }));
                sender.tell(100);
            }
        }
        system.wait_idle(Duration::MAX).unwrap();
        works(&system);
        assert_eq!(panicked(&system), system.audit(Duration::MAX).unwrap().dead, "{system:?}");
        assert_eq!(system.shutdown(Shutdown::Drop).escalated, None);
    });
}

#[test]
fn states_and_factories() {
    struct Holds(#[allow(dead_code, reason = "its destructor is what counts")] Grenade);
    impl Actor for Holds {
        type Msg = ();
        fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
            ctx.stop();
        }
    }
    everywhere(|system| {
        let make = || {
            let held = Grenade;
            move || {
                let _ = &held;
                Holds(Grenade)
            }
        };
        let options = || SpawnOptions::new().supervise(Supervision::restart());
        // One ends by itself, one with the system, one never begins, one has no factory.
        system.spawn_with(options(), make()).unwrap().tell(());
        system.spawn(Holds(Grenade)).tell(());
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(panicked(&system), 3, "{system:?}");
        let _named = system.spawn_with(options().name("taken"), make()).unwrap();
        assert!(system.spawn_with(options().name("taken"), make()).is_err());
        works(&system);
        assert_eq!(panicked(&system), 5, "{system:?}");
        let handle = system.handle();
        system.shutdown(Shutdown::Drop);
        assert_eq!(panicked(&system), 7, "{system:?}");
        // Too late to be born.
        drop(handle.spawn(Holds(Grenade)));
        assert_eq!(panicked(&system), 8, "{system:?}");
    });
}

#[test]
fn what_watchers_and_timers_hold() {
    everywhere(|system| {
        let other = system.spawn(does(|(), ctx| ctx.stop()));
        let to = other.clone();
        let watcher = system.spawn(does(move |n: u32, ctx| {
            let held = Grenade;
            let told = move |_| {
                std::mem::forget(held);
                0
            };
            match n {
                // It ends before it hears.
                1 => {
                    ctx.watch(&to, told);
                    ctx.stop();
                }
                2 => {
                    ctx.watch(&to, told);
                    ctx.unwatch(&to);
                    let held = Grenade;
                    let timer = ctx.every(LONG, move || {
                        let _ = &held;
                        0
                    });
                    ctx.cancel(timer);
                }
                _ => std::mem::forget(told),
            }
        }));
        watcher.tell(2);
        system.wait_idle(Duration::MAX).unwrap();
        assert_eq!(panicked(&system), 2, "{system:?}");
        watcher.tell(1);
        system.wait_idle(Duration::MAX).unwrap();
        other.tell(());
        system.wait_idle(Duration::MAX).unwrap();
        works(&system);
        assert_eq!(panicked(&system), 3, "{system:?}");
    });
}

#[test]
fn listeners_and_wakers() {
    everywhere(|system| {
        let held = Grenade;
        system.handle().on_dead_letter(move |_| {
            let _ = &held;
            panic_any(Splinter(3));
        });
        let gone = system.spawn(does(|(), ctx| ctx.stop()));
        gone.tell(());
        system.wait_idle(Duration::MAX).unwrap();
        gone.tell(());
        works(&system);
        assert_eq!(panicked(&system), 1, "{system:?}");
        // The listener dies with the last handle, and harms nobody.
        drop(gone);
        drop(system);
    });
}

#[test]
fn closures_that_never_run_and_those_that_do() {
    everywhere(|system| {
        let (go, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let (began, begun) = mpsc::channel();
        let actor = system.spawn(does(move |n: u32, ctx| {
            if n > 0 {
                return;
            }
            let (first, second) = (Grenade, Grenade);
            let never = async move {
                let _first = first;
                std::future::pending::<()>().await;
            };
            ctx.pipe(never, move |()| {
                let _ = &second;
                1
            });
            let (gate, began) = (gate.clone(), began.clone());
            ctx.offload(
                move || {
                    began.send(()).unwrap();
                    let _ = gate.lock().unwrap().recv();
                },
                |()| 2,
            );
        }));
        actor.tell(0);
        begun.recv().unwrap();
        works(&system);
        drop(go);
        system.shutdown(Shutdown::Drop);
        assert_eq!(panicked(&system), 2, "{system:?}");
    });
}

#[test]
fn a_bounded_mailbox_of_those() {
    everywhere(|system| {
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(4));
        let make = || {
            does(|msg: Grenade, ctx| {
                std::mem::forget(msg);
                ctx.stop();
            })
        };
        let bounded = system.spawn_with(options, make).unwrap();
        let to = bounded.clone();
        let fills = system.spawn(does(move |n: u32, _| (0..n).for_each(|_| to.tell(Grenade))));
        fills.tell(10);
        system.wait_idle(Duration::MAX).unwrap();
        works(&system);
        assert_eq!(panicked(&system), system.audit(Duration::MAX).unwrap().dead, "{system:?}");
        assert!(panicked(&system) > 0);
    });
}

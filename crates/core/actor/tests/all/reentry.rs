//! What callbacks cause comes after them, not inside them.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, Address, AskError, Context, Mailbox, Policy, SendAsync, Shutdown, SpawnOptions,
    StopReason, System,
};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

pub(crate) fn everywhere(story: impl Fn(System)) {
    quiet();
    for policy in Policy::ALL {
        for workers in [1, 3] {
            story(system(policy, workers));
        }
    }
}

/// An actor that has ended.
fn ended(system: &System) -> Address<impl Actor<Msg = u32>> {
    let actor = system.spawn(does(|_: u32, ctx| ctx.stop()));
    actor.tell(0);
    system.wait_idle(Duration::MAX).unwrap();
    assert!(actor.is_closed());
    actor
}

thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });

/// Calls `f`, which must not be called inside of itself.
pub(crate) fn once<R>(f: impl FnOnce() -> R) -> R {
    DEPTH.with(|depth| {
        assert_eq!(depth.replace(1), 0, "a call inside a call");
        let result = f();
        depth.set(0);
        result
    })
}

#[test]
fn a_listener_that_tells_who_has_ended_comes_to_an_end() {
    everywhere(|system| {
        let logger = ended(&system);
        let heard = Arc::new(AtomicU64::new(0));
        let (hears, to) = (heard.clone(), logger.clone());
        system.handle().on_dead_letter(move |_| {
            once(|| {
                hears.fetch_add(1, Ordering::SeqCst);
                to.tell(1);
            });
        });
        // From outside, from an actor, and when mailboxes are cleared.
        logger.tell(2);
        assert!((2..100).contains(&heard.load(Ordering::SeqCst)));
        let to = logger.clone();
        let teller = system.spawn(does(move |n: u32, _| to.tell(n)));
        teller.tell(3);
        system.wait_idle(Duration::MAX).unwrap();
        teller.tell(4);
        let before = heard.load(Ordering::SeqCst);
        let full = system.spawn(does(|_: u32, ctx| ctx.stop()));
        (0..10).for_each(|n| full.tell(n));
        system.shutdown(Shutdown::Drain);
        assert!(heard.load(Ordering::SeqCst) > before, "{system:?}");
        // Each is counted, whether a listener was called for it or not.
        let audit = system.audit(Duration::MAX).unwrap();
        assert!(audit.is_balanced() && audit.dead > heard.load(Ordering::SeqCst), "{audit:?}");
        assert_eq!(system.stats().total().panicked, 0);
    });
}

#[test]
fn hooks_and_watchers_only_queue_what_they_cause() {
    /// Ends, and in its end spawns, watches, tells and ends others.
    struct Busy {
        next: Option<Address<Busy>>,
        log: mpsc::Sender<(u32, StopReason)>,
        n: u32,
    }
    impl Actor for Busy {
        type Msg = ();
        fn started(&mut self, ctx: &mut Context<'_, Self>) {
            let Some(next) = &self.next else { return };
            ctx.link(next);
            ctx.watch(next, |_| ());
            // Who has ended is told of at once, but as a message.
            let gone = ctx.spawn_detached(does(|(), ctx| ctx.stop()));
            gone.stop();
            ctx.watch(&gone, |_| ());
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
        fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
            once(|| {
                self.log.send((self.n, reason.clone())).unwrap();
                if let Some(next) = &self.next {
                    next.kill();
                    next.tell(());
                    ctx.unlink(next);
                }
                ctx.address().kill();
                ctx.address().tell(());
                drop(ctx.spawn_detached(does(|(), _| {})));
            });
        }
    }
    everywhere(|system| {
        let (log, told) = mpsc::channel();
        let mut next = None;
        for n in 0..200 {
            next = Some(system.spawn(Busy { next, log: log.clone(), n }));
        }
        let first = next.unwrap();
        system.wait_idle(Duration::MAX).unwrap();
        first.kill();
        for n in (0..200).rev() {
            assert_eq!(told.recv().unwrap(), (n, StopReason::Requested), "{system:?}");
        }
        system.shutdown(Shutdown::Drain);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        assert_eq!(system.stats().total().panicked, 0);
    });
}

/// A waker that does something.
struct Does<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Does<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Arc::new(Does(f)).into()
}

#[test]
fn a_waker_may_send_ask_and_wait_in_vain() {
    type Question = actinium_actor::Reply<u32>;
    everywhere(|system| {
        let echo = system.spawn(does(|reply: Question, _| _ = reply.send(7)));
        let mut answer = pin!(echo.ask(|reply| reply));
        let (log, told) = mpsc::channel();
        let asks = echo.clone();
        let again = waker(move || {
            // On the worker that answers: it must not wait there.
            let answer = asks.ask(|reply| reply);
            let _ = log.send(answer.wait());
        });
        let mut cx = std::task::Context::from_waker(&again);
        loop {
            match answer.as_mut().poll(&mut cx) {
                Poll::Ready(answer) => break assert_eq!(answer, Ok(7)),
                Poll::Pending => assert_eq!(told.recv(), Ok(Err(AskError::WouldBlock))),
            }
        }
        system.wait_idle(Duration::MAX).unwrap();
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

/// Fills the mailbox of one that is in a handler for long; returns the send that waits.
fn until_it_waits<'a, A: Actor<Msg = u32>>(
    slow: &'a Address<A>,
    cx: &mut std::task::Context<'_>,
) -> SendAsync<'a, A> {
    loop {
        let mut send = slow.send_async(3);
        if pin!(&mut send).poll(cx).is_pending() {
            return send;
        }
    }
}

#[test]
fn a_waker_that_waits_for_room_and_sends_is_not_called_inside_of_itself() {
    everywhere(|system| {
        let (go, gate) = mpsc::channel::<()>();
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(1));
        let gate = Arc::new(Mutex::new(gate));
        let slow = move || {
            let gate = gate.clone();
            does(move |_: u32, _| _ = gate.lock().unwrap().recv())
        };
        let slow = system.spawn_with(options, slow).unwrap();
        let (woken, wakes) = mpsc::channel();
        let to = slow.clone();
        let sends = waker(move || {
            once(|| {
                let _ = to.try_send(2);
                woken.send(()).unwrap();
            });
        });
        let mut cx = std::task::Context::from_waker(&sends);
        let _waits = until_it_waits(&slow, &mut cx);
        drop(go);
        wakes.recv().unwrap();
        system.shutdown(Shutdown::Drop);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn a_waker_that_panics_at_a_deadline_or_for_room_takes_no_worker_down() {
    everywhere(|system| {
        // A deadline: nobody answers.
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeps = kept.clone();
        let mute = system.spawn(does(move |reply: actinium_actor::Reply<u32>, _| {
            keeps.lock().unwrap().push(reply);
        }));
        let (woken, wakes) = mpsc::channel();
        let rings = woken.clone();
        let bad = waker(move || {
            rings.send(()).unwrap();
            panic!("{ON_PURPOSE}");
        });
        let mut cx = std::task::Context::from_waker(&bad);
        let limit = std::time::Duration::from_nanos(1);
        let mut answer = pin!(mute.ask_timeout(limit, |reply| reply));
        if answer.as_mut().poll(&mut cx).is_pending() {
            wakes.recv().unwrap();
        }
        // Room.
        let (go, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let slow = move || {
            let gate = gate.clone();
            does(move |_: u32, _| _ = gate.lock().unwrap().recv())
        };
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(1));
        let slow = system.spawn_with(options, slow).unwrap();
        let _waits = loop {
            let waits = until_it_waits(&slow, &mut cx);
            // There was room by then: it was told so at once, here, and harms nobody here either.
            if wakes.try_recv().is_err() {
                break waits;
            }
        };
        drop(go);
        wakes.recv().unwrap();
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!(report.dead, 0, "{system:?}");
        assert!(system.stats().total().panicked >= 1);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn a_listener_that_holds_an_address_does_not_keep_its_system() {
    let held = Arc::new(());
    everywhere(|system| {
        let (to, holds) = (ended(&system), held.clone());
        system.handle().on_dead_letter(move |_| _ = (&to, &holds));
    });
    let sys = TestSystem::seeded(1);
    let (to, holds) = (sys.spawn(does(|_: u32, ctx| ctx.stop())), held.clone());
    sys.handle().on_dead_letter(move |_| _ = (&to, &holds));
    drop(sys);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_listener_may_run_a_system_of_its_own() {
    quiet();
    let mut sys = TestSystem::seeded(1);
    let gone = sys.spawn(does(|_: u32, ctx| ctx.stop()));
    gone.tell(1);
    sys.run_until_idle();
    let (log, told) = mpsc::channel();
    sys.handle().on_dead_letter(move |_| {
        let mut inner = TestSystem::seeded(2);
        let probe = inner.probe();
        probe.address().tell(5);
        probe.expect_eq(5);
        inner.shutdown(Shutdown::Drop);
        log.send(()).unwrap();
    });
    gone.tell(2);
    assert!(told.try_recv().is_ok());
}

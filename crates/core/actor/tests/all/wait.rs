//! Waiting for room in a full mailbox.

use crate::common::{Does, does, system};
use actinium_actor::testing::TestSystem;
use actinium_actor::{Address, Mailbox, Policy, SendError, Shutdown, SpawnOptions, System};
use futures_lite::future::block_on;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

fn everywhere(story: impl Fn(System)) {
    for policy in Policy::ALL {
        for workers in 1..=4 {
            story(system(policy, workers));
        }
    }
}

fn narrow(capacity: usize) -> SpawnOptions {
    SpawnOptions::new().mailbox(Mailbox::bounded(capacity))
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn threads_and_tasks_send_all_and_each_in_order() {
    everywhere(|system| {
        let mut last = [0; 4];
        let sink = system
            .spawn_with(narrow(2), move || {
                does(move |(sender, n): (usize, u64), _| {
                    assert_eq!(n, last[sender] + 1);
                    last[sender] = n;
                })
            })
            .unwrap();
        thread::scope(|scope| {
            for sender in 0..4 {
                let sink = &sink;
                scope.spawn(move || {
                    for n in 1..=500 {
                        if sender % 2 == 0 {
                            sink.send_blocking((sender, n)).unwrap();
                        } else {
                            block_on(sink.send_async((sender, n))).unwrap();
                        }
                    }
                });
            }
        });
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (2000, 0), "{system:?}");
        assert_eq!(system.stats().total().panicked, 0);
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn a_task_is_woken_when_there_is_room_and_not_before() {
    let mut sys = TestSystem::seeded(1);
    let probe = sys.probe();
    let to = probe.callback();
    let sink = sys.spawn_with(narrow(2), move || {
        does({
            let to = to.clone();
            move |n: u32, _| to(n)
        })
    });
    let sink = sink.unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    assert_eq!(poll(&mut sink.send_async(1), &waker), Poll::Ready(Ok(())));
    assert_eq!(poll(&mut sink.send_async(2), &waker), Poll::Ready(Ok(())));
    let mut third = sink.send_async(3);
    assert!(poll(&mut third, &waker).is_pending());
    assert!(poll(&mut third, &waker).is_pending());
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    sys.run_until_idle();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert_eq!(poll(&mut third, &waker), Poll::Ready(Ok(())));
    sys.run_until_idle();
    assert_eq!(probe.received(), [1, 2, 3]);
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
    drop(waker);
    assert_eq!(Arc::strong_count(&woken), 1, "a waker was left behind");
}

#[test]
fn one_that_gave_up_does_not_hold_up_another() {
    let mut sys = TestSystem::seeded(2);
    let sink = sys.spawn_with(narrow(1), || does(|_: u32, _| {})).unwrap();
    sink.send(1).unwrap();
    let (gone, patient) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    // Polled once, and given up.
    assert!(poll(&mut sink.send_async(2), &gone.into()).is_pending());
    let mut waits = sink.send_async(3);
    assert!(poll(&mut waits, &patient.clone().into()).is_pending());
    sys.run_until_idle();
    assert_eq!(patient.0.load(Ordering::SeqCst), 1);
    assert_eq!(poll(&mut waits, &patient.into()), Poll::Ready(Ok(())));
    assert_eq!(sys.audit().queued, 1);
}

#[test]
fn a_task_hears_that_the_actor_ends_meanwhile() {
    type End = fn(&Address<Does<u32>>);
    for end in [Address::kill as End, Address::stop] {
        let mut sys = TestSystem::seeded(3);
        let sink = sys.spawn_with(narrow(1), || does(|_: u32, _| {})).unwrap();
        sink.send(1).unwrap();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut waits = sink.send_async(2);
        assert!(poll(&mut waits, &waker).is_pending());
        end(&sink);
        sys.run_until_idle();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut waits, &waker), Poll::Ready(Err(SendError::Closed(2))));
        assert_eq!(poll(&mut sink.send_async(3), &waker), Poll::Ready(Err(SendError::Closed(3))));
        assert_eq!(sink.send_blocking(4), Err(SendError::Closed(4)));
        assert!(sys.audit().is_balanced());
    }
}

/// A sink of capacity 1 that is held in its first message until `go` is gone, and full. A word
/// through `go` ends it.
fn held(system: &System) -> (Address<Does<u32>>, mpsc::Sender<()>) {
    let (go, gate) = mpsc::channel::<()>();
    let (began, begun) = mpsc::channel();
    let gate = Arc::new(Mutex::new(gate));
    let sink = system.spawn_with(narrow(1), move || {
        let (gate, began) = (gate.clone(), began.clone());
        does(move |n: u32, ctx| {
            if n == 0 {
                began.send(()).unwrap();
                if gate.lock().unwrap().recv().is_ok() {
                    ctx.stop();
                }
            }
        })
    });
    let sink = sink.unwrap();
    sink.send(0).unwrap();
    begun.recv().unwrap();
    sink.send_blocking(1).unwrap();
    assert_eq!(sink.try_send(2), Err(SendError::Full(2)));
    (sink, go)
}

#[test]
fn a_thread_waits_for_room() {
    everywhere(|system| {
        let (sink, go) = held(&system);
        let waits = thread::spawn(move || sink.send_blocking(2));
        drop(go);
        assert_eq!(waits.join().unwrap(), Ok(()));
        assert_eq!(system.shutdown(Shutdown::Drain).handled, 3);
    });
}

#[test]
fn a_thread_hears_that_the_actor_ends_meanwhile() {
    everywhere(|system| {
        let (sink, go) = held(&system);
        let (there, awaiting) = (sink.clone(), sink.clone());
        let waits = thread::spawn(move || there.send_blocking(2));
        let awaits = thread::spawn(move || block_on(awaiting.send_async(3)));
        go.send(()).unwrap();
        assert_eq!(waits.join().unwrap(), Err(SendError::Closed(2)));
        assert_eq!(awaits.join().unwrap(), Err(SendError::Closed(3)));
        let report = system.shutdown(Shutdown::Drain);
        assert_eq!((report.handled, report.dead), (1, 1), "{system:?}");
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}

#[test]
fn nobody_waits_beyond_the_end_of_the_system() {
    for how in [Shutdown::Drain, Shutdown::Drop] {
        everywhere(|system| {
            let (sink, go) = held(&system);
            let waits: Vec<_> = (2..6)
                .map(|n| {
                    let sink = sink.clone();
                    thread::spawn(move || sink.send_blocking(n).is_ok())
                })
                .collect();
            drop(go);
            let report = system.shutdown(how);
            let taken = waits.into_iter().map(|it| it.join().unwrap());
            let taken = taken.filter(|&taken| taken).count() as u64;
            assert_eq!(report.handled + report.dropped, 2 + taken, "{system:?}");
            assert!(system.audit(Duration::MAX).unwrap().is_balanced());
        });
    }
}

#[test]
fn a_worker_is_not_blocked() {
    let mut sys = TestSystem::seeded(4);
    let probe = sys.probe();
    let sink = sys.spawn_with(narrow(1), || does(|_: u32, _| {})).unwrap();
    let (to, there) = (probe.callback(), sink.clone());
    let sender = sys.spawn(does(move |n: u32, _| {
        while there.try_send(n).is_ok() {}
        to(there.send_blocking(n + 1));
    }));
    sender.tell(7);
    probe.expect_eq(Err(SendError::Full(8)));
    sys.run_until_idle();
    sink.stop();
    sys.run_until_idle();
    sender.tell(9);
    probe.expect_eq(Err(SendError::Closed(10)));
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_piped_future_waits_for_room() {
    everywhere(|system| {
        let (done, told) = mpsc::channel();
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        let sink = system.spawn_with(narrow(2), move || {
            let counts = counts.clone();
            does(move |n: usize, _| {
                counts.fetch_add(n, Ordering::SeqCst);
            })
        });
        let sink = sink.unwrap();
        let sender = system.spawn(does(move |finished: bool, ctx| {
            if finished {
                return done.send(()).unwrap();
            }
            let sink = sink.clone();
            let all = async move {
                for _ in 0..500 {
                    sink.send_async(1).await.unwrap();
                }
            };
            ctx.pipe(all, |()| true);
        }));
        (0..2).for_each(|_| sender.send(false).unwrap());
        (0..2).for_each(|_| told.recv().unwrap());
        assert_eq!(system.shutdown(Shutdown::Drain).dead, 0, "{system:?}");
        assert_eq!(count.load(Ordering::SeqCst), 1000);
    });
}

#[test]
fn who_is_woken_may_send_at_once_to_the_mailbox_that_has_room() {
    /// Sends when it is woken, on the thread that wakes it.
    struct Sends(Address<Does<Option<mpsc::Receiver<()>>>>);
    impl Wake for Sends {
        fn wake(self: Arc<Self>) {
            self.0.try_send(None).expect("there is room now");
        }
    }
    everywhere(|system| {
        let sink = system
            .spawn_with(narrow(1), || {
                does(|gate: Option<mpsc::Receiver<()>>, _| {
                    gate.iter().for_each(|gate| _ = gate.recv())
                })
            })
            .unwrap();
        for round in 1..=20 {
            let (open, gate) = mpsc::channel();
            sink.try_send(Some(gate)).unwrap();
            // Its one place is free when the worker has begun with the first.
            while sink.try_send(None).is_err() {
                thread::yield_now();
            }
            let mut waiting = sink.send_async(None);
            let waker = Waker::from(Arc::new(Sends(sink.clone())));
            assert!(poll(&mut waiting, &waker).is_pending());
            open.send(()).unwrap();
            system.wait_idle(Duration::MAX).unwrap();
            assert_eq!(system.stats().total().handled, 3 * round, "{system:?}");
        }
    });
}

//! Actors that keep themselves going: without an address, and by what is done when their turns have
//! ended.

use actinium_actor::{Actor, Address, Bind, Context, Policy, Shutdown, SpawnOptions, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TURNS: u64 = if cfg!(miri) { 100 } else { 3_000 };
const ROUNDS: usize = if cfg!(miri) { 1 } else { 20 };

fn policies() -> [Policy; 4] {
    [Policy::Pinned, Policy::Pool, Policy::Stealing, Policy::default()]
}

struct Maker {
    made: u64,
    next: Address<Sink>,
    handled: Arc<AtomicU64>,
}

impl Actor for Maker {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        self.made += 1;
        self.next.tell(self.made);
        // Relaxed: read when the workers have ended.
        self.handled.fetch_add(1, Ordering::Relaxed);
        if self.made < TURNS {
            ctx.address().tell(());
        }
    }
}

struct Sink(u64);

impl Actor for Sink {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        self.0 += n;
    }
}

#[test]
fn an_actor_without_addresses_goes_on_as_long_as_it_tells_itself() {
    for policy in policies() {
        for _ in 0..ROUNDS {
            let system =
                System::builder().workers(2).bind(Bind::None).policy(policy).build().expect("two");
            let at = |worker| SpawnOptions::new().on_worker(worker);
            let next = system.spawn_with(at(1), || Sink(0)).expect("worker 1");
            let handled = Arc::new(AtomicU64::new(0));
            let counted = handled.clone();
            let maker = move || Maker { made: 0, next: next.clone(), handled: counted.clone() };
            let maker = system.spawn_with(at(0), maker).expect("worker 0");
            maker.send(()).expect("it lives");
            drop(maker);
            system.wait_idle(Duration::MAX).unwrap();
            // Relaxed: it is idle.
            assert_eq!(
                handled.load(Ordering::Relaxed),
                TURNS,
                "{policy:?}: {:?}",
                system.audit(Duration::MAX).unwrap()
            );
            system.shutdown(Shutdown::Drain);
        }
    }
}

static AFTERWARDS: Mutex<Option<Address<Echo>>> = Mutex::new(None);

/// Has something sent to it when its turn has ended, but still counts as one.
struct Echo(Arc<AtomicU64>);

impl Actor for Echo {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        // Relaxed: read when the workers have ended.
        if self.0.fetch_add(1, Ordering::Relaxed) + 1 < TURNS {
            actinium_scheduler::current(|worker| {
                worker.expect("a turn").at_turn_end(|| {
                    let afterwards = AFTERWARDS.lock().expect("nobody panics");
                    afterwards.as_ref().expect("it is there").tell(());
                });
            });
        }
    }
}

#[test]
fn what_is_sent_to_it_between_its_turn_and_what_follows_is_handled() {
    for policy in policies() {
        let system =
            System::builder().workers(2).bind(Bind::None).policy(policy).build().expect("two");
        let handled = Arc::new(AtomicU64::new(0));
        let echo = system.spawn(Echo(handled.clone()));
        *AFTERWARDS.lock().expect("nobody panics") = Some(echo.clone());
        echo.send(()).expect("it lives");
        system.wait_idle(Duration::MAX).unwrap();
        // Relaxed: it is idle.
        assert_eq!(
            handled.load(Ordering::Relaxed),
            TURNS,
            "{policy:?}: {:?}",
            system.audit(Duration::MAX).unwrap()
        );
        *AFTERWARDS.lock().expect("nobody panics") = None;
        system.shutdown(Shutdown::Drain);
    }
}

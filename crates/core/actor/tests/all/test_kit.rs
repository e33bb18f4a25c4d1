//! A test system is driven by its test, and by nobody who runs in it.

use crate::common::does;
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{Actor, Context, Shutdown, StopReason};
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static SYSTEM: RefCell<Option<TestSystem>> = const { RefCell::new(None) };
    static PROBE: RefCell<Option<Probe<u32>>> = const { RefCell::new(None) };
}

/// Ways in which an actor comes at the system that runs it.
const WAYS: [fn(&mut TestSystem); 6] = [
    |sys| _ = sys.step(),
    |sys| _ = sys.run_until_idle(),
    |sys| _ = sys.try_run_until_idle(),
    |sys| _ = sys.advance(Duration::from_secs(1)),
    |sys| _ = sys.shutdown(Shutdown::Drain),
    |sys| _ = sys.shutdown(Shutdown::Drop),
];

/// Comes back to its system, and then looks at its own memory.
struct Reaches {
    how: Option<fn(&mut TestSystem)>,
    at_its_end: bool,
    own: Vec<u32>,
}

impl Reaches {
    fn reach(&mut self) {
        match self.how {
            Some(how) => SYSTEM.with_borrow_mut(|sys| how(sys.as_mut().unwrap())),
            None => drop(SYSTEM.take()),
        }
    }
}

impl Actor for Reaches {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        if self.at_its_end {
            return ctx.stop();
        }
        let before = self.own.clone();
        let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.reach()));
        let said = *reached.expect_err("it is refused").downcast::<String>().unwrap();
        assert!(said.contains("must not step it, shut it down or drop it"), "{said}");
        assert_eq!(self.own, before, "nobody has freed it");
    }

    fn stopped(&mut self, _: &mut Context<'_, Self>, _: &StopReason) {
        if self.at_its_end {
            self.reach();
        }
    }
}

#[test]
fn a_handler_that_comes_back_to_its_system_is_refused() {
    for at_its_end in [false, true] {
        for how in WAYS.into_iter().map(Some).chain([None]) {
            let sys = TestSystem::seeded(3);
            let probe = sys.probe::<u32>();
            let reaches = sys.spawn(Reaches { how, at_its_end, own: (0..1000).collect() });
            let later = sys.spawn(does({
                let told = probe.callback();
                move |n: u32, _| told(n)
            }));
            let stats = sys.handle();
            SYSTEM.set(Some(sys));
            reaches.tell(());
            later.tell(1);
            let panicked = u64::from(at_its_end);
            if how.is_some() {
                probe.expect_eq(1);
                probe.expect_none();
                assert!(SYSTEM.take().unwrap().audit().is_balanced());
            } else {
                // It was dropped: it ends with that turn, and not in it.
                let _ = probe.received();
                while stats.stats().actors > 0 {
                    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        probe.expect_next()
                    }));
                    assert!(failed.is_ok() || stats.stats().actors == 0);
                }
            }
            assert_eq!(stats.stats().total().panicked, panicked);
        }
    }
}

#[test]
fn a_handler_that_expects_something_of_a_probe_of_its_own_system_is_refused() {
    let mut sys = TestSystem::seeded(4);
    PROBE.set(Some(sys.probe()));
    let actor = sys.spawn(does(|(), _| {
        PROBE.with_borrow(|probe| _ = probe.as_ref().unwrap().expect_next());
    }));
    actor.tell(());
    sys.run_until_idle();
    assert!(actor.is_closed());
    assert_eq!(sys.stats().total().panicked, 1);
    PROBE.take();
}

//! Failures that are values: who returns an error has failed, and everybody learns why.

use crate::common::{ON_PURPOSE, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Context, Down, Failure, Recipient, Restarted, SpawnError, SpawnOptions, StopReason,
    Supervision, TryActor, logging,
};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, PartialEq, Eq)]
struct Unsaved(u32);

impl fmt::Display for Unsaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not saved", self.0)
    }
}

impl std::error::Error for Unsaved {}

/// Fails for 0; logs the rest. `starts` counts down the starts that fail.
struct Saver {
    log: Recipient<u32>,
    starts: Arc<AtomicU32>,
}

impl TryActor for Saver {
    type Msg = u32;
    type Error = Unsaved;

    fn try_started(&mut self, _: &mut Context<'_, Self>) -> Result<(), Unsaved> {
        // Relaxed: one thread.
        let failing = |left: u32| left.checked_sub(1);
        match self.starts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, failing) {
            Ok(left) => Err(Unsaved(1000 + left)),
            Err(_) => Ok(()),
        }
    }

    fn try_handle(&mut self, msg: u32, ctx: &mut Context<'_, Self>) -> Result<(), Unsaved> {
        if msg == 0 {
            // The failure counts, and not that.
            ctx.stop();
            return Err(Unsaved(msg));
        }
        self.log.tell(msg);
        Ok(())
    }
}

fn saver(probe: &Probe<u32>, starts: u32) -> impl FnMut() -> Saver + Send + use<> {
    let (log, starts) = (probe.recipient(), Arc::new(AtomicU32::new(starts)));
    move || Saver { log: log.clone(), starts: starts.clone() }
}

/// What a [`Watcher`] tells.
#[derive(Debug)]
enum News {
    Down(Down),
    Restarted(Restarted),
}

/// The parent of a [`Saver`].
struct Watcher {
    make: Option<Box<dyn FnMut() -> Saver + Send>>,
    supervision: Supervision,
    news: Recipient<News>,
    named: &'static str,
}

impl Actor for Watcher {
    type Msg = News;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let options = SpawnOptions::new().supervise(self.supervision).name(self.named);
        let child = ctx.spawn_with(options, self.make.take().unwrap()).unwrap();
        ctx.watch(&child, News::Down);
        ctx.watch_restarts(&child, News::Restarted);
    }

    fn handle(&mut self, news: News, _: &mut Context<'_, Self>) {
        self.news.tell(news);
    }
}

/// A system with a saver under a watcher, the saver's log, and the watcher's news.
fn watched(supervision: Supervision, starts: u32) -> (TestSystem, Probe<u32>, Probe<News>) {
    quiet();
    let mut sys = TestSystem::seeded(3);
    let (log, news) = (sys.probe(), sys.probe());
    let make = Some(Box::new(saver(&log, starts)) as _);
    let watcher = Watcher { make, supervision, news: news.recipient(), named: "saver" };
    sys.spawn_with(SpawnOptions::new().name("watcher"), watcher).unwrap();
    sys.run_until_idle();
    (sys, log, news)
}

#[test]
fn an_error_is_a_failure_with_a_cause_and_watchers_learn_of_each_restart() {
    let (mut sys, log, news) = watched(Supervision::restart().limit(2, Duration::MAX), 0);
    let saver = sys.lookup::<Saver>("saver").unwrap();
    for msg in [1, 0, 2, 0, 3, 0, 4] {
        saver.tell(msg);
    }
    drop(saver);
    sys.run_until_idle();
    assert_eq!(log.received(), [1, 2, 3]);
    let news = news.received();
    let cause = |failure: &Failure| {
        assert!(!failure.is_panic() && failure.message() == "0 is not saved");
        failure.downcast_ref() == Some(&Unsaved(0))
    };
    assert!(matches!(&news[0], News::Restarted(it) if cause(&it.failure)), "{news:?}");
    assert!(matches!(&news[1], News::Restarted(it) if cause(&it.failure)), "{news:?}");
    let News::Down(down) = &news[2] else { panic!("{news:?}") };
    assert!(matches!(&down.reason, StopReason::Failed(it) if cause(it)), "{news:?}");
    assert_eq!(sys.dead_letters().len(), 1, "the 4 is dead");
    let totals = sys.stats().total();
    assert_eq!((totals.restarted, totals.panicked), (2, 0));
}

#[test]
fn a_start_that_fails_is_a_failure_and_waits_as_one() {
    let backoff = Supervision::restart().backoff(Duration::from_secs(1), Duration::from_secs(8));
    let (mut sys, log, news) = watched(backoff, 2);
    sys.lookup::<Saver>("saver").unwrap().tell(7);
    sys.advance(Duration::from_millis(2_999));
    assert!(log.received().is_empty(), "it waits for 1 s, and then for 2 s");
    sys.advance(Duration::from_millis(1));
    assert_eq!(log.received(), [7]);
    let news = news.received();
    let [News::Restarted(first), News::Restarted(second)] = &*news else { panic!("{news:?}") };
    assert_eq!((first.failure.message(), second.failure.message()), {
        ("1002 is not saved", "1001 is not saved")
    });
}

#[test]
fn an_escalated_failure_carries_its_cause_to_the_top() {
    let (mut sys, _, _) = watched(Supervision::escalate(), 0);
    sys.lookup::<Saver>("saver").unwrap().tell(0);
    sys.run_until_idle();
    // The watcher is stopped by its child's failure; it has a parent of its own: nobody.
    assert!(sys.names().is_empty());
    assert!(!sys.stop_requested(), "the watcher's supervision says stop");
    let top = saver(&sys.probe(), 0);
    let escalates = SpawnOptions::new().supervise(Supervision::escalate());
    sys.spawn_with(escalates, top).unwrap().tell(0);
    sys.run_until_idle();
    assert!(sys.stop_requested());
    let report = sys.shutdown(actinium_actor::Shutdown::Drain);
    assert!(report.escalated.unwrap().downcast_ref() == Some(&Unsaved(0)));
}

#[test]
fn unless_it_would_come_again() {
    let is_final = |failure: &Failure| failure.downcast_ref() == Some(&Unsaved(0));
    let (mut sys, log, news) = watched(Supervision::restart().unless(is_final), 1);
    let saver = sys.lookup::<Saver>("saver").unwrap();
    saver.tell(5);
    saver.tell(0);
    sys.run_until_idle();
    assert_eq!(log.received(), [5]);
    let news = news.received();
    assert!(matches!(&*news, [News::Restarted(_), News::Down(_)]), "{news:?}");
}

/// Is what it is told.
enum Fails {
    InTimer,
    Twice,
    AndPanics,
}

impl Actor for Fails {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if let Fails::InTimer = self {
            let mut left = 2;
            ctx.try_every(Duration::from_secs(1), move || {
                left -= 1;
                if left > 0 { Ok(()) } else { Err("no more") }
            });
        }
    }

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        match self {
            Fails::InTimer => {}
            Fails::Twice => {
                ctx.fail("first");
                ctx.fail("second");
            }
            Fails::AndPanics => {
                ctx.fail("an error");
                panic!("{ON_PURPOSE}");
            }
        }
    }

    fn stopped(&mut self, ctx: &mut Context<'_, Self>, _: &StopReason) {
        ctx.fail("of what has ended nothing follows");
    }
}

#[test]
fn timers_fail_too_and_the_first_failure_counts() {
    quiet();
    for (fails, expected) in
        [(Fails::InTimer, "no more"), (Fails::Twice, "first"), (Fails::AndPanics, ON_PURPOSE)]
    {
        let mut sys = TestSystem::seeded(1);
        let news = sys.probe::<Down>();
        struct Watch(Recipient<Down>);
        impl Actor for Watch {
            type Msg = Result<actinium_actor::Address<Fails>, Down>;
            fn handle(&mut self, msg: Self::Msg, ctx: &mut Context<'_, Self>) {
                match msg {
                    Ok(address) => ctx.watch(&address, Err),
                    Err(down) => self.0.tell(down),
                }
            }
        }
        let watch = sys.spawn(Watch(news.recipient()));
        let fails = sys.spawn(fails);
        watch.tell(Ok(fails.clone()));
        sys.run_until_idle();
        fails.tell(());
        sys.advance(Duration::from_secs(2));
        let StopReason::Failed(failure) = news.expect_next().reason else { panic!() };
        assert_eq!(failure.message(), expected);
        news.expect_none();
    }
    // One that is stopped, and fails then, has not failed.
    let mut sys = TestSystem::seeded(1);
    sys.spawn(Fails::Twice).stop();
    sys.run_until_idle();
    assert_eq!(sys.stats().total().stopped, 1);
}

#[test]
fn a_factory_may_return_an_error() {
    quiet();
    let sys = TestSystem::seeded(1);
    let log: Recipient<u32> = sys.probe::<u32>().recipient();
    let make = move || match log.id() {
        _ if false => Ok(Saver { log: log.clone(), starts: Arc::default() }),
        _ => Err(Unsaved(9)),
    };
    let error = sys.spawn_with(SpawnOptions::new(), make).unwrap_err();
    let SpawnError::FactoryFailed(failure) = &error else { panic!("{error}") };
    assert!(failure.downcast_ref() == Some(&Unsaved(9)));
    assert_eq!(error.to_string(), "the actor's factory failed: 9 is not saved");
    assert_eq!(sys.stats().actors, 1, "the probe");
}

/// Spawns a child and one that is nobody's child, and says how each ends.
struct Parent(Recipient<(&'static str, bool)>);

struct Offspring(&'static str, Recipient<(&'static str, bool)>);

impl Actor for Offspring {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}

    fn stopped(&mut self, _: &mut Context<'_, Self>, reason: &StopReason) {
        self.1.tell((self.0, *reason == StopReason::Supervisor));
    }
}

impl Actor for Parent {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let child = ctx.spawn(Offspring("child", self.0.clone()));
        ctx.system().register("child", &child).unwrap();
        let detached = ctx.spawn_detached(Offspring("detached", self.0.clone()));
        ctx.system().register("detached", &detached).unwrap();
    }

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        ctx.fail("the children are to end");
    }
}

#[test]
fn what_is_spawned_ends_with_its_parent_and_what_is_detached_does_not() {
    let mut sys = TestSystem::seeded(1);
    let probe = sys.probe::<(&'static str, bool)>();
    let parent = sys.spawn(Parent(probe.recipient()));
    parent.tell(());
    sys.run_until_idle();
    assert_eq!(probe.received(), [("child", true)]);
    assert_eq!(sys.names(), ["detached"]);
    let detached = sys.lookup::<Offspring>("detached").unwrap();
    detached.stop();
    sys.run_until_idle();
    assert_eq!(probe.received(), [("detached", false)]);
}

/// Fails at each message.
struct Hopeless;

impl Actor for Hopeless {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        ctx.fail("as always");
    }
}

#[test]
fn who_fails_for_ever_is_logged_when_it_begins_and_when_its_restarts_are_used_up() {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let to = lines.clone();
    logging::set_hook(move |record| {
        let line = record.to_string();
        if line.contains("Hopeless") {
            return to.lock().unwrap().push(line);
        }
        // Of other tests.
        eprintln!("{line}");
    });
    let mut sys = TestSystem::seeded(1);
    let limited = Supervision::restart().limit(100, Duration::from_secs(3600));
    let options = SpawnOptions::new().supervise(limited);
    let actor = sys.spawn_with(options, || Hopeless).unwrap();
    (0..200).for_each(|_| actor.tell(()));
    sys.run_until_idle();
    logging::remove_hook();
    assert_eq!(sys.stats().total().restarted, 100);
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].ends_with("as always; it is restarted"), "{}", lines[0]);
    assert!(lines[1].ends_with("as always; it ends: its restarts are used up"), "{}", lines[1]);
}

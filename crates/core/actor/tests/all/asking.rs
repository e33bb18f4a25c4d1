//! Flat errors, deadlines, room, and cancellation of asks.

use crate::common::{Does, ON_PURPOSE, does, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, AskError, AskRecipient, Asking, Context, Mailbox, Reply, SpawnOptions,
    Supervision,
};
use futures_lite::future::{block_on, poll_once};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

type Keeper<R> = Address<Does<Option<Reply<R>>>>;

/// An actor that keeps replies, and sends those that it has kept to the probe when it is told to.
fn keeper<R: Send + 'static>(
    sys: &TestSystem,
    options: SpawnOptions,
) -> (Keeper<R>, Probe<Vec<Reply<R>>>) {
    let probe = sys.probe();
    let told = probe.callback();
    let keeper = move || {
        let (mut kept, told) = (Vec::new(), told.clone());
        does(move |msg, _| match msg {
            Some(reply) => kept.push(reply),
            None => told(std::mem::take(&mut kept)),
        })
    };
    (sys.spawn_with(options, keeper).unwrap(), probe)
}

/// The replies that were kept.
fn kept<R: Send + 'static>(
    sys: &mut TestSystem,
    keeper: &Keeper<R>,
    probe: &Probe<Vec<Reply<R>>>,
) -> Vec<Reply<R>> {
    keeper.tell(None);
    sys.run_until_idle();
    probe.received().pop().unwrap()
}

// ---- one result
// ----------------------------------------------------------------------------------------------------

struct Root;

impl Actor for Root {
    type Msg = (i64, Reply<Result<i64, String>>);
    fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
        let root = u64::try_from(n).map(|n| n.isqrt() as i64);
        let _ = reply.send(root.map_err(|_| format!("{n} has no root")));
    }
}

#[test]
fn an_answer_that_may_be_an_error_has_one_result() {
    let mut sys = TestSystem::seeded(1);
    let root = sys.spawn(Root);
    let ask = |n| root.try_ask(move |reply| (n, reply)).timeout(SECOND);
    let (good, bad, awaited) = (ask(9), ask(-9), ask(-1));
    let recipient: AskRecipient<i64, Result<i64, String>> = root.clone().into();
    let (given, limited) = (recipient.try_ask(16), recipient.try_ask(25).timeout(SECOND));
    sys.run_until_idle();
    assert_eq!(good.wait(), Ok(3));
    assert_eq!(bad.wait(), Err(AskError::Failed("-9 has no root".to_owned())));
    let error = block_on(awaited).unwrap_err();
    assert_eq!(error.to_string(), "-1 has no root");
    assert_eq!((given.wait(), limited.wait()), (Ok(4), Ok(5)));
    root.stop();
    sys.run_until_idle();
    assert_eq!(ask(1).wait(), Err(AskError::Closed(root.id())));
    assert!(sys.audit().is_balanced());
}

#[test]
fn an_actor_gets_one_result() {
    let sys = TestSystem::seeded(2);
    let (root, probe) = (sys.spawn(Root), sys.probe());
    let told = probe.callback();
    let asker =
        sys.spawn(does(move |msg: Result<i64, Result<i64, AskError<String>>>, ctx| match msg {
            Ok(n) => drop(ctx.try_ask(&root, |reply| (n, reply), Err)),
            Err(answer) => told(answer),
        }));
    asker.tell(Ok(49));
    probe.expect_eq(Ok(7));
    asker.tell(Ok(-49));
    probe.expect_eq(Err(AskError::Failed("-49 has no root".to_owned())));
}

// ---- deadlines and room
// ----------------------------------------------------------------------------------------------------

#[test]
fn the_last_deadline_that_was_set_counts() {
    let mut sys = TestSystem::seeded(3);
    let (keeper, _probe) = keeper::<u64>(&sys, SpawnOptions::new());
    let shorter = keeper.ask_timeout(10 * SECOND, Some).timeout(SECOND);
    let mut longer = keeper.ask_timeout(SECOND, Some);
    assert_eq!(block_on(poll_once(&mut longer)), None, "with the first deadline");
    let mut longer = longer.timeout(10 * SECOND);
    sys.advance(SECOND);
    assert_eq!(shorter.wait(), Err(AskError::Timeout(keeper.id(), SECOND)));
    assert_eq!(block_on(poll_once(&mut longer)), None);
    sys.advance(9 * SECOND);
    assert_eq!(longer.wait(), Err(AskError::Timeout(keeper.id(), 10 * SECOND)));
}

#[test]
fn an_ask_waits_for_room_until_its_deadline() {
    let mut sys = TestSystem::seeded(4);
    let narrow = || SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let root = sys.spawn_with(narrow(), || Root).unwrap();
    let probe = sys.probe();
    // In the middle of the system: whatever awaits an answer here may run only beside actors.
    let (asked, told) = (root.clone(), probe.callback());
    let asker = sys.spawn(does(move |msg: Option<Result<i64, AskError<String>>>, ctx| match msg {
        None => (0..10).for_each(|n| {
            let answer = asked.ask_async(|reply| (n * n, reply)).timeout(SECOND).flat();
            ctx.pipe(answer, Some);
        }),
        Some(answer) => told(answer.unwrap()),
    }));
    asker.tell(None);
    sys.run_until_idle();
    let mut roots = probe.received();
    roots.sort_unstable();
    assert_eq!(roots, (0..10).collect::<Vec<_>>());
    // Nobody makes room.
    let first = root.ask_async(|reply| (1, reply));
    let mut late = root.ask_async(|reply| (1, reply)).timeout(Duration::ZERO);
    let mut closed = root.ask_async(|reply| (1, reply)).timeout(SECOND);
    let timeout = AskError::Timeout(root.id(), Duration::ZERO);
    assert_eq!(block_on(poll_once(&mut late)), Some(Err(timeout)));
    assert_eq!(block_on(poll_once(&mut closed)), None);
    root.kill();
    sys.run_until_idle();
    assert_eq!(block_on(poll_once(&mut closed)), Some(Err(AskError::Closed(root.id()))));
    assert_eq!(first.wait(), Err(AskError::NoReply(root.id())));
    let recipient: AskRecipient<u64, u64> = sys.spawn_with(narrow(), doubles).unwrap().into();
    let (one, mut other) = (recipient.ask_async(1), recipient.ask_async(2).timeout(SECOND));
    sys.run_until_idle();
    assert_eq!(one.wait(), Ok(2));
    assert_eq!(block_on(poll_once(&mut other)), None, "it is sent only now");
    sys.run_until_idle();
    assert_eq!(other.wait(), Ok(4));
    assert!(sys.audit().is_balanced());
}

fn doubles() -> impl Actor<Msg = (u64, Reply<u64>)> {
    does(|(n, reply): (u64, Reply<u64>), _| {
        let _ = reply.send(2 * n);
    })
}

// ---- cancellation
// ----------------------------------------------------------------------------------------------------

#[test]
fn whoever_was_asked_can_see_that_nobody_waits_any_more() {
    let mut sys = TestSystem::seeded(5);
    let (keeper, probe) = keeper::<u64>(&sys, SpawnOptions::new());
    let dropped = keeper.ask(Some);
    let (late, waits) = (keeper.ask(Some).timeout(SECOND), keeper.ask(Some));
    let asked = keeper.clone();
    let asker = sys.spawn(does(move |stops: bool, ctx| {
        let ask = |ctx: &Context<'_, _>| ctx.ask(&asked, Some, |_| unreachable!("no answer"));
        assert!(ask(ctx).cancel());
        ask(ctx);
        if stops {
            ctx.stop();
        }
    }));
    asker.tell(true);
    sys.run_until_idle();
    drop(dropped);
    sys.advance(SECOND);
    assert!(late.wait().is_err());
    let replies = kept(&mut sys, &keeper, &probe);
    let cancelled: Vec<_> = replies.iter().map(Reply::is_cancelled).collect();
    assert_eq!(cancelled, [true, true, false, true, true]);
    let returned: Vec<_> = replies.into_iter().map(|reply| reply.send(1).is_err()).collect();
    assert_eq!(returned, cancelled);
    assert_eq!(waits.wait(), Ok(1));
    let audit = sys.audit();
    assert!(audit.is_balanced() && audit.dead == 0, "{audit:?}");
}

/// How an asker gives up.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Cancels,
    Stops,
    IsLate,
    Drops,
}

#[test]
fn a_future_ends_when_nobody_waits_for_its_result() {
    for ends in [Ends::Cancels, Ends::Stops, Ends::IsLate, Ends::Drops] {
        let mut sys = TestSystem::seeded(6);
        let probe = sys.probe();
        let told = probe.callback();
        let works = sys.spawn(does(move |msg: Option<Reply<u64>>, ctx| match msg {
            Some(mut reply) => ctx.pipe(async move { reply.cancelled().await }, |()| None),
            None => told(()),
        }));
        let asked = works.clone();
        let mut ask: Option<Asking> = None;
        let asker = sys.spawn(does(move |msg: Option<Result<u64, AskError>>, ctx| {
            if let Some(ask) = ask.take_if(|ask| !ask.is_over()) {
                match ends {
                    Ends::Cancels => assert!(ask.cancel() && !ask.cancel()),
                    _ => ctx.stop(),
                }
            } else if msg.is_none() {
                let limit = if let Ends::IsLate = ends { SECOND } else { 2 * SECOND };
                ask = Some(ctx.ask(&asked, Some, Some).timeout(limit));
            }
        }));
        let answer = matches!(ends, Ends::Drops).then(|| works.ask(Some));
        if answer.is_none() {
            asker.tell(None);
        }
        probe.expect_none();
        match ends {
            Ends::Cancels | Ends::Stops => asker.tell(None),
            Ends::IsLate => drop(sys.advance(SECOND)),
            Ends::Drops => drop(answer),
        }
        probe.expect_eq(());
        assert!(sys.audit().is_balanced(), "{ends:?}");
    }
}

// ---- from actors
// ----------------------------------------------------------------------------------------------------

#[test]
fn an_ask_of_an_actor_needs_no_other_and_is_answered_once() {
    let mut sys = TestSystem::seeded(7);
    let (keeper, replies) = keeper::<u64>(&sys, SpawnOptions::new());
    let (asked, probe) = (keeper.clone(), sys.probe());
    let told = probe.callback();
    let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let asker = move || {
        let (asked, told) = (asked.clone(), told.clone());
        does(move |msg: Option<Result<u64, AskError>>, ctx| match msg {
            None => drop(ctx.ask(&asked, Some, Some).timeout(SECOND)),
            Some(answer) => told(answer),
        })
    };
    let asker = sys.spawn_with(narrow, asker).unwrap();
    let spawned = sys.stats().total().spawned;
    for _ in 0..3 {
        asker.send(None).unwrap();
        sys.run_until_idle();
    }
    // The asker's full mailbox takes all of them, and hears of the one that is dropped.
    for reply in kept(&mut sys, &keeper, &replies).into_iter().take(2) {
        assert_eq!(reply.send(3), Ok(()));
    }
    sys.advance(2 * SECOND);
    let dropped = Err(AskError::NoReply(keeper.id()));
    assert_eq!(probe.received(), [Ok(3), Ok(3), dropped]);
    assert_eq!(sys.stats().total().spawned, spawned);
    drop(asker);
    sys.run_until_idle();
    let left = sys.stats().actors;
    assert_eq!(left, 3, "two probes and the one that was asked");
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_panic_while_a_request_or_an_answer_is_made_is_the_asker_s_own() {
    quiet();
    let mut sys = TestSystem::seeded(8);
    let (probe, downs) = (sys.probe(), sys.probe());
    let told = probe.callback();
    let doubler = sys.spawn(doubles());
    let asked = doubler.clone();
    let asker = move || {
        let (asked, told) = (asked.clone(), told.clone());
        does(move |msg: Result<u64, Result<u64, AskError>>, ctx| match msg {
            Ok(0) => drop(ctx.ask(&asked, |_: Reply<u64>| panic!("{ON_PURPOSE}"), Err)),
            Ok(1) => {
                drop(ctx.ask(
                    &asked,
                    |reply| (1, reply),
                    |_| -> Result<_, _> { panic!("{ON_PURPOSE}") },
                ));
            }
            Ok(n) => drop(ctx.ask(&asked, |reply| (n, reply), Err)),
            Err(answer) => told(answer),
        })
    };
    let twice = Supervision::restart().limit(2, SECOND);
    let asker = sys.spawn_with(SpawnOptions::new().supervise(twice), asker).unwrap();
    let (watched, down) = (asker.clone(), downs.callback());
    let watcher = sys.spawn(does(move |ended: bool, ctx| match ended {
        false => ctx.watch(&watched, |_| true),
        true => down(()),
    }));
    watcher.tell(false);
    for panics in [0, 1] {
        asker.tell(Ok(panics));
        asker.tell(Ok(panics + 2));
        sys.run_until_idle();
        probe.expect_eq(Ok(2 * (panics + 2)));
        assert_eq!(sys.stats().total().panicked, panics + 1);
    }
    asker.tell(Ok(0));
    downs.expect_eq(());
    assert!(!doubler.is_closed() && sys.audit().is_balanced());
}

#[test]
fn a_chain_of_answers_is_a_queue_and_not_a_stack() {
    const LONG: u32 = if cfg!(miri) { 100 } else { 10_000 };
    for answered in [true, false] {
        let mut sys = TestSystem::seeded(9);
        let (keeper, replies) = keeper::<u32>(&sys, SpawnOptions::new());
        let (first, asked) = (sys.probe::<Option<u32>>(), keeper.clone());
        let told = first.callback();
        // Each answer answers the ask before, where it is given.
        let asker = sys.spawn(does(move |msg: Option<Reply<u32>>, ctx| {
            let Some(reply) = msg else { return };
            drop(ctx.ask(&asked, Some, move |answer| {
                if let Ok(answer) = answer {
                    assert_eq!(reply.send(answer + 1), Ok(()));
                }
                None
            }));
        }));
        let mut next = asker.ask(Some);
        sys.run_until_idle();
        let outermost = std::mem::replace(&mut next, keeper.ask(Some));
        let mut last = kept(&mut sys, &keeper, &replies);
        last.truncate(1);
        for _ in 1..LONG {
            asker.tell(last.pop());
            sys.run_until_idle();
            last = kept(&mut sys, &keeper, &replies);
        }
        let last = last.pop().unwrap();
        if answered {
            assert_eq!(last.send(0), Ok(()));
        } else {
            drop(last);
        }
        sys.advance(SECOND);
        let expected = if answered { Ok(LONG) } else { Err(AskError::NoReply(asker.id())) };
        assert_eq!(outermost.wait(), expected);
        told(None);
        first.expect_eq(None);
        assert!(sys.audit().is_balanced());
    }
}

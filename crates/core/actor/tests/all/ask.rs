//! Questions and their answers.

use crate::common::{ON_PURPOSE, does, quiet, system};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, Answer, AskError, Context, Mailbox, Policy, Reply, Shutdown, SpawnOptions,
    System,
};
use futures_lite::future::{block_on, or, zip};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

enum Question {
    Double(u64, Reply<u64>),
    Keep(Reply<u64>),
    Forget(Reply<u64>),
    Panic(Reply<u64>),
    /// Answers all that were kept.
    Release(u64),
}

/// Answers, or does not; tells which answers came back.
struct Clerk {
    kept: Vec<Reply<u64>>,
    came_back: Box<dyn Fn(u64) + Send>,
}

impl Actor for Clerk {
    type Msg = Question;

    fn handle(&mut self, msg: Question, _ctx: &mut Context<'_, Self>) {
        match msg {
            Question::Double(n, reply) => {
                if let Err(value) = reply.send(2 * n) {
                    (self.came_back)(value);
                }
            }
            Question::Keep(reply) => self.kept.push(reply),
            Question::Forget(reply) => drop(reply),
            Question::Panic(_reply) => panic!("{ON_PURPOSE}"),
            Question::Release(n) => {
                for reply in self.kept.drain(..) {
                    if let Err(value) = reply.send(n) {
                        (self.came_back)(value);
                    }
                }
            }
        }
    }
}

fn clerk(came_back: impl Fn(u64) + Send + 'static) -> Clerk {
    Clerk { kept: Vec::new(), came_back: Box::new(came_back) }
}

fn everywhere(story: impl Fn(System, Address<Clerk>)) {
    for policy in Policy::ALL {
        for workers in 1..=4 {
            let system = system(policy, workers);
            let clerk = system.spawn(clerk(|value| panic!("{value} came back")));
            story(system, clerk);
        }
    }
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn poll<R>(answer: &mut Answer<R>, waker: &Waker) -> Poll<Result<R, AskError>> {
    Pin::new(answer).poll(&mut std::task::Context::from_waker(waker))
}

// ---- from outside
// ----------------------------------------------------------------------------------------------------

#[test]
fn a_thread_asks_and_waits() {
    everywhere(|system, clerk| {
        for n in 0..100 {
            assert_eq!(clerk.ask(|reply| Question::Double(n, reply)).wait(), Ok(2 * n));
            let answer = clerk.ask_timeout(HOUR, |reply| Question::Double(n, reply));
            assert_eq!(answer.wait(), Ok(2 * n), "{system:?}");
        }
    });
}

#[test]
fn async_code_asks_and_awaits() {
    everywhere(|system, clerk| {
        block_on(async {
            for n in 0..100 {
                assert_eq!(clerk.ask(|reply| Question::Double(n, reply)).await, Ok(2 * n));
                let one = clerk.ask_timeout(HOUR, |reply| Question::Double(n, reply));
                let other = clerk.ask(|reply| Question::Double(n + 1, reply));
                assert_eq!(zip(one, other).await, (Ok(2 * n), Ok(2 * n + 2)), "{system:?}");
            }
        });
    });
}

#[test]
fn questions_may_be_answered_later_and_many_at_a_time() {
    everywhere(|_, clerk| {
        let answers: Vec<_> = (0..50).map(|_| clerk.ask(Question::Keep)).collect();
        clerk.send(Question::Release(7)).unwrap();
        assert!(answers.into_iter().all(|answer| answer.wait() == Ok(7)));
    });
}

#[test]
fn a_deadline_passes_while_async_code_waits() {
    everywhere(|system, clerk| {
        let short = Duration::from_millis(1);
        let answer = clerk.ask_timeout(short, Question::Keep);
        assert_eq!(block_on(answer), Err(AskError::Timeout(clerk.id(), short)), "{system:?}");
        // A worker that sleeps until a later deadline hears of the earlier one.
        let late = clerk.ask_timeout(HOUR, Question::Keep);
        let early = clerk.ask_timeout(short, Question::Keep);
        assert_eq!(block_on(or(late, early)), Err(AskError::Timeout(clerk.id(), short)));
    });
}

#[test]
fn a_deadline_passes_while_a_thread_waits() {
    everywhere(|_, clerk| {
        let short = Duration::from_millis(1);
        let answer = clerk.ask_timeout(short, Question::Keep);
        assert_eq!(answer.wait(), Err(AskError::Timeout(clerk.id(), short)));
    });
}

#[test]
fn the_end_of_the_system_ends_the_wait() {
    for how in [Shutdown::Drain, Shutdown::Drop] {
        everywhere(|system, clerk| {
            let (answer, awaited) = (clerk.ask(Question::Keep), clerk.ask(Question::Keep));
            let id = clerk.id();
            let waits = thread::spawn(move || answer.wait());
            let awaits = thread::spawn(move || block_on(awaited));
            system.shutdown(how);
            assert_eq!(waits.join().unwrap(), Err(AskError::NoReply(id)));
            assert_eq!(awaits.join().unwrap(), Err(AskError::NoReply(id)));
            let late = clerk.ask_timeout(HOUR, Question::Keep);
            assert_eq!(late.wait(), Err(AskError::Closed(id)));
        });
    }
}

#[test]
fn a_worker_is_not_blocked() {
    everywhere(|system, clerk| {
        let (results, told) = mpsc::channel();
        let asker = system.spawn(does(move |(), _| {
            let plain = clerk.ask(|_reply| Question::Release(0)) as Answer<u64>;
            let limited = clerk.ask_timeout(HOUR, Question::Forget);
            results.send((plain.wait(), limited.wait())).unwrap();
        }));
        asker.send(()).unwrap();
        let expected = (Err(AskError::WouldBlock), Err(AskError::WouldBlock));
        assert_eq!(told.recv().unwrap(), expected);
    });
}

#[test]
fn answered_questions_leave_no_deadline_behind() {
    for policy in Policy::ALL {
        let system = system(policy, 2);
        let clerk = system.spawn(clerk(|value| panic!("{value} came back")));
        block_on(async {
            for n in 0..10_000 {
                let answer = clerk.ask_timeout(HOUR, |reply| Question::Double(n, reply));
                assert_eq!(answer.await, Ok(2 * n), "{system:?}");
            }
        });
    }
}

// ---- turn by turn
// ----------------------------------------------------------------------------------------------------

fn start(seed: u64) -> (TestSystem, Address<Clerk>, Probe<u64>) {
    quiet();
    let sys = TestSystem::seeded(seed);
    let came_back = sys.probe();
    let clerk = sys.spawn(clerk(came_back.callback()));
    (sys, clerk, came_back)
}

#[test]
fn no_waker_stays_once_nobody_waits() {
    let (mut sys, clerk, came_back) = start(1);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let count = 10_000;
    let mut answers: Vec<_> =
        (0..count).map(|n| clerk.ask_timeout(HOUR, |reply| Question::Double(n, reply))).collect();
    let mut given_up: Vec<_> =
        (0..count).map(|_| clerk.ask_timeout(HOUR, Question::Keep)).collect();
    for answer in answers.iter_mut().chain(&mut given_up) {
        assert!(poll(answer, &waker).is_pending());
        assert!(poll(answer, &waker).is_pending(), "again, with the same waker");
    }
    drop(given_up);
    sys.run_until_idle();
    assert_eq!(woken.times(), answers.len());
    for (n, answer) in answers.iter_mut().enumerate() {
        assert_eq!(poll(answer, &waker), Poll::Ready(Ok(2 * n as u64)));
    }
    drop((answers, waker));
    assert_eq!(Arc::strong_count(&woken), 1, "a waker was left behind");
    assert_eq!(sys.advance(2 * HOUR), 0);
    assert_eq!(woken.times(), count as usize);
    clerk.tell(Question::Release(3));
    sys.run_until_idle();
    assert_eq!(came_back.received(), vec![3; count as usize]);
}

#[test]
fn the_latest_waker_is_woken_at_the_deadline_and_once() {
    let (mut sys, clerk, came_back) = start(2);
    let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let limit = Duration::from_secs(10);
    let mut answer = clerk.ask_timeout(limit, Question::Keep);
    assert!(poll(&mut answer, &first.clone().into()).is_pending());
    sys.advance(Duration::from_secs(9));
    assert!(poll(&mut answer, &second.clone().into()).is_pending());
    assert_eq!(Arc::strong_count(&first), 1, "nobody needs the first any more");
    sys.advance(Duration::from_millis(999));
    assert_eq!((first.times(), second.times()), (0, 0));
    sys.advance(Duration::from_millis(1));
    assert_eq!((first.times(), second.times()), (0, 1));
    let timeout = AskError::Timeout(clerk.id(), limit);
    assert_eq!(poll(&mut answer, &second.clone().into()), Poll::Ready(Err(timeout)));
    // It gave up: the answer comes back although the future is still there.
    clerk.tell(Question::Release(5));
    came_back.expect_eq(5);
    sys.advance(HOUR);
    assert_eq!((first.times(), second.times()), (0, 1));
}

#[test]
fn a_deadline_counts_from_the_question_and_an_answer_in_time_counts_for_ever() {
    let (mut sys, clerk, _) = start(3);
    let limit = Duration::from_secs(10);
    let late = clerk.ask_timeout(limit, Question::Keep);
    let late_async = clerk.ask_timeout(limit, Question::Keep);
    let answered = clerk.ask_timeout(limit, |reply| Question::Double(1, reply));
    let answered_async = clerk.ask_timeout(limit, |reply| Question::Double(2, reply));
    sys.advance(limit);
    let timeout = AskError::Timeout(clerk.id(), limit);
    assert_eq!(late.wait(), Err(timeout.clone()));
    assert_eq!(block_on(late_async), Err(timeout));
    assert_eq!(answered.wait(), Ok(2));
    assert_eq!(block_on(answered_async), Ok(4));
    let never = clerk.ask_timeout(Duration::MAX, |reply| Question::Double(3, reply));
    sys.advance(HOUR);
    assert_eq!(block_on(never), Ok(6));
}

#[test]
fn the_value_comes_back_if_the_asker_gave_up() {
    let (mut sys, clerk, came_back) = start(4);
    drop(clerk.ask(|reply| Question::Double(1, reply)));
    came_back.expect_eq(2);
    let answer = clerk.ask(Question::Keep);
    sys.run_until_idle();
    drop(answer);
    clerk.tell(Question::Release(3));
    came_back.expect_eq(3);
}

#[test]
fn a_dropped_question_has_no_reply() {
    type Ask = fn(Reply<u64>) -> Question;
    for ask in [Question::Forget as Ask, Question::Panic, Question::Keep] {
        let (mut sys, clerk, _) = start(5);
        let waits = clerk.ask(ask);
        sys.run_until_idle();
        let awaits = if clerk.is_closed() { None } else { Some(clerk.ask_timeout(HOUR, ask)) };
        // It ends with questions kept and with one in its mailbox.
        clerk.kill();
        sys.run_until_idle();
        assert_eq!(waits.wait(), Err(AskError::NoReply(clerk.id())));
        if let Some(awaits) = awaits {
            assert_eq!(block_on(awaits), Err(AskError::NoReply(clerk.id())));
        }
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn who_has_ended_or_is_full_refuses_at_once() {
    let (mut sys, clerk, _) = start(6);
    clerk.stop();
    sys.run_until_idle();
    let closed = AskError::Closed(clerk.id());
    assert_eq!(clerk.ask(Question::Keep).wait(), Err(closed.clone()));
    assert_eq!(block_on(clerk.ask_timeout(HOUR, Question::Keep)), Err(closed));

    let narrow = SpawnOptions::new().mailbox(Mailbox::bounded(1));
    let clerk = sys.spawn_with(narrow, || self::clerk(|_| {})).unwrap();
    let taken = clerk.ask(|reply| Question::Double(4, reply));
    let full = AskError::Full(clerk.id());
    assert_eq!(clerk.ask(Question::Keep).wait(), Err(full.clone()));
    assert_eq!(block_on(clerk.ask_timeout(HOUR, Question::Keep)), Err(full));
    sys.run_until_idle();
    assert_eq!(taken.wait(), Ok(8));
    let audit = sys.audit();
    assert!(audit.is_balanced(), "{audit:?}");
    assert_eq!((audit.returned, audit.dead), (4, 0));
}

// ---- from actors
// -----------------------------------------------------------------------------------------------------

enum Msg {
    Ask(fn(Reply<u64>) -> Question, Option<Duration>),
    Answer(Result<u64, AskError>),
}

fn asker(
    clerk: Address<Clerk>,
    answers: &Probe<Result<u64, AskError>>,
) -> impl Actor<Msg = Msg> + use<> {
    let told = answers.callback();
    does(move |msg, ctx| match msg {
        Msg::Ask(question, None) => drop(ctx.ask(&clerk, question, Msg::Answer)),
        Msg::Ask(question, Some(limit)) => {
            ctx.ask_timeout(&clerk, limit, question, Msg::Answer);
        }
        Msg::Answer(answer) => told(answer),
    })
}

fn double(reply: Reply<u64>) -> Question {
    Question::Double(21, reply)
}

#[test]
fn an_actor_gets_the_answer_as_a_message() {
    for seed in 0..50 {
        let (mut sys, clerk, _) = start(seed);
        let answers = sys.probe();
        let asker = sys.spawn(asker(clerk.clone(), &answers));
        asker.tell(Msg::Ask(double, None));
        answers.expect_eq(Ok(42));
        asker.tell(Msg::Ask(double, Some(HOUR)));
        answers.expect_eq(Ok(42));
        // It waits without holding anybody up.
        asker.tell(Msg::Ask(Question::Keep, None));
        asker.tell(Msg::Ask(double, None));
        answers.expect_eq(Ok(42));
        answers.expect_none();
        clerk.tell(Question::Release(3));
        answers.expect_eq(Ok(3));
        sys.run_until_idle();
        assert_eq!(sys.advance(2 * HOUR), 0, "the deadline went with the answer");
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn an_actor_hears_that_there_is_no_answer() {
    for seed in 0..50 {
        let (mut sys, clerk, came_back) = start(seed);
        let answers = sys.probe();
        let asker = sys.spawn(asker(clerk.clone(), &answers));
        let limit = Duration::from_secs(10);
        asker.tell(Msg::Ask(Question::Keep, Some(limit)));
        sys.advance(Duration::from_millis(9_999));
        answers.expect_none();
        sys.advance(Duration::from_millis(1));
        answers.expect_eq(Err(AskError::Timeout(clerk.id(), limit)));
        clerk.tell(Question::Release(1));
        came_back.expect_eq(1);
        asker.tell(Msg::Ask(Question::Forget, Some(limit)));
        answers.expect_eq(Err(AskError::NoReply(clerk.id())));
        asker.tell(Msg::Ask(Question::Panic, None));
        answers.expect_eq(Err(AskError::NoReply(clerk.id())));
        asker.tell(Msg::Ask(double, Some(limit)));
        answers.expect_eq(Err(AskError::Closed(clerk.id())));
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn actors_of_a_real_system_ask_each_other() {
    everywhere(|system, clerk| {
        let (results, told) = mpsc::channel();
        let short = Duration::from_millis(1);
        for n in 0..100 {
            let (clerk, results) = (clerk.clone(), results.clone());
            let asker =
                system.spawn(does(move |msg: Option<Result<u64, AskError>>, ctx| match msg {
                    None => {
                        ctx.ask_timeout(&clerk, HOUR, |reply| Question::Double(n, reply), Some);
                        ctx.ask_timeout(&clerk, short, Question::Keep, Some);
                    }
                    Some(answer) => results.send((n, answer)).unwrap(),
                }));
            asker.send(None).unwrap();
        }
        for _ in 0..200 {
            match told.recv().unwrap() {
                (n, Ok(answer)) => assert_eq!(answer, 2 * n),
                (_, late) => assert_eq!(late, Err(AskError::Timeout(clerk.id(), short))),
            }
        }
        assert!(told.try_recv().is_err());
    });
}

//! The smallest systems that ask, fail and end: Miri runs them under many seeds, each of which is
//! another order of threads.

use actinium_actor::{
    Actor, Address, AskError, Bind, Context, Policy, Reply, Shutdown, SpawnOptions, Supervision,
    System,
};
use actinium_topology::Topology;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// One that leaves idle actors at their workers, and one that does not.
fn policies() -> [Policy; 2] {
    [Policy::affine(), Policy::stealing()]
}

/// Two workers, bound to nothing: Miri knows no affinity.
fn system(policy: Policy) -> System {
    let machine = Topology::synthetic("core:2 pu:1").unwrap();
    System::builder().workers(2).policy(policy).topology(machine).bind(Bind::None).build().unwrap()
}

enum Msg {
    Double(u32, Reply<u32>),
    /// To be passed on to the next, who answers.
    Pass(u32, Reply<u32>),
    Fail,
    Forget(Reply<u32>),
}

struct Answers {
    next: Option<Address<Answers>>,
    handled: Arc<AtomicUsize>,
}

impl Actor for Answers {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
        self.handled.fetch_add(1, SeqCst);
        match (msg, &self.next) {
            // Whoever asked may have gone.
            (Msg::Double(n, reply), _) => drop(reply.send(2 * n)),
            (Msg::Pass(n, reply), Some(next)) => next.tell(Msg::Double(n, reply)),
            (Msg::Fail, _) => std::panic::resume_unwind(Box::new("as told")),
            (Msg::Forget(reply) | Msg::Pass(_, reply), _) => drop(reply),
        }
    }
}

/// One at each worker, the first of which knows the second.
fn two(system: &System, handled: &Arc<AtomicUsize>) -> [Address<Answers>; 2] {
    let spawn = |worker, next: Option<Address<Answers>>| {
        let handled = handled.clone();
        let options = SpawnOptions::new().on_worker(worker).supervise(Supervision::restart());
        let make = move || Answers { next: next.clone(), handled: handled.clone() };
        system.spawn_with(options, make).unwrap()
    };
    let second = spawn(1, None);
    [spawn(0, Some(second.clone())), second]
}

#[test]
fn questions_are_answered_across_workers_and_threads() {
    for policy in policies() {
        let (system, handled) = (system(policy), Arc::default());
        let [first, second] = two(&system, &handled);
        let outside = {
            let second = second.clone();
            thread::spawn(move || second.ask(|reply| Msg::Double(3, reply)).wait())
        };
        assert_eq!(first.ask(|reply| Msg::Pass(2, reply)).wait(), Ok(4), "{policy}");
        assert_eq!(outside.join().unwrap(), Ok(6), "{policy}");
        let forgotten = first.ask(Msg::Forget).wait();
        assert_eq!(forgotten, Err(AskError::NoReply(first.id())), "{policy}");
        system.shutdown(Shutdown::Drain);
        assert!(first.ask(|reply| Msg::Double(1, reply)).wait().is_err(), "{policy}");
    }
}

#[test]
fn one_that_fails_goes_on_with_what_waits() {
    for policy in policies() {
        let (system, handled) = (system(policy), Arc::default());
        let [first, second] = two(&system, &handled);
        let outside = {
            let second = second.clone();
            thread::spawn(move || second.tell(Msg::Fail))
        };
        let answer = first.ask(|reply| Msg::Pass(5, reply)).wait();
        outside.join().unwrap();
        assert_eq!(answer, Ok(10), "{policy}");
        system.shutdown(Shutdown::Drain);
        let total = system.stats().total();
        assert_eq!((total.restarted, handled.load(SeqCst)), (1, 3), "{policy}");
    }
}

#[test]
fn an_end_in_the_middle_leaves_nothing() {
    for policy in policies() {
        let (system, handled) = (system(policy), Arc::default());
        let [first, second] = two(&system, &handled);
        let outside = thread::spawn(move || {
            let answer = first.ask(|reply| Msg::Pass(1, reply));
            second.kill();
            // Answered, or told that nobody will.
            drop(answer.wait());
        });
        system.shutdown(Shutdown::Drop);
        outside.join().unwrap();
        assert!(system.audit(Duration::MAX).unwrap().is_balanced(), "{policy}");
        drop(system);
        assert_eq!(Arc::strong_count(&handled), 1, "{policy}: an actor leaked");
    }
}

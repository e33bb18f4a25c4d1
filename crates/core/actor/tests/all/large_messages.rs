//! Messages as large as the documentation promises, by value, on stacks of the default size: by
//! each way that there is.

use crate::common::system;
use actinium_actor::{
    Actor, Address, AskError, Bind, Context, Mailbox, Policy, Reply, Shutdown, SpawnOptions, System,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

/// Who sends uses the sender's stack, which is the test's here. Unoptimised code copies at each
/// call.
const TEST_STACK: usize = 64 << 20;

/// Bytes that say which message they are.
struct Large<const N: usize>([u8; N]);

impl<const N: usize> Large<N> {
    fn new(number: usize) -> Self {
        Large([number as u8; N])
    }

    /// Its number, if all of it arrived.
    fn number(&self) -> usize {
        assert!(self.0 == [self.0[0]; N], "a torn message");
        self.0[0].into()
    }
}

enum Msg<const N: usize> {
    Data(Large<N>),
    Question(Large<N>, Reply<Large<N>>),
    Answer(Large<N>),
    Begin,
}

/// Sends to another as soon as it is told to, and asks it.
struct Sender<const N: usize> {
    to: Address<Receiver<N>>,
    done: mpsc::Sender<usize>,
}

/// Messages in a row: enough that they are buffered, and that a bounded mailbox overflows.
const MESSAGES: usize = 40;

impl<const N: usize> Actor for Sender<N> {
    type Msg = Msg<N>;

    fn handle(&mut self, msg: Msg<N>, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Begin => {
                for number in 0..MESSAGES {
                    self.to.send(Msg::Data(Large::new(number))).unwrap();
                }
                let question = |reply| Msg::Question(Large::new(7), reply);
                ctx.ask(&self.to, question, |answer| Msg::Answer(answer.unwrap()));
                ctx.after(std::time::Duration::ZERO, Msg::Data(Large::new(9)));
            }
            Msg::Answer(answer) => self.done.send(answer.number()).unwrap(),
            Msg::Data(own) => self.done.send(own.number()).unwrap(),
            Msg::Question(..) => unreachable!(),
        }
    }
}

/// Counts what comes in order, and answers by what it was asked.
struct Receiver<const N: usize> {
    handled: Arc<AtomicUsize>,
}

impl<const N: usize> Actor for Receiver<N> {
    type Msg = Msg<N>;

    fn handle(&mut self, msg: Msg<N>, _: &mut Context<'_, Self>) {
        match msg {
            Msg::Data(data) => {
                let before = self.handled.fetch_add(1, Ordering::SeqCst);
                assert_eq!(data.number(), before % MESSAGES, "out of order");
            }
            Msg::Question(data, reply) => reply.send(data).map_err(drop).unwrap(),
            _ => unreachable!(),
        }
    }
}

fn by_each_way<const N: usize>() {
    let run = || {
        for policy in Policy::ALL {
            for workers in [1, 2] {
                for mailbox in [Mailbox::Unbounded, Mailbox::Bounded(4)] {
                    by_all_ways::<N>(policy, workers, mailbox);
                }
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(TEST_STACK).spawn(run).unwrap();
    thread.join().unwrap();
}

/// From worker to worker, on one worker, from outside; sent and asked.
fn by_all_ways<const N: usize>(policy: Policy, workers: usize, mailbox: Mailbox) {
    // A sanitizer's frames keep each copy apart: it asks for larger stacks.
    let builder = System::builder().from_env().unwrap();
    let system = builder.policy(policy).workers(workers).bind(Bind::None).build().unwrap();
    let (done, ended) = mpsc::channel();
    for (from, to) in [(0, 0), (0, workers - 1)] {
        let at = |worker| SpawnOptions::new().on_worker(worker);
        let handled = Arc::new(AtomicUsize::new(0));
        let receiver = {
            let handled = handled.clone();
            let options = at(to).mailbox(mailbox);
            system.spawn_with(options, move || Receiver::<N> { handled: handled.clone() }).unwrap()
        };
        let sender = {
            let (to, done) = (receiver.clone(), done.clone());
            let make = move || Sender::<N> { to: to.clone(), done: done.clone() };
            system.spawn_with(at(from), make).unwrap()
        };
        sender.send(Msg::Begin).unwrap();
        let mut numbers = [ended.recv().unwrap(), ended.recv().unwrap()];
        numbers.sort_unstable();
        assert_eq!(numbers, [7, 9]);
        for number in 0..MESSAGES {
            receiver.send_blocking(Msg::Data(Large::new(number))).unwrap();
        }
        let answer = loop {
            match receiver.ask(|reply| Msg::Question(Large::new(11), reply)).wait() {
                Err(AskError::Full(_)) => std::thread::yield_now(),
                answer => break answer.unwrap(),
            }
        };
        assert_eq!(answer.number(), 11);
        assert_eq!(handled.load(Ordering::SeqCst), 2 * MESSAGES);
    }
    let report = system.shutdown(Shutdown::Drain);
    assert_eq!((report.dropped, report.dead), (0, 0));
}

#[test]
fn of_8_kib() {
    by_each_way::<{ 8 << 10 }>();
}

#[test]
fn of_16_kib() {
    by_each_way::<{ 16 << 10 }>();
}

#[test]
fn of_64_kib() {
    by_each_way::<{ 64 << 10 }>();
}

#[cfg(not(debug_assertions))]
#[test]
fn of_256_kib_and_of_1_mib_when_optimised() {
    by_each_way::<{ 256 << 10 }>();
    // The message has a word beside the bytes.
    by_each_way::<{ (1 << 20) - 64 }>();
}

/// What is refused comes back whole, and what nobody takes is dropped once.
#[test]
fn they_come_back_from_who_has_ended_and_are_dropped_with_the_mailbox() {
    struct Counted(#[expect(dead_code, reason = "its size matters")] Large<4096>, Arc<()>);
    struct Idle;
    impl Actor for Idle {
        type Msg = Counted;

        fn handle(&mut self, _: Counted, ctx: &mut Context<'_, Self>) {
            ctx.stop();
        }
    }
    let system = system(Policy::affine(), 1);
    let counted = Arc::new(());
    let msg = || Counted(Large::new(1), counted.clone());
    for mailbox in [Mailbox::Unbounded, Mailbox::Bounded(64)] {
        let idle = system.spawn_with(SpawnOptions::new().mailbox(mailbox), || Idle).unwrap();
        for _ in 0..40 {
            // It ends at the first; the others are dead letters or come back.
            let _ = idle.send(msg());
        }
        while !idle.is_closed() {
            std::thread::yield_now();
        }
        let back = idle.send(msg()).unwrap_err();
        assert!(back.is_closed());
        assert!(Arc::ptr_eq(&back.into_inner().1, &counted));
        assert!(idle.try_send(msg()).is_err());
        idle.tell(msg());
    }
    system.shutdown(Shutdown::Drain);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn a_stack_has_the_size_that_is_asked_for() {
    // Deep enough that the default would not hold it.
    fn deep(left: usize) -> usize {
        let block = std::hint::black_box([left as u8; 16 << 10]);
        if left == 0 { 0 } else { deep(left - 1) + usize::from(block[0] == left as u8) }
    }
    struct Digs(mpsc::Sender<usize>);
    impl Actor for Digs {
        type Msg = ();

        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
            self.0.send(deep(600)).unwrap();
        }
    }
    let builder = actinium_actor::System::builder().workers(1).stack_size(64 << 20);
    let system = builder.build().unwrap();
    let (dug, depth) = mpsc::channel();
    system.spawn(Digs(dug)).send(()).unwrap();
    assert!(depth.recv().unwrap() > 0);
    let refused = actinium_actor::System::builder().stack_size(1000).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "stack_size: '1000' is not allowed: 64 KiB to 1 GiB, as a number of bytes or with the unit KiB or MiB"
    );
}

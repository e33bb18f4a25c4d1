//! How long a turn goes on.

use actinium_scheduler::runnable::Kind;
use actinium_scheduler::task::{Task, Tasks};
use actinium_scheduler::{Clock, Policy, Settings, Shared, Turn, Worker};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More than a round.
const TURNS: usize = 500;

/// Each turn takes some time, looks at the clock, and unless it is over takes as long again.
struct Takes<F> {
    ns: F,
    turns: AtomicUsize,
    /// The turns that were over time.
    over: Arc<Mutex<Vec<usize>>>,
}

impl<F: Fn(usize) -> u64 + Send + Sync + 'static> Task for Takes<F> {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        let turn = self.turns.fetch_add(1, Ordering::SeqCst);
        let clock = worker.shared().clock();
        clock.advance((self.ns)(turn));
        if worker.is_over_time() {
            self.over.lock().unwrap().push(turn);
        } else {
            clock.advance((self.ns)(turn));
        }
        if turn + 1 == TURNS {
            worker.shared().request_exit();
            return (Turn::Idle, 64);
        }
        // Cheap items: not every turn is timed.
        (Turn::Again, 64)
    }
}

/// Which turns of one task are over time, where a turn may take 100 µs.
fn over(ns: impl Fn(usize) -> u64 + Send + Sync + 'static) -> Vec<usize> {
    let settings = Settings {
        workers: 1,
        policy: Policy::affine(),
        batch: 64,
        batch_time: Duration::from_micros(100),
        figures: false,
        elastic: None,
        pus: Vec::new(),
    };
    let shared = Arc::new(Shared::new(settings, None, Clock::virtual_time()));
    let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared));
    let over = Arc::new(Mutex::new(Vec::new()));
    let task = Takes { ns, turns: AtomicUsize::new(0), over: over.clone() };
    tasks.start(&Arc::new(Kind::new("takes")), 0, Box::new(task)).expect("it has not ended");
    worker.enter(Worker::run);
    worker.end(|worker| tasks.dispose(worker));
    over.lock().unwrap().clone()
}

#[test]
fn a_turn_is_not_ended_for_the_time_of_those_before_it() {
    assert_eq!(over(|_| 20_000), []);
}

#[test]
fn a_turn_that_takes_long_among_short_ones_is_over_time() {
    assert_eq!(over(|turn| if turn == 300 { 10_000_000 } else { 1_000 }), [300]);
    let all: Vec<usize> = (0..TURNS).collect();
    assert_eq!(over(|_| 100_000), all);
}

//! Mistakes that would give something two owners, or run what has ended, are refused.

use actinium_scheduler::runnable::Kind;
use actinium_scheduler::task::{Task, TaskRef, Tasks};
use actinium_scheduler::{Clock, Policy, Settings, Shared, Turn, Worker, current};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn shared(workers: usize, policy: Policy) -> Arc<Shared> {
    let settings = Settings {
        workers,
        policy,
        batch: 4,
        batch_time: Duration::from_secs(1),
        figures: false,
        elastic: None,
        pus: Vec::new(),
    };
    Arc::new(Shared::new(settings, None, Clock::virtual_time()))
}

fn step(worker: &Worker) -> bool {
    worker.enter(|worker| worker.step(|_| 0, |_| ()))
}

fn is_refused<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

type Turns = Arc<AtomicUsize>;

/// Does something in each turn, and counts them.
struct Does<F>(Turns, F);

impl<F: Fn(&Worker) + Send + Sync + 'static> Task for Does<F> {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        self.0.fetch_add(1, Ordering::SeqCst);
        (self.1)(worker);
        (Turn::Idle, 1)
    }
}

fn start(tasks: &Tasks, f: impl Fn(&Worker) + Send + Sync + 'static) -> (TaskRef, Turns) {
    let turns = Turns::default();
    let task = Does(turns.clone(), f);
    let task = tasks.start(&Arc::new(Kind::new("does")), 0, Box::new(task));
    (task.expect("the scheduler has not ended"), turns)
}

fn end(worker: &Worker, tasks: &Tasks) {
    worker.end(|worker| tasks.dispose(worker));
}

#[test]
fn no_index_has_two_workers() {
    let shared = shared(2, Policy::affine());
    let first = Worker::new(shared.clone(), 0);
    assert!(is_refused(|| drop(Worker::new(shared.clone(), 0))));
    assert!(is_refused(|| drop(Worker::new(shared.clone(), 2))), "there is none");
    drop(first);
    assert!(is_refused(|| drop(Worker::new(shared.clone(), 0))), "what it owned is nobody's now");
    shared.never_started(1);
    assert!(is_refused(|| drop(Worker::new(shared.clone(), 1))), "nobody waits for it");
    assert!(is_refused(|| shared.never_started(0)));
}

#[test]
fn a_turn_can_not_run_its_own_worker() {
    for policy in Policy::ALL {
        let shared = shared(1, policy);
        let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
        let tasks = Arc::new(tasks);
        let (of_turn, refusals) = (Arc::downgrade(&tasks), Turns::default());
        let counted = refusals.clone();
        let (_, turns) = start(&tasks, move |worker| {
            let tasks = of_turn.upgrade().unwrap();
            let refused = [
                is_refused(|| _ = worker.step(|_| 0, |_| ())),
                is_refused(|| worker.run()),
                is_refused(|| worker.end(|_| ())),
                is_refused(|| tasks.dispose(worker)),
                is_refused(|| current(|worker| worker.unwrap().run())),
            ];
            counted.fetch_add(refused.map(usize::from).iter().sum(), Ordering::SeqCst);
        });
        while step(&worker) {}
        assert_eq!((turns.load(Ordering::SeqCst), refusals.load(Ordering::SeqCst)), (1, 5));
        end(&worker, &tasks);
        assert_eq!(Arc::strong_count(&turns), 1, "freed");
    }
}

#[test]
fn nothing_runs_after_the_end() {
    for policy in Policy::ALL {
        let shared = shared(1, policy);
        let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
        let (task, turns) = start(&tasks, |_| ());
        // It stands in a queue, and the end disposes of it.
        end(&worker, &tasks);
        assert!(!step(&worker));
        worker.enter(Worker::run);
        task.wake();
        worker.enter(|worker| task.wake_from(Some(worker)));
        assert!(is_refused(|| end(&worker, &tasks)), "it has ended");
        assert!(is_refused(|| tasks.dispose(&worker)), "all has been disposed of");
        let none = Does(Turns::default(), |_: &Worker| ());
        let late = tasks.start(&Arc::new(Kind::new("late")), 0, Box::new(none));
        assert!(late.is_none(), "nobody would run it");
        assert!(!step(&worker));
        assert_eq!(turns.load(Ordering::SeqCst), 0, "{policy}");
    }
}

#[test]
fn another_scheduler_s_worker_is_an_outsider() {
    for policy in Policy::ALL {
        let (ours, theirs) = (shared(1, policy), shared(3, policy));
        let (worker, tasks) = (Worker::new(ours.clone(), 0), Tasks::new(ours.clone()));
        let stranger = Worker::new(theirs, 2);
        let (task, turns) = start(&tasks, |_| ());
        while step(&worker) {}
        stranger.enter(|stranger| {
            task.wake_from(Some(stranger));
            assert!(is_refused(|| tasks.dispose(stranger)));
        });
        while step(&stranger) {}
        while step(&worker) {}
        assert_eq!(turns.load(Ordering::SeqCst), 2, "{policy}");
        end(&worker, &tasks);
    }
}

#[test]
fn a_name_of_what_has_ended_is_only_a_name() {
    let shared = shared(1, Policy::affine());
    let (worker, tasks) = (Worker::new(shared.clone(), 0), Tasks::new(shared.clone()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let (task, _) = start(&tasks, move |worker| noted.lock().unwrap().extend(worker.running()));
    while step(&worker) {}
    task.retire();
    drop(task);
    while step(&worker) {}
    end(&worker, &tasks);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!((seen.len(), seen[0]), (1, seen[0]));
    assert!(format!("{:?}", seen[0]).starts_with("Runnable("));
}

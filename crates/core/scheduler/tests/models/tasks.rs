//! Tasks: their memory.

use super::{Owned, model};
use crate::probe::{run_dry, shared, worker_of};
use actinium_scheduler::runnable::{Kind, Turn};
use actinium_scheduler::task::{Task, Tasks};
use actinium_scheduler::{Policy, Worker};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// Counts its turns, and is counted when it is dropped. Loom tells of a turn that is not seen by
/// who drops it.
struct Counting(Owned<usize>, Arc<AtomicUsize>);

impl Task for Counting {
    fn run(&self, _: &Worker) -> (Turn, u32) {
        // SAFETY: the task's turn; loom checks it.
        self.0.0.with_mut(|turns| unsafe { *turns += 1 });
        (Turn::Idle, 1)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        // SAFETY: nobody else is there any more; loom checks it.
        self.0.0.with_mut(|turns| unsafe { *turns += 1 });
        // Relaxed: read when all threads are joined.
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_task_is_dropped_once_after_all_its_turns_whoever_drops_it() {
    for policy in [Policy::pinned(), Policy::pool()] {
        model(1, move || {
            let shared = shared(1, policy);
            let dropped = Arc::new(AtomicUsize::new(0));
            let tasks = Tasks::new(shared.clone());
            let counting = Counting(Owned(UnsafeCell::new(0)), dropped.clone());
            let task = tasks.start(&Arc::new(Kind::new("counting")), 0, Box::new(counting));
            let task = task.expect("the scheduler has not ended");
            let worker = {
                let shared = shared.clone();
                thread::spawn(move || run_dry(&worker_of(&shared, 0)))
            };
            let outside = thread::spawn(move || task.retire());
            // The register's reference.
            let register = thread::spawn(move || drop(tasks));
            [worker, outside, register].into_iter().for_each(|thread| thread.join().unwrap());
            run_dry(&worker_of(&shared, 0));
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        });
    }
}

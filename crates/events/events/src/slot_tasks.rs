//! Slot tasks: the tasks of the scheduler that run modules. A system has one set of them, whatever
//! number of graphs run on it.
//!
//! Each worker has a few slot tasks at home, and for each run a queue of slots that have something
//! ready. A slot task that has its turn takes a slot from a queue, runs modules of it, and puts it
//! back when there is more to do. Which slot task that is does not matter: whoever puts a slot into
//! a queue wakes the idle slot task that was used last, for its memory is warm, and when a slot
//! task is stolen by another worker it takes what its own worker's queues have next.
//!
//! So between two turns of an actor that is ready there are at most [`PER_WORKER`] turns of all
//! graphs together on its worker, and each ready slot task has a turn when each ready actor has had
//! one.
//!
//! # Which run comes next
//!
//! Each run has a *virtual time* at each worker: the time that its slots have run there, divided by
//! its weight. The run with something ready and the least virtual time is next (stride scheduling:
//! Waldspurger and Weihl, 1995). A run that had nothing ready for a while does not make up for it.
//!
//! Within a run, next is a slot whose module has been handed a resource, for others wait for that;
//! then the oldest event of those that this worker ran last, for it has them in its caches, unless
//! another is much older. Oldest, because when events take turns evenly, they all come to their
//! end, and to what is serial there, at the same time. Only the first few of the queue are looked
//! at.
//!
//! No slot is forgotten: a slot task becomes idle, under the pool's lock, only when others are
//! about to have a turn for each slot in the queues. Whoever puts a slot into one wakes an idle
//! slot task if there is one.

use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::{Task, TaskRef, Tasks};
use actinium_scheduler::{Turn, Worker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

/// The number of slot tasks of a worker: enough that others have something to steal, few enough
/// that they stay in its cache and that actors need not wait long.
pub(crate) const PER_WORKER: usize = 16;

/// How many in a queue are looked at to find the oldest event.
const LOOK: usize = 16;
/// An event that another worker has run comes next if it is by so many older: two slot tasks of one
/// queue, one of which was moved, must not take turns at the same events.
const OLDER: u64 = 16;

/// The least virtual time of a turn, in nanoseconds: where the clock stands still, turns count.
const TURN_NS: u64 = 1_000;

/// A slot that wants a slot task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The event's number.
    pub(crate) number: u64,
    pub(crate) slot: u32,
    /// The slot task's distance from the slot's home.
    pub(crate) place: u16,
    /// Whether others wait for what it will run.
    pub(crate) is_urgent: bool,
    /// The worker whose caches have it.
    pub(crate) warm_at: u16,
}

/// Runs what is ready of a slot. Says last whether others wait for what comes next.
pub(crate) trait SlotTurn: Send + Sync {
    fn turn(&self, wanted: Wanted, worker: &Worker) -> (Turn, u32, bool);
}

/// A run, as the slot tasks know it: where its queues stand, and a number that no other run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunKey {
    place: usize,
    number: u64,
}

/// A run's part of one worker's pool.
struct OfRun {
    number: u64,
    /// One for each pool, so that workers do not count their references in one place.
    run: Arc<dyn SlotTurn>,
    wanted: VecDeque<Wanted>,
    weight: u64,
    virtual_ns: u64,
}

impl OfRun {
    fn next(&mut self, worker: u16) -> Option<Wanted> {
        let first = self.wanted.iter().take(LOOK).enumerate();
        let age = |it: &Wanted| it.number + if it.warm_at == worker { 0 } else { OLDER };
        let (nth, _) = first.min_by_key(|(_, wanted)| (!wanted.is_urgent, age(wanted)))?;
        self.wanted.remove(nth)
    }
}

#[derive(Default)]
struct Queues {
    idle: Vec<u16>,
    /// For each slot task, whether it is among the idle ones.
    is_idle: [bool; PER_WORKER],
    /// Slot tasks that run a slot at this moment.
    in_turn: usize,
    /// By their places.
    runs: Vec<Option<OfRun>>,
    /// The virtual time of the run that was last taken from.
    virtual_ns: u64,
}

impl Queues {
    fn run(&mut self, key: RunKey) -> Option<&mut OfRun> {
        self.runs.get_mut(key.place)?.as_mut().filter(|run| run.number == key.number)
    }

    /// Takes the slot that comes next.
    fn next(&mut self, worker: u16) -> Option<(RunKey, Arc<dyn SlotTurn>, Wanted)> {
        let all = self.runs.iter_mut().enumerate();
        let ready = all.filter_map(|(place, run)| {
            let run = run.as_mut().filter(|run| !run.wanted.is_empty())?;
            Some((place, run))
        });
        let (place, run) = ready.min_by_key(|(_, run)| run.virtual_ns)?;
        let wanted = run.next(worker)?;
        self.virtual_ns = run.virtual_ns;
        Some((RunKey { place, number: run.number }, run.run.clone(), wanted))
    }

    fn put(&mut self, key: RunKey, wanted: Wanted, is_first: bool) -> bool {
        let now = self.virtual_ns;
        let Some(run) = self.run(key) else { return false };
        if run.wanted.is_empty() {
            run.virtual_ns = run.virtual_ns.max(now);
        }
        match is_first {
            true => run.wanted.push_front(wanted),
            false => run.wanted.push_back(wanted),
        }
        true
    }

    /// Whether the slot tasks that are about to have a turn are enough for the slots that want one,
    /// without the one that asks, whose turn is over. So there are no more than slots: of two that
    /// ran one slot in turns at two workers, each would find it in the other's caches.
    fn are_served(&self) -> bool {
        let wanted: usize = self.runs.iter().flatten().map(|run| run.wanted.len()).sum();
        let about_to = PER_WORKER - self.idle.len() - self.in_turn - 1;
        wanted <= about_to
    }

    /// Whether there is more than one run, so that shares matter.
    fn are_shared(&self) -> bool {
        self.runs.iter().flatten().nth(1).is_some()
    }

    fn take_idle(&mut self) -> Option<u16> {
        let index = self.idle.pop()?;
        self.is_idle[usize::from(index)] = false;
        Some(index)
    }

    /// A slot task that ran elsewhere may be at home there by now: it is the last to be woken.
    fn put_idle(&mut self, index: u16, is_here: bool) {
        self.is_idle[usize::from(index)] = true;
        match is_here {
            true => self.idle.push(index),
            false => self.idle.insert(0, index),
        }
    }
}

/// One worker's, on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Pool {
    queues: Mutex<Queues>,
    tasks: OnceLock<Box<[TaskRef]>>,
}

/// All slot tasks of a system.
pub(crate) struct SlotTasks {
    pools: Arc<[Pool]>,
    /// The numbers of runs by their places; 0: free. And the latest number.
    places: Mutex<(Vec<u64>, u64)>,
}

impl SlotTasks {
    /// Makes the slot tasks of a system; those that it does not start any more have ended.
    pub(crate) fn start(tasks: &Tasks, workers: usize) -> Self {
        let pools: Arc<[Pool]> = (0..workers).map(|_| Pool::default()).collect();
        let kind = Arc::new(Kind::new("slot task"));
        for (worker, pool) in pools.iter().enumerate() {
            let mut queues = lock(&pool.queues);
            queues.idle = (0..PER_WORKER as u16).rev().collect();
            queues.is_idle = [true; PER_WORKER];
            let task = |index: usize| {
                let task = SlotTask { pools: pools.clone(), pool: worker, index: index as u16 };
                tasks.start(&kind, worker, Box::new(task))
            };
            let all: Option<Box<[TaskRef]>> = (0..PER_WORKER).map(task).collect();
            drop(queues);
            let _ = pool.tasks.set(all.unwrap_or_default());
        }
        SlotTasks { pools, places: Mutex::default() }
    }

    /// Finds a place for a run.
    pub(crate) fn key(&self) -> RunKey {
        let mut places = lock(&self.places);
        let (numbers, latest) = &mut *places;
        *latest += 1;
        let place = numbers.iter().position(|&it| it == 0).unwrap_or(numbers.len());
        if place == numbers.len() {
            numbers.push(0);
        }
        numbers[place] = *latest;
        RunKey { place, number: *latest }
    }

    /// Adds a run. `of_worker` makes what each worker's pool holds of it.
    pub(crate) fn add(
        &self,
        RunKey { place, number }: RunKey,
        weight: u32,
        of_worker: impl Fn() -> Arc<dyn SlotTurn>,
    ) {
        for pool in &*self.pools {
            let mut queues = lock(&pool.queues);
            let (run, wanted) = (of_worker(), VecDeque::with_capacity(PER_WORKER));
            let (weight, virtual_ns) = (u64::from(weight.max(1)), queues.virtual_ns);
            let of_run = OfRun { number, run, wanted, weight, virtual_ns };
            if queues.runs.len() <= place {
                queues.runs.resize_with(place + 1, || None);
            }
            queues.runs[place] = Some(of_run);
        }
    }

    /// Removes a run: no turn of it begins from now on.
    pub(crate) fn remove(&self, key: RunKey) {
        for pool in &*self.pools {
            let mut queues = lock(&pool.queues);
            let is_there = queues.run(key).is_some();
            let removed = if is_there { queues.runs[key.place].take() } else { None };
            drop(queues);
            drop(removed);
        }
        let mut places = lock(&self.places);
        if let Some(number) = places.0.get_mut(key.place).filter(|it| **it == key.number) {
            *number = 0;
        }
    }

    /// Sees to it that a slot task of this worker runs what is ready of the slot.
    pub(crate) fn work_for(&self, key: RunKey, wanted: Wanted, at: usize, from: Option<&Worker>) {
        let pool = &self.pools[at];
        let mut queues = lock(&pool.queues);
        if !queues.put(key, wanted, wanted.is_urgent) {
            return;
        }
        let idle = queues.take_idle();
        drop(queues);
        if let (Some(index), Some(tasks)) = (idle, pool.tasks.get())
            && let Some(task) = tasks.get(usize::from(index))
        {
            task.wake_from(from);
        }
    }

    /// Has a slot come before others of its run if it is among the first in this worker's queue.
    /// Returns whether it is.
    pub(crate) fn urge(&self, key: RunKey, slot: u32, at: usize) -> bool {
        let mut queues = lock(&self.pools[at].queues);
        let Some(run) = queues.run(key) else { return false };
        let found = run.wanted.iter_mut().take(LOOK).find(|wanted| wanted.slot == slot);
        found.map(|wanted| wanted.is_urgent = true).is_some()
    }
}

/// A task of the scheduler that runs modules of one slot after the other.
struct SlotTask {
    pools: Arc<[Pool]>,
    pool: usize,
    index: u16,
}

impl Task for SlotTask {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        let pool = &self.pools[self.pool];
        let mut queues = lock(&pool.queues);
        if queues.is_idle[usize::from(self.index)] {
            // Nobody woke it: its first turn.
            return (Turn::Idle, 0);
        }
        let here = worker.index() as u16;
        let Some((key, run, wanted)) = queues.next(here) else {
            queues.put_idle(self.index, worker.index() == self.pool);
            return (Turn::Idle, 0);
        };
        let clock = queues.are_shared().then(|| worker.shared().clock());
        queues.in_turn += 1;
        drop(queues);
        let began_ns = clock.map(|clock| clock.now_ns());
        let (turn, handled, is_urgent) = run.turn(wanted, worker);
        drop(run);
        let took_ns = clock.zip(began_ns).map(|(clock, began)| clock.now_ns() - began);
        let mut queues = lock(&pool.queues);
        queues.in_turn -= 1;
        if let (Some(took_ns), Some(run)) = (took_ns, queues.run(key)) {
            run.virtual_ns += took_ns.max(TURN_NS) / run.weight;
        }
        if turn == Turn::Again {
            queues.put(key, Wanted { is_urgent, warm_at: here, ..wanted }, false);
        }
        if queues.are_served() {
            queues.put_idle(self.index, worker.index() == self.pool);
            return (Turn::Idle, handled);
        }
        (Turn::Again, handled)
    }
}

impl Drop for SlotTask {
    /// The system has ended, and no turn of a run begins any more.
    fn drop(&mut self) {
        let runs = std::mem::take(&mut lock(&self.pools[self.pool].queues).runs);
        drop(runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoRun;

    impl SlotTurn for NoRun {
        fn turn(&self, _: Wanted, _: &Worker) -> (Turn, u32, bool) {
            (Turn::Idle, 0, false)
        }
    }

    fn of_run(wanted: impl IntoIterator<Item = Wanted>) -> OfRun {
        let (run, wanted) = (Arc::new(NoRun), wanted.into_iter().collect());
        OfRun { number: 1, run, wanted, weight: 1, virtual_ns: 0 }
    }

    fn wanted(number: u64, warm_at: u16, is_urgent: bool) -> Wanted {
        Wanted { number, slot: number as u32, place: 0, is_urgent, warm_at }
    }

    #[test]
    fn a_slot_goes_on_where_it_is_warm_unless_another_is_much_older() {
        let next = |all: &[(u64, u16)], worker| {
            let mut run = of_run(all.iter().map(|&(number, at)| wanted(number, at, false)));
            run.next(worker).map(|it| it.number)
        };
        let two = [(3, 1), (7, 0)];
        assert_eq!((next(&two, 0), next(&two, 1)), (Some(7), Some(3)));
        assert_eq!(next(&[(9, 0), (8, 0)], 0), Some(8), "the oldest");
        assert_eq!(next(&[(3, 1), (3 + OLDER, 0)], 0), Some(3), "rather than none for ever");
        assert_eq!(next(&[(3, 1)], 0), Some(3), "rather than nothing");
        let mut run = of_run([wanted(1, 0, false), wanted(9, 1, true)]);
        assert_eq!(run.next(0).map(|it| it.number), Some(9), "others wait for it");
    }

    #[test]
    fn there_are_no_more_slot_tasks_than_slots_and_enough_for_all() {
        let queues = |wanted: &[Wanted], active: usize, in_turn| Queues {
            idle: (active as u16..PER_WORKER as u16).collect(),
            in_turn,
            runs: vec![None, Some(of_run(wanted.iter().copied()))],
            ..Queues::default()
        };
        let [one, two] = [wanted(1, 0, false), wanted(2, 0, false)];
        assert!(queues(&[], 1, 0).are_served(), "there is nothing to do");
        assert!(!queues(&[one], 1, 0).are_served(), "only the one that asks");
        assert!(queues(&[one], 2, 0).are_served());
        assert!(!queues(&[one], 2, 1).are_served(), "the other may run for long");
        assert!(!queues(&[one, two], 2, 0).are_served());
        assert!(queues(&[one, two], 4, 1).are_served());
    }
}

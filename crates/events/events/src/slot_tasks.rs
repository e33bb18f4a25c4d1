//! Slot tasks: the tasks of the scheduler that run modules.
//!
//! A worker has a pool of them, as many as slots may want at a time but never many, each at home
//! there, and a queue of slots that have something ready. A slot task that has its turn takes a
//! slot from the queue, runs modules of it, and puts it back when there is more to do. Which slot
//! task that is does not matter: whoever puts a slot into the queue wakes the idle slot task that
//! was used last, for its memory is warm, and when a slot task is stolen by another worker it takes
//! what its own pool's queue has next.
//!
//! What comes next is a slot whose module has been handed a resource, for others wait for that;
//! then the oldest event: when events take turns evenly, they all come to their end, and to what is
//! serial there, at the same time. Only the first few of the queue are looked at.
//!
//! No slot is forgotten: a slot task becomes idle, under the pool's lock, only when the queue is
//! empty, and whoever puts a slot into it wakes an idle slot task if there is one.

use actinium_scheduler::runnable::Kind;
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::{Task, TaskRef, Tasks};
use actinium_scheduler::{Turn, Worker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

/// Slot tasks of a worker: enough that others have something to steal, few enough that they stay in
/// its cache ...
const PER_WORKER_MAX: usize = 256;
/// ... and enough that some are at home where they were made.
const PER_WORKER_MIN: usize = 16;
/// The largest number of workers that can work on one event at a time.
const PER_SLOT_MAX: usize = 16;
/// The number of slots beyond which there is enough else to do.
const SLOTS_MANY: usize = 1_024;

/// How many in the queue are looked at to find the oldest event.
const LOOK: usize = 16;

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
}

#[derive(Default)]
struct Queue {
    idle: Vec<u16>,
    /// For each slot task, whether it is among the idle ones.
    is_idle: Box<[bool]>,
    wanted: VecDeque<Wanted>,
}

impl Queue {
    fn next(&mut self) -> Option<Wanted> {
        let first = self.wanted.iter().take(LOOK).enumerate();
        let (nth, _) = first.min_by_key(|(_, wanted)| (!wanted.is_urgent, wanted.number))?;
        self.wanted.remove(nth)
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

struct Pool {
    queue: Mutex<Queue>,
    tasks: OnceLock<Box<[TaskRef]>>,
}

/// All slot tasks.
pub(crate) struct SlotTasks {
    pools: Box<[Pool]>,
    pub(crate) per_slot: usize,
}

impl SlotTasks {
    pub(crate) fn new(workers: usize, slots: usize) -> Self {
        let per_slot = workers.min(if slots > SLOTS_MANY { 2 } else { PER_SLOT_MAX });
        let per_worker = (slots.div_ceil(workers).saturating_mul(per_slot))
            .clamp(PER_WORKER_MIN, PER_WORKER_MAX);
        let pool = |_| Pool {
            queue: Mutex::new(Queue {
                idle: (0..per_worker as u16).rev().collect(),
                is_idle: vec![true; per_worker].into(),
                wanted: VecDeque::with_capacity(per_worker),
            }),
            tasks: OnceLock::new(),
        };
        SlotTasks { pools: (0..workers).map(pool).collect(), per_slot }
    }

    /// Makes the tasks, before anything runs. `turn` makes what each does with a slot.
    pub(crate) fn start<T: SlotTurn>(self: &Arc<Self>, tasks: &Tasks, turn: impl Fn() -> T) {
        let kind = Arc::new(Kind::new("slot task"));
        for (worker, pool) in self.pools.iter().enumerate() {
            let task = |index: usize| {
                let (all, turn) = (self.clone(), turn());
                let task = SlotTask { all, turn, pool: worker as u16, index: index as u16 };
                tasks.start(&kind, worker, Box::new(task))
            };
            let _ = pool.tasks.set((0..lock(&pool.queue).idle.len()).map(task).collect());
        }
    }

    /// Sees to it that a slot task of this worker runs what is ready of the slot.
    pub(crate) fn work_for(&self, wanted: Wanted, at: usize, from: Option<&Worker>) {
        let pool = &self.pools[at];
        let mut queue = lock(&pool.queue);
        match wanted.is_urgent {
            true => queue.wanted.push_front(wanted),
            false => queue.wanted.push_back(wanted),
        }
        let idle = queue.take_idle();
        drop(queue);
        if let (Some(index), Some(tasks)) = (idle, pool.tasks.get()) {
            tasks[usize::from(index)].wake_from(from);
        }
    }

    /// Has a slot come before others if it is among the first in this worker's queue. Returns
    /// whether it is.
    pub(crate) fn urge(&self, slot: u32, at: usize) -> bool {
        let mut queue = lock(&self.pools[at].queue);
        let found = queue.wanted.iter_mut().take(LOOK).find(|wanted| wanted.slot == slot);
        found.map(|wanted| wanted.is_urgent = true).is_some()
    }
}

/// Runs what is ready of a slot. Says last whether others wait for what comes next.
pub(crate) trait SlotTurn:
    Fn(Wanted, &Worker) -> (Turn, u32, bool) + Send + Sync + 'static
{
}
impl<T: Fn(Wanted, &Worker) -> (Turn, u32, bool) + Send + Sync + 'static> SlotTurn for T {}

/// A task of the scheduler that runs modules of one slot after the other.
struct SlotTask<T> {
    all: Arc<SlotTasks>,
    turn: T,
    pool: u16,
    index: u16,
}

impl<T: SlotTurn> Task for SlotTask<T> {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        let pool = &self.all.pools[usize::from(self.pool)];
        let mut queue = lock(&pool.queue);
        if queue.is_idle[usize::from(self.index)] {
            // Nobody woke it: its first turn.
            return (Turn::Idle, 0);
        }
        let Some(wanted) = queue.next() else {
            queue.put_idle(self.index, worker.index() == usize::from(self.pool));
            return (Turn::Idle, 0);
        };
        drop(queue);
        let (turn, handled, is_urgent) = (self.turn)(wanted, worker);
        let mut queue = lock(&pool.queue);
        if turn == Turn::Again {
            queue.wanted.push_back(Wanted { is_urgent, ..wanted });
        } else if queue.wanted.is_empty() {
            queue.put_idle(self.index, worker.index() == usize::from(self.pool));
            return (Turn::Idle, handled);
        }
        (Turn::Again, handled)
    }
}

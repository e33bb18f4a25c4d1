//! A cell, the lanes between workers, theft and the end of life together.
//!
//! Whole workers have too many schedules. So all is one thread's until a sender's turn comes to
//! [`GO`]; from there on, with what is buffered by then, the models look at all schedules and
//! orders of memory with few preemptions. Where that is decides what a model can notice.
//!
//! The scheduler and both parts of the mailbox are the real ones. What is between them, `cell/`,
//! does not build under loom (it needs the executors of futures): what of it takes part in these
//! protocols stands here again, step by step with the same orderings. Memory is not freed but
//! marked, so that loom tells of whoever still uses it, and of what is not ordered before.
//!
//! A program of its own: it is built with `--cfg loom`.
#![cfg(loom)]

#[allow(dead_code)]
#[path = "../src/mailbox/envelope.rs"]
mod envelope;
#[allow(dead_code)]
#[path = "../src/mailbox/own.rs"]
mod own;
#[allow(dead_code)]
#[path = "../src/mailbox/shared.rs"]
mod shared;

use actinium_scheduler::runnable::{
    FIRST_FREE, Header, Kind, LaneEntries, NOTIFIED, Runnable, Turn, VTable, Words, WorkerRef,
};
use actinium_scheduler::sync::OwnerCell;
use actinium_scheduler::{Affine, Clock, Policy, Settings, Shared, Worker};
use envelope::Envelope;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use own::{Ends, RawRing};
use shared::SharedQueue;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize as Count, Ordering::Relaxed};
use std::time::Duration;

/// A message that ends who gets it.
const END: u32 = 99;
/// A message that is passed on as [`END`].
const PASS_END: u32 = 98;
/// A message that is not passed on: what [`Book::go`] says is done then, in the midst of the turn.
const GO: u32 = 97;
/// A message that ends the turn, with more to do.
const YIELD: u32 = 96;
/// As in `cell`: messages only go to the shared part.
const SHARED_ONLY: u8 = FIRST_FREE;

/// What is known of all cells of a model when it is over.
#[derive(Default)]
struct Book {
    /// What the receiver has handled, in its order.
    handled: std::sync::Mutex<Vec<u32>>,
    /// What came back to its sender, or was in the mailbox at the end.
    dead: std::sync::Mutex<Vec<u32>>,
    ended: Count,
    freed: Count,
    /// What is done when somebody comes to [`GO`], for each time.
    go: std::sync::Mutex<VecDeque<Box<dyn FnOnce() + Send>>>,
    /// Whose memory goes when the model is over.
    memory: std::sync::Mutex<Vec<usize>>,
}

/// As `cell::ActorCell`.
#[repr(C)]
struct Cell {
    header: Header,
    own: OwnerCell<RawRing>,
    own_ends: Ends,
    shared: SharedQueue<u32>,
    strong: AtomicU32,
    refs: AtomicU32,
    /// A grace period is over since it was without addresses.
    linger_is_over: AtomicBool,
    lingering: OwnerCell<bool>,
    /// To whom it passes on what it gets; the receiver has nobody.
    next: OwnerCell<Option<CellRef>>,
    /// Read by whoever uses the memory, written when it would be freed.
    freed: UnsafeCell<bool>,
    book: std::sync::Arc<Book>,
}

const VTABLE: VTable = VTable { sort: "cell", run, dispose, release, number, pending, deliver };

/// As `cell::CellRef`: an address.
struct CellRef(NonNull<Cell>);

// SAFETY: a cell is used through atomics, but for what its owner touches.
unsafe impl Send for CellRef {}
// SAFETY: as above.
unsafe impl Sync for CellRef {}

/// # Safety
/// `header` leads a cell that was not given back to the allocator, which happens when a model is
/// over.
unsafe fn cell_of<'a>(header: NonNull<Header>) -> &'a Cell {
    // SAFETY: by contract.
    let cell = unsafe { header.cast::<Cell>().as_ref() };
    cell.is_used();
    cell
}

impl Cell {
    fn is_used(&self) {
        // SAFETY: loom checks that nobody writes it meanwhile.
        self.freed.with(|freed| assert!(!unsafe { *freed }, "used after it was freed"));
    }

    fn runnable(&self) -> Runnable {
        // SAFETY: memory goes when the model is over.
        unsafe { Runnable::new(NonNull::from(&self.header)) }
    }

    fn flags(&self) -> u8 {
        // SAFETY: the owner asks.
        unsafe { self.header.with_private(|private| private.flags) }
    }

    fn set_flags(&self, set: u8, clear: u8) {
        // SAFETY: the owner's turn.
        unsafe { self.header.with_private(|private| private.flags = private.flags & !clear | set) }
    }

    fn takes_own(&self) -> bool {
        self.flags() & (NOTIFIED | SHARED_ONLY) == 0 && !self.header.is_notified()
    }

    fn push_own(&self, msg: u32) {
        // SAFETY: the owner pushes; the ring holds such envelopes.
        unsafe { self.own.with(|own| own.of(&self.own_ends).push(Envelope { stamp_ns: 0, msg })) }
    }

    fn pop_own(&self) -> Option<u32> {
        // SAFETY: as above.
        let envelope: Option<Envelope<u32>> =
            unsafe { self.own.with(|own| own.of(&self.own_ends).pop()) };
        envelope.map(|envelope| envelope.msg)
    }

    fn wake(&self, worker: &Worker) {
        if self.header.is_owned_by(worker.id()) {
            // SAFETY: this worker owns it.
            unsafe { worker.notify_owned(self.runnable()) };
        } else {
            // SAFETY: whoever wakes it has a reference.
            unsafe { Worker::notify(worker.shared(), self.runnable(), Some(worker)) };
        }
    }

    /// As `Address::send`, from a turn.
    fn send(&self, msg: u32, worker: &Worker) {
        self.is_used();
        if self.header.is_owned_by(worker.id()) {
            if self.takes_own() {
                self.push_own(msg);
                // SAFETY: this worker owns it.
                return unsafe { worker.schedule(self.runnable()) };
            }
            // SAFETY: the caller has an address.
        } else if unsafe { worker.reaches(self.runnable()) } {
            // SAFETY: alive, for the caller has an address; its messages are of this type.
            match unsafe { worker.send_via_lane(self.runnable(), 0, msg) } {
                Ok(()) => return,
                Err(back) => assert_eq!(back, msg),
            }
        } else {
            worker.flush_open_lanes();
        }
        self.push_shared(msg, worker);
    }

    fn push_shared(&self, msg: u32, worker: &Worker) {
        match self.shared.push(msg, 0, true) {
            Ok(_) => self.wake(worker),
            Err(_) => self.book.dead.lock().unwrap().push(msg),
        }
    }

    fn refill(&self) -> bool {
        let mut moved = false;
        for _ in 0..2 {
            let Some(envelope) = self.shared.pop() else {
                if self.shared.is_empty() {
                    self.set_flags(0, NOTIFIED);
                }
                return moved;
            };
            self.push_own(envelope.msg);
            moved = true;
        }
        true
    }

    fn refill_all(&self) -> bool {
        if self.flags() & SHARED_ONLY != 0 {
            return false;
        }
        while !self.shared.is_empty() {
            if !self.refill() {
                return false;
            }
        }
        true
    }

    fn turn(&self, worker: &Worker) -> Turn {
        // Acquire: pairs with the release of the grace period's end.
        if self.linger_is_over.swap(false, Ordering::Acquire) {
            // SAFETY: the owner's turn.
            unsafe { self.lingering.with(|lingering| *lingering = false) };
            if self.is_orphaned() && self.own_ends.len() == 0 && self.shared.is_empty() {
                return self.end(worker);
            }
        }
        loop {
            let Some(msg) = self.pop_own() else {
                let may_have = self.flags() & NOTIFIED != 0 || self.header.is_notified();
                if may_have && self.refill() {
                    continue;
                }
                return self.rest(worker);
            };
            if msg == END {
                return self.end(worker);
            }
            if msg == YIELD {
                return Turn::Again;
            }
            if msg == GO {
                let go = self.book.go.lock().unwrap().pop_front();
                go.expect("not more often")();
                continue;
            }
            let passed = if msg == PASS_END { END } else { msg };
            // SAFETY: the owner's turn; sending comes not back to it.
            let is_passed_on = unsafe {
                self.next.with(|next| next.as_ref().map(|next| next.get().send(passed, worker)))
            };
            if is_passed_on.is_none() {
                self.book.handled.lock().unwrap().push(msg);
            }
        }
    }

    fn is_orphaned(&self) -> bool {
        // Acquire: as in `cell`.
        self.strong.load(Ordering::Acquire) == 0
    }

    fn rest(&self, worker: &Worker) -> Turn {
        if !self.is_orphaned() {
            return Turn::Idle;
        }
        if !self.shared.is_empty() {
            return Turn::Again;
        }
        if worker.may_be_under_way() {
            // SAFETY: the owner's turn.
            if !unsafe { self.lingering.with(|lingering| std::mem::replace(lingering, true)) } {
                // Relaxed: the owner's turn has the scheduler's reference.
                self.refs.fetch_add(1, Ordering::Relaxed);
                let me = CoreRef(NonNull::from(self));
                worker.after_grace(Box::new(move |worker| {
                    // SAFETY: the reference keeps it.
                    let cell = unsafe { me.0.as_ref() };
                    cell.is_used();
                    // Release: pairs with the acquire in `turn`.
                    cell.linger_is_over.store(true, Ordering::Release);
                    cell.wake(worker);
                    drop(me);
                }));
            }
            return Turn::Idle;
        }
        if !self.shared.is_empty() {
            return Turn::Again;
        }
        self.end(worker)
    }

    /// As `ActorCell::end`: closed, what is left is dead, its addresses go.
    fn end(&self, worker: &Worker) -> Turn {
        self.header.close_lanes();
        self.set_flags(SHARED_ONLY, 0);
        self.shared.close();
        let mut dead = Vec::new();
        while let Some(msg) =
            self.pop_own().or_else(|| self.shared.pop_closed().map(|envelope| envelope.msg))
        {
            dead.push(msg);
        }
        self.book.dead.lock().unwrap().extend(dead);
        self.book.ended.fetch_add(1, Relaxed);
        // SAFETY: the owner's turn; what is dropped is dropped outside.
        if let Some(next) = unsafe { self.next.with(Option::take) } {
            next.drop_at(worker);
        }
        Turn::Dead
    }
}

/// As `cell::CoreRef`: keeps the memory.
struct CoreRef(NonNull<Cell>);

// SAFETY: as `CellRef`.
unsafe impl Send for CoreRef {}

impl Drop for CoreRef {
    fn drop(&mut self) {
        // SAFETY: gives up the reference that this stands for.
        unsafe { release(self.0.cast()) }
    }
}

impl CellRef {
    /// A cell that nobody has started, with its first address.
    fn create(
        next: Option<CellRef>,
        home: usize,
        messages: &[u32],
        book: &std::sync::Arc<Book>,
    ) -> Self {
        let cell = Box::new(Cell {
            header: Header::new(&VTABLE, Arc::new(Kind::new("cell")), home, 0, Words::default()),
            own: OwnerCell::new(RawRing::new()),
            own_ends: Ends::new(),
            shared: SharedQueue::new(None),
            strong: AtomicU32::new(1),
            refs: AtomicU32::new(2),
            linger_is_over: AtomicBool::new(false),
            lingering: OwnerCell::new(false),
            next: OwnerCell::new(next),
            freed: UnsafeCell::new(false),
            book: book.clone(),
        });
        messages.iter().for_each(|&msg| cell.push_own(msg));
        let cell = NonNull::from(Box::leak(cell));
        book.memory.lock().unwrap().push(cell.as_ptr().expose_provenance());
        CellRef(cell)
    }

    fn get(&self) -> &Cell {
        // SAFETY: memory goes when the model is over.
        unsafe { self.0.as_ref() }
    }

    /// As `Drop for cell::CellRef`.
    fn drop_at(self, worker: &Worker) {
        let cell = self.get();
        cell.is_used();
        // Release, Acquire: as there.
        if cell.strong.fetch_sub(1, Ordering::Release) == 1 {
            cell.strong.load(Ordering::Acquire);
            if !cell.shared.is_closed() {
                cell.wake(worker);
            }
            // SAFETY: gives up the reference that all addresses stand for.
            unsafe { release(self.0.cast()) }
        }
    }
}

fn number(_: NonNull<Header>) -> u64 {
    0
}

unsafe fn pending(header: NonNull<Header>) -> usize {
    // SAFETY: only cells have this function.
    let cell = unsafe { cell_of(header) };
    cell.own_ends.len() as usize + cell.shared.len()
}

unsafe fn deliver(
    header: NonNull<Header>,
    entries: &mut LaneEntries<'_>,
    worker: WorkerRef<'_>,
) -> u64 {
    let worker = worker.get();
    // SAFETY: only cells have this function.
    let cell = unsafe { cell_of(header) };
    let is_own = cell.header.is_owned_by(worker.id()) && (cell.takes_own() || cell.refill_all());
    let mut delivered = 0;
    loop {
        // SAFETY: by contract there is one, and it is for this cell.
        let (_, msg) = unsafe { entries.take::<u32>() };
        if is_own {
            cell.push_own(msg);
        } else {
            cell.push_shared(msg, worker);
        }
        delivered += 1;
        if entries.next_to() != Some(header) {
            break;
        }
    }
    if is_own {
        // SAFETY: this worker owns it.
        unsafe { worker.schedule(cell.runnable()) };
    }
    delivered
}

unsafe fn run(header: NonNull<Header>, worker: WorkerRef<'_>) -> (Turn, u32) {
    // SAFETY: only cells have this function.
    (unsafe { cell_of(header) }.turn(worker.get()), 1)
}

unsafe fn dispose(header: NonNull<Header>, worker: WorkerRef<'_>) {
    // SAFETY: only cells have this function.
    unsafe { cell_of(header) }.end(worker.get());
}

/// As `cell::memory::release`.
unsafe fn release(header: NonNull<Header>) {
    // SAFETY: only cells have this function, and the caller has a reference.
    let cell = unsafe { cell_of(header) };
    // Release, Acquire: as there.
    if cell.refs.fetch_sub(1, Ordering::Release) == 1 {
        cell.refs.load(Ordering::Acquire);
        // SAFETY: the last reference; loom checks that every use comes before.
        cell.freed.with_mut(|freed| unsafe { *freed = true });
        cell.book.freed.fetch_add(1, Relaxed);
    }
}

/// Two workers, of which each takes what the other shares.
fn scheduler(workers: usize) -> Arc<Shared> {
    let thievish = Affine {
        wait_worth_moving_ns: 0,
        cost_worth_moving_ns: 0,
        distance_ns: 0,
        steals_to_rehome: 1,
        ..Affine::DEFAULT
    };
    let settings = Settings {
        workers,
        policy: Policy::Affine(thievish),
        batch: 4,
        batch_time: Duration::from_secs(1),
        figures: false,
        elastic: None,
        pus: Vec::new(),
    };
    Arc::new(Shared::new(settings, None, Clock::virtual_time()))
}

/// A worker on its way from a thread to another.
struct Moved(Worker);

// SAFETY: it is used by one thread at a time, each of which sees what the one before did, for it
// was spawned or joined.
unsafe impl Send for Moved {}

/// Runs a turn, if there is something to run: each such step looks at all sources of work, which is
/// a page of places to be interrupted at.
fn step(worker: &Worker) -> bool {
    worker.enter(|worker| worker.step(|_| 0, |_| ()))
}

/// A thread that does some steps of a worker, and gives it back.
fn spawn(worker: Moved, steps: usize) -> thread::JoinHandle<Moved> {
    thread::spawn(move || {
        let worker = worker;
        (0..steps).for_each(|_| _ = step(&worker.0));
        worker
    })
}

/// Where something is left at a `GO`.
type Place<T> = std::sync::Arc<std::sync::Mutex<Option<T>>>;

/// A world of two cells: a sender that has been sent `sends`, passes them on and ends, and a
/// receiver.
struct World {
    book: std::sync::Arc<Book>,
    shared: Arc<Shared>,
    workers: Vec<Worker>,
}

impl World {
    fn new(workers: usize, sends: &[u32], receiver_home: usize, receiver_has: &[u32]) -> Self {
        let book = std::sync::Arc::new(Book::default());
        let shared = scheduler(workers);
        let receiver = CellRef::create(None, receiver_home, receiver_has, &book);
        let receiver_runs = receiver.get().runnable();
        let sender = CellRef::create(Some(receiver), 0, sends, &book);
        // Nobody has its address: it ends when it has passed on what it has.
        sender.get().strong.store(0, Ordering::Relaxed);
        sender.get().refs.store(1, Ordering::Relaxed);
        // SAFETY: just made, each with a reference for the scheduler.
        unsafe {
            shared.start(sender.get().runnable(), 0);
            shared.start(receiver_runs, receiver_home);
        }
        let workers = (0..workers).map(|index| Worker::new(shared.clone(), index)).collect();
        World { book, shared, workers }
    }

    /// An address of the sender, which then does not end by itself: before anybody runs it.
    fn sender(&self) -> CellRef {
        let cell = self.book.memory.lock().unwrap()[1];
        let cell = std::ptr::with_exposed_provenance_mut::<Cell>(cell);
        let sender = CellRef(NonNull::new(cell).unwrap());
        sender.get().strong.store(1, Ordering::Relaxed);
        sender.get().refs.store(2, Ordering::Relaxed);
        sender
    }

    /// What is done when somebody comes to `GO` next.
    fn at_go(&self, f: impl FnOnce() + Send + 'static) {
        self.book.go.lock().unwrap().push_back(Box::new(f));
    }

    /// The last worker, which does so many steps on a thread of its own when the sender comes to
    /// `GO`.
    fn let_go(&mut self, steps: usize) -> Place<thread::JoinHandle<Moved>> {
        let running = Place::default();
        let (last, place) = (Moved(self.workers.pop().unwrap()), running.clone());
        self.at_go(move || *place.lock().unwrap() = Some(spawn(last, steps)));
        running
    }

    /// Worker 1, which shares the receiver while the sender is at `GO`: then somebody begins to
    /// look for work.
    fn expose_at_go(&mut self) -> Place<Moved> {
        // It takes the receiver over.
        step(&self.workers[1]);
        let back = Place::default();
        let (middle, place, shared) =
            (Moved(self.workers.remove(1)), back.clone(), self.shared.clone());
        self.at_go(move || {
            let middle = middle;
            step(&middle.0);
            *place.lock().unwrap() = Some(middle);
        });
        // The receiver's, in that step.
        self.at_go(move || shared.sleep().start_looking());
        back
    }

    /// What is left is done on this thread, by all workers, the last ones first; then all is over.
    fn finish(self, check: impl Fn(&[u32], &[u32])) {
        // Grace periods, too, are over after some rounds.
        for _ in 0..8 {
            self.workers.iter().rev().for_each(|worker| while step(worker) {});
        }
        let book = self.book;
        check(&book.handled.lock().unwrap(), &book.dead.lock().unwrap());
        assert_eq!(book.ended.load(Relaxed), 2, "each ends once");
        assert_eq!(book.freed.load(Relaxed), 2, "each is freed once");
        for cell in book.memory.lock().unwrap().drain(..) {
            // SAFETY: made of a box, and nobody is there any more.
            unsafe { free(std::ptr::with_exposed_provenance_mut::<Cell>(cell)) }
        }
    }
}

/// What was left there.
fn taken<T>(place: &Place<T>) -> T {
    place.lock().unwrap().take().expect("the sender came to GO")
}

/// Looks at all schedules with so many preemptions fewer than LOOM_MAX_PREEMPTIONS says; if those
/// are more than usual, at the first 200,000.
fn model(fewer: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    let preemptions = builder.preemption_bound.unwrap_or(3);
    builder.preemption_bound = Some((preemptions - fewer).max(1));
    builder.max_permutations = (preemptions > 3).then_some(200_000);
    builder.max_branches = 100_000;
    let schedules = std::sync::Arc::new(Count::new(0));
    let count = schedules.clone();
    builder.check(move || {
        count.fetch_add(1, Relaxed);
        f();
    });
    eprintln!("{} schedules", schedules.load(Relaxed));
}

/// Two workers. The receiver is at home at one of them; while it is at the sender's, the other may
/// steal either.
fn pass_on(
    fewer: usize,
    receiver_home: usize,
    sends: &'static [u32],
    check: impl Fn(&[u32], &[u32]) + Send + Sync + 'static,
) {
    model(fewer, move || {
        let mut world = World::new(2, sends, receiver_home, &[]);
        // Somebody looks for work: what can be shared, is.
        world.shared.sleep().start_looking();
        // It takes over what is at home there.
        step(&world.workers[1]);
        let running = world.let_go(2);
        (0..2).for_each(|_| _ = step(&world.workers[0]));
        world.workers.push(taken(&running).join().unwrap().0);
        world.finish(&check);
    });
}

/// # Safety
/// The cell was made of a box, and nobody uses it any more.
unsafe fn free(cell: *mut Cell) {
    // SAFETY: by contract; the ring holds such envelopes.
    unsafe {
        let cell = Box::from_raw(cell);
        cell.own.with(|own| own.of::<Envelope<u32>>(&cell.own_ends).free());
    }
}

/// What is asked for wherever the receiver begins.
fn in_order(handled: &[u32], dead: &[u32]) {
    assert_eq!((handled, dead), (&[1, 2][..], &[][..]));
}

fn until_the_end(handled: &[u32], dead: &[u32]) {
    assert_eq!((handled, dead), (&[1][..], &[2][..]));
}

#[test]
fn what_a_sender_that_ends_has_sent_to_another_worker_is_handled_in_order() {
    pass_on(1, 1, &[1, 2, GO, END], in_order);
}

#[test]
fn what_a_sender_that_ends_has_sent_to_one_that_may_be_stolen_is_handled_in_order() {
    pass_on(1, 0, &[1, 2, GO, END], in_order);
    pass_on(2, 0, &[1, GO, 2, END], in_order);
}

#[test]
fn a_receiver_that_ends_leaves_nothing_in_lanes_and_is_not_used_after_it_is_freed() {
    pass_on(1, 1, &[1, PASS_END, 2, GO, END], until_the_end);
    pass_on(2, 1, &[1, PASS_END, GO, 2, END], until_the_end);
}

#[test]
fn a_receiver_that_ends_at_a_thief_loses_nothing_and_is_not_used_after_it_is_freed() {
    pass_on(1, 0, &[1, PASS_END, GO, 2, END], until_the_end);
    pass_on(2, 0, &[1, GO, PASS_END, 2, END], until_the_end);
}

/// What the sender has sent first lies in its lane to the one worker when the receiver goes to the
/// other.
#[test]
fn what_is_sent_to_one_that_has_moved_does_not_overtake_what_lies_in_a_lane() {
    model(2, || {
        let mut world = World::new(3, &[1, GO, GO, 2, END], 1, &[YIELD, GO, YIELD]);
        let middle = world.expose_at_go();
        let running = world.let_go(1);
        step(&world.workers[0]);
        world.workers.push(taken(&middle).0);
        world.workers.push(taken(&running).join().unwrap().0);
        world.finish(in_order);
    });
}

/// A sender at a worker that then takes the receiver, if the other does not take it back.
fn steal_after(sends: &'static [u32]) {
    model(2, move || {
        let mut world = World::new(2, sends, 1, &[YIELD, GO, YIELD]);
        let sender = world.sender();
        let other = world.expose_at_go();
        step(&world.workers[0]);
        let other = spawn(taken(&other), 1);
        let thief = &world.workers[0];
        step(thief);
        // Nobody looks for work any more, or what shares something would flush what the theft did
        // not.
        world.shared.sleep().stop_looking();
        for msg in [2, END] {
            sender.get().push_shared(msg, thief);
        }
        sender.drop_at(thief);
        step(thief);
        world.workers.push(other.join().unwrap().0);
        world.finish(in_order);
    });
}

#[test]
fn what_a_thief_has_in_a_lane_comes_before_what_it_sends_to_what_it_has_stolen() {
    steal_after(&[1, GO]);
}

#[test]
fn what_was_sent_to_one_in_transit_comes_before_what_a_thief_sends() {
    steal_after(&[GO, 1]);
}

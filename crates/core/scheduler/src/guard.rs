//! Calls of user code, and ends of user values, that must not take down whoever makes them.
//!
//! User code runs in the middle of the runtime's own: a destructor while a mailbox is cleared, a
//! listener while an actor ends, a waker while a worker looks at the time. It may panic, its
//! panic's payload may panic when it is dropped, and it may come back to the runtime. So there is
//! one way to do each of these:
//!
//! - [`catch`] calls, and makes of a panic what it said: a [`Panicked`]. The payload is gone by
//!   then.
//! - [`drop_guarded`] drops a value of the user's; [`Guarded`] holds one and drops it so at its
//!   end, for what may die in many places (a closure in a timer, a future, a module).
//! - [`unnested`] calls what the end of something brings about (a listener, a destructor): never
//!   inside another such call, but after it. So what these cause is a queue and not a stack, and it
//!   has an end ([`GENERATIONS`], [`CALLS`]).
//!
//! Two panics at a time end the process, by Rust's own rule: a destructor that panics while a panic
//! unwinds. So each value is dropped by itself.

use crate::counters::Counter;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, needs_drop};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// How often what an [`unnested`] call causes may cause another in its turn.
pub const GENERATIONS: u32 = 8;
/// Most [`unnested`] calls that one of them may bring about in all.
pub const CALLS: usize = 1 << 16;
/// The number of panics' payloads that may panic one after the other when they are dropped. The
/// next payload is forgotten.
const PAYLOADS: usize = 8;

/// The message of a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(Box<str>);

impl Panicked {
    /// The panic's message, or a remark that it had none.
    pub fn message(&self) -> &str {
        &self.0
    }

    #[cold]
    fn of(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let panicked = Panicked(text.unwrap_or("(a panic whose payload is not a string)").into());
        drop_payload(payload);
        panicked
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it panicked: {}", self.0)
    }
}

impl std::error::Error for Panicked {}

/// A payload's destructor is the user's, too.
#[cold]
fn drop_payload(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// Calls user code.
///
/// # Errors
/// If it panics: what the panic said.
#[inline(always)]
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(Panicked::of)
}

/// Drops a value of the user's here and now.
///
/// # Errors
/// If its destructor panics: what the panic said.
pub fn drop_caught<T>(value: T) -> Result<(), Panicked> {
    if !needs_drop::<T>() {
        return Ok(());
    }
    catch(|| drop(value))
}

/// Drops a value of the user's: now or, if this happens in an [`unnested`] call, after that. A
/// panic of its destructor is counted at the worker that this happens on; the panic's hook has
/// shown it.
#[inline]
pub fn drop_guarded<T: 'static>(value: T) {
    drop_guarded_and(value, |_| count_here());
}

/// Does what [`drop_guarded`] does, and calls `on_panic` if the destructor panics.
///
/// Where too much is nested the value is forgotten, as by [`std::mem::forget`].
#[inline]
pub fn drop_guarded_and<T: 'static>(value: T, on_panic: impl FnOnce(Panicked) + 'static) {
    if needs_drop::<T>()
        && let Err(job) = unnested_and(move || drop(value), on_panic)
    {
        std::mem::forget(job);
    }
}

/// Wakes; a waker is the user's. A panic is counted at the worker that this happens on.
pub fn wake(waker: Waker) {
    if catch(|| waker.wake()).is_err() {
        count_here();
    }
}

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static PANICS: Cell<*const Counter> = const { Cell::new(std::ptr::null()) };
}
#[cfg(any(loom, shuttle))]
crate::sync::thread_local! {
    static PANICS: Cell<*const Counter> = Cell::new(std::ptr::null());
}

/// Counts this thread's panics of user code, until it is dropped; then the counter before it does
/// again.
#[derive(Debug)]
pub(crate) struct CountsPanics<'a> {
    before: *const Counter,
    _counter: PhantomData<&'a Counter>,
}

impl<'a> CountsPanics<'a> {
    /// Counts with this counter, of which this thread is the one writer.
    ///
    /// # Safety
    /// The caller drops the value, and before any that was made before it.
    pub(crate) unsafe fn with(counter: &'a Counter) -> Self {
        CountsPanics { before: PANICS.with(|it| it.replace(counter)), _counter: PhantomData }
    }
}

impl Drop for CountsPanics<'_> {
    fn drop(&mut self) {
        PANICS.with(|it| it.set(self.before));
    }
}

/// Counts a panic of user code at the worker that this thread is, if it is one.
#[cold]
pub fn count_here() {
    let counter = PANICS.with(Cell::get);
    // SAFETY: `CountsPanics` sets the pointer to a counter that it borrows for as long as it is
    // set.
    if let Some(counter) = unsafe { counter.as_ref() } {
        counter.add(1);
    }
}

/// The calls that one thread has to make when the present call is over.
struct Agenda {
    /// The generation of the present call; 0: there is none.
    generation: Cell<u32>,
    /// How many were put down since there was none.
    calls: Cell<usize>,
    waiting: RefCell<VecDeque<(u32, Job)>>,
}

// tidy: guard: what is in it is called or given back, and never dropped. It does not panic: it is
// made by `call`.
type Job = Box<dyn FnOnce()>;

/// Calls `job`; what is to be done when it panics may panic, too, and is only counted then.
#[inline]
fn call(job: impl FnOnce(), on_panic: impl FnOnce(Panicked)) {
    if let Err(panicked) = catch(job)
        && catch(|| on_panic(panicked)).is_err()
    {
        count_here();
    }
}

impl Agenda {
    const fn new() -> Self {
        Agenda {
            generation: Cell::new(0),
            calls: Cell::new(0),
            waiting: RefCell::new(VecDeque::new()),
        }
    }

    fn is_full(&self) -> bool {
        self.generation.get() >= GENERATIONS || self.calls.get() >= CALLS
    }

    /// Calls the first, and then all that this has brought about.
    #[inline]
    fn work_off(&self, first: impl FnOnce(), on_panic: impl FnOnce(Panicked)) {
        self.generation.set(1);
        call(first, on_panic);
        if self.calls.get() > 0 {
            self.work_off_the_rest();
        }
        self.generation.set(0);
    }

    #[cold]
    #[inline(never)]
    fn work_off_the_rest(&self) {
        loop {
            let next = self.waiting.borrow_mut().pop_front();
            let Some((generation, job)) = next else { break };
            self.generation.set(generation);
            job();
        }
        self.calls.set(0);
    }
}

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    static AGENDA: Agenda = const { Agenda::new() };
}
#[cfg(any(loom, shuttle))]
crate::sync::thread_local! {
    static AGENDA: Agenda = Agenda::new();
}

/// Calls `job` now or, if this thread is in such a call already, after that one.
///
/// # Errors
/// Gives the job back if calls have caused calls [`GENERATIONS`] times, or [`CALLS`] in all: it
/// would go on for ever.
pub fn unnested<J: FnOnce() + 'static>(job: J) -> Result<(), J> {
    unnested_and(job, |_| count_here())
}

#[inline]
fn unnested_and<J, P>(job: J, on_panic: P) -> Result<(), J>
where
    J: FnOnce() + 'static,
    P: FnOnce(Panicked) + 'static,
{
    let mut job = Some(job);
    let _ = AGENDA.try_with(|agenda| {
        if agenda.generation.get() == 0 {
            if let Some(job) = job.take() {
                agenda.work_off(job, on_panic);
            }
        } else if !agenda.is_full()
            && let Some(job) = job.take()
        {
            agenda.calls.set(agenda.calls.get() + 1);
            let generation = agenda.generation.get() + 1;
            let job = Box::new(move || call(job, on_panic));
            agenda.waiting.borrow_mut().push_back((generation, job));
        }
    });
    // Given back too when the thread ends and has no agenda any more.
    job.map_or(Ok(()), Err)
}

/// Holds a value of the user's, and [drops it guarded](drop_guarded) at its end.
pub struct Guarded<T: 'static>(ManuallyDrop<T>);

impl<T> Guarded<T> {
    /// Holds it.
    pub fn new(value: T) -> Self {
        Guarded(ManuallyDrop::new(value))
    }

    /// Gives it out.
    pub fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once: `this` is never dropped, and not used any more.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Guarded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Guarded<T> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: taken once: this is its end.
            drop_guarded(unsafe { ManuallyDrop::take(&mut self.0) });
        }
    }
}

impl<T> fmt::Debug for Guarded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded({})", std::any::type_name::<T>())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Panics when it is dropped, with another of its kind. It has no size, so forgetting one leaks
    /// nothing.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(Bomb));
        }
    }

    #[test]
    fn a_payload_that_panics_when_it_is_dropped_is_no_way_out() {
        let caught = catch(|| std::panic::resume_unwind(Box::new(Bomb)));
        assert_eq!(
            caught,
            Err::<(), _>(Panicked("(a panic whose payload is not a string)".into()))
        );
        assert!(drop_caught(Bomb).is_err());
        drop(Guarded::new(Bomb));
        assert_eq!(drop_caught(Rc::new(1)), Ok(()));
    }

    #[test]
    fn messages_of_panics_are_kept() {
        let said = |payload: Box<dyn Any + Send>| {
            let caught = catch(|| -> () { std::panic::resume_unwind(payload) });
            caught.expect_err("it panicked").to_string()
        };
        assert_eq!(said(Box::new("one")), "it panicked: one");
        assert_eq!(said(Box::new("two".to_owned())), "it panicked: two");
    }

    #[test]
    fn what_a_call_causes_comes_after_it() {
        thread_local!(static LOG: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) });
        let log = |n| LOG.with_borrow_mut(|log| log.push(n));
        let tree = move || {
            let inner = move || {
                assert!(unnested(move || log(4)).is_ok());
                log(2);
            };
            assert!(unnested(inner).is_ok());
            assert!(unnested(move || log(3)).is_ok());
            log(1);
        };
        assert!(unnested(tree).is_ok());
        assert_eq!(LOG.take(), [1, 2, 3, 4]);
    }

    #[test]
    fn what_causes_itself_comes_to_an_end() {
        thread_local!(static TIMES: Cell<u32> = const { Cell::new(0) });
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                TIMES.set(TIMES.get() + 1);
                drop_guarded(Again);
            }
        }
        for round in 1..3 {
            drop_guarded(Again);
            assert_eq!(TIMES.get(), round * GENERATIONS);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many calls")]
    fn what_causes_ever_more_comes_to_an_end() {
        fn spread(times: Rc<Cell<usize>>) {
            times.set(times.get() + 1);
            for _ in 0..100 {
                let times = times.clone();
                let _ = unnested(move || spread(times));
            }
        }
        let times = Rc::new(Cell::new(0));
        let counted = times.clone();
        assert!(unnested(move || spread(counted)).is_ok());
        assert_eq!(times.get(), CALLS + 1);
    }
}

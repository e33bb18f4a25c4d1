//! The sleep of idle workers, and how they are woken, so that no wake-up is lost and nobody spins
//! for long.
//!
//! A worker that finds nothing: *announces* itself asleep, passes a SeqCst fence, looks at every
//! place where work may come from once more, and only then parks. Whoever makes work for it:
//! publishes the work, passes a SeqCst fence, and looks whether the worker is announced asleep. Of
//! two SeqCst fences one comes first: either the worker's second look sees the work, or the waker
//! sees the announcement. (The classic store-buffer argument; loom checks it in `tests/loom.rs`.)
//!
//! `naps` of a worker: bit 0 says asleep, the rest counts how often it announced itself. The worker
//! sets the bit, by a plain store; whoever wakes it, or the worker itself, takes it off by a
//! read-modify-write. It never has a value twice, so whoever reads the same value with the bit set
//! at two moments knows that the worker did nothing in between ([`Sleep::all_asleep`]).
//!
//! `idle` counts the workers that look for work or sleep: a hint that makes others share what they
//! have too much of.

use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, lock, park, thread};
use std::time::Duration;

#[derive(Debug)]
#[repr(align(128))]
struct Bed {
    /// See the module documentation.
    naps: AtomicUsize,
    thread: Mutex<Option<thread::Thread>>,
}

/// Bit 0 of `Bed::naps`.
const ASLEEP: usize = 1;

/// The sleepers of one scheduler.
#[derive(Debug)]
pub struct Sleep {
    beds: Box<[Bed]>,
    idle: AtomicUsize,
}

impl Sleep {
    /// For so many workers, all awake.
    pub fn new(workers: usize) -> Self {
        let bed = |_| Bed { naps: AtomicUsize::new(0), thread: Mutex::new(None) };
        Sleep { beds: (0..workers).map(bed).collect(), idle: AtomicUsize::new(0) }
    }

    /// The calling thread is worker `index`: called once, before it first sleeps.
    pub fn register(&self, index: usize) {
        *lock(&self.beds[index].thread) = Some(thread::current());
    }

    /// Workers that look for work or sleep. A hint.
    #[inline]
    pub fn idle(&self) -> usize {
        // Relaxed: a hint.
        self.idle.load(Ordering::Relaxed)
    }

    /// One more worker looks for work.
    pub fn start_looking(&self) {
        // Relaxed: a hint.
        self.idle.fetch_add(1, Ordering::Relaxed);
    }

    /// One worker found work.
    pub fn stop_looking(&self) {
        // Relaxed: a hint.
        self.idle.fetch_sub(1, Ordering::Relaxed);
    }

    /// Announces worker `index` asleep. It must look for work once more before it calls
    /// [`Sleep::park`].
    ///
    /// # Safety
    /// The caller is that worker, and puts nothing into a lane before it has cancelled this or was
    /// woken: what lies there would be taken for delivered.
    pub unsafe fn announce(&self, index: usize) {
        let naps = &self.beds[index].naps;
        // Relaxed: only the worker itself counts, and nobody writes while the bit is off.
        let next = (naps.load(Ordering::Relaxed) | ASLEEP).wrapping_add(2);
        // Release: pairs with the acquire in `all_asleep`: what it did before is seen. Then the
        // fence, which pairs with the fence in `wake` (module documentation).
        naps.store(next, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back.
    pub fn cancel(&self, index: usize) {
        // Acquire: what the waker did before it took the announcement is seen. The write needs no
        // partner: what the worker then takes out of a queue is released there (`all_asleep`). No
        // model needs the acquire: it saves a nap that would end at once, for who does not see the
        // work yet announces itself again, and sees it behind the fence.
        self.beds[index].naps.fetch_and(!ASLEEP, Ordering::Acquire);
    }

    /// Sleeps until woken or until the timeout is over. Only after [`Sleep::announce`].
    pub fn park(&self, index: usize, timeout: Option<Duration>) {
        let naps = &self.beds[index].naps;
        // Acquire: pairs with the release in `wake`. The loop is for spurious returns and stale
        // unpark tokens. No model needs it, as in `cancel`.
        while naps.load(Ordering::Acquire) & ASLEEP != 0 {
            park(timeout);
            if timeout.is_some() {
                break;
            }
        }
        self.cancel(index);
    }

    /// Whether worker `index` is announced asleep: a hint without a fence before it.
    #[inline]
    pub fn is_asleep(&self, index: usize) -> bool {
        // Relaxed: a hint, or after the caller's fence.
        self.beds[index].naps.load(Ordering::Relaxed) & ASLEEP != 0
    }

    /// Whether worker `index` is announced asleep; what it did before is seen then.
    pub fn is_surely_asleep(&self, index: usize) -> bool {
        // Acquire: pairs with the release in `announce`.
        self.beds[index].naps.load(Ordering::Acquire) & ASLEEP != 0
    }

    /// Wakes worker `index` if it sleeps; true if it did. Call it after the work is published.
    pub fn wake(&self, index: usize) -> bool {
        // Pairs with the fence in `announce` (module documentation).
        fence(Ordering::SeqCst);
        self.wake_fenced(index)
    }

    /// Does what `wake` does, when the caller has passed a SeqCst fence since it published the
    /// work.
    pub(crate) fn wake_fenced(&self, index: usize) -> bool {
        let bed = &self.beds[index];
        // Relaxed: after the fence. Release: pairs with the acquire in `park` and `cancel`, which
        // no model needs either. Taking the bit off lets only one waker pay for the system call.
        if bed.naps.load(Ordering::Relaxed) & ASLEEP != 0
            && bed.naps.fetch_and(!ASLEEP, Ordering::Release) & ASLEEP != 0
        {
            if let Some(thread) = lock(&bed.thread).as_ref() {
                thread.unpark();
            }
            return true;
        }
        false
    }

    /// Wakes the first sleeper in the given order, if any. Call it after the work is published.
    pub fn wake_one_of(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        // Pairs with the fence in `announce` (module documentation).
        fence(Ordering::SeqCst);
        order.into_iter().find(|&index| self.wake_fenced(index))
    }

    /// Whether all workers are announced asleep. Of several that ask after they have announced
    /// themselves, one finds it so if all are, for between its announcement and its question each
    /// passes a SeqCst fence.
    pub(crate) fn seems_all_asleep(&self) -> bool {
        (0..self.beds.len()).all(|index| self.is_asleep(index))
    }

    /// The naps that all workers are in; `None`: one is awake. See [`Sleep::is_same_nap`].
    pub fn all_asleep(&self) -> Option<Naps> {
        // Acquire: pairs with the release in `announce`: what each did before its nap is seen by
        // the caller's next look at the queues.
        let naps = self.beds.iter().map(|bed| bed.naps.load(Ordering::Acquire));
        let naps: Vec<usize> = naps.take_while(|naps| naps & ASLEEP != 0).collect();
        (naps.len() == self.beds.len()).then_some(Naps(naps))
    }

    /// Whether all workers are still in these naps: then none of them did anything since, and what
    /// was seen in between holds.
    pub fn is_same_nap(&self, naps: Naps) -> bool {
        // Pairs with the release of whoever took something out of a queue that was seen empty: its
        // waking is seen below.
        fence(Ordering::Acquire);
        // Relaxed: after the fence.
        self.beds.iter().zip(naps.0).all(|(bed, naps)| bed.naps.load(Ordering::Relaxed) == naps)
    }
}

/// The naps that all workers were in at one moment.
#[derive(Debug)]
pub struct Naps(Vec<usize>);

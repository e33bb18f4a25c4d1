//! Lanes: how messages cross from one worker to another.
//!
//! For each ordered pair of workers there is a *lane*. The sending worker writes its messages, of
//! whatever types to whichever runnables, one behind the other into a private [`Chunk`] of memory;
//! once a round, or when the chunk is full, it publishes the chunk. The receiving worker reads
//! whole chunks and delivers each message to its runnable by the runnable's vtable. So a message
//! that crosses costs a few plain stores and loads, and the two workers share one lock per chunk,
//! not one queue's end per message.
//!
//! # First in, first out
//!
//! A sender's later message must not overtake one that still lies in a lane. It could in three
//! ways; each is closed by *flushing lanes*: the sending worker delivers all that lies in its lanes
//! itself, to the runnables' shared queues, after it has waited for receivers that are just
//! delivering (they run no user code while they do).
//!
//! 1. *The sending runnable moves* to another worker: before a worker gives any runnable away, it
//!    flushes its lanes.
//! 2. *The receiving runnable moved.* Its new owner notes the present [`Lanes::epoch`], which it
//!    raises, in `Header::since`. A lane that was opened before that epoch may hold messages for
//!    the place where the runnable was. So whoever sends to something whose `since` is younger than
//!    its oldest open lane flushes its lanes first. A lane opened later can not: to learn the epoch
//!    is to see the move. A worker that takes a runnable over flushes its lanes before it does, for
//!    it will send to it without asking.
//! 3. *Another way is taken*, because the runnable is in transit or has ended: the sender flushes
//!    its lanes first.
//!
//! # What lies in a lane keeps nothing alive
//!
//! An entry holds no reference: to count them would cost the read-modify-writes that lanes are made
//! to save. Instead the memory of a runnable that has ended is kept for a *grace period*: until
//! every lane that was open when it ended was delivered. Likewise a runnable ends for want of
//! references only after such a period, for what they sent may still be under way. An epoch is
//! raised when the period begins; it is over when each worker's oldest open lane is as young as
//! that.
//!
//! A worker announces an open lane before it puts the first entry into it, with a SeqCst fence
//! between that and its look at the runnable's owner; a worker that ends a runnable fences between
//! marking it `DEAD` and looking for open lanes. So either the sender sees that it is dead, or the
//! other sees the open lane. A worker does not close its lanes before it sleeps, for what lies in
//! them may be much; while it sleeps, its lanes count as closed once they are delivered, and it
//! fences when it wakes, for the same reason.

use crate::chunk;
pub(crate) use crate::chunk::entry_words;
use crate::runnable::Header;
use crate::sleep::Sleep;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, lock};
use std::collections::VecDeque;

/// A chunk of messages for runnables.
pub type Chunk = chunk::Chunk<Header>;

/// The oldest open lane of a worker that has none.
pub const NONE_OPEN: u64 = u64::MAX - 1;
/// Words delivered from one lane before others, and those that it was delivered to, get their turn:
/// so the mailboxes stay in the cache.
pub(crate) const DELIVERED_AT_ONCE: usize = 2 * 1024;
/// Empty chunks that wait in a lane for their sender.
const SPARES: usize = 4;

/// A lane from one worker to another.
#[derive(Debug)]
#[repr(align(128))]
pub struct Lane {
    queue: Mutex<Queue>,
    /// Held while chunks are taken from `queue` and delivered: by the receiver, or by a sender that
    /// flushes its lanes.
    delivering: Mutex<()>,
    /// Chunks delivered, ever.
    delivered: AtomicU64,
    /// Chunks published, ever; written under the lock of `queue`.
    published: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    full: VecDeque<Chunk>,
    spare: Vec<Chunk>,
}

/// A worker's note of its open lanes, which others read.
#[derive(Debug)]
#[repr(align(128))]
struct Oldest(AtomicU64);

/// For whom something lies in lanes: a bit for each sender.
#[derive(Debug)]
#[repr(align(128))]
struct Pending(Box<[AtomicU64]>);

/// All lanes of a scheduler.
#[derive(Debug)]
pub struct Lanes {
    /// The lanes by sender, then receiver; empty if there are none.
    lanes: Box<[Lane]>,
    workers: usize,
    pending: Box<[Pending]>,
    oldest: Box<[Oldest]>,
    /// Workers that have an open lane.
    open: AtomicUsize,
    epoch: AtomicU64,
}

impl Lanes {
    /// Lanes between so many workers, if wanted; with fewer than two there are none.
    pub fn new(workers: usize, wanted: bool) -> Self {
        let lane = || Lane {
            queue: Mutex::new(Queue::default()),
            delivering: Mutex::new(()),
            delivered: AtomicU64::new(0),
            published: AtomicU64::new(0),
        };
        let bits = |_| Pending((0..workers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        let lanes = if wanted && workers > 1 { workers * workers } else { 0 };
        Lanes {
            lanes: (0..lanes).map(|_| lane()).collect(),
            workers,
            pending: (0..workers).map(bits).collect(),
            oldest: (0..workers).map(|_| Oldest(AtomicU64::new(NONE_OPEN))).collect(),
            open: AtomicUsize::new(0),
            epoch: AtomicU64::new(0),
        }
    }

    /// Whether there are any.
    #[inline]
    pub fn exist(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// The lane from one worker to another.
    pub fn lane(&self, from: usize, to: usize) -> &Lane {
        &self.lanes[from * self.workers + to]
    }

    /// The present epoch.
    pub fn epoch(&self) -> u64 {
        // Acquire: pairs with the release in `raise_epoch`: whoever reads an epoch sees what was
        // done before it was raised.
        self.epoch.load(Ordering::Acquire)
    }

    /// Begins a new epoch and returns it.
    pub fn raise_epoch(&self) -> u64 {
        // AcqRel: release pairs with `epoch`; acquire lets what follows see what those did who
        // raised it before. No model needs the acquire: what is decided by an epoch is decided by
        // those who read it, and a later one stands for all before it.
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Worker `index`, which had no open lane, opens one. See the module documentation for the
    /// fence.
    pub fn open_first(&self, index: usize, epoch: u64) {
        // Relaxed: ordered by the fence, and by whatever hands on a reference to what was sent to.
        self.open.fetch_add(1, Ordering::Relaxed);
        // Relaxed: as above.
        self.oldest[index].0.store(epoch, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The oldest open lane of worker `index` is now this one; or [`NONE_OPEN`].
    pub fn set_oldest(&self, index: usize, epoch: u64) {
        // Release: pairs with the acquire in `is_over`: what was delivered from the lanes that are
        // closed now is seen.
        self.oldest[index].0.store(epoch, Ordering::Release);
        if epoch == NONE_OPEN {
            // Release: pairs with the acquire in `any_open`, for the same reason.
            self.open.fetch_sub(1, Ordering::Release);
        }
    }

    /// Whether any worker has an open lane. Before, the caller has acquired what it wants to know
    /// about, or fenced.
    #[inline]
    pub fn any_open(&self) -> bool {
        // Acquire: pairs with the release in `set_oldest`.
        self.open.load(Ordering::Acquire) != 0
    }

    /// Asks [`Lanes::any_open`] right after something was marked `DEAD`: nothing for it lies in a
    /// lane, nor will, if none is open.
    pub fn any_open_to_the_dead(&self) -> bool {
        // See the module documentation: between marking it and looking for open lanes.
        fence(Ordering::SeqCst);
        self.any_open()
    }

    /// A worker that slept with open lanes, which counted as closed, is awake, and about to send.
    pub fn count_again(&self) {
        // See the module documentation: either it sees what has ended, or whoever ends something
        // sees its open lanes.
        fence(Ordering::SeqCst);
    }

    /// Whether all lanes are delivered that were open when this epoch began.
    pub fn is_over(&self, epoch: u64, sleep: &Sleep) -> bool {
        // See the module documentation.
        fence(Ordering::SeqCst);
        (0..self.workers).all(|from| {
            // Acquire: pairs with the release in `set_oldest`.
            self.oldest[from].0.load(Ordering::Acquire) >= epoch
                // One that sleeps does not close its lanes, but nor does it put anything in.
                || sleep.is_surely_asleep(from) && self.is_drained(from)
        })
    }

    /// Whether all that this worker, which sleeps, has put into lanes was delivered.
    fn is_drained(&self, from: usize) -> bool {
        (0..self.workers).all(|to| {
            let lane = self.lane(from, to);
            // Relaxed: stored before the worker announced its sleep, which was acquired.
            lane.published.load(Ordering::Relaxed) == lane.delivered()
        })
    }

    /// Publishes a chunk and returns an empty one, if there is one.
    pub fn publish(&self, from: usize, to: usize, chunk: Chunk) -> Option<Chunk> {
        let mut queue = lock(&self.lane(from, to).queue);
        queue.full.push_back(chunk);
        let published = &self.lane(from, to).published;
        // Relaxed: one writer; see `is_drained`.
        published.store(published.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let spare = queue.spare.pop();
        drop(queue);
        // Release: pairs with the acquire in `take_pending`; the waker's fence orders it against a
        // receiver that goes to sleep. No model can tell: the chunk was put in under the lock,
        // which whoever finds the mark takes later.
        self.pending[to].0[from / 64].fetch_or(1 << (from % 64), Ordering::Release);
        spare
    }

    /// Whether something may lie in lanes to worker `to`: a hint unless a fence stands before it.
    #[inline]
    pub fn has_pending(&self, to: usize) -> bool {
        // Relaxed: a hint; whoever goes to sleep on it has fenced (`sleep`).
        self.pending[to].0.iter().any(|bits| bits.load(Ordering::Relaxed) != 0)
    }

    /// Whether nothing lies in any lane, when all workers sleep.
    pub fn are_empty(&self) -> bool {
        (0..self.workers).all(|to| !self.has_pending(to))
    }

    /// Takes the marks of those who sent to worker `to`, and calls `f` with each.
    pub fn take_pending(&self, to: usize, mut f: impl FnMut(usize)) {
        for (word, bits) in self.pending[to].0.iter().enumerate() {
            // Relaxed: only the swap below counts.
            if bits.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire: pairs with the release in `publish`, where no model can tell either.
            // Release: whoever sees it taken sees the taker awake (`Sleep::is_same_nap`).
            let mut left = bits.swap(0, Ordering::AcqRel);
            while left != 0 {
                f(word * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }

    /// Marks that there is more from a sender.
    pub fn mark_pending(&self, from: usize, to: usize) {
        // Relaxed: by the receiver, for itself.
        self.pending[to].0[from / 64].fetch_or(1 << (from % 64), Ordering::Relaxed);
    }
}

/// The right to take chunks out of a lane and to deliver them.
#[derive(Debug)]
pub struct Delivery<'a> {
    lane: &'a Lane,
    _alone: MutexGuard<'a, ()>,
}

impl Lane {
    /// Waits until nobody else delivers from this lane.
    pub fn deliver(&self) -> Delivery<'_> {
        Delivery { lane: self, _alone: lock(&self.delivering) }
    }

    /// Chunks published, ever: an estimate for others.
    pub fn published(&self) -> u64 {
        // Relaxed: a statistic.
        self.published.load(Ordering::Relaxed)
    }

    /// Chunks delivered, ever.
    pub fn delivered(&self) -> u64 {
        // Acquire: pairs with the release in `Delivery::done`.
        self.delivered.load(Ordering::Acquire)
    }
}

impl Delivery<'_> {
    /// The chunk published first.
    pub fn take(&mut self) -> Option<Chunk> {
        lock(&self.lane.queue).full.pop_front()
    }

    /// The chunk was delivered: it is counted, and goes back to its sender.
    pub fn done(&mut self, chunk: Chunk) {
        // Relaxed load: only the holder of the lock writes it. Release: pairs with the acquire in
        // `delivered`: what was in the chunk is in its receivers' mailboxes.
        let delivered = self.lane.delivered.load(Ordering::Relaxed);
        self.lane.delivered.store(delivered + 1, Ordering::Release);
        let mut queue = lock(&self.lane.queue);
        if queue.spare.len() < SPARES {
            queue.spare.push(chunk);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_last_epochs_are_told_from_no_lane_and_none_open() {
        let (lanes, sleep) = (Lanes::new(2, true), Sleep::new(2));
        // Relaxed: one thread.
        lanes.epoch.store(NONE_OPEN - 3, Ordering::Relaxed);
        lanes.open_first(0, lanes.epoch());
        let grace = lanes.raise_epoch();
        assert!(grace < NONE_OPEN && lanes.any_open());
        assert!(!lanes.is_over(grace, &sleep), "worker 0 has an older lane open");
        lanes.set_oldest(0, NONE_OPEN);
        assert!(lanes.is_over(grace, &sleep) && !lanes.any_open());
    }
}

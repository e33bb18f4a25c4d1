//! Lanes: how messages cross from one worker to another.
//!
//! For each ordered pair of workers there is a *lane*. The sending worker writes its messages, of
//! whatever types to whichever runnables, one behind the other into a private chunk of memory; once
//! a round, when others wait, or when the chunk is full, it publishes the chunk. The receiver reads
//! whole chunks and delivers each message to its runnable by the runnable's vtable. So a message
//! that crosses costs a few plain stores and loads, and so does a chunk of them.
//!
//! # The chain of chunks
//!
//! The chunks of a lane form a chain. The sender counts those that it has published, the receiver
//! those that it has delivered; both counts only grow. A chunk is the sender's until it is
//! published, the receiver's until it is delivered, and then the sender's again, who takes the
//! chain's oldest for the next one. A chunk is linked to the one that follows before it is
//! published; so the receiver knows where the next one will be and, once that is published, waits
//! for nothing but its content. (This is D. Vyukov's unbounded queue of one producer and one
//! consumer, which keeps its nodes in the same way, with chunks for nodes.)
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
//!    is to see the move. A worker that takes a runnable over will send to it without asking. So it
//!    flushes its lanes before it does, unless they hold nothing for it: a worker remembers to whom
//!    it has sent through lanes that are open (`worker::receivers`).
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

use crate::chunk::{Chunk, Entries, Writer};
use crate::runnable::Header;
use crate::sleep::Sleep;
use crate::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, lock};
use std::ptr::NonNull;

pub(crate) use crate::chunk::entry_words;

/// The oldest open lane of a worker that has none.
pub const NONE_OPEN: u64 = u64::MAX - 1;
/// Empty chunks that a sender keeps for later, of those that came back to it.
const SPARES: u64 = 4;
/// Counts on a pair of cache lines.
const COUNTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// A lane from one worker to another, beside its counts.
#[derive(Debug)]
#[repr(align(128))]
struct Lane {
    /// The chunk to be published next. Held while chunks are taken and delivered: by the receiver,
    /// or by a sender that flushes its lanes. `None`: none was taken yet.
    next: Mutex<Option<Chunk<Header>>>,
    /// The chain's first: only the sender changes it.
    oldest: AtomicPtr<()>,
    /// While no worker has it.
    end: Mutex<Option<LaneEnd>>,
}

impl Drop for Lane {
    fn drop(&mut self) {
        // Relaxed: nobody uses the lane any more.
        let mut oldest = Chunk::<Header>::from_ptr(self.oldest.load(Ordering::Relaxed));
        while let Some(chunk) = oldest {
            // SAFETY: all of the chain are alive, and nobody uses them any more.
            unsafe {
                oldest = chunk.next();
                chunk.free();
            }
        }
    }
}

/// A worker's note of its open lanes, which others read.
#[derive(Debug)]
#[repr(align(128))]
struct Oldest(AtomicU64);

/// Counts of the lanes to one worker, by sender.
#[derive(Debug)]
struct Counts(Box<[Line]>);

/// Counts that share a cache line, which others do not.
#[derive(Debug)]
#[repr(align(128))]
struct Line([AtomicU64; COUNTS]);

impl Counts {
    fn new(senders: usize) -> Self {
        let line = |_| Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Counts((0..senders.div_ceil(COUNTS)).map(line).collect())
    }

    #[inline(always)]
    fn of(&self, sender: usize) -> &AtomicU64 {
        &self.0[sender / COUNTS].0[sender % COUNTS]
    }
}

/// All lanes of a scheduler.
#[derive(Debug)]
pub struct Lanes {
    /// The lanes by sender, then receiver; empty if there are none.
    lanes: Box<[Lane]>,
    workers: usize,
    /// Chunks published, ever, by receiver; written by their senders.
    published: Box<[Counts]>,
    /// Chunks delivered, ever, by receiver; written by whoever delivers.
    delivered: Box<[Counts]>,
    oldest: Box<[Oldest]>,
    /// Workers that have an open lane.
    open: AtomicUsize,
    epoch: AtomicU64,
}

impl Lanes {
    /// Lanes between so many workers, if wanted; with fewer than two there are none.
    pub fn new(workers: usize, wanted: bool) -> Self {
        let lanes = if wanted && workers > 1 { workers * workers } else { 0 };
        let lane = |index| Lane {
            next: Mutex::new(None),
            oldest: AtomicPtr::new(std::ptr::null_mut()),
            end: Mutex::new(Some(LaneEnd::new(index / workers, index % workers))),
        };
        let counts = || (0..workers).map(|_| Counts::new(workers)).collect();
        Lanes {
            lanes: (0..lanes).map(lane).collect(),
            workers,
            published: counts(),
            delivered: counts(),
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

    fn lane(&self, from: usize, to: usize) -> &Lane {
        &self.lanes[from * self.workers + to]
    }

    /// Chunks published on the lane from one worker to another, ever: an estimate for others.
    pub fn published(&self, from: usize, to: usize) -> u64 {
        // Relaxed: a statistic.
        self.published[to].of(from).load(Ordering::Relaxed)
    }

    /// Chunks delivered from the lane from one worker to another, ever.
    pub fn delivered(&self, from: usize, to: usize) -> u64 {
        // Acquire: pairs with the release in `Delivery::done`.
        self.delivered[to].of(from).load(Ordering::Acquire)
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
            // What was published was stored before the worker announced its sleep, which was
            // acquired.
            self.published(from, to) == self.delivered(from, to)
        })
    }

    /// Whether something may lie in lanes to worker `to`: a hint unless a fence stands before it.
    #[inline]
    pub fn has_pending(&self, to: usize) -> bool {
        self.exist() && (0..self.workers).any(|from| self.is_pending(from, to))
    }

    #[inline(always)]
    fn is_pending(&self, from: usize, to: usize) -> bool {
        // Relaxed: a hint; whoever goes to sleep on it has fenced (`sleep`). So has whoever asks
        // whether all sleep: it sees those awake who have delivered what it sees delivered
        // (`Sleep::is_same_nap`).
        let delivered = self.delivered[to].of(from).load(Ordering::Relaxed);
        self.published(from, to) != delivered
    }

    /// Whether nothing lies in any lane, when all workers sleep.
    pub fn are_empty(&self) -> bool {
        (0..self.workers).all(|to| !self.has_pending(to))
    }

    /// Those who have sent something to worker `to` that was not delivered.
    pub fn pending(&self, to: usize) -> impl Iterator<Item = usize> {
        let senders = if self.exist() { self.workers } else { 0 };
        (0..senders).filter(move |&from| self.is_pending(from, to))
    }

    /// Takes the sending end of a lane out: there is one.
    ///
    /// # Panics
    /// If it was taken and not put back.
    pub fn take_end(&self, from: usize, to: usize) -> LaneEnd {
        let end = lock(&self.lane(from, to).end).take();
        end.expect("a worker has its lanes for itself")
    }

    /// Puts a sending end back, for the next worker of that index.
    pub fn put_back(&self, end: LaneEnd) {
        let place = &self.lane(end.from, end.to).end;
        *lock(place) = Some(end);
    }

    /// Waits until nobody else delivers from a lane.
    pub fn deliver(&self, from: usize, to: usize) -> Delivery<'_> {
        let lane = self.lane(from, to);
        Delivery { lanes: self, lane, from, to, next: lock(&lane.next) }
    }
}

/// The sending end of a lane. Its methods are called with the lanes that it is an end of.
#[derive(Debug)]
pub struct LaneEnd {
    writer: Writer<Header>,
    /// The last of the chain, which nothing follows; `None`: there is no chain yet.
    chunk: Option<Chunk<Header>>,
    from: usize,
    to: usize,
    /// Chunks published, ever.
    published: u64,
    /// Chunks delivered, ever, as far as this end knows.
    delivered: u64,
    /// Chunks that this end has used again or freed, of those delivered.
    taken_back: u64,
}

// SAFETY: the chunk that its writer writes to is its own, and messages are Send (`Writer::push`).
unsafe impl Send for LaneEnd {}

impl LaneEnd {
    fn new(from: usize, to: usize) -> Self {
        let (writer, chunk) = (Writer::closed(), None);
        LaneEnd { writer, chunk, from, to, published: 0, delivered: 0, taken_back: 0 }
    }

    /// Whether an entry of so many words can be put in at once.
    #[inline(always)]
    pub fn has_room(&self, words: usize) -> bool {
        self.writer.fits(words)
    }

    /// Puts an entry in.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(always)]
    pub fn push<M: Send>(&mut self, to: NonNull<Header>, stamp_ns: u64, message: M) {
        self.writer.push(to, stamp_ns, message);
    }

    /// Whether a chunk was begun and not published.
    pub fn is_begun(&self) -> bool {
        self.writer.is_open()
    }

    /// Whether something was put in and not published.
    pub fn has_unpublished(&self) -> bool {
        self.writer.len() > 0
    }

    /// Chunks published, ever.
    pub fn published(&self) -> u64 {
        self.published
    }

    /// Chunks that are not delivered, as far as this end knows.
    pub fn known_waiting(&self) -> u64 {
        self.published - self.delivered
    }

    /// Begins a chunk with room for so many words. What was put in before was published.
    pub fn begin(&mut self, lanes: &Lanes, words: usize) {
        let mut chunk = self.chunk.unwrap_or_else(|| {
            let first = Chunk::new(words);
            // Relaxed: whoever takes it from here has seen it published.
            lanes.lane(self.from, self.to).oldest.store(first.as_ptr(), Ordering::Relaxed);
            first
        });
        // SAFETY: not published: this end's.
        unsafe {
            if chunk.capacity() < words {
                self.writer = chunk.writer();
                self.chunk = Some(chunk);
                self.publish(lanes, words);
                chunk = self.chunk.expect("published: another follows");
            }
            self.writer = chunk.writer();
        }
        self.chunk = Some(chunk);
    }

    /// Publishes the chunk that was begun. What follows has room for so many words at least.
    pub fn publish(&mut self, lanes: &Lanes, words: usize) {
        let Some(chunk) = self.chunk else { return };
        let next = self.take_back(lanes, words).unwrap_or_else(|| Chunk::new(words));
        // SAFETY: not published: this end's. What follows lives as long as the chain.
        unsafe { chunk.seal(&self.writer, next) };
        self.published += 1;
        // Release: pairs with the acquire in `Delivery::take`; the waker's fence orders it against
        // a receiver that goes to sleep.
        lanes.published[self.to].of(self.from).store(self.published, Ordering::Release);
        next.prefetch(self.writer.len());
        (self.writer, self.chunk) = (Writer::closed(), Some(next));
    }

    /// Takes the oldest chunk back, if it was delivered, and has room for so many words.
    fn take_back(&mut self, lanes: &Lanes, words: usize) -> Option<Chunk<Header>> {
        if self.taken_back == self.delivered {
            // Looked up only then: it costs a cache line from another core.
            self.delivered = lanes.delivered(self.from, self.to);
        }
        let oldest = self.take_oldest(lanes)?;
        // SAFETY: delivered, and out of the chain: nobody else uses it.
        unsafe {
            if oldest.capacity() < words {
                oldest.free();
                return None;
            }
            oldest.clear();
        }
        Some(oldest)
    }

    fn take_oldest(&mut self, lanes: &Lanes) -> Option<Chunk<Header>> {
        if self.taken_back == self.delivered {
            return None;
        }
        let place = &lanes.lane(self.from, self.to).oldest;
        // Relaxed: only this end writes it.
        let oldest = Chunk::from_ptr(place.load(Ordering::Relaxed))?;
        // SAFETY: delivered: this end's again.
        let next = unsafe { oldest.next() }?;
        // Relaxed: who reads it has seen published what comes later.
        place.store(next.as_ptr(), Ordering::Relaxed);
        self.taken_back += 1;
        Some(oldest)
    }

    /// Notes that so many chunks were delivered, ever, and frees those of which there are many.
    pub fn note_delivered(&mut self, lanes: &Lanes, delivered: u64) {
        self.delivered = delivered;
        while self.taken_back + SPARES < delivered {
            let Some(oldest) = self.take_oldest(lanes) else { return };
            // SAFETY: delivered, and out of the chain: nobody else uses it.
            unsafe { oldest.free() };
        }
    }

    /// Takes out what was put in and not published, to be delivered before anything else is put in.
    pub fn take_unpublished(&mut self) -> Entries<'_, Header> {
        // SAFETY: not published: this end's, which the entries borrow.
        unsafe { self.writer.take() }
    }
}

/// The right to take chunks out of a lane and to deliver them.
#[derive(Debug)]
pub struct Delivery<'a> {
    lanes: &'a Lanes,
    lane: &'a Lane,
    from: usize,
    to: usize,
    next: MutexGuard<'a, Option<Chunk<Header>>>,
}

impl Delivery<'_> {
    /// The entries of the chunk that was published first, if it was not delivered.
    /// [`Delivery::done`] follows when they are.
    pub fn take(&mut self) -> Option<Entries<'_, Header>> {
        // Acquire: pairs with the release in `LaneEnd::publish`: the chunk's content is seen.
        let published = self.lanes.published[self.to].of(self.from).load(Ordering::Acquire);
        // Relaxed: only the holder of the lock writes it.
        let delivered = self.lanes.delivered[self.to].of(self.from).load(Ordering::Relaxed);
        if published == delivered {
            return None;
        }
        // Relaxed: stored before anything was published; and as long as nothing is delivered the
        // sender takes nothing back.
        let first = || Chunk::from_ptr(self.lane.oldest.load(Ordering::Relaxed));
        let chunk = self.next.or_else(first).expect("published: there is a chain");
        // SAFETY: published and not delivered: whoever has the lock is the only one who uses it,
        // until it says that it is done.
        let (entries, next) = unsafe { chunk.open() };
        *self.next = next;
        Some(entries)
    }

    /// Chunks that wait here for now.
    pub fn waiting(&self) -> u64 {
        // Relaxed: only the holder of the lock writes it.
        let delivered = self.lanes.delivered[self.to].of(self.from).load(Ordering::Relaxed);
        self.lanes.published(self.from, self.to) - delivered
    }

    /// What [`Delivery::take`] gave was delivered: the chunk is its sender's again.
    pub fn done(&mut self) {
        let place = self.lanes.delivered[self.to].of(self.from);
        // Relaxed: only the holder of the lock writes it.
        let delivered = place.load(Ordering::Relaxed);
        // Release: pairs with the acquire in `Lanes::delivered`: what was in the chunk is in its
        // receivers' mailboxes, and nobody reads the chunk any more.
        place.store(delivered + 1, Ordering::Release);
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

//! A lock-free queue in blocks, many producers and one consumer.
//!
//! The scheme is that of block-based unbounded channels: `tail` counts positions, and a producer
//! claims one by a compare-and-swap. Of the `LAP` positions of a block the last holds no message:
//! while `tail` stands there, the producer that claimed the one before it installs the next block.
//!
//! | who | touches |
//! |---|---|
//! | any producer | `tail`, `tail_block`, the slot that it claimed, `next` of the block whose last slot it claimed |
//! | the consumer (the actor's owner) | `head`, `head_block`, slots that are marked ready, blocks that are used up |
//!
//! A block is used up when all its slots have been taken and its `next` is set; setting `next` is
//! the last thing any producer does to a block, so the consumer may then reuse it. One used-up
//! block is kept for the next producer that needs one: in steady state nothing is allocated.
//!
//! Bit 0 of `tail` says closed: no position can be claimed any more, and what was claimed before
//! will be marked ready.

use super::envelope::Envelope;
use actinium_scheduler::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use actinium_scheduler::sync::{OwnerCell, spin_loop, thread};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::null_mut;

/// Positions per block.
#[cfg(not(loom))]
const LAP: usize = 32;
#[cfg(loom)]
const LAP: usize = 2;
const CLOSED: usize = 1;
/// The amount that one position adds to `tail`.
const STEP: usize = 2;
/// A slot's state: ready, sent at an unknown time. 0: empty; more: ready, sent at that time.
const READY: u64 = 1;

struct Slot<M> {
    state: AtomicU64,
    msg: OwnerCell<MaybeUninit<M>>,
}

struct Block<M> {
    next: AtomicPtr<Block<M>>,
    slots: [Slot<M>; LAP - 1],
}

impl<M> Block<M> {
    fn alloc() -> *mut Self {
        let slot =
            |_| Slot { state: AtomicU64::new(0), msg: OwnerCell::new(MaybeUninit::uninit()) };
        Box::into_raw(Box::new(Block {
            next: AtomicPtr::new(null_mut()),
            slots: std::array::from_fn(slot),
        }))
    }
}

#[repr(align(128))]
struct Tail<M> {
    index: AtomicUsize,
    block: AtomicPtr<Block<M>>,
    /// A used-up block for the next producer that needs one.
    spare: AtomicPtr<Block<M>>,
}

#[repr(align(128))]
struct Head<M> {
    /// Written by the consumer only; read by producers of a bounded mailbox and by whoever asks for
    /// the length.
    index: AtomicUsize,
    block: OwnerCell<*mut Block<M>>,
}

/// The allocated part.
struct Body<M> {
    tail: Tail<M>,
    head: Head<M>,
    /// Most messages that may wait; 0: no bound.
    capacity: usize,
}

/// The shared part of a mailbox, without knowing its messages' type: a pointer to a [`Body`]. Null:
/// nothing was pushed yet. `closed()`: closed before anything was pushed.
#[repr(transparent)]
pub(crate) struct RawQueue(AtomicPtr<()>);

/// The shared part of a mailbox.
#[repr(transparent)]
pub(crate) struct SharedQueue<M> {
    raw: RawQueue,
    messages: PhantomData<M>,
}

/// Why a push was refused; the message comes back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PushError<M> {
    Closed(M),
    Full(M),
}

/// A position that a producer has claimed.
struct Claim<M> {
    block: *mut Block<M>,
    /// The slot in the block.
    offset: usize,
    /// Messages that waited in a bounded queue before it.
    len: usize,
    /// The block to install after this one, if the slot is its last. Else null, or a block that is
    /// not needed after all.
    next: *mut Block<M>,
}

/// Why there is no position to claim.
enum Refusal {
    Closed,
    Full,
}

// SAFETY: messages pass from producers to the consumer by value (M: Send); all else is atomic or
// touched by the consumer only, which changes hands with the actor's ownership (through locks, see
// `actinium_scheduler::runnable`).
unsafe impl<M: Send> Send for SharedQueue<M> {}
// SAFETY: as above.
unsafe impl<M: Send> Sync for SharedQueue<M> {}

/// The mark of a queue closed before it was allocated: an address that no allocation has.
fn closed() -> *mut () {
    std::ptr::without_provenance_mut(1)
}

/// Messages up to a position: one position per block holds none.
fn messages(position: usize) -> usize {
    position - position / LAP
}

impl RawQueue {
    /// The queue as one of messages of this type.
    ///
    /// # Safety
    /// It was made as such, and has not been freed.
    #[inline(always)]
    pub(crate) unsafe fn of<M>(&self) -> &SharedQueue<M> {
        // SAFETY: the same layout (`repr(transparent)`), and what it points to is of this type, by
        // contract.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Drops the queue with all that is in it.
    ///
    /// # Safety
    /// It was made as one of messages of this type, and nobody uses it any more.
    pub(crate) unsafe fn free<M>(&mut self) {
        // SAFETY: as in `of`.
        unsafe { std::ptr::from_mut(self).cast::<SharedQueue<M>>().drop_in_place() }
    }
}

impl<M> SharedQueue<M> {
    /// An empty queue; with a capacity it is bounded and allocates at once.
    pub(crate) fn new(capacity: Option<usize>) -> Self {
        let body = capacity.map_or(null_mut(), Self::alloc);
        SharedQueue { raw: RawQueue(AtomicPtr::new(body.cast())), messages: PhantomData }
    }

    /// The queue without its messages' type; nothing drops it any more but [`RawQueue::free`].
    pub(crate) fn into_raw(self) -> RawQueue {
        // Relaxed: nobody else is there.
        let body = ManuallyDrop::new(self).raw.0.load(Ordering::Relaxed);
        RawQueue(AtomicPtr::new(body))
    }

    fn alloc(capacity: usize) -> *mut Body<M> {
        let block = Block::alloc();
        let tail = Tail {
            index: AtomicUsize::new(0),
            block: AtomicPtr::new(block),
            spare: AtomicPtr::new(null_mut()),
        };
        let head = Head { index: AtomicUsize::new(0), block: OwnerCell::new(block) };
        Box::into_raw(Box::new(Body { tail, head, capacity }))
    }

    /// The body, if it was allocated.
    #[inline(always)]
    fn body(&self) -> Option<&Body<M>> {
        // Acquire: pairs with the release of the one who allocated it.
        let body = self.raw.0.load(Ordering::Acquire);
        // SAFETY: neither null nor the mark: it was allocated here and lives until drop.
        (!body.is_null() && body != closed()).then(|| unsafe { &*body.cast() })
    }

    /// Messages in it, claimed ones included. Exact for the consumer when no producer is at work.
    pub(crate) fn len(&self) -> usize {
        self.body().map_or(0, |body| {
            // Relaxed: an estimate. Head first: it never passes the tail that is read later.
            let head = messages(body.head.index.load(Ordering::Relaxed));
            messages(body.tail.index.load(Ordering::Relaxed) / STEP).saturating_sub(head)
        })
    }

    /// Whether nothing is in it and nothing claimed. Only the consumer may ask.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Most messages that may wait; 0: no bound.
    pub(crate) fn capacity(&self) -> usize {
        self.body().map_or(0, |body| body.capacity)
    }

    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: a hint; pushing decides.
        self.raw.0.load(Ordering::Relaxed) == closed()
            || self.body().is_some_and(|body| body.tail.index.load(Ordering::Relaxed) & CLOSED != 0)
    }

    /// The body, allocated now if need be; `None`: closed.
    #[cold]
    fn allocated(&self) -> Option<&Body<M>> {
        let body = Self::alloc(0);
        // AcqRel: the release half publishes the body; the acquire half (also on failure) shows
        // another's. No model needs the acquire: null points to nothing, and `body` reads another's
        // again.
        let swapped = self.raw.0.compare_exchange(
            null_mut(),
            body.cast(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match swapped {
            // SAFETY: ours, just published; it lives until drop.
            Ok(_) => Some(unsafe { &*body }),
            Err(_) => {
                // SAFETY: nobody else has seen it.
                unsafe { Self::free(body) };
                self.body()
            }
        }
    }

    /// Pushes a message. With `over`, a bounded queue takes it even when full. Lock-free but for
    /// the moment in which another producer installs a block. Returns how many messages wait now,
    /// this one included.
    pub(crate) fn push(&self, msg: M, stamp_ns: u64, over: bool) -> Result<usize, PushError<M>> {
        let Some(body) = self.body().or_else(|| self.allocated()) else {
            return Err(PushError::Closed(msg));
        };
        match Self::claim(body, over) {
            Ok(claim) => {
                let len = claim.len;
                Self::fill(body, claim, msg, stamp_ns);
                Ok(len + 1)
            }
            Err(Refusal::Closed) => Err(PushError::Closed(msg)),
            Err(Refusal::Full) => Err(PushError::Full(msg)),
        }
    }

    /// Claims the next position for a message.
    #[inline(always)]
    fn claim(body: &Body<M>, over: bool) -> Result<Claim<M>, Refusal> {
        let mut next: *mut Block<M> = null_mut();
        let mut waits = 0u32;
        // Acquire: whoever sees a position also sees the block that belongs to it (installed
        // before, with release).
        let mut tail = body.tail.index.load(Ordering::Acquire);
        let refusal = loop {
            if tail & CLOSED != 0 {
                break Refusal::Closed;
            }
            let position = tail / STEP;
            let offset = position % LAP;
            if offset == LAP - 1 {
                // Another producer is installing the next block.
                wait(&mut waits);
                // Acquire: as above.
                tail = body.tail.index.load(Ordering::Acquire);
                continue;
            }
            // Acquire: pairs with the release in `pop`: what the consumer did before it freed
            // capacity comes before the new message.
            let len = if body.capacity == 0 {
                0
            } else {
                messages(position).saturating_sub(messages(body.head.index.load(Ordering::Acquire)))
            };
            if body.capacity != 0 && !over && len >= body.capacity {
                break Refusal::Full;
            }
            if offset == LAP - 2 && next.is_null() {
                next = Self::spare_block(body);
            }
            // Acquire: the block's content as its installer left it. It belongs to `position` if
            // the swap below succeeds: a block is stored before the position that leads to it is
            // reached, and positions only grow. No model can tell: who has acquired that position
            // has acquired the block with it.
            let block = body.tail.block.load(Ordering::Acquire);
            // AcqRel: the claim orders this message before any that is pushed after seeing it. No
            // model can tell either half: `state` releases the message, and what it rests on was
            // acquired above.
            match body.tail.index.compare_exchange_weak(
                tail,
                tail + STEP,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Err(now) => tail = now,
                Ok(_) => return Ok(Claim { block, offset, len, next }),
            }
        };
        Self::free_unused(next);
        Err(refusal)
    }

    /// Writes a message to the position claimed for it; installs the next block if the position is
    /// a block's last.
    #[inline(always)]
    fn fill(body: &Body<M>, claim: Claim<M>, msg: M, stamp_ns: u64) {
        let Claim { block, offset, next, .. } = claim;
        let is_last = offset == LAP - 2;
        // SAFETY: the block is alive: the slot claimed in it has not been taken, so it is not used
        // up.
        let block = unsafe { &*block };
        if is_last {
            // Release: as the position below. No model can tell: who uses the block has acquired
            // that.
            body.tail.block.store(next, Ordering::Release);

            // Release: block before position; pairs with the acquire of whoever reads `tail`.
            body.tail.index.fetch_add(STEP, Ordering::Release);
        }
        let slot = &block.slots[offset];
        // SAFETY: the claim makes the slot ours until it is marked ready.
        unsafe {
            slot.msg.with(|place| {
                place.write(msg);
            })
        };
        // Release: pairs with the acquire in `pop`.
        slot.state.store(stamp_ns.max(READY), Ordering::Release);
        if is_last {
            // Release: pairs with the acquire in `next_block`: the last touch, which lets the
            // consumer reuse the block.
            block.next.store(next, Ordering::Release);
        } else {
            Self::free_unused(next);
        }
    }

    /// Frees a block, if there is one, that was never published.
    #[inline(always)]
    fn free_unused(block: *mut Block<M>) {
        if !block.is_null() {
            // SAFETY: made by `Block::alloc`, and never published.
            drop(unsafe { Box::from_raw(block) });
        }
    }

    /// Pushes messages in their order, as many at a time as a block has free slots: one claim each
    /// time. What is left in `messages` afterwards was refused because the queue is closed. Not for
    /// bounded queues.
    pub(crate) fn push_all(&self, messages: &mut Vec<Envelope<M>>) {
        let mut left = messages.len();
        let mut waiting = messages.drain(..);
        let Some(body) = self.body().or_else(|| self.allocated()) else {
            let refused = waiting.collect();
            *messages = refused;
            return;
        };
        let mut waits = 0;
        while left > 0 {
            // The same steps as in `push`, for `n` positions instead of one: see there for each
            // ordering.
            // Acquire: as in `push`.
            let tail = body.tail.index.load(Ordering::Acquire);
            if tail & CLOSED != 0 {
                let refused = waiting.collect();
                *messages = refused;
                return;
            }
            let offset = (tail / STEP) % LAP;
            if offset == LAP - 1 {
                wait(&mut waits);
                continue;
            }
            let n = left.min(LAP - 1 - offset);
            let is_last = offset + n == LAP - 1;
            let next = if is_last { Self::spare_block(body) } else { null_mut() };
            // Acquire: as in `push`, where no model can tell either.
            let block = body.tail.block.load(Ordering::Acquire);
            // AcqRel: as in `push`, where no model can tell either half. Relaxed on failure: it is
            // read again.
            let claim = body.tail.index.compare_exchange(
                tail,
                tail + n * STEP,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if claim.is_err() {
                Self::free_unused(next);
                continue;
            }
            // SAFETY: the block is alive: the slots claimed in it have not been taken, so it is not
            // used up.
            let block = unsafe { &*block };
            if is_last {
                // Release: as in `push`, where no model can tell either.
                body.tail.block.store(next, Ordering::Release);

                // Release: as in `push`.
                body.tail.index.fetch_add(STEP, Ordering::Release);
            }
            for (slot, Envelope { stamp_ns, msg }) in
                block.slots[offset..offset + n].iter().zip(&mut waiting)
            {
                // SAFETY: the claim makes the slot ours until it is marked ready.
                unsafe {
                    slot.msg.with(|place| {
                        place.write(msg);
                    })
                };
                // Release: pairs with the acquire in `pop`.
                slot.state.store(stamp_ns.max(READY), Ordering::Release);
            }
            if is_last {
                // Release: as in `push`.
                block.next.store(next, Ordering::Release);
            }
            left -= n;
        }
    }

    /// A block for the producer that claims the last slot of one: the used-up one that was kept, or
    /// a new one.
    fn spare_block(body: &Body<M>) -> *mut Block<M> {
        // Acquire: pairs with the release of the consumer that put it there.
        let spare = body.tail.spare.swap(null_mut(), Ordering::Acquire);
        if spare.is_null() { Block::alloc() } else { spare }
    }

    /// Takes the oldest message, if it is ready. Only the consumer may.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Envelope<M>> {
        let body = self.body()?;
        // Relaxed: the consumer's own.
        let mut position = body.head.index.load(Ordering::Relaxed);
        // SAFETY: the consumer's own, and the closure calls no user code.
        let mut block = unsafe { body.head.block.with(|block| *block) };
        if position % LAP == LAP - 1 {
            block = self.next_block(body, block)?;
            position += 1;
            // Relaxed: the consumer's own.
            body.head.index.store(position, Ordering::Relaxed);
        }
        // SAFETY: the head's block is alive until the consumer leaves it.
        let slot = unsafe { &(*block).slots[position % LAP] };
        // Acquire: pairs with the release of the producer that marked it ready.
        let state = slot.state.load(Ordering::Acquire);
        if state == 0 {
            return None;
        }
        // Relaxed: the producer that reuses the block acquires it through `spare`.
        slot.state.store(0, Ordering::Relaxed);
        // SAFETY: ready: written by its producer, and taken once, for the head moves on.
        let msg = unsafe { slot.msg.with(|place| place.assume_init_read()) };
        // Release: pairs with the acquire in `push`: who sees free capacity in a bounded queue sees
        // what was done before.
        body.head.index.store(position + 1, Ordering::Release);
        Some(Envelope { stamp_ns: if state == READY { 0 } else { state }, msg })
    }

    /// Leaves a used-up block; `None`: its successor is not linked yet.
    #[cold]
    fn next_block(&self, body: &Body<M>, used_up: *mut Block<M>) -> Option<*mut Block<M>> {
        // SAFETY: the head's block is alive until the consumer leaves it, here.
        // Acquire: pairs with the release of the producer that linked it: its last touch of the old
        // block.
        let next = unsafe { (*used_up).next.load(Ordering::Acquire) };
        if next.is_null() {
            return None;
        }
        // SAFETY: no producer touches it any more. Loom does not see memory go, but it sees a store
        // that does not come before this.
        #[cfg(loom)]
        unsafe {
            (*used_up).next.unsync_load()
        };
        // SAFETY: the consumer's own, and the closure calls no user code.
        unsafe { body.head.block.with(|block| *block = next) };
        // SAFETY: used up, and no producer touches it any more.
        // Relaxed: no producer touches it any more.
        unsafe { (*used_up).next.store(null_mut(), Ordering::Relaxed) };
        // Release: pairs with the acquire of the producer that takes it. Relaxed on failure: it is
        // freed here.
        if body
            .tail
            .spare
            .compare_exchange(null_mut(), used_up, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            // SAFETY: as above; its messages have been taken.
            drop(unsafe { Box::from_raw(used_up) });
        }
        Some(next)
    }

    /// Closes it: no push succeeds from now on. What was pushed before stays to be popped; see
    /// [`SharedQueue::pop_closed`].
    pub(crate) fn close(&self) {
        // AcqRel: the release half shows whoever is refused what was done before. No model needs
        // the acquire half: null points to nothing, and `pop` acquires. Relaxed on failure: `body`
        // reads it again.
        let body = &self.raw.0;
        if body.compare_exchange(null_mut(), closed(), Ordering::AcqRel, Ordering::Relaxed).is_err()
            && let Some(body) = self.body()
        {
            // AcqRel: orders the closing among the claims: each comes before it (and will be ready)
            // or is refused. The release half as above; no model needs the acquire half, for `pop`
            // acquires each message.
            body.tail.index.fetch_or(CLOSED, Ordering::AcqRel);
        }
    }

    /// After `close`: takes the oldest message, waiting for a producer that has claimed it but not
    /// finished. Only the consumer may.
    pub(crate) fn pop_closed(&self) -> Option<Envelope<M>> {
        let mut waits = 0;
        loop {
            if let Some(envelope) = self.pop() {
                return Some(envelope);
            }
            if self.is_empty() {
                return None;
            }
            wait(&mut waits);
        }
    }

    /// # Safety
    /// Nobody else refers to the body, and it was made by `alloc`.
    unsafe fn free(body: *mut Body<M>) {
        // SAFETY: by contract.
        let body = unsafe { Box::from_raw(body) };
        // SAFETY: by contract.
        let mut block = unsafe { body.head.block.with(|block| *block) };
        while !block.is_null() {
            // SAFETY: the blocks from the head on are ours; Relaxed: nobody else is there.
            let next = unsafe { (*block).next.load(Ordering::Relaxed) };
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(block) });
            block = next;
        }
        let spare = body.tail.spare.load(Ordering::Relaxed);
        if !spare.is_null() {
            // SAFETY: ours, and not linked anywhere.
            drop(unsafe { Box::from_raw(spare) });
        }
    }
}

impl<M> Drop for SharedQueue<M> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        // Relaxed: nobody else is there.
        let body = self.raw.0.load(Ordering::Relaxed);
        if !body.is_null() && body != closed() {
            // SAFETY: made by `alloc`, and nobody refers to it any more.
            unsafe { Self::free(body.cast()) };
        }
    }
}

/// Waits for another thread to finish a few instructions; if it was descheduled, lets it run.
fn wait(waits: &mut u32) {
    *waits += 1;
    if (*waits).is_multiple_of(64) || cfg!(any(loom, shuttle)) {
        thread::yield_now();
    } else {
        spin_loop();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn drain(queue: &SharedQueue<u64>) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop()).map(|envelope| envelope.msg).collect()
    }

    #[test]
    fn what_goes_in_comes_out_in_order_over_many_blocks() {
        let queue = SharedQueue::new(None);
        for round in 0..5 {
            for i in 0..100 {
                queue.push(i, 0, false).unwrap();
            }
            assert_eq!(queue.len(), 100, "round {round}");
            assert_eq!(drain(&queue), (0..100).collect::<Vec<_>>());
            assert!(queue.is_empty());
        }
    }

    #[test]
    fn the_length_counts_messages_at_every_position_of_a_block() {
        let queue = SharedQueue::new(None);
        for i in 0..200 {
            assert_eq!(queue.len(), i as usize);
            queue.push(i, 0, false).unwrap();
        }
        for i in (0..200usize).rev() {
            queue.pop().unwrap();
            assert_eq!(queue.len(), i);
        }
    }

    #[test]
    fn a_bounded_queue_is_full_at_its_capacity_and_has_room_again() {
        let queue = SharedQueue::new(Some(3));
        assert_eq!((0..3).map(|i| queue.push(i, 0, false).unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(queue.push(3, 0, false), Err(PushError::Full(3)));
        assert_eq!(queue.push(4, 0, true), Ok(4), "over the bound when told so");
        queue.pop().unwrap();
        queue.pop().unwrap();
        assert_eq!(queue.push(5, 0, false), Ok(3));
        assert_eq!(drain(&queue), [2, 4, 5]);
    }

    #[test]
    fn closing_refuses_new_messages_and_keeps_old_ones() {
        let fresh = SharedQueue::new(None);
        fresh.close();
        assert_eq!(fresh.push(1, 0, false), Err(PushError::Closed(1)));
        assert!(fresh.is_closed() && fresh.pop_closed().is_none());

        let used = SharedQueue::new(None);
        used.push(1, 0, false).unwrap();
        used.close();
        assert_eq!(used.push(2, 0, true), Err(PushError::Closed(2)));
        assert_eq!(used.pop_closed().map(|envelope| envelope.msg), Some(1));
        assert!(used.pop_closed().is_none());
    }

    #[test]
    fn positions_near_the_end_of_their_range_count_as_those_near_its_beginning() {
        let queue = SharedQueue::new(Some(3));
        let body = queue.body().unwrap();
        // As if so many had been sent: at 1 billion a second, for 290 years.
        let last_block = usize::MAX / STEP / LAP * LAP;
        let position = last_block - 8 * LAP;
        // Relaxed: one thread.
        body.head.index.store(position, Ordering::Relaxed);
        body.tail.index.store(position * STEP, Ordering::Relaxed);
        for i in 0..3 * LAP as u64 {
            assert_eq!(queue.push(i, 0, false), Ok(1));
            assert_eq!(queue.push(1000, 0, true), Ok(2));
            assert_eq!(queue.len(), 2);
            assert_eq!(drain(&queue), [i, 1000][..]);
        }
        queue.close();
        assert_eq!(queue.push(5, 0, true), Err(PushError::Closed(5)));
    }

    #[test]
    fn many_pushed_together_keep_their_order_over_blocks_and_come_back_from_a_closed_queue() {
        let queue = SharedQueue::new(None);
        for n in 0..70 {
            queue.push(1000, 0, false).unwrap();
            let mut messages: Vec<_> = (0..n).map(|msg| Envelope { stamp_ns: 0, msg }).collect();
            queue.push_all(&mut messages);
            assert!(messages.is_empty());
            assert_eq!(queue.pop().unwrap().msg, 1000);
            assert_eq!(drain(&queue), (0..n).collect::<Vec<_>>());
        }
        queue.close();
        let mut messages = vec![Envelope { stamp_ns: 0, msg: 7 }, Envelope { stamp_ns: 0, msg: 8 }];
        queue.push_all(&mut messages);
        assert_eq!(messages.iter().map(|envelope| envelope.msg).collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn the_time_of_a_sampled_message_travels_with_it() {
        let queue = SharedQueue::new(None);
        queue.push(1, 0, false).unwrap();
        queue.push(2, 77, false).unwrap();
        assert_eq!(queue.pop().unwrap().stamp_ns, 0);
        assert_eq!(queue.pop().unwrap().stamp_ns, 77);
    }

    #[test]
    fn messages_left_in_the_queue_are_dropped_with_it() {
        let witness = Arc::new(());
        let queue = SharedQueue::new(None);
        for _ in 0..70 {
            queue.push(witness.clone(), 0, false).unwrap();
        }
        drop(queue.pop());
        drop(queue);
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn many_producers_keep_each_ones_order() {
        let n = if cfg!(miri) { 200 } else { 20_000u64 };
        let queue = Arc::new(SharedQueue::new(None));
        let producers: Vec<_> = (0..3u64)
            .map(|p| {
                let queue = queue.clone();
                std::thread::spawn(move || {
                    (0..n).for_each(|i| assert!(queue.push(p << 32 | i, 0, false).is_ok()))
                })
            })
            .collect();
        let mut next = [0u64; 3];
        while next.iter().sum::<u64>() < 3 * n {
            match queue.pop() {
                Some(Envelope { msg, .. }) => {
                    let producer = (msg >> 32) as usize;
                    assert_eq!(msg & 0xffff_ffff, next[producer]);
                    next[producer] += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert!(queue.is_empty());
    }
}

//! A worker's end of the lanes: what it puts in, what it takes out, how it settles, and what waits for grace periods (see `lanes`).

use super::{Alarm, Worker};
use crate::lanes::{Chunk, DELIVERED_AT_ONCE, NO_LANE, NONE_OPEN, parcel_words};
use crate::runnable::Runnable;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{OwnerCell, spin_loop};
use std::cell::Cell;
use std::collections::VecDeque;

/// Chunks that wait to be delivered before larger ones are used, of so many words.
const FLOOD: u64 = 8;
const FLOOD_WORDS: usize = 2 * 1024;

/// Chunks that wait to be delivered before their sender waits, too, and for how many looks: some microseconds.
const AHEAD: u64 = 32;
const PACE: u32 = if cfg!(any(loom, shuttle, miri)) { 0 } else { 400 };

/// The worker's end of all lanes.
pub(super) struct LaneEnds {
    /// Workers to whom lanes lead, or 0 if there are none.
    workers: usize,
    /// The epoch in which the oldest open lane was opened.
    oldest_open: Cell<u64>,
    outgoing: OwnerCell<Vec<Outgoing>>,
    /// Whose lanes are open.
    open: OwnerCell<Vec<usize>>,
    /// What deliveries left to do that may call user code.
    deferred: OwnerCell<Vec<Alarm>>,
    /// What waits for a grace period that has not begun yet.
    fresh: OwnerCell<Vec<Grace>>,
    /// What waits for a grace period, by its epoch.
    waiting: OwnerCell<VecDeque<(u64, Grace)>>,
}

/// The sending end of a lane.
#[derive(Debug, Default)]
struct Outgoing {
    /// What is being filled, and in which epoch it was begun.
    chunk: Option<Chunk>,
    begun: u64,
    /// An empty one for later.
    spare: Option<Chunk>,
    /// Chunks published, ever.
    published: u64,
    /// How many chunks were delivered when this worker last waited for more in vain.
    in_vain: u64,
    /// Epochs in which the chunks were begun that may not be delivered yet, each with the number of the last such chunk.
    under_way: VecDeque<(u64, u64)>,
}

/// What a worker does when a grace period is over.
enum Grace {
    /// Drops the scheduler's reference.
    Free(Runnable),
    /// Calls this.
    Call(Alarm),
}

impl LaneEnds {
    pub(super) fn new(shared: &crate::Shared) -> Self {
        let workers = if shared.lanes.exist() { shared.workers() } else { 0 };
        LaneEnds {
            workers,
            oldest_open: Cell::new(NONE_OPEN),
            outgoing: OwnerCell::new((0..workers).map(|_| Outgoing::default()).collect()),
            open: OwnerCell::new(Vec::new()),
            deferred: OwnerCell::new(Vec::new()),
            fresh: OwnerCell::new(Vec::new()),
            waiting: OwnerCell::new(VecDeque::new()),
        }
    }
}

// ---- sending -----------------------------------------------------------------------------------------------------

impl Worker {
    /// Puts a message for something at another worker into the lane to there. It comes back if it must go another way; whatever this worker
    /// has sent to that runnable before is then in its shared queue or handled.
    ///
    /// # Errors
    /// The message.
    ///
    /// # Safety
    /// The runnable is alive, and its messages are of type `M`.
    #[inline(always)]
    pub unsafe fn ship<M: Send>(&self, to: Runnable, stamp_ns: u64, message: M) -> Result<(), M> {
        let Some(index) = self.has_lane_to(to) else {
            return self.ship_slowly(to, stamp_ns, message);
        };
        // SAFETY: this thread's own, and the closure calls no user code.
        let rest = unsafe {
            self.ends.outgoing.with(|outgoing| match &mut outgoing[index].chunk {
                Some(chunk) if chunk.has_room(parcel_words::<M>()) => {
                    chunk.push(to.0, stamp_ns, message);
                    None
                }
                _ => Some(message),
            })
        };
        rest.map_or(Ok(()), |message| self.ship_slowly(to, stamp_ns, message))
    }

    /// Whether the runnable is owned by a worker to which a lane leads, or by this one.
    #[inline(always)]
    pub fn reaches(&self, to: Runnable) -> bool {
        // Relaxed: `ship` looks again.
        let owner = to.header().owner.load(Ordering::Relaxed);
        (owner.wrapping_sub(self.first_id) as usize) < self.ends.workers
    }

    /// The worker to which a lane may be used for this runnable, without settling.
    #[inline(always)]
    fn has_lane_to(&self, to: Runnable) -> Option<usize> {
        let header = to.header();
        // Acquire: pairs with the release in `take_over`: what is read of `since`, and of the epoch from now on, is at least what was set then.
        let owner = header.owner.load(Ordering::Acquire);
        let index = owner.wrapping_sub(self.first_id) as usize;
        // Too large: in transit, ended, nobody's, or at another scheduler's worker. Relaxed: see above.
        let is_sure = index < self.ends.workers
            && header.since.load(Ordering::Relaxed) <= self.ends.oldest_open.get();
        is_sure.then_some(index)
    }

    #[cold]
    #[inline(never)]
    fn ship_slowly<M: Send>(&self, to: Runnable, stamp_ns: u64, mut message: M) -> Result<(), M> {
        let words = parcel_words::<M>();
        loop {
            let Some(index) = self.has_lane_to(to) else {
                let is_open = self.ends.oldest_open.get() != NONE_OPEN;
                self.settle();
                // Relaxed: what was noted when it last moved was either seen above, or is of no matter with no lane open.
                if is_open && to.header().since.load(Ordering::Relaxed) != NO_LANE {
                    continue;
                }
                return Err(message);
            };
            if index == self.index {
                // What this worker owns it has settled before.
                return Err(message);
            }
            // SAFETY: this thread's own, and the closure calls no user code.
            let rest = unsafe {
                self.ends.outgoing.with(|outgoing| match &mut outgoing[index].chunk {
                    Some(chunk) if chunk.has_room(words) => {
                        chunk.push(to.0, stamp_ns, message);
                        None
                    }
                    _ => Some(message),
                })
            };
            let Some(message_back) = rest else {
                if self.shared.sleep.is_asleep(index) {
                    self.publish(index);
                }
                return Ok(());
            };
            message = message_back;
            // The owner is read again after this: a chunk must hold nothing whose move was known when it was begun.
            self.begin_chunk(index, words);
        }
    }

    /// Begins a chunk for a worker; what was in the one before leaves.
    fn begin_chunk(&self, index: usize, words: usize) {
        self.publish(index);
        let epoch = self.shared.lanes.epoch();
        if self.ends.oldest_open.get() == NONE_OPEN {
            self.shared.lanes.open_first(self.index, epoch);
            self.ends.oldest_open.set(epoch);
        }
        let delivered = self.keep_pace(index);
        // SAFETY: this thread's own, and the closures call no user code.
        unsafe {
            let was_open = self.ends.outgoing.with(|outgoing| {
                let lane = &mut outgoing[index];
                let was_open = lane.chunk.is_some() || !lane.under_way.is_empty();
                // The receiver does not keep up: larger chunks cost less each.
                let waiting = lane.under_way.back().map_or(0, |&(last, _)| last - delivered);
                let words = if waiting >= FLOOD { words.max(FLOOD_WORDS) } else { words };
                let spare = lane.spare.take().filter(|chunk| chunk.has_room(words));
                lane.chunk = Some(spare.unwrap_or_else(|| Chunk::new(words)));
                lane.begun = epoch;
                was_open
            });
            if !was_open {
                self.ends.open.with(|open| open.push(index));
            }
        }
    }

    /// If much waits in a lane, waits for some microseconds until the receiver has delivered one more chunk: to run further ahead of
    /// whoever is slower gains nothing, and costs memory that is in nobody's cache. Returns how many were delivered, ever.
    fn keep_pace(&self, index: usize) -> u64 {
        let lane = self.shared.lanes.lane(self.index, index);
        let before = lane.delivered();
        // SAFETY: this thread's own, and the closure calls no user code.
        let waits = unsafe {
            self.ends.outgoing.with(|outgoing| {
                let ours = &outgoing[index];
                ours.published.saturating_sub(before) >= AHEAD && ours.in_vain != before
            })
        };
        if !waits {
            return before;
        }
        for _ in 0..PACE {
            if lane.delivered() != before {
                return lane.delivered();
            }
            spin_loop();
        }
        // It does something else: do not wait again until it comes back to this.
        // SAFETY: as above.
        unsafe { self.ends.outgoing.with(|outgoing| outgoing[index].in_vain = before) }
        before
    }

    /// What lies in the chunk for a worker leaves.
    fn publish(&self, index: usize) {
        // SAFETY: this thread's own, and the closure calls no user code.
        let chunk = unsafe {
            self.ends.outgoing.with(|outgoing| {
                let lane = &mut outgoing[index];
                let chunk = lane.chunk.take_if(|chunk| !chunk.is_empty())?;
                lane.published += 1;
                match lane.under_way.back_mut() {
                    Some((last, begun)) if *begun == lane.begun => *last = lane.published,
                    _ => lane.under_way.push_back((lane.published, lane.begun)),
                }
                Some(chunk)
            })
        };
        let Some(chunk) = chunk else { return };
        let spare = self.shared.lanes.publish(self.index, index, chunk);
        // SAFETY: as above.
        unsafe {
            self.ends.outgoing.with(|outgoing| {
                let lane = &mut outgoing[index];
                lane.spare = lane.spare.take().or(spare);
            })
        }
        self.wake(index);
    }

    /// Once a round: what lies in chunks leaves, and lanes that were delivered are closed.
    #[inline]
    pub(super) fn tend_lanes(&self) {
        if self.ends.oldest_open.get() != NONE_OPEN {
            self.tend_open_lanes();
        }
    }

    fn tend_open_lanes(&self) {
        let mut oldest = NONE_OPEN;
        // SAFETY: this thread's own, and the closures call no user code.
        unsafe {
            let mut open = self.ends.open.with(std::mem::take);
            open.retain(|&index| {
                self.publish(index);
                let delivered = self.shared.lanes.lane(self.index, index).delivered();
                self.ends.outgoing.with(|outgoing| {
                    let lane = &mut outgoing[index];
                    lane.spare = lane.spare.take().or(lane.chunk.take());
                    while lane.under_way.front().is_some_and(|&(last, _)| last <= delivered) {
                        lane.under_way.pop_front();
                    }
                    let begun = lane.under_way.front().map(|&(_, begun)| begun);
                    oldest = begun.map_or(oldest, |begun| oldest.min(begun));
                    begun.is_some()
                })
            });
            self.ends.open.with(|place| *place = open);
        }
        self.set_oldest_open(oldest);
    }

    /// It slept, and its open lanes counted as closed (see `lanes`).
    pub(super) fn awake(&self) {
        if self.ends.oldest_open.get() != NONE_OPEN {
            fence(Ordering::SeqCst);
        }
    }

    fn set_oldest_open(&self, oldest: u64) {
        if self.ends.oldest_open.replace(oldest) != oldest {
            self.shared.lanes.set_oldest(self.index, oldest);
        }
    }

    /// Sees to it that whatever this worker has sent is where its receivers look: nothing is gathered, nothing lies in a lane.
    #[inline]
    pub fn settle(&self) {
        self.end_run();
        self.settle_open_lanes();
    }

    /// As `settle`, for what lies in lanes.
    #[inline]
    pub fn settle_open_lanes(&self) {
        if self.ends.oldest_open.get() != NONE_OPEN {
            self.settle_lanes();
        }
    }

    /// Whether little lies in this worker's lanes: nothing but what it has not published yet.
    pub(super) fn settles_soon(&self) -> bool {
        // SAFETY: this thread's own, and the closures call no user code.
        unsafe {
            self.ends.outgoing.with(|outgoing| {
                let is_delivered = |&index: &usize| {
                    let lane = self.shared.lanes.lane(self.index, index);
                    outgoing[index].published == lane.delivered()
                };
                self.ends.open.with(|open| open.iter().all(is_delivered))
            })
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_lanes(&self) {
        self.counters().settled.add(1);
        // SAFETY: this thread's own, and the closures call no user code.
        unsafe {
            for index in self.ends.open.with(std::mem::take) {
                let mut delivery = self.shared.lanes.lane(self.index, index).deliver();
                while let Some(mut chunk) = delivery.take() {
                    self.deliver(&mut chunk);
                    delivery.done(chunk);
                }
                drop(delivery);
                let chunk = self.ends.outgoing.with(|outgoing| {
                    outgoing[index].under_way.clear();
                    outgoing[index].chunk.take()
                });
                if let Some(mut chunk) = chunk {
                    self.deliver(&mut chunk);
                    self.ends.outgoing.with(|outgoing| outgoing[index].spare = Some(chunk));
                }
            }
        }
        self.set_oldest_open(NONE_OPEN);
        self.do_deferred();
    }
}

// ---- receiving ---------------------------------------------------------------------------------------------------

impl Worker {
    /// Once a round: delivers what others put into their lanes to this worker.
    #[inline]
    pub(super) fn receive_lanes(&self) {
        if self.shared.lanes.has_pending(self.index) {
            self.receive_pending();
        }
    }

    fn receive_pending(&self) {
        let lanes = &self.shared.lanes;
        lanes.take_pending(self.index, |from| {
            let mut delivery = lanes.lane(from, self.index).deliver();
            let mut words = 0;
            while words < DELIVERED_AT_ONCE {
                let Some(mut chunk) = delivery.take() else { return };
                words += chunk.len();
                self.deliver(&mut chunk);
                delivery.done(chunk);
            }
            lanes.mark_pending(from, self.index);
        });
        self.do_deferred();
    }

    /// Delivers what lies in a chunk. It calls no user code, for others may wait for it.
    fn deliver(&self, chunk: &mut Chunk) {
        let mut parcels = chunk.take();
        while let Some(to) = parcels.next_to() {
            // SAFETY: what is sent to is alive until its grace period is over, which comes after this (`lanes`); the vtable's function
            // takes out messages of the runnable's type, as `ship` put them in.
            unsafe { (Runnable(to).header().vtable.deliver)(to, &mut parcels, self) }
        }
    }

    /// For deliveries: `call` may call user code, so it is called when the delivery is over.
    pub fn defer(&self, call: Alarm) {
        // SAFETY: this thread's own, and the closure calls no user code.
        unsafe { self.ends.deferred.with(|deferred| deferred.push(call)) }
    }

    fn do_deferred(&self) {
        // SAFETY: this thread's own; what was deferred is called outside the closure.
        for call in unsafe { self.ends.deferred.with(std::mem::take) } {
            call(self);
        }
    }
}

// ---- grace periods -----------------------------------------------------------------------------------------------

impl Worker {
    /// Whether something may lie in a lane that was sent by somebody whose last deeds the caller has seen (it has acquired them).
    #[inline]
    pub fn may_be_under_way(&self) -> bool {
        self.shared.lanes.any_open()
    }

    /// Calls this as soon as all that lies in lanes now is delivered.
    pub fn after_grace(&self, call: Alarm) {
        // SAFETY: this thread's own, and the closure calls no user code.
        unsafe { self.ends.fresh.with(|fresh| fresh.push(Grace::Call(call))) }
    }

    /// Drops the scheduler's reference to something that has ended (it is marked `DEAD`), as soon as nothing for it lies in a lane.
    pub(super) fn release_dead(&self, runnable: Runnable) {
        if self.ends.workers > 0 {
            // See `lanes`: between marking it and looking for open lanes.
            fence(Ordering::SeqCst);
            if self.shared.lanes.any_open() {
                // SAFETY: this thread's own, and the closure calls no user code.
                return unsafe { self.ends.fresh.with(|fresh| fresh.push(Grace::Free(runnable))) };
            }
        }
        // SAFETY: nothing refers to it any more: it is in no queue, no token travels, nothing lies in a lane.
        unsafe { (runnable.header().vtable.release)(runnable.0) }
    }

    /// Whether something waits for a grace period: the worker does not go to sleep then.
    #[inline]
    pub(super) fn has_graces(&self) -> bool {
        // SAFETY: this thread's own, and the closures call no user code.
        unsafe {
            self.ends.fresh.with(|fresh| !fresh.is_empty())
                || self.ends.waiting.with(|waiting| !waiting.is_empty())
        }
    }

    /// Once a round: begins a grace period for what asked for one, and does what waited for those that are over.
    #[inline]
    pub(super) fn tend_graces(&self) {
        if self.has_graces() {
            self.tend_waiting();
        }
    }

    fn tend_waiting(&self) {
        // SAFETY: this thread's own; what waited is done outside the closures, which call no user code.
        unsafe {
            let fresh = self.ends.fresh.with(std::mem::take);
            if !fresh.is_empty() {
                let epoch = self.shared.lanes.raise_epoch();
                let fresh = fresh.into_iter().map(|grace| (epoch, grace));
                self.ends.waiting.with(|waiting| waiting.extend(fresh));
            }
            let next = || {
                self.ends.waiting.with(|waiting| {
                    let (epoch, _) = waiting.front()?;
                    if self.shared.lanes.is_over(*epoch, &self.shared.sleep) {
                        waiting.pop_front()
                    } else {
                        None
                    }
                })
            };
            while let Some((_, grace)) = next() {
                match grace {
                    Grace::Free(runnable) => (runnable.header().vtable.release)(runnable.0),
                    Grace::Call(call) => call(self),
                }
            }
        }
    }

    /// At the scheduler's end, when all workers have settled: drops what still waits for grace periods.
    pub(super) fn end_graces(&self) {
        // SAFETY: this thread's own; references are dropped outside the closures. Nothing lies in a lane any more.
        unsafe {
            let fresh = self.ends.fresh.with(std::mem::take);
            let waiting = self.ends.waiting.with(std::mem::take);
            for grace in fresh.into_iter().chain(waiting.into_iter().map(|(_, grace)| grace)) {
                if let Grace::Free(runnable) = grace {
                    (runnable.header().vtable.release)(runnable.0);
                }
            }
        }
    }
}

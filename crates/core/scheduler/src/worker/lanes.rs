//! Sending and receiving by lanes, flushing them, and grace periods (see `lanes`).

use super::lane_ends::Grace;
use super::{Callback, Worker};
use crate::chunk::Entries;
use crate::lanes::{NONE_OPEN, entry_words};
use crate::policy::tuning::{self, AHEAD, DELIVERED_AT_ONCE, TIMED_ROUNDS, delivered_after, weigh};
use crate::runnable::{Header, NO_LANE, Runnable, SCHEDULED};
use crate::steal_queue::{StealGuard, StealQueue};
use crate::sync::atomic::Ordering;
use crate::sync::spin_loop;

/// How many times a sender that is far ahead looks whether a chunk was delivered: some
/// microseconds.
const PACE: u32 = if cfg!(any(loom, shuttle, miri)) { 0 } else { 400 };

// ---- sending
// -----------------------------------------------------------------------------------------------------

impl Worker {
    /// The lane into which a message of the running turn to this runnable can be put at once
    /// ([`Worker::push_lane`]): the runnable is at a worker to which a lane is open, and the lane
    /// has room for a message of type `M`.
    ///
    /// # Safety
    /// The runnable is alive.
    #[inline(always)]
    pub unsafe fn open_lane_to<M: Send>(&self, to: Runnable) -> Option<usize> {
        // What this turn has buffered for others comes before.
        let is_turn = self.running().is_some() && self.run.get().0.is_null();
        let index = self.has_lane_to(to)?;
        (is_turn && self.ends.has_room(index, entry_words::<M>())).then_some(index)
    }

    /// Puts a message without a stamp into a lane that [`Worker::open_lane_to`] has just named for
    /// this runnable and this type of message.
    ///
    /// # Panics
    /// If the lane has no room.
    #[inline(always)]
    pub fn push_lane<M: Send>(&self, lane: usize, to: Runnable, message: M) {
        self.ends.push(lane, to, 0, message);
    }

    /// Puts a message for something at another worker into the lane to there. It comes back if it
    /// must go another way; whatever this worker has sent to that runnable before is then in its
    /// shared queue or handled.
    ///
    /// # Errors
    /// The message.
    ///
    /// # Safety
    /// The runnable is alive, and its messages are of type `M`.
    #[inline(always)]
    pub unsafe fn send_via_lane<M: Send>(
        &self,
        to: Runnable,
        stamp_ns: u64,
        message: M,
    ) -> Result<(), M> {
        let Some(index) = self.has_lane_to(to) else {
            return self.ship_slowly(to, stamp_ns, message);
        };
        let rest = self.ends.try_push(index, to, stamp_ns, message);
        rest.map_or(Ok(()), |message| self.ship_slowly(to, stamp_ns, message))
    }

    /// Whether the runnable is owned by a worker to which a lane leads, or by this one.
    ///
    /// # Safety
    /// The runnable is alive.
    #[inline(always)]
    pub unsafe fn reaches(&self, to: Runnable) -> bool {
        // Relaxed: `send_via_lane` looks again.
        let owner = to.header().owner.load(Ordering::Relaxed);
        (owner.wrapping_sub(self.first_id) as usize) < self.ends.workers
    }

    /// The worker to which a lane may be used for this runnable, without flushing lanes.
    #[inline(always)]
    fn has_lane_to(&self, to: Runnable) -> Option<usize> {
        let header = to.header();
        // Acquire: pairs with the release in `take_over`: what is read of `since`, and of the epoch
        // from now on, is at least what was set then.
        let owner = header.owner.load(Ordering::Acquire);
        let index = owner.wrapping_sub(self.first_id) as usize;
        // Too large: in transit, ended, nobody's, or at another scheduler's worker. Relaxed: see
        // above.
        let is_sure = index < self.ends.workers
            && header.since.load(Ordering::Relaxed) <= self.ends.oldest_open.get();
        is_sure.then_some(index)
    }

    #[cold]
    #[inline(never)]
    fn ship_slowly<M: Send>(&self, to: Runnable, stamp_ns: u64, mut message: M) -> Result<(), M> {
        loop {
            let Some(index) = self.has_lane_to(to) else {
                let is_open = self.ends.any_open();
                self.flush_lanes();
                // Relaxed: what was noted when it last moved was either seen above, or is of no
                // matter with no lane open.
                if is_open && to.header().since.load(Ordering::Relaxed) != NO_LANE {
                    continue;
                }
                return Err(message);
            };
            if index == self.index {
                // Nothing for it lay in this worker's lanes when it took it over.
                return Err(message);
            }
            let Some(message_back) = self.ends.try_push(index, to, stamp_ns, message) else {
                if self.shared.sleep.is_asleep(index) {
                    self.publish(index);
                }
                return Ok(());
            };
            message = message_back;
            // The owner is read again after this: a chunk must hold nothing whose move was known
            // when it was begun.
            self.begin_chunk(index, entry_words::<M>());
        }
    }

    /// Begins a chunk for a worker; what was in the one before leaves.
    pub(super) fn begin_chunk(&self, index: usize, words: usize) {
        self.publish(index);
        let epoch = self.shared.lanes.epoch();
        if !self.ends.any_open() {
            self.shared.lanes.open_first(self.index, epoch);
            self.ends.set_oldest_open(epoch);
        }
        self.keep_pace(index);
        self.ends.begin_chunk(index, words, epoch);
    }

    /// If much waits in a lane, waits for some microseconds until the receiver has delivered two
    /// more chunks: to run further ahead of whoever is slower gains nothing, and costs memory that
    /// is in nobody's cache.
    fn keep_pace(&self, index: usize) {
        if !self.ends.seems_far_ahead(index) {
            return;
        }
        let delivered = || self.shared.lanes.delivered(self.index, index);
        let before = delivered();
        if !self.ends.is_far_ahead(index, before) {
            return;
        }
        // Two for one, so that it is less far ahead each time.
        for _ in 0..PACE {
            if delivered() > before + 1 {
                return;
            }
            spin_loop();
        }
        // It does something else: do not wait again until it comes back to this.
        self.ends.waited_in_vain(index, before);
    }

    /// Publishes the chunk for a worker, if anything is in it, and wakes that worker.
    fn publish(&self, index: usize) {
        self.counters().published.add(self.ends.publish(index));
        if self.ends.take_news(index) {
            self.wake(index);
        }
    }

    /// Some times in a round: if others have nothing to do, or rounds take long, what lies in
    /// chunks leaves, and what others sent is taken in.
    ///
    /// Receivers that sleep are woken at the end of the round ([`Worker::tend_lanes`]): to see for
    /// certain that one does takes a fence, and here that would wait for the chunks' cache lines.
    #[inline(never)]
    pub(super) fn exchange_lanes(&self) {
        if !self.is_waited_for() && !tuning::exchanges_early(self.turn_ns.get()) {
            return;
        }
        if self.ends.any_open() {
            self.counters().published.add(self.ends.publish_all());
        }
        self.receive_between_turns();
    }

    /// Within a round: what others sent is taken in.
    pub(super) fn receive_between_turns(&self) {
        if self.shared.lanes.has_pending(self.index) {
            // No turn is under way, and none has woken what gets messages now.
            self.now.rest();
            let woken_by = self.woken_by.replace(SCHEDULED);
            self.receive_pending(DELIVERED_AT_ONCE);
            self.woken_by.set(woken_by);
        }
    }

    /// Once a round: what lies in chunks leaves, receivers are woken, and lanes that were delivered
    /// are closed.
    #[inline]
    pub(super) fn tend_lanes(&self) {
        if self.ends.any_open() {
            self.tend_open_lanes();
        }
    }

    fn tend_open_lanes(&self) {
        let mut oldest = NONE_OPEN;
        let mut open = self.ends.take_open();
        open.retain(|&index| {
            self.publish(index);
            let delivered = self.shared.lanes.delivered(self.index, index);
            let begun = self.ends.note_delivered(index, delivered);
            oldest = begun.map_or(oldest, |begun| oldest.min(begun));
            begun.is_some()
        });
        self.ends.set_open(open);
        self.set_oldest_open(oldest);
    }

    /// Counts its open lanes again: it slept, and they counted as closed (see `lanes`).
    pub(super) fn awake(&self) {
        if self.ends.any_open() {
            self.shared.lanes.count_again();
        }
    }

    fn set_oldest_open(&self, oldest: u64) {
        if self.ends.set_oldest_open(oldest) {
            self.shared.lanes.set_oldest(self.index, oldest);
        }
    }

    /// Sees to it that whatever this worker has sent is where its receivers look: nothing is
    /// buffered, nothing lies in a lane.
    #[inline]
    pub fn flush_lanes(&self) {
        self.end_run();
        self.flush_open_lanes();
    }

    /// Does what [`Worker::flush_lanes`] does, but for what is buffered.
    #[inline]
    pub fn flush_open_lanes(&self) {
        if self.ends.any_open() {
            self.deliver_open_lanes();
        }
    }

    /// Locks a queue out of which this worker takes the first so many, of as many as there are.
    /// What it has sent to those, without being their owner, is then where they look for it.
    pub(super) fn lock_to_take<'a>(
        &self,
        queue: &'a StealQueue,
        most: impl Fn(usize) -> usize,
    ) -> StealGuard<'a> {
        self.end_run();
        loop {
            let queue = queue.lock();
            if !queue.iter().take(most(queue.len())).any(|&taken| self.ends.may_hold(taken)) {
                return queue;
            }
            // Deliveries may call user code.
            drop(queue);
            self.flush_open_lanes();
        }
    }

    /// Whether little lies in this worker's lanes: nothing but what it has not published yet.
    pub(super) fn flushes_soon(&self) -> bool {
        self.ends.are_delivered(|index| self.shared.lanes.delivered(self.index, index))
    }

    /// Whether much lies in the lane to a worker.
    pub(super) fn has_much_for(&self, index: usize) -> bool {
        self.ends.seems_far_ahead(index)
            && self.ends.is_ahead(index, self.shared.lanes.delivered(self.index, index))
    }

    #[cold]
    #[inline(never)]
    fn deliver_open_lanes(&self) {
        self.counters().flushed.add(1);
        for index in self.ends.take_open() {
            self.deliver_lane(self.index, index, usize::MAX);
            self.ends.deliver_unpublished(index, |entries| _ = self.deliver(entries));
        }
        self.set_oldest_open(NONE_OPEN);
        self.do_deferred();
    }
}

// ---- receiving
// ---------------------------------------------------------------------------------------------------

impl Worker {
    /// Once a round, which took so long: delivers what others put into their lanes to this worker.
    /// After long turns it is more, for as much more has come meanwhile; and what is still there
    /// when its sender moves on has to be delivered by that one, at a higher cost.
    #[inline]
    pub(super) fn receive_lanes(&self, took_ns: u64) {
        if !self.shared.lanes.has_pending(self.index) {
            return;
        }
        let words = delivered_after(took_ns);
        if self.counters().ticks.get().is_multiple_of(TIMED_ROUNDS) {
            self.receive_timed(words);
        } else {
            self.receive_pending(words);
        }
    }

    /// Also measures what a message costs that crosses workers. For its sender it costs about as
    /// much again: what it writes was in the receiver's cache.
    #[cold]
    fn receive_timed(&self, words: usize) {
        let start_ns = self.shared.clock.now_ns();
        let messages = self.receive_pending(words);
        if messages == 0 {
            return;
        }
        let took_ns = self.shared.clock.now_ns().saturating_sub(start_ns);
        self.counters().crossings_timed.add(messages);
        self.counters().crossings_ns.add(2 * took_ns);
        self.crossing_ns.set(weigh(self.crossing_ns.get(), 2 * took_ns / messages));
    }

    /// Takes about so many words from each lane; returns the number of messages.
    fn receive_pending(&self, words: usize) -> u64 {
        let from = self.shared.lanes.pending(self.index);
        let messages = from.map(|from| self.deliver_lane(from, self.index, words)).sum();
        self.do_deferred();
        messages
    }

    /// Delivers what lies in a lane, up to the chunk with which there are so many words; returns
    /// the number of messages.
    fn deliver_lane(&self, from: usize, to: usize, at_most: usize) -> u64 {
        let mut delivery = self.shared.lanes.deliver(from, to);
        let (mut words, mut messages) = (0, 0);
        while words < at_most {
            let Some(entries) = delivery.take() else { break };
            words += entries.words();
            let (delivered, last) = self.deliver(entries);
            messages += delivered;
            let (last, left) = (last.filter(|_| to == self.index), delivery.waiting() - 1);
            // SAFETY: until the chunk counts as delivered, its receivers are alive (`lanes`).
            let has_enough = last.is_some_and(|last| unsafe { self.has_enough(last, left) });
            delivery.done();
            if has_enough {
                break;
            }
        }
        messages
    }

    /// Whether so much waits for a receiver, which alone is ready here or favoured, that it comes
    /// to more of it no sooner if that is delivered now; so many chunks are left in the lane. What
    /// stays in its lane holds back a sender that is faster ([`Worker::keep_pace`]): the two then
    /// work side by side, in memory that stays warm.
    ///
    /// # Safety
    /// The receiver is alive.
    unsafe fn has_enough(&self, receiver: Runnable, chunks_left: u64) -> bool {
        // SAFETY: by contract.
        unsafe { self.note_crowd(receiver) };
        let (header, is_favoured) = (receiver.header(), self.is_favoured(receiver));
        if self.queue_len() > 1 && !is_favoured || !header.is_owned_by(self.id) {
            return false;
        }
        // SAFETY: this worker owns it, and it is alive by contract.
        let (waiting, cost_ns) = unsafe {
            let cost_ns = header.with_private(|private| private.cost_ns);
            ((header.vtable.pending)(receiver.0), cost_ns)
        };
        let most = if is_favoured { tuning::chunks_ahead(cost_ns) } else { AHEAD };
        chunks_left <= most && tuning::is_crowded(waiting, cost_ns)
    }

    /// Delivers what lay in a chunk; returns the number of messages, and to whom the last went. It
    /// calls no user code, for others may wait for it.
    fn deliver(&self, mut entries: Entries<'_, Header>) -> (u64, Option<Runnable>) {
        let (mut messages, mut last) = (0, None);
        while let Some(to) = entries.next_to() {
            last = Some(Runnable(to));
            // SAFETY: what is sent to is alive until its grace period is over, which comes after
            // this (`lanes`); the vtable's function takes out messages of the runnable's type, as
            // `send_via_lane` put them in.
            messages += unsafe {
                (Runnable(to).header().vtable.deliver)(to, &mut entries, self.as_worker_ref())
            };
        }
        (messages, last)
    }

    /// For deliveries: `call` may call user code, so it is called when the delivery is over.
    pub fn defer(&self, call: Callback) {
        self.deferred.with(|deferred| deferred.push(call));
    }

    fn do_deferred(&self) {
        for call in self.deferred.take() {
            call(self);
        }
    }
}

// ---- grace periods
// -----------------------------------------------------------------------------------------------

impl Worker {
    /// Whether something may lie in a lane that was sent by somebody whose last deeds the caller
    /// has seen (it has acquired them).
    #[inline]
    pub fn may_be_under_way(&self) -> bool {
        self.shared.lanes.any_open()
    }

    /// Calls this as soon as all that lies in lanes now is delivered.
    pub fn after_grace(&self, call: Callback) {
        self.graces.add(Grace::Call(call));
    }

    /// Drops the scheduler's reference to something that has ended (it is marked `DEAD`), as soon
    /// as nothing for it lies in a lane.
    pub(super) fn release_dead(&self, runnable: Runnable) {
        if self.shared.control.leaks() {
            return;
        }
        if self.ends.workers > 0 && self.shared.lanes.any_open_to_the_dead() {
            return self.graces.add(Grace::Free(runnable));
        }
        // SAFETY: nothing refers to it any more: it is in no queue, no notification travels,
        // nothing lies in a lane.
        unsafe { (runnable.header().vtable.release)(runnable.0) }
    }

    /// Whether something waits for a grace period: the worker does not go to sleep then.
    #[inline]
    pub(super) fn has_graces(&self) -> bool {
        !self.graces.is_empty()
    }

    /// Once a round: begins a grace period for what asked for one, and does what waited for those
    /// that are over.
    #[inline]
    pub(super) fn tend_graces(&self) {
        if self.has_graces() {
            self.tend_waiting();
        }
    }

    fn tend_waiting(&self) {
        let lanes = &self.shared.lanes;
        self.graces.begin(|| lanes.raise_epoch());
        while let Some(grace) =
            self.graces.next_over(|epoch| lanes.is_over(epoch, &self.shared.sleep))
        {
            match grace {
                // SAFETY: as in `release_dead`: its grace period is over, so nothing for it lies in
                // a lane.
                Grace::Free(runnable) => unsafe {
                    (runnable.header().vtable.release)(runnable.0);
                },
                Grace::Call(call) => call(self),
            }
        }
    }

    /// Drops what still waits for grace periods, at the scheduler's end, when all workers have
    /// flushed their lanes.
    pub(super) fn end_graces(&self) {
        for grace in self.graces.take_all() {
            if let Grace::Free(runnable) = grace
                && !self.shared.control.leaks()
            {
                // SAFETY: nothing lies in a lane any more.
                unsafe { (runnable.header().vtable.release)(runnable.0) }
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::Worker;
    use crate::lanes::entry_words;
    use crate::runnable::{Header, Kind, LaneEntries, Runnable, Turn, VTable, Words, WorkerRef};
    use crate::{Clock, Policy, Settings, Shared};
    use std::cell::Cell;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// What only counts what it gets.
    #[repr(C)]
    struct Counts {
        header: Header,
        waiting: Cell<usize>,
    }

    const VTABLE: VTable =
        VTable { sort: "counts", run, dispose, release, number, pending, deliver };

    unsafe fn run(_: NonNull<Header>, _: WorkerRef<'_>) -> (Turn, u32) {
        unreachable!("nothing schedules it")
    }

    unsafe fn dispose(_: NonNull<Header>, _: WorkerRef<'_>) {}

    unsafe fn release(_: NonNull<Header>) {}

    unsafe fn number(_: NonNull<Header>) -> u64 {
        0
    }

    unsafe fn pending(header: NonNull<Header>) -> usize {
        // SAFETY: this function stands in the vtable of `Counts` only.
        unsafe { header.cast::<Counts>().as_ref() }.waiting.get()
    }

    unsafe fn deliver(
        header: NonNull<Header>,
        entries: &mut LaneEntries<'_>,
        _: WorkerRef<'_>,
    ) -> u64 {
        // SAFETY: as in `pending`.
        let this = unsafe { header.cast::<Counts>().as_ref() };
        let mut delivered = 0;
        loop {
            // SAFETY: such messages were put in, and there is one.
            unsafe { entries.take::<u64>() };
            delivered += 1;
            if entries.next_to() != Some(header) {
                break;
            }
        }
        this.waiting.set(this.waiting.get() + delivered);
        delivered as u64
    }

    /// Two workers, and a receiver at the second whose items cost so much.
    fn to_a_receiver(cost_ns: u32, test: impl FnOnce(&Worker, &Worker, Runnable, &Counts)) {
        let shared =
            Arc::new(Shared::new(Settings::of_two(Policy::Pinned), None, Clock::virtual_time()));
        let [sender, receiver] = [0, 1].map(|index| Worker::new(shared.clone(), index));
        let header = Header::new(&VTABLE, Arc::new(Kind::new("counts")), 1, 0, Words::default());
        let place = NonNull::from(Box::leak(Box::new(Counts { header, waiting: Cell::new(0) })));
        // SAFETY: kept until the end of this function.
        let to = unsafe { place.as_ref() };
        to.header.take_over(receiver.id(), shared.lanes.raise_epoch());
        // SAFETY: one thread, and nobody else has it.
        unsafe { to.header.with_private(|private| private.cost_ns = cost_ns) };
        // SAFETY: kept until the end of this function.
        test(&sender, &receiver, unsafe { Runnable::new(place.cast()) }, to);
        drop([sender, receiver]);
        // SAFETY: made here, and nobody refers to it any more.
        drop(unsafe { Box::from_raw(place.as_ptr()) });
    }

    /// Sends so many chunks, full ones; returns the number of messages.
    fn send(sender: &Worker, to: Runnable, chunks: usize) -> usize {
        let mut sent = 0;
        for _ in 0..chunks {
            sender.begin_chunk(1, entry_words::<u64>());
            while sender.ends.try_push(1, to, 0, 7_u64).is_none() {
                sent += 1;
            }
        }
        sender.tend_lanes();
        sent
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of messages take minutes there")]
    fn what_waits_for_much_already_gets_more_only_when_it_has_handled_some() {
        to_a_receiver(10, |sender, receiver, to, counts| {
            let sent = send(sender, to, 30);
            let first = receiver.receive_pending(usize::MAX) as usize;
            assert!(first < sent && first >= 4_096, "{first} of {sent}");
            let more = receiver.receive_pending(usize::MAX) as usize;
            assert!(more < 2_048, "a chunk at a time: {more}");
            let mut got = first + more;
            while got < sent {
                // As if it had handled all.
                counts.waiting.set(0);
                got += receiver.receive_pending(usize::MAX) as usize;
            }
        });
    }

    #[test]
    fn each_message_of_a_row_is_one_that_crossed() {
        to_a_receiver(10, |sender, receiver, to, _| {
            sender.begin_chunk(1, entry_words::<u64>());
            (0..9_u64).for_each(|i| assert!(sender.ends.try_push(1, to, 0, i).is_none()));
            sender.tend_lanes();
            receiver.receive_timed(usize::MAX);
            assert_eq!(receiver.counters().crossings_timed.get(), 9);
            sender.flush_lanes();
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of messages take minutes there")]
    fn nothing_stays_in_a_lane_for_the_sake_of_what_is_slow_or_of_a_sender_that_does_not_wait() {
        to_a_receiver(1_000, |sender, receiver, to, _| {
            let sent = send(sender, to, 30);
            assert_eq!(receiver.receive_pending(usize::MAX) as usize, sent);
        });
        to_a_receiver(10, |sender, receiver, to, _| {
            let sent = send(sender, to, 200);
            let first = receiver.receive_pending(usize::MAX) as usize;
            // Of the last 32 chunks some are left.
            assert!(first < sent && first > sent * 4 / 5, "{first} of {sent}");
        });
    }

    #[test]
    fn who_owns_a_receiver_is_told_the_same_whether_lanes_are_open_or_not() {
        to_a_receiver(10, |sender, receiver, to, _| {
            let ask = || {
                // SAFETY: it lives until the end of this test.
                let owned = unsafe { [sender, receiver].map(|worker| worker.if_owned(to)) };
                assert_eq!(owned, [Err(to), Ok(to)]);
            };
            assert_eq!(sender.ends.id_while_closed(), sender.id);
            ask();
            send(sender, to, 1);
            assert_ne!(sender.ends.id_while_closed(), sender.id, "a lane is open");
            ask();
            receiver.receive_pending(usize::MAX);
            sender.tend_lanes();
            assert_eq!(sender.ends.id_while_closed(), sender.id);
            ask();
        });
    }

    #[test]
    fn within_a_round_lanes_are_published_for_those_who_wait_and_in_long_rounds() {
        to_a_receiver(10, |sender, _, to, _| {
            let published = || sender.shared.lanes.published(0, 1);
            let put_in = || {
                sender.begin_chunk(1, entry_words::<u64>());
                assert!(sender.ends.try_push(1, to, 0, 7_u64).is_none());
            };
            put_in();
            sender.exchange_lanes();
            assert_eq!(published(), 0, "nobody waits");
            sender.shared.sleep.start_looking();
            sender.exchange_lanes();
            assert_eq!(published(), 1);
            sender.shared.sleep.stop_looking();
            put_in();
            sender.turn_ns.set(10_000);
            sender.exchange_lanes();
            assert_eq!(published(), 2, "64 such turns take long");
            sender.flush_lanes();
        });
    }

    #[test]
    fn who_takes_something_over_first_delivers_what_it_has_sent_to_that() {
        to_a_receiver(10, |sender, _, to, counts| {
            let queue = &sender.shared.steal_queues[1];
            let flushed = || sender.counters().flushed.get();
            let sent = send(sender, to, 1);
            let kind = Arc::new(Kind::new("others"));
            let others: Vec<_> = (0..32)
                .map(|_| Box::new(Header::new(&VTABLE, kind.clone(), 1, 0, Words::default())))
                .collect();
            // SAFETY: kept until the end of this test, and nobody follows it.
            let others = others.iter().map(|header| unsafe { Runnable::new((&**header).into()) });
            // A few may look as if they had been sent to.
            let others: Vec<_> = others.filter(|&other| !sender.ends.may_hold(other)).collect();
            assert!(others.len() > 16);
            queue.lock().extend(others);
            drop(sender.lock_to_take(queue, |len| len));
            assert_eq!((flushed(), counts.waiting.get()), (0, 0), "it has sent nothing to those");

            queue.lock().push_back(to);
            drop(sender.lock_to_take(queue, |len| len - 1));
            assert_eq!((flushed(), counts.waiting.get()), (0, 0), "it does not take this one");
            drop(sender.lock_to_take(queue, |len| len));
            assert_eq!((flushed(), counts.waiting.get()), (1, sent));
            assert!(!sender.ends.may_hold(to), "nothing is under way any more");
            queue.lock().clear();
        });
    }
}

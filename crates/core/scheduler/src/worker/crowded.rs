//! Time for what thousands of cheap items wait for.
//!
//! A turn ends after so many items, however cheap they are. So a collector would get little time:
//! one that gets a message from each of a thousand actors, or thousands in one long turn, would
//! handle 64 of them and wait for all others again. Its backlog would grow although its worker has
//! time, into memory that is in no cache and that the system has to provide first.
//!
//! A worker therefore favours one such runnable at a time: after turns of others it runs for as
//! long as those took, up to four times as long while other workers send (their turns are not
//! counted here), and no longer than 10 ms. If its own turn takes longer than that, more of the
//! others come before the next. So its backlog stays about as large as what others send in a turn.
//! What sends on gets no such favour: its backlog would only become that of the next, where now the
//! items of one turn go from stage to stage of a pipeline while they are warm.

use super::Worker;
use crate::counters::UNCOUNTED;
use crate::owned::Owned;
use crate::policy::tuning::{
    LEFT_IN_CROWD, LOOKED_AT, MOST_BETWEEN, SENDS_ON, deserves_time, favoured_ns,
};
use crate::runnable::Runnable;

/// Where in the run queue something is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind so many others.
    Behind(usize),
    Last,
}

impl Worker {
    /// Puts what has had its turn, and has more to do, into the queue. `was_again`: that turn was
    /// for the same reason.
    #[inline(never)]
    pub(super) fn push_again(&self, mut owned: Owned<'_>, was_again: bool) {
        let place = if self.queue_len() > 0 {
            self.place_of(&mut owned, was_again)
        } else {
            // There is nobody to share with: what comes later starts a new account.
            self.favour_no_more(owned.runnable());
            Place::Last
        };
        self.queue.with(|queue| match place {
            Place::Behind(others) => queue.push_behind(others, owned),
            Place::Last => queue.push_back(owned),
        });
    }

    /// Whether this one is favoured.
    pub(super) fn is_favoured(&self, runnable: Runnable) -> bool {
        self.favoured.who.get() == Some(runnable)
    }

    fn favour_no_more(&self, runnable: Runnable) {
        if self.is_favoured(runnable) {
            self.favoured.who.set(None);
        }
    }

    fn place_of(&self, owned: &mut Owned<'_>, was_again: bool) -> Place {
        let (favoured, it) = (&self.favoured, owned.runnable());
        // One that has been idle meanwhile, or elsewhere, begins anew.
        if !was_again && !favoured.is_first.take() {
            self.favour_no_more(it);
        }
        let is_favoured = self.is_favoured(it);
        // Not a little more, a little less.
        let waiting = owned.pending() * if is_favoured { LEFT_IN_CROWD } else { 1 };
        if UNCOUNTED || !deserves_time(waiting, owned.cost_ns()) || owned.header().kind.sends_on() {
            self.favour_no_more(it);
            return Place::Last;
        }
        let now_ns = self.shared.clock.now_ns();
        if !is_favoured {
            if self.favours_another() {
                return Place::Last;
            }
            // A turn right after this one shows whether it sends.
            favoured.begin(it, now_ns, Some((now_ns, 0)));
            return self.goes_on();
        }
        if self.has_sent_on() {
            owned.header().kind.set_sends_on();
            self.favour_no_more(it);
            return Place::Last;
        }
        let place = self.place_by_time(now_ns, owned.cost_ns());
        if place == Place::Behind(0) {
            return self.goes_on();
        }
        favoured.turns.set(None);
        favoured.gave_way_ns.set(now_ns);
        favoured.sent.set(None);
        place
    }

    /// The place of what is favoured, by the time that it and the others have had.
    fn place_by_time(&self, now_ns: u64, cost_ns: u32) -> Place {
        let favoured = &self.favoured;
        let first_ns = (u64::from(cost_ns) * u64::from(self.batch)).min(self.batch_time_ns);
        let since_ns = now_ns.saturating_sub(favoured.gave_way_ns.get());
        let (began_ns, others_ns) =
            favoured.turns.get().unwrap_or((now_ns, since_ns.saturating_sub(first_ns)));
        let ran_ns = first_ns + now_ns.saturating_sub(began_ns);
        let is_fed = self.shared.lanes.has_pending(self.index);
        let share_ns = favoured_ns(others_ns, is_fed);
        if ran_ns < share_ns {
            if favoured.turns.replace(Some((began_ns, others_ns))).is_none() {
                // Fewer of them would do.
                favoured.others.set(favoured.others.get().div_ceil(2));
            }
            return Place::Behind(0);
        }
        // Behind more of them if those before took less than a turn of its own.
        let others = match share_ns {
            0 => 1,
            _ => ran_ns.saturating_mul(favoured.others.get()) / share_ns,
        };
        let others = others.clamp(1, MOST_BETWEEN as u64);
        favoured.others.set(others);
        Place::Behind(others as usize)
    }

    fn goes_on(&self) -> Place {
        self.favoured.sent.set(Some(self.sent_in_all()));
        Place::Behind(0)
    }

    fn sent_in_all(&self) -> u64 {
        self.flush_counts();
        self.counters().sent.get()
    }

    /// Whether it has sent more than now and then in its turn.
    fn has_sent_on(&self) -> bool {
        let most = u64::from(self.batch / SENDS_ON);
        self.favoured.sent.get().is_some_and(|before| self.sent_in_all() - before > most)
    }

    /// Whether another one is favoured, which comes soon.
    fn favours_another(&self) -> bool {
        let who = self.favoured.who.get();
        let is_next = |who| {
            self.queue.with(|queue| queue.iter().take(MOST_BETWEEN + 1).any(|next| next == who))
        };
        who.is_some_and(is_next)
    }

    /// Something was sent to this runnable: notes it if it is this worker's and crowded.
    ///
    /// # Safety
    /// It is alive.
    pub(super) unsafe fn note_crowd(&self, runnable: Runnable) {
        let header = runnable.header();
        if UNCOUNTED || self.is_favoured(runnable) || !header.is_owned_by(self.id) {
            return;
        }
        // SAFETY: this worker owns it, and it is alive by contract; the evidence is used here only.
        let mut owned = unsafe { Owned::new(runnable) };
        if may_become_crowded(&mut owned) {
            self.favoured.next.set(Some(runnable));
        }
    }

    /// Between rounds: lets what became crowded in the one that began at that time come next, for
    /// all others in the queue may add to it.
    #[inline]
    pub(super) fn favour_crowded(&self, began_ns: u64) {
        if self.favoured.sent.get().is_some() {
            // What was called between rounds may have sent, too.
            self.favoured.sent.set(Some(self.sent_in_all()));
        }
        if let Some(next) = self.favoured.next.take() {
            self.favour(next, began_ns);
        }
    }

    #[cold]
    fn favour(&self, next: Runnable, began_ns: u64) {
        if self.favours_another() {
            return;
        }
        let found = self.queue.with(|queue| {
            let len = queue.len();
            let last = len.saturating_sub(LOOKED_AT)..len;
            let index = last.rev().find(|&index| queue.at(index) == Some(next))?;
            Some((index, queue.remove(index)?))
        });
        let Some((index, mut owned)) = found else { return };
        if may_become_crowded(&mut owned) {
            self.favoured.begin(next, began_ns, None);
            self.favoured.is_first.set(true);
            self.favoured.sent.set(Some(self.sent_in_all()));
            self.queue.with(|queue| queue.push_behind(0, owned));
        } else {
            self.queue.with(|queue| queue.push_behind(index, owned));
        }
    }
}

/// What nobody has measured yet is measured in its next turn.
fn may_become_crowded(owned: &mut Owned<'_>) -> bool {
    deserves_time(owned.pending(), owned.cost_ns().max(1)) && !owned.header().kind.sends_on()
}

#[cfg(all(test, not(any(loom, shuttle, actinium_uncounted))))]
mod tests {
    use crate::runnable::{Header, Kind, LaneEntries, Runnable, Turn, VTable, Words, WorkerRef};
    use crate::{Clock, Policy, Settings, Shared, Worker};
    use std::cell::Cell;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// Has turns of so many items at most, each of which takes so long.
    #[repr(C)]
    struct Busy {
        header: Header,
        waiting: Cell<usize>,
        item_ns: u64,
        /// Whether it sends for each item.
        sends: bool,
        ran_ns: Cell<u64>,
    }

    const VTABLE: VTable = VTable { sort: "busy", run, dispose, release, number, pending, deliver };
    const BATCH: usize = 64;

    unsafe fn run(header: NonNull<Header>, worker: WorkerRef<'_>) -> (Turn, u32) {
        // SAFETY: this function stands in the vtable of `Busy` only.
        let (this, worker) = (unsafe { header.cast::<Busy>().as_ref() }, worker.get());
        let items = this.waiting.get().min(BATCH);
        for _ in 0..items {
            worker.shared().clock().advance(this.item_ns);
            // What would be sampled is not.
            if this.sends && worker.count_send() {
                worker.sampler.set_left(1_000);
            }
        }
        this.waiting.set(this.waiting.get() - items);
        this.ran_ns.set(this.ran_ns.get() + items as u64 * this.item_ns);
        (if this.waiting.get() == 0 { Turn::Idle } else { Turn::Again }, items as u32)
    }

    unsafe fn dispose(_: NonNull<Header>, _: WorkerRef<'_>) {}

    unsafe fn release(_: NonNull<Header>) {}

    unsafe fn number(_: NonNull<Header>) -> u64 {
        0
    }

    unsafe fn pending(header: NonNull<Header>) -> usize {
        // SAFETY: as in `run`.
        unsafe { header.cast::<Busy>().as_ref() }.waiting.get()
    }

    unsafe fn deliver(_: NonNull<Header>, _: &mut LaneEntries<'_>, _: WorkerRef<'_>) -> u64 {
        unreachable!("nothing is sent by lanes")
    }

    fn busy(waiting: usize, item_ns: u64, sends: bool) -> Box<Busy> {
        let kind = Kind::new("busy");
        kind.set_cost_ns(item_ns as u32);
        let header = Header::new(&VTABLE, Arc::new(kind), 0, 0, Words::default());
        let (waiting, ran_ns) = (Cell::new(waiting), Cell::new(0));
        Box::new(Busy { header, waiting, item_ns, sends, ran_ns })
    }

    /// A worker that has started these, in this order.
    fn with_worker(all: &[&Busy], test: impl FnOnce(&Worker, &[Runnable])) {
        let shared =
            Arc::new(Shared::new(Settings::of_two(Policy::Pinned), None, Clock::virtual_time()));
        shared.never_started(1);
        let worker = Worker::new(shared, 0);
        // SAFETY: kept until the end of this function, and nobody else has them.
        let runnables = all.iter().map(|&it| unsafe { Runnable::new(NonNull::from(it).cast()) });
        let runnables: Vec<_> = runnables.collect();
        // SAFETY: as above.
        runnables.iter().for_each(|&runnable| unsafe { worker.start(runnable) });
        test(&worker, &runnables);
    }

    fn steps(worker: &Worker, n: usize) {
        (0..n).for_each(|_| assert!(worker.step(|_| 0, |_| ())));
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of items take minutes there")]
    fn what_is_crowded_gets_as_much_time_as_others_until_little_is_left() {
        let (sink, others) = (busy(100_000, 5, false), [(); 3].map(|()| busy(9_000, 300, false)));
        let all = [&*sink, &others[0], &others[1], &others[2]];
        with_worker(&all, |worker, _| {
            let others_ns = || others.iter().map(|it| it.ran_ns.get()).sum::<u64>();
            // A turn of another takes as long as sixty of the sink.
            steps(worker, 61 * 10);
            let (sink_ns, others_ns_now) = (sink.ran_ns.get(), others_ns());
            assert!(
                sink_ns.abs_diff(others_ns_now) < others_ns_now / 5,
                "{sink_ns} {others_ns_now}"
            );
            while sink.waiting.get() > 1_000 {
                steps(worker, 1);
            }
            // As all others now: one turn of four.
            let before = sink.waiting.get();
            steps(worker, 8);
            assert_eq!(before - sink.waiting.get(), 2 * BATCH);
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of items take minutes there")]
    fn others_whose_turns_are_shorter_have_more_of_them() {
        let (sink, others) = (busy(100_000, 5, false), [(); 9].map(|()| busy(100_000, 1, true)));
        let all: Vec<&Busy> = [&*sink].into_iter().chain(others.iter().map(|it| &**it)).collect();
        with_worker(&all, |worker, _| {
            steps(worker, 600);
            let others_ns: u64 = others.iter().map(|it| it.ran_ns.get()).sum();
            let sink_ns = sink.ran_ns.get();
            assert!(sink_ns.abs_diff(others_ns) < others_ns / 4, "{sink_ns} {others_ns}");
        });
    }

    #[test]
    fn what_sends_on_is_not_favoured_nor_is_what_takes_long() {
        for it in [busy(100_000, 5, true), busy(100_000, 256, false)] {
            let others = [(); 3].map(|()| busy(9_000, 300, false));
            let all = [&*it, &others[0], &others[1], &others[2]];
            with_worker(&all, |worker, _| {
                // One turn of four, and one in which it shows whether it sends.
                steps(worker, 41);
                let turns = it.ran_ns.get() / it.item_ns / BATCH as u64;
                assert!(turns <= 12, "{turns} turns");
            });
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of items take minutes there")]
    fn what_has_become_crowded_comes_next_wherever_it_stands() {
        let (others, sink) = ([(); 3].map(|()| busy(9_000, 300, false)), busy(10_000, 5, false));
        let all = [&*others[0], &others[1], &others[2], &*sink];
        with_worker(&all, |worker, runnables| {
            // SAFETY: it is alive.
            unsafe { worker.note_crowd(runnables[3]) };
            worker.favour_crowded(0);
            steps(worker, 1);
            assert_eq!(sink.waiting.get(), 10_000 - BATCH);
            // What takes long stays where it is.
            for _ in 0..400 {
                // SAFETY: as above.
                unsafe { worker.note_crowd(runnables[2]) };
                worker.favour_crowded(0);
                steps(worker, 1);
            }
            let turns = others.each_ref().map(|it| (9_000 - it.waiting.get()) / BATCH);
            assert!(turns[2] > 5 && turns[0] <= turns[2] + 1, "{turns:?}");
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "tens of thousands of items take minutes there")]
    fn two_that_are_crowded_leave_others_half_of_the_time() {
        let sinks = [(); 2].map(|()| busy(100_000, 5, false));
        let others = [(); 2].map(|()| busy(9_000, 300, false));
        with_worker(&[&sinks[0], &sinks[1], &others[0], &others[1]], |worker, _| {
            steps(worker, 400);
            let ns = |all: &[Box<Busy>]| all.iter().map(|it| it.ran_ns.get()).sum::<u64>();
            assert!(ns(&others) * 3 > ns(&sinks), "{} {}", ns(&others), ns(&sinks));
        });
    }
}

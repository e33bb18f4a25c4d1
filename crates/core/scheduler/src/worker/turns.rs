//! The loop that everything runs in, and turns.

use super::queue::RunQueue;
use super::{Phase, Worker};
use crate::counters::UNCOUNTED;
use crate::owned::Owned;
use crate::policy::StolenView;
use crate::policy::tuning::{
    self, CHECK_EVERY, LONG_NS, PUBLISH_NS, QUICK_NS, ROUND, SAMPLED, SHARED_AT_ONCE, TIMED_NS,
    TIMED_ROUNDS, weigh,
};
use crate::recording::Act;
use crate::runnable::{AGAIN, BY_NEIGHBOUR, IN_TRANSIT, Runnable, SCHEDULED, Turn};
use crate::sync::atomic::Ordering;
use std::cell::Cell;

impl Worker {
    /// Begins to run turns, until the guard is dropped; `None`: it has ended.
    fn begin_running(&self) -> Option<impl Drop + '_> {
        struct Stops<'a>(&'a Cell<Phase>);
        impl Drop for Stops<'_> {
            fn drop(&mut self) {
                self.0.set(Phase::Idle);
            }
        }
        match self.phase.get() {
            Phase::Idle => {
                self.phase.set(Phase::Runs);
                Some(Stops(&self.phase))
            }
            Phase::Runs => panic!("{self:?} runs a turn: it can not be run from within that"),
            Phase::Disposes | Phase::Ended => None,
        }
    }

    /// Runs until the scheduler ends; after this worker's end ([`Worker::end`]) not at all.
    ///
    /// # Panics
    /// From within a turn of this worker.
    pub fn run(&self) {
        let Some(_running) = self.begin_running() else { return };
        loop {
            // Own queue first, for it is warm; then, once a round, what came from elsewhere, so
            // that neither starves.
            if self.notes_all_turns() {
                self.turns(Worker::turn_recorded);
            } else {
                self.turns(Worker::turn);
            }
            self.tick();
            if self.shared.control.wants_attention() && self.shared.control.exit_requested() {
                return;
            }
            if self.queue_len() == 0 && !self.find_work() && !self.glance() {
                self.idle();
            }
        }
    }

    /// Runs turns until the queue is empty, or it begins or ceases to note all turns.
    #[inline(always)]
    fn turns(&self, turn: impl Fn(&Self, Owned<'_>) -> bool) {
        let notes = self.notes_all_turns();
        self.woken_by.set(SCHEDULED | BY_NEIGHBOUR);
        while let Some(owned) = self.pop() {
            if turn(self, owned) {
                self.tick();
                self.woken_by.set(SCHEDULED | BY_NEIGHBOUR);
                if self.notes_all_turns() != notes {
                    return;
                }
            }
        }
    }

    /// Runs one turn of what stands at `pick(length of the queue)`, after showing it to `before`;
    /// false if nothing is ready, or the scheduler ends. For deterministic tests.
    ///
    /// # Panics
    /// From within a turn of this worker.
    pub fn step(&self, pick: impl FnOnce(usize) -> usize, before: impl FnOnce(Runnable)) -> bool {
        let Some(_running) = self.begin_running() else { return false };
        self.tick();
        if self.shared.control.exit_requested() {
            return false;
        }
        // All of it, so that there is a choice under policies that take one at a time, too.
        while self.take_some(&self.shared.steal_queues[self.index])
            || self.take_some(&self.shared.global)
        {}
        if self.queue_len() == 0 && !self.steal() {
            return false;
        }
        let index = pick(self.queue_len());
        let Some(owned) = self.queue.with(|queue| queue.remove(index)) else { return false };
        before(owned.runnable());
        self.woken_by.set(SCHEDULED | BY_NEIGHBOUR);
        if self.notes_all_turns() {
            self.turn_recorded(owned);
        } else {
            self.turn(owned);
        }
        self.tick();
        true
    }

    #[inline(always)]
    pub(super) fn pop(&self) -> Option<Owned<'_>> {
        self.queue.with(RunQueue::pop_front)
    }

    #[inline(always)]
    pub(super) fn push(&self, owned: Owned<'_>) {
        self.queue.with(|queue| queue.push_back(owned));
    }

    pub(super) fn queue_len(&self) -> usize {
        self.queue.with(|queue| queue.len())
    }

    /// One turn of a runnable that this worker owns; true if the round is over.
    #[inline(always)]
    fn turn(&self, mut owned: Owned<'_>) -> bool {
        self.note.set(0);
        let left = self.round.get() - 1;
        self.round.set(left);
        self.now.run(owned.runnable());
        let home = owned.with(|private| private.home);
        // The usual turn: at home, known to be short, and not the last of a round, which may be a
        // sample, nor of a part of one.
        if left & self.part_of_round != 0 && home == self.plain_home && is_quick(&mut owned) {
            self.turn_plainly(owned);
            return false;
        }
        self.turn_otherwise(owned, home);
        let (left_now, part) = (self.round.get(), self.part_of_round);
        if left_now == 0 {
            return true;
        }
        // After each part of a round; a turn that counts for several may have ended one, too.
        if left & part == 0 || left & !part != left_now & !part {
            self.exchange_lanes();
        } else if left_now < left && self.is_waited_for() {
            self.tend_lanes();
            self.receive_between_turns();
        }
        false
    }

    /// Runs a runnable of this worker's; returns how the turn ended, and how many items were
    /// handled in it.
    #[inline(always)]
    fn call(&self, runnable: Runnable) -> (Turn, u32) {
        // SAFETY: this worker owns the runnable, which is alive.
        let (turn, handled) =
            unsafe { (runnable.header().vtable.run)(runnable.0, self.as_worker_ref()) };
        (self.end_turn(runnable, turn), handled)
    }

    #[inline(always)]
    fn turn_plainly(&self, owned: Owned<'_>) {
        let (turn, _) = self.call(owned.runnable());
        self.after(owned, turn);
    }

    /// As [`Self::turn`], while all turns are noted.
    #[cold]
    #[inline(never)]
    fn turn_recorded(&self, mut owned: Owned<'_>) -> bool {
        let is_plain = self.is_plain(&mut owned);
        self.turn_noted(owned, is_plain, |owned| self.turn(owned))
    }

    /// A turn that may have to be timed, or of a runnable without an owner.
    #[inline(never)]
    fn turn_otherwise(&self, mut owned: Owned<'_>, home: u32) {
        if self.notes_some_turns() {
            let is_plain = self.is_plain(&mut owned);
            return self.turn_noted(owned, is_plain, |owned| self.turn_unnoted(owned, home));
        }
        self.turn_unnoted(owned, home);
    }

    /// Whether a turn of this is one that is timed only as a sample.
    fn is_plain(&self, owned: &mut Owned<'_>) -> bool {
        let home = owned.with(|private| private.home as usize);
        !self.keeps_idle || !self.is_away(owned, home) && is_short(owned)
    }

    fn turn_unnoted(&self, mut owned: Owned<'_>, home: u32) {
        if !self.keeps_idle {
            return self.turn_unowned(owned);
        }
        let cost_ns = owned.cost_ns();
        let is_home = !self.is_away(&mut owned, home as usize);
        let is_sample = || self.is_timed_now(cost_ns >= QUICK_NS);
        let is_timed = cost_ns == 0 || cost_ns >= TIMED_NS || is_sample();
        let was_timed = |owned: &mut Owned<'_>| owned.with(|private| private.cost_ns) != 0;
        if !is_timed && !is_home && cost_ns < QUICK_NS && !was_timed(&mut owned) {
            self.turn_away(owned, home as usize);
        } else if is_timed || !is_home {
            self.turn_timed(owned, cost_ns);
        } else if cost_ns < QUICK_NS {
            self.turn_plainly(owned);
        } else {
            self.turn_slowly(owned, cost_ns);
        }
    }

    /// Whether something runs away from home: it has been stolen, and does not lodge here.
    fn is_away(&self, owned: &mut Owned<'_>, home: usize) -> bool {
        home != self.index && !self.lodges(owned, home)
    }

    /// A turn away from home of something quick that was never timed at home: its time would teach
    /// nothing, and many that are made away from home have one turn only.
    fn turn_away(&self, owned: Owned<'_>, home: usize) {
        let (turn, _) = self.call(owned.runnable());
        match turn {
            Turn::Dead => self.retire(owned.runnable()),
            turn => self.after_theft(owned, turn, home),
        }
    }

    /// A turn that is not timed, of items of which few make others wait.
    fn turn_slowly(&self, owned: Owned<'_>, cost_ns: u32) {
        self.check_every.set(tuning::check_every(cost_ns).min(self.batch));
        let (turn, handled) = self.call(owned.runnable());
        self.check_every.set(CHECK_EVERY.min(self.batch));
        self.shorten_round(tuning::further_turns(u64::from(cost_ns) * u64::from(handled)));
        self.after(owned, turn);
    }

    /// Whether others have nothing to do: they may wait for what this worker has sent, or for
    /// answers to what they have. While all are busy, early exchanges would only cost more, for
    /// each moves cache lines.
    pub(super) fn is_waited_for(&self) -> bool {
        self.shared.lanes.exist() && self.shared.idle() > 0
    }

    /// The turn that has ended counts as so many more of its round.
    fn shorten_round(&self, turns: u32) {
        let left = self.round.get();
        let turns = turns.min(left);
        self.round.set(left - turns);
        self.cut.set(self.cut.get() + turns);
        self.began_round.set(self.began_round.get().saturating_sub(turns));
    }

    /// Does what follows from how the turn of an owned runnable ended.
    #[inline(always)]
    fn after(&self, mut owned: Owned<'_>, turn: Turn) {
        if turn == Turn::Idle {
            return owned.rest();
        }
        if turn == Turn::Dead {
            return self.retire(owned.runnable());
        }
        let was_again = owned.with(|private| {
            let before = private.flags;
            private.flags = before & !BY_NEIGHBOUR | AGAIN;
            before & AGAIN != 0
        });
        self.push_again(owned, was_again);
    }

    #[cold]
    pub(super) fn retire(&self, runnable: Runnable) {
        // What its memory holds may be user code's, which sends when it is dropped: that is no
        // sender that can be named any more.
        self.now.rest();
        if runnable.header().retire() {
            self.release_dead(runnable);
        }
    }

    /// Whether a turn is timed as a sample: the last of a round, or the first if turns as long as
    /// this one make rounds end early.
    #[inline(always)]
    fn is_timed_now(&self, is_long: bool) -> bool {
        let left = self.round.get();
        (left == 0 || is_long && left == ROUND - 1)
            && self.counters().ticks.get().is_multiple_of(TIMED_ROUNDS)
    }

    /// A turn that is timed: of something whose cost is unknown or high, of something stolen, or as
    /// a sample.
    #[cold]
    fn turn_timed(&self, mut owned: Owned<'_>, cost_ns: u32) {
        // What nobody has measured may take long.
        let expected_ns = if cost_ns == 0 { u64::MAX } else { u64::from(cost_ns) };
        if expected_ns >= LONG_NS {
            self.hand_on(expected_ns, SHARED_AT_ONCE);
        }
        let start_ns = self.shared.clock.now_ns();
        self.begins(start_ns, self.round.get() + 1);
        if cost_ns == 0 || cost_ns >= QUICK_NS {
            self.check_every.set(tuning::check_every(cost_ns).min(self.batch));
        }
        let (turn, handled) = self.call(owned.runnable());
        self.check_every.set(CHECK_EVERY.min(self.batch));
        let took_ns = self.shared.clock.now_ns().saturating_sub(start_ns);
        // Others may have waited: after a long turn they are looked after before the next one.
        self.shorten_round(tuning::further_turns(took_ns));
        let home = owned.with(|private| private.home as usize);
        let is_away = self.is_away(&mut owned, home);
        if !is_away || cost_ns == 0 {
            self.record_cost(&mut owned, took_ns, handled);
        } else {
            self.estimate_footprint(&mut owned, took_ns, u64::from(cost_ns) * u64::from(handled));
        }
        if turn == Turn::Dead {
            return self.retire(owned.runnable());
        }
        if is_away {
            return self.after_theft(owned, turn, home);
        }
        if home == self.index {
            owned.with(|private| (private.steals, private.away) = (0, 0));
        }
        self.after(owned, turn);
    }

    /// Notes what a timed turn at home has cost, for the runnable and for its kind. (Elsewhere it
    /// costs more, for its memory is cold; to learn from that would make what was moved once look
    /// ever more worth moving. But any measure is better than none.)
    fn record_cost(&self, owned: &mut Owned<'_>, took_ns: u64, handled: u32) {
        if handled == 0 {
            return;
        }
        let cost_ns = owned.with(|private| {
            private.cost_ns = weigh(private.cost_ns, took_ns / u64::from(handled));
            private.cost_ns
        });
        let kind = &owned.header().kind;
        kind.set_cost_ns(weigh(kind.cost_ns(), cost_ns.into()));
    }

    /// Notes what the first turn away from home has cost more than turns at home do, for the
    /// runnable and for its kind: that is what its memory is far away.
    fn estimate_footprint(&self, owned: &mut Owned<'_>, took_ns: u64, at_home_ns: u64) {
        let (is_first, home) = owned.with(|private| {
            // Of what has never been at home nothing is known yet.
            (private.away == 0 && private.cost_ns > 0, private.home as usize)
        });
        if !is_first || at_home_ns == 0 {
            return;
        }
        let near = self.shared.neighbours[self.index].iter().find(|&&(other, _)| other == home);
        let distance = near.map_or(0, |&(_, distance)| distance);
        let kib = self.shared.settings.policy.footprint_kib(took_ns, at_home_ns, distance);
        if let Some(own_kib) = owned.with(|private| private.footprint.estimate(kib)) {
            let kind = &owned.header().kind;
            kind.set_footprint_kib(weigh(kind.footprint_kib(), own_kib.into()));
        }
    }

    /// The turn of something that ran away from home: it stays here for good, or goes back. What
    /// has lodged here goes back at once, unless there it would wait behind long turns.
    fn after_theft(&self, mut owned: Owned<'_>, turn: Turn, home: usize) {
        let me = self.index as u32;
        // Relaxed: a hint.
        let home_turn_ns = self.shared.turn_ns[home].load(Ordering::Relaxed) as u64;
        let is_lodger = owned.with(|private| private.is_lodger());
        let view = owned.with(|private| {
            let again = u32::from(private.thief) == me;
            private.steals = if again { private.steals.saturating_add(1) } else { 1 };
            private.thief = if is_lodger { private.thief } else { me as u16 };
            private.away = private.away.saturating_add(1);
            StolenView {
                steals_in_a_row: private.steals.into(),
                away_in_a_row: private.away.into(),
                cost_ns: private.cost_ns,
                home_turn_ns,
            }
        });
        let policy = &self.shared.settings.policy;
        let returns = policy.returns_home(&view);
        let rehomes = if is_lodger { !returns } else { policy.rehome(&view) };
        if rehomes {
            owned.move_home(self.index);
            self.counters().rehomed.add(1);
            self.record(Act::Move { to: self.index, actors: 1 });
        }
        // Nor does it go home while much of what was sent here would have to be flushed.
        if rehomes || !returns || !self.flushes_soon() {
            return self.after(owned, turn);
        }
        if is_lodger {
            owned.move_home(home);
        }
        if turn == Turn::Idle {
            owned.rest();
        }
        self.flush_lanes();
        let away = self.shared.id_of(home) | IN_TRANSIT;
        let queue = if turn == Turn::Again {
            &self.shared.steal_queues[home]
        } else {
            &self.shared.return_queues[home]
        };
        let mut queue = queue.lock();
        queue.push_back(owned.give(away));
        drop(queue);
        if turn == Turn::Again {
            self.wake(home);
        }
    }

    /// A turn under a policy that keeps no idle runnables.
    fn turn_unowned(&self, owned: Owned<'_>) {
        let header = owned.header();
        // Relaxed: the queue's lock has handed it over; only this worker tests for its own id.
        header.owner.store(self.id, Ordering::Relaxed);
        header.start();
        // What it sent leaves before anybody else may run it, and so before what it will send.
        let (turn, _) = self.call(owned.runnable());
        let runnable = owned.give_to_nobody();
        let header = runnable.header();
        match turn {
            Turn::Dead => {
                // As in `retire`.
                self.now.rest();
                // SAFETY: it ended notified, so that nobody queues it again: it is in no queue.
                unsafe { (header.vtable.release)(runnable.0) }
            }
            Turn::Idle if header.finish() => {}
            Turn::Idle | Turn::Again => {
                header.set_notified();
                self.shared.queue_unowned(runnable, self.index);
            }
        }
    }

    /// The running turn, which has handled so many items, calls [`Worker::is_over_time`] after so
    /// many further ones: no more than a batch.
    #[inline]
    pub fn check_after(&self, handled: u32) -> u32 {
        tuning::look_after(self.check_every.get(), handled)
    }

    /// Counts the items of a turn, each of so many bytes.
    #[inline(always)]
    pub fn count_handled(&self, items: u32, bytes_each: usize) {
        if UNCOUNTED {
            return;
        }
        self.handled.set(self.handled.get() + u64::from(items));
        self.handled_bytes.set(self.handled_bytes.get() + u64::from(items) * bytes_each as u64);
    }

    /// Whether the running turn has used up its time. Where turns before it were not timed, it has
    /// had an equal share of the time since: to count theirs, too, would end turns too early, and
    /// what follows then finds its memory cold more often.
    #[cold]
    pub fn is_over_time(&self) -> bool {
        let (now_ns, round) = (self.shared.clock.now_ns(), self.round.get());
        let turns = self.began_round.get().saturating_sub(round).max(1);
        let ran_ns = now_ns.saturating_sub(self.began_ns.get()) / u64::from(turns);
        let is_over = ran_ns >= self.batch_time_ns;
        match is_over {
            // The turn ends, and the next one has not used up anything yet.
            true => self.begins(now_ns, round),
            false => self.begins(now_ns - ran_ns, round + 1),
        }
        // What it has sent to others that have nothing to do does not wait for its end; nor do
        // those in this worker's queue, which others could take, or whose messages they wait for.
        if now_ns.saturating_sub(self.published_ns.get()) < PUBLISH_NS || !self.is_waited_for() {
            return is_over;
        }
        self.published_ns.set(now_ns);
        self.tend_lanes();
        is_over || self.queue_len() > 0
    }

    /// A turn begins with so much left of the round.
    #[inline]
    pub(super) fn begins(&self, now_ns: u64, round: u32) {
        self.began_ns.set(now_ns);
        self.began_round.set(round);
    }

    /// Records the latency of a message that was sent at `stamp_ns`; `name`: of its sort, or
    /// nothing. It stands for as many as this worker now sends from one sample to the next, so that
    /// times of many messages weigh as much as they should.
    #[cold]
    pub fn record_latency(&self, stamp_ns: u64, name: &'static str) {
        let now_ns = self.shared.clock.now_ns();
        self.counters().sampled.add(1);
        let stands_for = u64::from(self.sampler.every() / SAMPLED);
        let waited_ns = now_ns.saturating_sub(stamp_ns);
        self.shared.record_latency(self.index, waited_ns, stands_for);
        if self.keeps_figures()
            && let Some(running) = self.running()
        {
            self.note_message(running, (name, waited_ns, stands_for));
        }
    }
}

/// Whether the cost of its items is known, and so low that its turns are not timed each.
#[inline(always)]
fn is_short(owned: &mut Owned<'_>) -> bool {
    costs_below(owned, TIMED_NS)
}

/// Whether the cost of its items is known, and so low that nothing depends on how many they are.
#[inline(always)]
fn is_quick(owned: &mut Owned<'_>) -> bool {
    costs_below(owned, QUICK_NS)
}

#[inline(always)]
fn costs_below(owned: &mut Owned<'_>, most_ns: u32) -> bool {
    let is_below = |cost_ns: u32| cost_ns.wrapping_sub(1) < most_ns - 1;
    let own_ns = owned.with(|private| private.cost_ns);
    is_below(own_ns) || own_ns == 0 && is_below(owned.header().kind.cost_ns())
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::tuning::{self, PUBLISH_NS, ROUND};
    use crate::runnable::Kind;
    use crate::task::testing::{end, first_of_two};
    use crate::task::{Task, Tasks};
    use std::sync::{Arc, Mutex};

    /// Takes so long for each of so many items, and tells which of its looks at the clock ended the
    /// turn.
    struct Takes {
        item_ns: u64,
        items: u32,
        ended: Arc<Mutex<Vec<bool>>>,
    }

    impl Task for Takes {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            let mut until = worker.check_after(0);
            for item in 1..=self.items {
                worker.shared().clock().advance(self.item_ns);
                if item == until {
                    until += worker.check_after(until);
                    let is_over = worker.is_over_time();
                    self.ended.lock().unwrap().push(is_over);
                    if is_over {
                        return (Turn::Again, item);
                    }
                }
            }
            (Turn::Again, self.items)
        }
    }

    /// Worker 0 of two, with so many tasks of items that take so long; and which looks at the clock
    /// ended a turn, in the turns after those in which the costs were measured.
    fn looks(tasks: usize, item_ns: u64, other_is_idle: bool) -> Vec<bool> {
        let (worker, all, ended) = worker_with(tasks, item_ns, 64);
        if other_is_idle {
            worker.shared.sleep.start_looking();
        }
        for _ in 0..4 * tasks {
            worker.step(|_| 0, |_| ());
        }
        ended.lock().unwrap().clear();
        for _ in 0..tasks {
            worker.step(|_| 0, |_| ());
        }
        end(&worker, &all);
        ended.lock().unwrap().clone()
    }

    fn worker_with(
        tasks: usize,
        item_ns: u64,
        items: u32,
    ) -> (Worker, Tasks, Arc<Mutex<Vec<bool>>>) {
        let (_, worker, all) = first_of_two(Policy::Pinned);
        let ended = Arc::new(Mutex::new(Vec::new()));
        let kind = Arc::new(Kind::new("takes"));
        for _ in 0..tasks {
            let task = Takes { item_ns, items, ended: ended.clone() };
            all.start(&kind, 0, Box::new(task)).expect("it has not ended");
        }
        (worker, all, ended)
    }

    #[test]
    fn a_turn_ends_early_if_others_have_nothing_to_do_and_more_waits_here() {
        assert!(looks(2, 500, true).contains(&true));
        assert!(!looks(2, 500, false).contains(&true), "all are busy");
        assert!(!looks(1, 500, true).contains(&true), "nothing waits");
        assert!(!looks(2, 20, true).contains(&true), "it is short: {PUBLISH_NS} ns");
    }

    #[test]
    fn the_clock_is_looked_at_ever_more_rarely_while_nobody_knows_what_items_cost() {
        let (worker, all, ended) = worker_with(1, 20, 64);
        assert!(worker.step(|_| 0, |_| ()));
        // After 1, 2, 4, 8, 16, 32 and 64 items.
        assert_eq!(ended.lock().unwrap().len(), 7);
        end(&worker, &all);
    }

    /// A turn that takes a millisecond, and ends so.
    struct Ends(Turn);

    impl Task for Ends {
        fn run(&self, worker: &Worker) -> (Turn, u32) {
            worker.shared().clock().advance(1_000_000);
            (self.0, 1)
        }
    }

    #[test]
    fn what_was_never_timed_at_home_is_timed_elsewhere_only_if_it_is_costly() {
        for cost_ns in [QUICK_NS - 1, QUICK_NS] {
            // What has gone home to run again waits where others may take it, too.
            for (turn, at_home, to_run) in
                [(Turn::Idle, 1, 0), (Turn::Again, 0, 1), (Turn::Dead, 0, 0)]
            {
                let (shared, worker, all) = first_of_two(Policy::affine());
                let kind = Arc::new(Kind::new("ends"));
                kind.set_cost_ns(cost_ns);
                all.start(&kind, 1, Box::new(Ends(turn))).expect("it has not ended");
                let task = shared.return_queues[1].lock().pop_front().expect("started at its home");
                shared.steal_queues[1].lock().push_back(task);
                // Worth a theft. Relaxed: this thread alone uses it.
                shared.turn_ns[1].store(1_000, Ordering::Relaxed);
                worker.enter(|worker| {
                    worker.tick();
                    assert!(worker.steal());
                    worker.turn(worker.pop().expect("stolen"));
                    assert_eq!(worker.queue_len(), 0);
                });
                let lengths = [&shared.return_queues, &shared.steal_queues].map(|it| it[1].len());
                assert_eq!(lengths, [at_home, to_run], "{turn:?}");
                // After a turn that is known to have taken long, the round is over.
                let is_timed = worker.round.get() == 0;
                assert_eq!(is_timed, cost_ns >= QUICK_NS, "{turn:?} after {cost_ns} ns");
                end(&worker, &all);
            }
        }
    }

    #[test]
    fn a_round_of_turns_that_take_long_is_short() {
        let turns_in_a_round = |item_ns: u64| {
            let (worker, all, _) = worker_with(2, item_ns, 1);
            let ends = |worker: &Worker| {
                let ticks = worker.counters().ticks.get();
                (1..).find(|_| {
                    let owned = worker.pop().expect("both are ready");
                    let is_over = worker.turn(owned);
                    if is_over {
                        worker.tick();
                    }
                    worker.counters().ticks.get() > ticks
                })
            };
            let turns = worker.enter(|worker| {
                worker.tick();
                // The costs are measured in the first.
                ends(worker);
                ends(worker).expect("a round ends")
            });
            end(&worker, &all);
            turns
        };
        assert_eq!(turns_in_a_round(50), ROUND);
        assert_eq!(turns_in_a_round(1_250), ROUND.div_ceil(1 + tuning::further_turns(1_250)));
        assert_eq!(turns_in_a_round(20_000), 1);
    }
}

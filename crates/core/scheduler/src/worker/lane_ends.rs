//! A worker's end of the lanes: the chunks that it fills, the lanes that are open, and what waits
//! for grace periods (see `lanes`).

use super::own::Own;
use super::receivers::Receivers;
use crate::chunk::Entries;
use crate::lanes::{LaneEnd, Lanes, NONE_OPEN, entry_words};
use crate::policy::tuning::AHEAD;
use crate::runnable::{Header, IN_TRANSIT, NOBODY, Runnable};
use crate::shared::Shared;
use crate::sync::Arc;
use std::cell::Cell;
use std::collections::VecDeque;

/// What is no runnable's owner: nobody's steal queue.
const NO_ID: u32 = NOBODY | IN_TRANSIT;

/// Chunks that wait to be delivered before larger ones are used, of so many words.
const BACKLOG: u64 = 8;
const BACKLOG_WORDS: usize = 2 * 1024;

/// The sending ends of all of a worker's lanes.
#[derive(Debug)]
pub(super) struct LaneEnds {
    shared: Arc<Shared>,
    /// The worker's id.
    id: u32,
    /// Workers to whom lanes lead, or 0 if there are none.
    pub(super) workers: usize,
    /// The epoch in which the oldest open lane was opened.
    pub(super) oldest_open: Cell<u64>,
    /// The worker's id while no lane is open, else [`NO_ID`].
    id_while_closed: Cell<u32>,
    outgoing: Own<Vec<Outgoing>>,
    /// The workers to whom a lane is open.
    open: Own<Vec<usize>>,
    /// To whom this worker has sent since it last had no open lane.
    receivers: Own<Receivers>,
}

/// The sending end of a lane, and what its worker notes of it.
#[derive(Debug)]
struct Outgoing {
    end: LaneEnd,
    /// The epoch in which the chunk was begun that is being filled.
    begun: u64,
    /// How many chunks were delivered when this worker last waited for more in vain.
    in_vain: u64,
    /// Epochs in which the chunks were begun that may not be delivered yet, each with the number of
    /// the last such chunk.
    under_way: VecDeque<(u64, u64)>,
    /// Whether something was published since this worker last looked, behind a fence, whether the
    /// receiver sleeps.
    is_news: bool,
}

impl Outgoing {
    /// Chunks that are not delivered yet.
    fn waiting(&self, delivered: u64) -> u64 {
        self.end.published().saturating_sub(delivered)
    }
}

impl Drop for LaneEnds {
    fn drop(&mut self) {
        for outgoing in self.outgoing.take() {
            self.shared.lanes.put_back(outgoing.end);
        }
    }
}

impl LaneEnds {
    /// The ends of the lanes from a worker.
    pub(super) fn new(shared: &Arc<Shared>, from: usize) -> Self {
        let workers = if shared.lanes.exist() { shared.workers() } else { 0 };
        let outgoing = |to| Outgoing {
            end: shared.lanes.take_end(from, to),
            begun: 0,
            in_vain: 0,
            under_way: VecDeque::new(),
            is_news: false,
        };
        LaneEnds {
            shared: shared.clone(),
            workers,
            oldest_open: Cell::new(NONE_OPEN),
            id_while_closed: Cell::new(shared.id_of(from)),
            id: shared.id_of(from),
            outgoing: Own::new((0..workers).map(outgoing).collect()),
            open: Own::new(Vec::new()),
            receivers: Own::new(Receivers::default()),
        }
    }

    /// Whether a lane is open.
    #[inline(always)]
    pub(super) fn any_open(&self) -> bool {
        self.oldest_open.get() != NONE_OPEN
    }

    /// The worker's id while no lane is open; while one is, an id that nobody has.
    #[inline(always)]
    pub(super) fn id_while_closed(&self) -> u32 {
        self.id_while_closed.get()
    }

    /// Whether the chunk for a worker has room for so many words.
    #[inline(always)]
    pub(super) fn has_room(&self, index: usize, words: usize) -> bool {
        self.outgoing.with(|outgoing| outgoing[index].end.has_room(words))
    }

    /// Puts a message into the chunk for a worker, which has room.
    ///
    /// # Panics
    /// If it has none.
    #[inline(always)]
    pub(super) fn push<M: Send>(&self, index: usize, to: Runnable, stamp_ns: u64, message: M) {
        self.receivers.with(|receivers| receivers.insert(to));
        self.outgoing.with(|outgoing| outgoing[index].end.push(to.0, stamp_ns, message));
    }

    /// Whether anything for this runnable may lie in this worker's lanes.
    pub(super) fn may_hold(&self, to: Runnable) -> bool {
        self.any_open() && self.receivers.with(|receivers| receivers.may_contain(to))
    }

    /// Notes the epoch in which the oldest open lane was opened; true if it is another one than
    /// before.
    pub(super) fn set_oldest_open(&self, oldest: u64) -> bool {
        let is_closed = oldest == NONE_OPEN;
        self.id_while_closed.set(if is_closed { self.id } else { NO_ID });
        if is_closed {
            self.receivers.with(|receivers| *receivers = Receivers::default());
        }
        self.oldest_open.replace(oldest) != oldest
    }

    /// Puts a message into the chunk for a worker; it comes back if there is none, or no room.
    #[inline(always)]
    pub(super) fn try_push<M: Send>(
        &self,
        index: usize,
        to: Runnable,
        stamp_ns: u64,
        message: M,
    ) -> Option<M> {
        if !self.has_room(index, entry_words::<M>()) {
            return Some(message);
        }
        self.push(index, to, stamp_ns, message);
        None
    }

    /// Begins a chunk for a worker, after the one before was published.
    pub(super) fn begin_chunk(&self, index: usize, words: usize, epoch: u64) {
        let was_open = self.outgoing.with(|outgoing| {
            let lane = &mut outgoing[index];
            let was_open = lane.end.is_begun() || !lane.under_way.is_empty();
            lane.end.begin(&self.shared.lanes, words);
            lane.begun = epoch;
            was_open
        });
        if !was_open {
            self.open.with(|open| open.push(index));
        }
    }

    /// Whether so much may wait in a lane that [`LaneEnds::is_ahead`] is worth asking.
    pub(super) fn seems_far_ahead(&self, index: usize) -> bool {
        let lane = |outgoing: &mut Vec<Outgoing>| {
            outgoing.get(index).is_some_and(|lane| lane.end.known_waiting() >= AHEAD)
        };
        self.outgoing.with(lane)
    }

    /// Whether much waits in a lane of which so much was delivered, ever.
    pub(super) fn is_ahead(&self, index: usize, delivered: u64) -> bool {
        self.outgoing.with(|outgoing| outgoing[index].waiting(delivered) >= AHEAD)
    }

    /// Whether so much waits in a lane that its sender had better wait, and has not done so in vain
    /// since the last delivery.
    pub(super) fn is_far_ahead(&self, index: usize, delivered: u64) -> bool {
        self.is_ahead(index, delivered)
            && self.outgoing.with(|outgoing| outgoing[index].in_vain != delivered)
    }

    /// Notes that the worker has waited in vain for a lane's next delivery.
    pub(super) fn waited_in_vain(&self, index: usize, delivered: u64) {
        self.outgoing.with(|outgoing| outgoing[index].in_vain = delivered);
    }

    /// Publishes the chunk for a worker, if anything is in it: returns how many that were.
    pub(super) fn publish(&self, index: usize) -> u64 {
        self.outgoing.with(|outgoing| outgoing[index].publish(&self.shared.lanes))
    }

    /// Publishes what is in any chunk: returns how many that were.
    pub(super) fn publish_all(&self) -> u64 {
        self.outgoing.with(|outgoing| {
            let mut publish = |&index: &usize| outgoing[index].publish(&self.shared.lanes);
            self.open.with(|open| open.iter().map(&mut publish).sum())
        })
    }

    /// Whether anything was published for a worker since this was last asked.
    pub(super) fn take_news(&self, index: usize) -> bool {
        self.outgoing.with(|outgoing| std::mem::take(&mut outgoing[index].is_news))
    }

    /// Takes the list of open lanes out; [`LaneEnds::set_open`] brings it back.
    pub(super) fn take_open(&self) -> Vec<usize> {
        self.open.take()
    }

    /// Sets the list of open lanes.
    pub(super) fn set_open(&self, open: Vec<usize>) {
        self.open.with(|place| *place = open);
    }

    /// Notes how many chunks of a lane were delivered, ever, when all were published. Returns the
    /// epoch in which the oldest was begun that is under way; `None`: the lane is closed.
    pub(super) fn note_delivered(&self, index: usize, delivered: u64) -> Option<u64> {
        self.outgoing.with(|outgoing| {
            let lane = &mut outgoing[index];
            lane.end.take_unpublished();
            lane.end.note_delivered(&self.shared.lanes, delivered);
            while lane.under_way.front().is_some_and(|&(last, _)| last <= delivered) {
                lane.under_way.pop_front();
            }
            lane.under_way.front().map(|&(_, begun)| begun)
        })
    }

    /// All published chunks of a lane were delivered: calls `deliver` with what was not published.
    /// It sends nothing.
    pub(super) fn deliver_unpublished(
        &self,
        index: usize,
        deliver: impl FnOnce(Entries<'_, Header>),
    ) {
        self.outgoing.with(|outgoing| {
            outgoing[index].under_way.clear();
            outgoing[index].is_news = false;
            deliver(outgoing[index].end.take_unpublished());
        });
    }

    /// Whether all chunks were delivered that this worker has published; `delivered` tells how many
    /// of a lane were, ever.
    pub(super) fn are_delivered(&self, delivered: impl Fn(usize) -> u64) -> bool {
        self.outgoing.with(|outgoing| {
            let is_delivered = |&index: &usize| outgoing[index].waiting(delivered(index)) == 0;
            self.open.with(|open| open.iter().all(is_delivered))
        })
    }
}

impl Outgoing {
    fn publish(&mut self, lanes: &Lanes) -> u64 {
        if !self.end.has_unpublished() {
            return 0;
        }
        // The receiver does not keep up: larger chunks cost less each.
        let is_behind = self.end.known_waiting() >= BACKLOG;
        self.end.publish(lanes, if is_behind { BACKLOG_WORDS } else { 0 });
        let published = self.end.published();
        match self.under_way.back_mut() {
            Some((last, begun)) if *begun == self.begun => *last = published,
            _ => self.under_way.push_back((published, self.begun)),
        }
        self.is_news = true;
        1
    }
}

/// Something to do when a grace period is over.
#[derive(Debug)]
pub(super) enum Grace<F> {
    /// Drops the scheduler's reference.
    Free(Runnable),
    /// Calls this.
    Call(F),
}

/// Everything that waits for grace periods.
#[derive(Debug)]
pub(super) struct Graces<F> {
    /// For one that has not begun yet.
    fresh: Own<Vec<Grace<F>>>,
    /// For one that has begun, by its epoch.
    waiting: Own<VecDeque<(u64, Grace<F>)>>,
}

impl<F> Graces<F> {
    pub(super) fn new() -> Self {
        Graces { fresh: Own::new(Vec::new()), waiting: Own::new(VecDeque::new()) }
    }

    pub(super) fn add(&self, grace: Grace<F>) {
        self.fresh.with(|fresh| fresh.push(grace));
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.with(|fresh| fresh.is_empty()) && self.waiting.with(|it| it.is_empty())
    }

    /// Begins a grace period for what was added, in the epoch that `raise_epoch` begins.
    pub(super) fn begin(&self, raise_epoch: impl FnOnce() -> u64) {
        let fresh = self.fresh.take();
        if !fresh.is_empty() {
            let epoch = raise_epoch();
            let fresh = fresh.into_iter().map(|grace| (epoch, grace));
            self.waiting.with(|waiting| waiting.extend(fresh));
        }
    }

    /// Takes the first whose grace period `is_over`.
    pub(super) fn next_over(&self, is_over: impl FnOnce(u64) -> bool) -> Option<Grace<F>> {
        self.waiting.with(|waiting| {
            let (epoch, _) = waiting.front()?;
            if is_over(*epoch) { waiting.pop_front().map(|(_, grace)| grace) } else { None }
        })
    }

    /// Takes all, whether their grace periods are over or not.
    pub(super) fn take_all(&self) -> impl Iterator<Item = Grace<F>> + use<F> {
        let (fresh, waiting) = (self.fresh.take(), self.waiting.take());
        fresh.into_iter().chain(waiting.into_iter().map(|(_, grace)| grace))
    }
}

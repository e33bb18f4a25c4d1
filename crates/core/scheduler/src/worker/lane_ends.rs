//! A worker's end of the lanes: the chunks that it fills, the lanes that are open, and what waits
//! for grace periods (see `lanes`).

use super::own::Own;
use crate::lanes::{Chunk, NONE_OPEN, entry_words};
use crate::runnable::Runnable;
use std::cell::Cell;
use std::collections::VecDeque;

/// Chunks that wait to be delivered before larger ones are used, of so many words.
const BACKLOG: u64 = 8;
const BACKLOG_WORDS: usize = 2 * 1024;

/// Chunks that wait to be delivered before their sender waits, too.
const AHEAD: u64 = 32;

/// The sending ends of all of a worker's lanes.
#[derive(Debug)]
pub(super) struct LaneEnds {
    /// Workers to whom lanes lead, or 0 if there are none.
    pub(super) workers: usize,
    /// The epoch in which the oldest open lane was opened.
    pub(super) oldest_open: Cell<u64>,
    outgoing: Own<Vec<Outgoing>>,
    /// The workers to whom a lane is open.
    open: Own<Vec<usize>>,
}

/// The sending end of a lane.
#[derive(Debug, Default)]
struct Outgoing {
    /// The chunk that is being filled, and the epoch in which it was begun.
    chunk: Option<Chunk>,
    begun: u64,
    /// An empty one for later.
    spare: Option<Chunk>,
    /// Chunks published, ever.
    published: u64,
    /// How many chunks were delivered when this worker last waited for more in vain.
    in_vain: u64,
    /// Epochs in which the chunks were begun that may not be delivered yet, each with the number of
    /// the last such chunk.
    under_way: VecDeque<(u64, u64)>,
}

impl LaneEnds {
    /// Ends of lanes to so many workers.
    pub(super) fn new(workers: usize) -> Self {
        LaneEnds {
            workers,
            oldest_open: Cell::new(NONE_OPEN),
            outgoing: Own::new((0..workers).map(|_| Outgoing::default()).collect()),
            open: Own::new(Vec::new()),
        }
    }

    /// Whether a lane is open.
    #[inline(always)]
    pub(super) fn any_open(&self) -> bool {
        self.oldest_open.get() != NONE_OPEN
    }

    /// Whether the chunk for a worker has room for so many words.
    #[inline(always)]
    pub(super) fn has_room(&self, index: usize, words: usize) -> bool {
        self.outgoing
            .with(|outgoing| outgoing[index].chunk.as_ref().is_some_and(|chunk| chunk.fits(words)))
    }

    /// Puts a message without a stamp into the chunk for a worker, which has room.
    ///
    /// # Panics
    /// If it has none.
    #[inline(always)]
    pub(super) fn push_at_once<M: Send>(&self, index: usize, to: Runnable, message: M) {
        self.outgoing.with(|outgoing| {
            let chunk = outgoing[index].chunk.as_mut().expect("a chunk with room");
            chunk.push(to.0, 0, message);
        });
    }

    /// Puts a message into the chunk for a worker; it comes back if there is none, or no room.
    #[inline(always)]
    pub(super) fn push<M: Send>(
        &self,
        index: usize,
        to: Runnable,
        stamp_ns: u64,
        message: M,
    ) -> Option<M> {
        self.outgoing.with(|outgoing| match &mut outgoing[index].chunk {
            Some(chunk) if chunk.fits(entry_words::<M>()) => {
                chunk.push(to.0, stamp_ns, message);
                None
            }
            _ => Some(message),
        })
    }

    /// Begins a chunk for a worker, after the one before was published. `delivered`: how many were
    /// delivered on that lane, ever.
    pub(super) fn begin_chunk(&self, index: usize, words: usize, epoch: u64, delivered: u64) {
        let was_open = self.outgoing.with(|outgoing| {
            let lane = &mut outgoing[index];
            let was_open = lane.chunk.is_some() || !lane.under_way.is_empty();
            // The receiver does not keep up: larger chunks cost less each.
            let waiting = lane.under_way.back().map_or(0, |&(last, _)| last - delivered);
            let words = if waiting >= BACKLOG { words.max(BACKLOG_WORDS) } else { words };
            let spare = lane.spare.take().filter(|chunk| chunk.fits(words));
            lane.chunk = Some(spare.unwrap_or_else(|| Chunk::new(words)));
            lane.begun = epoch;
            was_open
        });
        if !was_open {
            self.open.with(|open| open.push(index));
        }
    }

    /// Whether so much waits in a lane that its sender had better wait, and has not done so in vain
    /// since the last delivery.
    pub(super) fn is_far_ahead(&self, index: usize, delivered: u64) -> bool {
        self.outgoing.with(|outgoing| {
            let ours = &outgoing[index];
            ours.published.saturating_sub(delivered) >= AHEAD && ours.in_vain != delivered
        })
    }

    /// Notes that the worker has waited in vain for a lane's next delivery.
    pub(super) fn waited_in_vain(&self, index: usize, delivered: u64) {
        self.outgoing.with(|outgoing| outgoing[index].in_vain = delivered);
    }

    /// Takes the chunk for a worker, if anything is in it, to be published.
    pub(super) fn take_to_publish(&self, index: usize) -> Option<Chunk> {
        self.outgoing.with(|outgoing| {
            let lane = &mut outgoing[index];
            let chunk = lane.chunk.take_if(|chunk| !chunk.is_empty())?;
            lane.published += 1;
            match lane.under_way.back_mut() {
                Some((last, begun)) if *begun == lane.begun => *last = lane.published,
                _ => lane.under_way.push_back((lane.published, lane.begun)),
            }
            Some(chunk)
        })
    }

    /// Keeps an empty chunk for later, if there is none yet.
    pub(super) fn keep_spare(&self, index: usize, spare: Option<Chunk>) {
        self.outgoing.with(|outgoing| {
            let lane = &mut outgoing[index];
            lane.spare = lane.spare.take().or(spare);
        });
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
            lane.spare = lane.spare.take().or(lane.chunk.take());
            while lane.under_way.front().is_some_and(|&(last, _)| last <= delivered) {
                lane.under_way.pop_front();
            }
            lane.under_way.front().map(|&(_, begun)| begun)
        })
    }

    /// Notes that all published chunks of a lane were delivered, and takes the one that was not
    /// published.
    pub(super) fn take_unpublished(&self, index: usize) -> Option<Chunk> {
        self.outgoing.with(|outgoing| {
            outgoing[index].under_way.clear();
            outgoing[index].chunk.take()
        })
    }

    /// Keeps the chunk of [`LaneEnds::take_unpublished`], empty by now.
    pub(super) fn put_back(&self, index: usize, chunk: Chunk) {
        self.outgoing.with(|outgoing| outgoing[index].spare = Some(chunk));
    }

    /// Whether all chunks were delivered that this worker has published; `delivered` tells how many
    /// of a lane were, ever.
    pub(super) fn are_delivered(&self, delivered: impl Fn(usize) -> u64) -> bool {
        self.outgoing.with(|outgoing| {
            let is_delivered = |&index: &usize| outgoing[index].published == delivered(index);
            self.open.with(|open| open.iter().all(is_delivered))
        })
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

//! What the running turn has sent to other nodes so far, on its worker: no lock is taken until the turn ends.
//!
//! A turn's messages for one node leave together, when the turn ends or they fill a frame, for the node's gathering place. So the order
//! holds between an actor and whoever it sends to, wherever the actor runs next: whatever it has sent in a turn is gathered before anybody
//! may run it again. Threads that are no workers, and workers between turns, have no turn that could end, and stage nothing.

use crate::gather::{NotGathered, new_frame};
use crate::link::HEADER_BYTES;
use crate::node::{Inner, Peer};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is staged for one node.
struct Staged {
    inner: Arc<Inner>,
    peer: Arc<Peer>,
    frame: Vec<u8>,
    messages: u32,
    /// Of these, the ones that are work, and not of the cluster's own machinery.
    work: u32,
}

/// Frames that a worker keeps for later turns, however many nodes one turn has sent to.
const KEPT: usize = 16;

#[derive(Default)]
struct Stage {
    staged: Vec<Staged>,
    /// Empty frames.
    spare: Vec<Vec<u8>>,
}

thread_local! {
    static STAGE: RefCell<Stage> = RefCell::default();
}

/// Stages a message for a node, if this thread is a worker in a turn; false if not.
pub(crate) fn add(
    inner: &Arc<Inner>,
    peer: &Arc<Peer>,
    is_work: bool,
    message: &[u8],
) -> Result<bool, NotGathered> {
    let is_turn = actinium_scheduler::current(|worker| {
        let worker = worker.filter(|worker| worker.running().is_some())?;
        worker.at_turn_end(leave);
        Some(())
    });
    if is_turn.is_none() {
        return Ok(false);
    }
    peer.gather.check_len(message.len())?;
    if peer.gather.is_closed() {
        return Err(NotGathered::Closed);
    }
    let frame_bytes = peer.gather.frame_bytes();
    // Nothing below calls user code, but for `deliver`, which is called when the stage is free again.
    let (longest, full) = STAGE.with_borrow_mut(|stage| {
        // Turns send to few nodes, and mostly to the same as just before.
        let mut found = stage.staged.iter().rposition(|staged| Arc::ptr_eq(&staged.peer, peer));
        // Together they may be longer than any frame: what is staged leaves first.
        let fits = |index: &usize| {
            let bytes = stage.staged[*index].frame.len() - HEADER_BYTES;
            peer.gather.check_len(bytes + message.len()).is_ok()
        };
        let longest = found.take_if(|index| !fits(index)).map(|index| stage.staged.remove(index));
        let index = found.unwrap_or_else(|| {
            let frame = stage.spare.pop().unwrap_or_else(|| new_frame(frame_bytes));
            // Relaxed: whoever asks the node to leave because of what this turn does hears of it by other means, which order this, too.
            peer.staged.fetch_add(1, Ordering::Relaxed);
            let (inner, peer) = (inner.clone(), peer.clone());
            stage.staged.push(Staged { inner, peer, frame, messages: 0, work: 0 });
            stage.staged.len() - 1
        });
        let staged = &mut stage.staged[index];
        staged.frame.extend_from_slice(message);
        staged.messages += 1;
        staged.work += u32::from(is_work);
        let is_full = staged.frame.len() >= frame_bytes;
        (longest, is_full.then(|| stage.staged.remove(index)))
    });
    longest.into_iter().chain(full).for_each(Staged::deliver);
    Ok(true)
}

/// The turn has ended, or tells somebody who must find it gathered: all that it has staged leaves.
pub(crate) fn leave() {
    while let Some(staged) = STAGE.with_borrow_mut(|stage| stage.staged.pop()) {
        staged.deliver();
    }
}

/// What the running turn has staged for this node leaves, if this is a turn: something of it does not wait for the turn's end.
pub(crate) fn leave_for(peer: &Arc<Peer>) {
    let staged = STAGE.with_borrow_mut(|stage| {
        let index = stage.staged.iter().rposition(|staged| Arc::ptr_eq(&staged.peer, peer))?;
        Some(stage.staged.remove(index))
    });
    if let Some(staged) = staged {
        staged.deliver();
    }
}

impl Staged {
    fn deliver(mut self) {
        self.inner.add_staged(&self.peer, self.messages, self.work, &mut self.frame);
        // Release: pairs with the acquire in `Driver::is_settled`, which then finds what was gathered.
        self.peer.staged.fetch_sub(1, Ordering::Release);
        let frame = self.frame;
        STAGE.with_borrow_mut(|stage| {
            if stage.spare.len() < KEPT && frame.capacity() <= 2 * self.peer.gather.frame_bytes() {
                stage.spare.push(frame);
            }
        });
    }
}

//! The ranks of an MPI job as nodes.
//!
//! One thread at a time calls MPI, and mostly the same for long: two at once collapse its rate.
//! Messages have communicators of their own: a program's messages and these do not meet.
//!
//! Frames are copied and sent by `MPI_Isend`, which never waits for the receiver (Open MPI's
//! `MPI_Bsend` does, once a stopped receiver has left many short ones). Short ones find receives
//! that wait for them (`mpi_posted`). A long frame needs its sender's help to arrive, and a sender
//! that is stopped must not stop its receivers: so a short message announces it, which says how
//! long it is, and it goes another way, where its receiver then posts a receive. What comes behind
//! such a frame from the same sender waits for it; what others send does not.
//!
//! So that memory is bounded, on both sides, each node counts what it has sent: a frame counts
//! until its receiver is known to have taken it. That is said in the tags: a short message's tag is
//! how many frames its sender has taken of its receiver so far, modulo 2^14, and whether it
//! announces a long one. Whoever has taken much and has nothing to send sends an empty message.
//!
//! Remote memory is a window (`mpi_window`), where this MPI has any: Open MPI 4.1 has none without
//! RDMA between hosts, or without reading of other processes' memory on one.
//!
//! Where all ranks are on one host, each has a *doorbell* (`mpi_bell`): one that is about to sleep
//! arms it and looks once more, and who sends to it afterwards wakes it. What MPI itself could not
//! pass on at once comes after the ring, so a sleep is bounded all the same.
//!
//! Outside `mpiexec` MPI makes a job of one rank: a cluster of one node.

use super::spare::Spare;
use super::{Arming, Doorbell, Fabric, MemoryError, NodeId, RemoteMemory, SendRefused};
use crate::mpi_bell::Bells;
use crate::mpi_posted::{PostedReceives, Short};
pub use crate::mpi_segment::{MpiSegments, MpiWindowKind};
use crate::mpi_transfer::{Transfer, World};
use crate::mpi_window::{Calls, Windows, turn};
use mpi::environment::Universe;
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest frame.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Longest frame that is sent as a short message. MPI has to send it eagerly, as Open MPI does up
/// to 4 KiB with its own header: else a sender that is stopped in the middle of one would stop its
/// receivers.
const SHORT_BYTES_MAX: usize = 3 << 10;
/// A tag has at least 15 bits, by the standard. These are for a count.
const TAGS: usize = 1 << 14;
/// Of the tag of a message that announces a long frame.
const ANNOUNCES: usize = TAGS;
/// The tag of long frames.
const LONG: i32 = 0;
/// Frames that may be under way to one node: far below the number of tags, so that counts can be
/// told apart.
const FRAMES_UNDER_WAY: usize = 512;
const _: () = assert!(2 * FRAMES_UNDER_WAY < TAGS);
/// Bytes that may be under way to one node, and what a frame counts above its own.
const BYTES_UNDER_WAY: usize = 4 << 20;
const OVERHEAD_BYTES: usize = 512;
/// How often it looks before it sleeps: some things come in steps.
const LAST_LOOKS: usize = 4;

/// The state of another rank.
#[derive(Default)]
struct Rank {
    /// Sizes of the frames that it may not have taken yet, oldest first, and their sum.
    under_way: VecDeque<usize>,
    under_way_bytes: usize,
    /// The frames under way, oldest first, whose bytes MPI may still need.
    sending: VecDeque<Transfer>,
    /// Frames that it has taken of ours.
    taken_there: usize,
    /// Frames that we have taken of its, and how many of them it knows of.
    taken_here: usize,
    told: usize,
    untold_bytes: usize,
    /// The frames that the rank sends and MPI has not yet received to the end, oldest first; at
    /// most as many as a sender may have under way.
    receiving: VecDeque<Transfer>,
}

/// The fabric.
pub struct Mpi {
    ranks: Vec<Rank>,
    /// Ranks of which something is being received, in the order in which they are asked.
    receiving: VecDeque<usize>,
    spare: Spare,
    /// Short messages, and the receives that wait for them.
    short: World,
    posted: PostedReceives,
    /// Long frames.
    long: World,
    node: NodeId,
    /// None: this MPI has none here.
    windows: Option<Windows>,
    /// None: not all ranks are on this host.
    bells: Option<Bells>,
    /// Since segments have windows: their threads and this one call MPI in turn.
    calls: Option<Calls>,
    // Dropped last: that ends MPI, unless a segment's window still needs it.
    universe: Arc<Universe>,
}

impl Mpi {
    /// Joins the job. Once in a process, on the thread that will drop it: that ends MPI.
    ///
    /// # Errors
    /// If MPI was started before, or cannot be used by several threads in turn.
    pub fn start() -> Result<Self, String> {
        let started = mpi::initialize_with_threading(mpi::Threading::Serialized);
        let (universe, threading) = started
            .ok_or("MPI was started before in this process, and can be started only once")?;
        if threading < mpi::Threading::Serialized {
            return Err(format!("this MPI allows calls of one thread only ({threading:?})"));
        }
        let world = universe.world();
        let (short, long) = (World::new(world.duplicate()), World::new(world.duplicate()));
        let size = world.size() as usize;
        let node = NodeId(world.rank() as u32);
        let mut windows = Windows::open(&world, node, size as u32);
        let bells = Bells::open(&world);
        if let (Some(windows), Some(bells)) = (&mut windows, bells) {
            windows.set_bells(bells);
        }
        Ok(Mpi {
            ranks: (0..size).map(|_| Rank::default()).collect(),
            receiving: VecDeque::new(),
            spare: Spare::default(),
            windows,
            bells,
            node,
            short,
            posted: PostedReceives::new(SHORT_BYTES_MAX),
            long,
            calls: None,
            universe: Arc::new(universe),
        })
    }

    /// Windows for segments, to be given to
    /// [`SegmentBuilder::register`](actinium_memory::SegmentBuilder::register): other ranks then
    /// read the segment's memory by [`MpiSegments::read`].
    ///
    /// All ranks call this at the same point, before a node starts with this fabric. They also
    /// build and drop the segments of static windows, and drop the last of the windows, in the same
    /// order: each waits for all ranks, while the nodes go on.
    ///
    /// From then on each call to MPI takes a lock, because the threads that register call it, too:
    /// about 20 ns for each frame, and more while they do.
    ///
    /// ```no_run
    /// use actinium_cluster::fabric::mpi::{Mpi, MpiWindowKind};
    /// use actinium_memory::fabric::Register;
    /// use actinium_memory::{Segment, Size};
    ///
    /// let mut mpi = Mpi::start()?;
    /// let windows = mpi.segments(MpiWindowKind::Static)?;
    /// let segment = Segment::builder()
    ///     .size(Size::Bytes(64 << 20))
    ///     .register(windows.clone(), Register::Static)
    ///     .build()?;
    /// // What other ranks read it by, to be sent to them.
    /// let parts = windows.regions(&segment, &segment.lease(0..1 << 20)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If MPI has no such windows here.
    pub fn segments(&mut self, kind: MpiWindowKind) -> Result<Arc<MpiSegments>, MemoryError> {
        let calls = self.calls.get_or_insert_default().clone();
        if let Some(windows) = &mut self.windows {
            windows.take_turns(calls.clone());
        }
        let (universe, ranks) = (self.universe.clone(), self.ranks.len() as u32);
        let world = universe.world();
        let segments = MpiSegments::open(&world, universe, calls, kind, self.node, ranks)?;
        Ok(Arc::new(segments))
    }

    /// Sends a frame, or, if it is empty, only how many frames of this rank were taken.
    fn isend(&mut self, to: usize, frame: &[u8]) {
        let rank = &mut self.ranks[to];
        rank.told = rank.taken_here;
        rank.untold_bytes = 0;
        let tag = rank.taken_here % TAGS;
        rank.reclaim(&mut self.spare);
        if frame.len() <= SHORT_BYTES_MAX {
            let frame = self.spare.copy(frame);
            rank.sending.push_back(Transfer::send(&self.short, to, tag as i32, frame));
        } else {
            let len = self.spare.copy(&frame.len().to_le_bytes());
            let frame = self.spare.copy(frame);
            rank.sending.push_back(Transfer::send(&self.short, to, (tag | ANNOUNCES) as i32, len));
            rank.sending.push_back(Transfer::send(&self.long, to, LONG, frame));
        }
        if let Some(bells) = &self.bells {
            bells.ring(to);
        }
    }

    /// Whether MPI still needs the memory of a frame.
    fn is_sending(&mut self) -> bool {
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        self.ranks.iter_mut().any(|rank| {
            rank.reclaim(&mut self.spare);
            !rank.sending.is_empty()
        })
    }

    /// Whether something is under way that moves on only while this node calls MPI. Whoever is to
    /// receive it is rung for once more: it may have found nothing yet. (With MPICH, the first
    /// messages of two ranks need both several times.)
    fn is_half_way(&mut self) -> bool {
        let mut is_sending = false;
        for (to, rank) in self.ranks.iter_mut().enumerate() {
            rank.reclaim(&mut self.spare);
            if !rank.sending.is_empty() {
                is_sending = true;
                if let Some(bells) = &self.bells {
                    bells.ring(to);
                }
            }
        }
        is_sending || !self.receiving.is_empty()
    }
}

impl Rank {
    /// The memory of the oldest frame that was sent to it, if MPI needs it no more.
    fn left(&mut self) -> Option<Vec<u8>> {
        self.sending.front_mut().is_some_and(Transfer::is_complete).then_some(())?;
        self.sending.pop_front()?.into_bytes()
    }

    /// Takes the memory of all frames that were sent to it and that MPI needs no more.
    fn reclaim(&mut self, spare: &mut Spare) {
        while let Some(left) = self.left() {
            spare.add(left);
        }
    }

    /// The other node has taken so many of our frames, modulo [`TAGS`].
    fn heard(&mut self, tag: usize) {
        let new = (tag + TAGS - self.taken_there % TAGS) % TAGS;
        // Messages of one rank keep their order, so the count never goes back; more than there are,
        // it can not have taken.
        for _ in 0..new.min(self.under_way.len()) {
            self.taken_there += 1;
            self.under_way_bytes -= self.under_way.pop_front().unwrap_or_default();
        }
    }
}

impl Fabric for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn nodes(&self) -> Vec<NodeId> {
        (0..self.ranks.len() as u32).map(NodeId).collect()
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }

    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        let index = to.0 as usize;
        let rank = self.ranks.get_mut(index).ok_or(SendRefused::NoSuchNode(to))?;
        if frame.len() > FRAME_BYTES_MAX {
            return Err(SendRefused::TooLong { bytes: frame.len(), allowed: FRAME_BYTES_MAX });
        }
        if frame.is_empty() {
            // That is what empty messages are not for.
            return Ok(());
        }
        let bytes = frame.len() + OVERHEAD_BYTES;
        if rank.under_way.len() >= FRAMES_UNDER_WAY
            || rank.under_way_bytes + bytes > BYTES_UNDER_WAY
        {
            return Err(SendRefused::Busy);
        }
        rank.under_way.push_back(bytes);
        rank.under_way_bytes += bytes;
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        self.isend(index, frame);
        Ok(())
    }

    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        while let Some(short) = self.posted.take(&self.short) {
            let (from, frame) = (short.from, self.take_short(&short));
            self.posted.give_back(short);
            if let Some(frame) = frame {
                return Some((NodeId(from as u32), frame));
            }
        }
        // Each once: those that are not complete yet go to the end.
        (0..self.receiving.len()).find_map(|_| {
            let from = *self.receiving.front()?;
            self.received(from).map(|frame| (NodeId(from as u32), frame))
        })
    }

    fn recycle(&mut self, frame: Vec<u8>) {
        self.spare.add(frame);
    }

    fn doorbell(&mut self) -> Option<Arc<dyn Doorbell>> {
        let bells = self.bells.as_ref()?;
        Some(Arc::new(bells.doorbell(self.node.0 as usize)))
    }

    fn arm(&mut self) -> Arming {
        let (Some(bells), own) = (self.bells, self.node.0 as usize) else { return Arming::Poll };
        let calls = self.calls.clone();
        let _in_turn = turn(calls.as_ref());
        if self.is_half_way() {
            return Arming::Poll;
        }
        if !bells.arm(own) {
            return Arming::Come;
        }
        // The look that belongs to it: see `Word`.
        if (0..LAST_LOOKS).any(|_| self.posted.has_come(&self.short)) {
            bells.disarm(own);
            return Arming::Come;
        }
        Arming::Armed
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.windows.as_mut().map(|windows| windows as &mut dyn RemoteMemory)
    }
}

impl Mpi {
    /// Takes a short message. Returns the frame that it is, if nothing of its sender is before it.
    fn take_short(&mut self, short: &Short) -> Option<Vec<u8>> {
        let (from, tag, bytes) = (short.from, short.tag, short.bytes());
        let rank = &mut self.ranks[from];
        rank.heard(tag % TAGS);
        if bytes.is_empty() {
            return None;
        }
        if tag & ANNOUNCES == 0 {
            let frame = self.spare.copy(bytes);
            if rank.receiving.is_empty() {
                self.taken(from, frame.len());
                return Some(frame);
            }
            rank.receiving.push_back(Transfer::complete(frame));
        } else {
            let len = bytes.first_chunk().map_or(0, |len| usize::from_le_bytes(*len));
            // With what is in it: only what it is longer by has to be cleared.
            let mut place = self.spare.take();
            place.resize(len.min(FRAME_BYTES_MAX), 0);
            rank.receiving.push_back(Transfer::receive(&self.long, Some(from), place));
        }
        self.received(from)
    }

    /// The next frame of a rank of which something is being received, if it is complete; the rank
    /// then goes to the end of the queue, joins it there, or leaves it.
    fn received(&mut self, from: usize) -> Option<Vec<u8>> {
        self.receiving.retain(|&other| other != from);
        let rank = &mut self.ranks[from];
        let is_complete = rank.receiving.front_mut().is_some_and(Transfer::is_complete);
        let first = if is_complete { rank.receiving.pop_front() } else { None };
        if !rank.receiving.is_empty() {
            self.receiving.push_back(from);
        }
        let frame = first.and_then(Transfer::into_bytes)?;
        self.taken(from, frame.len());
        Some(frame)
    }

    /// A frame of a rank was taken. Tells it how much was, if that is half of either bound: so it
    /// never has to stop for want of news. Of such messages, few are ever under way, for each is
    /// the answer to many.
    fn taken(&mut self, from: usize, bytes: usize) {
        let rank = &mut self.ranks[from];
        rank.taken_here += 1;
        rank.untold_bytes += bytes + OVERHEAD_BYTES;
        let untold = rank.taken_here - rank.told;
        if untold >= FRAMES_UNDER_WAY / 2 || rank.untold_bytes >= BYTES_UNDER_WAY / 2 {
            self.isend(from, &[]);
        }
    }
}

impl Drop for Mpi {
    /// All ranks end together. Until all are here, each takes what is still sent to it: else a
    /// sender would wait for ever.
    fn drop(&mut self) {
        while self.is_sending() {
            while self.poll().is_some() {}
            std::thread::yield_now();
        }
        let calls = self.calls.clone();
        let mut barrier = {
            let _in_turn = turn(calls.as_ref());
            Some(self.long.immediate_barrier())
        };
        while let Some(request) = barrier.take() {
            {
                let _in_turn = turn(calls.as_ref());
                if let Err(request) = request.test() {
                    barrier = Some(request);
                }
            }
            while self.poll().is_some() {}
            std::thread::yield_now();
        }
        // What is still under way ends, too: all are here, and help.
        while !self.receiving.is_empty() {
            while self.poll().is_some() {}
            std::thread::yield_now();
        }
        {
            let _in_turn = turn(calls.as_ref());
            self.posted.end();
        }
        self.windows = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_tags_go_round() {
        let mut rank = Rank { taken_there: TAGS - 2, ..Rank::default() };
        rank.under_way = [10, 20, 30, 40].into();
        rank.under_way_bytes = 100;
        rank.heard(TAGS - 2);
        assert_eq!(rank.under_way_bytes, 100);
        rank.heard(1);
        assert_eq!((rank.under_way_bytes, rank.taken_there), (40, TAGS + 1));
        rank.heard(TAGS - 1);
        assert_eq!((rank.under_way_bytes, rank.taken_there), (0, TAGS + 2), "nonsense is bounded");
    }
}

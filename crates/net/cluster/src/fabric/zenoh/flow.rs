//! Flow control between two nodes: bounds on the bytes under way, so that the messages that Zenoh
//! has to keep always fit into its queues.
//!
//! Zenoh's `put` says nothing of what becomes of a message: if the queue towards a node is full, it
//! waits, or drops. Neither may happen here. So each node counts what it has given to Zenoh for
//! another and what that one is known to have taken, and stops before a queue could be full. What
//! is needed for that stands behind each frame, in a [`Trailer`].
//!
//! There are two queues, because each of Zenoh's priorities has one: frames go in one [`Lane`], and
//! datagrams in another, of a lower priority. So frames never wait behind datagrams, and each lane
//! has numbers and an order of its own.

use std::collections::VecDeque;

/// Bytes behind each frame.
pub(super) const TRAILER_BYTES: usize = 40;
/// The version of the trailer, above the numbers in its last word; where the trailer of the first
/// version had the upper end of a count: 0.
const VERSION: u8 = 2;
/// Numbers have so many bits.
const NUMBER_BITS: u32 = 48;
/// Zenoh sends in batches of so many bytes at least: the largest multiple of half a TCP segment
/// that is below 65,475 (49,152 on a loopback device, 65,160 on Ethernet).
const BATCH_BYTES: usize = 43_650;
/// Batches that a queue of its holds: as many as it allows.
pub(super) const BATCHES: usize = 16;
/// Bytes of frames that may be under way to one node. Two frames of which the second does not fit
/// beside the first are together longer than a batch: so these take at most eleven batches and one
/// that is begun, of which one is being sent, and four remain for what is short.
const FRAME_BYTES_UNDER_WAY: usize = 11 * BATCH_BYTES / 2;
/// A frame up to this is short: heartbeats, acknowledgements, greetings. They pass even if nothing
/// else may, because the other end's answer is what frees capacity.
const SHORT_BYTES: usize = 512;
/// The most short frames under way at once. Further ones pass only now and then.
const SHORT_UNDER_WAY: usize = 128;
/// Where nothing else may be sent, one more passes so often: if all were lost, it is what says so.
const AGAIN_NS: u64 = 50_000_000;
/// A bound on the bytes that Zenoh writes before a message and on the trailer behind it, even with
/// the longest key that we use.
const OVERHEAD_BYTES: usize = 256;
/// Longest datagram: it fits into one batch, and so takes one at most.
pub(super) const DATAGRAM_BYTES_MAX: usize = BATCH_BYTES - OVERHEAD_BYTES;
/// Datagrams that may be under way to one node: a batch each, one whose datagrams have all been
/// taken while it is still being put back, and one to spare.
const DATAGRAMS_UNDER_WAY: usize = BATCHES - 2;
/// Through routers, so many to all nodes together: a router's queues are shorter.
const DATAGRAMS_ON_SHARED_WAY: usize = 4;
/// More than whoever keeps to this has under way to one node.
pub(super) const BYTES_UNDER_WAY: usize = FRAME_BYTES_UNDER_WAY
    + SHORT_UNDER_WAY * (SHORT_BYTES + OVERHEAD_BYTES)
    + DATAGRAMS_UNDER_WAY * BATCH_BYTES;

const _: () = assert!(SHORT_UNDER_WAY * (SHORT_BYTES + OVERHEAD_BYTES) <= 3 * BATCH_BYTES);

/// Returns the share of the bytes under way that a frame uses up. A frame that fits into no batch
/// closes the batch that is begun, and takes two for itself.
fn cost(bytes: usize) -> usize {
    let bytes = bytes + OVERHEAD_BYTES;
    if bytes > BATCH_BYTES { bytes.max(3 * BATCH_BYTES / 2) } else { bytes }
}

/// In which of Zenoh's queues something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Frames = 0,
    Datagrams = 1,
}

const LANES: [Lane; 2] = [Lane::Frames, Lane::Datagrams];

/// The trailer behind each frame and datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Which incarnation of the sender, and which of the receiver as far as the sender knows, else
    /// 0.
    pub(super) from_life: u64,
    pub(super) to_life: u64,
    /// The largest number, in each lane, of what the receiver has sent and the sender has taken.
    pub(super) taken: [u64; 2],
    /// In which lane this goes, and its number there.
    pub(super) lane: Lane,
    pub(super) number: u64,
}

/// Why there is no trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotOurs;

impl Trailer {
    pub(super) fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let above = u64::from(VERSION) << 8 | self.lane as u64;
        let last = above << NUMBER_BITS | self.number;
        let [frames, datagrams] = self.taken;
        let mut bytes = [0; TRAILER_BYTES];
        let words = [self.from_life, self.to_life, frames, datagrams, last];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Takes the trailer off.
    ///
    /// # Errors
    /// If there is none of this version.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Result<Self, NotOurs> {
        let (_, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>().ok_or(NotOurs)?;
        let (words, _) = trailer.as_chunks();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        let above = word(4) >> NUMBER_BITS;
        if above >> 8 != u64::from(VERSION) {
            return Err(NotOurs);
        }
        let lane = LANES.into_iter().find(|&lane| lane as u64 == above & 0xff).ok_or(NotOurs)?;
        let number = word(4) & ((1 << NUMBER_BITS) - 1);
        let (from_life, to_life, taken) = (word(0), word(1), [word(2), word(3)]);
        bytes.truncate(bytes.len() - TRAILER_BYTES);
        Ok(Trailer { from_life, to_life, taken, lane, number })
    }
}

/// The frames under way to one node in one lane, and those that have arrived.
#[derive(Default)]
struct Way {
    /// The number of the last that was sent.
    number: u64,
    /// Number and size of what it may not have taken yet, oldest first.
    under_way: VecDeque<(u64, usize)>,
    bytes: usize,
    short: usize,
    sent_ns: u64,
    /// The largest number that was taken of its.
    taken: u64,
    /// Taken, and it does not know of it: bytes in one lane, a count in the other.
    untold: usize,
}

impl Way {
    fn send(&mut self, bytes: usize, now_ns: u64) {
        self.number += 1;
        self.sent_ns = now_ns;
        self.under_way.push_back((self.number, bytes));
        if is_short(bytes) {
            self.short += 1;
        } else {
            self.bytes += bytes;
        }
    }

    /// One way has one order: what was sent before what it has taken is not in the queue any more,
    /// taken or lost.
    fn is_taken(&mut self, taken: u64) {
        while self.under_way.front().is_some_and(|&(number, _)| number <= taken)
            && let Some((_, bytes)) = self.under_way.pop_front()
        {
            if is_short(bytes) {
                self.short -= 1;
            } else {
                self.bytes -= bytes;
            }
        }
    }
}

/// The state of the flow to and from one node: frames under way to it, and frames that came from
/// it.
#[derive(Default)]
pub(super) struct Flow {
    life_there: u64,
    ways: [Way; 2],
}

impl Flow {
    fn way(&mut self, lane: Lane) -> &mut Way {
        &mut self.ways[lane as usize]
    }

    /// Whether a frame may be sent, if so many bytes are under way to others on the same way.
    pub(super) fn may_send(&self, bytes: usize, others_bytes: usize, now_ns: u64) -> bool {
        let (bytes, way) = (cost(bytes), &self.ways[Lane::Frames as usize]);
        if is_short(bytes) {
            return way.short < SHORT_UNDER_WAY || now_ns.saturating_sub(way.sent_ns) >= AGAIN_NS;
        }
        way.bytes + others_bytes + bytes <= FRAME_BYTES_UNDER_WAY
    }

    /// Whether a datagram may be sent; `others`: those under way to others, if they go the same
    /// way.
    pub(super) fn may_send_datagram(&self, others: Option<usize>, now_ns: u64) -> bool {
        let has_room = match others {
            None => self.datagrams() < DATAGRAMS_UNDER_WAY,
            Some(others) => self.datagrams() + others < DATAGRAMS_ON_SHARED_WAY,
        };
        // If all were lost, the next one that is taken shows it. If they were not, it may be
        // dropped, and is asked for again.
        let sent_ns = self.ways[Lane::Datagrams as usize].sent_ns;
        has_room || now_ns.saturating_sub(sent_ns) >= AGAIN_NS
    }

    /// Bytes of frames under way that count.
    pub(super) fn bytes(&self) -> usize {
        self.ways[Lane::Frames as usize].bytes
    }

    /// Datagrams under way.
    pub(super) fn datagrams(&self) -> usize {
        self.ways[Lane::Datagrams as usize].under_way.len()
    }

    /// Counts what is sent; what to write behind it.
    pub(super) fn send(
        &mut self,
        lane: Lane,
        own_incarnation: u64,
        bytes: usize,
        now_ns: u64,
    ) -> Trailer {
        self.way(lane).send(cost(bytes), now_ns);
        self.trailer(lane, own_incarnation)
    }

    fn trailer(&mut self, lane: Lane, from_life: u64) -> Trailer {
        self.ways.iter_mut().for_each(|way| way.untold = 0);
        let taken = [self.ways[0].taken, self.ways[1].taken];
        let number = self.way(lane).number;
        Trailer { from_life, to_life: self.life_there, taken, lane, number }
    }

    /// A frame or datagram of so many bytes was taken.
    pub(super) fn heard(&mut self, own_incarnation: u64, trailer: Trailer, bytes: usize) {
        if trailer.from_life != self.life_there {
            self.life_there = trailer.from_life;
            self.ways.iter_mut().for_each(|way| way.taken = 0);
        }
        let way = self.way(trailer.lane);
        way.taken = way.taken.max(trailer.number);
        // News alone need no news in return.
        if bytes > 0 {
            way.untold += if trailer.lane == Lane::Frames { cost(bytes) } else { 1 };
        }
        if trailer.to_life != own_incarnation {
            return;
        }
        for (way, taken) in self.ways.iter_mut().zip(trailer.taken) {
            way.is_taken(taken);
        }
    }

    /// Said when the other node would else have to stop for want of news: behind nothing, in a
    /// frame of its own that does not count. `is_shared`: as in [`Flow::may_send_datagram`].
    pub(super) fn news(&mut self, own_incarnation: u64, is_shared: bool) -> Option<Trailer> {
        let [frames, datagrams] = &self.ways;
        let most = if is_shared { DATAGRAMS_ON_SHARED_WAY } else { DATAGRAMS_UNDER_WAY };
        let is_due = frames.untold >= FRAME_BYTES_UNDER_WAY / 2 || datagrams.untold >= most / 2;
        is_due.then(|| self.trailer(Lane::Frames, own_incarnation))
    }
}

fn is_short(bytes: usize) -> bool {
    bytes <= SHORT_BYTES + OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Moves a frame or datagram, as the fabric does; true if the receiver then has news.
    fn cross(from: &mut Flow, to: &mut Flow, lane: Lane, bytes: usize) -> bool {
        let trailer = from.send(lane, 1, bytes, 0);
        to.heard(2, trailer, bytes);
        to.news(2, false).is_some_and(|news| {
            from.heard(1, news, 0);
            true
        })
    }

    /// Two of which the first knows the second's incarnation.
    fn pair() -> (Flow, Flow) {
        let (mut a, mut b) = (Flow::default(), Flow::default());
        let greeting = b.send(Lane::Frames, 2, 0, 0);
        a.heard(1, greeting, 0);
        (a, b)
    }

    #[test]
    fn what_stands_behind_a_frame_is_read() {
        for lane in LANES {
            let number = (1 << NUMBER_BITS) - 1;
            let trailer = Trailer { from_life: 1, to_life: 2, taken: [u64::MAX, 4], lane, number };
            let mut bytes = b"frame".to_vec();
            bytes.extend_from_slice(&trailer.to_bytes());
            assert_eq!(Trailer::take(&mut bytes), Ok(trailer));
            assert_eq!(bytes, b"frame");
            assert_eq!(Trailer::take(&mut bytes), Err(NotOurs));
        }
    }

    #[test]
    fn what_stands_behind_frames_of_another_version_is_not_understood() {
        // The first version: incarnations, number, and what was taken.
        let mut first = b"a frame that is long enough".to_vec();
        for word in [1_u64 << 60, 1 << 60, 7, 9] {
            first.extend_from_slice(&word.to_le_bytes());
        }
        assert_eq!(Trailer::take(&mut first), Err(NotOurs));
        let trailer =
            Trailer { from_life: 1, to_life: 2, taken: [3, 4], lane: Lane::Frames, number: 5 };
        for (above, bits) in [(VERSION + 1, 0_u8), (VERSION, 1 << 1)] {
            let mut bytes = trailer.to_bytes().to_vec();
            bytes[TRAILER_BYTES - 1] = above;
            bytes[TRAILER_BYTES - 2] ^= bits;
            assert_eq!(Trailer::take(&mut bytes), Err(NotOurs));
        }
    }

    #[test]
    fn who_takes_keeps_its_sender_going() {
        let (mut a, mut b) = pair();
        let mut news = [0, 0];
        for _ in 0..1_000 {
            assert!(a.may_send(20_000, 0, 0));
            news[0] += usize::from(cross(&mut a, &mut b, Lane::Frames, 20_000));
            assert!(a.may_send_datagram(None, 0));
            news[1] += usize::from(cross(&mut a, &mut b, Lane::Datagrams, DATAGRAM_BYTES_MAX));
        }
        // Few messages carry nothing else.
        assert!((1..=1_000 / 5).contains(&(news[0] + news[1])), "{news:?}");
    }

    #[test]
    fn who_takes_nothing_stops_its_sender_but_for_short_frames() {
        let mut flow = Flow::default();
        let mut sent = 0;
        while flow.may_send(60_000, 0, 0) {
            flow.send(Lane::Frames, 1, 60_000, 0);
            sent += 1;
        }
        assert_eq!(sent, 3);
        assert!(!flow.may_send(20_000, FRAME_BYTES_UNDER_WAY - 3 * cost(60_000), 0));
        for _ in 0..SHORT_UNDER_WAY {
            assert!(flow.may_send(100, 0, 0));
            flow.send(Lane::Frames, 1, 100, 0);
        }
        assert!(!flow.may_send(100, 0, 0));
        assert!(flow.may_send(100, 0, AGAIN_NS), "now and then one, so that it is heard again");
        assert!(flow.may_send_datagram(None, 0), "they go in another lane");
    }

    #[test]
    fn datagrams_that_nobody_takes_stop_no_frames() {
        let mut flow = Flow::default();
        while flow.may_send_datagram(None, 0) {
            flow.send(Lane::Datagrams, 1, DATAGRAM_BYTES_MAX, 0);
        }
        assert_eq!(flow.datagrams(), DATAGRAMS_UNDER_WAY);
        assert!(flow.may_send(60_000, 0, 0) && flow.may_send(100, 0, 0));
        assert!(flow.may_send_datagram(None, AGAIN_NS), "now and then one");
    }

    #[test]
    fn what_is_on_its_way_to_others_counts_where_the_way_is_shared() {
        let mut flow = Flow::default();
        assert!(flow.may_send(1_000, FRAME_BYTES_UNDER_WAY / 2, 0));
        assert!(!flow.may_send(1_000, FRAME_BYTES_UNDER_WAY, 0));
        assert!(flow.may_send(100, FRAME_BYTES_UNDER_WAY, 0), "short ones pass");
        assert!(flow.may_send_datagram(Some(DATAGRAMS_ON_SHARED_WAY - 1), 0));
        flow.send(Lane::Datagrams, 1, 1_000, 0);
        assert!(!flow.may_send_datagram(Some(DATAGRAMS_ON_SHARED_WAY - 1), 0));
    }

    #[test]
    fn where_the_way_is_shared_news_of_datagrams_come_before_the_sender_has_to_stop() {
        let (mut a, mut b) = pair();
        for _ in 0..100 {
            assert!(a.may_send_datagram(Some(0), 0));
            let trailer = a.send(Lane::Datagrams, 1, 1_000, 0);
            b.heard(2, trailer, 1_000);
            if let Some(news) = b.news(2, true) {
                a.heard(1, news, 0);
            }
        }
    }

    #[test]
    fn what_was_lost_is_found_by_what_comes_behind_it() {
        let (mut a, mut b) = pair();
        while a.may_send(60_000, 0, 0) {
            a.send(Lane::Frames, 1, 60_000, 0);
        }
        while a.may_send_datagram(None, 0) {
            a.send(Lane::Datagrams, 1, 40_000, 0);
        }
        let answer = |a: &mut Flow, b: &mut Flow, trailer| {
            b.heard(2, trailer, 80);
            let answer = b.send(Lane::Frames, 2, 80, 0);
            assert_eq!(answer.to_life, 1);
            a.heard(1, answer, 80);
        };
        let heartbeat = a.send(Lane::Frames, 1, 80, 0);
        answer(&mut a, &mut b, heartbeat);
        let frames = &a.ways[Lane::Frames as usize];
        assert_eq!((frames.bytes, frames.short, frames.under_way.len()), (0, 0, 0));
        assert_eq!(a.datagrams(), DATAGRAMS_UNDER_WAY, "frames say nothing of datagrams");
        assert!(!a.may_send_datagram(None, AGAIN_NS - 1) && a.may_send_datagram(None, AGAIN_NS));
        let next = a.send(Lane::Datagrams, 1, 40_000, AGAIN_NS);
        answer(&mut a, &mut b, next);
        assert_eq!(a.datagrams(), 0);
    }

    #[test]
    fn an_earlier_life_does_not_count() {
        let mut flow = Flow::default();
        flow.send(Lane::Frames, 5, 1_000, 0);
        let lane = Lane::Frames;
        // It speaks of what an earlier incarnation of this node had sent.
        let trailer = Trailer { from_life: 9, to_life: 4, taken: [100, 100], lane, number: 7 };
        flow.heard(5, trailer, 10);
        assert_eq!(flow.ways[0].under_way.len(), 1);
        assert_eq!(flow.ways[0].taken, 7);
        // It starts again.
        let trailer = Trailer { from_life: 10, to_life: 5, taken: [1, 0], lane, number: 1 };
        flow.heard(5, trailer, 10);
        let way = &flow.ways[0];
        assert_eq!((way.under_way.len(), way.taken, flow.life_there), (0, 1, 10));
    }

    /// A queue of Zenoh's, packed as it packs: in order, a batch is closed when the next does not
    /// fit, and what is longer than a batch is split.
    struct Queue {
        batch: usize,
        batches: usize,
        room: usize,
    }

    impl Queue {
        fn put(&mut self, bytes: usize) {
            let bytes = bytes + OVERHEAD_BYTES;
            if bytes > self.batch {
                self.batches += 1 + bytes.div_ceil(self.batch);
                self.room = self.batch;
            } else if bytes > self.room {
                self.batches += 1;
                self.room = self.batch - bytes;
            } else {
                self.room -= bytes;
            }
        }
    }

    proptest! {
        /// However frames and datagrams are chosen, what is under way fits into the queue of each
        /// lane.
        #[test]
        fn all_that_is_under_way_fits_into_the_queue_of_its_lane(
            sizes in proptest::collection::vec(
                prop_oneof![1_usize..600, 1_usize..64_968, 21_700_usize..22_000, 43_300_usize..44_000],
                1..400,
            ),
            are_datagrams in proptest::collection::vec(any::<bool>(), 400),
            batch in prop_oneof![Just(BATCH_BYTES), Just(49_152), Just(65_160), BATCH_BYTES..65_536],
        ) {
            let mut flow = Flow::default();
            let queue = || Queue { batch, batches: 1, room: batch };
            let (mut frames, mut datagrams) = (queue(), queue());
            for (bytes, is_datagram) in sizes.into_iter().zip(are_datagrams) {
                if is_datagram && flow.may_send_datagram(None, 0) {
                    let bytes = bytes.min(DATAGRAM_BYTES_MAX);
                    flow.send(Lane::Datagrams, 1, bytes, 0);
                    datagrams.put(bytes);
                } else if !is_datagram && flow.may_send(bytes, 0, 0) {
                    flow.send(Lane::Frames, 1, bytes, 0);
                    frames.put(bytes);
                }
            }
            // One more is being sent, or put back.
            for batches in [frames.batches, datagrams.batches] {
                prop_assert!(batches < BATCHES, "{batches}");
            }
        }

        #[test]
        fn nonsense_is_bounded(
            words in proptest::collection::vec(any::<([u64; 2], [u64; 2], u64, bool)>(), 0..50),
        ) {
            let mut flow = Flow::default();
            for ([from_life, to_life], taken, number, is_datagram) in words {
                let lane = LANES[usize::from(is_datagram)];
                flow.heard(1, Trailer { from_life, to_life, taken, lane, number }, 100);
                flow.send(lane, 1, 1_000, 0);
                flow.heard(1, Trailer { from_life, to_life: 1, taken, lane, number }, 100);
                let counted = flow.ways[0].under_way.len();
                prop_assert!(flow.bytes() <= counted * (1_000 + OVERHEAD_BYTES));
            }
        }
    }
}

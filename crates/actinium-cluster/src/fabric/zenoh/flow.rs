//! How much may be under way between two nodes, so that what Zenoh has to keep always fits into its queue.
//!
//! Zenoh's `put` says nothing of what becomes of a message: if the queue towards a node is full, it waits, or drops. Neither may happen here. So
//! each node counts what it has given to Zenoh for another and what that one is known to have taken, and stops before the queue could be full.
//! What is needed for that stands behind each frame, in a [`Trailer`].

use std::collections::VecDeque;

/// Bytes behind each frame.
pub(super) const TRAILER_BYTES: usize = 32;
/// Zenoh sends in batches of so many bytes at least: the largest multiple of half a TCP segment that is below 65,475 (49,152 on a loopback
/// device, 65,160 on Ethernet).
const BATCH_BYTES: usize = 43_650;
/// Batches that its queue holds: as many as it allows.
pub(super) const BATCHES: usize = 16;
/// Bytes that may be under way to one node. Two frames of which the second does not fit beside the first are together longer than a batch: so
/// these take at most eleven batches and one that is begun, of which one is being sent, and four remain for what is short.
pub(super) const BYTES_UNDER_WAY: usize = 11 * BATCH_BYTES / 2;
/// A frame up to this is short: heartbeats, acknowledgements, greetings. They pass even if nothing else may, because the other end's
/// answer is what makes room again.
const SHORT_BYTES: usize = 512;
/// So many short ones at once; more only now and then.
const SHORT_UNDER_WAY: usize = 128;
const SHORT_EVERY_NS: u64 = 50_000_000;
/// What Zenoh writes before a message: more than that of the longest key of ours.
const OVERHEAD_BYTES: usize = 256;

const _: () = assert!(SHORT_UNDER_WAY * (SHORT_BYTES + OVERHEAD_BYTES) <= 3 * BATCH_BYTES);

/// What a frame takes of the room. One that fits into no batch closes the one that is begun, and takes two for itself.
fn room(bytes: usize) -> usize {
    let bytes = bytes + OVERHEAD_BYTES;
    if bytes > BATCH_BYTES { bytes.max(3 * BATCH_BYTES / 2) } else { bytes }
}

/// What stands behind each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Which life of the sender, and which of the receiver as far as the sender knows, else 0.
    pub(super) from_life: u64,
    pub(super) to_life: u64,
    /// The frame's number.
    pub(super) number: u64,
    /// The largest number of the receiver's frames that the sender has taken.
    pub(super) taken: u64,
}

impl Trailer {
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        for word in [self.from_life, self.to_life, self.number, self.taken] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Takes the trailer off. None: nothing of ours.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let (_, trailer) = bytes.split_last_chunk::<TRAILER_BYTES>()?;
        let word = |index: usize| {
            u64::from_le_bytes(std::array::from_fn(|byte| trailer[8 * index + byte]))
        };
        let read =
            Trailer { from_life: word(0), to_life: word(1), number: word(2), taken: word(3) };
        bytes.truncate(bytes.len() - TRAILER_BYTES);
        Some(read)
    }
}

/// What is under way to one node, and what has come of it.
#[derive(Default)]
pub(super) struct Flow {
    life_there: u64,
    /// Of the last frame sent.
    number: u64,
    /// Number and size of what it may not have taken yet, oldest first.
    under_way: VecDeque<(u64, usize)>,
    bytes: usize,
    short: usize,
    sent_ns: u64,
    /// The largest number that was taken of its frames.
    taken: u64,
    /// Bytes taken that it does not know of.
    untold_bytes: usize,
}

impl Flow {
    /// Whether a frame may be sent, if so many bytes are under way to others on the same way.
    pub(super) fn may_send(&self, bytes: usize, others_bytes: usize, now_ns: u64) -> bool {
        let bytes = room(bytes);
        if is_short(bytes) {
            return self.short < SHORT_UNDER_WAY
                || now_ns.saturating_sub(self.sent_ns) >= SHORT_EVERY_NS;
        }
        self.bytes + others_bytes + bytes <= BYTES_UNDER_WAY
    }

    /// Bytes under way that count.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts a frame that is sent; what to write behind it.
    pub(super) fn send(&mut self, own_life: u64, bytes: usize, now_ns: u64) -> Trailer {
        let bytes = room(bytes);
        self.number += 1;
        self.sent_ns = now_ns;
        self.under_way.push_back((self.number, bytes));
        if is_short(bytes) {
            self.short += 1;
        } else {
            self.bytes += bytes;
        }
        self.trailer(own_life)
    }

    fn trailer(&mut self, from_life: u64) -> Trailer {
        self.untold_bytes = 0;
        Trailer { from_life, to_life: self.life_there, number: self.number, taken: self.taken }
    }

    /// A frame of so many bytes was taken.
    pub(super) fn heard(&mut self, own_life: u64, trailer: Trailer, bytes: usize) {
        if trailer.from_life != self.life_there {
            self.life_there = trailer.from_life;
            self.taken = 0;
        }
        self.taken = self.taken.max(trailer.number);
        // News alone need no news in return.
        if bytes > 0 {
            self.untold_bytes += room(bytes);
        }
        if trailer.to_life != own_life {
            return;
        }
        // One way has one order: what was sent before what it has taken is not in the queue any more, taken or lost.
        while self.under_way.front().is_some_and(|&(number, _)| number <= trailer.taken)
            && let Some((_, bytes)) = self.under_way.pop_front()
        {
            if is_short(bytes) {
                self.short -= 1;
            } else {
                self.bytes -= bytes;
            }
        }
    }

    /// Said when the other node would else have to stop for want of news: behind nothing, in a frame of its own that does not count.
    pub(super) fn news(&mut self, own_life: u64) -> Option<Trailer> {
        (self.untold_bytes >= BYTES_UNDER_WAY / 2).then(|| self.trailer(own_life))
    }
}

fn is_short(bytes: usize) -> bool {
    bytes <= SHORT_BYTES + OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Moves a frame, as the fabric does; true if the receiver then has news.
    fn cross(from: &mut Flow, to: &mut Flow, bytes: usize) -> bool {
        let trailer = from.send(1, bytes, 0);
        to.heard(2, trailer, bytes);
        to.news(2).is_some_and(|news| {
            from.heard(1, news, 0);
            true
        })
    }

    #[test]
    fn what_stands_behind_a_frame_is_read() {
        let trailer = Trailer { from_life: 1, to_life: 2, number: u64::MAX, taken: 4 };
        let mut bytes = b"frame".to_vec();
        trailer.write(&mut bytes);
        assert_eq!(bytes.len(), 5 + TRAILER_BYTES);
        assert_eq!(Trailer::take(&mut bytes), Some(trailer));
        assert_eq!(bytes, b"frame");
        assert_eq!(Trailer::take(&mut bytes), None);
    }

    #[test]
    fn who_takes_keeps_its_sender_going() {
        let (mut a, mut b) = (Flow::default(), Flow::default());
        // Each knows the other's life.
        let greeting = b.send(2, 0, 0);
        a.heard(1, greeting, 0);
        let mut news = 0;
        for _ in 0..1_000 {
            assert!(a.may_send(20_000, 0, 0));
            news += usize::from(cross(&mut a, &mut b, 20_000));
        }
        // Few messages carry nothing else.
        assert!((1..=1_000 / 5).contains(&news), "{news}");
    }

    #[test]
    fn who_takes_nothing_stops_its_sender_but_for_short_frames() {
        let mut flow = Flow::default();
        let mut sent = 0;
        while flow.may_send(60_000, 0, 0) {
            flow.send(1, 60_000, 0);
            sent += 1;
        }
        assert_eq!(sent, 3);
        assert!(!flow.may_send(20_000, BYTES_UNDER_WAY - 3 * room(60_000), 0));
        for _ in 0..SHORT_UNDER_WAY {
            assert!(flow.may_send(100, 0, 0));
            flow.send(1, 100, 0);
        }
        assert!(!flow.may_send(100, 0, 0));
        assert!(
            flow.may_send(100, 0, SHORT_EVERY_NS),
            "now and then one, so that it is heard again"
        );
    }

    #[test]
    fn what_is_on_its_way_to_others_counts_where_the_way_is_shared() {
        let flow = Flow::default();
        assert!(flow.may_send(1_000, BYTES_UNDER_WAY / 2, 0));
        assert!(!flow.may_send(1_000, BYTES_UNDER_WAY, 0));
        assert!(flow.may_send(100, BYTES_UNDER_WAY, 0), "short ones pass");
    }

    #[test]
    fn what_was_lost_is_settled_by_what_comes_behind_it() {
        let (mut a, mut b) = (Flow::default(), Flow::default());
        let greeting = b.send(2, 0, 0);
        a.heard(1, greeting, 0);
        while a.may_send(60_000, 0, 0) {
            a.send(1, 60_000, 0);
        }
        let heartbeat = a.send(1, 80, 0);
        b.heard(2, heartbeat, 80);
        let answer = b.send(2, 80, 0);
        assert_eq!(answer.to_life, 1);
        a.heard(1, answer, 80);
        assert_eq!((a.bytes, a.short, a.under_way.len()), (0, 0, 0));
    }

    #[test]
    fn an_earlier_life_does_not_count() {
        let mut flow = Flow::default();
        flow.send(5, 1_000, 0);
        // It speaks of what an earlier life of this node had sent.
        flow.heard(5, Trailer { from_life: 9, to_life: 4, number: 7, taken: 100 }, 10);
        assert_eq!(flow.under_way.len(), 1);
        assert_eq!(flow.taken, 7);
        // It starts again.
        flow.heard(5, Trailer { from_life: 10, to_life: 5, number: 1, taken: 1 }, 10);
        assert_eq!((flow.under_way.len(), flow.taken, flow.life_there), (0, 1, 10));
    }

    proptest! {
        /// However frames are chosen, what is under way fits into the queue, packed as Zenoh packs: in order, a batch is closed when the
        /// next does not fit, and what is longer than a batch is split.
        #[test]
        fn all_that_is_under_way_fits_into_the_queue(
            sizes in proptest::collection::vec(
                prop_oneof![1_usize..600, 1_usize..64_968, 21_700_usize..22_000, 43_300_usize..44_000],
                1..400,
            ),
            batch in prop_oneof![Just(BATCH_BYTES), Just(49_152), Just(65_160), BATCH_BYTES..65_536],
        ) {
            let mut flow = Flow::default();
            let (mut batches, mut room) = (1, batch);
            for bytes in sizes {
                if flow.may_send(bytes, 0, 0) {
                    flow.send(1, bytes, 0);
                    let bytes = bytes + OVERHEAD_BYTES;
                    if bytes > batch {
                        batches += 1 + bytes.div_ceil(batch);
                        room = batch;
                    } else if bytes > room {
                        batches += 1;
                        room = batch - bytes;
                    } else {
                        room -= bytes;
                    }
                }
            }
            // One more is being sent.
            prop_assert!(batches < BATCHES, "{batches}");
        }

        #[test]
        fn nonsense_is_bounded(words in proptest::collection::vec(any::<[u64; 4]>(), 0..50)) {
            let mut flow = Flow::default();
            for [from_life, to_life, number, taken] in words {
                flow.heard(1, Trailer { from_life, to_life, number, taken }, 100);
                flow.send(1, 1_000, 0);
                flow.heard(1, Trailer { from_life, to_life: 1, number, taken }, 100);
                prop_assert!(flow.bytes <= flow.under_way.len() * (1_000 + OVERHEAD_BYTES));
            }
        }
    }
}

//! The frames and events that Zenoh's threads hand to the node's thread. Those threads never wait
//! here, and no sender can fill memory.

use super::flow::BYTES_UNDER_WAY;
use crate::fabric::spare::Spare;
use crate::fabric::{Bell, NodeId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

/// Bytes of one sender that may wait: more than any that keeps to the rules ever has under way, an
/// earlier incarnation of it included.
const BYTES_WAITING: usize = 4 * BYTES_UNDER_WAY;

/// An event that a thread of Zenoh hands over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A frame with its trailer.
    Frame(NodeId, Vec<u8>),
    /// A node has appeared: in this incarnation.
    Appeared(NodeId, u64),
    /// Another process answers to this node's number.
    Twin(super::identity::Answer),
}

#[derive(Default)]
struct Waiting {
    heard: VecDeque<Heard>,
    bytes: BTreeMap<NodeId, usize>,
    bell: Option<Bell>,
    spare: Spare,
    /// Frames that were dropped because their sender keeps to no rules.
    dropped: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct Inbox(Mutex<Waiting>);

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts something in, and rings. False: a frame that there is no room for.
    pub(super) fn put(&self, heard: Heard) -> bool {
        let mut waiting = self.lock();
        if let Heard::Frame(from, frame) = &heard {
            let bytes = waiting.bytes.entry(*from).or_default();
            if *bytes + frame.len() > BYTES_WAITING {
                waiting.dropped += 1;
                return false;
            }
            *bytes += frame.len();
        }
        waiting.heard.push_back(heard);
        let bell = waiting.bell.clone();
        drop(waiting);
        if let Some(bell) = bell {
            bell();
        }
        true
    }

    /// Empty, with memory that is to spare.
    pub(super) fn spare(&self) -> Vec<u8> {
        let mut frame = self.lock().spare.take();
        frame.clear();
        frame
    }

    /// Takes back the memory of a frame that was taken.
    pub(super) fn recycle(&self, frame: Vec<u8>) {
        self.lock().spare.add(frame);
    }

    pub(super) fn take(&self) -> Option<Heard> {
        let mut waiting = self.lock();
        let heard = waiting.heard.pop_front()?;
        if let Heard::Frame(from, frame) = &heard
            && let Some(bytes) = waiting.bytes.get_mut(from)
        {
            *bytes -= frame.len();
        }
        Some(heard)
    }

    pub(super) fn set_bell(&self, bell: Bell) {
        self.lock().bell = Some(bell);
    }

    /// Frames that were dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::spare::SPARE_MAX;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_sender_that_does_not_stop_fills_no_memory() {
        let inbox = Inbox::default();
        let rung = Arc::new(AtomicU32::new(0));
        let bell = rung.clone();
        inbox.set_bell(Arc::new(move || {
            // Relaxed: one thread.
            bell.fetch_add(1, Ordering::Relaxed);
        }));
        let frame = |from| Heard::Frame(NodeId(from), vec![0; 60_000]);
        let mut put = 0;
        while inbox.put(frame(1)) {
            put += 1;
        }
        assert_eq!(put, BYTES_WAITING / 60_000);
        assert_eq!(inbox.dropped(), 1);
        // Relaxed: one thread.
        assert_eq!(rung.load(Ordering::Relaxed) as usize, put);
        assert!(inbox.put(frame(2)), "others have room");
        assert!(inbox.put(Heard::Appeared(NodeId(1), 1)));
        assert_eq!(inbox.take(), Some(frame(1)));
        assert!(inbox.put(frame(1)), "there is capacity again");
        assert!(!inbox.put(frame(1)));
        while inbox.take().is_some() {}
        assert!(inbox.put(frame(1)));
    }

    #[test]
    fn memory_of_frames_is_used_again_and_what_is_kept_is_bounded() {
        let inbox = Inbox::default();
        let frame = vec![7_u8; 100];
        let place = frame.as_ptr();
        inbox.recycle(frame);
        let spare = inbox.spare();
        assert_eq!((spare.as_ptr(), spare.len()), (place, 0));
        for _ in 0..2 * SPARE_MAX {
            inbox.recycle(vec![7; 100]);
        }
        let kept = (0..2 * SPARE_MAX).filter(|_| inbox.spare().capacity() > 0).count();
        assert_eq!(kept, SPARE_MAX);
    }
}

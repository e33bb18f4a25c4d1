//! Payloads that this node keeps for another one.

use crate::locks::lock;
use crate::message::{self, Item};
use actinium_memory::heap::Payload;
use futures_channel::oneshot;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

struct Open {
    payload: Payload,
    /// The frame has left.
    is_sent: bool,
}

#[derive(Default)]
struct State {
    last: u64,
    open: BTreeMap<u64, Open>,
    bytes: usize,
    waiters: Vec<oneshot::Sender<()>>,
}

/// See the module.
pub(crate) struct Offers {
    bytes_max: usize,
    /// Offers whose frames have not left: changed behind the lock. Who takes a frame off looks
    /// through it only if there are any.
    unsent: AtomicUsize,
    state: Mutex<State>,
}

impl Offers {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Offers { bytes_max, unsent: AtomicUsize::new(0), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn is_full(&self, state: &State) -> bool {
        state.bytes >= self.bytes_max
    }

    /// Keeps a payload; its number. None if too much waits.
    pub(crate) fn add(&self, payload: Payload) -> Option<u64> {
        let state = &mut *self.lock();
        if !state.open.is_empty() && state.bytes + payload.len() > self.bytes_max {
            return None;
        }
        state.last += 1;
        state.bytes += payload.len();
        state.open.insert(state.last, Open { payload, is_sent: false });
        // Relaxed: whoever takes the frame that the offer is in has been behind the lock of the
        // frame's aggregator after this.
        self.unsent.fetch_add(1, Ordering::Relaxed);
        Some(state.last)
    }

    /// The payload of an offer.
    pub(crate) fn get(&self, id: u64) -> Option<Payload> {
        self.lock().open.get(&id).map(|open| open.payload.clone())
    }

    /// Whether there is such an offer.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.lock().open.contains_key(&id)
    }

    /// The payloads of all offers.
    pub(crate) fn all(&self) -> BTreeMap<u64, Payload> {
        self.lock().open.iter().map(|(&id, open)| (id, open.payload.clone())).collect()
    }

    /// The offers of the messages in a frame's payload.
    pub(crate) fn of_frame(&self, payload: &[u8]) -> Vec<u64> {
        let mut ids = Vec::new();
        // Relaxed: see `add`.
        if self.unsent.load(Ordering::Relaxed) > 0 {
            message::read(payload, |item| {
                if let Item::TellWith(_, _, offer, _) = item {
                    ids.push(offer.id);
                }
            });
        }
        ids
    }

    /// Their frame leaves.
    pub(crate) fn sent(&self, ids: &[u64]) {
        let state = &mut *self.lock();
        for id in ids {
            if let Some(open) = state.open.get_mut(id)
                && !std::mem::replace(&mut open.is_sent, true)
            {
                // Relaxed: see `add`.
                self.unsent.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Nobody will fetch these any more.
    pub(crate) fn release(&self, ids: &[u64]) {
        self.end(|state| ids.iter().filter_map(|id| state.open.remove(id)).collect());
    }

    /// Nobody will fetch any.
    pub(crate) fn clear(&self) {
        self.end(|state| std::mem::take(&mut state.open).into_values().collect());
    }

    fn end(&self, take: impl FnOnce(&mut State) -> Vec<Open>) {
        let mut state = self.lock();
        let ended = take(&mut state);
        for open in &ended {
            state.bytes -= open.payload.len();
            if !open.is_sent {
                // Relaxed: see `add`.
                self.unsent.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let waiters =
            if self.is_full(&state) { Vec::new() } else { std::mem::take(&mut state.waiters) };
        drop(state);
        // After the lock: whoever is called may send at once. It may have stopped waiting.
        for waiter in waiters {
            let _ = waiter.send(());
        }
    }

    /// Is done when an offer that was refused is worth trying again.
    pub(crate) fn ready(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if !state.open.is_empty() {
            state.waiters.push(sender);
        }
        // Else dropping it is news enough.
        receiver
    }

    /// The bytes of all.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_memory::heap::Heap;

    #[test]
    fn what_waits_is_bounded_and_one_passes_whatever_its_size() {
        let heap = Heap::leak_plain(1, 4).unwrap();
        let mut arena = heap.arena(0).unwrap();
        let mut payload = |len| arena.payload_with(len, |_| {}).unwrap();
        let offers = Offers::new(100);
        let first = offers.add(payload(1_000)).unwrap();
        assert_eq!(offers.add(payload(1)), None);
        let mut ready = offers.ready();
        assert_eq!(ready.try_recv(), Ok(None));
        offers.release(&[first, 99]);
        assert_eq!(ready.try_recv(), Ok(Some(())));
        assert!(offers.ready().try_recv().is_err(), "there is capacity");
        assert!(offers.add(payload(60)).is_some());
        assert!(offers.add(payload(41)).is_none());
        assert!(offers.add(payload(40)).is_some());
        assert_eq!(offers.bytes(), 100);
        offers.clear();
        assert_eq!(offers.bytes(), 0);
        // Relaxed: one thread.
        assert_eq!(offers.unsent.load(Ordering::Relaxed), 0);
    }
}

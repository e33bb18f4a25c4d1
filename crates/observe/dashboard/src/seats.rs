//! Who is told of each look. Seats are few; who has stopped reading loses its own to who comes.

use crate::frames::Frame;
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Clients that are told at once.
pub(crate) const SEATS: usize = 256;
/// Who has taken nothing in this time may lose its seat.
const STUCK: Duration = Duration::from_secs(10);

/// The seats: by number, when each was told something last.
#[derive(Debug, Default)]
pub(crate) struct Seats(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    by: BTreeMap<u64, Instant>,
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "clients are slow in real time")]
    Instant::now()
}

/// A seat, until it is dropped.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
}

impl Seats {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat, if one is free, or somebody has stopped reading.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Seat> {
        self.take_at(now())
    }

    fn take_at(self: &Arc<Self>, now: Instant) -> Option<Seat> {
        let mut taken = self.lock();
        if taken.by.len() >= SEATS {
            let (&slowest, &since) = taken.by.iter().min_by_key(|(_, since)| **since)?;
            if now.saturating_duration_since(since) < STUCK {
                return None;
            }
            taken.by.remove(&slowest);
        }
        let number = taken.next;
        taken.next += 1;
        taken.by.insert(number, now);
        Some(Seat { seats: self.clone(), number })
    }
}

impl Seat {
    /// Somebody takes something: whether the seat is still its own.
    fn is_kept(&self) -> bool {
        match self.seats.lock().by.get_mut(&self.number) {
            Some(since) => {
                *since = now();
                true
            }
            None => false,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().by.remove(&self.number);
    }
}

/// The events for one client: the list of nodes and all figures of one, look by look.
pub(crate) fn events(
    seat: Seat,
    latest: watch::Receiver<Arc<Frame>>,
    node: usize,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let first = Some(Bytes::from_static(b"retry: 1000\n\n"));
    stream::unfold((seat, latest, first), move |(seat, mut latest, mut first)| async move {
        if let Some(first) = first.take() {
            return Some((Ok(first), (seat, latest, None)));
        }
        if latest.changed().await.is_err() || !seat.is_kept() {
            return None;
        }
        let frame = latest.borrow_and_update().clone();
        let figures = frame.each.get(node).map_or(&[][..], |it| it);
        let mut bytes = BytesMut::with_capacity(frame.nodes.len() + figures.len());
        bytes.extend_from_slice(&frame.nodes);
        bytes.extend_from_slice(figures);
        Some((Ok(bytes.freeze()), (seat, latest, None)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_stopped_reading_loses_its_seat_to_who_comes() {
        let seats = Arc::new(Seats::default());
        let begin = now();
        let taken: Vec<_> = (0..SEATS).map(|_| seats.take_at(begin).expect("a seat")).collect();
        assert!(seats.take_at(begin).is_none(), "all are taken");
        let later = begin + STUCK;
        let new = seats.take_at(later).expect("that of the slowest");
        assert!(!taken[0].is_kept() && taken[1].is_kept() && new.is_kept());
        drop(taken);
        assert_eq!(seats.lock().by.len(), 1);
    }
}

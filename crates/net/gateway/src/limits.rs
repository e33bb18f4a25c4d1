//! Bounds on the memory and work that one client may cause.

use std::time::Duration;
use tokio::time::Instant;

/// Bounds for each connection, and for the number of them. Each has a default that serves most
/// programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once that were let in; more wait as long as
    /// [`admission`](Self::admission) allows.
    pub connections: usize,
    /// Most connections at once that were not let in yet: for one more the oldest of them is
    /// closed.
    pub strangers: usize,
    /// Most of them from one address (of IPv6: from one network of 64 bits): more are closed at
    /// once.
    pub strangers_per_address: usize,
    /// How long a connection may take until it is let in: to shake hands, and to show what is asked
    /// for.
    pub admission: Duration,
    /// Most bytes of a request's head, at least 8 KiB: what a connection may make the gateway hold
    /// before it is let in.
    pub head_bytes: usize,
    /// The number of clients whose rate the gateway remembers, those that are gone among them.
    pub remembered: usize,
    /// Most bytes of one message.
    pub message_bytes: usize,
    /// Most messages of a connection that the actor has not handled yet: at that number its socket
    /// is not read.
    pub in_flight: usize,
    /// Most messages of the actor that wait for a socket: at that number
    /// [`Peer::send`](crate::Peer::send) says that it is full.
    pub queued: usize,
    /// Messages a second of a client, on average, whatever its connections; none: as many as come.
    /// A client is what it has shown (its token or certificate, if any) and its address. A socket
    /// is read no faster; a POST beyond it is refused.
    pub rate: Option<u32>,
    /// Messages that may come at once, before the rate counts.
    pub burst: u32,
    /// How long the actor may take for an answer where the protocol's state does not say it.
    pub answer: Duration,
    /// How long nothing may be heard from a client: after half of it, it is asked for a sign of
    /// life. Also how long it may take to say hello, to send a request's body, and to take in what
    /// is sent to it.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            strangers: 512,
            strangers_per_address: 64,
            admission: Duration::from_secs(10),
            head_bytes: 16 << 10,
            remembered: 4096,
            message_bytes: 1 << 20,
            in_flight: 32,
            queued: 256,
            rate: None,
            burst: 64,
            answer: Duration::from_secs(30),
            silence: Duration::from_secs(60),
        }
    }
}

impl Limits {
    /// Returns the limits in the form that the decoders want.
    pub(crate) fn wire(&self) -> actinium_wire::Limits {
        let plain = actinium_wire::Limits::default();
        actinium_wire::Limits {
            frame_bytes: self.message_bytes,
            memory_bytes: plain.memory_bytes.min(self.message_bytes.saturating_mul(16)),
            ..plain
        }
    }

    /// Checks the limits, and returns the first mistake as text.
    pub(crate) fn check(&self) -> Result<(), String> {
        let counts = [
            ("connections", self.connections),
            ("strangers", self.strangers),
            ("strangers_per_address", self.strangers_per_address),
            ("remembered", self.remembered),
            ("message_bytes", self.message_bytes),
            ("in_flight", self.in_flight),
            ("queued", self.queued),
            ("burst", self.burst as usize),
            ("rate", self.rate.map_or(1, |rate| rate as usize)),
            ("answer, in milliseconds", whole_millis(self.answer)),
            ("silence, in milliseconds", whole_millis(self.silence)),
            ("admission, in milliseconds", whole_millis(self.admission)),
        ];
        match counts.iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => Err(format!("limit {name}: expected 1 or more, found 0")),
            None if self.head_bytes < HEAD_BYTES_MIN => Err(format!(
                "limit head_bytes: expected {HEAD_BYTES_MIN} or more, found {}",
                self.head_bytes
            )),
            None => Ok(()),
        }
    }
}

/// Less than this hyper does not read at once.
const HEAD_BYTES_MIN: usize = 8 << 10;

fn whole_millis(time: Duration) -> usize {
    usize::try_from(time.as_millis()).unwrap_or(usize::MAX)
}

/// The number of messages that may come now.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// The time between two messages; none: no bound.
    gap: Option<Duration>,
    /// How far ahead of the rate one may be.
    ahead: Duration,
    /// The time at which the rate will have caught up with the messages that have come.
    level: Instant,
}

impl Bucket {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        let gap = limits.rate.map(|rate| Duration::from_secs(1) / rate);
        let ahead = gap.map_or(Duration::ZERO, |gap| gap * (limits.burst - 1));
        Bucket { gap, ahead, level: now }
    }

    /// Returns the time from which it is as if nothing had ever come.
    pub(crate) fn until(&self) -> Instant {
        self.level
    }

    /// Returns the time at which the next message may come, or None if that is now.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        let at = self.gap.map(|_| self.level.checked_sub(self.ahead).unwrap_or(now))?;
        (at > now).then_some(at)
    }

    /// A message has come.
    pub(crate) fn take(&mut self, now: Instant) {
        if let Some(gap) = self.gap {
            self.level = self.level.max(now) + gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_comes_at_once_and_the_rest_at_the_rate() {
        let start = crate::clock::now();
        let limits = Limits { rate: Some(10), burst: 3, ..Limits::default() };
        let mut bucket = Bucket::new(&limits, start);
        for _ in 0..3 {
            assert_eq!(bucket.wait(start), None);
            bucket.take(start);
        }
        let next = start + Duration::from_millis(100);
        assert_eq!(bucket.wait(start), Some(next));
        assert_eq!(bucket.wait(next), None);
        bucket.take(next);
        assert_eq!(bucket.wait(next), Some(next + Duration::from_millis(100)));
        let later = start + Duration::from_secs(100);
        (0..3).for_each(|_| bucket.take(later));
        assert_eq!(
            bucket.wait(later),
            Some(later + Duration::from_millis(100)),
            "no more saved up than a burst"
        );
    }

    #[test]
    fn without_a_rate_all_may_come() {
        let now = crate::clock::now();
        let mut bucket = Bucket::new(&Limits::default(), now);
        (0..1000).for_each(|_| bucket.take(now));
        assert_eq!(bucket.wait(now), None);
    }

    #[test]
    fn a_limit_of_nothing_is_named() {
        let wrong = Limits { queued: 0, ..Limits::default() };
        assert_eq!(wrong.check(), Err("limit queued: expected 1 or more, found 0".to_owned()));
        assert_eq!(Limits::default().check(), Ok(()));
    }
}

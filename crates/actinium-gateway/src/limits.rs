//! What one client may make us do.

use std::time::Duration;
use tokio::time::Instant;

/// Bounds for each connection, and for the number of them. Each has a default that serves most programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once; more wait to be accepted.
    pub connections: usize,
    /// Most bytes of one message.
    pub message_bytes: usize,
    /// Most messages of a connection that the actor has not handled yet: at that number its socket is not read.
    pub in_flight: usize,
    /// Most messages of the actor that wait for a socket: at that number [`Peer::send`](crate::Peer::send) says that it is full.
    pub queued: usize,
    /// Messages a second, on average; none: as many as come. A socket is read no faster; a POST beyond it is refused.
    pub rate: Option<u32>,
    /// Messages that may come at once, before the rate counts.
    pub burst: u32,
    /// How long the actor may take for an answer where the protocol's state does not say it.
    pub answer: Duration,
    /// How long nothing may be heard from a client: after half of it, it is asked for a sign of life. Also how long it may take to say hello, to
    /// send a request's body, and to take in what is sent to it.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
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
    /// As the decoders want them.
    pub(crate) fn wire(&self) -> actinium_wire::Limits {
        let plain = actinium_wire::Limits::default();
        actinium_wire::Limits {
            frame_bytes: self.message_bytes,
            memory_bytes: plain.memory_bytes.min(self.message_bytes.saturating_mul(16)),
            ..plain
        }
    }

    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        let counts = [
            ("connections", self.connections),
            ("message_bytes", self.message_bytes),
            ("in_flight", self.in_flight),
            ("queued", self.queued),
            ("burst", self.burst as usize),
            ("rate", self.rate.map_or(1, |rate| rate as usize)),
            ("answer, in milliseconds", self.answer.as_millis() as usize),
            ("silence, in milliseconds", self.silence.as_millis() as usize),
        ];
        match counts.iter().find(|(_, count)| *count == 0) {
            Some((name, _)) => Err(format!("limit {name}: expected 1 or more, found 0")),
            None => Ok(()),
        }
    }
}

/// How many messages may come now.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// The time between two messages; none: no bound.
    gap: Option<Duration>,
    /// How far ahead of the rate one may be.
    ahead: Duration,
    /// When the rate will have caught up with what has come.
    level: Instant,
}

impl Bucket {
    pub(crate) fn new(limits: &Limits, now: Instant) -> Self {
        let gap = limits.rate.map(|rate| Duration::from_secs(1) / rate);
        let ahead = gap.map_or(Duration::ZERO, |gap| gap * (limits.burst - 1));
        Bucket { gap, ahead, level: now }
    }

    /// When the next message may come; none: now.
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

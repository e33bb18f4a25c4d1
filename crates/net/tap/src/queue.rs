//! What a tap has not taken yet: bounded, and whoever adds to it never waits for the tap.

use crate::filter::{Direction, TapFilter};
use crate::rate::Rate;
use actinium_wire::Encoding;
use actinium_wire::schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most messages that wait for a tap, and most of their bytes.
const MESSAGES_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum What {
    /// It is sent, and nobody waits for an answer.
    Message,
    /// It waits for an answer.
    Request,
    /// It is the answer to a request.
    Answer,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            What::Message => "message",
            What::Request => "request",
            What::Answer => "answer",
        })
    }
}

/// A message as it is shown to taps.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Seen<'a> {
    /// Whether it comes or goes.
    pub direction: Direction,
    /// What it is for.
    pub what: What,
    /// The name of whoever is at the other end.
    pub peer: &'a str,
    /// The name of its type.
    pub kind: &'a str,
    /// Describes its type, if that is known. Called where the message is read.
    pub schema: Option<fn() -> Schema>,
    /// How its bytes are to be read.
    pub encoding: Encoding,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl<'a> Seen<'a> {
    /// A message of a type that nobody describes.
    #[must_use]
    pub fn new(
        direction: Direction,
        peer: &'a str,
        kind: &'a str,
        encoding: Encoding,
        bytes: &'a [u8],
    ) -> Self {
        Seen { direction, what: What::Message, peer, kind, schema: None, encoding, bytes }
    }
}

/// Messages that a tap's filter has let through, and that it does not get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Missed {
    /// Too many waited: the tap does not keep up.
    pub overflow: u64,
    /// They were more than its rate allows.
    pub rate: u64,
}

/// A message that waits.
pub(crate) struct Waiting {
    pub(crate) unix_ns: u64,
    pub(crate) point: String,
    pub(crate) direction: Direction,
    pub(crate) what: What,
    pub(crate) peer: String,
    pub(crate) kind: String,
    pub(crate) schema: Option<fn() -> Schema>,
    pub(crate) encoding: Encoding,
    /// None: there are more of them than the tap wants to have.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) len: usize,
}

/// The queue of one tap.
pub(crate) struct Queue {
    pub(crate) filter: TapFilter,
    state: Mutex<State>,
    ready: Condvar,
}

struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Messages that the filter has let through, for the sample.
    passed: u64,
    rate: Option<Rate>,
    missed: Missed,
}

impl Queue {
    pub(crate) fn new(filter: TapFilter) -> Self {
        let rate = filter.rate.map(Rate::new);
        let missed = Missed::default();
        let state = State { waiting: VecDeque::new(), bytes: 0, passed: 0, rate, missed };
        Queue { filter, state: Mutex::new(state), ready: Condvar::new() }
    }

    /// Nobody holds it for longer than a message takes to be put in or out.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, point: &str, seen: &Seen<'_>) {
        let Seen { direction, what, peer, kind, schema, encoding, bytes } = *seen;
        if !self.filter.lets(direction, peer, kind) {
            return;
        }
        let unix_ns = unix_ns();
        let mut state = self.lock();
        state.passed += 1;
        if !(state.passed - 1).is_multiple_of(self.filter.sample.max(1)) {
            return;
        }
        if state.rate.as_mut().is_some_and(|rate| !rate.take(unix_ns)) {
            state.missed.rate += 1;
            return;
        }
        let is_short = bytes.len() <= self.filter.max_bytes;
        let kept = if is_short { bytes.len() } else { 0 };
        if state.waiting.len() >= MESSAGES_MAX || state.bytes + kept > BYTES_MAX {
            state.missed.overflow += 1;
            return;
        }
        state.bytes += kept;
        state.waiting.push_back(Waiting {
            unix_ns,
            point: point.to_owned(),
            direction,
            what,
            peer: peer.to_owned(),
            kind: kind.to_owned(),
            schema,
            encoding,
            bytes: is_short.then(|| bytes.to_vec()),
            len: bytes.len(),
        });
        drop(state);
        self.ready.notify_one();
    }

    /// The next one, if it comes within this time.
    pub(crate) fn next(&self, within: Duration) -> Option<Waiting> {
        let state = self.lock();
        let waited = self.ready.wait_timeout_while(state, within, |state| state.waiting.is_empty());
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let next = state.waiting.pop_front()?;
        state.bytes -= next.bytes.as_ref().map_or(0, Vec::len);
        Some(next)
    }

    pub(crate) fn missed(&self) -> Missed {
        self.lock().missed
    }
}

#[expect(clippy::disallowed_methods, reason = "people read when a message was there")]
fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos() as u64)
}

//! Payloads that this node wants of another one: from the actor that takes its frames apart to the
//! node's thread.

use crate::locks::lock;
use crate::message::Offer;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// One payload; the ticket says whose turn it is when it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) ticket: u64,
    pub(crate) offer: Offer,
}

#[derive(Default)]
struct State {
    /// The session in which something can be fetched.
    session: Option<u64>,
    wants: Vec<Want>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Wanted {
    state: Mutex<State>,
    /// There are wants: changed behind the lock, read without it.
    any: AtomicBool,
    /// Bytes that are being fetched, or are there and not handed over.
    ahead_bytes: AtomicUsize,
}

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Lets what frames of this session offer be fetched from now on.
    pub(crate) fn open(&self, session: u64) {
        self.lock().session = Some(session);
    }

    /// The session in which something can be fetched.
    pub(crate) fn session(&self) -> Option<u64> {
        self.lock().session
    }

    /// Nothing can be fetched any more. What was wanted and not yet taken.
    pub(crate) fn close(&self) -> Vec<Want> {
        let mut state = self.lock();
        state.session = None;
        self.take_of(&mut state)
    }

    /// Wants something that a frame of this session offers; false if that session is over.
    pub(crate) fn want(&self, session: u64, want: Want) -> bool {
        let mut state = self.lock();
        if state.session != Some(session) {
            return false;
        }
        state.wants.push(want);
        // Relaxed: a hint; the driver is rung for after this, and looks behind the lock.
        self.any.store(true, Ordering::Relaxed);
        true
    }

    /// The session in which something can be fetched, and the wants that were added since this was
    /// called last.
    pub(crate) fn take_with_session(&self) -> (Option<u64>, Vec<Want>) {
        let mut state = self.lock();
        (state.session, self.take_of(&mut state))
    }

    /// Whether something is wanted since it was taken last.
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a hint, whose truth is behind the lock; whoever changes it rings for the driver
        // afterwards.
        self.any.load(Ordering::Relaxed)
    }

    /// Returns the wants that were added since this was called last.
    pub(crate) fn take(&self) -> Vec<Want> {
        if self.any() { self.take_of(&mut self.lock()) } else { Vec::new() }
    }

    fn take_of(&self, state: &mut State) -> Vec<Want> {
        // Relaxed: behind the lock.
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut state.wants)
    }

    /// Whether a payload of so many bytes may be fetched now; counts it if so.
    pub(crate) fn go_ahead(&self, bytes: usize, bytes_max: usize) -> bool {
        // Relaxed, both: only the driver adds; that others take away late does no harm, and they
        // ring for it then.
        let ahead_bytes = self.ahead_bytes.load(Ordering::Relaxed);
        let may = ahead_bytes == 0 || ahead_bytes.saturating_add(bytes) <= bytes_max;
        if may {
            self.ahead_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        may
    }

    /// Takes [`Wanted::go_ahead`] back: it was handed over, or nothing came of it.
    pub(crate) fn is_done(&self, bytes: usize) {
        // Relaxed: see `go_ahead`.
        self.ahead_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that are being fetched, or are there and not handed over.
    pub(crate) fn ahead_bytes(&self) -> usize {
        // Relaxed: a figure.
        self.ahead_bytes.load(Ordering::Relaxed)
    }
}

//! The call for a worker that moves the frames: somebody has work for the driver.

use std::sync::atomic::{AtomicU8, Ordering};

const NONE: u8 = 0;
const SOON: u8 = 1;
const NOW: u8 = 2;

/// Whether somebody has called, and how urgently.
#[derive(Default)]
pub(super) struct Call(AtomicU8);

impl Call {
    /// Calls: something is to leave.
    pub(super) fn now(&self) {
        // Release: pairs with the acquire in `take`.
        self.0.fetch_max(NOW, Ordering::Release);
    }

    /// Calls for something that a worker with other work may do a little later.
    pub(super) fn soon(&self) {
        // Release: pairs with the acquire in `take`.
        self.0.fetch_max(SOON, Ordering::Release);
    }

    pub(super) fn is_made(&self) -> bool {
        // Acquire: pairs with the release in `now` and `soon`.
        self.0.load(Ordering::Acquire) != NONE
    }

    pub(super) fn is_urgent(&self) -> bool {
        // Acquire: pairs with the release in `now` and `soon`.
        self.0.load(Ordering::Acquire) == NOW
    }

    /// Takes the call, because somebody does the work now. Whether there was one.
    pub(super) fn take(&self) -> bool {
        // Relaxed: mostly nobody has called, and what it misses one is woken for. Acquire: pairs
        // with the release in `now` and `soon`.
        self.0.load(Ordering::Relaxed) != NONE && self.0.swap(NONE, Ordering::Acquire) != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_urgent_stays_so_until_somebody_takes_it() {
        let call = Call::default();
        assert!(!call.is_made() && !call.take());
        call.soon();
        assert!(call.is_made() && !call.is_urgent());
        call.now();
        call.soon();
        assert!(call.is_made() && call.is_urgent());
        assert!(call.take() && !call.is_made() && !call.take());
    }
}

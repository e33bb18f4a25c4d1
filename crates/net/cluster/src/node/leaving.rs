//! The reply handles in the message that is being encoded on this thread, and in those whose
//! encoding has begun it: their notes go if the message is not sent.

use std::cell::RefCell;

thread_local! {
    static LEAVING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The number of reply handles that are leaving.
#[inline]
pub(super) fn count() -> usize {
    LEAVING.with_borrow(Vec::len)
}

/// One more is leaving: its serial number.
pub(super) fn push(serial: u64) {
    LEAVING.with_borrow_mut(|leaving| leaving.push(serial));
}

/// Those after the first `before` have left.
pub(super) fn have_left(before: usize) {
    LEAVING.with_borrow_mut(|leaving| leaving.truncate(before));
}

/// Takes those after the first `before`: they have not left.
pub(super) fn take(before: usize) -> Vec<u64> {
    LEAVING.with_borrow_mut(|leaving| leaving.split_off(before))
}

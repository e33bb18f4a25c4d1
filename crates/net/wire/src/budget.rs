//! What may still be used while one message is decoded: see `limited`.

use crate::limits::Limits;
use serde::de::Error;
use std::cell::Cell;

/// The charge for an element that takes no memory, and maybe no bytes on the wire either.
const EMPTY_BYTES: usize = 64;

/// The rest of the limits while one message is decoded.
#[derive(Debug)]
pub(crate) struct Budget {
    memory: Cell<usize>,
    /// `NaN` and the infinities stand as strings (JSON has no numbers for them).
    pub(crate) words_for_floats: bool,
    /// A byte stands as itself, and a list of bytes as its length and the bytes: in postcard.
    pub(crate) plain_bytes: bool,
}

impl Budget {
    pub(crate) fn new(limits: &Limits, words_for_floats: bool) -> Self {
        let memory = Cell::new(limits.memory_bytes);
        Budget { memory, words_for_floats, plain_bytes: false }
    }

    /// That of postcard.
    pub(crate) fn of_plain_bytes(limits: &Limits) -> Self {
        Budget { plain_bytes: true, ..Self::new(limits, false) }
    }

    /// Returns the bytes that are left.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.memory.get()
    }

    #[inline]
    pub(crate) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        match self.memory.get().checked_sub(if bytes == 0 { EMPTY_BYTES } else { bytes }) {
            Some(left) => {
                self.memory.set(left);
                Ok(())
            }
            None => Err(too_much()),
        }
    }
}

#[cold]
pub(crate) fn too_much<E: Error>() -> E {
    E::custom("expected a message within the limit of memory, found one whose parts take more")
}

//! Pages of a heap, and whose they are.

/// Pages of a heap: what runs are counted in.
pub(super) const PAGE_BYTES: usize = 64 << 10;

/// The owner of a page: the arena's number above the class's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) arena: u32,
    pub(super) class: u8,
}

impl Owner {
    pub(super) fn to_word(self) -> u32 {
        self.arena << 8 | u32::from(self.class)
    }

    pub(super) fn of_word(word: u32) -> Self {
        Owner { arena: word >> 8, class: word.to_le_bytes()[0] }
    }
}

//! The state of each module for one event, in one word of 32 bits. With 100,000 events in flight,
//! every byte that does not fit in the cache costs time.
//!
//! | bits | hold |
//! |---|---|
//! | 28 to 31 | where the module stands: one of the constants below |
//! | 16 to 27 | how many of its consumers are not done; `MANY`: that or more, which nobody counts |
//! | 0 to 15 | `REQUESTED`: how many of its inputs are not there; `READY` and `ACQUIRED`: the next module of the list in which it is, or `NONE`; from `RUNNING` on: the cell of its product, or `NO_CELL` |
//!
//! Words are written under their slot's lock only. A module that reads a product gets its cell
//! without the lock: the reader was made ready under the lock after the cell was noted, and the
//! cell stays until the reader is done. The last word is the source's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Nobody asked for the module.
pub(crate) const IDLE: u8 = 0;
/// The module was asked for, and not all of its inputs are there.
pub(crate) const REQUESTED: u8 = 1;
/// In the list of those that are ready; it must still get its resource.
pub(crate) const READY: u8 = 2;
/// In the list of those that have their resource.
pub(crate) const ACQUIRED: u8 = 3;
/// In its resource's queue.
pub(crate) const QUEUED: u8 = 4;
/// The module runs, or waits for its completion.
pub(crate) const RUNNING: u8 = 5;
/// The module is done, and a path that comes to it goes on.
pub(crate) const YES: u8 = 6;
/// The module is done, and a path that comes to it ends.
pub(crate) const NO: u8 = 7;
/// Nobody asked for the module, and nobody will any more: all modules that could have are done, or
/// on paths that have stopped.
pub(crate) const SKIPPED: u8 = 8;

const STATE_FROM: u32 = 28;
const LEFT_FROM: u32 = 16;
const LOW: u32 = (1 << LEFT_FROM) - 1;
/// The largest count of consumers. A product with this many or more is not counted down: it stays
/// until its event is over.
const MANY: u32 = (1 << (STATE_FROM - LEFT_FROM)) - 1;
/// The cell of a module that has made nothing, or whose product nobody needs any more.
pub(crate) const NO_CELL: u16 = u16::MAX;

/// The end of a list of modules.
pub(crate) const NONE: u16 = NO_CELL;

/// The words of one slot; clones are the same words.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleStates(Arc<[AtomicU32]>);

impl ModuleStates {
    /// Makes the words of modules with these numbers of consumers, for which nobody has asked, and
    /// of the source.
    pub(crate) fn new(consumers: impl Iterator<Item = usize>) -> Self {
        let left = consumers.map(|n| u32::try_from(n).unwrap_or(MANY).min(MANY) << LEFT_FROM);
        let source = u32::from(YES) << STATE_FROM | MANY << LEFT_FROM | u32::from(NO_CELL);
        ModuleStates(left.chain([source]).map(AtomicU32::new).collect())
    }

    /// Copies the template's words, for another slot.
    pub(crate) fn like(template: &ModuleStates) -> Self {
        ModuleStates(template.0.iter().map(|word| AtomicU32::new(load(word))).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An event begins as the template says. The source keeps its product.
    pub(crate) fn begin(&self, template: &ModuleStates) {
        let modules = self.0.len() - 1;
        for (word, first) in self.0[..modules].iter().zip(&*template.0) {
            store(word, load(first));
        }
    }

    #[inline]
    fn word(&self, module: u16) -> &AtomicU32 {
        &self.0[usize::from(module)]
    }

    #[inline]
    pub(crate) fn state(&self, module: u16) -> u8 {
        (load(self.word(module)) >> STATE_FROM) as u8
    }

    /// Not to `REQUESTED`, `READY`, `ACQUIRED` or `RUNNING`, which have functions of their own.
    #[inline]
    pub(crate) fn set_state(&self, module: u16, state: u8) {
        let word = self.word(module);
        store(word, load(word) & !(u32::MAX << STATE_FROM) | u32::from(state) << STATE_FROM);
    }

    /// A module that ran is done, and this is its state. Returns whether it has a product of its
    /// own.
    #[inline]
    pub(crate) fn finish(&self, module: u16, state: u8) -> bool {
        let word = self.word(module);
        let now = load(word);
        store(word, now & !(u32::MAX << STATE_FROM) | u32::from(state) << STATE_FROM);
        now as u16 != NO_CELL
    }

    fn set(&self, module: u16, state: u8, low: u16) {
        let word = self.word(module);
        let left = load(word) & MANY << LEFT_FROM;
        store(word, u32::from(state) << STATE_FROM | left | u32::from(low));
    }

    /// Notes that the module is needed, and how many of its inputs are missing.
    #[inline]
    pub(crate) fn request(&self, module: u16, pending: u16) {
        self.set(module, REQUESTED, pending);
    }

    /// One more of its inputs is there; true if it was the last.
    #[inline]
    pub(crate) fn is_last_input(&self, module: u16) -> bool {
        let word = self.word(module);
        let less = load(word) - 1;
        store(word, less);
        less & LOW == 0
    }

    /// Puts the module before `next`, the first of a list. Its state says which list: `REQUESTED`
    /// (those whose inputs are to be asked for), `READY` or `ACQUIRED`.
    #[inline]
    pub(crate) fn put_before(&self, module: u16, state: u8, next: u16) {
        self.set(module, state, next);
    }

    /// Takes the module out of the list that it is the first of. Returns the next one.
    #[inline]
    pub(crate) fn take_first(&self, module: u16) -> u16 {
        let word = self.word(module);
        let now = load(word);
        store(word, now | u32::from(NONE));
        now as u16
    }

    /// The module runs; it has no cell yet.
    #[inline]
    pub(crate) fn run(&self, module: u16) {
        self.set(module, RUNNING, NO_CELL);
    }

    /// One of its consumers is done, or will not run; true if it was the last.
    #[inline]
    pub(crate) fn is_last(&self, module: u16) -> bool {
        let word = self.word(module);
        let now = load(word);
        if now >> LEFT_FROM & MANY == MANY {
            return false;
        }
        let less = now - (1 << LEFT_FROM);
        store(word, less);
        less >> LEFT_FROM & MANY == 0
    }

    /// Whether it has consumers that are not done and not skipped.
    #[inline]
    pub(crate) fn is_needed(&self, module: u16) -> bool {
        load(self.word(module)) >> LEFT_FROM & MANY != 0
    }

    /// Where the product of a module that runs or is done is, if there is one.
    #[inline]
    pub(crate) fn cell_of_done(&self, module: u16) -> Option<u16> {
        let cell = load(self.0.get(usize::from(module))?) as u16;
        (cell != NO_CELL).then_some(cell)
    }

    /// Where the product of a module is, wherever that stands, if there is one.
    #[inline]
    pub(crate) fn cell(&self, module: u16) -> Option<u16> {
        let word = load(self.0.get(usize::from(module))?);
        let has_run = (word >> STATE_FROM) as u8 >= RUNNING && word as u16 != NO_CELL;
        // What is skipped has never run.
        (has_run && (word >> STATE_FROM) as u8 != SKIPPED).then_some(word as u16)
    }

    /// Only of a module that runs or has run, or the source.
    #[inline]
    pub(crate) fn set_cell(&self, module: u16, cell: u16) {
        let word = self.word(module);
        store(word, load(word) & !LOW | u32::from(cell));
    }
}

#[inline]
fn load(word: &AtomicU32) -> u32 {
    // Relaxed: ordered by the slot's lock (see above).
    word.load(Ordering::Relaxed)
}

#[inline]
fn store(word: &AtomicU32, value: u32) {
    // Relaxed: as above.
    word.store(value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_word_do_not_touch_each_other() {
        let words = ModuleStates::new([2, 1, 5_000].into_iter());
        assert_eq!((words.state(0), words.cell(0)), (IDLE, None));
        words.request(0, 300);
        for left in (0..300).rev() {
            assert_eq!((words.state(0), words.cell(0)), (REQUESTED, None));
            assert_eq!(words.is_last_input(0), left == 0);
        }
        words.put_before(0, READY, 1);
        assert_eq!((words.state(0), words.cell(0)), (READY, None));
        assert_eq!((words.take_first(0), words.take_first(0)), (1, NONE));
        words.run(0);
        assert_eq!((words.state(0), words.cell(0)), (RUNNING, None));
        words.set_cell(0, 65_534);
        assert_eq!((words.state(0), words.cell(0)), (RUNNING, Some(65_534)));
        assert!(!words.is_last(0));
        words.set_state(0, YES);
        assert_eq!((words.state(0), words.cell(0)), (YES, Some(65_534)));
        assert!(words.is_last(0));
        assert_eq!((words.state(1), words.cell(1)), (IDLE, None));
        words.set_state(1, SKIPPED);
        assert_eq!(words.cell(1), None);
    }

    #[test]
    fn what_very_many_read_is_kept_and_the_source_keeps_its_product() {
        let words = ModuleStates::new([5_000].into_iter());
        assert!((0..5_000).all(|_| !words.is_last(0)));
        let slot = ModuleStates::like(&words);
        slot.set_cell(1, 3);
        slot.request(0, 1);
        slot.begin(&words);
        assert_eq!((slot.state(0), slot.cell(1), words.cell(1)), (IDLE, Some(3), None));
    }
}

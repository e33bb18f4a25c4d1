//! How a module reads its inputs: the one place of this crate with `unsafe`.

use crate::event::Event;
use crate::product::{Input, Product, Read};

impl<'a> Event<'a> {
    /// One of this module's inputs.
    ///
    /// # Panics
    /// If the token was given to another module.
    #[inline]
    pub fn get<T: Product>(&self, input: Input<T>) -> Read<'a, T> {
        let producer = self.producer(input);
        match self.read(producer) {
            Some(product) => product,
            None => self.has_not(input, producer),
        }
    }

    /// The product of one of this module's producers.
    #[inline(always)]
    fn read<T: Product>(&self, producer: u16) -> Option<Read<'a, T>> {
        let column = self.engine.column(producer)?;
        let (chunk, place) = self.at.table.find(column, self.words.cell_of_done(producer)?)?;
        let (block, cell) = column.store.of()?.find(chunk, place)?;
        // SAFETY: this module was made ready, under the slot's lock, after its producer had put the
        // product there and was done. The engine takes the product out, and gives the cell to
        // another producer, when each consumer is done or will never run (`State::finish`), or when
        // nothing of the event runs any more (`Run::stage_over`, `Engine::abandon`). This module is
        // a consumer. It is not done before its call has returned, and what is read can not leave
        // the call, for modules are called for any `'a` (`Erased::run`).
        unsafe { block.read(cell) }.map(Read::new)
    }

    #[cold]
    fn has_not<T>(&self, input: Input<T>, producer: u16) -> ! {
        let layout = &self.engine.layout;
        panic!(
            "module '{}' got {input:?}, but '{}' has not made such a product of event {}",
            layout.label(self.module),
            layout.label(producer),
            self.number
        );
    }
}

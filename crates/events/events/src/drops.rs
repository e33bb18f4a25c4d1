//! Ends of products: their destructors are user code (see `actinium_scheduler::guard`).

use crate::engine::Engine;
use crate::record::WorkerNotes;
use crate::slot::State;
use actinium_scheduler::current;
use actinium_scheduler::guard;
use std::sync::{Arc, MutexGuard};

impl Engine {
    /// Drops the products that nobody needs any more. A destructor that panics fails the event.
    #[inline]
    pub(crate) fn drop_retired<'a>(
        &'a self,
        slot: u32,
        state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        if state.cells.retired.0.is_empty() { state } else { self.drop_dead(slot, state) }
    }

    fn drop_dead<'a>(
        &'a self,
        slot: u32,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        let mut dead = std::mem::take(&mut state.cells.retired.0);
        // Counted as under way: the event can not end meanwhile.
        state.open += 1;
        drop(state);
        let mut failure = None;
        for (module, product) in dead.drain(..) {
            let _within = self.within(module);
            if let Err(panicked) = guard::drop_caught(product) {
                guard::count_here();
                failure.get_or_insert((module, panicked));
            }
        }
        let mut state = self.state(slot);
        state.open -= 1;
        if state.cells.retired.0.is_empty() {
            state.cells.retired.0 = dead;
        }
        if let Some((module, panicked)) = failure {
            state.give_up(module, format!("its product was dropped, and {panicked}"));
        }
        state
    }
}

impl Engine {
    /// Drops the products of events that come to no end, when no module of the run runs any more.
    pub(crate) fn abandon(&self) {
        for slot in 0..self.slots.len() as u32 {
            let mut state = self.state(slot);
            // Nobody completes it any more.
            state.pass += 1;
            let State { words, cells, .. } = &mut *state;
            if cells.count() > 0 {
                for module in 0..=self.layout.source {
                    self.free(slot, words, cells, module);
                }
            }
            state = self.drop_retired(slot, state);
            if let Some((module, cause)) = state.failure.take().map(|failure| *failure) {
                self.note_failure(module, Some(state.number), cause);
            }
        }
    }

    /// Notes that the worker which this thread is, if it is one, is in the code of a module, until
    /// this is dropped: whoever gives the worker up names it.
    pub(crate) fn within(&self, module: u16) -> Within<'_> {
        let notes = current(|worker| {
            let worker = worker.filter(|worker| Arc::ptr_eq(worker.shared(), &self.shared))?;
            Some(&self.notes[worker.index()])
        });
        let before = notes.map_or(0, |notes| notes.module.get());
        notes.into_iter().for_each(|notes| notes.module.set(u64::from(module) + 1));
        Within(notes, before)
    }
}

/// See [`Engine::within`].
pub(crate) struct Within<'a>(Option<&'a WorkerNotes>, u64);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if let Some(notes) = self.0 {
            notes.module.set(self.1);
        }
    }
}

//! The places of the runnables that a turn makes.

use super::Worker;

impl Worker {
    /// The home of something that the running turn makes: here, unless it makes very many.
    ///
    /// The new runnable begins here all the same, where its memory is warm, and goes home after its
    /// first turn: many are made to do one thing and end.
    pub fn place(&self) -> usize {
        let Some(maker) = self.running() else { return self.index };
        let working = self.shared.working();
        let n = self.spawn_burst.count(maker.0.as_ptr());
        let steps = self.shared.settings.policy.place_spawned(n, working);
        let others = self.shared.neighbours[self.index].iter().map(|&(other, _)| other);
        let mut others = others.filter(|&other| other < working);
        match steps.checked_sub(1) {
            None => self.index,
            Some(before) => others.nth(before).unwrap_or(self.index),
        }
    }
}

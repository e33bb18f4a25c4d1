//! The addresses of actors that those of a node send to.

use super::handle::Handle;
use super::id::MovableId;
use super::shell::Migrate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of more, those that were not asked for the longest are forgotten, as far as nothing waits in
/// them.
const KNOWN_MAX: usize = 1 << 16;

/// Addresses that were asked for, in two ages: when there are too many young ones, they become the
/// old ones, and the old ones are forgotten.
pub(super) struct Known<S: Migrate> {
    young: BTreeMap<MovableId, Arc<Handle<S>>>,
    old: BTreeMap<MovableId, Arc<Handle<S>>>,
}

impl<S: Migrate> Default for Known<S> {
    fn default() -> Self {
        Known { young: BTreeMap::new(), old: BTreeMap::new() }
    }
}

impl<S: Migrate> Known<S> {
    /// Returns the address of an actor, which is made if need be.
    pub(super) fn get(
        &mut self,
        id: MovableId,
        make: impl FnOnce() -> Arc<Handle<S>>,
    ) -> Arc<Handle<S>> {
        let is_open = |handle: &Arc<Handle<S>>| !handle.proxy.is_closed();
        if let Some(handle) = self.young.get(&id).filter(|it| is_open(it)) {
            return handle.clone();
        }
        let handle = self.old.remove(&id).filter(is_open).unwrap_or_else(make);
        if self.young.len() >= KNOWN_MAX / 2 {
            let mut old = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            // What waits in one is to arrive before what is sent later.
            old.retain(|_, handle| is_open(handle) && handle.has_waiting());
            self.old.append(&mut old);
        }
        self.young.insert(id, handle.clone());
        handle
    }
}

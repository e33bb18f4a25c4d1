//! The modules of a run: one of each, or one of each slot.

use crate::cause::said;
use crate::module::{Erased, Transition};
use actinium_scheduler::guard;

pub(crate) struct Instances {
    pub(crate) all: Box<[Box<dyn Erased>]>,
    /// Where each module's begin.
    pub(crate) first: Box<[u32]>,
}

impl Instances {
    /// The instance of a module for this slot; `streams`: each slot has its own.
    #[inline(always)]
    pub(crate) fn get(&self, module: u16, streams: bool, slot: u32) -> &dyn Erased {
        let nth = self.first[usize::from(module)] + if streams { slot } else { 0 };
        &*self.all[nth as usize]
    }

    /// Tells all modules of a transition; no event is in flight. Returns which module failed first,
    /// and why.
    pub(crate) fn tell(&self, transition: Transition) -> Result<(), (u16, Box<str>)> {
        for (nth, instance) in self.all.iter().enumerate() {
            said(guard::catch(|| instance.transition(transition))).map_err(|cause| {
                let module = self.first.partition_point(|&first| first as usize <= nth) - 1;
                (module as u16, cause)
            })?;
        }
        Ok(())
    }
}

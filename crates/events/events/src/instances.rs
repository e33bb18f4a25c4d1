//! The modules of a run: one of each, or one of each slot.

use crate::cause::{Cause, said};
use crate::erased::Erased;
use crate::module::Transition;
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
    /// and why. `within` notes that a module is called, until what it returns is dropped.
    pub(crate) fn tell<W>(
        &self,
        transition: Transition,
        within: impl Fn(u16) -> W,
    ) -> Result<(), (u16, Box<str>)> {
        let call = |instance: &dyn Erased| instance.transition(transition);
        self.call_all(call, within).next().map_or(Ok(()), Err)
    }

    /// Tells all modules that the job is over. Returns which modules failed, and why.
    pub(crate) fn end_job<W>(&self, within: impl Fn(u16) -> W) -> Vec<(u16, Box<str>)> {
        self.call_all(|instance| instance.end_job(), within).collect()
    }

    /// Calls all modules one after the other. Returns those that fail.
    fn call_all<W>(
        &self,
        call: impl Fn(&dyn Erased) -> Result<(), Cause>,
        within: impl Fn(u16) -> W,
    ) -> impl Iterator<Item = (u16, Box<str>)> {
        self.all.iter().enumerate().filter_map(move |(nth, instance)| {
            let module = self.module(nth);
            let _within = within(module);
            let said = said(guard::catch(|| call(&**instance)));
            said.err().map(|cause| (module, cause))
        })
    }

    /// Whose instance this is.
    fn module(&self, nth: usize) -> u16 {
        self.first.partition_point(|&first| first as usize <= nth) as u16 - 1
    }
}

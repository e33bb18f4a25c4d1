//! The modules of a run: one of each, or one of each slot.

use crate::cause::said;
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
    /// and why.
    pub(crate) fn tell(&self, transition: Transition) -> Result<(), (u16, Box<str>)> {
        for (nth, instance) in self.all.iter().enumerate() {
            said(guard::catch(|| instance.transition(transition)))
                .map_err(|cause| (self.module(nth), cause))?;
        }
        Ok(())
    }

    /// Tells all modules that the job is over. Returns which modules failed, and why.
    pub(crate) fn end_job(&self) -> Vec<(u16, Box<str>)> {
        let ends = self.all.iter().map(|instance| said(guard::catch(|| instance.end_job())));
        let failed = ends.enumerate().filter_map(|(nth, end)| Some((self.module(nth), end.err()?)));
        failed.collect()
    }

    /// Whose instance this is.
    fn module(&self, nth: usize) -> u16 {
        self.first.partition_point(|&first| first as usize <= nth) as u16 - 1
    }
}

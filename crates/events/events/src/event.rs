//! An event, as one module sees it.

use crate::cause::Cause;
use crate::cells::Taken;
use crate::engine::{Anchor, Engine, Slot};
use crate::module_states::ModuleStates;
use crate::product::{Input, Product};
use crate::slot::Pass;
use crate::split::{self, Origin};
use crate::stamp::Stamp;
use crate::store::Lent;
use actinium_scheduler::Worker;
use actinium_scheduler::guard::Guarded;

/// An event, as one module sees it.
pub struct Event<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) anchor: &'a Anchor,
    pub(crate) worker: &'a Worker,
    pub(crate) at: &'a Slot,
    /// The slot's.
    pub(crate) words: &'a ModuleStates,
    /// The producers of the module's inputs.
    pub(crate) ports: &'a [u16],
    /// The place of its product, if it has one.
    pub(crate) taken: Option<Taken>,
    pub(crate) slot: u32,
    pub(crate) module: u16,
    pub(crate) pass: Pass,
    pub(crate) number: u64,
}

impl<'a> Event<'a> {
    /// The number: counted from 0 in the source's order, unless the source gives numbers of its
    /// own.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The slot that it is in.
    pub fn slot(&self) -> usize {
        self.slot as usize
    }

    /// The worker that runs this module.
    pub fn worker(&self) -> usize {
        self.worker.index()
    }

    /// Nanoseconds of the processor's clock: what [`Completion::at`](crate::Completion::at) counts
    /// in.
    pub fn now_ns(&self) -> u64 {
        self.worker.shared().clock().now_ns()
    }

    /// Splits work of this module: `part` is called with each number below `parts`, here and on
    /// workers that have nothing else to do. Comes back when all parts are done. Meanwhile this
    /// worker runs nothing but these parts, whatever the module holds, so that it can not come to
    /// wait for itself. What parts make they leave in something that is shared, such as atomics.
    ///
    /// # Errors
    /// If a part panicked: what it said. The others have run all the same.
    pub fn parallel_for(
        &self,
        parts: usize,
        part: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<(), Cause> {
        let part: split::Run = Guarded::new(Box::new(part));
        self.engine.splits.run(self.worker, self.origin(), parts, part)
    }

    /// Splits work like [`Event::parallel_for`], for waiting modules. This call returns at once,
    /// and this worker is free for other modules. The worker that runs the last part calls `then`,
    /// which is the place to finish a [`Completion`](crate::Completion).
    pub fn parallel_for_then(
        &self,
        parts: usize,
        part: impl Fn(usize) + Send + Sync + 'static,
        then: impl FnOnce(Result<(), Cause>) + Send + 'static,
    ) {
        let (part, then) = (Guarded::new(Box::new(part) as _), Guarded::new(Box::new(then) as _));
        self.engine.splits.run_then(self.worker, self.origin(), parts, part, then);
    }

    /// The stamp of one of this module's inputs.
    ///
    /// # Panics
    /// If the token was given to another module.
    pub fn stamp<T: Product>(&self, input: Input<T>) -> Stamp {
        self.engine.layout.stamp(self.producer(input))
    }

    /// The stamp of what this module makes.
    pub fn own_stamp(&self) -> Stamp {
        self.engine.layout.stamp(self.module)
    }
}

impl Event<'_> {
    fn origin(&self) -> Origin {
        Origin { event: self.number, slot: self.slot, module: self.module }
    }

    /// Stores the module's product.
    #[inline(always)]
    pub(crate) fn put<T: Product>(&self, product: T) -> Result<(), Lent> {
        self.engine.put_at(self.module, self.taken, product)
    }

    #[inline]
    pub(crate) fn producer<T>(&self, input: Input<T>) -> u16 {
        match self.ports.get(usize::from(input.position)) {
            Some(&producer) => producer,
            None => self.not_given(input),
        }
    }

    #[cold]
    fn not_given<T>(&self, input: Input<T>) -> ! {
        panic!("{input:?} was not given to module '{}'", self.engine.layout.label(self.module));
    }
}

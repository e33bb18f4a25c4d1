//! Modules and sources without their types, as the engine calls them.

use crate::cause::Cause;
use crate::completion::{Completion, Deliver, begin_wait};
use crate::engine::Engine;
use crate::event::Event;
use crate::handles::KeptAt;
use crate::module::*;
use crate::product::Product;
use crate::products::{Products, put};
use crate::store::Lent;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::sync::lock;
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::task::Waker;

/// How a call ended.
pub(crate) enum Ran {
    /// For a filter: whether the path goes on.
    Done(bool),
    /// A completion will say.
    Waits,
}

/// A module without its type.
pub(crate) trait Erased: Send + Sync {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause>;
    fn transition(&self, transition: Transition) -> Result<(), Cause>;
    fn end_job(&self) -> Result<(), Cause>;
}

/// A module with a state of its own. Only one event at a time is in it, so nobody ever waits for
/// the lock.
pub(crate) struct Stateful<M: 'static> {
    /// None when the job is over, and somebody has kept the module.
    module: Mutex<Option<Guarded<M>>>,
    /// Where the program finds the module after that.
    kept: KeptAt<M>,
}

impl<M: 'static> Stateful<M> {
    pub(crate) fn new(module: M, kept: KeptAt<M>) -> Self {
        Stateful { module: Mutex::new(Some(Guarded::new(module))), kept }
    }

    #[inline]
    fn with<R>(&self, call: impl FnOnce(&mut M) -> Result<R, Cause>) -> Result<R, Cause> {
        match &mut *lock(&self.module) {
            Some(module) => call(module),
            None => Err("the job is over".into()),
        }
    }

    /// Hands the module to whoever has kept a place for it.
    fn hand_out(&self) {
        if let Some(kept) = self.kept.upgrade()
            && let Some(module) = lock(&self.module).take()
        {
            lock(&kept).push(module.into_inner());
        }
    }
}

macro_rules! erased {
    ($([$($role:tt)+] in $of:ident, |$module:ident, $event:ident| $run:expr;)+) => {$(
        pub(crate) struct $of<M: 'static>(pub(crate) Guarded<M>);

        impl<M: $($role)+> Erased for $of<M> {
            fn run(&self, $event: &Event<'_>) -> Result<Ran, Cause> {
                let $module = &*self.0;
                $run
            }
            fn transition(&self, transition: Transition) -> Result<(), Cause> {
                self.0.transition(transition)
            }
            fn end_job(&self) -> Result<(), Cause> {
                self.0.end_job()
            }
        }
    )+};
}

macro_rules! erased_mut {
    ($([$($role:tt)+] in $of:ident, |$module:ident, $event:ident| $run:expr;)+) => {$(
        pub(crate) struct $of<M: 'static>(pub(crate) Stateful<M>);

        impl<M: $($role)+> Erased for $of<M> {
            fn run(&self, $event: &Event<'_>) -> Result<Ran, Cause> {
                self.0.with(|$module| $run)
            }
            fn transition(&self, transition: Transition) -> Result<(), Cause> {
                self.0.with(|module| module.transition(transition))
            }
            fn end_job(&self) -> Result<(), Cause> {
                // A module whose end panics stays, and is not handed out.
                let ended = self.0.with(|module| module.end_job());
                self.0.hand_out();
                ended
            }
        }
    )+};
}

erased! {
    [Producer] in OfProducer, |module, event| {
        let product = module.produce(event)?;
        event.put(product)?;
        Ok(Ran::Done(true))
    };
    [Producer<Product: Products>] in OfProducers, |module, event| {
        put(module.produce(event)?, event.engine, event.slot, event.module)?;
        Ok(Ran::Done(true))
    };
    [Filter] in OfFilter, |module, event| module.pass(event).map(Ran::Done);
    [Analyzer] in OfAnalyzer, |module, event| module.analyze(event).map(|()| Ran::Done(true));
    [Output] in OfOutput, |module, event| module.write(event).map(|()| Ran::Done(true));
    [AsyncProducer] in OfAsyncProducer, |module, event| waits(one(event), |done| module.start(event, done));
    [AsyncProducer<Product: Products>] in OfAsyncProducers, |module, event| {
        waits(several(event), |done| module.start(event, done))
    };
    [AsyncFilter] in OfAsyncFilter, |module, event| waits(pass(event), |done| module.start(event, done));
    [AsyncAnalyzer] in OfAsyncAnalyzer, |module, event| waits(end(event), |done| module.start(event, done));
}

erased_mut! {
    [ProducerMut] in OfProducerMut, |module, event| {
        let product = module.produce(event)?;
        event.put(product)?;
        Ok(Ran::Done(true))
    };
    [ProducerMut<Product: Products>] in OfProducersMut, |module, event| {
        put(module.produce(event)?, event.engine, event.slot, event.module)?;
        Ok(Ran::Done(true))
    };
    [FilterMut] in OfFilterMut, |module, event| module.pass(event).map(Ran::Done);
    [AnalyzerMut] in OfAnalyzerMut, |module, event| module.analyze(event).map(|()| Ran::Done(true));
    [OutputMut] in OfOutputMut, |module, event| module.write(event).map(|()| Ran::Done(true));
    [AsyncProducerMut] in OfAsyncProducerMut, |module, event| {
        waits(one(event), |done| module.start(event, done))
    };
    [AsyncProducerMut<Product: Products>] in OfAsyncProducersMut, |module, event| {
        waits(several(event), |done| module.start(event, done))
    };
    [AsyncFilterMut] in OfAsyncFilterMut, |module, event| {
        waits(pass(event), |done| module.start(event, done))
    };
    [AsyncAnalyzerMut] in OfAsyncAnalyzerMut, |module, event| {
        waits(end(event), |done| module.start(event, done))
    };
}

/// A completion has stored its product, or could not.
fn delivered(stored: Result<(), Lent>) -> Result<bool, Box<str>> {
    stored.map(|()| true).map_err(|lent| lent.to_string().into())
}

fn waits<T>(
    done: Completion<T>,
    start: impl FnOnce(Completion<T>) -> Result<(), Cause>,
) -> Result<Ran, Cause> {
    begin_wait(done, start).map(|()| Ran::Waits)
}

/// The completion of one product.
fn one<T: Product>(event: &Event<'_>) -> Completion<T> {
    completion(event, |engine: &Engine, slot, module, product| {
        delivered(engine.put(slot, module, product))
    })
}

/// The completion of several products.
fn several<T: Products>(event: &Event<'_>) -> Completion<T> {
    completion(event, |engine: &Engine, slot, module, products| {
        delivered(put(products, engine, slot, module))
    })
}

/// The completion of a decision.
fn pass(event: &Event<'_>) -> Completion<bool> {
    completion(event, |_, _, _, pass| Ok(pass))
}

/// The completion of what has no result.
fn end(event: &Event<'_>) -> Completion<()> {
    completion(event, |_, _, _, ()| Ok(true))
}

fn completion<T>(event: &Event<'_>, deliver: Deliver<T>) -> Completion<T> {
    Completion {
        engine: Some(event.anchor.clone()),
        slot: event.slot,
        module: event.module,
        pass: event.pass,
        deliver,
        result: PhantomData,
    }
}

/// A source without its type.
pub(crate) trait ErasedSource: Send {
    /// `Ok(Event(()))`, `Ok(Numbered(_, ()))`: it lies in the slot.
    fn next(&mut self, engine: &Engine, slot: u32, number: u64) -> Result<Next<()>, Cause>;
    /// The same, with the product by itself.
    fn next_loose(&mut self, number: u64) -> Result<Next<Box<dyn Any + Send>>, Cause>;
    fn attach(&mut self, waker: &Waker);
    fn pieces(&self) -> Vec<Piece>;
    fn open(&mut self, piece: u32) -> Result<(), Cause>;
}

pub(crate) struct OfSource<S: 'static>(pub(crate) Guarded<S>);

impl<S: Source> ErasedSource for OfSource<S> {
    fn next(&mut self, engine: &Engine, slot: u32, number: u64) -> Result<Next<()>, Cause> {
        let next = self.0.next(number)?;
        if let (Next::Event(_) | Next::Numbered(..), Some(context)) = (&next, self.0.context()) {
            engine.begin_traced(slot, number, context);
        }
        let mut stored = Ok(());
        let next = next.map(|product| stored = engine.put(slot, engine.layout.source, product));
        stored?;
        Ok(next)
    }

    fn next_loose(&mut self, number: u64) -> Result<Next<Box<dyn Any + Send>>, Cause> {
        Ok(self.0.next(number)?.map(|product| Box::new(product) as _))
    }

    fn attach(&mut self, waker: &Waker) {
        self.0.attach(waker);
    }

    fn pieces(&self) -> Vec<Piece> {
        self.0.pieces()
    }

    fn open(&mut self, piece: u32) -> Result<(), Cause> {
        self.0.open(piece)
    }
}

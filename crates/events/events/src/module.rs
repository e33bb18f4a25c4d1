//! The traits that a program implements: sources, producers, filters, analyzers, outputs.

use crate::cause::Cause;
use crate::completion::{Completion, Deliver};
use crate::engine::Engine;
use crate::event::Event;
use crate::product::Product;
use actinium_scheduler::guard::Guarded;
use std::marker::PhantomData;

/// A change that all events before it and none after it belong to: a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Run `0` begins.
    BeginRun(u64),
    /// Run `0` ends.
    EndRun(u64),
    /// Block `0` of the run begins.
    BeginBlock(u64),
    /// Block `0` of the run ends.
    EndBlock(u64),
}

/// The answer of a source that is asked for its next event.
#[derive(Debug)]
pub enum Next<T> {
    /// An event, whose number is its place in the source's order.
    Event(T),
    /// An event with a number that the source gives it: none twice. Outputs in order keep to the
    /// source's order all the same.
    Numbered(u64, T),
    /// A barrier.
    Transition(Transition),
    /// Nothing now: the source is asked again when an event has ended, or somebody calls
    /// [`Feeder::wake`](crate::Feeder::wake).
    Later,
    /// Nothing any more.
    End,
}

/// Where events come from. It is asked by one worker at a time.
pub trait Source: Send + 'static {
    /// The type of the product that the source makes for each event.
    type Product: Product;
    /// The next event, whose number is `number` if it is one (and the source gives it no other).
    ///
    /// # Errors
    /// Ends the run after the events before it.
    fn next(&mut self, number: u64) -> Result<Next<Self::Product>, Cause>;
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident, $call:ident -> $result:ty, $(#[$on:meta])*;)+) => {$(
        $(#[$doc])*
        pub trait $role: Send + Sync + 'static {
            $(#[$on])*
            fn $call(&self, event: &Event<'_>) -> Result<$result, Cause>;
            /// A run or a block begins or ends; no event is in flight.
            ///
            /// # Errors
            /// End the run.
            fn transition(&self, _: Transition) -> Result<(), Cause> {
                Ok(())
            }
        }
    )+};
}

roles! {
    /// Says whether a path goes on.
    Filter, pass -> bool, #[doc = "Whether it goes on.\n\n# Errors\nFail the event."];
    /// Looks at products.
    Analyzer, analyze -> (), #[doc = "Looks.\n\n# Errors\nFail the event."];
    /// Writes what is kept of an event: when all else in the event is done and nothing failed.
    Output, write -> (), #[doc = "Writes.\n\n# Errors\nFail the event."];
}

/// Makes a product, when somebody needs it, at most once per event.
pub trait Producer: Send + Sync + 'static {
    /// The type of the product.
    type Product: Product;
    /// Makes the product.
    ///
    /// # Errors
    /// Fail the event.
    fn produce(&self, event: &Event<'_>) -> Result<Self::Product, Cause>;
    /// A run or a block begins or ends; no event is in flight.
    ///
    /// # Errors
    /// End the run.
    fn transition(&self, _: Transition) -> Result<(), Cause> {
        Ok(())
    }
}

/// A producer that waits, and holds no thread meanwhile.
pub trait AsyncProducer: Send + Sync + 'static {
    /// The type of the product.
    type Product: Product;
    /// Starts; the module is done when the completion says so.
    ///
    /// # Errors
    /// Fail the event.
    fn start(&self, event: &Event<'_>, done: Completion<Self::Product>) -> Result<(), Cause>;
}

/// A filter that waits, and holds no thread meanwhile.
pub trait AsyncFilter: Send + Sync + 'static {
    /// Starts, like [`AsyncProducer::start`]. The completion gets the filter's decision.
    ///
    /// # Errors
    /// Fail the event.
    fn start(&self, event: &Event<'_>, done: Completion<bool>) -> Result<(), Cause>;
}

/// An analyzer or output that waits, and holds no thread meanwhile.
pub trait AsyncAnalyzer: Send + Sync + 'static {
    /// Starts, like [`AsyncProducer::start`]. The completion gets no value.
    ///
    /// # Errors
    /// Fail the event.
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause>;
}

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
    fn transition(&self, _: Transition) -> Result<(), Cause> {
        Ok(())
    }
}

pub(crate) struct OfProducer<P: 'static>(pub(crate) Guarded<P>);
pub(crate) struct OfFilter<F: 'static>(pub(crate) Guarded<F>);
pub(crate) struct OfAnalyzer<A: 'static>(pub(crate) Guarded<A>);
pub(crate) struct OfOutput<O: 'static>(pub(crate) Guarded<O>);
pub(crate) struct OfAsyncProducer<P: 'static>(pub(crate) Guarded<P>);
pub(crate) struct OfAsyncFilter<F: 'static>(pub(crate) Guarded<F>);
pub(crate) struct OfAsyncAnalyzer<A: 'static>(pub(crate) Guarded<A>);

impl<P: Producer> Erased for OfProducer<P> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        let product = self.0.produce(event)?;
        event.engine.put(event.slot, event.module, product);
        Ok(Ran::Done(true))
    }
    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        self.0.transition(transition)
    }
}

impl<F: Filter> Erased for OfFilter<F> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        self.0.pass(event).map(Ran::Done)
    }
    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        self.0.transition(transition)
    }
}

impl<A: Analyzer> Erased for OfAnalyzer<A> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        self.0.analyze(event).map(|()| Ran::Done(true))
    }
    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        self.0.transition(transition)
    }
}

impl<O: Output> Erased for OfOutput<O> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        self.0.write(event).map(|()| Ran::Done(true))
    }
    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        self.0.transition(transition)
    }
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

impl<P: AsyncProducer> Erased for OfAsyncProducer<P> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        let deliver = |engine: &Engine, slot, module, product| {
            engine.put(slot, module, product);
            true
        };
        self.0.start(event, completion(event, deliver)).map(|()| Ran::Waits)
    }
}

impl<F: AsyncFilter> Erased for OfAsyncFilter<F> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        self.0.start(event, completion(event, |_, _, _, pass| pass)).map(|()| Ran::Waits)
    }
}

impl<A: AsyncAnalyzer> Erased for OfAsyncAnalyzer<A> {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        self.0.start(event, completion(event, |_, _, _, ()| true)).map(|()| Ran::Waits)
    }
}

/// A source without its type.
pub(crate) trait ErasedSource: Send {
    /// `Ok(Event(()))`, `Ok(Numbered(_, ()))`: it lies in the slot.
    fn next(&mut self, engine: &Engine, slot: u32, number: u64) -> Result<Next<()>, Cause>;
}

pub(crate) struct OfSource<S: 'static>(pub(crate) Guarded<S>);

impl<S: Source> ErasedSource for OfSource<S> {
    fn next(&mut self, engine: &Engine, slot: u32, number: u64) -> Result<Next<()>, Cause> {
        Ok(match self.0.next(number)? {
            Next::Event(product) => {
                engine.put(slot, engine.layout.source, product);
                Next::Event(())
            }
            Next::Numbered(own, product) => {
                engine.put(slot, engine.layout.source, product);
                Next::Numbered(own, ())
            }
            Next::Transition(transition) => Next::Transition(transition),
            Next::Later => Next::Later,
            Next::End => Next::End,
        })
    }
}

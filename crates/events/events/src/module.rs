//! The traits that a program implements: sources, producers, filters, analyzers, outputs.
//!
//! A module takes `&self` where several events may be in it at a time. The traits whose names end
//! in `Mut` take `&mut self`: such a module has one event at a time, and needs no lock. A closure
//! that takes an event is a module, too.

use crate::cause::Cause;
use crate::completion::Completion;
use crate::event::Event;
use crate::product::Product;
use actinium_scheduler::trace::TraceContext;
use std::task::Waker;

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
    /// Nothing now: the source is asked again when an event has ended, or somebody wakes the waker
    /// of [`Source::attach`] or calls [`Feeder::wake`](crate::Feeder::wake).
    Later,
    /// Nothing any more.
    End,
}

impl<T> Next<T> {
    /// The same, with another product.
    #[inline]
    pub(crate) fn map<R>(self, f: impl FnOnce(T) -> R) -> Next<R> {
        match self {
            Next::Event(product) => Next::Event(f(product)),
            Next::Numbered(number, product) => Next::Numbered(number, f(product)),
            Next::Transition(transition) => Next::Transition(transition),
            Next::Later => Next::Later,
            Next::End => Next::End,
        }
    }
}

/// A piece of a source that can be read by itself, such as a file. Of several nodes, each reads
/// some pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The name, the same on all nodes.
    pub name: String,
    /// The size, by which pieces are shared out.
    pub bytes: u64,
}

impl Piece {
    /// The number of the event at place `index` (below 2⁴⁰) of the `piece`th piece.
    pub fn number(piece: u32, index: u64) -> u64 {
        u64::from(piece) << 40 | index
    }
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
    /// The step of a trace that the event is part of which `next` has just returned, if it is part
    /// of one: what its modules send is then, too. See `actinium::trace`.
    fn context(&mut self) -> Option<TraceContext> {
        None
    }
    /// The run begins. After [`Next::Later`], this waker has the source asked again, from any
    /// thread.
    fn attach(&mut self, _: &Waker) {}
    /// The pieces in which it can be read, if it has some: of several nodes, each reads some of
    /// them. Event `i` of piece `p` has the number [`Piece::number`]`(p, i)`, whatever number the
    /// source gives it.
    fn pieces(&self) -> Vec<Piece> {
        Vec::new()
    }
    /// What comes next is the first event of this piece; behind its last event is the end.
    ///
    /// # Errors
    /// If the piece can not be read, or there is no such piece.
    fn open(&mut self, _piece: u32) -> Result<(), Cause> {
        Err("the source can not be read in pieces".into())
    }
}

macro_rules! hooks {
    ($($this:tt)+) => {
        /// A run or a block begins or ends; no event is in flight.
        ///
        /// # Errors
        /// End the run.
        fn transition($($this)+, _: Transition) -> Result<(), Cause> {
            Ok(())
        }
        /// The job is over: all events have ended. Nothing is called after this. It is not called
        /// if the run was given up in the middle of events.
        ///
        /// # Errors
        /// Are failures of the run.
        fn end_job($($this)+) -> Result<(), Cause> {
            Ok(())
        }
    };
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident and $role_mut:ident, $call:ident -> $result:ty, $(#[$on:meta])*;)+) => {$(
        $(#[$doc])*
        pub trait $role: Send + Sync + 'static {
            $(#[$on])*
            fn $call(&self, event: &Event<'_>) -> Result<$result, Cause>;
            hooks!(&self);
        }

        $(#[$doc])*
        ///
        /// It changes a state of its own: one event at a time is in it.
        pub trait $role_mut: Send + 'static {
            $(#[$on])*
            fn $call(&mut self, event: &Event<'_>) -> Result<$result, Cause>;
            hooks!(&mut self);
        }

        /// A closure is such a module, one without hooks.
        impl<F> $role for F
        where
            F: Fn(&Event<'_>) -> Result<$result, Cause> + Send + Sync + 'static,
        {
            fn $call(&self, event: &Event<'_>) -> Result<$result, Cause> {
                self(event)
            }
        }

        /// A closure is such a module, one without hooks.
        impl<F> $role_mut for F
        where
            F: FnMut(&Event<'_>) -> Result<$result, Cause> + Send + 'static,
        {
            fn $call(&mut self, event: &Event<'_>) -> Result<$result, Cause> {
                self(event)
            }
        }
    )+};
}

roles! {
    /// Says whether a path goes on.
    Filter and FilterMut, pass -> bool, #[doc = "Whether it goes on.\n\n# Errors\nFail the event."];
    /// Looks at products.
    Analyzer and AnalyzerMut, analyze -> (), #[doc = "Looks.\n\n# Errors\nFail the event."];
    /// Writes what is kept of an event: when all else in the event is done and nothing failed.
    Output and OutputMut, write -> (), #[doc = "Writes.\n\n# Errors\nFail the event."];
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
    hooks!(&self);
}

/// Makes a product like a [`Producer`], and changes a state of its own: one event at a time is in
/// it.
pub trait ProducerMut: Send + 'static {
    /// The type of the product.
    type Product: Product;
    /// Makes the product.
    ///
    /// # Errors
    /// Fail the event.
    fn produce(&mut self, event: &Event<'_>) -> Result<Self::Product, Cause>;
    hooks!(&mut self);
}

/// A closure is a producer: it returns the product.
impl<T, F> Producer for F
where
    T: Product,
    F: Fn(&Event<'_>) -> Result<T, Cause> + Send + Sync + 'static,
{
    type Product = T;

    fn produce(&self, event: &Event<'_>) -> Result<T, Cause> {
        self(event)
    }
}

/// A closure is a producer: it returns the product.
impl<T, F> ProducerMut for F
where
    T: Product,
    F: FnMut(&Event<'_>) -> Result<T, Cause> + Send + 'static,
{
    type Product = T;

    fn produce(&mut self, event: &Event<'_>) -> Result<T, Cause> {
        self(event)
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
    hooks!(&self);
}

/// A producer that waits, and changes a state of its own: one event at a time is in it, from the
/// start to the completion.
pub trait AsyncProducerMut: Send + 'static {
    /// The type of the product.
    type Product: Product;
    /// Starts, like [`AsyncProducer::start`].
    ///
    /// # Errors
    /// Fail the event.
    fn start(&mut self, event: &Event<'_>, done: Completion<Self::Product>) -> Result<(), Cause>;
    hooks!(&mut self);
}

/// A filter that waits, and holds no thread meanwhile.
pub trait AsyncFilter: Send + Sync + 'static {
    /// Starts, like [`AsyncProducer::start`]. The completion gets the filter's decision.
    ///
    /// # Errors
    /// Fail the event.
    fn start(&self, event: &Event<'_>, done: Completion<bool>) -> Result<(), Cause>;
    hooks!(&self);
}

/// An analyzer or output that waits, and holds no thread meanwhile.
pub trait AsyncAnalyzer: Send + Sync + 'static {
    /// Starts, like [`AsyncProducer::start`]. The completion gets no value.
    ///
    /// # Errors
    /// Fail the event.
    fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause>;
    hooks!(&self);
}

/// A filter that waits, and changes a state of its own: see [`AsyncProducerMut`].
pub trait AsyncFilterMut: Send + 'static {
    /// Starts, like [`AsyncFilter::start`].
    ///
    /// # Errors
    /// Fail the event.
    fn start(&mut self, event: &Event<'_>, done: Completion<bool>) -> Result<(), Cause>;
    hooks!(&mut self);
}

/// An analyzer or output that waits, and changes a state of its own: see [`AsyncProducerMut`].
pub trait AsyncAnalyzerMut: Send + 'static {
    /// Starts, like [`AsyncAnalyzer::start`].
    ///
    /// # Errors
    /// Fail the event.
    fn start(&mut self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause>;
    hooks!(&mut self);
}

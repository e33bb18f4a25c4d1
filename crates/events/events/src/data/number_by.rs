//! Events with numbers of the program's own.

use crate::{Cause, Next, Piece, Source};
use actinium_scheduler::trace::TraceContext;
use std::task::Waker;

/// A source whose events say their numbers. See [`SourceExt::number_by`].
///
/// [`SourceExt::number_by`]: super::SourceExt::number_by
pub struct NumberBy<S, F> {
    source: S,
    number_of: F,
}

impl<S: std::fmt::Debug, F> std::fmt::Debug for NumberBy<S, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NumberBy").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<S: Source, F> NumberBy<S, F> {
    pub(super) fn new(source: S, number_of: F) -> Self {
        NumberBy { source, number_of }
    }
}

impl<S: Source, F: FnMut(&S::Product) -> u64 + Send + 'static> Source for NumberBy<S, F> {
    type Product = S::Product;

    fn next(&mut self, number: u64) -> Result<Next<S::Product>, Cause> {
        Ok(match self.source.next(number)? {
            Next::Event(product) | Next::Numbered(_, product) => {
                Next::Numbered((self.number_of)(&product), product)
            }
            next => next,
        })
    }

    fn context(&mut self) -> Option<TraceContext> {
        self.source.context()
    }

    fn attach(&mut self, waker: &Waker) {
        self.source.attach(waker);
    }

    fn pieces(&self) -> Vec<Piece> {
        self.source.pieces()
    }

    fn open(&mut self, piece: u32) -> Result<(), Cause> {
        self.source.open(piece)
    }
}

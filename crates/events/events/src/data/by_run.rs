//! Run transitions where the run of the events changes.

use crate::{Cause, Next, Piece, Source, Transition};
use actinium_scheduler::trace::TraceContext;
use std::collections::VecDeque;
use std::task::Waker;

/// A source whose events say which run they belong to. See [`SourceExt::runs_by`].
///
/// [`SourceExt::runs_by`]: super::SourceExt::runs_by
pub struct ByRun<S: Source, F> {
    source: S,
    run_of: F,
    run: Option<u64>,
    next: VecDeque<Next<S::Product>>,
}

impl<S: Source + std::fmt::Debug, F> std::fmt::Debug for ByRun<S, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByRun").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<S: Source, F> ByRun<S, F> {
    pub(super) fn new(source: S, run_of: F) -> Self {
        ByRun { source, run_of, run: None, next: VecDeque::new() }
    }

    /// Goes from the run that is on to another one, or to none.
    fn turn_to(&mut self, run: Option<u64>) {
        if self.run == run {
            return;
        }
        let end = self.run.map(Transition::EndRun);
        let begin = run.map(Transition::BeginRun);
        self.next.extend(end.into_iter().chain(begin).map(Next::Transition));
        self.run = run;
    }
}

impl<S: Source, F: FnMut(&S::Product) -> u64 + Send + 'static> Source for ByRun<S, F> {
    type Product = S::Product;

    fn next(&mut self, number: u64) -> Result<Next<S::Product>, Cause> {
        if let Some(next) = self.next.pop_front() {
            return Ok(next);
        }
        let next = self.source.next(number)?;
        match &next {
            Next::Event(product) | Next::Numbered(_, product) => {
                let run = (self.run_of)(product);
                self.turn_to(Some(run));
            }
            Next::End => self.turn_to(None),
            Next::Transition(_) | Next::Later => {}
        }
        self.next.push_back(next);
        // Never empty here.
        Ok(self.next.pop_front().unwrap_or(Next::End))
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
        (self.run, self.next) = (None, VecDeque::new());
        self.source.open(piece)
    }
}

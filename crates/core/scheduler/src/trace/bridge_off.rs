//! Stands in for spans of `tracing` where there are none.

use super::span::Span;

#[derive(Clone, Debug)]
pub(crate) struct Origin;

impl Origin {
    pub(crate) fn here() -> Self {
        Origin
    }
}

#[derive(Debug)]
pub(crate) struct Bridge;

impl Bridge {
    pub(crate) fn open(_: &Span, _: &Origin) -> Self {
        Bridge
    }

    pub(crate) fn enter(&self) -> Entered {
        Entered
    }

    pub(crate) fn close(&mut self, _: Option<&str>) {}
}

#[derive(Debug)]
pub(crate) struct Entered;

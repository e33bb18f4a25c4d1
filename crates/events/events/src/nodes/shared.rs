//! The source of all nodes, as the first one reads it for all.

use super::codec::Codec;
use crate::cause::{Cause, said};
use crate::erased::ErasedSource;
use crate::module::Next;
use actinium_scheduler::guard;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

/// The source of a graph whose events are shared out: each event as bytes.
pub struct SharedSource {
    pub(super) label: String,
    pub(super) source: Box<dyn ErasedSource>,
    pub(super) codec: Option<Arc<dyn Codec>>,
}

impl SharedSource {
    /// The next event's product, encoded: see [`Source::next`](crate::Source::next).
    ///
    /// # Errors
    /// What the source says, if it panics, too; if its product can not be encoded; or if the source
    /// has pieces, which nodes read by themselves.
    pub fn next(&mut self, number: u64) -> Result<Next<Vec<u8>>, Cause> {
        let SharedSource { label, source, codec } = self;
        let codec = codec.as_ref().ok_or("its product does not cross");
        let next = said(guard::catch(|| {
            let codec = codec?;
            let encode = |product: &(dyn std::any::Any + Send)| codec.encode_loose(product);
            Ok(match source.next_loose(number)? {
                Next::Event(product) => Next::Event(encode(&*product)?),
                Next::Numbered(number, product) => Next::Numbered(number, encode(&*product)?),
                Next::Transition(transition) => Next::Transition(transition),
                Next::Later => Next::Later,
                Next::End => Next::End,
            })
        }));
        next.map_err(|cause| format!("source '{label}', event {number}: {cause}").into())
    }

    /// Gives the source a waker: see [`Source::attach`](crate::Source::attach).
    ///
    /// # Errors
    /// If the source panics.
    pub fn attach(&mut self, waker: &Waker) -> Result<(), Cause> {
        let SharedSource { label, source, .. } = self;
        let attached = said(guard::catch(|| {
            source.attach(waker);
            Ok(())
        }));
        attached.map_err(|cause| format!("source '{label}': {cause}").into())
    }
}

impl fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSource").field("label", &self.label).finish_non_exhaustive()
    }
}

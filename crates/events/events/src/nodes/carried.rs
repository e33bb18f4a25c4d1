//! The source of outputs that run apart: events that other nodes have run, and the products of
//! them.

use super::codec::{Codec, decode_first};
use super::crossing::Header;
use crate::cause::Cause;
use crate::erased::{Erased, Ran};
use crate::event::Event;
use crate::module::{Filter, Next, Source, Transition};
use crate::product::Input;
use std::collections::VecDeque;
use std::sync::Arc;

/// An event that a node has run: what [`Crossing::take`](super::Crossing::take) made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The event's number.
    pub number: u64,
    /// What its outputs need.
    pub bytes: Vec<u8>,
}

/// The same, as the outputs' graph sees it.
pub(super) struct Carry {
    header: Header,
    bytes: Vec<u8>,
    /// Where the products begin.
    body: usize,
}

impl Carry {
    fn new(bytes: Vec<u8>) -> Result<Self, Cause> {
        let (header, rest) = decode_first::<Header>(&bytes)?;
        let sizes = header.products.iter().map(|(_, size)| size);
        if sizes.fold(0_u64, |sum, &size| sum.saturating_add(size)) != rest.len() as u64 {
            return Err("its products have other sizes than it says".into());
        }
        let body = bytes.len() - rest.len();
        Ok(Carry { header, body, bytes })
    }

    /// The bytes of a product.
    fn product(&self, product: u32) -> Option<&[u8]> {
        let mut at = self.body;
        for &(other, size) in &self.header.products {
            let bytes = &self.bytes[at..at + size as usize];
            if other == product {
                return Some(bytes);
            }
            at += bytes.len();
        }
        None
    }
}

/// Events that other nodes have run. The run and block of an event go with it: where they change,
/// this source makes the transitions.
pub(super) struct CarriedSource<F> {
    pub(super) ask: F,
    pub(super) during: (Option<u64>, Option<u64>),
    pub(super) next: VecDeque<Next<Carry>>,
}

impl<F> CarriedSource<F> {
    fn turn_to(&mut self, (run, block): (Option<u64>, Option<u64>)) {
        let (old_run, old_block) = std::mem::replace(&mut self.during, (run, block));
        let same_run = old_run == run;
        let mut transitions = Vec::new();
        if !(same_run && old_block == block) {
            transitions.extend(old_block.map(Transition::EndBlock));
            if !same_run {
                transitions.extend(old_run.map(Transition::EndRun));
                transitions.extend(run.map(Transition::BeginRun));
            }
            transitions.extend(block.map(Transition::BeginBlock));
        }
        self.next.extend(transitions.into_iter().map(Next::Transition));
    }
}

impl<F: FnMut() -> Next<Carried> + Send + 'static> Source for CarriedSource<F> {
    type Product = Carry;

    fn next(&mut self, _: u64) -> Result<Next<Carry>, Cause> {
        if self.next.is_empty() {
            let next = match (self.ask)() {
                Next::Event(Carried { number, bytes })
                | Next::Numbered(_, Carried { number, bytes }) => {
                    let carry = Carry::new(bytes).map_err(|cause| {
                        format!("event {number}, as it came from its node: {cause}")
                    })?;
                    self.turn_to((carry.header.run, carry.header.block));
                    Next::Numbered(number, carry)
                }
                Next::End => {
                    self.turn_to((None, None));
                    Next::End
                }
                Next::Transition(_) | Next::Later => Next::Later,
            };
            self.next.push_back(next);
        }
        // Never empty here.
        Ok(self.next.pop_front().unwrap_or(Next::End))
    }
}

/// Makes a product of what came with the event.
pub(super) struct Decode {
    pub(super) carry: Input<Carry>,
    pub(super) product: u32,
    pub(super) codec: Arc<dyn Codec>,
}

impl Erased for Decode {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        let carry = event.get(self.carry);
        let bytes = carry.product(self.product).ok_or("it did not come with the event")?;
        let put = self.codec.put(bytes, event.engine, event.slot, event.module);
        put.map_err(|cause| format!("can not be decoded on this node: {cause}"))?;
        Ok(Ran::Done(true))
    }

    fn transition(&self, _: Transition) -> Result<(), Cause> {
        Ok(())
    }

    fn end_job(&self) -> Result<(), Cause> {
        Ok(())
    }
}

/// Whether an output runs for an event: whether it would have run where the event did.
pub(super) struct Wanted {
    pub(super) carry: Input<Carry>,
    pub(super) output: u32,
}

impl Filter for Wanted {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.get(self.carry).header.outputs.contains(&self.output))
    }
}

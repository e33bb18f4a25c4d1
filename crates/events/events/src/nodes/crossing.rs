//! What the outputs of an event need, noted where the event ran.

use super::codec::{Codec, encode};
use crate::cause::Cause;
use crate::erased::{Erased, Ran};
use crate::event::Event;
use crate::module::Transition;
use actinium_scheduler::sync::lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// What goes with an event to its outputs, before the bytes of the products.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) run: Option<u64>,
    pub(super) block: Option<u64>,
    /// The outputs that run for it, by their numbers among the outputs.
    pub(super) outputs: Vec<u32>,
    /// The products, by their numbers among those that cross, and their lengths.
    pub(super) products: Vec<(u32, u64)>,
}

/// What the outputs of an event need, noted slot by slot.
#[derive(Clone)]
pub struct Crossing(Arc<Shared>);

struct Shared {
    slots: Box<[Mutex<Noted>]>,
    /// The run and block that are on.
    during: Mutex<(Option<u64>, Option<u64>)>,
}

#[derive(Default)]
struct Noted {
    event: u64,
    outputs: Vec<u32>,
    products: BTreeMap<u32, Vec<u8>>,
}

impl Crossing {
    pub(super) fn new(slots: usize) -> Self {
        let slots = (0..slots).map(|_| Mutex::default()).collect();
        Crossing(Arc::new(Shared { slots, during: Mutex::default() }))
    }

    /// What the outputs need of the event that has just ended in this slot, without a failure. To
    /// be called where the end is told: see [`Processor::on_end`](crate::Processor::on_end).
    pub fn take(&self, slot: usize, number: u64) -> Vec<u8> {
        let noted = self.0.slots.get(slot).map(|noted| std::mem::take(&mut *lock(noted)));
        let noted = noted.filter(|noted| noted.event == number).unwrap_or_default();
        let (run, block) = *lock(&self.0.during);
        let sizes = noted.products.iter().map(|(&product, bytes)| (product, bytes.len() as u64));
        let header = Header { run, block, outputs: noted.outputs, products: sizes.collect() };
        // Numbers alone: there is nothing that can not be encoded.
        let mut bytes = encode(&header).unwrap_or_default();
        noted.products.values().for_each(|product| bytes.extend_from_slice(product));
        bytes
    }
}

impl fmt::Debug for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Crossing({} slots)", self.0.slots.len())
    }
}

/// Stands where an output was that runs elsewhere, and notes what it reads.
pub(super) struct Ship {
    pub(super) crossing: Crossing,
    /// The output's number among the outputs.
    pub(super) output: u32,
    /// For each of its inputs: the product's number among those that cross, its label and encoding.
    pub(super) inputs: Vec<(u32, String, Arc<dyn Codec>)>,
}

impl Erased for Ship {
    fn run(&self, event: &Event<'_>) -> Result<Ran, Cause> {
        let encoded = (0..).zip(&self.inputs).map(|(position, (product, label, codec))| {
            let bytes = codec.encode(event, position);
            let named = |cause| format!("product '{label}' can not be encoded: {cause}");
            Ok((*product, bytes.map_err(named)?))
        });
        let encoded = encoded.collect::<Result<Vec<_>, Cause>>()?;
        let Some(noted) = self.crossing.0.slots.get(event.slot()) else {
            return Err("the node has more slots than it said".into());
        };
        let mut noted = lock(noted);
        if noted.event != event.number() {
            *noted = Noted { event: event.number(), ..Noted::default() };
        }
        noted.products.extend(encoded);
        if !noted.outputs.contains(&self.output) {
            noted.outputs.push(self.output);
        }
        Ok(Ran::Done(true))
    }

    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        let mut during = lock(&self.crossing.0.during);
        match transition {
            Transition::BeginRun(run) => *during = (Some(run), None),
            Transition::EndRun(_) => *during = (None, None),
            Transition::BeginBlock(block) => during.1 = Some(block),
            Transition::EndBlock(_) => during.1 = None,
        }
        Ok(())
    }

    fn end_job(&self) -> Result<(), Cause> {
        Ok(())
    }
}

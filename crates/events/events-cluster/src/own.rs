//! A program's own graph, split into parts.

use crate::parts::{Feed, Inboxes, Part, Parts, Shared};
use actinium_cluster::job::JobError;
use actinium_events::nodes::{
    Carried, Conditions, Crossing, Given, Inbox, OutputsAt, SharedSource, Split,
};
use actinium_events::{Builder, Cause, Next, Settings};
use actinium_wire::fnv1a;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Waker;

/// What a node's graph is given.
struct ForSplit(Inboxes);

impl Inbox for ForSplit {
    fn next(&mut self) -> Next<Given> {
        self.0.given.next()
    }

    fn piece_ended(&mut self, piece: u32, ended: Result<u64, Cause>) {
        if let Some(on_read) = self.0.on_read.get() {
            on_read(piece, ended);
        }
    }
}

struct Own {
    crossing: Crossing,
    conditions: Conditions,
}

impl Part for Own {
    fn take(&self, slot: usize, number: u64) -> Vec<u8> {
        self.crossing.take(slot, number)
    }

    fn set_conditions(&self, run: u64, bytes: &[u8]) -> Result<(), Cause> {
        self.conditions.set(run, bytes)
    }
}

/// The source at the first node.
struct First {
    source: SharedSource,
    conditions: Conditions,
}

impl Shared for First {
    fn next(&mut self, number: u64) -> Result<Next<Vec<u8>>, Cause> {
        match self.source.next(number)? {
            Next::Numbered(own, _) if own != number => Err(format!(
                "the source calls its event {number} {own}: events that nodes share are numbered in their order, so let it return Next::Event"
            )
            .into()),
            next => Ok(next),
        }
    }

    fn attach(&mut self, waker: &Waker) -> Result<(), Cause> {
        self.source.attach(waker)
    }

    fn conditions(&mut self, run: u64) -> Result<Vec<u8>, Cause> {
        self.conditions.load(run)
    }
}

/// The parts of a graph on a node with so many slots.
pub(crate) fn parts(
    builder: Builder,
    at: OutputsAt,
    settings: &Settings,
    slots: usize,
    inboxes: &Inboxes,
) -> Result<Parts, JobError> {
    let carried = inboxes.carried.clone();
    let next = move || match carried.next() {
        Next::Event(ready) => Next::Event(Carried { number: ready.number, bytes: ready.bytes }),
        Next::End => Next::End,
        _ => Next::Later,
    };
    let split = builder.split(at, slots, ForSplit(inboxes.clone()), next);
    let split = split.map_err(|error| JobError::Setting(error.to_string()))?;
    if settings.events_max.is_some() && !split.pieces.is_empty() {
        return Err(JobError::Setting(
            "events_max: nodes that read files of their own have no common count: leave it out"
                .to_owned(),
        ));
    }
    let Settings { order, on_error, events_max, .. } = settings;
    let asked = format!(
        "order {order:?}, on error {on_error:?}, events at most {events_max:?}, outputs {at:?}"
    );
    let says = format!("'{}' (graph {:016x}), {asked}", split.name, split.digest);
    let Split { pieces, source, inner, crossing, outputs, conditions, .. } = split;
    let feed = match source {
        Some(source) => Feed::Source(Box::new(First { source, conditions: conditions.clone() })),
        None => Feed::Pieces(pieces.iter().map(|piece| piece.bytes).collect()),
    };
    Ok(Parts {
        digest: fnv1a(says.as_bytes()),
        says,
        feed,
        inner,
        outputs,
        stand_ins: BTreeSet::new(),
        shown: None,
        part: Arc::new(Own { crossing, conditions }),
    })
}

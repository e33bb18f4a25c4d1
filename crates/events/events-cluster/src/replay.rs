//! A replay of a workload: what the ends of an event's paths see goes to the outputs.

use crate::parts::{Feed, Inboxes, Part, Parts};
use actinium_events::nodes::Given;
use actinium_events::{GraphErrors, Next};
use actinium_scheduler::sync::lock;
use actinium_wire::fnv1a;
use actinium_workload::replay::part::{self, Observations, Seen, sum};
use actinium_workload::{Role, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// For each event whose outputs run: the sum of what its modules other than outputs saw.
type Others = Arc<Mutex<BTreeMap<u64, u64>>>;

struct Replay {
    inner: Seen,
    outputs: Option<Seen>,
    others: Others,
}

impl Part for Replay {
    fn take(&self, slot: usize, _number: u64) -> Vec<u8> {
        let observations = self.inner.take(slot);
        let bytes = observations
            .iter()
            .flat_map(|(module, seen)| module.to_le_bytes().into_iter().chain(seen.to_le_bytes()));
        bytes.collect()
    }

    fn forget(&self, slot: usize) {
        let _ = self.inner.take(slot);
    }

    fn written(&self, number: u64, slot: usize) -> u64 {
        let observations = self.outputs.as_ref().map(|seen| seen.take(slot)).unwrap_or_default();
        lock(&self.others).remove(&number).unwrap_or(0).wrapping_add(sum(&observations))
    }

    fn ended(&self, bytes: &[u8]) -> u64 {
        sum(&observations(bytes))
    }
}

/// What [`Replay::take`] has written.
fn observations(bytes: &[u8]) -> Observations {
    let (observations, _) = bytes.as_chunks::<12>();
    let observation = |bytes: &[u8; 12]| {
        let [a, b, c, d, seen @ ..] = *bytes;
        (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(seen))
    };
    observations.iter().map(observation).collect()
}

/// A workload's parts on this node. `name` and `asked` are for people.
pub(crate) fn parts(
    workload: &Workload,
    (name, asked): (&str, &str),
    events: u64,
    slots: usize,
    inboxes: &Inboxes,
) -> Result<Parts, GraphErrors> {
    let given = inboxes.given.clone();
    let next = move || match given.next() {
        Next::Event(Given::Event { number, .. }) => Next::Event(number),
        Next::End => Next::End,
        // Nobody sends anything else.
        _ => Next::Later,
    };
    let (inner, inner_seen) = part::inner(workload, slots, next)?;
    let outputs = outputs(workload);
    let numbers: BTreeSet<u32> = outputs.iter().map(|(number, _)| *number).collect();
    let labels: BTreeSet<String> = outputs.into_iter().map(|(_, label)| label).collect();
    let others = Others::default();
    let (carried, noted) = (inboxes.carried.clone(), others.clone());
    let next = move || match carried.next() {
        Next::Event(ready) => {
            let observations = observations(&ready.bytes);
            let apart = observations.iter().filter(|(of, _)| !numbers.contains(of));
            lock(&noted).insert(ready.number, sum(&apart.copied().collect()));
            Next::Event(part::Given { number: ready.number, observations })
        }
        Next::End => Next::End,
        _ => Next::Later,
    };
    let outputs = part::outputs(workload, slots, next)?;
    let (outputs, outputs_seen) = outputs.unzip();
    let (digest, says) = plan(workload, name, asked);
    Ok(Parts {
        digest,
        says,
        feed: Feed::Numbers(events),
        inner,
        outputs,
        stand_ins: labels.clone(),
        shown: Some(labels),
        part: Arc::new(Replay { inner: inner_seen, outputs: outputs_seen, others }),
    })
}

/// A digest of what all nodes have to be asked for, and the same for people.
fn plan(workload: &Workload, named: &str, asked: &str) -> (u64, String) {
    // All of it but the options, which each node may have its own of.
    let Workload { name, format, source, modules, resources, paths, .. } = workload;
    let mut text = format!("{name:?} {format:?} {source:?} {resources:?} {paths:?} {asked}");
    text.extend(modules.iter().map(|module| format!("{module:?}")));
    (fnv1a(text.as_bytes()), format!("'{named}', {asked}"))
}

/// The outputs, with their numbers.
fn outputs(workload: &Workload) -> Vec<(u32, String)> {
    let modules = workload.modules.iter().enumerate();
    let outputs = modules.filter(|(_, module)| module.role == Role::Output);
    outputs.map(|(number, module)| (number as u32, module.label.clone())).collect()
}

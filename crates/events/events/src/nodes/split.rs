//! Takes a graph apart: what each node runs, and the outputs, which one node may run for all.

use super::carried::{Carried, CarriedSource, Carry, Decode, Wanted};
use super::codec::Codec;
use super::condition::Conditions;
use super::crossing::{Crossing, Ship};
use super::given::{GivenSource, Inbox};
use super::shared::SharedSource;
use crate::cause::Cause;
use crate::erased::{Erased, ErasedSource, OfFilter, OfSource};
use crate::graph::{Draft, Graph, GraphErrors, Role, Sketch, Wants};
use crate::module::{Next, Piece};
use crate::options::Threads;
use crate::product::Input;
use crate::products::Made;
use crate::stamp::Stamp;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::mixing::mix;
use std::any::{TypeId, type_name};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The label of what outputs are given that run apart.
const CARRIED: &str = "the events of all nodes";

/// Where the outputs of a graph on several nodes run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputsAt {
    /// On the first node, for the events of all: one file, in order if the program wants that.
    #[default]
    First,
    /// On each node, for the events that it runs: a file per node.
    EachNode,
}

/// A graph in parts, for one of several nodes.
#[derive(Debug)]
pub struct Split {
    /// A digest of the graph, the same on all nodes: of labels, versions, types, paths and pieces.
    pub digest: u64,
    /// The graph's name: its source's label.
    pub name: String,
    /// The pieces in which nodes read the source. If there is none, the first node reads it for
    /// all.
    pub pieces: Vec<Piece>,
    /// The source. If there are pieces, it is of no use: [`Split::inner`] reads them.
    pub source: Option<SharedSource>,
    /// All modules that run on each node. Its source is the node's inbox.
    pub inner: Graph,
    /// What outputs need of an event, from the node that ran it.
    pub crossing: Crossing,
    /// The outputs that run for all nodes on the first.
    pub outputs: Option<Graph>,
    /// The values that hold for a run.
    pub conditions: Conditions,
}

impl Split {
    pub(crate) fn of(
        sketch: Sketch,
        faults: Vec<String>,
        at: OutputsAt,
        slots: usize,
        inbox: impl Inbox,
        carried: impl FnMut() -> Next<Carried> + Send + 'static,
    ) -> Result<Self, GraphErrors> {
        let stamps = sketch.stamps_by_label(faults)?;
        let pieces = sketch.source.pieces();
        let digest = digest(&sketch, &stamps, &pieces);
        let codecs = Codecs::new(&sketch, at, pieces.is_empty())?;
        let Sketch { source_label: name, source_version, source_made, source, .. } = sketch;
        let of_source = codecs.find(&name).map(|(_, codec)| codec.clone());
        let conditions = Conditions(sketch.conditions.into());
        let crossing = Crossing::new(slots);
        let is_apart = |draft: &Draft| at == OutputsAt::First && draft.role == Role::Output;
        let (apart, mut drafts): (Vec<_>, Vec<_>) = sketch.drafts.into_iter().partition(is_apart);
        let ships = (0..).zip(&apart).map(|(output, draft)| codecs.ship(&crossing, output, draft));
        drafts.extend(ships);
        let (shared, read): (_, Box<dyn ErasedSource>) = match pieces.is_empty() {
            true => (Some(source), Box::new(OfSource(Guarded::new(Nothing)))),
            false => (None, source),
        };
        let codec = of_source.clone();
        let given = GivenSource { inbox, source: read, codec, reading: None };
        let inner = Sketch {
            source_label: name.clone(),
            source_version,
            source_made,
            source: Box::new(given),
            drafts,
            paths: sketch.paths,
            crossings: Vec::new(),
            conditions: Vec::new(),
        };
        let inner = inner.build(Vec::new())?.stamped(&stamps);
        let outputs = match apart.is_empty() {
            true => None,
            false => Some(codecs.outputs(apart, carried).build(Vec::new())?.stamped(&stamps)),
        };
        let source =
            shared.map(|source| SharedSource { label: name.clone(), source, codec: of_source });
        Ok(Split { digest, name, pieces, source, inner, crossing, outputs, conditions })
    }
}

/// Stands where the source was that the first node reads.
struct Nothing;

impl crate::module::Source for Nothing {
    type Product = ();

    fn next(&mut self, _: u64) -> Result<Next<()>, Cause> {
        Ok(Next::End)
    }
}

/// The encodings of products that cross, by their labels.
struct Codecs(Vec<(String, Arc<dyn Codec>)>);

impl Codecs {
    /// Those of a graph, if all products have one that need it.
    fn new(sketch: &Sketch, at: OutputsAt, is_shared: bool) -> Result<Self, GraphErrors> {
        let codecs = Codecs(sketch.crossings.clone());
        let mut errors = Vec::new();
        let how = "call Builder::crosses with it (or Registry::crosses with its type, for jobs)";
        let label = &sketch.source_label;
        if is_shared && !codecs.has(label, sketch.source_made.type_id) {
            let of = sketch.source_made.type_name;
            errors.push(format!(
                "the first node reads source '{label}' for all nodes, and its product ({of}) does not cross to them: {how}"
            ));
        }
        let is_apart = |draft: &&Draft| at == OutputsAt::First && draft.role == Role::Output;
        for draft in sketch.drafts.iter().filter(is_apart) {
            for wanted in &draft.wanted {
                if !codecs.has(&wanted.label, wanted.type_id) {
                    errors.push(format!(
                        "output '{}' runs on the first node, and product '{}' ({}), which it reads, does not cross to that: {how}",
                        draft.label, wanted.label, wanted.type_name
                    ));
                }
            }
            if let Threads::Exclusive(name) = &draft.threads {
                let shares = |other: &&Draft| !is_apart(other) && other.threads == draft.threads;
                if let Some(other) = sketch.drafts.iter().find(shares) {
                    errors.push(format!(
                        "output '{}' and module '{}' share the resource '{name}', and on several nodes they run apart: let the output have a resource of its own",
                        draft.label, other.label
                    ));
                }
            }
        }
        match errors.is_empty() {
            true => Ok(codecs),
            false => Err(GraphErrors(errors)),
        }
    }

    fn find(&self, label: &str) -> Option<(u32, &Arc<dyn Codec>)> {
        let place = self.0.iter().position(|(other, _)| other == label)?;
        Some((place as u32, &self.0[place].1))
    }

    fn has(&self, label: &str, type_id: TypeId) -> bool {
        self.find(label).is_some_and(|(_, codec)| codec.made().type_id == type_id)
    }

    /// What stands on each node where an output was.
    fn ship(&self, crossing: &Crossing, output: u32, draft: &Draft) -> Draft {
        let inputs = draft.wanted.iter().filter_map(|wanted| {
            let (product, codec) = self.find(&wanted.label)?;
            Some((product, wanted.label.clone(), codec.clone()))
        });
        let ship = Ship { crossing: crossing.clone(), output, inputs: inputs.collect() };
        Draft {
            version: draft.version,
            one_by_one: draft.one_by_one,
            select: draft.select.clone(),
            wanted: draft.wanted.clone(),
            ..plain(draft.label.clone(), Role::Output, Box::new(ship))
        }
    }

    /// The graph of the outputs alone: what they read is decoded when they ask for it.
    fn outputs(
        &self,
        outputs: Vec<Draft>,
        carried: impl FnMut() -> Next<Carried> + Send + 'static,
    ) -> Sketch {
        let carry = || vec![Wants::of::<Carry>(CARRIED)];
        let is_read = |label: &String| {
            outputs.iter().any(|draft| draft.wanted.iter().any(|wanted| wanted.label == *label))
        };
        let read = (0..).zip(&self.0).filter(|(_, (label, _))| is_read(label));
        let mut drafts: Vec<Draft> = Vec::new();
        for (product, (label, codec)) in read {
            if drafts.iter().any(|draft| draft.label == *label) {
                continue;
            }
            let decode = Decode { carry: Input::at(0), product, codec: codec.clone() };
            let draft = plain(label.clone(), Role::Producer, Box::new(decode));
            drafts.push(Draft { wanted: carry(), made: Some(codec.made()), ..draft });
        }
        let mut paths = Vec::new();
        for (output, draft) in (0..).zip(outputs) {
            let name = format!("the events that '{}' takes", draft.label);
            let wanted = Wanted { carry: Input::at(0), output };
            let filter = Box::new(OfFilter(Guarded::new(wanted)));
            let filter = plain(name.clone(), Role::Filter, filter);
            drafts.push(Draft { wanted: carry(), ..filter });
            paths.push((name.clone(), vec![name.clone()]));
            drafts.push(Draft { select: Some(name), ..draft });
        }
        let source = CarriedSource { ask: carried, during: (None, None), next: VecDeque::new() };
        Sketch {
            source_label: CARRIED.to_owned(),
            source_version: 0,
            source_made: Made::of::<Carry>(),
            source: Box::new(OfSource(Guarded::new(source))),
            drafts,
            paths,
            crossings: Vec::new(),
            conditions: Vec::new(),
        }
    }
}

/// A module of our own, of which there is one.
fn plain(label: String, role: Role, module: Box<dyn Erased>) -> Draft {
    Draft {
        label,
        version: 0,
        role,
        threads: Threads::Concurrent,
        waits: false,
        one_by_one: false,
        select: None,
        wanted: Vec::new(),
        made: None,
        parts: Vec::new(),
        first: Some(module),
        make: Box::new(|_| Err("there is one of it".into())),
    }
}

impl Wants {
    fn of<T: 'static>(label: &str) -> Self {
        let (type_id, type_name) = (TypeId::of::<T>(), type_name::<T>());
        Wants { label: label.to_owned(), type_id, type_name }
    }
}

/// A digest of all that has to be the same on all nodes.
fn digest(sketch: &Sketch, stamps: &HashMap<String, Stamp>, pieces: &[Piece]) -> u64 {
    let text = |sum: u64, text: &str| {
        text.bytes().fold(mix(sum, text.len() as u64), |sum, byte| mix(sum, byte.into()))
    };
    let mut sum = text(0, sketch.source_made.type_name);
    let mut stamps: Vec<_> = stamps.iter().collect();
    stamps.sort();
    for (label, stamp) in stamps {
        sum = mix(text(sum, label), stamp.get());
    }
    for draft in &sketch.drafts {
        sum = text(text(sum, &draft.label), draft.select.as_deref().unwrap_or(""));
        let made = draft.made.iter().chain(draft.parts.iter().map(|(_, made)| made));
        sum = made.fold(sum, |sum, made| text(sum, made.type_name));
    }
    for (name, steps) in &sketch.paths {
        sum = steps.iter().fold(text(sum, name), |sum, step| text(sum, step));
    }
    pieces.iter().fold(sum, |sum, piece| mix(text(sum, &piece.name), piece.bytes))
}

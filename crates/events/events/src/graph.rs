//! The graph of modules: checked as a whole, then kept in flat arrays.

use crate::cause::{Cause, said};
use crate::erased::{Erased, ErasedSource};
use crate::instances::Instances;
use crate::layout::{ColumnOf, Layout, NO_COLUMN, Traits};
use crate::links::{Links, Lists};
use crate::nodes::codec::Codec;
use crate::nodes::condition::AnyCondition;
use crate::options::Threads;
use crate::product::Inputs;
use crate::products::Made;
pub(crate) use crate::role::Role;
use crate::settings::StartError;
use crate::stamp::Stamp;
use actinium_scheduler::guard;
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

// tidy: guard: what it holds of the user's is guarded, and so is what it makes.
pub(crate) type Make = Box<dyn FnMut(&mut Inputs) -> Result<Box<dyn Erased>, Cause> + Send>;

/// One of several products of a producer: its label, and its type.
pub(crate) type Part = (String, Made);

/// A product that a module asks for.
#[derive(Clone)]
pub(crate) struct Wants {
    pub(crate) label: String,
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
}

/// A module as it was registered.
pub(crate) struct Draft {
    pub(crate) label: String,
    pub(crate) version: u32,
    pub(crate) role: Role,
    pub(crate) threads: Threads,
    pub(crate) waits: bool,
    pub(crate) one_by_one: bool,
    /// The path that an output selects.
    pub(crate) select: Option<String>,
    pub(crate) wanted: Vec<Wants>,
    /// Its product, if it makes just one.
    pub(crate) made: Option<Made>,
    /// Its products, if it makes several.
    pub(crate) parts: Vec<Part>,
    /// The first instance; `None` if it could not be made.
    pub(crate) first: Option<Box<dyn Erased>>,
    pub(crate) make: Make,
}

/// A graph as it was registered. All that makes a product has a number: the modules in their
/// order, then each product of producers of several, then the source.
pub(crate) struct Sketch {
    pub(crate) source_label: String,
    pub(crate) source_version: u32,
    pub(crate) source_made: Made,
    pub(crate) source: Box<dyn ErasedSource>,
    pub(crate) drafts: Vec<Draft>,
    /// Names, and the labels of steps.
    pub(crate) paths: Vec<(String, Vec<String>)>,
    /// The labels of products that may go to other nodes, and their encodings.
    pub(crate) crossings: Vec<(String, Arc<dyn Codec>)>,
    pub(crate) conditions: Vec<Arc<dyn AnyCondition>>,
}

/// A graph that was checked, in numbers.
struct Checked {
    labels: Vec<String>,
    ports: Vec<Vec<u16>>,
    inputs: Vec<Vec<u16>>,
    paths: Vec<(String, Vec<u16>)>,
    outputs: Vec<(u16, Option<usize>)>,
}

/// Why a module is not there.
pub(crate) fn could_not(label: &str, slot: Option<usize>, cause: &str) -> String {
    let of = slot.map(|slot| format!(" of slot {slot}")).unwrap_or_default();
    format!("module '{label}'{of} could not be made: {cause}")
}

impl Sketch {
    /// All products of several that one producer makes, with the numbers of their producers.
    fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let drafts = self.drafts.iter().enumerate();
        drafts.flat_map(|(m, draft)| draft.parts.iter().map(move |part| (m, part)))
    }

    /// The source's number.
    fn source(&self) -> usize {
        self.drafts.len() + self.parts().count()
    }

    /// What each number makes.
    fn made(&self) -> Vec<Option<Made>> {
        let modules = self.drafts.iter().map(|draft| draft.made);
        let parts = self.parts().map(|(_, (_, made))| Some(*made));
        modules.chain(parts).chain([Some(self.source_made)]).collect()
    }

    /// Checks everything; `errors` is what was wrong before.
    fn check(&self, mut errors: Vec<String>) -> Result<Checked, GraphErrors> {
        let n = self.source();
        if n >= usize::from(u16::MAX) {
            return Err(GraphErrors(vec![format!(
                "{n} modules and products: at most 65,534 are possible"
            )]));
        }
        let by_label = self.by_label(&mut errors);
        let ports = self.ports(&by_label, &mut errors);
        let inputs = inputs(&ports);
        let labels: Vec<String> = self.labels();
        if let Some(cycle) = cycle(&inputs) {
            let labels: Vec<_> = cycle.iter().map(|&m| labels[m].as_str()).collect();
            errors.push(format!("modules need each other in a cycle: {}", labels.join(" needs ")));
        }
        let paths = self.paths(&by_label, &mut errors);
        let outputs = self.outputs(&paths, &mut errors);
        if !errors.is_empty() {
            return Err(GraphErrors(errors));
        }
        Ok(Checked { labels, ports, inputs, paths, outputs })
    }

    /// Checks everything as [`Sketch::build`] does, and returns the stamps of all that has a label.
    pub(crate) fn stamps_by_label(
        &self,
        errors: Vec<String>,
    ) -> Result<HashMap<String, Stamp>, GraphErrors> {
        let Checked { labels, ports, .. } = self.check(errors)?;
        let stamps = self.stamps(&labels, &ports);
        Ok(labels.into_iter().zip(stamps).collect())
    }

    /// Checks everything; `errors` is what was wrong before.
    pub(crate) fn build(self, errors: Vec<String>) -> Result<Graph, GraphErrors> {
        let n = self.source();
        let Checked { labels, ports, inputs, paths, outputs } = self.check(errors)?;
        let stamps = self.stamps(&labels, &ports);
        let roots = self.roots(&paths);
        let (columns_of, columns) = self.columns();
        let modules = self.drafts.len() as u16;
        let roles = self.drafts.iter().map(|draft| draft.role).collect();
        let Registered { made, traits, resources, exclusives } = Registered::of(self.drafts, n);
        let layout = Layout {
            modules,
            source: n as u16,
            labels: labels.into(),
            links: Links::new(&Lists {
                ports: &ports,
                inputs: &inputs,
                consumers: &consumers(&inputs),
                paths: &paths_of(n, &paths),
            }),
            paths,
            roots,
            outputs,
            columns_of,
            columns,
            traits: traits.into(),
            roles,
            stamps,
            resources,
            exclusives,
        };
        Ok(Graph { layout, source: Mutex::new(self.source), made: Mutex::new(made) })
    }

    /// The labels of all numbers.
    fn labels(&self) -> Vec<String> {
        let modules = self.drafts.iter().map(|draft| &draft.label);
        let parts = self.parts().map(|(_, (label, _))| label);
        modules.chain(parts).chain([&self.source_label]).cloned().collect()
    }

    /// The stamps of all numbers.
    fn stamps(&self, labels: &[String], ports: &[Vec<u16>]) -> Box<[Stamp]> {
        let versions = self.drafts.iter().map(|draft| draft.version).chain(std::iter::repeat(0));
        let of_modules: Vec<_> = labels
            .iter()
            .zip(versions)
            .zip(ports)
            .map(|((label, version), ports)| (label.as_str(), version, ports.as_slice()))
            .collect();
        crate::stamp::stamps(&of_modules, (&self.source_label, self.source_version))
    }

    /// Modules by their labels; the source has the number after theirs.
    fn by_label(&self, errors: &mut Vec<String>) -> ByLabel<'_> {
        let mut by_label = HashMap::from([(self.source_label.as_str(), self.source())]);
        let modules = self.drafts.iter().map(|draft| &draft.label);
        let labels = modules.chain(self.parts().map(|(_, (label, _))| label));
        for (index, label) in labels.enumerate() {
            if by_label.insert(label, index).is_some() {
                errors.push(format!("two modules have the label '{label}'"));
            }
        }
        for draft in &self.drafts {
            if draft.threads == Threads::Limited(0) {
                errors
                    .push(format!("module '{}': limited to 0, where 1 is the least", draft.label));
            }
        }
        by_label
    }

    /// Returns, for each module, the producers of what it asks for, in the order in which it asks.
    fn ports(&self, by_label: &ByLabel<'_>, errors: &mut Vec<String>) -> Vec<Vec<u16>> {
        let made = self.made();
        let mut ports: Vec<Vec<u16>> = vec![Vec::new(); self.drafts.len()];
        for (draft, ports) in self.drafts.iter().zip(&mut ports) {
            for wanted in &draft.wanted {
                let name = format!(
                    "module '{}' asks for {} of '{}'",
                    draft.label, wanted.type_name, wanted.label
                );
                let Some(&producer) = by_label.get(wanted.label.as_str()) else {
                    errors.push(format!(
                        "{name}, which no module is called{}",
                        near(&wanted.label, by_label)
                    ));
                    continue;
                };
                match made[producer] {
                    None => errors.push(format!("{name}, {}", self.makes_no_such(producer))),
                    Some(made) if made.type_id != wanted.type_id => {
                        errors.push(format!("{name}, which makes {}", made.type_name));
                    }
                    Some(_) => ports.push(producer as u16),
                }
            }
        }
        // Each product of several needs the module that makes it.
        ports.extend(self.parts().map(|(m, _)| vec![m as u16]));
        ports
    }

    /// Says what a module makes that has no product of its own label.
    fn makes_no_such(&self, module: usize) -> String {
        let parts = self.drafts[module].parts.iter().map(|(label, _)| format!("'{label}'"));
        match parts.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "which makes no product".to_owned(),
            parts => format!("which makes several, each with a label of its own: {parts}"),
        }
    }

    /// The paths, with the numbers of their modules.
    fn paths(&self, by_label: &ByLabel<'_>, errors: &mut Vec<String>) -> Vec<(String, Vec<u16>)> {
        let may_stand = |m: usize| {
            let draft = self.drafts.get(m);
            draft.is_some_and(|draft| matches!(draft.role, Role::Filter | Role::Analyzer))
        };
        let mut paths: Vec<(String, Vec<u16>)> = Vec::new();
        for (name, labels) in &self.paths {
            if paths.iter().any(|(other, _)| other == name) {
                errors.push(format!("two paths have the name '{name}'"));
            }
            let mut steps = Vec::new();
            for label in labels {
                match by_label.get(label.as_str()) {
                    Some(&m) if may_stand(m) => steps.push(m as u16),
                    Some(_) => errors.push(format!(
                        "path '{name}': '{label}' is neither a filter nor an analyzer"
                    )),
                    None => errors.push(format!(
                        "path '{name}': no module is called '{label}'{}",
                        near(label, by_label)
                    )),
                }
            }
            paths.push((name.clone(), steps));
        }
        paths
    }

    /// The outputs, and the paths that they select.
    fn outputs(
        &self,
        paths: &[(String, Vec<u16>)],
        errors: &mut Vec<String>,
    ) -> Vec<(u16, Option<usize>)> {
        let mut outputs = Vec::new();
        for (index, draft) in self.drafts.iter().enumerate() {
            if draft.select.is_some() && draft.role != Role::Output {
                errors.push(format!("module '{}' selects a path and is no output", draft.label));
                continue;
            }
            let select = draft.select.as_ref().and_then(|name| {
                let path = paths.iter().position(|(other, _)| other == name);
                if path.is_none() {
                    errors.push(format!(
                        "output '{}' selects path '{name}', which there is not",
                        draft.label
                    ));
                }
                path
            });
            if draft.role == Role::Output {
                outputs.push((index as u16, select));
            }
        }
        outputs
    }

    /// The analyzers that are on no path.
    fn roots(&self, paths: &[(String, Vec<u16>)]) -> Vec<u16> {
        let on_path = |m: usize| paths.iter().any(|(_, steps)| steps.contains(&(m as u16)));
        (0..self.drafts.len())
            .filter(|&m| self.drafts[m].role == Role::Analyzer && !on_path(m))
            .map(|m| m as u16)
            .collect()
    }

    /// The column of what each module (and, last, the source) makes, and all columns: products of
    /// one type lie in one.
    fn columns(&self) -> (Box<[u16]>, Vec<ColumnOf>) {
        let (mut columns, mut types): (Vec<ColumnOf>, Vec<TypeId>) = Default::default();
        let columns_of = self
            .made()
            .into_iter()
            .map(|made| {
                let Some(made) = made else { return NO_COLUMN };
                let column =
                    types.iter().position(|&other| other == made.type_id).unwrap_or_else(|| {
                        types.push(made.type_id);
                        columns.push((made.store, 0));
                        types.len() - 1
                    });
                columns[column].1 += 1;
                column as u16
            })
            .collect();
        (columns_of, columns)
    }
}

/// Modules by their labels.
type ByLabel<'a> = HashMap<&'a str, usize>;

/// The first instance of a module, and what makes those of the other slots if each has its own.
type First = (Option<Box<dyn Erased>>, Option<Make>);

/// The modules, what is looked up at their calls, and the resources that they share.
struct Registered {
    made: Vec<First>,
    traits: Vec<Traits>,
    resources: Vec<(String, u32)>,
    exclusives: Vec<String>,
}

impl Registered {
    /// With traits for `n` numbers.
    fn of(drafts: Vec<Draft>, n: usize) -> Self {
        let (mut made, mut traits, mut resources) = (Vec::new(), Vec::new(), Vec::new());
        let mut names: HashMap<String, u16> = HashMap::new();
        for draft in drafts {
            let mut own = |most| {
                resources.push((draft.label.clone(), most));
                resources.len() as u16 - 1
            };
            let resource = match &draft.threads {
                Threads::Concurrent | Threads::Stream => None,
                Threads::Serial => Some(own(1)),
                Threads::Limited(most) => Some(own(*most)),
                Threads::Exclusive(name) => Some(*names.entry(name.clone()).or_insert_with(|| {
                    resources.push((name.clone(), 1));
                    resources.len() as u16 - 1
                })),
            };
            let streams = draft.threads == Threads::Stream;
            let (waits, one_by_one) = (draft.waits, draft.one_by_one);
            traits.push(Traits { resource, streams, waits, one_by_one });
            made.push((draft.first, streams.then_some(draft.make)));
        }
        let none = Traits { resource: None, streams: false, waits: false, one_by_one: false };
        traits.resize(n, none);
        let exclusives = names.into_keys().collect();
        Registered { made, traits, resources, exclusives }
    }
}

/// Returns the modules that each module needs, without duplicates and without the source.
fn inputs(ports: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let n = ports.len();
    let inputs = ports.iter().map(|ports| {
        let mut inputs = ports.clone();
        inputs.sort_unstable();
        inputs.dedup();
        inputs.retain(|&input| usize::from(input) != n);
        inputs
    });
    inputs.collect()
}

/// Returns the modules that need each module's product.
fn consumers(inputs: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let mut consumers = vec![Vec::new(); inputs.len()];
    for (m, inputs) in inputs.iter().enumerate() {
        inputs.iter().for_each(|&input| consumers[usize::from(input)].push(m as u16));
    }
    consumers
}

/// The paths on which each of `n` modules stands: each once.
fn paths_of(n: usize, paths: &[(String, Vec<u16>)]) -> Vec<Vec<u16>> {
    let mut paths_of: Vec<Vec<u16>> = vec![Vec::new(); n];
    for (p, (_, steps)) in paths.iter().enumerate() {
        for &step in steps {
            if !paths_of[usize::from(step)].contains(&(p as u16)) {
                paths_of[usize::from(step)].push(p as u16);
            }
        }
    }
    paths_of
}

fn near(label: &str, known: &HashMap<&str, usize>) -> String {
    let best = known
        .keys()
        .map(|&other| (strsim::jaro_winkler(label, other), other))
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    match best {
        Some((likeness, other)) if likeness > 0.8 => format!("; is '{other}' meant?"),
        _ => String::new(),
    }
}

/// Modules that need each other: each followed by one that it needs, the first again at the end.
fn cycle(inputs: &[Vec<u16>]) -> Option<Vec<usize>> {
    let mut state = vec![0u8; inputs.len()];
    for root in 0..inputs.len() {
        let mut way: Vec<(usize, usize)> = Vec::new();
        if state[root] == 0 {
            state[root] = 1;
            way.push((root, 0));
        }
        while let Some((m, seen)) = way.last_mut() {
            let Some(&next) = inputs[*m].get(*seen) else {
                state[*m] = 2;
                way.pop();
                continue;
            };
            *seen += 1;
            let next = usize::from(next);
            match state[next] {
                0 => {
                    state[next] = 1;
                    way.push((next, 0));
                }
                1 => {
                    let from = way.iter().position(|&(m, _)| m == next).unwrap_or(0);
                    return Some(way[from..].iter().map(|&(m, _)| m).chain([next]).collect());
                }
                _ => {}
            }
        }
    }
    None
}

/// A graph that may be run: see [`crate::Processor`].
pub struct Graph {
    pub(crate) layout: Layout,
    /// In a lock only so that a graph is `Sync`.
    source: Mutex<Box<dyn ErasedSource>>,
    /// The modules. In a lock for the same reason.
    made: Mutex<Vec<First>>,
}

impl Graph {
    /// How many modules there are.
    pub fn len(&self) -> usize {
        usize::from(self.layout.modules)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the graph apart: its layout, its source, and its modules for so many slots.
    pub(crate) fn into_parts(
        self,
        slots: usize,
    ) -> Result<(Layout, Box<dyn ErasedSource>, Instances), StartError> {
        let Graph { layout, source, made } = self;
        let (mut all, mut first) = (Vec::new(), Vec::new());
        for (m, (one, make)) in (0..).zip(made.into_inner().unwrap_or_else(PoisonError::into_inner))
        {
            first.push(all.len() as u32);
            all.extend(one);
            let Some(mut make) = make else { continue };
            for slot in 1..slots {
                let mut inputs = Inputs { wanted: Vec::new(), slot: Some(slot) };
                let made = said(guard::catch(|| make(&mut inputs)));
                all.push(made.map_err(|cause| {
                    let label = layout.label(m).to_owned();
                    StartError::Module { label, slot: Some(slot), cause: cause.into() }
                })?);
            }
        }
        let source = source.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((layout, source, Instances { all: all.into(), first: first.into() }))
    }

    /// Its name: its source's label.
    pub(crate) fn name(&self) -> &str {
        self.layout.label(self.layout.source)
    }

    /// Products have these stamps, as far as their labels are among these: the modules that make
    /// them are elsewhere.
    pub(crate) fn stamped(mut self, stamps: &HashMap<String, Stamp>) -> Self {
        let Layout { labels, stamps: own, .. } = &mut self.layout;
        for (label, own) in labels.iter().zip(own) {
            *own = stamps.get(label).copied().unwrap_or(*own);
        }
        self
    }

    /// The names of resources that its modules share.
    pub(crate) fn exclusives(&self) -> &[String] {
        &self.layout.exclusives
    }

    /// The stamp of what this module (or the source) makes; `None` if nothing has this label.
    pub fn stamp(&self, label: &str) -> Option<Stamp> {
        let layout = &self.layout;
        (0..=layout.source).find(|&m| layout.label(m) == label).map(|m| layout.stamp(m))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} modules, {} paths)", self.len(), self.layout.paths.len())
    }
}

/// All that is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphErrors(pub Vec<String>);

impl fmt::Display for GraphErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for GraphErrors {}

//! The graph of modules: registered one by one, checked as a whole, then kept in flat arrays.

use crate::cells::{AnyStore, make_store};
use crate::instances::Instances;
use crate::layout::{ColumnOf, Layout, NO_COLUMN, Rows, Traits};
use crate::module::*;
use crate::product::{Inputs, Product, Wanted};
use crate::settings::StartError;
use crate::stamp::Stamp;
use actinium_scheduler::guard::{self, Guarded};
use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// How many events may be in a module at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Any number of events.
    Concurrent,
    /// One event.
    Serial,
    /// One event among all modules that name this resource.
    Exclusive(String),
    /// One instance per slot.
    Stream,
    /// The largest number of events at a time; at least 1.
    Limited(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Producer,
    Filter,
    Analyzer,
    Output,
}

// tidy: guard: what it holds of the user's is guarded, and so is what it makes.
type Make = Box<dyn Fn(&mut Inputs) -> Box<dyn Erased> + Send + Sync>;

#[derive(Clone, Copy)]
struct Made {
    type_id: TypeId,
    type_name: &'static str,
    store: fn(usize, usize) -> Box<dyn AnyStore>,
}

impl Made {
    fn of<T: Product>() -> Self {
        let (type_id, type_name) = (TypeId::of::<T>(), std::any::type_name::<T>());
        Made { type_id, type_name, store: make_store::<T> }
    }
}

struct Draft {
    label: String,
    version: u32,
    role: Role,
    threads: Threads,
    waits: bool,
    one_by_one: bool,
    wanted: Vec<Wanted>,
    made: Option<Made>,
    make: Make,
}

/// Registers modules and paths.
///
/// ```
/// use actinium_events::{Builder, Cause, Event, Input, Next, Analyzer, Producer, Processor, Settings, Source, Threads};
///
/// struct Numbers;
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < 10 { Next::Event(number) } else { Next::End })
///     }
/// }
/// struct Square(Input<u64>);
/// impl Producer for Square {
///     type Product = u128;
///     fn produce(&self, event: &Event<'_>) -> Result<u128, Cause> {
///         Ok(u128::from(*event.get(self.0)).pow(2))
///     }
/// }
/// struct Check(Input<u128>);
/// impl Analyzer for Check {
///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
///         assert_eq!(*event.get(self.0), u128::from(event.number() * event.number()));
///         Ok(())
///     }
/// }
/// let mut builder = Builder::new("numbers", Numbers);
/// builder.producer("square", Threads::Concurrent, |inputs| Square(inputs.get("numbers")));
/// builder.analyzer("check", Threads::Serial, |inputs| Check(inputs.get("square")));
/// let summary = Processor::new(builder.build()?, Settings::default().workers(2)).run()?;
/// assert_eq!((summary.events, summary.failed), (10, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Builder {
    source_label: String,
    source_version: u32,
    source_made: Made,
    source: Box<dyn ErasedSource>,
    drafts: Vec<Draft>,
    selects: HashMap<usize, String>,
    paths: Vec<(String, Vec<String>)>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builder({} modules)", self.drafts.len())
    }
}

macro_rules! register {
    ($($(#[$doc:meta])* $method:ident, $role:ident: $bound:ident in $wrap:ident, waits $waits:literal, $made:expr;)+) => {$(
        $(#[$doc])*
        pub fn $method<M: $bound>(
            &mut self,
            label: &str,
            threads: Threads,
            make: impl Fn(&mut Inputs) -> M + Send + Sync + 'static,
        ) -> &mut Self {
            let make = Guarded::new(make);
            let make: Make = Box::new(move |inputs| Box::new($wrap(Guarded::new((*make)(inputs)))));
            self.add(label, Role::$role, threads, $waits, $made, make)
        }
    )+};
}

impl Builder {
    /// A graph whose events come from `source`; its product has this label.
    pub fn new<S: Source>(label: &str, source: S) -> Self {
        Builder {
            source_label: label.to_owned(),
            source_version: 0,
            source_made: Made::of::<S::Product>(),
            source: Box::new(OfSource(Guarded::new(source))),
            drafts: Vec::new(),
            selects: HashMap::new(),
            paths: Vec::new(),
        }
    }

    register! {
        /// A filter: it runs when a path comes to it.
        filter, Filter: Filter in OfFilter, waits false, None;
        /// An analyzer: it runs when a path comes to it, or for each event if it is on no path.
        analyzer, Analyzer: Analyzer in OfAnalyzer, waits false, None;
        /// An output: see [`Output`]. [`Builder::select`] says for which events.
        output, Output: Output in OfOutput, waits false, None;
        /// A producer: it runs when what it makes is needed.
        producer, Producer: Producer in OfProducer, waits false, Some(Made::of::<M::Product>());
        /// A producer that waits.
        async_producer, Producer: AsyncProducer in OfAsyncProducer, waits true, Some(Made::of::<M::Product>());
        /// A filter that waits.
        async_filter, Filter: AsyncFilter in OfAsyncFilter, waits true, None;
        /// An analyzer that waits.
        async_analyzer, Analyzer: AsyncAnalyzer in OfAsyncAnalyzer, waits true, None;
        /// An output that waits.
        async_output, Output: AsyncAnalyzer in OfAsyncAnalyzer, waits true, None;
    }

    fn add(
        &mut self,
        label: &str,
        role: Role,
        threads: Threads,
        waits: bool,
        made: Option<Made>,
        make: Make,
    ) -> &mut Self {
        let mut inputs = Inputs::default();
        // Once for what it asks for; the instances that run are made when the number of slots is
        // known.
        drop(make(&mut inputs));
        let (label, wanted) = (label.to_owned(), inputs.wanted);
        self.drafts.push(Draft {
            label,
            version: 0,
            role,
            threads,
            waits,
            one_by_one: false,
            wanted,
            made,
            make,
        });
        self
    }

    /// A path: filters and analyzers, one after the other, until the first filter that says no.
    pub fn path(&mut self, name: &str, labels: &[&str]) -> &mut Self {
        self.paths.push((name.to_owned(), labels.iter().map(|&label| label.to_owned()).collect()));
        self
    }

    /// The module that was registered last gets its inputs made one after the other, in the order
    /// in which it asked for them, rather than all at once.
    pub fn one_by_one(&mut self) -> &mut Self {
        if let Some(last) = self.drafts.last_mut() {
            last.one_by_one = true;
        }
        self
    }

    /// The module that was registered last, or the source if there is none yet, has this version; 0
    /// if nobody says. A version is whatever changes when its results do: see [`Stamp`].
    pub fn version(&mut self, version: u32) -> &mut Self {
        match self.drafts.last_mut() {
            Some(last) => last.version = version,
            None => self.source_version = version,
        }
        self
    }

    /// The output that was registered last writes only events for which this path went on to its
    /// end.
    pub fn select(&mut self, path: &str) -> &mut Self {
        if let Some(last) = self.drafts.len().checked_sub(1) {
            self.selects.insert(last, path.to_owned());
        }
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn build(self) -> Result<Graph, GraphErrors> {
        let mut errors = Vec::new();
        let n = self.drafts.len();
        if n >= usize::from(u16::MAX) {
            return Err(GraphErrors(vec![format!("{n} modules: at most 65,534 are possible")]));
        }
        let by_label = self.by_label(&mut errors);
        let ports = self.ports(&by_label, &mut errors);
        let inputs = inputs(&ports);
        if let Some(cycle) = cycle(&inputs) {
            let labels: Vec<_> = cycle.iter().map(|&m| self.drafts[m].label.as_str()).collect();
            errors.push(format!("modules need each other in a cycle: {}", labels.join(" needs ")));
        }
        let paths = self.paths(&by_label, &mut errors);
        let outputs = self.outputs(&paths, &mut errors);
        if !errors.is_empty() {
            return Err(GraphErrors(errors));
        }
        let of_modules: Vec<_> = self
            .drafts
            .iter()
            .zip(&ports)
            .map(|(draft, ports)| (draft.label.as_str(), draft.version, ports.as_slice()))
            .collect();
        let stamps = crate::stamp::stamps(&of_modules, (&self.source_label, self.source_version));
        let roots = self.roots(&paths);
        let (columns_of, columns) = self.columns();
        let labels = self.drafts.iter().map(|draft| draft.label.clone());
        let labels = labels.chain([self.source_label.clone()]).collect();
        let Registered { makes, traits, resources, exclusives } = Registered::of(self.drafts);
        let layout = Layout {
            source: n as u16,
            labels,
            ports: Rows::new(&ports),
            inputs: Rows::new(&inputs),
            consumers: Rows::new(&consumers(&inputs)),
            paths_of: Rows::new(&paths_of(n, &paths)),
            paths,
            roots,
            outputs,
            columns_of,
            columns,
            traits: traits.into(),
            stamps,
            resources,
            exclusives,
        };
        Ok(Graph { layout, source: Mutex::new(self.source), makes })
    }

    /// Modules by their labels; the source has the number after theirs.
    fn by_label(&self, errors: &mut Vec<String>) -> ByLabel<'_> {
        let n = self.drafts.len();
        let mut by_label = HashMap::from([(self.source_label.as_str(), n)]);
        for (index, draft) in self.drafts.iter().enumerate() {
            if by_label.insert(&draft.label, index).is_some() {
                errors.push(format!("two modules have the label '{}'", draft.label));
            }
            if draft.threads == Threads::Limited(0) {
                errors
                    .push(format!("module '{}': limited to 0, where 1 is the least", draft.label));
            }
        }
        by_label
    }

    /// Returns, for each module, the producers of what it asks for, in the order in which it asks.
    fn ports(&self, by_label: &ByLabel<'_>, errors: &mut Vec<String>) -> Vec<Vec<u16>> {
        let n = self.drafts.len();
        let source_made = Some(self.source_made);
        let mut ports: Vec<Vec<u16>> = vec![Vec::new(); n];
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
                let made = if producer == n { &source_made } else { &self.drafts[producer].made };
                match made {
                    None => errors.push(format!("{name}, which makes no product")),
                    Some(made) if made.type_id != wanted.type_id => {
                        errors.push(format!("{name}, which makes {}", made.type_name));
                    }
                    Some(_) => ports.push(producer as u16),
                }
            }
        }
        ports
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
            let select = self.selects.get(&index).and_then(|name| {
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
        let all_made = self.drafts.iter().map(|draft| draft.made).chain([Some(self.source_made)]);
        let columns_of = all_made
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

/// What makes modules, what is looked up at their calls, and the resources that they share.
struct Registered {
    makes: Vec<Make>,
    traits: Vec<Traits>,
    resources: Vec<(String, u32)>,
    exclusives: Vec<String>,
}

impl Registered {
    fn of(drafts: Vec<Draft>) -> Self {
        let (mut makes, mut traits, mut resources) = (Vec::new(), Vec::new(), Vec::new());
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
            makes.push(draft.make);
        }
        let exclusives = names.into_keys().collect();
        Registered { makes, traits, resources, exclusives }
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
    /// What makes each module.
    makes: Vec<Make>,
}

impl Graph {
    /// How many modules there are.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes all modules for so many slots.
    pub(crate) fn instances(&self, slots: usize) -> Result<Instances, StartError> {
        let (mut all, mut first) = (Vec::new(), Vec::new());
        for (m, make) in (0..).zip(&self.makes) {
            first.push(all.len() as u32);
            let streams = self.layout.traits(m).streams;
            for slot in 0..if streams { slots } else { 1 } {
                let slot = streams.then_some(slot);
                let made = guard::catch(|| make(&mut Inputs { wanted: Vec::new(), slot }));
                all.push(made.map_err(|panicked| {
                    let label = self.layout.label(m).to_owned();
                    StartError::Module { label, slot, panicked }
                })?);
            }
        }
        Ok(Instances { all: all.into(), first: first.into() })
    }

    /// Its name: its source's label.
    pub(crate) fn name(&self) -> &str {
        self.layout.label(self.layout.source)
    }

    /// The names of resources that its modules share.
    pub(crate) fn exclusives(&self) -> &[String] {
        &self.layout.exclusives
    }

    /// Takes the graph apart: its layout, and its source.
    pub(crate) fn into_parts(self) -> (Layout, Box<dyn ErasedSource>) {
        (self.layout, self.source.into_inner().unwrap_or_else(PoisonError::into_inner))
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

//! The modules and paths of a job: of its data flow, its times, and its control flow if it has one.

use super::control_flow::ControlFlow;
use super::data_flow::{DataFlow, Kind};
use super::sequences::Sequence;
use super::times::TimesByName;
use crate::draft::{DraftModule, DraftPath, Wanted};
use crate::fault::{Reporter, quoted};
use crate::model::{Module, Position, Role, Threads, Times, Work};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

/// Modules and paths.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) modules: Vec<DraftModule>,
    pub(super) paths: Vec<DraftPath>,
}

/// The times, and the name of their file.
#[derive(Clone, Copy)]
pub(super) struct Timing<'t> {
    pub(super) times: &'t TimesByName,
    pub(super) file: &'t str,
}

impl Timing<'_> {
    fn of(self, name: &str, at: Position, reporter: &mut Reporter<'_>) -> u64 {
        let ns = self.times.of(name);
        if ns.is_none() {
            let message = format!("{} has no time in {}: it takes none", quoted(name), self.file);
            reporter.warning_at(at, message);
        }
        ns.unwrap_or(0)
    }
}

/// A data flow alone: an algorithm whose objects nobody needs stands on a path of its own, so that
/// all of them run.
pub(super) fn of_data(flow: &DataFlow, timing: Timing<'_>, reporter: &mut Reporter<'_>) -> Modules {
    let mut all = algorithms(flow, timing, &HashMap::new(), reporter);
    let on_paths = all.modules.iter().filter(|draft| draft.module.role != Role::Producer);
    let path = |draft: &DraftModule| {
        let Module { label, at, .. } = &draft.module;
        DraftPath { name: label.clone(), steps: vec![(label.clone(), *at)], at: *at }
    };
    all.paths = on_paths.map(path).collect();
    all
}

/// A data flow under a control flow: what stands on its paths decides what runs.
pub(super) fn of_both(
    flow: &DataFlow,
    control: &ControlFlow,
    sequences: &[Sequence],
    timing: Timing<'_>,
    reporter: &mut Reporter<'_>,
    control_reporter: &mut Reporter<'_>,
) -> Modules {
    let found = vertices(flow, control, control_reporter);
    let roles = roles(sequences);
    let mut on_paths: HashMap<usize, Role> = HashMap::new();
    for (algorithm, &role) in &roles {
        if let Some(vertex) = found[*algorithm] {
            let first = on_paths.entry(vertex).or_insert(role);
            *first = if role == Role::Filter { role } else { *first };
        }
    }
    let mut all = algorithms(flow, timing, &on_paths, reporter);
    let mut labels: HashSet<String> =
        all.modules.iter().map(|draft| draft.module.label.clone()).collect();
    let deciders = deciders(flow, &mut all, &on_paths, &mut labels);
    let mut steps: HashMap<usize, String> = HashMap::new();
    for (algorithm, it) in control.algorithms.iter().enumerate() {
        let Some(&role) = roles.get(&algorithm) else {
            if !it.is_member {
                let message = format!(
                    "{} is a member of no hub: it runs only if somebody needs what it makes",
                    quoted(&it.id)
                );
                control_reporter.warning_at(it.at, message);
            }
            continue;
        };
        let label = match found[algorithm] {
            Some(vertex) => deciders.get(&vertex).unwrap_or(&flow.vertices[vertex].id).clone(),
            None => {
                let ns = timing.of(it.name(), it.at, control_reporter);
                let label = free(it.name(), &it.id, &mut labels);
                let module = module(label.clone(), it.class.clone(), role, ns, it.at);
                all.modules.push(DraftModule { module, wants: Vec::new(), own: None });
                label
            }
        };
        steps.insert(algorithm, label);
    }
    all.paths = sequences.iter().map(|sequence| path(sequence, control, &steps)).collect();
    all
}

fn path(sequence: &Sequence, control: &ControlFlow, labels: &HashMap<usize, String>) -> DraftPath {
    let mut seen = HashSet::new();
    let steps = sequence.steps.iter().filter_map(|step| {
        let label = labels.get(step)?;
        // Two names of the control flow may be one algorithm of the data flow.
        seen.insert(label).then(|| (label.clone(), control.algorithms[*step].at))
    });
    DraftPath { name: sequence.name.clone(), steps: steps.collect(), at: sequence.at }
}

/// Returns each algorithm that stands on a path: a filter if others stand behind it.
fn roles(sequences: &[Sequence]) -> HashMap<usize, Role> {
    let mut roles = HashMap::new();
    for Sequence { steps, .. } in sequences {
        for (index, &step) in steps.iter().enumerate() {
            let role = roles.entry(step).or_insert(Role::Analyzer);
            if index + 1 < steps.len() {
                *role = Role::Filter;
            }
        }
    }
    roles
}

/// Returns the node of the data flow that each algorithm of the control flow is, if there is one.
fn vertices(
    flow: &DataFlow,
    control: &ControlFlow,
    reporter: &mut Reporter<'_>,
) -> Vec<Option<usize>> {
    let ids = flow.vertices.iter().enumerate();
    let index: HashMap<&str, usize> = ids.map(|(index, v)| (v.id.as_str(), index)).collect();
    let found = control.algorithms.iter().map(|it| {
        let vertex = index.get(it.id.as_str()).or_else(|| index.get(it.name())).copied()?;
        if flow.vertices[vertex].kind == Kind::Object {
            let name = quoted(&it.id);
            let message =
                format!("{name} is an algorithm here, and a data object in the data flow");
            reporter.error_at(it.at, message);
            return None;
        }
        Some(vertex)
    });
    found.collect()
}

/// The algorithms of a data flow. Those that nobody needs have the role that their paths give them.
fn algorithms(
    flow: &DataFlow,
    timing: Timing<'_>,
    on_paths: &HashMap<usize, Role>,
    reporter: &mut Reporter<'_>,
) -> Modules {
    let mut products = flow.products();
    let needed: HashSet<usize> = (0..flow.vertices.len())
        .flat_map(|algorithm| flow.needs(algorithm))
        .filter_map(|(_, maker, _)| maker)
        .collect();
    let mut all = Modules::default();
    for (index, vertex) in flow.vertices.iter().enumerate() {
        let ns = match vertex.kind {
            Kind::Object => continue,
            Kind::Fake => timing.times.of(&vertex.id).unwrap_or(0),
            Kind::Algorithm => timing.of(&vertex.id, vertex.at, reporter),
        };
        let wants = wants(index, flow, reporter);
        let role = match needed.contains(&index) {
            true => Role::Producer,
            false => on_paths.get(&index).copied().unwrap_or(Role::Analyzer),
        };
        let mut module = module(vertex.id.clone(), vertex.class.clone(), role, ns, vertex.at);
        if role == Role::Producer {
            module.products = products.remove(&index).unwrap_or_default();
        }
        all.modules.push(DraftModule { module, wants, own: None });
    }
    all
}

/// A producer runs when somebody needs what it makes. One that stands on a path has a module there
/// that needs it, takes no time, and decides. Returns the labels of these.
fn deciders(
    flow: &DataFlow,
    all: &mut Modules,
    on_paths: &HashMap<usize, Role>,
    labels: &mut HashSet<String>,
) -> HashMap<usize, String> {
    let algorithms = (0..flow.vertices.len()).filter(|&v| flow.vertices[v].kind != Kind::Object);
    let mut deciders = HashMap::new();
    let mut drafts = Vec::new();
    for (vertex, draft) in algorithms.zip(&all.modules) {
        let Module { label, class, role: Role::Producer, products, at, .. } = &draft.module else {
            continue;
        };
        let Some(&role) = on_paths.get(&vertex) else { continue };
        let name = format!("{label} (decision)");
        let decides = free(&name, &format!("{name} of {vertex}"), labels);
        let module = module(decides.clone(), class.clone(), role, 0, *at);
        let wanted = Wanted { label: label.clone(), product: products.first().cloned(), at: *at };
        drafts.push(DraftModule { module, wants: vec![wanted], own: None });
        deciders.insert(vertex, decides);
    }
    all.modules.extend(drafts);
    deciders
}

/// A label that no module has: this one, or else a longer one.
fn free(label: &str, longer: &str, labels: &mut HashSet<String>) -> String {
    let mut free = label.to_owned();
    let mut number = 1;
    while !labels.insert(free.clone()) {
        free = if number == 1 { longer.to_owned() } else { format!("{longer} ({number})") };
        number += 1;
    }
    free
}

/// Returns an algorithm's inputs, each with the algorithm that makes it.
fn wants(index: usize, flow: &DataFlow, reporter: &mut Reporter<'_>) -> Vec<Wanted> {
    let mut wants = Vec::new();
    for (object, maker, at) in flow.needs(index) {
        match maker {
            Some(maker) => wants.push(Wanted {
                label: flow.vertices[maker].id.clone(),
                product: Some(flow.vertices[object].id.clone()),
                at,
            }),
            None => {
                let [who, object] = [index, object].map(|v| quoted(&flow.vertices[v].id));
                let message = format!(
                    "{who} needs {object}, which no algorithm makes: it is taken to be there"
                );
                reporter.warning_at(at, message);
            }
        }
    }
    wants
}

fn module(label: String, class: String, role: Role, ns: u64, at: Position) -> Module {
    Module {
        label,
        class,
        role,
        threads: Threads::Concurrent,
        work: Work::Busy,
        times: Times::constant(ns),
        parts: NonZeroU32::MIN,
        steals_while_splitting: false,
        inputs: Vec::new(),
        fetches_one_by_one: false,
        products: Vec::new(),
        fails_every: None,
        accepts_fraction: 1.0,
        at,
    }
}

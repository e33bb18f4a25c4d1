//! Turns labels into indices, and finds all that does not fit together, at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::draft::{Draft, DraftModule, DraftPath, Wanted};
use super::fault::{Reporter, quoted, suggestion};
use super::graph;
use super::model::{Input, Module, Path, Role, Workload};

/// More modules of a cycle than this are not listed.
const CYCLE_LABELS_MAX: usize = 12;

/// The workload, unless something forbids running it.
pub(super) fn resolve(mut draft: Draft, reporter: &mut Reporter<'_>) -> Option<Workload> {
    let labels = labels(&draft.modules, reporter);
    let paths = draft
        .paths
        .iter()
        .map(|path| resolve_path(path, &draft.modules, &labels, reporter))
        .collect::<Vec<_>>();
    check_path_names(&draft.paths, reporter);
    let source = draft.source_label.as_deref();
    let inputs: Vec<Vec<Input>> = draft
        .modules
        .iter()
        .map(|module| resolve_inputs(module, source, &draft.modules, &labels, reporter))
        .collect();
    let modules = std::mem::take(&mut draft.modules).into_iter().zip(inputs);
    let modules: Vec<Module> =
        modules.map(|(draft, inputs)| Module { inputs, ..draft.module }).collect();
    check_cycles(&modules, reporter);
    // A path whose modules are not known was told of already.
    if draft.paths.iter().all(|path| path.steps.is_empty()) {
        let message =
            "no path has a module: nothing would run; name a filter, analyzer or output in 'paths'";
        reporter.error_at(draft.paths_at, message);
    }
    if reporter.is_fatal() {
        return None;
    }
    let Draft { name, format, options, source, resources, .. } = draft;
    let workload = Workload { name, format, options, source, modules, resources, paths };
    warn_of_unreachable(&workload, reporter);
    Some(workload)
}

/// Which module each label stands for: the first of that label.
fn labels(modules: &[DraftModule], reporter: &mut Reporter<'_>) -> HashMap<String, usize> {
    let mut labels = HashMap::with_capacity(modules.len());
    for (index, DraftModule { module, .. }) in modules.iter().enumerate() {
        if module.label.is_empty() || module.label.chars().any(char::is_control) {
            let message =
                "a module's label has to have at least one character, and no control characters";
            reporter.error_at(module.at, message);
        }
        match labels.entry(module.label.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(index);
            }
            Entry::Occupied(first) => {
                let line = modules[*first.get()].module.at.line;
                let label = quoted(&module.label);
                let message = format!(
                    "there is a module {label} already, in line {line}: a label may stand for one module only"
                );
                reporter.error_at(module.at, message);
            }
        }
    }
    labels
}

/// The inputs of a module, without the source's product.
fn resolve_inputs(
    module: &DraftModule,
    source: Option<&str>,
    modules: &[DraftModule],
    labels: &HashMap<String, usize>,
    reporter: &mut Reporter<'_>,
) -> Vec<Input> {
    let mut inputs: Vec<Input> = Vec::with_capacity(module.wants.len());
    let mut seen = HashMap::with_capacity(module.wants.len());
    let of_modules = |wanted: &&Wanted| source != Some(&wanted.label) || wanted.product.is_some();
    for wanted in module.wants.iter().filter(of_modules) {
        let Some(input) = resolve_input(&module.module, wanted, modules, labels, reporter) else {
            continue;
        };
        match seen.entry((input.module, input.product.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(());
                inputs.push(input);
            }
            // A module of the program's own may have it in two places.
            Entry::Occupied(_) if module.own.is_some() => {}
            Entry::Occupied(_) => {
                let (label, wanted_label) = (quoted(&module.module.label), quoted(&wanted.label));
                let message = format!(
                    "module {label} asks for {wanted_label} more than once: it is given once"
                );
                reporter.warning_at(wanted.at, message);
            }
        }
    }
    inputs
}

fn resolve_input(
    module: &Module,
    wanted: &Wanted,
    modules: &[DraftModule],
    labels: &HashMap<String, usize>,
    reporter: &mut Reporter<'_>,
) -> Option<Input> {
    let (label, who) = (quoted(&wanted.label), quoted(&module.label));
    let Some(&index) = labels.get(&wanted.label) else {
        let producers = modules.iter().map(|draft| &draft.module);
        let producers = producers.filter(|known| known.role == Role::Producer);
        let near = suggestion(&wanted.label, producers.map(|known| known.label.as_str()));
        let message = format!(
            "module {who} asks for {label}, which no module is called: it has to be a producer's label{near}"
        );
        reporter.error_at(wanted.at, message);
        return None;
    };
    let producer = &modules[index].module;
    if producer.role != Role::Producer {
        let role = role_name(producer.role);
        let message = format!(
            "module {who} asks for {label}, which is {role} and makes no product: it has to be a producer's label"
        );
        reporter.error_at(wanted.at, message);
        return None;
    }
    let product = match (&wanted.product, producer.products.as_slice()) {
        (None, [only]) => only.clone(),
        (Some(product), products) if products.contains(product) => product.clone(),
        (wanted_product, products) => {
            let there =
                products.iter().map(|product| quoted(product)).collect::<Vec<_>>().join(", ");
            let problem = match wanted_product {
                None => format!("which makes {} products: say which", products.len()),
                Some(product) => {
                    let near = suggestion(product, products.iter().map(String::as_str));
                    format!("but {label} makes no product {}{near}", quoted(product))
                }
            };
            let message = format!("module {who} asks for {label}, {problem}; there are: {there}");
            reporter.error_at(wanted.at, message);
            return None;
        }
    };
    Some(Input { module: index, product, at: wanted.at })
}

fn resolve_path(
    path: &DraftPath,
    modules: &[DraftModule],
    labels: &HashMap<String, usize>,
    reporter: &mut Reporter<'_>,
) -> Path {
    let name = quoted(&path.name);
    let mut steps: Vec<usize> = Vec::with_capacity(path.steps.len());
    let mut seen = std::collections::HashSet::new();
    for (label, at) in &path.steps {
        let quoted_label = quoted(label);
        let Some(&index) = labels.get(label) else {
            let on_paths = modules.iter().map(|draft| &draft.module);
            let on_paths = on_paths.filter(|module| module.role != Role::Producer);
            let near = suggestion(label, on_paths.map(|module| module.label.as_str()));
            let message =
                format!("path {name} has {quoted_label}, which no module is called{near}");
            reporter.error_at(*at, message);
            continue;
        };
        if modules[index].module.role == Role::Producer {
            let message = format!(
                "path {name} has {quoted_label}, which is a producer: it runs when its product is asked for; a path has filters, analyzers and outputs"
            );
            reporter.error_at(*at, message);
        } else if seen.insert(index) {
            steps.push(index);
        } else {
            let message =
                format!("path {name} has {quoted_label} more than once: it runs once per event");
            reporter.error_at(*at, message);
        }
    }
    if path.steps.is_empty() {
        reporter.warning_at(path.at, format!("path {name} is empty: it does nothing"));
    }
    Path { name: path.name.clone(), modules: steps, at: path.at }
}

fn check_path_names(paths: &[DraftPath], reporter: &mut Reporter<'_>) {
    let mut seen = HashMap::with_capacity(paths.len());
    for path in paths {
        if let Some(first) = seen.insert(&path.name, path.at) {
            let message =
                format!("there is a path {} already, in line {}", quoted(&path.name), first.line);
            reporter.error_at(path.at, message);
        }
    }
}

fn check_cycles(modules: &[Module], reporter: &mut Reporter<'_>) {
    for cycle in graph::cycles(modules) {
        let labels = cycle.iter().chain(cycle.first()).map(|&index| quoted(&modules[index].label));
        let labels = match cycle.len() > CYCLE_LABELS_MAX {
            false => labels.collect::<Vec<_>>().join(" needs "),
            true => {
                let first = labels.take(CYCLE_LABELS_MAX).collect::<Vec<_>>().join(" needs ");
                format!("{first} needs … ({} modules in all)", cycle.len())
            }
        };
        let first = &modules[cycle[0]];
        let next = cycle[1 % cycle.len()];
        let at = first
            .inputs
            .iter()
            .find(|input| input.module == next)
            .map_or(first.at, |input| input.at);
        let message = format!(
            "a cycle: {labels}: take out one of these inputs, for no event could ever be finished"
        );
        reporter.error_at(at, message);
    }
}

fn warn_of_unreachable(workload: &Workload, reporter: &mut Reporter<'_>) {
    let reachable = graph::reachable(workload);
    for (module, _) in workload.modules.iter().zip(&reachable).filter(|&(_, &reached)| !reached) {
        let why = match module.role {
            Role::Producer => "no path needs what it makes",
            Role::Filter | Role::Analyzer | Role::Output => "it stands on no path",
        };
        let message = format!("module {} never runs: {why}", quoted(&module.label));
        reporter.warning_at(module.at, message);
    }
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Producer => "a producer",
        Role::Filter => "a filter",
        Role::Analyzer => "an analyzer",
        Role::Output => "an output",
    }
}

//! A file whose source and modules have types of the program's own: checked against the program's
//! [`Registry`], and made a graph.

use crate::draft::{Draft, DraftModule, OwnType, Wanted};
use crate::fault::{Reporter, quoted};
use crate::registry::{AfterModule, ModuleType, Place, Registry, SourceType, TypeOf, Wrong};
use crate::tree::Node;
use crate::{Role, Threads as FileThreads, Work, Workload, graph, replay};
use actinium_events::{Builder, Graph, GraphErrors, ModuleOptions, Threads, ThreadsMut};
use actinium_scheduler::guard;
use actinium_scheduler::mixing::mix;
use std::collections::HashMap;
use std::fmt;

/// What is done with types that the program does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The file can not be run.
    Refused,
    /// The file is planned or replayed: types do not matter.
    Tolerated,
}

/// What a file asks of the program's own types. It belongs to the [`Workload`] that was read with
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    source_label: String,
    source: Asked,
    /// For each module of the workload.
    modules: Vec<AskedModule>,
}

/// A type, and its parameters.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    name: String,
    parameters: Node,
}

#[derive(Clone, Debug, PartialEq)]
struct AskedModule {
    asked: Asked,
    /// The labels of its inputs in the graph, in their order.
    inputs: Vec<String>,
    /// The labels of its products in the graph, if it makes several.
    products: Vec<String>,
}

/// What is to be done when the run of a job has ended.
#[must_use = "modules have results to write"]
#[derive(Default)]
pub struct After(Vec<(String, Role, AfterModule)>);

impl fmt::Debug for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(label, ..)| label)).finish()
    }
}

impl After {
    /// The first module that gathers something and is no output: of a graph on several nodes, each
    /// node would have its own.
    #[must_use]
    pub fn of_each_node(&self) -> Option<&str> {
        let inner = self.0.iter().find(|(_, role, _)| *role != Role::Output);
        inner.map(|(label, ..)| label.as_str())
    }

    /// Does it, for one module after the other. To be called if the run has ended orderly: not if
    /// it was given up, and not if a failure ended it.
    ///
    /// # Errors
    /// Those of all modules that could not, each with the module's label.
    pub fn run(self) -> Result<(), GraphErrors> {
        let failed = self.0.into_iter().filter_map(|(label, _, after)| {
            let done = guard::catch(|| after().map_err(|cause| told(&*cause)));
            let cause = done.unwrap_or_else(|panicked| Err(panicked.to_string())).err()?;
            Some(format!("module '{label}', after the run: {cause}"))
        });
        match failed.collect::<Vec<_>>() {
            none if none.is_empty() => Ok(()),
            failed => Err(GraphErrors(failed)),
        }
    }
}

impl Job {
    /// The graph of the modules that paths need, and what is to be done after its run.
    ///
    /// # Errors
    /// If a module can not be made, or the graph is not right.
    pub fn graph(
        &self,
        registry: &Registry,
        workload: &Workload,
    ) -> Result<(Graph, After), GraphErrors> {
        let (builder, after) = self.builder(registry, workload)?;
        Ok((builder.build()?, after))
    }

    /// The graph of the modules that paths need, to be run on several nodes, say, and what is to be
    /// done after its run.
    ///
    /// # Errors
    /// If the source can not be made.
    pub fn builder(
        &self,
        registry: &Registry,
        workload: &Workload,
    ) -> Result<(Builder, After), GraphErrors> {
        let unknown = |why: String| GraphErrors(vec![why]);
        let source = registry.source_type(&self.source.name).map_err(unknown)?;
        let mut builder = source.begin(&self.source_label, &self.source.parameters)?;
        builder.source_version(self.source.version());
        registry.cross(&mut builder, &self.source_label, source.makes);
        let mut after = After::default();
        let reached = graph::reachable(workload);
        for (index, asked) in self.modules.iter().enumerate().filter(|&(index, _)| reached[index]) {
            let module = registry.module_type(&asked.asked.name).map_err(unknown)?;
            let done = self.add(&mut builder, workload, index, module)?;
            let label = &workload.modules[index].label;
            after.0.extend(done.map(|done| (label.clone(), module.role, done)));
            for (name, of) in &module.products {
                let label = if name.is_empty() { label.clone() } else { part(label, name) };
                registry.cross(&mut builder, &label, *of);
            }
        }
        replay::add_paths(&mut builder, workload);
        Ok((builder, after))
    }

    fn add(
        &self,
        builder: &mut Builder,
        workload: &Workload,
        index: usize,
        of: &ModuleType,
    ) -> Result<Option<AfterModule>, GraphErrors> {
        let (module, asked) = (&workload.modules[index], &self.modules[index]);
        let threads = replay::threads(workload, module);
        let threads_mut = match &threads {
            Threads::Serial => ThreadsMut::Serial,
            Threads::Exclusive(resource) => ThreadsMut::Exclusive(resource.clone()),
            Threads::Stream => ThreadsMut::Stream,
            Threads::Concurrent | Threads::Limited(_) if of.changes => {
                return Err(GraphErrors(vec![changes(&module.label)]));
            }
            // It is not looked at.
            Threads::Concurrent | Threads::Limited(_) => ThreadsMut::Serial,
        };
        let is_output = module.role == Role::Output;
        let select = is_output.then(|| replay::selecting_path(workload, index)).flatten();
        let (one_by_one, version) = (module.fetches_one_by_one, asked.asked.version());
        Ok(of.add(
            builder,
            &Place {
                label: &module.label,
                options: options(threads.version(version), one_by_one, select.as_deref()),
                options_mut: options(threads_mut.version(version), one_by_one, select.as_deref()),
                parameters: &asked.asked.parameters,
                inputs: &asked.inputs,
                products: asked.products.iter().map(String::as_str).collect(),
            },
        ))
    }
}

fn options<K>(
    mut options: ModuleOptions<K>,
    one_by_one: bool,
    select: Option<&str>,
) -> ModuleOptions<K> {
    if one_by_one {
        options = options.one_by_one();
    }
    match select {
        Some(path) => options.select(path),
        None => options,
    }
}

fn changes(label: &str) -> String {
    format!(
        "module {} changes a state of its own: it has to be serial, exclusive(RESOURCE) or stream",
        quoted(label)
    )
}

/// An error and its sources.
fn told(cause: &(dyn std::error::Error + Send + Sync)) -> String {
    let mut text = cause.to_string();
    let sources = std::iter::successors(cause.source(), |error| error.source());
    for source in sources.take(32) {
        text += &format!(": {source}");
    }
    text
}

/// Checks what a file asks of the program's types, and gives the draft's modules their roles and
/// products. `None` if it asks nothing, or a type is not known.
pub(crate) fn check(
    draft: &mut Draft,
    registry: &Registry,
    unknown: Unknown,
    reporter: &mut Reporter<'_>,
) -> Option<Job> {
    let any = draft.modules.iter().any(|module| module.own.is_some());
    if !any && draft.own_source.is_none() {
        return None;
    }
    for name in registry.twice() {
        let message = format!("this program has two types that are called {}", quoted(name));
        reporter.error_at(draft.source.at, message);
    }
    let mut check = Checking { registry, unknown, reporter };
    let source = check.source(draft);
    let types: Vec<Option<&ModuleType>> =
        draft.modules.iter_mut().map(|module| check.module(module)).collect();
    check.outputs(draft);
    let products = Products::new(draft, source, &types);
    let mut modules = Vec::with_capacity(types.len());
    for (module, of) in draft.modules.iter().zip(&types) {
        let (Some(of), Some(own)) = (of, &module.own) else { continue };
        check.inputs(module, of, &products);
        let several = |(name, _): &(String, TypeOf)| part(&module.module.label, name);
        modules.push(AskedModule {
            asked: Asked::new(&own.own),
            inputs: module.wants.iter().map(|wanted| products.label(wanted)).collect(),
            products: of
                .products
                .iter()
                .filter(|(name, _)| !name.is_empty())
                .map(several)
                .collect(),
        });
    }
    source?;
    let own = draft.own_source.as_ref()?;
    (modules.len() == types.len()).then(|| Job {
        source_label: draft.source_label.clone().unwrap_or_default(),
        source: Asked::new(own),
        modules,
    })
}

impl Asked {
    fn new(own: &OwnType) -> Self {
        Asked { name: own.name.clone(), parameters: own.parameters.clone() }
    }

    /// A version that changes with the type and with parameters: products of others are others.
    fn version(&self) -> u32 {
        let sum = self.name.bytes().fold(1, |sum, byte| mix(sum, byte.into()));
        (self.parameters.digest(sum) >> 32) as u32
    }
}

/// The label of one of several products.
fn part(label: &str, product: &str) -> String {
    format!("{label}.{product}")
}

struct Checking<'a, 't, 'r> {
    registry: &'a Registry,
    unknown: Unknown,
    reporter: &'r mut Reporter<'t>,
}

impl<'a> Checking<'a, '_, '_> {
    fn source(&mut self, draft: &Draft) -> Option<&'a SourceType> {
        let at = draft.source.at;
        let same =
            draft.modules.iter().find(|it| Some(&it.module.label) == draft.source_label.as_ref());
        if let Some(module) = same {
            let label = quoted(&module.module.label);
            let message = format!("the source has the label {label}, too: give one another label");
            self.reporter.error_at(module.module.at, message);
        }
        let Some(own) = &draft.own_source else {
            let message = "'source' lacks 'type': modules have types of the program's own, and so its events have to";
            self.reporter.error_at(at, message);
            return None;
        };
        let of = self.known("the source", own, self.registry.source_type(&own.name))?;
        self.parameters("the source", own, of.check);
        Some(of)
    }

    fn module(&mut self, draft: &mut DraftModule) -> Option<&'a ModuleType> {
        let module = &mut draft.module;
        let whose = format!("module {}", quoted(&module.label));
        let Some(own) = &draft.own else {
            let message = format!(
                "{whose} lacks 'type': in a file whose source or other modules have types of the program's own, each has"
            );
            self.reporter.error_at(module.at, message);
            return None;
        };
        let of = self.known(&whose, &own.own, self.registry.module_type(&own.own.name))?;
        let named = quoted(&own.own.name);
        if own.says_kind && module.role != of.role {
            let role = crate::check::role_name(of.role);
            let message = format!("{whose} is of the type {named}, which is {role}");
            self.reporter.error_at(module.at, message);
        }
        module.role = of.role;
        if of.waits {
            module.work = Work::Wait;
        }
        match own.says_threads {
            false if of.changes => module.threads = FileThreads::Serial,
            true if !of.may_be(module.threads) => {
                self.reporter.error_at(module.at, changes(&module.label));
            }
            _ => {}
        }
        let products: Vec<String> = of.products.iter().map(|(name, _)| name.clone()).collect();
        if own.says_products && module.products != products {
            let products = match products.join(", ") {
                none if none.is_empty() => "one product, without a name".to_owned(),
                some => format!("the products {some}"),
            };
            let message = format!("{whose} is of the type {named}, which makes {products}");
            self.reporter.error_at(module.at, message);
        }
        module.products = products;
        self.parameters(&whose, &own.own, of.check);
        Some(of)
    }

    /// A type, or a fault.
    fn known<T>(&mut self, whose: &str, own: &OwnType, found: Result<T, String>) -> Option<T> {
        let why = match found {
            Ok(found) => return Some(found),
            Err(why) => why,
        };
        let message = format!("{whose} is of the type {}: {why}", quoted(&own.name));
        match self.unknown {
            Unknown::Refused => self.reporter.error_at(own.at, message),
            Unknown::Tolerated => self.reporter.warning_at(own.at, message),
        }
        None
    }

    fn parameters(&mut self, whose: &str, own: &OwnType, check: fn(&Node) -> Result<(), Wrong>) {
        let node = &own.parameters;
        // A type's own code is called here.
        let (at, wrong) = match guard::catch(|| check(node).map_err(|it| (it.at, it.to_string()))) {
            Ok(Ok(())) => return,
            Ok(Err(wrong)) => wrong,
            Err(panicked) => (None, panicked.to_string()),
        };
        let at = self.reporter.position(at.unwrap_or_else(|| node.at()));
        let message = format!("parameters of {whose} ({}): {wrong}", own.name);
        self.reporter.error_at(at, message);
    }

    /// An output writes what one path lets through.
    fn outputs(&mut self, draft: &Draft) {
        for DraftModule { module, .. } in &draft.modules {
            let of = draft.paths.iter().filter_map(|path| {
                let step = path.steps.iter().find(|(label, _)| *label == module.label)?;
                Some((&path.name, step.1))
            });
            if let ([(first, _), (second, at), ..], Role::Output) =
                (&of.collect::<Vec<_>>()[..], module.role)
            {
                let (label, paths) = (quoted(&module.label), [quoted(first), quoted(second)]);
                let message = format!(
                    "output {label} stands on the paths {} and {}: it may stand on one; give each path an output of its own",
                    paths[0], paths[1]
                );
                self.reporter.error_at(*at, message);
            }
        }
    }

    fn inputs(&mut self, draft: &DraftModule, of: &ModuleType, products: &Products<'_>) {
        let module = &draft.module;
        let whose = format!("module {}", quoted(&module.label));
        let singles = of.inputs.iter().filter(|wanted| !wanted.rest).count();
        let has_rest = singles < of.inputs.len();
        let given = draft.wants.len();
        if given < singles || given > singles && !has_rest {
            let wants = match of.wants() {
                none if none.is_empty() => "no inputs".to_owned(),
                wants => format!("the inputs {wants}"),
            };
            let message = format!("{whose} needs {wants}, and names {given}");
            self.reporter.error_at(module.at, message);
            return;
        }
        let rest = of.inputs.iter().find(|wanted| wanted.rest);
        let wanted = of.inputs.iter().take_while(|wanted| !wanted.rest);
        let wanted = wanted.chain(std::iter::repeat_n(rest, given).flatten());
        for ((nth, given), wanted) in draft.wants.iter().enumerate().zip(wanted) {
            // What is not there is told of elsewhere.
            let Some(made) = products.made(given) else { continue };
            if made.id != wanted.of.id {
                let label = quoted(&products.label(given));
                let (nth, wanted, made) = (nth + 1, wanted.of.name, made.name);
                let message = format!(
                    "{whose} has {label}, which is {made}, as its input {nth}: it has to be {wanted}"
                );
                self.reporter.error_at(given.at, message);
            }
        }
    }
}

/// The products that there are.
struct Products<'d> {
    source: Option<(&'d str, TypeOf)>,
    types: HashMap<&'d str, &'d ModuleType>,
}

impl<'d> Products<'d> {
    fn new(
        draft: &'d Draft,
        source: Option<&SourceType>,
        types: &[Option<&'d ModuleType>],
    ) -> Self {
        let label = draft.source_label.as_deref();
        let modules = draft.modules.iter().zip(types);
        Products {
            source: label.zip(source.map(|source| source.makes)),
            types: modules
                .filter_map(|(draft, of)| Some((draft.module.label.as_str(), (*of)?)))
                .collect(),
        }
    }

    fn made(&self, wanted: &Wanted) -> Option<TypeOf> {
        match self.source {
            Some((label, makes)) if label == wanted.label => return Some(makes),
            _ => {}
        }
        let products = &self.types.get(wanted.label.as_str())?.products;
        let name = wanted.product.as_deref().unwrap_or_default();
        products.iter().find(|(product, _)| product == name).map(|(_, of)| *of)
    }

    /// The label in the graph.
    fn label(&self, wanted: &Wanted) -> String {
        match wanted.product.as_deref().filter(|product| !product.is_empty()) {
            Some(product) => part(&wanted.label, product),
            None => wanted.label.clone(),
        }
    }
}

//! The types of modules that a program has, by the names by which files ask for them.

mod inputs;
mod parameters;
mod row_file;

use crate::fault::suggestion;
use crate::tree::Node;
use crate::{Role, Threads as FileThreads};
use actinium_events::{
    Analyzer, AnalyzerMut, AsyncAnalyzer, AsyncAnalyzerMut, AsyncFilter, AsyncFilterMut,
    AsyncProducer, AsyncProducerMut, Builder, Cause, Filter, FilterMut, GraphErrors, Inputs, Kept,
    ModuleOptions, Output, OutputMut, Producer, ProducerMut, Product, Products, Source, Threads,
    ThreadsMut,
};
use actinium_scheduler::guard;
use inputs::Asking;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

pub(crate) use inputs::TypeOf;
pub use inputs::{ModuleInputs, Slot, Wanted};
pub(crate) use parameters::Wrong;

/// The types of sources and modules that a program has. A [job file](crate::own) names them, with
/// their parameters and inputs.
///
/// Each type has a name and a maker. A maker is a function, often called `new`, that gets the
/// parameters (any type that serde reads; `()` if there are none) and the inputs
/// ([`ModuleInputs`]: in the order in which the file names them). It is called once per instance.
///
/// A module that takes `&self` is `concurrent` unless the file says otherwise; one that takes
/// `&mut self` is `serial`, and may be `exclusive(..)` or `stream`.
///
/// ```
/// use actinium_events::{AnalyzerMut, Cause, Event, Input, Next, Processor, Producer, Settings, Source};
/// use actinium_workload::registry::Registry;
/// use actinium_workload::{Companions, Syntax, parse_job};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct To { to: u64 }
/// struct Numbers(u64);
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < self.0 { Next::Event(number) } else { Next::End })
///     }
/// }
///
/// #[derive(Deserialize)]
/// struct Power { exponent: u32 }
/// struct Powers(Input<u64>, u32);
/// impl Powers {
///     fn new(parameters: Power, number: Input<u64>) -> Result<Self, Cause> {
///         Ok(Powers(number, parameters.exponent))
///     }
/// }
/// impl Producer for Powers {
///     type Product = u64;
///     fn produce(&self, event: &Event<'_>) -> Result<u64, Cause> {
///         event.get(self.0).checked_pow(self.1).ok_or_else(|| "it is too large".into())
///     }
/// }
///
/// struct Sum(Input<u64>, u64);
/// impl AnalyzerMut for Sum {
///     fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
///         self.1 += *event.get(self.0);
///         Ok(())
///     }
/// }
///
/// let mut registry = Registry::new();
/// registry.source("numbers", |parameters: To| Ok(Numbers(parameters.to)));
/// registry.producer("power", Powers::new);
/// registry.analyzer_mut("sum", |(), powers| Ok(Sum(powers, 0))).after(|sums| {
///     let sum = sums.merge(|all, one| all.1 += one.1).ok_or("the run came to no end")?;
///     assert_eq!(sum.1, 285);
///     Ok(())
/// });
///
/// let text = r#"
///     format = 1
///     [source]
///     label = "numbers"
///     type = "numbers"
///     parameters = { to = 10 }
///     [[modules]]
///     label = "squares"
///     type = "power"
///     parameters = { exponent = 2 }
///     inputs = ["numbers"]
///     [[modules]]
///     label = "sum"
///     type = "sum"
///     threads = "stream"
///     inputs = ["squares"]
///     [paths]
///     main = ["sum"]
/// "#;
/// let read = parse_job("squares.toml", text, Syntax::Toml, &registry)?;
/// let job = read.job.expect("it has types");
/// let (graph, after) = job.graph(&registry, &read.workload)?;
/// Processor::new(graph, Settings::default()).run()?.into_result()?;
/// after.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Registry {
    sources: BTreeMap<String, SourceType>,
    modules: BTreeMap<String, ModuleType>,
    /// Names that were given twice.
    twice: Vec<String>,
    /// The types of products that may go to other nodes.
    crossing: Vec<(TypeId, Crosses)>,
}

/// A type of source.
pub(crate) struct SourceType {
    pub(crate) makes: TypeOf,
    pub(crate) check: Check,
    begin: Arc<Begin>,
}

/// A type of module.
pub(crate) struct ModuleType {
    pub(crate) role: Role,
    /// Whether it changes a state of its own, so that one event at a time is in an instance.
    pub(crate) changes: bool,
    pub(crate) waits: bool,
    pub(crate) inputs: Vec<Wanted>,
    /// The name of each product (empty if it is the only one), and its type.
    pub(crate) products: Vec<(String, TypeOf)>,
    pub(crate) check: Check,
    add: Arc<Add>,
}

/// Whether parameters are right.
type Check = fn(&Node) -> Result<(), Wrong>;
/// Says that the product of a label may go to other nodes.
type Crosses = fn(&mut Builder, &str);
type Begin = dyn Fn(&str, &Node) -> Result<Builder, Cause> + Send + Sync;
type Add = dyn Fn(&mut Builder, &Place<'_>) -> Option<AfterModule> + Send + Sync;
/// What follows the run, for one module.
pub(crate) type AfterModule = Box<dyn FnOnce() -> Result<(), Cause> + Send>;
type AfterKept<M> = dyn Fn(Kept<M>) -> Result<(), Cause> + Send + Sync;

/// A module's place in a graph.
pub(crate) struct Place<'a> {
    pub(crate) label: &'a str,
    pub(crate) options: ModuleOptions<Threads>,
    pub(crate) options_mut: ModuleOptions<ThreadsMut>,
    pub(crate) parameters: &'a Node,
    /// The labels of its inputs, in their order.
    pub(crate) inputs: &'a [String],
    /// The labels of its products, if it makes several.
    pub(crate) products: Vec<&'a str>,
}

/// A type that was registered, of modules with a state: see [`Registered::after`].
pub struct Registered<M>(Arc<OnceLock<Box<AfterKept<M>>>>);

impl<M> fmt::Debug for Registered<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registered({})", std::any::type_name::<M>())
    }
}

impl<M> Registered<M> {
    /// What is done with the instances of each module of this type when its run has ended: to merge
    /// those of all slots and write what they have gathered, say. It is not done after a run that
    /// was given up or ended by a failure. An interrupted run ends orderly.
    pub fn after(self, then: impl Fn(Kept<M>) -> Result<(), Cause> + Send + Sync + 'static) {
        // It is the only one: it was consumed.
        let _ = self.0.set(Box::new(then));
    }
}

macro_rules! plain {
    ($($(#[$doc:meta])* $method:ident($($names:ident: $of_names:ty)?): $role:ident
        [$($bounds:tt)+] $waits:literal makes $made:expr;)+) => {$(
        $(#[$doc])*
        pub fn $method<P, I, M>(
            &mut self,
            name: &str,
            $($names: $of_names,)?
            make: impl Fn(P, I) -> Result<M, Cause> + Send + Sync + 'static,
        ) where
            P: DeserializeOwned + 'static,
            I: ModuleInputs,
            M: $($bounds)+,
        {
            let make = Arc::new(make);
            let add = move |builder: &mut Builder, place: &Place<'_>| {
                let make = factory(&make, place);
                let options = place.options.clone();
                $(let $names = as_many(&place.products);)?
                let _ = builder.$method(place.label, $($names,)? options, make);
                None
            };
            self.add::<P, I>(name, Role::$role, (false, $waits), $made, add);
        }
    )+};
}

macro_rules! with_state {
    ($($(#[$doc:meta])* $method:ident($($names:ident: $of_names:ty)?): $role:ident
        [$($bounds:tt)+] $waits:literal makes $made:expr, |$added:ident| $kept:expr;)+) => {$(
        $(#[$doc])*
        pub fn $method<P, I, M>(
            &mut self,
            name: &str,
            $($names: $of_names,)?
            make: impl Fn(P, I) -> Result<M, Cause> + Send + Sync + 'static,
        ) -> Registered<M>
        where
            P: DeserializeOwned + 'static,
            I: ModuleInputs,
            M: $($bounds)+,
        {
            let make = Arc::new(make);
            let after = Arc::new(OnceLock::<Box<AfterKept<M>>>::new());
            let then = after.clone();
            let add = move |builder: &mut Builder, place: &Place<'_>| {
                let make = factory(&make, place);
                let options = place.options_mut.clone();
                $(let $names = as_many(&place.products);)?
                let $added = builder.$method(place.label, $($names,)? options, make);
                then.get()?;
                let (then, kept) = (then.clone(), $kept);
                let after: AfterModule = Box::new(move || then.get().map_or(Ok(()), |it| it(kept)));
                Some(after)
            };
            self.add::<P, I>(name, Role::$role, (true, $waits), $made, add);
            Registered(after)
        }
    )+};
}

impl Registry {
    /// Has no types yet.
    #[must_use]
    pub fn new() -> Self {
        Registry::default()
    }

    /// A type of sources.
    pub fn source<P, S>(
        &mut self,
        name: &str,
        make: impl Fn(P) -> Result<S, Cause> + Send + Sync + 'static,
    ) where
        P: DeserializeOwned + 'static,
        S: Source,
    {
        let begin = move |label: &str, parameters: &Node| {
            Ok(Builder::new(label, make(parameters::parse(parameters)?)?))
        };
        let source = SourceType {
            makes: TypeOf::of::<S::Product>(),
            check: |parameters| parameters::parse::<P>(parameters).map(drop),
            begin: Arc::new(begin),
        };
        if self.sources.insert(name.to_owned(), source).is_some() {
            self.twice.push(name.to_owned());
        }
    }

    plain! {
        /// A type of producers.
        producer(): Producer [Producer] false makes one::<M::Product>();
        /// A type of producers that wait.
        async_producer(): Producer [AsyncProducer] true makes one::<M::Product>();
        /// A type of producers of several products, which have these names.
        producers(names: <M::Product as Products>::Labels<'_>):
        Producer [Producer<Product: Products>] false makes several::<M::Product>(names);
        /// A type of producers of several products, which have these names, that wait.
        async_producers(names: <M::Product as Products>::Labels<'_>):
        Producer [AsyncProducer<Product: Products>] true makes several::<M::Product>(names);
        /// A type of filters.
        filter(): Filter [Filter] false makes Vec::new();
        /// A type of filters that wait.
        async_filter(): Filter [AsyncFilter] true makes Vec::new();
        /// A type of analyzers.
        analyzer(): Analyzer [Analyzer] false makes Vec::new();
        /// A type of analyzers that wait.
        async_analyzer(): Analyzer [AsyncAnalyzer] true makes Vec::new();
        /// A type of outputs.
        output(): Output [Output] false makes Vec::new();
        /// A type of outputs that wait.
        async_output(): Output [AsyncAnalyzer] true makes Vec::new();
    }

    with_state! {
        /// A type of producers with a state.
        producer_mut(): Producer [ProducerMut] false makes one::<M::Product>(), |added| added.1;
        /// A type of producers of several products, which have these names, with a state.
        producers_mut(names: <M::Product as Products>::Labels<'_>):
        Producer [ProducerMut<Product: Products>] false makes several::<M::Product>(names),
        |added| added.1;
        /// A type of filters with a state.
        filter_mut(): Filter [FilterMut] false makes Vec::new(), |added| added;
        /// A type of analyzers with a state.
        analyzer_mut(): Analyzer [AnalyzerMut] false makes Vec::new(), |added| added;
        /// A type of outputs with a state.
        output_mut(): Output [OutputMut] false makes Vec::new(), |added| added;
        /// A type of producers that wait, with a state.
        async_producer_mut(): Producer [AsyncProducerMut] true makes one::<M::Product>(),
        |added| added.1;
        /// A type of producers of several products, which have these names, that wait, with a
        /// state.
        async_producers_mut(names: <M::Product as Products>::Labels<'_>):
        Producer [AsyncProducerMut<Product: Products>] true makes several::<M::Product>(names),
        |added| added.1;
        /// A type of filters that wait, with a state.
        async_filter_mut(): Filter [AsyncFilterMut] true makes Vec::new(), |added| added;
        /// A type of analyzers that wait, with a state.
        async_analyzer_mut(): Analyzer [AsyncAnalyzerMut] true makes Vec::new(), |added| added;
        /// A type of outputs that wait, with a state.
        async_output_mut(): Output [AsyncAnalyzerMut] true makes Vec::new(), |added| added;
    }

    /// Products of this type may go to other nodes: see
    /// [`Builder::crosses`](actinium_events::Builder::crosses). Those that a
    /// [`row_file`](Registry::row_file) writes may anyway.
    pub fn crosses<T: Product + Serialize + DeserializeOwned>(&mut self) {
        let crosses: Crosses = |builder, label| builder.crosses::<T>(label);
        self.crossing.push((TypeId::of::<T>(), crosses));
    }

    /// Tells the graph if this product may go to other nodes.
    pub(crate) fn cross(&self, builder: &mut Builder, label: &str, of: TypeOf) {
        if let Some((_, crosses)) = self.crossing.iter().find(|(id, _)| *id == of.id) {
            crosses(builder, label);
        }
    }

    /// A type of outputs that write the product of each event as a row of a file. Its parameter
    /// `file` is the path, whose end says the format: see [`actinium_events::data`]. The file
    /// appears when the run has ended.
    pub fn row_file<T: Product + Serialize + DeserializeOwned>(&mut self, name: &str) {
        self.output_mut(name, row_file::Writer::<T>::create).after(row_file::finish);
        self.crosses::<T>();
    }

    fn add<P: DeserializeOwned, I: ModuleInputs>(
        &mut self,
        name: &str,
        role: Role,
        (changes, waits): (bool, bool),
        products: Vec<(String, TypeOf)>,
        add: impl Fn(&mut Builder, &Place<'_>) -> Option<AfterModule> + Send + Sync + 'static,
    ) {
        let mut inputs = Vec::new();
        I::wanted(&mut inputs);
        let check = |parameters: &Node| parameters::parse::<P>(parameters).map(drop);
        let add = Arc::new(add);
        let module = ModuleType { role, changes, waits, inputs, products, check, add };
        if self.modules.insert(name.to_owned(), module).is_some() {
            self.twice.push(name.to_owned());
        }
    }

    /// Whether it has no types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.modules.is_empty()
    }

    /// Names that were registered more than once.
    pub(crate) fn twice(&self) -> &[String] {
        &self.twice
    }

    /// A type of sources, or what there is instead.
    pub(crate) fn source_type(&self, name: &str) -> Result<&SourceType, String> {
        self.sources.get(name).ok_or_else(|| no_such("source", name, self.sources.keys()))
    }

    /// A type of modules, or what there is instead.
    pub(crate) fn module_type(&self, name: &str) -> Result<&ModuleType, String> {
        self.modules.get(name).ok_or_else(|| no_such("module", name, self.modules.keys()))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<_> = self.sources.keys().collect();
        let modules: Vec<_> = self.modules.keys().collect();
        f.debug_struct("Registry").field("sources", &sources).field("modules", &modules).finish()
    }
}

/// The types, one a line: what each is, and its inputs and products.
impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, source) in &self.sources {
            writeln!(f, "  {name}: a source of {}", source.makes.name)?;
        }
        for (name, module) in &self.modules {
            write!(f, "  {name}: {}", crate::check::role_name(module.role))?;
            if !module.inputs.is_empty() {
                write!(f, " from {}", module.wants())?;
            }
            let products = module.products.iter().map(|(name, of)| match name.is_empty() {
                true => of.name.to_owned(),
                false => format!("{name} ({})", of.name),
            });
            match products.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => writeln!(f)?,
                products => writeln!(f, ", makes {products}")?,
            }
        }
        Ok(())
    }
}

impl SourceType {
    /// A graph whose events come from a source of this type.
    pub(crate) fn begin(&self, label: &str, parameters: &Node) -> Result<Builder, GraphErrors> {
        let begun = guard::catch(|| (self.begin)(label, parameters).map_err(|it| it.to_string()));
        let begun = begun.unwrap_or_else(|panicked| Err(panicked.to_string()));
        let failed = |cause| format!("the source '{label}' could not be made: {cause}");
        begun.map_err(|cause| GraphErrors(vec![failed(cause)]))
    }
}

impl ModuleType {
    /// Adds a module of this type to a graph.
    pub(crate) fn add(&self, builder: &mut Builder, place: &Place<'_>) -> Option<AfterModule> {
        (self.add)(builder, place)
    }

    /// Whether so many events may be in its instances.
    pub(crate) fn may_be(&self, threads: FileThreads) -> bool {
        !self.changes || !matches!(threads, FileThreads::Concurrent | FileThreads::Limited(_))
    }

    /// Its inputs, for messages.
    pub(crate) fn wants(&self) -> String {
        let inputs = self.inputs.iter().map(|wanted| match wanted.rest {
            true => format!("any number of {}", wanted.of.name),
            false => wanted.of.name.to_owned(),
        });
        inputs.collect::<Vec<_>>().join(", ")
    }
}

fn no_such<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String> + Clone) -> String {
    let near = suggestion(name, known.clone().map(String::as_str));
    match known.map(String::as_str).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => format!("this program has no types of {what}s"),
        known => format!("this program has no such type of {what}s{near}; there are: {known}"),
    }
}

fn one<T: 'static>() -> Vec<(String, TypeOf)> {
    vec![(String::new(), TypeOf::of::<T>())]
}

fn several<T: Products>(names: T::Labels<'_>) -> Vec<(String, TypeOf)> {
    let types = T::types().into_iter().map(|(id, name)| TypeOf { id, name });
    names.into_iter().map(str::to_owned).zip(types).collect()
}

/// As many labels as there are products: both come from one type.
fn as_many<'a, L: TryFrom<Vec<&'a str>>>(labels: &[&'a str]) -> L {
    L::try_from(labels.to_vec()).unwrap_or_else(|_| unreachable!("as many as were registered"))
}

/// The factory of the module in this place: it is called once per instance.
fn factory<P, I, M, F>(
    make: &Arc<F>,
    place: &Place<'_>,
) -> impl FnMut(&mut Inputs) -> Result<M, Cause> + Send + use<P, I, M, F>
where
    P: DeserializeOwned,
    I: ModuleInputs,
    F: Fn(P, I) -> Result<M, Cause> + Send + Sync + 'static,
{
    let (make, parameters) = (make.clone(), place.parameters.clone());
    let labels = place.inputs.to_vec();
    move |inputs| {
        let inputs = I::take(&mut Asking::new(inputs, &labels));
        make(parameters::parse(&parameters)?, inputs)
    }
}

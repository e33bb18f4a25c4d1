//! Registering the modules of a graph one by one.

use crate::cause::{Cause, said};
use crate::erased::*;
use crate::graph::{Draft, Graph, GraphErrors, Make, Part, Role, Sketch, Wants, could_not};
use crate::handles::{Handle, Kept, Key, Name, PathHandle, ProductName, Step, Steps, next_builder};
use crate::make::{Makes, role};
use crate::module::*;
use crate::nodes::codec::Of;
use crate::nodes::{Carried, Condition, Inbox, OutputsAt, Split};
use crate::options::{ModuleOptions, Threads, ThreadsMut};
use crate::product::{Inputs, Product, Wanted};
use crate::products::{Made, Products};
use actinium_scheduler::guard::{self, Guarded};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Registers modules and paths.
///
/// Each module is registered with a label, with [`Threads`] or [`ThreadsMut`] (and what else is to
/// be said: [`ModuleOptions`]), and with a factory, which asks for inputs and makes an instance. A
/// factory is called once per instance: for one per slot with [`Threads::Stream`], for one with all
/// others. It returns the module, or a `Result` with it.
///
/// Producers and the source have a [`Handle`], by which others ask for their products, and filters
/// and analyzers one as steps of paths. Labels do as well, for graphs that come from files.
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
/// let (mut builder, numbers) = Builder::with_source("numbers", Numbers);
/// let square = builder.producer("square", Threads::Concurrent, move |inputs| Square(inputs.get(numbers)));
/// builder.analyzer("check", Threads::Serial, move |inputs| Check(inputs.get(square)));
/// let summary = Processor::new(builder.build()?, Settings::default().workers(2)).run()?;
/// assert_eq!((summary.events, summary.failed), (10, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Builder {
    /// No other builder's.
    id: u64,
    sketch: Sketch,
    /// The labels of what handles name: products, steps and paths.
    products: Vec<String>,
    faults: Vec<String>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Builder({} modules)", self.sketch.drafts.len())
    }
}

/// What is known of a module before its factory is called.
struct About<'a> {
    label: &'a str,
    role: Role,
    waits: bool,
    made: Option<Made>,
    parts: Vec<Part>,
}

impl<'a> About<'a> {
    fn new(label: &'a str, role: Role) -> Self {
        About { label, role, waits: false, made: None, parts: Vec::new() }
    }

    fn waits(self) -> Self {
        About { waits: true, ..self }
    }

    fn makes(self, made: Made) -> Self {
        About { made: Some(made), ..self }
    }

    fn splits<P: Products>(self, labels: P::Labels<'_>) -> Self {
        let labels = labels.into_iter().map(str::to_owned);
        About { parts: labels.zip(P::made()).collect(), ..self }
    }
}

macro_rules! with_self {
    ($($(#[$doc:meta])* $method:ident($label:ident $(, $labels:ident: $of_labels:ty)?):
        $role:ident [$($bounds:tt)+] in $wrap:ident, $about:expr,
        |$this:ident, $added:ident| $result:expr => $of:ty;)+) => {$(
        $(#[$doc])*
        pub fn $method<M: $($bounds)+, R: Makes<role::$role, Module = M> + 'static>(
            &mut self,
            $label: &str,
            $($labels: $of_labels,)?
            options: impl Into<ModuleOptions>,
            make: impl FnMut(&mut Inputs) -> R + Send + 'static,
        ) -> $of {
            let wrap = |made: R| -> Result<Box<dyn Erased>, Cause> {
                Ok(Box::new($wrap(Guarded::new(made.made()?))))
            };
            let $added = self.add($about, options.into(), erasing(make, wrap));
            let $this = self;
            $result
        }
    )+};
}

macro_rules! with_state {
    ($($(#[$doc:meta])* $method:ident($label:ident $(, $labels:ident: $of_labels:ty)?):
        $role:ident [$($bounds:tt)+] in $wrap:ident, $about:expr,
        |$this:ident, $added:ident, $kept:ident| $result:expr => $of:ty;)+) => {$(
        $(#[$doc])*
        pub fn $method<M: $($bounds)+, R: Makes<role::$role, Module = M> + 'static>(
            &mut self,
            $label: &str,
            $($labels: $of_labels,)?
            options: impl Into<ModuleOptions<ThreadsMut>>,
            make: impl FnMut(&mut Inputs) -> R + Send + 'static,
        ) -> $of {
            let modules = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::downgrade(&modules);
            let wrap = move |made: R| -> Result<Box<dyn Erased>, Cause> {
                Ok(Box::new($wrap(Stateful::new(made.made()?, kept.clone()))))
            };
            let $added = self.add($about, options.into(), erasing(make, wrap));
            let $kept = Kept::new(Key { builder: self.id, index: $added }, modules);
            let $this = self;
            $result
        }
    )+};
}

impl Builder {
    /// A graph whose events come from `source`; its product has this label.
    pub fn new<S: Source>(label: &str, source: S) -> Self {
        Builder::with_source(label, source).0
    }

    /// A graph whose events come from `source`, and the handle of its product.
    pub fn with_source<S: Source>(label: &str, source: S) -> (Self, Handle<S::Product>) {
        let id = next_builder();
        let sketch = Sketch {
            source_label: label.to_owned(),
            source_version: 0,
            source_made: Made::of::<S::Product>(),
            source: Box::new(OfSource(Guarded::new(source))),
            drafts: Vec::new(),
            paths: Vec::new(),
            crossings: Vec::new(),
            conditions: Vec::new(),
        };
        let products = vec![label.to_owned()];
        (Builder { id, sketch, products, faults: Vec::new() }, Handle::new(id, 0))
    }

    /// The source has this version; 0 if nobody says. See [`ModuleOptions::version`].
    pub fn source_version(&mut self, version: u32) {
        self.sketch.source_version = version;
    }

    with_self! {
        /// A producer: it runs when what it makes is needed.
        producer(label): Producer [Producer] in OfProducer,
        About::new(label, Role::Producer).makes(Made::of::<M::Product>()),
        |this, added| this.product(added) => Handle<M::Product>;
        /// A producer that waits.
        async_producer(label): AsyncProducer [AsyncProducer] in OfAsyncProducer,
        About::new(label, Role::Producer).makes(Made::of::<M::Product>()).waits(),
        |this, added| this.product(added) => Handle<M::Product>;
        /// A producer of several products, which it makes at once, as a tuple. Each has a label and
        /// a handle, and is dropped after its own last reader. What nobody reads goes at once.
        ///
        /// ```
        /// use actinium_events::{Analyzer, Builder, Cause, Event, Input, Next, Processor, Producer};
        /// use actinium_events::{Settings, Source, Threads};
        /// # struct Numbers;
        /// # impl Source for Numbers {
        /// #     type Product = u64;
        /// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        /// #         Ok(if number < 10 { Next::Event(number) } else { Next::End })
        /// #     }
        /// # }
        ///
        /// struct Split(Input<u64>);
        /// impl Producer for Split {
        ///     type Product = (u64, String);
        ///     fn produce(&self, event: &Event<'_>) -> Result<(u64, String), Cause> {
        ///         let number = *event.get(self.0);
        ///         Ok((number / 2, format!("{}", number % 2)))
        ///     }
        /// }
        /// struct Check(Input<u64>, Input<String>);
        /// impl Analyzer for Check {
        ///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        ///         let number = 2 * *event.get(self.0) + event.get(self.1).parse::<u64>()?;
        ///         assert_eq!(number, event.number());
        ///         Ok(())
        ///     }
        /// }
        /// let (mut builder, numbers) = Builder::with_source("numbers", Numbers);
        /// let (half, rest) = builder.producers("split", ["half", "rest"], Threads::Concurrent,
        ///     move |inputs| Split(inputs.get(numbers)));
        /// builder.analyzer("check", Threads::Concurrent,
        ///     move |inputs| Check(inputs.get(half), inputs.get(rest)));
        /// Processor::new(builder.build()?, Settings::default()).run()?.into_result()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        producers(label, labels: <M::Product as Products>::Labels<'_>):
        Producer [Producer<Product: Products>] in OfProducers,
        About::new(label, Role::Producer).splits::<M::Product>(labels),
        |this, added| this.parts::<M::Product>(added) => <M::Product as Products>::Handles;
        /// A producer of several products that waits: see [`Builder::producers`].
        async_producers(label, labels: <M::Product as Products>::Labels<'_>):
        AsyncProducer [AsyncProducer<Product: Products>] in OfAsyncProducers,
        About::new(label, Role::Producer).splits::<M::Product>(labels).waits(),
        |this, added| this.parts::<M::Product>(added) => <M::Product as Products>::Handles;
        /// A filter: it runs when a path comes to it.
        filter(label): Filter [Filter] in OfFilter, About::new(label, Role::Filter),
        |this, added| this.step(added) => Step;
        /// A filter that waits.
        async_filter(label): AsyncFilter [AsyncFilter] in OfAsyncFilter,
        About::new(label, Role::Filter).waits(),
        |this, added| this.step(added) => Step;
        /// An analyzer: it runs when a path comes to it, or for each event if it is on no path.
        analyzer(label): Analyzer [Analyzer] in OfAnalyzer, About::new(label, Role::Analyzer),
        |this, added| this.step(added) => Step;
        /// An analyzer that waits.
        async_analyzer(label): AsyncAnalyzer [AsyncAnalyzer] in OfAsyncAnalyzer,
        About::new(label, Role::Analyzer).waits(),
        |this, added| this.step(added) => Step;
        /// An output: see [`Output`]. [`ModuleOptions::select`] says for which events.
        output(label): Output [Output] in OfOutput, About::new(label, Role::Output),
        |_this, _added| () => ();
        /// An output that waits.
        async_output(label): AsyncAnalyzer [AsyncAnalyzer] in OfAsyncAnalyzer,
        About::new(label, Role::Output).waits(),
        |_this, _added| () => ();
    }

    with_state! {
        /// A producer with a state. Its instances are kept for after the run only while somebody
        /// has what keeps them.
        producer_mut(label): ProducerMut [ProducerMut] in OfProducerMut,
        About::new(label, Role::Producer).makes(Made::of::<M::Product>()),
        |this, added, kept| (this.product(added), kept) => (Handle<M::Product>, Kept<M>);
        /// A producer of several products, with a state: see [`Builder::producers`].
        producers_mut(label, labels: <M::Product as Products>::Labels<'_>):
        ProducerMut [ProducerMut<Product: Products>] in OfProducersMut,
        About::new(label, Role::Producer).splits::<M::Product>(labels),
        |this, added, kept| (this.parts::<M::Product>(added), kept)
        => (<M::Product as Products>::Handles, Kept<M>);
        /// A filter with a state.
        filter_mut(label): FilterMut [FilterMut] in OfFilterMut, About::new(label, Role::Filter),
        |_this, _added, kept| kept => Kept<M>;
        /// An analyzer with a state.
        analyzer_mut(label): AnalyzerMut [AnalyzerMut] in OfAnalyzerMut,
        About::new(label, Role::Analyzer),
        |_this, _added, kept| kept => Kept<M>;
        /// An output with a state.
        output_mut(label): OutputMut [OutputMut] in OfOutputMut, About::new(label, Role::Output),
        |_this, _added, kept| kept => Kept<M>;
        /// A producer that waits, with a state.
        async_producer_mut(label): AsyncProducerMut [AsyncProducerMut] in OfAsyncProducerMut,
        About::new(label, Role::Producer).makes(Made::of::<M::Product>()).waits(),
        |this, added, kept| (this.product(added), kept) => (Handle<M::Product>, Kept<M>);
        /// A producer of several products that waits, with a state: see [`Builder::producers`].
        async_producers_mut(label, labels: <M::Product as Products>::Labels<'_>):
        AsyncProducerMut [AsyncProducerMut<Product: Products>] in OfAsyncProducersMut,
        About::new(label, Role::Producer).splits::<M::Product>(labels).waits(),
        |this, added, kept| (this.parts::<M::Product>(added), kept)
        => (<M::Product as Products>::Handles, Kept<M>);
        /// A filter that waits, with a state.
        async_filter_mut(label): AsyncFilterMut [AsyncFilterMut] in OfAsyncFilterMut,
        About::new(label, Role::Filter).waits(), |_this, _added, kept| kept => Kept<M>;
        /// An analyzer that waits, with a state.
        async_analyzer_mut(label): AsyncAnalyzerMut [AsyncAnalyzerMut] in OfAsyncAnalyzerMut,
        About::new(label, Role::Analyzer).waits(), |_this, _added, kept| kept => Kept<M>;
        /// An output that waits, with a state.
        async_output_mut(label): AsyncAnalyzerMut [AsyncAnalyzerMut] in OfAsyncAnalyzerMut,
        About::new(label, Role::Output).waits(), |_this, _added, kept| kept => Kept<M>;
    }

    /// Calls the factory for the first instance, and notes all that is known of the module.
    fn add<K: Into<Threads>>(
        &mut self,
        about: About<'_>,
        options: ModuleOptions<K>,
        mut make: Make,
    ) -> usize {
        let threads = options.threads.into();
        let slot = (threads == Threads::Stream).then_some(0);
        let mut inputs = Inputs { wanted: Vec::new(), slot };
        let first = said(guard::catch(|| make(&mut inputs)));
        let label = about.label.to_owned();
        let first = first.map_err(|cause| self.faults.push(could_not(&label, slot, &cause))).ok();
        let whose = format!("module '{label}'");
        let wanted = inputs.wanted.into_iter().filter_map(|Wanted { name, type_id, type_name }| {
            let label = self.resolve(name, &whose)?;
            Some(Wants { label, type_id, type_name })
        });
        let wanted = wanted.collect();
        let select = options.select.and_then(|path| self.resolve_path(path.0, &whose));
        self.sketch.drafts.push(Draft {
            label,
            version: options.version,
            role: about.role,
            threads,
            waits: about.waits,
            one_by_one: options.one_by_one,
            select,
            wanted,
            made: about.made,
            parts: about.parts,
            first,
            make,
        });
        self.sketch.drafts.len() - 1
    }

    /// The label of a product that a module asks for.
    fn resolve(&mut self, name: Name, whose: &str) -> Option<String> {
        let own = |key: &Key| key.builder == self.id;
        let label = match name {
            Name::Label(label) => return Some(label),
            Name::Of(key) => self.products.get(key.index).filter(|_| own(&key)).cloned(),
        };
        self.known(label, whose, "asks for a product")
    }

    fn resolve_path(&mut self, name: Name, whose: &str) -> Option<String> {
        let own = |key: &Key| key.builder == self.id;
        let path = match name {
            Name::Label(name) => return Some(name),
            Name::Of(key) => self.sketch.paths.get(key.index).filter(|_| own(&key)),
        };
        self.known(path.map(|(name, _)| name.clone()), whose, "selects a path")
    }

    fn resolve_step(&mut self, name: Name, whose: &str) -> Option<String> {
        let own = |key: &Key| key.builder == self.id;
        let draft = match name {
            Name::Label(label) => return Some(label),
            Name::Of(key) => self.sketch.drafts.get(key.index).filter(|_| own(&key)),
        };
        self.known(draft.map(|draft| draft.label.clone()), whose, "has a step")
    }

    fn known(&mut self, found: Option<String>, whose: &str, does: &str) -> Option<String> {
        if found.is_none() {
            self.faults.push(format!("{whose} {does} by the handle of another graph"));
        }
        found
    }

    fn product<T>(&mut self, added: usize) -> Handle<T> {
        self.products.push(self.sketch.drafts[added].label.clone());
        Handle::new(self.id, self.products.len() - 1)
    }

    fn parts<P: Products>(&mut self, added: usize) -> P::Handles {
        let first = self.products.len();
        let labels = self.sketch.drafts[added].parts.iter().map(|(label, _)| label.clone());
        self.products.extend(labels);
        P::handles(self.id, first)
    }

    fn step(&self, added: usize) -> Step {
        Step(Key { builder: self.id, index: added })
    }

    /// A path: filters and analyzers, one after the other, until the first filter that says no.
    ///
    /// Steps are what registering them returned, or labels: a list of either, or a tuple of both.
    pub fn path(&mut self, name: &str, steps: impl Steps) -> PathHandle {
        let whose = format!("path '{name}'");
        let steps = steps.names().into_iter();
        let steps = steps.filter_map(|step| self.resolve_step(step.0, &whose)).collect();
        self.sketch.paths.push((name.to_owned(), steps));
        PathHandle(Key { builder: self.id, index: self.sketch.paths.len() - 1 })
    }

    /// A product may go to other nodes, where modules read it that run there: of a graph on several
    /// nodes, outputs run on the first. Only what a module elsewhere reads is sent. It is encoded
    /// by serde as MessagePack. On one node this changes nothing.
    pub fn crosses<T: Product + Serialize + DeserializeOwned>(
        &mut self,
        product: impl Into<ProductName<T>>,
    ) {
        let name = product.into().name;
        if let Some(label) = self.resolve(name, "what crosses to other nodes") {
            self.sketch.crossings.push((label, Arc::new(Of::<T>::new())));
        }
    }

    /// A value that holds for a run, such as a calibration. It is loaded where a run begins, before
    /// the modules that are registered from now on hear of it. Of several nodes, the first one
    /// loads it for all.
    ///
    /// ```
    /// use actinium_events::data::SourceExt;
    /// use actinium_events::{Analyzer, Builder, Cause, Condition, Event, Input, Next, Processor};
    /// use actinium_events::{Settings, Source, Threads};
    ///
    /// struct Numbers;
    /// impl Source for Numbers {
    ///     type Product = u64;
    ///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
    ///         Ok(if number < 10 { Next::Event(number) } else { Next::End })
    ///     }
    /// }
    /// struct Check(Input<u64>, Condition<String>);
    /// impl Analyzer for Check {
    ///     fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
    ///         assert_eq!(*self.1.get()?, format!("of run {}", *event.get(self.0) / 5));
    ///         Ok(())
    ///     }
    /// }
    /// let (mut builder, numbers) = Builder::with_source("numbers", Numbers.runs_by(|n| n / 5));
    /// let name = builder.condition("name", |run| Ok(format!("of run {run}")));
    /// builder.analyzer("check", Threads::Concurrent, move |inputs| {
    ///     Check(inputs.get(numbers), name.clone())
    /// });
    /// Processor::new(builder.build()?, Settings::default()).run()?.into_result()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn condition<C: Send + Sync + Serialize + DeserializeOwned + 'static>(
        &mut self,
        name: &str,
        load: impl FnMut(u64) -> Result<C, Cause> + Send + 'static,
    ) -> Condition<C> {
        let condition = Condition::new(name, load);
        let module = condition.clone();
        let make: Make = Box::new(move |_| Ok(module.module()));
        self.add(About::new(name, Role::Producer), Threads::Concurrent.into(), make);
        self.sketch.conditions.push(condition.erased());
        condition
    }

    /// Takes the graph apart, for one of several nodes that has so many slots: see [`Split`].
    /// Factories of outputs are called on each node, for they say what outputs read; `at` says
    /// where outputs run. `inbox` is what the node is given to run, and `carried` what has come to
    /// the outputs. The program has no need for this: the crate `actinium-events-cluster` calls it.
    ///
    /// # Errors
    /// All that is wrong, and all products that would have to cross and can not.
    pub fn split(
        self,
        at: OutputsAt,
        slots: usize,
        inbox: impl Inbox,
        carried: impl FnMut() -> Next<Carried> + Send + 'static,
    ) -> Result<Split, GraphErrors> {
        Split::of(self.sketch, self.faults, at, slots, inbox, carried)
    }

    /// Checks everything.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn build(self) -> Result<Graph, GraphErrors> {
        self.sketch.build(self.faults)
    }
}

/// A factory whose modules have no type any more.
fn erasing<R: 'static>(
    make: impl FnMut(&mut Inputs) -> R + Send + 'static,
    wrap: impl Fn(R) -> Result<Box<dyn Erased>, Cause> + Send + 'static,
) -> Make {
    let mut make = Guarded::new(make);
    Box::new(move |inputs| wrap((*make)(inputs)))
}

//! The model of a workload that has been read and found right: plain data, every label resolved to
//! an index.
//!
//! A [`Workload`] is only made by the readers, after all checks: its graph has no cycle, every
//! input is made by a producer, and no time is negative. Who has one need not check again.

pub use super::position::Position;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

/// In which format a workload was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// The CMS multi-threaded demo framework's JSON.
    CmsJson,
    /// GaudiHive's data flow, as GraphML.
    GaudiGraphml,
    /// Our own, as TOML.
    Toml,
    /// Our own, as JSON.
    Json,
}

/// A graph of modules with the time that each takes for each event.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The workload's name.
    pub name: String,
    /// How it was written.
    pub format: Format,
    /// The settings that the file asks the processor for; the command's flags win over them.
    pub options: Options,
    /// Where events come from.
    pub source: Source,
    /// All modules, in the order of the file. An index into this is how everything else refers to a
    /// module.
    pub modules: Vec<Module>,
    /// The names of the shared resources. [`Threads::Exclusive`] has an index into this.
    pub resources: Vec<String>,
    /// The paths that are run for every event. A module that no path needs never runs.
    pub paths: Vec<Path>,
}

/// The settings that a file asks the processor for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Events in flight.
    pub slots: Option<NonZeroUsize>,
    /// Worker threads.
    pub workers: Option<NonZeroUsize>,
    /// Turns of the busy loop per second on the machine that the file was written for. It says how
    /// long a module takes that is given in turns; what runs here is calibrated here.
    pub busy_turns_per_second: Option<f64>,
}

/// Where events come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The class as written.
    pub class: String,
    /// How many events there are, where the file says so.
    pub events: Option<NonZeroU64>,
    /// How long it takes to make each event: the source gives one event at a time.
    pub times: Times,
    /// Where it stands in the file.
    pub at: Position,
}

/// One module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The name, which no other module has.
    pub label: String,
    /// The class as written.
    pub class: String,
    /// The module's role in the graph.
    pub role: Role,
    /// How many events may be in it at a time.
    pub threads: Threads,
    /// How it spends its time.
    pub work: Work,
    /// How much time that is.
    pub times: Times,
    /// Into how many parts it splits its work, each of the same length: 1 if it does not.
    pub parts: NonZeroU32,
    /// Whether the parts of a split module may be run by others only while the module's own worker
    /// takes part (`false`), or whether that worker may do other modules' work while it waits for
    /// the last part (`true`).
    pub steals_while_splitting: bool,
    /// The products that the module needs, each with its producer. A module may name the same input
    /// once only.
    pub inputs: Vec<Input>,
    /// Whether it asks for its inputs one after the other from within its work, rather than having
    /// all of them fetched at once before it starts. The order is that of `inputs`.
    pub fetches_one_by_one: bool,
    /// The names of the products that it makes: one, whose name is often empty. None for a filter,
    /// an analyzer or an output.
    pub products: Vec<String>,
    /// Fails at every n-th event, the first being number n - 1: at each if this is 1.
    pub fails_every: Option<NonZeroU64>,
    /// The fraction of events that a filter lets through: [`Module::accepts`].
    pub accepts_fraction: f64,
    /// Where it stands in the file.
    pub at: Position,
}

/// The role of a module in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Makes products when somebody needs them.
    Producer,
    /// Stands on paths, and says whether the path goes on.
    Filter,
    /// Stands on paths, looks at products, and always goes on.
    Analyzer,
    /// Stands on paths like an analyzer; what it sees is what is kept of the event.
    Output,
}

/// How many events may be in a module at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// Any number of events.
    Concurrent,
    /// One event.
    Serial,
    /// One event among all modules of this resource.
    Exclusive {
        /// Index into [`Workload::resources`].
        resource: usize,
    },
    /// One instance per slot, so as many as there are slots.
    Stream,
    /// The largest number of events at a time.
    Limited(NonZeroU32),
}

/// How a module spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// The module computes, and holds a worker meanwhile.
    Busy,
    /// The module waits (for a disk, an accelerator, a clock), and needs no thread meanwhile.
    Wait,
}

/// One thing that a module needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The module that makes the input: an index into [`Workload::modules`]. Always a producer.
    pub module: usize,
    /// The name of the product.
    pub product: String,
    /// Where it stands in the file.
    pub at: Position,
}

/// A sequence of filters, analyzers and outputs. It stops at the first filter that says no. Paths
/// do not wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The name.
    pub name: String,
    /// Indices into [`Workload::modules`]: never a producer.
    pub modules: Vec<usize>,
    /// Where it stands in the file.
    pub at: Position,
}

/// How long something takes for each event, in nanoseconds: a list that is gone through again and
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times(Vec<u64>);

impl Times {
    /// The same for every event.
    #[must_use]
    pub fn constant(ns: u64) -> Self {
        Self(vec![ns])
    }

    /// One after the other, then from the start again. An empty list stands for no time at all.
    #[must_use]
    pub fn cycled(ns: Vec<u64>) -> Self {
        if ns.is_empty() { Self::constant(0) } else { Self(ns) }
    }

    /// The time for an event, whose numbers count from zero.
    #[must_use]
    pub fn of(&self, event: u64) -> u64 {
        match self.0[..] {
            [always] => always,
            ref cycle => cycle[(event % cycle.len() as u64) as usize],
        }
    }

    /// The list that is gone through: never empty.
    #[must_use]
    pub fn cycle(&self) -> &[u64] {
        &self.0
    }

    /// The mean over one cycle.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|&ns| ns as f64).sum::<f64>() / self.0.len() as f64
    }

    /// Every time multiplied by a factor, which is neither negative nor infinite.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let mut times: Vec<u64> =
            self.0.iter().map(|&ns| (ns as f64 * factor).round() as u64).collect();
        if times.iter().all(|&ns| ns == times[0]) {
            times.truncate(1);
        }
        Self(times)
    }
}

impl Module {
    /// Whether it fails at this event.
    #[must_use]
    pub fn fails(&self, event: u64) -> bool {
        self.fails_every.is_some_and(|every| (event + 1).is_multiple_of(every.get()))
    }

    /// Whether it lets this event through: of so many events in a row a fixed fraction, spread
    /// evenly.
    #[must_use]
    pub fn accepts(&self, event: u64) -> bool {
        // The event is let through when it takes the running count past the next whole number.
        let count = |events: u64| (events as f64 * self.accepts_fraction).floor();
        count(event + 1) > count(event)
    }
}

impl Workload {
    /// Every time multiplied by a factor, the source's included. The factor is neither negative nor
    /// infinite.
    pub fn scale_times(&mut self, factor: f64) {
        self.source.times = self.source.times.scaled(factor);
        for module in &mut self.modules {
            module.times = module.times.scaled(factor);
        }
    }

    /// Has every module spend its time in the same way.
    pub fn set_work(&mut self, work: Work) {
        for module in &mut self.modules {
            module.work = work;
        }
    }

    /// The index of the module of this label.
    #[must_use]
    pub fn module(&self, label: &str) -> Option<usize> {
        self.modules.iter().position(|module| module.label == label)
    }

    /// The label that is nearest to one that no module has, if any is near.
    #[must_use]
    pub fn near(&self, label: &str) -> Option<&str> {
        super::fault::nearest(label, self.modules.iter().map(|module| module.label.as_str()))
    }

    /// The index of a resource, which is added if there is none of this name.
    pub fn resource(&mut self, name: &str) -> usize {
        self.resources.iter().position(|known| known == name).unwrap_or_else(|| {
            self.resources.push(name.to_owned());
            self.resources.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_round() {
        let times = Times::cycled(vec![1, 2, 3]);
        assert_eq!((0..7).map(|event| times.of(event)).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(times.mean(), 2.0);
        assert_eq!(Times::cycled(Vec::new()).of(5), 0);
        assert_eq!(times.scaled(0.5).cycle(), [1, 1, 2]);
    }

    fn filter(accepts_fraction: f64, fails_every: Option<NonZeroU64>) -> Module {
        Module {
            label: "f".into(),
            class: "filter".into(),
            role: Role::Filter,
            threads: Threads::Concurrent,
            work: Work::Busy,
            times: Times::constant(0),
            parts: NonZeroU32::MIN,
            steals_while_splitting: false,
            inputs: Vec::new(),
            fetches_one_by_one: false,
            products: Vec::new(),
            fails_every,
            accepts_fraction,
            at: Position::default(),
        }
    }

    #[test]
    fn a_filter_lets_its_fraction_through() {
        for (fraction, expected) in [(0.0, 0), (0.25, 250), (1.0, 1000), (0.333, 333)] {
            let filter = filter(fraction, None);
            assert_eq!((0..1000).filter(|&event| filter.accepts(event)).count(), expected);
        }
    }

    #[test]
    fn failures_come_every_so_often() {
        let every = |n| filter(1.0, NonZeroU64::new(n));
        assert_eq!((0..9).filter(|&event| every(3).fails(event)).collect::<Vec<_>>(), [2, 5, 8]);
        assert!((0..9).all(|event| every(1).fails(event)));
        assert!((0..9).all(|event| !every(0).fails(event)));
    }
}

//! A workload as a reader has understood it, its labels not yet looked up.

use super::fault::Reporter;
use super::model::{Format, Module, Options, Position, Source};
use super::tree::{Node, Value};

/// A task of more than a day was not meant.
pub(super) const SECONDS_MAX: f64 = 86_400.0;
/// More events in flight than any machine has memory for.
pub(super) const SLOTS_MAX: u64 = 100_000_000;
/// More workers than any machine has.
pub(super) const WORKERS_MAX: u64 = 65_536;
/// More events than a year of nanoseconds.
pub(super) const EVENTS_MAX: u64 = 1 << 53;
/// More parts than anybody splits a task into.
pub(super) const PARTS_MAX: u64 = 1 << 20;

/// A workload whose labels are not resolved yet: it becomes a [`super::Workload`] if all are known.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) options: Options,
    pub(super) source: Source,
    pub(super) resources: Vec<String>,
    pub(super) modules: Vec<DraftModule>,
    pub(super) paths: Vec<DraftPath>,
    /// Where the paths stand, or should.
    pub(super) paths_at: Position,
    /// The label of the source's product, if modules may name it.
    pub(super) source_label: Option<String>,
    /// The source's type, if it is one of the program's own.
    pub(super) own_source: Option<OwnType>,
}

/// A type of the program's own, as a file names it.
#[derive(Debug)]
pub(super) struct OwnType {
    pub(super) name: String,
    pub(super) at: Position,
    /// An empty table, if the file has none.
    pub(super) parameters: Node,
}

/// A module of the program's own, and which of its keys the file has.
#[derive(Debug)]
pub(super) struct OwnModule {
    pub(super) own: OwnType,
    pub(super) says_kind: bool,
    pub(super) says_threads: bool,
    pub(super) says_products: bool,
}

/// A module, its inputs apart.
#[derive(Debug)]
pub(super) struct DraftModule {
    pub(super) module: Module,
    pub(super) wants: Vec<Wanted>,
    /// Its type, if it is one of the program's own.
    pub(super) own: Option<OwnModule>,
}

/// An input that a module asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) label: String,
    /// Unless it is the only one.
    pub(super) product: Option<String>,
    pub(super) at: Position,
}

/// A path, by labels.
#[derive(Debug)]
pub(super) struct DraftPath {
    pub(super) name: String,
    pub(super) steps: Vec<(String, Position)>,
    pub(super) at: Position,
}

/// A time in this unit as nanoseconds, or a fault.
pub(super) fn nanoseconds(
    node: &Node,
    what: &str,
    unit: Unit,
    reporter: &mut Reporter<'_>,
) -> Option<u64> {
    let most = SECONDS_MAX / unit.seconds();
    let time = node.number(&format!("{what} (in {})", unit.name()), 0.0..=most, reporter)?;
    Some((time * unit.seconds() * 1e9).round() as u64)
}

/// In what a format gives times.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

impl Unit {
    fn seconds(self) -> f64 {
        match self {
            Unit::Seconds => 1.0,
            Unit::Milliseconds => 1e-3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
        }
    }
}

/// A list of times; a wrong one is left out.
pub(super) fn times(
    node: &Node,
    what: &str,
    unit: Unit,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<u64>> {
    let list = node.list(what, reporter)?;
    if list.is_empty() {
        reporter.error(node.at(), format!("{what} is empty: it needs at least one time"));
        return None;
    }
    let mut times = Vec::with_capacity(list.len());
    for (index, node) in list.iter().enumerate() {
        if reporter.is_full() {
            return None;
        }
        // The name is only put together if it is needed: there are many times.
        if let Value::Number(time) = node.value
            && (0.0..=SECONDS_MAX / unit.seconds()).contains(&time)
        {
            times.push((time * unit.seconds() * 1e9).round() as u64);
            continue;
        }
        nanoseconds(node, &format!("entry {} of {what}", index + 1), unit, reporter);
    }
    Some(times)
}

//! Our own format, as TOML or JSON: `docs/events.md` has every key, its unit and its default.

mod module;
mod named;
mod threads;
mod times;

use std::num::{NonZeroU64, NonZeroUsize};

use super::draft::{Draft, DraftPath, EVENTS_MAX, OwnType, SLOTS_MAX, WORKERS_MAX};
use super::fault::Reporter;
use super::model::{Format, Options, Source, Times};
use super::tree::{Entry, Node, Table, Unknown};

use named::own_type;
pub use threads::{KINDS, parse as parse_threads};
use times::{CYCLE_MAX, times};

/// The version of the format that this reads.
pub const FORMAT_VERSION: u64 = 1;
/// The label of the source's product, unless the file has another.
const SOURCE_LABEL: &str = "source";
/// A factor above this was not meant.
const FACTOR_MAX: f64 = 1e6;

pub(super) fn draft(root: &Node, format: Format, reporter: &mut Reporter<'_>) -> Option<Draft> {
    let mut top = root.table("the file".to_owned(), reporter)?;
    let right =
        format!("this is version {FORMAT_VERSION} of the format: say 'format = {FORMAT_VERSION}'");
    let version = top.need("format", &right, reporter);
    version.and_then(|node| node.whole("'format'", FORMAT_VERSION..=FORMAT_VERSION, reporter));
    let name = top.get("name").and_then(|node| node.text("'name'", reporter));
    let name = name.unwrap_or_default().to_owned();
    let options = top.get("options").and_then(|node| options(node, reporter)).unwrap_or_default();
    let factors = top.get("event-factors").and_then(|node| factors(node, reporter));
    let factors = factors.unwrap_or_default();
    let (source, source_label, own_source) = match top.get("source") {
        Some(node) => source(node, reporter)?,
        None => {
            let class = "counter".to_owned();
            let (times, at) = (Times::constant(0), reporter.position(0));
            (Source { class, events: None, times, at }, None, None)
        }
    };
    let mut resources = Vec::new();
    let mut modules = Vec::new();
    let list = top.need("modules", "a list of modules", reporter);
    for node in list.and_then(|node| node.list("'modules'", reporter)).unwrap_or_default() {
        if reporter.is_full() {
            return None;
        }
        modules.extend(module::draft(node, &factors, &mut resources, reporter));
    }
    let paths = top.need("paths", "a table of lists of labels", reporter);
    let paths_at = reporter.position(paths.map_or(top.at(), Node::at));
    let paths = paths.and_then(|node| node.entries("'paths'", reporter)).unwrap_or_default();
    let paths = paths.iter().map(|entry| path(entry, reporter)).collect();
    top.finish(Unknown::Error, reporter);
    Some(Draft {
        name,
        format,
        options,
        source,
        resources,
        modules,
        paths,
        paths_at,
        source_label,
        own_source,
    })
}

fn options(node: &Node, reporter: &mut Reporter<'_>) -> Option<Options> {
    let mut table = node.table("'options'".to_owned(), reporter)?;
    let whole = |table: &mut Table<'_>, key, most, reporter: &mut Reporter<'_>| {
        let number = table.get(key)?.whole(&format!("'{key}'"), 1..=most, reporter)?;
        NonZeroUsize::new(number as usize)
    };
    let slots = whole(&mut table, "slots", SLOTS_MAX, reporter);
    let workers = whole(&mut table, "workers", WORKERS_MAX, reporter);
    table.finish(Unknown::Error, reporter);
    Some(Options { slots, workers, busy_turns_per_second: None })
}

fn source(
    node: &Node,
    reporter: &mut Reporter<'_>,
) -> Option<(Source, Option<String>, Option<OwnType>)> {
    let mut table = node.table("'source'".to_owned(), reporter)?;
    let at = reporter.position(table.at());
    let events = table.get("events");
    let events = events.and_then(|node| node.whole("'events'", 1..=EVENTS_MAX, reporter));
    let times = times(&mut table, &[], reporter);
    let what = table.name("label");
    let label = table.get("label").and_then(|node| node.text(&what, reporter));
    let label = label.map(str::to_owned);
    let own = own_type(&mut table, reporter);
    table.finish(Unknown::Error, reporter);
    let class = own.as_ref().map_or("counter", |own| &own.name).to_owned();
    let events = events.and_then(NonZeroU64::new);
    let label = label.or_else(|| own.is_some().then(|| SOURCE_LABEL.to_owned()));
    Some((Source { class, events, times, at }, label, own))
}

fn factors(node: &Node, reporter: &mut Reporter<'_>) -> Option<Vec<f64>> {
    let list = node.list("'event-factors'", reporter)?;
    let factor =
        |node: &Node| node.number("an entry of 'event-factors'", 0.0..=FACTOR_MAX, reporter);
    let factors: Vec<f64> = list.iter().filter_map(factor).collect();
    if factors.len() > CYCLE_MAX {
        reporter.error(
            node.at(),
            format!("'event-factors' has {} entries: at most {CYCLE_MAX}", factors.len()),
        );
        return None;
    }
    Some(factors)
}

/// A name and a list of labels: the same in both JSON formats.
pub(super) fn path(entry: &Entry, reporter: &mut Reporter<'_>) -> DraftPath {
    let what = format!("path {}", super::fault::quoted(&entry.key));
    let list = entry.node.list(&what, reporter).unwrap_or_default();
    let mut steps = Vec::with_capacity(list.len());
    for node in list {
        if let Some(label) = node.text(&format!("an entry of {what}"), reporter) {
            steps.push((label.to_owned(), reporter.position(node.at())));
        }
    }
    DraftPath { name: entry.key.clone(), steps, at: reporter.position(entry.at) }
}

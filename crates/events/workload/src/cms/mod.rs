//! The configuration of the CMS multi-threaded demo framework: JSON, with `process` at the top.
//!
//! | key | means |
//! |---|---|
//! | `process.label` | the name |
//! | `process.options.nSimultaneousEvents` | events in flight |
//! | `process.options.nThreads` | worker threads |
//! | `process.options.busyWaitScaleFactor` | turns of the busy loop per second on the machine the file was written for |
//! | `process.source` | `demo::SimpleSource` with `iterations` events |
//! | `process.filters`, `process.producers` | lists of modules: see [`classes`] |
//! | `process.paths` | lists of filters' labels by name |

pub mod classes;
mod module;

use std::num::{NonZeroU64, NonZeroUsize};

use super::draft::{Draft, DraftPath, EVENTS_MAX, SLOTS_MAX, WORKERS_MAX};
use super::fault::Reporter;
use super::model::{Format, Options, Position, Role, Source, Times};
use super::tree::{Node, Table, Unknown};

/// The framework's own value, for a file that does not give one.
const TURNS_PER_SECOND: f64 = 2.2e7;

const PROCESS: &str = "an object with 'source', 'filters', 'producers' and 'paths'";

pub(super) fn draft(root: &Node, reporter: &mut Reporter<'_>) -> Option<Draft> {
    let mut top = root.table("the file".to_owned(), reporter)?;
    let process = top.need("process", PROCESS, reporter)?;
    top.finish(Unknown::Warning, reporter);
    let mut process = process.table("'process'".to_owned(), reporter)?;

    let name = process.get("label").and_then(|node| node.text("'label'", reporter));
    let name = name.unwrap_or_default().to_owned();
    let options = process.get("options").and_then(|node| options(node, reporter));
    let options = options.unwrap_or_default();
    let source = process
        .need("source", "an object with '@type' and 'iterations'", reporter)
        .and_then(|node| source(node, reporter))?;
    let turns_per_second = options.busy_turns_per_second.unwrap_or(TURNS_PER_SECOND);
    let mut resources = Vec::new();
    let mut modules = Vec::new();
    for (key, role) in [("filters", Role::Filter), ("producers", Role::Producer)] {
        let list = process.need(key, "a list of modules, which may be empty", reporter);
        for node in
            list.and_then(|node| node.list(&format!("'{key}'"), reporter)).unwrap_or_default()
        {
            if reporter.is_full() {
                return None;
            }
            let context = module::Context { role, turns_per_second };
            modules.extend(module::draft(node, &context, &mut resources, reporter));
        }
    }
    let (paths, paths_at) = paths(&mut process, reporter);
    process.finish(Unknown::Warning, reporter);
    Some(Draft {
        name,
        format: Format::CmsJson,
        options,
        source,
        resources,
        modules,
        paths,
        paths_at,
        source_label: None,
        own_source: None,
    })
}

fn options(node: &Node, reporter: &mut Reporter<'_>) -> Option<Options> {
    let mut table = node.table("'options'".to_owned(), reporter)?;
    let whole = |table: &mut Table<'_>, key, most, reporter: &mut Reporter<'_>| {
        let number = table.get(key)?.whole(&format!("'{key}'"), 1..=most, reporter)?;
        NonZeroUsize::new(number as usize)
    };
    let slots = whole(&mut table, "nSimultaneousEvents", SLOTS_MAX, reporter);
    let workers = whole(&mut table, "nThreads", WORKERS_MAX, reporter);
    let turns = table.get("busyWaitScaleFactor");
    let turns = turns.and_then(|node| node.number("'busyWaitScaleFactor'", 1.0..=1e15, reporter));
    table.finish(Unknown::Warning, reporter);
    Some(Options { slots, workers, busy_turns_per_second: turns })
}

fn source(node: &Node, reporter: &mut Reporter<'_>) -> Option<Source> {
    let mut table = node.table("'source'".to_owned(), reporter)?;
    let right = "it has to be 'demo::SimpleSource'";
    let class = table.need("@type", right, reporter);
    let class = class.and_then(|node| {
        let class = node.text("'@type' of 'source'", reporter)?;
        if class != "demo::SimpleSource" {
            let class = super::fault::quoted(class);
            reporter.error(node.at(), format!("the source's class {class} is not known: {right}"));
        }
        Some(class.to_owned())
    });
    let events = table.need("iterations", "the number of events", reporter);
    let events = events.and_then(|node| node.whole("'iterations'", 1..=EVENTS_MAX, reporter));
    let at = reporter.position(table.at());
    table.finish(Unknown::Warning, reporter);
    Some(Source {
        class: class.unwrap_or_default(),
        events: events.and_then(NonZeroU64::new),
        times: Times::constant(0),
        at,
    })
}

fn paths(process: &mut Table<'_>, reporter: &mut Reporter<'_>) -> (Vec<DraftPath>, Position) {
    let right = "an object of lists of filters' labels";
    let node = process.need("paths", right, reporter);
    let entries = node.and_then(|node| node.entries("'paths'", reporter)).unwrap_or_default();
    let paths_at = reporter.position(node.map_or(process.at(), Node::at));
    (entries.iter().map(|entry| super::own::path(entry, reporter)).collect(), paths_at)
}

//! `--plan`: what can be said about a workload before it runs.

use super::Settings;
use crate::Failure;
use crate::output;
use crate::setting::Source;
use actinium_observe::number::{count, decimal, nanoseconds, percent};
use actinium_report::{Cell, Column, Table};
use actinium_workload::Workload;
use actinium_workload::plan::flow::Flow;
use actinium_workload::plan::{Ceiling, Plan, Prediction, Range};
use serde::Serialize;
use std::fmt::Write;

/// Most limits that the table shows.
const CEILINGS_SHOWN: usize = 5;
/// Most paths that the table shows, and most modules of each.
const PATHS_SHOWN: usize = 20;
const STEPS_SHOWN: usize = 6;

#[derive(Debug, Serialize)]
struct Report<'a> {
    schema_version: u32,
    settings: &'a Settings,
    /// Every name that ends with `_ns` is in nanoseconds.
    plan: &'a Plan,
}

/// The plan of a workload, with the ideal for these settings first and then for the usual numbers
/// of workers and slots.
pub fn make(workload: &Workload, settings: &Settings) -> Plan {
    let flow = Flow::new(workload);
    let mut plan = Plan::of(&flow);
    let workers = (!flow.only_waits()).then_some(settings.run.workers.value);
    // How many events the file has is not what the ideal is usually given for.
    let events = (settings.events.source != Source::File
        && settings.events.source != Source::Default)
        .then_some(settings.events.value)
        .flatten();
    let slots = usize::try_from(settings.run.slots.value).unwrap_or(usize::MAX);
    plan.predict(&flow, [(workers, slots)], events);
    plan.predict_usual(&flow);
    plan
}

/// Prints the plan.
///
/// # Errors
/// If stdout can not be written.
pub fn run(workload: &Workload, settings: &Settings, json: bool) -> Result<(), Failure> {
    let plan = make(workload, settings);
    match json {
        true => output::print_json(&Report {
            schema_version: super::SCHEMA_VERSION,
            settings,
            plan: &plan,
        }),
        false => output::print(text(&plan)),
    }
}

/// Returns the plan as text.
fn text(plan: &Plan) -> String {
    let mut text = shape(plan).to_string();
    let mut section = |title: String, table: Table| {
        write!(text, "\n{title}\n{table}").expect("a String takes all");
    };
    if plan.filters > 0 {
        section("paths: each goes on until a filter rejects the event".to_owned(), paths(plan));
    }
    let path = &plan.critical_path;
    section(
        format!(
            "critical path of event {} ({} modules, {}), the one nearest to the mean",
            count(path.event),
            path.modules.len(),
            nanoseconds(path.length_ns() as f64)
        ),
        critical_path(plan),
    );
    match plan.ceilings.is_empty() {
        true => text += "\nno module or resource limits how many events can be in it\n",
        false => {
            let title = "what limits the rate, however many workers and slots there are".to_owned();
            write!(text, "\n{title}\n{}", ceilings(&plan.ceilings)).expect("a String takes all");
        }
    }
    let title = "ideal by list scheduling, without overhead, start and end included";
    write!(text, "\n{title}\n{}", predictions(plan)).expect("a String takes all");
    text
}

fn shape(plan: &Plan) -> Table {
    let columns = [
        Column::left("figure"),
        Column::right("value"),
        Column::right("least"),
        Column::right("most"),
        Column::left("remark"),
    ];
    let mut table = Table::new(columns);
    let mut number = |name: &str, value: usize, remark: String| {
        table.row([name.into(), value.into(), "".into(), "".into(), remark.into()]);
    };
    let unreached = plan.modules_in_file - plan.modules;
    let remark = match unreached {
        0 => String::new(),
        _ => format!("that run; {unreached} in the file do not"),
    };
    number("modules", plan.modules, remark);
    let waiting = match plan.waiting_modules {
        0 => "all compute".to_owned(),
        some if some == plan.modules => "all wait".to_owned(),
        some => format!("{some} wait, {} compute", plan.modules - some),
    };
    number("producers", plan.producers, waiting);
    number("edges", plan.edges, "pairs of a module and one that it needs".to_owned());
    number(
        "levels",
        plan.levels,
        "in a row, by products; filters make critical paths longer".to_owned(),
    );
    let filters = match plan.filters {
        0 => "without a filter".to_owned(),
        some => format!("with filters: {some}"),
    };
    number("paths", plan.paths, filters);
    number("fan-in", plan.fan_in_max.modules, format!("the most: {}", plan.fan_in_max.label));
    number("fan-out", plan.fan_out_max.modules, format!("the most: {}", plan.fan_out_max.label));
    number("events", plan.events, "after which all times repeat; means are of these".to_owned());
    let mut range = |name: &str, range: Range, show: fn(f64) -> String, remark: &str| {
        let cells = [range.mean, range.min, range.max].map(|value| Cell::from(show(value)));
        let [mean, min, max] = cells;
        table.row([name.into(), mean, min, max, remark.into()]);
    };
    range("total time", plan.total_ns, nanoseconds, "per event: all modules together");
    if plan.waiting_modules > 0 {
        range("busy time", plan.busy_ns, nanoseconds, "per event: what computes");
    }
    range(
        "critical path",
        plan.critical_path.time_ns,
        nanoseconds,
        "per event: no less, however many workers",
    );
    range(
        "parallelism",
        plan.parallelism,
        |value| decimal(value, 2),
        "inside one event: total / critical path",
    );
    table
}

/// The paths with filters first, in the order of the file.
fn paths(plan: &Plan) -> Table {
    let mut table = Table::new([
        Column::left("path"),
        Column::right("filters"),
        Column::right("modules"),
        Column::left("one after the other"),
    ]);
    let mut all: Vec<_> = plan.path_steps.iter().collect();
    all.sort_by_key(|path| path.filters == 0);
    for path in all.iter().take(PATHS_SHOWN) {
        let shown = path.modules.iter().take(STEPS_SHOWN).map(String::as_str);
        let more = (path.modules.len() > STEPS_SHOWN).then_some("…");
        let steps = shown.chain(more).collect::<Vec<_>>().join(", ");
        let (filters, modules) = (path.filters, path.modules.len());
        table.row([path.name.as_str().into(), filters.into(), modules.into(), steps.into()]);
    }
    if all.len() > PATHS_SHOWN {
        let more = format!("and {} more", all.len() - PATHS_SHOWN);
        table.row([more.into(), "".into(), "".into(), "".into()]);
    }
    table
}

fn critical_path(plan: &Plan) -> Table {
    let mut table = Table::new([
        Column::right("#"),
        Column::left("module"),
        Column::right("time"),
        Column::right("of the path"),
        Column::right("of events"),
    ]);
    for (index, module) in plan.critical_path.modules.iter().enumerate() {
        table.row([
            (index + 1).into(),
            module.label.as_str().into(),
            nanoseconds(module.time_ns as f64).into(),
            percent(plan.critical_path.share(module)).into(),
            percent(module.share_of_events).into(),
        ]);
    }
    table
}

fn ceilings(ceilings: &[Ceiling]) -> Table {
    let mut table = Table::new([
        Column::left("limit"),
        Column::left("kind"),
        Column::right("at a time"),
        Column::right("time per event"),
        Column::right("events/s"),
    ]);
    for ceiling in ceilings.iter().take(CEILINGS_SHOWN) {
        table.row([
            ceiling.name.as_str().into(),
            ceiling.kind.into(),
            u64::from(ceiling.tasks_max).into(),
            nanoseconds(ceiling.time_ns).into(),
            decimal(ceiling.events_per_s, 2).into(),
        ]);
    }
    if ceilings.len() > CEILINGS_SHOWN {
        let more = format!("and {} more", ceilings.len() - CEILINGS_SHOWN);
        table.row([more.into(), "".into(), "".into(), "".into(), "".into()]);
    }
    table
}

fn predictions(plan: &Plan) -> Table {
    let mut table = Table::new([
        Column::right("workers"),
        Column::right("slots"),
        Column::right("events"),
        Column::right("events/s"),
        Column::right("of CPUs"),
        Column::right("of ceiling"),
    ]);
    for ideal in &plan.predictions {
        let Prediction { workers, slots, events, events_per_s, .. } = *ideal;
        table.row([
            workers.map_or_else(|| Cell::from("any"), Cell::from),
            slots.into(),
            events.into(),
            decimal(events_per_s, 2).into(),
            plan.share_of_workers(ideal).map(percent).into(),
            plan.share_of_ceiling(ideal).map(percent).into(),
        ]);
    }
    table
}

//! Figures as tables of text: the same for the terminal and for plain text.

use crate::rates::{Rates, TypeRates, counter, sum};
use actinium_monitor::live::{ActorNow, ActorsNow, FamilyNow, Snapshot};
use actinium_observe::number::{bytes, count, nanoseconds, percent, rate};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// Bars of latencies are so long at most.
const BAR: usize = 40;
/// What stands where nothing is known.
const NOTHING: &str = "-";
/// Rows that a table of the program's own has at most.
const ROWS: usize = 1_000;

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) title: String,
    /// Headings, and whether what is below stands to the right, as numbers do.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The orders of the table of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TypeOrder {
    #[default]
    Busy,
    Messages,
    Waiting,
    Living,
    Turn,
    Name,
}

pub(crate) const TYPE_ORDERS: [TypeOrder; 6] = [
    TypeOrder::Busy,
    TypeOrder::Messages,
    TypeOrder::Waiting,
    TypeOrder::Living,
    TypeOrder::Turn,
    TypeOrder::Name,
];

impl TypeOrder {
    pub(crate) fn name(self) -> &'static str {
        match self {
            TypeOrder::Busy => "time",
            TypeOrder::Messages => "messages",
            TypeOrder::Waiting => "waiting",
            TypeOrder::Living => "living",
            TypeOrder::Turn => "turn 99 %",
            TypeOrder::Name => "type",
        }
    }

    fn compare(self, a: &TypeRates, b: &TypeRates) -> Ordering {
        let by = match self {
            TypeOrder::Busy => compare(b.busy, a.busy),
            TypeOrder::Messages => compare(b.handled, a.handled),
            TypeOrder::Waiting => b.queued.cmp(&a.queued),
            TypeOrder::Living => b.living.cmp(&a.living),
            TypeOrder::Turn => b.turn_ns[1].cmp(&a.turn_ns[1]),
            TypeOrder::Name => Ordering::Equal,
        };
        by.then_with(|| a.kind.cmp(&b.kind))
    }
}

impl Grid {
    pub(crate) fn new<const N: usize>(
        title: impl Into<String>,
        columns: [(&str, bool); N],
    ) -> Self {
        let columns = columns.map(|(name, is_right)| (name.to_owned(), is_right)).into();
        Grid { title: title.into(), columns, rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, row: [String; N]) {
        self.rows.push(row.map(|cell| clean(&cell)).into());
    }

    /// The width of each column, in characters.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let width = |at: usize, (name, _): &(String, bool)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.chain([name]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(|(at, column)| width(at, column)).collect()
    }
}

fn compare(a: Option<f64>, b: Option<f64>) -> Ordering {
    let [a, b] = [a, b].map(|it| it.unwrap_or(-1.0));
    a.total_cmp(&b)
}

/// A text of the program's, without what would steer a terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn or_nothing(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.to_owned())
}

pub(crate) fn time(ns: u64) -> String {
    or_nothing((ns > 0).then(|| nanoseconds(ns as f64)))
}

/// The figures of the whole system: name and value.
pub(crate) fn figures(rates: &Rates, seen: &Snapshot) -> Vec<(&'static str, String)> {
    let now = &seen.now;
    let quantile = |share| time(rates.latency.quantile_ns(share));
    let is_new = rates.over_s.is_none();
    let or_since = |text| if is_new { NOTHING.to_owned() } else { text };
    vec![
        ("messages", or_since(rate(rates.handled_by_all()))),
        ("handled", count(sum(seen, "handled"))),
        ("waiting", count(now.waiting)),
        ("latency 50 %", quantile(0.5)),
        ("99 %", quantile(0.99)),
        ("actors", count(now.actors)),
        ("restarts", count(sum(seen, "restarted"))),
        ("dead letters", count(sum(seen, "dead"))),
        ("working", format!("{} of {}", now.working, now.workers.len())),
        ("CPUs busy", or_nothing(rates.cpus.map(|cpus| format!("{cpus:.2}")))),
        ("threads", count(now.process.threads)),
        ("memory", bytes(now.process.memory_bytes)),
    ]
}

pub(crate) fn workers(rates: &Rates, seen: &Snapshot) -> Grid {
    let columns = [
        ("worker", true),
        ("PU", true),
        ("messages", true),
        ("turns", true),
        ("steals", true),
        ("sleeps", true),
        ("handled", true),
        ("in the turn of", false),
    ];
    let mut grid = Grid::new("Workers", columns);
    for (index, worker) in seen.now.workers.iter().enumerate() {
        let pu = seen.about.workers.get(index).copied().flatten();
        let per_s = |rates: &[f64]| rate(rates.get(index).copied().unwrap_or(0.0));
        let sum = |name| count(counter(&worker.counters, name));
        let turn = worker.in_turn.as_ref().map(|it| match it.since_s {
            0 => format!("{} {}", short(&it.kind), it.actor),
            since_s => format!("{} {} for {since_s} s", short(&it.kind), it.actor),
        });
        let turn = turn.unwrap_or_else(|| if worker.is_occupied { "?" } else { "" }.to_owned());
        grid.row([
            index.to_string(),
            or_nothing(pu.map(|pu| pu.to_string())),
            per_s(&rates.handled),
            per_s(&rates.turns),
            sum("stolen"),
            sum("sleeps"),
            sum("handled"),
            turn,
        ]);
    }
    grid
}

pub(crate) fn types(rates: &Rates, order: TypeOrder, search: &str) -> Grid {
    let columns = [
        ("type", false),
        ("living", true),
        ("waiting", true),
        ("in one", true),
        ("messages", true),
        ("workers", true),
        ("turn 50 %", true),
        ("99 %", true),
        ("wait 50 %", true),
        ("99 %", true),
        ("restarts", true),
    ];
    let mut grid = Grid::new(format!("Types of actors, by {}", order.name()), columns);
    let wanted = search.to_lowercase();
    let mut types: Vec<_> =
        rates.types.iter().filter(|it| it.kind.to_lowercase().contains(&wanted)).collect();
    types.sort_by(|a, b| order.compare(a, b));
    for it in types {
        grid.row([
            it.kind.clone(),
            count(it.living),
            count(it.queued),
            count(it.queued_max),
            or_nothing(it.handled.map(rate)),
            or_nothing(it.busy.map(|busy| format!("{busy:.2}"))),
            time(it.turn_ns[0]),
            time(it.turn_ns[1]),
            time(it.wait_ns[0]),
            time(it.wait_ns[1]),
            count(it.restarts),
        ]);
    }
    grid
}

fn actor_columns() -> [(&'static str, bool); 6] {
    [
        ("actor", true),
        ("type", false),
        ("name", false),
        ("worker", true),
        ("waiting", true),
        ("parent", true),
    ]
}

fn actor_row(it: &ActorNow) -> [String; 6] {
    [
        it.actor.to_string(),
        it.kind.clone(),
        it.name.clone().unwrap_or_default(),
        or_nothing(it.worker.map(|worker| worker.to_string())),
        count(it.queued),
        or_nothing(it.parent.map(|parent| parent.to_string())),
    ]
}

pub(crate) fn actors(page: &ActorsNow, title: String) -> Grid {
    let mut grid = Grid::new(title, actor_columns());
    page.actors.iter().for_each(|it| grid.row(actor_row(it)));
    grid
}

pub(crate) fn fullest(seen: &Snapshot) -> Grid {
    let mut grid = Grid::new("The fullest mailboxes", actor_columns());
    seen.now.walk.fullest.iter().for_each(|it| grid.row(actor_row(it)));
    grid
}

pub(crate) fn family(family: &FamilyNow, of: Option<u64>) -> Grid {
    let title = match of {
        Some(parent) => format!("Children of actor {parent}: {}", count(family.total)),
        None => format!("Actors that supervise others: {}", count(family.total)),
    };
    let columns =
        [("actor", true), ("type", false), ("name", false), ("children", true), ("waiting", true)];
    let mut grid = Grid::new(title, columns);
    for (it, children) in &family.members {
        let name = it.name.clone().unwrap_or_default();
        grid.row([it.actor.to_string(), it.kind.clone(), name, count(*children), count(it.queued)]);
    }
    grid
}

pub(crate) fn dead_letters(rates: &Rates, seen: &Snapshot) -> Grid {
    let title = format!(
        "Dead letters: {} in all, {}. The latest",
        count(sum(seen, "dead")),
        rate(rates.dead)
    );
    let columns =
        [("to", true), ("type", false), ("message", false), ("count", true), ("why", false)];
    let mut grid = Grid::new(title, columns);
    for it in seen.now.dead_letters.iter().rev() {
        let (kind, message) = (it.kind.clone(), it.message.clone());
        grid.row([it.to.to_string(), kind, message, count(it.count), it.reason.clone()]);
    }
    grid
}

/// How many messages took how long since the system started.
pub(crate) fn latencies(seen: &Snapshot) -> Grid {
    let columns = [("up to", true), ("messages sampled", true), ("share", true), ("", false)];
    let mut grid = Grid::new("Latency from send to handling, since the start", columns);
    let all: u64 = seen.now.latencies.iter().map(|it| it.1).fold(0, u64::saturating_add);
    let most = seen.now.latencies.iter().map(|it| it.1).max().unwrap_or(0);
    for &(ns, messages) in &seen.now.latencies {
        let share = |of: u64| messages as f64 / of.max(1) as f64;
        let bar = "█".repeat((share(most) * BAR as f64).ceil() as usize);
        grid.row([nanoseconds(ns as f64), count(messages), percent(share(all)), bar]);
    }
    grid
}

pub(crate) fn threads(rates: &Rates, seen: &Snapshot) -> Grid {
    let columns = [("thread", true), ("name", false), ("CPU", true), ("load", true)];
    let title = format!("Threads: {}", count(seen.now.process.threads));
    let mut grid = Grid::new(title, columns);
    let share = |number: &u32| rates.threads.get(number).copied();
    let mut threads: Vec<_> = seen.now.process.busiest.iter().collect();
    threads.sort_by(|a, b| {
        let [a, b] = [a, b].map(|it| share(&it.number).unwrap_or(-1.0));
        b.total_cmp(&a)
    });
    for it in threads {
        let load = or_nothing(share(&it.number).map(percent));
        grid.row([it.number.to_string(), it.name.clone(), it.cpu.to_string(), load]);
    }
    grid
}

pub(crate) fn cpus(rates: &Rates, seen: &Snapshot) -> Grid {
    let columns =
        [("CPU", true), ("core", true), ("NUMA node", true), ("package", true), ("load", true)];
    let mut grid = Grid::new("CPUs that the process was seen on", columns);
    for cpu in seen.now.process.cpus.keys() {
        let place = seen.about.pus.iter().find(|it| it.pu == *cpu);
        let text = |value: Option<u32>| or_nothing(value.map(|value| value.to_string()));
        grid.row([
            cpu.to_string(),
            text(place.map(|it| it.core)),
            text(place.and_then(|it| it.numa_node)),
            text(place.map(|it| it.package)),
            or_nothing(rates.cpu_shares.get(cpu).copied().map(percent)),
        ]);
    }
    grid
}

pub(crate) fn exchanges(seen: &Snapshot) -> Grid {
    let columns = [("from worker", true), ("to", true), ("actors stolen", true), ("chunks", true)];
    let mut grid = Grid::new("Between workers, since the start", columns);
    let mut exchanges = seen.now.exchanges.clone();
    exchanges.sort_by_key(|it| std::cmp::Reverse((it.chunks, it.stolen)));
    for it in exchanges.iter().filter(|it| it.chunks + it.stolen > 0).take(ROWS) {
        grid.row([it.from.to_string(), it.to.to_string(), count(it.stolen), count(it.chunks)]);
    }
    grid
}

/// What other parts of the program show, as tables.
pub(crate) fn sections(seen: &Snapshot) -> Vec<Grid> {
    let mut grids = Vec::new();
    seen.now.sections.iter().for_each(|(name, value)| section(&clean(name), value, &mut grids));
    grids
}

/// An object is a table of names and values, and what it holds of its own sort further tables. A
/// list of objects is a table with a column for each key.
fn section(name: &str, value: &Value, grids: &mut Vec<Grid>) {
    match value {
        Value::Object(parts) => {
            let mut grid = Grid::new(name, [("what", false), ("value", false)]);
            let is_part = |value: &Value| match value {
                Value::Object(_) => true,
                Value::Array(list) => list.iter().any(Value::is_object),
                _ => false,
            };
            for (key, value) in parts.iter().filter(|it| !is_part(it.1)).take(ROWS) {
                grid.row([key.clone(), text(value)]);
            }
            if !grid.rows.is_empty() {
                grids.push(grid);
            }
            for (key, value) in parts.iter().filter(|it| is_part(it.1)) {
                section(&format!("{name}: {}", clean(key)), value, grids);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => grids.push(records(name, list)),
        value => {
            let mut grid = Grid::new(name, [("value", false)]);
            grid.row([text(value)]);
            grids.push(grid);
        }
    }
}

/// A table of objects.
fn records(name: &str, list: &[Value]) -> Grid {
    let objects: Vec<&Map<String, Value>> =
        list.iter().filter_map(Value::as_object).take(ROWS).collect();
    let mut keys = Vec::<&String>::new();
    for key in objects.iter().flat_map(|it| it.keys()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let is_number = |key: &&String| {
        let mut found = objects.iter().filter_map(|it| it.get(*key));
        found.all(|value| value.is_number() || value.is_null())
    };
    let cell = |it: &Map<String, Value>, key: &String| clean(&or_nothing(it.get(key).map(text)));
    Grid {
        title: name.to_owned(),
        columns: keys.iter().map(|key| (clean(key), is_number(key))).collect(),
        rows: objects.iter().map(|it| keys.iter().map(|key| cell(it, key)).collect()).collect(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => NOTHING.to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), count),
        other => other.to_string(),
    }
}

/// The name of a type without its path.
fn short(kind: &str) -> &str {
    let end = kind.find('<').unwrap_or(kind.len());
    let begin = kind[..end].rfind("::").map_or(0, |at| at + 2);
    &kind[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::tests::seen;
    use serde_json::json;

    #[test]
    fn types_are_sorted_and_searched() {
        let mut rates = Rates::of(Some(&seen(1.0, 100)), &seen(2.0, 200));
        let other = TypeRates { kind: "shop::Queue".to_owned(), living: 9, ..TypeRates::default() };
        rates.types.push(other);
        let first = |order, search: &str| types(&rates, order, search).rows[0][0].clone();
        assert_eq!(first(TypeOrder::Busy, ""), "shop::Till");
        assert_eq!(first(TypeOrder::Living, ""), "shop::Queue");
        assert_eq!(first(TypeOrder::Name, ""), "shop::Queue");
        assert_eq!(first(TypeOrder::Name, "TILL"), "shop::Till");
        assert_eq!(types(&rates, TypeOrder::Name, "none").rows.len(), 0);
    }

    #[test]
    fn what_a_program_shows_becomes_tables() {
        let mut seen = Snapshot::default();
        let events = json!({
            "rate": 12.5, "open": 12345, "slots": [{"slot": 0, "state": "free"}, {"slot": 1}],
            "queue": {"waits": 3}, "note": "a\u{1b}[2Jb",
        });
        seen.now.sections = [("events".to_owned(), events), ("x".to_owned(), json!(7))].into();
        let grids = sections(&seen);
        let titles: Vec<_> = grids.iter().map(|it| &it.title[..]).collect();
        assert_eq!(titles, ["events", "events: queue", "events: slots", "x"]);
        let cells: Vec<_> = grids[0].rows.iter().map(|row| row.join("=")).collect();
        assert_eq!(cells, ["note=a [2Jb", "open=12,345", "rate=12.5"]);
        assert_eq!(grids[2].columns, [("slot".to_owned(), true), ("state".to_owned(), false)]);
        assert_eq!(grids[2].rows, [["0", "free"], ["1", "-"]]);
        assert_eq!(grids[3].rows, [["7"]]);
    }

    #[test]
    fn a_short_name_has_no_path() {
        assert_eq!(short("shop::tills::Till"), "Till");
        assert_eq!(short("shop::Pool<shop::Till>"), "Pool<shop::Till>");
        assert_eq!(short("Till"), "Till");
    }
}

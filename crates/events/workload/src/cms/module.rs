//! One module of the demo framework.

use std::num::{NonZeroU32, NonZeroU64};

use super::classes::{self, Class, Time};
use crate::check::role_name;
use crate::draft::{self, DraftModule, PARTS_MAX, Unit, Wanted};
use crate::fault::{Reporter, quoted, suggestion};
use crate::model::{Module, Role, Threads, Times};
use crate::tree::{Node, Table, Unknown};

/// The thread types, as the framework calls them.
const THREAD_TYPES: [&str; 3] =
    ["ThreadSafeBetweenInstances", "ThreadSafeBetweenModules", "ThreadUnsafe"];
/// The resource that all modules share that are safe from nothing.
const SHARED: &str = "ThreadUnsafe";

/// The context of a module: the list in which it stands, and the speed of the busy loop.
pub(super) struct Context {
    /// The role that the list gives to its modules.
    pub(super) role: Role,
    pub(super) turns_per_second: f64,
}

/// The module, however much is wrong with it, so that who asks for it is not told that it is not
/// there.
pub(super) fn draft(
    node: &Node,
    context: &Context,
    resources: &mut Vec<String>,
    reporter: &mut Reporter<'_>,
) -> Option<DraftModule> {
    let mut table = node.table("a module".to_owned(), reporter)?;
    let label = table.need("@label", "the module's name", reporter)?;
    let label = label.text("'@label' of a module", reporter)?.to_owned();
    table.what = format!("module {}", quoted(&label));
    let (name, class) = class(&mut table, context.role, reporter);
    let module = Module {
        at: reporter.position(table.at()),
        class: name,
        role: context.role,
        threads: threads(&mut table, &class, resources, reporter),
        work: class.work,
        times: times(&mut table, &class, context, reporter),
        parts: parts(&mut table, &class, reporter),
        steals_while_splitting: class.steals_while_splitting,
        inputs: Vec::new(),
        fetches_one_by_one: class.fetches_one_by_one,
        products: products(&mut table, context.role, &class, reporter),
        fails_every: class.throws.then_some(NonZeroU64::MIN),
        accepts_fraction: 1.0,
        label,
    };
    let wants = if class.gets { wants(&mut table, reporter) } else { Vec::new() };
    table.finish(Unknown::Warning, reporter);
    Some(DraftModule { module, wants, own: None })
}

/// The class; if it is not known, one that leaves nothing else to complain about.
fn class(table: &mut Table<'_>, role: Role, reporter: &mut Reporter<'_>) -> (String, Class) {
    let unknown = Class {
        role,
        time: Time::Turns(0),
        threads: Some(Threads::Concurrent),
        ..classes::class("demo::FastProducer").expect("it is in the table")
    };
    let what = table.name("@type");
    let node = table.need("@type", "one of the framework's classes", reporter);
    let Some((node, name)) = node.and_then(|node| Some((node, node.text(&what, reporter)?))) else {
        return (String::new(), unknown);
    };
    match classes::class(name) {
        Some(class) => {
            if class.role != role {
                let (is, list) = match role {
                    Role::Producer => (role_name(class.role), "producers"),
                    _ => (role_name(class.role), "filters"),
                };
                let message = format!(
                    "{} is {is} ({}) and stands among the {list}",
                    table.what,
                    quoted(name)
                );
                reporter.error(node.at(), message);
            }
            (name.to_owned(), class)
        }
        None => {
            let names = classes::names();
            let near = suggestion(name, names.iter().map(String::as_str));
            let message = format!(
                "the class {} of {} is not known{near}; the families are demo::[EventTimes][SyncGet](BusyWait|Sleeping)[[TaskStealing]ParallelFor](Producer|PassFilter), Fast*, Throwing*, ThreadSafe*",
                quoted(name),
                table.what
            );
            reporter.error(node.at(), message);
            // Whatever else the module has belongs to a class that nobody knows: no word about it.
            for key in [
                "threadType",
                "eventTimes",
                "averageTime",
                "minTime",
                "maxTime",
                "nRanges",
                "productLabel",
                "value",
            ] {
                table.get(key);
            }
            (name.to_owned(), unknown)
        }
    }
}

fn threads(
    table: &mut Table<'_>,
    class: &Class,
    resources: &mut Vec<String>,
    reporter: &mut Reporter<'_>,
) -> Threads {
    if let Some(threads) = class.threads {
        return threads;
    }
    let right = format!("one of {}", THREAD_TYPES.join(", "));
    let what = table.name("threadType");
    let node = table.need("threadType", &right, reporter);
    let Some((node, name)) = node.and_then(|node| Some((node, node.text(&what, reporter)?))) else {
        return Threads::Concurrent;
    };
    match name {
        "ThreadSafeBetweenInstances" => Threads::Concurrent,
        "ThreadSafeBetweenModules" => Threads::Serial,
        "ThreadUnsafe" => {
            let known = resources.iter().position(|resource| resource == SHARED);
            let resource = known.unwrap_or_else(|| {
                resources.push(SHARED.to_owned());
                resources.len() - 1
            });
            Threads::Exclusive { resource }
        }
        _ => {
            let near = suggestion(name, THREAD_TYPES);
            let message = format!("{what} is {}: it has to be {right}{near}", quoted(name));
            reporter.error(node.at(), message);
            Threads::Concurrent
        }
    }
}

fn times(
    table: &mut Table<'_>,
    class: &Class,
    context: &Context,
    reporter: &mut Reporter<'_>,
) -> Times {
    match class.time {
        Time::Turns(turns) => {
            Times::constant((f64::from(turns) / context.turns_per_second * 1e9).round() as u64)
        }
        Time::PerEvent => {
            let what = table.name("eventTimes");
            let node = table.need("eventTimes", "a list of seconds, one per event", reporter);
            let times = node.and_then(|node| draft::times(node, &what, Unit::Seconds, reporter));
            Times::cycled(times.unwrap_or_default())
        }
        Time::Average => average(table, reporter).unwrap_or_else(|| Times::constant(0)),
    }
}

fn average(table: &mut Table<'_>, reporter: &mut Reporter<'_>) -> Option<Times> {
    let what = ["averageTime", "minTime", "maxTime"].map(|key| table.name(key));
    let node = table.need("averageTime", "seconds", reporter);
    let (least, most) = (table.get("minTime"), table.get("maxTime"));
    let mut seconds =
        |node: &Node, what: &str| draft::nanoseconds(node, what, Unit::Seconds, reporter);
    let average = seconds(node?, &what[0])?;
    let least = least.map_or(Some(0), |node| seconds(node, &what[1]))?;
    let most_ns = most.map_or(Some(0), |node| seconds(node, &what[2]))?;
    if most_ns == 0 {
        return Some(Times::constant(average));
    }
    if !(least..=most_ns).contains(&average) {
        let message =
            format!("'averageTime' of {} has to lie between 'minTime' and 'maxTime'", table.what);
        reporter.error(most.map_or(table.at(), Node::at), message);
        return None;
    }
    Some(between(least, average, most_ns))
}

/// Times from the least to the most with this mean: as the framework draws them, by straight lines
/// from least to mean and from mean to most. It draws events' relative speeds at random; we take a
/// hundred that lie evenly, in an order that looks random.
fn between(least: u64, average: u64, most: u64) -> Times {
    const SPEEDS: u64 = 100;
    /// Has no divisor in common with the number of speeds, and lies near their golden section.
    const STEP: u64 = 61;
    let (below, above) = ((average - least) as f64, (most - average) as f64);
    let bend = if below + above == 0.0 { 0.5 } else { above / (below + above) };
    let time = |event: u64| {
        let speed = ((event * STEP % SPEEDS) as f64 + 0.5) / SPEEDS as f64;
        let time = match speed < bend {
            true => least as f64 + below / bend * speed,
            false => average as f64 + above * (speed - bend) / (1.0 - bend),
        };
        time.round() as u64
    };
    Times::cycled((0..SPEEDS).map(time).collect())
}

fn parts(table: &mut Table<'_>, class: &Class, reporter: &mut Reporter<'_>) -> NonZeroU32 {
    let what = table.name("nRanges");
    let node = match class.splits {
        true => table.need("nRanges", "the number of parts", reporter),
        false => None,
    };
    let parts = node.and_then(|node| node.whole(&what, 1..=PARTS_MAX, reporter));
    parts.and_then(|parts| NonZeroU32::new(parts as u32)).unwrap_or(NonZeroU32::MIN)
}

fn products(
    table: &mut Table<'_>,
    role: Role,
    class: &Class,
    reporter: &mut Reporter<'_>,
) -> Vec<String> {
    if role != Role::Producer {
        return Vec::new();
    }
    if !class.names_product {
        return vec![String::new()];
    }
    // The value that it makes is of no interest here.
    table.get("value");
    let what = table.name("productLabel");
    let node = table.need("productLabel", "the product's name, which may be empty", reporter);
    vec![node.and_then(|node| node.text(&what, reporter)).unwrap_or_default().to_owned()]
}

fn wants(table: &mut Table<'_>, reporter: &mut Reporter<'_>) -> Vec<Wanted> {
    let what = table.name("toGet");
    let node = table.need("toGet", "a list of inputs, which may be empty", reporter);
    let list = node.and_then(|node| node.list(&what, reporter)).unwrap_or_default();
    let mut wants = Vec::with_capacity(list.len());
    for node in list {
        let Some(mut input) = node.table(format!("an entry of {what}"), reporter) else { continue };
        let label_what = input.name("label");
        let label = input.need("label", "a producer's label", reporter);
        let label = label.and_then(|node| node.text(&label_what, reporter));
        let product_what = input.name("product");
        let product = input.get("product").and_then(|node| node.text(&product_what, reporter));
        input.finish(Unknown::Warning, reporter);
        if let Some(label) = label {
            let at = reporter.position(node.at());
            wants.push(Wanted { label: label.to_owned(), product: product.map(str::to_owned), at });
        }
    }
    wants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_between_have_the_mean_that_is_asked_for() {
        for (least, average, most) in
            [(0, 10_000, 50_000), (5_000, 5_000, 5_000), (0, 40_000, 41_000)]
        {
            let times = between(least, average, most);
            assert!((times.mean() - average as f64).abs() < 300.0, "{}", times.mean());
            assert!(times.cycle().iter().all(|time| (least..=most).contains(time)));
        }
    }
}

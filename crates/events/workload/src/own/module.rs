//! One module of our own format.

use std::num::{NonZeroU32, NonZeroU64};

use crate::draft::{DraftModule, EVENTS_MAX, OwnModule, PARTS_MAX, Wanted};
use crate::fault::{Reporter, quoted, suggestion};
use crate::model::{Module, Role, Threads, Work};
use crate::tree::{Node, Table, Unknown, Value};

const ROLES: [(&str, Role); 4] = [
    ("producer", Role::Producer),
    ("filter", Role::Filter),
    ("analyzer", Role::Analyzer),
    ("output", Role::Output),
];
const WORKS: [(&str, Work); 2] = [("busy", Work::Busy), ("wait", Work::Wait)];

/// The module, however much is wrong with it, so that who asks for it is not told that it is not
/// there.
pub(super) fn draft(
    node: &Node,
    factors: &[f64],
    resources: &mut Vec<String>,
    reporter: &mut Reporter<'_>,
) -> Option<DraftModule> {
    let mut table = node.table("a module".to_owned(), reporter)?;
    let label = table.need("label", "the module's name", reporter)?;
    let label = label.text("'label' of a module", reporter)?.to_owned();
    table.what = format!("module {}", quoted(&label));
    let role = one_of(&mut table, "kind", &ROLES, Role::Producer, reporter);
    let module = Module {
        at: reporter.position(table.at()),
        class: ROLES
            .iter()
            .find(|(_, known)| *known == role)
            .map_or("", |(name, _)| name)
            .to_owned(),
        role,
        threads: threads(&mut table, resources, reporter),
        work: one_of(&mut table, "work", &WORKS, Work::Busy, reporter),
        times: super::times::times(&mut table, factors, reporter),
        parts: whole(&mut table, "parts", PARTS_MAX, reporter)
            .and_then(|parts| NonZeroU32::new(parts as u32))
            .unwrap_or(NonZeroU32::MIN),
        steals_while_splitting: truth(&mut table, "steals-while-splitting", reporter),
        inputs: Vec::new(),
        fetches_one_by_one: truth(&mut table, "fetches-one-by-one", reporter),
        products: products(&mut table, role, reporter),
        fails_every: whole(&mut table, "fails-every", EVENTS_MAX, reporter)
            .and_then(NonZeroU64::new),
        accepts_fraction: accepts(&mut table, role, reporter),
        label,
    };
    let wants = wants(&mut table, reporter);
    let own = super::named::own_type(&mut table, reporter).map(|own| OwnModule {
        own,
        says_kind: table.get("kind").is_some(),
        says_threads: table.get("threads").is_some(),
        says_products: table.get("products").is_some(),
    });
    table.finish(Unknown::Error, reporter);
    Some(DraftModule { module, wants, own })
}

fn one_of<T: Copy>(
    table: &mut Table<'_>,
    key: &'static str,
    known: &[(&'static str, T)],
    default: T,
    reporter: &mut Reporter<'_>,
) -> T {
    let what = table.name(key);
    let Some(node) = table.get(key) else { return default };
    let Some(text) = node.text(&what, reporter) else { return default };
    match known.iter().find(|(name, _)| *name == text) {
        Some(&(_, value)) => value,
        None => {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let near = suggestion(text, names.iter().copied());
            let message = format!(
                "{what} is {}: it has to be one of {}{near}",
                quoted(text),
                names.join(", ")
            );
            reporter.error(node.at(), message);
            default
        }
    }
}

fn threads(
    table: &mut Table<'_>,
    resources: &mut Vec<String>,
    reporter: &mut Reporter<'_>,
) -> Threads {
    let what = table.name("threads");
    let Some(node) = table.get("threads") else { return Threads::Concurrent };
    let Some(text) = node.text(&what, reporter) else { return Threads::Concurrent };
    let resource = |name: &str| {
        resources.iter().position(|known| known == name).unwrap_or_else(|| {
            resources.push(name.to_owned());
            resources.len() - 1
        })
    };
    super::threads::parse(text, resource).unwrap_or_else(|problem| {
        reporter.error(node.at(), format!("{what}: {problem}"));
        Threads::Concurrent
    })
}

fn whole(
    table: &mut Table<'_>,
    key: &'static str,
    most: u64,
    reporter: &mut Reporter<'_>,
) -> Option<u64> {
    let what = table.name(key);
    table.get(key)?.whole(&what, 1..=most, reporter)
}

fn truth(table: &mut Table<'_>, key: &'static str, reporter: &mut Reporter<'_>) -> bool {
    let what = table.name(key);
    match table.get(key).map(|node| (node, &node.value)) {
        None => false,
        Some((_, &Value::Bool(value))) => value,
        Some((node, _)) => node.wrong(&what, "true or false", reporter).unwrap_or(false),
    }
}

fn accepts(table: &mut Table<'_>, role: Role, reporter: &mut Reporter<'_>) -> f64 {
    let what = table.name("accepts");
    let Some(node) = table.get("accepts") else { return 1.0 };
    if role != Role::Filter {
        reporter.error(
            node.at(),
            format!("{what}: only a filter says no: its 'kind' has to be 'filter'"),
        );
        return 1.0;
    }
    node.number(&what, 0.0..=1.0, reporter).unwrap_or(1.0)
}

fn products(table: &mut Table<'_>, role: Role, reporter: &mut Reporter<'_>) -> Vec<String> {
    let what = table.name("products");
    let node = table.get("products");
    let Some(node) = node else {
        return if role == Role::Producer { vec![String::new()] } else { Vec::new() };
    };
    if role != Role::Producer {
        reporter.error(
            node.at(),
            format!("{what}: only a producer makes products: its 'kind' has to be 'producer'"),
        );
        return Vec::new();
    }
    let list = node.list(&what, reporter).unwrap_or_default();
    let mut products: Vec<String> = Vec::with_capacity(list.len());
    for entry in list {
        let Some(name) = entry.text(&format!("an entry of {what}"), reporter) else { continue };
        if products.iter().any(|known| known == name) {
            reporter.error(entry.at(), format!("{what} has {} more than once", quoted(name)));
        } else {
            products.push(name.to_owned());
        }
    }
    if products.is_empty() {
        reporter
            .error(node.at(), format!("{what} has no name: a producer makes at least one product"));
        products.push(String::new());
    }
    products
}

/// Each input is a label, or a table with `label` and `product`.
fn wants(table: &mut Table<'_>, reporter: &mut Reporter<'_>) -> Vec<Wanted> {
    let what = table.name("inputs");
    let node = table.get("inputs");
    let list = node.and_then(|node| node.list(&what, reporter)).unwrap_or_default();
    let mut wants = Vec::with_capacity(list.len());
    for node in list {
        let at = reporter.position(node.at());
        match &node.value {
            Value::Text(label) => wants.push(Wanted { label: label.clone(), product: None, at }),
            Value::Table(_) => {
                let Some(mut input) = node.table(format!("an entry of {what}"), reporter) else {
                    continue;
                };
                let names = [input.name("label"), input.name("product")];
                let label = input.need("label", "a producer's label", reporter);
                let label = label.and_then(|node| node.text(&names[0], reporter));
                let product = input.get("product").and_then(|node| node.text(&names[1], reporter));
                let product = product.map(str::to_owned);
                input.finish(Unknown::Error, reporter);
                wants.extend(label.map(|label| Wanted { label: label.to_owned(), product, at }));
            }
            _ => {
                let right = "a label, or a table with 'label' and 'product'";
                node.wrong::<()>(&format!("an entry of {what}"), right, reporter);
            }
        }
    }
    wants
}

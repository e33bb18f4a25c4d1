//! GaudiHive's data flow: GraphML with nodes that are algorithms or data objects, and a JSON of
//! each algorithm's mean time in seconds.
//!
//! An edge from an algorithm to an object says who makes it, one from an object to an algorithm who
//! needs it. An algorithm whose objects nobody needs stands on a path of its own, so that all of
//! them run. A fake algorithm, which stands for what is read from a file, takes no time. What has
//! no time in the JSON takes none: that is a warning.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::{Path as FilePath, PathBuf};

use roxmltree::{Document, Node, ParsingOptions};

use super::check;
use super::checked::Checked;
use super::draft::{self, Draft, DraftModule, DraftPath, Unit, Wanted};
use super::fault::{Faults, Reporter, quoted};
use super::json;
use super::model::{Format, Module, Options, Position, Role, Source, Threads, Times, Work};

/// More nodes than a file of the allowed size needs.
const NODES_MAX: u32 = 1 << 22;

/// Returns the names that the timing file of a data flow `df.NAME.graphml` may have:
/// `averageTiming.NAME.json`, and the same with parts of the name cut off at its dots, from the
/// end.
#[must_use]
pub fn times_names(graph: &FilePath) -> Vec<String> {
    let name =
        graph.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_prefix("df.").unwrap_or(&name);
    let ends = std::iter::once(name.len()).chain(name.rmatch_indices('.').map(|(at, _)| at));
    ends.map(|end| format!("averageTiming.{}.json", &name[..end])).collect()
}

/// The timing beside a data flow, if there is one.
#[must_use]
pub fn times_beside(graph: &FilePath) -> Option<PathBuf> {
    let names = times_names(graph);
    names.iter().map(|name| graph.with_file_name(name)).find(|path| path.is_file())
}

/// Reads a data flow and its timing.
///
/// # Errors
/// If they are no workload that can be run: all that is wrong with them.
pub fn parse(name: &str, text: &str, times_name: &str, times: &str) -> Result<Checked, Faults> {
    let mut times_reporter = Reporter::new(times_name, times);
    let timing = read_times(times, &mut times_reporter);
    let mut reporter = Reporter::new(name, text);
    let draft = draft(text, &timing, times_name, &mut reporter);
    let workload = draft.and_then(|draft| check::resolve(draft, &mut reporter));
    let mut faults = reporter.finish();
    faults.extend(times_reporter.finish());
    match workload {
        Some(workload) if !faults.are_fatal() => Ok(Checked { workload, warnings: faults }),
        _ => Err(faults),
    }
}

fn read_times(text: &str, reporter: &mut Reporter<'_>) -> HashMap<String, u64> {
    let node = json::tree(text, reporter);
    let entries = node.as_ref().and_then(|node| node.entries("the timing", reporter));
    let mut times = HashMap::new();
    for entry in entries.unwrap_or_default() {
        let what = format!("the time of {}", quoted(&entry.key));
        // A wrong time is known as none, so that it is not called missing as well.
        let ns = draft::nanoseconds(&entry.node, &what, Unit::Seconds, reporter);
        times.insert(entry.key.clone(), ns.unwrap_or(0));
    }
    times
}

/// The kinds of nodes in the graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Algorithm,
    Fake,
    Object,
}

struct Vertex<'d> {
    id: &'d str,
    kind: Kind,
    at: Position,
}

fn draft(
    text: &str,
    times: &HashMap<String, u64>,
    times_name: &str,
    reporter: &mut Reporter<'_>,
) -> Option<Draft> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => {
            let position = error.pos();
            let at = Position { line: position.row, column: position.col };
            let message = error.to_string();
            let message = message.split(" at ").next().unwrap_or(&message);
            reporter.error_at(at, format!("not XML: {message}"));
            return None;
        }
    };
    let root = document.root_element();
    let graph = root.children().find(|node| node.tag_name().name() == "graph");
    let Some(graph) = graph.filter(|_| root.tag_name().name() == "graphml") else {
        reporter.error(root.range().start, "no data flow: it has to be <graphml> with a <graph>");
        return None;
    };
    let vertices = vertices(root, graph, reporter);
    let index: HashMap<&str, usize> = vertices.iter().enumerate().map(|(i, v)| (v.id, i)).collect();
    let flow = edges(graph, &vertices, &index, reporter);
    let (modules, paths) = modules(&vertices, &flow, times, times_name, reporter);
    Some(Draft {
        name: "data flow".to_owned(),
        format: Format::GaudiGraphml,
        options: Options::default(),
        source: Source {
            class: "data flow".to_owned(),
            events: None,
            times: Times::constant(0),
            at: reporter.position(graph.range().start),
        },
        resources: Vec::new(),
        modules,
        paths,
        paths_at: reporter.position(graph.range().start),
    })
}

fn vertices<'d>(
    root: Node<'d, '_>,
    graph: Node<'d, '_>,
    reporter: &mut Reporter<'_>,
) -> Vec<Vertex<'d>> {
    let is_type = |key: &Node<'_, '_>| {
        key.tag_name().name() == "key"
            && key.attribute("attr.name") == Some("type")
            && key.attribute("for").is_none_or(|what| what == "node" || what == "all")
    };
    let key = root.children().find(is_type).and_then(|key| key.attribute("id"));
    if key.is_none() {
        let message =
            "there is no <key attr.name=\"type\" for=\"node\">: nothing says what is an algorithm";
        reporter.error(root.range().start, message);
        return Vec::new();
    }
    let mut seen = HashMap::new();
    let mut vertices = Vec::new();
    for node in graph.children().filter(|node| node.tag_name().name() == "node") {
        let at = node.range().start;
        let Some(id) = node.attribute("id") else {
            reporter.error(at, "a node lacks its id");
            continue;
        };
        let data = node.children().find(|data| data.attribute("key") == key && data.is_element());
        let kind = match data.and_then(|data| data.text()).map(str::trim) {
            Some("Algorithm") => Kind::Algorithm,
            Some("FakeAlgorithm") => Kind::Fake,
            Some("DataObject") => Kind::Object,
            other => {
                let is = other.map_or("nothing".to_owned(), quoted);
                let message = format!(
                    "the type of node {} is {is}: it has to be Algorithm, FakeAlgorithm or DataObject",
                    quoted(id)
                );
                reporter.error(at, message);
                continue;
            }
        };
        let position = reporter.position(at);
        if let Some(first) = seen.insert(id, position) {
            let message = format!("there is a node {} already, in line {}", quoted(id), first.line);
            reporter.error(at, message);
            continue;
        }
        vertices.push(Vertex { id, kind, at: position });
    }
    vertices
}

/// The producer of each object, and the needs of each algorithm: pairs of a vertex and the place of
/// the edge in the file.
struct Flow {
    makers: HashMap<usize, usize>,
    needs: HashMap<usize, Vec<(usize, Position)>>,
}

fn edges(
    graph: Node<'_, '_>,
    vertices: &[Vertex<'_>],
    index: &HashMap<&str, usize>,
    reporter: &mut Reporter<'_>,
) -> Flow {
    let mut flow = Flow { makers: HashMap::new(), needs: HashMap::new() };
    for edge in graph.children().filter(|node| node.tag_name().name() == "edge") {
        let at = edge.range().start;
        let mut end = |name: &str| {
            let Some(id) = edge.attribute(name) else {
                reporter.error(at, format!("an edge lacks its {name}"));
                return None;
            };
            let known = index.get(id).copied();
            if known.is_none() {
                let near = super::fault::suggestion(id, index.keys().copied());
                reporter.error(
                    at,
                    format!("an edge's {name} is {}, which no node is called{near}", quoted(id)),
                );
            }
            known
        };
        let (source, target) = (end("source"), end("target"));
        let (Some(source), Some(target)) = (source, target) else { continue };
        match (vertices[source].kind, vertices[target].kind) {
            (Kind::Object, Kind::Algorithm | Kind::Fake) => {
                flow.needs.entry(target).or_default().push((source, reporter.position(at)));
            }
            (Kind::Algorithm | Kind::Fake, Kind::Object) => {
                if let Some(first) =
                    flow.makers.insert(target, source).filter(|&first| first != source)
                {
                    let [object, first, second] =
                        [target, first, source].map(|v| quoted(vertices[v].id));
                    let message =
                        format!("both {first} and {second} make {object}: one of them has to");
                    reporter.error(at, message);
                }
            }
            _ => {
                let [source, target] = [source, target].map(|v| quoted(vertices[v].id));
                let message = format!(
                    "the edge from {source} to {target} does not join an algorithm and a data object"
                );
                reporter.error(at, message);
            }
        }
    }
    flow
}

fn modules(
    vertices: &[Vertex<'_>],
    flow: &Flow,
    times: &HashMap<String, u64>,
    times_name: &str,
    reporter: &mut Reporter<'_>,
) -> (Vec<DraftModule>, Vec<DraftPath>) {
    let mut products: HashMap<usize, Vec<&str>> = HashMap::new();
    for (&object, &maker) in &flow.makers {
        products.entry(maker).or_default().push(vertices[object].id);
    }
    let needed: std::collections::HashSet<usize> = flow
        .needs
        .values()
        .flatten()
        .filter_map(|(object, _)| flow.makers.get(object).copied())
        .collect();
    let (mut modules, mut paths) = (Vec::new(), Vec::new());
    for (index, vertex) in vertices.iter().enumerate() {
        if vertex.kind == Kind::Object {
            continue;
        }
        let ns = times.get(vertex.id).copied();
        if ns.is_none() && vertex.kind == Kind::Algorithm {
            let message =
                format!("{} has no time in {times_name}: it takes none", quoted(vertex.id));
            reporter.warning_at(vertex.at, message);
        }
        let wants = wants(index, vertices, flow, reporter);
        let is_needed = needed.contains(&index);
        let mut products: Vec<String> =
            products.remove(&index).unwrap_or_default().into_iter().map(str::to_owned).collect();
        products.sort_unstable();
        if !is_needed {
            products.clear();
            let steps = vec![(vertex.id.to_owned(), vertex.at)];
            paths.push(DraftPath { name: vertex.id.to_owned(), steps, at: vertex.at });
        }
        let module = module(vertex, is_needed, ns.unwrap_or(0), products);
        modules.push(DraftModule { module, wants });
    }
    (modules, paths)
}

/// Returns an algorithm's inputs, each with the algorithm that makes it.
fn wants(
    index: usize,
    vertices: &[Vertex<'_>],
    flow: &Flow,
    reporter: &mut Reporter<'_>,
) -> Vec<Wanted> {
    let mut wants = Vec::new();
    for &(object, at) in flow.needs.get(&index).into_iter().flatten() {
        match flow.makers.get(&object) {
            Some(&maker) => wants.push(Wanted {
                label: vertices[maker].id.to_owned(),
                product: Some(vertices[object].id.to_owned()),
                at,
            }),
            None => {
                let [who, object] = [vertices[index].id, vertices[object].id].map(quoted);
                let message = format!(
                    "{who} needs {object}, which no algorithm makes: it is taken to be there"
                );
                reporter.warning_at(at, message);
            }
        }
    }
    wants
}

fn module(vertex: &Vertex<'_>, is_needed: bool, ns: u64, products: Vec<String>) -> Module {
    let (role, class) = match (is_needed, vertex.kind) {
        (true, Kind::Fake) => (Role::Producer, "FakeAlgorithm"),
        (true, _) => (Role::Producer, "Algorithm"),
        (false, _) => (Role::Analyzer, "Algorithm"),
    };
    Module {
        label: vertex.id.to_owned(),
        class: class.to_owned(),
        role,
        threads: Threads::Concurrent,
        work: Work::Busy,
        times: Times::constant(ns),
        parts: NonZeroU32::MIN,
        steals_while_splitting: false,
        inputs: Vec::new(),
        fetches_one_by_one: false,
        products,
        fails_every: None,
        accepts_fraction: 1.0,
        at: vertex.at,
    }
}

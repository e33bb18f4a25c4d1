//! The data flow: who makes which object, and who needs it.

use super::control_flow::HUB_CLASS;
use super::graphml::{Graph, document};
use crate::fault::{Reporter, quoted, suggestion};
use crate::model::Position;
use std::collections::HashMap;

/// The attributes that say what a node is, and of which class.
const ATTRIBUTES: [&str; 4] = ["type", "_type", "class", "_class"];

/// The kinds of nodes in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Algorithm,
    Fake,
    Object,
}

/// An algorithm or a data object.
#[derive(Debug)]
pub(super) struct Vertex {
    pub(super) id: String,
    pub(super) kind: Kind,
    /// The class of an algorithm, as written.
    pub(super) class: String,
    pub(super) at: Position,
}

/// The graph.
#[derive(Debug)]
pub(super) struct DataFlow {
    pub(super) vertices: Vec<Vertex>,
    /// The producer of each object.
    makers: HashMap<usize, usize>,
    /// The needs of each algorithm: pairs of an object and the place of the edge in the file.
    needs: HashMap<usize, Vec<(usize, Position)>>,
    /// Where the graph stands.
    pub(super) at: Position,
}

impl DataFlow {
    pub(super) fn read(text: &str, reporter: &mut Reporter<'_>) -> Option<Self> {
        let document = document(text, reporter)?;
        let graph = Graph::of(&document, "data flow", reporter)?;
        let at = reporter.position(graph.graph.range().start);
        let vertices = vertices(&graph, document.root_element().range().start, reporter)?;
        let flow = DataFlow { vertices, makers: HashMap::new(), needs: HashMap::new(), at };
        Some(flow.with_edges(&graph, reporter))
    }

    /// Returns what an algorithm needs: each object, who makes it (if any), and where that is said.
    pub(super) fn needs(
        &self,
        algorithm: usize,
    ) -> impl Iterator<Item = (usize, Option<usize>, Position)> {
        let needs = self.needs.get(&algorithm).into_iter().flatten();
        needs.map(|&(object, at)| (object, self.makers.get(&object).copied(), at))
    }

    /// Returns the objects that each algorithm makes, in the order of their names.
    pub(super) fn products(&self) -> HashMap<usize, Vec<String>> {
        let mut products: HashMap<usize, Vec<String>> = HashMap::new();
        for (&object, &maker) in &self.makers {
            products.entry(maker).or_default().push(self.vertices[object].id.clone());
        }
        products.values_mut().for_each(|products| products.sort_unstable());
        products
    }

    fn with_edges(mut self, graph: &Graph<'_, '_>, reporter: &mut Reporter<'_>) -> Self {
        let ids = self.vertices.iter().enumerate();
        let index: HashMap<&str, usize> = ids.map(|(index, v)| (v.id.as_str(), index)).collect();
        let known = |id: &str| index.get(id).copied();
        let near = |id: &str| suggestion(id, index.keys().copied());
        let edges = graph.edges(known, near, reporter);
        for (source, target, at) in edges {
            let [from, to] = [source, target].map(|v| &self.vertices[v]);
            match (from.kind, to.kind) {
                (Kind::Object, Kind::Algorithm | Kind::Fake) => {
                    self.needs.entry(target).or_default().push((source, reporter.position(at)));
                }
                (Kind::Algorithm | Kind::Fake, Kind::Object) => {
                    let first = self.makers.insert(target, source);
                    if let Some(first) = first.filter(|&first| first != source) {
                        let [object, first, second] =
                            [target, first, source].map(|v| quoted(&self.vertices[v].id));
                        let message =
                            format!("both {first} and {second} make {object}: one of them has to");
                        reporter.error(at, message);
                    }
                }
                _ => {
                    let [source, target] = [&from.id, &to.id].map(|id| quoted(id));
                    let message = format!(
                        "the edge from {source} to {target} does not join an algorithm and a data object"
                    );
                    reporter.error(at, message);
                }
            }
        }
        self
    }
}

fn kind(value: &str) -> Option<Kind> {
    match value {
        "Algorithm" | "GaudiAlgorithm" => Some(Kind::Algorithm),
        "FakeAlgorithm" => Some(Kind::Fake),
        "DataObject" => Some(Kind::Object),
        _ => None,
    }
}

/// The nodes, if it is a data flow at all.
fn vertices(
    graph: &Graph<'_, '_>,
    root: usize,
    reporter: &mut Reporter<'_>,
) -> Option<Vec<Vertex>> {
    if !graph.has_any(&ATTRIBUTES) {
        let message = "there is no <key attr.name=\"type\" for=\"node\">, nor one of _type, class \
                       or _class: nothing says what is an algorithm";
        reporter.error(root, message);
        return None;
    }
    let mut seen = HashMap::new();
    let mut vertices = Vec::new();
    for (id, node) in graph.nodes(reporter) {
        let at = node.range().start;
        let values: Vec<&str> = graph.attributes(node, &ATTRIBUTES).collect();
        let Some((index, kind)) =
            values.iter().enumerate().find_map(|(index, value)| Some((index, kind(value)?)))
        else {
            if values.contains(&HUB_CLASS) {
                let message = "this is a control flow: name the data flow that it belongs to \
                               (df.NAME.graphml), and this one with --control-flow";
                reporter.error(at, message);
                return None;
            }
            let is = values.first().map_or("nothing".to_owned(), |value| quoted(value));
            let message = format!(
                "the type of node {} is {is}: it has to be Algorithm, FakeAlgorithm or DataObject",
                quoted(id)
            );
            reporter.error(at, message);
            continue;
        };
        let position = reporter.position(at);
        if let Some(first) = seen.insert(id, position) {
            let message = format!("there is a node {} already, in line {}", quoted(id), first.line);
            reporter.error(at, message);
            continue;
        }
        let class = values.iter().enumerate().find(|&(other, _)| other != index);
        let class = class.map_or(values[index], |(_, class)| class).to_owned();
        vertices.push(Vertex { id: id.to_owned(), kind, class, at: position });
    }
    Some(vertices)
}

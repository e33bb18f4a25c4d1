//! GraphML, as far as both kinds of flow need it: nodes with attributes, and edges.

use crate::fault::{Reporter, quoted};
use crate::model::Position;
use roxmltree::{Document, Node, ParsingOptions};

/// More nodes than a file of the allowed size needs.
const NODES_MAX: u32 = 1 << 22;

/// Takes XML apart.
pub(super) fn document<'t>(text: &'t str, reporter: &mut Reporter<'_>) -> Option<Document<'t>> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(error) => {
            let position = error.pos();
            let at = Position { line: position.row, column: position.col };
            let message = error.to_string();
            let message = message.split(" at ").next().unwrap_or(&message);
            reporter.error_at(at, format!("not XML: {message}"));
            None
        }
    }
}

/// A graph, and the names of its nodes' attributes.
pub(super) struct Graph<'d, 'i> {
    pub(super) graph: Node<'d, 'i>,
    /// Name and id of each attribute of nodes.
    keys: Vec<(&'d str, &'d str)>,
}

impl<'d, 'i> Graph<'d, 'i> {
    /// The graph of a document; `what` is the kind of flow that it has to be.
    pub(super) fn of(
        document: &'d Document<'i>,
        what: &str,
        reporter: &mut Reporter<'_>,
    ) -> Option<Self> {
        let root = document.root_element();
        let graph = root.children().find(|node| node.tag_name().name() == "graph");
        let Some(graph) = graph.filter(|_| root.tag_name().name() == "graphml") else {
            let message = format!("no {what}: it has to be <graphml> with a <graph>");
            reporter.error(root.range().start, message);
            return None;
        };
        let is_of_nodes = |key: &Node<'_, '_>| {
            let of = key.attribute("for");
            key.tag_name().name() == "key" && of.is_none_or(|of| of == "node" || of == "all")
        };
        let keys = root.children().filter(is_of_nodes);
        let keys = keys.filter_map(|key| Some((key.attribute("attr.name")?, key.attribute("id")?)));
        Some(Graph { graph, keys: keys.collect() })
    }

    /// Whether nodes may have an attribute of one of these names.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.keys.iter().any(|(name, _)| names.contains(name))
    }

    /// A node's attributes of these names, in the order of the names; empty ones are left out.
    pub(super) fn attributes<'n>(
        &'n self,
        node: Node<'d, 'i>,
        names: &'n [&'n str],
    ) -> impl Iterator<Item = &'d str> + 'n {
        let of_name = |name: &'n &str| self.keys.iter().filter(move |(known, _)| known == name);
        let ids = names.iter().flat_map(of_name).map(|&(_, id)| id);
        let data = move |id| node.children().find(|data| data.attribute("key") == Some(id));
        ids.filter_map(data)
            .filter_map(|data| data.text())
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }

    /// The nodes that have an id, each with where it begins.
    pub(super) fn nodes(&self, reporter: &mut Reporter<'_>) -> Vec<(&'d str, Node<'d, 'i>)> {
        let mut nodes = Vec::new();
        for node in self.graph.children().filter(|node| node.tag_name().name() == "node") {
            match node.attribute("id") {
                Some(id) => nodes.push((id, node)),
                None => reporter.error(node.range().start, "a node lacks its id"),
            }
        }
        nodes
    }

    /// Both ends of each edge, and where it begins. `known` looks a node up; `near` is what follows
    /// the name of one that is not there.
    pub(super) fn edges(
        &self,
        known: impl Fn(&str) -> Option<usize>,
        near: impl Fn(&str) -> String,
        reporter: &mut Reporter<'_>,
    ) -> Vec<(usize, usize, usize)> {
        let mut edges = Vec::new();
        for edge in self.graph.children().filter(|node| node.tag_name().name() == "edge") {
            let at = edge.range().start;
            let mut end = |name: &str| {
                let Some(id) = edge.attribute(name) else {
                    reporter.error(at, format!("an edge lacks its {name}"));
                    return None;
                };
                let index = known(id);
                if index.is_none() {
                    let (id, near) = (quoted(id), near(id));
                    let message =
                        format!("an edge's {name} is {id}, which no node is called{near}");
                    reporter.error(at, message);
                }
                index
            };
            let (source, target) = (end("source"), end("target"));
            if let (Some(source), Some(target)) = (source, target) {
                edges.push((source, target, at));
            }
        }
        edges
    }
}

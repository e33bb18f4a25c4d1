//! A graph as plain data.

use serde::{Deserialize, Serialize};

/// The role of a node in its graph: its shape.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Where events come from.
    Source,
    /// Makes products that others need.
    #[default]
    Producer,
    /// Stops paths.
    Filter,
    /// Looks at products.
    Analyzer,
    /// Writes results.
    Output,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 5] =
        [Role::Source, Role::Producer, Role::Filter, Role::Analyzer, Role::Output];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Source => "source",
            Role::Producer => "producer",
            Role::Filter => "filter",
            Role::Analyzer => "analyzer",
            Role::Output => "output",
        }
    }
}

/// A module, or a box that stands for several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name: any text.
    pub label: String,
    /// Its role.
    pub role: Role,
    /// More about it, shown small: `serial`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Whether it stands out: it is on the critical path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    /// The labels of those that it stands for, if it stands for several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// The level at which it is drawn; if a node has none, all levels follow from the edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

impl Node {
    /// A node of this name and role.
    #[must_use]
    pub fn new(label: impl Into<String>, role: Role) -> Self {
        Node { label: label.into(), role, ..Node::default() }
    }

    /// More about it, shown small.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }
}

/// What leads from one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The number of the node that comes first: whose product is needed.
    pub from: usize,
    /// The number of the other.
    pub to: usize,
    /// Whether it is only the order on a path: the second runs if the first lets the event pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_order: bool,
    /// Whether it stands out: it is on the critical path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
}

impl Edge {
    /// The second needs what the first makes.
    #[must_use]
    pub fn new(from: usize, to: usize) -> Self {
        Edge { from, to, ..Edge::default() }
    }

    /// The second comes after the first on a path.
    #[must_use]
    pub fn order(from: usize, to: usize) -> Self {
        Edge { is_order: true, ..Edge::new(from, to) }
    }
}

/// A graph of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawing {
    /// What it is a graph of.
    pub title: String,
    /// The nodes, whose numbers are their places in this list.
    pub nodes: Vec<Node>,
    /// The edges. Those that lead to nodes that are not there are not drawn.
    pub edges: Vec<Edge>,
}

impl Drawing {
    /// A graph without nodes.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Drawing { title: title.into(), ..Drawing::default() }
    }

    /// Adds a node; returns its number.
    pub fn node(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds an edge.
    pub fn edge(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Marks the nodes of these labels, and the edges from each to the next; where there is none,
    /// one is added that says that the next comes after it. Labels that no node has are passed
    /// over.
    pub fn mark<S: AsRef<str>>(&mut self, labels: &[S]) {
        let find = |label: &S| self.nodes.iter().position(|it| it.label == label.as_ref());
        let way: Vec<usize> = labels.iter().filter_map(find).collect();
        for &node in &way {
            self.nodes[node].marked = true;
        }
        for pair in way.windows(2) {
            let is_it = |edge: &&mut Edge| [edge.from, edge.to] == *pair;
            let mut any = false;
            for edge in self.edges.iter_mut().filter(is_it) {
                (edge.marked, any) = (true, true);
            }
            if !any {
                self.edges.push(Edge { marked: true, ..Edge::order(pair[0], pair[1]) });
            }
        }
    }

    /// Whether anything is marked.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.nodes.iter().any(|node| node.marked)
    }

    /// The edges whose ends are there.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = Edge> + '_ {
        let count = self.nodes.len();
        self.edges.iter().copied().filter(move |it| it.from < count && it.to < count)
    }
}

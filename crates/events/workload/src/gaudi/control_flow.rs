//! The control flow: decision hubs, and the algorithms and hubs that are their members, in order.

use super::graphml::{Graph, document};
use crate::fault::{Reporter, quoted, suggestion};
use crate::model::Position;
use roxmltree::Node;
use std::collections::HashMap;

/// The types of hubs. They also stand before the name: `AthSequencer/AthAlgSeq`.
const HUB_TYPES: [&str; 3] = ["GaudiSequencer", "AthSequencer", "ProcessPhase"];
/// The class of hubs.
pub(super) const HUB_CLASS: &str = "DecisionHub";
/// The attributes that say what a node is.
const ATTRIBUTES: [&str; 4] = ["class", "_class", "type", "_type"];

/// A member of a hub: an index into the list of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Member {
    Hub(usize),
    Algorithm(usize),
}

/// How a hub decides, and what it runs.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) name: String,
    /// Whether one member that accepts is enough. Otherwise all have to accept.
    pub(super) is_or: bool,
    /// Whether members are skipped once the decision is known.
    pub(super) is_lazy: bool,
    pub(super) members: Vec<Member>,
    pub(super) at: Position,
    /// Whether another hub has it as its member.
    is_member: bool,
}

/// An algorithm that the control flow names.
#[derive(Debug)]
pub(super) struct Algorithm {
    /// The name as the file has it: `TYPE/NAME`, or `NAME`.
    pub(super) id: String,
    pub(super) class: String,
    pub(super) at: Position,
    pub(super) is_member: bool,
}

impl Algorithm {
    /// The name without its type.
    pub(super) fn name(&self) -> &str {
        name(&self.id)
    }
}

fn name(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// Hubs and algorithms, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct ControlFlow {
    pub(super) hubs: Vec<Hub>,
    pub(super) algorithms: Vec<Algorithm>,
    /// Where the graph stands.
    pub(super) at: Position,
}

impl ControlFlow {
    pub(super) fn read(text: &str, reporter: &mut Reporter<'_>) -> Option<Self> {
        let document = document(text, reporter)?;
        let graph = Graph::of(&document, "control flow", reporter)?;
        let mut flow =
            ControlFlow { at: reporter.position(graph.graph.range().start), ..Self::default() };
        let members = flow.nodes(&graph, reporter);
        flow.edges(&graph, &members, reporter);
        if flow.hubs.is_empty() {
            let message = "there is no decision hub: a control flow has nodes of the class \
                           DecisionHub, or of the type GaudiSequencer, AthSequencer or ProcessPhase";
            reporter.error_at(flow.at, message);
        }
        Some(flow)
    }

    /// The hubs that no other has as its member.
    pub(super) fn tops(&self) -> impl Iterator<Item = usize> {
        (0..self.hubs.len()).filter(|&hub| !self.hubs[hub].is_member)
    }

    /// Returns each node's number by its id, and what it is.
    fn nodes<'d>(
        &mut self,
        graph: &Graph<'d, '_>,
        reporter: &mut Reporter<'_>,
    ) -> HashMap<&'d str, (usize, Member)> {
        let mut members = HashMap::new();
        for (id, node) in graph.nodes(reporter) {
            // A member of several hubs may be described at each.
            let number = members.len();
            if members.contains_key(id) {
                continue;
            }
            let at = node.range().start;
            let name = name(id);
            if name.is_empty() || name.chars().any(char::is_control) {
                let message = "a node's id has to have a name, and no control characters";
                reporter.error(at, message);
                continue;
            }
            let values: Vec<&str> = graph.attributes(node, &ATTRIBUTES).collect();
            let member = match is_hub(id, &values) {
                true => {
                    let hub = hub(id, node, graph, reporter);
                    self.hubs.push(hub);
                    Member::Hub(self.hubs.len() - 1)
                }
                false => {
                    let class = values.iter().find(|&&value| value != "Algorithm");
                    let class =
                        class.copied().or_else(|| id.split_once('/').map(|(class, _)| class));
                    let class = class.unwrap_or("Algorithm").to_owned();
                    let at = reporter.position(at);
                    let id = id.to_owned();
                    self.algorithms.push(Algorithm { id, class, at, is_member: false });
                    Member::Algorithm(self.algorithms.len() - 1)
                }
            };
            members.insert(id, (number, member));
        }
        members
    }

    fn edges(
        &mut self,
        graph: &Graph<'_, '_>,
        members: &HashMap<&str, (usize, Member)>,
        reporter: &mut Reporter<'_>,
    ) {
        let mut by_number: Vec<Option<(&str, Member)>> = vec![None; members.len()];
        for (&id, &(number, member)) in members {
            by_number[number] = Some((id, member));
        }
        let known = |id: &str| members.get(id).map(|&(number, _)| number);
        let near = |id: &str| suggestion(id, members.keys().copied());
        let mut seen = std::collections::HashSet::new();
        for (source, target, at) in graph.edges(known, near, reporter) {
            let (Some((from, hub)), Some((to, member))) = (by_number[source], by_number[target])
            else {
                continue;
            };
            let Member::Hub(hub) = hub else {
                let [from, to] = [from, to].map(quoted);
                let message = format!(
                    "the edge from {from} to {to} begins at an algorithm: only a decision hub has members"
                );
                reporter.error(at, message);
                continue;
            };
            if !seen.insert((source, target)) {
                continue;
            }
            self.hubs[hub].members.push(member);
            match member {
                Member::Hub(member) => self.hubs[member].is_member = true,
                Member::Algorithm(member) => self.algorithms[member].is_member = true,
            }
        }
    }
}

fn is_hub(id: &str, values: &[&str]) -> bool {
    let prefix = id.split_once('/').map(|(class, _)| class);
    let is_type = |value: &str| value == HUB_CLASS || HUB_TYPES.contains(&value);
    prefix.is_some_and(is_type) || values.iter().any(|value| is_type(value))
}

fn hub<'d, 'i>(
    id: &str,
    node: Node<'d, 'i>,
    graph: &Graph<'d, 'i>,
    reporter: &mut Reporter<'_>,
) -> Hub {
    let mut is = |attribute: &str| {
        let names = [attribute];
        let value = graph.attributes(node, &names).next();
        match value.map(str::to_lowercase).as_deref() {
            None | Some("false" | "0") => false,
            Some("true" | "1") => true,
            Some(_) => {
                let value = quoted(value.unwrap_or_default());
                let message =
                    format!("{attribute} of {} is {value}: it has to be True or False", quoted(id));
                reporter.error(node.range().start, message);
                false
            }
        }
    };
    let (is_or, is_lazy) = (is("ModeOR"), is("Lazy"));
    let at = reporter.position(node.range().start);
    Hub { name: name(id).to_owned(), is_or, is_lazy, members: Vec::new(), at, is_member: false }
}

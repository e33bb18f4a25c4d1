//! Properties of a graph of modules that do not depend on its times: which modules are reached,
//! whether it has cycles, and its drawing.
//!
//! Nothing here recurses: a chain of a million modules is a graph as well.

use super::model::{Module, Role, Threads, Work, Workload};
use actinium_events::drawing::{self, Drawing, Edge, Node};
use std::collections::HashSet;

/// Which modules run if every filter says yes: those on paths, and all that they need.
#[must_use]
pub fn reachable(workload: &Workload) -> Vec<bool> {
    let mut reached = vec![false; workload.modules.len()];
    let mut open: Vec<usize> =
        workload.paths.iter().flat_map(|path| path.modules.iter().copied()).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            let inputs = workload.modules[index].inputs.iter();
            open.extend(inputs.map(|input| input.module).filter(|&input| !reached[input]));
        }
    }
    reached
}

/// The modules that run, to be drawn: nothing is made for that, and no file is opened. Steps of a
/// path that follow each other have an edge, too.
#[must_use]
pub fn drawing(workload: &Workload) -> Drawing {
    let title = if workload.name.is_empty() { "event processing" } else { &workload.name };
    let mut drawing = Drawing::new(title);
    let source = drawing.node(Node::new("source", drawing::Role::Source));
    let reached = reachable(workload);
    let mut nodes = vec![None; workload.modules.len()];
    for (index, module) in workload.modules.iter().enumerate().filter(|&(index, _)| reached[index])
    {
        let role = match module.role {
            Role::Producer => drawing::Role::Producer,
            Role::Filter => drawing::Role::Filter,
            Role::Analyzer => drawing::Role::Analyzer,
            Role::Output => drawing::Role::Output,
        };
        nodes[index] =
            Some(drawing.node(Node::new(&*module.label, role).detail(detail(workload, module))));
    }
    let mut known = HashSet::new();
    for (index, module) in workload.modules.iter().enumerate() {
        let Some(to) = nodes[index] else { continue };
        let inputs = module.inputs.iter().filter_map(|input| nodes[input.module]);
        for from in inputs {
            if known.insert((from, to)) {
                drawing.edge(Edge::new(from, to));
            }
        }
        // What needs no other module begins with the event.
        if module.inputs.is_empty() {
            drawing.edge(Edge::new(source, to));
        }
    }
    for path in &workload.paths {
        for pair in path.modules.windows(2) {
            if let (Some(from), Some(to)) = (nodes[pair[0]], nodes[pair[1]])
                && known.insert((from, to))
            {
                drawing.edge(Edge::order(from, to));
            }
        }
    }
    drawing
}

/// How many events may be in the module at a time, unless any number may; and whether it waits.
fn detail(workload: &Workload, module: &Module) -> String {
    let threads = match module.threads {
        Threads::Concurrent => String::new(),
        Threads::Serial => "serial".to_owned(),
        Threads::Stream => "stream".to_owned(),
        Threads::Limited(most) => format!("limited({most})"),
        Threads::Exclusive { resource } => format!("exclusive({})", workload.resources[resource]),
    };
    let waits = if module.work == Work::Wait { "waits" } else { "" };
    [threads.as_str(), waits].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The modules of one cycle in each knot of modules that need each other, each followed by one that
/// it needs. Empty if there is none.
pub(super) fn cycles(modules: &[Module]) -> Vec<Vec<usize>> {
    let mut cycles = Vec::new();
    let mut state = vec![State::New; modules.len()];
    for root in 0..modules.len() {
        if state[root] != State::New {
            continue;
        }
        // The way from the root to where we are, and how many inputs of each were looked at.
        let mut way: Vec<(usize, usize)> = vec![(root, 0)];
        state[root] = State::OnWay;
        // One cycle per walk will do: more of the same knot help nobody.
        let mut found = false;
        while let Some((index, looked)) = way.last_mut() {
            let Some(input) = modules[*index].inputs.get(*looked) else {
                state[*index] = State::Done;
                way.pop();
                continue;
            };
            *looked += 1;
            match state[input.module] {
                State::New => {
                    state[input.module] = State::OnWay;
                    way.push((input.module, 0));
                }
                State::OnWay if !found => {
                    found = true;
                    let from = way.iter().position(|&(index, _)| index == input.module);
                    let cycle = way[from.unwrap_or(0)..].iter().map(|&(index, _)| index);
                    cycles.push(cycle.collect());
                }
                State::OnWay | State::Done => {}
            }
        }
    }
    cycles
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnWay,
    Done,
}

//! Properties of a graph of modules that do not depend on its times: which modules are reached, and
//! whether it has cycles.
//!
//! Nothing here recurses: a chain of a million modules is a graph as well.

use super::model::{Module, Workload};

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

//! Paths of a control flow: each a sequence of algorithms that ends at the first that rejects the
//! event.
//!
//! A lazy hub whose members all have to accept is such a sequence. The members of any other hub run
//! whatever the others decide, so each is on a path of its own, behind what has to accept before
//! the hub. What follows such a hub in a sequence waits for all of its members to accept. An OR hub
//! holds nothing up: what its members decide is not in the file, and one that accepts is enough.

use super::control_flow::{ControlFlow, Hub, Member};
use crate::fault::{Reporter, quoted};
use crate::model::Position;
use std::collections::{HashMap, HashSet};

/// The largest number of steps of all paths together: hubs that share members may multiply them.
const STEPS_MAX: usize = 1 << 20;
/// The largest number of hubs in each other.
const DEPTH_MAX: usize = 256;

/// A path: indices of algorithms of the control flow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) name: String,
    pub(super) steps: Vec<usize>,
    pub(super) at: Position,
}

/// Returns the paths of a control flow.
pub(super) fn sequences(flow: &ControlFlow, reporter: &mut Reporter<'_>) -> Vec<Sequence> {
    let mut expansion = Expansion {
        flow,
        sequences: Vec::new(),
        names: HashMap::new(),
        steps: 0,
        depth: 0,
        states: vec![State::New; flow.hubs.len()],
        warned: vec![false; flow.hubs.len()],
        is_over: false,
    };
    for top in flow.tops() {
        expansion.path_of(top, &Steps::default(), reporter);
    }
    // Whatever no top leads to is in a circle, or behind one.
    let left = expansion.states.iter().position(|&state| state == State::New);
    if let Some(hub) = left.filter(|_| !expansion.is_over) {
        circle(&flow.hubs[hub], reporter);
    }
    expansion.sequences
}

fn circle(hub: &Hub, reporter: &mut Reporter<'_>) {
    let name = quoted(&hub.name);
    reporter.error_at(hub.at, format!("a circle: the hub {name} is in itself, or in one that is"));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnWay,
    Seen,
}

/// Algorithms, each once, in the order in which they have to accept.
#[derive(Clone, Default)]
struct Steps {
    list: Vec<usize>,
    has: HashSet<usize>,
}

impl Steps {
    fn push(&mut self, algorithm: usize) {
        // It runs once per event, and decides once.
        if self.has.insert(algorithm) {
            self.list.push(algorithm);
        }
    }
}

struct Expansion<'f> {
    flow: &'f ControlFlow,
    sequences: Vec<Sequence>,
    /// The names of paths, and the number at which to look for one like it that is free.
    names: HashMap<String, usize>,
    /// Steps of all paths so far, and of what was copied for them.
    steps: usize,
    depth: usize,
    states: Vec<State>,
    warned: Vec<bool>,
    /// Whether a fault makes the rest worthless.
    is_over: bool,
}

impl Expansion<'_> {
    /// Expands a hub that is on no other's path: a lazy one is a path of its own.
    fn path_of(&mut self, hub: usize, before: &Steps, reporter: &mut Reporter<'_>) -> Steps {
        let it = &self.flow.hubs[hub];
        if !self.affords(before.list.len(), it.at, reporter) {
            return Steps::default();
        }
        let mut steps = before.clone();
        self.expand(hub, &mut steps, reporter);
        if it.is_lazy && !it.is_or && steps.list.len() > before.list.len() {
            self.emit(&it.name, &steps, it.at, reporter);
        }
        steps
    }

    /// Adds to the steps what has to accept before what follows the hub.
    fn expand(&mut self, hub: usize, steps: &mut Steps, reporter: &mut Reporter<'_>) {
        let it = &self.flow.hubs[hub];
        if !self.affords(it.members.len(), it.at, reporter) {
            return;
        }
        let is_too_deep = self.depth == DEPTH_MAX;
        if is_too_deep || self.states[hub] == State::OnWay {
            self.is_over = true;
            return match is_too_deep {
                true => {
                    let message = format!("more than {DEPTH_MAX} hubs in each other");
                    reporter.error_at(it.at, message);
                }
                false => circle(it, reporter),
            };
        }
        self.states[hub] = State::OnWay;
        self.depth += 1;
        match (it.is_lazy, it.is_or) {
            (true, false) => self.one_after_the_other(it, steps, reporter),
            (_, is_or) => {
                if it.is_lazy && !std::mem::replace(&mut self.warned[hub], true) {
                    let message = format!(
                        "the hub {} is lazy and ModeOR: which members are skipped depends on \
                         decisions that are not in the file; all of them run",
                        quoted(&it.name)
                    );
                    reporter.warning_at(it.at, message);
                }
                let all = self.each(it, steps, reporter);
                if !is_or {
                    all.into_iter().for_each(|algorithm| steps.push(algorithm));
                }
            }
        }
        self.depth -= 1;
        self.states[hub] = State::Seen;
    }

    fn one_after_the_other(&mut self, it: &Hub, steps: &mut Steps, reporter: &mut Reporter<'_>) {
        for &member in &it.members {
            match member {
                Member::Algorithm(algorithm) => steps.push(algorithm),
                Member::Hub(hub) => self.expand(hub, steps, reporter),
            }
        }
    }

    /// Runs each member whatever the others decide. Returns what has to accept if all of them do.
    fn each(&mut self, it: &Hub, before: &Steps, reporter: &mut Reporter<'_>) -> Vec<usize> {
        let mut all = Vec::new();
        for &member in &it.members {
            if self.is_over {
                break;
            }
            let start = before.list.len();
            match member {
                Member::Algorithm(algorithm) => {
                    if !self.affords(start, it.at, reporter) {
                        break;
                    }
                    let mut steps = before.clone();
                    steps.push(algorithm);
                    let it = &self.flow.algorithms[algorithm];
                    self.emit(it.name(), &steps, it.at, reporter);
                    all.push(algorithm);
                }
                Member::Hub(hub) => {
                    let steps = self.path_of(hub, before, reporter);
                    all.extend(steps.list.iter().skip(start));
                }
            }
        }
        all
    }

    fn emit(&mut self, name: &str, steps: &Steps, at: Position, reporter: &mut Reporter<'_>) {
        if !self.affords(steps.list.len(), at, reporter) {
            return;
        }
        // A member of several hubs is on several paths.
        let number = self.names.get(name).copied().unwrap_or(0);
        let named = |number: usize| match number {
            0 => name.to_owned(),
            _ => format!("{name} ({})", number + 1),
        };
        let free = (number..).find(|&number| !self.names.contains_key(&named(number)));
        let free = free.unwrap_or(number);
        self.names.insert(named(free), 1);
        self.names.insert(name.to_owned(), free + 1);
        self.sequences.push(Sequence { name: named(free), steps: steps.list.clone(), at });
    }

    /// Counts steps that are to be kept or copied; false if they are too many.
    fn affords(&mut self, steps: usize, at: Position, reporter: &mut Reporter<'_>) -> bool {
        self.steps += steps + 1;
        if self.steps > STEPS_MAX && !self.is_over {
            self.is_over = true;
            let message =
                format!("the paths of this control flow have more than {STEPS_MAX} steps");
            reporter.error_at(at, message);
        }
        !self.is_over
    }
}

//! What is known about one event in flight: which modules were asked for, which are ready, which are done.
//!
//! Compact arrays, one entry per module, behind one short lock per slot; the lock is never held while a module runs. All that
//! happens when a module ends (products freed, consumers made ready, paths gone on, the next module chosen) happens
//! under one hold of it.
//!
//! `open` counts the modules that are ready, wait for a resource, run, or wait: when it is 0, the stage is over.

use crate::graph::Graph;

/// Nobody asked for it.
pub(crate) const IDLE: u8 = 0;
/// Its inputs are not all there.
pub(crate) const REQUESTED: u8 = 1;
/// In `ready`; it must still get its resource.
pub(crate) const READY: u8 = 2;
/// In `ready`, with its resource.
pub(crate) const HELD: u8 = 3;
/// In its resource's queue.
pub(crate) const QUEUED: u8 = 4;
/// It runs, or waits for its completion.
pub(crate) const RUNNING: u8 = 5;
/// It is done, and a path that comes to it goes on.
pub(crate) const YES: u8 = 6;
/// It is done, and a path that comes to it ends.
pub(crate) const NO: u8 = 7;
/// Nobody asked for it, and nobody will any more: all that could have is done, or on paths that have stopped.
pub(crate) const SKIPPED: u8 = 8;

/// Gives back what nobody needs any more of what a module made.
pub(crate) type Free<'a> = &'a mut dyn FnMut(&mut Cells, u16);

/// Counts the passes over events in one slot: each event and each new attempt at one is another.
pub(crate) type Pass = u32;

/// Which cells of a slot's columns hold products.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// For each column: those that hold nothing, and how many there are.
    columns: Box<[(Vec<u16>, u16)]>,
    taken: usize,
}

impl Cells {
    pub(crate) fn new(columns: usize) -> Self {
        Cells { columns: vec![(Vec::new(), 0); columns].into(), taken: 0 }
    }

    /// The one that was used last, for it is in the cache; true: it is a new one, which must be made.
    #[inline]
    pub(crate) fn take(&mut self, column: u16) -> (u16, bool) {
        self.taken += 1;
        let (free, made) = &mut self.columns[usize::from(column)];
        match free.pop() {
            Some(cell) => (cell, false),
            None => {
                *made += 1;
                (*made - 1, true)
            }
        }
    }

    #[inline]
    pub(crate) fn give_back(&mut self, column: u16, cell: u16) {
        self.taken -= 1;
        self.columns[usize::from(column)].0.push(cell);
    }

    pub(crate) fn taken(&self) -> usize {
        self.taken
    }
}

/// Where an event stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No event.
    #[default]
    Free,
    /// Paths, and what they need.
    Paths,
    /// Its outputs wait for those of the events before it.
    Parked,
    /// Its turn to be written has come.
    MayWrite,
    /// Outputs.
    Outputs,
}

/// Where a path stands when it goes no further.
pub(crate) const STOPPED: u16 = u16::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) stage: Stage,
    pub(crate) number: u64,
    pub(crate) start_ns: u64,
    pub(crate) pass: Pass,
    pub(crate) attempts: u32,
    pub(crate) open: u32,
    /// Which strands are queued or running.
    pub(crate) active: u32,
    pub(crate) failure: Option<(u16, String)>,
    pub(crate) ready: Vec<u16>,
    pub(crate) cells: Cells,
    /// Modules that were handed their resource, and since when they waited for it; with times only.
    pub(crate) handed: Vec<(u16, u64)>,
    /// Modules that wait: since when, and on which worker the wait was started; with spans only.
    pub(crate) waits_since: Vec<(u16, u64, u32)>,
    /// Room for `request`.
    wanted: Vec<u16>,
    state: Box<[u8]>,
    /// Inputs that are not there yet.
    pending: Box<[u16]>,
    /// Consumers that are not done yet.
    left: Box<[u16]>,
    /// The step that each path is at.
    steps: Box<[u16]>,
    /// Paths that reached an end since it was last looked: for their figures.
    pub(crate) ended_paths: Vec<u16>,
}

impl State {
    /// The state of a free slot.
    pub(crate) fn of_slot(graph: &Graph) -> Self {
        State { cells: Cells::new(graph.columns.len()), ..State::default() }
    }

    /// The state in which every event begins.
    pub(crate) fn template(graph: &Graph) -> Self {
        let n = graph.len();
        let mut state = State {
            state: vec![IDLE; n].into(),
            pending: vec![0; n].into(),
            left: (0..n).map(|m| graph.consumers.row(m as u16).len() as u16).collect(),
            steps: vec![0; graph.paths.len()].into(),
            stage: Stage::Paths,
            ..State::default()
        };
        for &root in &graph.roots {
            state.request(graph, root);
        }
        for path in 0..graph.paths.len() {
            state.go_on(graph, path as u16);
        }
        for &(output, select) in &graph.outputs {
            if select.is_none() {
                // What it needs is fetched at once; itself it waits for its stage.
                for &input in graph.inputs.row(output) {
                    state.request(graph, input);
                }
            }
        }
        state
    }

    /// Begins an event, or begins it again: without allocating.
    pub(crate) fn begin(&mut self, template: &State) {
        if self.state.len() != template.state.len() {
            // The slot's first event.
            (self.state, self.pending) = (template.state.clone(), template.pending.clone());
            (self.left, self.steps) = (template.left.clone(), template.steps.clone());
        }
        self.stage = Stage::Paths;
        self.open = template.open;
        self.failure = None;
        self.state.copy_from_slice(&template.state);
        self.pending.copy_from_slice(&template.pending);
        self.left.copy_from_slice(&template.left);
        self.steps.copy_from_slice(&template.steps);
        self.ready.clear();
        self.waits_since.clear();
        self.ready.extend_from_slice(&template.ready);
        self.ended_paths.clear();
        self.ended_paths.extend_from_slice(&template.ended_paths);
    }

    /// Whether the module runs or waits, in this very pass.
    pub(crate) fn waits(&self, module: u16, pass: Pass) -> bool {
        self.pass == pass && self.of(module) == RUNNING && self.stage != Stage::Free
    }

    pub(crate) fn of(&self, module: u16) -> u8 {
        self.state[usize::from(module)]
    }

    /// Since when a module that was handed its resource waited for it.
    pub(crate) fn take_handed(&mut self, module: u16) -> Option<u64> {
        let at = self.handed.iter().position(|&(handed, _)| handed == module)?;
        Some(self.handed.swap_remove(at).1)
    }

    pub(crate) fn set(&mut self, module: u16, state: u8) {
        self.state[usize::from(module)] = state;
    }

    /// Somebody needs this module.
    pub(crate) fn request(&mut self, graph: &Graph, module: u16) {
        if self.of(module) != IDLE {
            return;
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.push(module);
        self.set(module, REQUESTED);
        while let Some(m) = wanted.pop() {
            let pending = if graph.traits(m).one_by_one {
                let next = self.next_input(graph, m);
                if let Some(input) = next.filter(|&input| self.of(input) == IDLE) {
                    self.set(input, REQUESTED);
                    wanted.push(input);
                }
                u16::from(next.is_some())
            } else {
                self.want_inputs(graph, m, &mut wanted)
            };
            self.pending[usize::from(m)] = pending;
            if pending == 0 {
                self.make_ready(m);
            }
        }
        self.wanted = wanted;
    }

    /// Wants all inputs of a module; returns how many are not there yet.
    fn want_inputs(&mut self, graph: &Graph, module: u16, wanted: &mut Vec<u16>) -> u16 {
        let mut pending = 0;
        for &input in graph.inputs.row(module) {
            match self.of(input) {
                IDLE => {
                    self.set(input, REQUESTED);
                    wanted.push(input);
                    pending += 1;
                }
                YES | NO => {}
                _ => pending += 1,
            }
        }
        pending
    }

    /// The first input that is not there yet, in the order in which the module asked for them.
    fn next_input(&self, graph: &Graph, module: u16) -> Option<u16> {
        let is_missing = |&input: &u16| input != graph.source && self.of(input) < YES;
        graph.ports(module).iter().copied().find(is_missing)
    }

    fn make_ready(&mut self, module: u16) {
        self.set(module, READY);
        self.ready.push(module);
        self.open += 1;
    }

    /// A module is done. `free` is called for each producer whose product nobody needs any more.
    pub(crate) fn finish(&mut self, graph: &Graph, module: u16, pass: bool, free: Free<'_>) {
        self.open -= 1;
        self.set(module, if pass { YES } else { NO });
        for &input in graph.inputs.row(module) {
            let left = &mut self.left[usize::from(input)];
            *left -= 1;
            if *left == 0 {
                free(&mut self.cells, input);
            }
        }
        if self.failure.is_some() {
            return;
        }
        for &consumer in graph.consumers.row(module) {
            if self.of(consumer) != REQUESTED {
                continue;
            }
            if graph.traits(consumer).one_by_one {
                match self.next_input(graph, consumer) {
                    Some(input) => self.request(graph, input),
                    None => self.make_ready(consumer),
                }
            } else {
                self.pending[usize::from(consumer)] -= 1;
                if self.pending[usize::from(consumer)] == 0 {
                    self.make_ready(consumer);
                }
            }
        }
        for &path in graph.paths_of.row(module) {
            let step = self.steps[usize::from(path)];
            let steps = &graph.paths[usize::from(path)].1;
            if steps.get(usize::from(step)) == Some(&module) {
                self.go_on(graph, path);
                if self.steps[usize::from(path)] == STOPPED {
                    self.skip_rest(graph, path, step, free);
                }
            }
        }
    }

    /// The event has failed: nothing new is started.
    pub(crate) fn fail(&mut self, module: u16, cause: String) {
        self.open -= 1;
        self.set(module, NO);
        self.give_up(module, cause);
    }

    /// As `fail`, when the module is counted as done already.
    pub(crate) fn give_up(&mut self, module: u16, cause: String) {
        self.failure.get_or_insert((module, cause));
        let mut ready = std::mem::take(&mut self.ready);
        // Those that hold a resource go through their turn, which gives it back.
        ready.retain(|&m| {
            let holds = self.of(m) == HELD;
            self.open -= u32::from(!holds);
            holds
        });
        self.ready = ready;
    }

    /// A path goes on from the step that it is at, as far as it can.
    fn go_on(&mut self, graph: &Graph, path: u16) {
        let steps = &graph.paths[usize::from(path)].1;
        loop {
            let at = self.steps[usize::from(path)];
            let Some(&module) = steps.get(usize::from(at)) else {
                self.ended_paths.push(path);
                return;
            };
            match self.of(module) {
                YES => self.steps[usize::from(path)] += 1,
                NO => {
                    self.steps[usize::from(path)] = STOPPED;
                    self.ended_paths.push(path);
                    return;
                }
                _ => return self.request(graph, module),
            }
        }
    }

    /// A path has stopped at a step: what would have run after it and is on no other path that goes on keeps its inputs no longer.
    fn skip_rest(&mut self, graph: &Graph, path: u16, step: u16, free: Free<'_>) {
        let mut skipped = std::mem::take(&mut self.wanted);
        let rest = &graph.paths[usize::from(path)].1[usize::from(step) + 1..];
        let is_stopped = |&other: &u16| self.steps[usize::from(other)] == STOPPED;
        let will_not_run = |&m: &u16| graph.paths_of.row(m).iter().all(is_stopped);
        skipped.extend(rest.iter().copied().filter(will_not_run));
        let selects = |&(_, select): &(u16, Option<usize>)| select == Some(usize::from(path));
        skipped.extend(graph.outputs.iter().copied().filter(selects).map(|(output, _)| output));
        while let Some(module) = skipped.pop() {
            if self.of(module) != IDLE {
                continue;
            }
            self.set(module, SKIPPED);
            for &input in graph.inputs.row(module) {
                let left = &mut self.left[usize::from(input)];
                *left -= 1;
                if *left == 0 {
                    match self.of(input) {
                        IDLE => skipped.push(input),
                        _ => free(&mut self.cells, input),
                    }
                }
            }
        }
        self.wanted = skipped;
    }

    pub(crate) fn passed(&self, path: usize) -> bool {
        self.steps[path] != STOPPED
    }

    /// Starts the outputs; false if there is none for this event.
    pub(crate) fn start_outputs(&mut self, graph: &Graph) -> bool {
        self.stage = Stage::Outputs;
        for &(output, select) in &graph.outputs {
            if select.is_none_or(|path| self.passed(path)) {
                self.request(graph, output);
            }
        }
        self.open > 0
    }
}

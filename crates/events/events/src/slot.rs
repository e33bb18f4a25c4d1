//! The state of one event in flight: which modules were asked for, which are ready, which are done.
//!
//! One [word](crate::module_states) per module, changed under one short lock per slot; the lock is
//! never held while a module runs. All that happens when a module ends (products freed, consumers
//! made ready, paths gone on, the next module chosen) happens under one hold of it.
//!
//! `open` counts the modules that are ready, wait for a resource, run, or wait: when it is 0, the
//! stage is over.

use crate::cells::Cells;
use crate::layout::Layout;

pub(crate) use crate::module_states::{ACQUIRED, QUEUED, RUNNING};
use crate::module_states::{IDLE, ModuleStates, NO, REQUESTED, SKIPPED, YES};
use actinium_scheduler::trace::{Scope, Step};

/// Gives back what nobody needs any more of what a module made.
pub(crate) type Free<'a> = &'a mut dyn FnMut(&ModuleStates, &mut Cells, u16);

/// Counts the passes over events in one slot: each event and each new attempt at one is another. A
/// completion that somebody keeps for ever must never fit another pass, so it does not come round:
/// with 32 bits it would, in hours.
pub(crate) type Pass = u64;

/// Where an event stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No event.
    #[default]
    Free,
    /// Paths, and what they need.
    Paths,
    /// The outputs wait for those of the events before it.
    Parked,
    /// The turn to be written has come.
    MayWrite,
    /// Outputs.
    Outputs,
}

impl Stage {
    /// Whether nothing of an event runs: there is none, or it waits for others.
    pub(crate) fn is_resting(self) -> bool {
        matches!(self, Stage::Free | Stage::Parked)
    }
}

/// Where a path stands when it goes no further.
pub(crate) const STOPPED: u16 = u16::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) stage: Stage,
    pub(crate) number: u64,
    /// The place in the source's order.
    pub(crate) turn: u64,
    pub(crate) start_ns: u64,
    pub(crate) pass: Pass,
    pub(crate) attempts: u32,
    pub(crate) open: u32,
    /// The places at which it has a slot task: bits.
    pub(crate) active: u32,
    pub(crate) failure: Option<Box<(u16, String)>>,
    pub(crate) ready: Vec<u16>,
    /// How many of these have their resource.
    acquired: u16,
    pub(crate) cells: Cells,
    /// Modules that were handed their resource, and since when they waited for it; with times only.
    pub(crate) handed: Vec<(u16, u64)>,
    /// Modules that wait: since when, and on which worker the wait was started; with spans only.
    pub(crate) waits_since: Vec<(u16, u64, u32)>,
    /// Room for `request`.
    wanted: Vec<u16>,
    /// The slot's; none before its first event.
    pub(crate) words: ModuleStates,
    /// The step that each path is at.
    steps: Box<[u16]>,
    /// Paths that reached an end since it was last looked: for their figures.
    pub(crate) ended_paths: Vec<u16>,
    /// The step of a trace that the event is.
    pub(crate) traced: Traced,
}

/// The step of a trace that an event is, if it is part of one. No other event is that step.
#[derive(Debug, Default)]
pub(crate) struct Traced(Option<Box<Step>>);

impl Traced {
    pub(crate) fn of(step: Step) -> Self {
        Traced(Some(Box::new(step)))
    }

    /// Makes it the current step of this thread, until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Scope> {
        self.0.as_ref().map(|step| Scope::enter(step.context()))
    }

    /// The event has ended; the words say why it failed, if it did.
    pub(crate) fn end(self, failure: Option<&str>) {
        if let Some(step) = self.0 {
            step.end(failure.map(|it| it.to_owned().into()));
        }
    }
}

impl Clone for Traced {
    fn clone(&self) -> Self {
        Traced::default()
    }
}

impl State {
    /// The state of a free slot with products of so many types, and so many chunks of them at most.
    pub(crate) fn of_slot(columns: usize, chunks: usize) -> Self {
        State { cells: Cells::new(columns, chunks), ..State::default() }
    }

    /// The state in which every event begins.
    pub(crate) fn template(layout: &Layout) -> Self {
        let consumers = (0..layout.source).map(|m| layout.consumers.row(m).len());
        let mut state = State {
            words: ModuleStates::new(consumers),
            steps: vec![0; layout.paths.len()].into(),
            stage: Stage::Paths,
            ..State::default()
        };
        for &root in &layout.roots {
            state.request(layout, root);
        }
        for path in 0..layout.paths.len() {
            state.go_on(layout, path as u16);
        }
        for &(output, select) in &layout.outputs {
            if select.is_none() {
                // What it needs is fetched at once; itself it waits for its stage.
                for &input in layout.inputs.row(output) {
                    state.request(layout, input);
                }
            }
        }
        state
    }

    /// Begins an event, or begins it again: without allocating.
    pub(crate) fn begin(&mut self, template: &State) {
        if self.steps.len() != template.steps.len() {
            // The slot's first event.
            self.steps = template.steps.clone();
        }
        self.stage = Stage::Paths;
        self.open = template.open;
        self.failure = None;
        self.words.begin(&template.words);
        self.steps.copy_from_slice(&template.steps);
        self.ready.clear();
        self.acquired = 0;
        self.waits_since.clear();
        self.ready.extend_from_slice(&template.ready);
        self.ended_paths.clear();
        self.ended_paths.extend_from_slice(&template.ended_paths);
    }

    /// Whether the module runs or waits, in this very pass.
    pub(crate) fn waits(&self, module: u16, pass: Pass) -> bool {
        self.pass == pass && self.of(module) == RUNNING && self.stage != Stage::Free
    }

    /// Whether nothing of the event is under way any more.
    #[inline(always)]
    pub(crate) fn is_stage_over(&self) -> bool {
        self.open == 0 && !self.stage.is_resting()
    }

    /// Whether the slot has a slot task at this place.
    pub(crate) fn is_active(&self, place: usize) -> bool {
        self.active & (1 << place) != 0
    }

    pub(crate) fn of(&self, module: u16) -> u8 {
        self.words.state(module)
    }

    /// Since when a module that was handed its resource waited for it.
    pub(crate) fn take_handed(&mut self, module: u16) -> Option<u64> {
        let at = self.handed.iter().position(|&(handed, _)| handed == module)?;
        Some(self.handed.swap_remove(at).1)
    }

    pub(crate) fn set(&mut self, module: u16, state: u8) {
        self.words.set_state(module, state);
    }

    /// Somebody needs this module.
    pub(crate) fn request(&mut self, layout: &Layout, module: u16) {
        if self.of(module) != IDLE {
            return;
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.push(module);
        self.set(module, REQUESTED);
        while let Some(m) = wanted.pop() {
            let pending = if layout.traits(m).one_by_one {
                let next = self.next_input(layout, m);
                if let Some(input) = next.filter(|&input| self.of(input) == IDLE) {
                    self.set(input, REQUESTED);
                    wanted.push(input);
                }
                u16::from(next.is_some())
            } else {
                self.want_inputs(layout, m, &mut wanted)
            };
            match pending {
                0 => self.make_ready(m),
                _ => self.words.request(m, pending),
            }
        }
        self.wanted = wanted;
    }

    /// Wants all inputs of a module; returns how many are not there yet.
    fn want_inputs(&mut self, layout: &Layout, module: u16, wanted: &mut Vec<u16>) -> u16 {
        let mut pending = 0;
        for &input in layout.inputs.row(module) {
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
    fn next_input(&self, layout: &Layout, module: u16) -> Option<u16> {
        let is_missing = |&input: &u16| input != layout.source && self.of(input) < YES;
        layout.ports(module).iter().copied().find(is_missing)
    }

    /// Puts a module that has its resource among those that are ready.
    pub(crate) fn put_acquired(&mut self, module: u16) {
        self.set(module, ACQUIRED);
        self.ready.push(module);
        self.acquired += 1;
    }

    /// Takes what is to run next: what has its resource, for others wait for that, unless
    /// `leaves_acquired`; else what was made ready last, whose inputs are warm.
    #[inline]
    pub(crate) fn take_ready(&mut self, leaves_acquired: bool) -> Option<u16> {
        let last = self.ready.len().checked_sub(1)?;
        if self.acquired > 0 {
            let takes = |&module: &u16| (self.of(module) == ACQUIRED) != leaves_acquired;
            let nth = self.ready.iter().rposition(takes).unwrap_or(last);
            self.ready.swap(nth, last);
        }
        let module = self.ready.pop()?;
        self.acquired -= u16::from(self.of(module) == ACQUIRED);
        Some(module)
    }

    fn make_ready(&mut self, module: u16) {
        self.words.make_ready(module);
        self.ready.push(module);
        self.open += 1;
    }

    /// A module is done. `free` is called for each producer whose product nobody needs any more.
    pub(crate) fn finish(&mut self, layout: &Layout, module: u16, pass: bool, free: Free<'_>) {
        self.open -= 1;
        let has_product = self.words.finish(module, if pass { YES } else { NO });
        for &input in layout.inputs.row(module) {
            if self.words.is_last(input) {
                free(&self.words, &mut self.cells, input);
            }
        }
        if self.failure.is_some() {
            return;
        }
        for &consumer in layout.consumers.row(module) {
            if self.of(consumer) != REQUESTED {
                continue;
            }
            self.input_is_there(layout, consumer);
        }
        if !has_product {
            self.finish_parts(layout, module, free);
        }
        for &path in layout.paths_of.row(module) {
            let step = self.steps[usize::from(path)];
            let steps = &layout.paths[usize::from(path)].1;
            if steps.get(usize::from(step)) == Some(&module) {
                self.go_on(layout, path);
                if self.steps[usize::from(path)] == STOPPED {
                    self.skip_rest(layout, path, step, free);
                }
            }
        }
    }

    /// One more input of a module that was asked for is there.
    #[inline(always)]
    fn input_is_there(&mut self, layout: &Layout, module: u16) {
        if layout.traits(module).one_by_one {
            match self.next_input(layout, module) {
                Some(input) => self.request(layout, input),
                None => self.make_ready(module),
            }
        } else {
            if self.words.is_last_input(module) {
                self.make_ready(module);
            }
        }
    }

    /// What needs a module without a product of its own is its products, which are there now.
    #[inline(never)]
    fn finish_parts(&mut self, layout: &Layout, module: u16, free: Free<'_>) {
        for &part in layout.consumers.row(module) {
            if self.of(part) == RUNNING {
                self.finish_part(layout, part, free);
            }
        }
    }

    /// A product of a producer of several is there.
    fn finish_part(&mut self, layout: &Layout, part: u16, free: Free<'_>) {
        self.set(part, YES);
        if !self.words.is_needed(part) {
            // Nobody reads it, or all that would have were skipped meanwhile.
            return free(&self.words, &mut self.cells, part);
        }
        for &consumer in layout.consumers.row(part) {
            if self.of(consumer) == REQUESTED {
                self.input_is_there(layout, consumer);
            }
        }
    }

    /// A producer of several products is to run, and this one of them with it, wanted or not.
    pub(crate) fn begin_part(&mut self, part: u16) {
        self.words.make_ready(part);
        self.set(part, RUNNING);
    }

    /// The event has failed: nothing new is started.
    pub(crate) fn fail(&mut self, module: u16, cause: String) {
        self.open -= 1;
        self.set(module, NO);
        self.give_up(module, cause);
    }

    /// Fails the event like `fail`, for a module that is counted as done already.
    pub(crate) fn give_up(&mut self, module: u16, cause: String) {
        self.failure.get_or_insert_with(|| Box::new((module, cause)));
        let mut ready = std::mem::take(&mut self.ready);
        // Those that hold a resource go through their turn, which gives it back.
        ready.retain(|&m| {
            let holds = self.of(m) == ACQUIRED;
            self.open -= u32::from(!holds);
            holds
        });
        self.ready = ready;
    }

    /// A path goes on from the step that it is at, as far as it can.
    fn go_on(&mut self, layout: &Layout, path: u16) {
        let steps = &layout.paths[usize::from(path)].1;
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
                _ => return self.request(layout, module),
            }
        }
    }

    /// A path has stopped at a step: what would have run after it and is on no other path that goes
    /// on keeps its inputs no longer.
    fn skip_rest(&mut self, layout: &Layout, path: u16, step: u16, free: Free<'_>) {
        let mut skipped = std::mem::take(&mut self.wanted);
        let rest = &layout.paths[usize::from(path)].1[usize::from(step) + 1..];
        let is_stopped = |&other: &u16| self.steps[usize::from(other)] == STOPPED;
        let will_not_run = |&m: &u16| layout.paths_of.row(m).iter().all(is_stopped);
        skipped.extend(rest.iter().copied().filter(will_not_run));
        let selects = |&(_, select): &(u16, Option<usize>)| select == Some(usize::from(path));
        skipped.extend(layout.outputs.iter().copied().filter(selects).map(|(output, _)| output));
        while let Some(module) = skipped.pop() {
            if self.of(module) != IDLE {
                continue;
            }
            self.set(module, SKIPPED);
            for &input in layout.inputs.row(module) {
                if self.words.is_last(input) {
                    match self.of(input) {
                        IDLE => skipped.push(input),
                        // A product of several, whose producer may write it now: it is freed when
                        // that is done.
                        RUNNING => {}
                        _ => free(&self.words, &mut self.cells, input),
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
    pub(crate) fn start_outputs(&mut self, layout: &Layout) -> bool {
        self.stage = Stage::Outputs;
        for &(output, select) in &layout.outputs {
            if select.is_none_or(|path| self.passed(path)) {
                self.request(layout, output);
            }
        }
        self.open > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_its_resource_comes_before_what_was_made_ready_later() {
        let mut state = State { words: ModuleStates::new([0; 4].into_iter()), ..State::default() };
        let three = |state: &mut State| {
            state.make_ready(0);
            state.put_acquired(1);
            state.make_ready(2);
        };
        let take = |state: &mut State, leaves_acquired| {
            let mut all = vec![state.take_ready(leaves_acquired)];
            all.extend((0..3).map(|_| state.take_ready(false)));
            all
        };
        three(&mut state);
        assert_eq!(take(&mut state, false), [Some(1), Some(2), Some(0), None]);
        // Left to its home, it is next all the same once something else has run.
        three(&mut state);
        assert_eq!(take(&mut state, true), [Some(2), Some(1), Some(0), None]);
        state.put_acquired(3);
        assert_eq!(state.take_ready(true), Some(3), "there is nothing else");
    }
}

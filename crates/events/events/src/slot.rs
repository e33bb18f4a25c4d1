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
use crate::links::Linked;

use crate::module_states::{
    ACQUIRED, IDLE, ModuleStates, NO, NONE, READY, REQUESTED, SKIPPED, YES,
};
pub(crate) use crate::module_states::{QUEUED, RUNNING};
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
    /// The modules that are ready: see [`Lists`].
    lists: Lists,
    pub(crate) cells: Cells,
    pub(crate) rare: Rare,
    /// The slot's; none before its first event.
    pub(crate) words: ModuleStates,
    /// The step that each path is at.
    steps: Box<[u16]>,
    /// Paths that reached an end since it was last looked: for their figures.
    pub(crate) ended_paths: Vec<u16>,
    /// The step of a trace that the event is.
    pub(crate) traced: Traced,
}

/// The first modules of lists that go on in the modules' words; or [`NONE`].
#[derive(Clone, Copy, Debug)]
struct Lists {
    /// Of modules that must still get their resource, if they have one.
    ready: u16,
    /// Of modules that have it.
    acquired: u16,
}

impl Default for Lists {
    fn default() -> Self {
        Lists { ready: NONE, acquired: NONE }
    }
}

/// What few events have: made with the first of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare(Option<Box<Rarities>>);

#[derive(Clone, Debug, Default)]
struct Rarities {
    /// Modules that were handed their resource, and since when they waited for it; with times only.
    handed: Vec<(u16, u64)>,
    /// Modules that wait: since when, and on which worker the wait was started; with spans only.
    waits_since: Vec<(u16, u64, u32)>,
    /// Waiting modules whose start has not returned yet, and how each was completed meanwhile.
    starting: Vec<(u16, Option<Completed>)>,
    /// Room for `skip_rest`.
    skipped: Vec<u16>,
}

/// Whether a path goes on, or why the module has failed.
pub(crate) type Completed = Result<bool, Box<str>>;

impl Rare {
    fn make(&mut self) -> &mut Rarities {
        self.0.get_or_insert_default()
    }

    /// A module was handed its resource, for which it waited since then.
    pub(crate) fn hand(&mut self, module: u16, since_ns: u64) {
        self.make().handed.push((module, since_ns));
    }

    /// Since when a module that was handed its resource waited for it.
    pub(crate) fn take_handed(&mut self, module: u16) -> Option<u64> {
        let handed = &mut self.0.as_mut()?.handed;
        let at = handed.iter().position(|&(handed, _)| handed == module)?;
        Some(handed.swap_remove(at).1)
    }

    /// A wait begins, on this worker.
    pub(crate) fn begin_wait(&mut self, module: u16, since_ns: u64, worker: u32) {
        self.make().waits_since.push((module, since_ns, worker));
    }

    /// Since when a module waited, and on which worker that began.
    pub(crate) fn end_wait(&mut self, module: u16) -> Option<(u64, u32)> {
        let waits = &mut self.0.as_mut()?.waits_since;
        let at = waits.iter().position(|&(waits, ..)| waits == module)?;
        let (_, since_ns, worker) = waits.swap_remove(at);
        Some((since_ns, worker))
    }

    /// A waiting module is about to be started.
    pub(crate) fn begin_start(&mut self, module: u16) {
        self.make().starting.push((module, None));
    }

    /// A waiting module is done. While its start has not returned, that is kept for then, and
    /// nothing is given back: the start may still read what the event holds.
    pub(crate) fn completes(&mut self, module: u16, result: Completed) -> Option<Completed> {
        let mut starting = self.0.iter_mut().flat_map(|it| &mut it.starting);
        let Some((_, early)) = starting.find(|(starting, _)| *starting == module) else {
            return Some(result);
        };
        early.get_or_insert(result);
        None
    }

    /// The start of a waiting module has returned. How it was completed meanwhile, if it was.
    pub(crate) fn end_start(&mut self, module: u16) -> Option<Completed> {
        let starting = &mut self.0.as_mut()?.starting;
        let at = starting.iter().position(|&(starting, _)| starting == module)?;
        starting.swap_remove(at).1
    }

    /// An event begins.
    fn begin(&mut self) {
        self.0.iter_mut().for_each(|it| it.waits_since.clear());
    }
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
        let consumers = (0..layout.source).map(|m| layout.links.consumers(m).len());
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
                for &input in layout.links.inputs(output) {
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
        self.lists = template.lists;
        self.rare.begin();
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

    pub(crate) fn set(&mut self, module: u16, state: u8) {
        self.words.set_state(module, state);
    }

    /// Somebody needs this module.
    pub(crate) fn request(&mut self, layout: &Layout, module: u16) {
        if self.of(module) != IDLE {
            return;
        }
        // Those whose inputs are to be asked for.
        let mut wanted = NONE;
        self.want(module, &mut wanted);
        while wanted != NONE {
            let m = wanted;
            wanted = self.words.take_first(m);
            let pending = if layout.traits(m).one_by_one {
                let next = self.next_input(layout, m);
                if let Some(input) = next.filter(|&input| self.of(input) == IDLE) {
                    self.want(input, &mut wanted);
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
    }

    /// Puts a module before those whose inputs are to be asked for.
    fn want(&mut self, module: u16, wanted: &mut u16) {
        self.words.put_before(module, REQUESTED, *wanted);
        *wanted = module;
    }

    /// Wants all inputs of a module; returns how many are not there yet.
    fn want_inputs(&mut self, layout: &Layout, module: u16, wanted: &mut u16) -> u16 {
        let mut pending = 0;
        for &input in layout.links.inputs(module) {
            match self.of(input) {
                IDLE => {
                    self.want(input, wanted);
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
        layout.links.ports(module).iter().copied().find(is_missing)
    }

    /// Puts a module that has its resource among those that are ready.
    pub(crate) fn put_acquired(&mut self, module: u16) {
        self.words.put_before(module, ACQUIRED, self.lists.acquired);
        self.lists.acquired = module;
    }

    /// Puts a module that has no resource yet among those that are ready.
    #[inline]
    pub(crate) fn put_ready(&mut self, module: u16) {
        self.words.put_before(module, READY, self.lists.ready);
        self.lists.ready = module;
    }

    /// Whether a module is ready.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.lists.ready != NONE || self.lists.acquired != NONE
    }

    /// Takes what is to run next, and says whether it has its resource: what has it, for others
    /// wait for that, unless `leaves_acquired`; else what was made ready last, whose inputs are
    /// warm.
    #[inline]
    pub(crate) fn take_ready(&mut self, leaves_acquired: bool) -> Option<(u16, bool)> {
        let Lists { ready, acquired } = self.lists;
        if acquired != NONE && (ready == NONE || !leaves_acquired) {
            self.lists.acquired = self.words.take_first(acquired);
            return Some((acquired, true));
        }
        if ready == NONE {
            return None;
        }
        self.lists.ready = self.words.take_first(ready);
        Some((ready, false))
    }

    fn make_ready(&mut self, module: u16) {
        self.put_ready(module);
        self.open += 1;
    }

    /// A module is done. `free` is called for each producer whose product nobody needs any more.
    pub(crate) fn finish(&mut self, layout: &Layout, module: u16, pass: bool, free: Free<'_>) {
        self.open -= 1;
        let has_product = self.words.finish(module, if pass { YES } else { NO });
        let Linked { inputs, consumers, paths } = layout.links.linked(module);
        for &input in inputs {
            if self.words.is_last(input) {
                free(&self.words, &mut self.cells, input);
            }
        }
        if self.failure.is_some() {
            return;
        }
        for &consumer in consumers {
            if self.of(consumer) == REQUESTED {
                self.input_is_there(layout, consumer);
            }
        }
        if !has_product {
            self.finish_parts(layout, module, free);
        }
        for &path in paths {
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
        if !self.words.is_last_input(module) {
            return;
        }
        // One that asks for one after the other waits for one at a time.
        let next = match layout.traits(module).one_by_one {
            true => self.next_input(layout, module),
            false => None,
        };
        match next {
            Some(input) => {
                self.words.request(module, 1);
                self.request(layout, input);
            }
            None => self.make_ready(module),
        }
    }

    /// What needs a module without a product of its own is its products, which are there now.
    #[inline(never)]
    fn finish_parts(&mut self, layout: &Layout, module: u16, free: Free<'_>) {
        for &part in layout.links.consumers(module) {
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
        for &consumer in layout.links.consumers(part) {
            if self.of(consumer) == REQUESTED {
                self.input_is_there(layout, consumer);
            }
        }
    }

    /// A producer of several products is to run, and this one of them with it, wanted or not.
    pub(crate) fn begin_part(&mut self, part: u16) {
        self.words.run(part);
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
        // Those that hold a resource go through their turn, which gives it back.
        while self.lists.ready != NONE {
            self.lists.ready = self.words.take_first(self.lists.ready);
            self.open -= 1;
        }
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
        let mut skipped = std::mem::take(&mut self.rare.make().skipped);
        let rest = &layout.paths[usize::from(path)].1[usize::from(step) + 1..];
        let is_stopped = |&other: &u16| self.steps[usize::from(other)] == STOPPED;
        let will_not_run = |&m: &u16| layout.links.paths(m).iter().all(is_stopped);
        skipped.extend(rest.iter().copied().filter(will_not_run));
        let selects = |&(_, select): &(u16, Option<usize>)| select == Some(usize::from(path));
        skipped.extend(layout.outputs.iter().copied().filter(selects).map(|(output, _)| output));
        while let Some(module) = skipped.pop() {
            if self.of(module) != IDLE {
                continue;
            }
            self.set(module, SKIPPED);
            for &input in layout.links.inputs(module) {
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
        self.rare.make().skipped = skipped;
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
        let (acquired, ready) = (|m| Some((m, true)), |m| Some((m, false)));
        assert_eq!(take(&mut state, false), [acquired(1), ready(2), ready(0), None]);
        // Left to its home, it is next all the same once something else has run.
        three(&mut state);
        assert_eq!(take(&mut state, true), [ready(2), acquired(1), ready(0), None]);
        state.put_acquired(3);
        assert_eq!(state.take_ready(true), acquired(3), "there is nothing else");
    }
}

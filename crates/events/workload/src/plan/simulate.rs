//! Runs a workload in imagination: so many workers, so many slots, no overhead. What it takes is
//! the ideal that a run is held against.
//!
//! The rules are those of the processor. A slot takes the next event when its last one is done. All
//! paths of an event begin at once; a path's next module is asked for when the one before has said
//! yes. Whoever is asked for asks for what it needs, and is ready when all of that is there. What
//! is ready takes its turn at the resource that it needs, then a worker if it computes; what waits
//! needs none. Of those that could start, the one of the oldest event does, and of one event the
//! most urgent: that is list scheduling. No schedule is better by more than a part that shrinks
//! with the number of events.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::flow::Flow;
use crate::model::Work;

/// The settings of a simulated run: workers, slots and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Worker threads; `None`: as many as are ever wanted.
    pub workers: Option<usize>,
    /// Events in flight.
    pub slots: usize,
    /// How many events are run.
    pub events: u64,
    /// The number of the first.
    pub first_event: u64,
    /// Whether serial modules and resources are kept, or all is concurrent.
    pub limits: bool,
}

/// The result of a simulated run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The time from the first event's start to the last one's end.
    pub elapsed_ns: u64,
    /// The time of all module runs together.
    pub work_ns: u64,
    /// The part of `work_ns` in which modules compute.
    pub busy_ns: u64,
    /// How many modules were run.
    pub runs: u64,
}

/// Why each module of the last event began when it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The last to finish of the modules that each module had to wait for, because of data or the
    /// way along a path. `None`: the module began with the event.
    pub after: Vec<Option<usize>>,
    /// Whether it ran at all.
    pub ran: Vec<bool>,
    /// The module that finished last of all.
    pub last: Option<usize>,
}

/// Simulates a run.
#[must_use]
pub fn simulate(flow: &Flow<'_>, setup: &Setup) -> Outcome {
    Engine::new(flow, setup).run().0
}

/// Runs one event with workers for all, and says what it had to wait for.
#[must_use]
pub fn trace(flow: &Flow<'_>, event: u64) -> (Outcome, Trace) {
    let setup = Setup { workers: None, slots: 1, events: 1, first_event: event, limits: false };
    Engine::new(flow, &setup).run()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// Asked for, and waiting for inputs, its turn or its end.
    Asked,
    Done,
}

/// An event in flight.
struct Slot {
    event: u64,
    states: Vec<State>,
    /// How many inputs each module still lacks; for one that asks one by one, the input that it
    /// waits for.
    lacks: Vec<u32>,
    paths_open: usize,
    /// Parts of split modules that have not ended.
    parts: Vec<u32>,
}

/// A task that could start. The greatest goes first.
#[derive(Clone, Copy, PartialEq)]
struct Task {
    event: u64,
    urgency: f64,
    slot: usize,
    module: usize,
    ns: u64,
}

impl Eq for Task {}

impl Ord for Task {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_event = other.event.cmp(&self.event);
        let by_urgency = || self.urgency.total_cmp(&other.urgency);
        by_event.then_with(by_urgency).then_with(|| other.module.cmp(&self.module))
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The kinds of simulated happenings, each at one moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A part of a module's work ends, and its worker is free if it had one.
    End { slot: usize, module: usize, frees_worker: bool },
    /// The source has made an event.
    Event { slot: usize },
}

struct Engine<'f> {
    flow: &'f Flow<'f>,
    setup: Setup,
    now: u64,
    /// The happenings to come, the earliest first. Those of one moment come in the order in which
    /// they were added.
    future: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    sequence: u64,
    slots: Vec<Slot>,
    next_event: u64,
    source_free_at: u64,
    ready: BinaryHeap<Task>,
    workers_idle: usize,
    limits_free: Vec<u32>,
    limits_queued: Vec<BinaryHeap<Task>>,
    /// Modules that were asked for and not looked at: a list instead of recursion.
    asked: Vec<usize>,
    outcome: Outcome,
    trace: Trace,
}

impl<'f> Engine<'f> {
    fn new(flow: &'f Flow<'f>, setup: &Setup) -> Self {
        let modules = flow.reached.len();
        let slots = setup.slots.min(usize::try_from(setup.events).unwrap_or(usize::MAX));
        let slot = || Slot {
            event: 0,
            states: vec![State::Idle; modules],
            lacks: vec![0; modules],
            paths_open: 0,
            parts: vec![0; modules],
        };
        Self {
            flow,
            setup: *setup,
            now: 0,
            future: BinaryHeap::new(),
            sequence: 0,
            slots: std::iter::repeat_with(slot).take(slots).collect(),
            next_event: 0,
            source_free_at: 0,
            ready: BinaryHeap::new(),
            workers_idle: setup.workers.unwrap_or(usize::MAX),
            limits_free: flow.limits.iter().map(|limit| limit.tasks_max).collect(),
            limits_queued: vec![BinaryHeap::new(); flow.limits.len()],
            asked: Vec::new(),
            outcome: Outcome::default(),
            trace: Trace { after: vec![None; modules], ran: vec![false; modules], last: None },
        }
    }

    fn run(mut self) -> (Outcome, Trace) {
        for slot in 0..self.slots.len() {
            self.take_event(slot);
        }
        self.dispatch();
        while let Some(Reverse((at, _, happening))) = self.future.pop() {
            self.now = at;
            match happening {
                Happening::Event { slot } => self.begin(slot),
                Happening::End { slot, module, frees_worker } => {
                    self.workers_idle = self.workers_idle.saturating_add(usize::from(frees_worker));
                    self.slots[slot].parts[module] -= 1;
                    if self.slots[slot].parts[module] == 0 {
                        self.finish(slot, module);
                    }
                }
            }
            self.dispatch();
        }
        self.outcome.elapsed_ns = self.now;
        (self.outcome, self.trace)
    }

    fn at(&mut self, when: u64, what: Happening) {
        self.future.push(Reverse((when, self.sequence, what)));
        self.sequence += 1;
    }

    /// The slot is free: the source makes it the next event, if there is one.
    fn take_event(&mut self, slot: usize) {
        if self.next_event == self.setup.events {
            return;
        }
        let event = self.setup.first_event.wrapping_add(self.next_event);
        self.next_event += 1;
        self.slots[slot].event = event;
        let begin = self.now.max(self.source_free_at);
        self.source_free_at = begin + self.flow.workload.source.times.of(event);
        self.at(self.source_free_at, Happening::Event { slot });
    }

    fn begin(&mut self, slot: usize) {
        let it = &mut self.slots[slot];
        it.states.fill(State::Idle);
        it.paths_open = self.flow.workload.paths.len();
        for path in 0..self.flow.workload.paths.len() {
            self.go_on(slot, path, 0, None);
        }
    }

    /// The path comes to this step.
    fn go_on(&mut self, slot: usize, path: usize, step: usize, after: Option<usize>) {
        let mut step = step;
        while let Some(&module) = self.flow.workload.paths[path].modules.get(step) {
            // Another path has had it run already: what it said holds here too.
            if self.slots[slot].states[module] != State::Done {
                self.ask(slot, module, after);
                return;
            }
            if !self.says_yes(slot, module) {
                break;
            }
            step += 1;
        }
        let it = &mut self.slots[slot];
        it.paths_open -= 1;
        if it.paths_open == 0 {
            self.trace.last = after;
            self.take_event(slot);
        }
    }

    fn says_yes(&self, slot: usize, module: usize) -> bool {
        self.flow.workload.modules[module].accepts(self.slots[slot].event)
    }

    /// Somebody needs the module: so it needs its inputs.
    fn ask(&mut self, slot: usize, module: usize, after: Option<usize>) {
        debug_assert!(self.asked.is_empty(), "asking does not come back here");
        self.asked.push(module);
        while let Some(module) = self.asked.pop() {
            if self.slots[slot].states[module] != State::Idle {
                continue;
            }
            self.slots[slot].states[module] = State::Asked;
            self.trace.after[module] = after;
            self.slots[slot].lacks[module] = 0;
            if self.flow.workload.modules[module].fetches_one_by_one {
                self.fetch_next(slot, module);
                continue;
            }
            for &producer in &self.flow.producers[module] {
                if self.slots[slot].states[producer] != State::Done {
                    self.slots[slot].lacks[module] += 1;
                    self.asked.push(producer);
                }
            }
            if self.slots[slot].lacks[module] == 0 {
                self.make_ready(slot, module);
            }
        }
    }

    /// Asks for the first input that is not there, on behalf of a module that asks one by one.
    fn fetch_next(&mut self, slot: usize, module: usize) {
        let producers = &self.flow.producers[module];
        let mut next = self.slots[slot].lacks[module] as usize;
        while next < producers.len() && self.slots[slot].states[producers[next]] == State::Done {
            next += 1;
        }
        self.slots[slot].lacks[module] = next as u32;
        match producers.get(next) {
            Some(&producer) => self.asked.push(producer),
            None => self.make_ready(slot, module),
        }
    }

    /// All that it needs is there: it waits for its turn at the resource, if it needs one.
    fn make_ready(&mut self, slot: usize, module: usize) {
        let event = self.slots[slot].event;
        let it = &self.flow.workload.modules[module];
        let task = Task {
            event,
            urgency: self.flow.urgency[module],
            slot,
            module,
            ns: it.times.of(event),
        };
        match self.flow.limit_of[module].filter(|_| self.setup.limits) {
            Some(limit) if self.limits_free[limit] == 0 => self.limits_queued[limit].push(task),
            Some(limit) => {
                self.limits_free[limit] -= 1;
                self.have_turn(task);
            }
            None => self.have_turn(task),
        }
    }

    /// Gives a task its turn: one that waits begins at once, one that computes may begin on a
    /// worker.
    fn have_turn(&mut self, task: Task) {
        let Task { slot, module, ns, .. } = task;
        let it = &self.flow.workload.modules[module];
        self.outcome.work_ns += ns;
        self.outcome.runs += 1;
        self.trace.ran[module] = true;
        let parts = it.parts.get();
        if it.work == Work::Wait {
            self.slots[slot].parts[module] = 1;
            let end = self.now + ns / u64::from(parts);
            self.at(end, Happening::End { slot, module, frees_worker: false });
            return;
        }
        self.outcome.busy_ns += ns;
        let Some(workers) = self.setup.workers else {
            self.slots[slot].parts[module] = 1;
            let end = self.now + ns / u64::from(parts);
            self.at(end, Happening::End { slot, module, frees_worker: false });
            return;
        };
        // More parts than workers end no sooner.
        let parts = parts.min(u32::try_from(workers).unwrap_or(u32::MAX));
        self.slots[slot].parts[module] = parts;
        for part in 0..u64::from(parts) {
            let ns = ns / u64::from(parts) + u64::from(part < ns % u64::from(parts));
            self.ready.push(Task { ns, ..task });
        }
    }

    /// Idle workers take what is ready.
    fn dispatch(&mut self) {
        while self.workers_idle > 0 {
            let Some(task) = self.ready.pop() else { return };
            self.workers_idle -= 1;
            let Task { slot, module, ns, .. } = task;
            self.at(self.now + ns, Happening::End { slot, module, frees_worker: true });
        }
    }

    fn finish(&mut self, slot: usize, module: usize) {
        if let Some(limit) = self.flow.limit_of[module].filter(|_| self.setup.limits) {
            match self.limits_queued[limit].pop() {
                Some(task) => self.have_turn(task),
                None => self.limits_free[limit] += 1,
            }
        }
        self.slots[slot].states[module] = State::Done;
        let flow = self.flow;
        for &consumer in &flow.consumers[module] {
            if self.slots[slot].states[consumer] != State::Asked {
                continue;
            }
            if flow.workload.modules[consumer].fetches_one_by_one {
                let waits_for = self.slots[slot].lacks[consumer] as usize;
                if flow.producers[consumer].get(waits_for) == Some(&module) {
                    self.trace.after[consumer] = Some(module);
                    self.fetch_next(slot, consumer);
                    if let Some(producer) = self.asked.pop() {
                        self.ask(slot, producer, Some(module));
                    }
                }
                continue;
            }
            self.slots[slot].lacks[consumer] -= 1;
            if self.slots[slot].lacks[consumer] == 0 {
                self.trace.after[consumer] = Some(module);
                self.make_ready(slot, consumer);
            }
        }
        for &(path, step) in &flow.on_paths[module] {
            // Only the paths that have come to it: for the others it is done when they come.
            let steps = &flow.workload.paths[path].modules;
            let here = steps[..step].iter().all(|&before| {
                self.slots[slot].states[before] == State::Done && self.says_yes(slot, before)
            });
            if here && self.slots[slot].paths_open > 0 {
                match self.says_yes(slot, module) {
                    true => self.go_on(slot, path, step + 1, Some(module)),
                    false => self.go_on(slot, path, usize::MAX, Some(module)),
                }
            }
        }
    }
}

//! One turn of a slot task, in five steps: choose a ready module, leave it to another turn, acquire
//! its resource, run it, finish it.

use crate::cause::said;
use crate::engine::Anchor;
use crate::erased::Ran;
use crate::event::Event;
use crate::layout::Traits;
use crate::record::{Figures, Span};
use crate::resource::Waiting;
use crate::run::{OfWorker, Run};
use crate::slot::{QUEUED, State};
use crate::slot_tasks::{SlotTurn, Wanted};
use actinium_scheduler::sync::lock;
use actinium_scheduler::{Turn, Worker, guard};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

/// A module that is expected to take at least this many nanoseconds has a turn of its own, so that
/// the scheduler can give others theirs.
const LONG_NS: u32 = 10_000;
/// Before a module that takes longer, in nanoseconds, others that are ready are handed to a worker
/// that is idle ...
const SPREAD_IDLE_NS: u32 = 5_000;
/// ... and before one that takes longer than this even to one that is busy now: it may be done
/// sooner.
const SPREAD_ALWAYS_NS: u32 = 200_000;
/// A module that takes less than this is far from the limits above, so what is expected of it is
/// not kept up to date: to write it costs the others a cache line that they read at each call.
const SHORT_NS: u64 = 1_000;
/// The number of calls of which one is timed, with [`Figures::Counts`].
const TIMED: u64 = 64;

/// The starts of a call's waits, and whether its resource is at home on the worker where it runs.
#[derive(Clone, Copy)]
struct Since {
    event_ns: u64,
    /// The time at which the module was queued for its resource, if that was taken when its inputs
    /// were there.
    queued_ns: Option<u64>,
    is_at_home: bool,
}

/// A module that its slot task has chosen.
#[derive(Clone, Copy)]
struct Chosen {
    module: u16,
    /// Whether it has been handed its resource.
    is_acquired: bool,
    expected_ns: u32,
}

/// The result when a module wants its resource.
enum Acquired {
    /// The module has the resource, and runs here.
    Here,
    /// The module waits for the resource.
    Queued,
    /// The module has the resource, and goes to the worker where the resource is at home.
    AtHome,
}

impl SlotTurn for OfWorker {
    fn turn(&self, wanted: Wanted, worker: &Worker) -> (Turn, u32, bool) {
        self.run.turn(&self.anchor, wanted, worker)
    }
}

impl Run {
    /// One turn of a slot task: many short modules, or a long one. Says last whether others wait
    /// for what comes next.
    pub(crate) fn turn(
        &self,
        anchor: &Anchor,
        wanted: Wanted,
        worker: &Worker,
    ) -> (Turn, u32, bool) {
        let (engine, slot) = (&*self.engine, wanted.slot);
        let mut handled = 0;
        // When the call before this one ended: the next begins then, with what is done in between,
        // for the clock costs as much as that.
        let mut last_ns = 0;
        let mut leaves_acquired = false;
        let mut state = engine.state(slot);
        let mut scope = state.traced.enter();
        loop {
            // Choose.
            let next = state.take_ready(std::mem::take(&mut leaves_acquired));
            let Some((module, is_acquired)) = next else {
                if state.is_stage_over() {
                    state = self.stage_over(slot, state, worker);
                    // It may be another event by now.
                    drop(scope);
                    scope = state.traced.enter();
                    if !state.stage.is_resting() {
                        continue;
                    }
                }
                state.active &= !(1 << wanted.place);
                return (Turn::Idle, handled, false);
            };
            let chosen = Chosen { module, is_acquired, expected_ns: self.expected_ns(module) };
            // Leave it to another turn.
            if handled > 0 && is_for_another_turn(chosen, handled, worker) {
                match is_acquired {
                    true => state.put_acquired(module),
                    false => state.put_ready(module),
                }
                return (Turn::Again, handled, is_acquired);
            }
            let traits = engine.layout.traits(module);
            let result = if state.failure.is_some() {
                self.skip(state, slot, chosen, traits.resource, worker);
                None
            } else {
                // Acquire its resource.
                if let (Some(resource), false) = (traits.resource, is_acquired) {
                    match self.acquire(slot, &mut state, resource, module, worker) {
                        Acquired::Here => {}
                        Acquired::Queued => continue,
                        Acquired::AtHome => {
                            leaves_acquired = true;
                            continue;
                        }
                    }
                }
                // Run it.
                handled += 1;
                self.run_module(anchor, worker, (slot, state), chosen, traits, &mut last_ns)
            };
            // Finish it.
            state = engine.state(slot);
            if let Some(result) = result {
                engine.ended(slot, &mut state, module, result);
                state = engine.drop_retired(slot, state);
            }
        }
    }

    /// Skips a module of an event that is given up: what holds a resource gives it back unused.
    fn skip(
        &self,
        mut state: MutexGuard<'_, State>,
        slot: u32,
        chosen: Chosen,
        resource: Option<u16>,
        worker: &Worker,
    ) {
        let _ = state.rare.take_handed(chosen.module);
        state.fail(chosen.module, String::new());
        drop(state);
        if let (Some(resource), true) = (resource, chosen.is_acquired) {
            self.engine.release(resource, Some(slot), Some(worker));
        }
    }

    /// Acquires the resource of a module that has not been handed it.
    #[inline(always)]
    fn acquire(
        &self,
        slot: u32,
        state: &mut State,
        resource: u16,
        module: u16,
        worker: &Worker,
    ) -> Acquired {
        // Before it can be handed over.
        state.set(module, QUEUED);
        let since_ns =
            if self.engine.settings.figures >= Figures::Times { self.engine.now_ns() } else { 0 };
        let waiting = Waiting { slot, module, since_ns, number: state.number };
        if !self.engine.resources[usize::from(resource)].acquire(waiting) {
            return Acquired::Queued;
        }
        match self.leaves_to_home(slot, state, resource, module, worker) {
            true => Acquired::AtHome,
            false => Acquired::Here,
        }
    }

    /// Runs a module, and gives its resource back. None: a completion ends it, or has. A completion
    /// that comes before the module's start has returned is the result.
    #[inline(always)]
    fn run_module(
        &self,
        anchor: &Anchor,
        worker: &Worker,
        (slot, mut state): (u32, MutexGuard<'_, State>),
        chosen: Chosen,
        traits: Traits,
        last_ns: &mut u64,
    ) -> Option<Result<bool, Box<str>>> {
        let Chosen { module, is_acquired, expected_ns } = chosen;
        let Traits { resource, waits, streams, .. } = traits;
        let queued_ns = if is_acquired { state.rare.take_handed(module) } else { None };
        state.words.run(module);
        if waits && self.engine.settings.figures == Figures::Spans {
            state.rare.begin_wait(module, self.engine.now_ns(), worker.index() as u32);
        }
        if waits {
            state.rare.begin_start(module);
        }
        let taken = self.engine.take_cell(slot, &mut state, module);
        if state.has_ready() && self.is_worth_spreading(expected_ns) {
            self.engine.activate(slot, &mut state, Some(worker), true);
        }
        let at = &self.engine.slots[slot as usize];
        let event = Event {
            engine: &self.engine,
            anchor,
            worker,
            at,
            words: at.words.get().expect("an event is in it"),
            ports: self.engine.layout.links.ports(module),
            taken,
            slot,
            module,
            pass: state.pass,
            number: state.number,
        };
        let is_at_home = resource
            .is_some_and(|it| self.engine.resources[usize::from(it)].runs_at(worker.index()));
        let since = Since { event_ns: state.start_ns, queued_ns, is_at_home };
        drop(state);
        let result = self.call(&event, streams, since, last_ns);
        if waits {
            // Nothing of the event ends before this, so the slot has no other one.
            let early = self.engine.state(slot).rare.end_start(module);
            if early.is_none() {
                if let Err(cause) = result {
                    let failed = || Err(cause);
                    self.engine.complete_from(slot, module, event.pass, failed, Some(worker));
                }
                return None;
            }
            if let Some(resource) = resource {
                self.engine.release(resource, Some(slot), Some(worker));
            }
            return early;
        }
        if let Some(resource) = resource {
            self.engine.release(resource, Some(slot), Some(worker));
        }
        Some(result.map(|ran| !matches!(ran, Ran::Done(false))))
    }

    /// The module has its resource, whose home is elsewhere. It goes there when that pays: it takes
    /// longer than a wake-up, home is asleep, and there is something else to do here meanwhile.
    /// Should this slot task be done with that first, it runs the module after all.
    fn leaves_to_home(
        &self,
        slot: u32,
        state: &mut State,
        resource: u16,
        module: u16,
        worker: &Worker,
    ) -> bool {
        let Some(home) = self.engine.resources[usize::from(resource)].home() else { return false };
        let place = self.engine.place(slot, home);
        if home == worker.index()
            || !state.has_ready()
            || place >= self.engine.per_slot
            || state.is_active(place)
            || self.expected_ns(module) < LONG_NS
            || !self.engine.shared.sleep().is_asleep(home)
        {
            return false;
        }
        state.put_acquired(module);
        self.engine.activate_at(slot, state, place, Some(worker), true);
        true
    }

    fn is_worth_spreading(&self, expected_ns: u32) -> bool {
        self.engine.shared.workers() > 1
            && (expected_ns == 0
                || expected_ns >= SPREAD_ALWAYS_NS
                || expected_ns >= SPREAD_IDLE_NS && self.engine.shared.sleep().idle() > 0)
    }

    fn expected_ns(&self, module: u16) -> u32 {
        // Relaxed: an estimate.
        self.expected_ns[usize::from(module)].load(Ordering::Relaxed)
    }

    /// Calls the module, with all that is noted about it. `last_ns`: when the call before it in
    /// this turn ended, 0 if there was none or nobody looked.
    fn call(
        &self,
        event: &Event<'_>,
        streams: bool,
        since: Since,
        last_ns: &mut u64,
    ) -> Result<Ran, Box<str>> {
        let m = usize::from(event.module);
        let notes = &self.engine.notes[event.worker.index()];
        let counts = &notes.modules[m];
        let instance = self.instances.get(event.module, streams, event.slot);
        if since.is_at_home {
            counts.at_home.add(1);
        }
        let figures = self.engine.settings.figures;
        let is_timed = figures >= Figures::Times
            || event.worker.keeps_records()
            || counts.calls.get().is_multiple_of(TIMED);
        let begin_ns = match *last_ns {
            0 if is_timed => self.engine.now_ns(),
            last_ns => last_ns,
        };
        *last_ns = 0;
        if figures >= Figures::Times {
            notes.since_ns.set(begin_ns.max(1));
            self.engine.count_products(event.module);
            counts.wait_start_ns.add(begin_ns.saturating_sub(since.event_ns));
            if let Some(queued_ns) = since.queued_ns {
                counts.wait_resource_ns.add(begin_ns.saturating_sub(queued_ns));
            }
        }
        notes.module.set(m as u64 + 1);
        let result = said(guard::catch(|| instance.run(event)));
        notes.module.set(0);
        counts.calls.add(1);
        if result.is_err() {
            counts.failures.add(1);
        }
        if is_timed {
            *last_ns = self.note_call(event, begin_ns);
        }
        result
    }

    /// Notes how long a call took that has just ended. Returns when that was.
    #[inline(always)]
    fn note_call(&self, event: &Event<'_>, begin_ns: u64) -> u64 {
        let notes = &self.engine.notes[event.worker.index()];
        let figures = self.engine.settings.figures;
        let end_ns = self.engine.now_ns();
        let took_ns = end_ns.saturating_sub(begin_ns);
        self.learn(event.module, took_ns);
        if figures >= Figures::Times {
            notes.modules[usize::from(event.module)].busy_ns.add(took_ns);
            notes.busy_ns.add(took_ns);
            notes.since_ns.set(0);
        }
        if figures == Figures::Spans {
            let span = Span {
                event: event.number,
                module: event.module.into(),
                worker: event.worker.index() as u32,
                slot: event.slot,
                start_ns: begin_ns,
                end_ns,
                waits: false,
            };
            lock(&notes.spans).push(span, self.engine.settings.spans_max);
        }
        if event.worker.keeps_records() {
            let name = self.engine.names()[usize::from(event.module)];
            event.worker.record_call(name, event.number, (begin_ns, end_ns));
        }
        end_ns
    }

    fn learn(&self, module: u16, took_ns: u64) {
        let cell = &self.expected_ns[usize::from(module)];
        // Relaxed: an estimate; a lost update does no harm.
        let old = u64::from(cell.load(Ordering::Relaxed));
        if (1..SHORT_NS).contains(&old) && took_ns < SHORT_NS {
            return;
        }
        let new = if old == 0 { took_ns } else { (old * 7 + took_ns) / 8 };
        cell.store(new.clamp(1, u64::from(u32::MAX)) as u32, Ordering::Relaxed);
    }
}

/// Whether a turn that has handled something leaves this module to another one: it is long, or may
/// be, or the turn has had its share.
#[inline(always)]
fn is_for_another_turn(chosen: Chosen, handled: u32, worker: &Worker) -> bool {
    chosen.expected_ns == 0 || chosen.expected_ns >= LONG_NS || handled >= worker.batch()
}

//! Faults that a test injects: messages that it has chosen are dropped, late, doubled, or make
//! their actor fail (see `testing::inject`).
//!
//! An actor of a type with faults stays on the cold path of a turn, where [`under_faults`] takes
//! its messages one by one. Code for it exists only for the types that some test names.

use super::actor_cell::ActorCell;
use super::owned::InTurn;
use super::turn::{Pause, pause_of, stamped};
use crate::actor::Actor;
use crate::actor_core::{CONTROL, Core, CoreRef, Inner, NOTE_TRACED, UNUSUAL};
use crate::actor_id::ActorId;
use crate::mailbox::carrier::{Carrier, by_size, is_boxed};
use crate::mailbox::envelope::Envelope;
use crate::message_name::name_of;
use crate::state::register::Shard;
use crate::stop_reason::StopReason;
use actinium_scheduler::guard::{self, Guarded, Panicked};
use actinium_scheduler::nanoseconds;
use actinium_scheduler::runnable::NOTIFIED;
use actinium_scheduler::sync::atomic::{AtomicU64, Ordering};
use actinium_scheduler::sync::{Arc, Mutex, MutexGuard, lock};
use actinium_scheduler::trace::end_handling;
use actinium_scheduler::{Turn, Worker};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The stamp of a message that has had its fault, or is a copy: no fault strikes it.
const SPARED: u64 = u64::MAX;

/// What becomes of a message that was chosen.
pub(crate) enum Fault<M> {
    Drop,
    Delay(Duration),
    Duplicate(fn(&M) -> M),
    Panic,
}

impl<M> Clone for Fault<M> {
    fn clone(&self) -> Self {
        match self {
            Fault::Drop => Fault::Drop,
            Fault::Delay(time) => Fault::Delay(*time),
            Fault::Duplicate(copy) => Fault::Duplicate(*copy),
            Fault::Panic => Fault::Panic,
        }
    }
}

// tidy: guard: held by a `Guarded` in `Rule`.
/// The choice of messages.
pub(crate) type Choice<M> = Box<dyn FnMut(&M) -> bool + Send>;

/// One fault, and the messages that it strikes.
pub(crate) struct Rule<M: 'static> {
    pub(crate) chosen: Guarded<Choice<M>>,
    /// Only messages to this actor.
    pub(crate) to: Option<ActorId>,
    /// Only the one of this number, from 1, among those chosen.
    pub(crate) nth: Option<u64>,
    pub(crate) fault: Fault<M>,
    /// The messages that were chosen by now.
    pub(crate) seen: u64,
    pub(crate) struck: Arc<AtomicU64>,
}

type Rules<M> = Mutex<Vec<Rule<M>>>;

/// The faults of a system, by the types of actors.
#[derive(Default)]
pub(crate) struct Faults(Mutex<BTreeMap<TypeId, Sort>>);

/// The faults of one type of actors.
#[derive(Clone)]
struct Sort {
    /// # Safety
    /// The caller runs in a turn of this actor, which has the type, and has lent its state to
    /// nobody.
    turn: unsafe fn(&Core, &Worker) -> Option<Turn>,
    rules: std::sync::Arc<dyn Any + Send + Sync>,
}

impl Faults {
    /// Adds a fault for actors of this type, and calls those that live to look at it.
    pub(crate) fn add<A: Actor>(system: &Inner, rule: Rule<A::Msg>) {
        let faults = system.faults.get_or_init(|| Box::new(Faults::default()));
        let Some(Faults(sorts)) = faults.downcast_ref() else { return };
        let mut sorts = lock(sorts);
        let sort = sorts.entry(TypeId::of::<A>()).or_insert_with(|| Sort {
            turn: faulty_turn::<A>,
            rules: std::sync::Arc::new(Rules::<A::Msg>::default()),
        });
        if let Some(rules) = sort.rules.downcast_ref::<Rules<A::Msg>>() {
            lock(rules).push(rule);
        }
        drop(sorts);
        let living = |shard: MutexGuard<'_, Shard>| -> Vec<CoreRef> {
            shard.living.iter().filter_map(|(_, &it)| Core::of_runnable(it)).collect()
        };
        let living: Vec<_> = system.register.shards().flat_map(living).collect();
        for core in living.iter().filter(|core| core.is_a::<A>()) {
            // Release: as in `Core::control`. There is none: the turn only begins with the prelude.
            core.flags.fetch_or(CONTROL, Ordering::Release);
            system.with_worker(|worker| core.wake(worker));
        }
    }

    fn of(system: &Inner, actor: TypeId) -> Option<Sort> {
        let faults = system.faults.get()?.downcast_ref::<Faults>()?;
        lock(&faults.0).get(&actor).cloned()
    }
}

/// Takes one message of an actor that is under faults. `Some`: this was its turn.
///
/// # Safety
/// The caller runs in a turn of the actor, and has lent its state to nobody.
#[cold]
#[inline(never)]
pub(super) unsafe fn under_faults(core: &Core, worker: &Worker) -> Option<Turn> {
    let sort = Faults::of(&core.system, core.type_id())?;
    // SAFETY: by contract; the entry is that of the actor's type.
    unsafe { (sort.turn)(core, worker) }
}

/// # Safety
/// As [`Sort::turn`].
unsafe fn faulty_turn<A: Actor>(core: &Core, worker: &Worker) -> Option<Turn> {
    // SAFETY: the actor is an `A` by contract, and runs: it is alive.
    let cell = unsafe { ActorCell::<A>::of_header(core.me) };
    // SAFETY: the actor's turn by contract.
    let mut turn = unsafe { InTurn::new(cell, worker) };
    turn.set_flags(UNUSUAL, 0);
    by_size!(A: turn, faulty())
}

impl<A: Actor> InTurn<'_, A> {
    /// Takes one message. None if there is none: the turn goes on as usual, and finds that.
    fn faulty<T: Carrier<A::Msg>>(&mut self) -> Option<Turn> {
        let Envelope { stamp_ns, msg } = self.take_next::<T>()?;
        let msg = msg.open();
        if stamp_ns != 0 && stamp_ns != SPARED {
            stamped::<A>(self.worker(), stamp_ns, name_of::<A>(&msg));
        }
        let struck = if stamp_ns == SPARED { Ok(None) } else { self.strike(&msg) };
        let pause = match struck {
            Ok(None) => self.handle_one(msg),
            Ok(Some(Fault::Drop)) => self.lose(msg),
            Ok(Some(Fault::Delay(time))) => self.put_off(time, msg),
            Ok(Some(Fault::Duplicate(copy))) => match guard::catch(|| copy(&msg)) {
                Ok(copy) => {
                    self.cell().bring(copy, self.worker());
                    self.handle_one(msg)
                }
                Err(panicked) => self.fail_at(msg, panicked),
            },
            Ok(Some(Fault::Panic)) => match guard::catch(|| panic!("a fault of the test")) {
                Ok(()) => Ok(Pause::More),
                Err(panicked) => self.fail_at(msg, panicked),
            },
            Err(panicked) => self.fail_at(msg, panicked),
        };
        Some(match pause {
            Ok(pause) => self.again().paused::<T>(pause, 1),
            Err(panicked) => self.again().turn_panicked(panicked, 1).0,
        })
    }

    fn take_next<T: Carrier<A::Msg>>(&self) -> Option<Envelope<T>> {
        loop {
            if let Some(place) = self.take_own::<T>() {
                // SAFETY: the message taken is read once, before anything is pushed.
                return Some(unsafe { place.read() });
            }
            let may_have = self.flags() & NOTIFIED != 0 || self.cell().core.header.is_notified();
            if !may_have || !self.refill::<T>() {
                return None;
            }
        }
    }

    /// The first fault that strikes the message.
    fn strike(&self, msg: &A::Msg) -> Result<Option<Fault<A::Msg>>, Panicked> {
        let core = &self.cell().core;
        let Some(sort) = Faults::of(&core.system, TypeId::of::<A>()) else { return Ok(None) };
        let Some(rules) = sort.rules.downcast_ref::<Rules<A::Msg>>() else { return Ok(None) };
        for rule in lock(rules).iter_mut() {
            if rule.to.is_some_and(|to| to != core.id) || !guard::catch(|| (rule.chosen)(msg))? {
                continue;
            }
            rule.seen += 1;
            if rule.nth.is_none_or(|nth| nth == rule.seen) {
                // Relaxed: a figure, which the same thread reads.
                rule.struck.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(rule.fault.clone()));
            }
        }
        Ok(None)
    }

    fn handle_one(&mut self, msg: A::Msg) -> Result<Pause, Panicked> {
        self.with_state(|state, turn| {
            let actor = state.as_mut().expect("a running actor has its state");
            guard::catch(|| actor.handle(msg, &mut turn.context()))
        })?;
        self.worker().count_handled(1, size_of::<A::Msg>());
        Ok(pause_of(self.worker().note().get()))
    }

    /// Ends the span of a message that is not handled now, if it is traced.
    fn end_traced(&self, why: &'static str) {
        let note = self.worker().note();
        if note.get() & NOTE_TRACED != 0 {
            note.set(note.get() & !NOTE_TRACED);
            end_handling(Some(why.into()));
        }
    }

    fn fail_at(&self, msg: A::Msg, panicked: Panicked) -> Result<Pause, Panicked> {
        self.cell().core.system.drop_guarded(msg);
        Err(panicked)
    }

    /// Makes the message a dead letter.
    fn lose(&self, msg: A::Msg) -> Result<Pause, Panicked> {
        self.end_traced("a test dropped it");
        let core = &self.cell().core;
        self.worker().counters().dead.add(1);
        core.add_dead_letter::<A::Msg>(1, StopReason::Injected);
        core.system.drop_guarded(msg);
        Ok(Pause::More)
    }

    /// Lets the message come once more, later. Until then it counts as returned to its sender.
    fn put_off(&self, time: Duration, msg: A::Msg) -> Result<Pause, Panicked> {
        self.end_traced("a test put it off");
        self.worker().counters().returned.add(1);
        let (me, msg) = (self.context().address(), Guarded::new(msg));
        let at_ns = self.worker().shared().clock().now_ns().saturating_add(nanoseconds(time));
        let bring = move |worker: &Worker| me.0.bring(msg.into_inner(), worker);
        self.worker().set_timer(at_ns, Box::new(bring));
        Ok(Pause::More)
    }
}

impl<A: Actor> ActorCell<A> {
    /// Sends the actor a message that no fault strikes.
    fn bring(&self, msg: A::Msg, worker: &Worker) {
        worker.counters().sent.add(1);
        if self.is_closed() {
            self.core.count_dead::<A::Msg>(1, worker);
            self.core.system.drop_guarded(msg);
        } else if const { is_boxed::<A::Msg>() } {
            let msg = Box::new(msg);
            self.push_delivered(&mut vec![Envelope { stamp_ns: SPARED, msg }], worker);
        } else {
            self.push_delivered(&mut vec![Envelope { stamp_ns: SPARED, msg }], worker);
        }
    }
}

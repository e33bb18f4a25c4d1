//! The last turns and messages of actors that somebody looks at. Workers keep records and figures
//! of them only meanwhile.

use actinium_actor::recording::{Act, Record};
use actinium_actor::{ActorId, Contents, Measure, MeasuredActor, Measuring, SystemHandle};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Records that a worker keeps until they are taken.
const PER_WORKER: usize = 8_192;
/// The last turns that are kept of an actor.
const TURNS: usize = 50;
/// The most actors that are looked at.
const ACTORS: usize = 16;
/// An actor that nobody has asked for in this time is looked at no more.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(5);

/// A turn of an actor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Turn {
    /// When it began, in seconds since the system started.
    begin_s: f64,
    /// How long it took.
    took_ns: u64,
    /// The worker.
    worker: usize,
    /// Messages that were handled.
    handled: u64,
}

/// Messages of one sort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Messages {
    /// The name of the variant, or of the method.
    name: &'static str,
    /// How many were handled since the actor was first asked for: an estimate from a sample.
    handled: u64,
    /// How long one waited, in the mean.
    wait_ns: u64,
}

/// What a message contained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Text {
    /// When it was handled, in seconds since the system started.
    at_s: f64,
    text: String,
}

/// The last turns of an actor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LastTurns {
    /// Oldest first.
    turns: Vec<Turn>,
    /// Records that were lost meanwhile: turns may be missing.
    lost: u64,
    /// Its messages by their sort, those that came most often first; none if its type names none.
    messages: Vec<Messages>,
    /// What the last messages of a sample contained, oldest first; none if its type does not show
    /// it.
    contents: Vec<Text>,
    /// The bytes that a message takes in the mailbox, once one was handled.
    message_bytes: Option<u64>,
    /// Why there are none, if so.
    note: Option<&'static str>,
}

/// The actors that are looked at.
pub(crate) struct Turns {
    system: SystemHandle,
    watched: Mutex<Watching>,
}

#[derive(Default)]
struct Watching {
    /// Whether this has switched recording on.
    is_on: bool,
    actors: BTreeMap<u64, Watched>,
}

struct Watched {
    asked: Instant,
    /// Its figures are kept while this is there.
    _measuring: Measuring,
    turns: VecDeque<Turn>,
    lost: u64,
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "people look in real time")]
    Instant::now()
}

impl Turns {
    pub(crate) fn new(system: &SystemHandle) -> Self {
        Turns { system: system.clone(), watched: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Watching> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last turns of an actor since it was first asked for. Who goes on asking sees more.
    pub(crate) fn of(&self, id: ActorId) -> LastTurns {
        let actor = id.as_u64();
        let mut watching = self.lock();
        if !watching.is_on {
            if self.system.is_recording() {
                let note = Some("the records are written to a file: its trace has the turns");
                return LastTurns { note, ..LastTurns::default() };
            }
            self.system.record(PER_WORKER);
            watching.is_on = true;
        }
        watching.take(&self.system);
        if !watching.actors.contains_key(&actor) && watching.actors.len() == ACTORS {
            let oldest = watching.actors.iter().min_by_key(|(_, it)| it.asked).map(|it| *it.0);
            oldest.and_then(|oldest| watching.actors.remove(&oldest));
        }
        let new = || {
            let measure = Measure::new().every_turn().actors([id]).contents();
            let measuring = self.system.measure(&measure);
            Watched { asked: now(), _measuring: measuring, turns: VecDeque::new(), lost: 0 }
        };
        let watched = watching.actors.entry(actor).or_insert_with(new);
        watched.asked = now();
        let (turns, lost) = (watched.turns.iter().cloned().collect(), watched.lost);
        drop(watching);
        let last = LastTurns { turns, lost, ..LastTurns::default() };
        self.with_messages(id, last)
    }

    fn with_messages(&self, id: ActorId, last: LastTurns) -> LastTurns {
        let measured = self.system.measured().actors.into_iter().find(|it| it.actor == id);
        let Some(MeasuredActor { figures, contents, .. }) = measured else { return last };
        let sort = |it: &actinium_actor::MessageFigures| Messages {
            name: it.name,
            handled: it.handled,
            wait_ns: it.wait_ns / it.handled.max(1),
        };
        let mut messages: Vec<_> = figures.messages.iter().map(sort).collect();
        messages.sort_by_key(|it| (std::cmp::Reverse(it.handled), it.name));
        let text = |it: Contents| Text { at_s: it.at_ns as f64 * 1e-9, text: it.text };
        let contents = contents.into_iter().map(text).collect();
        let message_bytes = figures.bytes.checked_div(figures.handled);
        LastTurns { messages, contents, message_bytes, ..last }
    }

    /// Forgets actors that nobody asks for any more, and keeps no records if there are none left.
    pub(crate) fn rest(&self) {
        let mut watching = self.lock();
        watching.actors.retain(|_, it| it.asked.elapsed() < FORGOTTEN);
        if watching.is_on && watching.actors.is_empty() {
            self.stop(&mut watching);
        }
    }

    fn stop(&self, watching: &mut Watching) {
        self.system.stop_recording();
        drop(self.system.take_records());
        watching.is_on = false;
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let mut watching = std::mem::take(&mut *self.lock());
        if watching.is_on {
            self.stop(&mut watching);
        }
    }
}

impl Watching {
    fn take(&mut self, system: &SystemHandle) {
        for (worker, taken) in system.take_records().into_iter().enumerate() {
            self.actors.values_mut().for_each(|it| it.lost += taken.lost);
            taken.records.iter().for_each(|record| self.add(worker, record));
        }
        // Of several workers.
        for watched in self.actors.values_mut() {
            watched.turns.make_contiguous().sort_by(|a, b| a.begin_s.total_cmp(&b.begin_s));
            while watched.turns.len() > TURNS {
                watched.turns.pop_front();
            }
        }
    }

    fn add(&mut self, worker: usize, record: &Record) {
        let Act::Turn { number, handled, .. } = record.act else { return };
        let Some(watched) = self.actors.get_mut(&number) else { return };
        let begin_s = record.begin_ns as f64 * 1e-9;
        watched.turns.push_back(Turn { begin_s, took_ns: record.took_ns, worker, handled });
        // With room for those of other workers, which are sorted in.
        if watched.turns.len() > 2 * PER_WORKER {
            watched.turns.pop_front();
        }
    }
}

//! The last turns and messages of actors that somebody looks at. Workers keep records and figures
//! of them only meanwhile.

use super::snapshot::{ContentsNow, LastTurns, MessagesNow, TurnNow};
use actinium_actor::recording::{Act, Guest, Record};
use actinium_actor::{
    ActorId, Contents, Measure, MeasuredActor, Measuring, MessageFigures, SystemHandle,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Records that a worker keeps until they are taken.
const PER_WORKER: usize = 8_192;
/// The last turns that are kept of an actor.
const TURNS: usize = 50;
/// The most actors that are looked at.
const ACTORS: usize = 16;
/// An actor that nobody has asked for in this time is looked at no more.
const FORGOTTEN: Duration = Duration::from_secs(5);

/// The actors of a system that are looked at, by all who look together: records are taken once.
#[derive(Debug)]
pub(super) struct LastTurnsOf {
    /// Shared with the thread that forgets actors.
    watching: Arc<Mutex<Watching>>,
}

#[derive(Debug)]
struct Watching {
    system: SystemHandle,
    /// Records are kept for this one.
    guest: Option<Guest>,
    actors: BTreeMap<u64, Watched>,
}

#[derive(Debug)]
struct Watched {
    asked: Instant,
    /// Its figures are kept while this is there.
    _measuring: Measuring,
    turns: VecDeque<TurnNow>,
    lost: u64,
}

/// Where a system has what is shared, without keeping it alive.
#[derive(Default)]
struct Place(Mutex<Weak<LastTurnsOf>>);

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "people look in real time")]
    Instant::now()
}

impl LastTurnsOf {
    /// What all who look at this system share. Nothing is recorded yet.
    pub(super) fn system(system: &SystemHandle) -> Arc<Self> {
        let place = system.extension(Place::default);
        let mut place = place.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.upgrade().unwrap_or_else(|| {
            let watching =
                Watching { system: system.clone(), guest: None, actors: BTreeMap::new() };
            let made = Arc::new(LastTurnsOf { watching: Arc::new(Mutex::new(watching)) });
            *place = Arc::downgrade(&made);
            made
        })
    }

    /// The last turns of an actor since it was first asked for. Who goes on asking sees more.
    pub(super) fn actor(&self, id: ActorId) -> LastTurns {
        let mut watching = lock(&self.watching);
        if watching.actors.is_empty() && self.forget_later().is_err() {
            let note = Some("there can be no more threads".to_owned());
            return LastTurns { note, ..LastTurns::default() };
        }
        watching.take();
        let watched = watching.actor(id);
        let (turns, lost) = (watched.turns.iter().cloned().collect(), watched.lost);
        let others = "others take the records of this system, as a trace does";
        let note = watching.guest.is_none().then(|| others.to_owned());
        let system = watching.system.clone();
        drop(watching);
        with_messages(&system, id, LastTurns { turns, lost, note, ..LastTurns::default() })
    }

    /// Has a thread forget actors that nobody asks for any more. It ends when there are none left.
    fn forget_later(&self) -> std::io::Result<()> {
        let watching = Arc::downgrade(&self.watching);
        let forget = move || {
            loop {
                thread::park_timeout(FORGOTTEN / 5);
                if watching.upgrade().is_none_or(|it| lock(&it).forget()) {
                    return;
                }
            }
        };
        thread::Builder::new().name("actinium-turns".to_owned()).spawn(forget).map(drop)
    }
}

impl Drop for LastTurnsOf {
    fn drop(&mut self) {
        lock(&self.watching).end();
    }
}

fn with_messages(system: &SystemHandle, id: ActorId, last: LastTurns) -> LastTurns {
    let measured = system.measured().actors.into_iter().find(|it| it.actor == id);
    let Some(MeasuredActor { figures, contents, .. }) = measured else { return last };
    let sort = |it: &MessageFigures| MessagesNow {
        name: it.name.to_owned(),
        handled: it.handled,
        wait_ns: it.wait_ns / it.handled.max(1),
    };
    let mut messages: Vec<_> = figures.messages.iter().map(sort).collect();
    messages.sort_by(|a, b| b.handled.cmp(&a.handled).then_with(|| a.name.cmp(&b.name)));
    let text = |it: Contents| ContentsNow { at_s: it.at_ns as f64 * 1e-9, text: it.text };
    let contents = contents.into_iter().map(text).collect();
    let message_bytes = figures.bytes.checked_div(figures.handled);
    LastTurns { messages, contents, message_bytes, ..last }
}

fn lock(watching: &Mutex<Watching>) -> MutexGuard<'_, Watching> {
    watching.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watching {
    /// Forgets those that nobody asks for any more. Whether none is left.
    fn forget(&mut self) -> bool {
        self.actors.retain(|_, it| it.asked.elapsed() < FORGOTTEN);
        let is_over = self.actors.is_empty();
        if is_over {
            self.end();
        }
        is_over
    }

    /// Nobody looks any more.
    fn end(&mut self) {
        self.actors.clear();
        self.guest.take().into_iter().for_each(|guest| self.system.stop_recording_as(guest));
    }

    /// An actor that is asked for now. Of too many, the one that was not asked for longest goes.
    fn actor(&mut self, id: ActorId) -> &Watched {
        let actor = id.as_u64();
        if !self.actors.contains_key(&actor) && self.actors.len() == ACTORS {
            let oldest = self.actors.iter().min_by_key(|(_, it)| it.asked).map(|it| *it.0);
            oldest.and_then(|oldest| self.actors.remove(&oldest));
        }
        let new = || {
            let measure = Measure::new().every_turn().actors([id]).contents();
            let measuring = self.system.measure(&measure);
            Watched { asked: now(), _measuring: measuring, turns: VecDeque::new(), lost: 0 }
        };
        let watched = self.actors.entry(actor).or_insert_with(new);
        watched.asked = now();
        watched
    }

    /// Takes what was recorded. If nobody records, workers begin to do so.
    fn take(&mut self) {
        let taken = self.guest.as_ref().and_then(|guest| self.system.take_records_as(guest));
        if taken.is_none() {
            // Somebody has taken the records over, and may have ended meanwhile.
            self.guest = self.system.try_record(PER_WORKER);
        }
        for (worker, taken) in taken.unwrap_or_default().into_iter().enumerate() {
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
        let (begin_s, worker) = (record.begin_ns as f64 * 1e-9, worker as u64);
        watched.turns.push_back(TurnNow { begin_s, took_ns: record.took_ns, worker, handled });
        // With room for those of other workers, which are sorted in.
        if watched.turns.len() > 2 * PER_WORKER {
            watched.turns.pop_front();
        }
    }
}

//! The thread of a flight recorder: it looks at the system, keeps what it sees, and writes.

use super::alarms;
use super::document::{Cause, DOCUMENT, FLIGHT_VERSION, Flight, GraphFigures, NodeFigures, Reason};
use super::files;
use super::look::{lanes, look, places, threads, traffic, walk};
use super::settings::{FlightSettings, KeepRecords};
use super::window::{Window, with_moments};
use crate::types::types;
use actinium_actor::SystemHandle;
use actinium_actor::recording::Guest;
use actinium_observe::file::WriteError;
use actinium_observe::process::cpu_time::thread_time;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::log;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two looks: seldom enough not to be noticed in the figures.
const EVERY: Duration = Duration::from_millis(50);
/// Between two walks over all actors.
const WALK_EVERY: Duration = Duration::from_millis(250);
/// Between two questions to graphs and nodes.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Between two glimpses of what workers do.
const GLIMPSE_EVERY: Duration = Duration::from_millis(500);
/// How long a glimpse is: workers take records for one part in fifty of the time.
const GLIMPSE: Duration = Duration::from_millis(10);
/// Records that a worker keeps until they are taken.
const PER_WORKER: usize = 1 << 10;
/// Looks and walks take at most one part in so many of a CPU's time, each.
const REST: u32 = 100;
/// Between two documents for panics: a program that panics all the time would fill the disk.
const BETWEEN_PANICS: Duration = Duration::from_secs(10);

/// What a recorder is asked for.
pub(super) enum Request {
    /// A document, as it is now.
    Make { reason: Reason, reply: Sender<Box<Flight>> },
    /// A file. `is_broken`: the runtime is, or the system has ended, and must not be asked.
    Write { reason: Reason, is_broken: bool, reply: Sender<Result<(), WriteError>> },
    /// Adds what the program knows.
    Add(Section),
    /// The end.
    End,
}

/// What the program knows. It is asked until it has no more to say.
pub(super) enum Section {
    Graph(Guarded<Box<dyn FnMut() -> Option<GraphFigures> + Send>>),
    Node(Guarded<Box<dyn FnMut() -> Option<NodeFigures> + Send>>),
    Other(String, Guarded<Box<dyn FnMut() -> Option<serde_json::Value> + Send>>),
}

/// The state of the thread.
pub(super) struct Pilot {
    system: SystemHandle,
    settings: FlightSettings,
    begin: Instant,
    window: Window,
    sections: Vec<Section>,
    next_look: Instant,
    next_walk: Instant,
    next_question: Instant,
    next_glimpse: Instant,
    /// Records are kept for this one, since then.
    glimpse: Option<(Guest, Instant)>,
    /// Why records are missing, at the latest attempt.
    missing: Option<String>,
    still: Standstill,
    is_escalated: bool,
    latest_panic: Option<Instant>,
    left_out: u64,
}

/// Whether anything moves.
#[derive(Debug, Default)]
struct Standstill {
    /// Turns and messages handled when something moved last, and when that was.
    moved: Option<(u64, u64, f64)>,
    is_told: bool,
}

impl Standstill {
    /// Notes what was seen; for how long nothing has moved although messages wait, if that is to be
    /// told now.
    fn see(&mut self, turns: u64, handled: u64, queued: u64, at_s: f64, after: f64) -> Option<f64> {
        match self.moved {
            Some((t, h, since_s)) if (t, h) == (turns, handled) && queued > 0 => {
                let is_due = at_s - since_s >= after && !self.is_told;
                self.is_told |= is_due;
                is_due.then_some(at_s - since_s)
            }
            _ => {
                (self.moved, self.is_told) = (Some((turns, handled, at_s)), false);
                None
            }
        }
    }
}

pub(super) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "the process is watched in real time")]
    Instant::now()
}

impl Pilot {
    pub(super) fn new(system: SystemHandle, settings: FlightSettings) -> Self {
        let begin = now();
        Pilot {
            system,
            settings,
            begin,
            window: Window::default(),
            sections: Vec::new(),
            next_look: begin,
            next_walk: begin,
            next_question: begin,
            next_glimpse: begin,
            glimpse: None,
            missing: None,
            still: Standstill::default(),
            is_escalated: false,
            latest_panic: None,
            left_out: 0,
        }
    }

    /// Works until it is told to end, or nobody can tell it anything any more.
    pub(super) fn run(mut self, requests: &Receiver<Request>) {
        alarms::exempt_this_thread();
        loop {
            let glimpse_ends = self.glimpse_ends();
            let next = glimpse_ends.map_or(self.next_look, |end| end.min(self.next_look));
            match requests.recv_timeout(next.saturating_duration_since(now())) {
                Ok(Request::End) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(request) => self.serve(request),
                Err(RecvTimeoutError::Timeout) => self.work(),
            }
        }
        if let Some((guest, _)) = self.glimpse.take() {
            self.system.stop_recording_as(guest);
        }
    }

    fn at_s(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    fn seconds(&self) -> f64 {
        self.settings.seconds as f64
    }

    fn work(&mut self) {
        let time = now();
        if self.glimpse_ends().is_some_and(|end| time >= end) {
            self.end_glimpse();
        }
        if time < self.next_look {
            return;
        }
        let used = thread_time();
        self.look(false);
        self.next_look = now() + EVERY.max((thread_time() - used) * REST);
        if time >= self.next_walk {
            let used = thread_time();
            self.walk();
            self.next_walk = now() + WALK_EVERY.max((thread_time() - used) * REST);
        }
        if time >= self.next_question {
            self.next_question = time + ASK_EVERY;
            self.ask();
        }
        if self.settings.records == KeepRecords::Always {
            self.take_records();
        }
        if time >= self.next_glimpse && self.glimpse.is_none() {
            self.next_glimpse = time + GLIMPSE_EVERY;
            self.begin_glimpse();
        }
        self.look_for_trouble();
    }

    // ---- looks
    // -----------------------------------------------------------------------------------------------------

    fn look(&mut self, seek: bool) {
        let (at_s, seconds) = (self.at_s(), self.seconds());
        let look = look(&self.system, at_s, seek);
        self.window.looks.add(at_s, look, seconds);
    }

    fn walk(&mut self) {
        let (at_s, seconds) = (self.at_s(), self.seconds());
        let seen = (walk(&self.system, at_s), lanes(&self.system));
        self.window.walks.add(at_s, seen, seconds);
    }

    /// Asks graphs and nodes; who has nothing more to say, or panics, is not asked again.
    fn ask(&mut self) {
        let (mut graphs, mut nodes) = (Vec::new(), Vec::new());
        self.sections.retain_mut(|section| {
            let asked = guard::catch(|| match section {
                Section::Graph(figures) => figures().map(|it| graphs.push(it)),
                Section::Node(figures) => figures().map(|it| nodes.push(it)),
                Section::Other(..) => Some(()),
            });
            goes_on(asked)
        });
        let (at_s, seconds) = (self.at_s(), self.seconds());
        if !graphs.is_empty() {
            self.window.graphs.add(at_s, graphs, seconds);
        }
        if !nodes.is_empty() {
            self.window.nodes.add(at_s, nodes, seconds);
        }
    }

    /// Asks for what the program has added.
    fn ask_others(&mut self) -> BTreeMap<String, serde_json::Value> {
        let mut others = BTreeMap::new();
        self.sections.retain_mut(|section| {
            let Section::Other(name, value) = section else { return true };
            goes_on(guard::catch(|| value().map(|it| drop(others.insert(name.clone(), it)))))
        });
        others
    }

    // ---- records
    // ---------------------------------------------------------------------------------------------------

    /// When the present glimpse ends; `None`: there is none, or it goes on for ever.
    fn glimpse_ends(&self) -> Option<Instant> {
        let is_short = self.settings.records == KeepRecords::Glimpses;
        self.glimpse.as_ref().filter(|_| is_short).map(|(_, begun)| *begun + GLIMPSE)
    }

    fn begin_glimpse(&mut self) {
        if self.settings.records == KeepRecords::Never {
            self.missing = Some("they were switched off".to_owned());
            return;
        }
        self.glimpse = self.system.try_record(PER_WORKER).map(|guest| (guest, now()));
        let taken = "others take the records of this system, as a trace does";
        self.missing = self.glimpse.is_none().then(|| taken.to_owned());
    }

    /// Takes what was kept since the glimpse began, or since it was taken last.
    fn take_records(&mut self) {
        let Some((guest, begun)) = &mut self.glimpse else { return };
        let kept_s = begun.elapsed().as_secs_f64();
        *begun = now();
        match self.system.take_records_as(guest) {
            Some(taken) => {
                let (at_s, seconds) = (self.at_s(), self.seconds());
                self.window.add_records(at_s, kept_s, taken, seconds);
            }
            None => self.glimpse = None,
        }
    }

    fn end_glimpse(&mut self) {
        self.take_records();
        if let Some((guest, _)) = self.glimpse.take() {
            self.system.stop_recording_as(guest);
        }
    }

    // ---- trouble
    // ---------------------------------------------------------------------------------------------------

    fn look_for_trouble(&mut self) {
        if !self.is_escalated
            && let Some(failure) = self.system.escalated()
        {
            let text = format!("a failure has reached the top: {failure}");
            // The log says what came of it.
            let _ = self.write_and_log(Reason { cause: Cause::Escalated, text }, false);
        }
        let Some(after) = self.settings.standstill else { return };
        let Some(look) = self.window.looks.latest() else { return };
        let turns = look.workers.iter().map(|worker| worker.turns).sum();
        let (handled, queued, at_s) = (look.handled, look.queued, look.at_s);
        let still = self.still.see(turns, handled, queued, at_s, after.as_secs_f64());
        if let Some(still_s) = still {
            let text =
                format!("no turn has ended for {still_s:.1} s, although {queued} messages wait");
            // The log says what came of it.
            let _ = self.write_and_log(Reason { cause: Cause::Standstill, text }, false);
        }
    }

    // ---- documents
    // -------------------------------------------------------------------------------------------------

    fn serve(&mut self, request: Request) {
        // Whoever asked may have gone.
        match request {
            Request::Make { reason, reply } => {
                let flight = self.flight(reason, false);
                let _ = reply.send(Box::new(flight));
            }
            Request::Write { reason, is_broken, reply } => {
                let written = self.write_unless_too_soon(reason, is_broken);
                let _ = reply.send(written);
            }
            Request::Add(section) => self.sections.push(section),
            Request::End => {}
        }
    }

    fn write_unless_too_soon(&mut self, reason: Reason, broken: bool) -> Result<(), WriteError> {
        let time = now();
        let is_too_soon = match reason.cause {
            Cause::Escalated => self.is_escalated,
            Cause::Panic => self.latest_panic.is_some_and(|it| time - it < BETWEEN_PANICS),
            _ => false,
        };
        if is_too_soon {
            self.left_out += u64::from(reason.cause == Cause::Panic);
            return Ok(());
        }
        if reason.cause == Cause::Panic {
            self.latest_panic = Some(time);
        }
        self.write_and_log(reason, broken)
    }

    fn write_and_log(&mut self, reason: Reason, is_broken: bool) -> Result<(), WriteError> {
        self.is_escalated |= reason.cause == Cause::Escalated;
        let Some(path) = self.settings.path.clone() else { return Ok(()) };
        let text = reason.text.clone();
        let flight = self.flight(reason, is_broken);
        let written = files::write(&path, self.settings.files, &flight);
        match &written {
            Ok(()) => {
                self.left_out = 0;
                let path = path.display();
                log!(Warn, {}, "the last seconds of the system are in {path}, for {text}");
            }
            Err(error) => log!(Error, {}, "the last seconds of the system are lost: {error}"),
        }
        written
    }

    /// The last seconds. With a runtime that is broken, only what was seen before.
    fn flight(&mut self, reason: Reason, is_broken: bool) -> Flight {
        if !is_broken {
            self.look(true);
            self.walk();
            self.ask();
            self.take_records();
        }
        #[expect(clippy::disallowed_methods, reason = "people read it")]
        let made = SystemTime::now();
        let pus = std::thread::available_parallelism().map_or(0, |it| it.get() as u32);
        let window = &self.window;
        let first = window.walks.iter().next().map(|(_, (_, lanes))| lanes);
        let last = window.walks.latest().map(|(_, lanes)| lanes);
        let flight = Flight {
            document: DOCUMENT.to_owned(),
            schema_version: FLIGHT_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect(),
            process: std::process::id(),
            made_unix_s: made.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()),
            reason,
            reasons_left_out: self.left_out,
            policy: self.system.policy().to_string(),
            pus,
            workers: places(&self.system),
            looks: window.looks.iter().map(|(_, look)| look.clone()).collect(),
            walks: window.walks.iter().map(|(_, (walk, _))| walk.clone()).collect(),
            lanes: first.zip(last).map(|(first, last)| traffic(first, last)).unwrap_or_default(),
            records: window.records(self.missing.clone()),
            threads: threads(&self.system),
            graphs: with_moments(&window.graphs),
            nodes: with_moments(&window.nodes),
            ..Flight::default()
        };
        if is_broken {
            return flight;
        }
        let letters = self.system.dead_letters().iter().map(ToString::to_string).collect();
        let (types, sections) = (types(&self.system), self.ask_others());
        Flight { types, dead_letters: letters, sections, ..flight }
    }
}

/// Whether a section that has answered so is asked again.
fn goes_on(asked: Result<Option<()>, guard::Panicked>) -> bool {
    match asked {
        Ok(answer) => answer.is_some(),
        Err(panicked) => {
            let why = panicked.message();
            log!(Error, {}, "a section of the flight recorder panicked, and is left out: {why}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_is_told_once_until_something_moves() {
        let mut still = Standstill::default();
        // Turns, messages handled, messages that wait, the time, and what is told.
        let seen = [
            (5, 9, 1, 0.0, None),
            (5, 9, 1, 1.9, None),
            (5, 9, 1, 2.0, Some(2.0)),
            (5, 9, 1, 9.0, None),
            (6, 9, 1, 9.5, None),
            (6, 9, 1, 12.0, Some(2.5)),
            (6, 9, 0, 13.0, None),
            (6, 9, 1, 14.0, None),
        ];
        for (turns, handled, queued, at_s, told) in seen {
            assert_eq!(still.see(turns, handled, queued, at_s, 2.0), told, "at {at_s} s");
        }
    }
}

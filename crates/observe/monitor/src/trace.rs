//! A trace of a system: what each worker did and when, in a file that Perfetto opens.
//!
//! The file is in Chrome's trace event format, in JSON.

use actinium_actor::recording::{Act, Name, Record, WorkerRecords};
use actinium_actor::{Observer, OnEnd, SystemHandle};
use actinium_observe::file::{NewFile, WriteError};
use actinium_scheduler::log;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Records that a worker keeps until they are written.
const PER_WORKER: usize = 1 << 16;
/// Between two looks for records.
const PAUSE: Duration = Duration::from_millis(20);

/// An [`Observer`] that writes a trace of a system: see [`Monitored::trace`].
///
/// [`Monitored::trace`]: crate::Monitored::trace
#[derive(Debug)]
pub struct TraceToFile {
    path: PathBuf,
}

impl TraceToFile {
    /// The observer that writes this file. If it observes several systems, the last one's file is
    /// what remains.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        TraceToFile { path: path.into() }
    }
}

impl Observer for TraceToFile {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let trace = Trace { out: BufWriter::new(NewFile::create(&self.path)?), lost: 0 };
        let (end, ended) = channel();
        let handle = system.clone();
        let write = move || trace.write(&handle, &ended);
        let writer = thread::Builder::new().name("actinium-trace".to_owned()).spawn(write)?;
        system.record(PER_WORKER);
        Ok(OnEnd::new(move |_| {
            // The writer sees that nobody holds this end any more.
            drop::<std::sync::mpsc::Sender<()>>(end);
            match writer.join() {
                Ok(Ok(0)) => {}
                Ok(Ok(lost)) => log!(
                    Warn,
                    { lost: lost },
                    "{lost} records are missing in the trace: the workers did more than was written"
                ),
                Ok(Err(error)) => log!(Error, {}, "the trace of the system is lost: {error}"),
                Err(_) => log!(Error, {}, "the trace of the system is lost: its writer panicked"),
            }
        }))
    }
}

/// A trace that is being written.
struct Trace {
    out: BufWriter<NewFile>,
    /// Records that the workers have lost so far.
    lost: u64,
}

impl Trace {
    /// Writes what the workers do until `ended` is closed; returns how many records are missing.
    fn write(mut self, system: &SystemHandle, ended: &Receiver<()>) -> Result<u64, WriteError> {
        let written = self.try_write(system, ended);
        system.stop_recording();
        let lost = self.lost;
        let file = match self.out.into_inner() {
            Ok(file) => file,
            Err(error) => {
                let (cause, out) = error.into_parts();
                return Err(out.into_parts().0.error(cause));
            }
        };
        match written {
            Ok(()) => file.finish().map(|()| lost),
            Err(cause) => Err(file.error(cause)),
        }
    }

    fn try_write(&mut self, system: &SystemHandle, ended: &Receiver<()>) -> io::Result<()> {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = json!({ "name": program.to_string_lossy() });
        let first = json!({ "ph": "M", "name": "process_name", "pid": 1, "args": program });
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{first}")?;
        for (worker, pu) in system
            .pus()
            .iter()
            .copied()
            .chain(std::iter::repeat(None))
            .enumerate()
            .take(system.workers())
        {
            let pu = pu.map_or_else(String::new, |pu| format!(" on PU {}", pu.0));
            let name = json!({ "name": format!("worker {worker}{pu}") });
            self.event(json!({ "ph": "M", "name": "thread_name", "args": name }), worker)?;
        }
        while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
            self.write_records(system)?;
        }
        self.write_records(system)?;
        writeln!(self.out, "\n],\"otherData\":{{\"records lost\":\"{}\"}}}}", self.lost)
    }

    fn write_records(&mut self, system: &SystemHandle) -> io::Result<()> {
        let taken = system.take_records();
        let end_ns = |it: &Record| it.begin_ns + it.took_ns;
        let end_ns = taken.iter().filter_map(|it| it.records.last().map(end_ns)).max();
        for (worker, WorkerRecords { records, lost }) in taken.into_iter().enumerate() {
            if lost > 0 {
                self.lost += lost;
                let ts = us(records.first().map_or(0, |it| it.begin_ns));
                let lost = json!({ "lost": lost });
                let event = json!({
                    "ph": "i", "s": "t", "cat": "recording", "name": "records lost", "ts": ts,
                    "args": lost,
                });
                self.event(event, worker)?;
            }
            for record in &records {
                self.event(event_of(record, |name| system.recorded_name(name)), worker)?;
            }
        }
        let Some(end_ns) = end_ns else { return Ok(()) };
        let waiting = json!({ "messages": system.stats().total().waiting() });
        let name = "waiting messages";
        self.event(json!({ "ph": "C", "name": name, "ts": us(end_ns), "args": waiting }), 0)
    }

    fn event(&mut self, mut event: Value, worker: usize) -> io::Result<()> {
        event["pid"] = json!(1);
        // Thread 0 would be the idle one of a kernel's trace.
        event["tid"] = json!(worker + 1);
        self.out.write_all(b",\n")?;
        Ok(serde_json::to_writer(&mut self.out, &event)?)
    }
}

/// The format counts in microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 * 1e-3
}

/// `text` looks up the name of what was called.
fn event_of(record: &Record, text: impl FnOnce(Name) -> Arc<str>) -> Value {
    if let Act::Call { name, event } = record.act {
        return json!({
            "ph": "X", "cat": "module", "name": &*text(name), "ts": us(record.begin_ns),
            "dur": us(record.took_ns), "args": { "event": event },
        });
    }
    let (cat, name, args) = match record.act {
        Act::Turn { kind, number, handled } => {
            let args = json!({ "type": kind, "actor": number, "messages": handled });
            ("turn", short(kind), args)
        }
        Act::Sleep => ("sleep", "asleep", json!({})),
        Act::Steal { from, actors } => ("move", "steal", json!({ "from": from, "actors": actors })),
        Act::Move { to, actors } => ("move", "new home", json!({ "to": to, "actors": actors })),
        Act::Wake { worker } => ("wake", "wake", json!({ "worker": worker })),
        Act::Scale { from, to } => ("scale", "scale", json!({ "from": from, "to": to })),
        other => ("other", "other", json!({ "what": format!("{other:?}") })),
    };
    let is_slice = matches!(record.act, Act::Turn { .. } | Act::Sleep);
    let mut event = json!({ "cat": cat, "name": name, "ts": us(record.begin_ns), "args": args });
    if is_slice {
        event["ph"] = json!("X");
        event["dur"] = json!(us(record.took_ns));
    } else {
        event["ph"] = json!("i");
        event["s"] = json!("t");
    }
    event
}

/// A type's name without the path before it.
fn short(kind: &'static str) -> &'static str {
    let head = kind.find('<').unwrap_or(kind.len());
    kind[..head].rfind("::").map_or(kind, |at| &kind[at + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_named_by_the_type_without_its_path() {
        assert_eq!(short("a::b::Counter"), "Counter");
        assert_eq!(short("a::Map<b::Key>"), "Map<b::Key>");
        assert_eq!(short("Counter"), "Counter");
    }

    #[test]
    fn times_are_in_microseconds() {
        let act = Act::Steal { from: 3, actors: 2 };
        let event = event_of(&Record { begin_ns: 1_500, took_ns: 0, act }, |_| "".into());
        assert_eq!((&event["ts"], &event["ph"]), (&json!(1.5), &json!("i")));
        assert_eq!(event["args"], json!({ "from": 3, "actors": 2 }));
        let event =
            event_of(&Record { begin_ns: 2_000, took_ns: 250, act: Act::Sleep }, |_| "".into());
        assert_eq!((&event["dur"], &event["ph"]), (&json!(0.25), &json!("X")));
    }
}

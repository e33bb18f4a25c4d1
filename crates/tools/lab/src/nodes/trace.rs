//! One trace of all nodes of an experiment: each writes its part, and the first puts them together.

use super::failed;
use crate::Failure;
use actinium::monitor::{ClockOffset, Ping, Trace, TraceOptions, merge_traces};
use actinium::prelude::*;
use actinium_cluster::job::{FIRST, JobNode, MEETING};
use actinium_cluster::{RemoteActor, Team};
use actinium_observe::file::writable;
use actinium_observe::process::proc;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name under which the first node tells the time.
const CLOCK: &str = "actinium.lab.clock";
/// Questions for its time: the fastest answer counts.
const PINGS: usize = 64;
/// Most bytes of a part that travel to the first node.
const TRAVELS_MAX: u64 = 64 << 20;

/// One node's part, while it is written.
pub(crate) struct NodeTrace {
    trace: Trace,
    part: PathBuf,
    /// Whether the first node reads the same files.
    is_near: bool,
}

/// One node's part, when it has been written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TracePart {
    /// Where it lies, on its host.
    path: PathBuf,
    host: String,
    /// Its bytes, if it is on another host than the first node.
    bytes: Option<Blob>,
    lost: u64,
}

impl NodeTrace {
    /// Begins, if a trace is asked for. All nodes call this, and all are asked for the same.
    ///
    /// # Errors
    /// If the file can not be written, another node is asked for something else, or is down.
    pub(crate) fn start(
        path: Option<&Path>,
        started: &JobNode,
        team: &Team,
    ) -> Result<Option<Self>, Failure> {
        let asked = if path.is_some() { "a trace" } else { "no trace" };
        started.agree(team, asked.to_owned())?;
        let Some(path) = path else { return Ok(None) };
        let (node, is_first) = (started.id(), started.id() == FIRST);
        if is_first {
            writable(path).map_err(|error| Failure::Asked(format!("--trace: {error}")))?;
        }
        let (clock, is_near) = clock(started, team)?;
        let (process, format) = (std::process::id(), path.extension().unwrap_or_default());
        let name = format!("actinium-trace-{process}-{}-{}", started.node.nodes().len(), node.0);
        let part = std::env::temp_dir().join(name).with_extension(format);
        let options = TraceOptions::new().node(node.0).clock(clock);
        let trace = Trace::start_with(&started.system, &part, &options).map_err(failed)?;
        Ok(Some(NodeTrace { trace, part, is_near }))
    }

    /// Ends this node's part.
    ///
    /// # Errors
    /// If it can not be written.
    pub(crate) fn finish(self) -> Result<TracePart, Failure> {
        let summary = self.trace.finish().map_err(failed)?;
        let bytes = std::fs::metadata(&self.part).map_or(0, |about| about.len());
        let travels = !self.is_near && bytes <= TRAVELS_MAX;
        let bytes = travels.then(|| std::fs::read(&self.part)).transpose().map_err(failed)?;
        if travels {
            // It may stay: it lies with other temporary files.
            let _ = std::fs::remove_file(&self.part);
        }
        let bytes = bytes.map(Blob::from);
        Ok(TracePart { path: self.part, host: proc::host(), bytes, lost: summary.lost })
    }
}

/// Puts the parts of all nodes together, on the first. `note` is told what is missing.
///
/// # Errors
/// If the file can not be written.
pub(crate) fn merge(parts: Vec<TracePart>, path: &Path, note: fn(&str)) -> Result<(), Failure> {
    let mut paths = Vec::new();
    let mut lost = 0;
    for (node, part) in parts.into_iter().enumerate() {
        lost += part.lost;
        if let Some(bytes) = &part.bytes {
            let name = format!("from-{}-{node}", std::process::id());
            let came =
                part.path.with_file_name(name).with_extension(path.extension().unwrap_or_default());
            std::fs::write(&came, &bytes[..]).map_err(failed)?;
            paths.push(came);
        } else if part.path.exists() {
            paths.push(part.path);
        } else {
            let (host, path) = (part.host, part.path.display());
            note(&format!(
                "the trace lacks node {node}, whose part is too long to travel: {path} on {host}"
            ));
        }
    }
    let merged = merge_traces(&paths, path).map_err(failed);
    for path in paths {
        // As above.
        let _ = std::fs::remove_file(path);
    }
    if lost > 0 {
        note(&format!("{lost} records are missing in the trace"));
    }
    merged
}

/// How far this node's clock is from the first one's, and whether both are on one machine.
fn clock(started: &JobNode, team: &Team) -> Result<(ClockOffset, bool), Failure> {
    let JobNode { system, node } = started;
    let met = || team.barrier().wait().map_err(failed);
    if node.id() == FIRST {
        node.export(CLOCK, &system.spawn(Clock)).map_err(failed)?;
        // Until all have asked.
        met()?;
        return Ok((ClockOffset::same_host(), true));
    }
    let first = node.find::<Clock>(FIRST, CLOCK, MEETING).wait().map_err(failed)?;
    let mut pings = Vec::new();
    let mut machine = String::new();
    for _ in 0..PINGS {
        let sent_ns = unix_ns();
        let told = first.ask((), MEETING).wait().map_err(failed)?;
        pings.push(Ping { sent_ns, there_ns: told.unix_ns, back_ns: unix_ns() });
        machine = told.machine;
    }
    met()?;
    let is_near = machine == proc::machine() && !machine.is_empty();
    let of_pings = ClockOffset::of_pings(&pings);
    let clock = of_pings.filter(|_| !is_near).unwrap_or_else(ClockOffset::same_host);
    Ok((clock, is_near))
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos() as u64)
}

/// Tells the first node's time.
struct Clock;

/// What the first node says of its time.
#[derive(Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.lab.time")]
struct Told {
    unix_ns: u64,
    /// Which machine it is on.
    machine: String,
}

enum Asked {
    Time(Reply<Told>),
    /// There is nothing to say but the time.
    Nothing,
}

impl Actor for Clock {
    type Msg = Asked;

    fn handle(&mut self, msg: Asked, _ctx: &mut Context<'_, Self>) {
        if let Asked::Time(reply) = msg {
            // Who asked may be gone.
            let _ = reply.send(Told { unix_ns: unix_ns(), machine: proc::machine() });
        }
    }
}

impl RemoteActor for Clock {
    const KIND: &'static str = CLOCK;
    type Message = ();
    type Request = ();
    type Answer = Told;

    fn message((): ()) -> Asked {
        Asked::Nothing
    }

    fn request((): (), reply: Reply<Told>) -> Asked {
        Asked::Time(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn note(line: &str) {
        NOTES.lock().expect("nobody panics").push(line.to_owned());
    }

    #[test]
    fn parts_of_other_hosts_come_along_or_are_said_to_be_missing() {
        let folder =
            std::env::temp_dir().join(format!("actinium-lab-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |name: &str| folder.join(name);
        let part = |node: u32| {
            let system = System::builder().workers(1).build().expect("it starts");
            let path = path(&format!("{node}.json"));
            let options = TraceOptions::new().node(node);
            let trace = Trace::start_with(&system, &path, &options).expect("it starts");
            trace.finish().expect("it is written");
            TracePart { path, host: "here".to_owned(), bytes: None, lost: 2 }
        };
        let far = part(1);
        let bytes = std::fs::read(&far.path).expect("it is there");
        std::fs::remove_file(&far.path).expect("it is there");
        let far = TracePart { bytes: Some(Blob::from(bytes)), ..far };
        let long = TracePart { path: path("far.json"), host: "far".into(), bytes: None, lost: 0 };
        merge(vec![part(0), far, long], &path("all.json"), note).expect("it is written");

        let all = std::fs::read_to_string(path("all.json")).expect("it is there");
        assert!(all.contains("node 0") && all.contains("node 1"), "{all}");
        let notes = NOTES.lock().expect("nobody panics").join("\n");
        assert!(notes.contains("lacks node 2") && notes.contains("far.json on far"), "{notes}");
        assert!(notes.contains("4 records are missing"), "{notes}");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}

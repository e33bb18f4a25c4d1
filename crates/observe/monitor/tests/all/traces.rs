//! Traces and flame graphs: each file is read again.

use crate::perfetto_schema::{Trace as PerfettoTrace, TrackEvent, Type, Value as Noted};
use crate::reports::{Counter, run};
use actinium_actor::trace::{self, TraceContext};
use actinium_actor::{Actor, Address, Context, Shutdown, System};
use actinium_monitor::{
    ClockOffset, ENV_FLAME, ENV_TRACE, FlameRecorder, Monitored, Trace, TraceOptions, TraceSession,
    merge_traces,
};
use prost::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

type Outcome = Result<(), Box<dyn Error>>;

const SOON: Duration = Duration::from_secs(60);

/// The events of a trace whose category or phase is this.
fn events(trace: &Path, field: &str, wanted: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut trace: Value = serde_json::from_slice(&std::fs::read(trace)?)?;
    let Value::Array(mut events) = trace["traceEvents"].take() else { panic!("no events") };
    events.retain(|event| event[field] == wanted);
    Ok(events)
}

#[test]
fn a_trace_has_each_turn() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("run.trace.json");
    let system = System::builder().workers(2).trace(&trace).build()?;
    let counter = system.spawn(Counter);
    // When it rests, each worker that has had a turn has seen that records are kept.
    counter.send(7)?;
    system.wait_idle(Duration::from_secs(60))?;
    for n in 1..=10 {
        counter.send(n)?;
        system.wait_idle(Duration::from_secs(60))?;
    }
    assert!(!trace.exists(), "it appears as a whole");
    system.shutdown(Shutdown::Drain);

    let turns = events(&trace, "cat", "turn")?;
    let of_counter: Vec<_> = turns.iter().filter(|turn| turn["name"] == "Counter").collect();
    let messages = of_counter.iter().map(|turn| turn["args"]["messages"].as_u64());
    let messages: Option<u64> = messages.sum();
    assert!(matches!(messages, Some(10 | 11)), "{turns:?}");
    assert!(of_counter.iter().all(|it| it["args"]["actor"] == counter.id().as_u64()));
    assert!(of_counter.iter().all(|it| it["dur"].as_f64() > Some(0.0)), "{turns:?}");
    assert!(!events(&trace, "cat", "sleep")?.is_empty());
    // And one track for all other threads.
    assert_eq!(events(&trace, "name", "thread_name")?.len(), 3);
    assert!(!events(&trace, "name", "waiting messages")?.is_empty());
    Ok(())
}

/// Tells the counter.
struct Front(Address<Counter>);

impl Actor for Front {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        self.0.tell(n);
    }
}

#[test]
fn a_sampled_message_is_an_arrow_from_its_send_to_its_handler() -> Outcome {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("run.trace.json");
    let system = System::builder().workers(1).sample_traces(1.0).trace(&trace).build()?;
    let front = system.spawn(Front(system.spawn(Counter)));
    for n in 1..=3 {
        front.send(n)?;
        system.wait_idle(SOON)?;
    }
    system.shutdown(Shutdown::Drain);

    let mut flows = events(&trace, "cat", "flow")?;
    flows.retain(|it| it["name"] == "message");
    let [starts, ends] = ["s", "f"].map(|ph| flows.iter().filter(move |it| it["ph"] == ph));
    let starts: Vec<_> = starts.collect();
    assert_eq!((starts.len(), ends.clone().count()), (6, 6));
    for end in ends {
        let start = starts.iter().find(|it| it["id"] == end["id"]).expect("it was sent");
        assert!(start["ts"].as_f64() <= end["ts"].as_f64());
        assert_ne!(end["tid"], u32::MAX);
    }
    // Three came from this thread, whose track is behind that of the worker.
    assert_eq!(starts.iter().filter(|it| it["tid"] == u32::MAX).count(), 3);
    let slices = events(&trace, "cat", "span")?;
    let is_handler = |it: &&Value| it["name"] == "u64 to Counter" && it["ph"] == "X";
    let handlers: Vec<_> = slices.iter().filter(is_handler).collect();
    assert_eq!(handlers.len(), 3);
    assert!(handlers.iter().all(|it| !it["args"]["parent"].is_null()), "{handlers:?}");
    Ok(())
}

/// Passes on what it gets to an actor of another system, as a node does.
struct Relay(Address<Counter>);

impl Actor for Relay {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        let bytes = trace::current().map(TraceContext::to_bytes);
        let there = bytes.and_then(|bytes| TraceContext::from_bytes(&bytes));
        trace::scope(there, || self.0.tell(n));
    }
}

/// Traces a message from one system to another; both are in this file.
fn two_nodes(path: &Path) -> Outcome {
    let session = TraceSession::start(path)?;
    let system = || System::builder().workers(1).sample_traces(1.0).build();
    let (near, far) = (system()?, system()?);
    near.spawn(Relay(far.spawn(Counter))).send(1)?;
    near.wait_idle(SOON)?;
    far.wait_idle(SOON)?;
    [near, far].into_iter().for_each(|it| drop(it.shutdown(Shutdown::Drain)));
    session.finish()?;
    Ok(())
}

#[test]
fn an_arrow_leads_from_one_node_to_another() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.json");
    two_nodes(&path)?;
    let arrows = events(&path, "name", "to another node")?;
    let [end] = &arrows.iter().filter(|it| it["ph"] == "f").collect::<Vec<_>>()[..] else {
        panic!("one arrow: {arrows:?}");
    };
    let is_begin = |it: &&Value| it["ph"] == "s" && it["id"] == end["id"];
    let begin = arrows.iter().find(is_begin).expect("it begins");
    assert_ne!(begin["pid"], end["pid"]);

    let path = folder.path().join("run.pftrace");
    two_nodes(&path)?;
    let arrows = arrows_of(&path)?;
    let [arrow] = &arrows.iter().filter(|it| it.begins != it.ends).collect::<Vec<_>>()[..] else {
        panic!("one arrow: {arrows:?}");
    };
    // And one from this thread to the first, one to the second: both as of their own system.
    let of = |system| arrows.iter().filter(move |it| it.begins == system && it.ends == system);
    assert_eq!([arrow.begins, arrow.ends].map(|it| of(it).count()), [1, 1], "{arrows:?}");
    Ok(())
}

/// The systems between which an arrow leads: each has a sequence of packets of its own.
#[derive(Debug)]
struct Arrow {
    begins: u32,
    ends: u32,
}

/// The arrows that end in a trace of Perfetto's format. A session has all systems of the process:
/// those of the tests beside this one, too.
fn arrows_of(path: &Path) -> Result<Vec<Arrow>, Box<dyn Error>> {
    let read = PerfettoTrace::decode(&*std::fs::read(path)?)?;
    let (mut begun, mut ended) = (BTreeMap::new(), Vec::new());
    for packet in &read.packet {
        let Some(event) = &packet.track_event else { continue };
        let system = packet.trusted_packet_sequence_id.ok_or("each packet is of a sequence")?;
        begun.extend(event.flow_ids.iter().map(|&id| (id, system)));
        ended.extend(event.terminating_flow_ids.iter().map(|&id| (id, system)));
    }
    let arrow = |(id, ends)| begun.get(&id).map(|&begins| Arrow { begins, ends });
    let arrows: Option<_> = ended.into_iter().map(arrow).collect();
    Ok(arrows.ok_or("an arrow without a beginning")?)
}

/// Two spans that overlap, and lie in no turn.
fn two_waits(path: &Path) -> Outcome {
    let system = System::builder().workers(1).sample_traces(1.0).build()?;
    let trace = Trace::start(&system, path)?;
    let [first, second] = ["first", "second"].map(|name| system.begin_span(name, None));
    // The one that began first ends first.
    first.end(None);
    second.end(None);
    trace.finish()?;
    Ok(())
}

#[test]
fn spans_that_overlap_are_no_slices_of_one_track() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.json");
    two_waits(&path)?;
    let spans = events(&path, "cat", "span")?;
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let phases = spans.iter().map(|it| format!("{} {}", text(&it["name"]), text(&it["ph"])));
    let phases: Vec<_> = phases.collect();
    assert_eq!(phases, ["first b", "first e", "second b", "second e"]);

    let path = folder.path().join("run.pftrace");
    two_waits(&path)?;
    let seen = read_perfetto(&path)?;
    let spans: Vec<_> = seen.slices.iter().filter(|it| it.args.contains_key("span")).collect();
    assert_eq!([&*spans[0].name, &*spans[1].name], ["first", "second"]);
    assert_eq!(seen.others[&spans[0].track], seen.others[&spans[1].track], "shown together");
    assert!(spans[0].track != spans[1].track && spans[0].end_ns <= spans[1].end_ns);
    Ok(())
}

#[test]
fn messages_between_actors_are_followed_without_a_request_from_outside() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.pftrace");
    let system = System::builder().workers(1).build()?;
    let trace = Trace::start(&system, &path)?;
    let front = system.spawn(Front(system.spawn(Counter)));
    for n in 1..=20_000 {
        front.send(n % 2 + 1)?;
    }
    system.wait_idle(SOON)?;
    trace.finish()?;
    // None of them without a beginning.
    assert!(!arrows_of(&path)?.is_empty());
    Ok(())
}

#[test]
fn records_that_were_lost_are_counted() -> Result<(), Box<dyn Error>> {
    let system = System::builder().workers(1).build()?;
    let counter = system.spawn(Counter);
    system.record(4);
    for n in 1..=10 {
        counter.send(n)?;
        system.wait_idle(Duration::from_secs(60))?;
    }
    let taken = system.take_records();
    assert!(taken[0].records.len() == 4 && taken[0].lost >= 5, "{taken:?}");
    system.stop_recording();
    for n in 1..=2 {
        counter.send(n)?;
        system.wait_idle(Duration::from_secs(60))?;
        // What was under way when it ended.
        let taken = system.take_records();
        assert!(n == 1 || taken[0].records.is_empty(), "{taken:?}");
    }
    Ok(())
}

#[test]
fn a_trace_that_can_not_be_written_harms_nobody() -> Result<(), Box<dyn Error>> {
    let error = System::builder().workers(1).trace("/no/such/folder/run.json").build();
    let error = error.expect_err("there is no such folder");
    assert!(error.to_string().contains("/no/such/folder/run.json"), "{error}");
    // A disk that is full.
    let full = Path::new("/dev/full");
    if !full.exists() {
        eprintln!("skipped: there is no /dev/full");
        return Ok(());
    }
    run(&System::builder().workers(1).trace(full).build()?);
    Ok(())
}

#[test]
fn the_environment_alone_makes_traces_and_flame_graphs() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "reports::two_systems", "--nocapture"]);
    command.env(ENV_TRACE, path("run.json")).env(ENV_FLAME, path("run.folded"));
    let output = command.output()?;
    assert!(output.status.success(), "{output:?}");
    for name in ["run.json", "run-2.json"] {
        assert_eq!(events(&path(name), "name", "thread_name")?.len(), 2, "{name}");
    }
    for name in ["run.folded", "run-2.folded"] {
        let folded = std::fs::read_to_string(path(name))?;
        assert!(folded.contains("worker 0;Counter"), "{name}: {folded}");
    }
    Ok(())
}

/// What a trace in Perfetto's format says, with all numbers resolved.
#[derive(Default)]
struct Seen {
    /// Process, thread, counter and what else there is by their tracks.
    processes: BTreeMap<u64, String>,
    threads: BTreeMap<u64, (u64, String)>,
    counters: BTreeMap<u64, (u64, String, String)>,
    others: BTreeMap<u64, String>,
    /// Track, name and arguments of each slice that has ended, with begin and end.
    slices: Vec<Slice>,
    moments: Vec<(u64, String)>,
    values: BTreeMap<String, Vec<f64>>,
    labels: Vec<String>,
}

struct Slice {
    track: u64,
    name: String,
    args: BTreeMap<String, String>,
    begin_ns: u64,
    end_ns: u64,
    depth: usize,
}

/// Names of one sequence: category, event, argument and value by number.
type Names = [BTreeMap<u64, String>; 4];

/// Reads it as Perfetto does: sequence by sequence, sorted by time.
fn read_perfetto(path: &Path) -> Result<Seen, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let trace = PerfettoTrace::decode(&bytes[..])?;
    // Nothing in it is unknown to the schema.
    assert_eq!(trace.encoded_len(), bytes.len(), "there are fields that the schema has not");
    let mut seen = Seen::default();
    let mut names: BTreeMap<u32, Names> = BTreeMap::new();
    let mut events: Vec<Event> = Vec::new();
    for packet in trace.packet {
        let sequence = packet.trusted_packet_sequence_id.expect("each packet is of a sequence");
        if packet.sequence_flags == Some(1) {
            assert!(packet.first_packet_on_sequence == Some(true));
            let clocks = packet.clock_snapshot.expect("it says what its clock is").clocks;
            assert_eq!(clocks.iter().map(|it| it.clock_id).collect::<Vec<_>>(), [Some(6), Some(1)]);
            assert_eq!(clocks[0].timestamp, clocks[1].timestamp);
            assert!(names.insert(sequence, Names::default()).is_none(), "sequences differ");
        }
        let names = names.get_mut(&sequence).expect("it has begun");
        if let Some(said) = packet.interned_data {
            let fields = [
                said.event_categories,
                said.event_names,
                said.debug_annotation_names,
                said.debug_annotation_string_values,
            ];
            for (known, said) in names.iter_mut().zip(fields) {
                known.extend(said.into_iter().map(|it| (it.iid.unwrap(), it.name.unwrap())));
            }
        }
        if let Some(track) = packet.track_descriptor {
            seen.track(track);
        }
        if let Some(event) = packet.track_event {
            let at_ns = packet.timestamp.expect("each event has a time");
            seen.event(at_ns, &event, names, &mut events);
        }
    }
    seen.nest(events);
    Ok(seen)
}

type Event = (u64, u64, String, BTreeMap<String, String>, Type);

impl Seen {
    fn track(&mut self, track: crate::perfetto_schema::TrackDescriptor) {
        let uuid = track.uuid.expect("a track has a number");
        let parent = track.parent_uuid;
        if let Some(process) = track.process {
            assert!(process.pid > Some(0));
            self.labels.extend(process.process_labels);
            assert!(self.processes.insert(uuid, process.process_name.unwrap()).is_none());
        } else if let Some(thread) = track.thread {
            assert!(thread.pid > Some(0) && thread.tid > Some(0));
            self.threads.insert(uuid, (parent.unwrap(), thread.thread_name.unwrap()));
        } else if let Some(counter) = track.counter {
            let unit = counter.unit_name.unwrap();
            self.counters.insert(uuid, (parent.unwrap(), track.name.unwrap(), unit));
        } else {
            assert!(self.processes.contains_key(&parent.unwrap()));
            assert!(self.others.insert(uuid, track.name.unwrap()).is_none());
        }
    }

    fn event(&mut self, at_ns: u64, event: &TrackEvent, names: &Names, into: &mut Vec<Event>) {
        let track = event.track_uuid.expect("an event has a track");
        if event.r#type() == Type::Counter {
            let (_, name, _) = &self.counters[&track];
            let value = event.double_counter_value.expect("a counter has a value");
            return self.values.entry(name.clone()).or_default().push(value);
        }
        let args = event.debug_annotations.iter().map(|it| {
            let value = match it.value.as_ref().expect("an argument has a value") {
                Noted::Uint(value) => value.to_string(),
                Noted::Text(value) => value.clone(),
                Noted::TextIid(number) => names[3][number].clone(),
            };
            (names[2][&it.name_iid.unwrap()].clone(), value)
        });
        let name = event.name_iid.map(|number| names[1][&number].clone()).unwrap_or_default();
        assert!(event.category_iids.iter().all(|number| names[0].contains_key(number)));
        into.push((at_ns, track, name, args.collect(), event.r#type()));
    }

    fn nest(&mut self, mut events: Vec<Event>) {
        events.sort_by_key(|it| it.0);
        let mut open: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
        for (at_ns, track, name, args, kind) in events {
            let open = open.entry(track).or_default();
            match kind {
                Type::SliceBegin => {
                    let depth = open.len();
                    open.push(Slice { track, name, args, begin_ns: at_ns, end_ns: 0, depth });
                }
                Type::SliceEnd => {
                    let slice = open.pop().expect("only what has begun ends");
                    self.slices.push(Slice { end_ns: at_ns, ..slice });
                }
                Type::Instant => self.moments.push((track, name)),
                other => panic!("{other:?}"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "all slices end");
    }
}

#[test]
fn a_trace_in_perfetto_s_format_has_tracks_slices_and_counters() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.pftrace");
    let system = System::builder().workers(2).build()?;
    let counter = system.spawn(Counter);
    let trace = Trace::start(&system, &path)?;
    counter.send(7)?;
    system.wait_idle(SOON)?;
    for n in 1..=10 {
        counter.send(n)?;
        system.wait_idle(SOON)?;
    }
    trace.finish()?;

    let seen = read_perfetto(&path)?;
    let process = *seen.processes.keys().next().expect("one process");
    assert_eq!((seen.processes.len(), seen.threads.len()), (1, 2));
    assert!(
        seen.threads.values().all(|(parent, name)| *parent == process && name.contains("worker "))
    );
    let of_counter: Vec<_> = seen.slices.iter().filter(|it| it.name == "Counter").collect();
    let handled = of_counter.iter().map(|it| it.args["messages"].parse::<u64>());
    let handled: u64 = handled.sum::<Result<u64, _>>()?;
    assert!(matches!(handled, 10 | 11), "{handled}");
    for slice in &of_counter {
        assert!(seen.threads.contains_key(&slice.track) && slice.depth == 0);
        assert!(slice.begin_ns < slice.end_ns);
        assert_eq!(slice.args["actor"], counter.id().as_u64().to_string());
        assert!(slice.args["type"].ends_with("::Counter"), "{:?}", slice.args);
    }
    assert!(seen.slices.iter().any(|it| it.name == "asleep"));
    assert!(seen.moments.iter().any(|(track, name)| *track == process && name == "trace ends"));
    assert!(seen.labels.iter().any(|it| it.starts_with("clock: ")), "{:?}", seen.labels);
    assert!(seen.counters.values().all(|(parent, ..)| *parent == process));
    assert!(seen.values["actors"].contains(&1.0), "{:?}", seen.values);
    assert!(seen.values.contains_key("waiting messages"));
    assert!(seen.values.contains_key("queue of worker 1"));
    Ok(())
}

#[test]
fn a_part_of_a_run_is_traced_beside_the_whole() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let system = System::builder().workers(1).trace(path("whole.json")).build()?;
    let counter = system.spawn(Counter);
    let turn = |n| {
        counter.send(n)?;
        Ok::<_, Box<dyn Error>>(system.wait_idle(SOON)?)
    };
    turn(1)?;
    turn(2)?;
    let part = Trace::start(&system, path("part.pftrace"))?;
    let flames = FlameRecorder::start(&system)?;
    turn(3)?;
    let flames = flames.finish();
    let summary = part.finish()?;
    turn(4)?;
    system.shutdown(Shutdown::Drain);

    // Not the handlers of sampled messages.
    let is_turn = |it: &&Slice| it.name == "Counter" && it.args.contains_key("messages");
    let turns = |seen: &Seen| seen.slices.iter().filter(is_turn).count();
    assert_eq!(turns(&read_perfetto(&path("part.pftrace"))?), 1, "{summary:?}");
    assert!(summary.records >= 1 && summary.lost == 0, "{summary:?}");
    assert_eq!(flames.folded().lines().count(), 1, "{}", flames.folded());
    let mut whole = events(&path("whole.json"), "name", "Counter")?;
    whole.retain(|it| it["cat"] == "turn");
    // The first turn may have been before the worker knew.
    assert!(whole.len() >= 3, "{whole:?}");
    Ok(())
}

#[test]
fn records_that_are_missing_are_told_of_in_the_trace() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in ["run.pftrace", "run.json"] {
        let path = folder.path().join(name);
        let system = System::builder().workers(1).build()?;
        let trace = Trace::start(&system, &path)?;
        // Less than it needs.
        system.record(4);
        let counter = system.spawn(Counter);
        for n in 1..=200 {
            counter.send(n)?;
            system.wait_idle(SOON)?;
        }
        let summary = trace.finish()?;
        assert!(summary.lost > 0, "{name}: {summary:?}");
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        assert!(text.contains("records lost"), "{name}");
        if name == "run.json" {
            let said: Value = serde_json::from_str(&text)?;
            assert_eq!(said["metadata"]["records lost"], summary.lost);
            let lost = events(&path, "name", "records lost")?;
            let lost = lost.iter().map(|it| it["args"]["lost"].as_u64().unwrap_or(0));
            assert_eq!(lost.sum::<u64>(), summary.lost);
        }
    }
    Ok(())
}

/// A trace of a node whose actor has one turn.
fn node(path: &Path, node: u32, offset_ns: i64) -> Outcome {
    let system = System::builder().workers(1).build()?;
    let clock = ClockOffset { offset_ns, uncertainty_ns: 7, how: "a test".to_owned() };
    let options = TraceOptions::new().node(node).clock(clock);
    let trace = Trace::start_with(&system, path, &options)?;
    let counter = system.spawn(Counter);
    counter.send(1)?;
    system.wait_idle(SOON)?;
    counter.send(1)?;
    system.wait_idle(SOON)?;
    trace.finish()?;
    Ok(())
}

const HOUR_NS: i64 = 3_600_000_000_000;

#[test]
fn traces_of_several_nodes_are_one_file_on_one_axis_of_time() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let parts = [path("0.pftrace"), path("1.pftrace")];
    node(&parts[0], 0, 0)?;
    node(&parts[1], 1, HOUR_NS)?;
    merge_traces(&parts, &path("all.pftrace"))?;
    let seen = read_perfetto(&path("all.pftrace"))?;
    let names: Vec<&str> = seen.processes.values().map(|it| &it[..6]).collect();
    assert!(names.contains(&"node 0") && names.contains(&"node 1"), "{names:?}");
    assert_eq!(seen.threads.len(), 2);
    let first = |of: &str| {
        let process = seen.processes.iter().find(|(_, name)| name.starts_with(of)).unwrap().0;
        let of_node = |it: &&Slice| seen.threads[&it.track].0 == *process;
        seen.slices.iter().filter(of_node).map(|it| it.begin_ns).min().unwrap()
    };
    let later_ns = first("node 1") - first("node 0");
    assert!(later_ns >= HOUR_NS as u64 && later_ns < 2 * HOUR_NS as u64, "{later_ns}");
    assert!(seen.labels.contains(&"clock's uncertainty in ns: 7".to_owned()));
    Ok(())
}

#[test]
fn traces_in_json_are_merged_too() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let parts = [path("0.json"), path("1.json")];
    node(&parts[0], 0, 0)?;
    node(&parts[1], 1, HOUR_NS)?;
    merge_traces(&parts, &path("all.json"))?;
    assert_eq!(events(&path("all.json"), "name", "process_name")?.len(), 2);
    let turns = events(&path("all.json"), "name", "Counter")?;
    let first = |pid: u64| {
        let of = turns.iter().filter(|it| it["pid"] == pid);
        of.filter_map(|it| it["ts"].as_f64()).fold(f64::MAX, f64::min)
    };
    let later_us = first(2) - first(1);
    assert!((3.6e9..7.2e9).contains(&later_us), "{later_us}");

    // What is no trace, or was cut off, is an error that names it.
    let whole = std::fs::read_to_string(&parts[0])?;
    std::fs::write(&parts[0], &whole[..whole.len() / 2])?;
    let error = merge_traces(&parts, &path("cut.json")).unwrap_err().to_string();
    assert!(error.contains("0.json") && error.contains("cut off"), "{error}");
    assert!(!path("cut.json").exists());
    Ok(())
}

#[test]
fn a_session_has_all_systems_in_one_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.json");
    let session = TraceSession::start(&path)?;
    for _ in 0..2 {
        run(&System::builder().workers(1).build()?);
    }
    session.finish()?;
    let names = events(&path, "name", "process_name")?;
    // Other tests of this process build systems, too.
    assert!(names.len() >= 2, "{names:?}");
    let left: Vec<PathBuf> = std::fs::read_dir(folder.path())?
        .map(|it| Ok::<_, Box<dyn Error>>(it?.path()))
        .collect::<Result<_, _>>()?;
    assert!(left.contains(&path), "{left:?}");
    assert!(TraceSession::start("/no/such/folder/run.json").is_err());
    Ok(())
}

#[test]
fn a_flame_graph_is_written_as_drawing_and_as_lines() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let builder = System::builder().workers(1);
    let builder = builder.flame_graph(path("run.svg")).flame_graph(path("run.folded"));
    let system = builder.build()?;
    let counter = system.spawn(Counter);
    for n in 1..=10 {
        counter.send(n)?;
        system.wait_idle(SOON)?;
    }
    system.shutdown(Shutdown::Drain);
    let svg = std::fs::read_to_string(path("run.svg"))?;
    assert!(svg.contains("worker 0") && svg.contains("Counter"), "{svg}");
    let folded = std::fs::read_to_string(path("run.folded"))?;
    let line = format!("worker 0;Counter;Counter {} ", counter.id().as_u64());
    assert!(folded.lines().any(|it| it.starts_with(&line)), "{folded}");
    let error = System::builder().workers(1).flame_graph("/no/such/folder/run.svg").build();
    assert!(error.expect_err("no folder").to_string().contains("/no/such/folder/run.svg"));
    Ok(())
}

struct Desk {
    orders: u64,
}

#[actinium_actor::actor]
impl Desk {
    fn order(&mut self, n: u64) {
        self.orders += (0..n).map(std::hint::black_box).sum::<u64>();
    }

    fn forget(&mut self) {
        self.orders = 0;
    }
}

#[test]
fn a_flame_graph_tells_the_messages_of_a_type_apart() -> Outcome {
    let system = System::builder().workers(1).sample_traces(1.0).build()?;
    let desk = system.spawn(Desk { orders: 0 });
    let flames = FlameRecorder::start(&system)?;
    for _ in 0..10 {
        desk.order(100_000);
        desk.forget();
        system.wait_idle(SOON)?;
    }
    let flames = flames.finish();
    let folded = flames.folded();
    let ns = |sort: &str| {
        let stack = format!("worker 0;Desk;{sort} ");
        folded.lines().find_map(|it| it.strip_prefix(&stack)?.parse::<u64>().ok())
    };
    let (order, forget) = (ns("order").unwrap_or(0), ns("forget").unwrap_or(0));
    assert!(order > forget, "100,000 steps take longer than one: {folded}");
    assert!(flames.svg().contains("order, estimated from "), "{}", flames.svg());
    Ok(())
}

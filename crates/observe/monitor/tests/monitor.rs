//! Reports of real systems.

use actinium_actor::{
    Actor, Address, BuildError, Context, Shutdown, SpawnOptions, Supervision, System,
};
use actinium_monitor::{ENV_REPORT, ENV_TRACE, Monitored, ReadError, Recording, Sample};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// Fails at 0.
struct Counter;

impl Actor for Counter {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        assert_ne!(n, 0, "a zero");
    }
}

fn run(system: &System) {
    let options = SpawnOptions::new().supervise(Supervision::restart());
    let counter = system.spawn_with(options, || Counter).expect("it starts");
    (0..100).for_each(|n| counter.tell(n));
    let ended = system.spawn(Counter);
    ended.kill();
    system.wait_idle(std::time::Duration::from_secs(60)).expect("it comes to rest");
    ended.tell(7);
    system.shutdown(Shutdown::Drain);
}

#[test]
fn a_page_and_a_recording_say_what_happened() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [page, json] = ["run.html", "run.json"].map(|name| folder.path().join(name));
    run(&System::builder().workers(2).report(&page).report(&json).build()?);

    let recording = Recording::read(&json)?;
    let last = recording.samples.last().expect("it was looked at");
    assert_eq!((last.handled.iter().sum::<u64>(), last.dead, last.restarted), (100, 1, 1));
    assert_eq!((last.queued, last.actors, recording.workers.len()), (0, 0, 2));
    assert_eq!(recording.workers.iter().map(|it| it.counters["handled"]).sum::<u64>(), 100);
    let counter = &recording.types[0];
    assert!(counter.kind.ends_with("::Counter") && counter.restarts == 1, "{counter:?}");
    assert!(recording.dead_letters[0].contains("Counter"), "{:?}", recording.dead_letters);
    assert!(recording.end.contains(&("handled".into(), "100".into())), "{:?}", recording.end);
    assert!(recording.process.elapsed_s > 0.0 && recording.process.memory_max_bytes > 0);

    // Both are of one run, though not of the same looks.
    let page = std::fs::read_to_string(page)?;
    let again = recording.page().html();
    for text in ["Counter", "Dead letters", "Throughput at four levels", "worker 1", "100 messages"]
    {
        assert!(page.contains(text) && again.contains(text), "{text}");
    }
    Ok(())
}

#[test]
fn a_file_that_is_no_recording_is_an_error_that_says_so() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let json = folder.path().join("run.json");
    run(&System::builder().workers(1).report(&json).build()?);
    let whole = std::fs::read_to_string(&json)?;

    std::fs::write(&json, &whole[..whole.len() / 2])?;
    let cut = Recording::read(&json).unwrap_err();
    assert!(matches!(cut, ReadError::Malformed { .. }) && cut.to_string().contains("cut off"));
    std::fs::write(&json, whole.replace("\"schema_version\":1", "\"schema_version\":7"))?;
    let newer = Recording::read(&json).unwrap_err();
    assert!(matches!(newer, ReadError::Newer { version: 7, .. }), "{newer}");
    // Numbers that no run has: a page, whatever it says.
    let mut odd = serde_json::from_str::<Recording>(&whole)?;
    let sample = odd.samples[0].clone();
    odd.samples = [(2.0, u64::MAX), (1.0, 3), (f64::MAX, 0)]
        .map(|(at_s, n)| Sample {
            at_s,
            handled: vec![n, n],
            dead: n,
            restarted: n,
            ..sample.clone()
        })
        .into();
    odd.latencies = vec![(u64::MAX, u64::MAX), (0, 7)];
    odd.external.insert("dead".to_owned(), u64::MAX);
    odd.workers[0].counters.insert("dead".to_owned(), u64::MAX);
    assert!(odd.page().html().contains("Throughput"));
    let missing = Recording::read(&folder.path().join("no.json")).unwrap_err();
    assert!(missing.to_string().contains("no.json"), "{missing}");
    Ok(())
}

#[test]
fn a_report_that_can_not_be_written_stops_the_build() {
    let error = System::builder().workers(1).report("/no/such/folder/run.html").build();
    let error = error.expect_err("there is no such folder");
    assert!(matches!(error, BuildError::Observer(_)));
    assert!(error.to_string().contains("/no/such/folder/run.html"), "{error}");
}

/// Runs the test below in a process of its own, with a report by environment.
fn child(report: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.args(["--exact", "two_systems", "--nocapture"]);
    command.env(ENV_REPORT, report).output().expect("it starts")
}

/// A program that knows nothing of reports. Run by itself, it tests that nothing is written.
#[test]
fn two_systems() -> Result<(), BuildError> {
    for _ in 0..2 {
        run(&System::builder().workers(1).build()?);
    }
    Ok(())
}

#[test]
fn the_environment_alone_makes_a_report_of_each_system() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let output = child(&folder.path().join("run.html"));
    assert!(output.status.success(), "{output:?}");
    for name in ["run.html", "run-2.html"] {
        let page = std::fs::read_to_string(folder.path().join(name))?;
        assert!(page.contains("100 messages"), "{name}");
    }

    let output = child(Path::new("/no/such/folder/run.html"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success());
    assert!(said.contains("ACTINIUM_REPORT") && said.contains("/no/such/folder"), "{said}");
    Ok(())
}

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
fn a_sampled_message_is_an_arrow_from_its_send_to_its_handler() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("run.trace.json");
    let system = System::builder().workers(1).sample_traces(1.0).trace(&trace).build()?;
    let front = system.spawn(Front(system.spawn(Counter)));
    for n in 1..=3 {
        front.send(n)?;
        system.wait_idle(Duration::from_secs(60))?;
    }
    system.shutdown(Shutdown::Drain);

    let flows = events(&trace, "cat", "flow")?;
    let [starts, ends] = ["s", "f"].map(|ph| flows.iter().filter(move |it| it["ph"] == ph));
    let starts: Vec<_> = starts.collect();
    assert_eq!((starts.len(), ends.clone().count()), (6, 6));
    for end in ends {
        let start = starts.iter().find(|it| it["id"] == end["id"]).expect("it was sent");
        assert!(start["ts"].as_f64() <= end["ts"].as_f64());
        assert_eq!(end["tid"], 1);
    }
    // Three came from this thread, whose track is behind that of the worker.
    assert_eq!(starts.iter().filter(|it| it["tid"] == 2).count(), 3);
    let slices = events(&trace, "cat", "span")?;
    let handlers: Vec<_> = slices.iter().filter(|it| it["name"] == "Counter").collect();
    assert_eq!(handlers.len(), 3);
    assert!(handlers.iter().all(|it| !it["args"]["parent"].is_null()), "{handlers:?}");
    Ok(())
}

#[test]
fn messages_between_actors_are_followed_without_a_request_from_outside()
-> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("run.trace.json");
    let system = System::builder().workers(1).trace(&trace).build()?;
    let front = system.spawn(Front(system.spawn(Counter)));
    for n in 1..=20_000 {
        front.send(n % 2 + 1)?;
    }
    system.wait_idle(Duration::from_secs(60))?;
    system.shutdown(Shutdown::Drain);
    let flows = events(&trace, "cat", "flow")?;
    let from_worker = flows.iter().filter(|it| it["ph"] == "s" && it["tid"] == 1).count();
    assert!(from_worker >= 1, "{}", flows.len());
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
fn the_environment_alone_makes_a_trace() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "two_systems", "--nocapture"]);
    let output = command.env(ENV_TRACE, folder.path().join("run.json")).output()?;
    assert!(output.status.success(), "{output:?}");
    for name in ["run.json", "run-2.json"] {
        assert_eq!(events(&folder.path().join(name), "name", "thread_name")?.len(), 2, "{name}");
    }
    Ok(())
}

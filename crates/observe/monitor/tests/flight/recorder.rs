//! When a flight recorder writes, and what.

use actinium_actor::{
    Actor, Context, Failure, Shutdown, SpawnOptions, Supervision, System, SystemHandle,
};
use actinium_monitor::{
    Cause, ENV_FLIGHT, Flight, FlightError, FlightRecorder, FlightSettings, KeepRecords, Monitored,
    ReadError, diagnose,
};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// Says to the program below what it shall do.
const DO: &str = "DO_WHAT";

/// Panics at 0.
struct Counter;

impl Actor for Counter {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        assert_ne!(n, 0, "a zero");
    }
}

/// Looks until there is a file.
fn until_there(path: &Path) {
    while !path.exists() {
        std::thread::yield_now();
    }
}

#[test]
fn a_document_has_what_was_seen_and_comes_back_from_its_file() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("flight.json");
    let system = System::builder().workers(2).flight_recorder(&path).build()?;
    let recorder = FlightRecorder::of(&system).expect("it was asked for");
    recorder.section("orders", || Some(json!({ "open": 3 })));
    recorder.section("broken", || panic!("it panics"));
    let counter = system.spawn(Counter);
    // Until a glimpse has met it.
    let has_turn = |flight: &Flight| {
        flight.records.workers.iter().flatten().any(|it| format!("{it:?}").contains("Counter"))
    };
    while !has_turn(&recorder.flight("a look")?) {
        counter.tell(7);
        system.wait_idle(MINUTE)?;
    }
    counter.kill();
    system.wait_idle(MINUTE)?;
    counter.tell(8);
    recorder.write("to see it")?;

    let flight = Flight::read(&path)?;
    assert_eq!((flight.reason.cause, flight.reason.text.as_str()), (Cause::Asked, "to see it"));
    assert_eq!((flight.workers.len(), flight.policy.as_str()), (2, "affine"));
    let last = flight.looks.last().expect("it looked");
    assert!(last.handled > 0 && last.dead == 1 && last.workers.len() == 2, "{last:?}");
    assert!(flight.workers.iter().all(|it| it.thread.is_some()) && flight.threads.len() == 2);
    assert!(flight.walks.len() >= 2 && flight.types[0].kind.ends_with("::Counter"));
    assert!(flight.dead_letters[0].contains("Counter"), "{:?}", flight.dead_letters);
    assert_eq!(flight.sections["orders"], json!({ "open": 3 }));
    assert!(!flight.sections.contains_key("broken") && flight.records.missing.is_none());

    let recorder = recorder.clone();
    system.shutdown(Shutdown::Drain);
    assert!(matches!(recorder.write("too late"), Err(FlightError::Ended)));
    Ok(())
}

#[test]
fn the_newest_file_has_the_name_and_so_many_are_kept() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("flight.json");
    let settings = FlightSettings::new(&path).files(2);
    let system = System::builder().workers(1).flight_recorder(settings).build()?;
    let recorder = FlightRecorder::of(&system).expect("it was asked for");
    for why in ["first", "second", "third"] {
        recorder.write(why)?;
    }
    let why = |name: &str| Flight::read(&folder.path().join(name)).map(|it| it.reason.text);
    assert_eq!((why("flight.json")?, why("flight.1.json")?), ("third".into(), "second".into()));
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 2);
    Ok(())
}

#[test]
fn a_trace_keeps_its_records_and_the_document_says_so() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.json");
    let system = System::builder().workers(1).trace(&trace).build()?;
    let settings = FlightSettings::in_memory().records(KeepRecords::Always);
    let recorder = FlightRecorder::start(&system, settings)?;
    let missing = || recorder.flight("a look").expect("it records").records.missing;
    while missing().is_none() {
        std::thread::yield_now();
    }
    assert!(missing().expect("a reason").contains("trace"));
    let counter = system.spawn(Counter);
    for _ in 0..10 {
        counter.tell(7);
        system.wait_idle(MINUTE)?;
    }
    system.shutdown(Shutdown::Drain);
    assert!(std::fs::read_to_string(trace)?.contains("Counter"));
    Ok(())
}

#[test]
fn a_standstill_is_written_and_what_waits_is_named() -> Result<(), Box<dyn Error>> {
    struct Waits(std::sync::mpsc::Receiver<()>);
    impl Actor for Waits {
        type Msg = u64;
        fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {
            let _ = self.0.recv();
        }
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("flight.json");
    let settings = FlightSettings::new(&path).standstill(Duration::from_millis(200));
    let system = System::builder().workers(1).flight_recorder(settings).build()?;
    let (release, wait) = channel();
    let waits = system.spawn(Waits(wait));
    (0..3).for_each(|n| waits.tell(n));
    until_there(&path);
    let flight = Flight::read(&path)?;
    assert_eq!(flight.reason.cause, Cause::Standstill);
    assert!(flight.reason.text.contains("messages wait"), "{:?}", flight.reason);
    // It was written early: too early to call the worker stuck.
    let found = diagnose(&flight);
    assert!(found[0].seen.contains("Nothing moves"), "{found:?}");
    drop(release);
    Ok(())
}

#[test]
fn a_file_that_can_not_be_written_harms_nobody() -> Result<(), Box<dyn Error>> {
    let missing = "/no/such/folder/flight.json";
    let error = System::builder().workers(1).flight_recorder(missing).build();
    assert!(error.expect_err("there is no such folder").to_string().contains(missing));
    let full = Path::new("/dev/full");
    if !full.exists() {
        eprintln!("skipped: there is no /dev/full");
        return Ok(());
    }
    let system = System::builder().workers(1).flight_recorder(full).build()?;
    let recorder = FlightRecorder::of(&system).expect("it was asked for");
    let error = recorder.write("to see it").expect_err("the disk is full");
    assert!(error.to_string().contains("/dev/full"), "{error}");
    system.spawn(Counter).tell(7);
    assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    Ok(())
}

#[test]
fn a_document_that_is_cut_off_or_newer_is_an_error_that_says_so() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("flight.json");
    let system = System::builder().workers(1).build()?;
    FlightRecorder::start(&system, &path)?.write("to see it")?;
    let whole = std::fs::read_to_string(&path)?;

    std::fs::write(&path, &whole[..whole.len() / 2])?;
    let cut = Flight::read(&path).unwrap_err();
    assert!(matches!(cut, ReadError::Malformed { .. }) && cut.to_string().contains("cut off"));
    std::fs::write(&path, whole.replace("\"schema_version\":1", "\"schema_version\":7"))?;
    let newer = Flight::read(&path).unwrap_err();
    assert!(matches!(newer, ReadError::Newer { version: 7, .. }), "{newer}");
    std::fs::write(&path, whole.replace("actinium flight", "something else"))?;
    assert!(Flight::read(&path).unwrap_err().to_string().contains("something else"));
    // Numbers that no system has: findings, or none.
    let mut odd: Flight = serde_json::from_str(&whole)?;
    odd.looks.iter_mut().for_each(|look| {
        (look.at_s, look.queued, look.handled) = (-look.at_s, u64::MAX, 0);
        look.workers.clear();
    });
    odd.workers.clear();
    odd.walks.reverse();
    let _ = diagnose(&odd);
    // The largest numbers wherever there are numbers.
    let mut largest: Value = serde_json::from_str(&whole)?;
    enlarge(&mut largest);
    let _ = diagnose(&serde_json::from_value::<Flight>(largest)?);
    assert!(diagnose(&Flight::default()).is_empty());
    Ok(())
}

/// Makes each number that has room for it the largest one.
fn enlarge(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_u64() => *value = json!(u64::MAX),
        Value::Array(values) => values.iter_mut().for_each(enlarge),
        Value::Object(values) => {
            // These have less room.
            let small =
                ["schema_version", "process", "pus", "pu", "node", "thread", "cpu", "cost_ns"];
            let small = small.into_iter().chain(["worker", "from", "to"]);
            let kept: Vec<_> = small.filter_map(|name| values.remove_entry(name)).collect();
            values.values_mut().for_each(enlarge);
            values.extend(kept);
        }
        _ => {}
    }
}

// ---- what a process does
// -----------------------------------------------------------------------------------------

/// Runs the program below in a process of its own, with a recorder by environment.
fn child(what: &str, path: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.args(["--exact", "recorder::program", "--nocapture"]);
    command.env(ENV_FLIGHT, path).env(DO, what).output().expect("it starts")
}

/// A program that knows nothing of recorders. Run by itself, it does nothing.
#[test]
fn program() {
    let Ok(what) = std::env::var(DO) else { return };
    let system = System::builder().workers(1).build().expect("a system");
    match what.as_str() {
        "panic" => panic_on_a_thread(),
        "supervised" => fail(&system, Supervision::restart()),
        "escalate" => fail(&system, Supervision::escalate()),
        "signal" => signal_hook::low_level::raise(signal_hook::consts::SIGUSR1).expect("a signal"),
        "defect" => actinium_scheduler::logging::fatal(format_args!("a defect of the runtime")),
        other => panic!("what is {other}?"),
    }
    if what == "signal" {
        let path = std::env::var_os(ENV_FLIGHT).expect("it was told");
        until_there(Path::new(&path));
    }
    system.shutdown(Shutdown::Drain);
}

fn panic_on_a_thread() {
    let thread = std::thread::Builder::new().name("reader".to_owned());
    let thread = thread.spawn(|| panic!("no more input")).expect("a thread");
    assert!(thread.join().is_err());
}

fn fail(system: &SystemHandle, supervision: Supervision) {
    let options = SpawnOptions::new().supervise(supervision);
    system.spawn_with(options, || Ok::<_, Failure>(Counter)).expect("it starts").tell(0);
}

#[test]
fn what_nobody_looks_after_is_written() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for (what, cause, says) in [
        ("panic", Cause::Panic, "the thread 'reader' panicked: no more input"),
        ("escalate", Cause::Escalated, "a zero"),
        ("signal", Cause::Signal, "SIGUSR1"),
        ("defect", Cause::Defect, "a defect of the runtime"),
    ] {
        let path = folder.path().join(format!("{what}.json"));
        let output = child(what, &path);
        assert_eq!(output.status.success(), what != "defect", "{what}: {output:?}");
        let flight = Flight::read(&path).map_err(|error| format!("{what}: {error}: {output:?}"))?;
        assert_eq!(flight.reason.cause, cause, "{what}");
        assert!(flight.reason.text.contains(says), "{what}: {:?}", flight.reason);
        assert!(!flight.looks.is_empty() || what == "defect", "{what}");
    }
    Ok(())
}

#[test]
fn what_supervision_looks_after_is_not_written() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("flight.json");
    let output = child("supervised", &path);
    assert!(output.status.success() && !path.exists(), "{output:?}");
    Ok(())
}

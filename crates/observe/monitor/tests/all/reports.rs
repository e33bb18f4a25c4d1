//! Reports of real systems.

use actinium_actor::{
    Actor, Address, BuildError, Context, Policy, Shutdown, SpawnOptions, Supervision, System,
};
use actinium_monitor::live::{ExchangeNow, PuPlace};
use actinium_monitor::{ENV_REPORT, Monitored, ReadError, Recorder, Recording, Sample};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

/// Fails at 0.
pub(crate) struct Counter;

impl Actor for Counter {
    type Msg = u64;

    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        assert_ne!(n, 0, "a zero");
    }
}

pub(crate) fn run(system: &System) {
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
    let turns = recording.turns.iter().find(|it| it.kind.ends_with("::Counter"));
    assert!(turns.is_some_and(|it| it.turns > 0 && it.handled > 0), "{:?}", recording.turns);
    assert!(recording.dead_letters[0].contains("Counter"), "{:?}", recording.dead_letters);
    assert!(recording.end.contains(&("handled".into(), "100".into())), "{:?}", recording.end);
    assert!(recording.process.elapsed_s > 0.0 && recording.process.memory_max_bytes > 0);

    // Both are of one run, though not of the same looks.
    let page = std::fs::read_to_string(page)?;
    let again = recording.page().html();
    for text in [
        "Counter",
        "Dead letters",
        "Throughput at four levels",
        "worker 1",
        "100 messages",
        "Types by time",
    ] {
        assert!(page.contains(text) && again.contains(text), "{text}");
    }
    Ok(())
}

/// Has children.
struct Parent(Vec<Address<Counter>>);

impl Actor for Parent {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.0.extend((0..10).map(|_| ctx.spawn(Counter)));
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

#[test]
fn who_supervises_whom_and_what_workers_got_from_each_other_is_on_the_page()
-> Result<(), Box<dyn Error>> {
    let system = System::builder().workers(2).policy(Policy::Stealing).build()?;
    let _parent = system.spawn(Parent(Vec::new()));
    system.wait_idle(std::time::Duration::from_secs(60))?;
    let recording = Recorder::start(&system)?.finish();
    let tree = &recording.structure.tree;
    let (first, rest) = tree.members.split_first().expect("a tree");
    assert!(first.kind.ends_with("::Parent") && (first.level, first.children) == (0, 10));
    assert!(rest.len() == 8 && rest.iter().all(|it| it.level == 1), "{rest:?}");
    assert_eq!((tree.left_out, tree.actors, recording.structure.places.len()), (2, 11, 2));

    let mut elsewhere = recording.clone();
    let place = |pu, core, package| {
        Some(PuPlace { pu, core, package, is_allowed: true, ..PuPlace::default() })
    };
    elsewhere.structure.places = vec![place(0, 0, 0), place(9, 9, 1)];
    elsewhere.structure.exchanges = vec![ExchangeNow { from: 1, to: 0, stolen: 31, chunks: 977 }];
    let page = elsewhere.page().html();
    for text in ["2 more at these places", "another package", "977", "worker 1, PU 9"] {
        assert!(page.contains(text), "{text}");
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
    command.args(["--exact", "reports::two_systems", "--nocapture"]);
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

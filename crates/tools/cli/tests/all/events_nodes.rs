//! Nodes of one process that run events together, and what happens when one dies, comes late or was
//! asked for something else.

use crate::common::{Scratch, text};
use actinium_app::events::cluster;
use actinium_app::events::load;
use actinium_app::events::loaded::Loaded;
use actinium_app::events::settings::{EventsArgs, Settings};
use actinium_app::events::written::Written;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::job::{JobError, JobFabric, Program};
use actinium_events_cluster::ClusterOutcome;
use actinium_workload::registry::Registry;
use actinium_workload::replay;
use clap::{Args, Command, FromArgMatches};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// An event waits for 5 ms, and its outputs take next to no time.
const WORKLOAD: &str = r#"
format = 1
[[modules]]
label = "wait"
work = "wait"
time-ms = 5
[[modules]]
label = "even"
kind = "filter"
accepts = 0.5
inputs = ["wait"]
[[modules]]
label = "write"
kind = "output"
threads = "serial"
inputs = ["wait"]
[[modules]]
label = "all"
kind = "output"
threads = "serial"
inputs = ["wait"]
[paths]
some = ["even", "write"]
all = ["all"]
"#;

/// A folder with the workload.
fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(&format!("events-nodes-{name}"));
    scratch.file("workload.toml", WORKLOAD);
    scratch
}

/// The events of the lines that were written.
fn lines(scratch: &Scratch) -> Vec<u64> {
    let text = text(&scratch.path("lines.csv"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("event,checksum"));
    lines
        .map(|line| line.split(',').next().and_then(|n| n.parse().ok()).expect("a number"))
        .collect()
}

/// What a node is asked for.
struct Asked {
    settings: Settings,
    loaded: Loaded,
    written: Option<Written>,
    progress: Arc<AtomicU64>,
}

impl Asked {
    fn new(scratch: &Scratch, more: &[&str]) -> Self {
        let file = scratch.path("workload.toml");
        let typed = ["test", &file, "--workers", "1"];
        let command = EventsArgs::augment_args(Command::new("test"));
        let matches = command.get_matches_from(typed.iter().chain(more));
        let args = EventsArgs::from_arg_matches(&matches).expect("they are right");
        let mut loaded = load::read(&args, &Registry::new(), false).expect("it is right");
        let settings = Settings::resolve(&args, &matches, &loaded, "test").expect("so");
        load::bend(&mut loaded, &settings).expect("as it should be");
        Asked { settings, loaded, written: None, progress: Arc::default() }
    }

    fn writing(scratch: &Scratch, more: &[&str]) -> Self {
        let written = Written::create(scratch.path("lines.csv").as_ref()).expect("a file");
        Asked { written: Some(written), ..Self::new(scratch, more) }
    }

    fn run(self, network: &Network, id: u32) -> Result<Option<ClusterOutcome>, JobError> {
        let fabric = network.node(NodeId(id));
        let Asked { settings, loaded, written, progress } = self;
        let written = Arc::new(Mutex::new(written));
        let lines = Written::lines(&written);
        let (kind, down_after) = (JobFabric::InProcess(1), Duration::from_secs(5));
        let mut job =
            cluster::job(kind, &loaded.workload, &settings, true, Some(lines), down_after);
        job.progress = progress;
        let outcome = job.run(move || Ok(fabric))?;
        // Only the first node knows of lines.
        if outcome.is_some()
            && let Some(written) = Written::take(&written)
        {
            written.finish().expect("it is written");
        }
        Ok(outcome)
    }
}

fn expected(scratch: &Scratch, events: u64) -> u64 {
    replay::expected_total(&Asked::new(scratch, &[]).loaded.workload, events)
}

/// What the first node makes of it.
#[track_caller]
fn first(outcome: Result<Option<ClusterOutcome>, JobError>) -> ClusterOutcome {
    outcome.expect("it runs").expect("it is the first")
}

#[test]
fn what_a_node_has_not_done_when_it_dies_others_do_and_nothing_twice() {
    let scratch = scratch("dies");
    let network = Network::new();
    let arguments = ["--events", "6000", "--slots", "4", "--order", "input"];
    // All are there before any starts.
    let nodes = [0, 1, 2].map(|_| Asked::new(&scratch, &arguments));
    (0..3).for_each(|id| drop(network.node(NodeId(id))));
    let [_, second, third] = nodes;
    let asked = Asked::writing(&scratch, &arguments);
    let progress = asked.progress.clone();
    let outcome = thread::scope(|scope| {
        let others = [(1, second), (2, third)].map(|(id, asked)| {
            scope.spawn({
                let network = network.clone();
                move || asked.run(&network, id)
            })
        });
        let first = scope.spawn(|| asked.run(&network, 0));
        // Relaxed: a figure.
        while progress.load(Ordering::Relaxed) < 50 {
            thread::yield_now();
        }
        network.kill(NodeId(1));
        let [dead, alive] = others.map(|other| other.join().expect("no panic"));
        let Err(JobError::Failed(line)) = dead else { panic!("{dead:?}") };
        assert!(line.contains("node 0 is down"), "{line}");
        assert!(alive.expect("it runs").is_none(), "the first tells");
        self::first(first.join().expect("no panic"))
    });
    assert!(lines(&scratch).iter().copied().eq(0..6_000), "in order, and each once");
    assert_eq!((outcome.run.done, outcome.run.failed), (6_000, 0));
    assert_eq!(outcome.run.checksum, expected(&scratch, 6_000));
    let [gone] = &outcome.gone[..] else { panic!("{:?}", outcome.gone) };
    // Until it was noticed to be dead it had its slots full, and some waiting.
    assert!(gone.node == 1 && (4..=8).contains(&gone.given_again), "{gone:?}");
    let nodes: Vec<u32> = outcome.nodes.iter().map(|node| node.node).collect();
    assert_eq!(nodes, [0, 2]);
    assert_eq!(outcome.run.ran.values().sum::<u64>(), 6_000);
    assert!(outcome.run.ran.len() == 3 && outcome.run.ran.values().all(|&ran| ran > 0));
}

#[test]
fn who_comes_late_gets_events() {
    let scratch = scratch("late");
    let network = Network::new();
    // By itself the first would take more than a minute.
    let asked = Asked::writing(&scratch, &["--events", "16000", "--slots", "1"]);
    let late = Asked::new(&scratch, &["--events", "16000", "--slots", "500"]);
    let progress = asked.progress.clone();
    let outcome = thread::scope(|scope| {
        let first = scope.spawn(|| asked.run(&network, 0));
        // Relaxed: a figure.
        while progress.load(Ordering::Relaxed) < 5 {
            thread::yield_now();
        }
        assert!(late.run(&network, 1).expect("it runs").is_none());
        self::first(first.join().expect("no panic"))
    });
    let mut lines = lines(&scratch);
    lines.sort_unstable();
    assert!(lines.iter().copied().eq(0..16_000), "each once");
    assert_eq!(outcome.run.checksum, expected(&scratch, 16_000));
    assert!(outcome.run.ran[&1] > outcome.run.ran[&0], "{:?}", outcome.run.ran);
    assert_eq!(outcome.nodes[1].slots, 500);
}

#[test]
fn who_was_asked_for_something_else_is_refused_and_told_what_both_were_asked_for() {
    let scratch = scratch("other");
    let network = Network::new();
    let base = ["--events", "60", "--slots", "2"];
    let asked = Asked::new(&scratch, &base);
    (0..2).for_each(|id| drop(network.node(NodeId(id))));
    let other = Asked::new(&scratch, &["--events", "60", "--slots", "7", "--time-scale", "0.5"]);
    let outcome = thread::scope(|scope| {
        let first = scope.spawn(|| asked.run(&network, 0));
        let Err(JobError::Setting(line)) = other.run(&network, 1) else { panic!("it is refused") };
        for part in
            ["node 1 was asked for something else than node 0", "time-scale 0.5", "time-scale 1,"]
        {
            assert!(line.contains(part), "{part} in {line}");
        }
        self::first(first.join().expect("no panic"))
    });
    // The others go on without it.
    assert_eq!((outcome.run.done, outcome.nodes.len()), (60, 1));
}

#[test]
fn the_workload_itself_is_compared_and_what_each_node_may_choose_is_not() {
    let scratch = scratch("digest");
    let network = Network::new();
    (0..3).for_each(|id| drop(network.node(NodeId(id))));
    let asked = Asked::new(&scratch, &["--events", "60"]);
    let fine = Asked::new(&scratch, &["--events", "60", "--slots", "3", "--policy", "pool"]);
    let mut other = Asked::new(&scratch, &["--events", "60"]);
    other.loaded.workload.modules[1].accepts_fraction = 0.75;
    thread::scope(|scope| {
        let first = scope.spawn(|| asked.run(&network, 0));
        let fine = scope.spawn(|| fine.run(&network, 1));
        let Err(JobError::Setting(line)) = other.run(&network, 2) else { panic!("it is refused") };
        assert!(line.contains("digest"), "{line}");
        assert!(fine.join().expect("no panic").expect("it runs").is_none());
        assert_eq!(self::first(first.join().expect("no panic")).nodes.len(), 2);
    });
}

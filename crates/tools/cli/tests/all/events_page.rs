//! The report's page, of figures that are made up.

use actinium_app::events::outcome::{Ideal, Outcome};
use actinium_app::events::settings::{Mode, Settings, Sweep, sweep};
use actinium_app::events::sweep::{self, Measured, Point};
use actinium_app::events::{page, report};
use actinium_app::nodes::Nodes;
use actinium_app::setting::{Setting, Source};
use actinium_app::{OnError, Order, RunSettings};
use actinium_events::{ModuleFigures, PathFigures, ResourceFigures, RunSummary, Sample, Span};
use actinium_observe::process::sampler::{Samples, Step};
use actinium_workload::plan::Plan;
use actinium_workload::{self as workload, Syntax, Workload};
use std::collections::BTreeMap;

fn setting<T>(value: T, source: Source) -> Setting<T> {
    Setting { value, source }
}

fn settings() -> Settings {
    let run = RunSettings {
        slots: setting(4, Source::Flag),
        events: setting(Some(10), Source::File),
        workers: setting(2, Source::Environment("ACTINIUM_WORKERS")),
        bind: setting("auto".parse().expect("it is one"), Source::Default),
        policy: setting("affine".parse().expect("a policy"), Source::Default),
        elastic: false.into(),
        order: setting(Order::Input, Source::Flag),
        on_error: setting(OnError::Stop, Source::Default),
    };
    Settings {
        program: "actinium events".to_owned(),
        config: "small.toml".to_owned(),
        replay: false,
        events: setting(Some(10), Source::File),
        run,
        mode: setting(Mode::AsConfigured, Source::Default),
        time_scale: setting(1.0, Source::Default),
        thread_types: setting(Vec::new(), Source::Default),
        companions: Vec::new(),
        nodes: Nodes::default(),
    }
}

fn workload() -> Workload {
    let text = "format = 1\nname = \"<tiny>\"\nmodules = [{label = \"a\", time-ms = 2}, {label = \"out\", kind = \"output\", threads = \"serial\", time-ms = 1, inputs = [\"a\"]}]\npaths = {p = [\"out\"]}";
    workload::parse("small.toml", text, Syntax::Toml).expect("it is right").workload
}

fn outcome() -> Outcome {
    let module = |label: &str, wait_resource_ns| ModuleFigures {
        label: label.to_owned(),
        calls: 10,
        busy_ns: 15_000_000,
        wait_start_ns: 9_000_000,
        wait_resource_ns,
        failures: 0,
        at_home: None,
    };
    let sample = |at_ns, running| Sample {
        at_ns,
        running,
        busy: vec![1.0, 0.5],
        in_flight: 3,
        waiting: vec![2],
    };
    let span = Span {
        event: 7,
        module: 1,
        worker: 1,
        slot: 2,
        start_ns: 1_000_000,
        end_ns: 2_000_000,
        waits: false,
    };
    let summary = RunSummary {
        events: 10,
        elapsed_ns: 20_000_000,
        workers: 2,
        slots: 4,
        in_flight_max: 4,
        modules: vec![module("a", 0), module("out", 4_000_000)],
        paths: vec![PathFigures {
            name: "p".to_owned(),
            events: 10,
            passed: 10,
            total_ns: 50_000_000,
            max_ns: 9_000_000,
        }],
        resources: vec![ResourceFigures { name: "out".to_owned(), waited_ns: 4_000_000 }],
        spans: vec![span],
        samples: vec![sample(0, 1), sample(10_000_000, 2), sample(20_000_000, 0)],
        latency_buckets: vec![(1_000_000, 9), (9_000_000, 1)],
        ..RunSummary::default()
    };
    let step = |end_s| Step { end_s, cpus: BTreeMap::from([(0, 0.009), (3, 0.005)]), threads: 4 };
    let run = actinium_app::Outcome {
        summary,
        events_due: Some(10),
        cpu_s: 0.03,
        threads_max: 5,
        memory_max_bytes: 9 << 20,
        samples: Samples {
            steps: vec![step(0.01), step(0.02)],
            threads_max: 5,
            ..Samples::default()
        },
        graph: actinium_workload::graph::drawing(&workload()),
    };
    Outcome { run, checksum: Some(0xabcd) }
}

#[test]
fn a_page_shows_all_that_was_asked_for() {
    let (workload, settings, outcome) = (workload(), settings(), outcome());
    let plan = Plan::new(&workload);
    let ideal = Ideal::of(&workload, &plan, 2, 4, 10);
    let html = page::of_run(&settings, &plan, &outcome, ideal).html();
    for part in [
        "&lt;tiny&gt;",
        "<strong>500",
        "Threads active",
        "Load of each CPU",
        "CPU 3",
        "Events in flight",
        "Tasks waiting for a resource",
        "Modules on workers",
        "worker 1",
        "Longest running",
        "Longest waiting for a resource",
        "How many events took how long",
        "Modules and what they need",
        "thick: critical path",
        "ritical path",
        "1.50 CPUs on average",
        "actinium events small.toml --slots 4",
        "--order input",
        "of the ideal",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let at = html.find("<tiny>").map(|at| html[at.saturating_sub(200)..at + 30].to_owned());
    assert_eq!(at, None, "what a file says is no markup");
    assert!(!html.contains("--events"), "what the file says need not be typed");
}

#[test]
fn a_sweep_s_page_has_its_curve() {
    let (workload, settings) = (workload(), settings());
    let plan = Plan::new(&workload);
    let run = |events_per_s| Measured { events_per_s, ..Measured::new(&outcome(), None) };
    let point = |slots: u64| Point {
        slots,
        workers: 2,
        jobs: 1,
        runs: vec![run(500.0), run(450.0), run(510.0)],
        ideal: Ideal::of(&workload, &plan, 2, slots as usize, 10),
    };
    let points = [point(1), point(2), point(4)];
    let sweep = Sweep { repeat: 3, ..sweep("slots=1,2,4").expect("it is one") };
    let html = page::of_sweep(&settings, &plan, &sweep, &points, Some(&outcome())).html();
    for part in
        ["Throughput against slots", "module out", "ritical path", "--sweep slots=1,2,4 --repeat 3"]
    {
        assert!(html.contains(part), "{part}");
    }
    let table = sweep::Report::new(&settings, "w", &sweep, &points).table().to_string();
    assert!(table.contains("450.00 to 510.00"), "{table}");
    // The same rate with twice and four times as many slots.
    assert!(
        table.contains("100.0 %") && table.contains("50.0 %") && table.contains("25.0 %"),
        "{table}"
    );
}

#[test]
fn tables_show_ratios_and_waits() {
    let (workload, settings, outcome) = (workload(), settings(), outcome());
    let plan = Plan::new(&workload);
    // 30 ms of work on two workers, of which the output's 1 ms is left at the end.
    let ideal = Ideal::of(&workload, &plan, 2, 4, 10).expect("time passes");
    assert_eq!((ideal.elapsed_s, ideal.by), (0.016, "list scheduling"));
    let report = report::Report::new(&settings, &plan, &outcome, Some(ideal));
    let text = report.text(false);
    for part in [
        "wall / ideal  ",
        "1.250",
        "80.0 %",
        "1.50 CPUs",
        "900 µs",
        "500 µs",
        "400 µs",
        "5.00 ms",
        "000000000000abcd",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!report.text(true).contains("settings   "));
    assert!(report.verdict().is_ok());
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!((&json["schema_version"], &json["wall_by_ideal"]), (&2.into(), &1.25.into()));
    assert_eq!(json["modules"][1]["wait_resource_ns"], 4_000_000);
    let load = &json["load"]["cpus"]["0"][0];
    assert!((load.as_f64().expect("a number") - 0.9).abs() < 1e-9, "{load}");
}

#[test]
fn what_would_take_too_long_to_schedule_is_bounded() {
    let workload = workload();
    let plan = Plan::new(&workload);
    let ideal = Ideal::of(&workload, &plan, 2, 4, 1_000_000_000).expect("time passes");
    assert_eq!(ideal.by, "bounds");
    // Two workers do 3 ms of work per event.
    assert!((ideal.events_per_s - 2_000.0 / 3.0).abs() < 1e-6, "{ideal:?}");
    let mut instant = workload;
    instant.scale_times(0.0);
    assert_eq!(Ideal::of(&instant, &Plan::new(&instant), 2, 4, 10), None);
}

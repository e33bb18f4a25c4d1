//! The report of a run in a real browser.

#[path = "../../../../observe/report/tests/all/browser/mod.rs"]
mod browser;

use actinium_events::{
    Failure, ModuleFigures, PathFigures, ResourceFigures, RunSummary, Sample, Span,
};
use actinium_observe::process::CpuLoad;
use actinium_workload::{RunReport, SweepPoint, Syntax, parse, plan::Plan};
use browser::draws;

/// A run as it might have been: four workers, a module that everybody waits for.
fn summary() -> RunSummary {
    let modules = 40_u64;
    let figures = |n: u64| ModuleFigures {
        label: format!("module {n}"),
        calls: 200,
        busy_ns: n * n * 1_000_000,
        wait_start_ns: n * 3_000_000 + 2_000_000,
        wait_resource_ns: if n.is_multiple_of(10) { n * 1_500_000 } else { 0 },
        failures: u64::from(n == 7),
        at_home: None,
    };
    let sample = |n: u64| Sample {
        at_ns: (n + 1) * 10_000_000,
        running: 4 - (n % 2) as usize,
        busy: (0..4).map(|worker| 1.0 - ((n + worker) % 5) as f32 / 10.0).collect(),
        in_flight: 8 - n % 3,
        waiting: (0..12).map(|resource| ((n + resource) % 4) as u32).collect(),
    };
    let span = |n: u64| Span {
        event: n / modules,
        module: (n % modules) as u32,
        worker: (n % 4) as u32,
        slot: (n / modules % 8) as u32,
        start_ns: n / 4 * 1_000_000,
        end_ns: n / 4 * 1_000_000 + 900_000,
        waits: n % 10 == 9,
    };
    RunSummary {
        events: 199,
        failed: 1,
        failures: vec![Failure {
            module: "module 7".into(),
            event: Some(3),
            cause: "no hits </script>".into(),
        }],
        elapsed_ns: 2_000_000_000,
        workers: 4,
        slots: 8,
        in_flight_max: 8,
        modules: (0..modules).map(figures).collect(),
        paths: vec![PathFigures {
            name: "all".into(),
            events: 199,
            passed: 150,
            total_ns: 199_000_000,
            max_ns: 5_000_000,
        }],
        resources: (0..12)
            .map(|n| ResourceFigures { name: format!("resource {n}"), waited_ns: n })
            .collect(),
        spans: (0..4_000).map(span).collect(),
        samples: (0..200).map(sample).collect(),
        ..RunSummary::default()
    }
}

const TEXTS: &str = "
    const texts = (what) => [...document.querySelectorAll(what)].map((found) => found.textContent);
    return { sections: texts('h2'), charts: texts('h3'), legend: texts('#c4 .legend .word'), figures: texts('.figures strong') };";

#[test]
fn a_run_with_everything_is_drawn() {
    let text = include_str!("../../../../../workloads/imaging.toml");
    let checked = parse("imaging.toml", text, Syntax::Toml).expect("a workload");
    let plan = Plan::new(&checked.workload);
    let cpus = CpuLoad {
        step_s: 0.1,
        cpus: (0..4).map(|n| (format!("CPU {n}"), vec![0.9; 20])).collect(),
    };
    let sweep = [1, 2, 4, 8, 16].map(|slots| SweepPoint {
        slots,
        events_per_s: 50.0 * (slots as f64).powf(0.9),
        range: Some((48.0, 800.0)),
        perfect_per_s: Some(50.0 * slots as f64),
    });
    let summary = summary();
    let report = RunReport::new("A run", &summary).command("actinium events").setting("slots", 8);
    let page = report.plan(&plan).ideal(102.0).cpus(&cpus).sweep(&sweep).page();
    let Some(said) = draws(&page.html(), TEXTS) else { return };
    let texts = |what: &str| {
        said[what]
            .as_array()
            .expect("texts")
            .iter()
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts("sections"),
        ["Failures", "Over time", "The last events", "Modules", "Critical path", "Scaling"]
    );
    let charts = texts("charts");
    for chart in [
        "First failures",
        "Threads active",
        "Load of each CPU",
        "Events in flight",
        "Tasks waiting for a resource",
        "Modules on workers",
        "Longest running",
        "Longest waiting for a resource",
        "All modules",
        "Paths",
        "Throughput against slots",
    ] {
        assert!(charts.iter().any(|title| title == chart), "{chart} in {charts:?}");
    }
    assert_eq!(texts("figures")[0], "99.5");
}

#[test]
fn a_plain_run_shows_its_workers_and_the_worst_resources() {
    let summary = RunSummary { failures: Vec::new(), ..summary() };
    let page = RunReport::new("A run", &summary).page();
    let Some(said) = draws(&page.html(), TEXTS) else { return };
    assert_eq!(said["sections"], serde_json::json!(["Over time", "The last events", "Modules"]));
    assert_eq!(said["charts"][1], "Load of each worker");
    let legend = said["legend"].as_array().expect("a legend");
    assert_eq!(legend.len(), 9);
    assert_eq!(legend[8], "4 others");
}

#[test]
fn a_run_of_nothing_is_drawn() {
    draws(&RunReport::new("nothing", &RunSummary::default()).page().html(), "return null;");
}

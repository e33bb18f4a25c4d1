//! `actinium events` as it runs: every flag, what it prints, what it writes, how it is interrupted.

use crate::common::{Scratch, at, command, number, on_a_terminal, run, run_with, shipped};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Imaging, a hundred times as fast, as JSON.
fn imaging(more: &[&str]) -> Value {
    let file = shipped("imaging.toml");
    let fast = ["events", &file, "--time-scale", "0.01", "--json"];
    let events: &[&str] = if more.contains(&"--events") { &[] } else { &["--events", "40"] };
    run(&[&fast, events, more].concat()).json()
}

#[test]
fn figures_add_up() {
    let json = imaging(&[]);
    for (path, expected) in [
        ("schema_version", 2.0),
        ("events", 40.0),
        ("events_due", 40.0),
        ("failed", 0.0),
        ("settings.slots.value", 8.0),
        // Of 40 frames 32 are in focus: 8 modules run for all (with the filter and the output), 5
        // for those.
        ("paths.0.events", 40.0),
        ("paths.0.passed", 32.0),
        ("paths.1.passed", 40.0),
    ] {
        assert_eq!(number(&json, path), expected, "{path}");
    }
    let calls = |label: &str| {
        let modules = json["modules"].as_array().expect("a list");
        let module = modules.iter().find(|module| module["label"] == label).expect(label);
        number(module, "calls")
    };
    assert_eq!((calls("read-frame"), calls("denoise"), calls("write-tracks")), (40.0, 32.0, 32.0));
    assert_eq!(calls("write-thumbnail"), 40.0);
    let all: f64 =
        json["modules"].as_array().expect("a list").iter().map(|m| number(m, "calls")).sum();
    assert_eq!(number(&json, "module_calls"), all);
    let rate = number(&json, "events") / number(&json, "elapsed_s");
    assert!((rate / number(&json, "events_per_s") - 1.0).abs() < 1e-9);
    assert!(number(&json, "cpu_s") > 0.0 && number(&json, "memory_max_bytes") > 1e5);
    assert!(number(&json, "threads_max") >= 2.0);
    assert_eq!(at(&json, "ideal.by"), "list scheduling");
    let ratio = number(&json, "elapsed_s") / number(&json, "ideal.elapsed_s");
    assert!((number(&json, "wall_by_ideal") / ratio - 1.0).abs() < 1e-9);
}

/// More workers than CPUs take turns on them, and the time in which others have the CPU is no work.
#[test]
fn no_run_is_faster_than_its_cpus_compute() {
    let cpus = std::thread::available_parallelism().expect("Linux says").get();
    let workers = (4 * cpus).to_string();
    let file = shipped("reconstruction.toml");
    let many = ["--workers", &workers, "--slots", &workers, "--events", "20", "--bind", "none"];
    let busy = ["events", &file, "--time-scale", "0.02", "--json"];
    let json = run(&[&busy[..], &many].concat()).json();
    assert!(number(&json, "wall_by_ideal") > 0.98, "{}", json["wall_by_ideal"]);
}

#[test]
fn what_is_computed_does_not_depend_on_how() {
    let checksum = imaging(&[])["checksum"].clone();
    assert_ne!(checksum, "0000000000000000");
    for more in [
        &["--workers", "1", "--slots", "1"][..],
        &["--workers", "2", "--slots", "64"],
        &["--policy", "pinned"],
        &["--policy", "pool"],
        &["--policy", "stealing"],
        &["--mode", "busy"],
        &["--mode", "wait"],
        &["--order", "input"],
        &["--thread-type", "all=serial"],
        &["--thread-type", "all=exclusive(one)"],
        &["--thread-type", "all=stream"],
        &["--thread-type", "all=concurrent", "--thread-type", "denoise=limited(2)"],
    ] {
        assert_eq!(imaging(more)["checksum"], checksum, "{more:?}");
    }
    assert_ne!(imaging(&["--events", "41"])["checksum"], checksum);
}

/// One event at a time is one worker's; and of many, jobs of a sweep have the flag, too.
#[test]
fn elastic_workers_work_only_if_needed() {
    let working = |events: &str, more: &[&str]| {
        // Modules that wait keep nobody busy: those who were called at the start soon leave.
        let flags = ["--workers", "3", "--bind", "none", "--slots", "1", "--mode", "wait"];
        let flags = [&flags[..], &["--events", events], more].concat();
        number(&one("elastic", &flags), "workers_working")
    };
    assert_eq!(working("20", &[]), 3.0);
    // Soon is later where others keep the machine busy.
    let tries = ["20", "200", "2000"].map(|events| move || working(events, &["--elastic"]));
    assert!(tries.into_iter().any(|working| working() == 1.0));
    let file = shipped("imaging.toml");
    let shown = run(&["events", &file, "--elastic", "--show-settings", "--json"]).json();
    assert_eq!(at(&shown, "settings.elastic.value"), true);
    for more in [&[][..], &["--sweep", "jobs=2"], &["--fabric", "in-process"]] {
        let call = ["events", &file, "--elastic", "--policy", "pool", "--time-scale", "0"];
        let refused = run(&[&call[..], more].concat());
        assert_ne!(refused.code, Some(0), "{more:?}");
        let line = "not with the policy pool, only with affine";
        assert!(refused.stderr.contains(line), "{more:?}: {}", refused.stderr);
    }
}

const ONE: &str = "\
format = 1
[[modules]]
label = \"a\"
time-ms = 4
[[modules]]
label = \"out\"
kind = \"output\"
inputs = [\"a\"]
[paths]
p = [\"out\"]
";

fn one(name: &str, more: &[&str]) -> Value {
    let scratch = Scratch::new(name);
    let file = scratch.file("one.toml", ONE);
    let events: &[&str] = if more.contains(&"--events") { &[] } else { &["--events", "20"] };
    run(&[&["events", &file, "--json"], events, more].concat()).json()
}

/// Busy modules take the time that the file says, and no run is shorter than that.
#[test]
fn times_are_kept_and_scaled() {
    let busy = |json: &Value| number(json, "modules.0.busy_ns");
    assert!(busy(&one("busy", &[])) >= 80e6);
    assert!(busy(&one("twice", &["--time-scale", "2"])) >= 160e6);
    let none = one("none", &["--time-scale", "0"]);
    assert_eq!((&none["ideal"], &none["wall_by_ideal"]), (&Value::Null, &Value::Null));
    // What waits holds no worker: of 4,000 ms of waiting next to nothing is time on one.
    let waiting =
        one("wait", &["--mode", "wait", "--time-scale", "50", "--slots", "20", "--workers", "1"]);
    assert!(busy(&waiting) < 2_000e6, "{}", busy(&waiting));
    assert_eq!(number(&waiting, "in_flight_max"), 20.0);
    assert!(number(&waiting, "elapsed_s") >= 0.2);
}

#[test]
fn each_setting_reaches_the_run() {
    let json = one("settings", &["--slots", "3", "--workers", "2", "--events", "7"]);
    assert_eq!(number(&json, "in_flight_max"), 3.0);
    assert_eq!(number(&json, "events"), 7.0);
    let serial = one("serial", &["--thread-type", "a=serial", "--slots", "4", "--workers", "2"]);
    let names: Vec<&Value> =
        serial["resources"].as_array().expect("a list").iter().map(|r| &r["name"]).collect();
    assert_eq!(names, ["a"]);
    assert_eq!(one("none", &[])["resources"], serde_json::json!([]));
    // A serial module is waited for when several events come to it.
    assert!(number(&serial, "resources.0.waited_ns") > 0.0);
}

#[test]
fn the_table_has_what_the_issue_asks_for() {
    let text =
        run(&["events", &shipped("imaging.toml"), "--time-scale", "0.01", "--events", "20"]).ok();
    for part in [
        "events ",
        "elapsed",
        "events/s",
        "CPU time",
        "wall / ideal",
        "threads",
        "memory",
        "wait for inputs",
        "wait for resource",
        "denoise",
        "paths, the slowest first",
        "analysis",
        "settings   slots 8",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let quiet = run(&[
        "events",
        &shipped("imaging.toml"),
        "--time-scale",
        "0.01",
        "--events",
        "20",
        "--quiet",
    ]);
    assert!(!quiet.ok().contains("settings   "));
}

#[test]
fn a_bar_shows_on_a_terminal_only() {
    let line = format!("events {} --time-scale 0.1 --events 200", shipped("imaging.toml"));
    let shown = on_a_terminal(&line, &[]);
    assert!(shown.contains('─') && shown.contains("/200"), "{shown}");
    assert!(!on_a_terminal(&format!("{line} --quiet"), &[]).contains("/200"));
}

#[test]
fn a_report_is_written() {
    let scratch = Scratch::new("events-report");
    let path = scratch.path("report.html");
    let json = imaging(&["--report", &path]);
    assert_eq!(number(&json, "events"), 40.0);
    let page = std::fs::read_to_string(&path).expect("it is written");
    for part in ["<!doctype html>", "imaging", "denoise", "ritical path", "worker 0"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=\"") && !page.contains("href=\"http"), "it needs no network");
}

/// Of four events in flight the first takes longest: who is written first depends on the order that
/// was asked for.
#[test]
fn outputs_come_in_the_order_that_is_asked_for() {
    let scratch = Scratch::new("events-order");
    let file = scratch.file("order.toml", ORDER.replace("LONG", "150"));
    let written = |order: &str| -> Vec<u64> {
        let path = scratch.path(&format!("{order}.html"));
        run(&["events", &file, "--events", "12", "--order", order, "--report", &path]).ok();
        let page = std::fs::read_to_string(&path).expect("it is written");
        spans(&page)
            .into_iter()
            .filter(|(label, _)| label == "out")
            .map(|(_, event)| event)
            .collect()
    };
    assert_eq!(written("input"), (0..12).collect::<Vec<_>>());
    let mut completed = written("completed");
    let first = completed.iter().position(|&event| event == 0);
    assert!(first > Some(0), "the slow first event is not the first: {completed:?}");
    completed.sort_unstable();
    assert_eq!(completed, (0..12).collect::<Vec<_>>());
}

const ORDER: &str = "\
format = 1
[options]
slots = 4
[[modules]]
label = \"a\"
work = \"wait\"
times-ms = [LONG, 1, 1, 1]
[[modules]]
label = \"out\"
kind = \"output\"
threads = \"serial\"
inputs = [\"a\"]
[paths]
p = [\"out\"]
";

/// Module and event of each call in a page's Gantt chart, in order of their begins; waits are not
/// calls.
fn spans(page: &str) -> Vec<(String, u64)> {
    let (_, data) = page.split_once("id=\"data\">").expect("the page's data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    let charts = data.as_array().or_else(|| data["charts"].as_array()).expect("charts");
    let gantt = charts.iter().find(|chart| chart["kind"] == "gantt").expect("a Gantt chart");
    let list = |key: &str| gantt[key].as_array().expect("a list").clone();
    let text = |index: &Value| {
        list("texts")[index.as_u64().expect("an index") as usize].as_str().expect("text").to_owned()
    };
    let mut all: Vec<(f64, String, u64)> = Vec::new();
    for (k, start) in list("start").iter().enumerate() {
        let event = text(&list("kinds")[k]).replace("event ", "").parse().expect("a number");
        if !text(&list("detail")[k]).contains("waits") {
            all.push((start.as_f64().expect("a time"), text(&list("label")[k]), event));
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, label, event)| (label, event)).collect()
}

#[test]
fn a_report_that_can_not_be_written_is_found_out_before_the_run() {
    let file = shipped("imaging.toml");
    // So many events that the test would not end if they were run.
    for (path, cause) in
        [("/no/such/folder/report.html", "folder"), ("/", "it is a folder; name a file in it")]
    {
        let ran = run(&["events", &file, "--events", "1000000000", "--report", path]);
        let start = format!("actinium: --report: cannot write {path}: ");
        assert!(ran.stderr.starts_with(&start) && ran.stderr.contains(cause), "{}", ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(2), "", 1));
    }
}

#[test]
fn a_sweep_runs_each_number_of_slots() {
    let scratch = Scratch::new("events-sweep");
    let path = scratch.path("sweep.html");
    let json = imaging(&["--sweep", "slots=1,2,5", "--report", &path]);
    assert_eq!(json["sweep"], "slots");
    for (index, slots) in [1.0, 2.0, 5.0].into_iter().enumerate() {
        let point = at(&json, &format!("points.{index}"));
        assert_eq!((number(point, "slots"), number(point, "events")), (slots, 40.0));
        assert!(number(point, "of_perfect") > 0.0 && number(point, "ideal.events_per_s") > 0.0);
        assert_eq!(point["checksum"], json["points"][0]["checksum"]);
    }
    assert_eq!(number(&json, "points.0.of_perfect"), 1.0);
    let page = std::fs::read_to_string(&path).expect("it is written");
    assert!(page.contains("against slots") || page.contains("Scaling"), "the curve");
    assert!(page.contains(" --sweep slots=1,2,5"), "the command");
    let file = shipped("imaging.toml");
    let table =
        run(&["events", &file, "--sweep", "slots=1,2", "--time-scale", "0.01", "--events", "20"])
            .ok();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("of perfect") && table.contains("100.0 %"), "{table}");
    // Nobody says how many events: all times have to come in, and every slot has some.
    let own = scratch.file("one.toml", ONE.replace("time-ms = 4", "times-ms = [0.1, 0.2, 0.3]"));
    let json = run(&["events", &own, "--sweep", "slots=1,2", "--json"]).json();
    assert_eq!((number(&json, "points.0.events"), number(&json, "points.1.events")), (4.0, 8.0));
}

#[test]
fn a_failure_names_module_event_and_cause() {
    let scratch = Scratch::new("events-failure");
    let file = scratch.file("fails.toml", ONE.replace("time-ms = 4", "fails-every = 5"));
    let ran = run(&["events", &file, "--events", "20", "--slots", "1"]);
    assert_eq!(ran.code, Some(1));
    let start = "actinium: 1 events failed; the first: module 'a', event 4: ";
    assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
    assert!(ran.stdout.contains("failed"), "{}", ran.stdout);
    let json = |more: &[&str]| -> Value {
        let ran =
            run(&[&["events", &file, "--events", "20", "--slots", "1", "--json"], more].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("JSON")
    };
    let counts = |json: &Value| ["events", "failed", "retries"].map(|name| number(json, name));
    assert_eq!(counts(&json(&["--on-error", "stop"])), [4.0, 1.0, 0.0]);
    assert_eq!(counts(&json(&["--on-error", "skip"])), [16.0, 4.0, 0.0]);
    assert_eq!(counts(&json(&["--on-error", "retry:2"])), [16.0, 4.0, 8.0]);
    let ran = run(&["events", &file, "--on-error", "retry:0"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("stop, skip, or retry:N"), "{}", ran.stderr);
}

#[test]
fn the_demo_framework_s_throwing_modules_throw() {
    let scratch = Scratch::new("events-throwing");
    let text = r#"{"process": {"label": "T", "source": {"@type": "demo::SimpleSource", "iterations": 3},
        "filters": [{"@label": "f", "@type": "demo::FastPassFilter", "threadType": "ThreadUnsafe", "toGet": [{"label": "a"}]}],
        "producers": [{"@label": "a", "@type": "demo::ThrowingProducer", "threadType": "ThreadUnsafe", "toGet": []}],
        "paths": {"p": ["f"]}}}"#;
    let file = scratch.file("throwing.config", text);
    let ran = run(&["events", &file, "--slots", "1", "--on-error", "skip"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.starts_with("actinium: 3 events failed; the first: module 'a', event 0: "),
        "{}",
        ran.stderr
    );
}

/// A call that has begun to run events.
fn begun(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let tasks = format!("/proc/{}/task", child.id());
    let is_worker = |task: std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm"))
            .is_ok_and(|name| name.trim() == "actinium-0")
    };
    while child.try_wait().expect("it is ours").is_none() {
        let tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        if tasks.into_iter().any(is_worker) {
            return child;
        }
        std::thread::yield_now();
    }
    panic!("it ended before it began: {:?}", child.wait_with_output());
}

/// Waits until its workers have used so much CPU time that a module must be at it: nothing else
/// takes them that long.
fn wait_until_busy(child: &mut Child) {
    let tasks = format!("/proc/{}/task", child.id());
    // User and system time, in ticks of 10 ms, after the name in parentheses (proc_pid_stat(5)).
    let ticks = |task: std::fs::DirEntry| -> Option<u64> {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let fields: Vec<&str> = stat.split_once("(actinium-")?.1.split(' ').collect();
        Some(fields.get(12)?.parse::<u64>().ok()? + fields.get(13)?.parse::<u64>().ok()?)
    };
    loop {
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended before it was busy");
        let tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        if tasks.filter_map(ticks).sum::<u64>() >= 5 {
            return;
        }
        std::thread::yield_now();
    }
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
}

#[test]
fn ctrl_c_finishes_the_events_in_flight_and_still_reports() {
    let scratch = Scratch::new("events-ctrl-c");
    let file = scratch.file("one.toml", ONE);
    let report = scratch.path("report.html");
    let child = begun(&[
        "events",
        &file,
        "--events",
        "1000000000",
        "--slots",
        "3",
        "--report",
        &report,
        "--json",
    ]);
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "actinium: finishing the events in flight; once more to stop at once");
    assert!(
        lines[1].starts_with("actinium: interrupted after ")
            && lines[1].ends_with(" of 1,000,000,000 events")
    );
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["interrupted"], number(&json, "abandoned")), (&true.into(), 0.0));
    // What was begun was finished: a module of an event has run if the event has.
    assert_eq!(number(&json, "events"), number(&json, "modules.1.calls"));
    assert!(
        std::fs::read_to_string(&report).expect("it is written").contains("stopped before its end")
    );
}

#[test]
fn a_second_ctrl_c_stops_at_once() {
    let scratch = Scratch::new("events-ctrl-c-twice");
    // A while of computing and an hour of waiting in each event.
    let hour = ONE
        .replace("time-ms = 4", "time-ms = 200")
        .replace("kind = \"output\"", "kind = \"output\"\ntime-ms = 3600000\nwork = \"wait\"");
    let file = scratch.file("hour.toml", &hour);
    let report = scratch.path("report.html");
    let mut child =
        begun(&["events", &file, "--events", "10", "--slots", "3", "--report", &report]);
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    wait_until_busy(&mut child);
    interrupt(&child);
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it says so");
    assert_eq!(line, "actinium: finishing the events in flight; once more to stop at once\n");
    interrupt(&child);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{rest}");
    assert!(
        rest.starts_with(
            "actinium: stopping at once\nactinium: interrupted after 0 of 10 events\n"
        ),
        "{rest}"
    );
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        stdout.contains("abandoned") && stdout.contains("interrupted: 10 were due"),
        "{stdout}"
    );
    assert!(Path::new(&report).is_file());
}

/// Under a launcher, each process would do the whole, and write the same files.
#[test]
fn one_of_several_that_does_the_whole_by_itself_says_so() {
    let file = shipped("imaging.toml");
    let arguments = ["events", &file, "--time-scale", "0", "--events", "2"];
    let remark = "this process is one of several";
    let several = [("ACTINIUM_NODE", "1"), ("ACTINIUM_NODES", "2")];
    assert!(run_with(&arguments, &several).stderr.contains(remark));
    assert!(!run(&arguments).stderr.contains(remark));
}

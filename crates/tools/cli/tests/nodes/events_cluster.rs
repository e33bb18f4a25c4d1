//! `actinium events --fabric`: several nodes in one process, the ranks of an MPI job, and what is
//! refused.

use crate::common::{Ran, Scratch, at, command, number, run, shipped, text};
use serde_json::Value;

/// Imaging, a hundred times as fast.
fn fast<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fast = ["events", file, "--workers", "1", "--slots", "3", "--time-scale", "0.01"];
    let events: &[&str] = if more.contains(&"--events") { &[] } else { &["--events", "90"] };
    [&fast, events, more].concat()
}

/// Nodes of one machine share its CPUs: together they compute no more than these.
#[test]
fn nodes_that_share_cpus_are_no_faster_than_these_compute() {
    let cpus = std::thread::available_parallelism().expect("Linux says").get();
    let (file, workers) = (shipped("reconstruction.toml"), cpus.to_string());
    let busy = ["events", &file, "--time-scale", "0.02", "--events", "20", "--json"];
    let nodes = ["--fabric", "in-process", "--nodes", "4", "--workers", &workers, "--slots", "2"];
    let json = run(&[&busy[..], &nodes].concat()).json();
    assert_eq!(number(&json, "worker_count"), (4 * cpus) as f64);
    assert!(number(&json, "cpu_count") <= cpus as f64);
    let (most, rate) = (number(&json, "most_events_per_s"), number(&json, "events_per_s"));
    assert!(most > 0.0 && rate <= most * 1.01, "{rate} of {most}");
}

/// What holds for any run of 90 events of imaging over so many nodes.
#[track_caller]
fn check(json: &Value, nodes: usize) {
    for (path, expected) in [
        ("schema_version", 2),
        ("node_count", nodes),
        ("worker_count", nodes),
        ("slot_count", 3 * nodes),
        ("events", 90),
        ("events_due", 90),
        ("failed", 0),
        ("given_again", 0),
        ("latency.count", 90),
    ] {
        assert_eq!(number(json, path), expected as f64, "{path}");
    }
    let all = json["nodes"].as_array().expect("nodes is a list");
    let sum = |of: &str| all.iter().map(|node| number(node, of)).sum::<f64>();
    assert_eq!((all.len(), sum("events")), (nodes, 90.0));
    assert_eq!(
        all.iter().map(|node| number(node, "node")).collect::<Vec<_>>(),
        (0..nodes).map(|n| n as f64).collect::<Vec<_>>()
    );
    let in_flight = |node: &Value| (1.0..=3.0).contains(&number(node, "in_flight_max"));
    assert!(all.iter().all(in_flight), "{json}");
    let levels = &json["throughput"];
    let computation = number(levels, "computation_per_s");
    assert_eq!(computation, 90.0 / number(json, "elapsed_s"));
    for (level, count) in [("node", nodes), ("worker", nodes), ("slot", 3 * nodes)] {
        let per_s = number(levels, &format!("{level}_per_s"));
        assert!((per_s * count as f64 / computation - 1.0).abs() < 1e-9, "{level}");
    }
    let calls = |label: &str| {
        let modules = json["modules"].as_array().expect("a list").iter();
        let of: Vec<f64> = modules
            .filter(|module| module["label"] == label)
            .map(|module| number(module, "calls"))
            .collect();
        assert_eq!(of.len(), 1, "{label} once");
        of[0]
    };
    // Four of five frames pass the filter; each of these was written once, on node 0.
    assert_eq!(
        (calls("read-frame"), calls("write-thumbnail"), calls("write-tracks")),
        (90.0, 90.0, 72.0)
    );
    let loads = all.iter().filter(|node| !node["load"].is_null());
    for load in loads.map(|node| &node["load"]) {
        let steps = load["end_s"].as_array().expect("a list").len();
        assert!(steps > 0 && load["threads"].as_array().expect("a list").len() == steps);
        assert!(!load["cpus"].as_object().expect("a map").is_empty());
    }
}

#[test]
fn nodes_of_one_process_make_what_one_node_makes() {
    let file = shipped("imaging.toml");
    let scratch = Scratch::new("events-cluster-one");
    let (alone, together) = (&scratch.path("alone"), &scratch.path("together"));
    let one = ["--order", "input", "--output", alone, "--json"];
    let one = run(&fast(&file, &one)).json();
    for nodes in ["1", "3"] {
        let more = ["--fabric", "in-process", "--nodes", nodes, "--order", "input", "--json"];
        let more = [&more[..], &["--output", together]].concat();
        let json = run(&fast(&file, &more)).json();
        check(&json, nodes.parse().expect("a number"));
        assert_eq!(json["checksum"], one["checksum"]);
        assert_eq!(text(together), text(alone), "the same lines in the same order");
        // They are in one process, whose figures the first has.
        let all = json["nodes"].as_array().expect("a list");
        assert!(all[0]["cpu_s"].is_number() && all[1..].iter().all(|node| node["cpu_s"].is_null()));
    }
    assert_eq!(text(alone).lines().count(), 91);
    let json = run(&fast(&file, &["--fabric", "in-process", "--json"])).json();
    check(&json, 2);
    assert_eq!(json["checksum"], one["checksum"], "in any order");
}

#[test]
fn lines_come_as_events_are_done_unless_order_is_asked_for() {
    let file = shipped("imaging.toml");
    let scratch = Scratch::new("events-cluster-completed");
    let lines = &scratch.path("lines");
    for more in [&["--fabric", "in-process"][..], &[]] {
        run(&fast(&file, &[&["--output", lines, "--quiet"], more].concat())).ok();
        let text = text(lines);
        let number = |line: &str| line.split(',').next().and_then(|n| n.parse::<u64>().ok());
        let mut numbers: Vec<u64> = text.lines().skip(1).filter_map(number).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..90), "each once");
    }
}

#[test]
fn people_see_all_nodes_and_each() {
    let file = shipped("imaging.toml");
    let stdout = run(&fast(&file, &["--fabric", "in-process", "--nodes", "2"])).ok();
    for part in [
        "computation",
        "slot",
        "latency of events",
        "busy",
        "modules by time",
        "fabric in-process, nodes 2",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let quiet = run(&fast(&file, &["--fabric", "in-process", "--quiet"])).ok();
    assert!(quiet.contains("in flight") && !quiet.contains("fabric in-process"), "{quiet}");
    let shown = ["--fabric", "in-process", "--nodes", "5", "--show-settings", "--json"];
    let json = run(&fast(&file, &shown)).json();
    assert_eq!(at(&json, "settings.fabric.value"), "in-process");
    assert_eq!(
        (number(&json, "settings.nodes.value"), at(&json, "settings.nodes.source")),
        (5.0, &"flag".into())
    );
}

#[test]
fn a_report_shows_each_node() {
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-cluster-report"));
    let report = &scratch.path("report.html");
    run(&fast(&file, &["--fabric", "in-process", "--nodes", "2", "--report", report, "--quiet"]))
        .ok();
    let html = text(report);
    for part in [
        "Events by node",
        "Threads of each node",
        "node 0, CPU",
        ">node 1<",
        "90 events went through",
        "--fabric in-process",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("NaN"));
}

/// Fails at every tenth event, in a module or in an output.
fn failing(scratch: &Scratch, kind: &str) -> String {
    let text = format!(
        "format = 1\n[[modules]]\nlabel = \"a\"\ntime-ms = 0.01\n[[modules]]\nlabel = \"bad\"\nkind = \"{kind}\"\nfails-every = 10\ninputs = [\"a\"]\n[paths]\np = [\"bad\"]\n"
    );
    scratch.file(&format!("{kind}.toml"), text)
}

#[test]
fn failures_name_node_event_and_module() {
    let scratch = Scratch::new("events-cluster-failing");
    for kind in ["analyzer", "output"] {
        let file = &failing(&scratch, kind);
        let more = [
            "--fabric",
            "in-process",
            "--nodes",
            "2",
            "--json",
            "--on-error",
            "skip",
            "--order",
            "input",
        ];
        let lines = &scratch.path("lines");
        let more = [&more[..], &["--output", lines]].concat();
        let Ran { code, stdout, stderr } = run(&fast(file, &more));
        assert_eq!(code, Some(1), "{stderr}");
        let json: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!((number(&json, "events"), number(&json, "failed")), (81.0, 9.0));
        let failures = json["failures"].as_array().expect("a list");
        let mut events: Vec<u64> =
            failures.iter().filter_map(|failed| failed["event"].as_u64()).collect();
        events.sort_unstable();
        assert_eq!(events, [9, 19, 29, 39, 49, 59, 69, 79, 89]);
        for failed in failures {
            assert_eq!(failed["module"], "bad");
            let node = number(failed, "node");
            assert!(node == 0.0 || (node == 1.0 && kind == "analyzer"), "outputs run on node 0");
        }
        assert!(stderr.contains("9 events failed; the first: node "), "{stderr}");
        assert!(stderr.contains("module 'bad'"), "{stderr}");
        assert_eq!(text(lines).lines().count(), 82, "none of those that failed");
        // No more are begun after the first; each attempt is counted.
        let stop = ["--fabric", "in-process", "--nodes", "2", "--json", "--events", "5000"];
        let Ran { code, stdout, .. } = run(&fast(file, &stop));
        assert_eq!(code, Some(1));
        let json: Value = serde_json::from_str(&stdout).expect("JSON");
        assert!(number(&json, "failed") >= 1.0 && number(&json, "events") < 4_000.0, "{json}");
        let again = ["--fabric", "in-process", "--nodes", "2", "--json", "--on-error", "retry:2"];
        let Ran { code, stdout, .. } = run(&fast(file, &again));
        assert_eq!(code, Some(1));
        let json: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!((number(&json, "failed"), number(&json, "retries")), (9.0, 18.0));
    }
}

#[test]
fn an_interrupt_finishes_what_is_in_flight() {
    use rustix::process::{Pid, Signal, kill_process};
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-cluster-interrupted"));
    let lines = &scratch.path("lines");
    let more = ["--fabric", "in-process", "--events", "100000000", "--json", "--order", "input"];
    let more = [&more[..], &["--output", lines]].concat();
    let mut command = command(&fast(&file, &more));
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = child.spawn().expect("it starts");
    let id = Pid::from_raw(child.id() as i32).expect("a process");
    // It listens when its threads that do so are there.
    while !listens(child.id()) {
        std::thread::yield_now();
    }
    kill_process(id, Signal::INT).expect("it is there");
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("finishing the events in flight").count(), 1, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["interrupted"], true);
    let events = number(&json, "events") as usize;
    assert!(events < 100_000_000);
    assert_eq!(text(lines).lines().count(), events + 1);
}

/// Whether both nodes of a process have their thread for interrupts.
fn listens(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks.filter_map(|task| name(task).ok()).filter(|name| name.trim() == "interrupts").count() == 2
}

#[track_caller]
fn refused(more: &[&str], parts: &[&str]) {
    run(&fast(&shipped("imaging.toml"), more)).refused(parts);
}

#[test]
fn what_is_not_allowed_is_refused() {
    refused(&["--fabric", "pigeons"], &["pigeons", "in-process", "mpi"]);
    refused(&["--nodes", "2"], &["--fabric"]);
    refused(&["--fabric", "in-process", "--nodes", "65"], &["--nodes", "1 to 64"]);
    for flag in ["--plan", "--validate"] {
        refused(&["--fabric", "in-process", flag], &[flag, "--fabric"]);
        refused(&["--output", "x", flag], &[flag, "--output"]);
    }
    let file = shipped("imaging.toml");
    for more in [["--fabric", "in-process"], ["--output", "x"]] {
        let Ran { code, stderr, .. } =
            run(&[&["events", &file, "--sweep", "slots=1,2"], &more[..]].concat());
        assert_eq!(code, Some(2));
        assert!(stderr.contains("--sweep") && stderr.contains(more[0]), "{stderr}");
    }
    for flag in [
        "--node",
        "--listen",
        "--connect",
        "--cluster",
        "--tls-certificate",
        "--tls-key",
        "--tls-ca",
        "--tls-allow",
    ] {
        refused(&["--fabric", "in-process", flag, "0"], &[flag, "only with --fabric zenoh"]);
    }
    refused(&["--output", "no/such/folder/x"], &["--output", "no/such/folder/x"]);
}

#[test]
fn a_full_disk_is_told() {
    let file = shipped("imaging.toml");
    for more in [&["--fabric", "in-process"][..], &[]] {
        let Ran { code, stderr, .. } =
            run(&fast(&file, &[&["--output", "/dev/full", "--quiet"], more].concat()));
        assert_eq!(code, Some(1));
        assert!(stderr.contains("--output: /dev/full: No space left"), "{stderr}");
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_which_feature_is_missing() {
    refused(&["--fabric", "mpi"], &["'mpi' is not in this build", "feature mpi"]);
}

#[cfg(not(feature = "zenoh"))]
#[test]
fn a_build_without_zenoh_says_which_feature_is_missing() {
    refused(&["--fabric", "zenoh"], &["'zenoh' is not in this build", "feature zenoh"]);
}

#[cfg(feature = "mpi")]
mod mpi {
    use super::*;
    use crate::common::mpiexec;

    #[test]
    fn ranks_share_the_events_and_the_first_reports() {
        let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-cluster-mpi"));
        let (lines, alone) = (&scratch.path("lines"), &scratch.path("alone"));
        let more = ["--fabric", "mpi", "--order", "input", "--json", "--output", lines];
        let ran: Ran = mpiexec("3", &fast(&file, &more)).output().expect("mpiexec starts").into();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("one report, and nothing else");
        assert_eq!((&json["fabric"], &json["remark"]), (&"mpi".into(), &Value::Null));
        check(&json, 3);
        // Each rank is a process, and has figures of its own.
        assert!(
            json["nodes"].as_array().expect("a list").iter().all(|node| node["load"].is_object())
        );
        run(&fast(&file, &["--order", "input", "--output", alone, "--quiet"])).ok();
        assert_eq!(text(lines), text(alone));
    }

    #[test]
    fn a_rank_that_dies_ends_the_job_and_is_named() {
        let file = shipped("imaging.toml");
        // More than anybody waits for. One of the ranks ends itself when it has begun to take
        // events.
        let script = "if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ]; then \
                      (until grep -qs '^interrupts' /proc/$$/task/*/comm; do sleep 0.05; done; \
                      kill -KILL $$) & fi; exec \"$0\" \"$@\"";
        let events = fast(&file, &["--fabric", "mpi", "--events", "100000000", "--json"]);
        let mut command = crate::common::mpi_launcher("2");
        command.args(["sh", "-c", script, env!("CARGO_BIN_EXE_actinium")]).args(&events);
        let ran: Ran = command.output().expect("mpiexec starts").into();
        assert_ne!(ran.code, Some(0));
        let told = ran.stderr + &ran.stdout;
        assert!(told.contains("rank 1") && told.contains("signal 9"), "{told}");
    }

    #[test]
    fn outside_mpiexec_it_is_one_node_and_says_so() {
        let file = shipped("imaging.toml");
        let Ran { code, stdout, stderr } = run(&fast(&file, &["--fabric", "mpi", "--json"]));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains("--fabric mpi outside mpiexec: a job of one node"), "{stderr}");
        check(&serde_json::from_str(&stdout).expect("JSON"), 1);
        refused(&["--fabric", "mpi", "--nodes", "2"], &["--nodes", "mpiexec"]);
    }
}
